//! The arms in run order: their values, trends and outliers, as tables and as series to draw.

use super::gates::value_unit;
use super::{Kind, Part, Table, yes};
use crate::matrix::figure::{DASH, count, figure, probability, signed, word};
use wireproof_matrices::plan::Class;
use wireproof_matrices::verdict::{ArmRow, GateResult, OutlierRow, Unit, Verdict};

/// Most metrics that stand in the table; the record has all.
const METRICS: usize = 10;

/// A metric of the arms that a gate looks at.
struct Metric<'a> {
    /// Its key in the arms' values.
    key: &'a str,
    unit: Unit,
}

/// The metrics of the gates as they stand in the arms, in the order of the plan; a stream's own behind one another.
fn metrics(v: &Verdict) -> Vec<Metric<'_>> {
    let mut found: Vec<Metric<'_>> = Vec::new();
    for gate in v.gates.iter().filter(|g| g.class == Class::Gate).chain(&v.gates) {
        for key in keys(v, gate) {
            if found.iter().all(|metric| metric.key != key) {
                found.push(Metric { key, unit: value_unit(gate) });
            }
        }
    }
    found
}

/// Keys of the arms' values that belong to a gate, sorted.
fn keys<'a>(v: &'a Verdict, gate: &GateResult) -> Vec<&'a str> {
    let belongs = |key: &&String| {
        let rest = key.strip_prefix(gate.metric.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    };
    let mut keys: Vec<&str> =
        v.arms.iter().flat_map(|arm| arm.values.keys()).filter(belongs).map(String::as_str).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Every attempt in run order.
pub(super) fn run_order(v: &Verdict) -> Part {
    let metrics = metrics(v);
    let (shown, rest) = metrics.split_at(metrics.len().min(METRICS));
    let strata = v.arms.iter().any(|arm| v.arms.first().is_some_and(|first| first.stratum != arm.stratum));
    let mut columns = vec!["arm".to_owned(), "state".to_owned()];
    columns.extend(strata.then(|| "stratum".to_owned()));
    columns.extend(shown.iter().map(|m| format!("{} {}", m.key, word(m.unit)).trim_end().to_owned()));
    columns.push("notes".to_owned());
    let rows = v.arms.iter().map(|arm| row(arm, strata, shown)).collect();
    let mut part = Part::new(Kind::Plain, "Run order").text("Every attempt, in the order it was run.");
    if !rest.is_empty() {
        let names: Vec<&str> = rest.iter().map(|m| m.key).collect();
        part = part.text(format!("Left out here, in the record: {}.", names.join(", ")));
    }
    part.table(Table { columns, rows }).or_say("No arm was run.")
}

fn row(arm: &ArmRow, strata: bool, metrics: &[Metric<'_>]) -> Vec<String> {
    let state =
        if arm.state == "ok" && !arm.counted { "ok, not counted".to_owned() } else { arm.state.clone() };
    let value = |m: &Metric<'_>| {
        arm.values.get(m.key).map_or_else(|| DASH.to_owned(), |number| figure(*number, m.unit))
    };
    let mut row = vec![arm.name.clone(), state];
    row.extend(strata.then(|| arm.stratum.clone()));
    row.extend(metrics.iter().map(value));
    let said: Vec<&str> = arm.reasons.iter().chain(&arm.notes).map(String::as_str).collect();
    row.push(said.join(", "));
    row
}

/// Trends over the run.
pub(super) fn drift(v: &Verdict) -> Part {
    let mut rows = Vec::new();
    for gate in &v.gates {
        let unit = gate.unit;
        rows.extend(gate.drift.iter().map(|d| {
            vec![
                gate.id.clone(),
                d.stratum.clone(),
                d.arms.to_string(),
                d.kendall_s.to_string(),
                probability(d.p),
                signed(d.slope_per_arm, unit),
                signed(d.total, unit),
                word(unit).to_owned(),
                yes(d.reported),
            ]
        }));
    }
    let columns = [
        "gate",
        "stratum",
        "arms",
        "Kendall S",
        "p",
        "Theil-Sen slope an arm",
        "over the run",
        "unit",
        "reported",
    ];
    let text = "Arms minus the median of their own treatment, in run order. Reported when p is below 0.01 and the \
                total beyond half of the limit. A finding, not a failure: pairs within blocks cancel it.";
    let part = Part::new(Kind::Plain, "Drift").table(Table::new(&columns, rows));
    if part.tables.is_empty() { part.or_say("Not computed.") } else { part.text(text) }
}

/// Arms outside the fences.
pub(super) fn outliers(v: &Verdict) -> Option<Part> {
    let row = |gate: &GateResult, o: &OutlierRow| {
        let unit = value_unit(gate);
        let how = if o.severe { "severe" } else { "mild" };
        vec![gate.id.clone(), o.arm.clone(), figure(o.value, unit), word(unit).to_owned(), how.to_owned()]
    };
    let rows: Vec<_> = v.gates.iter().flat_map(|g| g.outliers.iter().map(move |o| row(g, o))).collect();
    let text = "Beyond 1.5 (mild) or 3 (severe) quartile ranges. Tagged, never removed: every verdict uses all arms.";
    let table = Table::new(&["gate", "arm", "value", "unit", ""], rows);
    (!table.rows.is_empty()).then(|| Part::new(Kind::Plain, "Outliers").text(text).table(table))
}

/// Values of a metric in run order, to be drawn.
pub(in crate::matrix) struct Series<'a> {
    /// Its key in the arms' values.
    pub(in crate::matrix) key: &'a str,
    pub(in crate::matrix) unit: Unit,
    /// The attempts that have the value.
    pub(in crate::matrix) arms: Vec<(&'a ArmRow, f64)>,
}

impl Series<'_> {
    /// True when the arms are of more than one stratum.
    pub(in crate::matrix) fn several_strata(&self) -> bool {
        let first = self.arms.first().map(|(arm, _)| arm.stratum.as_str());
        self.arms.iter().any(|(arm, _)| Some(arm.stratum.as_str()) != first)
    }
}

/// What a gate's metric was in the arms, a series a stream; none of events that never happened.
pub(in crate::matrix) fn series<'a>(v: &'a Verdict, gate: &GateResult) -> Vec<Series<'a>> {
    let unit = value_unit(gate);
    let of = |key: &'a str| {
        let value = |arm: &'a ArmRow| arm.values.get(key).map(|number| (arm, number.0));
        Series { key, unit, arms: v.arms.iter().filter_map(value).collect() }
    };
    let quiet =
        |series: &Series<'_>| gate.zero.is_some() && series.arms.iter().all(|(_, value)| *value == 0.0);
    keys(v, gate).into_iter().map(of).filter(|series| !quiet(series)).collect()
}

/// How many arms count, of all.
pub(in crate::matrix) fn counted(v: &Verdict) -> String {
    let counted = v.arms.iter().filter(|arm| arm.counted).count() as u64;
    format!("{} of {} attempts count", count(counted), count(v.arms.len() as u64))
}
