//! Markdown: the whole report of a matrix for the bundle, an issue or a build page.

use super::parts::{self, Part, Table};
use super::{EXPLORATORY, Report};
use crate::markdown::{escape, row};
use std::io::{self, Write};

/// Writes the report.
pub(super) fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let v = report.verdict;
    writeln!(out, "# {} {}\n\n**{}**", v.verdict.word(), escape(&v.name), escape(&v.line()))?;
    parts::all(report).iter().try_for_each(|p| part(p, v.exploratory, out))
}

fn part(part: &Part, exploratory: bool, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n## {}", escape(part.heading))?;
    part.texts.iter().try_for_each(|text| writeln!(out, "\n{}", escape(text)))?;
    part.tables.iter().try_for_each(|t| table(t, exploratory, out))?;
    if !part.list.is_empty() {
        writeln!(out)?;
    }
    part.list.iter().try_for_each(|text| writeln!(out, "* {}", escape(text)))
}

/// A table, its columns of figures to the right.
pub(super) fn table(table: &Table, exploratory: bool, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    if exploratory {
        writeln!(out, "*{EXPLORATORY}*\n")?;
    }
    row(out, &table.columns)?;
    let rule = |right: bool| if right { "---:|" } else { "---|" };
    let columns = 0..table.columns.len();
    writeln!(out, "|{}", columns.map(|at| rule(table.is_right(at))).collect::<String>())?;
    table.rows.iter().try_for_each(|cells| row(out, cells))
}
