//! Datagrams from public captures, unit tests and fuzzers, against the verdict of an independent checker.

#![allow(clippy::unwrap_used, reason = "a vector that cannot be read fails the test")]
#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "reads vectors, and says so when there are none"
)]

use serde_json::Value as Json;
use std::net::SocketAddr;
use std::path::PathBuf;
use wireproof_protocols::registry::DECODERS;
use wireproof_protocols::{Datagram, Faults, Marks, Pdu, Protocol};

const VECTORS: &str = "vectors.json";
const FUZZED: &str = "sacn_afl.json";
/// Datagrams the checker calls malformed where the rule table explains and does not judge: an unknown Art-Net
/// opcode (A03).
const EXPLAINED: [&str; 1] = ["artnet-284"];

#[test]
fn sacn_datagrams_are_judged_as_by_the_independent_checker() {
    check("sacn_datagrams_are_judged_as_by_the_independent_checker", VECTORS, Protocol::Sacn, 74);
}

#[test]
fn fuzzed_sacn_datagrams_are_judged_as_by_the_independent_checker() {
    check("fuzzed_sacn_datagrams_are_judged_as_by_the_independent_checker", FUZZED, Protocol::Sacn, 54);
}

#[test]
fn ddp_datagrams_are_judged_as_by_the_independent_checker() {
    check("ddp_datagrams_are_judged_as_by_the_independent_checker", VECTORS, Protocol::Ddp, 12);
}

#[test]
fn artnet_datagrams_are_judged_as_by_the_independent_checker() {
    check("artnet_datagrams_are_judged_as_by_the_independent_checker", VECTORS, Protocol::ArtNet, 126);
}

#[test]
fn kinet_datagrams_are_judged_as_by_the_independent_checker() {
    check("kinet_datagrams_are_judged_as_by_the_independent_checker", VECTORS, Protocol::Kinet, 3);
}

fn check(test: &str, file: &str, protocol: Protocol, vectors: usize) {
    let Some(json) = read(file) else {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("SKIPPED {test}: ../shared is absent\n"),
        );
        return;
    };
    let mine = |v: &&Json| v["protocol"].as_str() == Some(protocol.name());
    let list: Vec<&Json> = json.as_array().unwrap().iter().filter(mine).collect();
    assert_eq!(list.len(), vectors);
    let wrong: Vec<String> = list.iter().filter_map(|v| difference(protocol, v)).collect();
    assert!(wrong.is_empty(), "{} of {vectors} datagrams differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn read(file: &str) -> Option<Json> {
    let shared = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared");
    let path: PathBuf = [shared, "captures", file].iter().collect();
    let text = std::fs::read_to_string(path).ok()?;
    Some(serde_json::from_str(&text).unwrap())
}

fn difference(protocol: Protocol, vector: &Json) -> Option<String> {
    let id = vector["id"].as_str().unwrap();
    let octets = unhex(vector["hex"].as_str().unwrap());
    let decoder = *DECODERS.iter().find(|d| d.protocol() == protocol).unwrap();
    let address = |host: u8| SocketAddr::from(([10, 0, 0, host], decoder.ports()[0]));
    let d = Datagram::new(address(1), address(2), &octets);
    let mut faults = Faults::new();
    let pdu = decoder.decode(&d, &mut faults).ok();
    let expected = &vector["expected"];
    let mut wrong = Vec::new();
    let well_formed = pdu.is_some() && faults.well_formed();
    let judged = vector["judge"] != Json::Bool(false) && !EXPLAINED.contains(&id);
    if judged && expected["well_formed"] != Json::Bool(well_formed) {
        wrong.push(format!("well_formed: expected {}, found {well_formed}", expected["well_formed"]));
    }
    if let Some(pdu) = pdu {
        wrong.extend(fields(protocol, &pdu, &expected["fields"]));
        wrong.extend(kind(protocol, &pdu, expected));
    }
    let found: Vec<_> =
        faults.as_slice().iter().map(|f| format!("{}:{}", f.rule.code, f.severity.name())).collect();
    (!wrong.is_empty())
        .then(|| format!("{id}: {}; expected {}, found {found:?}", wrong.join(", "), expected["violations"]))
}

