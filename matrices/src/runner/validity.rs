//! Whether an arm says something about the device: the rows of the table of failures that can be told from its numbers.
//!
//! It never judges the device; that is the verdict's room.

use super::steps::ArmRun;
use super::window::SKIPPED;
use crate::arm::{ArmDrain, Measured, WireStream};
use crate::plan::{Class, Plan};
use std::collections::BTreeMap;

/// Least share of the planned downloads that must have been done, percent (row 19).
const DRAIN_SHARE: usize = 80;
/// Torn frames of a thousand that spoil an arm (row 17).
const TORN_SHARE: u64 = 1000;

/// Something about an arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// The arm does not count.
    Spoils(&'static str),
    /// The device restarted, and the arm does not count.
    Restarted,
    /// Worth telling.
    Note(String),
}

use Finding::{Note, Restarted, Spoils};

/// Judges an arm whose window was measured.
pub(super) fn judge(
    plan: &Plan,
    arm: &ArmRun,
    measured: &Measured,
    max_loop_gap: Option<u64>,
) -> Vec<Finding> {
    let mut found = Vec::new();
    device(plan, arm, measured, &mut found);
    ring(plan, arm, measured, &mut found);
    drains(plan, &arm.drains, &mut found);
    bench(measured, max_loop_gap, &mut found);
    wire(plan, measured, &mut found);
    found
}

/// Rows 5, 7, 28.
fn device(plan: &Plan, arm: &ArmRun, measured: &Measured, found: &mut Vec<Finding>) {
    let [boot_before, boot_after] = &measured.boot;
    let [before, after] = measured.generation;
    if boot_before != boot_after || (before != 0 && after != before) {
        found.push(Restarted);
    }
    let step = measured.clock_drift_ns.unsigned_abs() > plan.validity.clock_step_ns;
    let backwards = measured.frames.windows(2).any(|pair| pair[1].span.start_ns < pair[0].span.start_ns)
        || measured.frames.iter().any(|frame| frame.span.end_ns < frame.span.start_ns);
    if step || backwards {
        found.push(Spoils("clock_unstable"));
    }
    if let [Some(before), Some(after)] = measured.throttled
        && before != after
    {
        let place = &arm.order.place;
        found.push(Note(format!(
            "throttled: {before:#x} before, {after:#x} after block {} position {}",
            place.block, place.position
        )));
    }
}

/// Rows 15, 17, 36.
fn ring(plan: &Plan, arm: &ArmRun, measured: &Measured, found: &mut Vec<Finding>) {
    if measured.wrapped && needs_ring(plan, &arm.order.levels) {
        found.push(Spoils("ring_wrapped"));
    }
    let frames = measured.frames.len() as u64 + measured.torn_frames;
    match measured.torn_frames {
        0 => {}
        torn if torn * TORN_SHARE >= frames => found.push(Spoils("torn_frames")),
        torn => found
            .push(Note(format!("torn_frames: {torn} of {frames} frames were torn in the copy and left out"))),
    }
    if measured.missing_frames > 0 {
        let missing = measured.missing_frames;
        found.push(Note(format!(
            "frames_missing: the ring lacks {missing} frames of the window without saying why"
        )));
    }
    let needed = min_frames(plan, &arm.order.levels);
    let counted = frames_inside(measured, plan.timing.guard_ns);
    if counted < u64::from(needed) {
        found.push(Spoils("too_few_frames"));
    }
}

/// Frames that begin and end inside the window without its guards and the error of the clocks.
fn frames_inside(measured: &Measured, guard_ns: u64) -> u64 {
    let Some(window) = measured.device_window else { return 0 };
    let cut = i64::try_from(guard_ns.saturating_add(measured.clock_error_ns)).unwrap_or(i64::MAX);
    let (from, to) = (window.start_ns.saturating_add(cut), window.end_ns.saturating_sub(cut));
    measured.frames.iter().filter(|frame| frame.span.start_ns >= from && frame.span.end_ns <= to).count()
        as u64
}

/// True for metrics that need whole frames of the window; the downloads' own windows hold few frames by design.
fn counts_frames(metric: &str) -> bool {
    metric.starts_with("frame.") && !metric.starts_with("frame.in_drain")
}

fn looks_at(selector: &BTreeMap<String, String>, levels: &BTreeMap<String, String>) -> bool {
    selector.iter().all(|(factor, level)| levels.get(factor) == Some(level))
}

