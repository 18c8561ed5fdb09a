//! Filters, waivers and settings as a user meets them: verdicts, exit codes, records in the shipped schema, errors.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod cli_support;

use cli_support::{conforms, outcome, planted, wireproof};
use serde_json::Value;
use std::fs;
use std::path::Path;

const LOST: &str = "sacn-drop-one";

fn record(folder: &Path, arguments: &[&str]) -> (i32, Value) {
    let (code, out, err) =
        outcome(wireproof(folder).arg("analyze").args(arguments).args(["--format", "json"]));
    let record = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"));
    conforms(wireproof_reports::SUMMARY_SCHEMA, &record);
    (code, record)
}

fn waiver(more: &str) -> String {
    format!("[[waiver]]\ncode = \"SEQ-LOST\"\nreason = \"ticket 17\"\nexpires = 2199-12-31\n{more}")
}

#[test]
fn a_waived_loss_passes_and_every_format_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), LOST);
    let capture = capture.to_str().unwrap();
    let (code, plain) = record(dir.path(), &[capture]);
    assert_eq!((code, plain["verdict"].as_str()), (1, Some("fail")));
    assert!(plain.get("waivers").is_none() && plain.get("filter").is_none());
    let mut rig = String::new();
    for code in ["SEQ-LOST", "FRAME-TORN"] {
        let lost = waiver("where = \"protocol == sacn\"\nmax = 3\n");
        rig.push_str(&lost.replace("SEQ-LOST", code));
    }
    fs::write(dir.path().join("rig.toml"), rig).unwrap();
    let (code, waived) = record(dir.path(), &[capture, "--rig", "rig.toml"]);
    assert_eq!((code, waived["verdict"].as_str()), (0, Some("pass")), "{waived}");
    let before: Vec<&Value> = plain["findings"].as_array().unwrap().iter().map(|f| &f["id"]).collect();
    let after: Vec<&Value> = waived["findings"].as_array().unwrap().iter().map(|f| &f["id"]).collect();
    assert!(after.starts_with(&before), "{waived}");
    let lost = waived["findings"].as_array().unwrap().iter().find(|f| f["code"] == "SEQ-LOST").unwrap();
    assert_eq!((lost["severity"].as_str(), lost["waiver"].as_u64()), (Some("violation"), Some(0)));
    assert_eq!(
        (waived["waivers"][0]["state"].as_str(), waived["waivers"][0]["used"].as_u64()),
        (Some("used"), Some(1))
    );
    for format in ["table", "markdown", "html", "junit", "jsonl"] {
        let mut command = wireproof(dir.path());
        let (code, out, _) =
            outcome(command.args(["analyze", capture, "--rig", "rig.toml", "--format", format]));
        assert_eq!(code, 0, "{format}");
        assert!(out.contains("ticket 17") && out.contains("2199-12-31"), "{format}: {out}");
    }
    // Warnings that are not waived still count under --strict; the waived ones do not come back.
    let (_, strict) = record(dir.path(), &[capture, "--rig", "rig.toml", "--strict"]);
    assert_eq!(strict["waivers"][0]["state"], "used", "{strict}");
}

#[test]
fn a_waiver_that_is_over_or_overdrawn_does_not_help() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), LOST);
    let capture = capture.to_str().unwrap();
    let over = waiver("where = \"protocol == sacn\"\nmax = 3\n").replace("2199-12-31", "1970-01-01");
    fs::write(dir.path().join("over.toml"), over).unwrap();
    let (code, record) = record(dir.path(), &[capture, "--rig", "over.toml"]);
    assert_eq!((code, record["waivers"][0]["state"].as_str()), (1, Some("expired")));
    let said = |code: &str| record["findings"].as_array().unwrap().iter().any(|f| f["code"] == code);
    assert!(said("RIG-WAIVER-EXPIRED"), "{record}");
}

#[test]
fn losses_of_the_observer_invalid_and_integrity_are_refused_as_waivers_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), LOST);
    for code in ["OBS-LOST", "INVALID", "integrity", "RING-BROKEN"] {
        let rig = waiver("where = \"protocol == *\"\nmax = 3\n").replace("SEQ-LOST", code);
        fs::write(dir.path().join("rig.toml"), rig).unwrap();
        let mut command = wireproof(dir.path());
        let (code, out, err) = outcome(command.arg("analyze").arg(&capture).args(["--rig", "rig.toml"]));
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{err}");
        assert!(err.contains("rig.toml, line 2, code: ") && err.contains("never waived"), "{err}");
    }
}

