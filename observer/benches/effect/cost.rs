//! What the recorder's writer costs the device: processor time of the engine's thread a frame, recorder on against off,
//! in paired arms of a device without work of its own. The engine reads its clocks in both.

use super::Outcome;
use super::arm::RATE;
use super::compare::{dice, starts};
use super::options::Options;
use super::quiet::Sentinel;
use super::rig::Rig;
use serde_json::Value;
use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Time after a toggle.
const SETTLE: Duration = Duration::from_millis(200);
/// Past the frame in front of which a request was read, and before the next.
const HALF_A_PERIOD: Duration = Duration::from_nanos(1_000_000_000 / RATE / 2);

/// A pair of arms: processor time a frame, ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) off_ns: f64,
    pub(crate) on_ns: f64,
}

/// All pairs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) pairs: Vec<Pair>,
    /// Pairs that were measured again, each with what disturbed it.
    pub(crate) repeated: Vec<String>,
    /// Pairs that count although they were disturbed.
    pub(crate) disturbed: usize,
}

/// Measures all pairs.
pub(crate) fn run(
    rig: &Rig,
    sentinel: &Sentinel,
    options: &Options,
    say: &mut dyn FnMut(&str),
) -> Outcome<Cost> {
    let mut cost = Cost::default();
    let order = starts(options.cost_blocks, &mut dice(options.seed, "writer"));
    for (number, off_first) in order.into_iter().enumerate() {
        let pair = loop {
            let watch = sentinel.watch();
            let first = arm(rig, options, !off_first)?;
            let second = arm(rig, options, off_first)?;
            let quiet = watch.end();
            let (off_ns, on_ns) = if off_first { (first, second) } else { (second, first) };
            let pair = Pair { off_ns, on_ns };
            if !quiet.is_disturbed() {
                break pair;
            }
            if cost.repeated.len() == options.repeats {
                cost.disturbed += 1;
                break pair;
            }
            cost.repeated.push(format!("pair {}: {}", number + 1, quiet.words()));
        };
        let us = |ns: f64| ns / 1e3;
        say(&format!(
            "  pair {:2}  off {:.2}  on {:.2} us a frame",
            number + 1,
            us(pair.off_ns),
            us(pair.on_ns)
        ));
        cost.pairs.push(pair);
    }
    Ok(cost)
}

/// Processor time a frame of one arm, ns.
fn arm(rig: &Rig, options: &Options, recording: bool) -> Outcome<f64> {
    rig.ask(if recording { "profiler 1" } else { "profiler 0" })?;
    thread::sleep(SETTLE);
    let (cpu_before, frames_before) = reading(rig)?;
    thread::sleep(Duration::from_secs(options.cost_seconds));
    let (cpu, frames) = reading(rig)?;
    if frames <= frames_before {
        return Err("the device shows no frames".into());
    }
    Ok((cpu - cpu_before) as f64 / (frames - frames_before) as f64)
}

/// Processor time of the engine's thread so far, ns, and its frames, between two frames.
fn reading(rig: &Rig) -> Outcome<(u64, u64)> {
    let status: Value = serde_json::from_str(&rig.ask("status")?)?;
    thread::sleep(HALF_A_PERIOD);
    let engine = rig.engine();
    let text = fs::read_to_string(format!("/proc/{engine}/task/{engine}/schedstat"))?;
    let cpu = text.split_whitespace().next().and_then(|word| word.parse().ok());
    Ok((
        cpu.ok_or("this kernel keeps no schedstat")?,
        status["frames"].as_u64().ok_or("no frames in status")?,
    ))
}

/// What `bench --recorder` says: ns a frame with its clock reads, low and high end of its interval, on the bench's
/// processor.
pub(crate) fn hot() -> Outcome<[f64; 3]> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wireproof"));
    let output = command.args(["bench", "--recorder", "--format", "json"]).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let record: Value = serde_json::from_slice(&output.stdout)?;
    let frame = &record["cost"]["per_frame_ns"];
    let number = |key: &str| frame[key].as_f64().ok_or("bench --recorder says no cost of a frame");
    Ok([number("median")?, number("low")?, number("high")?])
}
