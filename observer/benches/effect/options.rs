//! What a run is made of, from the environment; everything has a default, and a value that cannot be read is refused.

use super::Outcome;
use std::str::FromStr;

/// A run.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// Paired blocks of each treatment.
    pub(crate) blocks: usize,
    /// Length of an arm, s.
    pub(crate) seconds: u64,
    /// Time before the first arm, s: the ring holds 36.8 s, and a conversion of less of them is another treatment.
    pub(crate) warm_up: u64,
    /// Paired blocks with the recorder on and off; 0 leaves the writer's cost out.
    pub(crate) cost_blocks: usize,
    /// Length of one of their arms, s.
    pub(crate) cost_seconds: u64,
    /// Load of the device, as `--load` has it.
    pub(crate) load: String,
    /// Seed of the orders and of the downloads' times.
    pub(crate) seed: u64,
    /// Most blocks of a treatment that are done again because the host was disturbed.
    pub(crate) repeats: usize,
    /// The niced conversion, too; it is told and not judged.
    pub(crate) niced: bool,
    /// Processor of the device and of its web service.
    pub(crate) device_cpu: usize,
    /// Processor of everything else.
    pub(crate) bench_cpu: usize,
}

impl Options {
    /// Reads `OBSERVER_EFFECT_*`.
    pub(crate) fn of_environment() -> Outcome<Options> {
        Ok(Options {
            blocks: number("BLOCKS", 6)?,
            seconds: number("SECONDS", 15)?,
            warm_up: number("WARM_UP", 45)?,
            cost_blocks: number("COST_BLOCKS", 15)?,
            cost_seconds: number("COST_SECONDS", 2)?,
            load: number("LOAD", 8_u32)?.to_string(),
            seed: number("SEED", 1)?,
            repeats: number("REPEATS", 5)?,
            niced: number("NICED", 0_u8)? != 0,
            device_cpu: number("DEVICE_CPU", 1)?,
            bench_cpu: number("BENCH_CPU", 0)?,
        })
    }

    /// Downloads of an arm: five in 15 s.
    pub(crate) fn downloads(&self) -> u64 {
        ((self.seconds + 1) / 3).max(1)
    }
}

fn number<T: FromStr>(name: &str, default: T) -> Outcome<T> {
    let name = format!("OBSERVER_EFFECT_{name}");
    match std::env::var(&name) {
        Err(_) => Ok(default),
        Ok(text) => text.parse().map_err(|_| format!("{name}={text} is no number that fits").into()),
    }
}
