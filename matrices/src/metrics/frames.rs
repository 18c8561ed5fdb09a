//! Which frames of a ring belong to an arm's window, and which to its downloads.
//!
//! All times are the device's; the guard and the uncertainty between the clocks are cut off both ends.

use crate::arm::{Arm, FrameSpan, Measured, Span};

/// Frames that start and end inside the window shrunk by the guard and the clock error on both sides.
pub fn window_frames(measured: &Measured, guard_ns: u64) -> impl Iterator<Item = &FrameSpan> {
    let cut = i64::try_from(guard_ns.saturating_add(measured.clock_error_ns)).unwrap_or(i64::MAX);
    let inside = measured
        .device_window
        .map(|window| (window.start_ns.saturating_add(cut), window.end_ns.saturating_sub(cut)));
    measured.frames.iter().filter(move |frame| {
        inside.is_some_and(|(from, to)| frame.span.start_ns >= from && frame.span.end_ns <= to)
    })
}

/// Frames that overlap any of these spans, `[start, end)`; each once.
pub fn in_drains<'a>(frames: &'a [FrameSpan], drains: &'a [Span]) -> impl Iterator<Item = &'a FrameSpan> {
    let overlaps = |frame: &&FrameSpan| {
        drains.iter().any(|drain| frame.span.start_ns < drain.end_ns && frame.span.end_ns > drain.start_ns)
    };
    frames.iter().filter(overlaps)
}

/// The spans in which an arm's in-drain frames are looked for: its own downloads, else those of its partner in the
/// block moved into its own window, else the sham windows it was given.
pub fn shams(arm: &Arm, partner: Option<&Arm>) -> Vec<Span> {
    let own = spans(&arm.measured, true);
    if !own.is_empty() {
        return own;
    }
    let moved = partner.map(|partner| moved(&partner.measured, &arm.measured)).unwrap_or_default();
    if moved.is_empty() { spans(&arm.measured, false) } else { moved }
}

fn spans(measured: &Measured, real: bool) -> Vec<Span> {
    let kept = measured.drains.iter().filter(|drain| drain.real == real && drain.failed.is_none());
    kept.map(|drain| drain.device).collect()
}

/// The real downloads of one arm at the same distance from the start of another's window.
fn moved(from: &Measured, to: &Measured) -> Vec<Span> {
    let (Some(there), Some(here)) = (from.device_window, to.device_window) else {
        return Vec::new();
    };
    let shift = here.start_ns.saturating_sub(there.start_ns);
    let by = |span: Span| Span {
        start_ns: span.start_ns.saturating_add(shift),
        end_ns: span.end_ns.saturating_add(shift),
    };
    spans(from, true).into_iter().map(by).collect()
}
