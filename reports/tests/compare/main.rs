//! Baselines and comparisons: the worked table to the letter, refusals, marks, schemas, every format; and any record back
//! from its JSON, also when somebody else wrote it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]
#![allow(clippy::disallowed_methods, reason = "tests read kept texts")]

mod hostile;

use serde_json::Value;
use std::collections::BTreeMap;
use wireproof_matrices::compare::{Better, Budgets, Figure, Identity, Measure};
use wireproof_matrices::number::Number;
use wireproof_matrices::plan::Class;
use wireproof_matrices::verdict::Outcome;
use wireproof_reports::baseline::{Baseline, Conditions, SCHEMA, Snapshot};
use wireproof_reports::compare::{Comparison, Refusal};
use wireproof_reports::record::{Record, RecordError};
use wireproof_reports::{BASELINE_SCHEMA, COMPARE_SCHEMA, Format, Style, Verdict};

pub(crate) const STYLE: Style = Style { color: false, width: 120 };

pub(crate) fn figure(metric: &str, value: i64) -> Figure {
    Figure {
        metric: metric.to_owned(),
        class: Class::Gate,
        unit: Measure::Ns,
        better: Better::Less,
        floor: 20_000,
        value,
    }
}

fn run(figures: Vec<Figure>) -> Snapshot {
    Snapshot {
        bundle: "20261130T090000Z-a6-5f0c1234".to_owned(),
        manifest_sha256: Some("ab".repeat(32)),
        plan: "a6".to_owned(),
        plan_sha256: "cd".repeat(32),
        pre_registered: true,
        attempt: 1,
        attempts: 2,
        verdict: Outcome::Pass,
        identity: Identity {
            metrics: BTreeMap::from([("frame.p95".to_owned(), 1), ("wire.lost".to_owned(), 1)]),
            device_build: "7.1".to_owned(),
            pins: BTreeMap::from([("build".to_owned(), "7.1".to_owned())]),
            fps: 60,
            streams: vec!["big bigpacket [] 6 a frame".to_owned()],
            gates_sha256: "ef".repeat(32),
        },
        conditions: Conditions { load: Some(Number(0.31)), throttled: Some(0) },
        figures,
    }
}

pub(crate) fn baseline(figures: Vec<Figure>) -> Baseline {
    Baseline {
        schema: SCHEMA.to_owned(),
        name: "a6|<b>".to_owned(),
        set_ns: 1_700_000_000_000_000_000,
        set_by: "wireproof 0.1.0".to_owned(),
        reason: Some("lowest of five".to_owned()),
        run: run(figures),
    }
}

fn budgets(text: &str) -> Budgets {
    Budgets::read(&format!("schema = 1\n{text}")).unwrap()
}

fn compare(then: Vec<Figure>, now: Vec<Figure>, budgets: &Budgets) -> Comparison {
    Comparison::of(&baseline(then), &run(now), budgets, false).unwrap()
}

/// One of everything: all units, a budget that holds, one that does not, a figure of one side only.
pub(crate) fn everything() -> Comparison {
    let other =
        |metric: &str, unit, better, value| Figure { unit, better, floor: 0, ..figure(metric, value) };
    let side = |times: [i64; 2], lost: i64, rate: i64, cpu: i64| {
        vec![
            figure("frame.p95 raw", times[0]),
            Figure { class: Class::Diagnostic, ..figure("frame.p50 raw", times[1]) },
            other("wire.lost", Measure::Count, Better::Less, lost),
            other("wire.rate:big raw", Measure::Millihertz, Better::Equal, rate),
            other("device.cpu all minus baseline", Measure::CpuHundredths, Better::Less, cpu),
            other("=odd|<b>", Measure::Ppm, Better::More, 5),
        ]
    };
    let mut now = side([5_470_500, 9_000_000], 0, 359_000, -10);
    now.push(figure("frame.p99 raw", 1));
    let budget = "[[budget]]\nmetric = \"frame.p95 raw\"\nceiling = \"6ms\"\ncondition = \"load <= 0.3\"\n\
                  [[budget]]\nmetric = \"wire.lost\"\nceiling = 0\n";
    let (mut then, run) = (baseline(side([5_402_000, 5_000_000], 0, 360_000, 0)), run(now));
    then.run.identity.fps = 50;
    Comparison::of(&then, &run, &budgets(budget), true).unwrap()
}

