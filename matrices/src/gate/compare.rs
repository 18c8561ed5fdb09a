//! Gates that compare arms: every treatment with the baseline of its block, or arm values with a constant.

use super::blocks::{Pair, Side};
use super::rule::{Rule, Ruling};
use super::series::{self, Series};
use super::{Counted, Judged, Scale, undecided};
use crate::arm::Arm;
use crate::metrics::{Metric, Reading};
use crate::number::Number;
use crate::plan::{Class, Gate, Kind};
use crate::stats::{Estimate, estimate, median};
use crate::verdict::{Comparison, Decision, StratumRow, Unit};
use std::collections::BTreeMap;

/// Everything a comparison is made of.
struct Bench<'a, 'b> {
    counted: &'b Counted<'a>,
    gate: &'b Gate,
    rule: Rule,
    scale: Scale,
}

/// Judges a gate of a kind that compares.
pub(super) fn judge(
    counted: &Counted<'_>,
    gate: &Gate,
    metric: &Metric,
    scale: Scale,
    margin: f64,
) -> Judged {
    let bench = Bench { counted, gate, rule: Rule::of(gate, &counted.plan.design, margin), scale };
    let (baseline, others) = counted.layout.compared(&gate.selector);
    let mut all = Series::default();
    let mut comparisons = Vec::new();
    if gate.kind == Kind::Ceiling {
        for treatment in baseline.into_iter().chain(others) {
            for (stream, sides) in counted.sides(metric, &gate.selector, treatment) {
                all.add(stream.as_ref(), &sides);
                comparisons.push(bench.ceiling(treatment, stream, &sides));
            }
        }
    } else if let Some(baseline) = baseline {
        for treatment in others {
            for (stream, pairs) in counted.pairs(metric, &gate.selector, baseline, treatment) {
                all.add(stream.as_ref(), &pairs.iter().map(|pair| pair.baseline).collect::<Vec<_>>());
                all.add(stream.as_ref(), &pairs.iter().map(|pair| pair.treatment).collect::<Vec<_>>());
                comparisons.push(bench.against_baseline(treatment, stream, &pairs));
            }
        }
    }
    bench.together(comparisons, &all)
}

impl Bench<'_, '_> {
    /// The gate's verdict is that of the worst comparison, whose figures stand at its head.
    fn together(&self, comparisons: Vec<(Comparison, f64)>, all: &Series<'_>) -> Judged {
        let unit = self.unit();
        let mut judged = undecided(self.gate, unit, "nothing_to_compare");
        judged.values = all.values(&self.gate.metric);
        let result = &mut judged.result;
        result.alpha_ppm = self.rule.alpha_ppm;
        let mut worst: Option<&(Comparison, f64)> = None;
        for one in &comparisons {
            let worse = |than: &(Comparison, f64)| (one.0.verdict, one.1) > (than.0.verdict, than.1);
            worst = if worst.is_none_or(worse) { Some(one) } else { worst };
        }
        if let Some((head, _)) = worst {
            (result.point, result.hl) = (head.point, head.hl);
            (result.bound_low, result.bound_high) = (head.bound_low, head.bound_high);
            (result.verdict, result.seed_rule) = (head.verdict, head.seed_rule);
            result.reason.clone_from(&head.reason);
        }
        result.comparisons = comparisons.into_iter().map(|(comparison, _)| comparison).collect();
        result.drift = series::drift(self.counted.layout, all, self.scale, self.rule.margin);
        result.outliers = series::outliers(self.counted.layout, all);
        judged
    }

