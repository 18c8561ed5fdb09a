//! What the verifier means by its words, one small capture each, and what hostile traffic cannot make it do.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests count as tests"
)]

use std::net::{IpAddr, SocketAddr};
use wireproof_protocols::verify::{Account, Ended, Finding, Options, STREAMS_MAX, StreamAccount, Verifier};
use wireproof_protocols::{Arrival, Checksum, Datagram, Link, Severity, Timestamp};

const MS: i64 = 1_000_000;
/// 1970 and some: the first stamp of each capture.
const START: i64 = 1_700_000_000_000_000_000;
/// Time between two frames where nothing else is said.
const FRAME: i64 = 25 * MS;
/// Octets of a sACN data packet that a test rewrites in place.
const CID: usize = 22;
const NUMBER: usize = 111;
const UNIVERSE: usize = 113;

/// A capture being written.
struct Wire {
    verifier: Verifier,
    at: i64,
    packet: u64,
    source: SocketAddr,
    destination: SocketAddr,
    link: Link,
}

impl Wire {
    fn new(port: u16) -> Wire {
        Wire {
            verifier: Verifier::new(Options::default()),
            at: START,
            packet: 0,
            source: SocketAddr::from(([10, 0, 0, 1], 5000)),
            destination: SocketAddr::from(([10, 0, 0, 200], port)),
            link: Link::default(),
        }
    }

    fn sacn() -> Wire {
        Wire::new(5568)
    }

    fn wait(&mut self, ns: i64) -> &mut Wire {
        self.at += ns;
        self
    }

    fn send(&mut self, payload: &[u8]) -> &mut Wire {
        self.packet += 1;
        let d = Datagram { link: self.link, ..Datagram::new(self.source, self.destination, payload) };
        self.verifier.on_datagram(Arrival { at: Timestamp(self.at), packet: self.packet }, &d);
        self
    }

    /// Sends these numbers on universe 1, one a frame time, each with content of its own.
    fn numbers(&mut self, numbers: impl IntoIterator<Item = u8>) -> &mut Wire {
        for n in numbers {
            self.send(&Data::numbered(n).octets()).wait(FRAME);
        }
        self
    }

    fn finish(self) -> Account {
        self.verifier.finish()
    }
}

/// A sACN data packet.
#[derive(Clone, Copy)]
struct Data {
    cid: u32,
    universe: u16,
    priority: u8,
    sync: u16,
    number: u8,
    options: u8,
    start_code: u8,
    content: u8,
    slots: usize,
}

impl Data {
    fn numbered(number: u8) -> Data {
        Data {
            cid: 1,
            universe: 1,
            priority: 100,
            sync: 0,
            number,
            options: 0,
            start_code: 0,
            content: number,
            slots: 12,
        }
    }

    fn octets(self) -> Vec<u8> {
        let n = 126 + self.slots;
        let mut out = root(n, 4, self.cid);
        out.extend_from_slice(&[0, 0, 0, 2]);
        out.extend_from_slice(&[b'd'; 8]);
        out.extend_from_slice(&[0; 56]);
        out.push(self.priority);
        out.extend_from_slice(&self.sync.to_be_bytes());
        out.extend_from_slice(&[self.number, self.options]);
        out.extend_from_slice(&self.universe.to_be_bytes());
        out.extend_from_slice(&length(n - 115));
        out.extend_from_slice(&[2, 0xa1, 0, 0, 0, 1]);
        out.extend_from_slice(&(self.slots as u16 + 1).to_be_bytes());
        out.push(self.start_code);
        out.resize(n, self.content);
        out
    }
}

fn length(n: usize) -> [u8; 2] {
    (0x7000 | n as u16).to_be_bytes()
}

fn root(n: usize, vector: u8, cid: u32) -> Vec<u8> {
    let mut out = b"\x00\x10\x00\x00ASC-E1.17\0\0\0".to_vec();
    out.extend_from_slice(&length(n - 16));
    out.extend_from_slice(&[0, 0, 0, vector]);
    out.extend_from_slice(&cid.to_be_bytes());
    out.extend_from_slice(&[0x12, 0x34, 0x41, 0x23, 0x81, 0x23, 1, 2, 3, 4, 5, 6]);
    out.extend_from_slice(&length(n - 38));
    out
}

