//! Layouts against hand-written decoders: the golden vectors, and the same octets damaged, read the same by both; and no
//! layout that is read makes any datagram panic.
//!
//! `WIREPROOF_FUZZ_N` sets the number of generated datagrams (60,000 by default), `WIREPROOF_FUZZ_SEED` the seed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "helpers of tests count as tests, and read the environment"
)]

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use std::net::SocketAddr;
use wireproof_protocols::layout::{Layout, Layouts};
use wireproof_protocols::registry::DECODERS;
use wireproof_protocols::{Claim, Datagram, Decoder, Faults, Marks, Pdu, Severity};

const DATAGRAMS: u64 = 60_000;
const SEED: u64 = 0x1a70;

/// A protocol that both can read.
struct Pair {
    hand: &'static dyn Decoder,
    declared: &'static dyn Decoder,
    port: u16,
    vectors: &'static str,
    codes: &'static [(&'static str, &'static str)],
    /// What only the hand-written decoder judges: addresses, "sequence off" as a finding of a datagram.
    beside: &'static [&'static str],
}

/// A hand-written code and what a layout calls it. Where one of them is two of the other, severities decide.
const BIGPACKET: &[(&str, &str)] = &[
    ("BIGPACKET-B01", "LAYOUT-L01"),
    ("BIGPACKET-B02", "LAYOUT-L02"),
    ("BIGPACKET-B03", "LAYOUT-L03"),
    ("BIGPACKET-B03", "LAYOUT-L04"),
    ("BIGPACKET-B04", "LAYOUT-L05"),
    ("BIGPACKET-B05", "LAYOUT-L08"),
    ("BIGPACKET-B06", "LAYOUT-L06"),
    ("BIGPACKET-B06", "LAYOUT-L07"),
    ("BIGPACKET-B07", "LAYOUT-L11"),
    ("BIGPACKET-B07", "LAYOUT-L12"),
    ("BIGPACKET-B08", "LAYOUT-L13"),
];
const ARTNET: &[(&str, &str)] = &[
    ("ARTNET-A01", "LAYOUT-L01"),
    ("ARTNET-A02", "LAYOUT-L03"),
    ("ARTNET-A04", "LAYOUT-L09"),
    ("ARTNET-A05", "LAYOUT-L05"),
    ("ARTNET-A06", "LAYOUT-L09"),
    ("ARTNET-A07", "LAYOUT-L10"),
    ("ARTNET-A08", "LAYOUT-L06"),
    ("ARTNET-A09", "LAYOUT-L07"),
];

fn pairs() -> [Pair; 2] {
    let layouts = Layouts::shipped().unwrap().decoders();
    let declared = |name: &str| layouts.iter().find(|d| d.protocol().name() == name).unwrap() as &dyn Decoder;
    let hand = |name: &str| *DECODERS.iter().find(|d| d.protocol().name() == name).unwrap();
    [
        Pair {
            hand: hand("bigpacket"),
            declared: declared("layout:bigpacket"),
            port: 21_600,
            vectors: include_str!("../vectors/bigpacket/golden.json"),
            codes: BIGPACKET,
            beside: &[],
        },
        Pair {
            hand: hand("artnet"),
            declared: declared("layout:artdmx"),
            port: 6454,
            vectors: include_str!("../vectors/artnet/golden.json"),
            codes: ARTNET,
            beside: &["ARTNET-A10", "ARTNET-Q20"],
        },
    ]
}

fn vectors(pair: &Pair) -> Vec<(String, Vec<u8>)> {
    let json: serde_json::Value = serde_json::from_str(pair.vectors).unwrap();
    let one = |v: &serde_json::Value| {
        let hex = v["hex"].as_str().unwrap();
        let octet = |i: usize| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap();
        (v["name"].as_str().unwrap().to_owned(), (0..hex.len() / 2).map(octet).collect())
    };
    json.as_array().unwrap().iter().map(one).collect()
}

/// The datagram is on the BigPacket port, or is long enough to be ArtDmx and is.
fn is_the_layouts(pair: &Pair, payload: &[u8]) -> bool {
    pair.port != 6454 || payload.get(8..10).is_some_and(|opcode| opcode == [0x00, 0x50])
}

fn datagram<'a>(pair: &Pair, payload: &'a [u8], length: u32) -> Datagram<'a> {
    let address = |host: u8| SocketAddr::from(([10, 0, 0, host], pair.port));
    Datagram { length, ..Datagram::new(address(1), address(2), payload) }
}

