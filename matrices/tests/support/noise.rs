//! A device's frame times as the field saw them: p50 5.12, p95 5.56, p99 6.93 ms, largest of 1,800 about 11.1 ms, tails
//! in bursts of three frames (experiments, section 6.3). Every number follows from a seed.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "helpers of tests")]

use super::{arm, drain};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use wireproof_matrices::arm::{Arm, FrameSpan, Span};

/// Share of frames no longer than so many ns.
const QUANTILES: [(f64, f64); 14] = [
    (0.0, 4_950e3),
    (0.5, 5_120e3),
    (0.8, 5_250e3),
    (0.9, 5_370e3),
    (0.95, 5_560e3),
    (0.97, 5_740e3),
    (0.98, 6_050e3),
    (0.985, 6_470e3),
    (0.99, 6_930e3),
    (0.995, 7_450e3),
    (0.998, 8_500e3),
    (0.999, 9_600e3),
    (0.9995, 11_100e3),
    (1.0, 13_000e3),
];
/// Frames in the tail above p95 come in bursts of so many.
const BURST: u32 = 3;
const PERIOD_NS: i64 = 16_666_667;

/// What a simulated run is made of.
#[derive(Clone, Copy)]
pub struct Model {
    pub blocks: u32,
    pub frames: u32,
    pub drains: u32,
    /// Spread of an arm and of a block, ns.
    pub arm_sd: f64,
    pub block_sd: f64,
    /// Added to every frame of the treatment, and to those that overlap its drains, ns.
    pub uniform_ns: f64,
    pub in_drain_ns: f64,
}

pub struct Noise(ChaCha8Rng);

impl Noise {
    pub fn new(seed: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Noise(ChaCha8Rng::from_seed(key))
    }

    /// From 0, below 1.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn normal(&mut self) -> f64 {
        let (a, b) = (1.0 - self.unit(), self.unit());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }

    /// Lengths of so many frames in a row, ns.
    pub fn lengths(&mut self, frames: u32) -> Vec<f64> {
        // So that one frame in twenty is in the tail.
        let starts = 0.05 / (f64::from(BURST) * 0.95);
        let mut left = 0;
        let one = |_| {
            if left == 0 && self.unit() < starts {
                left = BURST;
            }
            let tail = left > 0;
            left = left.saturating_sub(1);
            let u = self.unit();
            quantile(if tail { 0.95 + 0.05 * u } else { 0.95 * u })
        };
        (0..frames).map(one).collect()
    }

    /// The arms of a run.
    pub fn run(&mut self, model: &Model) -> Vec<Arm> {
        (1..=model.blocks)
            .flat_map(|block| {
                let shared = self.normal() * model.block_sd;
                [0, 1].map(|treatment| self.arm(model, block, treatment, shared))
            })
            .collect()
    }

    fn arm(&mut self, model: &Model, block: u32, treatment: u32, shared: f64) -> Arm {
        let mut arm = arm(block, treatment, 1);
        let window_ns = i64::from(model.frames) * PERIOD_NS + 1_000_000;
        arm.measured.device_window = Some(Span { start_ns: 0, end_ns: window_ns });
        if treatment == 1 {
            arm.measured.drains = (0..model.drains).map(|i| self.drain(model, i)).collect();
        }
        let shift =
            shared + self.normal() * model.arm_sd + if treatment == 1 { model.uniform_ns } else { 0.0 };
        let lengths = self.lengths(model.frames);
        let mut start_ns = 500_000;
        arm.measured.frames.clear();
        for (id, length) in (0..).zip(lengths) {
            let drained =
                arm.measured.drains.iter().any(|drain| {
                    drain.device.start_ns < start_ns + 5_000_000 && drain.device.end_ns > start_ns
                });
            let length = length + shift + if drained { model.in_drain_ns } else { 0.0 };
            arm.measured
                .frames
                .push(FrameSpan { id, span: Span { start_ns, end_ns: start_ns + length as i64 } });
            start_ns += PERIOD_NS;
        }
        // Two microseconds between the rates of arms.
        for stream in &mut arm.measured.streams {
            stream.frames = u64::from(model.frames);
            stream.last_ns = i64::from(model.frames - 1) * PERIOD_NS + (self.normal() * 20_000.0) as i64;
            stream.datagrams = u64::from(model.frames) * 6;
        }
        arm
    }

    /// Drains of 0.2 s every 3 s with up to 0.8 s of jitter.
    fn drain(&mut self, model: &Model, index: u32) -> wireproof_matrices::arm::ArmDrain {
        let every = i64::from(model.frames) * PERIOD_NS / i64::from(model.drains.max(1));
        let start_ns = i64::from(index) * every + 1_000_000_000 + (self.unit() * 800e6) as i64;
        drain(start_ns, start_ns + 200_000_000)
    }
}

fn quantile(u: f64) -> f64 {
    let above = QUANTILES.iter().position(|(share, _)| *share >= u).unwrap_or(1).max(1);
    let ((from, low), (to, high)) = (QUANTILES[above - 1], QUANTILES[above]);
    low + (high - low) * (u - from) / (to - from)
}
