//! The table: a matrix for people, plain text of a given width; the verdict line first and last.

use super::figure::{confidence, count, word};
use super::parts::{interval, limit, point, whose};
use super::{EXPLORATORY, Report, decision, parts};
use crate::Style;
use crate::columns::{Align, Columns};
use crate::table::{line, paint};
use crate::text::{clean, fit, wrap};
use std::io::{self, Write};
use wireproof_matrices::plan::{Class, Kind};
use wireproof_matrices::verdict::{Decision, GateResult, Outcome, Verdict, ZeroRow};

/// Most findings that are listed; the other formats have all.
const FINDINGS: usize = 12;
/// Columns that give way when the width is small, least needed first: HL, metric, seed rule.
const SPARE: [usize; 3] = [4, 1, 7];

/// Writes the whole table.
pub(super) fn write(report: &Report<'_>, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let v = report.verdict;
    headline(v, style, out)?;
    writeln!(out)?;
    facts(v, style.width, out)?;
    ladder(report, style, out)?;
    soak(v, style, out)?;
    gates(v, Class::Gate, style, out)?;
    gates(v, Class::Diagnostic, style, out)?;
    listed("FINDINGS", &findings(v), style.width, out)?;
    listed("WHAT THIS DOES NOT SHOW", &limits(report), style.width, out)?;
    writeln!(out)?;
    write!(out, "VERDICT ")?;
    headline(v, style, out)
}

/// The verdict line, its word in colour.
fn headline(v: &Verdict, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let (plain, color) = (v.verdict.word(), color(v.verdict));
    for (n, part) in wrap(&v.line(), style.width.saturating_sub(8)).iter().enumerate() {
        let shown = if n == 0 { part.replacen(plain, &paint(plain, color, style), 1) } else { part.clone() };
        writeln!(out, "{}{shown}", if n == 0 { "" } else { "        " })?;
    }
    Ok(())
}

fn color(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "32",
        Outcome::Fail | Outcome::Invalid => "31",
        Outcome::Inconclusive | Outcome::Partial => "33",
    }
}

fn facts(v: &Verdict, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut say = |label: &str, text: &str| line(out, width, label, text);
    say("plan", &format!("{}, hash {}", v.name, v.plan_sha256))?;
    let (label, planned) = parts::blocks(v);
    match v.soak {
        Some(_) => say(label, &planned)?,
        None => say(label, &format!("{planned}; {}", parts::counted(v)))?,
    }
    if v.exploratory {
        say("tried", &format!("{} ({EXPLORATORY})", v.what_if.join(", ")))?;
    }
    if v.validity.rule != "none" {
        say("validity", &parts::validity_rule(v))?;
    }
    for reason in v.reasons.iter().skip(1) {
        say("also", reason)?;
    }
    let lost = v.attribution.counted;
    let of = if lost.lost > 0 { format!(": {}", whose(lost)) } else { String::new() };
    let other = match v.attribution.not_counted.lost {
        0 => String::new(),
        n => format!("; {} in arms that do not count: {}", count(n), whose(v.attribution.not_counted)),
    };
    say("lost", &format!("{}{of}{other}", count(lost.lost)))?;
    v.cpu.iter().try_for_each(|text| say("cpu", text))
}

/// What a soak was to show, and how far it got.
fn soak(v: &Verdict, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let Some(row) = &v.soak else { return Ok(()) };
    writeln!(out, "\nSOAK")?;
    parts::soak_facts(row).iter().try_for_each(|(name, value)| line(out, style.width, name, value))
}

/// One line a step, then what it showed.
fn ladder(report: &Report<'_>, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let Some(envelope) = report.envelope else { return Ok(()) };
    writeln!(out, "\nENVELOPE")?;
    wrap(&envelope.sentence(), style.width).iter().try_for_each(|part| writeln!(out, "{part}"))?;
    let mut columns = Columns::new(&LADDER);
    for step in &envelope.steps {
        for (n, gate) in step.gates.iter().enumerate() {
            let first = |text: String| if n == 0 { text } else { String::new() };
            columns.row(vec![
                first(count(step.level)),
                first(step.arms.to_string()),
                first(parts::kept(step)),
                fit(&gate.id, 16),
                parts::shown(gate, gate.limit),
                parts::shown(gate, gate.point),
                parts::bound(gate),
                decision(report.verdict, gate.verdict),
            ]);
        }
    }
    columns.lines_within(style.width, &[1, 4]).iter().try_for_each(|text| writeln!(out, "{text}"))
}

const LADDER: [(&str, Align); 8] = [
    ("LEVEL", Align::Right),
    ("ARMS", Align::Right),
    ("KEPT", Align::Right),
    ("GATE", Align::Left),
    ("LIMIT", Align::Right),
    ("MEASURED", Align::Right),
    ("BOUND", Align::Right),
    ("VERDICT", Align::Left),
];

