//! Each static check with a plan that trips it, made from the complete example, and the refusals of the reader.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

use std::collections::BTreeMap;
use wireproof_matrices::order::order;
use wireproof_matrices::plan::check::{Checked, Predicted, Severity, check, predicted};
use wireproof_matrices::plan::{Plan, TEMPLATES, Template};

const EXAMPLE: &str = include_str!("golden/plan_example.toml");

/// The example with one piece of text in the place of another, which must be there.
fn changed(pairs: &[(&str, &str)]) -> String {
    pairs.iter().fold(EXAMPLE.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "the example lacks {from}");
        text.replacen(from, to, 1)
    })
}

fn checked(text: &str) -> Checked {
    check(&Plan::read(text).unwrap_or_else(|error| panic!("{error}")), &|_| Vec::new())
}

fn codes(checked: &Checked, severity: Severity) -> Vec<&str> {
    checked.remarks.iter().filter(|remark| remark.severity == severity).map(|remark| remark.code).collect()
}

#[test]
fn the_example_can_be_run_and_takes_about_seven_minutes() {
    let found = checked(EXAMPLE);
    assert_eq!(codes(&found, Severity::Error), [""; 0], "{:?}", found.remarks);
    assert_eq!(codes(&found, Severity::Warning), [""; 0], "{:?}", found.remarks);
    assert_eq!((found.totals.arms, found.totals.total_ns / 1_000_000_000), (20, 408));
    assert_eq!(found.totals.evidence_bytes, 20 * 6_295_552);
    assert_eq!(found.retention.longest_arm_s, 29);
    assert!(found.runnable());
}

const PROFILER_VARIED: (&str, &str) = (
    "name     = \"profiler\"\nlevels   = [\"on\"]\nrole     = \"fixed\"",
    "name = \"profiler\"\nlevels = [\"off\", \"on\"]\nrole = \"treatment\"",
);
const NO_OFFSETS: (&str, &str) = ("offsets      = [\"1s\", \"4s\", \"7s\", \"10s\", \"13s\"]", "");
const FEWER_BLOCKS: (&str, &str) = ("blocks = 10", "blocks = 3");
const NO_JITTER: (&str, &str) = ("jitter       = \"800ms\"", "jitter = \"0s\"");
const ONE_DRAIN: (&str, &str) = ("[\"1s\", \"4s\", \"7s\", \"10s\", \"13s\"]", "[\"1s\"]");

/// What is changed, the weight and the code that must come of it, and the table it names.
type Row<'a> = (&'a [(&'a str, &'a str)], Severity, &'a str, &'a str);

