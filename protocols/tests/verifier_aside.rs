//! Queries, settings and ArtNzs beside a stream: one counter with it, or one of their own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests count as tests"
)]

mod wire;

use wire::account::{found, has};
use wire::capture::{FRAME, MS, Wire};
use wireproof_protocols::verify::{Account, SequenceAccount};

/// Datagrams of a frame of pixels.
const CHUNKS: u32 = 3;

/// How the other datagrams are numbered.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Counter {
    /// On the counter of the pixels.
    Shared,
    /// On one of their own.
    Own,
    /// Always with the same number.
    Fixed(u8),
}

/// A DDP sender: frames of three chunks, and a query after some of them.
struct Sender {
    wire: Wire,
    next: u32,
    queries: u32,
    ids: Option<u16>,
}

impl Sender {
    fn new(ids: bool) -> Sender {
        Sender { wire: Wire::new(4048), next: 0, queries: 0, ids: ids.then_some(0) }
    }

    fn put(&mut self, payload: &[u8], arrives: bool) {
        if let Some(id) = &mut self.ids {
            *id = id.wrapping_add(1);
            self.wire.link.ip_id = Some(*id);
        }
        if arrives {
            self.wire.send(payload);
        }
    }

    fn take(&mut self) -> u8 {
        self.next += 1;
        ((self.next - 1) % 15 + 1) as u8
    }

    fn frame(&mut self, f: u32, lost: &[u32]) {
        for c in 0..CHUNKS {
            let number = self.take();
            let flags = 0x40 | u8::from(c == CHUNKS - 1);
            let mut octets = vec![flags, number, 0x0b, 1];
            octets.extend((c * 30).to_be_bytes());
            octets.extend(30u16.to_be_bytes());
            octets.extend([(f * 7 + c) as u8; 30]);
            self.put(&octets, !lost.contains(&c));
            self.wire.wait(MS / 5);
        }
        self.wire.wait(FRAME - CHUNKS as i64 * MS / 5 - 2 * MS);
    }

    fn query(&mut self, counter: Counter, id: u8) {
        self.queries += 1;
        let number = match counter {
            Counter::Shared => self.take(),
            Counter::Own => (self.queries % 15) as u8 + 1,
            Counter::Fixed(number) => number,
        };
        let flags = if id == 251 { 0x42 } else { 0x41 };
        let json: &[u8] = if id == 251 { b"" } else { b"{\"config\":{}}" };
        let mut octets = vec![flags, number, 0, id, 0, 0, 0, 0, 0, json.len() as u8];
        octets.extend(json);
        self.put(&octets, true);
    }
}

/// `frames` frames, a query behind each `every`-th; `lost` are frames and their chunks that do not arrive.
fn run(counter: Counter, id: u8, ids: bool, frames: u32, every: u32, lost: &[(u32, u32)]) -> Account {
    let mut s = Sender::new(ids);
    for f in 0..frames {
        let chunks: Vec<u32> = lost.iter().filter(|(frame, _)| *frame == f).map(|(_, c)| *c).collect();
        s.frame(f, &chunks);
        if f % every == every / 2 {
            s.query(counter, id);
        }
        s.wire.wait(2 * MS);
    }
    s.wire.finish()
}

fn numbers(a: &Account) -> &SequenceAccount {
    &a.streams[0].sequence
}

fn frames(a: &Account) -> (u64, u64, u64) {
    let f = &a.outputs[0].frames;
    (f.seen, f.complete, f.torn)
}

#[test]
fn queries_on_the_counter_of_the_pixels_are_no_losses_however_often_they_come() {
    for (id, every, ids) in [251, 250, 246]
        .into_iter()
        .flat_map(|id| [1, 2, 3, 7, 10, 50, 100].into_iter().map(move |every| (id, every)))
        .flat_map(|(id, every)| [(id, every, false), (id, every, true)])
    {
        let a = run(Counter::Shared, id, ids, 400, every, &[]);
        let text = format!("ID {id}, each {every} frames, ids {ids}: {:?}", a.findings);
        assert_eq!((numbers(&a).lost, numbers(&a).gaps, numbers(&a).ambiguous), (0, 0, false), "{text}");
        assert_eq!(frames(&a), (400, 400, 0), "{text}");
        assert_eq!(found(&a, "SEQ-SHARED-COUNTER").len(), 1, "{text}");
        let told: Vec<&str> = a.findings.iter().map(|f| f.code).filter(|c| c.starts_with("SEQ")).collect();
        assert_eq!(told, ["SEQ-SHARED-COUNTER"], "{text}");
    }
}

#[test]
fn a_single_query_leaves_open_what_it_means() {
    let a = run(Counter::Shared, 251, false, 90, 100, &[]);
    assert_eq!((numbers(&a).lost, numbers(&a).lost_min, numbers(&a).ambiguous), (1, 0, true));
    assert_eq!((found(&a, "SEQ-AMBIGUOUS").len(), frames(&a)), (1, (90, 90, 0)), "{:?}", a.findings);
    // The IP id says that nothing was lost.
    let a = run(Counter::Shared, 251, true, 90, 100, &[]);
    assert_eq!((numbers(&a).lost, numbers(&a).ambiguous), (0, false), "{:?}", a.findings);
}

