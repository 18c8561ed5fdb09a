//! The figures that a report shows against the record that it shows them of.
//!
//! Every number of the record is written in every way that a report may write one, by other code than the report's;
//! a figure of a table has to be one of these, or to stand in a text of the record.

use serde_json::Value;
use std::collections::BTreeSet;

/// A record as the set of what may be shown of it.
pub(super) struct Known {
    figures: BTreeSet<String>,
    texts: Vec<String>,
}

impl Known {
    pub(super) fn of(record: &Value) -> Known {
        let mut known = Known { figures: BTreeSet::new(), texts: Vec::new() };
        known.add(record);
        known
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::Number(number) => self.figures.extend(ways(number.as_f64().unwrap())),
            Value::String(text) => self.texts.push(text.clone()),
            Value::Array(list) => list.iter().for_each(|value| self.add(value)),
            // Edges of bins are keys.
            Value::Object(map) => map.iter().for_each(|(key, value)| {
                self.texts.push(key.clone());
                self.add(value);
            }),
            _ => {}
        }
    }

    /// The words of a cell that are figures and do not stand in the record.
    pub(super) fn strange(&self, cell: &str) -> Vec<String> {
        let figures =
            cell.split_whitespace().filter(|word| is_figure(word)).map(|word| word.trim_matches(','));
        let bare = |word: &str| word.trim_start_matches(['+', '\u{b1}']).to_owned();
        let in_text = |word: &str| self.texts.iter().any(|text| text.contains(word));
        figures
            .filter(|word| !self.figures.contains(&bare(word)) && !in_text(word))
            .map(str::to_owned)
            .collect()
    }

    /// How many cells have a figure.
    pub(super) fn count(cells: &[String]) -> usize {
        cells.iter().filter(|cell| cell.split_whitespace().any(is_figure)).count()
    }
}

fn is_figure(word: &str) -> bool {
    let word = word.trim_start_matches(['+', '-', '\u{b1}']).trim_end_matches(',');
    word.starts_with(|c: char| c.is_ascii_digit())
        && word.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '.' | 'e' | '-'))
}

/// Decimals and divisors of the units that a report knows: counts, us, ppm, rates, points, seconds.
const UNITS: [(f64, usize); 8] =
    [(1.0, 0), (1e3, 1), (1.0, 1), (1.0, 3), (100.0, 2), (1e9, 0), (1e6, 0), (1e9, 3)];

fn ways(n: f64) -> Vec<String> {
    let mut ways = vec![format!("{n:.4}"), format!("{n:.1e}")];
    for (divisor, decimals) in UNITS {
        let tens = 10_f64.powi(i32::try_from(decimals).unwrap());
        let scaled = (n * tens / divisor).round() as i128;
        let sign = if scaled < 0 { "-" } else { "" };
        let (whole, rest) = (scaled.unsigned_abs() / tens as u128, scaled.unsigned_abs() % tens as u128);
        let fraction = if decimals > 0 { format!(".{rest:0decimals$}") } else { String::new() };
        ways.push(format!("{sign}{}{fraction}", commas(whole)));
        ways.push(format!("{sign}{whole}{fraction}"));
    }
    ways
}

fn commas(n: u128) -> String {
    if n < 1000 { n.to_string() } else { format!("{},{:03}", commas(n / 1000), n % 1000) }
}

/// The cells of all tables of a Markdown text, heads and rules left out, escapes undone.
pub(super) fn of_markdown(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let is_rule = |line: Option<&&str>| line.is_some_and(|line| line.starts_with("|---"));
    let body = |(n, line): &(usize, &&str)| {
        line.starts_with('|') && !line.starts_with("|---") && !is_rule(lines.get(n + 1))
    };
    let rows = lines.iter().enumerate().filter(body);
    rows.flat_map(|(_, line)| cells(line)).collect()
}

fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut cell, mut escaped) = (Vec::new(), String::new(), false);
    for c in line.chars().skip(1) {
        match c {
            '\\' if !escaped => escaped = true,
            '|' if !escaped => cells.push(std::mem::take(&mut cell).trim().to_owned()),
            c => {
                cell.push(c);
                escaped = false;
            }
        }
    }
    cells.iter().map(|cell| plain(cell)).collect()
}

/// The cells of all tables of a page, escapes undone.
pub(super) fn of_html(page: &str) -> Vec<String> {
    let cells = page.split("<td").skip(1);
    cells
        .map(|rest| {
            let rest = &rest[rest.find('>').unwrap() + 1..];
            plain(rest.split(['<', '\n']).next().unwrap().trim())
        })
        .collect()
}

fn plain(text: &str) -> String {
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
        .iter()
        .fold(text.to_owned(), |text, (escape, c)| text.replace(escape, c))
}
