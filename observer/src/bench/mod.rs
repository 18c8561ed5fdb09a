//! Encoders on one identical frame: gates the candidates, has the pure runner time them on the thread's CPU clock,
//! looks at them again afterwards, and makes the record of it.

#[cfg(feature = "peers")]
mod peers;
mod recorder;

pub use recorder::{RecorderOptions, bench_recorder};

use crate::live::sys_thread as thread;
use std::cell::RefCell;
use std::hint::black_box;
use std::io;
use wireproof_encoders::Backend;
use wireproof_encoders::bench::frame::{Aligned, Places};
use wireproof_encoders::bench::gate::Refusal;
use wireproof_encoders::bench::suite::{self, Candidate};
use wireproof_encoders::bench::{Arm, Plan, Ratio, RunError, Timings, run};
use wireproof_protocols::Protocol;
use wireproof_reports::Bench;
use wireproof_reports::bench::{Clock, Copying, Encoder, Interval, Paired, SCHEMA, Times};

/// Length of one timing, ns: a thousandth of it is more than reading the clock costs.
const TIMING_NS: u64 = 1_000_000;
/// Blocks thrown away before the others at least.
const LEAST_WARM_UP: u32 = 3;
/// Arm of the copy.
const MEMCPY: usize = 0;

/// What to bench.
#[derive(Clone, Debug)]
pub struct Options {
    /// Octets of the frame.
    pub frame_bytes: usize,
    /// The protocols and the frame octets in each of their datagrams.
    pub encoders: Vec<(Protocol, u16)>,
    /// The backends.
    pub backends: Vec<Backend>,
    /// Blocks that count.
    pub blocks: u32,
    /// Seed of the frame and of the order.
    pub seed: u64,
    /// The CPU to stay on.
    pub cpu: Option<usize>,
    /// Whether the crates of others are timed, too.
    pub peers: bool,
}

/// Why there is no record.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A protocol has no room for the packing or the frame.
    #[error("{} cannot be benched: {why}", .protocol.name())]
    Limit {
        /// The protocol.
        protocol: Protocol,
        /// Its field, the value and the limit.
        why: String,
    },
    /// The thread cannot stay on its CPU.
    #[error("{0}")]
    Cpu(io::Error),
    /// There is no ring to write.
    #[error("{0}")]
    Ring(String),
    /// The runner gave up.
    #[error("{0}")]
    Run(#[from] RunError),
}

/// Gates, times and compares.
///
/// # Errors
/// [`BenchError`]; an encoder that is not byte-identical is no error but a row of the record.
pub fn bench(options: &Options) -> Result<Bench, BenchError> {
    bench_of(options, candidates(options)?)
}

/// The same for given candidates.
fn bench_of(options: &Options, mut candidates: Vec<Candidate>) -> Result<Bench, BenchError> {
    thread::apply(options.cpu, None).map_err(BenchError::Cpu)?;
    let frames = [0, 1].map(|number| Aligned::seeded(options.frame_bytes, options.seed, number));
    let frames = [frames[0].octets(), frames[1].octets()];
    let gate = |candidate: &mut Candidate| candidate.check(&frames, false).err();
    let mut refusals: Vec<Option<Refusal>> = candidates.iter_mut().map(gate).collect();
    let mut arms = arms(&refusals);
    let plan = Plan {
        blocks: options.blocks,
        warm_up: (options.blocks / 10).max(LEAST_WARM_UP),
        seed: options.seed,
        timing_ns: TIMING_NS,
    };
    let timings = time(&plan, &mut candidates, &arms, &frames)?;
    // The numbers of the next frame show whether every frame was encoded that the timing counts.
    for (index, arm) in arms.iter_mut().enumerate().filter(|(_, arm)| arm.is_some()) {
        refusals[index] = candidates[index].check(&frames, true).err();
        *arm = arm.filter(|_| refusals[index].is_none());
    }
    let rows = Rows { candidates: &candidates, refusals: &refusals, arms: &arms, timings: &timings };
    Ok(Bench {
        schema: SCHEMA.to_owned(),
        seed: options.seed,
        frame_bytes: options.frame_bytes as u64,
        blocks: options.blocks,
        encoders: (0..candidates.len()).map(|index| rows.row(index, frames[0])).collect(),
        warm_up_blocks: plan.warm_up,
        clock: Clock {
            name: thread::CPU_CLOCK.to_owned(),
            step_ns: timings.step_ns(),
            cpu: options.cpu.map(|cpu| cpu as u64),
        },
        memcpy: Copying {
            ns_per_frame: times(&timings, MEMCPY).unwrap_or(Times { min: 0.0, p50: 0.0, p95: 0.0 }),
            disturbed_blocks: timings.disturbed(MEMCPY) as u64,
        },
    })
}

