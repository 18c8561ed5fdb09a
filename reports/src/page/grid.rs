//! Tables whose rows and columns say where in the record their cells stand.

use super::cell::Cell;
use super::escape;
use std::io::{self, Write};

/// A column: where its cells stand below their row's place, its name, and its class.
pub(super) type Column = (&'static str, &'static str, &'static str);

/// A table.
pub(super) struct Grid {
    /// What it shows, for those who do not see it.
    pub(super) label: &'static str,
    /// Columns.
    pub(super) columns: &'static [Column],
    /// Rows: their place in the record, if they have one, and their cells.
    pub(super) rows: Vec<(String, Vec<Cell>)>,
    /// A row becomes a card on a narrow screen; without it the style alone says which columns are figures, as a
    /// table of thousands of rows has no room for more.
    pub(super) fold: bool,
}

impl Grid {
    /// Writes the table, or that there is nothing.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.rows.is_empty() {
            return writeln!(out, "<p>None.</p>");
        }
        let class = if self.fold { " class=\"fold\"" } else { " class=\"streams\"" };
        let label = escape(self.label);
        writeln!(
            out,
            "<div class=\"scroll\"><table{class} aria-label=\"{label}\">\n<thead><tr>{}</thead>",
            self.head()
        )?;
        writeln!(out, "<tbody>")?;
        for (path, cells) in &self.rows {
            let name = |at: usize| self.columns.get(at).map(|column| column.1).filter(|_| self.fold);
            let cells: String = cells.iter().enumerate().map(|(at, cell)| cell.td(name(at))).collect();
            let path = if path.is_empty() { String::new() } else { format!(" data-path=\"{path}\"") };
            writeln!(out, "<tr{path}>{cells}")?;
        }
        writeln!(out, "</tbody></table></div>")
    }

    fn head(&self) -> String {
        let head = |(key, name, class): &Column| {
            let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
            let key = if key.is_empty() { String::new() } else { format!(" data-key=\"{key}\"") };
            format!("<th scope=\"col\"{class}{key}>{}", escape(name))
        };
        self.columns.iter().map(head).collect()
    }
}
