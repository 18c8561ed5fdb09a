//! Every format of a matrix verdict: texts that are kept beside, the schema, escapes, figures against the record.
//!
//! `WIREPROOF_UPDATE=1 cargo test -p wireproof-reports --test matrix` writes the kept texts again; read the difference.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]
#![allow(clippy::disallowed_methods, reason = "tests read and update kept texts")]

#[path = "matrix/figures.rs"]
mod figures;
#[path = "matrix/fixtures.rs"]
mod fixtures;

use figures::{Known, of_html, of_markdown};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use wireproof_matrices::verdict::{Attribution, Decision, Outcome, Verdict};
use wireproof_recorder::analysis::causes::{Counts, PlaceRow};
use wireproof_reports::matrix::{CauseRow, EXPLORATORY, InconclusiveIs, Report};
use wireproof_reports::{Format, Style, VERDICT_SCHEMA};

const NARROW: Style = Style { color: false, width: 80 };

fn environment() -> Value {
    json!({"tool": {"version": "0.1.0", "git": "ad2d91a"}, "kernel": "6.18.5", "rmem_max": 8_388_608, "load": ["0.31", "0.20"], "governor": null})
}

fn causes() -> Vec<CauseRow> {
    let places = vec![PlaceRow { place: "src/source.rs:41".to_owned(), requests: 5400 }];
    let counts = |by_other| Counts {
        frames: 9000,
        by_events: 3600,
        by_refresh: 5400 - by_other,
        by_other,
        places: places.clone(),
        places_rest: 0,
    };
    vec![
        CauseRow { treatment: "idle".to_owned(), counts: counts(0) },
        CauseRow { treatment: "raw".to_owned(), counts: counts(12) },
    ]
}

fn text(v: &Verdict, format: Format) -> String {
    render(v, format, NARROW, InconclusiveIs::Skipped)
}

fn render(v: &Verdict, format: Format, style: Style, inconclusive: InconclusiveIs) -> String {
    let (environment, causes) = (environment(), causes());
    let report = Report { environment: Some(&environment), causes: &causes, ..Report::new(v) };
    let mut out = Vec::new();
    report.render(format, style, inconclusive, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

const EXTENSIONS: [(Format, &str); 7] = [
    (Format::Table, "txt"),
    (Format::Json, "json"),
    (Format::Jsonl, "jsonl"),
    (Format::Csv, "csv"),
    (Format::Markdown, "md"),
    (Format::Junit, "xml"),
    (Format::Html, "html"),
];

/// The formats that are kept of a fixture; the longest ones of two only.
fn kept(name: &str, format: Format) -> bool {
    match format {
        Format::Html | Format::Json => matches!(name, "fail" | "strata"),
        Format::Jsonl => name == "fail",
        _ => true,
    }
}

#[test]
fn every_format_of_every_outcome_is_the_text_that_is_kept() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/matrix");
    let update = std::env::var("WIREPROOF_UPDATE").is_ok_and(|value| value == "1");
    let mut different = Vec::new();
    for (name, verdict) in fixtures::all() {
        for (format, extension) in EXTENSIONS.into_iter().filter(|(format, _)| kept(name, *format)) {
            let path = folder.join(format!("{name}.{extension}"));
            let text = text(&verdict, format);
            if update {
                std::fs::write(&path, &text).unwrap();
            }
            if std::fs::read_to_string(&path).unwrap_or_default() != text {
                different.push(path.display().to_string());
            }
        }
    }
    assert_eq!(different, Vec::<String>::new(), "WIREPROOF_UPDATE=1 writes them again");
}

fn json(v: &Verdict) -> Value {
    serde_json::from_str(&text(v, Format::Json)).unwrap()
}

fn errors(document: &Value) -> Vec<String> {
    let validator = jsonschema::validator_for(&serde_json::from_str(VERDICT_SCHEMA).unwrap()).unwrap();
    validator.iter_errors(document).map(|e| format!("{}: {e}", e.instance_path())).collect()
}

#[test]
fn every_verdict_keeps_to_the_schema() {
    for (name, verdict) in fixtures::all() {
        assert_eq!(errors(&json(&verdict)), Vec::<String>::new(), "{name}");
    }
}

/// The paths of all objects of a document.
fn objects(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            found.push(path.to_owned());
            map.iter().for_each(|(key, value)| {
                objects(value, &format!("{path}/{}", key.replace('/', "~1")), found)
            });
        }
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(n, value)| objects(value, &format!("{path}/{n}"), found));
        }
        _ => {}
    }
}

/// Objects whose keys are names, not words of the format.
const OPEN: [&str; 6] =
    ["/values", "/by_arm", "/streams", "/invalid_by_treatment", "/validity/reasons", "/drops_vs_drains"];