    /// Arm values of one treatment against the constant.
    fn ceiling(&self, treatment: u32, stream: Option<String>, sides: &[Side<'_>]) -> (Comparison, f64) {
        let found: Vec<(&Arm, f64)> = sides
            .iter()
            .filter_map(|(arm, reading)| reading.map(|reading| (*arm, reading.value())))
            .collect();
        let values: Vec<f64> = found.iter().map(|(_, value)| *value).collect();
        let point = median(&values);
        let ruling = self.rule.decide(&values, point);
        let severe = series::severe(&values);
        let kept: Vec<f64> = values.iter().copied().filter(|value| !severe(*value)).collect();
        let sensitivity = self.without(&values, &kept, median(&kept));
        let over = values.iter().filter(|value| self.rule.beyond(**value)).count();
        let missing = sides.len() - values.len();
        let by: Vec<(u32, f64)> = found.iter().map(|(arm, value)| (arm.place.stratum, *value)).collect();
        let mut row = self.row(treatment, stream, &ruling, missing, &by);
        (row.point, row.median_treatment) = (point.map(Number), point.map(Number));
        row.without_severe_outliers = sensitivity;
        set_over(&mut row, over, values.len());
        let reach = self.rule.reach(&ruling.estimate);
        (row, reach)
    }

    fn against_baseline(
        &self,
        treatment: u32,
        stream: Option<String>,
        pairs: &[Pair<'_>],
    ) -> (Comparison, f64) {
        let found: Vec<Found> = pairs.iter().filter_map(|pair| self.found(pair)).collect();
        let by: Vec<(u32, f64)> = found.iter().map(|one| (one.stratum, one.difference)).collect();
        let differences: Vec<f64> = found.iter().map(|one| one.difference).collect();
        let (bases, treats) = (values(&found, |one| one.baseline), values(&found, |one| one.treatment));
        let point = self.point(&found);
        let ruling = self.rule.decide(&differences, point);
        let mut row = self.row(treatment, stream, &ruling, pairs.len() - found.len(), &by);
        row.differences = differences.iter().copied().map(Number).collect();
        (row.median_baseline, row.median_treatment) =
            (median(&bases).map(Number), median(&treats).map(Number));
        row.point = point.map(Number);
        if let Some(centred) = self.centred(&found) {
            let over = centred[1].iter().filter(|value| self.rule.beyond(**value)).count();
            set_over(&mut row, over, found.len());
            row.without_severe_outliers = self.sensitivity(&found, &centred);
        }
        (row, self.rule.reach(&ruling.estimate))
    }

    /// A pair's two values and their difference, if it has all three.
    fn found(&self, pair: &Pair<'_>) -> Option<Found> {
        let (baseline, treatment) = (pair.baseline.1?, pair.treatment.1?);
        Some(Found {
            stratum: pair.treatment.0.place.stratum,
            baseline: baseline.value(),
            treatment: treatment.value(),
            difference: self.scale.difference(treatment, baseline)?,
        })
    }

    /// Baseline and treatment values from the median of their stratum's baseline arms: strata differ, and what they
    /// differ by is no effect.
    fn centred(&self, found: &[Found]) -> Option<[Vec<f64>; 2]> {
        let mut strata: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for one in found {
            strata.entry(one.stratum).or_default().push(one.baseline);
        }
        let from = |one: &Found, value: f64| {
            let centre = median(&strata[&one.stratum])?;
            self.scale.difference(Reading::Value(value), Reading::Value(centre))
        };
        let bases = found.iter().map(|one| from(one, one.baseline)).collect::<Option<_>>()?;
        Some([bases, found.iter().map(|one| from(one, one.treatment)).collect::<Option<_>>()?])
    }

    /// Difference of the medians of arms; over several strata, of the arms as they differ from their stratum's baseline.
    fn point(&self, found: &[Found]) -> Option<f64> {
        let [bases, treats] = self.centred(found)?;
        Some(median(&treats)? - median(&bases)?)
    }

    /// What the rule would say without pairs of which an arm is a severe outlier.
    fn sensitivity(&self, found: &[Found], [bases, treats]: &[Vec<f64>; 2]) -> Option<String> {
        let tests = [series::severe(bases), series::severe(treats)];
        let arms = found.iter().zip(bases.iter().zip(treats));
        let kept: Vec<Found> = arms
            .filter(|(_, (base, treat))| !tests[0](**base) && !tests[1](**treat))
            .map(|(one, _)| *one)
            .collect();
        let differences = |found: &[Found]| values(found, |one| one.difference);
        self.without(&differences(found), &differences(&kept), self.point(&kept))
    }

    fn row(
        &self,
        treatment: u32,
        stream: Option<String>,
        ruling: &Ruling,
        missing: usize,
        by: &[(u32, f64)],
    ) -> Comparison {
        let estimate = &ruling.estimate;
        // A value that is missing may be the one that would have broken the gate.
        let spoiled = missing > 0 && ruling.decision == Decision::Pass;
        let (verdict, reason) = if spoiled {
            (Decision::Inconclusive, "values_missing")
        } else {
            (ruling.decision, ruling.reason)
        };
        Comparison {
            treatment: self.counted.layout.treatment(treatment).to_owned(),
            stream,
            pairs: count(estimate.n),
            differences: Vec::new(),
            median_baseline: None,
            median_treatment: None,
            point: None,
            hl: estimate.hl.map(Number),
            critical_t: estimate.t.map_or(-1, u64::cast_signed),
            bound_low: estimate.lower.map(Number),
            bound_high: estimate.upper.map(Number),
            p_fail: (self.gate.class == Class::Gate && estimate.t.is_some()).then_some(Number(ruling.p_fail)),
            arms_over: 0,
            arms_over_flagged: false,
            seed_rule: ruling.seed_rule,
            verdict,
            reason: reason.to_owned(),
            strata: self.strata(by),
            without_severe_outliers: None,
        }
    }

    /// Unit of differences and margin.
    fn unit(&self) -> Unit {
        let absolute = Metric::parse(&self.gate.metric).map_or(Unit::Count, |metric| metric.unit());
        if self.scale == Scale::Relative { Unit::Ppm } else { absolute }
    }

    /// Each stratum's own estimate.
    fn strata(&self, by: &[(u32, f64)]) -> Vec<StratumRow> {
        let mut groups: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (stratum, difference) in by {
            groups.entry(*stratum).or_default().push(*difference);
        }
        let name = |stratum| self.counted.layout.stratum(stratum).to_owned();
        groups.into_iter().map(|(s, d)| stratum_row(name(s), &estimate(&d, self.rule.alpha_ppm))).collect()
    }

    /// The sensitivity line, when there are severe outliers.
    fn without(&self, all: &[f64], kept: &[f64], point: Option<f64>) -> Option<String> {
        let left_out = all.len() - kept.len();
        let unit = self.unit();
        let show = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), |value| unit.said(value));
        (left_out > 0).then(|| {
            let ruling = self.rule.decide(kept, point);
            let word = serde_json::to_value(ruling.decision).ok();
            let word = word.as_ref().and_then(|word| word.as_str()).unwrap_or("?").to_owned();
            let (low, high) = (show(ruling.estimate.lower), show(ruling.estimate.upper));
            let hl = show(ruling.estimate.hl);
            format!(
                "without severe outliers: {word}, HL {hl}, bounds {low} to {high}, {left_out} left out (not a verdict)"
            )
        })
    }
}

/// A pair's values.
#[derive(Clone, Copy)]
struct Found {
    stratum: u32,
    baseline: f64,
    treatment: f64,
    difference: f64,
}

fn values(found: &[Found], of: impl Fn(&Found) -> f64) -> Vec<f64> {
    found.iter().map(of).collect()
}

impl Scale {
    /// Treatment minus baseline on this scale.
    pub(crate) fn difference(self, treatment: Reading, baseline: Reading) -> Option<f64> {
        match self {
            Scale::Absolute => Some(treatment.value() - baseline.value()),
            Scale::Relative => treatment.relative_ppm(baseline),
        }
    }
}

/// A stratum's row from its estimate.
pub(super) fn stratum_row(stratum: String, estimate: &Estimate) -> StratumRow {
    StratumRow {
        stratum,
        pairs: count(estimate.n),
        hl: estimate.hl.map(Number),
        bound_low: estimate.lower.map(Number),
        bound_high: estimate.upper.map(Number),
    }
}

/// Four of ten or more over the margin is two populations, not one.
fn set_over(row: &mut Comparison, over: usize, arms: usize) {
    row.arms_over = count(over);
    row.arms_over_flagged = over > 0 && over * 10 >= arms * 4;
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
