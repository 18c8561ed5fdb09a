//! Frames and gaps of a ring over its time: bins with the longest frame of each, gaps where they lie.

use super::record::Source;
use crate::summary::Axis;
use serde::Serialize;

/// Bins at most.
const BINS: usize = 400;
/// Gaps that are listed; the largest when there are more.
const GAPS: usize = 60;

/// Frames over time.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct TimeLine {
    /// Width of a bin, ns; the first begins with the first frame.
    pub(super) bin_ns: u64,
    /// Number of bins.
    pub(super) bins: usize,
    /// Longest frame that began in the bin, ns.
    pub(super) longest_ns: Vec<u64>,
}

/// A hole in the ids.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct GapRow {
    /// Last id in front of it.
    pub(super) after: u32,
    /// First id behind it.
    pub(super) before: u32,
    /// Ids between them.
    pub(super) missing: u32,
    /// Of them left out by the engine on purpose.
    pub(super) skipped: u32,
    /// Of them lost.
    pub(super) lost: u32,
    /// End of the frame in front, after the start of the first frame, ns.
    pub(super) from_ns: u64,
    /// Start of the frame behind, ns.
    pub(super) to_ns: u64,
}

impl TimeLine {
    /// That of the whole frames.
    pub(super) fn of(source: &Source<'_>, span_ns: u64) -> TimeLine {
        let frames = &source.ring.frames;
        if frames.is_empty() {
            return TimeLine::default();
        }
        let bins = (frames.len() / 2).clamp(8, BINS);
        let bin_ns = (span_ns / bins as u64).saturating_add(1);
        let mut longest_ns = vec![0; bins];
        for frame in frames {
            let at = frame.start_ns.saturating_sub(source.start_ns) / bin_ns;
            let at = usize::try_from(at).unwrap_or(usize::MAX).min(bins - 1);
            longest_ns[at] = longest_ns[at].max(frame.end_ns.saturating_sub(frame.start_ns));
        }
        TimeLine { bin_ns, bins, longest_ns }
    }

    /// As an axis of the pictures.
    pub(super) fn axis(&self) -> Axis {
        Axis { start_ns: 0, bin_ns: self.bin_ns, bins: self.bins }
    }
}

/// The gaps, oldest first, and how many are not listed.
pub(super) fn gaps(source: &Source<'_>) -> (Vec<GapRow>, u64) {
    let frames = &source.ring.frames;
    let rows = frames.windows(2).filter_map(|pair| {
        let [a, b] = pair else { return None };
        let missing = b.id.wrapping_sub(a.id).wrapping_sub(1);
        let lost = source.skips.lost(a.id, missing);
        let (from_ns, to_ns) =
            (a.end_ns.saturating_sub(source.start_ns), b.start_ns.saturating_sub(source.start_ns));
        let row =
            GapRow { after: a.id, before: b.id, missing, skipped: missing - lost, lost, from_ns, to_ns };
        (missing != 0).then_some(row)
    });
    let mut rows: Vec<(usize, GapRow)> = rows.enumerate().collect();
    let left_out = rows.len().saturating_sub(GAPS);
    rows.sort_by_key(|(_, gap)| std::cmp::Reverse(gap.missing));
    rows.truncate(GAPS);
    rows.sort_by_key(|(at, _)| *at);
    (rows.into_iter().map(|(_, gap)| gap).collect(), left_out as u64)
}
