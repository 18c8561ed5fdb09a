//! Tests of the journal: the worked case, every cut, every changed octet, and forged chains.

use super::*;
use crate::arm::Place;
use crate::soak::{Chunk, DiskPolicy, Rule};
use std::collections::BTreeMap;

fn golden() -> Value {
    crate::golden::case("journal-chain")
}

fn golden_plan() -> Digest {
    golden()["input"]["plan_sha256"].as_str().unwrap().parse().unwrap()
}

fn place(block: u32, position: u32) -> Place {
    Place { stratum: 0, block, position, treatment: position - 1, attempt: 1 }
}

fn rule() -> Rule {
    let (metric, disk) = ("wire.lost".to_owned(), DiskPolicy::default());
    Rule { metric, rate_ppb: 10_000, alpha_ppm: 50_000, disk }
}

/// One record of every kind.
fn every_kind() -> Vec<Record> {
    let device = || DeviceId { build: "7.1+ab".to_owned(), boot_id: "b-1".to_owned() };
    let stored = Stored { sha256: Digest::of(b"x"), octets: 1 };
    let s = str::to_owned;
    vec![
        Record::Plan {
            plan: golden_plan(),
            version: JOURNAL_VERSION,
            name: s("demo"),
            base_url: s("http://10.0.0.5"),
            pre_registered: true,
            tool: s("wireproof 0.1.0"),
            soak: Some(rule()),
        },
        Record::Env { device: device() },
        Record::ToggleOriginal { factor: s("profiler"), value: s("\"off\"\n") },
        Record::Intent { step: Step::Set, arm: Some(place(1, 1)), what: s("profiler=on") },
        Record::Result { step: Step::Set, arm: None, ok: true, what: String::new() },
        Record::ArmStart { arm: place(1, 1), treatment: s("raw") },
        Record::ArmEnd {
            arm: place(1, 1),
            state: ArmEnd::Invalid,
            reasons: vec![s("toggle_drifted")],
            files: BTreeMap::from([(s("arms/b01-p1-raw-a1/arm.json"), stored)]),
        },
        Record::Chunk { arm: place(1, 1), chunk: Chunk { trials: 900, ..Chunk::default() } },
        Record::Dropped { arm: place(1, 1), files: vec![s("arms/b01-p1-raw-a1/arm.json")] },
        Record::File { path: s("order.json"), sha256: Digest::of(b""), octets: 0 },
        Record::BlockRepeated { stratum: 0, block: 1, why: s("throttled") },
        Record::Finding { severity: s("warning"), arm: None, code: s("drift"), text: s("é\u{2028}\u{1}") },
        Record::Interrupted { why: s("SIGINT") },
        Record::Resumed { dropped_octets: 17, device: device() },
        Record::Restored { factors: vec![s("profiler")] },
        Record::Sealed { verdict: s("partial") },
    ]
}

fn written(records: &[Record]) -> String {
    let (mut chain, mut text) = (Chain::new(golden_plan()), String::new());
    for (record, at_ns) in records.iter().zip(1_700_000_000_000_000_000..) {
        let (line, next) = chain.line(at_ns, record).unwrap();
        text.push_str(&line);
        chain = next;
    }
    text
}

#[test]
fn the_lines_of_the_worked_case_come_out_exactly() {
    let golden = golden();
    let mut chain = Chain::new(golden_plan());
    let records = golden["input"]["records"].as_array().unwrap();
    let lines = golden["expected"]["lines"].as_array().unwrap();
    assert_eq!((records.len(), lines.len()), (3, 3));
    for (record, line) in records.iter().zip(lines) {
        let (text, next) = chain.link(record).unwrap();
        assert_eq!(text.strip_suffix('\n'), line.as_str());
        chain = next;
    }
}

#[test]
fn the_torn_tail_of_the_worked_case_is_left_out() {
    let golden = golden();
    let torn = &golden["expected"]["torn_tail"];
    let file = torn["file"].as_str().unwrap();
    let read = links(file.as_bytes(), golden_plan()).unwrap();
    assert_eq!(Some(read.json.len() as u64), torn["accepted_records"].as_u64());
    assert!(file[read.whole_octets as usize..].starts_with("8464173e"));
}

#[test]
fn the_edited_line_of_the_worked_case_is_named() {
    let golden = golden();
    let lines: Vec<&str> =
        golden["expected"]["lines"].as_array().unwrap().iter().map(|l| l.as_str().unwrap()).collect();
    let text = format!("{}\n", lines.join("\n")).replace("\"treatment\":\"raw\"", "\"treatment\":\"row\"");
    let error = links(text.as_bytes(), golden_plan()).err().unwrap();
    assert_eq!(Some(error.line), golden["expected"]["edited_line_2_detected_at"].as_u64());
}