#[test]
fn the_schema_is_closed_and_every_key_is_required() {
    let document = json(&fixtures::fail());
    let mut paths = Vec::new();
    objects(&document, "", &mut paths);
    let closed: Vec<&String> = paths
        .iter()
        .filter(|path| !OPEN.iter().any(|open| path.ends_with(open)) && !path.starts_with("/drops_vs_drains"))
        .collect();
    assert!(closed.len() > 40, "{closed:?}");
    for path in closed {
        let mut richer = document.clone();
        let object = richer.pointer_mut(path).and_then(Value::as_object_mut).unwrap();
        let keys: Vec<String> = object.keys().cloned().collect();
        object.insert("magrin".to_owned(), Value::from(1));
        assert!(!errors(&richer).is_empty(), "{path} takes a key that it does not know");
        for key in keys {
            let mut poorer = document.clone();
            poorer.pointer_mut(path).and_then(Value::as_object_mut).unwrap().remove(&key);
            assert!(!errors(&poorer).is_empty(), "{path} does without {key}");
        }
    }
}

#[test]
fn json_reads_back_as_the_same_verdict_and_begins_with_the_keys_of_the_contract() {
    for (name, verdict) in fixtures::all() {
        let json = text(&verdict, Format::Json);
        assert_eq!(serde_json::from_str::<Verdict>(&json).unwrap(), verdict, "{name}");
        assert!(json.starts_with("{\n  \"schema\": \"wireproof.verdict/1\",\n  \"verdict\": \""), "{name}");
    }
}

#[test]
fn json_lines_hold_every_gate_arm_and_loss_as_a_typed_object() {
    let verdict = fixtures::fail();
    let lines: Vec<Value> =
        text(&verdict, Format::Jsonl).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| lines.iter().filter(|line| line["type"] == kind).count();
    assert_eq!([of("verdict"), of("gate"), of("arm"), of("loss")], [1, 5, 20, 2]);
    assert_eq!(lines.len(), 28);
    assert_eq!(lines[0]["plan_sha256"], verdict.plan_sha256);
}

/// Everything a report is made of.
fn record(v: &Verdict) -> Value {
    json!({"verdict": v, "environment": environment(), "causes": causes()})
}

#[test]
fn every_figure_of_a_table_stands_in_the_record() {
    for (name, verdict) in fixtures::all() {
        let known = Known::of(&record(&verdict));
        let markdown = of_markdown(&text(&verdict, Format::Markdown));
        let html = of_html(&text(&verdict, Format::Html));
        assert!(Known::count(&markdown) > 80, "{name}: {}", Known::count(&markdown));
        for cell in markdown.iter().chain(&html) {
            let strange = known.strange(cell);
            let is_time = cell.ends_with('Z') && cell.contains('T');
            assert!(strange.is_empty() || is_time, "{name}: {cell}: {strange:?}");
        }
    }
}

#[test]
fn a_figure_of_another_record_is_noticed() {
    let mut other = fixtures::pass();
    other.gates[0].point = Some(wireproof_matrices::number::Number(68_640.0));
    let known = Known::of(&record(&fixtures::pass()));
    let cells = of_markdown(&text(&other, Format::Markdown));
    let strange: Vec<String> = cells.iter().flat_map(|cell| known.strange(cell)).collect();
    assert_eq!(strange, ["+68.6"]);
}

#[test]
fn the_page_has_the_tables_of_the_markdown_report() {
    for (name, verdict) in fixtures::all().into_iter().chain([("hostile", fixtures::hostile())]) {
        let markdown = of_markdown(&text(&verdict, Format::Markdown));
        assert_eq!(of_html(&text(&verdict, Format::Html)), markdown, "{name}");
    }
}

/// What stands between two marks.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let rest = &text[text.find(start).unwrap() + start.len()..];
    &rest[..rest.find(end).unwrap()]
}

#[test]
fn the_page_carries_its_own_record() {
    for (name, verdict) in fixtures::all().into_iter().chain([("hostile", fixtures::hostile())]) {
        let page = text(&verdict, Format::Html);
        let carried = between(&page, "<script type=\"application/json\" id=\"record\">", "</script>");
        let carried: Value = serde_json::from_str(carried).unwrap();
        assert_eq!(serde_json::from_value::<Verdict>(carried["verdict"].clone()).unwrap(), verdict, "{name}");
        assert_eq!(carried["environment"], environment(), "{name}");
    }
}

