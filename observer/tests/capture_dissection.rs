//! Link layers, IP, UDP and fragments: from octets to datagrams.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "helpers of tests")]

#[allow(dead_code, reason = "each test file uses a part of the builders")]
mod capture_support;

use capture_support::*;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use wireproof_protocols::Checksum;

fn tag(id: u16, ether_type: u16, rest: &[u8]) -> Vec<u8> {
    [&(0xa000 | id).to_be_bytes()[..], &ether_type.to_be_bytes(), rest].concat()
}

fn checked(seen: &Seen, payload: &[u8]) {
    assert_eq!((seen.payload.as_slice(), seen.length), (payload, payload.len() as u32));
    assert_eq!(seen.link.checksum, Checksum::Good);
    assert_eq!((seen.source.port(), seen.destination.port()), (1000, 5568));
}

#[test]
fn an_ethernet_datagram_shows_all_the_lower_layers_know() {
    let mut frame = ethernet(0x0800, &udp4(b"hello"));
    let seen = only(&one(1, &frame));
    checked(&seen, b"hello");
    assert_eq!(seen.source, SocketAddr::from((Ipv4Addr::from(SOURCE), 1000)));
    assert_eq!(seen.destination, SocketAddr::from((Ipv4Addr::from(DESTINATION), 5568)));
    assert_eq!((seen.link.ip_id, seen.link.ttl, seen.link.vlan), (Some(7), Some(64), None));
    assert_eq!((seen.link.broadcast, seen.link.fragments), (false, 1));
    frame[..6].fill(0xff);
    assert!(only(&one(1, &frame)).link.broadcast);
}

#[test]
fn vlan_tags_are_followed_and_the_outermost_is_reported() {
    let ip = udp4(b"hello");
    let single = ethernet(0x8100, &tag(40, 0x0800, &ip));
    let double = ethernet(0x88a8, &tag(5, 0x8100, &tag(6, 0x0800, &ip)));
    let triple = ethernet(0x9100, &tag(0, 0x9100, &tag(6, 0x8100, &tag(7, 0x86dd, &udp6(b"hello")))));
    for (frame, vlan) in [(single, 40), (double, 5), (triple, 0)] {
        let seen = only(&one(1, &frame));
        checked(&seen, b"hello");
        assert_eq!(seen.link.vlan, Some(vlan));
    }
}

#[test]
fn llc_and_snap_lead_to_ip() {
    let ip = udp4(b"hello");
    let snap = [&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0][..], &ip].concat();
    let sap = [&[6, 6, 3][..], &ip].concat();
    for body in [snap, sap] {
        checked(&only(&one(1, &ethernet(body.len() as u16, &body))), b"hello");
    }
    let stp = one(1, &ethernet(38, &[0x42; 38]));
    assert!(matches!(read(&stp).unwrap().0[..], [Got::Packet(_)]));
}

#[test]
fn cooked_loopback_and_raw_link_types_lead_to_ip() {
    let (four, six) = (udp4(b"hello"), udp6(b"hello"));
    let sll = |kind: u16, ether_type: u16, ip: &[u8]| {
        [&kind.to_be_bytes()[..], &[0, 1, 0, 6], &[2; 8], &ether_type.to_be_bytes(), ip].concat()
    };
    let sll2 = |kind: u8, ether_type: u16, ip: &[u8]| {
        [&ether_type.to_be_bytes()[..], &[0, 0, 0, 0, 0, 2, 0, 1, kind, 6], &[2; 8], ip].concat()
    };
    let family = |family: [u8; 4], ip: &[u8]| [&family[..], ip].concat();
    let cases = [
        (113, sll(1, 0x0800, &four), true, "SLL"),
        (113, sll(4, 0x8100, &tag(3, 0x86dd, &six)), false, "SLL"),
        (276, sll2(1, 0x0800, &four), true, "SLL2"),
        (276, sll2(0, 0x86dd, &six), false, "SLL2"),
        (0, family([2, 0, 0, 0], &four), false, "NULL"),
        (0, family([0, 0, 0, 2], &four), false, "NULL"),
        (0, family([30, 0, 0, 0], &six), false, "NULL"),
        (0, family([0, 0, 0, 10], &six), false, "NULL"),
        (108, family([0, 0, 0, 24], &six), false, "LOOP"),
        (101, four.clone(), false, "RAW"),
        (12, six.clone(), false, "RAW"),
        (14, four.clone(), false, "RAW"),
        (228, four, false, "IPV4"),
        (229, six, false, "IPV6"),
    ];
    for (link, data, broadcast, name) in cases {
        let file = one(link, &data);
        let seen = only(&file);
        checked(&seen, b"hello");
        assert_eq!(seen.link.broadcast, broadcast, "{name}");
        assert_eq!(read(&file).unwrap().1.link_types[name], 1);
    }
}

