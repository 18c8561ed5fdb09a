//! Records that somebody made up: every number at its limits and every text odd, one after another. Whatever is read is
//! written in every format, or refused; nothing panics.

use super::{STYLE, baseline, everything, figure, text};
use serde_json::{Value, json};
use wireproof_reports::Format;
use wireproof_reports::record::Record;

const FORMATS: [Format; 7] =
    [Format::Table, Format::Json, Format::Jsonl, Format::Csv, Format::Markdown, Format::Junit, Format::Html];

/// What stands where something else stood.
fn odd() -> Vec<Value> {
    vec![
        json!(u64::MAX),
        json!(i64::MIN),
        json!(0),
        json!(1e308),
        json!(-0.5),
        json!("\u{1b}[31m|<b>\r\n"),
        json!(null),
        json!([]),
    ]
}

/// Every place of a document.
fn places(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    match value {
        Value::Object(keys) => keys.iter().for_each(|(key, value)| {
            places(value, &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), all);
        }),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(n, one)| places(one, &format!("{at}/{n}"), all))
        }
        _ => {}
    }
}

/// How many of the documents with one odd place were read; each was written in every format it has.
fn survived(document: &Value) -> usize {
    let mut all = Vec::new();
    places(document, "", &mut all);
    let mut read = 0;
    for place in &all {
        for odd in odd() {
            let mut changed = document.clone();
            *changed.pointer_mut(place).unwrap() = odd;
            let Ok(record) = Record::read(changed.to_string().as_bytes()) else { continue };
            read += 1;
            for format in FORMATS {
                let mut out = Vec::new();
                let written = record.render(format, STYLE, &mut out).is_ok();
                assert!(!written || std::str::from_utf8(&out).is_ok(), "{place}");
                assert!(!out.contains(&0x1b), "{place}: an escape sequence gets out in {}", format.name());
            }
        }
    }
    read
}

#[test]
fn odd_comparisons_and_baselines_are_shown_or_refused() {
    let comparison: Value = serde_json::from_str(&text(&everything(), Format::Json)).unwrap();
    assert!(survived(&comparison) > 100);
    let baseline = serde_json::to_value(baseline(vec![figure("a", 1)])).unwrap();
    assert!(survived(&baseline) > 30);
}

#[test]
fn odd_summaries_verdicts_and_benches_are_shown_or_refused() {
    let kept = |name: &str| -> Value { serde_json::from_str(name).unwrap() };
    let verdict = kept(include_str!("../matrix/kept/fail.json"));
    // Arms and losses are alike: a few of them are enough.
    let mut verdict = verdict;
    verdict["arms"].as_array_mut().unwrap().truncate(3);
    verdict["gates"].as_array_mut().unwrap().truncate(2);
    assert!(survived(&verdict) > 200);
    assert!(survived(&kept(include_str!("summary.json"))) > 200);
    assert!(survived(&kept(include_str!("bench.json"))) > 50);
}

#[test]
fn odd_records_of_other_verbs_are_shown_or_refused() {
    let ring = json!({
        "schema": "wireproof.ring-summary/1", "frames": 3, "frame_ns": {"p50": 1, "p99": 2.5},
        "stages": [{"name": "render", "p50": 1}, {"name": "send", "devices": [1, [2]]}], "findings": ["x"],
    });
    assert!(survived(&ring) > 50);
}
