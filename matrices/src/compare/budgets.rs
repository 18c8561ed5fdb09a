//! Budgets: absolute ceilings by figure, and the conditions under which they hold (experiments, section 8).
//!
//! It reads text that it is given and knows nothing of runs; what a budget says of a figure is `Row`'s.

use super::{Budget, Figure, Measure};
use crate::units::{duration_ns, ratio_ppm};
use serde::Deserialize;
use std::collections::BTreeSet;
use thiserror::Error;
use toml::Spanned;

/// Longest text that an error repeats, characters.
const SHOWN: usize = 60;

/// Why a file of budgets, or one of its budgets, was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {reason}")]
pub struct BudgetError {
    /// Line in the file, from 1.
    pub line: usize,
    /// What is wrong and what to write.
    pub reason: String,
}

/// A file of budgets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budgets {
    /// In the order of the file.
    pub lines: Vec<BudgetLine>,
}

/// A budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetLine {
    /// Line in the file, from 1.
    pub line: usize,
    /// The figure it is for.
    pub metric: String,
    /// The most that is allowed, in its unit.
    pub ceiling: i64,
    /// Its unit.
    pub unit: Measure,
    /// Under what it was written to hold.
    pub condition: Option<Condition>,
}

/// What was so while a run was made; `None` where nobody knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Load average over a minute, thousandths.
    pub load: Option<i64>,
    /// Flags of a device that slowed itself down, or 0.
    pub throttled: Option<i64>,
}

