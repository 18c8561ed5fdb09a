//! Every format of a matrix verdict: texts that are kept beside, the schema, escapes, figures against the record.
//!
//! `WIREPROOF_UPDATE=1 cargo test -p wireproof-reports --test matrix` writes the kept texts again; read the difference.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]
#![allow(clippy::disallowed_methods, reason = "tests read and update kept texts")]

mod ci;
mod figures;
mod fixtures;
mod odd;
mod page;
mod record;

use figures::of_html;
use serde_json::{Value, json};
use std::path::Path;
use wireproof_matrices::verdict::{Attribution, Decision, Verdict};
use wireproof_recorder::analysis::causes::{Counts, PlaceRow};
use wireproof_reports::matrix::{CauseRow, EXPLORATORY, InconclusiveIs, Report};
use wireproof_reports::{Format, Style};

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
        CauseRow { treatment: "idle".to_owned(), counts: counts(0), unrecorded: 0 },
        CauseRow { treatment: "raw".to_owned(), counts: counts(12), unrecorded: 5 },
    ]
}

fn text(v: &Verdict, format: Format) -> String {
    render(v, format, NARROW, InconclusiveIs::Skipped)
}

fn render(v: &Verdict, format: Format, style: Style, inconclusive: InconclusiveIs) -> String {
    let (environment, causes) = (environment(), causes());
    let envelope = odd::envelope(v);
    let environment = Some(&environment);
    let report = Report { environment, causes: &causes, envelope: envelope.as_ref(), ..Report::new(v) };
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
        Format::Html | Format::Json => matches!(name, "fail" | "strata" | "ladder"),
        Format::Jsonl => name == "fail",
        _ => true,
    }
}

#[test]
fn every_format_of_every_outcome_is_the_text_that_is_kept() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/matrix/kept");
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

/// What stands between two marks.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let rest = &text[text.find(start).unwrap() + start.len()..];
    &rest[..rest.find(end).unwrap()]
}

#[test]
fn no_format_lets_a_control_character_through() {
    for format in Report::FORMATS {
        let text = text(&odd::hostile(), format);
        let bad = text.chars().find(|c| !matches!(c, '\n' | '\r') && wireproof_reports::text::is_unsafe(*c));
        assert_eq!(bad, None, "{}", format.name());
    }
}

#[test]
fn a_name_cannot_inject_markdown_or_a_formula() {
    let hostile = odd::hostile();
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
        assert_eq!(
            end.contains("strat") || end.contains("Strat"),
            matches!(name, "strata" | "ladder"),
            "{name}: strata"
        );
    }
}

#[test]
fn figures_of_any_size_are_written() {
    for size in [f64::MAX, -f64::MAX, 1e-300, 9.1e18, 0.0] {
        let size = wireproof_matrices::number::Number(size);
        let number = Some(size);
        let mut verdict = fixtures::fail();
        for gate in &mut verdict.gates {
            (gate.point, gate.hl, gate.bound_low, gate.bound_high, gate.margin) =
                (number, number, number, number, number);
            for c in &mut gate.comparisons {
                (c.median_baseline, c.bound_low, c.hl) = (number, number, number);
                c.differences[0] = size;
            }
        }
        verdict.arms[0].values.values_mut().for_each(|value| *value = size);
        for format in Report::FORMATS {
            assert!(text(&verdict, format).len() > 1000, "{} {}", size.0, format.name());
        }
    }
}

#[test]
fn a_place_of_the_tool_itself_is_told_and_places_past_the_list_are_counted() {
    let row = |place: &str, requests| PlaceRow { place: place.to_owned(), requests };
    let places = vec![row("http /v1/status", 7), row("src/melt.rs:118", 2)];
    let counts = Counts { frames: 9, by_refresh: 9, places, places_rest: 5, ..Counts::default() };
    let causes = [CauseRow { treatment: "raw".to_owned(), counts, unrecorded: 0 }];
    let verdict = &fixtures::all()[0].1;
    let mut out = Vec::new();
    let report = Report { causes: &causes, ..Report::new(verdict) };
    report.render(Format::Markdown, NARROW, InconclusiveIs::Skipped, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let section = between(&text, "## Causes of frames", "\n## ");
    assert!(section.contains("raw: http /v1/status sounds like the measuring tool's own"), "{section}");
    assert!(!section.contains("melt.rs:118 sounds"), "{section}");
    assert!(section.lines().any(|line| line.contains("further places") && line.contains(" 5 ")), "{section}");
}
