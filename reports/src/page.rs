//! A run as one self-contained HTML page: no script that runs, no font, nothing from elsewhere. It carries its own
//! record; every figure says where in the record it stands, and every text passes the escape, since names come from the
//! wire.

pub(crate) mod bench;
mod cell;
mod chart;
mod choice;
mod devices;
mod events;
mod fold;
mod grid;
mod health;
mod overview;
pub mod ring;
pub(crate) mod shell;
mod streams;
mod waivers;

use crate::render::RenderError;
use crate::summary::{Source, Stream, Summary};
use crate::text::{base_name, clean, fit};
use choice::Choice;
use std::io::{self, Write};

/// A table in front of the run's own: a heading, column names, rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// Its heading.
    pub heading: String,
    /// One sentence below the heading; may be empty.
    pub text: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows, each as long as there are columns.
    pub rows: Vec<Vec<String>>,
}

/// Text fit for HTML: markup escaped, what a terminal or reader would obey replaced.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A sentence fit for HTML: as [`escape`] makes it, with what stands between two backticks as code.
pub(crate) fn prose(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, code, behind)) = quoted(rest) {
        out.push_str(&format!("{}<code>{}</code>", escape(before), escape(code)));
        rest = behind;
    }
    out.push_str(&escape(rest));
    out
}

/// What stands in front of the first pair of backticks, between and behind them.
fn quoted(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('`')?;
    let (code, behind) = rest.split_once('`').filter(|(code, _)| !code.is_empty())?;
    Some((before, code, behind))
}

/// Writes the page of a run.
pub(crate) fn render(s: &Summary, out: &mut dyn Write) -> Result<(), RenderError> {
    write(&headline(&s.source), s, &[], out)
}

/// Longest title, characters.
const TITLE: usize = 100;

/// What a run is called: the name of its file or interface; of many, how many they are.
fn headline(source: &Source) -> String {
    let names: Vec<&str> = source.name.split(", ").collect();
    let title = match (source.kind.as_str(), names.as_slice()) {
        ("file", [_] | [_, _]) => names.iter().map(|name| base_name(name)).collect::<Vec<_>>().join(", "),
        ("file", many) => format!("{} files", many.len()),
        (_, [_]) => source.name.clone(),
        ("udp", many) => format!("{} sockets", many.len()),
        (_, [_, _]) => source.name.clone(),
        (_, many) => format!("{} interfaces", many.len()),
    };
    fit(&title, TITLE)
}

/// Writes the page: title, the verdict, the sections given, then everything the run has shown.
///
/// # Errors
/// [`RenderError::Write`] when the writer fails.
pub fn write(title: &str, s: &Summary, sections: &[Section], out: &mut dyn Write) -> Result<(), RenderError> {
    let choice = Choice::of(s);
    let told = !sections.is_empty();
    let name = if told { title.to_owned() } else { format!("{} {title}", s.verdict.word()) };
    shell::open(&name, out)?;
    overview::write(title, told, s, out)?;
    writeln!(out, "<main>")?;
    sections.iter().try_for_each(|section| table(section, out))?;
    overview::owners(s, &choice, out)?;
    devices::write(s, &choice, out)?;
    events::time_line(s, out)?;
    events::write(s, &choice, out)?;
    waivers::write(s, out)?;
    streams::write(s, &choice, out)?;
    health::write(s, out)?;
    health::limits(s, out)?;
    writeln!(out, "</main>")?;
    shell::record(&choice.record(s)?, out)?;
    Ok(shell::close(out)?)
}

/// 1, 2 or 5 times a power of ten, for five steps or so of an axis.
pub(crate) fn step(range: f64) -> f64 {
    let rough = (range / 5.0).max(1e-9);
    let power = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= rough * 0.999);
    factor.unwrap_or(10.0) * power
}

/// Says how many of a list the page does not have, if any.
fn more(
    all: usize,
    shown: usize,
    (one, several): (&str, &str),
    why: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    match all.saturating_sub(shown) {
        0 => Ok(()),
        1 => writeln!(out, "<p class=\"sub\">1 more {one} is not shown: {}.</p>", prose(why)),
        n => writeln!(
            out,
            "<p class=\"sub\">{} more {several} are not shown: {}.</p>",
            cell::spaced(n as u64),
            prose(why)
        ),
    }
}

/// A stream in words, its figures marked.
fn stream_name(at: usize, s: &Stream) -> String {
    devices::named(at, s)
}