#[test]
fn a_filtered_run_says_so_and_a_filter_that_nothing_fits_is_no_pass() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), LOST);
    let capture = capture.to_str().unwrap();
    let (_, whole) = record(dir.path(), &[capture]);
    let lossy = whole["streams"].as_array().unwrap().iter().find(|s| s["sequence"]["lost"] != 0).unwrap();
    let expression = format!("stream_id != {}", lossy["stream_id"]);
    let (code, left) = record(dir.path(), &[capture, "--where", &expression]);
    let streams = left["streams"].as_array().unwrap().len();
    let kept = whole["streams"].as_array().unwrap().iter().filter(|s| s["stream_id"] != lossy["stream_id"]);
    assert_eq!(streams, kept.count());
    assert_eq!(left["filter"]["expression"], expression);
    assert_eq!(code, if streams == 0 { 3 } else { 0 }, "{left}");
    assert_eq!(left["totals"]["lost"], 0);
    assert_eq!(left["datagrams"], whole["datagrams"]);
    let (code, none) = record(dir.path(), &[capture, "--where", "universe == 63999"]);
    assert_eq!((code, none["verdict"].as_str()), (3, Some("inconclusive")));
    let (_, masked) = record(dir.path(), &[capture, "--where", "protocol == sacn", "--anonymize"]);
    assert_eq!(masked["filter"]["expression"], "masked");
    assert!(masked["reason"].as_str().unwrap().ends_with("where masked)"), "{masked}");
    for format in ["table", "csv", "markdown", "html", "junit", "jsonl"] {
        let mut command = wireproof(dir.path());
        let arguments = ["analyze", capture, "--where", "protocol == sacn", "--format", format];
        let (_, out, _) = outcome(command.args(arguments));
        assert!(out.contains("protocol == sacn"), "{format}: {out}");
    }
}

#[test]
fn a_finding_keeps_its_id_under_a_filter_so_that_slice_finds_it() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), LOST);
    let capture = capture.to_str().unwrap();
    let lost = |record: &Value| {
        let found = record["findings"].as_array().unwrap().iter().find(|f| f["code"] == "SEQ-LOST").unwrap();
        found["id"].as_str().unwrap().to_owned()
    };
    let (whole, left) =
        (record(dir.path(), &[capture]).1, record(dir.path(), &[capture, "--where", "protocol == sacn"]).1);
    assert_eq!(lost(&whole), lost(&left));
    let mut command = wireproof(dir.path());
    let (code, _, err) =
        outcome(command.args(["slice", capture, "--finding", &lost(&left), "-o", "cut.pcapng"]));
    assert_eq!(code, 0, "{err}");
}

#[test]
fn a_wrong_expression_is_shown_with_the_place_under_it() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), LOST);
    for verb in [&["analyze"][..], &["learn"], &["compare", "x.json"]] {
        let mut command = wireproof(dir.path());
        command.args(verb).arg(&capture).args(["--where", "protocol == sacn && unverse in 1..12"]);
        let (code, out, err) = outcome(&mut command);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        let lines: Vec<&str> = err.lines().collect();
        assert!(lines[0].starts_with("wireproof: --where, column 21: \"unverse\" is no field"), "{err}");
        assert_eq!(lines[1..], ["  protocol == sacn && unverse in 1..12", "                      ^^^^^^^"]);
    }
}

#[test]
fn learn_and_compare_take_only_what_fits() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), LOST);
    let capture = capture.to_str().unwrap();
    let mut command = wireproof(dir.path());
    let (code, out, _) = outcome(command.args(["learn", capture, "--where", "protocol == sacn"]));
    assert_eq!(code, 0);
    assert!(out.contains("# Only streams where protocol == sacn.") && out.contains("[[output]]"), "{out}");
    let mut command = wireproof(dir.path());
    let (code, _, err) = outcome(command.args(["learn", capture, "--where", "protocol == ddp"]));
    assert_eq!(code, 3);
    assert!(err.contains("look at --where"), "{err}");
    let compare = |filter: &str| {
        let mut command = wireproof(dir.path());
        let arguments = ["compare", capture, capture, "--where", filter, "--format", "json"];
        let (_, out, _) = outcome(command.args(arguments));
        serde_json::from_str::<Value>(&out).unwrap()["streams"].as_array().unwrap().len()
    };
    assert!(compare("protocol == sacn") > 0);
    assert_eq!(compare("protocol == ddp"), 0);
}

