//! The shipped JSON Schema against a record with something in every field.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

use serde_json::Value;
use std::collections::BTreeMap;
use wireproof_protocols::verify::*;
use wireproof_protocols::{Protocol, Severity};
use wireproof_reports::{Format, Observer, SUMMARY_SCHEMA, Source, Style, Summary, render};

/// A time line with something in every column.
fn timeline() -> Timeline {
    Timeline {
        frames: vec![3, 1],
        torn: vec![1, 0],
        unterminated: vec![0, 1],
        missing: vec![1, 0],
        lost: vec![0, u64::MAX],
        longest_ns: vec![16_000_000, 17_000_000],
    }
}

fn account() -> Account {
    let frames = FrameAccount { seen: 4, complete: 2, torn: 1, unterminated: 1 };
    let stream = StreamAccount {
        protocol: Protocol::Sacn,
        kind: "data",
        source: "192.168.0.2:5568".parse().unwrap(),
        destinations: vec!["239.255.0.1:5568".parse().unwrap()],
        sender: Some("0cde5d2f-1111-2222-3333-444455556666".to_owned()),
        name: Some("Desk \u{9b}\u{7f}\u{202e} \"x\"".to_owned()),
        stream_id: 1,
        part: 1,
        output: Some(0),
        datagrams: 591,
        bytes: u64::MAX,
        sessions: 1,
        rate_mhz: 30_000,
        first_ns: -5,
        last_ns: 1_700_000_019_967_000_000,
        sequence: SequenceAccount { model: "per-datagram 0..255".to_owned(), ..Default::default() },
        frames,
        interval_ns: Spread { count: 1, min: 1, p50: 2, p95: 3, p99: 4, p999: 5, max: 6 },
        owners: Owners::default(),
        ended: Ended::Running,
        priorities: vec![100],
        sync_addresses: vec![7000],
        start_codes: vec![0],
        data_octets: (1, 2),
        timeline: timeline(),
    };
    let finding = Finding {
        id: "f0001".to_owned(),
        code: "SEQ-LOST",
        severity: Severity::Violation,
        stream: Some(0),
        count: 1,
        first_packet: 12,
        first_ns: 1,
        since_ns: 1,
        proven: 0,
        residue: 0,
        last_ns: 2,
        text: "lost".to_owned(),
        expected: "8".to_owned(),
        got: "13".to_owned(),
        offset: Some(111),
        frames: vec![4],
        owners: Some(Owners::default()),
        tainted: true,
        open: 0,
        missing: None,
        waiver: None,
    };
    let output = OutputAccount {
        name: "pole-b".to_owned(),
        protocol: Protocol::Sacn,
        destination: None,
        streams: vec![0],
        datagrams_per_frame: 17,
        octets_per_frame: 8640,
        rate_mhz: 60_000,
        declared: true,
        frames,
        sync: SyncAccount::default(),
        causes: CauseAccount::default(),
        frame_interval_ns: Spread::default(),
        spread_ns: Spread::default(),
        frame_interval_bars: Bars { from_ns: 1, width_ns: 2, under: 0, counts: vec![1, 2], over: 3 },
        timeline: timeline(),
    };
    let mut account = Account { first_ns: Some(-5), last_ns: Some(10), ..Account::default() };
    account.datagrams.by_kind = BTreeMap::from([("sacn/data", 591)]);
    account.streams = vec![stream];
    account.findings = vec![finding];
    account.outputs = vec![output];
    account.axis = TimeAxis::of(10_000_000, 2);
    account.observer_timeline = ObserverTimeline { lost: vec![0, 1], capture_dropped: vec![2, 0] };
    account.limits = vec!["Nothing before the first packet shows.".to_owned()];
    account
}

fn summary() -> Summary {
    let source = Source {
        kind: "file".to_owned(),
        name: "show.pcapng".to_owned(),
        timestamps: "file-us".to_owned(),
        link_types: BTreeMap::from([("EN10MB".to_owned(), 591)]),
        damaged: Some("cut".to_owned()),
        ..Source::default()
    };
    Summary::new(&account(), source, Observer::default())
}