#[test]
fn no_name_gets_out_of_its_place_in_a_page() {
    let page = text(&fixtures::hostile(), Format::Html);
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("</script").count(), 1);
    let open: BTreeSet<&str> =
        page.split('<').skip(1).map(|tag| tag.split([' ', '>', '/', '\n']).next().unwrap()).collect();
    let known = [
        "",
        "!doctype",
        "b",
        "body",
        "circle",
        "div",
        "figcaption",
        "figure",
        "h1",
        "h2",
        "h3",
        "head",
        "html",
        "i",
        "li",
        "line",
        "meta",
        "p",
        "polygon",
        "rect",
        "script",
        "section",
        "small",
        "span",
        "style",
        "svg",
        "table",
        "tbody",
        "td",
        "text",
        "th",
        "thead",
        "title",
        "tr",
        "ul",
        "caption",
    ];
    let strange: Vec<&&str> = open.iter().filter(|tag| !known.contains(tag)).collect();
    assert!(strange.is_empty(), "{strange:?}");
    for (name, verdict) in fixtures::all().into_iter().chain([("hostile", fixtures::hostile())]) {
        let page = text(&verdict, Format::Html);
        for outside in ["http:", "https:", "src=", "href=", "url(", "@import", "onload", "\u{1b}", "\u{202e}"]
        {
            assert!(!page.contains(outside), "{name}: {outside}");
        }
    }
}

#[test]
fn no_format_lets_a_control_character_through() {
    for format in Report::FORMATS {
        let text = text(&fixtures::hostile(), format);
        let bad = text.chars().find(|c| !matches!(c, '\n' | '\r') && wireproof_reports::text::is_unsafe(*c));
        assert_eq!(bad, None, "{}", format.name());
    }
}

#[test]
fn a_name_cannot_inject_markdown_or_a_formula() {
    let hostile = fixtures::hostile();
    let markdown = text(&hostile, Format::Markdown);
    assert!(!markdown.contains("<script"), "{markdown}");
    let csv = text(&hostile, Format::Csv);
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let columns = reader.headers().unwrap().len();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), hostile.gates.len());
    assert!(rows.iter().all(|row| row.len() == columns && row.iter().all(|cell| !cell.starts_with('='))));
}

#[test]
fn the_terminal_table_stays_within_its_width_and_says_the_verdict_first_and_last() {
    for (name, verdict) in fixtures::all() {
        for width in [80, 100, 160] {
            let style = Style { color: false, width };
            let text = render(&verdict, Format::Table, style, InconclusiveIs::Skipped);
            let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > width).collect();
            assert_eq!(long, Vec::<&str>::new(), "{name} at {width}");
            let word = verdict.verdict.word();
            assert!(text.lines().next().unwrap().contains(word), "{name}");
            assert!(text.rfind("\nVERDICT ").is_some_and(|at| text[at..].contains(word)), "{name}");
        }
    }
}

#[test]
fn colour_adds_escapes_and_changes_no_word() {
    for (name, verdict) in fixtures::all() {
        let style = Style { color: true, ..NARROW };
        let colored = render(&verdict, Format::Table, style, InconclusiveIs::Skipped);
        assert!(colored.contains("\u{1b}[1;"), "{name}");
        let mut plain = String::new();
        for (n, part) in colored.split('\u{1b}').enumerate() {
            plain.push_str(if n == 0 { part } else { &part[part.find('m').unwrap() + 1..] });
        }
        assert_eq!(plain, text(&verdict, Format::Table), "{name}");
    }
}

/// Test cases, failures, errors and skipped ones: as the suite says, and as there are.
fn totals(xml: &str) -> [usize; 4] {
    let said = ["tests", "failures", "errors", "skipped"]
        .map(|name| between(xml, &format!(" {name}=\""), "\"").parse::<usize>().unwrap());
    let there = ["<testcase ", "<failure ", "<error ", "<skipped "].map(|tag| xml.matches(tag).count());
    assert_eq!(said, there, "{xml}");
    said
}

#[test]
fn ci_sees_failures_errors_and_skipped_tests_as_the_verdict_has_them() {
    let of = |v: &Verdict, inconclusive| totals(&render(v, Format::Junit, NARROW, inconclusive));
    let (skip, fail) = (InconclusiveIs::Skipped, InconclusiveIs::Failure);
    assert_eq!(of(&fixtures::pass(), skip), [3, 0, 0, 0]);
    assert_eq!(of(&fixtures::fail(), skip), [3, 2, 0, 0]);
    assert_eq!(of(&fixtures::inconclusive(), skip), [3, 0, 0, 1]);
    assert_eq!(of(&fixtures::inconclusive(), fail), [3, 1, 0, 0]);
    assert_eq!(of(&fixtures::invalid(), skip), [3, 0, 3, 0]);
    assert_eq!(of(&fixtures::partial(), skip), [3, 0, 3, 0]);
    // A what-if passes nothing, whatever holds.
    assert_eq!(of(&fixtures::exploratory(), skip), [3, 0, 0, 3]);
    assert_eq!(of(&fixtures::exploratory(), fail), [3, 3, 0, 0]);
}