/// A condition such as `load <= 3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    text: String,
    fact: Fact,
    test: Test,
    limit: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fact {
    Load,
    Throttled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Test {
    AtMost,
    Below,
    AtLeast,
    Above,
    Equal,
}

const TESTS: [(&str, Test); 5] = [
    ("<=", Test::AtMost),
    (">=", Test::AtLeast),
    ("==", Test::Equal),
    ("<", Test::Below),
    (">", Test::Above),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    schema: Spanned<i64>,
    #[serde(default)]
    budget: Vec<RawBudget>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBudget {
    metric: Spanned<String>,
    ceiling: Spanned<RawCeiling>,
    condition: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawCeiling {
    Count(i64),
    Text(String),
    Other(toml::Value),
}

impl Budgets {
    /// Reads a file.
    ///
    /// # Errors
    /// The first thing that is wrong, by its line: no TOML, an unknown key, a ceiling without a unit, a condition that is
    /// none, a metric that stands there twice.
    pub fn read(text: &str) -> Result<Budgets, BudgetError> {
        let at = |offset: usize, reason: String| BudgetError {
            line: 1 + text.as_bytes().iter().take(offset).filter(|octet| **octet == b'\n').count(),
            reason,
        };
        let raw: RawFile = toml::from_str(text).map_err(|error| {
            let reason = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
            at(error.span().map_or(0, |span| span.start), reason)
        })?;
        if *raw.schema.get_ref() != 1 {
            return Err(at(
                raw.schema.span().start,
                "schema is not 1, which is all that is known here".into(),
            ));
        }
        let (mut lines, mut seen) = (Vec::new(), BTreeSet::new());
        for budget in raw.budget {
            let start = budget.metric.span().start;
            let metric = budget.metric.into_inner();
            if !seen.insert(metric.clone()) {
                return Err(at(start, format!("{} has two budgets: keep one", shown(&metric))));
            }
            let span = budget.ceiling.span().start;
            let (ceiling, unit) = ceiling(budget.ceiling.get_ref()).map_err(|reason| at(span, reason))?;
            let condition = budget.condition.map(|text| {
                let span = text.span().start;
                Condition::read(text.get_ref()).map_err(|reason| at(span, reason))
            });
            let line = at(start, String::new()).line;
            lines.push(BudgetLine { line, metric, ceiling, unit, condition: condition.transpose()? });
        }
        Ok(Budgets { lines })
    }

    /// The budget of a figure, with what of its condition does not hold.
    pub fn of(&self, metric: &str, facts: &Facts) -> Option<(&BudgetLine, Budget)> {
        let line = self.lines.iter().find(|line| line.metric == metric)?;
        let unmet = line.condition.as_ref().filter(|condition| !condition.holds(facts));
        Some((line, Budget { limit: line.ceiling, unmet: unmet.map(|condition| condition.text.clone()) }))
    }

    /// Refuses a budget that is for no figure of a run, or in another unit: it would silently hold nothing.
    ///
    /// # Errors
    /// The first one, with the figures there are.
    pub fn fit(&self, figures: &[Figure]) -> Result<(), BudgetError> {
        for BudgetLine { line, metric, unit, .. } in &self.lines {
            let refused = |reason: String| BudgetError { line: *line, reason };
            let Some(figure) = figures.iter().find(|figure| figure.metric == *metric) else {
                let names: Vec<&str> = figures.iter().map(|figure| figure.metric.as_str()).collect();
                let what = format!("the run has no figure {}, its figures are: ", shown(metric));
                return Err(refused(what + &names.join(", ")));
            };
            if figure.unit != *unit {
                let example = example(figure.unit);
                return Err(refused(format!(
                    "the ceiling of {metric} is in another unit: write it like {example}"
                )));
            }
        }
        Ok(())
    }
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

/// How a ceiling of a unit is written.
fn example(unit: Measure) -> &'static str {
    match unit {
        Measure::Ns => "\"6ms\"",
        Measure::Ppm => "\"0.1%\"",
        Measure::Count => "0",
        Measure::Millihertz => "\"60.5/s\"",
        Measure::CpuHundredths => "\"1.50points\"",
    }
}

fn ceiling(raw: &RawCeiling) -> Result<(i64, Measure), String> {
    let all = "write a whole number for a count, else a text with a unit: \"6ms\", \"0.1%\", \"60.5/s\", \"1.50points\"";
    let text = match raw {
        RawCeiling::Count(count) => return Ok((*count, Measure::Count)),
        RawCeiling::Text(text) => text,
        RawCeiling::Other(other) => return Err(format!("ceiling is of type {}: {all}", other.type_str())),
    };
    let signed = |value: u64| i64::try_from(value).map_err(|_| format!("{} is too large", shown(text)));
    let decimal = |number: &str, decimals: usize| {
        scaled(number, decimals).ok_or_else(|| format!("{:?} has no number: {all}", shown(text)))
    };
    match text {
        _ if text.ends_with("/s") => Ok((decimal(text.trim_end_matches("/s"), 3)?, Measure::Millihertz)),
        _ if text.ends_with("points") => {
            Ok((decimal(text.trim_end_matches("points"), 2)?, Measure::CpuHundredths))
        }
        _ if text.ends_with('%') || text.ends_with("ppm") => {
            Ok((signed(ratio_ppm(text).map_err(|error| error.to_string())?)?, Measure::Ppm))
        }
        _ => Ok((signed(duration_ns(text).map_err(|error| error.to_string())?)?, Measure::Ns)),
    }
}

/// A decimal number without sign as a whole number of its last decimal; `None` for anything else.
fn scaled(number: &str, decimals: usize) -> Option<i64> {
    let number = number.trim();
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > decimals {
        return None;
    }
    format!("{whole}{part:0<decimals$}").parse().ok()
}

impl Condition {
    /// Reads `load <= 3`: a fact (`load`, `throttled`), one of `<= < >= > ==`, a number.
    ///
    /// # Errors
    /// What is wrong, and what to write.
    pub fn read(text: &str) -> Result<Condition, String> {
        let refused = || {
            let shown = shown(text);
            format!("{shown:?} is no condition: write it like \"load <= 3\" or \"throttled == 0\"")
        };
        let find = |(sign, test)| text.split_once(sign).map(|(name, number)| (name, test, number));
        let (name, test, number) = TESTS.into_iter().find_map(find).ok_or_else(refused)?;
        let (fact, decimals) = match name.trim() {
            "load" => (Fact::Load, 3),
            "throttled" => (Fact::Throttled, 0),
            _ => return Err(refused()),
        };
        let limit = match decimals {
            0 => number.trim().parse().ok(),
            _ => scaled(number, decimals),
        };
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(Condition { fact, test, limit: limit.ok_or_else(refused)?, text })
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is known to hold: what nobody knows does not.
    pub fn holds(&self, facts: &Facts) -> bool {
        let known = match self.fact {
            Fact::Load => facts.load,
            Fact::Throttled => facts.throttled,
        };
        known.is_some_and(|value| match self.test {
            Test::AtMost => value <= self.limit,
            Test::Below => value < self.limit,
            Test::AtLeast => value >= self.limit,
            Test::Above => value > self.limit,
            Test::Equal => value == self.limit,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "schema = 1\n[[budget]]\nmetric = \"frame.p95 raw\"\nceiling = \"6ms\"\ncondition = \"load <= 3\"\n\
                        [[budget]]\nmetric = \"wire.lost\"\nceiling = 0\n";

    #[test]
    fn a_file_of_budgets_is_read_with_units_and_conditions() {
        let budgets = Budgets::read(GOOD).unwrap();
        let found: Vec<_> =
            budgets.lines.iter().map(|l| (l.line, l.metric.as_str(), l.ceiling, l.unit)).collect();
        assert_eq!(
            found,
            [(3, "frame.p95 raw", 6_000_000, Measure::Ns), (7, "wire.lost", 0, Measure::Count)]
        );
        let unmet = |load| budgets.of("frame.p95 raw", &Facts { load, throttled: None }).unwrap().1.unmet;
        assert_eq!((unmet(Some(3_000)), unmet(Some(3_001))), (None, Some("load <= 3".to_owned())));
        assert_eq!(unmet(None), Some("load <= 3".to_owned()), "what nobody knows does not hold");
        assert_eq!(budgets.of("frame.p95", &Facts::default()), None);
        for (text, value) in [("60.5/s", 60_500), ("1.5points", 150), ("0.1%", 1_000), ("20us", 20_000)] {
            assert_eq!(ceiling(&RawCeiling::Text(text.to_owned())).unwrap().0, value, "{text}");
        }
    }

    #[test]
    fn what_is_misspelt_is_named_by_its_line() {
        let line = "[[budget]]\nmetric = \"m\"\n";
        for (rest, words) in [
            ("[[budgets]]\n", "line 2: unknown field `budgets`"),
            ("x = 1\n", "line 2: unknown field `x`"),
            ("[[budget]]\nmetric = \"m\"\ncieling = 1\n", "line 4: unknown field `cieling`"),
            (&format!("{line}ceiling = 1.5\n"), "line 4: ceiling is of type float"),
            (&format!("{line}ceiling = \"6\"\n"), "line 4: \"6\" has no unit"),
            (&format!("{line}ceiling = \"-6/s\"\n"), "line 4: \"-6/s\" has no number"),
            (
                &format!("{line}ceiling = 1\ncondition = \"laod < 3\"\n"),
                "line 5: \"laod < 3\" is no condition",
            ),
            (&format!("{line}ceiling = 1\ncondition = \"load < x\"\n"), "is no condition"),
            (&format!("{line}ceiling = 1\n{line}ceiling = 2\n"), "line 6: m has two budgets"),
        ] {
            let error = Budgets::read(&format!("schema = 1\n{rest}")).unwrap_err().to_string();
            assert!(error.contains(words), "{rest}: {error}");
        }
        assert!(Budgets::read("").unwrap_err().reason.contains("schema"));
        assert!(Budgets::read("schema = 2\n").unwrap_err().reason.contains("schema is not 1"));
    }

    #[test]
    fn a_budget_for_no_figure_or_in_another_unit_is_refused() {
        let figure = |metric: &str, unit| Figure {
            metric: metric.to_owned(),
            class: crate::plan::Class::Gate,
            unit,
            better: super::super::Better::Less,
            floor: 0,
            value: 1,
        };
        let budgets = Budgets::read(GOOD).unwrap();
        let (time, count) = (figure("frame.p95 raw", Measure::Ns), figure("wire.lost", Measure::Count));
        assert_eq!(budgets.fit(&[time.clone(), count]), Ok(()));
        let missing = budgets.fit(std::slice::from_ref(&time)).unwrap_err().to_string();
        assert_eq!(missing, "line 7: the run has no figure wire.lost, its figures are: frame.p95 raw");
        let other = budgets.fit(&[figure("frame.p95 raw", Measure::Count)]).unwrap_err().to_string();
        assert!(other.contains("in another unit: write it like 0"), "{other}");
    }

    #[test]
    fn every_test_of_a_condition_is_exact_at_its_limit() {
        let holds = |text: &str, load| {
            Condition::read(text).unwrap().holds(&Facts { load: Some(load), throttled: Some(0) })
        };
        let found = ["load <= 3", "load < 3", "load >= 3", "load > 3", "load == 3", "throttled==0"];
        assert_eq!(found.map(|text| holds(text, 2_999)), [true, true, false, false, false, true]);
        assert_eq!(found.map(|text| holds(text, 3_000)), [true, false, true, false, true, true]);
        assert_eq!(found.map(|text| holds(text, 3_001)), [false, false, true, true, false, true]);
    }
}