fn text(summary: &Summary, format: Format) -> String {
    let mut out = Vec::new();
    render(summary, format, Style::default(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn schema() -> Value {
    serde_json::from_str(SUMMARY_SCHEMA).unwrap()
}

fn errors(schema: &Value, document: &Value) -> Vec<String> {
    let validator = jsonschema::validator_for(schema).unwrap();
    validator.iter_errors(document).map(|e| e.to_string()).collect()
}

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

#[test]
fn a_rich_record_is_valid_and_has_no_key_the_schema_does_not_name() {
    let document: Value = serde_json::from_str(&text(&summary(), Format::Json)).unwrap();
    let mut closed = schema();
    close(&mut closed);
    assert_eq!(errors(&closed, &document), Vec::<String>::new());
}

#[test]
fn an_empty_record_is_valid() {
    let source = Source { kind: "file".into(), timestamps: "file-ns".into(), ..Source::default() };
    let summary = Summary::new(&Account::default(), source, Observer::default());
    let document: Value = serde_json::from_str(&text(&summary, Format::Json)).unwrap();
    assert_eq!(errors(&schema(), &document), Vec::<String>::new());
}

#[test]
fn a_record_without_one_of_its_keys_is_refused() {
    let document: Value = serde_json::from_str(&text(&summary(), Format::Json)).unwrap();
    // Records of earlier versions have neither of these.
    let younger = ["totals", "timeline"];
    for key in document.as_object().unwrap().keys().filter(|key| !younger.contains(&key.as_str())) {
        let mut poorer = document.clone();
        poorer.as_object_mut().unwrap().remove(key);
        assert!(!errors(&schema(), &poorer).is_empty(), "{key} is not required");
    }
}

#[test]
fn additional_keys_are_allowed() {
    let mut document: Value = serde_json::from_str(&text(&summary(), Format::Json)).unwrap();
    document["streams"][0]["later"] = Value::from(1);
    assert_eq!(errors(&schema(), &document), Vec::<String>::new());
}

#[test]
fn the_keys_of_the_contract_come_first_and_in_its_order() {
    let json = text(&summary(), Format::Json);
    let order = ["schema", "verdict", "source", "span_ns", "datagrams", "observer", "streams", "findings"];
    let places: Vec<usize> = order.iter().map(|k| json.find(&format!("\n  \"{k}\":")).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?}");
    let stream = [
        "protocol",
        "kind",
        "source",
        "destination",
        "sender",
        "name",
        "stream_id",
        "datagrams",
        "bytes",
        "sessions",
        "rate_hz",
        "sequence",
        "frames",
        "interval_ns",
        "owners",
        "ended",
        "output",
    ];
    let streams = &json[places[6]..places[7]];
    let places: Vec<usize> =
        stream.iter().map(|k| streams.find(&format!("\n      \"{k}\":")).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn json_reads_back_as_the_same_record() {
    let summary = summary();
    let json = text(&summary, Format::Json);
    assert_eq!(serde_json::from_str::<Summary>(&json).unwrap(), summary);
    assert_eq!(text(&summary, Format::Json), json);
    assert!(json.ends_with("}\n"));
}

#[test]
fn data_octets_of_a_stream_stand_in_json_and_must() {
    let mut document: Value = serde_json::from_str(&text(&summary(), Format::Json)).unwrap();
    assert_eq!(document["streams"][0]["data_octets"], serde_json::json!({"min": 1, "max": 2}));
    for broken in [Value::Null, serde_json::json!({"min": 1}), serde_json::json!([1, 2])] {
        document["streams"][0]["data_octets"] = broken;
        assert!(!errors(&schema(), &document).is_empty());
    }
}

#[test]
fn rates_have_three_decimals_and_counters_stay_integers() {
    let json = text(&summary(), Format::Json);
    assert!(json.contains("\"rate_hz\": 30.000,"), "{json}");
    assert!(json.contains("\"bytes\": 18446744073709551615,"), "{json}");
}

#[test]
fn every_format_keeps_control_characters_of_names_to_itself() {
    for format in Format::ALL {
        let text = text(&summary(), format);
        let bad = text.chars().find(|c| !matches!(c, '\n' | '\r') && wireproof_reports::text::is_unsafe(*c));
        assert_eq!(bad, None, "{}", format.name());
    }
}

#[test]
fn json_lines_holds_one_typed_object_a_line() {
    let text = text(&summary(), Format::Jsonl);
    let types: Vec<String> = text
        .lines()
        .map(|l| serde_json::from_str::<Value>(l).unwrap()["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(types, ["summary", "stream", "output", "finding"]);
    assert!(text.lines().all(|l| l.starts_with("{\"type\":\"")));
    assert!(text.contains("\"rate_hz\":30.000,"));
}

#[test]
fn rendering_twice_gives_the_same_octets() {
    for format in Format::ALL {
        assert_eq!(text(&summary(), format), text(&summary(), format), "{}", format.name());
    }
}
