//! JUnit XML for CI: one test case a gate. A broken gate is a failure, a run that says nothing an error, a gate that
//! cannot decide is skipped or a failure, as asked.

use super::figure::word;
use super::parts::{interval, limit, point, rule};
use super::{EXPLORATORY, InconclusiveIs, parts};
use crate::page;
use std::io::{self, Write};
use wireproof_matrices::plan::{Class, Kind};
use wireproof_matrices::verdict::{Decision, GateResult, Outcome, Verdict};

/// What a test case ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Passed,
    Skipped,
    Failure,
    Error,
}

/// A test case.
struct Case {
    name: String,
    end: End,
    message: String,
    detail: String,
}

/// Writes the report.
pub(super) fn write(v: &Verdict, inconclusive: InconclusiveIs, out: &mut dyn Write) -> io::Result<()> {
    let cases = cases(v, inconclusive);
    let number = |end: End| cases.iter().filter(|case| case.end == end).count();
    let totals = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
        cases.len(),
        number(End::Failure),
        number(End::Error),
        number(End::Skipped)
    );
    let suite = if v.exploratory { format!("{} ({EXPLORATORY})", v.name) } else { v.name.clone() };
    writeln!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"wireproof matrix\" {totals}>"
    )?;
    writeln!(out, "  <testsuite name=\"{}\" {totals}>", escape(&suite))?;
    properties(v, out)?;
    cases.iter().try_for_each(|case| write_case(v, case, out))?;
    writeln!(out, "    <system-out>{}</system-out>", escape(&talk(v)))?;
    writeln!(out, "  </testsuite>\n</testsuites>")
}

fn properties(v: &Verdict, out: &mut dyn Write) -> io::Result<()> {
    let list = [
        ("verdict", v.verdict.word().to_owned()),
        ("plan_sha256", v.plan_sha256.clone()),
        ("gates_sha256", v.gates_sha256.clone()),
        ("pre_registered", v.pre_registered.to_string()),
        ("attempt", v.attempt.to_string()),
        ("attempts", v.attempts.to_string()),
        ("judged_by", v.judged_by.clone()),
    ];
    writeln!(out, "    <properties>")?;
    for (name, value) in list {
        writeln!(out, "      <property name=\"{name}\" value=\"{}\"/>", escape(&value))?;
    }
    writeln!(out, "    </properties>")
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

fn write_case(v: &Verdict, case: &Case, out: &mut dyn Write) -> io::Result<()> {
    let head = format!("    <testcase classname=\"{}\" name=\"{}\"", escape(&v.name), escape(&case.name));
    let (word, message, detail) = (v.verdict.word(), escape(&case.message), escape(&case.detail));
    match case.end {
        End::Passed => writeln!(out, "{head}><system-out>{detail}</system-out></testcase>"),
        End::Skipped => {
            writeln!(
                out,
                "{head}><skipped message=\"{message}\"/><system-out>{detail}</system-out></testcase>"
            )
        }
        End::Failure => {
            writeln!(out, "{head}><failure type=\"FAIL\" message=\"{message}\">{detail}</failure></testcase>")
        }
        End::Error => {
            writeln!(out, "{head}><error type=\"{word}\" message=\"{message}\">{detail}</error></testcase>")
        }
    }
}

/// The verdict line, and what the run does not show.
fn talk(v: &Verdict) -> String {
    let limits = parts::limits(v).list;
    let lines = std::iter::once(v.line()).chain(limits.iter().map(|limit| format!("does not show: {limit}")));
    lines.collect::<Vec<_>>().join("\n")
}

/// Text fit for XML 1.0: markup escaped, characters that it cannot hold made visible, line feeds kept.
pub(crate) fn escape(text: &str) -> String {
    let line = |line: &str| page::escape(line).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}
