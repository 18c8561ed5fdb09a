//! The runner: calibrates every arm, then times each of them once in every block, in a seeded random order.

use super::order::Choices;
use super::stats::{Difference, LEAST_SAMPLES, Ratio, median, quantile, sorted};
use std::fmt;

/// Most iterations in one timing; an arm that takes no time with as many cannot be timed.
const MOST_ITERATIONS: u64 = 1 << 32;
/// A timing lasts at least this many steps of the clock, so that a step is half a percent of it.
const STEPS: u64 = 200;
/// Longest step that is made up for by longer timings, ns.
const WIDEST_STEP_NS: u64 = 5_000_000;
/// Readings after which a clock that shows one time only stands still.
const READINGS: u32 = 10_000_000;
/// Steps of the clock that are looked at.
const STEPS_SEEN: usize = 32;
/// A timing of more than this many percent of its arm's median is called disturbed.
const DISTURBED_PERCENT: f64 = 125.0;

/// Where time comes from: nanoseconds that never go back, from any start.
pub trait Clock {
    /// The time, ns.
    fn now_ns(&mut self) -> u64;
}

impl<F: FnMut() -> u64> Clock for F {
    fn now_ns(&mut self) -> u64 {
        self()
    }
}

/// One of the things that are timed against each other.
pub struct Arm<'a> {
    /// Name in the results.
    pub name: String,
    /// Does the work so many times; the loop belongs to the arm, so that a call through a pointer costs once a
    /// timing and not once an iteration.
    pub work: Box<dyn FnMut(u64) + 'a>,
    /// Done before each timing, outside of it, with the number of the block, warm-up included.
    pub prepare: Box<dyn FnMut(u32) + 'a>,
}

impl<'a> Arm<'a> {
    /// An arm without preparation.
    pub fn new(name: &str, work: impl FnMut(u64) + 'a) -> Arm<'a> {
        Arm { name: name.to_owned(), work: Box::new(work), prepare: Box::new(|_| {}) }
    }

    /// The arm with something to be done before each timing.
    #[must_use]
    pub fn prepared(self, prepare: impl FnMut(u32) + 'a) -> Arm<'a> {
        Arm { prepare: Box::new(prepare), ..self }
    }
}

impl fmt::Debug for Arm<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arm").field("name", &self.name).finish_non_exhaustive()
    }
}

/// How a run goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Blocks that count; each times every arm once.
    pub blocks: u32,
    /// Blocks before them, timed in the same way and thrown away.
    pub warm_up: u32,
    /// Seed of the order within the blocks.
    pub seed: u64,
    /// How long one timing lasts at least, ns; longer when the clock is coarse.
    pub timing_ns: u64,
}

/// Why there are no timings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// Too few blocks for an interval.
    Blocks(u32),
    /// The clock shows one time only.
    ClockStands,
    /// The steps of the clock are too wide for any bench, ns.
    ClockCoarse(u64),
    /// The arm of this name takes no time, however often it works.
    NoTime(String),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Blocks(n) => write!(f, "{n} blocks are too few, it takes {LEAST_SAMPLES}"),
            RunError::ClockStands => write!(f, "the clock stands still"),
            RunError::ClockCoarse(step) => write!(f, "the clock moves in steps of {step} ns"),
            RunError::NoTime(name) => write!(f, "{name} takes no time: its work is not done"),
        }
    }
}

impl std::error::Error for RunError {}

/// What a run measured: the time of one iteration of every arm in every block.
#[derive(Clone, Debug, PartialEq)]
pub struct Timings {
    /// By arm, then by block, ns an iteration.
    samples: Vec<Vec<f64>>,
    /// The same in ascending order.
    ascending: Vec<Vec<f64>>,
    iterations: Vec<u64>,
    step_ns: u64,
}

impl Timings {
    /// Nanoseconds of one iteration of the arm in each block, in the order of the blocks.
    pub fn samples(&self, arm: usize) -> &[f64] {
        self.samples.get(arm).map_or(&[], Vec::as_slice)
    }

    /// Iterations in each timing of the arm.
    pub fn iterations(&self, arm: usize) -> u64 {
        self.iterations.get(arm).copied().unwrap_or_default()
    }

    /// The smallest step of the clock that was seen, ns.
    pub fn step_ns(&self) -> u64 {
        self.step_ns
    }

    /// Median, ns an iteration.
    pub fn median(&self, arm: usize) -> Option<f64> {
        median(self.ascending.get(arm)?)
    }

