//! Corner cases of the sACN decoder that the golden vectors do not reach.

use super::*;
use crate::{Layer, Marks};
use proptest::prelude::*;
use std::net::SocketAddr;

const CID: [u8; 16] = *b"\x01\x23\x45\x67\x89\xab\x4d\xef\x81\x23\x45\x67\x89\xab\xcd\xef";

fn root(vector: u32, octets: usize) -> Vec<u8> {
    let mut p = vec![0; octets];
    p[..16].copy_from_slice(b"\x00\x10\x00\x00ASC-E1.17\0\0\0");
    p[18..22].copy_from_slice(&vector.to_be_bytes());
    p[22..38].copy_from_slice(&CID);
    lengths(&mut p, octets, &[16, 38]);
    p
}

/// Writes flags and lengths at `offsets` for a packet that ends at `end`.
fn lengths(p: &mut [u8], end: usize, offsets: &[usize]) {
    for at in offsets {
        p[*at..at + 2].copy_from_slice(&(0x7000 + (end - at) as u16).to_be_bytes());
    }
}

fn data(slots: usize) -> Vec<u8> {
    let mut p = root(4, 126 + slots);
    p[43] = 2;
    p[44..52].copy_from_slice(b"observer");
    p[108] = 100;
    p[111] = 5;
    p[114] = 1;
    lengths(&mut p, 126 + slots, &[115]);
    p[117..123].copy_from_slice(b"\x02\xa1\0\0\0\x01");
    p[123..125].copy_from_slice(&(1 + slots as u16).to_be_bytes());
    p
}

fn sync() -> Vec<u8> {
    let mut p = root(8, 49);
    p[43..47].copy_from_slice(&[1, 9, 0x1b, 0x58]);
    p
}

fn discovery(universes: &[u16]) -> Vec<u8> {
    let mut p = root(8, 120 + 2 * universes.len());
    p[43] = 2;
    p[44] = b'x';
    let end = p.len();
    lengths(&mut p, end, &[112]);
    p[117] = 1;
    for (i, u) in universes.iter().enumerate() {
        p[120 + 2 * i..122 + 2 * i].copy_from_slice(&u.to_be_bytes());
    }
    p
}

fn host() -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 2], PORT))
}

fn read<'a>(d: &Datagram<'a>) -> (Result<Pdu<'a>, Undecodable>, Faults) {
    let mut faults = Faults::new();
    let pdu = Sacn.decode(d, &mut faults);
    (pdu, faults)
}

fn found(payload: &[u8]) -> Vec<&'static str> {
    codes(&read(&Datagram::new(host(), host(), payload)).1)
}

fn codes(faults: &Faults) -> Vec<&'static str> {
    faults.as_slice().iter().map(|f| &f.rule.code[5..]).collect()
}

fn hints(payload: &[u8]) -> Vec<&'static str> {
    let (_, faults) = read(&Datagram::new(host(), host(), payload));
    faults.as_slice().iter().map(|f| f.hint).collect()
}

#[test]
fn clean_packets_of_every_kind_have_no_fault() {
    for slots in [0, 1, 24, 510, 512] {
        assert_eq!(found(&data(slots)), [""; 0], "{slots} slots");
    }
    assert_eq!(found(&sync()), [""; 0]);
    assert_eq!(found(&discovery(&[])), [""; 0]);
    assert_eq!(found(&discovery(&(1..=512).collect::<Vec<_>>())), [""; 0]);
}

#[test]
fn every_truncation_of_a_data_packet_is_named() {
    let full = data(512);
    for n in 0..full.len() {
        let d = Datagram::new(host(), host(), &full[..n]);
        let (pdu, faults) = read(&d);
        let found = codes(&faults);
        assert_eq!(pdu.is_ok(), n >= 16, "{n} octets");
        assert_eq!(found.contains(&"S01"), n < 126, "{n} octets: {found:?}");
        assert_eq!(found.contains(&"S19"), n >= 126, "{n} octets: {found:?}");
        assert!(!faults.well_formed(), "{n} octets");
        if let Ok(pdu) = pdu {
            assert_eq!(pdu.stream.is_some(), n >= 115, "{n} octets");
            assert_eq!(pdu.sequence.is_some(), n >= 112, "{n} octets");
            assert_eq!(pdu.data.len(), n.saturating_sub(126), "{n} octets");
        }
    }
}

