//! `wireproof ring convert` from the outside: formats, packing, manifest, what is put beside a ring, and refusals.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a test")]

mod cli_support;

use cli_support::{conforms, outcome, planted, wireproof};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use wireproof_reports::CONVERSION_SCHEMA;

/// The samples' wall clock, ns since 1970, at their monotonic second 1000.
const WALL_NS: i64 = 1_790_000_000_000_000_000;

fn ring(name: &str) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/golden/rings").join(name);
    if path.is_file() {
        return Some(path.display().to_string());
    }
    let _ = std::io::Write::write_fmt(
        &mut std::io::stderr(),
        format_args!("SKIPPED: {} is not there\n", path.display()),
    );
    None
}

fn convert(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    outcome(wireproof(folder).args(["ring", "convert"]).args(arguments))
}

fn events(octets: &[u8]) -> Vec<Value> {
    let whole: Value = serde_json::from_slice(octets).unwrap();
    whole["traceEvents"].as_array().unwrap().clone()
}

fn manifest(folder: &Path, output: &str) -> Value {
    let octets = fs::read(folder.join(format!("{output}.manifest.json"))).unwrap();
    let manifest = serde_json::from_slice(&octets).unwrap();
    conforms(CONVERSION_SCHEMA, &manifest);
    manifest
}

/// Names of the rows of a Chrome trace.
fn rows(events: &[Value]) -> Vec<&str> {
    let named = events.iter().filter(|e| e["name"] == "thread_name");
    named.map(|e| e["args"]["name"].as_str().unwrap()).collect()
}

#[test]
fn packed_and_plain_outputs_hold_the_same_trace_and_the_manifest_proves_them() {
    let Some(ring) = ring("v2_good.bin") else { return };
    let dir = tempfile::tempdir().unwrap();
    for name in ["a.json", "a.json.gz", "a.json.zst", "a.pftrace", "a.csv"] {
        let to = if name.contains("json") {
            "chrome"
        } else if name.contains("csv") {
            "csv"
        } else {
            "perfetto"
        };
        let (code, out, said) = convert(dir.path(), &[&ring, "--to", to, "-o", name, "--checksum"]);
        assert_eq!((code, out.as_str()), (0, ""), "{said}");
        let octets = fs::read(dir.path().join(name)).unwrap();
        let sum: String = Sha256::digest(&octets).iter().map(|o| format!("{o:02x}")).collect();
        assert_eq!(
            fs::read_to_string(dir.path().join(format!("{name}.sha256"))).unwrap(),
            format!("{sum}  {name}\n")
        );
        let manifest = manifest(dir.path(), name);
        let files = manifest["files"].as_array().unwrap();
        let last = files.last().unwrap();
        assert_eq!((&last["sha256"], &last["size"]), (&sum.into(), &octets.len().into()));
        assert_eq!((&files[0]["role"], &files[0]["name"]), (&"ring".into(), &"v2_good.bin".into()));
        assert_eq!(manifest["ring"]["generation"], 1_722_417_154u64);
        assert_eq!((&manifest["ring"]["frames"], &manifest["ring"]["pid"]), (&30.into(), &4242.into()));
    }
    let plain = fs::read(dir.path().join("a.json")).unwrap();
    let mut unzipped = Vec::new();
    let gzip = fs::read(dir.path().join("a.json.gz")).unwrap();
    flate2::read::GzDecoder::new(&gzip[..]).read_to_end(&mut unzipped).unwrap();
    assert!(unzipped == plain);
    let zst = fs::read(dir.path().join("a.json.zst")).unwrap();
    assert!(zstd::decode_all(&zst[..]).unwrap() == plain);
    assert_eq!(events(&plain).iter().filter(|e| e["ph"] == "X").count(), 30 * 26);
    assert_eq!(fs::read_to_string(dir.path().join("a.csv")).unwrap().lines().count(), 814);
}

#[test]
fn standard_output_takes_the_trace_and_only_the_last_frames_when_asked() {
    let Some(ring) = ring("v2_good.bin") else { return };
    let dir = tempfile::tempdir().unwrap();
    let (code, out, said) = convert(dir.path(), &[&ring, "--to", "chrome", "--last", "2"]);
    assert_eq!(code, 0, "{said}");
    let frames: Vec<u64> = events(out.as_bytes())
        .iter()
        .filter(|e| e["ph"] == "X" && e["name"] == "frame")
        .map(|e| e["args"]["frame"].as_u64().unwrap())
        .collect();
    assert_eq!(frames, [29, 30]);
}

#[test]
fn legacy_rings_are_converted_through_their_map() {
    let Some(ring) = ring("v1_good_a.bin") else { return };
    let dir = tempfile::tempdir().unwrap();
    let (code, out, said) = convert(dir.path(), &[&ring, "--to", "chrome", "--map", "v1-assumed-a"]);
    assert_eq!(code, 0, "{said}");
    assert!(events(out.as_bytes()).iter().any(|e| e["name"] == "stage 15" && e["ph"] == "X"));
    let (code, _, said) = convert(dir.path(), &[&ring, "--to", "chrome"]);
    assert_eq!(code, 2);
    assert!(said.contains("--map"), "{said}");
}

/// A capture of a planted case, its summary, and the offset that puts the first finding into the ring's time.
fn beside(folder: &Path, case: &str) -> (PathBuf, String) {
    let capture = planted(folder, case);
    let (_, json, _) = outcome(wireproof(folder).args(["analyze", "--format", "json"]).arg(&capture));
    fs::write(folder.join("show.json"), &json).unwrap();
    let summary: Value = serde_json::from_str(&json).unwrap();
    let offset_ns = WALL_NS - summary["findings"][0]["first_ns"].as_i64().unwrap();
    (capture, format!("--wire-offset={}ms", offset_ns / 1_000_000))
}

