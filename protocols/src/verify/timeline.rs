//! Bounded time lines: what happened when, in bins whose width doubles as the run goes on. Touched once a frame and
//! once a loss, never for a datagram; frames are placed by number, so that a tear found later lands where it belongs.

use crate::time::MS;

/// Most bins of one line.
const BINS: usize = 512;
/// Fewest bins of one line, however many there are.
const BINS_LEAST: u64 = 16;
/// Bins of all lines of a run together, as long as each has its fewest.
const BINS_ALL: u64 = 16_384;
/// Most bars of a histogram.
const BARS: u64 = 64;
/// Width of a bin at the beginning, ns.
const FINEST: i64 = 10 * MS;

/// The bins of a run: all lines share them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeAxis {
    /// Width of a bin, ns; the first one begins with the first packet.
    pub bin_ns: u64,
    /// How many there are; 0 when nothing was seen.
    pub bins: usize,
    /// How many there may be.
    pub(crate) most: u16,
}

/// Frames of a stream or output over time: one number a bin, empty columns where all are 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Frames by the time they began; those nobody saw where they were due.
    pub frames: Vec<u64>,
    /// Of them: with a hole.
    pub torn: Vec<u64>,
    /// Of them: without their end mark.
    pub unterminated: Vec<u64>,
    /// Of them: nothing was seen of the frame.
    pub missing: Vec<u64>,
    /// Datagrams lost, by the time it was noticed.
    pub lost: Vec<u64>,
    /// Longest time from the start of the frame before, ns.
    pub longest_ns: Vec<u64>,
}

/// What the observer and the capture lost over time; empty columns where all are 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObserverTimeline {
    /// Drops of sockets and packet rings; one between two instants is spread over the bins between them.
    pub lost: Vec<u64>,
    /// Packets that the capture says it lost.
    pub capture_dropped: Vec<u64>,
}

impl TimeAxis {
    /// The axis of a run that lasted until `now` and has so many lines.
    pub fn of(now: i64, lines: usize) -> TimeAxis {
        let share = BINS_ALL / u64::try_from(lines).unwrap_or(u64::MAX).max(1);
        let most: u16 = 1 << share.clamp(BINS_LEAST, BINS as u64).ilog2();
        let mut width = FINEST;
        while now / width >= i64::from(most) {
            width = width.saturating_mul(2);
        }
        let bins = usize::try_from(now / width).unwrap_or(0) + 1;
        TimeAxis { bin_ns: width.unsigned_abs(), bins, most }
    }

    /// Bars of a histogram beside a line of this axis.
    pub(crate) fn bars(self) -> u64 {
        u64::from(self.most).clamp(BINS_LEAST, BARS)
    }

    fn width(self) -> i64 {
        i64::try_from(self.bin_ns).unwrap_or(i64::MAX)
    }

    /// Adds `count` to the bins from one instant to another, evenly.
    pub(crate) fn spread(self, into: &mut Vec<u64>, (from, to): (i64, i64), count: u64) {
        let last = self.bins.saturating_sub(1);
        let bin = |at: i64| usize::try_from(at / self.width().max(1)).unwrap_or(0).min(last);
        let (first, last) = (bin(from.min(to)), bin(to));
        into.resize(self.bins, 0);
        let n = u128::try_from(last - first + 1).unwrap_or(1);
        for (k, bin) in (0u128..).zip(&mut into[first..=last]) {
            let part = u128::from(count) * (k + 1) / n - u128::from(count) * k / n;
            *bin = bin.saturating_add(u64::try_from(part).unwrap_or(u64::MAX));
        }
    }
}

/// What two neighbouring bins are together.
pub(crate) trait Bin: Copy + Default {
    fn plus(self, later: Self) -> Self;
}

/// Bins from engine time 0 on.
#[derive(Debug)]
pub(crate) struct Line<B> {
    width: i64,
    bins: Vec<B>,
}

impl<B: Bin> Line<B> {
    /// A line without room for any bin.
    pub(crate) fn empty() -> Line<B> {
        Line { width: FINEST, bins: Vec::new() }
    }

