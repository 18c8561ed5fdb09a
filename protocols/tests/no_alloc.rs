//! Decoding allocates nothing once the fault list exists, whatever the datagram.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "helpers of tests count as tests"
)]
#![allow(clippy::disallowed_methods, reason = "tests read golden files")]

use std::net::SocketAddr;
use std::path::PathBuf;
use wireproof_protocols::registry::{self, DECODERS};
use wireproof_protocols::{Datagram, Faults};

/// Allocations while `work` runs on this thread.
fn counted(work: impl FnOnce()) -> u64 {
    allocation_counter::measure(work).count_total
}

fn unhex(text: &str) -> Vec<u8> {
    let octet = |i: usize| u8::from_str_radix(&text[i..i + 2], 16).unwrap();
    (0..text.len() / 2).map(|i| octet(2 * i)).collect()
}

/// The golden files: the crate's own, else the shared one.
fn golden_files() -> Vec<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let folders = std::fs::read_dir(root.join("vectors")).into_iter().flatten().flatten();
    let mut files: Vec<_> = folders.map(|f| f.path().join("golden.json")).filter(|f| f.exists()).collect();
    let shared = root.join("../../shared/golden/protocols.json");
    if files.is_empty() && shared.exists() {
        files.push(shared);
    }
    files
}

/// Name, port and payload of every golden vector.
fn golden() -> Vec<(String, u16, Vec<u8>)> {
    let mut vectors = Vec::new();
    for file in golden_files() {
        let json: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        for v in json.as_array().or_else(|| json["vectors"].as_array()).expect("a list of vectors") {
            let text = |key: &str| v[key].as_str().unwrap();
            let name = format!("port {} {}", v["port"], text("name"));
            let port = u16::try_from(v["port"].as_u64().unwrap()).unwrap();
            vectors.push((name, port, unhex(text("hex"))));
        }
    }
    vectors
}

#[test]
fn the_counter_sees_an_allocation() {
    assert_eq!(counted(|| drop(std::hint::black_box(Box::new(7)))), 1);
}

#[test]
fn decoding_a_golden_vector_allocates_nothing() {
    let vectors = golden();
    if vectors.is_empty() {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("SKIPPED decoding_a_golden_vector_allocates_nothing: ../shared is absent\n"),
        );
    }
    let mut faults = Faults::new();
    for (name, port, payload) in &vectors {
        let source = SocketAddr::from(([10, 0, 0, 1], *port));
        let d = Datagram::new(source, SocketAddr::from(([10, 0, 0, 2], *port)), payload);
        let n = counted(|| {
            let _ = registry::claim(&d);
            for decoder in DECODERS {
                faults.clear();
                let _ = std::hint::black_box(decoder.decode(&d, &mut faults));
            }
        });
        assert_eq!(n, 0, "{name}");
    }
}

#[test]
fn decoding_to_a_broadcast_address_from_a_truncated_vector_allocates_nothing() {
    let mut faults = Faults::new();
    for (name, port, payload) in golden() {
        let source = SocketAddr::from(([10, 0, 0, 1], 50_000));
        for kept in 0..payload.len() {
            let to = SocketAddr::from(([255, 255, 255, 255], port));
            let d = Datagram::new(source, to, &payload[..kept]);
            let n = counted(|| {
                for decoder in DECODERS {
                    faults.clear();
                    let _ = std::hint::black_box(decoder.decode(&d, &mut faults));
                }
            });
            assert_eq!(n, 0, "{name}, {kept} octets");
        }
    }
}