const ROWS: &[Row<'_>] = &[
    (&[PROFILER_VARIED], Severity::Error, "ring-off", "gate p95"),
    (&[PROFILER_VARIED], Severity::Warning, "ring-off", "gate max"),
    (&[FEWER_BLOCKS], Severity::Error, "blocks-few", "gate rate"),
    (
        &[("blocks = 10", "blocks = 4"), ("min_pairs = 6", "min_pairs = 4")],
        Severity::Error,
        "pairs-no-bound",
        "gate p95",
    ),
    (
        &[("blocks = 10", "blocks = 5\nlooks = [4, 5]"), ("min_pairs = 6", "min_pairs = 4")],
        Severity::Error,
        "pairs-no-bound",
        "gate p95",
    ),
    (&[NO_OFFSETS], Severity::Error, "drain-missing", "drain"),
    (&[("min_pairs = 6", "min_pairs = 5")], Severity::Warning, "pairs-few", "gate p95"),
    (
        &[
            ("levels   = [\"off\"]", "levels = [\"off\", \"on\"]"),
            ("factor = \"preview\"", "factor = \"previw\""),
        ],
        Severity::Error,
        "toggle-missing",
        "factor preview",
    ),
    (
        &[("factor = \"preview\"", "factor = \"previw\"")],
        Severity::Error,
        "toggle-without-factor",
        "toggle previw",
    ),
    (
        &[("factor = \"preview\"", "factor = \"previw\"")],
        Severity::Warning,
        "factor-not-verified",
        "factor preview",
    ),
    (&[("factor = \"preview\"", "factor = \"drain\"")], Severity::Error, "toggle-of-drain", "toggle drain"),
    (
        &[PROFILER_VARIED, ("body = \"{level}\"", "body = \"1\"")],
        Severity::Error,
        "set-without-level",
        "toggle profiler",
    ),
    (
        &[("equals = { on = true, off = false } }\neffect", "equals = { off = false } }\neffect")],
        Severity::Error,
        "verify-incomplete",
        "toggle profiler",
    ),
    (
        &[PROFILER_VARIED, ("equals = { on = true, off = false }", "equals = { on = true, off = true }")],
        Severity::Error,
        "verify-ambiguous",
        "toggle profiler",
    ),
    (
        &[("restore = \"original\"", "restore = \"out\"")],
        Severity::Error,
        "restore-unknown",
        "toggle profiler",
    ),
    (&[ONE_DRAIN], Severity::Note, "blind", "gate p95"),
    (
        &[ONE_DRAIN, ("id = \"in-drain\"\nclass = \"gate\"", "id = \"in-drain\"\nclass = \"diagnostic\"")],
        Severity::Warning,
        "blind",
        "gate p95",
    ),
    (&[NO_JITTER], Severity::Warning, "drain-periodic", "drain"),
    (&[("\"13s\"", "\"14.5s\"")], Severity::Error, "drain-outside", "drain"),
    (&[("\"13s\"", "\"14s\"")], Severity::Warning, "drain-cut", "drain"),
    (&[("\"4s\"", "\"1.5s\"")], Severity::Error, "drain-overlap", "drain"),
    (&[("\"4s\"", "\"2s\"")], Severity::Warning, "drain-close", "drain"),
    (
        &[("levels   = [\"idle\", \"raw\"]", "levels = [\"idle\", \"raw\", \"chrome\"]")],
        Severity::Error,
        "drain-path-missing",
        "drain",
    ),
    (
        &[("jitter       =", "paths = { chrome = \"/v1/trace.json\" }\njitter       =")],
        Severity::Error,
        "drain-path-unused",
        "drain",
    ),
    (&[("baseline = \"idle\"", "baseline = \"raw\"")], Severity::Error, "drain-baseline", "factor drain"),
    (&[("name     = \"drain\"", "name = \"drains\"")], Severity::Error, "drain-unused", "drain"),
    (&[("name     = \"drain\"", "name = \"drains\"")], Severity::Error, "no-drain", "gate in-drain"),
    (
        &[("levels   = [\"idle\", \"raw\"]", "levels = [\"idle\"]")],
        Severity::Error,
        "nothing-compared",
        "gate p95",
    ),
    (&[("measure = \"15s\"", "measure = \"30s\"")], Severity::Error, "ring-overwritten", "timing"),
    (&[("measure = \"15s\"", "measure = \"4s\"")], Severity::Error, "frames-few", "gate p95"),
    (
        &[
            ("measure = \"15s\"", "measure = \"5s\""),
            ("[\"1s\", \"4s\", \"7s\", \"10s\", \"13s\"]", "[\"2s\"]"),
        ],
        Severity::Warning,
        "p99-few-frames",
        "gate p99",
    ),
    (&[("guard   = \"50ms\"", "guard = \"8s\"")], Severity::Error, "window-empty", "timing"),
    (&[("arm_deadline = \"60s\"", "arm_deadline = \"5s\"")], Severity::Warning, "deadline-tight", "timing"),
    (&[("min_trials = 30000 ", "min_trials = 432001 ")], Severity::Error, "trials-unreachable", "gate lost"),
    (&[("min_trials = 30000 ", "")], Severity::Warning, "trials-missing", "gate lost"),
    (
        &[("id = \"cpu\"\nclass = \"diagnostic\"", "id = \"cpu\"\nclass = \"gate\"")],
        Severity::Error,
        "overhead-gate",
        "gate cpu",
    ),
    (
        &[("id = \"p95\"", "id = \"p95\"\nwhere = { drain = \"sham\" }")],
        Severity::Error,
        "where-unknown",
        "gate p95",
    ),
    (
        &[("id = \"p95\"", "id = \"p95\"\nwhere = { drain = \"raw\" }")],
        Severity::Error,
        "nothing-compared",
        "gate p95",
    ),
    (&[("build = \"ad2d91a\", devices = 3", "")], Severity::Warning, "build-not-pinned", "target"),
    (&[("blocks = 10", "blocks = 10\nlooks = [5, 10]")], Severity::Error, "looks-early", "design"),
    (&[("blocks = 10", "blocks = 10\nlooks = [6, 8, 10]")], Severity::Error, "looks-many", "design"),
    (
        &[("[validity]", "[ladder]\nfactor = \"preview\"\narms_per_step = 10\n[validity]")],
        Severity::Error,
        "ladder-steps",
        "ladder",
    ),
    (
        &[("[validity]", "[ladder]\nfactor = \"preview\"\narms_per_step = 6\n[validity]")],
        Severity::Error,
        "ladder-blocks",
        "ladder",
    ),
    (
        &[("[validity]", "[ladder]\nfactor = \"drain\"\narms_per_step = 10\n[validity]")],
        Severity::Error,
        "ladder-role",
        "ladder",
    ),
    (
        &[("[validity]", "[ladder]\nfactor = \"drain\"\narms_per_step = 10\n[validity]")],
        Severity::Error,
        "ladder-treatment",
        "ladder",
    ),
    (
        &[("[validity]", "[ladder]\nfactor = \"poles\"\n[validity]")],
        Severity::Error,
        "ladder-factor",
        "ladder",
    ),
];

