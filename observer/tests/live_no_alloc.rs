//! A live source allocates nothing once it is open: not for datagrams, not for drops, not for idle polls; nor does a tape
//! once it knows the streams.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests count as tests")]

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};
use wireproof::live::source::{Seen, Source};
use wireproof::live::udp::{UdpOptions, UdpSource};
use wireproof_fixture::case;
use wireproof_protocols::Timestamp;
use wireproof_protocols::verify::{Glance, Options, Progress, Verifier, WANTED_MAX};
use wireproof_reports::tape::{Encoder, ROOM};

/// Allocations while `work` runs on this thread.
fn counted(work: impl FnOnce()) -> u64 {
    allocation_counter::measure(work).count_total
}

#[test]
fn the_counter_sees_an_allocation() {
    assert_eq!(counted(|| drop(std::hint::black_box(Box::new(7)))), 1);
}

/// Sends so many datagrams in turn to two sockets and returns what was seen, dropped and allocated until all of them
/// are accounted for.
fn run(sent: u64, buffer_bytes: Option<u32>) -> (u64, u64, u64) {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let options = UdpOptions { addresses: vec![any, any], buffer_bytes, ..UdpOptions::default() };
    let mut source = UdpSource::open(&options).unwrap();
    let to: Vec<_> = source.local_addresses().collect();
    let from = UdpSocket::bind(any).unwrap();
    let (mut seen, mut dropped, start) = (0, 0, Instant::now());
    let allocations = counted(|| {
        for n in 0..sent {
            from.send_to(&[0; 638], to[n as usize % 2]).unwrap();
        }
        while seen + source.counters().unwrap().dropped < sent {
            assert!(start.elapsed() < Duration::from_secs(10), "{seen} seen");
            let each = &mut |s: Seen<'_>| match s {
                Seen::Dropped(n) => dropped += n,
                _ => seen += 1,
            };
            source.poll(Duration::from_millis(5), each).unwrap();
        }
        for address in &to {
            from.send_to(&[0; 638], address).unwrap();
        }
        while seen + dropped < sent + 2 {
            assert!(start.elapsed() < Duration::from_secs(10), "{seen} seen, {dropped} dropped");
            let each = &mut |s: Seen<'_>| match s {
                Seen::Dropped(n) => dropped += n,
                _ => seen += 1,
            };
            source.poll(Duration::from_millis(5), each).unwrap();
        }
        source.poll(Duration::from_millis(2), &mut |_| ()).unwrap();
        source.take_unannounced().unwrap();
    });
    (seen, dropped, allocations)
}

#[test]
fn polling_datagrams_of_two_sockets_allocates_nothing() {
    assert_eq!(run(300, None), (302, 0, 0));
}

#[test]
fn polling_through_drops_allocates_nothing() {
    let (seen, dropped, allocations) = run(300, Some(16_384));
    assert!(dropped > 0, "the buffers took everything");
    assert_eq!((seen + dropped, allocations), (302, 0));
}

/// The DDP senders break a rule with each or with every sixteenth datagram.
#[test]
fn taping_streams_and_faults_that_are_known_allocates_nothing() {
    for name in ["mixed-clean", "artnet-clean", "ddp-clean-1-16", "ddp-clean-unused"] {
        let planted = (case(name).unwrap().build)(1).unwrap();
        let (mut verifier, mut encoder) = (Verifier::new(Options::default()), Encoder::default());
        let mut slots = Vec::with_capacity(ROOM);
        let half = planted.arrivals.len() / 2;
        let (mut allocations, mut after) = (0, 0);
        for (n, (arrival, d)) in planted.iter().enumerate() {
            let Some(noted) = verifier.on_datagram_noted(arrival, &d) else { continue };
            slots.clear();
            let faults = verifier.faults().as_slice();
            let own = counted(|| encoder.datagram(arrival, &d, &noted, faults, &mut slots));
            if n >= half {
                (allocations, after) = (allocations + own, after + 1);
            }
        }
        assert!(after > 100, "{name}: {after}");
        assert_eq!(allocations, 0, "{name}");
    }
}

#[test]
fn a_look_at_a_run_with_distributions_allocates_nothing() {
    for name in ["mixed-clean", "ddp-clean-1-16"] {
        let planted = (case(name).unwrap().build)(1).unwrap();
        let mut verifier = Verifier::new(Options::default());
        planted.iter().for_each(|(arrival, d)| {
            verifier.on_datagram_noted(arrival, &d);
        });
        let mut look = Progress::with_room(512);
        look.wanted.extend(0..WANTED_MAX);
        look.charted = Some(0);
        // The first look records what was gathered, which may make room in a histogram.
        verifier.progress(&mut look);
        let first = look.clone();
        assert_eq!(counted(|| verifier.progress(&mut look)), 0, "{name}");
        assert_eq!(look, first, "{name}");
        let stream = &look.streams[0];
        assert!(stream.intervals.count > 50 && stream.frames > 50, "{name}: {stream:?}");
        assert_eq!(
            look.bars.counts.iter().sum::<u64>() + look.bars.under + look.bars.over,
            stream.intervals.count
        );
    }
}

/// A web page looks at the run twice a second, on the receive thread's time.
#[test]
fn looking_at_streams_outputs_and_findings_that_are_known_allocates_nothing() {
    for name in ["mixed-clean", "artnet-clean", "ddp-clean-1-16", "sacn-drop-one"] {
        let planted = (case(name).unwrap().build)(1).unwrap();
        let (mut verifier, mut glance) = (Verifier::new(Options::default()), Glance::roomy());
        let (mut looks, mut known) = (0, 0);
        for (n, (arrival, d)) in planted.iter().enumerate() {
            verifier.on_datagram(arrival, &d);
            if n % 50 != 0 {
                continue;
            }
            let before =
                (glance.account.streams.len(), glance.account.outputs.len(), glance.account.findings.len());
            let own = counted(|| verifier.glance(Timestamp(arrival.at.0), &mut glance));
            let after =
                (glance.account.streams.len(), glance.account.outputs.len(), glance.account.findings.len());
            looks += 1;
            // The first looks also learn the numbering and what a stream lists.
            if before == after && n * 2 > planted.arrivals.len() {
                known += 1;
                assert_eq!(own, 0, "{name}: look {looks}");
            }
        }
        assert!(known > 5, "{name}: {known} of {looks} looks");
    }
}