#[test]
fn every_kind_of_record_comes_back_as_it_was_written() {
    let records = every_kind();
    let text = written(&records);
    let journal = Journal::read(text.as_bytes(), golden_plan()).unwrap();
    assert_eq!(journal.entries.iter().map(|e| e.record.clone()).collect::<Vec<_>>(), records);
    assert_eq!(journal.entries[2].at_ns, 1_700_000_000_000_000_002);
    assert_eq!((journal.sealed(), journal.torn_octets, journal.chain.len()), (true, 0, 16));
    let kinds: Vec<String> =
        records.iter().map(|r| serde_json::to_value(r).unwrap()["t"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds, record::KINDS);
}

#[test]
fn a_journal_cut_anywhere_loses_at_most_the_line_it_is_cut_in() {
    let records = &every_kind()[..6];
    let text = written(records);
    for cut in 0..=text.len() {
        let journal = Journal::read(&text.as_bytes()[..cut], golden_plan()).unwrap();
        let whole = text.bytes().take(cut).filter(|octet| *octet == b'\n').count();
        assert_eq!(journal.entries.len(), whole, "cut at {cut}");
        assert_eq!(journal.whole_octets + journal.torn_octets, cut as u64);
    }
}

#[test]
fn a_changed_octet_anywhere_is_refused_with_its_line() {
    let text = written(&every_kind());
    for at in 0..text.len() {
        for flip in [0x01, 0x20, 0x80, 0xff] {
            let mut octets = text.clone().into_bytes();
            octets[at] ^= flip;
            let error = Journal::read(&octets, golden_plan());
            let line = 1 + text.bytes().take(at).filter(|octet| *octet == b'\n').count() as u64;
            assert_eq!(error.map_err(|e| e.line), Err(line), "octet {at} ^ {flip:02x}");
        }
    }
}

#[test]
fn a_line_taken_out_or_put_in_elsewhere_breaks_the_chain() {
    let text = written(&every_kind()[..6]);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let without_third = [&lines[..2], &lines[3..]].concat().concat();
    let swapped = [lines[0], lines[2], lines[1]].concat();
    for (text, line) in [(without_third, 3), (swapped, 2)] {
        let error = Journal::read(text.as_bytes(), golden_plan()).unwrap_err();
        assert_eq!(error, Problem::Broken.at(line));
    }
}

/// A chain that is right, over JSON that a forger or another version wrote.
fn forged(values: &[&str]) -> Result<Journal, JournalError> {
    let (mut last, mut text) = (golden_plan(), String::new());
    for json in values {
        last = hash(&last, json);
        text.push_str(&format!("{last} {json}\n"));
    }
    Journal::read(text.as_bytes(), golden_plan())
}

fn plan_json() -> String {
    let text = written(&every_kind()[..1]);
    text.trim_end().split_once(' ').unwrap().1.to_owned()
}

#[test]
fn an_unknown_kind_names_the_version() {
    let error = forged(&[&plan_json(), r#"{"at_ns":1,"n":2,"t":"dream"}"#]).unwrap_err().to_string();
    let expected =
        "line 2: record kind 'dream' is unknown to journal version 1, read it with the program that wrote it";
    assert_eq!(error, expected);
    let later = plan_json().replace("\"version\":1", "\"version\":2");
    let error = forged(&[&later]).unwrap_err();
    assert_eq!(error, Problem::Version(2).at(1));
}

#[test]
fn records_that_cannot_be_are_refused() {
    let plan = plan_json();
    let sealed = r#"{"at_ns":1,"n":2,"t":"sealed","verdict":"pass"}"#;
    let cases: [(&[&str], u64, &str); 9] = [
        (&[sealed], 1, "record 2 stands"),
        (&[r#"{"at_ns":1,"n":1,"t":"sealed","verdict":"pass"}"#], 1, "the plan is the first"),
        (&[&plan, &plan.replace("\"n\":1", "\"n\":2")], 2, "the plan is the first"),
        (&[&plan, sealed, r#"{"at_ns":1,"n":3,"t":"interrupted","why":"x"}"#], 3, "a record stands behind"),
        (&[&plan, r#"{"at_ns":1,"n":2,"t":"restored","factors":[]}"#], 2, "the JSON is not canonical"),
        (&[&plan, r#"{"at_ns":1.5,"n":2,"t":"interrupted","why":"x"}"#], 2, "the JSON is not canonical"),
        (&[&plan, r#"{"at_ns":1,"n":2,"t":"interrupted","why":"x","zeal":1}"#], 2, "unknown field"),
        (&[&plan, r#"[1]"#], 2, "not a line of a journal"),
        (&[&plan, r#"{"n":2,"t":"interrupted","why":"x"}"#], 2, "'at_ns' is missing"),
    ];
    for (values, line, text) in cases {
        let error = forged(values).unwrap_err();
        assert!(error.line == line && error.to_string().contains(text), "{values:?}: {error}");
    }
}

#[test]
fn a_plan_record_for_another_plan_is_refused() {
    let other = Digest::of(b"another");
    let json = plan_json().replace(&golden_plan().to_string(), &other.to_string());
    assert_eq!(forged(&[&json]).unwrap_err(), Problem::OtherPlan(other).at(1));
}

#[test]
fn a_line_over_the_limit_is_neither_written_nor_read() {
    let long = Record::Interrupted { why: "x".repeat(MAX_LINE) };
    let error = Chain::new(golden_plan()).line(0, &long).unwrap_err();
    assert_eq!(error.problem, Problem::TooLong);
    let octets = [vec![b'x'; MAX_LINE], b"\n".to_vec()].concat();
    assert_eq!(Journal::read(&octets, golden_plan()).unwrap_err(), Problem::TooLong.at(1));
}

#[test]
fn an_empty_journal_holds_nothing() {
    let journal = Journal::read(b"", golden_plan()).unwrap();
    assert!(journal.entries.is_empty() && !journal.sealed() && journal.chain.is_empty());
}

proptest::proptest! {
    #[test]
    fn any_octets_are_read_without_a_panic(octets in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..400)) {
        let text = written(&every_kind()[..2]);
        let joined = [text.as_bytes(), octets.as_slice()].concat();
        match Journal::read(&joined, golden_plan()) {
            Ok(journal) => proptest::prop_assert_eq!(journal.entries.len(), 2),
            Err(error) => proptest::prop_assert_eq!(error.line, 3),
        }
    }
}
