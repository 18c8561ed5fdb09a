//! The figures of a verdict that two runs can be compared by: whole numbers in their smallest unit, named by metric and
//! treatment. Computes no statistics: medians and estimates stand in the verdict.

use super::{FLOOR_NS, Grade, against_baseline, fixed, us};
use crate::metrics::Metric;
use crate::number::Number;
use crate::plan::{Class, Direction, Plan};
use crate::verdict::{GateResult, Unit, Verdict};
use serde::{Deserialize, Serialize};

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Nanoseconds.
    Ns,
    /// Parts per million.
    Ppm,
    /// A count.
    Count,
    /// Thousandths of one a second.
    Millihertz,
    /// Hundredths of a percentage point of a core.
    CpuHundredths,
}

impl Measure {
    /// The word in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Ns => "ns",
            Measure::Ppm => "ppm",
            Measure::Count => "count",
            Measure::Millihertz => "millihertz",
            Measure::CpuHundredths => "cpu_hundredths",
        }
    }

    /// The unit that [`Measure::text`] writes.
    pub fn word(self) -> &'static str {
        match self {
            Measure::Ns => "\u{b5}s",
            Measure::Ppm => "ppm",
            Measure::Count => "",
            Measure::Millihertz => "/s",
            Measure::CpuHundredths => "points",
        }
    }

    /// A figure for people, without its unit.
    pub fn text(self, value: i128) -> String {
        match self {
            Measure::Ns => us(value),
            Measure::Ppm | Measure::Count => fixed(value, 0),
            Measure::Millihertz => fixed(value, 3),
            Measure::CpuHundredths => fixed(value, 2),
        }
    }

    /// The measure of a unit, and what its figures are multiplied by to be whole.
    fn of(unit: Unit) -> (Measure, f64) {
        match unit {
            Unit::Ns => (Measure::Ns, 1.0),
            Unit::Ppm => (Measure::Ppm, 1.0),
            Unit::Count => (Measure::Count, 1.0),
            Unit::PerSecond => (Measure::Millihertz, 1000.0),
            Unit::CpuHundredths => (Measure::CpuHundredths, 1.0),
        }
    }
}

/// Which way a figure gets worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is worse.
    Less,
    /// Less is worse.
    More,
    /// Away from the baseline is worse, either way.
    Equal,
}

impl Better {
    /// Grades a change by the rule of growth; where less is worse, the baseline is what has grown over the figure.
    pub fn grade(self, baseline: i64, now: i64, floor: i64) -> Grade {
        match self {
            Better::Less => against_baseline(baseline, now, floor),
            Better::More => against_baseline(now, baseline, floor),
            Better::Equal => {
                against_baseline(baseline, now, floor).max(against_baseline(now, baseline, floor))
            }
        }
    }
}

/// A figure of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figure {
    /// Metric, stream and treatment, such as `frame.p95 raw` or `wire.rate:sacn baseline`.
    pub metric: String,
    /// Whether it decides.
    pub class: Class,
    /// Its unit.
    pub unit: Measure,
    /// Which way it gets worse.
    pub better: Better,
    /// Growth that is noise, in its unit.
    pub floor: i64,
    /// What it was.
    pub value: i64,
}

/// The figures of a verdict in the order of its gates: of each treatment the median of its arms and what it adds to the
/// baseline, of what must not happen how often it did, of CPU what was added. A gate on a metric that an earlier gate has
/// too is named behind the metric, in brackets.
pub fn figures(plan: &Plan, verdict: &Verdict) -> Vec<Figure> {
    let mut all: Vec<Figure> = Vec::new();
    for (at, gate) in verdict.gates.iter().enumerate() {
        let Some(metric) = Metric::parse(&gate.metric) else { continue };
        let again = verdict.gates.iter().take(at).any(|other| other.metric == gate.metric);
        let suffix = if again { format!(" [{}]", gate.id) } else { String::new() };
        let named = |(name, unit, value): (String, Unit, Number)| {
            let (unit, scale) = Measure::of(unit);
            Figure {
                metric: format!("{name}{suffix}"),
                class: gate.class,
                unit,
                better: better(plan, gate, &metric),
                floor: floor(gate, unit, value),
                value: whole(value.0 * scale),
            }
        };
        all.extend(of_gate(gate, &metric).into_iter().map(named));
    }
    all
}

