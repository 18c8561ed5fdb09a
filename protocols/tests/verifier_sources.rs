//! Who sends: one source or two, by what receivers would do with their datagrams; scenarios with answers by hand.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests count as tests"
)]

mod wire;

use std::net::SocketAddr;
use wire::account::{found, has};
use wire::capture::{Data, FRAME, MS, START};
use wireproof_protocols::verify::{Account, Options, Verifier};
use wireproof_protocols::{Arrival, Datagram, Link, Timestamp};

/// One datagram of a scenario.
struct Sent {
    at: i64,
    from: String,
    to: String,
    vlan: Option<u16>,
    octets: Vec<u8>,
}

/// Lost in all streams, and the findings that speak of sources.
fn judged(sent: Vec<Sent>) -> (Account, u64, Vec<&'static str>) {
    let mut verifier = Verifier::new(Options::default());
    let mut sent = sent;
    sent.sort_by_key(|s| s.at);
    for (packet, s) in (1..).zip(&sent) {
        let [from, to]: [SocketAddr; 2] = [&s.from, &s.to].map(|a| a.parse().unwrap());
        let link = Link { vlan: s.vlan, ..Link::default() };
        let d = Datagram { link, ..Datagram::new(from, to, &s.octets) };
        verifier.on_datagram(Arrival { at: Timestamp(START + s.at), packet }, &d);
    }
    let a = verifier.finish();
    let lost = a.streams.iter().map(|s| s.sequence.lost).sum();
    let told = ["SRC-CONFLICT", "SACN-S31", "SEQ-LOST", "SEQ-AMBIGUOUS", "SEQ-DUPLICATE"];
    let codes = told.into_iter().filter(|code| has(&a, code)).collect();
    (a, lost, codes)
}

fn sacn(at: i64, from: &str, data: Data) -> Sent {
    let to = if from.starts_with('[') { "[ff18::8300:1]:5568" } else { "239.255.0.1:5568" };
    Sent { at, from: from.to_owned(), to: to.to_owned(), vlan: None, octets: data.octets() }
}

/// Datagram `n` of universe 1; its content moves with it.
fn numbered(cid: u32, n: usize) -> Data {
    Data { cid, slots: 64, ..Data::numbered((n % 256) as u8) }
}

/// Frames of six chunks of a display, frame `f` from source port `port(f)` with numbers from `first(f)` on.
fn display(
    frames: std::ops::Range<usize>,
    host: &str,
    port: impl Fn(usize) -> usize,
    first: impl Fn(usize) -> usize,
    lost: &[(usize, usize)],
) -> Vec<Sent> {
    let mut sent = Vec::new();
    for (f, c) in frames.flat_map(|f| (0..6).map(move |c| (f, c))).filter(|at| !lost.contains(at)) {
        let number = ((first(f) + c) % 15 + 1) as u8;
        let head = [0x40 | u8::from(c == 5), number, 1];
        let octets = wire::ddp(head, c as u32 * 60, 60, &[(f * 7 + c) as u8; 60]);
        let at = f as i64 * FRAME + c as i64 * MS / 5;
        let from = format!("{host}:{}", port(f));
        sent.push(Sent { at, from, to: "10.0.0.200:4048".to_owned(), vlan: None, octets });
    }
    sent
}

#[test]
fn a_display_whose_sender_changes_its_port_and_never_back_has_one_sender() {
    let runs_on = |f: usize| f * 6;
    let (_, lost, codes) = judged(display(0..300, "10.0.0.1", |f| 40_000 + f, runs_on, &[]));
    assert_eq!((lost, codes), (0, vec![]), "a port for each frame");
    let (_, lost, codes) = judged(display(0..300, "10.0.0.1", |f| 50_000 + f / 50, runs_on, &[]));
    assert_eq!((lost, codes), (0, vec![]), "a port for each session");
    let (a, lost, codes) = judged(display(0..300, "10.0.0.1", |f| 40_000 + f, |_| 0, &[]));
    assert_eq!((lost, codes), (0, vec![]), "a port for each frame, each from the first number on");
    assert!(a.streams.len() < 8, "{}", a.streams.len());
    // What is lost between the numbers that run on is lost: within a frame and over a change of port.
    let missing = [(100, 2), (150, 0), (200, 5), (201, 0)];
    let (a, lost, codes) = judged(display(0..300, "10.0.0.1", |f| 40_000 + f, runs_on, &missing));
    assert_eq!((lost, codes), (4, vec!["SEQ-LOST"]), "{:?}", a.findings);
    // Ten thousand ports are no ten thousand streams.
    let (a, lost, codes) = judged(display(0..10_000, "10.0.0.1", |f| 40_000 + f % 20_000, runs_on, &[]));
    assert_eq!((lost, codes, a.datagrams.unfollowed), (0, vec![], 0));
}

