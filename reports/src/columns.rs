//! Columns of plain text, aligned by character count.

/// Where the text of a column stands.
#[derive(Clone, Copy)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows under one header, written with two spaces between columns.
pub(crate) struct Columns {
    align: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Columns {
    /// Columns with these headers.
    pub(crate) fn new(header: &[(&str, Align)]) -> Columns {
        Columns {
            align: header.iter().map(|(_, align)| *align).collect(),
            rows: vec![header.iter().map(|(name, _)| (*name).to_owned()).collect()],
        }
    }

    /// Adds a row; cells must hold no line breaks.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The lines, header first, without trailing spaces.
    pub(crate) fn lines(&self) -> Vec<String> {
        let widths: Vec<usize> = (0..self.align.len()).map(|column| self.width(column)).collect();
        self.rows.iter().map(|row| self.line(row, &widths)).collect()
    }

    fn width(&self, column: usize) -> usize {
        self.rows.iter().filter_map(|row| row.get(column)).map(|c| c.chars().count()).max().unwrap_or(0)
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for ((cell, width), align) in row.iter().zip(widths).zip(&self.align) {
            let padding = " ".repeat(width.saturating_sub(cell.chars().count()));
            match align {
                Align::Left => line.extend([cell.as_str(), padding.as_str(), "  "]),
                Align::Right => line.extend([padding.as_str(), cell.as_str(), "  "]),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_line_up_under_their_header() {
        let mut columns = Columns::new(&[("NAME", Align::Left), ("N", Align::Right)]);
        columns.row(vec!["süd".to_owned(), "10".to_owned()]);
        columns.row(vec!["longer".to_owned(), "7".to_owned()]);
        assert_eq!(columns.lines(), ["NAME     N", "süd     10", "longer   7"]);
    }
}
