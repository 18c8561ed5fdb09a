//! `compare` of two observed runs, and `report` of every record: captures, summaries, bundles, rings, benches.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod bundle_made;
mod cli_support;

use bundle_made::{Made, make};
use cli_support::{conforms, outcome, planted, wireproof};
use serde_json::Value;
use std::fs;
use std::path::Path;
use wireproof_reports::COMPARE_RUNS_SCHEMA;

fn cli(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    outcome(wireproof(folder).args(arguments))
}

/// Captures of these planted cases.
fn with(cases: &[&str]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    cases.iter().for_each(|case| drop(planted(dir.path(), case)));
    dir
}

fn compared(folder: &Path, before: &str, after: &str) -> Value {
    let (code, out, err) = cli(folder, &["compare", before, after, "--format", "json"]);
    assert_eq!((code, err.as_str()), (0, ""), "{before} {after}");
    let record: Value = serde_json::from_str(&out).unwrap();
    conforms(COMPARE_RUNS_SCHEMA, &record);
    record
}

#[test]
fn a_capture_against_itself_is_the_same_and_a_summary_is_as_good_as_its_capture() {
    let dir = with(&["sacn-clean-12"]);
    let capture = "sacn-clean-12.pcap";
    let same = compared(dir.path(), capture, capture);
    assert_eq!((&same["outcome"], &same["counted"]["gone"]), (&"same".into(), &0.into()));
    assert_eq!(same["streams"].as_array().unwrap().len(), 12);
    let (_, summary, _) = cli(dir.path(), &["analyze", capture, "--format", "json"]);
    fs::write(dir.path().join("summary.json"), &summary).unwrap();
    assert_eq!(compared(dir.path(), "summary.json", capture), same);
    let piped = outcome(
        wireproof(dir.path()).args(["compare", "-", capture, "--format", "json"]).write_stdin(summary),
    );
    assert_eq!(serde_json::from_str::<Value>(&piped.1).unwrap(), same);
}

#[test]
fn worse_is_told_and_fails_only_when_it_was_asked_to() {
    let dir = with(&["sacn-clean-12", "sacn-clean-1"]);
    let (all, one) = ("sacn-clean-12.pcap", "sacn-clean-1.pcap");
    let gone = compared(dir.path(), all, one);
    // The two cases have no universe in common.
    let counted = (&gone["counted"]["gone"], &gone["counted"]["new"]);
    assert_eq!((&gone["outcome"], counted), (&"worse".into(), (&12.into(), &1.into())));
    assert_eq!(cli(dir.path(), &["compare", all, one]).0, 0);
    let (code, out, _) = cli(dir.path(), &["compare", all, one, "--fail-on-worse"]);
    assert!(code == 1 && out.starts_with("WORSE "), "{out}");
    assert_eq!(cli(dir.path(), &["compare", all, all, "--fail-on-worse"]).0, 0);
    let (code, _, err) =
        cli(dir.path(), &["compare", all, one, "--fail-on-worse", "-o", "out.json", "--format", "json"]);
    assert!(code == 1 && err.starts_with("wireproof: worse: "), "{err}");
    assert!(dir.path().join("out.json").exists());
}

#[test]
fn a_stream_that_loses_more_than_chance_explains_is_worse() {
    let dir = with(&["sacn-clean-12"]);
    let (_, summary, _) = cli(dir.path(), &["analyze", "sacn-clean-12.pcap", "--format", "json"]);
    let mut summary: Value = serde_json::from_str(&summary).unwrap();
    let stream = &mut summary["streams"][3];
    let (sent, rate) = (stream["datagrams"].as_u64().unwrap(), stream["rate_hz"].as_f64().unwrap());
    stream["datagrams"] = (sent - 40).into();
    stream["rate_hz"] = (rate * (sent - 40) as f64 / sent as f64).into();
    for key in ["lost", "lost_min", "gaps"] {
        stream["sequence"][key] = 40.into();
    }
    fs::write(dir.path().join("lossy.json"), summary.to_string()).unwrap();
    let record = compared(dir.path(), "sacn-clean-12.pcap", "lossy.json");
    assert_eq!((&record["outcome"], &record["counted"]["worse"]), (&"worse".into(), &1.into()), "{record}");
    let (code, out, _) = cli(dir.path(), &["compare", "sacn-clean-12.pcap", "lossy.json", "--fail-on-worse"]);
    assert!(code == 1 && out.contains(" in 40 "), "{out}");
    // The other way round it got better.
    assert_eq!(compared(dir.path(), "lossy.json", "sacn-clean-12.pcap")["outcome"], "better");
    assert_eq!(cli(dir.path(), &["compare", "lossy.json", "sacn-clean-12.pcap", "--fail-on-worse"]).0, 0);
}