#[test]
fn two_senders_to_one_display_clash_whatever_their_ports() {
    let other = |port: fn(usize) -> usize, host: &str| {
        let mut sent = display(0..200, "10.0.0.1", |_| 40_000, |f| f * 6, &[]);
        sent.extend(
            display(0..200, host, port, |f| f * 6 + 4, &[])
                .into_iter()
                .map(|s| Sent { at: s.at + FRAME / 2, ..s }),
        );
        judged(sent)
    };
    for (what, (_, lost, codes)) in [
        ("two programs of one host", other(|_| 40_001, "10.0.0.1")),
        ("two hosts", other(|_| 40_001, "10.0.0.2")),
        ("one of them with a port for each frame", other(|f| 41_000 + f, "10.0.0.2")),
    ] {
        assert_eq!((lost, codes), (0, vec!["SRC-CONFLICT"]), "{what}");
    }
}

#[test]
fn one_counter_over_two_ports_is_one_sender_whatever_is_lost() {
    let alternate = |lost: &[usize], port: fn(usize) -> usize| {
        let here = (0..600).filter(|n| !lost.contains(n));
        judged(
            here.map(|n| sacn(n as i64 * FRAME, &format!("10.0.0.1:{}", port(n)), numbered(1, n))).collect(),
        )
    };
    let by_two = |n: usize| 40_000 + n % 2;
    let by_seven = |n: usize| 40_000 + n / 7 % 3;
    for port in [by_two as fn(usize) -> usize, by_seven] {
        let (a, lost, codes) = alternate(&[], port);
        assert_eq!((a.streams.len(), lost, codes), (1, 0, vec![]));
        for missing in [&[300, 401, 402][..], &[300], &[300, 301], &[301, 302, 303, 304, 305], &[256, 255]] {
            let (a, lost, codes) = alternate(missing, port);
            let expected = (1, missing.len() as u64, vec!["SEQ-LOST"]);
            assert_eq!((a.streams.len(), lost, codes), expected, "{missing:?}");
        }
    }
    let mut late: Vec<Sent> = (0..600)
        .map(|n| sacn(n as i64 * FRAME, &format!("10.0.0.1:{}", 40_000 + n % 2), numbered(1, n)))
        .collect();
    late[301].at += FRAME + FRAME / 2;
    let (a, lost, codes) = judged(late);
    assert_eq!((a.streams.len(), lost, codes, has(&a, "SEQ-LATE")), (1, 0, vec![], true));
}

#[test]
fn a_counter_each_makes_two_senders_of_one_cid_on_one_host() {
    for ahead in [5, 19, 40, 90, 128, 200, 250] {
        let mut sent = Vec::new();
        for n in (0..400).filter(|n| *n != 200) {
            sent.push(sacn(n as i64 * FRAME, "10.0.0.1:40000", numbered(1, n)));
            let other = Data { content: !(n as u8), ..numbered(1, n + ahead) };
            sent.push(sacn(n as i64 * FRAME + FRAME / 2, "10.0.0.1:40001", other));
        }
        let (a, lost, codes) = judged(sent);
        assert_eq!((a.streams.len(), lost), (2, 2), "{ahead}: {:?}", a.findings);
        assert_eq!(codes, ["SRC-CONFLICT", "SACN-S31", "SEQ-LOST"], "{ahead}");
    }
}

