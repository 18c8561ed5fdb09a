//! Slow frames, told at most once a second, and missed deadlines. Names no cause of either.

use crate::frames::Frame;
use crate::layout::{Kind, Record};
use serde::Serialize;

/// A frame of this time and more is slow, ns.
pub const SLOW_NS: u64 = 20_000_000;
/// At most one line in so much time, ns.
pub const EVERY_NS: u64 = 1_000_000_000;

/// A slow frame that is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SlowFrame {
    /// Frame.
    pub frame: u32,
    /// When it ended, ns.
    pub end_ns: u64,
    /// Devices it served.
    pub devices: u64,
    /// How long it took, ns.
    pub duration_ns: u64,
    /// How far past its deadline it ended, ns; 0 if it did not miss it.
    pub overrun_ns: u64,
    /// Slow frames since the one told before that are not told.
    pub suppressed: u64,
}

/// Slow frames.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Slow {
    /// A frame of this time and more is slow, ns.
    pub threshold_ns: u64,
    /// Number of them.
    pub frames: u64,
    /// The slowest of them, told or not.
    pub worst_frame: Option<u32>,
    /// How long that took, ns.
    pub worst_ns: u64,
    /// Those that are told.
    pub told: Vec<SlowFrame>,
    /// Not told behind the last one that is.
    pub suppressed: u64,
}

/// The slow frames of these, oldest first.
pub fn slow(frames: &[Frame]) -> Slow {
    let mut slow = Slow { threshold_ns: SLOW_NS, ..Slow::default() };
    for frame in frames.iter().filter(|frame| duration(frame) >= SLOW_NS) {
        slow.frames += 1;
        if duration(frame) > slow.worst_ns {
            (slow.worst_frame, slow.worst_ns) = (Some(frame.id), duration(frame));
        }
        let last = slow.told.last().map(|told| told.end_ns);
        if last.is_some_and(|last| frame.end_ns < last.saturating_add(EVERY_NS)) {
            slow.suppressed += 1;
        } else {
            slow.told.push(told(frame, std::mem::take(&mut slow.suppressed)));
        }
    }
    slow
}

fn duration(frame: &Frame) -> u64 {
    frame.end_ns.saturating_sub(frame.start_ns)
}

fn told(frame: &Frame, suppressed: u64) -> SlowFrame {
    let of = |kind: Kind| frame.records.iter().filter(move |r| r.kind() == Some(kind));
    let devices = of(Kind::Span).filter(|r| r.stage() == crate::account::DEVICE).count() as u64;
    let overrun_ns = of(Kind::DeadlineMiss).map(Record::aux).max().unwrap_or_default();
    SlowFrame {
        frame: frame.id,
        end_ns: frame.end_ns,
        devices,
        duration_ns: duration(frame),
        overrun_ns,
        suppressed,
    }
}

/// Missed deadlines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Deadlines {
    /// Records of a miss.
    pub missed: u64,
    /// The largest overrun, ns.
    pub worst_overrun_ns: u64,
    /// Frames that took longer than a period, whether they missed a deadline or not.
    pub over_period: u64,
}

/// Counts misses among these records, and frames longer than a period; a period of 0 is not known.
pub fn deadlines<'a>(
    misses: impl IntoIterator<Item = &'a Record>,
    frames: &[Frame],
    period_ns: u64,
) -> Deadlines {
    let mut deadlines = Deadlines::default();
    for miss in misses {
        deadlines.missed += 1;
        deadlines.worst_overrun_ns = deadlines.worst_overrun_ns.max(miss.aux());
    }
    let over = |frame: &&Frame| period_ns > 0 && duration(frame) > period_ns;
    deadlines.over_period = frames.iter().filter(over).count() as u64;
    deadlines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(id: u32, start_ms: u64, ms: u64) -> Frame {
        let (start_ns, end_ns) = (start_ms * 1_000_000, (start_ms + ms) * 1_000_000);
        Frame { id, start_ns, end_ns, truncated: false, records: Vec::new() }
    }

    #[test]
    fn one_slow_frame_a_second_is_told_and_carries_the_number_of_the_others() {
        let frames = [
            frame(1, 0, 20),
            frame(2, 100, 19),
            frame(3, 200, 25),
            frame(4, 900, 30),
            frame(5, 1000, 20),
            frame(6, 1100, 99),
        ];
        let slow = slow(&frames);
        let told: Vec<_> = slow.told.iter().map(|slow| (slow.frame, slow.suppressed)).collect();
        assert_eq!(
            (told, slow.frames, slow.suppressed),
            (vec![(1, 0), (5, 2)], 5, 1),
            "exactly a second later counts"
        );
        assert_eq!((slow.worst_frame, slow.worst_ns), (Some(6), 99_000_000), "though it is not told");
    }

    #[test]
    fn frames_over_the_period_are_counted_where_there_is_one() {
        let frames = [frame(1, 0, 16), frame(2, 20, 17)];
        assert_eq!(deadlines([], &frames, 16_000_000).over_period, 1);
        assert_eq!(deadlines([], &frames, 0).over_period, 0);
    }
}
