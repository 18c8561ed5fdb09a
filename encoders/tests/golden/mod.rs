//! Reads the golden vectors: a JSON list of flat objects, from which only three string fields are needed.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use std::path::Path;

/// One vector.
pub(crate) struct Vector {
    pub(crate) protocol: String,
    pub(crate) name: String,
    pub(crate) octets: Vec<u8>,
}

/// All vectors; `None`, said aloud, when the shared folder is absent.
pub(crate) fn vectors(test: &str) -> Option<Vec<Vector>> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/golden/protocols.json"));
    let Ok(text) = std::fs::read_to_string(path) else {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("SKIPPED {test}: ../shared is absent\n"),
        );
        return None;
    };
    let objects = text.split('{').skip(1);
    Some(objects.map(vector).collect())
}

/// The octets of one vector.
pub(crate) fn octets(vectors: &[Vector], protocol: &str, name: &str) -> Vec<u8> {
    let found = vectors.iter().find(|v| v.protocol == protocol && v.name == name);
    found.unwrap_or_else(|| panic!("no vector {protocol}/{name}")).octets.clone()
}

fn vector(object: &str) -> Vector {
    let hex = string(object, "hex");
    let octets = (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap());
    Vector { protocol: string(object, "proto"), name: string(object, "name"), octets: octets.collect() }
}

fn string(object: &str, key: &str) -> String {
    let (_, rest) = object.split_once(&format!("\"{key}\":")).unwrap();
    rest.trim_start().strip_prefix('"').unwrap().split('"').next().unwrap().to_owned()
}
