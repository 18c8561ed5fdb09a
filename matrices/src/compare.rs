//! A run against a baseline and against budgets: integers only, and the table of it (experiments, section 8).
//!
//! It judges figures; whether two runs may be compared at all is said before, by their identities.

use crate::metrics::DEFINITIONS;
use crate::plan::{Plan, PlanStream};
use crate::verdict::{Outcome, Unit, Verdict};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Growth of a time below this is noise, ns.
pub const FLOOR_NS: i64 = 20_000;

/// What a figure is worth. Ordered from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// It holds.
    Pass,
    /// It grew past 5 %, or from nothing.
    Warn,
    /// The condition of its budget did not hold.
    Inconclusive,
    /// It grew past 10 % and the floor, or is over its budget.
    Fail,
}

impl Grade {
    /// The word in text and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Grade::Pass => "pass",
            Grade::Warn => "warn",
            Grade::Inconclusive => "inconclusive",
            Grade::Fail => "fail",
        }
    }
}

/// Grades growth over a baseline; exactly at a limit is not past it.
pub fn against_baseline(baseline: i64, current: i64, floor: i64) -> Grade {
    let (base, now) = (i128::from(baseline), i128::from(current));
    let grown = now - base;
    if grown <= 0 {
        return Grade::Pass;
    }
    let past = |percent: i128| base <= 0 || now * 100 > base * percent;
    match () {
        () if past(110) && grown > i128::from(floor) => Grade::Fail,
        () if past(105) => Grade::Warn,
        () => Grade::Pass,
    }
}

/// Grades a figure against its absolute ceiling; equal passes. `None` without a budget.
pub fn against_budget(current: i64, budget: Option<i64>) -> Option<Grade> {
    budget.map(|budget| if current > budget { Grade::Fail } else { Grade::Pass })
}

/// A ceiling, and whether the condition it was written for held (such as a load average of at most 3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The most that is allowed.
    pub limit: i64,
    /// The condition that did not hold.
    pub unmet: Option<String>,
}

/// A figure against its baseline and its budget, ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its name.
    pub metric: String,
    /// What it was.
    pub baseline: i64,
    /// What it is.
    pub now: i64,
    /// Growth that is noise.
    pub floor: i64,
    /// Its ceiling.
    pub budget: Option<Budget>,
}

impl Row {
    /// The worst of both grades.
    pub fn grade(&self) -> Grade {
        against_baseline(self.baseline, self.now, self.floor).max(self.budget_grade().unwrap_or(Grade::Pass))
    }

    fn budget_grade(&self) -> Option<Grade> {
        let budget = self.budget.as_ref()?;
        if budget.unmet.is_some() {
            Some(Grade::Inconclusive)
        } else {
            against_budget(self.now, Some(budget.limit))
        }
    }

    /// The grade in words, with the budget named where it decides.
    pub fn verdict(&self) -> String {
        let grown = against_baseline(self.baseline, self.now, self.floor);
        let unmet = self.budget.as_ref().and_then(|budget| budget.unmet.as_ref());
        match (grown, self.budget_grade(), unmet) {
            (Grade::Fail, Some(Grade::Fail), _) => "fail (baseline and budget)".to_owned(),
            (Grade::Fail, ..) => "fail".to_owned(),
            (_, Some(Grade::Fail), _) => "fail (budget)".to_owned(),
            (_, _, Some(unmet)) => format!("inconclusive (budget holds only with {unmet})"),
            _ => grown.word().to_owned(),
        }
    }

    /// Cells of the table: metric, baseline, now, change, ratio, budget, verdict.
    pub fn cells(&self) -> [String; 7] {
        let change = i128::from(self.now) - i128::from(self.baseline);
        let sign = if change < 0 { "" } else { "+" };
        [
            self.metric.clone(),
            us(self.baseline.into()),
            us(self.now.into()),
            format!("{sign}{}", us(change)),
            ratio(self.baseline, self.now),
            self.budget.as_ref().map_or_else(|| DASH.to_owned(), |budget| us(budget.limit.into())),
            self.verdict(),
        ]
    }
}

const DASH: &str = "\u{2014}";

/// Now over baseline with three decimals, half away from zero; a dash over a baseline at or below zero.
pub fn ratio(baseline: i64, now: i64) -> String {
    if baseline <= 0 {
        return DASH.to_owned();
    }
    let thousandths = rounded(i128::from(now) * 1000, i128::from(baseline));
    let sign = if thousandths < 0 { "-" } else { "" };
    let size = thousandths.unsigned_abs();
    format!("{sign}{}.{:03}", size / 1000, size % 1000)
}

