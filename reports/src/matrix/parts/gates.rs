//! Gates and diagnostics: limit, estimates, bounds and what they say.

use super::{Kind, NO_BOUND, Part, Table, yes};
use crate::matrix::decision;
use crate::matrix::figure::{
    DASH, confidence, count, figure, or_dash, probability, signed, signed_or_dash, word,
};
use wireproof_matrices::metrics::Metric;
use wireproof_matrices::number::Number;
use wireproof_matrices::plan::{Class, Kind as Rule};
use wireproof_matrices::verdict::{Comparison, GateResult, SeedRule, StratumRow, Unit, Verdict};

const COLUMNS: [&str; 10] =
    ["gate", "metric", "rule", "limit", "point", "HL", "bounds", "verdict", "seed_rule", "reason"];

/// What decides.
pub(super) fn gates(v: &Verdict) -> Part {
    let mut levels: Vec<String> =
        of(v, Class::Gate).filter(|g| g.kind != Rule::Zero).map(|g| confidence(g.alpha_ppm)).collect();
    levels.dedup();
    let text = format!(
        "Treatment minus baseline. Point: difference of the medians of arms. HL: Hodges-Lehmann estimate of the paired \
         differences. Bounds: exact signed-rank bounds, each one-sided at {}. seed_rule: what the point alone would \
         have said.",
        if levels.is_empty() { "95 %".to_owned() } else { levels.join(" or ") }
    );
    Part::new(Kind::Gates, "Gates").text(text).table(table(v, Class::Gate)).or_say("The plan has no gate.")
}

/// What is shown and decides nothing.
pub(super) fn diagnostics(v: &Verdict) -> Option<Part> {
    let table = table(v, Class::Diagnostic);
    let text = "Shown, never part of the verdict.";
    (!table.rows.is_empty()).then(|| Part::new(Kind::Diagnostics, "Diagnostics").text(text).table(table))
}

fn of(v: &Verdict, class: Class) -> impl Iterator<Item = &GateResult> {
    v.gates.iter().filter(move |gate| gate.class == class)
}

fn table(v: &Verdict, class: Class) -> Table {
    Table::new(&COLUMNS, of(v, class).map(|gate| row(v, gate)).collect())
}

fn row(v: &Verdict, gate: &GateResult) -> Vec<String> {
    vec![
        gate.id.clone(),
        gate.metric.clone(),
        rule(gate.kind).to_owned(),
        with_unit(limit(gate), gate),
        with_unit(point(gate), gate),
        with_unit(hl(gate), gate),
        interval(gate),
        decision(v, gate.verdict),
        seed_rule(gate.seed_rule),
        gate.reason.clone(),
    ]
}

/// The rule by its name in the plan.
pub(in crate::matrix) fn rule(kind: Rule) -> &'static str {
    match kind {
        Rule::NonInferiority => "non-inferiority",
        Rule::Equivalence => "equivalence",
        Rule::Zero => "zero",
        Rule::Ceiling => "ceiling",
        Rule::Overhead => "overhead",
    }
}

/// The point rule by its name in the record.
pub(in crate::matrix) fn seed_rule(rule: Option<SeedRule>) -> String {
    match rule {
        Some(SeedRule::Pass) => "pass".to_owned(),
        Some(SeedRule::Fail) => "fail".to_owned(),
        None => DASH.to_owned(),
    }
}

/// A figure with the unit of the gate behind it.
fn with_unit(text: String, gate: &GateResult) -> String {
    if text == DASH || gate.kind == Rule::Zero || gate.unit == Unit::Count {
        return text;
    }
    format!("{text} {}", word(gate.unit))
}

/// A figure of this gate: signed where it is a difference.
fn shown(gate: &GateResult, number: Option<Number>) -> String {
    match gate.kind {
        Rule::Ceiling => or_dash(number, gate.unit),
        _ => signed_or_dash(number, gate.unit),
    }
}

/// The most a gate allows, without its unit.
pub(in crate::matrix) fn limit(gate: &GateResult) -> String {
    match (gate.kind, gate.margin, &gate.zero) {
        (Rule::Zero, _, Some(zero)) => match zero.min_trials {
            Some(trials) => format!("0 of \u{2265} {}", count(trials)),
            None => "0".to_owned(),
        },
        (Rule::Equivalence, Some(margin), _) => format!("\u{b1}{}", figure(margin, gate.unit)),
        (Rule::Ceiling, Some(margin), _) => figure(margin, gate.unit),
        (_, Some(margin), _) => signed(margin, gate.unit),
        _ => DASH.to_owned(),
    }
}

/// The point estimate, without its unit; events of trials for a gate on events.
pub(in crate::matrix) fn point(gate: &GateResult) -> String {
    match &gate.zero {
        Some(zero) => format!("{} of {}", count(zero.events), count(zero.trials)),
        None => shown(gate, gate.point),
    }
}

