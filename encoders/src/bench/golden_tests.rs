//! The reference against the golden vectors, whose octets come from elsewhere.

use super::*;

/// The text of a vector of the project, as hex digits.
fn hex(file: &str, name: &str) -> Vec<u8> {
    let line = file.lines().find(|line| line.contains(&format!("\"name\": \"{name}\""))).expect(name);
    let (_, rest) = line.split_once("\"hex\": \"").expect("hex");
    let digits = rest.split('"').next().unwrap();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

fn be16(d: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([d[at], d[at + 1]])
}

fn be32(d: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(d[at..at + 4].try_into().unwrap())
}

fn identity() -> Identity {
    Identity {
        cid: [0; 16],
        name: String::new(),
        priority: 100,
        universe: 1,
        port_address: 0,
        physical: 0,
        ddp_id: 1,
        ddp_type: 0x0B,
        device: 0,
        mark_first: true,
    }
}

fn numbers(first: u32) -> Numbers {
    Numbers { frames: 0, first, ddp_last: 15 }
}

#[test]
fn the_sacn_reference_is_the_golden_vector() {
    let file = include_str!("../../../protocols/vectors/sacn/golden.json");
    for name in ["data-512", "data-510", "max-universe", "prio-0", "data-1slot-startcode-only"] {
        let want = hex(file, name);
        let end = 44 + want[44..108].iter().position(|octet| *octet == 0).unwrap();
        let who = Identity {
            cid: want[22..38].try_into().unwrap(),
            name: String::from_utf8(want[44..end].to_vec()).unwrap(),
            priority: want[108],
            universe: be16(&want, 113),
            ..identity()
        };
        // A frame of no octets has no datagram, hence the part alone.
        let got = sacn(&who, numbers(want[111].into()), 0, &want[126..]).unwrap();
        assert_eq!(got, want, "{name}");
    }
}

#[test]
fn the_ddp_reference_is_the_golden_vector() {
    let file = include_str!("../../../protocols/vectors/ddp/golden.json");
    for (name, count) in [("data", 2), ("data-push", 1), ("type-01", 2), ("seq-16-reserved-bit", 2)] {
        let want = hex(file, name);
        let who = Identity { ddp_type: want[2], ddp_id: want[3], ..identity() };
        let numbers = Numbers { ddp_last: want[1].max(15), ..numbers(want[1].into()) };
        let got = ddp(&who, numbers, count, 0, want.len() - 10, &want[10..]).unwrap();
        assert_eq!(got, want, "{name}");
    }
}

#[test]
fn the_art_net_reference_is_the_golden_vector() {
    let file = include_str!("../../../protocols/vectors/artnet/golden.json");
    for name in ["artdmx-2", "artdmx-512"] {
        let want = hex(file, name);
        let port_address = u16::from_le_bytes([want[14], want[15]]);
        let who = Identity { physical: want[13], port_address, ..identity() };
        let first = numbers(want[12].into());
        let got = datagrams(Protocol::ArtNet, &who, 512, first, &want[18..]).unwrap();
        assert_eq!(got, [want], "{name}");
    }
}

#[test]
fn the_big_packet_reference_is_the_golden_vector() {
    let file = include_str!("../../../protocols/vectors/bigpacket/golden.json");
    let (first, last) = (hex(file, "chunk-0"), hex(file, "chunk-5-last"));
    let who = Identity { device: be16(&first, 8), mark_first: false, ..identity() };
    let frame = vec![first[32]; be32(&first, 24) as usize];
    let got = datagrams(Protocol::BigPacket, &who, 1440, numbers(be32(&first, 16)), &frame).unwrap();
    assert_eq!(got.len(), 6);
    assert_eq!((&got[0], &got[5]), (&first, &last));
}

#[test]
fn numbers_wrap_as_the_texts_say() {
    let at = |protocol, frames: u64, octet: usize| {
        let first = if matches!(protocol, Protocol::Sacn | Protocol::BigPacket) { 0 } else { 1 };
        let numbers = Numbers { frames, first, ddp_last: 15 };
        datagrams(protocol, &identity(), 4, numbers, &[7; 10])
            .unwrap()
            .iter()
            .map(|d| d[octet])
            .collect::<Vec<_>>()
    };
    assert_eq!(at(Protocol::Sacn, 255, 111), [255; 3]);
    assert_eq!(at(Protocol::Sacn, 256, 111), [0; 3]);
    assert_eq!(at(Protocol::ArtNet, 254, 12), [255; 3]);
    assert_eq!(at(Protocol::ArtNet, 255, 12), [1; 3]);
    assert_eq!(at(Protocol::Ddp, 4, 1), [13, 14, 15]);
    assert_eq!(at(Protocol::Ddp, 5, 1), [1, 2, 3]);
    assert_eq!(at(Protocol::Ddp, u64::MAX, 1), [1, 2, 3]);
    assert_eq!(at(Protocol::BigPacket, u64::from(u32::MAX), 16), [255; 3]);
    assert_eq!(at(Protocol::BigPacket, 1 << 32, 19), [0; 3]);
}

#[test]
fn places_and_marks_follow_the_parts_of_the_frame() {
    let frame: Vec<u8> = (1..=10).collect();
    let all = |protocol, first| datagrams(protocol, &identity(), 4, numbers(first), &frame).unwrap();
    let sacn = all(Protocol::Sacn, 0);
    assert_eq!(sacn.iter().map(|d| be16(d, 113)).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(sacn.iter().map(|d| d[126..].to_vec()).collect::<Vec<_>>().concat(), frame);
    let artnet = all(Protocol::ArtNet, 1);
    assert_eq!(artnet.iter().map(|d| d[14]).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(artnet[2][16..], [0, 2, 9, 10]);
    let ddp = all(Protocol::Ddp, 1);
    assert_eq!(ddp.iter().map(|d| (d[0], be32(d, 4))).collect::<Vec<_>>(), [(0x40, 0), (0x40, 4), (0x41, 8)]);
    let big = all(Protocol::BigPacket, 0);
    assert_eq!(big.iter().map(|d| (be16(d, 6), be32(d, 20))).collect::<Vec<_>>(), [(2, 0), (0, 4), (1, 8)]);
}

#[test]
fn an_odd_number_of_levels_is_padded() {
    let got = datagrams(Protocol::ArtNet, &identity(), 512, numbers(1), &[5, 6, 7]).unwrap();
    assert_eq!(got[0][16..], [0, 4, 5, 6, 7, 0]);
}

#[test]
fn what_no_field_holds_is_refused() {
    let refused = |protocol, packing, octets: usize| {
        datagrams(protocol, &identity(), packing, numbers(1), &vec![0; octets]).is_err()
    };
    assert!(refused(Protocol::Sacn, 0, 1));
    assert!(refused(Protocol::Sacn, 5000, 5000));
    assert!(refused(Protocol::ArtNet, 1, 0x8001) && !refused(Protocol::ArtNet, 1, 0x8000));
    assert!(refused(Protocol::Ddp, 70_000, 70_000));
    assert!(refused(Protocol::BigPacket, 1, 65_537));
    assert!(refused(Protocol::Kinet, 512, 512));
}
