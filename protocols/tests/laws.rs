//! Laws every decoder of the registry keeps: no panic, borrowed fields stay inside the payload, same input same
//! answer, one owner for each datagram, complete rule catalogues.
//!
//! `WIREPROOF_FUZZ_N` sets the number of generated datagrams (600,000 by default, half of them random, half
//! mutated golden vectors), `WIREPROOF_FUZZ_SEED` the seed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "helpers of tests count as tests"
)]
#![allow(clippy::disallowed_methods, reason = "tests read golden files and the environment")]

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use wireproof_protocols::layout::Layouts;
use wireproof_protocols::registry::{self, DECODERS};
use wireproof_protocols::{Claim, Datagram, Decoder, Faults, Pdu};

const DATAGRAMS: u64 = 600_000;
const SEED: u64 = 0x5eed_1936;

/// Unicast, multicast and broadcast addresses of both families.
const ADDRESSES: [&str; 12] = [
    "10.0.0.7",
    "127.0.0.1",
    "2.255.255.255",
    "255.255.255.255",
    "239.255.0.1",
    "239.255.255.7",
    "239.255.250.214",
    "224.0.0.1",
    "::1",
    "fe80::1",
    "ff18::8300:1",
    "ff02::1",
];

/// Ports of the protocols, and others.
const PORTS: [u16; 9] = [5568, 4048, 6454, 21600, 6038, 21324, 1, 50_000, 65_535];

struct Vector {
    name: String,
    protocol: String,
    port: u16,
    payload: Vec<u8>,
}

impl Vector {
    fn datagram(&self) -> Datagram<'_> {
        let source = SocketAddr::from(([192, 168, 1, 2], self.port));
        Datagram::new(source, SocketAddr::from(([192, 168, 1, 50], self.port)), &self.payload)
    }
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
    files.sort();
    let shared = root.join("../../shared/golden/protocols.json");
    if files.is_empty() && shared.exists() {
        files.push(shared);
    }
    files
}

/// Every golden vector; says so when there is none.
fn golden(test: &str) -> Vec<Vector> {
    let files = golden_files();
    if files.is_empty() {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("SKIPPED {test}: ../shared is absent\n"),
        );
    }
    files.iter().flat_map(read_golden).collect()
}

fn read_golden(file: &PathBuf) -> Vec<Vector> {
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let list = json.as_array().or_else(|| json["vectors"].as_array()).expect("a list of vectors");
    let folder = file.parent().and_then(|f| f.file_name()).and_then(|n| n.to_str());
    list.iter()
        .map(|v| Vector {
            name: v["name"].as_str().unwrap().to_string(),
            protocol: v["proto"].as_str().or(folder).unwrap().to_string(),
            port: u16::try_from(v["port"].as_u64().unwrap()).unwrap(),
            payload: unhex(v["hex"].as_str().unwrap()),
        })
        .collect()
}

/// Seeded choices.
struct Dice(ChaCha8Rng);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        (self.0.next_u32() as usize) % n.max(1)
    }

    fn octets(&mut self, n: usize) -> Vec<u8> {
        let mut octets = vec![0; n];
        self.0.fill_bytes(&mut octets);
        octets
    }

    fn address(&mut self) -> SocketAddr {
        let ip: IpAddr = ADDRESSES[self.below(ADDRESSES.len())].parse().unwrap();
        let port = match self.below(8) {
            0 => self.0.next_u32() as u16,
            _ => PORTS[self.below(PORTS.len())],
        };
        SocketAddr::new(ip, port)
    }

    /// Random octets, mostly few; half of them behind the first octets of a known header.
    fn random(&mut self, starts: &[&[u8]]) -> Vec<u8> {
        let most = [16, 64, 160, 700, 1600][self.below(5)];
        let n = self.below(most + 1);
        let mut payload = self.octets(n);
        if self.below(2) == 0 {
            let start = starts[self.below(starts.len())];
            let kept = start.len().min(payload.len());
            payload[..kept].copy_from_slice(&start[..kept]);
        }
        payload
    }

    /// A vector with some octets changed, then perhaps shortened or lengthened.
    fn mutated(&mut self, vector: &[u8]) -> Vec<u8> {
        let mut payload = vector.to_vec();
        for _ in 0..=self.below(4) {
            let at = if self.below(4) == 0 { self.below(payload.len()) } else { self.below(130) };
            let value = match self.below(4) {
                0 => [0, 1, 0x7f, 0x80, 0xff][self.below(5)],
                1 => payload.get(at).map_or(0, |o| o ^ (1 << self.below(8))),
                _ => self.0.next_u32() as u8,
            };
            if let Some(octet) = payload.get_mut(at) {
                *octet = value;
            }
        }
        match self.below(5) {
            0 => payload.truncate(self.below(payload.len() + 1)),
            1 => {
                let extra = self.below(40);
                payload.extend(self.octets(extra));
            }
            _ => {}
        }
        payload
    }

    fn datagram<'a>(&mut self, payload: &'a [u8]) -> Datagram<'a> {
        let mut d = Datagram::new(self.address(), self.address(), payload);
        if self.below(4) == 0 {
            d.length += self.below(1500) as u32;
        }
        d.link.broadcast = self.below(8) == 0;
        d
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |v| v.parse().expect("a whole number"))
}

