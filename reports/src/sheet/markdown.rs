//! A sheet as Markdown, for an issue or a build page.

use super::{Align, Grid, Part, Sheet};
use crate::text::clean;
use std::io::{self, Write};

/// Writes the sheet.
pub(super) fn write(sheet: &Sheet, out: &mut dyn Write) -> io::Result<()> {
    let title = format!("{} {}", sheet.word, sheet.title);
    writeln!(out, "# {}", escape(title.trim()))?;
    sheet.parts.iter().filter(|part| !part.is_empty()).try_for_each(|one| part(one, out))
}

fn part(part: &Part, out: &mut dyn Write) -> io::Result<()> {
    if !part.heading.is_empty() {
        writeln!(out, "\n## {}", escape(&sentence(&part.heading)))?;
    }
    part.texts.iter().try_for_each(|text| writeln!(out, "\n{}", escape(text)))?;
    part.grid.iter().try_for_each(|grid| {
        writeln!(out)?;
        table(grid, out)
    })?;
    if !part.list.is_empty() {
        writeln!(out)?;
    }
    part.list.iter().try_for_each(|text| writeln!(out, "* {}", escape(text)))
}

/// A table; figures stand to the right.
fn table(grid: &Grid, out: &mut dyn Write) -> io::Result<()> {
    let names: String = grid.columns.iter().map(|(name, _)| cell(name)).collect();
    let rules = grid.columns.iter().map(|(_, align)| match align {
        Align::Left => "---|",
        Align::Right => "---:|",
    });
    writeln!(out, "|{names}\n|{}", rules.collect::<String>())?;
    for row in &grid.rows {
        writeln!(out, "|{}", row.iter().map(|text| cell(text)).collect::<String>())?;
    }
    Ok(())
}

fn cell(text: &str) -> String {
    if text.is_empty() { " |".to_owned() } else { format!(" {} |", escape(text)) }
}

/// The heading with its first letter large and the others small.
fn sentence(heading: &str) -> String {
    let mut letters = heading.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    first + &letters.as_str().to_lowercase()
}

/// As of every Markdown here; an underscore within a word is left alone, since it marks nothing there.
fn escape(text: &str) -> String {
    let text = clean(text);
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        let within = before.is_alphanumeric() && letters.peek().is_some_and(|next| next.is_alphanumeric());
        if c == '_' && within {
            out.push(c);
        } else {
            out.push_str(&crate::markdown::escape(c.encode_utf8(&mut [0; 4])));
        }
        before = c;
    }
    out
}
