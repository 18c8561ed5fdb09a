//! Which frames count: those of an arm's window, those that overlap a drain. Times are the ring's own.

use super::quantiles::Quantiles;
use crate::frames::Frame;

/// Frames that start and end inside a window shrunk by a guard on both sides, ns.
pub fn within(frames: &[Frame], window: (u64, u64), guard_ns: u64) -> impl Iterator<Item = &Frame> {
    let (from, to) = (window.0.saturating_add(guard_ns), window.1.saturating_sub(guard_ns));
    frames.iter().filter(move |frame| frame.start_ns >= from && frame.end_ns <= to)
}

/// Frames that overlap any of these drains (start included, end not), ns. The same drains shifted into an idle arm give
/// its sham frames.
pub fn overlapping<'a>(frames: &'a [Frame], drains: &'a [(u64, u64)]) -> impl Iterator<Item = &'a Frame> {
    let overlaps =
        |frame: &&Frame| drains.iter().any(|(start, end)| frame.start_ns < *end && frame.end_ns > *start);
    frames.iter().filter(overlaps)
}

/// Quantiles of the frames' durations, ns.
pub fn durations<'a>(frames: impl IntoIterator<Item = &'a Frame>) -> Quantiles {
    Quantiles::of(frames.into_iter().map(|frame| frame.end_ns.saturating_sub(frame.start_ns)))
}