fn sync(number: u8, address: u16) -> Vec<u8> {
    let mut out = root(49, 8, 1);
    out.extend_from_slice(&[0, 0, 0, 1, number]);
    out.extend_from_slice(&address.to_be_bytes());
    out.extend_from_slice(&[0, 0]);
    out
}

fn discovery(cid: u32, first: u16) -> Vec<u8> {
    let mut out = root(1144, 8, cid);
    out.extend_from_slice(&[0, 0, 0, 2]);
    out.extend_from_slice(&[b'd'; 8]);
    out.extend_from_slice(&[0; 60]);
    out.extend_from_slice(&length(1032));
    out.extend_from_slice(&[0, 0, 0, 1, 0, 0]);
    (0..512).for_each(|i| out.extend_from_slice(&first.wrapping_add(i).to_be_bytes()));
    out
}

fn ddp(number: u8, push: bool, offset: u32, data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x40 | u8::from(push), number, 0x0b, 1];
    out.extend_from_slice(&offset.to_be_bytes());
    out.extend_from_slice(&(data.len() as u16).to_be_bytes());
    out.extend_from_slice(data);
    out
}

fn bigpacket(frame: u32, index: u16, count: u16) -> Vec<u8> {
    let mut out = b"BPK1\x01\x20\x00\x00\x00\x07".to_vec();
    out.extend_from_slice(&index.to_be_bytes());
    out.extend_from_slice(&count.to_be_bytes());
    out.extend_from_slice(&[0, 3]);
    out.extend_from_slice(&frame.to_be_bytes());
    out.extend_from_slice(&(u32::from(index) * 3).to_be_bytes());
    out.extend_from_slice(&(u32::from(count) * 3).to_be_bytes());
    out.extend_from_slice(&[0, 0, 0, 0, 1, 2, 3]);
    out
}

fn found<'a>(a: &'a Account, code: &str) -> Vec<&'a Finding> {
    a.findings.iter().filter(|f| f.code == code).collect()
}

fn has(a: &Account, code: &str) -> bool {
    !found(a, code).is_empty()
}

fn only(a: &Account) -> &StreamAccount {
    assert_eq!(a.streams.len(), 1, "{:?}", a.streams);
    &a.streams[0]
}

/// (lost, lost_min, late, old, duplicates) of the only stream.
fn sequence(a: &Account) -> (u64, u64, u64, u64, u64) {
    let s = &only(a).sequence;
    (s.lost, s.lost_min, s.late, s.old, s.duplicates)
}

// ---- numbers

#[test]
fn a_late_datagram_is_neither_lost_nor_a_duplicate() {
    let mut w = Wire::sacn();
    w.numbers(0..30).numbers([31, 30]).numbers(32..50);
    let a = w.finish();
    assert_eq!(sequence(&a), (0, 0, 1, 0, 0));
    assert!(has(&a, "SEQ-LATE") && !has(&a, "SEQ-LOST") && !has(&a, "SEQ-DUPLICATE"));
    assert_eq!(a.outputs[0].frames.torn, 0);
}

#[test]
fn a_late_datagram_that_comes_twice_is_late_once_and_a_duplicate_once() {
    let mut w = Wire::sacn();
    w.numbers(0..30).numbers([31, 30, 30]).numbers(32..50);
    assert_eq!(sequence(&w.finish()), (0, 0, 1, 0, 1));
}

#[test]
fn a_duplicate_does_not_cancel_a_loss() {
    let mut w = Wire::sacn();
    w.numbers(0..30).numbers(31..40).numbers([39]).numbers(40..60);
    let a = w.finish();
    assert_eq!(sequence(&a), (1, 1, 0, 0, 1));
    assert_eq!(only(&a).owners.unknown, 1);
}

#[test]
fn a_number_from_before_the_first_is_old() {
    let mut w = Wire::sacn();
    w.numbers([100, 101, 98]).numbers(102..130);
    let a = w.finish();
    assert_eq!(sequence(&a), (0, 0, 0, 1, 0));
    assert!(!has(&a, "SEQ-LATE"));
}

#[test]
fn duplicates_with_the_same_and_with_another_payload_are_told_apart() {
    let mut w = Wire::sacn();
    w.numbers(0..30).numbers([29]);
    w.send(&Data { content: 222, ..Data::numbered(29) }.octets()).wait(FRAME).numbers(30..50);
    let a = w.finish();
    assert_eq!(sequence(&a).4, 2);
    let texts: Vec<&str> = found(&a, "SEQ-DUPLICATE").iter().map(|f| f.text.as_str()).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[1].contains("another payload"), "{texts:?}");
}