    /// A line that never allocates again.
    pub(crate) fn roomy() -> Line<B> {
        Line { width: FINEST, bins: Vec::with_capacity(BINS) }
    }

    /// The bin of an instant; when it lies beyond the last one, all bins become wider.
    pub(crate) fn at(&mut self, at: i64) -> &mut B {
        let mut index = usize::try_from(at / self.width).unwrap_or(0);
        while index >= BINS {
            self.widen();
            index /= 2;
        }
        if self.bins.len() <= index {
            self.bins.resize(index + 1, B::default());
        }
        &mut self.bins[index]
    }

    fn widen(&mut self) {
        let half = self.bins.len().div_ceil(2);
        for i in 0..half {
            let later = self.bins.get(2 * i + 1).copied().unwrap_or_default();
            self.bins[i] = self.bins[2 * i].plus(later);
        }
        self.bins.truncate(half);
        self.width = self.width.saturating_mul(2);
    }

    /// Gives the bins the width of the axis, which is none of less.
    fn fit(&mut self, axis: TimeAxis) {
        while self.width < axis.width() {
            self.widen();
        }
    }
}

/// Frames that began in a bin.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FrameBin {
    /// Number of the first one.
    first: i64,
    /// How many.
    begun: u32,
    /// Torn ones beyond those that are remembered by number.
    torn: u32,
    /// Longest time from the start of the frame before.
    longest: i64,
}

impl Bin for FrameBin {
    fn plus(self, later: Self) -> Self {
        FrameBin {
            first: if self.begun > 0 { self.first } else { later.first },
            begun: self.begun.saturating_add(later.begun),
            torn: self.torn.saturating_add(later.torn),
            longest: self.longest.max(later.longest),
        }
    }
}

/// Frames of an output over time.
#[derive(Debug)]
pub(crate) struct FrameLine {
    line: Line<FrameBin>,
    newest: i64,
}

impl FrameLine {
    /// A line that has seen nothing.
    pub(crate) fn new() -> FrameLine {
        FrameLine { line: Line::roomy(), newest: -1 }
    }

    /// Frame `number` begins; the one before began at `before`.
    pub(crate) fn begin(&mut self, number: i64, at: i64, before: Option<i64>) {
        self.newest = number;
        let bin = self.line.at(at);
        if bin.begun == 0 {
            bin.first = number;
        }
        bin.begun = bin.begun.saturating_add(1);
        bin.longest = bin.longest.max(before.map_or(0, |before| at - before));
    }

    /// Frames that seemed to lie before the newest one do not: it is `number`.
    pub(crate) fn lower(&mut self, number: i64) {
        self.newest = number;
        for bin in self.line.bins.iter_mut().rev().filter(|bin| bin.begun > 0) {
            if bin.first <= number {
                return;
            }
            bin.first = number;
        }
    }

    /// A frame is torn that is not remembered by number.
    pub(crate) fn torn(&mut self, number: i64) {
        let bins = &mut self.line.bins;
        if let Some(bin) = bins.iter_mut().rev().find(|bin| bin.begun > 0 && bin.first <= number) {
            bin.torn = bin.torn.saturating_add(1);
        }
    }

    /// Gives the line the bins of the run and places the frames in them.
    pub(crate) fn laid_out(&mut self, axis: TimeAxis) -> Layout<'_> {
        self.line.fit(axis);
        Layout { starts: self.starts(axis.bins), bins: &self.line.bins, axis }
    }

    /// The number each bin begins with, and the one behind the last. Frames that nobody saw while bins passed without
    /// any are spread over these.
    fn starts(&self, bins: usize) -> Vec<i64> {
        let mut starts = vec![self.newest + 1; bins + 1];
        let mut next = bins;
        for i in (0..bins.min(self.line.bins.len())).rev() {
            let bin = self.line.bins[i];
            if bin.begun == 0 {
                continue;
            }
            let (end, gap) = (starts[next], next - i - 1);
            starts[i] = bin.first.min(end);
            let seen = (starts[i] + i64::from(bin.begun)).min(end);
            let (unseen, empty) = (i128::from(end - seen), i128::try_from(gap).unwrap_or(0));
            // Of several frames that began here, the unseen ones may lie between them.
            let spread = next < bins && empty > 0 && (bin.begun == 1 || unseen >= empty);
            for (k, start) in (0i128..).zip(&mut starts[i + 1..next]) {
                let before = if spread { unseen * k / empty } else { unseen };
                *start = seen + i64::try_from(before).unwrap_or(0);
            }
            next = i;
        }
        let first = starts[next];
        starts[..next].fill(first);
        starts
    }
}

