//! Captures whose packets are of a link type that is not decoded, alone and beside others: nothing of them passes in silence.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod cli_support;

use cli_support::{outcome, planted, wireproof};
use serde_json::Value;
use std::fs;
use std::path::Path;

const RADIOTAP: u32 = 127;
const HEALTHY: &str = "sacn-short";

/// The planted capture of this name, its link type written over.
fn relabelled(dir: &Path, name: &str, link_type: u32) -> usize {
    let path = planted(dir, name);
    let mut octets = fs::read(&path).unwrap();
    assert_eq!(octets[..4], [0x4d, 0x3c, 0xb2, 0xa1], "nanoseconds, little-endian");
    octets[20..24].copy_from_slice(&link_type.to_le_bytes());
    fs::write(dir.join("relabelled.pcap"), &octets).unwrap();
    records(&octets).len()
}

/// Stamp in microseconds and octets of each record of a capture.
fn records(capture: &[u8]) -> Vec<(u64, &[u8])> {
    let word = |at: usize| u32::from_le_bytes(capture[at..at + 4].try_into().unwrap());
    let (mut at, mut records) = (24, Vec::new());
    while at < capture.len() {
        let length = word(at + 8) as usize;
        let stamp = u64::from(word(at)) * 1_000_000 + u64::from(word(at + 4)) / 1_000;
        records.push((stamp, &capture[at + 16..at + 16 + length]));
        at += 16 + length;
    }
    records
}

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = (12 + body.len().next_multiple_of(4)) as u32;
    let mut block = [&kind.to_le_bytes()[..], &length.to_le_bytes(), body].concat();
    block.resize(length as usize - 4, 0);
    block.extend(length.to_le_bytes());
    block
}

/// A pcapng file of two interfaces: the first one of link type RADIOTAP with so many packets, the second one Ethernet.
fn mixed(dir: &Path, name: &str, strange: usize) -> usize {
    let capture = fs::read(planted(dir, name)).unwrap();
    let records = records(&capture);
    let header = [&[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0][..], &[0xff; 8]].concat();
    let interface = |link_type: u32| block(1, &[link_type.to_le_bytes(), [0; 4]].concat());
    let mut file = [block(0x0a0d_0d0a, &header), interface(RADIOTAP), interface(1)].concat();
    let mut packet = |interface: u32, stamp: u64, octets: &[u8]| {
        let length = octets.len() as u32;
        let words = [interface, (stamp >> 32) as u32, stamp as u32, length, length];
        let body = [words.map(u32::to_le_bytes).concat(), octets.to_vec()].concat();
        file.extend(block(6, &body));
    };
    for (at, (stamp, octets)) in records.iter().enumerate() {
        packet(1, *stamp, octets);
        if at < strange {
            packet(0, *stamp, octets);
        }
    }
    fs::write(dir.join("mixed.pcapng"), file).unwrap();
    records.len() + strange
}

#[test]
fn a_capture_none_of_whose_packets_is_decoded_cannot_be_read() {
    let dir = tempfile::tempdir().unwrap();
    for (link_type, name) in [(RADIOTAP, "RADIOTAP"), (105, "802.11"), (195, "LT195")] {
        let packets = relabelled(dir.path(), HEALTHY, link_type);
        for verb in
            [&["analyze"][..], &["analyze", "--format", "json"], &["learn"], &["analyze", "--exit-zero"]]
        {
            let (code, out, err) = outcome(wireproof(dir.path()).args(verb).arg("relabelled.pcap"));
            assert_eq!((code, out.as_str(), err.lines().count()), (6, "", 1), "{verb:?}: {out}{err}");
            let said = format!("none of its {packets} packets could be decoded, their link type is {name}");
            assert!(err.contains("relabelled.pcap") && err.contains(&said), "{err}");
        }
    }
    // A file among others is no better.
    let files = ["relabelled.pcap", "sacn-short.pcap"];
    let (code, _, err) = outcome(wireproof(dir.path()).arg("analyze").args(files));
    assert!(code == 6 && err.contains("LT195"), "{code} {err}");
    // Without any packet there is nothing that was not decoded.
    let empty = fs::read(dir.path().join("relabelled.pcap")).unwrap()[..24].to_vec();
    fs::write(dir.path().join("none.pcap"), empty).unwrap();
    let (code, out, _) = outcome(wireproof(dir.path()).args(["analyze", "none.pcap"]));
    assert_eq!(code, 0, "{out}");
}

#[test]
fn an_interface_that_is_not_decoded_is_told_beside_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let all = mixed(dir.path(), HEALTHY, 7);
    let run =
        |options: &[&str]| outcome(wireproof(dir.path()).args(["analyze", "mixed.pcapng"]).args(options));
    let (code, out, _) = run(&["--format", "json"]);
    let record: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &record["verdict"]), (0, &Value::from("pass")), "{out}");
    assert_eq!(record["source"]["link_types"]["RADIOTAP"], 7);
    let findings = record["findings"].as_array().unwrap();
    let found: Vec<&Value> = findings.iter().filter(|f| f["code"] == "CAP-LINK-TYPE").collect();
    assert_eq!((found.len(), &found[0]["count"], &found[0]["severity"]), (1, &7.into(), &"warning".into()));
    let text = format!(
        "7 of {all} packets were not looked at, their link type is not decoded: 7 of link type RADIOTAP"
    );
    assert_eq!(found[0]["text"], text);
    for format in ["table", "markdown", "junit", "html", "jsonl"] {
        let (code, out, _) = run(&["--format", format]);
        assert!(code == 0 && out.contains("RADIOTAP"), "{format}: {out}");
    }
    assert_eq!(run(&["--strict"]).0, 1);
    // What is judged beside it is judged as ever.
    mixed(dir.path(), "sacn-drop-one", 7);
    let (code, out, _) = run(&[]);
    assert!(code == 1 && out.contains("SEQ-LOST") && out.contains("CAP-LINK-TYPE"), "{code} {out}");
}