/// One line a gate, then what there is to say about those that do not pass.
fn gates(v: &Verdict, class: Class, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let gates: Vec<&GateResult> = v.gates.iter().filter(|gate| gate.class == class).collect();
    if gates.is_empty() && class == Class::Diagnostic {
        return Ok(());
    }
    writeln!(out, "\n{}", heading(v, class, &gates))?;
    let mut columns = Columns::new(&HEADER);
    gates.iter().for_each(|gate| columns.row(row(v, gate)));
    let lines = columns.lines_within(style.width, &SPARE);
    for (n, text) in lines.iter().enumerate() {
        let of = n.checked_sub(1).and_then(|at| gates.get(at));
        writeln!(out, "{}", of.map_or_else(|| text.clone(), |gate| colored(v, gate, text, style)))?;
    }
    gates
        .iter()
        .filter(|gate| gate.verdict != Decision::Pass)
        .try_for_each(|gate| why(gate, style.width, out))
}

fn heading(v: &Verdict, class: Class, gates: &[&GateResult]) -> String {
    let name = if class == Class::Gate { "GATES" } else { "DIAGNOSTICS" };
    let alpha = gates.iter().find(|gate| gate.kind != Kind::Zero).map(|gate| confidence(gate.alpha_ppm));
    let bounds = alpha.map(|level| format!("; bounds one-sided at {level}")).unwrap_or_default();
    let mark = if v.exploratory { format!("\n{EXPLORATORY}") } else { String::new() };
    format!("{name} {}: treatment minus baseline{bounds}{mark}", gates.len())
}

const HEADER: [(&str, Align); 9] = [
    ("GATE", Align::Left),
    ("METRIC", Align::Left),
    ("LIMIT", Align::Right),
    ("POINT", Align::Right),
    ("HL", Align::Right),
    ("BOUNDS", Align::Right),
    ("UNIT", Align::Left),
    ("SEED", Align::Left),
    ("VERDICT", Align::Left),
];

fn row(v: &Verdict, gate: &GateResult) -> Vec<String> {
    let zero = gate.kind == Kind::Zero;
    vec![
        fit(&gate.id, 16),
        fit(&gate.metric, 22),
        if zero { "0".to_owned() } else { limit(gate) },
        point(gate),
        parts::hl(gate),
        interval(gate),
        if zero { "events" } else { word(gate.unit) }.to_owned(),
        parts::seed_rule(gate.seed_rule),
        decision(v, gate.verdict),
    ]
}

/// The line with the verdict at its end in colour.
fn colored(v: &Verdict, gate: &GateResult, text: &str, style: Style) -> String {
    let final_word = !v.exploratory && v.verdict != Outcome::Partial;
    let color = match gate.verdict {
        Decision::Pass if final_word => "32",
        Decision::Fail => "31",
        Decision::Inconclusive | Decision::Pass => "33",
        Decision::Shown => "36",
    };
    let word = decision(v, gate.verdict);
    text.strip_suffix(&word)
        .map_or_else(|| text.to_owned(), |rest| format!("{rest}{}", paint(&word, color, style)))
}

/// Why a gate does not pass, and what was decided for it beforehand.
fn why(gate: &GateResult, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut text = format!("{}: {}", gate.id, gate.reason);
    let wanted = |zero: &ZeroRow| zero.min_trials.filter(|wanted| zero.trials < *wanted);
    if let Some(trials) = gate.zero.as_ref().and_then(wanted) {
        text.push_str(&format!(", {} trials wanted", count(trials)));
    }
    if let Some(on_fail) = gate.on_fail.as_ref().filter(|_| gate.verdict == Decision::Fail) {
        text.push_str(&format!("; decided beforehand: {on_fail}"));
    }
    wrap(&text, width.saturating_sub(2)).iter().try_for_each(|part| writeln!(out, "  {part}"))
}

fn findings(v: &Verdict) -> Vec<String> {
    let mut list: Vec<String> = v.findings.iter().take(FINDINGS).cloned().collect();
    let left = v.findings.len().saturating_sub(FINDINGS);
    list.extend((left > 0).then(|| format!("{left} more are in the other formats")));
    list
}

fn limits(report: &Report<'_>) -> Vec<String> {
    parts::limits(report.verdict).list
}

fn listed(name: &str, list: &[String], width: usize, out: &mut dyn Write) -> io::Result<()> {
    if list.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{name}")?;
    for text in list {
        for (n, part) in wrap(&clean(text), width.saturating_sub(2)).iter().enumerate() {
            writeln!(out, "{}{part}", if n == 0 { "- " } else { "  " })?;
        }
    }
    Ok(())
}