/// The checker's `unknown` is `other` here; its DDP kinds follow the ID, ours the flags.
fn kind(protocol: Protocol, pdu: &Pdu<'_>, expected: &Json) -> Option<String> {
    let name = expected["fields"]["kind"].as_str().or(expected["kind"].as_str())?;
    let name = if protocol == Protocol::Sacn && name == "unknown" { "other" } else { name };
    let found = pdu.kind.short();
    (protocol != Protocol::Ddp && name != found).then(|| format!("kind: expected {name}, found {found}"))
}

/// Compares every field of `expected` that a PDU carries.
fn fields(protocol: Protocol, pdu: &Pdu<'_>, expected: &Json) -> Vec<String> {
    let Some(map) = expected.as_object() else { return Vec::new() };
    map.iter()
        .filter_map(|(key, value)| {
            let found = field(protocol, pdu, key)?;
            (found != *value).then(|| format!("{key}: expected {value}, found {found}"))
        })
        .collect()
}

/// The value of a PDU that the checker calls `key`; `None` for keys a PDU does not carry.
fn field(protocol: Protocol, pdu: &Pdu<'_>, key: &str) -> Option<Json> {
    match protocol {
        Protocol::Sacn => sacn_field(pdu, key),
        Protocol::Ddp => ddp_field(pdu, key),
        Protocol::ArtNet => artnet_field(pdu, key),
        Protocol::Kinet => kinet_field(pdu, key),
        Protocol::BigPacket | Protocol::Layout(_) => None,
    }
}

fn sacn_field(pdu: &Pdu<'_>, key: &str) -> Option<Json> {
    let mark = |m: Marks| Json::from(pdu.marks.has(m));
    Some(match key {
        "sequence" => pdu.sequence.into(),
        "universe" => pdu.stream.into(),
        "sync_address" if pdu.marks.has(Marks::SYNC) => pdu.stream.into(),
        "sync_address" => pdu.sync.into(),
        "cid" => pdu.sender.map(|c| c.map(|o| format!("{o:02x}")).concat()).into(),
        "source_name" => String::from_utf8_lossy(pdu.name).into(),
        "priority" => pdu.priority.into(),
        "start_code" => pdu.start_code.into(),
        "slots" => pdu.data_length.into(),
        "preview" => mark(Marks::PREVIEW),
        "terminated" => mark(Marks::TERMINATED),
        "force_sync" => mark(Marks::FORCE_SYNC),
        "page" => pdu.index.into(),
        "last_page" => pdu.count.checked_sub(1).into(),
        "universes" => pdu.data.chunks_exact(2).map(|p| u16::from_be_bytes([p[0], p[1]])).collect(),
        _ => return None,
    })
}

/// Control datagrams and headers cut short belong to no stream; their fields are not compared. Of the sequence
/// number the checker reports the low nibble, while the decoder may tell 16 (octet 0x10) from 0.
fn ddp_field(pdu: &Pdu<'_>, key: &str) -> Option<Json> {
    pdu.stream?;
    Some(match key {
        "sequence" => pdu.sequence.map(|s| s & 0x0F).into(),
        "id" => pdu.stream.into(),
        "offset" => pdu.offset.into(),
        "length" => pdu.data_length.into(),
        "data_octets" => pdu.data.len().into(),
        "push" => pdu.marks.has(Marks::PUSH).into(),
        _ => return None,
    })
}

fn artnet_field(pdu: &Pdu<'_>, key: &str) -> Option<Json> {
    let dmx = pdu.kind.short() == "ArtDmx";
    Some(match key {
        "sequence" => pdu.sequence.into(),
        "port_address" => pdu.stream.into(),
        "physical" => pdu.part.into(),
        "length" if dmx => pdu.data_length.into(),
        "data_octets" if dmx => pdu.data.len().into(),
        _ => return None,
    })
}

fn kinet_field(pdu: &Pdu<'_>, key: &str) -> Option<Json> {
    Some(match key {
        "port" => pdu.stream.into(),
        "start_code" => pdu.start_code.into(),
        "data_octets" => pdu.data.len().into(),
        _ => return None,
    })
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}