#[test]
fn unlike_streams_are_named_and_not_compared() {
    let dir = with(&["sacn-clean-1", "ddp-clean-6"]);
    let record = compared(dir.path(), "sacn-clean-1.pcap", "ddp-clean-6.pcap");
    let counted = &record["counted"];
    assert!(counted["gone"].as_u64() > Some(0) && counted["new"].as_u64() > Some(0), "{counted}");
    assert_eq!((&counted["same"], &counted["worse"]), (&0.into(), &0.into()));
    let (_, summary, _) = cli(dir.path(), &["analyze", "sacn-clean-1.pcap", "--format", "json"]);
    let mut summary: Value = serde_json::from_str(&summary).unwrap();
    summary["source"]["timestamps"] = "kernel".into();
    fs::write(dir.path().join("live.json"), summary.to_string()).unwrap();
    let record = compared(dir.path(), "sacn-clean-1.pcap", "live.json");
    let why = record["streams"][0]["times"][0]["why"].as_str().unwrap().to_owned();
    assert!(why.starts_with("time stamps: file-") && why.ends_with(" then, kernel now"), "{why}");
    summary["observer"]["lost"] = 3.into();
    fs::write(dir.path().join("lossy.json"), summary.to_string()).unwrap();
    let record = compared(dir.path(), "live.json", "lossy.json");
    assert_eq!(record["outcome"], "not_compared");
    let (code, _, _) = cli(dir.path(), &["compare", "live.json", "lossy.json", "--fail-on-worse"]);
    assert_eq!(code, 3, "nothing was compared");
}

#[test]
fn what_cannot_be_compared_is_one_line() {
    let dir = with(&["sacn-clean-1"]);
    let capture = "sacn-clean-1.pcap";
    fs::write(dir.path().join("bench.json"), include_str!("../../reports/tests/compare/bench.json")).unwrap();
    fs::write(dir.path().join("text.txt"), "neither\n").unwrap();
    fs::write(dir.path().join("broken.json"), "{\"schema\":\"wireproof.summary/1\",").unwrap();
    let rows: [(&[&str], i32, &str); 8] = [
        (&[capture, "bench.json"], 2, "is a record of wireproof.bench/1: give summaries"),
        (&[capture, "text.txt"], 6, "not a capture"),
        (&[capture, "absent"], 6, "absent cannot be read"),
        (&["broken.json", capture], 7, "no record of this tool (EOF while parsing"),
        (&[capture, capture, "--allow-different"], 2, "belong to a baseline"),
        (&[capture, capture, "--budgets", "x"], 2, "belong to a baseline"),
        (&[capture, capture, "--format", "junit"], 2, "a comparison of runs has no junit"),
        (&["-", "-"], 2, "standard input is given twice"),
    ];
    for (arguments, code, words) in rows {
        let (found, out, err) = outcome(wireproof(dir.path()).arg("compare").args(arguments));
        assert_eq!((found, out.as_str(), err.lines().count()), (code, "", 1), "{arguments:?}: {err}");
        assert!(err.contains(words), "{arguments:?}: {err}");
    }
}

#[test]
fn a_summary_is_written_again_as_analyze_wrote_it() {
    let dir = with(&["sacn-drop-one"]);
    let analyze = |format: &str| cli(dir.path(), &["analyze", "sacn-drop-one.pcap", "--format", format]).1;
    fs::write(dir.path().join("run.json"), analyze("json")).unwrap();
    for format in ["table", "json", "jsonl", "csv", "markdown"] {
        let (code, out, err) = cli(dir.path(), &["report", "run.json", "--format", format]);
        assert_eq!((code, err.as_str()), (0, ""), "{format}");
        assert_eq!(out, analyze(format), "{format}");
    }
    let (code, out, _) =
        outcome(wireproof(dir.path()).args(["report", "-", "--format", "csv"]).write_stdin(analyze("json")));
    assert_eq!((code, out), (0, analyze("csv")));
}

