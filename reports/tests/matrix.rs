//! Every format of a matrix verdict: texts that are kept beside, the schema, escapes, figures against the record.
//!
//! `WIREPROOF_UPDATE=1 cargo test -p wireproof-reports --test matrix` writes the kept texts again; read the difference.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]
#![allow(clippy::disallowed_methods, reason = "tests read and update kept texts")]

#[path = "matrix/fixtures.rs"]
mod fixtures;

use serde_json::{Value, json};
use std::path::Path;
use wireproof_matrices::verdict::{Outcome, Verdict};
use wireproof_recorder::analysis::causes::{Counts, PlaceRow};
use wireproof_reports::matrix::{CauseRow, EXPLORATORY, InconclusiveIs, Report};
use wireproof_reports::{Format, Style, VERDICT_SCHEMA};

const NARROW: Style = Style { color: false, width: 80 };

fn environment() -> Value {
    json!({"tool": {"version": "0.1.0", "git": "ad2d91a"}, "kernel": "6.18.5", "rmem_max": 8_388_608, "load": ["0.31", "0.20"], "governor": null})
}

fn causes() -> Vec<CauseRow> {
    let places = vec![PlaceRow { place: "src/source.rs:41".to_owned(), requests: 5400 }];
    let counts = |by_other| Counts { frames: 9000, by_events: 3600, by_refresh: 5400 - by_other, by_other, places: places.clone(), places_rest: 0 };
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
