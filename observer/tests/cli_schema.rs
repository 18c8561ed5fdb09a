//! The record of every planted case and every shared capture against the shipped JSON Schema.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use wireproof::analysis;
use wireproof_fixture::{cases, write_pcap};
use wireproof_protocols::verify::Options;
use wireproof_protocols::verify::rig::Rig;
use wireproof_reports::{Format, Mask, Observer, SUMMARY_SCHEMA, Style, Summary, render};

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

fn validator() -> jsonschema::Validator {
    let mut schema: Value = serde_json::from_str(SUMMARY_SCHEMA).unwrap();
    close(&mut schema);
    jsonschema::validator_for(&schema).unwrap()
}

fn text(summary: &Summary, format: Format) -> String {
    let mut out = Vec::new();
    render(summary, format, Style::default(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Where a time line and its counter disagree.
fn time_lines(name: &str, s: &Summary) -> Vec<String> {
    let sum = |column: &[u64]| column.iter().sum::<u64>();
    let mut problems = Vec::new();
    for o in &s.outputs {
        let (f, t) = (&o.frames, &o.timeline);
        let (counted, lines) =
            ((f.seen, f.torn, f.unterminated), (sum(&t.frames), sum(&t.torn), sum(&t.unterminated)));
        if counted != lines {
            problems.push(format!("{name} {}: frames {counted:?}, in time {lines:?}", o.name));
        }
    }
    for (at, stream) in s.streams.iter().enumerate() {
        // Even losses that look like a shared counter are known at the end alone.
        let even = s.findings.iter().any(|f| f.stream == Some(at) && f.text.contains("lost evenly"));
        let (lost, in_time) = (stream.sequence.lost, sum(&stream.timeline.lost));
        if lost != in_time && !even {
            problems.push(format!("{name} stream {at}: lost {lost}, in time {in_time}"));
        }
    }
    problems
}

/// Problems of the record of one capture, plain and masked; `None` when it is no capture.
fn problems(
    name: &str,
    path: &Path,
    rig: Option<&Rig>,
    validator: &jsonschema::Validator,
) -> Option<Vec<String>> {
    let options = Options { rig: rig.cloned(), ..Options::default() };
    let (report, account) = analysis::analyze(&[path], options).ok()?;
    let mut summary = Summary::new(&account, analysis::source(report), Observer::default());
    let mut problems = time_lines(name, &summary);
    for way in ["plain", "masked"] {
        let json = text(&summary, Format::Json);
        let document: Value = serde_json::from_str(&json).unwrap();
        problems.extend(validator.iter_errors(&document).map(|e| format!("{name} {way}: {e}")));
        if serde_json::from_str::<Summary>(&json).unwrap() != summary {
            problems.push(format!("{name} {way}: reads back as another record"));
        }
        let last = text(&summary, Format::Table).lines().last().unwrap_or_default().to_owned();
        if !last.starts_with(&format!("VERDICT {}: ", summary.verdict().word())) {
            problems.push(format!("{name} {way}: the table ends with {last:?}"));
        }
        Mask::new().apply(&mut summary);
    }
    Some(problems)
}

#[test]
fn the_record_of_every_planted_case_is_valid() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("case.pcap");
    let validator = validator();
    let mut list = Vec::new();
    for case in cases() {
        let planted = (case.build)(1).unwrap();
        write_pcap(&planted, &mut File::create(&path).unwrap()).unwrap();
        list.extend(problems(case.name, &path, planted.rig.as_ref(), &validator).expect("a capture"));
    }
    assert!(list.is_empty(), "seed 1:\n{}", list.join("\n"));
}

fn captures(folder: &Path, list: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        match path.extension().and_then(|e| e.to_str()) {
            Some("pcap" | "pcapng") => list.push(path),
            None if path.is_dir() => captures(&path, list),
            _ => {}
        }
    }
}

#[test]
fn the_record_of_every_shared_capture_is_valid() {
    let shared = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared"));
    if !shared.is_dir() {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("SKIPPED the_record_of_every_shared_capture_is_valid: ../shared is absent\n"),
        );
        return;
    }
    let mut list = Vec::new();
    captures(&shared.join("golden"), &mut list);
    captures(&shared.join("captures"), &mut list);
    list.sort();
    let validator = validator();
    let results: Vec<Vec<String>> = list
        .iter()
        .filter_map(|path| problems(&path.display().to_string(), path, None, &validator))
        .collect();
    assert!(results.len() > 100, "{} of {} could be read", results.len(), list.len());
    let found: Vec<String> = results.into_iter().flatten().collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}