fn table(section: &Section, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<h2>{}</h2>", escape(&section.heading))?;
    if !section.text.is_empty() {
        writeln!(out, "<p>{}</p>", prose(&section.text))?;
    }
    if section.rows.is_empty() {
        return writeln!(out, "<p>None.</p>");
    }
    // Two columns are short enough for any screen; more become cards on a narrow one.
    let class = if section.columns.len() > 2 { "fold" } else { "pairs" };
    writeln!(out, "<div class=\"scroll\"><table class=\"{class}\">")?;
    let figures = |at: usize| section.rows.iter().all(|row| row.get(at).is_some_and(|cell| is_figure(cell)));
    let head = |(at, name): (usize, &String)| format!("<th{}>{}", side(figures(at)), escape(name));
    let head: String = section.columns.iter().enumerate().map(head).collect();
    writeln!(out, "<thead><tr>{head}</thead>\n<tbody>")?;
    for row in &section.rows {
        let cells: String = row.iter().zip(&section.columns).map(|(cell, name)| data(name, cell)).collect();
        writeln!(out, "<tr>{cells}")?;
    }
    writeln!(out, "</tbody></table></div>")
}

fn is_figure(cell: &str) -> bool {
    cell.starts_with(|c: char| c.is_ascii_digit())
        && cell.chars().all(|c| c.is_ascii_digit() || c == '.' || c == ',')
}

/// Figures stand to the right.
fn side(figure: bool) -> &'static str {
    if figure { " class=\"n\"" } else { "" }
}

/// A cell with the name of its column.
fn data(name: &str, cell: &str) -> String {
    let name = if name.is_empty() { String::new() } else { format!(" data-name=\"{}\"", escape(name)) };
    let count = cell.parse().ok().filter(|_| is_figure(cell));
    format!("<td{}{name}>{}", side(is_figure(cell)), count.map_or_else(|| prose(cell), cell::spaced))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::sample::summary;

    #[test]
    fn what_stands_between_two_backticks_is_code_and_nothing_gets_out_of_it() {
        let cases = [
            ("see `a` and `b <c>`.", "see <code>a</code> and <code>b &lt;c&gt;</code>."),
            ("one ` alone", "one ` alone"),
            ("`a` and ` alone", "<code>a</code> and ` alone"),
            ("empty `` stays", "empty `` stays"),
            ("`</code><script>`", "<code>&lt;/code&gt;&lt;script&gt;</code>"),
            ("", ""),
        ];
        cases.iter().for_each(|(text, html)| assert_eq!(prose(text), *html));
    }

    #[test]
    fn a_headline_is_short() {
        let of = |kind: &str, name: &str| {
            headline(&Source { kind: kind.to_owned(), name: name.to_owned(), ..Source::default() })
        };
        let ten = ["0.0.0.0:5568"; 10].join(", ");
        assert_eq!(of("udp", &ten), "10 sockets");
        assert_eq!(of("udp", "127.0.0.1:5568"), "127.0.0.1:5568");
        assert_eq!(of("packet", "eth0, eth1"), "eth0, eth1");
        assert_eq!(of("pcap", "eth0, eth1, eth2"), "3 interfaces");
        assert_eq!(of("file", "/a/very/long/way/show.pcapng"), "show.pcapng");
        assert_eq!(of("file", "/a/1.pcap, /b/2.pcap"), "1.pcap, 2.pcap");
        assert_eq!(of("file", "/a/1.pcap, /b/2.pcap, 3.pcap"), "3 files");
        assert_eq!(of("file", &"x".repeat(300)).chars().count(), TITLE);
    }

    #[test]
    fn the_page_is_whole_and_no_text_of_the_wire_gets_out_of_its_cell() {
        let mut s = summary();
        s.streams[0].source = "<script>alert('1')</script>".to_owned();
        s.findings[0].text = "a < b & \"c\" \u{1b}[31m\u{202e}".to_owned();
        let section = Section {
            heading: "<b>".to_owned(),
            text: "x & y".to_owned(),
            columns: vec!["<em>".to_owned()],
            rows: vec![vec!["\"><img src=x onerror=1>".to_owned()]],
        };
        let mut out = Vec::new();
        write("a <title>", &s, &[section], &mut out).unwrap();
        let page = String::from_utf8(out).unwrap();
        assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
        assert_eq!(page.matches("<script").count(), 1);
        for forbidden in ["<script>", "<img", "<h2><b>", "<em>", "a <title>", "\u{1b}", "\u{202e}", "http:"] {
            assert!(!page.contains(forbidden), "{forbidden:?}");
        }
        assert!(
            page.contains("&lt;script&gt;alert(&#39;1&#39;)")
                && page.contains("a &lt; b &amp; &quot;c&quot;")
        );
    }
}
