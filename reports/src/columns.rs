//! Columns of plain text, aligned by character count.

use crate::text::wrap;

/// Where the text of a column stands.
#[derive(Clone, Copy, Debug)]
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

    /// The lines without as many of the `spare` columns, in their order, as it takes to stay within `limit`; what is left
    /// out is said behind them.
    pub(crate) fn lines_within(&self, limit: usize, spare: &[usize]) -> Vec<String> {
        let mut shown: Vec<usize> = (0..self.align.len()).collect();
        for column in spare {
            let total: usize = shown.iter().map(|column| self.width(*column) + 2).sum();
            if total <= limit + 2 {
                break;
            }
            shown.retain(|other| other != column);
        }
        let left: Vec<usize> = (0..self.align.len()).filter(|column| !shown.contains(column)).collect();
        let pick = |row: &Vec<String>| shown.iter().filter_map(|column| row.get(*column).cloned()).collect();
        let align = shown.iter().filter_map(|column| self.align.get(*column).copied()).collect();
        let mut lines = Columns { align, rows: self.rows.iter().map(pick).collect() }.lines();
        lines.extend(self.told(&left, limit));
        lines
    }

    /// Which columns are left out, and how wide all of them are.
    fn told(&self, left: &[usize], limit: usize) -> Vec<String> {
        if left.is_empty() {
            return Vec::new();
        }
        let names = left.iter().filter_map(|column| self.rows.first()?.get(*column).map(String::as_str));
        let whole: usize = (0..self.align.len()).map(|column| self.width(column) + 2).sum();
        let names = names.collect::<Vec<_>>().join(", ");
        wrap(&format!("left out for want of width: {names}; COLUMNS={} shows all", whole - 2), limit)
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

    #[test]
    fn spare_columns_give_way_in_their_order() {
        let mut columns = Columns::new(&[("A", Align::Left), ("B", Align::Left), ("C", Align::Left)]);
        columns.row(vec!["1111".to_owned(), "2222".to_owned(), "3333".to_owned()]);
        assert_eq!(columns.lines_within(16, &[1, 0])[1], "1111  2222  3333");
        assert_eq!(columns.lines_within(15, &[1, 0])[1], "1111  3333");
        assert_eq!(columns.lines_within(5, &[1, 0])[1], "3333");
        assert_eq!(columns.lines_within(16, &[1, 0]).len(), 2);
        let told = columns.lines_within(15, &[1, 0])[2..].join(" ");
        assert_eq!(told, "left out for want of width: B; COLUMNS=16 shows all");
    }
}