#[test]
fn arrivals_and_findings_stand_on_the_ring_s_clock() {
    let Some(ring) = ring("v2_good.bin") else { return };
    let dir = tempfile::tempdir().unwrap();
    let (capture, offset) = beside(dir.path(), "sacn-drop-one");
    let capture = capture.display().to_string();
    let arguments =
        [&ring, "--to", "chrome", "-o", "a.json", "--wire", &capture, "--findings", "show.json", &offset];
    let (code, _, said) = convert(dir.path(), &arguments);
    assert_eq!(code, 0, "{said}");
    let events = events(&fs::read(dir.path().join("a.json")).unwrap());
    let arrivals = events.iter().filter(|e| e["ph"] == "i" && e["name"] == "sacn/data");
    assert!(arrivals.clone().count() > 10 && arrivals.clone().all(|e| e["args"]["sequence"].is_u64()));
    assert!(rows(&events).iter().any(|row| row.starts_with("sacn 129 from ")), "{:?}", rows(&events));
    let finding = events.iter().find(|e| e["name"] == "SEQ-LOST" && e["ph"] == "i").unwrap();
    assert!(finding["args"]["note"].as_str().unwrap().contains("violation x1"), "{finding}");
    let manifest = manifest(dir.path(), "a.json");
    // Half of the reading's spread of 120 ns, and the 100 ns that the offset moves between the sample's readings.
    assert_eq!(manifest["clock"]["uncertainty_ns"], 60 + 100);
    let roles: Vec<_> = manifest["files"].as_array().unwrap().iter().map(|f| f["role"].clone()).collect();
    assert_eq!(roles, ["ring", "wire", "findings", "output"]);
}

#[test]
fn a_capture_of_another_time_is_refused_and_nothing_is_written() {
    let Some(ring) = ring("v2_good.bin") else { return };
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), "sacn-drop-one").display().to_string();
    let (code, _, said) =
        convert(dir.path(), &[&ring, "--to", "perfetto", "-o", "a.pftrace", "--wire", &capture]);
    assert_eq!(code, 2);
    assert!(said.contains("--wire-offset"), "{said}");
    assert!(!dir.path().join("a.pftrace").exists());
}

#[test]
fn the_scheduler_names_the_task_in_a_gap() {
    let Some(ring) = ring("v2_overlap_parallel.bin") else { return };
    let dir = tempfile::tempdir().unwrap();
    let line = |us: u64, prev: &str, state: &str, next: &str| {
        format!("p 1 [000] 0.{us:06}: sched:sched_switch: {prev} [120] {state} ==> {next} [120]\n")
    };
    // Frame 2 of the sample has a hole from 122 to 124 ms.
    let text = [
        line(100_000, "swapper/0:0", "R", "engine:4242"),
        line(122_500, "engine:4242", "R", "backup:77"),
        line(123_900, "backup:77", "S", "engine:4242"),
        line(300_000, "engine:4242", "S", "swapper/0:0"),
        "p 1 [000] nonsense: sched:sched_switch: x\n".to_owned(),
    ];
    fs::write(dir.path().join("sched.txt"), text.concat()).unwrap();
    let arguments = [&ring, "--to", "chrome", "-o", "a.json", "--sched", "sched.txt", "--gap-min", "1ms"];
    let (code, _, said) = convert(dir.path(), &arguments);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("effects -> wire_prepare: preempted by backup:77 1400.000 us"), "{said}");
    let gaps = &manifest(dir.path(), "a.json")["gaps"];
    assert_eq!(
        (&gaps["engine_seen"], &gaps["bad_lines"], &gaps["switches"]),
        (&true.into(), &1.into(), &4.into())
    );
    let events = events(&fs::read(dir.path().join("a.json")).unwrap());
    assert!(rows(&events).contains(&"CPU 0") && rows(&events).contains(&"gaps"));
    fs::write(dir.path().join("late.txt"), line(999_000, "a:1", "R", "b:2").replace(" 0.", " 99.")).unwrap();
    let (code, _, said) = convert(dir.path(), &[&ring, "--to", "chrome", "--sched", "late.txt"]);
    assert_eq!(code, 2);
    assert!(said.contains("trace_clock mono"), "{said}");
}

#[test]
fn refusals_have_their_codes_and_leave_nothing_behind() {
    let Some(bad) = ring("v2_body_crc.bin") else { return };
    let good = ring("v2_good.bin").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let cases: [(&[&str], i32, &str); 5] = [
        (&[&bad, "--to", "perfetto", "-o", "x"], 7, "BodyCrc"),
        (&["missing.bin", "--to", "perfetto", "-o", "x"], 6, "cannot be read"),
        (&[&good, "--to", "csv", "-o", "x", "--sched", "s"], 2, "only"),
        (&[&good, "--to", "chrome", "-o", "x", "--findings", &good], 6, "cannot be read"),
        (&[&good, "--to", "svg", "-o", "x"], 2, "invalid value"),
    ];
    for (arguments, code, word) in cases {
        let (got, out, said) = convert(dir.path(), arguments);
        assert_eq!((got, out.as_str()), (code, ""), "{arguments:?}: {said}");
        assert!(said.contains(word), "{arguments:?}: {said}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}
