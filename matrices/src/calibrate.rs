//! False alarms from arms that do not differ (A/A): how often each gate would have failed a device against itself.
//!
//! In an A/A run the two names of a block are exchangeable, so every swap of names is a run that could have been. They
//! are all tried up to 12 blocks, else as many taken by a fixed sequence. It never touches a verdict.

use crate::arm::Arm;
use crate::gate::{Counted, Rule, scaled};
use crate::levels::Layout;
use crate::metrics::Metric;
use crate::plan::{Class, Gate, Kind, Plan};
use crate::stats::{binomial_tail, median, upper_bound};
use crate::verdict::{Decision, Verdict, counted_blocks};
use std::collections::BTreeMap;

/// Swaps that are tried at most.
const PATTERNS: u64 = 4_096;

/// What an A/A run says of one gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The gate.
    pub id: String,
    /// Runs that could have been.
    pub patterns: u64,
    /// Those in which it fails.
    pub alarms: u64,
    /// Those in which it does not pass.
    pub not_passed: u64,
    /// Its one-sided error, ppm: alarms above this are too many.
    pub nominal_ppm: u64,
    /// A warning, when they are.
    pub warning: Option<String>,
}

/// Calibrates every gate of a plan that compares two treatments.
pub fn calibrate(plan: &Plan, arms: &[Arm]) -> Vec<Calibration> {
    let layout = Layout::of(plan);
    let counted =
        Counted { plan, layout: &layout, blocks: counted_blocks(plan, &layout, arms), attempts: arms };
    plan.gate.iter().filter_map(|gate| one(&counted, gate)).collect()
}

fn one(counted: &Counted<'_>, gate: &Gate) -> Option<Calibration> {
    let comparing = matches!(gate.kind, Kind::NonInferiority | Kind::Equivalence);
    let metric = Metric::parse(&gate.metric).filter(|_| comparing && gate.class == Class::Gate)?;
    let (scale, margin) = scaled(gate, &metric).ok()?;
    let rule = Rule::of(gate, &counted.plan.design, margin);
    let (baseline, others) = counted.layout.compared(&gate.selector);
    let mut series = counted.pairs(&metric, &gate.selector, baseline?, *others.first()?).into_iter();
    let pairs: Vec<_> =
        series.next()?.1.iter().filter_map(|pair| pair.baseline.1.zip(pair.treatment.1)).collect();
    let blocks = u32::try_from(pairs.len()).ok()?;
    let patterns = 1_u64.checked_shl(blocks).unwrap_or(PATTERNS).min(PATTERNS);
    let (mut alarms, mut not_passed) = (0, 0);
    for pattern in 0..patterns {
        let swapped = |(i, (a, b)): (usize, &(_, _))| if swaps(pattern, i) { (*b, *a) } else { (*a, *b) };
        let run: Vec<_> = pairs.iter().enumerate().map(swapped).collect();
        let differences: Vec<f64> =
            run.iter().filter_map(|(base, treat)| scale.difference(*treat, *base)).collect();
        let side = |of: fn(&(crate::metrics::Reading, crate::metrics::Reading)) -> f64| {
            median(&run.iter().map(of).collect::<Vec<_>>()).map(crate::metrics::Reading::Value)
        };
        let point = side(|run| run.1.value()).zip(side(|run| run.0.value()));
        let decision =
            rule.decide(&differences, point.and_then(|(treat, base)| scale.difference(treat, base))).decision;
        alarms += u64::from(decision == Decision::Fail);
        not_passed += u64::from(decision != Decision::Pass);
    }
    let (id, nominal_ppm) = (gate.id.clone(), rule.alpha_ppm);
    let one = Calibration { id, patterns, alarms, not_passed, nominal_ppm, warning: None };
    Some(Calibration { warning: warning(&one), ..one })
}

fn warning(c: &Calibration) -> Option<String> {
    let Calibration { id, patterns, alarms, nominal_ppm, .. } = c;
    (alarms * 1_000_000 > patterns * nominal_ppm).then(|| {
        format!("gate {id}: {alarms} of {patterns} runs of the device against itself fail: its margin is too narrow here")
    })
}

/// Several A/A runs of one plan as one: their swaps together, gate by gate.
pub fn pooled(runs: impl IntoIterator<Item = Vec<Calibration>>) -> Vec<Calibration> {
    let mut all: Vec<Calibration> = Vec::new();
    for one in runs.into_iter().flatten() {
        match all.iter_mut().find(|sum| sum.id == one.id) {
            None => all.push(one),
            Some(sum) => {
                sum.patterns += one.patterns;
                sum.alarms += one.alarms;
                sum.not_passed += one.not_passed;
            }
        }
    }
    all.into_iter().map(|sum| Calibration { warning: warning(&sum), ..sum }).collect()
}

/// Whether a pattern swaps a block: its bits, and beyond 12 blocks bits of its own scramble.
fn swaps(pattern: u64, block: usize) -> bool {
    let word = (block / 12) as u64;
    let bits = if word == 0 {
        pattern
    } else {
        pattern.wrapping_add(word << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
    };
    bits >> (block % 12) & 1 == 1
}

/// False alarms of a gate over several A/A runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Alarms {
    /// Runs.
    pub runs: u64,
    /// Those in which it failed.
    pub alarms: u64,
    /// One-sided 95 % upper bound of the rate.
    pub upper: f64,
    /// False when so many alarms would come by chance in fewer than 5 of 100 such sets of runs.
    pub within: bool,
}

/// False alarms of every gate over the verdicts of several A/A runs. No alarm in 59 runs shows a rate of at most 5 %.
pub fn alarms(verdicts: &[Verdict]) -> BTreeMap<String, Alarms> {
    let mut counts: BTreeMap<&str, (u64, u64, u64)> = BTreeMap::new();
    for gate in verdicts.iter().flat_map(|verdict| &verdict.gates).filter(|gate| crate::gate::decides(gate)) {
        let count = counts.entry(&gate.id).or_default();
        *count = (count.0 + 1, count.1 + u64::from(gate.verdict == Decision::Fail), gate.alpha_ppm);
    }
    let row = |(id, (runs, alarms, alpha_ppm)): (&str, (u64, u64, u64))| {
        let within = binomial_tail(alarms, runs, alpha_ppm as f64 / 1e6) >= 0.05;
        (id.to_owned(), Alarms { runs, alarms, upper: upper_bound(alarms, runs, 0.05), within })
    };
    counts.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_runs_are_warned_about_as_one() {
        let run = |alarms| {
            let one = Calibration {
                id: "p95".to_owned(),
                patterns: 32,
                alarms,
                not_passed: alarms,
                nominal_ppm: 50_000,
                warning: None,
            };
            vec![Calibration { warning: warning(&one), ..one }]
        };
        assert!(run(2)[0].warning.is_some() && run(1)[0].warning.is_none());
        let sum = &pooled([run(2), run(1), run(0)])[0];
        assert_eq!((sum.patterns, sum.alarms, sum.not_passed, &sum.warning), (96, 3, 3, &None));
        assert!(pooled([run(2), run(1), run(2)])[0].warning.is_some());
        assert!(pooled(Vec::new()).is_empty());
    }
}
