//! The parts of a report, in order: headings, sentences, tables and lists as plain text. Knows no format; every writer
//! escapes what it takes from here.

mod arms;
mod facts;
mod gates;
mod ladder;
mod losses;
mod soak;

use super::Report;
use super::figure::DASH;
pub(super) use arms::{Series, counted, series};
pub(super) use facts::{blocks, limits, rule as validity_rule};
pub(super) use gates::{hl, interval, limit, point, rule, seed_rule};
pub(super) use ladder::{Climb, bound, climbs, kept, shown};
pub(super) use losses::{Lags, lags, whose};
pub(super) use soak::facts as soak_facts;

/// Which part it is, for writers that draw something beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Gates: paired differences and run order are drawn.
    Gates,
    /// Diagnostics: drawn in the same way.
    Diagnostics,
    /// Losses against downloads: the lags are drawn.
    Drops,
    /// Steps of a ladder: estimates and bounds are drawn.
    Ladder,
    /// Nothing is drawn.
    Plain,
}

/// A part of the report.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) kind: Kind,
    pub(super) heading: &'static str,
    /// Sentences above the tables.
    pub(super) texts: Vec<String>,
    pub(super) tables: Vec<Table>,
    /// Points below them.
    pub(super) list: Vec<String>,
}

impl Part {
    fn new(kind: Kind, heading: &'static str) -> Part {
        Part { kind, heading, texts: Vec::new(), tables: Vec::new(), list: Vec::new() }
    }

    fn text(mut self, text: impl Into<String>) -> Part {
        self.texts.push(text.into());
        self
    }

    fn table(mut self, table: Table) -> Part {
        if !table.rows.is_empty() {
            self.tables.push(table);
        }
        self
    }

    fn list(mut self, list: impl IntoIterator<Item = String>) -> Part {
        self.list.extend(list);
        self
    }

    /// The part, with one sentence when there is nothing else in it.
    fn or_say(mut self, nothing: &str) -> Part {
        if self.tables.is_empty() && self.list.is_empty() {
            self.texts.push(nothing.to_owned());
        }
        self
    }
}

/// A table.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    /// Rows under these names.
    pub(super) fn new(columns: &[&str], rows: Vec<Vec<String>>) -> Table {
        Table { columns: columns.iter().map(|name| (*name).to_owned()).collect(), rows }
    }

    /// True when a column holds figures and nothing else: it stands to the right.
    pub(super) fn is_right(&self, column: usize) -> bool {
        let mut cells = self
            .rows
            .iter()
            .filter_map(|row| row.get(column))
            .filter(|cell| !matches!(cell.as_str(), DASH | NO_BOUND));
        self.columns.get(column).is_some_and(|name| !name.is_empty())
            && cells.clone().next().is_some()
            && cells.all(|cell| is_figure(cell))
    }
}

/// True for a figure, or two, with or without a unit: `+68.5 µs`, `0 of 43,200`, `-1.9 … +0.7`.
pub(super) fn is_figure(cell: &str) -> bool {
    let word = |word: &str| {
        let figure = word.trim_start_matches(['+', '-', '\u{b1}']);
        figure.starts_with(|c: char| c.is_ascii_digit())
            && figure.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | 'e' | '-'))
    };
    let unit = |text: &str| {
        matches!(
            text,
            "%" | "ppb"
                | "s"
                | "of"
                | "in"
                | "\u{2264}"
                | "\u{2265}"
                | "\u{2026}"
                | "\u{b5}s"
                | "ppm"
                | "/s"
                | "points"
        )
    };
    cell.contains(|c: char| c.is_ascii_digit()) && cell.split(' ').all(|part| word(part) || unit(part))
}

/// What stands where the data give no finite bound.
pub(super) const NO_BOUND: &str = "no finite bound";

/// Every part of the report.
pub(super) fn all(report: &Report<'_>) -> Vec<Part> {
    let verdict = report.verdict;
    let parts = [
        Some(facts::run(report)),
        Some(facts::validity(verdict)),
        ladder::envelope(report),
        soak::soak(verdict),
        Some(gates::gates(verdict)),
        gates::holm(verdict),
        gates::diagnostics(verdict),
        gates::comparisons(verdict),
        Some(arms::run_order(verdict)),
        Some(arms::drift(verdict)),
        arms::outliers(verdict),
        Some(losses::drops(verdict)),
        Some(losses::attribution(verdict)),
        Some(facts::cpu(verdict)),
        Some(facts::causes(report.causes)),
        Some(facts::findings(verdict)),
        Some(facts::environment(report.environment)),
        Some(limits(verdict)),
    ];
    parts.into_iter().flatten().collect()
}

/// `yes` or `no`.
fn yes(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}