/// What a receiver acts on.
fn seen(pdu: &Pdu<'_>) -> String {
    let numbers = (pdu.stream, pdu.part, pdu.sequence, pdu.index, pdu.count, pdu.offset, pdu.frame_length);
    format!("{numbers:?} {:?} {} {} {:?}", pdu.data, pdu.data_length, pdu.sender_time, pdu.marks)
}

/// Codes of a decoding, hand-written ones in the words of layouts; a code that stands for several is written as all.
fn codes(pair: &Pair, faults: &Faults) -> Vec<(Severity, Vec<&'static str>)> {
    let mut all: Vec<(Severity, Vec<&str>)> = faults
        .as_slice()
        .iter()
        .filter(|f| !pair.beside.contains(&f.rule.code))
        .map(|f| {
            let own: Vec<_> =
                pair.codes.iter().filter(|(hand, _)| *hand == f.rule.code).map(|(_, l)| *l).collect();
            (f.severity, if own.is_empty() { vec![f.rule.code] } else { own })
        })
        .collect();
    all.sort();
    all
}

fn alike(hand: &[(Severity, Vec<&str>)], declared: &[(Severity, Vec<&str>)]) -> bool {
    let mut left = declared.to_vec();
    let found = hand.iter().all(|(severity, any)| {
        let at = left.iter().position(|(s, code)| s == severity && any.contains(&code[0]));
        at.map(|at| left.remove(at)).is_some()
    });
    found && left.is_empty()
}

/// How the two differ; empty when they do not, or only where the documentation says so.
fn difference(pair: &Pair, payload: &[u8], length: u32) -> String {
    let d = datagram(pair, payload, length);
    let (mut by_hand, mut by_layout) = (Faults::new(), Faults::new());
    let hand = pair.hand.decode(&d, &mut by_hand).ok();
    let declared = pair.declared.decode(&d, &mut by_layout).ok();
    // Of a magic that the capture cut, the hand-written decoder says that it is another one.
    if payload.len() < 4 && pair.port == 21_600 && d.is_cut() {
        return String::new();
    }
    if hand.is_some() != declared.is_some() {
        return format!("hand-written read it: {}, the layout: {}", hand.is_some(), declared.is_some());
    }
    // The Art-Net decoder gives up on a header that is cut; a layout keeps the fields that are whole.
    let cut = payload.len() < 18 && pair.port == 6454;
    let (want, got) = (hand.as_ref().map(seen), declared.as_ref().map(seen));
    if want != got && !cut {
        return format!("{want:?}\n{got:?}");
    }
    // A swapped version is no smaller one: a minimum cannot see it.
    let swapped = pair.port == 6454 && payload.get(10..12) == Some(&[14, 0]);
    let (want, got) = (codes(pair, &by_hand), codes(pair, &by_layout));
    if alike(&want, &got) || cut || swapped { String::new() } else { format!("{want:?}\n{got:?}") }
}

#[test]
fn golden_vectors_read_the_same_by_hand_and_by_layout() {
    for pair in pairs() {
        let mut compared = 0;
        for (name, payload) in vectors(&pair) {
            let length = u32::try_from(payload.len()).unwrap();
            if !is_the_layouts(&pair, &payload) {
                let claim = pair.declared.claims(&datagram(&pair, &payload, length));
                assert_eq!(claim, Claim::Port, "{name}: another opcode is another protocol");
                continue;
            }
            assert_eq!(
                difference(&pair, &payload, length),
                "",
                "{}: {name}",
                pair.declared.protocol().name()
            );
            compared += 1;
        }
        println!("{}: {compared} vectors", pair.declared.protocol().name());
        assert!(compared >= 8, "{compared} vectors are too few to mean something");
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |v| v.parse().expect("a whole number"))
}

struct Dice(ChaCha8Rng);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0.next_u32() as usize % n.max(1)
    }

    /// A vector with octets of its header changed, sometimes cut or longer, sometimes cut by the capture.
    fn damaged(&mut self, vector: &[u8]) -> (Vec<u8>, u32) {
        let mut payload = vector.to_vec();
        for _ in 0..self.below(4) {
            let at = self.below(34.min(payload.len().max(1)));
            let value = [0, 1, 2, 0x7f, 0x80, 0xff, self.0.next_u32() as u8][self.below(7)];
            if let Some(octet) = payload.get_mut(at) {
                *octet = value;
            }
        }
        match self.below(6) {
            0 => payload.truncate(self.below(payload.len() + 1)),
            1 => payload.extend(std::iter::repeat_n(0xa5, self.below(40))),
            _ => {}
        }
        let whole = u32::try_from(payload.len()).unwrap();
        match self.below(8) {
            0 => {
                payload.truncate(self.below(payload.len() + 1));
                (payload, whole)
            }
            _ => (payload, whole),
        }
    }
}

