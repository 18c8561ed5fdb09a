//! What the collected ring says about the window: frames, misses, stage ranges, holes.

use super::Clock;
use crate::matrix::causes::ArmCauses;
use std::collections::BTreeSet;
use wireproof_matrices::arm::{FrameSpan, Measured, Span};
use wireproof_matrices::plan::Plan;
use wireproof_recorder::analysis::skips::Skips;
use wireproof_recorder::analysis::span::Range;
use wireproof_recorder::analysis::{causes_within, select, stages};
use wireproof_recorder::places::Places;
use wireproof_recorder::{Frame, Kind, Policy, Ring, parse};

/// Frames this much before and after the window are kept, ns: enough for every drain's edges.
const AROUND_NS: i64 = 1_000_000_000;

/// Fills in what the ring says and returns it; `None` when it cannot be believed.
pub(super) fn measure(plan: &Plan, image: &[u8], clock: Option<Clock>, m: &mut Measured) -> Option<Ring> {
    let ring = parse(image, Policy::Conservative).ok()?;
    m.ring = true;
    m.torn_frames = ring.partial.count + ring.partial.crc + ring.partial.unfinished;
    let (Some(window), Some(clock)) = (m.device_window, clock) else { return Some(ring) };
    m.frames = around(&ring, window);
    m.missing_frames = missing(&ring, window);
    m.wrapped |= wrapped(&ring, window);
    let misses = stages::records(&ring, Kind::DeadlineMiss);
    m.misses = misses.filter(|r| holds(window, r.start_ns())).count() as u64;
    let guard = plan.timing.guard_ns.saturating_add(clock.error_ns);
    for range in ranges(plan) {
        let times = range_times(&ring, &range, window, guard);
        m.ranges.insert(range, times);
    }
    Some(ring)
}

/// Why the frames of the window were made: the same frames whose times are judged.
pub(super) fn causes(plan: &Plan, ring: &Ring, places: Option<&str>, m: &Measured) -> Option<ArmCauses> {
    let window = m.device_window?;
    let guard = plan.timing.guard_ns.saturating_add(m.clock_error_ns);
    let places = places.map(Places::read).unwrap_or_default();
    let report = causes_within(ring, &places, (unsigned(window.start_ns), unsigned(window.end_ns)), guard);
    Some(ArmCauses::of(report))
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

fn unsigned(ns: i64) -> u64 {
    u64::try_from(ns).unwrap_or(0)
}

fn holds(window: Span, ns: u64) -> bool {
    (window.start_ns..window.end_ns).contains(&signed(ns))
}

fn around(ring: &Ring, window: Span) -> Vec<FrameSpan> {
    let (from, to) = (window.start_ns.saturating_sub(AROUND_NS), window.end_ns.saturating_add(AROUND_NS));
    let near = |f: &&Frame| signed(f.start_ns) >= from && signed(f.end_ns) <= to;
    let span = |f: &Frame| Span { start_ns: signed(f.start_ns), end_ns: signed(f.end_ns) };
    let mut frames: Vec<FrameSpan> =
        ring.frames.iter().filter(near).map(|f| FrameSpan { id: f.id, span: span(f) }).collect();
    frames.sort_by_key(|f| (f.span.start_ns, f.id));
    frames
}

/// Ids missing between frames of the window that were not left out on purpose.
fn missing(ring: &Ring, window: Span) -> u64 {
    let skips = Skips::of(stages::records(ring, Kind::Skipped));
    let end_of = |id: u32| ring.frames.iter().find(|f| f.id == id).map(|f| signed(f.end_ns));
    let start_of = |id: u32| ring.frames.iter().find(|f| f.id == id).map(|f| signed(f.start_ns));
    let touches = |after: u32, before: u32| {
        start_of(before).is_some_and(|ns| ns > window.start_ns)
            && end_of(after).is_some_and(|ns| ns < window.end_ns)
    };
    let gaps = ring.gaps.iter().filter(|gap| touches(gap.after, gap.before));
    gaps.map(|gap| u64::from(skips.lost(gap.after, gap.missing))).sum()
}

/// The ring begins inside the window, and not because its writer did.
fn wrapped(ring: &Ring, window: Span) -> bool {
    let first = ring.frames.first().map_or(i64::MAX, |f| signed(f.start_ns));
    ring.window.lo > 0 && first > window.start_ns
}

/// The stage ranges that gates ask for, such as `wire_prepare,wire_send`.
fn ranges(plan: &Plan) -> BTreeSet<String> {
    let of = |metric: &str| {
        let (inside, _) = metric.strip_prefix("frame.range(")?.split_once(')')?;
        Some(inside.to_owned())
    };
    plan.gate.iter().filter_map(|gate| of(&gate.metric)).collect()
}

fn range_times(ring: &Ring, range: &str, window: Span, guard: u64) -> Vec<u64> {
    let Ok(range) = Range::parse(&range.replacen(',', "..", 1), &ring.tables) else { return Vec::new() };
    let frames = select::within(&ring.frames, (unsigned(window.start_ns), unsigned(window.end_ns)), guard);
    frames.filter_map(|frame| range.time(frame, None)).collect()
}