#[test]
fn every_truncation_of_the_other_kinds_is_named() {
    for full in [sync(), discovery(&[1, 2, 3])] {
        for n in 0..full.len() {
            let (_, faults) = read(&Datagram::new(host(), host(), &full[..n]));
            assert!(!faults.well_formed(), "{n} of {}: {:?}", full.len(), codes(&faults));
        }
    }
}

#[test]
fn octets_the_capture_cut_off_are_not_held_against_the_sender() {
    for full in [data(512), sync(), discovery(&[1, 2, 3])] {
        for n in 16..full.len() {
            let d = Datagram { length: full.len() as u32, ..Datagram::new(host(), host(), &full[..n]) };
            let (pdu, faults) = read(&d);
            assert!(faults.is_empty(), "{n} of {}: {:?}", full.len(), codes(&faults));
            assert!(pdu.is_ok(), "{n} of {}", full.len());
        }
    }
}

#[test]
fn a_cut_prefix_is_undecodable_and_says_so() {
    let full = data(512);
    let d = Datagram { length: 638, ..Datagram::new(host(), host(), &full[..10]) };
    assert_eq!(codes(&read(&d).1), ["S04"]);
}

/// True for octets of a data packet that may hold several values.
fn is_free(at: usize) -> bool {
    matches!(at, 22..38 | 44..108 | 108..115)
}

#[test]
fn every_other_value_of_a_header_octet_is_a_fault_or_a_free_field() {
    let mut packet = data(20);
    for at in 0..126 {
        let right = packet[at];
        for value in 0..=255 {
            packet[at] = value;
            let d = Datagram::new(host(), host(), &packet);
            let (_, faults) = read(&d);
            let odd = value != right && !is_free(at);
            assert!(!odd || !faults.is_empty(), "octet {at} = {value:#04x}");
        }
        packet[at] = right;
    }
}

#[test]
fn every_other_value_of_a_sync_or_discovery_octet_is_a_fault_or_a_free_field() {
    for (mut packet, free) in [(sync(), 44..47), (discovery(&[700, 900]), 44..108)] {
        for at in 0..packet.len().min(118) {
            let right = packet[at];
            for value in (0..=255).filter(|v| *v != right) {
                packet[at] = value;
                let fault = !found(&packet).is_empty();
                assert!(fault || free.contains(&at) || is_free(at), "octet {at} = {value:#04x}");
            }
            packet[at] = right;
        }
    }
}

#[test]
fn the_fast_test_agrees_with_the_checks_it_spares() {
    let mut packet = data(20);
    packet[110] = 7;
    for at in (0..4).chain(16..126) {
        let right = packet[at];
        for value in 0..=255 {
            packet[at] = value;
            let d = Datagram::new(host(), host(), &packet);
            let mut faults = Faults::new();
            data::explain(&d, &mut faults);
            assert_eq!(data::is_plain_for(&d), Some(faults.is_empty()), "octet {at} = {value:#04x}");
        }
        packet[at] = right;
    }
}

#[test]
fn a_data_packet_yields_all_its_fields() {
    let mut packet = data(3);
    packet[108..113].copy_from_slice(&[120, 0, 7, 200, 0x60]);
    packet[125..129].copy_from_slice(&[0xdd, 1, 2, 3]);
    let (pdu, faults) = read(&Datagram::new(host(), host(), &packet));
    let pdu = pdu.unwrap();
    assert_eq!(codes(&faults), ["S32"]);
    assert_eq!((pdu.kind, pdu.stream, pdu.sequence), (DATA, Some(1), Some(200)));
    assert_eq!((pdu.sender, pdu.name), (Some(CID), &b"observer"[..]));
    assert_eq!((pdu.priority, pdu.sync, pdu.start_code), (120, 7, 0xdd));
    assert_eq!((pdu.data, pdu.data_length), (&[1, 2, 3][..], 3));
    assert_eq!(pdu.marks, Marks::DATA.and(Marks::TERMINATED).and(Marks::FORCE_SYNC));
}

