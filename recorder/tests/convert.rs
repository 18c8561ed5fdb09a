//! Conversion of whole rings: golden images and hand-made records, through every format; the Perfetto traces are parsed
//! with the real schema where Python has it.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests")]

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use wireproof_recorder::convert::ring::{Context, Odd, tracks};
use wireproof_recorder::convert::timeline::{ClockPair, Timeline, Written};
use wireproof_recorder::convert::{chrome, csv, perfetto};
use wireproof_recorder::header::{Device, Protocol, Stage, Tables};
use wireproof_recorder::layout::{Kind, NO_DEVICE, NO_FRAME, NO_PARENT, Record};
use wireproof_recorder::places::Places;
use wireproof_recorder::{Policy, Ring, parse};

/// The images that parse, with the spans they hold (`wireproof_recorder::parse` is tested against them elsewhere).
const SAMPLES: [&str; 6] = [
    "v2_good.bin",
    "v2_wrapped.bin",
    "v2_gap.bin",
    "v2_overlap_parallel.bin",
    "v2_batch_overflow.bin",
    "v2_full_size.bin.gz",
];

fn golden() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/golden/rings");
    if folder.is_dir() {
        return Some(folder);
    }
    let _ = std::io::Write::write_fmt(
        &mut std::io::stderr(),
        format_args!("SKIPPED: {} is not there\n", folder.display()),
    );
    None
}

fn image(path: &Path) -> Vec<u8> {
    let octets = std::fs::read(path).unwrap();
    if path.extension().is_some_and(|e| e == "gz") {
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&octets[..]).read_to_end(&mut plain).unwrap();
        return plain;
    }
    octets
}

fn records(ring: &Ring) -> impl Iterator<Item = &Record> {
    ring.frames.iter().flat_map(|frame| &frame.records).chain(&ring.loose)
}

fn timeline(ring: &Ring) -> Timeline {
    let context = Context { tables: Some(&ring.tables), pid: 4242, ..Context::default() };
    let (timeline, odd) = tracks(records(ring), &context);
    assert_eq!(odd, Odd::default());
    timeline
}