/// Sends number 30 twice, `apart` ns from each other, with this IP id.
fn twice(apart: i64, ip_id: Option<u16>) -> Account {
    let mut w = Wire::sacn();
    w.numbers(0..30);
    w.link.ip_id = ip_id;
    w.send(&Data::numbered(30).octets()).wait(apart).send(&Data::numbered(30).octets());
    w.link.ip_id = None;
    w.wait(FRAME).numbers(31..40);
    w.finish()
}

#[test]
fn a_copy_made_by_the_capture_is_counted_apart_within_five_milliseconds_only() {
    let near = twice(5 * MS, Some(700));
    assert_eq!((near.datagrams.capture_duplicates, sequence(&near).4), (1, 0));
    assert_eq!((near.datagrams.lighting, only(&near).datagrams), (41, 40));
    assert!(has(&near, "CAP-DUPLICATE") && !has(&near, "SEQ-DUPLICATE"));
    for other in [twice(5 * MS + 1, Some(700)), twice(MS, Some(0)), twice(MS, None)] {
        assert_eq!((other.datagrams.capture_duplicates, sequence(&other).4), (0, 1));
    }
}

#[test]
fn a_wrap_from_255_to_1_seen_twice_is_a_habit_and_no_loss() {
    let mut w = Wire::sacn();
    w.numbers(200..=255).numbers(1..=255).numbers(1..=255);
    let a = w.finish();
    assert_eq!(sequence(&a), (0, 0, 0, 0, 0));
    assert_eq!(found(&a, "SEQ-DIALECT")[0].severity, Severity::Info);
    assert_eq!(a.outputs[0].frames.torn, 0);
}

#[test]
fn a_wrap_from_255_to_1_seen_once_is_a_loss_of_one() {
    let mut w = Wire::sacn();
    w.numbers(200..=255).numbers(1..=100);
    assert_eq!(sequence(&w.finish()), (1, 1, 0, 0, 0));
    let mut w = Wire::sacn();
    w.numbers(200..=255).numbers(1..=255).numbers(0..=100);
    assert_eq!(sequence(&w.finish()), (1, 1, 0, 0, 0));
}

#[test]
fn a_zero_that_comes_late_after_the_wrap_is_late_and_not_lost() {
    let mut w = Wire::sacn();
    w.numbers(200..=255).numbers([1, 0]).numbers(2..=100);
    assert_eq!(sequence(&w.finish()), (0, 0, 1, 0, 0));
}

#[test]
fn levels_and_per_address_priorities_share_one_counter() {
    let mut w = Wire::sacn();
    for n in 0..80u8 {
        w.send(&Data { start_code: if n % 4 == 3 { 0xdd } else { 0 }, ..Data::numbered(n) }.octets());
        w.wait(FRAME);
    }
    let a = w.finish();
    assert_eq!(sequence(&a), (0, 0, 0, 0, 0));
    assert_eq!(only(&a).start_codes, [0, 0xdd]);
    assert_eq!(a.outputs[0].frames.torn, 0);
}

// ---- sessions

#[test]
fn after_three_goodbyes_any_number_begins_a_session_and_nothing_is_lost() {
    for (goodbyes, severity) in [(3u8, Severity::Info), (2, Severity::Warning), (4, Severity::Warning)] {
        let mut w = Wire::sacn();
        w.numbers(0..30);
        for n in 30..30 + goodbyes {
            w.send(&Data { options: 0x40, ..Data::numbered(n) }.octets()).wait(FRAME);
        }
        w.numbers(200..230);
        let a = w.finish();
        assert_eq!(sequence(&a), (0, 0, 0, 0, 0));
        assert_eq!((only(&a).sessions, only(&a).sequence.restarts), (2, 1));
        assert_eq!(found(&a, "STREAM-ENDED")[0].severity, severity, "{goodbyes} goodbyes");
        assert_eq!(found(&a, "SEQ-RESTART")[0].severity, Severity::Info);
        assert_eq!(only(&a).ended, Ended::Running);
    }
}

#[test]
fn a_stream_that_ends_with_a_goodbye_is_terminated() {
    let mut w = Wire::sacn();
    w.numbers(0..30);
    (30..33).for_each(|n| {
        w.send(&Data { options: 0x40, ..Data::numbered(n) }.octets()).wait(FRAME);
    });
    let a = w.finish();
    assert_eq!((only(&a).ended, only(&a).sessions, a.outputs[0].causes.goodbye), (Ended::Terminated, 1, 1));
}

