//! Gates: what each kind says of the arms that count (experiments, section 6).
//!
//! A gate never passes on a point estimate, on too little data, or on values that are missing.

mod blocks;
mod compare;
mod overhead;
mod rule;
mod series;
mod spread;
mod zero;

pub use blocks::{Block, Counted, run_order};
pub use overhead::{StratumDifferences, overhead};
pub use rule::{Rule, Ruling, alpha_ppm};
pub(crate) use series::series_name;
pub use series::trend;
pub use spread::{PairSd, pair_sd};

use crate::arm::Place;
use crate::metrics::Metric;
use crate::number::Number;
use crate::plan::{Class, Gate, Kind, Margin};
use crate::verdict::{Decision, GateResult, Unit};

/// A gate's result and the arm values it read: place, series name, value.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The result.
    pub result: GateResult,
    /// Values by arm.
    pub values: Vec<(Place, String, Number)>,
}

/// How two values differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// One minus the other.
    Absolute,
    /// In parts per million of the baseline.
    Relative,
}

/// Judges one gate.
pub fn judge(counted: &Counted<'_>, gate: &Gate) -> Judged {
    let Some(metric) = Metric::parse(&gate.metric) else {
        return undecided(gate, Unit::Count, "unknown_metric");
    };
    let mut judged = match (gate.kind, &metric) {
        (Kind::Zero, Metric::Events(event)) => zero::judge(counted, gate, *event),
        (Kind::Zero, _) => undecided(gate, metric.unit(), "kind_does_not_fit_metric"),
        (Kind::Overhead, _) => overhead::judge(counted, gate, &metric),
        (Kind::NonInferiority | Kind::Equivalence | Kind::Ceiling, _) => match scaled(gate, &metric) {
            Ok((scale, margin)) => compare::judge(counted, gate, &metric, scale, margin),
            Err(reason) => undecided(gate, metric.unit(), reason),
        },
    };
    if judged.result.verdict == Decision::Fail {
        judged.result.on_fail.clone_from(&gate.on_fail);
    }
    judged
}

/// The margin as a number, and how values differ under it.
pub(crate) fn scaled(gate: &Gate, metric: &Metric) -> Result<(Scale, f64), &'static str> {
    let misfit = Err("margin_does_not_fit_metric");
    match gate.margin {
        None => Err("margin_missing"),
        Some(Margin::Ns(ns)) if metric.unit() == Unit::Ns => Ok((Scale::Absolute, ns as f64)),
        Some(Margin::Count(count)) if metric.unit() != Unit::Ns => Ok((Scale::Absolute, count as f64)),
        Some(Margin::Ppm(ppm)) if gate.kind != Kind::Ceiling && metric.unit() != Unit::CpuHundredths => {
            Ok((Scale::Relative, ppm as f64))
        }
        Some(_) => misfit,
    }
}

/// A gate that nothing can be said of, and the frame that others fill.
pub(crate) fn undecided(gate: &Gate, unit: Unit, reason: &str) -> Judged {
    let margin = gate.margin.map(|margin| match margin {
        Margin::Ns(value) | Margin::Ppm(value) | Margin::Count(value) => Number(value as f64),
    });
    let result = GateResult {
        id: gate.id.clone(),
        class: gate.class,
        metric: gate.metric.clone(),
        kind: gate.kind,
        unit,
        margin,
        alpha_ppm: gate.alpha_ppm,
        point: None,
        hl: None,
        bound_low: None,
        bound_high: None,
        verdict: Decision::Inconclusive,
        reason: reason.to_owned(),
        seed_rule: None,
        on_fail: None,
        comparisons: Vec::new(),
        zero: None,
        overhead: None,
        drift: Vec::new(),
        outliers: Vec::new(),
    };
    Judged { result, values: Vec::new() }
}

/// True when a result takes part in the verdict.
pub fn decides(result: &GateResult) -> bool {
    result.class == Class::Gate && result.verdict != Decision::Shown
}

/// True when a gate decides and reads the frames of a window: an arm without enough of them is no arm.
pub fn decides_on_frames(gate: &Gate) -> bool {
    gate.class == Class::Gate && Metric::parse(&gate.metric).is_some_and(|metric| metric.needs_ring())
}
