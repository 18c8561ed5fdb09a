//! What recording costs, in ratios: each arm beside its limit (a clock read, a plain copy) in one interleaved run.
//! By hand: `cargo bench -p wireproof-recorder --bench ring`. Prints; judges nothing.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench talks to its reader")]

use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use wireproof_recorder::header::Identity;
use wireproof_recorder::layout::{DEFAULT_CAPACITY, NO_FRAME, file_bytes};
use wireproof_recorder::memory::Shared;
use wireproof_recorder::snapshot;
use wireproof_recorder::words::HeapWords;
use wireproof_recorder::{Event, Policy, Writer, parse};

const LAPS: usize = 31;
const EVENTS: usize = 54_000;
/// Events of a frame in the field, `frame_complete` included.
const FRAME: usize = 27;
/// Octets that push the ring out of the caches between cold frames.
const COLD_BYTES: usize = 48 << 20;
const COLD_FRAMES: usize = 4000;

type Ring = Writer<HeapWords>;

fn ring() -> Ring {
    let words = HeapWords::new((file_bytes(DEFAULT_CAPACITY) / 8) as usize);
    Writer::start(words, &Identity::default(), DEFAULT_CAPACITY, 4).unwrap()
}

fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CPU time of this thread: what others do on a shared machine does not count.
fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Nanoseconds of CPU time for each of `n` rounds.
fn timed(n: usize, body: impl FnOnce()) -> f64 {
    let start = cpu_ns();
    body();
    (cpu_ns() - start) as f64 / n as f64
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn event(n: usize) -> Event {
    Event::span(n as u16 % 20, n as u64, n as u64 + 3).device(n as u16 % 3, 1)
}

fn clock() -> f64 {
    timed(EVENTS, || (0..EVENTS).for_each(|_| _ = black_box(now_ns())))
}

fn put(ring: &mut Ring) -> f64 {
    timed(EVENTS, || {
        for n in 0..EVENTS as u64 {
            ring.put(black_box(&[n, n + 3, u64::from(NO_FRAME), 1 << 8, n]));
            if n % FRAME as u64 == 0 {
                ring.publish();
            }
        }
    })
}

fn frames(ring: &mut Ring, mut make: impl FnMut(usize) -> Event) -> f64 {
    timed(EVENTS, || {
        for frame in 0..EVENTS / FRAME {
            let mut batch = ring.frame(frame as u32);
            for n in 0..FRAME - 1 {
                black_box(batch.event(black_box(&make(n))));
            }
            batch.complete(1, 2);
        }
    })
}

fn span_of_two_clocks(n: usize) -> Event {
    let start_ns = now_ns();
    let event = event(n);
    Event { start_ns, end_ns: now_ns(), ..event }
}

/// One frame of 27 with the ring out of the caches.
fn cold(ring: &mut Ring, sweep: &mut [u8], id: u32) -> f64 {
    for (index, octet) in sweep.iter_mut().step_by(64).enumerate() {
        *octet = octet.wrapping_add(index as u8);
    }
    black_box(&sweep);
    let start = Instant::now();
    let mut batch = ring.frame(id);
    for n in 0..FRAME - 1 {
        black_box(batch.event(black_box(&event(n))));
    }
    batch.complete(1, 2);
    start.elapsed().as_nanos() as f64
}

/// The same octets copied as they are, by the library's `memcpy`.
fn plain_copy(from: &[u8], to: &mut [u8]) -> f64 {
    timed(1, || {
        to.copy_from_slice(black_box(from));
        black_box(&to);
    })
}

fn row(name: &str, ns: f64, limit: &str, ratio: f64, goal: &str) {
    println!("{name:<44} {ns:>12.1} ns   {ratio:>6.2} x {limit:<22} {goal}");
}

fn writer_rows() {
    let mut ring = ring();
    let mut arms: [Vec<f64>; 4] = Default::default();
    for _ in 0..LAPS {
        arms[0].push(clock());
        arms[1].push(put(&mut ring));
        arms[2].push(frames(&mut ring, event));
        arms[3].push(frames(&mut ring, span_of_two_clocks));
    }
    let [clock, put, framed, span] = arms.each_mut().map(|arm| median(arm));
    row("clock_gettime", clock, "itself", 1.0, "");
    row("ring put without checksum", put, "clock_gettime", put / clock, "<= 0.40");
    row(
        "framed event with its share of the checksum",
        framed,
        "clock_gettime",
        framed / clock,
        "<= 0.85, aim 0.60",
    );
    row("span with two clocks", span, "its two clock reads", span / (2.0 * clock), "<= 1.40");
    println!("{:<44} {:>12.1} ns", "frame of 27, hot", framed * FRAME as f64);
}

fn cold_rows() {
    let (mut ring, mut sweep) = (ring(), vec![1; COLD_BYTES]);
    let mut times: Vec<f64> = (0..COLD_FRAMES as u32).map(|id| cold(&mut ring, &mut sweep, id)).collect();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[(times.len() as f64 * share) as usize];
    println!("{:<44} {:>12.1} ns", "frame of 27, cold p50", at(0.50));
    println!("{:<44} {:>12.1} ns   goal <= 5000", "frame of 27, cold p99", at(0.99));
}

/// A full ring of whole frames.
fn full() -> Ring {
    let mut ring = ring();
    for _ in 0..3 {
        frames(&mut ring, event);
    }
    ring
}

fn copy_rows() {
    let ring = full();
    let plain = ring.shared();
    let mut octets = vec![0; plain.len() * 8];
    plain.copy(0, &mut octets);
    let mut to = vec![0; octets.len()];
    let mut arms: [Vec<f64>; 4] = Default::default();
    let mut buffer = Vec::with_capacity(octets.len());
    for lap in 0..LAPS as u64 {
        arms[0].push(plain_copy(&octets, &mut to));
        arms[1].push(timed(1, || {
            let copy = snapshot::take_into(plain, std::mem::take(&mut buffer), &mut || false).unwrap();
            buffer = copy.into_octets();
        }));
        let copy = snapshot::take_into(plain, std::mem::take(&mut buffer), &mut || false).unwrap();
        arms[2].push(timed(1, || buffer = black_box(copy.seal(&Default::default(), lap))));
        arms[3].push(timed(1, || _ = black_box(parse(&buffer, Policy::Conservative).unwrap())));
    }
    let [memcpy, validated, seal, parsed] = arms.each_mut().map(|arm| median(arm));
    row("memcpy of the ring", memcpy, "itself", 1.0, "");
    row("validated copy (every commit word checked)", validated, "memcpy", validated / memcpy, "<= 2.0");
    row("seal (checksum of the body)", seal, "memcpy", seal / memcpy, "");
    row("parse of the full ring", parsed, "memcpy", parsed / memcpy, "");
}

/// The same store with a head word only, as a naive writer makes it: no marks, no commit words.
fn naive_row() {
    let words: Vec<AtomicU64> = (0..6 * DEFAULT_CAPACITY).map(|_| AtomicU64::new(0)).collect();
    let mut laps: Vec<f64> = (0..LAPS)
        .map(|_| {
            timed(EVENTS, || {
                for (n, slot) in words.chunks_exact(6).take(EVENTS).enumerate() {
                    for word in black_box(slot) {
                        word.store(n as u64, Ordering::Relaxed);
                    }
                }
            })
        })
        .collect();
    println!("{:<44} {:>12.1} ns", "six stores and nothing else", median(&mut laps));
}

fn main() {
    writer_rows();
    naive_row();
    cold_rows();
    copy_rows();
}
