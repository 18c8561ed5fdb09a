//! A sender that stutters and one that has nothing to change: what a pause is by the content around it; and datagrams that
//! came with a wrong checksum. Scenarios with answers by hand.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests count as tests"
)]

mod wire;

use wire::account::{found, has, only, sequence};
use wire::capture::{Data, FRAME, MS, Wire};
use wireproof_protocols::verify::Account;
use wireproof_protocols::{Checksum, Link};

/// How a protocol puts content into a frame: number of the frame, and what stands in its first and its last part.
type Frame = fn(&mut Wire, usize, u8, u8);

/// Sends a datagram whose IP id says that nothing is missing before it.
fn put(w: &mut Wire, octets: &[u8]) {
    w.link.ip_id = Some(w.link.ip_id.map_or(1, |id| id % 60_000 + 1));
    w.send(octets);
}

fn sacn(w: &mut Wire, n: usize, _: u8, content: u8) {
    put(w, &Data { content, slots: 64, ..Data::numbered((n % 256) as u8) }.octets());
}

fn art_net(w: &mut Wire, n: usize, _: u8, content: u8) {
    put(w, &wire::art_dmx((n % 255 + 1) as u8, 0, 1, &[content; 64]));
}

fn ddp(w: &mut Wire, n: usize, first: u8, content: u8) {
    for (c, content) in [(0, first), (1, first), (2, content)] {
        let head = [0x40 | u8::from(c == 2), ((n * 3 + c as usize) % 15 + 1) as u8, 1];
        put(w, &wire::ddp(head, c * 60, 60, &[content; 60]));
    }
}

fn bigpacket(w: &mut Wire, n: usize, first: u8, content: u8) {
    for (c, content) in [(0u16, first), (1, first), (2, content)] {
        let tail = [n as u32, u32::from(c) * 60, 180, 0];
        put(w, &wire::bigpacket([u16::from(c == 2), 7, c, 3], tail, &[content; 60]));
    }
}

const PROTOCOLS: [(&str, u16, Frame); 4] =
    [("sACN", 5568, sacn), ("Art-Net", 6454, art_net), ("DDP", 4048, ddp), ("BigPacket", 21600, bigpacket)];

/// Pauses told of a sender of 60 moving frames, then as `after` says: pause before a frame in ms, and whether it shows
/// anything new in its first and its last part.
fn pauses(of: Frame, port: u16, after: &[(i64, bool, bool)]) -> u64 {
    let mut w = Wire::new(port);
    let (mut n, mut first, mut content) = (0, 0u8, 0u8);
    for round in 0..4 {
        let moving = (0..60).map(|_| (FRAME / MS, true, true));
        for (pause, new_first, new) in moving.chain(after.iter().copied()) {
            w.wait(pause * MS);
            // Two rounds are not alike.
            first = first.wrapping_add(if new_first { 7 + round } else { 0 });
            content = content.wrapping_add(if new { 11 + round } else { 0 });
            of(&mut w, n, first, content);
            n += 1;
        }
    }
    let a = w.finish();
    assert!(!has(&a, "SEQ-LOST") && !has(&a, "SEQ-AMBIGUOUS"), "{:?}", a.findings);
    found(&a, "TIME-GAP").iter().map(|f| f.count).sum()
}

#[test]
fn unchanged_content_after_a_pause_is_a_keep_alive_and_new_content_a_stutter() {
    const SAME: (i64, bool, bool) = (25, false, false);
    for (name, port, of) in PROTOCOLS {
        let told = |after: &[(i64, bool, bool)]| pauses(of, port, after);
        assert_eq!(
            told(&[SAME, SAME, SAME, (900, false, false), (900, false, false)]),
            0,
            "{name}: keep-alives"
        );
        assert_eq!(told(&[SAME, (800, false, false)]), 0, "{name}: after a single repeat");
        assert_eq!(told(&[(1_000, false, false), SAME]), 0, "{name}: after no repeat");
        let idle = &[SAME, SAME, SAME, (900, false, false), (400, true, true)];
        assert_eq!(told(idle), 0, "{name}: a change after a pause in which nothing was to change");
        // Content moves on both sides of it.
        assert_eq!(told(&[(900, true, true)]), 4, "{name}: a stutter");
        assert_eq!(told(&[(100, true, true)]), 4, "{name}: a short one");
        assert_eq!(told(&[(900, false, true)]), 4, "{name}: only the end of the frame is new");
        let late =
            &[SAME, SAME, SAME, (900, false, false), (25, true, true), (25, true, true), (200, true, true)];
        assert_eq!(told(late), 4, "{name}: a stutter of a sender that keeps alive");
        // It is too soon for a keep-alive, and nothing says that the sender sends any.
        assert_eq!(told(&[SAME, SAME, SAME, (200, false, false)]), 4, "{name}: a sender that never rests");
    }
    assert_eq!(pauses(art_net, 6454, &[SAME, SAME, (4_000, false, false)]), 0, "Art-Net repeats after 4 s");
}

