//! Whether an arm says something about the device: the rows of the table of failures that can be told from its numbers.
//!
//! It never judges the device; that is the verdict's room.

use super::io::DrainKind;
use super::steps::ArmRun;
use crate::arm::{Arm, ArmDrain, Measured, WireStream};
use crate::gate::decides_on_frames;
use crate::plan::Plan;
use crate::validity::{self, SKIPPED};
use std::collections::BTreeMap;

/// Why an arm is invalid in which the device restarted.
pub(super) const RESTARTED: &str = "device_restarted";

/// Something about an arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// The arm does not count.
    Spoils(&'static str),
    /// Worth telling.
    Note(String),
}

use Finding::{Note, Spoils};

/// Judges an arm whose window was measured: what its numbers say by [`validity::measured`], what only its times and
/// downloads show, and what is merely worth telling.
pub(super) fn judge(plan: &Plan, run: &ArmRun, arm: &Arm, max_loop_gap: Option<u64>) -> Vec<Finding> {
    let mut found: Vec<Finding> = validity::measured(plan, arm).into_iter().map(Spoils).collect();
    device(run, &arm.measured, &mut found);
    ring(&arm.measured, &mut found);
    drains(plan, run, &mut found);
    bench(&arm.measured, max_loop_gap, &mut found);
    wire(plan, arm, &mut found);
    found
}

/// Rows 7 and 28.
fn device(run: &ArmRun, measured: &Measured, found: &mut Vec<Finding>) {
    let falls = |pair: &[crate::arm::FrameSpan]| pair[1].span.start_ns < pair[0].span.start_ns;
    let frames = &measured.frames;
    if frames.windows(2).any(falls) || frames.iter().any(|frame| frame.span.end_ns < frame.span.start_ns) {
        found.push(Spoils("clock_unstable"));
    }
    if let [Some(before), Some(after)] = measured.throttled
        && before != after
    {
        let (block, position) = (run.order.place.block, run.order.place.position);
        found.push(Note(format!(
            "throttled: {before:#x} before, {after:#x} after block {block} position {position}"
        )));
    }
}

/// Row 17, and frames that are missing without a record.
fn ring(measured: &Measured, found: &mut Vec<Finding>) {
    let (frames, torn, missing) = (measured.frames.len(), measured.torn_frames, measured.missing_frames);
    if torn > 0 {
        found.push(Note(format!(
            "torn_frames: {torn} beside {frames} whole ones were torn in the copy and left out"
        )));
    }
    if missing > 0 {
        found.push(Note(format!(
            "frames_missing: the ring lacks {missing} frames of the window without saying why"
        )));
    }
}

/// True when a deciding gate looks at the ring of an arm with these levels.
pub(super) fn needs_ring(plan: &Plan, levels: &BTreeMap<String, String>) -> bool {
    let looks_at =
        |selector: &BTreeMap<String, String>| selector.iter().all(|(f, l)| levels.get(f) == Some(l));
    plan.gate.iter().any(|gate| decides_on_frames(gate) && looks_at(&gate.selector))
}

/// Rows 16, 19, 20: a download that is too short spoils the arm like one that failed.
fn drains(plan: &Plan, run: &ArmRun, found: &mut Vec<Finding>) {
    let expected = match run.order.drain {
        Some(DrainKind::Raw | DrainKind::Sham) => plan.drain.as_ref().map(|drain| drain.expect_bytes),
        _ => None,
    };
    let real: Vec<&ArmDrain> = run.drains.iter().filter(|drain| drain.real).collect();
    let skipped = real.iter().filter(|drain| is_skipped(drain)).count();
    let mut begun = real.iter().filter(|drain| !is_skipped(drain));
    if let Some(why) = begun.find_map(|drain| failure(expected, drain)) {
        found.push(Spoils("drain_failed"));
        found.push(Note(format!("drain_failed: {why}")));
    }
    if skipped > 0 {
        let all = real.len();
        found.push(Note(format!(
            "drain_skipped: {skipped} of {all} downloads, the one before was still going"
        )));
    }
}

fn is_skipped(drain: &ArmDrain) -> bool {
    drain.failed.as_deref() == Some(SKIPPED)
}

/// Why a download counts as failed; one of the on-device conversion has no length of its own.
fn failure(expected: Option<u64>, drain: &ArmDrain) -> Option<String> {
    match (&drain.failed, expected) {
        (Some(why), _) => Some(why.clone()),
        (None, Some(expected)) if drain.bytes != expected => {
            Some(format!("{} octets came instead of {expected}", drain.bytes))
        }
        _ => None,
    }
}

/// Rows 8 and 9.
fn bench(measured: &Measured, max_loop_gap: Option<u64>, found: &mut Vec<Finding>) {
    let health = &measured.health;
    if max_loop_gap.is_some_and(|most| health.loop_gap_max_ns > most) {
        let stood = health.loop_gap_max_ns / 1_000_000;
        found.push(Note(format!("loop_stalled: the receive loop stood for {stood} ms")));
    }
    if !health.clock_steps_ns.is_empty() {
        let steps = health.clock_steps_ns.len();
        found.push(Note(format!("bench_clock_stepped: {steps} times, the arm's jitter is not used")));
    }
}

/// Row 26.
fn wire(plan: &Plan, arm: &Arm, found: &mut Vec<Finding>) {
    let expected = |id: &str| plan.stream.iter().any(|s| s.id == id && plan.sends(s, &arm.levels));
    let streams: Vec<&WireStream> = arm.measured.streams.iter().filter(|s| expected(&s.id)).collect();
    let is_multicast =
        |id: &str| plan.stream.iter().any(|stream| stream.id == id && stream.protocol == "sacn");
    let silent: Vec<&str> = streams.iter().filter(|s| s.datagrams == 0).map(|s| s.id.as_str()).collect();
    if !silent.is_empty() && silent.len() < streams.len() && silent.iter().all(|id| is_multicast(id)) {
        let silent = silent.join(", ");
        found.push(Note(format!(
            "membership?: {silent} stopped while the other streams went on; groups are joined again"
        )));
    }
}
