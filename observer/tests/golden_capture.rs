//! The golden vectors as one capture: whatever its datagrams share (addresses, a constant IP id, milliseconds), every
//! expected rule is found as often as the vectors say, and no datagram is taken for a copy of another.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use wireproof::analysis;
use wireproof_protocols::verify::{Account, Options};

type Counts = BTreeMap<(String, &'static str), u64>;

fn golden(protocol: &str) -> Vec<Value> {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../protocols/vectors").join(protocol);
    serde_json::from_str(&std::fs::read_to_string(vectors.join("golden.json")).unwrap()).unwrap()
}

fn severity(word: &str) -> &'static str {
    match word {
        "violation" => "violation",
        "warning" => "warning",
        _ => "info",
    }
}

/// Rules the vectors expect, "sequence unused" aside: that is told once a stream.
fn expected() -> Counts {
    let mut counts = Counts::new();
    for (protocol, prefix) in
        [("sacn", "SACN"), ("ddp", "DDP"), ("artnet", "ARTNET"), ("bigpacket", "BIGPACKET")]
    {
        for vector in golden(protocol) {
            for rule in vector["expect"].as_array().unwrap() {
                let (code, word) = rule.as_str().unwrap().split_once(':').unwrap();
                if !code.starts_with('Q') {
                    *counts.entry((format!("{prefix}-{code}"), severity(word))).or_default() += 1;
                }
            }
        }
    }
    counts
}

fn account() -> Account {
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/golden.pcap");
    analysis::analyze(&[capture], Options::default()).unwrap().1
}

#[test]
fn every_rule_is_found_as_often_as_the_vectors_say() {
    let account = account();
    let mut found = Counts::new();
    for f in &account.findings {
        *found.entry((f.code.to_owned(), f.severity.name())).or_default() += f.count;
    }
    let differing: Vec<_> = expected().into_iter().filter(|(rule, n)| found.get(rule) != Some(n)).collect();
    assert!(differing.is_empty(), "expected and not found so often: {differing:?}\nfound {found:?}");
}

#[test]
fn a_constant_ip_id_makes_no_copies() {
    let datagrams = account().datagrams;
    assert_eq!((datagrams.lighting, datagrams.capture_duplicates, datagrams.undecodable), (102, 0, 2));
}