#[test]
fn each_check_says_what_it_is_for() {
    for (changes, severity, code, table) in ROWS {
        let found = checked(&changed(changes));
        let said = found.remarks.iter().find(|remark| {
            (remark.code, remark.table.as_str()) == (*code, *table) && remark.severity == *severity
        });
        assert!(said.is_some(), "{code} of {table} after {changes:?}: {:?}", found.remarks);
        assert_eq!(found.runnable(), codes(&found, Severity::Error).is_empty());
    }
}

#[test]
fn a_selector_lifts_the_check_for_the_ring_and_a_diagnostic_that_for_blocks() {
    let varied = changed(&[PROFILER_VARIED]);
    let lifted = varied.replace("metric = \"frame.", "where = { profiler = \"on\" }\nmetric = \"frame.");
    assert_eq!(codes(&checked(&lifted), Severity::Error), [""; 0]);
    let few = changed(&[FEWER_BLOCKS]);
    let shown = few.replace("kind = \"non-inferiority\"", "kind = \"non-inferiority\" # shown");
    let shown = shown.replace("class = \"gate\"", "class = \"diagnostic\"");
    let decides = shown.replace("id = \"lost\"\nclass = \"diagnostic\"", "id = \"lost\"\nclass = \"gate\"");
    assert_eq!(codes(&checked(&decides), Severity::Error), [""; 0]);
}

#[test]
fn a_plan_without_power_is_warned_of_with_the_blocks_that_would_do() {
    let plan = Plan::read(EXAMPLE).unwrap();
    let predict = |plan: &Plan| {
        let of = |gate: &str| Predicted {
            gate: gate.to_owned(),
            assumed: "arm sd 0.30 ms assumed".to_owned(),
            pass_ppm: if gate == "p99" { 740_000 } else { 990_000 },
            detectable: None,
            blocks_needed: Some(14),
        };
        plan.gate.iter().map(|gate| of(&gate.id)).collect()
    };
    let found = check(&plan, &predict);
    let warned: Vec<_> = found.remarks.iter().filter(|remark| remark.code == "power-low").collect();
    assert_eq!((warned.len(), warned[0].table.as_str()), (1, "gate p99"));
    assert!(warned[0].text.contains("74%") && warned[0].text.contains("14 blocks"), "{}", warned[0].text);
}