#[test]
fn losses_beside_queries_of_one_counter_are_found_with_their_number() {
    for every in [2, 5, 10, 40] {
        for chunk in 0..CHUNKS {
            // The chunk is lost behind a query, before one, or anywhere else.
            for at in [every * 4 + every / 2, every * 4 + every / 2 + 1, every * 5] {
                let a = run(Counter::Shared, 251, false, 400, every, &[(at, chunk)]);
                let text = format!("each {every}, frame {at}, chunk {chunk}: {:?}", a.findings);
                assert_eq!((numbers(&a).lost, numbers(&a).lost_min), (1, 1), "{text}");
                assert_eq!((found(&a, "SEQ-LOST").len(), a.outputs[0].frames.complete), (1, 399), "{text}");
            }
        }
    }
}

#[test]
fn losses_beside_queries_with_a_counter_of_their_own_are_found() {
    for every in [1, 3, 10, 40] {
        for number in 0..15 {
            for at in [every / 2, every / 2 + 1, every * 4 + every / 2, every * 4 + every / 2 + 1] {
                for counter in [Counter::Own, Counter::Fixed(number + 1)] {
                    let a = run(counter, 251, false, 400, every, &[(at, 2)]);
                    let text = format!("{counter:?} each {every}, frame {at}: {:?}", a.findings);
                    assert_eq!((numbers(&a).lost, numbers(&a).lost_min), (1, 1), "{text}");
                    assert!(has(&a, "SEQ-LOST"), "{text}");
                    assert_eq!(frames(&a).2 + a.outputs[0].frames.unterminated, 1, "{text}");
                }
            }
        }
    }
}

#[test]
fn a_coincidence_before_the_sender_is_known_is_a_loss_once_it_is() {
    // The first query carries the very number that is lost beside it; those that follow show a counter of its own.
    let mut s = Sender::new(false);
    for f in 0..200 {
        s.frame(f, if f == 60 { &[0] } else { &[] });
        if f == 59 {
            let number = (s.next % 15 + 1) as u8;
            s.query(Counter::Fixed(number), 251);
        } else if f % 60 == 20 && f > 60 {
            s.query(Counter::Fixed(1), 251);
        }
        s.wire.wait(2 * MS);
    }
    let a = s.wire.finish();
    assert_eq!(
        (numbers(&a).lost, numbers(&a).lost_min, numbers(&a).ambiguous),
        (1, 1, false),
        "{:?}",
        a.findings
    );
    assert_eq!((found(&a, "SEQ-LOST").len(), frames(&a)), (1, (200, 199, 1)), "{:?}", a.findings);
}

#[test]
fn a_sender_without_losses_whose_queries_count_for_themselves_has_no_findings() {
    for (counter, every) in
        [(Counter::Own, 1), (Counter::Own, 20), (Counter::Fixed(1), 3), (Counter::Fixed(0), 5)]
    {
        let a = run(counter, 251, false, 300, every, &[]);
        assert!(
            a.findings.iter().all(|f| !f.code.starts_with("SEQ")),
            "{counter:?} {every}: {:?}",
            a.findings
        );
        assert_eq!(frames(&a), (300, 300, 0), "{counter:?} {every}");
    }
}

fn levels(opcode: u8, number: u8, start_code: u8, content: u8) -> Vec<u8> {
    let mut octets = b"Art-Net\0\x00".to_vec();
    octets.extend([opcode, 0, 14, number, start_code, 1, 0, 0, 16]);
    octets.extend([content; 16]);
    octets
}

/// ArtDmx, and after each `every`-th an ArtNzs; `lost` ArtDmx do not arrive.
fn art_net(shared: bool, ids: bool, every: u32, lost: &[u32]) -> Account {
    let mut w = Wire::new(6454);
    let (mut next, mut own, mut id) = (0u32, 0u32, 0u16);
    let number = |from: &mut u32| {
        *from += 1;
        ((*from - 1) % 255 + 1) as u8
    };
    for f in 0..600 {
        id += 1;
        w.link.ip_id = ids.then_some(id);
        let octets = levels(0x50, number(&mut next), 0, f as u8);
        if !lost.contains(&f) {
            w.send(&octets);
        }
        w.wait(5 * MS);
        if f % every == every / 2 {
            id += 1;
            w.link.ip_id = ids.then_some(id);
            w.send(&levels(0x51, number(if shared { &mut next } else { &mut own }), 0x17, 3));
        }
        w.wait(FRAME - 5 * MS);
    }
    w.finish()
}

#[test]
fn art_nzs_on_the_counter_of_its_universe_loses_nothing() {
    for (every, ids) in [1, 2, 10, 100].into_iter().flat_map(|every| [(every, false), (every, true)]) {
        let a = art_net(true, ids, every, &[]);
        let text = format!("each {every}, ids {ids}: {:?}", a.findings);
        assert!(a.streams.iter().all(|s| s.sequence.lost == 0 && !s.sequence.ambiguous), "{text}");
        assert_eq!(frames(&a), (600, 600, 0), "{text}");
        assert_eq!(found(&a, "SEQ-SHARED-COUNTER").len(), 1, "{text}");
    }
}

#[test]
fn losses_beside_art_nzs_are_found_whoever_counts() {
    for (shared, every) in
        [true, false].into_iter().flat_map(|shared| [2, 10, 50].map(|every| (shared, every)))
    {
        for at in [every * 3 + every / 2, every * 3 + every / 2 + 1, every * 4] {
            let a = art_net(shared, false, every, &[at]);
            let text = format!("shared {shared}, each {every}, {at}: {:?}", a.findings);
            assert_eq!((numbers(&a).lost, numbers(&a).lost_min), (1, 1), "{text}");
            assert_eq!(a.streams.iter().map(|s| s.sequence.lost).sum::<u64>(), 1, "{text}");
        }
    }
}