#[test]
fn link_types_that_are_not_dissected_are_counted_by_name() {
    for (link, name) in [(105, "802.11"), (127, "RADIOTAP"), (195, "LT195"), (228, "IPV4")] {
        let (items, report) = read(&one(link, &udp6(b"x"))).unwrap();
        assert!(matches!(items[..], [Got::Packet(_)]), "{name}");
        assert_eq!(report.link_types[name], 1);
    }
}

#[test]
fn ip_options_and_ethernet_padding_do_not_reach_the_payload() {
    let options = [1; 12];
    let ip = ipv4(17, 7, 0x4000, &options, &udp(&SOURCE, &DESTINATION, b"hi"));
    let frame = [ethernet(0x0800, &ip), vec![0x55; 18]].concat();
    checked(&only(&one(1, &frame)), b"hi");
}

#[test]
fn octets_between_the_udp_length_and_the_ip_length_are_padding() {
    let padded = [udp(&SOURCE, &DESTINATION, b"hi"), vec![0xaa; 9]].concat();
    checked(&only(&one(101, &ipv4(17, 7, 0, &[], &padded))), b"hi");
}

#[test]
fn an_ipv6_extension_chain_is_followed() {
    let whole = udp(&SOURCE6, &DESTINATION6, b"hello");
    let destination = [&[17, 1][..], &[0; 14], &whole].concat();
    let routing = [&[60, 0, 4, 0][..], &[0; 4], &destination].concat();
    let authentication = [&[43, 4][..], &[0; 22], &routing].concat();
    let hop_by_hop = [&[51, 0][..], &[0; 6], &authentication].concat();
    let seen = only(&one(229, &ipv6(0, &hop_by_hop)));
    checked(&seen, b"hello");
    assert_eq!(seen.destination.ip(), Ipv6Addr::from(DESTINATION6));
    assert_eq!((seen.link.ip_id, seen.link.ttl), (None, Some(63)));
}

#[test]
fn a_routing_header_still_to_follow_leaves_the_checksum_unknown() {
    let whole = udp(&SOURCE6, &DESTINATION6, b"hello");
    let routing = [&[17, 0, 4, 1][..], &[0; 4], &whole].concat();
    assert_eq!(only(&one(229, &ipv6(43, &routing))).link.checksum, Checksum::Unknown);
}

#[test]
fn an_atomic_ipv6_fragment_is_a_whole_datagram() {
    let whole = udp(&SOURCE6, &DESTINATION6, b"hello");
    let atomic = [&[17, 0, 0, 0, 0, 0, 0, 9][..], &whole].concat();
    let file = one(229, &ipv6(44, &atomic));
    checked(&only(&file), b"hello");
    assert_eq!(read(&file).unwrap().1.fragments, (0, 0, 0));
}

#[test]
fn checksums_are_told_apart() {
    for payload in [&b""[..], b"a", b"ab", &pattern(638), &pattern(1471)] {
        let mut ip = udp4(payload);
        assert_eq!(only(&one(101, &ip)).link.checksum, Checksum::Good);
        ip[26] ^= 1;
        assert_eq!(only(&one(101, &ip)).link.checksum, Checksum::Bad);
        ip[26..28].fill(0);
        assert_eq!(only(&one(101, &ip)).link.checksum, Checksum::Absent);
        let six = udp6(payload);
        assert_eq!(only(&one(101, &six)).link.checksum, Checksum::Good);
    }
}

#[test]
fn a_datagram_cut_by_the_snap_length_keeps_its_length_and_loses_its_checksum() {
    let frame = ethernet(0x0800, &udp4(&pattern(600)));
    let file = |kept: usize| pcap(Order::Little, MICRO, 1, &[(0, 0, &frame[..kept], frame.len() as u32)]);
    for kept in [42, 43, 300, frame.len() - 1] {
        let seen = only(&file(kept));
        assert_eq!((seen.payload.len(), seen.length), (kept - 42, 600));
        assert_eq!(seen.link.checksum, Checksum::Unknown);
    }
    for kept in 0..42 {
        assert!(matches!(read(&file(kept)).unwrap().0[..], [Got::Packet(_)]), "{kept}");
    }
}