#[test]
fn a_bundle_and_its_verdict_are_written_again() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = make(&dir.path().join("evidence"), &Made::default());
    let path = bundle.display().to_string();
    let kept = |name: &str| fs::read_to_string(bundle.join(name)).unwrap();
    for (format, name) in [
        ("json", "verdict.json"),
        ("markdown", "report.md"),
        ("html", "report.html"),
        ("junit", "junit.xml"),
        ("csv", "gates.csv"),
    ] {
        let (code, out, err) = cli(dir.path(), &["report", &path, "--format", format]);
        assert_eq!((code, err.as_str()), (0, ""), "{format}");
        assert_eq!(out, kept(name), "{format}");
        let verdict = bundle.join("verdict.json").display().to_string();
        let (code, out, _) = cli(dir.path(), &["report", &verdict, "--format", format]);
        assert_eq!(code, 0);
        // Plan and environment lie beside the verdict; what it holds itself is the same.
        assert!(!matches!(format, "json" | "junit" | "csv") || out == kept(name), "{format}");
    }
}

#[test]
fn rings_and_benches_are_shown_from_their_json() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("bench.json"), include_str!("../../reports/tests/compare/bench.json")).unwrap();
    let (code, out, _) = cli(dir.path(), &["report", "bench.json", "--format", "markdown"]);
    assert!(code == 0 && out.starts_with("# Encoders on one frame of 1024 octets"), "{out}");
    let ring =
        "{\"schema\":\"wireproof.ring/1\",\"version\":2,\"drops\":{\"pending\":1},\"gaps\":[[1,3,1]]}\n";
    fs::write(dir.path().join("ring.json"), ring).unwrap();
    let (code, out, _) = cli(dir.path(), &["report", "ring.json"]);
    assert_eq!(code, 0);
    assert!(out.contains("drops.pending  1") && out.contains("- [1,3,1]"), "{out}");
    let (code, out, _) = cli(dir.path(), &["report", "ring.json", "--format", "html", "-o", "ring.html"]);
    assert_eq!((code, out.as_str()), (0, ""));
    assert!(fs::read_to_string(dir.path().join("ring.html")).unwrap().ends_with("</html>\n"));
}

#[test]
fn what_is_no_record_ends_in_one_line_and_leaves_no_file() {
    let dir = with(&["sacn-clean-1"]);
    fs::write(dir.path().join("next.json"), "{\"schema\":\"wireproof.summary/2\"}").unwrap();
    fs::write(dir.path().join("other.json"), "  {\"a\":1}").unwrap();
    fs::write(
        dir.path().join("deep.json"),
        "{\"schema\":\"wireproof.ring/1\",\"a\":".to_owned() + &"[".repeat(99_999),
    )
    .unwrap();
    fs::write(dir.path().join("list.json"), "[]").unwrap();
    // A hole: 65 MiB of nothing behind a brace.
    let large = fs::File::create(dir.path().join("large.json")).unwrap();
    std::io::Write::write_all(&mut &large, b"{").unwrap();
    large.set_len(65 << 20).unwrap();
    let rows: [(&[&str], i32, &str); 9] = [
        (&["next.json"], 7, "the schema \"wireproof.summary/2\" is not known here"),
        (&["other.json"], 7, "it has no schema"),
        (&["deep.json"], 7, "no record of this tool"),
        (&["list.json"], 7, "no record"),
        (&["large.json"], 7, "over 64 MiB"),
        (&["sacn-clean-1.pcap"], 7, "a capture is read by `wireproof analyze`"),
        (&["absent.json"], 6, "cannot be read"),
        (&["evidence"], 6, "evidence cannot be read"),
        (&["next.json", "--format", "xml"], 2, "possible values"),
    ];
    for (arguments, code, words) in rows {
        let (found, out, err) =
            outcome(wireproof(dir.path()).arg("report").args(arguments).args(["-o", "out"]));
        assert_eq!((found, out.as_str(), err.lines().count()), (code, "", 1), "{arguments:?}: {err}");
        assert!(err.contains(words), "{arguments:?}: {err}");
        assert!(!dir.path().join("out").exists());
    }
}
