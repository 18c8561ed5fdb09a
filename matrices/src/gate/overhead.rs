//! CPU differences: shown, never a pass or a failure, and called an overhead only when they may be (experiments,
//! section 6.6).

use super::compare::stratum_row;
use super::series::Series;
use super::{Counted, Judged, undecided};
use crate::metrics::Metric;
use crate::number::Number;
use crate::plan::Gate;
use crate::stats::{Estimate, estimate};
use crate::verdict::{Decision, OverheadRow, StratumRow};
use std::collections::BTreeMap;

/// Paired differences of a stratum.
#[derive(Clone, Debug, PartialEq)]
pub struct StratumDifferences {
    /// The stratum; with several treatments `treatment/stratum`.
    pub stratum: String,
    /// Treatment minus baseline.
    pub differences: Vec<f64>,
}

/// Judges an `overhead` gate: it is shown.
pub(super) fn judge(counted: &Counted<'_>, gate: &Gate, metric: &Metric) -> Judged {
    let mut judged = undecided(gate, metric.unit(), "");
    let (baseline, others) = counted.layout.compared(&gate.selector);
    let (mut all, mut strata) = (Series::default(), Vec::new());
    let several = others.len() > 1;
    for treatment in others {
        let Some(baseline) = baseline else { continue };
        for (stream, pairs) in counted.pairs(metric, &gate.selector, baseline, treatment) {
            let mut groups: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
            for pair in &pairs {
                all.add(stream.as_ref(), &[pair.baseline, pair.treatment]);
                if let (Some(base), Some(treat)) = (pair.baseline.1, pair.treatment.1) {
                    let group = groups.entry(pair.treatment.0.place.stratum).or_default();
                    group.push(treat.value() - base.value());
                }
            }
            let prefix =
                if several { format!("{}/", counted.layout.treatment(treatment)) } else { String::new() };
            strata.extend(groups.into_iter().map(|(stratum, differences)| {
                let stratum = format!("{prefix}{}", counted.layout.stratum(stratum));
                StratumDifferences { stratum, differences }
            }));
        }
    }
    judged.values = all.values(&gate.metric);
    let row = overhead(&strata, gate.min_pairs, gate.alpha_ppm, gate.expected_sign.as_deref());
    let result = &mut judged.result;
    (result.verdict, result.reason) = (Decision::Shown, row.text.clone());
    if let [only] = &row.strata[..] {
        (result.hl, result.bound_low, result.bound_high) = (only.hl, only.bound_low, only.bound_high);
    }
    result.overhead = Some(row);
    judged
}

/// Whether differences may be called an overhead: enough pairs, an interval without zero, the possible sign, and the
/// same sign in every stratum. Alpha is two-sided.
pub fn overhead(
    strata: &[StratumDifferences],
    min_pairs: u32,
    alpha_ppm: u64,
    expected_sign: Option<&str>,
) -> OverheadRow {
    let (mut rows, mut reasons): (Vec<StratumRow>, Vec<String>) = (Vec::new(), Vec::new());
    for stratum in strata {
        let estimate = estimate(&stratum.differences, alpha_ppm / 2);
        let why = doubts(&estimate, min_pairs, expected_sign);
        reasons.extend(why.into_iter().map(|why| format!("{}:{why}", stratum.stratum)));
        rows.push(stratum_row(stratum.stratum.clone(), &estimate));
    }
    let signs: Vec<f64> = rows.iter().filter_map(|row| row.hl).map(|Number(hl)| hl.signum()).collect();
    if signs.iter().any(|sign| *sign != signs[0]) {
        reasons.push("strata_disagree_in_sign".to_owned());
    }
    if rows.is_empty() {
        reasons.push("no_pairs".to_owned());
    }
    let usable = reasons.is_empty();
    let text = if usable { "overhead number" } else { "not usable as an overhead number" };
    OverheadRow { strata: rows, usable, reasons, text: text.to_owned() }
}

fn doubts(estimate: &Estimate, min_pairs: u32, expected_sign: Option<&str>) -> Vec<&'static str> {
    let mut why = Vec::new();
    let bounds = estimate.lower.zip(estimate.upper);
    if bounds.is_none() || estimate.n < usize::try_from(min_pairs).unwrap_or(usize::MAX).max(6) {
        why.push("too_few_pairs");
    }
    if bounds.is_some_and(|(low, high)| low <= 0.0 && high >= 0.0) {
        why.push("interval_contains_zero");
    }
    let impossible = match (expected_sign, estimate.hl) {
        (Some("+"), Some(hl)) => hl < 0.0,
        (Some("-"), Some(hl)) => hl > 0.0,
        _ => false,
    };
    if impossible {
        why.push("impossible_sign");
    }
    why
}
