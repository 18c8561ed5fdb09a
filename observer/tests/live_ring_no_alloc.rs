//! The packet ring allocates nothing once it is open: not for datagrams, not for drops, not for idle polls.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]
#![allow(clippy::print_stdout, reason = "what is skipped is said")]
#![allow(dead_code, reason = "the helpers serve several test programs")]

mod live_support;

use live_support::cases::options;
use live_support::{isolated, numbered, sender};
use std::time::Duration;
use wireproof::live::ring::RingSource;
use wireproof::live::source::{Seen, Source};
use wireproof::live::tap::TapOptions;

/// Allocations while `work` runs on this thread.
fn counted(work: impl FnOnce()) -> u64 {
    allocation_counter::measure(work).count_total
}

#[test]
fn nothing_is_allocated_for_datagrams_drops_counters_and_idle_polls() {
    isolated("nothing_is_allocated_for_datagrams_drops_counters_and_idle_polls", || {
        assert_eq!(counted(|| drop(std::hint::black_box(vec![1_u8]))), 1, "the counter counts");
        let mut source = RingSource::open(&TapOptions { buffer_bytes: 512 << 10, ..options("lo") }).unwrap();
        let socket = sender("127.0.0.1:0");
        let (mut datagrams, mut dropped) = (0_u64, 0_u64);
        for bout in [3_000, 10, 1, 1, 1, 1] {
            for _ in 0..bout {
                socket.send_to(&numbered(0, 638), "127.0.0.1:5568").unwrap();
            }
            let allocated = counted(|| {
                let mut each = |seen: Seen<'_>| match seen {
                    Seen::Datagram(..) => datagrams += 1,
                    Seen::Dropped(count) => dropped += count,
                    Seen::Packet(_) | Seen::Frame(_) => {}
                };
                while source.poll(Duration::from_millis(50), &mut each).unwrap() > 0 {}
                source.counters().unwrap();
            });
            assert_eq!(allocated, 0);
        }
        assert_eq!(datagrams + dropped, 3_014);
        assert!(dropped > 0);
    });
}