/// First octets of each protocol, so that random octets get past the identifier.
const STARTS: [&[u8]; 9] = [
    b"\x00\x10\x00\x00ASC-E1.17\0\0\0\x72\x6e\0\0\0\x04",
    b"\x00\x10\x00\x00ASC-E1.17\0\0\0\x72\x6e\0\0\0\x08",
    b"Art-Net\0\x00",
    b"Art-Net\0\x00\x50\x00\x0e",
    b"\x41",
    b"BPK1\x01\x20",
    b"\x04\x01\xdc\x4a\x01\x00",
    b"\x9c\xda\x00\x09\x01\x02",
    b"\x04\x02\x00\x10",
];

fn decode<'a>(decoder: &dyn Decoder, d: &Datagram<'a>, faults: &mut Faults) -> Option<Pdu<'a>> {
    faults.clear();
    decoder.decode(d, faults).ok()
}

fn is_inside(part: &[u8], whole: &[u8]) -> bool {
    let (part, whole) = (part.as_ptr_range(), whole.as_ptr_range());
    part.start == part.end || (whole.start <= part.start && part.end <= whole.end)
}

/// Checks the per-datagram laws for one decoder; the message says which one broke.
fn check(decoder: &dyn Decoder, d: &Datagram<'_>, faults: &mut Faults, again: &mut Faults) {
    let first = decode(decoder, d, faults);
    if let Some(pdu) = &first {
        assert!(is_inside(pdu.data, d.payload), "data lies outside the payload");
        assert!(is_inside(pdu.name, d.payload), "name lies outside the payload");
        assert_eq!(pdu.kind.protocol, decoder.protocol(), "a kind of another protocol");
        let start = pdu.kind.name.split('/').next();
        assert_eq!(start, Some(decoder.protocol().name()), "kind name without its protocol");
    }
    let end = d.len().max(d.payload.len());
    for fault in faults.as_slice() {
        assert!(usize::from(fault.offset) <= end, "{} at octet {}", fault.rule.code, fault.offset);
        let catalogued = decoder.rules().iter().any(|r| std::ptr::eq(r, fault.rule));
        assert!(catalogued, "{} is not of the catalogue", fault.rule.code);
    }
    let second = decode(decoder, d, again);
    assert!(same(first.as_ref(), second.as_ref()), "the second decoding differs");
    assert_eq!(faults.as_slice(), again.as_slice(), "the second decoding finds other faults");
}

fn same(a: Option<&Pdu<'_>>, b: Option<&Pdu<'_>>) -> bool {
    let key = |p: &Pdu<'_>| {
        let numbers = (p.stream, p.part, p.sender, p.sequence, p.index, p.count, p.offset, p.frame_length);
        let rest = (p.data_length, p.start_code, p.priority, p.sync, p.sender_time, p.marks);
        (p.kind, numbers, rest, p.data.as_ptr_range(), p.name.as_ptr_range())
    };
    a.map(key) == b.map(key)
}

/// The decoders of the registry and of the layouts that come with the product.
fn decoders() -> Vec<&'static dyn Decoder> {
    let declared = Layouts::shipped().unwrap().decoders().iter().map(|d| d as &dyn Decoder);
    DECODERS.iter().copied().chain(declared).collect()
}

