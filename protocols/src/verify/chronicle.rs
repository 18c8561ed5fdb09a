//! The time lines of the account: frames, tears and losses of every stream and output in the bins of the run.

use super::evidence::DropLayer;
use super::finish::Range;
use super::flow::Flow;
use super::output::Output;
use super::timeline::{ObserverTimeline, TimeAxis, Timeline, column};
use super::{Verifier, timeline};

impl Verifier {
    /// The bins that all time lines of the run share.
    pub(crate) fn axis(&self) -> TimeAxis {
        if self.clock.stamps().0.is_none() {
            return TimeAxis::default();
        }
        TimeAxis::of(self.clock.now(), self.flows.len() + self.shared.outputs.len())
    }

    /// What this host and the capture lost, by the stamps of their evidence.
    pub(crate) fn observer_timeline(&self, axis: TimeAxis) -> ObserverTimeline {
        let mut times = ObserverTimeline::default();
        let Some(first) = self.clock.stamps().0 else { return times };
        let since = |from: i64, to: i64| (from.saturating_sub(first), to.saturating_sub(first));
        for d in self.evidence.counted().filter(|d| matches!(d.layer, DropLayer::Socket | DropLayer::Ring)) {
            axis.spread(&mut times.lost, since(d.from.0, d.to.0), d.count);
        }
        for b in &self.blind {
            axis.spread(&mut times.capture_dropped, since(b.from, b.to), b.dropped);
        }
        times
    }
}

/// Frames of an output over time.
pub(crate) fn of_output(o: &mut Output, range: Range, axis: TimeAxis) -> Timeline {
    let mut times = frames(o, range, axis);
    let (_, longest) = rest(o, axis);
    times.longest_ns = column(longest);
    times
}

/// Frames of a stream over time, from its first to its last datagram, and its losses.
pub(crate) fn of_stream(f: &mut Flow, outputs: &mut [Output], ranges: &[Range], axis: TimeAxis) -> Timeline {
    let mut times = Timeline::default();
    if f.chunked() {
        for chunks in &f.chunks {
            times = sum(times, frames(&mut outputs[chunks.output], ranges[chunks.output], axis));
        }
    } else if let Some((output, last)) = f.output.zip(f.group_frame) {
        times = universe(f, last, &mut outputs[output], ranges[output], axis);
    }
    let losses = f.cold.losses.laid_out(axis);
    times.lost = padded(losses.iter().map(|bin| bin.lost), axis);
    times
}

/// Frames of an output: its own tears, and what nobody saw.
fn frames(o: &mut Output, range: Range, axis: TimeAxis) -> Timeline {
    let (more, _) = rest(o, axis);
    let layout = o.line.laid_out(axis);
    let (mut torn, mut unterminated) = (more, vec![0; axis.bins]);
    for (number, tear) in o.tears.range(range.base..range.end.max(range.base)) {
        let column = if tear.end { &mut unterminated } else { &mut torn };
        column[layout.bin_of(*number)] += 1;
    }
    Timeline {
        frames: column(layout.frames(range.base, range.end)),
        torn: column(torn),
        unterminated: column(unterminated),
        missing: column(layout.missing()),
        ..Timeline::default()
    }
}

/// Frames of a universe: of a torn one nothing of it was seen.
fn universe(f: &mut Flow, last: i64, o: &mut Output, range: Range, axis: TimeAxis) -> Timeline {
    let layout = o.line.laid_out(axis);
    let base = range.base.max(f.group_first.unwrap_or(0));
    let end = range.end.min(last + 1);
    let more = f.cold.losses.laid_out(axis).iter().map(|bin| bin.torn);
    let mut torn: Vec<u64> = more.chain(std::iter::repeat(0)).take(axis.bins).collect();
    for number in f.cold.torn.range(base..end.max(base)) {
        torn[layout.bin_of(*number)] += 1;
    }
    let torn = column(torn);
    Timeline { frames: column(layout.frames(base, end)), missing: torn.clone(), torn, ..Timeline::default() }
}

/// Tears beyond those remembered by number, and longest intervals.
fn rest(o: &mut Output, axis: TimeAxis) -> (Vec<u64>, Vec<u64>) {
    let layout = o.line.laid_out(axis);
    let filled = layout.rest().chain(std::iter::repeat((0, 0)));
    filled.take(axis.bins).unzip()
}

fn padded(values: impl Iterator<Item = u64>, axis: TimeAxis) -> Vec<u64> {
    timeline::column(values.chain(std::iter::repeat(0)).take(axis.bins).collect())
}

fn sum(a: Timeline, b: Timeline) -> Timeline {
    let add = |a: Vec<u64>, b: Vec<u64>| match (a.is_empty(), b.is_empty()) {
        (true, _) => b,
        (_, true) => a,
        _ => a.iter().zip(&b).map(|(a, b)| a.saturating_add(*b)).collect(),
    };
    Timeline {
        frames: add(a.frames, b.frames),
        torn: add(a.torn, b.torn),
        unterminated: add(a.unterminated, b.unterminated),
        missing: add(a.missing, b.missing),
        lost: add(a.lost, b.lost),
        longest_ns: Vec::new(),
    }
}
