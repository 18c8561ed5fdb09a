//! Whether a plan makes sense before anything is sent: errors that stop it, warnings, notes, its arms and its time.
//!
//! It only reads the plan; how much power it has is told by the prediction it is given.

mod drains;
mod factors;
mod gates;
mod power;
mod target;
mod time;

pub use drains::{blind, drain_share_ppm};
pub use power::{Predict, Predicted, percent, predicted};
pub use time::{Retention, Totals, expected_frames, retention};

use super::{Gate, Kind, Plan, Role};

/// Time of a raw download in the field: the longest seen, ns.
pub const DOWNLOAD_NS: u64 = 269_000_000;

/// How much a remark weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The plan cannot be run.
    Error,
    /// It can be run, and will say less than it seems to.
    Warning,
    /// Something to know.
    Note,
}

impl Severity {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// One thing that was noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// How much it weighs.
    pub severity: Severity,
    /// Its code, such as `toggle-missing`; kept for the life of a major version.
    pub code: &'static str,
    /// Table it is about, such as `gate p95`.
    pub table: String,
    /// What it is and what to do, one sentence.
    pub text: String,
}

/// What was found about a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Remarks, errors first, else in the order of the tables.
    pub remarks: Vec<Remark>,
    /// Arms and time.
    pub totals: Totals,
    /// How long the ring holds what it was told.
    pub retention: Retention,
    /// What was predicted of its comparing gates.
    pub power: Vec<Predicted>,
}

impl Checked {
    /// True when the plan can be run.
    pub fn runnable(&self) -> bool {
        self.remarks.iter().all(|remark| remark.severity != Severity::Error)
    }
}

/// Checks a plan.
pub fn check(plan: &Plan, predict: Predict<'_>) -> Checked {
    let mut remarks = Remarks::default();
    factors::check(plan, &mut remarks);
    drains::check(plan, &mut remarks);
    gates::check(plan, &mut remarks);
    target::check(plan, &mut remarks);
    time::check(plan, &mut remarks);
    let predicted = predict(plan);
    power::check(plan, &predicted, &mut remarks);
    let mut remarks = remarks.0;
    remarks.sort_by_key(|remark| remark.severity);
    Checked { remarks, totals: time::totals(plan), retention: retention(plan), power: predicted }
}

/// Remarks as they are made.
#[derive(Default)]
struct Remarks(Vec<Remark>);

impl Remarks {
    fn error(&mut self, code: &'static str, table: impl Into<String>, text: impl Into<String>) {
        self.push(Severity::Error, code, table.into(), text.into());
    }

    fn warning(&mut self, code: &'static str, table: impl Into<String>, text: impl Into<String>) {
        self.push(Severity::Warning, code, table.into(), text.into());
    }

    fn note(&mut self, code: &'static str, table: impl Into<String>, text: impl Into<String>) {
        self.push(Severity::Note, code, table.into(), text.into());
    }

    fn push(&mut self, severity: Severity, code: &'static str, table: String, text: String) {
        self.0.push(Remark { severity, code, table, text });
    }
}

/// Whether a rule compares treatments with the baseline.
fn compares(kind: Kind) -> bool {
    matches!(kind, Kind::NonInferiority | Kind::Equivalence)
}

/// Levels of a factor that a gate looks at.
fn seen<'p>(plan: &'p Plan, gate: &Gate, factor: &str) -> Vec<&'p str> {
    let levels = plan.factor.iter().find(|other| other.name == factor).map_or(&[][..], |other| &other.levels);
    let chosen = gate.selector.get(factor);
    levels.iter().map(String::as_str).filter(|level| chosen.is_none_or(|chosen| chosen == level)).collect()
}

/// Arms that a gate looks at.
fn arms(plan: &Plan, gate: &Gate) -> u64 {
    let seen = plan.factor.iter().map(|factor| seen(plan, gate, &factor.name).len() as u64);
    seen.fold(u64::from(plan.design.blocks), u64::saturating_mul)
}

/// Whether a treatment factor has several levels in the arms that a gate looks at.
fn compared(plan: &Plan, gate: &Gate) -> bool {
    let mut treatments = plan.factor.iter().filter(|factor| factor.role == Role::Treatment);
    treatments.any(|factor| seen(plan, gate, &factor.name).len() > 1)
}
