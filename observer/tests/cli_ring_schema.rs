//! What `wireproof ring` says as JSON against the shipped schemas, on every sample ring and on rings the writer made.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "helpers of tests"
)]

mod cli_support;

use cli_support::{outcome, wireproof};
use serde_json::Value;
use std::fs;
use std::path::Path;
use wireproof_protocols::registry;
use wireproof_recorder::analysis::findings::code;
use wireproof_recorder::header::{Device, Identity, Stage, Tables};
use wireproof_recorder::layout::file_bytes;
use wireproof_recorder::snapshot::{self, Times};
use wireproof_recorder::words::HeapWords;
use wireproof_recorder::{Event, Kind, Writer};
use wireproof_reports::{RING_CAUSES_SCHEMA, RING_FRAMES_SCHEMA, RING_SCHEMA, RING_SUMMARY_SCHEMA};

const MS: u64 = 1_000_000;
const VERBS: [(&str, &str); 4] = [
    ("verify", RING_SCHEMA),
    ("summary", RING_SUMMARY_SCHEMA),
    ("frames", RING_FRAMES_SCHEMA),
    ("causes", RING_CAUSES_SCHEMA),
];

/// Forbids keys the schema does not name.
fn close(schema: &mut Value) {
    if let Some(object) = schema.as_object_mut() {
        if object.contains_key("properties") {
            object.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
        object.values_mut().for_each(close);
    } else if let Some(items) = schema.as_array_mut() {
        items.iter_mut().for_each(close);
    }
}

fn validator(text: &str) -> jsonschema::Validator {
    let mut schema: Value = serde_json::from_str(text).unwrap();
    close(&mut schema);
    jsonschema::validator_for(&schema).unwrap()
}

/// The JSON of each verb, checked.
fn checked(file: &Path, more: &[&str]) -> Vec<Option<Value>> {
    let folder = tempfile::tempdir().unwrap();
    let said = |(verb, schema): (&str, &str)| {
        let call = ["ring", verb, file.to_str().unwrap(), "--format", "json"];
        let (code, out, err) = outcome(wireproof(folder.path()).args(call).args(more));
        if code == 7 && verb != "verify" {
            assert_eq!((out.as_str(), err.lines().count()), ("", 1), "{verb} {}", file.display());
            return None;
        }
        assert!(code == 0 || code == 7, "{verb} {}: {err}", file.display());
        let document: Value = serde_json::from_str(&out).unwrap();
        let problems: Vec<_> = validator(schema).iter_errors(&document).map(|e| e.to_string()).collect();
        assert!(problems.is_empty(), "{verb} {}: {problems:?}", file.display());
        Some(document)
    };
    VERBS.map(said).into_iter().collect()
}

#[test]
fn every_sample_ring_gives_valid_records() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/golden/rings");
    let Ok(text) = fs::read_to_string(folder.join("expected.json")) else {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("SKIPPED every_sample_ring_gives_valid_records: ../shared is absent\n"),
        );
        return;
    };
    let samples: serde_json::Map<String, Value> = serde_json::from_str(&text).unwrap();
    let mut whole = 0;
    for case in samples.values() {
        let map = case["map"].as_str().map_or_else(Vec::new, |map| vec!["--map", map]);
        let said = checked(&folder.join(case["file"].as_str().unwrap()), &map);
        whole += usize::from(said.iter().all(Option::is_some));
    }
    assert!(whole >= 15 && whole < samples.len(), "{whole} of {} are no refusals", samples.len());
}

/// A ring with slow frames, a hole, an impatient place, a surge of other and requests of every outcome; its places.
fn troubled(folder: &Path) -> std::path::PathBuf {
    let capacity = 4096;
    let words = HeapWords::new((file_bytes(capacity) / 8) as usize);
    let stage = |(id, name): (u16, &str)| Stage { id, category: 0, name: name.to_owned() };
    let stages = [(2, "source"), (5, "device"), (13, "wire_prepare"), (15, "wire_send"), (20, "recording")];
    let pole = |(id, name): (u16, &str)| Device { id, name: name.to_owned(), ..Device::default() };
    let devices = [(0, "pole-a"), (1, "pole-b")].map(pole).to_vec();
    let tables = Tables { stages: stages.map(stage).to_vec(), devices, ..Tables::default() };
    let identity = Identity { period_ns: 16_666_667, tables, ..Identity::default() };
    let mut writer = Writer::start(&words, &identity, capacity, 0x66AA_0002).unwrap();
    let cause =
        |class, source, at| Event { kind: Kind::Cause, flags: class, aux: source, ..Event::span(18, at, at) };
    writer.event(&Event { kind: Kind::State, aux: 3, ..Event::span(20, 1, 1) });
    let late = 240 * 17 * MS;
    for id in (0_u32..250).filter(|id| *id != 200) {
        let start = if id < 240 { u64::from(id) * 17 * MS } else { late + u64::from(id - 239) * 900 * MS };
        let mut batch = writer.frame(id);
        let asked = if id < 120 { cause(3, 4, start) } else { cause(4, 0, start) };
        for event in [
            asked,
            Event::span(5, start, start + 4 * MS).device(0, 1),
            Event::span(13, start, start + MS).device(0, 1),
            Event::span(15, start + MS, start + 2 * MS).device(0, 1),
        ] {
            batch.event(&event);
        }
        if id == 230 {
            batch.event(&Event {
                kind: Kind::DeadlineMiss,
                aux: 5 * MS,
                ..Event::span(19, start, start + 25 * MS)
            });
        }
        let took = if id % 50 == 30 { 25 } else { 5 };
        batch.complete(start, start + took * MS);
        if id == 244 {
            writer.event(&cause(3, 5, start + 10 * MS));
        }
    }
    writer.event(&cause(3, 4, late + 10_000 * MS));
    writer.event(&Event::span(16, late + 19_000 * MS, late + 19_000 * MS));
    let path = folder.join("ring.bin");
    fs::write(&path, snapshot::take(&words).unwrap().seal(&Times::default(), 9)).unwrap();
    fs::write(folder.join("ring.bin.places"), "1\tpacing timer\n4\tsrc/cue, \"a\".rs:40\n").unwrap();
    path
}

