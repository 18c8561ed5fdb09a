//! A sheet as a self-contained page in the look of a matrix: nothing is fetched, nothing runs.

use super::{Align, Grid, Part, Sheet};
use crate::page::{escape, prose, shell};
use crate::text::fit;
use std::io::{self, Write};

/// Longest title and longest cell, characters: names come from the wire.
const TITLE: usize = 200;
const CELL: usize = 600;

/// Writes the page.
pub(super) fn write(sheet: &Sheet, out: &mut dyn Write) -> io::Result<()> {
    let (word, title) = (escape(&sheet.word), escape(&fit(&sheet.title, TITLE)));
    shell::open(&format!("{} {}", sheet.word, fit(&sheet.title, TITLE)), out)?;
    let class = class(&sheet.word).map(|class| format!("<span class=\"{class} badge\">{word}</span>"));
    writeln!(out, "<h1>{} {title}</h1>", class.unwrap_or(word))?;
    sheet.parts.iter().filter(|part| !part.is_empty()).try_for_each(|one| part(one, out))?;
    shell::close(out)
}

fn part(part: &Part, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<section>")?;
    if !part.heading.is_empty() {
        writeln!(out, "<h2>{}</h2>", escape(&part.heading))?;
    }
    part.texts.iter().try_for_each(|text| writeln!(out, "<p>{}</p>", prose(text)))?;
    part.grid.iter().try_for_each(|grid| table(grid, out))?;
    if !part.list.is_empty() {
        writeln!(out, "<ul>")?;
        part.list.iter().try_for_each(|text| writeln!(out, "<li>{}", prose(text)))?;
        writeln!(out, "</ul>")?;
    }
    writeln!(out, "</section>")
}

fn table(grid: &Grid, out: &mut dyn Write) -> io::Result<()> {
    let headless = grid.headless();
    writeln!(out, "<div class=\"scroll\"><table class=\"{}\">", if headless { "facts" } else { "fold" })?;
    if !headless {
        let head = |(name, align): &(String, Align)| format!("<th{}>{}", side(*align), escape(name));
        writeln!(out, "<thead><tr>{}</thead>", grid.columns.iter().map(head).collect::<String>())?;
    }
    writeln!(out, "<tbody>")?;
    for row in &grid.rows {
        let cells: String = row.iter().zip(&grid.columns).map(|(text, column)| cell(text, column)).collect();
        writeln!(out, "<tr>{cells}")?;
    }
    writeln!(out, "</tbody></table></div>")
}

fn side(align: Align) -> &'static str {
    match align {
        Align::Left => "",
        Align::Right => " class=\"n\"",
    }
}

fn cell(text: &str, (name, align): &(String, Align)) -> String {
    let class = class(text).map(|class| format!(" class=\"{class}\""));
    let class = class.unwrap_or_else(|| side(*align).to_owned());
    format!("<td{class} data-name=\"{}\">{}", escape(name), escape(&fit(text, CELL)))
}

/// The class of colour of a text that begins with a word that judges.
pub(super) fn class(text: &str) -> Option<&'static str> {
    match text.split(' ').next()?.to_ascii_lowercase().as_str() {
        "pass" | "better" => Some("good"),
        "fail" | "worse" | "gone" | "invalid" => Some("bad"),
        "warn" | "inconclusive" | "unclear" | "partial" => Some("open"),
        _ => None,
    }
}