#[test]
fn a_silence_over_two_and_a_half_seconds_ends_a_session() {
    for (silence, sessions) in [(2_400 * MS, 1), (2_600 * MS, 2)] {
        let mut w = Wire::sacn();
        w.numbers(0..40).wait(silence - FRAME).numbers(40..60);
        let a = w.finish();
        assert_eq!(sequence(&a), (0, 0, 0, 0, 0), "{silence}");
        assert_eq!(only(&a).sessions, sessions, "{silence}");
        assert_eq!(has(&a, "STREAM-SILENT"), sessions == 2, "{silence}");
    }
}

#[test]
fn a_stream_is_silent_when_the_capture_goes_on_and_running_when_it_does_not() {
    for (rest, ended) in [(2_400, Ended::Running), (2_600, Ended::Silent)] {
        let mut w = Wire::sacn();
        w.numbers(0..40).wait(rest * MS - FRAME);
        w.verifier.on_packet(Arrival { at: Timestamp(w.at), packet: 41 });
        let a = w.finish();
        assert_eq!(only(&a).ended, ended, "{rest} ms");
        assert_eq!(has(&a, "STREAM-SILENT"), ended == Ended::Silent);
    }
}

// ---- frames

/// Thirty frames of universes 1 and 2 with this sync address; `sent` says which of universe 1, universe 2 and
/// the sync packet of a frame reach the capture.
fn frames(address: u16, sent: impl Fn(u8) -> [bool; 3]) -> Account {
    let mut w = Wire::sacn();
    for n in 0..30 {
        let [one, two, end] = sent(n);
        let data = Data { sync: address, ..Data::numbered(n) };
        for (_, universe) in [(one, 1), (two, 2)].iter().filter(|(there, _)| *there) {
            w.send(&Data { universe: *universe, ..data }.octets()).wait(MS / 10);
        }
        if end {
            w.send(&sync(n, address));
        }
        w.at = START + (i64::from(n) + 1) * FRAME;
    }
    w.finish()
}

#[test]
fn a_frame_without_one_of_its_universes_is_torn_and_named() {
    let a = frames(0, |n| [true, n != 12, false]);
    let f = a.outputs[0].frames;
    assert_eq!((f.seen, f.complete, f.torn, f.unterminated), (30, 29, 1, 0));
    assert_eq!(found(&a, "FRAME-TORN")[0].frames, [12]);
    assert_eq!(found(&a, "SEQ-LOST")[0].frames, [12]);
    assert_eq!((a.streams[0].sequence.lost, a.streams[1].sequence.lost), (0, 1));
    assert_eq!((a.streams[0].frames.torn, a.streams[1].frames.torn), (0, 1));
}

#[test]
fn synchronised_frames_end_in_one_of_four_ways() {
    let a = frames(7, |n| [true, n != 12 && n != 18, n != 18 && n != 24]);
    let s = a.outputs[0].sync;
    assert_eq!((s.explicit, s.missed, s.all_data, s.timeout), (27, 1, 1, 1));
    assert!(!has(&a, "SYNC-MISSING") && !has(&a, "SYNC-ORPHAN"));
}

#[test]
fn sync_nobody_asked_for_is_an_orphan_and_sync_that_never_comes_is_missing() {
    let missing = frames(7, |_| [true, true, false]);
    assert!(has(&missing, "SYNC-MISSING") && !has(&missing, "SYNC-ORPHAN"));
    let mut w = Wire::sacn();
    (0..30).for_each(|n| {
        w.numbers([n]).send(&sync(n, 9));
    });
    let orphan = w.finish();
    assert!(has(&orphan, "SYNC-ORPHAN") && !has(&orphan, "SYNC-MISSING"));
}

#[test]
fn a_pause_is_a_gap_in_time_only_when_no_number_is_missing() {
    let mut w = Wire::sacn();
    w.numbers(0..40).wait(2 * FRAME).numbers(40..60);
    let a = w.finish();
    assert!(has(&a, "TIME-GAP") && !has(&a, "SEQ-LOST"));
    let mut w = Wire::sacn();
    w.numbers(0..40).wait(2 * FRAME).numbers(42..60);
    let a = w.finish();
    assert!(!has(&a, "TIME-GAP") && has(&a, "SEQ-LOST"));
    assert_eq!(sequence(&a), (2, 2, 0, 0, 0));
}