#[test]
fn ci_is_never_green_for_a_run_that_no_gate_gives_away() {
    let mut verdict = fixtures::pass();
    verdict.verdict = Outcome::Fail;
    assert_eq!(totals(&text(&verdict, Format::Junit)), [4, 1, 0, 0]);
    verdict.verdict = Outcome::Inconclusive;
    assert_eq!(totals(&text(&verdict, Format::Junit)), [4, 0, 0, 1]);
    verdict.gates.clear();
    assert_eq!(totals(&text(&verdict, Format::Junit)), [1, 0, 0, 1]);
}

#[test]
fn junit_is_well_formed_whatever_the_names_are() {
    let xml = text(&fixtures::hostile(), Format::Junit);
    totals(&xml);
    let mut open = Vec::new();
    for tag in xml.split('<').skip(1) {
        let (inside, rest) = tag.split_once('>').unwrap();
        assert!(!rest.contains(']') || !rest.contains("]]>"), "{rest}");
        assert_eq!(inside.matches('"').count() % 2, 0, "{inside}");
        for entity in inside.split('&').skip(1).chain(rest.split('&').skip(1)) {
            let known = ["amp;", "lt;", "gt;", "quot;", "#39;"].iter().any(|name| entity.starts_with(name));
            assert!(known, "{entity}");
        }
        let name = inside.split(' ').next().unwrap();
        match name.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed)),
            None if inside.ends_with('/') || inside.starts_with('?') => {}
            None => open.push(name),
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn every_table_of_a_what_if_says_so_and_none_has_a_pass() {
    let mut verdict = fixtures::exploratory();
    // Whatever the judge does: a gate that still says pass is not shown as one.
    verdict.gates[1].verdict = Decision::Pass;
    let markdown = text(&verdict, Format::Markdown);
    let tables = markdown.lines().filter(|line| line.starts_with("|---")).count();
    assert_eq!(markdown.matches(&format!("*{EXPLORATORY}*")).count(), tables);
    let page = text(&verdict, Format::Html);
    assert_eq!(page.matches("<caption>").count(), page.matches("<table").count());
    for format in [Format::Markdown, Format::Table, Format::Junit] {
        assert!(!text(&verdict, format).contains("PASS"), "{}", format.name());
    }
    assert!(!of_html(&page).iter().any(|cell| cell == "PASS"));
}

#[test]
fn a_report_without_anything_in_it_is_whole() {
    let mut verdict = fixtures::pass();
    verdict.gates.clear();
    verdict.arms.clear();
    (verdict.findings, verdict.cpu, verdict.limits) = (Vec::new(), Vec::new(), Vec::new());
    verdict.attribution = Attribution::default();
    for format in Report::FORMATS {
        let mut out = Vec::new();
        Report::new(&verdict).render(format, NARROW, InconclusiveIs::Skipped, &mut out).unwrap();
        assert!(!out.is_empty(), "{}", format.name());
    }
    let markdown = text(&verdict, Format::Markdown);
    assert!(markdown.contains("\n## Gates\n") && markdown.contains("The plan has no gate."), "{markdown}");
}

#[test]
fn the_report_says_what_the_run_does_not_show() {
    for (name, verdict) in fixtures::all() {
        let markdown = text(&verdict, Format::Markdown);
        let end = &markdown[markdown.find("## What this does not show").unwrap()..];
        assert!(end.contains("1 in "), "{name}: a bound on what never happened");
        assert!(end.contains("kernel"), "{name}: wall time around a send");
        assert_eq!(end.contains("strat") || end.contains("Strat"), name == "strata", "{name}: strata");
    }
}

#[test]
fn figures_of_any_size_are_written() {
    for size in [f64::MAX, -f64::MAX, 1e-300, 9.1e18, 0.0] {
        let number = Some(wireproof_matrices::number::Number(size));
        let mut verdict = fixtures::fail();
        for gate in &mut verdict.gates {
            (gate.point, gate.hl, gate.bound_low, gate.bound_high, gate.margin) =
                (number, number, number, number, number);
            for c in &mut gate.comparisons {
                (c.median_baseline, c.bound_low, c.hl) = (number, number, number);
                c.differences[0] = number.unwrap();
            }
        }
        verdict.arms[0].values.values_mut().for_each(|value| *value = number.unwrap());
        for format in Report::FORMATS {
            assert!(text(&verdict, format).len() > 1000, "{size} {}", format.name());
        }
    }
}