#[test]
fn a_troubled_ring_gives_valid_records_with_findings_that_explain_knows() {
    let folder = tempfile::tempdir().unwrap();
    let path = troubled(folder.path());
    let said = checked(&path, &[]);
    let codes = |document: &Option<Value>| -> Vec<String> {
        let findings = document.as_ref().unwrap()["findings"].as_array().unwrap();
        findings.iter().map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(codes(&said[1]), [code::DEADLINE, code::SLOW, code::COVERAGE, code::COVERAGE, code::LOST]);
    assert_eq!(codes(&said[3]), [code::NEVER, code::UNRELATED, code::ALWAYS, code::SURGE, code::UNNAMED]);
    let causes = said[3].as_ref().unwrap();
    assert_eq!((&causes["recording"], &causes["places_known"]), (&3.into(), &2.into()));
    assert_eq!((&causes["by_refresh"], &causes["by_other"]), (&120.into(), &129.into()));
    assert_eq!(causes["requests"]["told"].as_array().unwrap().len(), 2);
    let summary = said[1].as_ref().unwrap();
    assert_eq!((&summary["slow"]["frames"], &summary["deadlines"]["missed"]), (&5.into(), &1.into()));
}

#[test]
fn every_code_of_the_recorder_is_in_the_catalogue_with_its_severity() {
    for code in code::ALL {
        let rule = registry::rule(code).unwrap_or_else(|| panic!("{code} is not explained"));
        assert_eq!((rule.code, rule.clause), (code, "docs/ring.md"));
    }
    let ours = registry::rules().filter(|rule| rule.code.starts_with("RING-")).count();
    assert_eq!(ours, code::ALL.len(), "a rule without a finding");
}

#[test]
fn causes_come_as_a_table_and_as_csv() {
    let folder = tempfile::tempdir().unwrap();
    let path = troubled(folder.path());
    let ring = |arguments: &[&str]| {
        outcome(wireproof(folder.path()).args(["ring", "causes", path.to_str().unwrap()]).args(arguments))
    };
    let (code, table, err) = ring(&[]);
    assert_eq!((code, err.as_str()), (0, ""));
    for part in [
        "249 frames of recording 3\n0 by events, 120 by refresh, 129 by other (0 timer, 129 other, 0 without a record)\n",
        "     120  src/cue, \"a\".rs:40\n",
        "2 requests: 0 served (0 later than 33.333 ms), 0 beside another, 1 by something unrelated, 1 never, 0 not known\n",
        "refresh source 5: unrelated frame 245 after 890.000 ms\n",
        "violation RING-FRAME-NEVER            1  requests got no frame; the first by src/cue, ",
    ] {
        assert!(table.contains(part), "{part:?} in {table}");
    }
    let (_, csv, _) = ring(&["--format", "csv"]);
    assert_eq!(
        csv,
        "kind,name,count\nframes,events,0\nframes,refresh,120\nframes,other,129\nrefresh,\"src/cue, \"\"a\"\".rs:40\",120\n"
    );
    let (_, patient, _) = ring(&["--late", "60s", "--format", "json"]);
    let patient: Value = serde_json::from_str(&patient).unwrap();
    assert_eq!((&patient["requests"]["beside"], &patient["requests"]["unknown"]), (&1.into(), &1.into()));
}

#[test]
fn ranges_are_timed_and_wrong_ones_refused_with_the_stages() {
    let folder = tempfile::tempdir().unwrap();
    let path = troubled(folder.path());
    let ring = |range: &str| {
        let call = ["ring", "summary", path.to_str().unwrap(), "--format", "json", "--range", range];
        outcome(wireproof(folder.path()).args(call))
    };
    let (code, out, err) = ring("wire_prepare..wire_send");
    assert_eq!((code, err.as_str()), (0, ""));
    let summary: Value = serde_json::from_str(&out).unwrap();
    let row = &summary["ranges"][0];
    assert_eq!(
        (&row["frames"], &row["without"], &row["ns"]["p50"]),
        (&249.into(), &0.into(), &(2 * MS).into())
    );
    for (device, frames) in [("pole-a", 249), ("1", 0)] {
        let call = [
            "ring",
            "summary",
            path.to_str().unwrap(),
            "--format",
            "json",
            "--range",
            "wire_send..wire_send",
        ];
        let (_, out, _) = outcome(wireproof(folder.path()).args(call).args(["--device", device]));
        let summary: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(summary["ranges"][0]["frames"], frames, "{device}");
    }
    let call =
        ["ring", "summary", path.to_str().unwrap(), "--range", "source..wire_send", "--device", "pole-x"];
    let (code, out, err) = outcome(wireproof(folder.path()).args(call));
    assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{err}");
    assert!(err.contains("name one of: pole-a, pole-b"), "{err}");
    let (code, out, err) = ring("wire_send..wire_prepare");
    assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{err}");
    assert!(err.contains("write FROM..TO with stages in this order: source, device, wire_prepare"), "{err}");
}

#[test]
fn a_side_file_that_was_named_has_to_be_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = troubled(folder.path());
    let call = ["ring", "causes", path.to_str().unwrap(), "--places", "none.places"];
    let (code, out, err) = outcome(wireproof(folder.path()).args(call));
    assert_eq!((code, out.as_str(), err.lines().count()), (6, "", 1), "{err}");
}