fn chrome_events(timeline: &Timeline) -> (Vec<Value>, Value, Written) {
    let mut out = Vec::new();
    let written = chrome::write(timeline, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let whole: Value = serde_json::from_str(&text).unwrap();
    let events = whole["traceEvents"].as_array().unwrap().clone();
    // One event a line: every line but the first and the last is an event, whatever cut the file.
    let lines: Vec<&str> = text.lines().collect();
    let single = lines[1..lines.len() - 1]
        .iter()
        .map(|line| serde_json::from_str(line.trim_end_matches(',')).unwrap());
    assert_eq!(single.collect::<Vec<Value>>(), events);
    (events, whole["otherData"].clone(), written)
}

fn nanos(value: &Value) -> u64 {
    let text = value.to_string();
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    whole.parse::<u64>().unwrap() * 1000 + format!("{part:0<3}").parse::<u64>().unwrap()
}

fn spans_of(ring: &Ring) -> Vec<(u64, u64)> {
    let drawn = |r: &&Record| matches!(r.kind(), Some(Kind::Span | Kind::FrameComplete | Kind::DeadlineMiss));
    let mut spans: Vec<_> = records(ring).filter(drawn).map(|r| (r.start_ns(), r.end_ns())).collect();
    spans.sort_unstable();
    spans
}

#[test]
fn every_span_of_the_golden_rings_is_in_the_chrome_trace_to_the_nanosecond() {
    let Some(folder) = golden() else { return };
    for sample in SAMPLES {
        let ring = parse(&image(&folder.join(sample)), Policy::Conservative).unwrap();
        let (events, other, written) = chrome_events(&timeline(&ring));
        let base: u64 = other["base_ns"].as_str().unwrap().parse().unwrap();
        let complete = events.iter().filter(|e| e["ph"] == "X");
        let mut found: Vec<_> =
            complete.map(|e| (base + nanos(&e["ts"]), base + nanos(&e["ts"]) + nanos(&e["dur"]))).collect();
        found.sort_unstable();
        assert_eq!(found, spans_of(&ring), "{sample}");
        assert_eq!((written.spans, written.beyond_lanes), (found.len() as u64, 0), "{sample}");
        assert_nested(&events, sample);
    }
}

/// Within a row spans nest or stand apart.
fn assert_nested(events: &[Value], sample: &str) {
    let mut rows: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    for event in events.iter().filter(|e| e["ph"] == "X") {
        let start = nanos(&event["ts"]);
        rows.entry(event["tid"].as_u64().unwrap()).or_default().push((start, start + nanos(&event["dur"])));
    }
    for (tid, mut spans) in rows {
        spans.sort_by_key(|(start, end)| (*start, !*end));
        let mut open: Vec<u64> = Vec::new();
        for (start, end) in spans {
            while open.pop_if(|e| *e <= start).is_some() {}
            assert!(open.last().is_none_or(|e| *e >= end), "{sample}: row {tid} crosses at {start}");
            open.push(end);
        }
    }
}

#[test]
fn the_table_has_one_row_a_record() {
    let Some(folder) = golden() else { return };
    for sample in SAMPLES {
        let ring = parse(&image(&folder.join(sample)), Policy::Conservative).unwrap();
        let mut out = Vec::new();
        let rows = csv::write(records(&ring), &ring.tables, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(rows, ring.framed_records() + ring.loose.len() as u64, "{sample}");
        assert_eq!(text.lines().count() as u64, rows + 1, "{sample}");
        let columns = |line: &str| line.matches(',').count();
        assert!(text.lines().all(|line| columns(line) == 15), "{sample}");
    }
}

fn record(kind: Kind, (start, end): (u64, u64), frame: u32, stage: u16, device: u16, aux: u64) -> Record {
    let place = u64::from(frame) | u64::from(stage) << 32 | u64::from(device) << 48;
    Record { ordinal: 0, words: [start, end, place, (kind as u64) << 8 | u64::from(NO_PARENT) << 48, aux] }
}

fn tables() -> Tables {
    Tables {
        stages: vec![
            Stage { id: 15, category: 0, name: "wire_send".into() },
            Stage { id: 40, category: 2, name: "queue".into() },
        ],
        devices: vec![Device { id: 1, protocol: 2, pixels: 10, name: "pole \"b\"".into() }],
        protocols: vec![Protocol { id: 2, name: "sacn".into() }],
    }
}

/// One of everything, two crossing spans among it.
fn zoo() -> Vec<Record> {
    vec![
        record(Kind::Cause, (1_000_000, 1_000_000), 7, 18, NO_DEVICE, 3),
        record(Kind::Span, (1_000_000, 5_000_000), 7, 15, 1, 12),
        record(Kind::Span, (3_000_000, 7_000_000), 7, 15, 1, 6),
        record(Kind::Span, (3_000_000, 3_000_000), 7, 99, NO_DEVICE, 0),
        record(Kind::FrameComplete, (1_000_000, 7_000_000), 7, 0, NO_DEVICE, 5 << 32),
        record(Kind::DeadlineMiss, (6_000_000, 7_000_001), 7, 19, NO_DEVICE, 1_000_001),
        record(Kind::Drops, (8_000_000, 8_000_000), NO_FRAME, 0, NO_DEVICE, 4),
        record(Kind::Anchor, (9_000_000, 9_000_000), NO_FRAME, 17, NO_DEVICE, 1_790_000_000_000_000_000),
        record(Kind::Counter, (9_000_000, 9_000_000), NO_FRAME, 40, NO_DEVICE, 17),
        record(Kind::Counter, (9_500_000, 9_500_000), NO_FRAME, 40, NO_DEVICE, 18),
        record(Kind::Mark, (9_500_001, 9_500_001), NO_FRAME, 15, NO_DEVICE, 1),
        record(Kind::Skipped, (9_600_000, 9_600_000), NO_FRAME, 0, NO_DEVICE, 8 << 32 | 2),
        record(Kind::State, (9_700_000, 9_700_000), NO_FRAME, 0, NO_DEVICE, 2),
        record(Kind::Span, (9_800_000, 9_900_000), NO_FRAME, 15, 1, 0),
        record(Kind::Span, (9_850_000, 9_900_000), NO_FRAME, 15, NO_DEVICE, 0),
    ]
}

fn zoo_timeline() -> Timeline {
    let tables = tables();
    let places = Places::read("3\tsrc/cue.rs:40 \u{1F3AD}\n");
    let clock = ClockPair { monotonic_ns: 500, wall_ns: 1_790_000_000_000_000_000, boot_offset_ns: 77 };
    let context = Context { tables: Some(&tables), places, pid: 4242, clock };
    let (mut timeline, odd) = tracks(&zoo(), &context);
    assert_eq!(odd, Odd::default());
    timeline.about.push(("tool".into(), "wireproof \"x\"".into()));
    timeline
}

#[test]
fn every_kind_of_record_has_its_row_name_and_value() {
    let (events, other, written) = chrome_events(&zoo_timeline());
    let expected = Written { spans: 7, instants: 6, samples: 2, lanes: 10, beyond_lanes: 0 };
    assert_eq!(written, expected);
    assert_eq!((&other["base_ns"], &other["tool"]), (&"1000000".into(), &"wireproof \"x\"".into()));
    let named =
        |name: &str| events.iter().filter(|e| e["name"] == name && e["ph"] != "M").collect::<Vec<_>>();
    let rows: BTreeMap<u64, &str> = events
        .iter()
        .filter(|e| e["name"] == "thread_name")
        .map(|e| (e["tid"].as_u64().unwrap(), e["args"]["name"].as_str().unwrap()))
        .collect();
    let row = |event: &Value| rows[&event["tid"].as_u64().unwrap()];
    let send = named("wire_send");
    let placed: Vec<_> = send.iter().map(|e| row(e)).collect();
    let mut sorted = placed.clone();
    sorted.sort_unstable();
    let own = "pole \"b\"";
    let expected = ["outside frames", own, "pole \"b\" (lane 2)", "pole \"b\" outside frames", "recorder"];
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(sorted, expected);
    assert_eq!(named("stage 99")[0]["args"], serde_json::json!({"frame": 7}));
    assert_eq!(named("refresh").len() + named("other").len(), 1);
    assert_eq!(named("other")[0]["args"]["note"], "src/cue.rs:40 \u{1F3AD}");
    assert_eq!(named("deadline miss")[0]["args"], serde_json::json!({"frame": 7, "overrun_ns": 1_000_001}));
    assert_eq!(named("skipped")[0]["args"], serde_json::json!({"frame": 8, "count": 2}));
    assert_eq!(named("frame")[0]["args"], serde_json::json!({"frame": 7, "records": 5}));
    assert_eq!(
        named("queue").iter().map(|e| e["args"]["value"].as_u64().unwrap()).collect::<Vec<_>>(),
        [17, 18]
    );
    assert_eq!(named("clock anchor")[0]["args"]["wall_ns"], 1_790_000_000_000_000_000u64);
}

#[test]
fn impossible_records_are_counted_and_never_drawn_wrong() {
    let records = [
        record(Kind::Span, (10, 5), 1, 15, 1, 0),
        record(Kind::Span, (u64::MAX, u64::MAX), 1, 15, 1, 0),
        Record { ordinal: 0, words: [1, 2, 0, 99 << 8, 0] },
    ];
    let (timeline, odd) = tracks(&records, &Context::default());
    assert_eq!(odd, Odd { inverted: 1, out_of_range: 1, unknown_kind: 1, crowded: 0 });
    let (events, _, written) = chrome_events(&timeline);
    assert_eq!(written.spans, 1);
    assert_eq!(events.iter().find(|e| e["ph"] == "X").unwrap()["dur"].to_string(), "0.0");
}

#[test]
fn thousands_of_devices_share_rows_and_are_counted() {
    let records: Vec<Record> =
        (0..5_000u16).map(|d| record(Kind::Span, (u64::from(d), u64::from(d)), 1, d, d, 0)).collect();
    let (timeline, odd) = tracks(&records, &Context::default());
    assert_eq!(odd.crowded, 5_000 - 64);
    assert_eq!(chrome_events(&timeline).2.spans, 5_000);
}

#[test]
fn the_same_records_make_the_same_octets() {
    let write = || {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        perfetto::write(&zoo_timeline(), &mut a).unwrap();
        chrome::write(&zoo_timeline(), &mut b).unwrap();
        (a, b)
    };
    assert_eq!(write(), write());
}

/// Runs the checker over traces; `None` where Python does not have the schema.
fn checked(files: &[(String, Vec<u8>)]) -> Option<Value> {
    let folder = tempfile::tempdir().unwrap();
    let paths = files.iter().map(|(name, octets)| {
        let path = folder.path().join(name);
        std::fs::write(&path, octets).unwrap();
        path
    });
    let python = std::env::var("WIREPROOF_PYTHON").unwrap_or_else(|_| "python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/check_perfetto.py");
    let Ok(output) = Command::new(&python).arg(script).args(paths).output() else {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("SKIPPED: {python} does not run\n"),
        );
        return None;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(77) {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!(
                "SKIPPED: {python} has no perfetto schema ({}): pip install perfetto protobuf\n",
                said.trim()
            ),
        );
        return None;
    }
    assert!(output.status.success(), "{said}");
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    let by_name = all.as_object().unwrap().iter();
    Some(by_name.map(|(path, v)| (path.rsplit('/').next().unwrap().to_owned(), v.clone())).collect())
}

fn trace(timeline: &Timeline) -> (Vec<u8>, Written) {
    let mut out = Vec::new();
    let written = perfetto::write(timeline, &mut out).unwrap();
    (out, written)
}

#[test]
fn the_real_schema_knows_every_field_and_begin_and_end_balance() {
    let (octets, written) = trace(&zoo_timeline());
    let mut files = vec![("zoo".to_owned(), octets)];
    let mut expected = vec![("zoo", written, 4_000_000 * 2 + 6_000_000 + 1_000_001 + 100_000 + 50_000)];
    let folder = golden();
    for sample in folder.iter().flat_map(|_| SAMPLES) {
        let ring = parse(&image(&folder.as_ref().unwrap().join(sample)), Policy::Conservative).unwrap();
        let (octets, written) = trace(&timeline(&ring));
        files.push((sample.to_owned(), octets));
        expected.push((sample, written, spans_of(&ring).iter().map(|(a, b)| b - a).sum()));
    }
    let Some(found) = checked(&files) else { return };
    for (name, written, duration_ns) in expected {
        let of = &found[name];
        let read = (&of["unknown"], &of["open"], &of["begin"], &of["end"], &of["instant"], &of["counter"]);
        let put = (0.into(), 0.into(), written.spans, written.spans, written.instants, written.samples);
        let put = (&put.0, &put.1, &put.2.into(), &put.3.into(), &put.4.into(), &put.5.into());
        assert_eq!(read, put as (&Value, &Value, &Value, &Value, &Value, &Value), "{name}");
        assert_eq!(of["duration_ns"], duration_ns, "{name}");
    }
    let clocks = serde_json::json!([[3, 500], [6, 577], [1, 1_790_000_000_000_000_000u64]]);
    assert_eq!(found["zoo"]["clocks"], clocks);
}