pub(crate) fn text(comparison: &Comparison, format: Format) -> String {
    let mut out = Vec::new();
    comparison.render(format, STYLE, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn conforms(schema: &str, json: &str) {
    let schema: Value = serde_json::from_str(schema).unwrap();
    let record: Value = serde_json::from_str(json).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let problems: Vec<_> =
        validator.iter_errors(&record).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(problems.is_empty(), "{problems:?}: {json}");
}

#[test]
fn the_markdown_holds_the_table_of_the_field_to_the_letter() {
    let golden: Value =
        serde_json::from_str(include_str!("../../../matrices/tests/golden/experiments.json")).unwrap();
    let cases = golden["cases"].as_array().unwrap();
    let case = cases.iter().find(|case| case["id"] == "report-markdown").unwrap();
    let (mut then, mut now, mut budget) = (Vec::new(), Vec::new(), String::new());
    for row in case["input"]["rows_ns"].as_array().unwrap() {
        let name = row[0].as_str().unwrap();
        then.push(figure(name, row[1].as_i64().unwrap()));
        now.push(figure(name, row[2].as_i64().unwrap()));
        if let Some(limit) = row[3].as_i64() {
            budget.push_str(&format!("[[budget]]\nmetric = \"{name}\"\nceiling = \"{limit}ns\"\n"));
        }
    }
    let markdown = text(&compare(then, now, &budgets(&budget)), Format::Markdown);
    let table = case["expected"]["markdown"].as_str().unwrap();
    assert!(markdown.contains(table), "{markdown}");
}

#[test]
fn the_worst_gate_decides_and_diagnostics_do_not() {
    let of = |now: i64, class, budget: &str| {
        let row = |value| vec![Figure { class, ..figure("m", value) }, figure("other", 1)];
        compare(row(5_000_000), row(now), &budgets(budget)).verdict
    };
    assert_eq!(of(5_000_000, Class::Gate, ""), Verdict::Pass);
    assert_eq!(of(5_400_000, Class::Gate, ""), Verdict::Pass, "a warning fails nothing");
    assert_eq!(of(6_000_000, Class::Gate, ""), Verdict::Fail);
    assert_eq!(of(6_000_000, Class::Diagnostic, ""), Verdict::Pass);
    let budget = |condition| format!("[[budget]]\nmetric = \"m\"\nceiling = \"1ms\"\n{condition}");
    assert_eq!(of(5_000_000, Class::Gate, &budget("")), Verdict::Fail);
    assert_eq!(of(5_000_000, Class::Gate, &budget("condition = \"load < 0.31\"")), Verdict::Inconclusive);
    assert_eq!(of(6_000_000, Class::Gate, &budget("condition = \"load < 0.31\"")), Verdict::Fail);
}

#[test]
fn a_budget_decides_whatever_the_class_of_its_figure_and_growth_of_a_diagnostic_says_that_it_does_not() {
    let of = |now: i64, budget: &str| {
        let row = |value| vec![Figure { class: Class::Diagnostic, ..figure("m", value) }, figure("other", 1)];
        compare(row(5_000_000), row(now), &budgets(budget))
    };
    let budget =
        |ceiling: &str, more: &str| format!("[[budget]]\nmetric = \"m\"\nceiling = \"{ceiling}\"\n{more}");
    let over = of(6_000_000, &budget("1ms", ""));
    assert_eq!((over.verdict, over.rows[0].says.as_str()), (Verdict::Fail, "fail (baseline and budget)"));
    assert_eq!(over.reasons, ["m got worse or is over budget"]);
    let junit = text(&over, Format::Junit);
    assert!(junit.contains("tests=\"2\" failures=\"1\"") && junit.contains("name=\"m\"><failure"), "{junit}");
    assert!(text(&over, Format::Html).contains("fail (baseline and budget)"));
    assert_eq!(of(5_000_000, &budget("1ms", "")).verdict, Verdict::Fail, "also without any growth");
    let unmet = of(5_000_000, &budget("1ms", "condition = \"load < 0.31\""));
    assert_eq!(unmet.verdict, Verdict::Inconclusive);
    let held = of(6_000_000, &budget("7ms", ""));
    assert_eq!(held.verdict, Verdict::Pass);
    assert_eq!(held.rows[0].says, "fail (a diagnostic, decides nothing; its budget: pass)");
    assert!(text(&held, Format::Junit).contains("failures=\"0\""));
    let none = of(6_000_000, "");
    assert_eq!(
        (none.verdict, none.rows[0].says.as_str()),
        (Verdict::Pass, "fail (a diagnostic, decides nothing)")
    );
    assert!(text(&none, Format::Junit).contains("tests=\"1\" failures=\"0\""));
}

#[test]
fn a_budget_holds_a_figure_that_the_baseline_has_not() {
    let fresh = |class, ceiling: &str| {
        let now = vec![figure("other", 1), Figure { class, ..figure("m", 2_000_000) }];
        let budget = format!("[[budget]]\nmetric = \"m\"\nceiling = \"{ceiling}\"\n");
        let found = compare(vec![figure("other", 1)], now, &budgets(&budget));
        conforms(COMPARE_SCHEMA, &text(&found, Format::Json));
        found
    };
    let over = fresh(Class::Diagnostic, "1ms");
    assert_eq!(over.verdict, Verdict::Fail);
    assert!(text(&over, Format::Junit).contains("name=\"m\"><failure"));
    assert!(text(&over, Format::Table).contains("m: the baseline has no such figure; fail by its budget"));
    assert_eq!(fresh(Class::Gate, "1ms").verdict, Verdict::Fail);
    assert_eq!(fresh(Class::Diagnostic, "2ms").verdict, Verdict::Pass, "equal passes");
    assert_eq!(fresh(Class::Gate, "2ms").verdict, Verdict::Inconclusive, "a gate has to be compared");
}

#[test]
fn a_figure_that_is_missing_or_a_run_that_says_nothing_is_no_pass() {
    let both = || vec![figure("a", 1), figure("b", 1)];
    let found = compare(both(), vec![figure("a", 1)], &Budgets::default());
    assert_eq!((found.verdict, found.not_compared.len()), (Verdict::Inconclusive, 1));
    assert_eq!(found.reasons, ["b was not compared"]);
    assert_eq!(compare(Vec::new(), Vec::new(), &Budgets::default()).verdict, Verdict::Inconclusive);
    for (outcome, verdict) in [
        (Outcome::Invalid, Verdict::Invalid),
        (Outcome::Partial, Verdict::Partial),
        (Outcome::Fail, Verdict::Pass),
        (Outcome::Inconclusive, Verdict::Pass),
    ] {
        let spoiled = Snapshot { verdict: outcome, ..run(both()) };
        let found = Comparison::of(&baseline(both()), &spoiled, &Budgets::default(), false).unwrap();
        assert_eq!(
            found.verdict, verdict,
            "{outcome:?}: a run's own verdict is shown, growth is what is judged"
        );
    }
}

/// Makes a run unlike another.
type Change = fn(&mut Identity);

#[test]
fn unlike_runs_are_refused_unless_allowed_and_other_definitions_always() {
    let then = baseline(vec![figure("a", 1)]);
    let changes: [(Change, &str); 6] = [
        (|id| id.device_build = "7.2".to_owned(), "device build: 7.1 then, 7.2 here"),
        (|id| id.pins.clear(), "pins of the device: build=7.1 then, none here"),
        (|id| id.fps = 50, "frames a second: 60 then, 50 here"),
        (|id| id.streams.push("x".to_owned()), "streams: big bigpacket [] 6 a frame then"),
        (|id| id.gates_sha256 = "00".to_owned(), "gates_sha256: "),
        (|id| id.metrics.retain(|name, _| name != "wire.lost"), "metric wire.lost is only in the baseline"),
    ];
    for (change, words) in changes {
        let mut now = run(vec![figure("a", 1)]);
        change(&mut now.identity);
        let refused = Comparison::of(&then, &now, &Budgets::default(), false).unwrap_err();
        let Refusal::Conditions(lines) = refused else { panic!("{refused:?}") };
        assert!(lines.len() == 1 && lines[0].starts_with(words), "{lines:?}");
        let allowed = Comparison::of(&then, &now, &Budgets::default(), true).unwrap();
        assert_eq!(allowed.allowed_differences, lines);
        for format in [Format::Table, Format::Markdown, Format::Html, Format::Junit, Format::Csv] {
            let marked = text(&allowed, format).to_lowercase();
            assert!(marked.contains("different runs") || marked.contains(",true\r\n"), "{marked}");
        }
        now.identity.metrics.insert("frame.p95".to_owned(), 2);
        let refused = Comparison::of(&then, &now, &Budgets::default(), true).unwrap_err();
        let lines = vec!["frame.p95: definition 1 then, 2 here".to_owned()];
        assert_eq!(refused, Refusal::Definitions(lines));
    }
}

#[test]
fn every_format_says_what_the_record_says() {
    let found = everything();
    let json = text(&found, Format::Json);
    conforms(COMPARE_SCHEMA, &json);
    assert_eq!(serde_json::from_str::<Comparison>(&json).unwrap(), found);
    let table = text(&found, Format::Table);
    for line in [
        "INCONCLUSIVE a6 against baseline a6|<b>",
        "frames a second: 50 then, 60 here",
        "frame.p95 raw      5,402.0  5,470.5      +68.5  1.013    6,000.0  inconclusive (budget holds only with load <= 0.3)",
        "frame.p50 raw      5,000.0  9,000.0   +4,000.0  1.800",
        "wire.rate:big raw              360.000  359.000  -1.000  0.997",
        "frame.p99 raw: the baseline has no such figure",
        "load average 0.31, throttled no",
        "definitions: frame.p95 1, wire.lost 1",
    ] {
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(squeezed(&table).contains(&squeezed(line)), "{line}\n{table}");
    }
    assert!(text(&found, Format::Html).contains("=odd|&lt;b&gt;"));
    assert!(text(&found, Format::Csv).contains("\r\n'=odd|<b>,gate,ppm,5,5,0,1.000,"));
    let junit = text(&found, Format::Junit);
    assert!(junit.contains("tests=\"6\" failures=\"0\" errors=\"0\" skipped=\"2\""), "{junit}");
    assert!(found.render(Format::Jsonl, STYLE, &mut Vec::new()).is_err());
}

#[test]
fn a_baseline_conforms_and_is_read_back_in_every_format_that_it_has() {
    let found = baseline(vec![figure("frame.p95 raw", 5_402_000)]);
    let mut json = Vec::new();
    found.render(Format::Json, STYLE, &mut json).unwrap();
    conforms(BASELINE_SCHEMA, &String::from_utf8(json.clone()).unwrap());
    let Record::Baseline(read) = Record::read(&json).unwrap() else { panic!() };
    assert_eq!(*read, found);
    for format in Baseline::FORMATS {
        let mut out = Vec::new();
        read.render(format, STYLE, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("5402000") || text.contains("5,402.0"), "{text}");
    }
    assert!(read.render(Format::Junit, STYLE, &mut Vec::new()).is_err());
}

#[test]
fn a_record_without_a_renderer_of_its_own_keeps_its_order_and_its_rows() {
    let json = "{\n  \"schema\": \"wireproof.ring-frames/1\",\n  \"z\": 1,\n  \"a\": null,\n  \"frames\": [\n    {\n      \
                \"id\": 7,\n      \"coverage\": 99.5,\n      \"late\": false\n    },\n    {\n      \"id\": 8,\n      \
                \"why\": \"=x|<b>\"\n    }\n  ]\n}\n";
    let record = Record::read(json.as_bytes()).unwrap();
    let text = |format| {
        let mut out = Vec::new();
        record.render(format, STYLE, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(text(Format::Json), json);
    assert_eq!(text(Format::Csv), "id,coverage,late,why\r\n7,99.5,no,\r\n8,,,'=x|<b>\r\n");
    assert!(text(Format::Table).contains("ID  COVERAGE  LATE  WHY"), "{}", text(Format::Table));
    assert!(text(Format::Markdown).contains("| 8 | | | =x\\|&lt;b&gt; |"), "{}", text(Format::Markdown));
    assert!(record.render(Format::Junit, STYLE, &mut Vec::new()).is_err());
}

#[test]
fn a_summary_outside_of_the_bounds_of_its_schema_is_refused() {
    let mut kept: Value = serde_json::from_str(include_str!("summary.json")).unwrap();
    kept["timeline"] = serde_json::json!({"start_ns": 0, "bin_ns": 10_000_000, "bins": 4});
    let read = |record: &Value| Record::read(record.to_string().as_bytes());
    assert!(read(&kept).is_ok());
    let bounds = [
        ("/timeline/bins", "4000000000"),
        ("/timeline/bins", "0"),
        ("/timeline/bin_ns", "0"),
        ("/streams/0/rate_hz", "-5"),
        ("/streams/0/rate_hz", "1e308"),
        ("/outputs/0/rate_hz", "-0.001"),
        ("/outputs/0/rate_hz", "1e17"),
    ];
    for (place, value) in bounds {
        let mut odd = kept.clone();
        *odd.pointer_mut(place).unwrap_or_else(|| panic!("{place}")) = serde_json::from_str(value).unwrap();
        let refused = read(&odd).unwrap_err();
        assert!(matches!(refused, RecordError::Broken { .. }), "{place} {value}: {refused:?}");
    }
}

#[test]
fn what_is_no_record_says_why_in_one_line() {
    let said = |octets: &[u8]| Record::read(octets).unwrap_err();
    let unknown = said(b"{\"schema\": \"wireproof.summary/2\"}");
    assert_eq!(unknown, RecordError::Unknown("wireproof.summary/2".to_owned()));
    assert!(matches!(said(b"{}"), RecordError::NoRecord(_)));
    assert!(matches!(said(b"{\"schema\": 1}"), RecordError::NoRecord(_)));
    assert!(matches!(said(b"[1]"), RecordError::NoRecord(_)));
    assert!(matches!(said(b"{\"schema\": \"wireproof.summary/1\"}"), RecordError::Broken { .. }));
    let deep = [
        b"{\"schema\":\"wireproof.ring/1\",\"x\":".to_vec(),
        vec![b'['; 9_000],
        vec![b']'; 9_000],
        b"}".to_vec(),
    ]
    .concat();
    let broken = said(&deep).to_string();
    assert!(broken.contains("recursion limit") && !broken.contains('\n'), "{broken}");
}