/// ns as us with one decimal, half away from zero, and commas between thousands.
pub fn us(ns: i128) -> String {
    let tenths = rounded(ns, 100);
    let sign = if tenths < 0 { "-" } else { "" };
    let size = tenths.unsigned_abs();
    format!("{sign}{}.{}", thousands(size / 10), size % 10)
}

/// Division half away from zero, by a positive number.
fn rounded(value: i128, by: i128) -> i128 {
    let size = (value.abs() * 2 + by) / (by * 2);
    size * value.signum()
}

/// Digits with commas between thousands.
pub fn thousands(value: u128) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The table as Markdown.
pub fn markdown(rows: &[Row]) -> String {
    let mut text = String::from(
        "| metric | baseline \u{b5}s | now \u{b5}s | change \u{b5}s | ratio | budget \u{b5}s | verdict |\n\
         |---|---:|---:|---:|---:|---:|---|\n",
    );
    for row in rows {
        let _ = writeln!(text, "| {} |", row.cells().map(|cell| cell.replace('|', "\\|")).join(" | "));
    }
    text
}

/// The times of a verdict by name, ns: the median of every treatment's arms, and what each adds to the baseline.
pub fn figures(verdict: &Verdict) -> BTreeMap<String, i64> {
    let mut figures = BTreeMap::new();
    for gate in verdict.gates.iter().filter(|gate| gate.unit == Unit::Ns) {
        for row in &gate.comparisons {
            let stream = row.stream.as_ref().map_or_else(String::new, |stream| format!(":{stream}"));
            let series = format!("{}{stream}", gate.metric);
            let named = [
                ("baseline".to_owned(), row.median_baseline),
                (row.treatment.clone(), row.median_treatment),
                (format!("{} minus baseline", row.treatment), row.median_baseline.and(row.hl)),
            ];
            let found = named.into_iter().filter_map(|(what, value)| Some((what, value?)));
            figures.extend(found.map(|(what, value)| (format!("{series} {what}"), value.0.round() as i64)));
        }
    }
    figures
}

/// The figures that two verdicts share, against one another and against budgets by the same names.
pub fn rows(then: &Verdict, now: &Verdict, floor_ns: i64, budgets: &BTreeMap<String, Budget>) -> Vec<Row> {
    let (baseline, figures) = (figures(then), figures(now));
    let shared =
        figures.into_iter().filter_map(|(name, now)| Some((baseline.get(&name).copied()?, name, now)));
    shared
        .map(|(baseline, metric, now)| {
            let budget = budgets.get(&metric).cloned();
            Row { metric, baseline, now, floor: floor_ns, budget }
        })
        .collect()
}

/// What two runs must have in common before their figures may be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Identity {
    /// Metrics and the versions of their definitions.
    pub metrics: BTreeMap<String, u32>,
    /// Build of the device.
    pub device_build: String,
    /// Frames a second.
    pub fps: u32,
    /// Streams as one line each.
    pub streams: Vec<String>,
    /// Hash of the gates.
    pub gates_sha256: String,
}

/// Why two runs may not be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// Metrics whose definition changed: these are never compared.
    pub versions: Vec<String>,
    /// What may be allowed to differ, and then marks the report.
    pub conditions: Vec<String>,
}

impl Identity {
    /// That of a run: its plan, the hash of its gates, and the build the device said it was.
    pub fn of(plan: &Plan, gates_sha256: &str, device_build: &str) -> Self {
        let stream = |one: &PlanStream| {
            let (id, protocol, universes) = (&one.id, &one.protocol, &one.universes);
            format!("{id} {protocol} [{universes}] {} a frame", one.datagrams_per_frame)
        };
        Identity {
            metrics: plan.gate.iter().map(|gate| (gate.metric.clone(), DEFINITIONS)).collect(),
            device_build: device_build.to_owned(),
            fps: plan.target.expected_fps,
            streams: plan.stream.iter().map(stream).collect(),
            gates_sha256: gates_sha256.to_owned(),
        }
    }