#[test]
fn the_predicted_power_falls_with_the_blocks_and_stays_bounded() {
    let with = |blocks: u32| {
        let text = EXAMPLE.replace("blocks = 10", &format!("blocks = {blocks}"));
        predicted(&Plan::read(&text).unwrap(), &BTreeMap::new())
    };
    let p95 = |blocks: u32| with(blocks).into_iter().find(|one| one.gate == "p95").unwrap();
    let (few, usual, many) = (p95(6), p95(10), p95(20));
    assert!(
        few.pass_ppm < 800_000 && usual.pass_ppm > 900_000 && many.pass_ppm > 990_000,
        "{few:?} {usual:?} {many:?}"
    );
    assert!(few.blocks_needed.is_some_and(|blocks| (7..=9).contains(&blocks)), "{few:?}");
    assert!(usual.detectable.as_ref().is_some_and(|text| text.ends_with(" ms")), "{usual:?}");
    assert_eq!(usual, p95(10), "the same each time");
    let ids: Vec<String> = with(10).into_iter().map(|one| one.gate).collect();
    assert_eq!(ids, ["p95", "p99", "in-drain"], "a rate has no spread to assume");
    let one_gate = EXAMPLE
        .replacen("class = \"gate\"", "class = \"once\"", 1)
        .replace("class = \"gate\"", "class = \"diagnostic\"");
    let one_gate =
        one_gate.replace("class = \"once\"", "class = \"gate\"").replace("blocks = 10", "blocks = 1000");
    let huge = predicted(&Plan::read(&one_gate).unwrap(), &BTreeMap::new());
    assert!(huge.len() == 1 && huge[0].pass_ppm > 999_000, "{huge:?}");
    let measured = predicted(&Plan::read(EXAMPLE).unwrap(), &BTreeMap::from([("rate".to_owned(), 100.0)]));
    assert!(
        measured.iter().any(|one| one.gate == "rate" && one.assumed.ends_with("measured")),
        "{measured:?}"
    );
}

/// What is changed, and what the refusal says.
const REFUSED: &[(&str, &str, &str)] = &[
    ("margin = \"0.50ms\"", "magrin = \"0.50ms\"", "line 92, [gate p95] magrin: unknown key"),
    ("margin = \"0.50ms\"", "margin = 0.5", "line 92, [gate p95] margin: is a float"),
    ("margin = \"0.50ms\"", "margin = \"0.5\"", "line 92, [gate p95] margin: \"0.5\" has no unit"),
    ("margin = \"0.50ms\"", "", "[gate p95] margin: is missing"),
    ("margin = \"0.1%\"", "margin = \"5ms\"", "[gate rate] margin: \"5ms\" has no unit known here"),
    ("kind = \"zero\"", "kind = \"zero\"\nmargin = 1", "[gate lost] margin: has no meaning"),
    ("kind = \"zero\"", "kind = \"equivalence\"", "[gate lost] kind: does not fit"),
    ("metric = \"frame.p95\"", "metric = \"frame.p96\"", "[gate p95] metric: is none of frame.p50"),
    ("schema  = 1", "schema = 2", "line 2, [plan] schema: is 2: write a whole number, 1 to 1"),
    ("name    = \"a6-raw-drain\"", "name = \"A6 drain\"", "[plan] name: \"A6 drain\" is no name"),
    ("seed   = 20250117\n", "", "[design] seed: is missing"),
    ("seed   = 20250117", "seed = -1", "[design] seed: is -1"),
    ("seed   = 20250117", "seed = 9223372036854775808", "[design] seed: is 9223372036854775808"),
    ("order  = \"balanced-blocks-1\"", "order = \"shuffle\"", "[design] order: is the text \"shuffle\""),
    ("source = \"10.0.0.17\"\n", "", "[stream big] source: is missing"),
    ("source = \"10.0.0.17\"", "source = \"pi-lab\"", "[stream big] source: is no IP address"),
    ("universes = \"1-12\"", "universes = \"12-1\"", "[stream sacn] universes: \"12-1\" is no list"),
    ("baseline = \"idle\"", "baseline = \"none\"", "[factor drain] baseline: is none of its levels"),
    ("levels   = [\"on\"]", "levels = [\"on\", \"off\"]", "[factor profiler] levels: are several"),
    ("verify  = {", "verifies = {", "[toggle profiler] verifies: unknown key"),
    ("path = \"/api/profiler/enabled\", ", "", "[toggle profiler.set] path: is missing"),
    ("set     = { http = \"PUT\",", "set = { argv = [\"x\"], http = \"PUT\",", "argv: stands beside http"),
    (
        "verify  = { http = \"GET\",",
        "verify = { http = \"PUT\",",
        "[toggle profiler.verify] http: is the text \"PUT\"",
    ),
    ("within = \"2s\"", "within = \"2s\", other = { on = \"still\" }", "needs exactly one counter"),
    (
        "on = \"advances\"",
        "on = \"moves\"",
        "[toggle profiler.effect.ring_ordinal] on: is the text \"moves\"",
    ),
    ("\"7s\", \"10s\"", "\"10s\", \"7s\"", "[drain] offsets: do not rise"),
    ("jitter       = \"800ms\"", "jitter = \"1500ns\"", "[drain] jitter: is not a whole number of us"),
    ("measure = \"15s\"", "measure = \"1441min\"", "[timing] measure: is longer than a day"),
    ("base_url     = \"http://pi-lab.local:8080\"", "base_url = \"pi-lab\"", "[target] base_url: is no"),
    ("expected_fps = 60", "expected_fps = 60\nauth = \"hunter2\"", "[target] auth: is no \"env:NAME\""),
    ("[design]", "[design", "is no TOML"),
    ("id = \"p99\"", "id = \"p95\"", "[gate p95] id: stands twice"),
];