#[test]
fn lengths_that_cannot_be_right_are_packets_not_datagrams() {
    let good = udp4(&pattern(100));
    let with = |at: usize, value: u16| {
        let mut ip = good.clone();
        ip[at..at + 2].copy_from_slice(&value.to_be_bytes());
        ip
    };
    let spoiled = [
        ("IP longer than the frame", with(2, 129)),
        ("IP shorter than its header", with(2, 19)),
        ("UDP beyond IP", with(24, 109)),
        ("UDP length 0", with(24, 0)),
        ("UDP length 7", with(24, 7)),
        ("header length 16", with(0, 0x4400)),
        ("version 5", with(0, 0x5500)),
    ];
    for (what, ip) in spoiled {
        assert!(matches!(read(&one(101, &ip)).unwrap().0[..], [Got::Packet(_)]), "{what}");
    }
    assert_eq!(only(&one(101, &with(2, 0))).length, 100, "total length 0 of segmentation offload");
}

#[test]
fn fragments_in_any_order_make_the_datagram_at_the_record_that_completes_it() {
    let payload = pattern(3000);
    let parts = fragments4(99, &payload, 1480);
    assert_eq!(parts.len(), 3);
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let file = raw(&order.map(|i: usize| &parts[i][..]));
        let (items, report) = read(&file).unwrap();
        assert!(matches!(items[..2], [Got::Packet(_), Got::Packet(_)]), "{order:?}");
        let Got::Datagram(arrival, seen) = &items[2] else { panic!("{order:?}: {items:?}") };
        checked(seen, &payload);
        assert_eq!((arrival.packet, arrival.at), (3, micros(1_002_000)));
        assert_eq!((seen.link.fragments, seen.link.ip_id), (3, Some(99)));
        assert_eq!((report.fragments, report.overlapping), ((3, 1, 0), 0));
    }
}

#[test]
fn ipv6_fragments_are_put_together_and_their_extension_chain_followed() {
    let payload = pattern(2000);
    let whole = [&[17, 0, 0, 0, 0, 0, 0, 0][..], &udp(&SOURCE6, &DESTINATION6, &payload)].concat();
    let part = |offset: usize, more: u16, octets: &[u8]| {
        let field = (offset as u16 | more).to_be_bytes();
        ipv6(44, &[&[60, 0][..], &field, &[0, 1, 2, 3], octets].concat())
    };
    let (first, last) = (part(0, 1, &whole[..1200]), part(1200, 0, &whole[1200..]));
    for packets in [[&first[..], &last], [&last[..], &first]] {
        let (items, report) = read(&raw(&packets)).unwrap();
        checked(items[1].datagram(), &payload);
        assert_eq!(report.fragments, (2, 1, 0));
    }
}

#[test]
fn of_overlapping_fragments_the_first_octets_win_and_the_datagram_is_marked() {
    let payload = pattern(3000);
    let parts = fragments4(1, &payload, 1480);
    let mut liar = parts[0].clone();
    liar[500..600].fill(0xee);
    let (items, report) = read(&raw(&[&parts[0], &liar, &parts[1], &parts[2]])).unwrap();
    checked(items[3].datagram(), &payload);
    assert_eq!((report.fragments, report.overlapping), ((4, 1, 0), 1));
    let whole = udp(&SOURCE, &DESTINATION, &payload);
    let wide = ipv4(17, 1, 0x2000 | 100, &[], &whole[800..2000]);
    let (items, report) = read(&raw(&[&parts[0], &wide, &parts[1], &parts[2]])).unwrap();
    checked(items[3].datagram(), &payload);
    assert_eq!(report.overlapping, 1);
}