/// Runs `datagrams` cases; a failing one is printed with the seed and its octets.
fn hammer(seed: u64, datagrams: u64, mut make: impl FnMut(&mut Dice, u64) -> Vec<u8>) {
    let mut dice = Dice(ChaCha8Rng::seed_from_u64(seed));
    let (mut faults, mut again) = (Faults::new(), Faults::new());
    let decoders = decoders();
    for case in 0..datagrams {
        let payload = make(&mut dice, case);
        let d = dice.datagram(&payload);
        for decoder in &decoders {
            let run = || {
                let _ = decoder.claims(&d);
                check(*decoder, &d, &mut faults, &mut again);
            };
            if catch_unwind(AssertUnwindSafe(run)).is_err() {
                let (name, hex) = (decoder.protocol().name(), hex(&payload));
                let to = d.destination;
                panic!("seed {seed:#x} case {case}: {name} to {to}, {} octets sent: {hex}", d.length);
            }
        }
    }
    println!("seed {seed:#x}: {datagrams} datagrams, every decoder twice");
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|o| format!("{o:02x}")).collect()
}

#[test]
fn no_random_datagram_breaks_a_law() {
    let seed = setting("WIREPROOF_FUZZ_SEED", SEED);
    hammer(seed, setting("WIREPROOF_FUZZ_N", DATAGRAMS) / 2, |dice, _| dice.random(&STARTS));
}

#[test]
fn no_mutated_golden_vector_breaks_a_law() {
    let vectors = golden("no_mutated_golden_vector_breaks_a_law");
    if vectors.is_empty() {
        return;
    }
    let seed = setting("WIREPROOF_FUZZ_SEED", SEED) ^ 1;
    hammer(seed, setting("WIREPROOF_FUZZ_N", DATAGRAMS) / 2, |dice, case| {
        dice.mutated(&vectors[case as usize % vectors.len()].payload)
    });
}

#[test]
fn exactly_the_right_decoder_claims_a_golden_vector() {
    for v in golden("exactly_the_right_decoder_claims_a_golden_vector") {
        let d = v.datagram();
        let sure = DECODERS.iter().filter(|x| x.claims(&d) == Claim::Magic).count();
        assert!(sure <= 1, "{} {}: {sure} decoders claim its identifier", v.protocol, v.name);
        let owner = registry::claim(&d).map(|x| x.protocol().name());
        assert_eq!(owner, Some(v.protocol.as_str()), "{}", v.name);
    }
}

#[test]
fn no_decoder_claims_a_datagram_of_another_port_without_identifier() {
    let source = SocketAddr::from(([10, 0, 0, 1], 50_000));
    let d = Datagram::new(source, SocketAddr::from(([10, 0, 0, 2], 53)), &[0x40; 64]);
    assert!(registry::claim(&d).is_none());
}

#[test]
fn rule_codes_are_unique_and_well_written() {
    let mut seen = BTreeSet::new();
    for rule in registry::rules() {
        assert!(seen.insert(rule.code), "{} stands twice", rule.code);
        let (start, rest) = rule.code.split_once('-').expect("a dash");
        assert!(!start.is_empty() && start.bytes().all(|o| o.is_ascii_uppercase()), "{}", rule.code);
        let legal = |o: u8| o.is_ascii_uppercase() || o.is_ascii_digit() || o == b'-';
        assert!(!rest.is_empty() && rest.bytes().all(legal), "{}", rule.code);
    }
}

#[test]
fn every_rule_explains_itself() {
    for rule in registry::rules() {
        for (field, text) in [
            ("title", rule.title),
            ("edition", rule.edition),
            ("clause", rule.clause),
            ("meaning", rule.meaning),
            ("advice", rule.advice),
        ] {
            assert!(!text.trim().is_empty(), "{} has no {field}", rule.code);
            assert!(!text.contains("  "), "{}: {field} holds a run of spaces", rule.code);
        }
        assert!(rule.known.iter().all(|k| !k.trim().is_empty()), "{}", rule.code);
    }
}

#[test]
fn rules_are_found_by_code_in_any_case() {
    for rule in registry::rules() {
        let found = registry::rule(&rule.code.to_lowercase());
        assert!(found.is_some_and(|r| std::ptr::eq(r, rule)), "{}", rule.code);
    }
}
