//! CSV after RFC 4180: one row a gate or diagnostic, figures as in the record with their unit beside them.

use super::figure::DASH;
use super::parts::{rule, seed_rule};
use crate::csv::cell;
use crate::render::RenderError;
use std::io::Write;
use wireproof_matrices::number::Number;
use wireproof_matrices::plan::Class;
use wireproof_matrices::verdict::{Decision, GateResult, Unit, Verdict};

const HEADER: [&str; 23] = [
    "plan",
    "plan_sha256",
    "run_verdict",
    "exploratory",
    "gate",
    "class",
    "metric",
    "kind",
    "unit",
    "margin",
    "alpha_ppm",
    "pairs",
    "point",
    "hl",
    "bound_low",
    "bound_high",
    "events",
    "trials",
    "one_in",
    "verdict",
    "seed_rule",
    "reason",
    "on_fail",
];

/// Writes the gates; line ends are CR LF.
pub(super) fn write(verdict: &Verdict, out: &mut dyn Write) -> Result<(), RenderError> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
    writer.write_record(HEADER)?;
    for gate in &verdict.gates {
        writer.write_record(row(verdict, gate))?;
    }
    Ok(writer.flush()?)
}

fn row(v: &Verdict, gate: &GateResult) -> Vec<String> {
    let mut row = vec![
        cell(&v.name),
        cell(&v.plan_sha256),
        v.verdict.word().to_lowercase(),
        v.exploratory.to_string(),
        cell(&gate.id),
        if gate.class == Class::Gate { "gate" } else { "diagnostic" }.to_owned(),
        cell(&gate.metric),
        rule(gate.kind).to_owned(),
        unit(gate.unit).to_owned(),
        number(gate.margin),
        gate.alpha_ppm.to_string(),
        gate.comparisons.iter().map(|c| c.pairs).min().map(|n| n.to_string()).unwrap_or_default(),
    ];
    row.extend([gate.point, gate.hl, gate.bound_low, gate.bound_high].map(number));
    let zero = gate.zero.as_ref().map(|zero| [zero.events, zero.trials, zero.one_in]);
    row.extend(zero.map_or_else(Default::default, |figures| figures.map(|n| n.to_string())));
    row.extend([
        decision(gate.verdict).to_owned(),
        seed_rule(gate.seed_rule).replace(DASH, ""),
        cell(&gate.reason),
        cell(gate.on_fail.as_deref().unwrap_or_default()),
    ]);
    row
}

/// A figure as in JSON, or nothing.
fn number(number: Option<Number>) -> String {
    number.and_then(|n| serde_json::to_string(&n).ok()).unwrap_or_default()
}

/// A word as in JSON.
fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Ns => "ns",
        Unit::Ppm => "ppm",
        Unit::Count => "count",
        Unit::PerSecond => "per_second",
        Unit::CpuHundredths => "cpu_hundredths",
    }
}

/// A word as in JSON.
fn decision(decision: Decision) -> &'static str {
    match decision {
        Decision::Shown => "shown",
        Decision::Pass => "pass",
        Decision::Inconclusive => "inconclusive",
        Decision::Fail => "fail",
    }
}
