//! The calibration of a plan in every format that it has.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

use std::collections::BTreeMap;
use wireproof_matrices::calibrate::{Alarms, Calibration};
use wireproof_reports::matrix::calibrate::CalibrationReport;
use wireproof_reports::{CALIBRATION_SCHEMA, Format, Style};

fn gate(id: &str, alarms: u64, warning: Option<&str>) -> Calibration {
    Calibration {
        id: id.to_owned(),
        patterns: 1024,
        alarms,
        not_passed: 1000,
        nominal_ppm: 50_000,
        warning: warning.map(str::to_owned),
    }
}

fn text(gates: &[Calibration], runs: &BTreeMap<String, Alarms>, format: Format) -> String {
    let report = CalibrationReport { name: "a6-raw-drain", plan_sha256: "8f3c", gates, runs };
    let mut out = Vec::new();
    report.render(format, Style { color: false, width: 80 }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn runs() -> BTreeMap<String, Alarms> {
    let alarms = |alarms, upper, within| Alarms { runs: 60, alarms, upper, within };
    BTreeMap::from([
        ("p95".to_owned(), alarms(0, 0.048_703, true)),
        ("p99".to_owned(), alarms(9, 0.247_1, false)),
    ])
}

#[test]
fn the_table_has_a_line_a_gate_and_says_which_alarm_too_often() {
    let gates = [gate("p95", 3, None), gate("=p99|", 180, Some("gate p99: 180 of 1024 fail"))];
    let wanted = "CALIBRATION a6-raw-drain, hash 8f3c\n\
                  \n\
                  Every swap of names within the blocks of a run\n\
                  GATE   ALARMS  OF SWAPS  NOMINAL  NOT PASSED\n\
                  p95         3     1,024      5 %       1,000\n\
                  =p99|     180     1,024      5 %       1,000\n\
                  \n\
                  Several runs\n\
                  GATE  ALARMS  OF RUNS  UPPER BOUND  WITHIN\n\
                  p95        0       60       4.88 %  yes\n\
                  p99        9       60      24.71 %  NO\n\
                  \n\
                  gate p99: 180 of 1024 fail\n\
                  gate p99: 9 false alarms in 60 runs are more than chance explains\n";
    assert_eq!(text(&gates, &runs(), Format::Table), wanted);
}

#[test]
fn markdown_escapes_and_keeps_its_columns() {
    let gates = [gate("=p99|", 180, Some("<b>"))];
    let markdown = text(&gates, &BTreeMap::new(), Format::Markdown);
    assert!(markdown.contains("| =p99\\| | 180 | 1,024 | 5 % | 1,000 |"), "{markdown}");
    assert!(markdown.contains("* &lt;b&gt;\n"), "{markdown}");
    assert!(!markdown.contains("Several runs"), "{markdown}");
}

#[test]
fn a_quiet_calibration_says_so() {
    let text = text(&[gate("p95", 0, None)], &BTreeMap::new(), Format::Table);
    assert!(
        text.ends_with("\nNo gate fails a device against itself more often than its error allows.\n"),
        "{text}"
    );
}

#[test]
fn few_runs_show_little_and_no_gate_shows_nothing() {
    let few = [("p95".to_owned(), Alarms { runs: 3, alarms: 0, upper: 0.631_596_85, within: true })].into();
    let said = text(&[gate("p95", 0, None)], &few, Format::Table);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.ends_with(
            "3 runs bound the rate of false alarms at 63.16 % only: 59 without an alarm show at most 5 %."
        ),
        "{said}"
    );
    let nothing = text(&[], &BTreeMap::new(), Format::Table);
    let nothing = nothing.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(nothing.contains("nothing was calibrated") && !nothing.contains("No gate fails"), "{nothing}");
}

#[test]
fn json_and_csv_hold_the_figures_as_they_are() {
    let gates = [gate("=p99", 180, None)];
    let json: serde_json::Value = serde_json::from_str(&text(&gates, &runs(), Format::Json)).unwrap();
    let schema = serde_json::from_str(CALIBRATION_SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(validator.is_valid(&json), "{json}");
    for place in ["", "/gates/0", "/runs/0"] {
        let mut richer = json.clone();
        richer.pointer_mut(place).unwrap()["more"] = serde_json::Value::from(1);
        assert!(!validator.is_valid(&richer), "{place} takes a key that it does not know");
    }
    assert_eq!(json["gates"][0]["alarms"], 180);
    assert_eq!(json["runs"][1]["upper"], 0.2471);
    let csv = text(&gates, &runs(), Format::Csv);
    assert_eq!(
        csv,
        "gate,from,alarms,of,not_passed,nominal_ppm,upper,within\r\n'=p99,swaps,180,1024,1000,50000,,true\r\n\
         p95,runs,0,60,,,0.048703,true\r\np99,runs,9,60,,,0.2471,false\r\n"
    );
}

#[test]
fn a_calibration_has_no_page_and_no_test_cases() {
    let (gates, runs) = ([gate("p95", 0, None)], BTreeMap::new());
    let report = CalibrationReport { name: "a", plan_sha256: "b", gates: &gates, runs: &runs };
    for format in [Format::Jsonl, Format::Junit, Format::Html] {
        assert!(report.render(format, Style::default(), &mut Vec::new()).is_err(), "{}", format.name());
    }
}