    /// Quantile by nearest rank, ns an iteration; 0 is the minimum, 100 the maximum.
    pub fn quantile(&self, arm: usize, percent: u8) -> Option<f64> {
        quantile(self.ascending.get(arm)?, percent)
    }

    /// Blocks in which the arm took more than 1.25 times its median. They count like all others.
    pub fn disturbed(&self, arm: usize) -> usize {
        let limit = self.median(arm).unwrap_or_default() * DISTURBED_PERCENT / 100.0;
        self.samples(arm).iter().filter(|sample| **sample > limit).count()
    }

    /// How many times as long the arm takes as the base, block by block.
    pub fn ratio(&self, arm: usize, base: usize) -> Option<Ratio> {
        Ratio::of(self.pairs(arm, base))
    }

    /// How many nanoseconds an iteration of the arm takes more than one of the base, block by block.
    pub fn difference(&self, arm: usize, base: usize) -> Option<Difference> {
        Difference::of(self.pairs(arm, base))
    }

    fn pairs(&self, arm: usize, base: usize) -> impl Iterator<Item = (f64, f64)> {
        self.samples(arm).iter().copied().zip(self.samples(base).iter().copied())
    }
}

/// Times the arms against each other.
///
/// # Errors
/// [`RunError`] for too few blocks, a clock that cannot serve or an arm that takes no time.
pub fn run(plan: &Plan, arms: &mut [Arm<'_>], clock: &mut dyn Clock) -> Result<Timings, RunError> {
    if (plan.blocks as usize) < LEAST_SAMPLES {
        return Err(RunError::Blocks(plan.blocks));
    }
    let step_ns = step(clock)?;
    let target_ns = plan.timing_ns.max(step_ns * STEPS).max(1);
    let iterations = arms
        .iter_mut()
        .map(|arm| calibrate(arm, clock, target_ns))
        .collect::<Result<Vec<u64>, RunError>>()?;
    let mut choices = Choices::new(plan.seed, "bench order");
    let mut samples = vec![Vec::with_capacity(plan.blocks as usize); arms.len()];
    for block in 0..plan.warm_up.saturating_add(plan.blocks) {
        for index in choices.order(arms.len()) {
            (arms[index].prepare)(block);
            let took = time(&mut arms[index], clock, iterations[index]);
            if block >= plan.warm_up {
                samples[index].push(took as f64 / iterations[index] as f64);
            }
        }
    }
    let ascending = samples.iter().map(|of| sorted(of.iter().copied())).collect();
    Ok(Timings { samples, ascending, iterations, step_ns })
}

/// The smallest step of a clock: its resolution or what reading it costs, whichever is more.
fn step(clock: &mut dyn Clock) -> Result<u64, RunError> {
    let mut steps = Vec::with_capacity(STEPS_SEEN);
    let mut before = clock.now_ns();
    for _ in 0..READINGS {
        let now = clock.now_ns();
        if now > before {
            steps.push(now - before);
            before = now;
        }
        if steps.len() == STEPS_SEEN {
            break;
        }
    }
    match steps.into_iter().min() {
        None => Err(RunError::ClockStands),
        Some(step) if step > WIDEST_STEP_NS => Err(RunError::ClockCoarse(step)),
        Some(step) => Ok(step),
    }
}

/// Iterations with which a timing of the arm lasts about as long as the target: doubled until half of it is
/// reached, then scaled.
fn calibrate(arm: &mut Arm<'_>, clock: &mut dyn Clock, target_ns: u64) -> Result<u64, RunError> {
    let mut iterations = 1u64;
    (arm.prepare)(0);
    loop {
        let took = time(arm, clock, iterations);
        if took > 0 && took >= target_ns / 2 {
            let scaled = (u128::from(iterations) * u128::from(target_ns)).div_ceil(u128::from(took));
            return Ok(u64::try_from(scaled).unwrap_or(MOST_ITERATIONS).clamp(1, MOST_ITERATIONS));
        }
        if iterations >= MOST_ITERATIONS {
            return Err(RunError::NoTime(arm.name.clone()));
        }
        iterations *= 2;
    }
}

fn time(arm: &mut Arm<'_>, clock: &mut dyn Clock, iterations: u64) -> u64 {
    let start = clock.now_ns();
    (arm.work)(iterations);
    clock.now_ns().saturating_sub(start)
}

#[cfg(test)]
#[path = "runner_tests.rs"]
mod tests;
