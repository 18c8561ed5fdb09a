//! The parts of a report, in order: headings, sentences, tables and lists as plain text. Knows no format; every writer
//! escapes what it takes from here.

mod arms;
mod facts;
mod gates;
mod losses;

use super::Report;
pub(super) use arms::{Series, series};
pub(super) use gates::{interval, limit, point};
pub(super) use losses::{Lags, lags};

/// Which part it is, for writers that draw something beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Gates: paired differences and run order are drawn.
    Gates,
    /// Diagnostics: drawn in the same way.
    Diagnostics,
    /// Losses against downloads: the lags are drawn.
    Drops,
    /// The arms: a long table.
    Arms,
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
    fn new(columns: &[&str], rows: Vec<Vec<String>>) -> Table {
        Table { columns: columns.iter().map(|name| (*name).to_owned()).collect(), rows }
    }
}

/// Every part of the report.
pub(super) fn all(report: &Report<'_>) -> Vec<Part> {
    let verdict = report.verdict;
    let parts = [
        Some(facts::run(report)),
        Some(facts::validity(verdict)),
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
        Some(facts::limits(verdict)),
    ];
    parts.into_iter().flatten().collect()
}

/// `yes` or `no`.
fn yes(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}