/// Sends `n` frames `apart` ns from each other; every `change`th brings new content.
fn paced(n: u8, apart: i64, change: u8) -> Account {
    let mut w = Wire::sacn();
    for i in 0..n {
        w.send(&Data { content: i / change, ..Data::numbered(i) }.octets()).wait(apart);
    }
    w.finish()
}

#[test]
fn content_is_frozen_after_more_than_a_second_without_change() {
    assert!(!has(&paced(200, FRAME, 40), "FRAME-FROZEN"));
    assert_eq!(found(&paced(200, FRAME, 100), "FRAME-FROZEN")[0].count, 2);
}

#[test]
fn a_repeat_after_a_pause_is_a_keep_alive() {
    let causes = |a: Account| {
        let c = a.outputs[0].causes;
        (c.changed, c.repeat, c.keep_alive)
    };
    assert_eq!(causes(paced(20, 900 * MS, 20)), (1, 0, 19));
    assert_eq!(causes(paced(20, 100 * MS, 20)), (1, 19, 0));
    assert_eq!(causes(paced(20, 900 * MS, 1)), (20, 0, 0));
}

#[test]
fn a_universe_is_too_fast_when_dmx_cannot_carry_its_slots() {
    for (slots, hertz, fast) in [(512, 44, false), (512, 46, true), (375, 60, false), (510, 60, true)] {
        let mut w = Wire::sacn();
        (0..100).for_each(|n| {
            w.send(&Data { slots, ..Data::numbered(n) }.octets()).wait(1_000 * MS / hertz);
        });
        assert_eq!(has(&w.finish(), "TIME-RATE"), fast, "{slots} slots at {hertz} Hz");
    }
}

// ---- sources, links and the capture

/// Two senders on universe 1 at these priorities, 40 datagrams each, `turn` in a row.
fn rivals(priorities: [u8; 2], turn: u8) -> Account {
    let mut w = Wire::sacn();
    for round in 0..40 / turn {
        for cid in [1u32, 2] {
            for n in round * turn..(round + 1) * turn {
                let priority = priorities[cid as usize - 1];
                w.send(&Data { cid, priority, ..Data::numbered(n) }.octets()).wait(FRAME);
            }
        }
    }
    w.finish()
}

#[test]
fn two_sources_conflict_only_when_they_take_turns_at_the_same_priority() {
    assert!(!has(&rivals([100, 100], 40), "SRC-CONFLICT"), "a takeover is no conflict");
    let conflict = rivals([100, 100], 1);
    assert_eq!(found(&conflict, "SRC-CONFLICT")[0].severity, Severity::Violation);
    let backup = rivals([100, 50], 1);
    assert!(has(&backup, "SRC-LOWER-PRIORITY") && !has(&backup, "SRC-CONFLICT"));
}

#[test]
fn a_damaged_datagram_is_lost_on_the_wire() {
    let mut w = Wire::sacn();
    w.link.checksum = Checksum::Good;
    w.numbers(0..40);
    w.link.checksum = Checksum::Bad;
    w.numbers([40]);
    w.link.checksum = Checksum::Good;
    w.numbers(41..50);
    let a = w.finish();
    assert_eq!(sequence(&a), (1, 1, 0, 0, 0));
    assert_eq!((only(&a).owners.wire, only(&a).owners.unknown), (1, 0));
    assert!(has(&a, "CAP-CHECKSUM") && !has(&a, "CAP-OFFLOAD"));
}

#[test]
fn a_host_whose_checksums_are_all_wrong_leaves_them_to_its_card() {
    let mut w = Wire::sacn();
    w.link.checksum = Checksum::Bad;
    w.numbers(0..40);
    let a = w.finish();
    assert_eq!(sequence(&a), (0, 0, 0, 0, 0));
    assert_eq!((only(&a).datagrams, found(&a, "CAP-OFFLOAD")[0].count), (40, 40));
    assert!(!has(&a, "CAP-CHECKSUM"));
}