#[test]
fn fragments_a_capture_shows_twice_leave_nothing_open() {
    let payload = pattern(3000);
    let parts = fragments4(1, &payload, 1480);
    let twice: Vec<&[u8]> = parts.iter().flat_map(|part| [&part[..], part]).collect();
    let (items, report) = read(&raw(&twice)).unwrap();
    assert_eq!(datagrams(&items).len(), 1);
    assert_eq!((report.fragments, report.overlapping), ((6, 1, 0), 0));
    let again: Vec<&[u8]> = parts.iter().chain(&parts).map(Vec::as_slice).collect();
    let (items, report) = read(&raw(&again)).unwrap();
    assert_eq!(datagrams(&items).len(), 2);
    assert_eq!(report.fragments, (6, 2, 0));
}

#[test]
fn fragments_that_contradict_the_end_are_disregarded() {
    let payload = pattern(3000);
    let parts = fragments4(1, &payload, 1480);
    let beyond = ipv4(17, 1, 2960 / 8 + 100, &[], &[0xee; 80]);
    let short = ipv4(17, 1, 8, &[], &[0xee; 16]);
    let (items, report) = read(&raw(&[&parts[2], &beyond, &short, &parts[0], &parts[1]])).unwrap();
    checked(items[4].datagram(), &payload);
    assert_eq!((report.fragments, report.overlapping), ((5, 1, 0), 1));
    let (items, report) = read(&raw(&[&parts[1], &short])).unwrap();
    assert_eq!((datagrams(&items).len(), report.fragments, report.overlapping), (0, (2, 0, 1), 1));
}

#[test]
fn fragments_of_impossible_shape_are_seen_and_not_kept() {
    let odd = ipv4(17, 1, 0x2000, &[], &[1; 30]);
    let far = ipv4(17, 2, 8191, &[], &[1; 80]);
    let nothing = ipv4(17, 3, 0x2000, &[], &[]);
    let other = ipv4(6, 4, 0x2000, &[], &[1; 32]);
    let (items, report) = read(&raw(&[&odd, &far, &nothing, &other])).unwrap();
    assert_eq!((datagrams(&items).len(), report.fragments), (0, (4, 0, 0)));
}

#[test]
fn a_fragment_cut_by_the_snap_length_leaves_its_datagram_incomplete() {
    let parts = fragments4(1, &pattern(3000), 1480);
    let records: Vec<Raw<'_>> =
        parts.iter().map(|p| (0, 0, &p[..p.len().min(1000)], p.len() as u32)).collect();
    let (items, report) = read(&pcap(Order::Little, MICRO, 101, &records)).unwrap();
    assert_eq!((datagrams(&items).len(), report.fragments), (0, (3, 0, 1)));
}

#[test]
fn more_open_datagrams_than_the_bound_give_up_the_oldest() {
    let parts: Vec<_> = (0..100).map(|id| fragments4(id, &pattern(3000), 1480)).collect();
    let firsts: Vec<&[u8]> = parts.iter().map(|parts| &parts[0][..]).collect();
    assert_eq!(read(&raw(&firsts)).unwrap().1.fragments, (100, 0, 100));
    let newest = parts[36..].iter().flat_map(|parts| [&parts[1][..], &parts[2]]);
    let packets: Vec<&[u8]> = firsts.iter().copied().chain(newest).chain([&parts[35][1][..]]).collect();
    let (items, report) = read(&raw(&packets)).unwrap();
    assert_eq!(datagrams(&items).len(), 64);
    assert_eq!(report.fragments, (100 + 128 + 1, 64, 36 + 1));
}

#[test]
fn a_datagram_open_for_more_than_thirty_seconds_is_given_up() {
    let parts = fragments4(1, &pattern(2000), 1480);
    let file = |gap: u32| {
        let at = |seconds: u32, part: usize| (seconds, 0, &parts[part][..], parts[part].len() as u32);
        pcap(Order::Little, MICRO, 101, &[at(100, 0), at(100 + gap, 1)])
    };
    assert_eq!(read(&file(30)).unwrap().1.fragments, (2, 1, 0));
    assert_eq!(read(&file(31)).unwrap().1.fragments, (2, 0, 2));
}

#[test]
fn the_largest_datagram_is_put_together() {
    let payload = pattern(65_507 - 20);
    let parts = fragments4(1, &payload, 1480);
    let (items, report) = read(&raw(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>())).unwrap();
    let seen = items.last().unwrap().datagram();
    checked(seen, &payload);
    assert_eq!(usize::from(seen.link.fragments), parts.len());
    assert_eq!(report.fragments, (parts.len() as u64, 1, 0));
}
