//! A sender or a path that stands still and then catches up in a burst: what was lost in it and what was not.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests count as tests"
)]

mod wire;

use wire::account::{found, has, only, sequence};
use wire::capture::{Data, FRAME, MS, Wire, ddp};
use wireproof_protocols::verify::Account;

/// The `n`-th datagram of a stream.
type Nth = fn(u32) -> Vec<u8>;

fn sacn(n: u32) -> Vec<u8> {
    Data { content: (n / 256 * 31 + n) as u8, ..Data::numbered(n as u8) }.octets()
}

fn ddp15(n: u32) -> Vec<u8> {
    ddp((n % 15 + 1) as u8, &[n as u8, (n >> 8) as u8, 3])
}

fn artnet(n: u32) -> Vec<u8> {
    let mut octets = b"Art-Net\0\x00\x50\x00\x0e".to_vec();
    octets.extend([(n % 255 + 1) as u8, 0, 1, 0, 0, 4, n as u8, (n >> 8) as u8, 1, 2]);
    octets
}

/// 120 datagrams in time; a silence of `held` frame times, whose datagrams, but the first `dropped`, follow `apart`
/// ns from each other; 120 in time.
fn stall(port: u16, nth: Nth, held: u32, dropped: u32, apart: i64) -> Account {
    let mut w = Wire::new(port);
    let jitter = |n: u32| i64::from(n % 7) * MS / 5;
    for n in 0..120 {
        w.wait(jitter(n)).send(&nth(n)).wait(FRAME - jitter(n));
    }
    w.wait(FRAME * i64::from(held));
    for n in 120 + dropped..120 + held {
        w.send(&nth(n)).wait(apart);
    }
    w.wait(FRAME - apart * i64::from(held - dropped));
    for n in 120 + held..240 + held {
        w.wait(jitter(n)).send(&nth(n)).wait(FRAME - jitter(n));
    }
    w.finish()
}

#[test]
fn a_stall_that_is_caught_up_with_loses_what_the_numbers_say() {
    for apart in [6_000, 30_000, 100_000, MS] {
        let a = stall(5568, sacn, 80, 30, apart);
        assert_eq!(sequence(&a), (30, 30, 0, 0, 0), "{apart} ns apart: {:?}", a.findings);
        assert!(!has(&a, "SEQ-AMBIGUOUS"));
        let a = stall(6454, artnet, 80, 30, apart);
        assert_eq!(sequence(&a), (30, 30, 0, 0, 0), "{apart} ns apart: {:?}", a.findings);
    }
}

#[test]
fn whole_cycles_that_never_come_in_the_burst_are_an_ambiguous_loss_and_no_pass() {
    for apart in [6_000, 30_000, 100_000, MS] {
        for (held, dropped) in [(80, 30), (80, 15), (60, 45), (200, 150)] {
            let a = stall(4048, ddp15, held, dropped, apart);
            let text = format!("{held} {dropped} {apart}: {:?}", a.findings);
            assert_eq!(sequence(&a), (u64::from(dropped), 0, 0, 0, 0), "{text}");
            assert!(only(&a).sequence.ambiguous && has(&a, "SEQ-AMBIGUOUS"), "{text}");
        }
        let a = stall(6454, artnet, 400, 255, apart);
        assert_eq!(sequence(&a), (255, 0, 0, 0, 0), "{apart}: {:?}", a.findings);
    }
}

#[test]
fn a_stall_that_is_caught_up_with_in_full_loses_nothing_whatever_the_cycle() {
    for apart in [6_000, 30_000, 100_000, MS] {
        for held in [15, 40, 80, 90, 120] {
            for (port, nth) in [(4048, ddp15 as Nth), (5568, sacn), (6454, artnet)] {
                let a = stall(port, nth, held, 0, apart);
                assert_eq!(sequence(&a), (0, 0, 0, 0, 0), "{port} {held} {apart}: {:?}", a.findings);
                assert!(!has(&a, "SEQ-AMBIGUOUS"), "{port} {held} {apart}: {:?}", a.findings);
                let frames = a.outputs[0].frames.complete;
                assert_eq!(frames, 240 + u64::from(held), "{port} {held} {apart}");
            }
        }
    }
}

#[test]
fn an_outage_of_whole_cycles_without_a_burst_stays_missing_by_time() {
    let mut w = Wire::new(4048);
    for n in (0..120).chain(240..300) {
        if n == 240 {
            w.wait(FRAME * 120);
        }
        w.send(&ddp15(n)).wait(FRAME);
    }
    let a = w.finish();
    assert_eq!(sequence(&a), (120, 0, 0, 0, 0), "{:?}", a.findings);
    assert!(only(&a).sequence.ambiguous);
}

#[test]
fn a_loss_of_over_half_the_cycle_before_a_burst_is_no_run_of_duplicates() {
    for (held, dropped) in [(160, 140), (200, 140), (150, 130)] {
        for apart in [30_000, 100_000, MS] {
            let a = stall(6454, artnet, held, dropped, apart);
            let text = format!("{held} {dropped} {apart}: {:?}", a.findings);
            assert!(!has(&a, "SEQ-DUPLICATE"), "{text}");
            assert!(only(&a).sequence.ambiguous, "{text}");
            let s = &only(&a).sequence;
            assert_eq!(s.lost, u64::from(dropped), "{text}");
            assert!(s.lost_min <= u64::from(dropped), "{text}");
        }
    }
}

#[test]
fn numbers_far_back_without_a_steady_cadence_are_no_duplicates_and_no_pass() {
    let mut w = Wire::new(6454);
    for n in (0..200).chain(341..500) {
        w.send(&artnet(n)).wait(if n % 2 == 0 { MS } else { 49 * MS });
    }
    let a = w.finish();
    assert!(!has(&a, "SEQ-DUPLICATE"), "{:?}", a.findings);
    assert!(only(&a).sequence.ambiguous);
    assert_eq!(only(&a).sequence.lost_min, 0);
}

#[test]
fn an_outage_longer_than_the_timeout_tells_numbers_time_and_what_the_standard_allows() {
    let mut w = Wire::sacn();
    for n in (0..150).chain(260..400) {
        if n == 260 {
            w.wait(FRAME * 110);
        }
        w.send(&sacn(n)).wait(FRAME);
    }
    let a = w.finish();
    assert_eq!(sequence(&a), (110, 0, 0, 0, 0));
    assert!(only(&a).sequence.ambiguous);
    let text = &found(&a, "SEQ-AMBIGUOUS")[0].text;
    for words in ["110 datagrams", "2775 ms", "110 of them by the numbers", "E1.31 6.7.1"] {
        assert!(text.contains(words), "{text}");
    }
    assert!(!text.contains("as if nothing"), "{text}");
}