#[test]
fn damaged_datagrams_read_the_same_by_hand_and_by_layout() {
    let seed = setting("WIREPROOF_FUZZ_SEED", SEED);
    let datagrams = setting("WIREPROOF_FUZZ_N", DATAGRAMS);
    for pair in pairs() {
        let vectors = vectors(&pair);
        let mut dice = Dice(ChaCha8Rng::seed_from_u64(seed));
        let mut faulty = 0;
        for case in 0..datagrams / 2 {
            let (payload, length) = dice.damaged(&vectors[case as usize % vectors.len()].1);
            if !is_the_layouts(&pair, &payload) {
                continue;
            }
            let difference = difference(&pair, &payload, length);
            let head = &payload[..payload.len().min(40)];
            assert_eq!(difference, "", "seed {seed:#x} case {case}: {} octets, {head:02x?}", payload.len());
            faulty += u64::from(payload != vectors[case as usize % vectors.len()].1);
        }
        println!("seed {seed:#x}: {faulty} damaged datagrams of {}", pair.declared.protocol().name());
        assert!(faulty > datagrams / 8);
    }
}

/// A text that is often a layout: fields one behind the other with roles and keys by chance.
fn text(dice: &mut Dice) -> String {
    const ROLES: [&str; 25] = [
        "magic",
        "const",
        "version",
        "reserved_zero",
        "opaque",
        "stream_id",
        "part",
        "sender_id",
        "sender_name",
        "frame_seq",
        "packet_seq",
        "packet_index",
        "packet_count",
        "byte_offset",
        "payload_len",
        "frame_len",
        "header_len",
        "last_packet",
        "first_packet",
        "repeat",
        "terminated",
        "time_valid",
        "timestamp_us",
        "length_of_rest",
        "checksum",
    ];
    let mut fields = String::new();
    let mut at = 0;
    let mut used = Vec::new();
    for n in 0..1 + dice.below(12) {
        let role = ROLES[dice.below(ROLES.len())];
        let again = used.contains(&role) && !["const", "opaque", "length_of_rest"].contains(&role);
        let role = if again { "opaque" } else { role };
        used.push(role);
        let sum = [("xor8", 1), ("crc16-ccitt", 2), ("inet16", 2), ("crc32", 4)][dice.below(4)];
        let size = match role {
            "checksum" => sum.1,
            "part" => 1,
            "stream_id" | "packet_index" | "packet_count" => 1 + dice.below(4),
            _ => 1 + dice.below(8),
        };
        fields += &format!("[[field]]\nname = \"f{n}\"\nat = {at}\nsize = {size}\nrole = \"{role}\"\n");
        at += size;
        fields += match dice.below(3) {
            0 => "byte_order = \"little\"\n",
            _ => "",
        };
        fields += &match role {
            "magic" | "const" | "version" => format!("const = {}\n", dice.below(256)),
            "checksum" => {
                let covers = ["all", "header", "payload"][dice.below(3)];
                format!("sum = \"{}\"\ncovers = \"{covers}\"\n", sum.0)
            }
            "byte_offset" | "frame_len" | "payload_len" | "header_len" => {
                format!("scale = {}\nadd = {}\n", 1 + dice.below(1000), dice.below(9) as i64 - 4)
            }
            "packet_index" | "length_of_rest" => format!("base = {}\n", dice.below(20)),
            "opaque" => format!("max = {}\nmultiple_of = {}\n", dice.below(256), 2 + dice.below(9)),
            _ => String::new(),
        };
    }
    let extra = dice.below(3);
    let (unit, footer) = (1 + dice.below(4), ["", "footer_hex = \"36\"\n", "footer_len = 3\n"][extra]);
    let frame = ["", "[frame]\nexpect_packets = 3\n", "[frame]\nexpect_bytes = 100\n"][dice.below(3)];
    format!(
        "name = \"by-chance\"\nheader_len = {}\npayload_unit = {unit}\n{footer}[match]\nudp_dst = [7]\n{fields}{frame}",
        at + dice.below(3)
    )
}

