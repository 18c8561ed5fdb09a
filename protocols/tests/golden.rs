//! Golden vectors: each datagram of `vectors/*/golden.json` breaks exactly the rules listed with it.

#![allow(clippy::unwrap_used, reason = "a vector that cannot be read fails the test")]

use serde_json::Value as Json;
use std::net::SocketAddr;
use wireproof_protocols::registry::{DECODERS, claim};
use wireproof_protocols::{Datagram, Decoder, Fault, Faults, Protocol};

#[test]
fn sacn_vectors_break_exactly_the_rules_they_are_made_for() {
    check(Protocol::Sacn, "SACN", 49, include_str!("../vectors/sacn/golden.json"));
}

#[test]
fn ddp_vectors_break_exactly_the_rules_they_are_made_for() {
    check(Protocol::Ddp, "DDP", 26, include_str!("../vectors/ddp/golden.json"));
}

#[test]
fn artnet_vectors_break_exactly_the_rules_they_are_made_for() {
    check(Protocol::ArtNet, "ARTNET", 18, include_str!("../vectors/artnet/golden.json"));
}

#[test]
fn bigpacket_vectors_break_exactly_the_rules_they_are_made_for() {
    check(Protocol::BigPacket, "BIGPACKET", 9, include_str!("../vectors/bigpacket/golden.json"));
}

/// Decodes every vector as a unicast datagram to its port and compares codes and severities.
fn check(protocol: Protocol, prefix: &str, vectors: usize, text: &str) {
    let json: Json = serde_json::from_str(text).unwrap();
    let list = json.as_array().unwrap();
    assert_eq!(list.len(), vectors);
    let wrong: Vec<String> = list.iter().filter_map(|v| difference(protocol, prefix, v)).collect();
    assert!(wrong.is_empty(), "{} of {vectors} vectors differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn difference(protocol: Protocol, prefix: &str, vector: &Json) -> Option<String> {
    let name = vector["name"].as_str().unwrap();
    let octets = unhex(vector["hex"].as_str().unwrap());
    assert_eq!(octets.len() as u64, vector["len"].as_u64().unwrap(), "{name}");
    let port = vector["port"].as_u64().unwrap() as u16;
    let address = |host: u8| SocketAddr::from(([10, 0, 0, host], port));
    let d = Datagram::new(address(1), address(2), &octets);
    assert_eq!(claim(&d).map(|c| c.protocol()), Some(protocol), "{name}");
    let mut faults = Faults::new();
    let decoded = decoder(protocol).decode(&d, &mut faults).is_ok();

    let mut expected: Vec<(String, &str)> =
        vector["expect"].as_array().unwrap().iter().map(|e| split(prefix, e.as_str().unwrap())).collect();
    let mut found: Vec<(String, &str)> =
        faults.as_slice().iter().map(|f| (f.rule.code.to_string(), severity_or_word(f, &expected))).collect();
    expected.sort();
    found.sort();
    let undecodable = expected.iter().any(|(_, word)| word.starts_with("not-"));
    let readable = decoded != undecodable || name.starts_with("short");
    (expected != found || !readable)
        .then(|| format!("{name}: expected {expected:?}, found {found:?}, decoded: {decoded}"))
}

/// `S12:explained` as code and word.
fn split<'a>(prefix: &str, expectation: &'a str) -> (String, &'a str) {
    let (rule, word) = expectation.split_once(':').unwrap();
    (format!("{prefix}-{rule}"), word)
}

/// The severity of a fault; or, for an info fault whose text holds the word the vector asks for, that word.
fn severity_or_word<'a>(fault: &Fault, expected: &[(String, &'a str)]) -> &'a str {
    let severity = fault.severity.name();
    let word = expected.iter().find(|(code, _)| code == fault.rule.code).map(|(_, word)| *word);
    word.filter(|w| severity == "info" && (fault.hint.contains(w) || fault.rule.title.contains(w)))
        .unwrap_or(severity)
}

fn decoder(protocol: Protocol) -> &'static dyn Decoder {
    *DECODERS.iter().find(|d| d.protocol() == protocol).unwrap()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}