#[test]
fn a_discovery_packet_yields_its_page_and_list() {
    let mut packet = discovery(&[1, 515]);
    packet[118..120].copy_from_slice(&[1, 2]);
    let pdu = read(&Datagram::new(host(), host(), &packet)).0.unwrap();
    assert_eq!((pdu.kind, pdu.stream, pdu.sequence), (DISCOVERY, None, None));
    assert_eq!((pdu.index, pdu.count, pdu.data, pdu.data_length), (1, 3, &[0, 1, 2, 3][..], 4));
}

#[test]
fn a_packet_with_all_lengths_zero_still_yields_stream_and_sequence() {
    let mut packet = data(0);
    for at in [16, 38, 115] {
        packet[at..at + 2].fill(0);
    }
    let d = Datagram::new(host(), host(), &packet);
    let (pdu, faults) = read(&d);
    assert_eq!(codes(&faults), ["S05", "S06", "S08", "S09"]);
    assert_eq!(pdu.map(|p| (p.stream, p.sequence)), Ok((Some(1), Some(5))));
}

#[test]
fn lengths_say_which_mistake_was_made() {
    let mut size = data(512);
    size[16..18].copy_from_slice(&0x727e_u16.to_be_bytes());
    assert_eq!(hints(&size), ["this is the size of the datagram; the field counts from its own first octet"]);
    let mut constants = data(300);
    lengths(&mut constants, 638, &[16, 38, 115]);
    assert_eq!(found(&constants), ["S06", "S08", "S09"]);
    assert!(hints(&constants).iter().all(|h| h.contains("FalconChristmas/fpp#94")));
}

#[test]
fn octets_after_the_packet_are_told_from_wrong_lengths() {
    let mut packet = data(16);
    packet.extend([0; 4]);
    assert_eq!(found(&packet), ["S07"]);
    packet[123..125].copy_from_slice(&21_u16.to_be_bytes());
    assert_eq!(found(&packet), ["S06", "S08", "S09"], "the count covers the datagram, the lengths do not");
    packet[123..125].copy_from_slice(&19_u16.to_be_bytes());
    assert_eq!(found(&packet), ["S07", "S11"], "the count agrees with nothing");
}

#[test]
fn slots_are_bounded_by_a_believable_count() {
    let mut packet = data(16);
    packet.extend([0; 4]);
    let slots = |p: &[u8]| read(&Datagram::new(host(), host(), p)).0.unwrap().data.len();
    assert_eq!(slots(&packet), 16);
    packet[123] = 0xff;
    assert_eq!(slots(&packet), 20);
}

#[test]
fn a_sync_packet_of_another_size_is_named_once() {
    let mut packet = sync();
    packet.extend([0; 4]);
    assert_eq!(found(&packet), ["S07"]);
    lengths(&mut packet, 53, &[16, 38]);
    assert_eq!(found(&packet), ["S01"]);
}

#[test]
fn discovery_lists_are_judged_for_order_repeats_and_size() {
    assert_eq!(found(&discovery(&[2, 1])), ["S40"]);
    assert_eq!(found(&discovery(&[1, 1, 2])), ["S42"]);
    assert_eq!(found(&discovery(&(1..=513).collect::<Vec<_>>())), ["S43"]);
    let mut odd = discovery(&[1, 2]);
    odd.push(0);
    lengths(&mut odd, 125, &[16, 38, 112]);
    assert_eq!(found(&odd), ["S11"]);
}

#[test]
fn senders_known_by_their_cid_are_named() {
    let hint = |cid: &[u8; 16]| {
        let mut packet = data(1);
        packet[22..38].copy_from_slice(cid);
        hints(&packet).concat()
    };
    assert!(hint(b"FALCON FPP\0\0\0\0\0\0").contains("FPP"));
    assert!(hint(&shape::XLIGHTS_CID).contains("xLights"));
    assert!(hint(b"{def0123-4567-89").contains("docsteer/sacnview#263"));
    assert!(hint(b"my controller 01").contains("printable text"));
    assert!(hint(&[0xff; 16]).contains("no UUID"));
}

#[test]
fn relatives_of_e131_are_explained_and_read_no_further() {
    let mut rdmnet = root(0, 60);
    rdmnet[16..23].copy_from_slice(&[0xf0, 0, 44, 0, 0, 0, 0x0a]);
    let mut pathway = root(0x5043_0001, 666);
    pathway[3] = 28;
    for packet in [root(1, 60), root(3, 602), rdmnet, pathway] {
        let d = Datagram::new(host(), host(), &packet);
        let (pdu, faults) = read(&d);
        assert_eq!(codes(&faults), ["S12"]);
        assert!(faults.well_formed() && faults.as_slice()[0].hint.starts_with("explained"));
        assert_eq!(pdu.map(|p| (p.kind, p.stream)), Ok((OTHER, None)));
    }
}

