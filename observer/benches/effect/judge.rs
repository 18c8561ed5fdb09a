//! The rule on paired differences (experiments 6.1): a bound that is exact, never a comparison of two points alone.

use wireproof_matrices::stats::{Estimate, estimate, median};
use wireproof_matrices::verdict::Decision;

/// One-sided 5 %.
const ONE_SIDED_PPM: u64 = 50_000;
/// Two-sided 5 %.
const TWO_SIDED_PPM: u64 = 25_000;

/// A metric of a treatment against its margin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gate {
    /// Median with minus median without, ns.
    pub(crate) point_ns: f64,
    /// Hodges-Lehmann estimate of the paired differences, ns.
    pub(crate) hl_ns: f64,
    /// One-sided lower bound at 95 %, ns; `None` of too few pairs.
    pub(crate) low_ns: Option<f64>,
    /// One-sided upper bound.
    pub(crate) high_ns: Option<f64>,
    pub(crate) decision: Decision,
}

/// Judges pairs (without, with), ns: no worse than the margin.
pub(crate) fn gate(pairs: &[(f64, f64)], margin_ns: f64) -> Gate {
    let differences: Vec<f64> = pairs.iter().map(|(idle, treated)| treated - idle).collect();
    let Estimate { hl, lower, upper, .. } = estimate(&differences, ONE_SIDED_PPM);
    let middle = |values: Vec<f64>| median(&values).unwrap_or_default();
    let point_ns = middle(pairs.iter().map(|p| p.1).collect()) - middle(pairs.iter().map(|p| p.0).collect());
    let decision = if upper.is_some_and(|high| high <= margin_ns) && point_ns <= margin_ns {
        Decision::Pass
    } else if lower.is_some_and(|low| low > margin_ns) && point_ns > margin_ns {
        Decision::Fail
    } else {
        Decision::Inconclusive
    };
    Gate { point_ns, hl_ns: hl.unwrap_or_default(), low_ns: lower, high_ns: upper, decision }
}

/// In words.
pub(crate) fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Shown => "shown",
        Decision::Pass => "PASS",
        Decision::Inconclusive => "INCONCLUSIVE",
        Decision::Fail => "FAIL",
    }
}

/// The centre of differences and its two-sided interval at 95 %.
pub(crate) fn interval(differences: &[f64]) -> (f64, Option<(f64, f64)>) {
    let found = estimate(differences, TWO_SIDED_PPM);
    (found.hl.unwrap_or_default(), found.lower.zip(found.upper))
}