/// True when a deciding gate looks at the ring of an arm with these levels.
pub(super) fn needs_ring(plan: &Plan, levels: &BTreeMap<String, String>) -> bool {
    let mut gates =
        plan.gate.iter().filter(|gate| gate.class == Class::Gate && gate.metric.starts_with("frame."));
    gates.any(|gate| looks_at(&gate.selector, levels))
}

fn min_frames(plan: &Plan, levels: &BTreeMap<String, String>) -> u32 {
    let gates = plan.gate.iter().filter(|gate| gate.class == Class::Gate && counts_frames(&gate.metric));
    gates.filter(|gate| looks_at(&gate.selector, levels)).map(|gate| gate.min_frames).max().unwrap_or(0)
}

/// Rows 16, 19, 20: one failed download spoils the arm; skipped ones do below four in five.
fn drains(plan: &Plan, drains: &[ArmDrain], found: &mut Vec<Finding>) {
    let real: Vec<&ArmDrain> = drains.iter().filter(|drain| drain.real).collect();
    let skipped = real.iter().filter(|drain| is_skipped(drain)).count();
    let failed = real.iter().filter(|drain| !is_skipped(drain)).find_map(|drain| failure(plan, drain));
    if let Some(why) = failed {
        found.push(Spoils("drain_failed"));
        found.push(Note(format!("drain_failed: {why}")));
    }
    if skipped > 0 {
        found.push(Note(format!(
            "drain_skipped: {skipped} of {} downloads, the one before took too long",
            real.len()
        )));
    }
    if (real.len() - skipped) * 100 < real.len() * DRAIN_SHARE {
        found.push(Spoils("too_few_drains"));
    }
}

fn is_skipped(drain: &ArmDrain) -> bool {
    drain.failed.as_ref().is_some_and(|why| why.starts_with(SKIPPED))
}

fn failure(plan: &Plan, drain: &ArmDrain) -> Option<String> {
    let expected = plan.drain.as_ref().filter(|plan| plan.paths.is_empty()).map(|plan| plan.expect_bytes);
    match (&drain.failed, expected) {
        (Some(why), _) => Some(why.clone()),
        (None, Some(expected)) if drain.bytes != expected => {
            Some(format!("{} octets came instead of {expected}", drain.bytes))
        }
        _ => None,
    }
}

/// Rows 8, 9, 10, 13, 21, 29.
fn bench(measured: &Measured, max_loop_gap: Option<u64>, found: &mut Vec<Finding>) {
    let health = &measured.health;
    let observer = measured.streams.iter().any(|stream| stream.owners.observer > 0);
    for (spoiled, reason) in [
        (health.lost > 0 || observer, "observer_loss"),
        (health.host_drops > 0, "host_drops"),
        (health.link_down, "link_down"),
        (health.suspended, "suspended"),
    ] {
        if spoiled {
            found.push(Spoils(reason));
        }
    }
    if max_loop_gap.is_some_and(|most| health.loop_gap_max_ns > most) {
        found.push(Note(format!(
            "loop_stalled: the receive loop stood for {} ms",
            health.loop_gap_max_ns / 1_000_000
        )));
    }
    if !health.clock_steps_ns.is_empty() {
        let steps = health.clock_steps_ns.len();
        found.push(Note(format!("bench_clock_stepped: {steps} times, the arm's jitter is not used")));
    }
}

/// Rows 23, 24, 26.
fn wire(plan: &Plan, measured: &Measured, found: &mut Vec<Finding>) {
    let streams = &measured.streams;
    if streams.iter().any(|stream| stream.foreign > 0) {
        found.push(Spoils("foreign_source"));
    }
    let tolerance = plan.validity.fps_tolerance_ppm;
    if streams
        .iter()
        .any(|stream| rate_off_ppm(stream, plan.target.expected_fps).is_some_and(|off| off > tolerance))
    {
        found.push(Spoils("fps_changed"));
    }
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

/// How far a stream's frame rate is from the expected; `None` with too few frames, or with losses, which shift it.
fn rate_off_ppm(stream: &WireStream, fps: u32) -> Option<u64> {
    let spans = u128::from(stream.frames.checked_sub(1)?);
    let time = u128::try_from(stream.last_ns.saturating_sub(stream.first_ns)).ok()?;
    if spans == 0 || time == 0 || fps == 0 || stream.lost > 0 {
        return None;
    }
    let ppm = spans * 1_000_000_000 * 1_000_000 / (time * u128::from(fps));
    u64::try_from(ppm.abs_diff(1_000_000)).ok()
}
