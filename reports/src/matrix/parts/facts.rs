//! What was run, under which plan, where, and what it does not show.

use super::{Kind, Part, Table, yes};
use crate::matrix::figure::{count, duration};
use crate::matrix::{CauseRow, Report, plural};
use serde_json::Value;
use wireproof_matrices::plan::Plan;
use wireproof_matrices::verdict::{Decision, GateResult, Verdict};
use wireproof_recorder::analysis::frame_causes::is_own;

/// Most rows of the environment.
const ENVIRONMENT_ROWS: usize = 100;
/// Most places that are listed for a treatment.
const PLACES: usize = 32;
/// What no run of this kind can show.
const WALL_TIME: &str = "Frame times are wall time around the work, sending included: time the kernel spent on sending \
                         cannot be told from it.";
/// What levels of a stratum are not.
const STRATA: &str = "Strata were run one after another, not in random order: a difference between them has no cause \
                      that this run could name.";

/// The plan, the attempt and how much of it was judged.
pub(super) fn run(report: &Report<'_>) -> Part {
    let v = report.verdict;
    let fact = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![
        fact("plan", v.name.clone()),
        fact("plan hash", v.plan_sha256.clone()),
        fact("gates hash", v.gates_sha256.clone()),
        fact("pre-registered", yes(v.pre_registered)),
        fact("attempt", v.attempt_text()),
        fact(blocks(v).0, blocks(v).1),
        fact("resumed", resumed(v)),
        fact("judged by", v.judged_by.clone()),
    ];
    rows.extend(report.plan.map(planned).into_iter().flatten());
    if v.exploratory {
        rows.push(fact("tried", v.what_if.join(", ")));
    }
    let purpose = report.plan.map(|plan| plan.purpose.clone()).filter(|purpose| !purpose.is_empty());
    let mut part = Part::new(Kind::Plain, "Run");
    part.texts.extend(purpose);
    part.table(Table::new(&["", ""], rows)).list(v.reasons.iter().skip(1).cloned())
}

/// How much of the run counts: blocks, or the windows of a soak.
pub(in crate::matrix) fn blocks(v: &Verdict) -> (&'static str, String) {
    let (complete, all) = (v.blocks_complete, v.blocks_planned);
    match v.soak {
        Some(_) => ("windows", format!("{complete} of {all} count")),
        None => ("blocks", format!("{complete} complete of {all} planned")),
    }
}

fn resumed(v: &Verdict) -> String {
    match v.resumes {
        0 => "never".to_owned(),
        n => format!("{}, longest pause {}", plural(u64::from(n), "time"), duration(v.longest_pause_ns)),
    }
}

/// Order, seed and window of the plan.
fn planned(plan: &Plan) -> Vec<Vec<String>> {
    let window = duration(plan.timing.measure_ns);
    vec![
        vec!["order".to_owned(), format!("{}, seed {}", plan.design.order, plan.design.seed)],
        vec!["window of an arm".to_owned(), window],
    ]
}

/// Attempts that say nothing about the device.
pub(super) fn validity(v: &Verdict) -> Part {
    let row = &v.validity;
    let by_treatment = row.invalid_by_treatment.iter().filter(|(_, n)| **n > 0);
    let rows = by_treatment.map(|(name, n)| vec![name.clone(), n.to_string()]).collect();
    let reasons = row.reasons.iter().map(|(reason, n)| vec![reason.clone(), n.to_string()]).collect();
    Part::new(Kind::Plain, "Validity")
        .text(format!("{}.", rule(v)))
        .table(Table::new(&["treatment", "invalid attempts"], rows))
        .table(Table::new(&["reason", "attempts"], reasons))
}

/// What was made of invalid attempts, without a full stop.
pub(in crate::matrix) fn rule(v: &Verdict) -> String {
    let most = plural(u64::from(v.validity.max_invalid_repeats), "repeat");
    let reasons: Vec<&str> = v.validity.reasons.keys().map(String::as_str).collect();
    let why = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
    match v.validity.rule.as_str() {
        "none" => "No attempt was invalid".to_owned(),
        "repeat" => format!("Invalid attempts{why} were made again; {most} allowed"),
        rule if v.soak.is_some() => rule.to_owned(),
        rule => format!("{rule}{why}; {most} allowed"),
    }
}

/// One sentence a gate on CPU, and the strata behind it.
pub(super) fn cpu(v: &Verdict) -> Part {
    Part::new(Kind::Plain, "CPU").list(v.cpu.iter().cloned()).or_say("Not a question of this plan.")
}

