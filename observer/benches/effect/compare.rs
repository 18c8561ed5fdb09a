//! A treatment against none: seeded blocks of two arms, done again where the host was disturbed.

use super::Outcome;
use super::arm::{self, Arm, Window};
use super::options::Options;
use super::quiet::Sentinel;
use super::rig::Rig;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

const SECOND_NS: u64 = 1_000_000_000;

/// A treatment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Treatment {
    /// Name in the record.
    pub(crate) name: &'static str,
    /// What it is, for people.
    pub(crate) what: &'static str,
    /// What is downloaded.
    pub(crate) path: &'static str,
}

/// The raw copy, converted elsewhere.
pub(crate) const RAW: Treatment =
    Treatment { name: "raw", what: "raw copies, SCHED_IDLE", path: "/v1/ring/raw" };
/// The conversion on the device.
pub(crate) const PLAIN: Treatment =
    Treatment { name: "plain", what: "conversion on the device, ordinary priority", path: "/v1/trace.json" };
/// The same, as considerate as it can be.
pub(crate) const NICED: Treatment =
    Treatment { name: "niced", what: "conversion on the device, SCHED_IDLE", path: "/v1/trace.json?nice=1" };

/// Two arms, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// The arm without came first.
    pub(crate) idle_first: bool,
    pub(crate) idle: Arm,
    pub(crate) treated: Arm,
}

/// All blocks of a treatment.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) treatment: Treatment,
    pub(crate) blocks: Vec<Block>,
    /// Blocks that were done again, each with what disturbed it.
    pub(crate) repeated: Vec<String>,
    /// Blocks that count although they were disturbed: nothing was left to repeat with.
    pub(crate) disturbed: usize,
}

/// Runs all blocks.
pub(crate) fn run(
    rig: &Rig,
    sentinel: &Sentinel,
    options: &Options,
    treatment: Treatment,
    say: &mut dyn FnMut(&str),
) -> Outcome<Comparison> {
    let mut dice = dice(options.seed, treatment.name);
    let mut found = Comparison { treatment, blocks: Vec::new(), repeated: Vec::new(), disturbed: 0 };
    for (number, idle_first) in starts(options.blocks, &mut dice).into_iter().enumerate() {
        let window = window(options, &mut dice);
        let block = loop {
            let block = block(rig, sentinel, &window, treatment, idle_first)?;
            let Some(words) = disturbance(&block) else { break block };
            if found.repeated.len() == options.repeats {
                found.disturbed += 1;
                break block;
            }
            found.repeated.push(format!("block {}: {words}", number + 1));
        };
        say(&line(number + 1, &block));
        found.blocks.push(block);
    }
    Ok(found)
}

fn block(
    rig: &Rig,
    sentinel: &Sentinel,
    window: &Window,
    treatment: Treatment,
    idle_first: bool,
) -> Outcome<Block> {
    let run = |path| arm::run(rig, sentinel, window, path);
    let early = if idle_first { Some(run(None)?) } else { None };
    let mut treated = run(Some(treatment.path))?;
    let mut idle = early.map_or_else(|| run(None), Ok)?;
    treated.arm.in_download_ns = arm::beside(&treated.ring, &treated.spans);
    let shifted = |at: &u64| idle.start_ns + (at - treated.start_ns);
    let sham: Vec<_> = treated.spans.iter().map(|(from, to)| (shifted(from), shifted(to))).collect();
    idle.arm.in_download_ns = arm::beside(&idle.ring, &sham);
    Ok(Block { idle_first, idle: idle.arm, treated: treated.arm })
}

fn disturbance(block: &Block) -> Option<String> {
    let both = [("without", &block.idle.quiet), ("with", &block.treated.quiet)];
    let found = both.into_iter().find(|(_, quiet)| quiet.is_disturbed());
    found.map(|(arm, quiet)| format!("{}, in the arm {arm}", quiet.words()))
}

fn line(number: usize, block: &Block) -> String {
    let ms = |ns: u64| ns as f64 / 1e6;
    let (idle, treated) = (&block.idle.frames, &block.treated.frames);
    format!(
        "  block {number:2} {}  p95 {:.3} {:.3}  p99 {:.3} {:.3}  max {:.3} {:.3} ms, {} and {} frames",
        if block.idle_first { "idle first" } else { "idle last " },
        ms(idle.p95),
        ms(treated.p95),
        ms(idle.p99),
        ms(treated.p99),
        ms(idle.max),
        ms(treated.max),
        block.idle.counted,
        block.treated.counted
    )
}

/// Choices of a seed for one purpose.
pub(crate) fn dice(seed: u64, purpose: &str) -> ChaCha8Rng {
    let mut key = [0; 32];
    key.iter_mut()
        .zip(seed.to_le_bytes().into_iter().chain(purpose.bytes()))
        .for_each(|(k, octet)| *k = octet);
    ChaCha8Rng::from_seed(key)
}

/// As many blocks that begin with the arm without as with the other, in a seeded order.
pub(crate) fn starts(blocks: usize, dice: &mut ChaCha8Rng) -> Vec<bool> {
    let mut starts: Vec<bool> = (0..blocks).map(|at| at % 2 == 0).collect();
    for last in (1..blocks).rev() {
        starts.swap(last, dice.next_u32() as usize % (last + 1));
    }
    starts
}

/// Downloads spread over the arm, each a little off its place: strictly periodic ones can beat with something else.
fn window(options: &Options, dice: &mut ChaCha8Rng) -> Window {
    let length_ns = options.seconds * SECOND_NS;
    let each = length_ns / options.downloads();
    let offsets =
        (0..options.downloads()).map(|at| at * each + each / 10 + u64::from(dice.next_u32()) % (each / 3));
    Window { length_ns, offsets_ns: offsets.collect() }
}
