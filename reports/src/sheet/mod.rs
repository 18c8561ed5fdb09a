//! A sheet: title, sentences, tables and lists of a record as plain text, and one writer a format. Knows no record and
//! computes nothing; every writer escapes what it takes from here.

mod html;
mod markdown;
mod text;

pub(crate) use crate::columns::Align;
use crate::{Format, RenderError, Style};
use std::io::Write;

/// A record laid out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sheet {
    /// One word in front of the title that is coloured, such as `PASS`; may be empty.
    pub(crate) word: String,
    /// What it is.
    pub(crate) title: String,
    /// The parts in their order.
    pub(crate) parts: Vec<Part>,
}

/// A part of a sheet; what is empty is not written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    /// Its heading; none of the first part.
    pub(crate) heading: String,
    /// Sentences.
    pub(crate) texts: Vec<String>,
    /// A table.
    pub(crate) grid: Option<Grid>,
    /// Points.
    pub(crate) list: Vec<String>,
}

/// A table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid {
    /// Names and sides of the columns.
    pub(crate) columns: Vec<(String, Align)>,
    /// Rows, each as long as there are columns.
    pub(crate) rows: Vec<Vec<String>>,
    /// Columns that give way in narrow text, least needed first.
    pub(crate) spare: Vec<usize>,
}

impl Part {
    /// A part under a heading.
    pub(crate) fn new(heading: &str) -> Part {
        Part { heading: heading.to_owned(), ..Part::default() }
    }

    /// The same with a sentence.
    pub(crate) fn text(mut self, text: impl Into<String>) -> Part {
        self.texts.push(text.into());
        self
    }

    /// The same with a table; one without rows is left out.
    pub(crate) fn grid(mut self, grid: Grid) -> Part {
        self.grid = (!grid.rows.is_empty()).then_some(grid);
        self
    }

    /// The same with points.
    pub(crate) fn list(mut self, list: impl IntoIterator<Item = String>) -> Part {
        self.list.extend(list);
        self
    }

    fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.grid.is_none() && self.list.is_empty()
    }
}

impl Grid {
    /// Rows of a name and what it is.
    pub(crate) fn facts(rows: impl IntoIterator<Item = (&'static str, String)>) -> Grid {
        let columns = vec![(String::new(), Align::Left), (String::new(), Align::Left)];
        let rows = rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
        Grid { columns, rows, spare: Vec::new() }
    }

    fn headless(&self) -> bool {
        self.columns.iter().all(|(name, _)| name.is_empty())
    }
}

impl Sheet {
    /// Writes a format that is made for people; `None` of every other.
    pub(crate) fn render(
        &self,
        format: Format,
        style: Style,
        out: &mut dyn Write,
    ) -> Option<Result<(), RenderError>> {
        let written = match format {
            Format::Table => text::write(self, style, out),
            Format::Markdown => markdown::write(self, out),
            Format::Html => html::write(self, out),
            Format::Json | Format::Jsonl | Format::Csv | Format::Junit => return None,
        };
        Some(written.map_err(RenderError::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> Sheet {
        let columns = vec![("name_x".to_owned(), Align::Left), ("n \u{b5}s".to_owned(), Align::Right)];
        let rows = vec![
            vec!["frame.in_drain p95".to_owned(), "1,000".to_owned()],
            vec!["<b>|_x_\u{1b}".to_owned(), "\u{2014}".to_owned()],
        ];
        let grid = Grid { columns, rows, spare: vec![1] };
        let first = Part::default().grid(Grid::facts([("plan", "a & b".to_owned())]));
        let second = Part::new("ROWS").text("One sentence.").grid(grid).list(["one".to_owned()]);
        Sheet {
            word: "FAIL".to_owned(),
            title: "a".to_owned(),
            parts: vec![first, second, Part::new("none")],
        }
    }

    fn written(format: Format, style: Style) -> String {
        let mut out = Vec::new();
        sheet().render(format, style, &mut out).unwrap().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_text_has_the_word_in_colour_and_drops_spare_columns() {
        let text = written(Format::Table, Style { color: true, width: 100 });
        let wanted = "\u{1b}[1;31mFAIL\u{1b}[0m a\n\nplan       a & b\n\nROWS\nOne sentence.\n\
                      NAME_X               N \u{b5}s\nframe.in_drain p95  1,000\n<b>|_x_\\u{1b}           \u{2014}\n- one\n";
        assert_eq!(text, wanted);
        assert!(!written(Format::Table, Style { color: false, width: 20 }).contains("1,000"));
    }

    #[test]
    fn markdown_leaves_names_alone_and_disarms_the_rest() {
        let wanted = "# FAIL a\n\n| | |\n|---|---|\n| plan | a &amp; b |\n\n## Rows\n\nOne sentence.\n\n\
                      | name_x | n \u{b5}s |\n|---|---:|\n| frame.in_drain p95 | 1,000 |\n\
                      | &lt;b&gt;\\|\\_x\\_\\\\u{1b} | \u{2014} |\n\n* one\n";
        assert_eq!(written(Format::Markdown, Style::default()), wanted);
    }

    #[test]
    fn the_page_escapes_every_cell() {
        let page = written(Format::Html, Style::default());
        assert!(page.contains("<td data-name=\"name_x\">&lt;b&gt;|_x_\\u{1b}"), "{page}");
        assert!(page.contains("<span class=\"bad badge\">FAIL</span> a</h1>"), "{page}");
        assert!(page.contains("<td class=\"n\" data-name=\"n \u{b5}s\">1,000"), "{page}");
        assert!(!page.contains("<b>") && !page.contains("<script"), "{page}");
    }
}
