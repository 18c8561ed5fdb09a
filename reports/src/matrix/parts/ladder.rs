//! A capacity ladder: what each step showed, and how far the device was shown to hold.

use super::{Kind, Part, Table};
use crate::matrix::figure::{DASH, count, figure, or_dash, seconds, word};
use crate::matrix::{Report, decision};
use wireproof_matrices::ladder::{Envelope, StepGate, StepRow};
use wireproof_matrices::metrics::Metric;
use wireproof_matrices::number::Number;
use wireproof_matrices::verdict::{Unit, Verdict};

/// The steps of a ladder, if the plan is one.
pub(super) fn envelope(report: &Report<'_>) -> Option<Part> {
    let (v, envelope) = (report.verdict, report.envelope?);
    let text = format!(
        "{}. The error is shared out over all planned steps, {} ppm each; bounds are one-sided with that share. Nothing \
         above the first step that does not hold was looked at.",
        envelope.sentence(),
        envelope.step_alpha_ppm
    );
    let steps = envelope.steps.iter().map(|step| row(v, step)).collect();
    let of_step = |step: &StepRow| step.gates.iter().map(|gate| gate_row(v, step, gate)).collect::<Vec<_>>();
    let gates = envelope.steps.iter().flat_map(of_step).collect();
    let columns = ["level", "gate", "metric", "limit", "measured", "bound", "verdict", "reason"];
    Some(
        Part::new(Kind::Ladder, "Envelope")
            .text(text)
            .table(Table::new(&[&envelope.factor, "arms", "ring kept", "verdict"], steps))
            .table(Table::new(&columns, gates))
            .or_say("No step was measured whole."),
    )
}

fn row(v: &Verdict, step: &StepRow) -> Vec<String> {
    vec![count(step.level), count(u64::from(step.arms)), kept(step), decision(v, step.verdict)]
}

/// How far back the ring reached at a step; a dash without one.
pub(in crate::matrix) fn kept(step: &StepRow) -> String {
    step.kept_ns.map_or_else(|| DASH.to_owned(), |ns| seconds(ns as f64))
}

fn gate_row(v: &Verdict, step: &StepRow, gate: &StepGate) -> Vec<String> {
    vec![
        count(step.level),
        gate.id.clone(),
        gate.metric.clone(),
        shown(gate, gate.limit),
        shown(gate, gate.point),
        bound(gate),
        decision(v, gate.verdict),
        gate.reason.clone(),
    ]
}

/// The unit of a gate of a step: that of its metric.
pub(in crate::matrix) fn unit(gate: &StepGate) -> Unit {
    Metric::parse(&gate.metric).map_or(Unit::Count, |metric| metric.unit())
}

/// A figure with its unit; counts have none.
pub(in crate::matrix) fn shown(gate: &StepGate, number: Option<Number>) -> String {
    let unit = unit(gate);
    match number {
        Some(number) if unit != Unit::Count => format!("{} {}", figure(number, unit), word(unit)),
        number => or_dash(number, unit),
    }
}

/// The upper bound of a gate of a step: a rate for events.
pub(in crate::matrix) fn bound(gate: &StepGate) -> String {
    match (gate.bound, gate.limit) {
        (Some(bound), None) => format!("{} ppb", figure(bound, Unit::Count)),
        (bound, _) => shown(gate, bound),
    }
}

/// A gate over the steps, to be drawn: level, estimate, bound.
pub(in crate::matrix) struct Climb<'a> {
    pub(in crate::matrix) id: &'a str,
    pub(in crate::matrix) metric: &'a str,
    pub(in crate::matrix) unit: Unit,
    pub(in crate::matrix) limit: f64,
    pub(in crate::matrix) steps: Vec<(u64, Option<f64>, Option<f64>)>,
}

/// The gates with a limit, over the steps.
pub(in crate::matrix) fn climbs(envelope: &Envelope) -> Vec<Climb<'_>> {
    let mut climbs: Vec<Climb<'_>> = Vec::new();
    for (step, gate) in envelope.steps.iter().flat_map(|step| step.gates.iter().map(move |gate| (step, gate)))
    {
        let Some(limit) = gate.limit else { continue };
        let figures = (step.level, gate.point.map(|n| n.0), gate.bound.map(|n| n.0));
        match climbs.iter_mut().find(|climb| climb.id == gate.id) {
            Some(climb) => climb.steps.push(figures),
            None => climbs.push(Climb {
                id: &gate.id,
                metric: &gate.metric,
                unit: unit(gate),
                limit: limit.0,
                steps: vec![figures],
            }),
        }
    }
    climbs
}
