//! The course of a soak: the plan that its chunks are run by, made from a frozen plan and the soak's rule alone, so that
//! whoever has both makes the same one; and what an arm of it amounts to as a chunk.
//!
//! It never changes the frozen plan, whose hash stays that of the run.

use super::{Chunk, Rule, RuleError};
use crate::arm::{Arm, Owners, WireStream};
use crate::metrics::{Count, Event, Metric, count};
use crate::plan::{Class, Direction, DrainPlan, Gate, Kind, Plan};
use crate::units::duration_text;
use std::collections::BTreeMap;

/// Most chunks of a soak: what a journal has room for, twice over.
pub const MOST_CHUNKS: u32 = 5_000;
/// The metrics that a soak can be about.
pub const METRICS: [&str; 6] =
    ["wire.lost", "wire.dup", "wire.reordered", "wire.shape", "wire.foreign", "frame.misses"];
/// Name of the only gate of a soak.
pub const GATE: &str = "soak";
/// Chunks beyond the expected ones: invalid ones, and those of a device that is slow.
const SPARE: u32 = 32;

/// Why a plan cannot be soaked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSoak {
    /// The rule itself.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// Nothing that a soak counts.
    #[error("'{0}' is nothing that a soak counts: name one of {list}", list = METRICS.join(", "))]
    Metric(String),
    /// The ring is needed.
    #[error("frame.misses is read from the ring: give the plan a [drain] with its url")]
    Ring,
    /// The window is too short.
    #[error("{needed} trials take {chunks} windows of {measure}, and a soak has {most} at most: make timing.measure {enough} or longer, or ask for a larger rate", most = MOST_CHUNKS)]
    Long {
        /// Trials that are needed.
        needed: u64,
        /// Windows they take.
        chunks: u64,
        /// Length of a window.
        measure: String,
        /// Length that would do.
        enough: String,
    },
}

/// Trials that a window of a plan has when the device keeps its pace: one for each frame.
pub fn trials_expected(plan: &Plan) -> u64 {
    let frames = u128::from(plan.timing.measure_ns) * u128::from(plan.target.expected_fps) / 1_000_000_000;
    u64::try_from(frames).unwrap_or(u64::MAX).max(1)
}

/// Windows that a soak takes when the device keeps its pace and none is invalid.
pub fn chunks_expected(plan: &Plan, rule: &Rule) -> u64 {
    rule.trials_needed().div_ceil(trials_expected(plan))
}

/// The plan that the chunks of a soak are run by: every factor at its baseline, no downloads inside the window, and the
/// soak's own gate alone.
///
/// # Errors
/// [`NoSoak`] when that cannot be run.
pub fn course(plan: &Plan, rule: &Rule) -> Result<Plan, NoSoak> {
    rule.check()?;
    if !METRICS.contains(&rule.metric.as_str()) {
        return Err(NoSoak::Metric(rule.metric.chars().take(40).collect()));
    }
    if rule.metric == "frame.misses" && !(plan.has_ring() && plan.has_clock()) {
        return Err(NoSoak::Ring);
    }
    let mut course = plan.clone();
    course.design.blocks = blocks(plan, rule)?;
    course.design.looks.clear();
    for factor in &mut course.factor {
        factor.levels = vec![factor.baseline.clone()];
    }
    course.drain = plan.drain.clone().map(|drain| DrainPlan {
        paths: BTreeMap::new(),
        offsets_ns: Vec::new(),
        jitter_ns: 0,
        ..drain
    });
    course.gate = vec![gate(rule)];
    course.ladder = None;
    Ok(course)
}

/// Chunks there may be: three times the expected ones, because a device may be as slow as the plan tolerates.
fn blocks(plan: &Plan, rule: &Rule) -> Result<u32, NoSoak> {
    let (needed, chunks) = (rule.trials_needed(), chunks_expected(plan, rule));
    if chunks > u64::from(MOST_CHUNKS) {
        let each = u128::from(needed.div_ceil(MOST_CHUNKS.into())) * 1_000_000_000;
        let seconds = each.div_ceil(u128::from(plan.target.expected_fps.max(1)) * 1_000_000_000);
        return Err(NoSoak::Long {
            needed,
            chunks,
            measure: duration_text(plan.timing.measure_ns),
            enough: format!("{seconds}s"),
        });
    }
    let chunks = u32::try_from(chunks).unwrap_or(MOST_CHUNKS);
    Ok(chunks.saturating_mul(3).saturating_add(SPARE).min(2 * MOST_CHUNKS))
}

fn gate(rule: &Rule) -> Gate {
    Gate {
        id: GATE.to_owned(),
        class: Class::Gate,
        metric: rule.metric.clone(),
        kind: Kind::Zero,
        margin: None,
        alpha_ppm: rule.alpha_ppm,
        min_pairs: 1,
        min_frames: 1,
        min_trials: Some(rule.trials_needed()),
        direction: Direction::Less,
        expected_sign: None,
        selector: BTreeMap::new(),
        on_fail: None,
    }
}

/// What an arm amounts to: frames it could have happened in, bursts in which it did. Nothing of an arm without a window.
pub fn chunk(course: &Plan, metric: &str, arm: &Arm, invalid: &[String]) -> Chunk {
    let (window, invalid) = (arm.measured.window, invalid.to_vec());
    let length_ns = u64::try_from(window.end_ns.saturating_sub(window.start_ns)).unwrap_or(0);
    let Some(Metric::Events(event)) = Metric::parse(metric).filter(|_| length_ns > 0) else {
        return Chunk { invalid, ..Chunk::default() };
    };
    let Count { episodes, ambiguous, trials, .. } = count(event, course, arm);
    let trials = if event == Event::Misses { trials } else { frames(course, arm) };
    let ambiguous = match event {
        // Where the bench was not fit, that nothing came says nothing; what is known to be missing still does.
        Event::Lost if !invalid.is_empty() => arm.measured.streams.iter().map(untold).sum(),
        _ => ambiguous,
    };
    Chunk { trials, events: episodes, ambiguous, invalid, length_ns, ..Chunk::default() }
}

/// Frames that every stream of the plan showed.
fn frames(course: &Plan, arm: &Arm) -> u64 {
    let of = |id: &str| arm.measured.streams.iter().find(|stream| stream.id == id).map_or(0, |s| s.frames);
    course.stream.iter().map(|stream| of(&stream.id)).min().unwrap_or(0)
}

/// Missing datagrams of a stream of which nobody knows whose they are.
fn untold(stream: &WireStream) -> u64 {
    let Owners { ambiguous, .. } = stream.owners;
    ambiguous.saturating_add(stream.lost.saturating_sub(stream.owners.all()))
}