#[test]
fn a_loss_is_tainted_only_while_the_capture_was_blind() {
    for (from, tainted) in [(20, true), (45, false)] {
        let mut w = Wire::sacn();
        w.numbers(0..30).numbers(32..60);
        let at = |frame: i64| Timestamp(START + frame * FRAME);
        w.verifier.on_blind(at(from), at(from + 12), 2);
        let a = w.finish();
        assert_eq!(found(&a, "SEQ-LOST")[0].tainted, tainted);
        assert!(has(&a, "CAP-DROPPED"));
    }
}

#[test]
fn numbers_that_the_ip_id_proves_unsent_are_not_lost() {
    let mut w = Wire::sacn();
    for (id, n) in (0..30u8).chain(35..60).enumerate() {
        w.link.ip_id = Some(100 + id as u16);
        w.numbers([n]);
    }
    let a = w.finish();
    assert_eq!(sequence(&a), (0, 0, 0, 0, 0));
    assert!(has(&a, "SEQ-SHARED-COUNTER"));
}

// ---- hostile traffic

fn bounded(a: &Account) {
    assert!(a.streams.len() <= STREAMS_MAX && a.outputs.len() <= 17 * STREAMS_MAX);
    assert!(a.findings.len() <= 4096, "{} findings", a.findings.len());
    assert!(a.findings.iter().all(|f| f.frames.len() <= 32 && f.text.len() < 2048));
    for s in &a.streams {
        assert!(s.destinations.len() <= 16);
        let o = &s.owners;
        assert_eq!(o.sender + o.wire + o.observer + o.unknown, s.sequence.lost);
        assert_eq!(s.frames.complete + s.frames.torn + s.frames.unterminated, s.frames.seen);
    }
    for o in &a.outputs {
        assert_eq!(o.frames.complete + o.frames.torn + o.frames.unterminated, o.frames.seen);
    }
}

fn says(a: &Account, words: &str) -> bool {
    a.limits.iter().any(|l| l.contains(words))
}

#[test]
fn streams_beyond_the_bound_are_counted_and_said_not_to_be_followed() {
    let mut w = Wire::sacn();
    let mut octets = Data { slots: 1, ..Data::numbered(1) }.octets();
    for i in 0..100_000u32 {
        octets[CID..CID + 4].copy_from_slice(&i.to_be_bytes());
        octets[UNIVERSE..UNIVERSE + 2].copy_from_slice(&((i % 63_999) as u16 + 1).to_be_bytes());
        w.send(&octets).wait(1000);
    }
    let a = w.finish();
    bounded(&a);
    assert_eq!((a.streams.len(), a.datagrams.by_kind["sacn/data"]), (STREAMS_MAX, 100_000));
    assert!(says(&a, &format!("{} datagrams of streams beyond the first", 100_000 - STREAMS_MAX)));
}

#[test]
fn more_hosts_than_are_remembered_do_no_harm() {
    let mut w = Wire::new(4048);
    w.link = Link { ip_id: Some(5), checksum: Checksum::Bad, ..Link::default() };
    for i in 0..70_000u32 {
        w.source.set_ip(IpAddr::from((0x0a00_0000 + i).to_be_bytes()));
        w.send(&ddp(1, true, 0, &[1, 2, 3])).wait(1000);
    }
    let a = w.finish();
    bounded(&a);
    assert_eq!(a.datagrams.lighting, 70_000);
}

#[test]
fn destinations_without_end_are_one_stream() {
    let mut w = Wire::new(4048);
    for i in 0..20_000u32 {
        w.destination.set_ip(IpAddr::from((0x0a01_0000 + i).to_be_bytes()));
        w.send(&ddp((i % 15) as u8 + 1, true, 0, &[1, 2, i as u8])).wait(MS);
    }
    let a = w.finish();
    bounded(&a);
    assert_eq!((only(&a).datagrams, only(&a).destinations.len()), (20_000, 16));
}

#[test]
fn gaps_without_end_are_counted_and_their_findings_are_bounded() {
    let mut w = Wire::sacn();
    let mut octets = Data { slots: 1, ..Data::numbered(1) }.octets();
    for i in 0..200_000u32 {
        octets[NUMBER] = (i * 5 / 2) as u8;
        w.send(&octets).wait(110 * MS);
    }
    let a = w.finish();
    bounded(&a);
    assert!(only(&a).sequence.gaps > 190_000, "{:?}", only(&a).sequence);
    assert!(says(&a, "further findings were counted but not listed"), "{:?}", a.limits);
}