/// Frames of an output, placed in the bins of the run.
#[derive(Debug)]
pub(crate) struct Layout<'a> {
    starts: Vec<i64>,
    bins: &'a [FrameBin],
    axis: TimeAxis,
}

impl Layout<'_> {
    /// Frames `base..end` by bin.
    pub(crate) fn frames(&self, base: i64, end: i64) -> Vec<u64> {
        let inside = |n: i64| n.clamp(base, end.max(base));
        let pairs = self.starts.windows(2);
        pairs.map(|w| u64::try_from(inside(w[1]) - inside(w[0])).unwrap_or(0)).collect()
    }

    /// The bin of a frame.
    pub(crate) fn bin_of(&self, number: i64) -> usize {
        let behind = self.starts.partition_point(|start| *start <= number);
        behind.saturating_sub(1).min(self.axis.bins.saturating_sub(1))
    }

    /// Frames of which nothing was seen, by bin.
    pub(crate) fn missing(&self) -> Vec<u64> {
        let begun = self.bins.iter().map(|bin| i64::from(bin.begun)).chain(std::iter::repeat(0));
        let spans = self.starts.windows(2).map(|w| w[1] - w[0]);
        spans.zip(begun).map(|(span, begun)| u64::try_from(span - begun).unwrap_or(0)).collect()
    }

    /// Torn frames that are not remembered by number, and the longest interval, by bin.
    pub(crate) fn rest(&self) -> impl Iterator<Item = (u64, u64)> {
        self.bins.iter().map(|bin| (u64::from(bin.torn), u64::try_from(bin.longest).unwrap_or(0)))
    }
}

/// What a stream lost in a bin.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LossBin {
    /// Datagrams.
    pub lost: u64,
    /// Torn frames beyond those that are remembered by number.
    pub torn: u64,
}

impl Bin for LossBin {
    fn plus(self, later: Self) -> Self {
        LossBin { lost: self.lost.saturating_add(later.lost), torn: self.torn.saturating_add(later.torn) }
    }
}

/// Losses of a stream over time; takes no memory before the first.
pub(crate) type LossLine = Line<LossBin>;

impl LossLine {
    /// The losses in the bins of the run.
    pub(crate) fn laid_out(&mut self, axis: TimeAxis) -> &[LossBin] {
        self.fit(axis);
        &self.bins
    }
}

