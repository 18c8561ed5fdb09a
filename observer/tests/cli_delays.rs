//! From `wire_send` to the arrival on one host: a device and its observer as processes, and every way to see the times.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]
#![allow(clippy::print_stdout, reason = "what is skipped is said")]

mod cli_support;
#[allow(dead_code, reason = "its isolation alone is used here")]
mod live_support;

use cli_support::{conforms, outcome, wireproof};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use wireproof_reports::{CONVERSION_SCHEMA, SUMMARY_SCHEMA};

/// Observes a device for two seconds with downloads, a tape and a capture; the summary.
fn observed(folder: &Path) -> Value {
    let mut observe = Command::new(assert_cmd::cargo::cargo_bin("wireproof"));
    observe.current_dir(folder).env_clear().env("HOME", folder).args(["observe", "--format", "json"]);
    observe.args([
        "--tape",
        "show.tape",
        "-w",
        "show.pcapng",
        "--drain-every",
        "500ms",
        "--drain-dir",
        "rings",
    ]);
    observe.args(["--drain", "http://127.0.0.1:8099/v1/ring/raw", "-o", "summary.json"]);
    let mut observe = observe.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(observe.stderr.take().unwrap()).lines().map(Result::unwrap);
    lines.find(|line| line.contains("listening on")).expect("it listens");
    let talk = std::thread::spawn(move || lines.for_each(drop));
    let mut device = wireproof(folder);
    device.args(["device", "--duration", "2s", "--ring", "ring", "--records", "16384", "--quiet"]);
    let (code, _, err) = outcome(device.args(["--http", "127.0.0.1:8099", "--format", "json"]));
    assert_eq!(code, 0, "{err}");
    let pid = observe.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    observe.wait().unwrap();
    talk.join().unwrap();
    serde_json::from_slice(&fs::read(folder.join("summary.json")).unwrap()).unwrap()
}

/// The same capture and ring by the layout of a protocol that is built in: the same times under another name.
fn by_layout(folder: &Path, by_hand: &Value) {
    let mut analyze = wireproof(folder);
    analyze.args(["analyze", "show.pcapng", "--ring", "ring", "--layout", "bigpacket", "--format", "json"]);
    let (_, out, err) = outcome(&mut analyze);
    let again: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {err}"));
    let mut delays = again["reconciled"]["delays"].as_array().unwrap_or_else(|| panic!("{err}")).clone();
    // Declared protocols come behind the others.
    delays.sort_by_key(|of| of["output"].as_str().unwrap_or_default().to_owned());
    are_sound(&Value::Array(delays.clone()));
    let (mut declared, hand) = (delays[0].clone(), &by_hand["reconciled"]["delays"][0]);
    assert_eq!((&declared["protocol"], &hand["protocol"]), (&"layout:bigpacket".into(), &"bigpacket".into()));
    declared["protocol"] = hand["protocol"].clone();
    assert_eq!(&declared, hand);
    let owners = |summary: &Value| summary["totals"]["owners"].clone();
    assert_eq!(owners(&again), owners(by_hand));
    let mut convert = wireproof(folder);
    convert.args(["ring", "convert", "ring", "--to", "chrome", "-o", "b.json", "--wire", "show.pcapng"]);
    let (code, _, err) = outcome(convert.args(["--layout", "bigpacket"]));
    assert!(code == 0 && err.contains("pole-a (layout:bigpacket): wire_send of "), "{err}");
    let trace = fs::read_to_string(folder.join("b.json")).unwrap();
    assert!(trace.contains("layout:bigpacket 1 from 127.0.0.1"), "the arrivals have a row");
}

/// Every output has times, and on one host with one clock nothing arrives before it was sent.
fn are_sound(delays: &Value) {
    let outputs = delays.as_array().unwrap_or_else(|| panic!("no times: {delays}"));
    let names: Vec<_> = outputs.iter().map(|of| of["output"].as_str().unwrap()).collect();
    assert_eq!(names, ["pole-a", "pole-b", "pole-c"]);
    for of in outputs {
        assert!(of["frames"].as_u64() > Some(0), "{of}");
        for point in ["start_to_first_ns", "start_to_last_ns"] {
            assert_eq!(of[point]["before"], 0, "{point}: {of}");
        }
        assert!(of["start_to_first_ns"]["p50"].as_i64() <= of["start_to_last_ns"]["p50"].as_i64(), "{of}");
    }
}

#[test]
fn times_from_send_to_arrival_are_shown_by_observe_analyze_and_convert() {
    live_support::isolated("times_from_send_to_arrival_are_shown_by_observe_analyze_and_convert", || {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let summary = observed(folder.path());
        conforms(SUMMARY_SCHEMA, &summary);
        let delays = &summary["reconciled"]["delays"];
        are_sound(delays);
        // Each download is one exchange of clocks, and three more behind it and in front of the next.
        let good =
            summary["drains"].as_array().unwrap().iter().filter(|d| d["error"].is_null()).count() as u64;
        let exchanges = summary["device_clock"]["exchanges"].as_u64().unwrap();
        assert!(good > 0 && exchanges > good, "{exchanges} exchanges, {good} downloads");
        for file in ["show.pcapng", "show.tape"] {
            let mut analyze = wireproof(folder.path());
            let (_, out, err) =
                outcome(analyze.args(["analyze", file, "--ring", "ring", "--format", "json"]));
            let again: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {err}"));
            are_sound(&again["reconciled"]["delays"]);
            let open = &again["reconciled"]["delays"][0]["start_to_first_ns"]["order_open"];
            assert_eq!(
                open, &again["reconciled"]["delays"][0]["frames"],
                "5 ms between wall clocks say no order"
            );
            if file == "show.pcapng" {
                by_layout(folder.path(), &again);
            }
        }
        let (_, table, _) =
            outcome(wireproof(folder.path()).args(["analyze", "show.tape", "--ring", "ring"]));
        assert!(
            table.contains("pole-c (ddp): wire_send of ") && table.contains("order cannot be told"),
            "{table}"
        );
        let mut convert = wireproof(folder.path());
        convert.args(["ring", "convert", "ring", "--to", "chrome", "-o", "a.json", "--wire", "show.pcapng"]);
        let (code, _, err) = outcome(&mut convert);
        assert_eq!(code, 0, "{err}");
        assert!(err.contains("pole-b (sacn): wire_send of "), "{err}");
        let octets = fs::read(folder.path().join("a.json.manifest.json")).unwrap();
        let manifest: Value = serde_json::from_slice(&octets).unwrap();
        conforms(CONVERSION_SCHEMA, &manifest);
        are_sound(&manifest["arrivals"]);
    });
}
