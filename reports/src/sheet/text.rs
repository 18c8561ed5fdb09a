//! A sheet as plain text of a given width.

use super::{Grid, Part, Sheet};
use crate::Style;
use crate::columns::Columns;
use crate::table::{line, paint};
use crate::text::{clean, wrap};
use std::io::{self, Write};

/// Writes the sheet.
pub(super) fn write(sheet: &Sheet, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let title = wrap(&format!("{} {}", sheet.word, sheet.title), style.width);
    for (n, part) in title.iter().enumerate() {
        match color(&sheet.word).filter(|_| n == 0) {
            Some(color) => {
                writeln!(out, "{}", part.replacen(&sheet.word, &paint(&sheet.word, color, style), 1))?
            }
            None => writeln!(out, "{part}")?,
        }
    }
    sheet.parts.iter().filter(|part| !part.is_empty()).try_for_each(|one| part(one, style, out))
}

fn part(part: &Part, style: Style, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    if !part.heading.is_empty() {
        writeln!(out, "{}", capitals(&part.heading))?;
    }
    let mut texts = part.texts.iter().flat_map(|text| wrap(text, style.width));
    texts.try_for_each(|text| writeln!(out, "{text}"))?;
    match &part.grid {
        Some(grid) if grid.headless() => facts(grid, style, out)?,
        Some(grid) => table(grid, style, out)?,
        None => {}
    }
    for text in &part.list {
        for (n, piece) in wrap(text, style.width.saturating_sub(2)).iter().enumerate() {
            writeln!(out, "{}{piece}", if n == 0 { "- " } else { "  " })?;
        }
    }
    Ok(())
}

fn facts(grid: &Grid, style: Style, out: &mut dyn Write) -> io::Result<()> {
    for row in &grid.rows {
        let cell = |at: usize| row.get(at).map_or("", String::as_str);
        line(out, style.width, &clean(cell(0)), cell(1))?;
    }
    Ok(())
}

fn table(grid: &Grid, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let names: Vec<String> = grid.columns.iter().map(|(name, _)| capitals(name)).collect();
    let header: Vec<_> = names.iter().map(String::as_str).zip(grid.columns.iter().map(|c| c.1)).collect();
    let mut columns = Columns::new(&header);
    grid.rows.iter().for_each(|row| columns.row(row.iter().map(|cell| clean(cell).into_owned()).collect()));
    for (n, text) in columns.lines_within(style.width, &grid.spare).iter().enumerate() {
        let last = n.checked_sub(1).and_then(|at| grid.rows.get(at)?.last()).map(|cell| clean(cell));
        let word = last.as_deref().and_then(|cell| Some((cell, color(cell)?)));
        match word.and_then(|(cell, color)| Some((text.strip_suffix(cell)?, cell, color))) {
            Some((rest, cell, color)) => writeln!(out, "{rest}{}", paint(cell, color, style))?,
            None => writeln!(out, "{text}")?,
        }
    }
    Ok(())
}

/// Words in capitals, units as they are written.
fn capitals(text: &str) -> String {
    let unit = |word: &str| matches!(word, "\u{b5}s" | "ms" | "/s" | "%");
    let word = |word: &str| if unit(word) { word.to_owned() } else { word.to_uppercase() };
    clean(text).split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// The colour of a word that judges.
fn color(text: &str) -> Option<&'static str> {
    match super::html::class(text)? {
        "good" => Some("32"),
        "bad" => Some("31"),
        _ => Some("33"),
    }
}
