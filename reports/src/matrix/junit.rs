//! JUnit XML for CI: one test case a gate. A broken gate is a failure, a run that says nothing an error, a gate that
//! cannot decide is skipped or a failure, as asked.

use super::figure::word;
use super::parts::{interval, limit, point, rule};
use super::{EXPLORATORY, InconclusiveIs, parts};
use crate::junit::{Case, End, Suite};
use std::io::{self, Write};
use wireproof_matrices::plan::{Class, Kind};
use wireproof_matrices::verdict::{Decision, GateResult, Outcome, Verdict};

/// Writes the report.
pub(super) fn write(v: &Verdict, inconclusive: InconclusiveIs, out: &mut dyn Write) -> io::Result<()> {
    let suite = if v.exploratory { format!("{} ({EXPLORATORY})", v.name) } else { v.name.clone() };
    let properties = [
        ("verdict", v.verdict.word().to_owned()),
        ("plan_sha256", v.plan_sha256.clone()),
        ("gates_sha256", v.gates_sha256.clone()),
        ("pre_registered", v.pre_registered.to_string()),
        ("attempt", v.attempt.to_string()),
        ("attempts", v.attempts.to_string()),
        ("judged_by", v.judged_by.clone()),
    ];
    Suite {
        tool: "wireproof matrix",
        name: &suite,
        class: &v.name,
        word: v.verdict.word(),
        properties: &properties,
        cases: &cases(v, inconclusive),
        talk: &talk(v),
    }
    .write(out)
}

/// A case a gate, and one for the run where no gate shows what it amounts to.
fn cases(v: &Verdict, inconclusive: InconclusiveIs) -> Vec<Case> {
    let gates = v.gates.iter().filter(|gate| gate.class == Class::Gate);
    let mut cases: Vec<Case> = gates.map(|gate| case(v, gate, inconclusive)).collect();
    let (end, message) = run(v, inconclusive);
    if end != End::Passed && cases.iter().all(|case| case.end != end) {
        cases.push(Case { name: "run".to_owned(), end, message, detail: v.reasons.join("\n") });
    }
    cases
}

fn unsure(inconclusive: InconclusiveIs) -> End {
    match inconclusive {
        InconclusiveIs::Skipped => End::Skipped,
        InconclusiveIs::Failure => End::Failure,
    }
}

/// What the run as a whole has to show.
fn run(v: &Verdict, inconclusive: InconclusiveIs) -> (End, String) {
    let end = match v.verdict {
        Outcome::Pass if v.exploratory => unsure(inconclusive),
        Outcome::Pass => End::Passed,
        Outcome::Inconclusive => unsure(inconclusive),
        Outcome::Fail => End::Failure,
        Outcome::Partial | Outcome::Invalid => End::Error,
    };
    (end, v.line())
}

fn case(v: &Verdict, gate: &GateResult, inconclusive: InconclusiveIs) -> Case {
    let end = match (v.verdict, gate.verdict) {
        (Outcome::Invalid, _) => End::Error,
        (_, Decision::Fail) => End::Failure,
        (Outcome::Partial, _) => End::Error,
        (_, Decision::Inconclusive) => unsure(inconclusive),
        (_, Decision::Pass) if v.exploratory => unsure(inconclusive),
        (_, Decision::Pass | Decision::Shown) => End::Passed,
    };
    let word = match v.verdict {
        Outcome::Invalid => v.line(),
        _ => format!("{}: {}", super::decision(v, gate.verdict), gate.reason),
    };
    let name = format!("{}: {} {}", gate.id, gate.metric, rule(gate.kind));
    Case { name, end, message: word, detail: detail(gate) }
}

/// Limit, estimate and interval of a gate.
fn detail(gate: &GateResult) -> String {
    let unit = if gate.kind == Kind::Zero { "" } else { word(gate.unit) };
    let mut text = format!(
        "limit {} {unit}; measured {} {unit}; interval {} {unit}",
        limit(gate),
        point(gate),
        interval(gate)
    )
    .replace(" ;", ";");
    if let Some(on_fail) = gate.on_fail.as_ref().filter(|_| gate.verdict == Decision::Fail) {
        text.push_str(&format!("\ndecided beforehand: {on_fail}"));
    }
    text.trim_end().to_owned()
}

/// The verdict line, and what the run does not show.
fn talk(v: &Verdict) -> String {
    let limits = parts::limits(v).list;
    let lines = std::iter::once(v.line()).chain(limits.iter().map(|limit| format!("does not show: {limit}")));
    lines.collect::<Vec<_>>().join("\n")
}
