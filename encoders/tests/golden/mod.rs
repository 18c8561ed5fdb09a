//! Reads the golden vectors of the protocols.
#![allow(clippy::disallowed_methods, reason = "tests read golden files")]

use std::path::Path;

/// One vector.
pub(crate) struct Vector {
    pub(crate) protocol: &'static str,
    pub(crate) name: String,
    pub(crate) octets: Vec<u8>,
}

/// All vectors.
pub(crate) fn vectors() -> Vec<Vector> {
    ["sacn", "ddp", "artnet", "bigpacket"].into_iter().flat_map(of).collect()
}

fn of(protocol: &'static str) -> Vec<Vector> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../protocols/vectors"));
    let text = std::fs::read(root.join(protocol).join("golden.json")).unwrap();
    let all: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let vector = |v: &serde_json::Value| {
        let hex = v["hex"].as_str().unwrap();
        let octets = (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap());
        Vector { protocol, name: v["name"].as_str().unwrap().to_owned(), octets: octets.collect() }
    };
    all.as_array().unwrap().iter().map(vector).collect()
}

/// The octets of one vector.
pub(crate) fn octets(vectors: &[Vector], protocol: &str, name: &str) -> Vec<u8> {
    let found = vectors.iter().find(|v| v.protocol == protocol && v.name == name);
    found.unwrap_or_else(|| panic!("no vector {protocol}/{name}")).octets.clone()
}
