//! What hostile traffic cannot make the verifier do: memory, findings and streams stay bounded, counts add up.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod wire;

use std::net::IpAddr;
use wire::account::{found, only, says};
use wire::capture::{Data, MS, Wire, bigpacket, ddp, discovery};
use wireproof_protocols::verify::{Account, STREAMS_MAX};
use wireproof_protocols::{Checksum, Link};

/// Octets of a sACN data packet that a test rewrites in place.
const CID: usize = 22;
const NUMBER: usize = 111;
const UNIVERSE: usize = 113;

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
        w.send(&ddp(1, &[1, 2, 3])).wait(1000);
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
        w.send(&ddp((i % 15) as u8 + 1, &[1, 2, i as u8])).wait(MS);
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
        w.send(&ddp((number[to] % 15) as u8 + 1, &[1, 2, i as u8])).wait(10 * MS);
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