/// 400 datagrams of a universe, those for which `wrong` holds with a wrong checksum.
fn checksums(wrong: impl Fn(usize) -> bool, fragments: impl Fn(usize) -> u16) -> Account {
    let mut w = Wire::sacn();
    for n in 0..400 {
        let checksum = if wrong(n) { Checksum::Bad } else { Checksum::Good };
        w.link = Link { checksum, fragments: fragments(n), ip_id: Some(n as u16 + 1), ..Link::default() };
        w.numbers([(n % 256) as u8]);
    }
    w.finish()
}

/// Told of damage and of the network card, lost, and of that on the wire.
type Told = (u64, u64, u64, u64);

fn told(a: &Account) -> Told {
    let count = |code: &str| found(a, code).iter().map(|f| f.count).sum();
    (count("CAP-CHECKSUM"), count("CAP-OFFLOAD"), sequence(a).0, only(a).owners.wire)
}

#[test]
fn a_wrong_checksum_is_the_wires_or_the_network_cards_and_what_is_damaged_is_lost() {
    let whole = |_: usize| 1;
    let scenarios: [(&str, Account, Told); 9] = [
        ("none", checksums(|_| false, whole), (0, 0, 0, 0)),
        ("all: a capture on the sender", checksums(|_| true, whole), (0, 400, 0, 0)),
        ("all but one, right by chance", checksums(|n| n != 200, whole), (0, 399, 0, 0)),
        ("one", checksums(|n| n == 200, whole), (1, 0, 1, 1)),
        ("every tenth", checksums(|n| n % 10 == 5, whole), (40, 0, 40, 40)),
        ("every second: the last one leaves no gap", checksums(|n| n % 2 == 1, whole), (200, 0, 199, 199)),
        // What is damaged before the first right one lies before the beginning: nothing is missing there.
        ("the first five", checksums(|n| n < 5, whole), (5, 0, 0, 0)),
        (
            "all whole ones, fragments right",
            checksums(|n| n % 2 == 1, |n| 1 + (n % 2 == 0) as u16),
            (0, 200, 0, 0),
        ),
        ("one of fragments only", checksums(|n| n == 200, |_| 3), (1, 0, 1, 1)),
    ];
    for (what, a, expected) in scenarios {
        assert_eq!(told(&a), expected, "{what}: {:?}", a.findings);
        let sum = expected.0 + expected.1;
        assert!(sum == a.datagrams.bad_checksum && sum <= a.datagrams.lighting, "{what}: each counts once");
        assert_eq!(has(&a, "SEQ-LOST"), expected.2 > 0, "{what}");
        assert!(!has(&a, "SEQ-AMBIGUOUS"), "{what}: {:?}", a.findings);
    }
}

#[test]
fn damage_is_told_while_the_run_goes_on() {
    let mut w = Wire::sacn();
    let mut told = Vec::new();
    for n in 0..60u8 {
        let checksum = if n < 3 || n == 30 { Checksum::Bad } else { Checksum::Good };
        w.link = Link { checksum, ip_id: Some(u16::from(n) + 1), ..Link::default() };
        w.numbers([n]);
        let news = w.verifier.news(wireproof_protocols::Timestamp(w.at));
        told.extend(news.iter().filter(|f| f.code.starts_with("CAP-")).map(|f| (n, f.code, f.count)));
    }
    assert_eq!(told, [(3, "CAP-CHECKSUM", 3)]);
    let a = w.finish();
    assert_eq!((found(&a, "CAP-CHECKSUM")[0].count, has(&a, "CAP-OFFLOAD")), (4, false));
    assert_eq!(found(&a, "CAP-CHECKSUM")[0].first_packet, 1);
}