#[test]
fn jumps_of_a_billion_frames_are_bounded() {
    let mut w = Wire::new(21_600);
    for i in 0..1_000u32 {
        w.send(&bigpacket(i.wrapping_mul(0x3fff_ffff), (i % 3) as u16, 4)).wait(110 * MS);
    }
    bounded(&w.finish());
}

#[test]
fn a_destination_that_stands_still_holds_up_no_findings() {
    let mut w = Wire::new(4048);
    let mut number = [0u32; 2];
    for i in 0..1_000u32 {
        let to = if i < 60 { (i % 2) as usize } else { 1 };
        w.destination.set_ip(IpAddr::from([10, 0, 1, to as u8]));
        // The last loss towards the first destination stays in its window for ever.
        number[to] += if i == 50 || (i > 60 && i % 100 == 0) { 3 } else { 1 };
        w.send(&ddp((number[to] % 15) as u8 + 1, true, 0, &[1, 2, i as u8])).wait(10 * MS);
    }
    let a = w.finish();
    bounded(&a);
    let lost: Vec<u64> = found(&a, "SEQ-LOST").iter().map(|f| f.count).collect();
    assert_eq!((only(&a).sequence.lost, lost.iter().sum::<u64>()), (20, 20), "{lost:?}");
}

/// BigPacket frames of four chunks, of which only these arrive, this long apart.
fn holed(frames: u32, chunks: &[u16], apart: i64) -> Account {
    let mut w = Wire::new(21_600);
    for frame in 0..frames {
        chunks.iter().for_each(|index| {
            w.send(&bigpacket(frame, *index, 4)).wait(MS);
        });
        w.wait(apart);
    }
    w.finish()
}

#[test]
fn every_frame_of_a_long_run_of_losses_is_torn() {
    let a = holed(3_000, &[0, 1, 3], 13 * MS);
    bounded(&a);
    let f = a.outputs[0].frames;
    assert_eq!((only(&a).sequence.lost, f.seen, f.torn), (3_000, 3_000, 3_000), "{f:?}");
}

#[test]
fn more_torn_frames_than_are_remembered_still_add_up() {
    let a = holed(10_000, &[0, 3], 110 * MS);
    bounded(&a);
    let f = a.outputs[0].frames;
    assert_eq!((only(&a).sequence.lost, f.seen, f.torn), (20_000, 10_000, 10_000), "{f:?}");
}

#[test]
fn more_torn_frames_of_a_universe_than_are_remembered_still_add_up() {
    let mut w = Wire::sacn();
    for i in 0..10_000u32 {
        for universe in [1, 2].into_iter().filter(|u| *u == 1 || matches!(i % 7, 0 | 3)) {
            w.send(&Data { universe, ..Data::numbered(i as u8) }.octets()).wait(MS);
        }
        w.wait(100 * MS);
    }
    let a = w.finish();
    bounded(&a);
    let torn = a.streams[1].frames.torn;
    assert!((7_139..=7_143).contains(&torn), "{torn} of 7143 torn frames");
}

#[test]
fn discovery_lists_without_end_are_bounded() {
    let mut w = Wire::sacn();
    for i in 0..1_500u32 {
        w.send(&discovery(i % 100, (i * 512) as u16)).wait(MS);
    }
    let a = w.finish();
    bounded(&a);
    assert_eq!(a.datagrams.by_kind["sacn/discovery"], 1_500);
}

#[test]
fn two_hundred_thousand_datagrams_within_a_nanosecond_have_a_rate() {
    let mut w = Wire::sacn();
    let mut octets = Data { slots: 1, ..Data::numbered(1) }.octets();
    for i in 0..200_000u32 {
        octets[NUMBER] = i as u8;
        w.send(&octets).wait(i64::from(i == 1));
    }
    let a = w.finish();
    bounded(&a);
    assert_eq!(only(&a).datagrams, 200_000);
}

#[test]
fn stamps_at_the_ends_of_time_do_no_harm() {
    for stamps in [[i64::MIN, i64::MAX, 0], [i64::MAX, i64::MIN, i64::MAX], [1, i64::MIN, i64::MAX]] {
        let mut w = Wire::sacn();
        for (n, at) in stamps.iter().cycle().take(60).enumerate() {
            w.at = *at;
            w.send(&Data::numbered(n as u8).octets());
        }
        let a = w.finish();
        bounded(&a);
        assert_eq!((a.first_ns, only(&a).datagrams), (stamps.iter().min().copied(), 60));
    }
}