#[test]
fn no_layout_makes_a_datagram_panic_or_a_finding_lie_outside() {
    let seed = setting("WIREPROOF_FUZZ_SEED", SEED) ^ 7;
    let mut dice = Dice(ChaCha8Rng::seed_from_u64(seed));
    let mut layouts = 0;
    for _ in 0..700 {
        let text = text(&mut dice);
        let Ok(layout) = Layout::read(&text) else { continue };
        layouts += 1;
        let decoder = &Layouts::new(vec![layout]).unwrap().decoders()[0];
        for _ in 0..40 {
            let mut payload = vec![0; dice.below(80)];
            dice.0.fill_bytes(&mut payload);
            for (at, octet) in payload.iter_mut().enumerate() {
                let fixed = decoder.table().layout.fields.iter().find_map(|f| {
                    let own = f.octets().position(|(o, _)| usize::from(o) == at)?;
                    f.fixed_octets().map(|octets| octets[own])
                });
                *octet = fixed.filter(|_| !f64::from(dice.0.next_u32()).is_nan()).unwrap_or(*octet);
            }
            let sent = payload.len() as u32 + [0, 0, 0, 900][dice.below(4)];
            let to = SocketAddr::from(([10, 0, 0, 1], 7));
            let d = Datagram { length: sent, ..Datagram::new(to, to, &payload) };
            let mut faults = Faults::new();
            let _ = decoder.claims(&d);
            let pdu = decoder.decode(&d, &mut faults);
            let end = d.len().max(payload.len());
            let outside = faults.as_slice().iter().find(|f| usize::from(f.offset) > end);
            assert!(outside.is_none(), "seed {seed:#x}: {outside:?} of {end} octets\n{text}");
            let marked = pdu.map(|pdu| pdu.marks.has(Marks::SYNC));
            assert!(marked != Ok(true), "no layout makes a sync packet");
        }
    }
    println!("seed {seed:#x}: {layouts} layouts, 40 datagrams each");
    assert!(layouts > 150, "{layouts} layouts are too few");
}

#[test]
fn a_layout_wins_a_tie_and_no_more() {
    let read = |text: &str| Layout::read(text).unwrap();
    let house = "name = \"house\"\nheader_len = 4\n[match]\nudp_dst = [6454]\npriority = 9\n[[field]]\nname = \"m\"\nat = 0\n\
                 role = \"magic\"\nconst_hex = \"484f\"\n";
    let shy = house.replace("house", "shy").replace("484f", "5359").replace("priority = 9\n", "");
    let layouts = Layouts::new(vec![read(&shy), read(house)]).unwrap();
    assert_eq!(layouts.decoders()[0].protocol().name(), "layout:house", "the higher priority is asked first");
    let who = |payload: &[u8]| {
        let to = SocketAddr::from(([10, 0, 0, 1], 6454));
        layouts.claim(&Datagram::new(to, to, payload)).map(|d| d.protocol().name())
    };
    assert_eq!(who(b"HOxx"), Some("layout:house"));
    assert_eq!(who(b"SYxx"), Some("layout:shy"));
    assert_eq!(who(b"Art-Net\0\0\x52\0\x0e\0\0"), Some("artnet"), "the registry is sure, no layout is");
    assert_eq!(who(b"zzzz"), Some("layout:house"), "a tie by port");
    assert_eq!(layouts.ports(), [6454]);
    let twice = Layouts::new(vec![read(house), read(house)]);
    assert_eq!(twice.err().as_deref(), Some("house"));
}

#[test]
fn a_capture_filter_asks_for_port_and_magic() {
    let filter = |index: usize| {
        Layout::read(wireproof_protocols::layout::SHIPPED[index].text).unwrap().capture_filter()
    };
    assert_eq!(
        filter(1),
        "(udp dst port 21600 and (ip6 or (udp[8:4] = 0x42504b31))) or (ip and udp and udp[8:4] = 0x42504b31) or \
         (ip[6:2] & 0x1fff != 0)"
    );
    assert_eq!(
        filter(2),
        "(udp dst port 65506 and (ip6 or (udp[8] = 0x9c and udp[9] = 0xda))) or (ip[6:2] & 0x1fff != 0)"
    );
    assert!(filter(0).contains("udp[8:4] = 0x4172742d and udp[12:4] = 0x4e657400 and udp[16:2] = 0x0050"));
}