/// The same datagrams from two addresses, `apart` from each other; numbers and content of the second as given.
fn twice(
    second: &str,
    numbers: fn(usize) -> usize,
    content: fn(usize) -> usize,
) -> (Account, u64, Vec<&'static str>) {
    let mut sent = Vec::new();
    for n in 0..400 {
        sent.push(sacn(n as i64 * FRAME, "10.0.0.1:5568", numbered(1, n)));
        let other = Data { content: content(n) as u8, ..numbered(1, numbers(n)) };
        sent.push(sacn(n as i64 * FRAME + MS / 5, second, other));
    }
    judged(sent)
}

#[test]
fn one_source_at_several_addresses_is_no_conflict() {
    for second in ["[fe80::5]:5568", "10.1.0.1:5568"] {
        let (a, lost, codes) = twice(second, |n| n, |n| n);
        assert_eq!((a.streams.len(), lost, codes), (2, 0, vec![]), "the same, {second}");
        let (_, lost, codes) = twice(second, |n| n, |n| n / 300);
        assert_eq!((lost, codes), (0, vec!["SRC-CONFLICT", "SACN-S31"]), "other content, {second}");
        // Receivers of both see one source whose numbers jump; its content is the same.
        let (_, lost, codes) = twice(second, |n| n + 100, |n| n);
        assert_eq!((lost, codes), (0, vec!["SACN-S31"]), "other numbers, {second}");
        let (_, _, codes) = twice(second, |n| n + 100, |n| 255 - n % 256);
        assert_eq!(codes, ["SRC-CONFLICT", "SACN-S31"], "another program, {second}");
    }
    // Content that stands still from the beginning to the end.
    let still = |n: usize| Data { content: 7, ..numbered(1, n) };
    let both = |n: i64| {
        let (at, n) = (n * FRAME, n as usize);
        [sacn(at, "10.0.0.1:5568", still(n)), sacn(at + MS / 5, "10.1.0.1:5568", still(n))]
    };
    assert_eq!(judged((0..400).flat_map(both).collect()).2, [] as [&str; 0]);
}

#[test]
fn a_source_at_two_addresses_hands_over_and_clashes_like_any_other() {
    let pair = |n: i64, cid| {
        let (at, n) = (n * FRAME, n as usize);
        [sacn(at, "10.0.0.1:5568", numbered(cid, n)), sacn(at + MS / 5, "10.1.0.1:5568", numbered(cid, n))]
    };
    let third =
        |n: i64| sacn(n * FRAME + MS, "10.0.0.3:5568", Data { content: 9, ..numbered(3, n as usize) });
    let hand_over = (0..200).flat_map(|n| pair(n, 1)).chain((200..400).map(third)).collect();
    assert_eq!(judged(hand_over).2, [] as [&str; 0]);
    let clash = (0..400).flat_map(|n| pair(n, 1)).chain((200..400).map(third)).collect();
    assert_eq!(judged(clash).2, ["SRC-CONFLICT"]);
}

#[test]
fn desks_on_two_vlans_never_meet() {
    let desks = |vlans: [Option<u16>; 2]| {
        let mut sent = Vec::new();
        for (n, which) in (0..200).flat_map(|n| [(n, 0), (n, 1)]) {
            let from = format!("10.0.0.{}:5568", which + 1);
            let data = Data {
                content: n as u8 ^ (which as u8 * 0x55),
                ..numbered(which as u32 + 1, n + which * 77)
            };
            let at = n as i64 * FRAME + which as i64 * MS;
            sent.push(Sent { vlan: vlans[which], ..sacn(at, &from, data) });
        }
        judged(sent).2
    };
    assert_eq!(desks([Some(5), Some(6)]), [] as [&str; 0]);
    assert_eq!(desks([Some(5), None]), [] as [&str; 0], "the untagged VLAN is one, too");
    assert_eq!(desks([Some(5), Some(5)]), ["SRC-CONFLICT"]);
    assert_eq!(desks([None, None]), ["SRC-CONFLICT"]);
    let texts = |a: &Account| found(a, "SRC-CONFLICT").len();
    assert_eq!(texts(&judged(Vec::new()).0), 0);
}
