//! Corner cases of the BigPacket decoder that the golden vectors do not reach.

use super::*;
use proptest::prelude::*;
use std::net::SocketAddr;

/// Chunk `index` of `count`, 8 octets each, LAST where it belongs.
fn chunk(index: u16, count: u16) -> Vec<u8> {
    let mut p = vec![0; HEAD_LEN + 8];
    p[..6].copy_from_slice(b"BPK1\x01\x20");
    p[7] = u8::from(index + 1 == count);
    p[9] = 7;
    p[10..12].copy_from_slice(&index.to_be_bytes());
    p[12..14].copy_from_slice(&count.to_be_bytes());
    p[15] = 8;
    p[19] = 9;
    p[20..24].copy_from_slice(&(u32::from(index) * 8).to_be_bytes());
    p[24..28].copy_from_slice(&(u32::from(count) * 8).to_be_bytes());
    p
}

fn host() -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 2], PORT))
}

fn read<'a>(d: &Datagram<'a>) -> (Result<Pdu<'a>, Undecodable>, Vec<(&'static str, Severity)>) {
    let mut faults = Faults::new();
    let pdu = BigPacket.decode(d, &mut faults);
    (pdu, faults.as_slice().iter().map(|f| (&f.rule.code[10..], f.severity)).collect())
}

fn found(payload: &[u8]) -> Vec<(&'static str, Severity)> {
    read(&Datagram::new(host(), host(), payload)).1
}

#[test]
fn every_chunk_of_a_frame_is_clean_and_yields_its_fields() {
    for index in 0..3 {
        let mut packet = chunk(index, 3);
        packet[7] |= FLAG_REPEAT as u8 | FLAG_TIME as u8;
        packet[31] = 77;
        let d = Datagram::new(host(), host(), &packet);
        let (pdu, found) = read(&d);
        let pdu = pdu.unwrap();
        assert_eq!(found, [], "chunk {index}");
        assert_eq!((pdu.stream, pdu.sequence, pdu.index, pdu.count), (Some(7), Some(9), index, 3));
        assert_eq!((pdu.offset, pdu.frame_length), (u32::from(index) * 8, 24));
        assert_eq!((pdu.data.len(), pdu.data_length, pdu.sender_time), (8, 8, 77));
        assert!(pdu.marks.has(Marks::DATA.and(Marks::REPEAT).and(Marks::TIMED)));
        assert_eq!(pdu.marks.has(Marks::PUSH), index == 2);
    }
}

#[test]
fn a_short_last_chunk_is_in_place() {
    let mut packet = chunk(2, 3);
    packet.truncate(HEAD_LEN + 3);
    packet[15] = 3;
    packet[27] = 19;
    assert_eq!(found(&packet), []);
    packet[27] = 20;
    assert_eq!(found(&packet), [("B07", Severity::Warning)], "it leaves the end of the frame unsent");
}

#[test]
fn an_offset_that_is_not_index_times_chunk_is_a_warning() {
    let mut packet = chunk(1, 3);
    packet[23] = 9;
    assert_eq!(found(&packet), [("B07", Severity::Warning)]);
}

#[test]
fn every_truncation_is_named() {
    let full = chunk(0, 3);
    for n in 0..full.len() {
        let (pdu, found) = read(&Datagram::new(host(), host(), &full[..n]));
        let expected = match n {
            0..4 => ("B01", Severity::Info),
            4..HEAD_LEN => ("B03", Severity::Violation),
            _ => ("B06", Severity::Violation),
        };
        assert_eq!(found, [expected], "{n} octets");
        assert_eq!(pdu.is_ok(), n >= 4, "{n} octets");
    }
}

#[test]
fn octets_the_capture_cut_off_are_not_held_against_the_sender() {
    let full = chunk(0, 3);
    for n in 4..full.len() {
        let d = Datagram { length: full.len() as u32, ..Datagram::new(host(), host(), &full[..n]) };
        let (pdu, found) = read(&d);
        assert_eq!(found, [], "{n} octets");
        assert_eq!(pdu.map(|p| p.stream.is_some()), Ok(n >= 10), "{n} octets");
    }
}

#[test]
fn a_longer_header_of_a_later_version_is_skipped() {
    let mut packet = chunk(0, 3);
    packet.splice(HEAD_LEN..HEAD_LEN, [0xee; 4]);
    packet[5] = 36;
    packet[39] = 5;
    let d = Datagram::new(host(), host(), &packet);
    let (pdu, found) = read(&d);
    assert_eq!(found, [("B03", Severity::Info)]);
    assert_eq!(pdu.unwrap().data, &packet[36..]);
}

#[test]
fn every_other_value_of_a_header_octet_is_a_fault_or_a_free_field() {
    let mut packet = chunk(1, 3);
    for at in 0..HEAD_LEN {
        let right = packet[at];
        // The flags FIRST, REPEAT and TIME, the device, the count, the sequence, the frame length and the time.
        let free = matches!(at, 7..10 | 12 | 13 | 16..20 | 24..32);
        for value in (0..=255).filter(|v| *v != right) {
            packet[at] = value;
            assert!(free || !found(&packet).is_empty(), "octet {at} = {value:#04x}");
        }
        packet[at] = right;
    }
}

#[test]
fn the_catalogue_is_in_order() {
    assert!(RULES.is_sorted_by(|a, b| a.code < b.code));
}

proptest! {
    #[test]
    fn any_octets_behind_the_magic_never_panic(
        mut octets in proptest::collection::vec(any::<u8>(), 0..80),
        cut in 0_u32..40,
    ) {
        let n = octets.len().min(4);
        octets[..n].copy_from_slice(&MAGIC[..n]);
        let whole = Datagram::new(host(), host(), &octets);
        let (pdu, _) = read(&Datagram { length: whole.length + cut, ..whole });
        prop_assert_eq!(pdu.is_ok(), octets.len() >= 4);
    }
}