#[test]
fn config_prints_checks_and_shows() {
    let dir = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| outcome(wireproof(dir.path()).arg("config").args(arguments));
    let (code, template, _) = run(&["template"]);
    assert_eq!(code, 0);
    fs::write(dir.path().join("wireproof.toml"), &template).unwrap();
    let (code, out, err) = run(&["check"]);
    assert_eq!((code, out.as_str()), (0, ""), "{err}");
    assert!(err.contains("wireproof.toml: right, 0 keys"), "{err}");
    fs::write(dir.path().join("wireproof.toml"), "formt = \"json\"\n").unwrap();
    let (code, _, err) = run(&["check"]);
    assert_eq!((code, err.lines().count()), (2, 1), "{err}");
    assert!(err.contains("wireproof.toml, line 1: formt is no key; the nearest is format"), "{err}");
    assert_eq!(run(&["check", "none.toml"]).0, 6);
    fs::write(dir.path().join("wireproof.toml"), "strict = true\nrig = \"rigs/pole.toml\"\n").unwrap();
    let (code, out, _) =
        outcome(wireproof(dir.path()).env("WIREPROOF_STRICT", "no").args(["config", "show"]));
    assert_eq!(code, 0);
    let line = |key: &str| {
        let line =
            out.lines().find(|l| l.split_whitespace().next() == Some(key)).unwrap_or_else(|| panic!("{out}"));
        line.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(line("strict"), ["no", "WIREPROOF_STRICT"]);
    assert_eq!(line("rig"), ["rigs/pole.toml", "wireproof.toml"]);
    assert_eq!(line("format"), ["table", "default"]);
}

/// A folder comes from elsewhere, as a repository does.
#[test]
fn the_file_of_a_folder_starts_no_program_and_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let settings = dir.path().join("wireproof.toml");
    let run = |arguments: &[&str]| outcome(wireproof(dir.path()).args(arguments));
    fs::write(&settings, "exec = \"touch RAN\"\nalert_on = \"verdict\"\n").unwrap();
    for arguments in [&["observe", "--udp", "127.0.0.1:0", "--duration", "100ms"][..], &["config", "check"]] {
        let (code, _, err) = run(arguments);
        assert_eq!((code, err.lines().count()), (2, 1), "{err}");
        assert!(err.contains("./wireproof.toml: exec is not taken from there"), "{err}");
    }
    assert!(!dir.path().join("RAN").exists());
    fs::write(&settings, "strict = true\n").unwrap();
    let observe = ["observe", "--udp", "127.0.0.1:0", "--duration", "100ms"];
    let (_, _, err) = run(&observe);
    assert!(err.contains("settings of ./wireproof.toml hold"), "{err}");
}

#[test]
fn a_filter_of_a_file_holds_until_the_command_line_has_another() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), LOST);
    let capture = capture.to_str().unwrap();
    fs::write(dir.path().join("wireproof.toml"), "where = \"protocol == ddp\"\n").unwrap();
    assert_eq!(record(dir.path(), &[capture]).1["filter"]["expression"], "protocol == ddp");
    let (_, over) = record(dir.path(), &[capture, "--where", "protocol == sacn"]);
    assert_eq!(over["filter"]["expression"], "protocol == sacn");
}

#[test]
fn options_that_say_nothing_alone_are_refused_and_those_of_a_file_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| outcome(wireproof(dir.path()).arg("observe").args(arguments));
    for (arguments, said) in [
        (&["--join-on", "lo"][..], "--join-on needs --join"),
        (&["--drain-every", "2s"], "--drain-every needs --drain"),
        (&["--rotate", "1GiB"], "--rotate needs --write"),
        (&["-i", "lo", "--join", "1"], "--join cannot be used with --interface"),
        (&["--fail-fast", "--where", "protocol == sacn"], "--fail-fast ends at any violation"),
        (&["--webhook", "https://user:pass@host/x"], "https:// is not supported"),
        (&["--alert-on", "never"], "\"never\" is no code"),
        (&["--exec", "sh 'x"], "quotes are not closed"),
    ] {
        let (code, _, err) = run(arguments);
        assert_eq!((code, err.lines().count()), (2, 1), "{arguments:?}: {err}");
        assert!(err.contains(said) && !err.contains("pass@"), "{arguments:?}: {err}");
    }
    fs::write(dir.path().join("wireproof.toml"), "keep = 3\ndrain_every = \"2s\"\njoin = \"1-2\"\n").unwrap();
    let (code, _, err) =
        run(&["--udp", "127.0.0.1:0", "--duration", "100ms", "-q", "-i", "lo", "--join", "1"]);
    assert_eq!(code, 2, "{err}");
}