#[test]
fn an_unknown_root_vector_is_a_violation() {
    let d = data(1);
    for vector in [5_u32, 0x0400_0000, 0x8000_0004] {
        let mut packet = d.clone();
        packet[18..22].copy_from_slice(&vector.to_be_bytes());
        let (_, faults) = read(&Datagram::new(host(), host(), &packet));
        assert_eq!(codes(&faults), ["S12"]);
        assert!(!faults.well_formed());
    }
}

#[test]
fn a_reserved_per_address_priority_is_a_warning_at_its_slot() {
    let mut packet = data(3);
    packet[125..129].copy_from_slice(&[0xdd, 200, 201, 255]);
    let (_, faults) = read(&Datagram::new(host(), host(), &packet));
    assert_eq!(codes(&faults), ["S32", "S33"]);
    assert_eq!((faults.as_slice()[1].offset, faults.as_slice()[1].got), (127, Value::Dec(201)));
    assert!(faults.well_formed());
}

#[test]
fn an_address_equal_to_the_universe_is_info() {
    let mut packet = data(3);
    packet[110] = 1;
    let (_, faults) = read(&Datagram::new(host(), host(), &packet));
    assert_eq!(codes(&faults), ["S28"]);
    assert!(faults.well_formed());
}

#[test]
fn packets_in_the_wrong_group_are_violations() {
    let group: SocketAddr = "239.255.0.1:5568".parse().unwrap();
    for (packet, at) in [(sync(), 45), (discovery(&[1]), 0)] {
        let (_, faults) = read(&Datagram::new(host(), group, &packet));
        assert_eq!(codes(&faults), ["S35"]);
        assert_eq!(faults.as_slice()[0].offset, at);
    }
    assert!(read(&Datagram::new(host(), group, &data(3))).1.is_empty());
}

#[test]
fn the_identifier_claims_any_port_and_the_port_claims_any_octets() {
    let elsewhere = SocketAddr::from(([10, 0, 0, 2], 9));
    assert_eq!(Sacn.claims(&Datagram::new(host(), elsewhere, &data(1))), Claim::Magic);
    assert_eq!(Sacn.claims(&Datagram::new(host(), host(), b"hello")), Claim::Port);
    assert_eq!(Sacn.claims(&Datagram::new(host(), elsewhere, b"hello")), Claim::No);
}

#[test]
fn the_catalogue_is_in_order_and_its_names_fit() {
    assert!(rules::RULES.is_sorted_by(|a, b| a.code < b.code));
    for rule in &rules::RULES {
        let texts = [rule.title, rule.clause, rule.meaning, rule.advice, rule.example, rule.edition];
        assert!(texts.iter().all(|t| !t.is_empty() && !t.contains("  ")), "{}", rule.code);
    }
    for (rule, code) in [(S01, "S01"), (S21, "S21"), (S23, "S23"), (S31, "S31"), (S44, "S44"), (S47, "S47")] {
        assert_eq!(&rule.code[5..], code);
    }
    let stream: Vec<_> = rules::RULES.iter().filter(|r| r.layer == Layer::Stream).map(|r| r.code).collect();
    assert_eq!(stream, ["SACN-S31", "SACN-S44", "SACN-S46"]);
}

proptest! {
    #[test]
    fn any_octets_behind_any_vectors_never_panic(
        mut octets in proptest::collection::vec(any::<u8>(), 0..700),
        vectors in (0_u8..10, 0_u8..4),
        cut in 0_u32..100,
    ) {
        let template = root(vectors.0.into(), 44);
        let n = octets.len().min(38);
        octets[..n].copy_from_slice(&template[..n]);
        if let Some(framing) = octets.get_mut(40..44) {
            framing.copy_from_slice(&[0, 0, 0, vectors.1]);
        }
        let whole = Datagram::new(host(), host(), &octets);
        let d = Datagram { length: whole.length + cut, ..whole };
        let (pdu, _) = read(&d);
        prop_assert_eq!(pdu.is_ok(), octets.len() >= 16);
    }
}