#[test]
fn each_refusal_of_the_reader_names_table_field_and_reason_in_one_line() {
    for (from, to, words) in REFUSED {
        let said = Plan::read(&changed(&[(from, to)])).unwrap_err().to_string();
        assert!(said.contains(words), "{to}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(!said.contains("hunter2"), "a secret is not repeated: {said}");
    }
}

#[test]
fn every_template_can_be_run_and_only_the_fields_own_is_warned_of() {
    for template in TEMPLATES {
        let found = checked(template.text);
        assert!(found.runnable(), "{}: {:?}", template.name, found.remarks);
        let wanted: &[&str] =
            if template.name == "field-20-arms" { &["blind", "p99-few-frames"] } else { &[] };
        assert_eq!(codes(&found, Severity::Warning), wanted, "{}: {:?}", template.name, found.remarks);
        let plan = Plan::read(template.text).unwrap();
        assert_eq!((plan.name.as_str(), order(&plan).arms() as u64), (template.name, found.totals.arms));
    }
    let arms = |name: &str| checked(Template::find(name).unwrap().text).totals.arms;
    assert_eq!(["field-12-arms", "field-20-arms", "drain", "sham", "ladder"].map(arms), [12, 20, 20, 36, 18]);
    assert_eq!(Template::find("drains"), None);
}

#[test]
fn each_step_of_a_ladder_has_its_share_of_the_error() {
    let text = Template::find("ladder").unwrap().text;
    assert!(checked(text).runnable(), "six arms decide at a third of 5 %");
    let found = checked(&text.replace("alpha = \"0.05\"\n\n[design]", "alpha = \"0.01\"\n\n[design]"));
    assert_eq!(codes(&found, Severity::Error), ["pairs-no-bound"], "{:?}", found.remarks);
    let unreachable = text.replace("min_trials = 30000", "min_trials = 130000");
    assert_eq!(codes(&checked(&unreachable), Severity::Error), ["trials-unreachable"], "129,600 a step");
}

#[test]
fn a_gate_on_the_ring_needs_to_know_where_the_ring_is() {
    let text = Template::find("preview").unwrap().text;
    let (before, rest) = text.split_once("[drain]").unwrap();
    let without = format!("{before}{}", &rest[rest.find("\n[").unwrap()..]);
    let found = checked(&without);
    assert_eq!(codes(&found, Severity::Error), ["ring-path-missing"; 3], "{:?}", found.remarks);
    assert_eq!(codes(&found, Severity::Warning), ["ring-path-missing"; 2], "{:?}", found.remarks);
}

#[test]
fn a_template_takes_other_values_and_changes_nothing_else() {
    let template = Template::find("profiler").unwrap();
    assert_eq!(template.with(&[]), template.text);
    let values = [
        ("name", "\"mine\"".to_owned()),
        ("seed", "7".to_owned()),
        ("base_url", "\"http://pi:80\"".to_owned()),
    ];
    let mut plan = Plan::read(&template.with(&values)).unwrap();
    assert_eq!(
        (plan.name.as_str(), plan.design.seed, plan.target.base_url.as_str()),
        ("mine", 7, "http://pi:80")
    );
    let theirs = Plan::read(template.text).unwrap();
    (plan.name, plan.design.seed, plan.target.base_url) =
        (theirs.name.clone(), theirs.design.seed, theirs.target.base_url.clone());
    assert_eq!(plan, theirs);
}

#[test]
fn strata_are_run_one_after_another_and_treatments_are_named() {
    let found = order(&Plan::read(Template::find("field-12-arms").unwrap().text).unwrap());
    assert_eq!(
        found.strata.iter().map(|stratum| stratum.levels["preview"].as_str()).collect::<Vec<_>>(),
        ["off", "on"]
    );
    assert_eq!([found.name(0), found.name(1), found.name(2)], ["off", "on", ""]);
    assert_eq!(
        found.levels(1, 1).into_iter().map(|(f, l)| format!("{f}={l}")).collect::<Vec<_>>(),
        ["preview=on", "profiler=on"]
    );
    assert_ne!(found.strata[0].blocks, found.strata[1].blocks, "each stratum has its own stream");
    let crossed = changed(&[(
        "levels   = [\"off\"]\nrole     = \"stratum\"",
        "levels = [\"off\", \"on\"]\nrole = \"treatment\"",
    )]);
    let crossed = order(&Plan::read(&crossed).unwrap());
    let names: Vec<&str> = crossed.treatments.iter().map(|treatment| treatment.name.as_str()).collect();
    assert_eq!(
        names,
        ["drain=idle,preview=off", "drain=idle,preview=on", "drain=raw,preview=off", "drain=raw,preview=on"]
    );
    assert_eq!(crossed.fixed["profiler"], "on");
}

#[test]
fn a_word_for_a_level_that_is_none_is_named_when_a_level_has_no_word() {
    let typo = changed(&[("body = \"{level}\" }", "body = \"{level}\", words = { onn = \"1\" } }")]);
    let found = checked(&typo);
    assert_eq!(codes(&found, Severity::Error), ["word-unknown"]);
    let said = found.remarks.iter().find(|remark| remark.code == "word-unknown").unwrap();
    assert_eq!(said.text, "has a word for 'onn', which is no level, and none for 'on'");
}

#[test]
fn streams_of_a_template_come_from_the_address_of_its_url() {
    let url = |template: &str, url: &str| {
        let text = Template::find(template).unwrap().with(&[("base_url", format!("{url:?}"))]);
        let sources = text.lines().filter(|line| line.starts_with("source = "));
        (text.contains(url), sources.map(str::to_owned).collect::<Vec<_>>())
    };
    let moved = |to: &str, n| (true, vec![format!("source = {to:?}"); n]);
    assert_eq!(url("wled", "http://10.1.2.3"), moved("10.1.2.3", 1));
    assert_eq!(url("wled", "http://10.1.2.3:81/json"), moved("10.1.2.3", 1));
    assert_eq!(url("field", "http://[fd00::7]:8080"), moved("fd00::7", 3));
    // Which address a name has is not known here.
    assert_eq!(url("wled", "http://wled.local"), moved("192.168.0.40", 1));
}