    /// How another run differs from this one.
    pub fn differences(&self, other: &Identity) -> Differences {
        let mut found = Differences::default();
        for (metric, version) in &self.metrics {
            match other.metrics.get(metric) {
                Some(now) if now != version => {
                    found.versions.push(format!("{metric}: definition {version} then, {now} here"));
                }
                Some(_) => {}
                None => found.conditions.push(format!("metric {metric} is only in the baseline")),
            }
        }
        let added = other.metrics.keys().filter(|metric| !self.metrics.contains_key(*metric));
        found.conditions.extend(added.map(|metric| format!("metric {metric} is not in the baseline")));
        let rows = [
            ("device build", self.device_build.clone(), other.device_build.clone()),
            ("frames a second", self.fps.to_string(), other.fps.to_string()),
            ("streams", self.streams.join("; "), other.streams.join("; ")),
            ("gates_sha256", self.gates_sha256.clone(), other.gates_sha256.clone()),
        ];
        let differ = rows.into_iter().filter(|(_, then, now)| then != now);
        found.conditions.extend(differ.map(|(what, then, now)| format!("{what}: {then} then, {now} here")));
        found
    }
}

/// Whether a run may become a baseline, or why not. It is chosen by hand, never by being the last.
pub fn fit_as_baseline(outcome: Outcome, exploratory: bool, sealed: bool) -> Result<(), &'static str> {
    match outcome {
        _ if !sealed => Err("the bundle is not sealed: a baseline must be whole"),
        _ if exploratory => Err("the verdict is exploratory: judge it by its frozen plan"),
        Outcome::Pass => Ok(()),
        _ => Err("the verdict is not PASS: a baseline must be a run that passed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(baseline: i64, now: i64, limit: i64, unmet: Option<&str>) -> Row {
        let budget = Some(Budget { limit, unmet: unmet.map(str::to_owned) });
        Row { metric: "m".into(), baseline, now, floor: FLOOR_NS, budget }
    }

    #[test]
    fn a_budget_outside_its_condition_cannot_be_judged() {
        let unmet = row(100, 100, 50, Some("load <= 3"));
        assert_eq!(unmet.grade(), Grade::Inconclusive);
        assert_eq!(unmet.verdict(), "inconclusive (budget holds only with load <= 3)");
        assert_eq!(row(100, 900_000, 50, Some("load <= 3")).verdict(), "fail");
        assert_eq!(row(100, 900_000, 50, None).verdict(), "fail (baseline and budget)");
        assert_eq!(row(100, 100, 50, None).verdict(), "fail (budget)");
    }

    #[test]
    fn figures_round_half_away_from_zero_and_have_commas() {
        assert_eq!([us(1_234_567_850), us(-50), us(49), us(0)], ["1,234,567.9", "-0.1", "0.0", "0.0"]);
        assert_eq!([ratio(2000, 3001), ratio(8, -12), ratio(0, 5)], ["1.501", "-1.500", DASH]);
        assert_eq!(us(i64::MIN.into()), "-9,223,372,036,854,775.8");
    }

    #[test]
    fn runs_under_other_conditions_or_definitions_are_told_apart() {
        let identity =
            Identity { metrics: [("a".into(), 1), ("b".into(), 1)].into(), fps: 60, ..Identity::default() };
        let mut other = identity.clone();
        assert_eq!(identity.differences(&other), Differences::default());
        other.metrics = [("a".into(), 2), ("c".into(), 1)].into();
        other.fps = 50;
        let found = identity.differences(&other);
        assert_eq!(found.versions, ["a: definition 1 then, 2 here"]);
        let conditions = [
            "metric b is only in the baseline",
            "metric c is not in the baseline",
            "frames a second: 60 then, 50 here",
        ];
        assert_eq!(found.conditions, conditions);
    }

    #[test]
    fn only_a_sealed_pass_by_its_own_plan_becomes_a_baseline() {
        let fit = |outcome, exploratory, sealed| fit_as_baseline(outcome, exploratory, sealed).is_ok();
        assert!(fit(Outcome::Pass, false, true));
        assert!(!fit(Outcome::Pass, true, true) && !fit(Outcome::Pass, false, false));
        assert!(!fit(Outcome::Partial, false, true) && !fit(Outcome::Inconclusive, false, true));
    }

    proptest! {
        #[test]
        fn more_is_never_graded_better(baseline in any::<i64>(), now in any::<i64>(), more in 0..i64::MAX) {
            let grade = |now| against_baseline(baseline, now, FLOOR_NS);
            prop_assert!(grade(now) <= grade(now.saturating_add(more)));
            prop_assert_eq!(grade(now) == Grade::Pass || now > baseline, true);
        }
    }
}