/// A column without its zeros, if there is nothing else in it.
pub(crate) fn column(values: Vec<u64>) -> Vec<u64> {
    if values.iter().all(|n| *n == 0) { Vec::new() } else { values }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::SECOND;

    const PERIOD: i64 = 16_666_667;

    /// Frames begun at the times given by their numbers, skipping those in `gap`.
    fn line(frames: i64, gap: std::ops::Range<i64>) -> FrameLine {
        let mut line = FrameLine::new();
        let mut before = None;
        for n in (0..frames).filter(|n| !gap.contains(n)) {
            line.begin(n, n * PERIOD, before);
            before = Some(n * PERIOD);
        }
        line
    }

    #[test]
    fn a_line_never_has_more_bins_than_its_bound_and_loses_no_frame() {
        for frames in [1, 100, 306, 308, 100_000] {
            let mut line = line(frames, 0..0);
            let axis = TimeAxis::of((frames - 1) * PERIOD, 1);
            assert!(axis.bins <= BINS && line.line.bins.capacity() == BINS, "{axis:?}");
            let layout = line.laid_out(axis);
            assert_eq!(layout.frames(0, frames).iter().sum::<u64>(), frames.unsigned_abs());
            assert_eq!(layout.frames(1, frames - 1).iter().sum::<u64>(), (frames - 2).max(0).unsigned_abs());
            assert!(layout.missing().iter().all(|n| *n == 0));
        }
    }

    #[test]
    fn what_nobody_saw_is_missing_where_it_was_due() {
        let mut line = line(36_000, 6_000..12_000);
        let axis = TimeAxis::of(36_000 * PERIOD, 1);
        let layout = line.laid_out(axis);
        let (frames, missing) = (layout.frames(0, 36_000), layout.missing());
        assert_eq!((frames.iter().sum::<u64>(), missing.iter().sum::<u64>()), (36_000, 6_000));
        for number in [0, 3_000, 5_999, 7_000, 9_000, 11_000, 12_001, 35_999] {
            let due = usize::try_from(number * PERIOD / axis.width()).unwrap();
            assert!(layout.bin_of(number).abs_diff(due) <= 1, "{number}");
        }
        assert!(frames.iter().all(|n| (1..=160).contains(n)), "{frames:?}");
    }

    #[test]
    fn a_pause_in_which_nothing_was_due_stays_empty() {
        let mut line = FrameLine::new();
        (0..10).for_each(|n| line.begin(n, n * PERIOD, None));
        line.begin(10, 60 * SECOND + 10 * PERIOD, Some(9 * PERIOD));
        (11..20).for_each(|n| line.begin(n, 60 * SECOND + n * PERIOD, None));
        let axis = TimeAxis::of(61 * SECOND, 1);
        let layout = line.laid_out(axis);
        let frames = layout.frames(0, 20);
        let (first, last) = (frames.iter().position(|n| *n > 0), frames.iter().rposition(|n| *n > 0));
        let within = frames.iter().filter(|n| **n > 0).count();
        assert!(first == Some(0) && last.is_some_and(|last| last > 370) && within <= 4, "{frames:?}");
        assert_eq!(layout.rest().map(|(_, longest)| longest).max(), Some(60_016_666_667));
    }

    #[test]
    fn frames_that_are_taken_back_leave_the_numbers_in_order() {
        let mut line = line(100, 0..0);
        line.begin(130, 100 * PERIOD, None);
        line.lower(100);
        line.begin(101, 101 * PERIOD, None);
        let layout = line.laid_out(TimeAxis::of(101 * PERIOD, 1));
        assert_eq!(layout.frames(0, 102).iter().sum::<u64>(), 102);
        assert!(layout.starts.windows(2).all(|w| w[0] <= w[1]), "{:?}", layout.starts);
    }

    #[test]
    fn many_lines_share_the_bins_and_each_keeps_a_few() {
        let bins = |lines| TimeAxis::of(24 * 3_600 * SECOND, lines).bins;
        assert_eq!([bins(1), bins(32), bins(100), bins(16_384)].map(|n| n <= 512), [true; 4]);
        assert!((256..=512).contains(&bins(32)) && (64..=128).contains(&bins(100)));
        assert!((8..=16).contains(&bins(16_384)));
        assert_eq!(TimeAxis::of(0, 0), TimeAxis { bin_ns: 10_000_000, bins: 1, most: 512 });
    }

    #[test]
    fn drops_between_two_instants_are_spread_and_none_is_lost_or_made() {
        let axis = TimeAxis { bin_ns: 10, bins: 8, most: 8 };
        for (from, to, count) in [(0, 79, 17), (25, 25, 3), (-5, 1_000, u64::MAX), (70, 5, 9)] {
            let mut into = Vec::new();
            axis.spread(&mut into, (from, to), count);
            assert_eq!(into.iter().fold(0u64, |a, b| a.saturating_add(*b)), count, "{into:?}");
        }
    }

    #[test]
    fn hostile_times_neither_panic_nor_grow() {
        let mut line = FrameLine::new();
        for at in [0, i64::MAX / 8, 5, i64::MAX / 8 - 1, -1] {
            line.begin(at, at, Some(0));
        }
        assert!(line.line.bins.len() <= BINS);
        let layout = line.laid_out(TimeAxis::of(i64::MAX / 8, 8_192));
        assert!(layout.frames(0, i64::MAX).len() <= 16);
    }
}