/// Names, units and values of a gate.
fn of_gate(gate: &GateResult, metric: &Metric) -> Vec<(String, Unit, Number)> {
    let mut found = Vec::new();
    if let Some(zero) = &gate.zero {
        found.push((gate.metric.clone(), Unit::Count, Number(zero.events as f64)));
    }
    for row in gate.overhead.iter().flat_map(|overhead| &overhead.strata) {
        let name = format!("{} {} minus baseline", gate.metric, row.stratum);
        found.extend(row.hl.map(|value| (name, metric.unit(), value)));
    }
    for row in &gate.comparisons {
        let stream = row.stream.as_ref().map_or_else(String::new, |stream| format!(":{stream}"));
        let series = format!("{}{stream}", gate.metric);
        let baseline = (format!("{series} baseline"), metric.unit(), row.median_baseline);
        let treatment = (format!("{series} {}", row.treatment), metric.unit(), row.median_treatment);
        // Of a rate the run's own gate says whether it stayed equal: what is added to it is noise around zero.
        let added = row.median_baseline.and(row.hl).filter(|_| *metric != Metric::Rate);
        let added = (format!("{series} {} minus baseline", row.treatment), gate.unit, added);
        for (name, unit, value) in [baseline, treatment, added] {
            let known = found.iter().any(|(other, ..)| *other == name);
            found.extend(value.filter(|_| !known).map(|value| (name, unit, value)));
        }
    }
    found
}

fn better(plan: &Plan, gate: &GateResult, metric: &Metric) -> Better {
    let asked = plan.gate.iter().find(|planned| planned.id == gate.id).map(|planned| planned.direction);
    match (metric, asked) {
        (Metric::Rate, _) => Better::Equal,
        (_, Some(Direction::More)) => Better::More,
        _ => Better::Less,
    }
}

/// Noise: 20 us of times; of others the margin of their gate, in the figure's own unit, or none.
fn floor(gate: &GateResult, unit: Measure, value: Number) -> i64 {
    let margin = gate.margin.map_or(0.0, |margin| margin.0);
    match unit {
        Measure::Ns => FLOOR_NS,
        Measure::Millihertz => whole(value.0.abs() * 1000.0 * margin / 1e6),
        Measure::Count | Measure::Ppm | Measure::CpuHundredths => whole(margin),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a cast saturates: no figure leaves the range")]
fn whole(value: f64) -> i64 {
    value.round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_figure_that_should_be_large_or_equal_gets_worse_the_other_way_too() {
        let grades = |better: Better| [50, 94, 100, 106, 200].map(|now| better.grade(100, now, 0));
        use Grade::{Fail, Pass, Warn};
        assert_eq!(grades(Better::Less), [Pass, Pass, Pass, Warn, Fail]);
        assert_eq!(grades(Better::More), [Fail, Warn, Pass, Pass, Pass]);
        assert_eq!(grades(Better::Equal), [Fail, Warn, Pass, Warn, Fail]);
        assert_eq!((Better::More.grade(100, 0, 0), Better::More.grade(100, 0, 100)), (Fail, Warn));
    }

    proptest! {
        #[test]
        fn less_and_more_mirror_each_other(a in any::<i64>(), b in any::<i64>(), floor in 0..i64::MAX) {
            prop_assert_eq!(Better::Less.grade(a, b, floor), Better::More.grade(b, a, floor));
            prop_assert_eq!(Better::Equal.grade(a, b, floor), Better::Equal.grade(b, a, floor));
        }
    }
}