/// The Hodges-Lehmann estimate, without its unit.
pub(in crate::matrix) fn hl(gate: &GateResult) -> String {
    if gate.zero.is_some() { DASH.to_owned() } else { shown(gate, gate.hl) }
}

/// Both bounds, without their unit; the rate that is not excluded for a gate on events.
pub(in crate::matrix) fn interval(gate: &GateResult) -> String {
    match &gate.zero {
        Some(zero) if zero.trials == 0 => DASH.to_owned(),
        Some(zero) => format!("\u{2264} 1 in {}", count(zero.one_in)),
        None => ends(gate, gate.bound_low, gate.bound_high),
    }
}

fn ends(gate: &GateResult, low: Option<Number>, high: Option<Number>) -> String {
    if low.is_none() && high.is_none() {
        return NO_BOUND.to_owned();
    }
    format!("{} \u{2026} {}", shown(gate, low), shown(gate, high))
}

/// Adjusted probabilities, when more than one gate fails.
pub(super) fn holm(v: &Verdict) -> Option<Part> {
    let row = |a: &wireproof_matrices::verdict::Adjusted| {
        vec![a.id.clone(), probability(a.p), probability(a.adjusted)]
    };
    let table = Table::new(&["gate", "p at the limit", "adjusted (Holm)"], v.holm.iter().map(row).collect());
    let text = "Several gates fail. Adjusted for how many do; each fails by its own rule all the same.";
    (!table.rows.is_empty()).then(|| Part::new(Kind::Plain, "Several failures").text(text).table(table))
}

/// Each treatment, stream and stratum by itself.
pub(super) fn comparisons(v: &Verdict) -> Option<Part> {
    let rows = v.gates.iter().flat_map(|g| g.comparisons.iter().map(move |c| comparison(v, g, c)));
    let columns = [
        "gate",
        "treatment",
        "stream",
        "pairs",
        "baseline",
        "treated",
        "unit",
        "point",
        "HL",
        "bounds",
        "unit",
        "arms over",
        "flagged",
        "verdict",
    ];
    let table = Table::new(&columns, rows.collect());
    let text = "Medians of arms by treatment against the baseline. Arms over: treated arms beyond the baseline's median \
                and the limit; flagged when so many are that the treatment looks like two populations.";
    let part =
        Part::new(Kind::Plain, "Comparisons").text(text).table(table).table(strata(v)).list(without(v));
    (!part.tables.is_empty()).then_some(part)
}

/// Unit of the values of arms: that of the metric, where the gate's figures are parts per million of it.
pub(in crate::matrix) fn value_unit(gate: &GateResult) -> Unit {
    match Metric::parse(&gate.metric) {
        Some(metric) if gate.unit == Unit::Ppm => metric.unit(),
        _ => gate.unit,
    }
}

fn comparison(v: &Verdict, gate: &GateResult, c: &Comparison) -> Vec<String> {
    let unit = value_unit(gate);
    vec![
        gate.id.clone(),
        c.treatment.clone(),
        c.stream.clone().unwrap_or_else(|| DASH.to_owned()),
        c.pairs.to_string(),
        or_dash(c.median_baseline, unit),
        or_dash(c.median_treatment, unit),
        word(unit).to_owned(),
        shown(gate, c.point),
        shown(gate, c.hl),
        ends(gate, c.bound_low, c.bound_high),
        word(gate.unit).to_owned(),
        c.arms_over.to_string(),
        yes(c.arms_over_flagged),
        decision(v, c.verdict),
    ]
}

/// Each stratum's own estimate, where there are several.
fn strata(v: &Verdict) -> Table {
    let mut rows = Vec::new();
    for gate in &v.gates {
        let of_comparisons = gate.comparisons.iter().filter(|c| c.strata.len() > 1);
        for c in of_comparisons {
            rows.extend(c.strata.iter().map(|s| stratum(gate, &c.treatment, s)));
        }
        let overhead = gate.overhead.iter().flat_map(|o| &o.strata);
        rows.extend(overhead.map(|s| stratum(gate, DASH, s)));
    }
    Table::new(&["gate", "treatment", "stratum", "pairs", "HL", "bounds", "unit"], rows)
}

fn stratum(gate: &GateResult, treatment: &str, s: &StratumRow) -> Vec<String> {
    vec![
        gate.id.clone(),
        treatment.to_owned(),
        s.stratum.clone(),
        s.pairs.to_string(),
        shown(gate, s.hl),
        ends(gate, s.bound_low, s.bound_high),
        word(gate.unit).to_owned(),
    ]
}

/// What comparisons would say without severe outliers.
fn without(v: &Verdict) -> Vec<String> {
    let mut lines = Vec::new();
    for gate in &v.gates {
        let texts = gate.comparisons.iter().filter_map(|c| Some((c, c.without_severe_outliers.as_ref()?)));
        lines.extend(texts.map(|(c, text)| {
            let mark = if text.contains("not a verdict") { "" } else { " (not a verdict)" };
            format!("{}, {}: {text}{mark}", gate.id, c.treatment)
        }));
    }
    lines
}
