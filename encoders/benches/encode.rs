//! What a frame of 8,640 octets costs each encoder, as a ratio to copying it once: both are timed in the same run,
//! in blocks in a seeded random order, by the thread's CPU clock. Run with `cargo bench -p wireproof-encoders`.
//!
//! Says nothing about sockets. Fails when a median exceeds its limit.
#![allow(clippy::print_stdout, reason = "prints its table")]

use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::net::SocketAddr;
use std::process::ExitCode;
use wireproof_encoders::{Backend, ENCODERS, Encoder, Setup};
use wireproof_protocols::EncodeError;

const FRAME: usize = 8640;
/// Frames in a block: some hundred microseconds, so that few blocks are interrupted.
const BLOCK: usize = 2000;
/// Rounds; in each, as many blocks as there are arms, in random order.
const BLOCKS: usize = 201;
const SEED: u64 = 1;
const CID: [u8; 16] = *b"\x3f\x91\xa5\x0c\x7d\x1e\x4b\x62\x9c\x8e\x55\x01\x22\x6f\xd0\x17";
/// Most times the cost of the copy: copied, in place, moved.
const LIMITS: [f64; 3] = [1.15, 0.10, 0.20];

/// Two frames in one buffer, `skew` octets from a cache line.
struct Frames {
    octets: Vec<u8>,
    start: usize,
}

impl Frames {
    fn new(skew: usize) -> Self {
        let octets: Vec<u8> = (0..3 * FRAME + 192).map(|i| (i * 31) as u8).collect();
        let start = octets.as_ptr().align_offset(64) + skew;
        Frames { octets, start }
    }

    fn get(&self, which: usize) -> &[u8] {
        let at = self.start + which % 2 * (FRAME + 64);
        &self.octets[at..at + FRAME]
    }
}

fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Nanoseconds of one call.
fn block(mut call: impl FnMut(usize)) -> f64 {
    let before = now_ns();
    (0..BLOCK).for_each(&mut call);
    (now_ns() - before) as f64 / BLOCK as f64
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

/// A linear congruential generator (Knuth's MMIX constants): enough to mix an order.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// A way to encode a frame.
struct Arm {
    name: String,
    limit: f64,
    encoder: Box<dyn Encoder + Send>,
    own: bool,
    moved: bool,
    ratios: Vec<f64>,
    ns: Vec<f64>,
}

impl Arm {
    fn run(&mut self, frames: &Frames) -> f64 {
        let (own, moved) = (self.own, usize::from(self.moved));
        let encoder = &mut self.encoder;
        block(|which| {
            let batch =
                if own { encoder.encode_own() } else { encoder.encode(black_box(frames.get(which * moved))) };
            black_box(&batch);
        })
    }
}

fn arms() -> Result<Vec<Arm>, EncodeError> {
    let to = SocketAddr::from(([10, 0, 0, 9], 5568));
    let setup = Setup::new(Some(to), CID);
    let mut arms = Vec::new();
    for entry in ENCODERS {
        let kinds = [
            ("contiguous", Backend::Contiguous, false, false, LIMITS[0]),
            ("contiguous/moved", Backend::Contiguous, false, true, LIMITS[0]),
            ("gather", Backend::Gather, true, false, LIMITS[1]),
            ("gather/moved", Backend::Gather, false, true, LIMITS[2]),
        ];
        for (name, backend, own, moved, limit) in kinds {
            let mut encoder = (entry.build)(backend, &setup)?;
            encoder.frame_mut(FRAME)?.fill(7);
            let name = format!("{} {name}", entry.protocol.name());
            arms.push(Arm { name, limit, encoder, own, moved, ratios: Vec::new(), ns: Vec::new() });
        }
    }
    Ok(arms)
}

/// Times every arm beside the copy; true when all keep their limits.
fn compare(skew: usize) -> Result<bool, EncodeError> {
    let frames = Frames::new(skew);
    let mut copy = Frames::new(0);
    let mut arms = arms()?;
    let mut copies = Vec::new();
    let mut dice = Dice(SEED);
    for _ in 0..BLOCKS {
        // A fixed order would let anything periodic hit the same arm in every round.
        for _ in 0..arms.len() {
            let arm = dice.below(arms.len());
            let arm = &mut arms[arm];
            let to = copy.start;
            let limit = block(|_| {
                let target = &mut copy.octets[to..to + FRAME];
                black_box(target).copy_from_slice(black_box(frames.get(0)));
            });
            let ns = arm.run(&frames);
            copies.push(limit);
            arm.ratios.push(ns / limit);
            arm.ns.push(ns);
        }
    }
    println!("frame {skew} octets from a cache line; memcpy of {FRAME} octets {:.1} ns", median(copies));
    let mut all_kept = true;
    for arm in arms {
        let (ratio, ns) = (median(arm.ratios), median(arm.ns));
        let kept = ratio <= arm.limit;
        all_kept &= kept;
        let verdict = if kept { "" } else { "  OVER" };
        println!("  {:28} {ns:7.1} ns  {ratio:6.3} x memcpy, limit {:.2}{verdict}", arm.name, arm.limit);
    }
    Ok(all_kept)
}

fn main() -> Result<ExitCode, EncodeError> {
    let kept = compare(0)? & compare(16)? & compare(1)?;
    Ok(if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
