//! A run against a baseline and against budgets: integers only, and the table of it (experiments, section 8).
//!
//! It judges figures; whether two runs may be compared at all is said before, by their identities.

mod budgets;
mod figures;
mod identity;

pub use budgets::{BudgetError, BudgetLine, Budgets, Condition, Facts};
pub use figures::{Better, Figure, Measure, figures};
pub use identity::{Differences, Identity};

use crate::verdict::Outcome;
use std::fmt::Write;

/// Growth of a time below this is noise, ns.
pub const FLOOR_NS: i64 = 20_000;

/// Growth to more than so many percent of the baseline is a failure, when it is past the floor as well.
pub const FAIL_PERCENT: i128 = 110;
/// Growth to more than so many percent of the baseline is a warning.
pub const WARN_PERCENT: i128 = 105;

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
        () if past(FAIL_PERCENT) && grown > i128::from(floor) => Grade::Fail,
        () if past(WARN_PERCENT) => Grade::Warn,
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

/// A figure against its baseline and its budget.
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
    /// Its unit.
    pub unit: Measure,
    /// Which way it gets worse.
    pub better: Better,
}

impl Row {
    /// The worst of both grades.
    pub fn grade(&self) -> Grade {
        self.growth().max(self.budget_grade().unwrap_or(Grade::Pass))
    }

    /// What the growth over the baseline is worth.
    pub fn growth(&self) -> Grade {
        self.better.grade(self.baseline, self.now, self.floor)
    }

    /// What the ceiling says; `None` without one.
    pub fn budget_grade(&self) -> Option<Grade> {
        let budget = self.budget.as_ref()?;
        if budget.unmet.is_some() {
            Some(Grade::Inconclusive)
        } else {
            against_budget(self.now, Some(budget.limit))
        }
    }

    /// The grade in words, with the budget named where it decides.
    pub fn verdict(&self) -> String {
        let grown = self.growth();
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
        let text = |value: i128| self.unit.text(value);
        [
            self.metric.clone(),
            text(self.baseline.into()),
            text(self.now.into()),
            format!("{sign}{}", text(change)),
            ratio(self.baseline, self.now),
            self.budget.as_ref().map_or_else(|| DASH.to_owned(), |budget| text(budget.limit.into())),
            self.verdict(),
        ]
    }
}

/// What stands where a ratio or a budget means nothing.
pub const DASH: &str = "\u{2014}";

/// Now over baseline with three decimals, half away from zero; a dash over a baseline at or below zero.
pub fn ratio(baseline: i64, now: i64) -> String {
    if baseline <= 0 {
        return DASH.to_owned();
    }
    let thousandths = ratio_thousandths(baseline, now).unwrap_or_default();
    let sign = if thousandths < 0 { "-" } else { "" };
    let size = thousandths.unsigned_abs();
    format!("{sign}{}.{:03}", size / 1000, size % 1000)
}

/// Now over baseline in thousandths, half away from zero; `None` over a baseline at or below zero.
pub fn ratio_thousandths(baseline: i64, now: i64) -> Option<i128> {
    (baseline > 0).then(|| rounded(i128::from(now) * 1000, i128::from(baseline)))
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

/// A whole number of the last of so many decimals, with its sign and commas.
fn fixed(value: i128, decimals: u32) -> String {
    let scale = 10_u128.pow(decimals);
    let sign = if value < 0 { "-" } else { "" };
    let size = value.unsigned_abs();
    match decimals {
        0 => format!("{sign}{}", thousands(size)),
        _ => format!("{sign}{}.{:0width$}", thousands(size / scale), size % scale, width = decimals as usize),
    }
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
        Row {
            metric: "m".into(),
            baseline,
            now,
            floor: FLOOR_NS,
            budget,
            unit: Measure::Ns,
            better: Better::Less,
        }
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
        let shown = [Measure::Ns, Measure::Ppm, Measure::Count, Measure::Millihertz, Measure::CpuHundredths];
        let shown = shown.map(|unit| unit.text(-1_234_567));
        assert_eq!(shown, ["-1,234.6", "-1,234,567", "-1,234,567", "-1,234.567", "-12,345.67"]);
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

        #[test]
        fn exactly_at_a_limit_is_not_past_it(hundreds in 1..i64::MAX / 200, floor in 0..i64::MAX / 2) {
            let baseline = hundreds * 100;
            let (warn, fail) = (hundreds * 105, hundreds * 110);
            let grade = |now| against_baseline(baseline, now, 0);
            let around = |limit| [grade(limit), grade(limit + 1)];
            prop_assert_eq!((around(warn), around(fail)), ([Grade::Pass, Grade::Warn], [Grade::Warn, Grade::Fail]));
            // Whatever the ratio says, growth by the floor itself never fails.
            prop_assert!(against_baseline(baseline.min(i64::MAX / 2), baseline.min(i64::MAX / 2) + floor, floor) < Grade::Fail);
        }

        #[test]
        fn past_ten_percent_it_fails_one_past_the_floor(baseline in 1..10 * FLOOR_NS) {
            let grade = |grown| against_baseline(baseline, baseline + grown, FLOOR_NS);
            prop_assert_eq!([grade(FLOOR_NS) == Grade::Fail, grade(FLOOR_NS + 1) == Grade::Fail], [false, true]);
        }

        #[test]
        fn from_nothing_or_less_any_growth_warns_and_past_the_floor_fails(baseline in i64::MIN..=0, floor in 0..i64::MAX) {
            let grade = |grown: i64| against_baseline(baseline, baseline.saturating_add(grown), floor);
            prop_assert_eq!([grade(-1), grade(0)], [Grade::Pass; 2]);
            let at = if floor == 0 { Grade::Pass } else { Grade::Warn };
            prop_assert_eq!([grade(floor), grade(floor + 1)], [at, Grade::Fail]);
            prop_assert_eq!(ratio(baseline, baseline.saturating_add(floor)), DASH);
        }

        #[test]
        fn a_row_is_as_bad_as_its_worst_part(baseline in any::<i64>(), now in any::<i64>(), limit in any::<i64>()) {
            let grade = row(baseline, now, limit, None).grade();
            prop_assert!(grade >= against_baseline(baseline, now, FLOOR_NS));
            prop_assert_eq!(grade == Grade::Fail, now > limit || against_baseline(baseline, now, FLOOR_NS) == Grade::Fail);
        }
    }
}
