//! The sentences of a verdict: reasons, findings, CPU, and what the run does not show. They decide nothing.

use super::{Circumstances, Decision, Outcome, OwnerRow, Verdict};
use crate::gate::decides;
use crate::plan::{Class, Kind};

/// Why the verdict is what it is, most important first.
pub(super) fn reasons(
    verdict: &Verdict,
    circumstances: &Circumstances,
    invalid: bool,
    partial: bool,
) -> Vec<String> {
    let mut all = circumstances.run_invalid.clone();
    if invalid && verdict.validity.rule.starts_with("run invalid") {
        all.push(verdict.validity.rule.clone());
    }
    if partial {
        let why = circumstances.aborted.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        all.push(format!(
            "{} of {} blocks are complete{why}",
            verdict.blocks_complete, verdict.blocks_planned
        ));
    }
    let prefix = if partial { "partial: " } else { "" };
    let mut gates: Vec<_> =
        verdict.gates.iter().filter(|gate| decides(gate) && gate.verdict != Decision::Pass).collect();
    gates.sort_by_key(|gate| std::cmp::Reverse(gate.verdict));
    for gate in gates {
        let word = if gate.verdict == Decision::Fail { "fails" } else { "cannot decide" };
        let then =
            gate.on_fail.as_ref().map_or_else(String::new, |then| format!("; decided beforehand: {then}"));
        all.push(format!("{prefix}gate {} {word}: {}{then}", gate.id, gate.reason));
    }
    if !verdict.gates.iter().any(decides) {
        all.push("no gate decides: the plan has diagnostics only".to_owned());
    }
    if verdict.verdict == Outcome::Pass {
        all.push("every gate holds".to_owned());
    }
    all
}

/// Things to know that decide nothing.
pub(super) fn findings(verdict: &Verdict) -> Vec<String> {
    let mut all = Vec::new();
    for gate in &verdict.gates {
        for drift in gate.drift.iter().filter(|drift| drift.reported) {
            let (total, arms, p) = (gate.unit.said(drift.total.0), drift.arms, drift.p.0);
            all.push(format!(
                "drift of {} in {}: {total} over {arms} arms, p = {p:.2e}; blocks remove it from the comparison",
                gate.metric, drift.stratum
            ));
        }
        for row in gate.comparisons.iter().filter(|row| row.arms_over_flagged) {
            all.push(format!(
                "gate {}: {} of {} arms of {} are over the margin{}",
                gate.id,
                row.arms_over,
                row.pairs,
                row.stream
                    .as_ref()
                    .map_or_else(|| row.treatment.clone(), |id| format!("{} ({id})", row.treatment)),
                populations(row.arms_over, row.pairs)
            ));
        }
        let severe = gate.outliers.iter().filter(|one| one.severe).count();
        if !gate.outliers.is_empty() {
            all.push(format!(
                "gate {}: {} outliers, {severe} severe; all are used",
                gate.id,
                gate.outliers.len()
            ));
        }
        for row in &gate.comparisons {
            all.extend(
                row.without_severe_outliers
                    .iter()
                    .map(|line| format!("gate {}, {}: {line}", gate.id, row.treatment)),
            );
        }
    }
    if let Some(line) = not_counted(&verdict.attribution.not_counted) {
        all.push(line);
    }
    all
}

/// A loss of the device in an arm that does not count is never lost.
fn not_counted(row: &OwnerRow) -> Option<String> {
    let device = row.sender.saturating_add(row.wire).saturating_add(row.upstream);
    (device > 0).then(|| {
        format!(
            "{device} datagrams were lost before the bench in arms that do not count; no gate judges them"
        )
    })
}

/// One sentence on CPU for every `overhead` gate.
pub(super) fn cpu(verdict: &Verdict) -> Vec<String> {
    let gates = verdict.gates.iter().filter(|gate| gate.kind == Kind::Overhead);
    gates
        .filter_map(|gate| Some((gate, gate.overhead.as_ref()?)))
        .map(|(gate, row)| {
            let why = if row.usable { String::new() } else { format!(" ({})", row.reasons.join(", ")) };
            let mut line = format!("{}: {}{why}", gate.metric, row.text);
            for stratum in &row.strata {
                let points = |value: f64| format!("{:+.2}", value / 100.0);
                if let Some((low, high)) = stratum.bound_low.zip(stratum.bound_high) {
                    let (low, high) = (points(low.0), points(high.0));
                    line.push_str(&format!(
                        "; {}: the effect is not larger than {high} points (95 % interval {low} to {high})",
                        stratum.stratum
                    ));
                }
            }
            line
        })
        .collect()
}

/// What the run does not show.
pub(super) fn limits(verdict: &Verdict, strata: usize) -> Vec<String> {
    let mut all: Vec<String> = verdict
        .gates
        .iter()
        .filter_map(|gate| Some((gate, gate.zero.as_ref()?)))
        .filter(|(_, zero)| zero.events == 0 && zero.trials > 0)
        .map(|(gate, zero)| {
            format!("{}: none in {} does not exclude 1 in {} (95 %)", gate.metric, zero.trials, zero.one_in)
        })
        .collect();
    if strata > 1 {
        all.push("strata ran one after another: differences between them are not causal".to_owned());
    }
    if verdict.gates.iter().any(|gate| gate.class == Class::Gate && gate.metric.starts_with("frame.")) {
        all.push("wall time around a send is not the time the kernel or the network took".to_owned());
    }
    if !verdict.pre_registered {
        all.push(
            "the plan's hash was not given before the run: nothing here proves which came first".to_owned(),
        );
    }
    all
}

/// Arms below which nobody can see two populations in them.
const POPULATIONS: u32 = 5;

/// What arms beyond the margin look like: some of several are a population of their own, all of them a shift.
fn populations(over: u32, arms: u32) -> &'static str {
    if arms >= POPULATIONS && over < arms { ": two populations, not one" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::super::Unit;
    use super::*;

    #[test]
    fn two_populations_need_several_arms_and_some_that_are_not_over() {
        let said = [(1, 2), (2, 4), (2, 5), (4, 10), (10, 10)].map(|(over, arms)| populations(over, arms));
        assert_eq!(said.map(|said| !said.is_empty()), [false, false, true, true, false]);
    }

    #[test]
    fn figures_are_said_in_the_unit_of_the_reader() {
        let said = [
            (Unit::Ns, -520_400.0),
            (Unit::Ppm, 48_396.26),
            (Unit::PerSecond, 0.12),
            (Unit::CpuHundredths, 77.0),
            (Unit::Count, 1.5),
        ];
        let said = said.map(|(unit, by)| unit.said(by));
        assert_eq!(said, ["-0.520 ms", "+48396 ppm", "+0.120 /s", "+0.77 points", "+1.5"]);
    }
}
