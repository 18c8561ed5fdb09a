//! Figures of a page: each says where in the record it stands and, where it is written for people, its value there.

use super::{escape, prose};
use crate::text::{fit, milliseconds, rate, rfc3339, seconds, thousandths};

/// Longest name, and longest sentence, that a page shows, characters; its record has all of it.
pub(super) const NAME: usize = 120;
const SENTENCE: usize = 600;

/// A figure or text of the record as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell {
    /// Where it stands in the record, if that is not where its row and column say.
    pub(super) path: Option<String>,
    /// Its value there, where the text is another.
    value: Option<String>,
    /// The text, which is HTML already.
    text: String,
    /// Class of its element.
    class: &'static str,
}

impl Cell {
    fn new(value: impl ToString, text: String, class: &'static str) -> Cell {
        let value = Some(value.to_string()).filter(|value| *value != text);
        Cell { path: None, value, text, class }
    }

    /// The same from another place of the record.
    pub(super) fn at(self, path: String) -> Cell {
        Cell { path: Some(path), ..self }
    }

    /// The same with another class.
    pub(super) fn class(self, class: &'static str) -> Cell {
        Cell { class, ..self }
    }

    /// The same with more HTML behind it that is no part of what the record has.
    pub(super) fn and(mut self, recorded: &str, html: &str) -> Cell {
        self.value = Some(fit(recorded, SENTENCE));
        self.text.push_str(html);
        self
    }

    /// The attributes that say what it is.
    fn attributes(&self) -> String {
        let class = if self.class.is_empty() { String::new() } else { format!(" class=\"{}\"", self.class) };
        let path = self.path.as_ref().map(|path| format!(" data-path=\"{path}\"")).unwrap_or_default();
        let value =
            self.value.as_ref().map(|value| format!(" data-value=\"{}\"", escape(value))).unwrap_or_default();
        format!("{class}{path}{value}")
    }

    /// As a cell of a table with the name of its column; without it as short as can be.
    pub(super) fn td(&self, name: Option<&str>) -> String {
        let Some(name) = name else {
            let class = if self.class.ends_with("bad") { "bad" } else { "" };
            return format!("<td{}>{}", Cell { class, ..self.clone() }.attributes(), self.text);
        };
        format!("<td{} data-name=\"{}\">{}", self.attributes(), escape(name), self.text)
    }

    /// Within a sentence: the figure standing at `path` of the record.
    pub(super) fn span(self, path: &str) -> String {
        let cell = Cell { class: "", ..self }.at(path.to_owned());
        format!("<span{}>{}</span>", cell.attributes(), cell.text)
    }
}

/// A count: `12 345`.
pub(super) fn count(n: u64) -> Cell {
    Cell::new(n, spaced(n), "n")
}

/// A number that is no amount: an id, a generation.
pub(super) fn number(n: impl ToString) -> Cell {
    Cell::new(n.to_string(), n.to_string(), "n")
}

/// A fraction with three digits.
pub(super) fn fraction(value: f64) -> Cell {
    let text = format!("{value:.3}");
    Cell::new(text.clone(), text, "n")
}

/// A time in milliseconds.
pub(super) fn ms(ns: u64) -> Cell {
    Cell::new(ns, milliseconds(ns), "n")
}

/// A length of time with its unit, in the largest that fits.
pub(super) fn length(ns: u64) -> Cell {
    Cell::new(ns, duration(ns), "n")
}

/// A rate in hertz, of thousandths, of so many events: a dash where they are too few or too close for one.
pub(super) fn hertz(n: u64, mhz: u64) -> Cell {
    Cell::new(thousandths(mhz), rate(n, mhz).unwrap_or_else(|| "\u{2013}".to_owned()), "n")
}

/// An instant, ns since 1970.
pub(super) fn instant(ns: i64, digits: usize) -> Cell {
    Cell::new(ns, rfc3339(ns, digits), "t")
}

/// A text, which may come from the wire: as much of it as a name has.
pub(super) fn words(text: &str) -> Cell {
    // Text needs no second copy: what is shown is what the record has, escaped.
    Cell { text: escape(&fit(text, NAME)), ..Cell::default() }
}

/// A sentence: what stands between backticks is code.
pub(super) fn sentence(text: &str) -> Cell {
    let text = fit(text, SENTENCE);
    let html = prose(&text);
    let value = (html != escape(&text)).then_some(text);
    Cell { text: html, value, ..Cell::default() }
}

/// A text made of what stands at the cell's place, HTML already.
pub(super) fn made(html: String) -> Cell {
    Cell { text: html, ..Cell::default() }
}

/// Digits in groups of three, with narrow spaces that do not break.
pub(super) fn spaced(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// `3.250 ms`, `12.500 s`, `24 h 00 min`.
pub(super) fn duration(ns: u64) -> String {
    let (minute, hour) = (60_000_000_000, 3_600_000_000_000);
    match ns {
        0..1_000_000_000 => format!("{} ms", milliseconds(ns)),
        n if n < 2 * minute => format!("{} s", &seconds(n)[..seconds(n).len() - 3]),
        n if n < 2 * hour => format!("{} min {:02} s", n / minute, n % minute / 1_000_000_000),
        n => format!("{} h {:02} min", n / hour, n % hour / minute),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_for_people_and_keep_their_value() {
        assert_eq!(spaced(0), "0");
        assert_eq!(spaced(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(count(1_234).td(None), "<td data-value=\"1234\">1\u{202f}234");
        assert_eq!(count(7).class("n bad").td(None), "<td class=\"bad\">7");
        assert_eq!(count(7).td(Some("x")), "<td class=\"n\" data-name=\"x\">7");
        assert_eq!(count(123).span("/a"), "<span data-path=\"/a\">123</span>");
        let more = sentence("`a` < b").and("`a` < b", "<i>");
        assert_eq!(more.td(None), "<td data-value=\"`a` &lt; b\"><code>a</code> &lt; b<i>");
        assert_eq!(sentence("a < b").td(None), "<td>a &lt; b");
        assert_eq!(words("<b>").span("/a"), "<span data-path=\"/a\">&lt;b&gt;</span>");
        let all = [999_999, 1_500_000_000, 150_000_000_000, 86_400_000_000_000].map(duration);
        assert_eq!(all, ["0.999 ms", "1.500 s", "2 min 30 s", "24 h 00 min"]);
    }
}