/// Ours in the order asked for, then their peers.
fn candidates(options: &Options) -> Result<Vec<Candidate>, BenchError> {
    let mut candidates = Vec::new();
    for (protocol, packing) in &options.encoders {
        let limit = |why: String| BenchError::Limit { protocol: *protocol, why };
        let ours = suite::candidates(*protocol, &options.backends, *packing, options.frame_bytes);
        candidates.extend(ours.map_err(|e| limit(e.to_string()))?);
    }
    #[cfg(feature = "peers")]
    if options.peers {
        candidates
            .extend(options.encoders.iter().flat_map(|(protocol, packing)| peers::of(*protocol, *packing)));
    }
    Ok(candidates)
}

/// The arm of each candidate that passed the gate; the copy is the first arm.
fn arms(refusals: &[Option<Refusal>]) -> Vec<Option<usize>> {
    let mut last = MEMCPY;
    let mut next = |refusal: &Option<Refusal>| {
        refusal.is_none().then(|| {
            last += 1;
            last
        })
    };
    refusals.iter().map(&mut next).collect()
}

/// Times the copy and everyone who passed the gate.
fn time(
    plan: &Plan,
    candidates: &mut [Candidate],
    timed: &[Option<usize>],
    frames: &[&[u8]; 2],
) -> Result<Timings, BenchError> {
    let mut to = Aligned::zeros(frames[0].len());
    let places = RefCell::new(Places::new(*frames));
    let places = &places;
    let turn = |block: u32| places.borrow_mut().turn(block);
    let memcpy = |iterations| copy(places.borrow().frames()[0], to.octets_mut(), iterations);
    let mut arms = vec![Arm::new("memcpy", memcpy).prepared(turn)];
    for (candidate, _) in candidates.iter_mut().zip(timed).filter(|(_, arm)| arm.is_some()) {
        let (subject, buffers) = (&mut candidate.subject, if candidate.moves { 2 } else { 1 });
        let work = move |iterations| subject.work(&places.borrow().frames()[..buffers], iterations);
        arms.push(Arm::new(&candidate.name, work).prepared(turn));
    }
    Ok(run(plan, &mut arms, &mut thread::cpu_ns)?)
}

fn copy(from: &[u8], to: &mut [u8], iterations: u64) {
    for _ in 0..iterations {
        black_box(&mut *to).copy_from_slice(black_box(from));
        black_box(to.as_ptr());
    }
}

/// Candidates and what became of them.
struct Rows<'a> {
    candidates: &'a [Candidate],
    refusals: &'a [Option<Refusal>],
    arms: &'a [Option<usize>],
    timings: &'a Timings,
}

impl Rows<'_> {
    fn row(&self, index: usize, frame: &[u8]) -> Encoder {
        let candidate = &self.candidates[index];
        let golden = candidate.golden(frame, 0).unwrap_or_default();
        let arm = self.arms[index];
        let ratio = arm.and_then(|arm| self.timings.ratio(arm, MEMCPY));
        let own = self.own(candidate).filter(|_| candidate.peer);
        Encoder {
            name: candidate.name.clone(),
            backend: candidate.backend.name().to_owned(),
            datagrams: golden.len() as u64,
            bytes: golden.iter().map(|datagram| datagram.len() as u64).sum(),
            ns_per_frame: arm.and_then(|arm| times(self.timings, arm)),
            ratio_to_memcpy: ratio.map(|ratio| rounded(ratio.median, 4)),
            identical: self.refusals[index].is_none(),
            ratio_interval: ratio.map(|ratio| interval(&ratio)),
            ratio_to_own: arm
                .zip(own)
                .and_then(|(arm, own)| self.timings.ratio(arm, own))
                .map(|r| paired(&r)),
            disturbed_blocks: arm.map_or(0, |arm| self.timings.disturbed(arm) as u64),
            difference: self.refusals[index].as_ref().map(ToString::to_string),
            habit: candidate.habit.map(str::to_owned),
        }
    }

    /// The arm of our contiguous encoder of the same protocol.
    fn own(&self, candidate: &Candidate) -> Option<usize> {
        let own = |other: &&Candidate| {
            !other.peer && other.protocol == candidate.protocol && other.backend == Backend::Contiguous
        };
        let index = self.candidates.iter().position(|other| own(&other))?;
        self.arms[index]
    }
}

fn times(timings: &Timings, arm: usize) -> Option<Times> {
    Some(Times {
        min: rounded(timings.quantile(arm, 0)?, 3),
        p50: rounded(timings.median(arm)?, 3),
        p95: rounded(timings.quantile(arm, 95)?, 3),
    })
}

fn interval(ratio: &Ratio) -> Interval {
    Interval { low: rounded(ratio.interval.low, 4), high: rounded(ratio.interval.high, 4) }
}

fn paired(ratio: &Ratio) -> Paired {
    let Interval { low, high } = interval(ratio);
    Paired { median: rounded(ratio.median, 4), low, high }
}

fn rounded(value: f64, decimals: i32) -> f64 {
    let factor = 10f64.powi(decimals);
    (value * factor).round() / factor
}

#[cfg(test)]
mod tests;