/// Why frames were made. A place that sounds like the measuring tool's own is told: then the tool may be what is measured.
pub(super) fn causes(causes: &[CauseRow]) -> Part {
    let row = |c: &CauseRow| {
        let n = &c.counts;
        let mut row = vec![c.treatment.clone()];
        row.extend([n.frames, n.by_events, n.by_refresh, n.by_other, c.unrecorded].map(count));
        row
    };
    let places = causes.iter().flat_map(|c| {
        let listed = c.counts.places.iter().take(PLACES);
        listed.map(|p| vec![c.treatment.clone(), p.place.clone(), count(p.requests)]).chain(further(c))
    });
    let own = causes.iter().flat_map(|c| {
        let own = c.counts.places.iter().filter(|p| is_own(&p.place));
        own.map(|p| {
            format!(
                "{}: {} sounds like the measuring tool's own: it may make frames itself.",
                c.treatment, p.place
            )
        })
    });
    let columns = ["treatment", "frames", "by events", "by refresh", "by other", "of it unrecorded"];
    Part::new(Kind::Plain, "Causes of frames")
        .table(Table::new(&columns, causes.iter().map(row).collect()))
        .table(Table::new(&["treatment", "place that asked for a refresh", "requests"], places.collect()))
        .list(own)
        .or_say("The recorder's causes were not read.")
}

/// The requests of places that are not listed.
fn further(c: &CauseRow) -> Option<Vec<String>> {
    let unlisted = c.counts.places.iter().skip(PLACES).map(|p| p.requests).sum::<u64>();
    let requests = unlisted + c.counts.places_rest;
    (requests > 0).then(|| vec![c.treatment.clone(), "further places".to_owned(), count(requests)])
}

/// Things to know that decide nothing.
pub(super) fn findings(v: &Verdict) -> Part {
    let breach = |g: &GateResult| {
        let text = g.on_fail.as_ref().filter(|_| g.verdict == Decision::Fail)?;
        Some(format!("{} is broken; decided beforehand: {text}", g.id))
    };
    Part::new(Kind::Plain, "Findings")
        .list(v.gates.iter().filter_map(breach))
        .list(v.findings.iter().cloned())
        .or_say("None.")
}

/// The bench and the device.
pub(super) fn environment(environment: Option<&Value>) -> Part {
    let mut rows = Vec::new();
    if let Some(value) = environment {
        flatten("", value, &mut rows);
    }
    Part::new(Kind::Plain, "Environment").table(Table::new(&["what", "value"], rows)).or_say("Not recorded.")
}

/// One row a leaf, its keys joined by dots.
fn flatten(path: &str, value: &Value, rows: &mut Vec<Vec<String>>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        _ if rows.len() >= ENVIRONMENT_ROWS => {}
        Value::Object(map) => map.iter().for_each(|(key, value)| flatten(&below(key), value, rows)),
        Value::Array(list) if list.iter().any(|item| item.is_object() || item.is_array()) => {
            list.iter().enumerate().for_each(|(n, value)| flatten(&below(&n.to_string()), value, rows));
        }
        Value::Array(list) => {
            let items: Vec<String> = list.iter().map(leaf).collect();
            rows.push(vec![path.to_owned(), items.join(", ")]);
        }
        value => rows.push(vec![path.to_owned(), leaf(value)]),
    }
}

fn leaf(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "unknown".to_owned(),
        other => other.to_string(),
    }
}

/// What the run does not show: the record's own list, completed by what holds for every run.
pub(in crate::matrix) fn limits(v: &Verdict) -> Part {
    let said = |words: &str| v.limits.iter().any(|limit| limit.contains(words));
    let mut list: Vec<String> = v.limits.clone();
    if !said("1 in ") {
        list.extend(v.gates.iter().filter_map(bound));
    }
    let strata = v.arms.iter().any(|arm| v.arms.first().is_some_and(|first| first.stratum != arm.stratum));
    list.extend((strata && !said("trat")).then(|| STRATA.to_owned()));
    list.extend((!said("kernel")).then(|| WALL_TIME.to_owned()));
    Part::new(Kind::Plain, "What this does not show").list(list)
}

/// What a gate on events leaves possible.
fn bound(gate: &GateResult) -> Option<String> {
    let zero = gate.zero.as_ref().filter(|zero| zero.trials > 0)?;
    Some(format!(
        "{}: {} of {} does not exclude a rate of 1 in {} (95 %, one-sided; bursts count once).",
        gate.id,
        plural(zero.events, "event"),
        count(zero.trials),
        count(zero.one_in)
    ))
}
