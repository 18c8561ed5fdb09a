//! One frame as the page carries it: its figures, and its spans laid out in rows of one stage and device each.

use super::record::Source;
use crate::text::clean;
use serde::Serialize;
use std::collections::BTreeMap;
use wireproof_recorder::account::{DEVICE, ROOT, Share};
use wireproof_recorder::analysis::frame_causes::Class;
use wireproof_recorder::layout::NO_DEVICE;
use wireproof_recorder::places::shorten;
use wireproof_recorder::{Frame, Kind, Record};

/// Spans of a frame that are carried.
pub(super) const MAX_SPANS: usize = 600;
/// Rows of a frame.
const MAX_ROWS: usize = 96;
/// Rows of one stage and device; what overlaps more often lies in the last of them.
const LANES: usize = 4;
/// Requests that are named.
const ASKED: usize = 4;
/// Characters of a place.
const PLACE: usize = 96;
/// Scripts know whole numbers below this: about 104 days in ns.
const EXACT: i128 = 1 << 53;

/// A frame; keys in fixed order.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FrameRow {
    /// Frame id.
    pub(super) id: u32,
    /// Place among the whole frames of the ring, from 1.
    pub(super) number: u64,
    /// 1 and one for each frame that took longer.
    pub(super) slowest: u64,
    /// Why it was chosen.
    pub(super) chosen: Vec<&'static str>,
    /// Start of the frame by the ring's clock, ns.
    pub(super) start_ns: u64,
    /// The same, after the start of the first frame, ns.
    pub(super) at_ns: u64,
    /// End minus start, ns.
    pub(super) duration_ns: u64,
    /// Latest end minus earliest start of its own work, ns.
    pub(super) span_ns: i64,
    /// Work that began beside the frame before, ns.
    pub(super) prologue_ns: u64,
    /// Time in children, ns.
    pub(super) covered_ns: u64,
    /// The same in per cent of the frame.
    pub(super) covered_percent: Option<f64>,
    /// Records.
    pub(super) records: u64,
    /// Ids missing in front of it.
    pub(super) missing_before: u32,
    /// Of them left out on purpose.
    pub(super) skipped_before: u32,
    /// Of them lost.
    pub(super) lost_before: u32,
    /// Deadlines missed.
    pub(super) deadlines_missed: u64,
    /// The largest overrun, ns.
    pub(super) overrun_ns: u64,
    /// Events were dropped over the batch limit.
    pub(super) truncated: bool,
    /// What its cause records say: class, and place where there is one.
    pub(super) asked: Vec<String>,
    /// Cause records past those.
    pub(super) asked_more: u64,
    /// Left end of the picture after the frame's start, ns.
    pub(super) from_ns: i64,
    /// Right end, ns.
    pub(super) to_ns: i64,
    /// Rows of the picture.
    pub(super) rows: Vec<Lane>,
    /// Spans, column by column.
    pub(super) spans: Spans,
    /// Spans that are not carried.
    pub(super) spans_left_out: u64,
}

/// A row of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Lane {
    /// Stage.
    pub(super) stage: u16,
    /// Device.
    pub(super) device: Option<u16>,
}

/// Spans in the order of their rows, then of their starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Spans {
    /// Row of the picture, from 0.
    pub(super) row: Vec<usize>,
    /// Start after the frame's start, ns.
    pub(super) offset_ns: Vec<i64>,
    /// Length, ns.
    pub(super) duration_ns: Vec<i64>,
    /// What the span counts: datagrams or octets, as its stage has it.
    pub(super) count: Vec<u64>,
}

/// A span: start after the frame's start, length, count.
type Span = (i64, i64, u64);

/// The row of the frame at a place of the ring.
pub(super) fn row(source: &Source<'_>, at: usize, slowest: u64, chosen: Vec<&'static str>) -> FrameRow {
    let (frame, account) = (&source.ring.frames[at], &source.account.rows[at]);
    let before = at.checked_sub(1).and_then(|before| source.ring.frames.get(before));
    let missing = before.map_or(0, |before| frame.id.wrapping_sub(before.id).wrapping_sub(1));
    let lost = before.map_or(0, |before| source.skips.lost(before.id, missing));
    let misses = || frame.records.iter().filter(|r| r.kind() == Some(Kind::DeadlineMiss)).map(Record::aux);
    let (rows, spans, left_out) = layout(frame);
    let (asked, asked_more) = asked(source, frame);
    let ends = || spans.offset_ns.iter().zip(&spans.duration_ns).map(|(offset, length)| offset + length);
    let length = i64::try_from(account.root_ns).unwrap_or(i64::MAX).min(EXACT as i64);
    FrameRow {
        id: frame.id,
        number: at as u64 + 1,
        slowest,
        chosen,
        start_ns: frame.start_ns,
        at_ns: frame.start_ns.saturating_sub(source.start_ns),
        duration_ns: account.root_ns,
        span_ns: i64::try_from(account.span_ns).unwrap_or_default(),
        prologue_ns: account.prologue_ns,
        covered_ns: account.covered_ns,
        covered_percent: Share { part: account.covered_ns, whole: account.root_ns }.percent(),
        records: frame.records.len() as u64,
        missing_before: missing,
        skipped_before: missing - lost,
        lost_before: lost,
        deadlines_missed: misses().count() as u64,
        overrun_ns: misses().max().unwrap_or_default(),
        truncated: frame.truncated,
        asked,
        asked_more,
        from_ns: spans.offset_ns.iter().copied().min().unwrap_or_default().min(0),
        to_ns: ends().max().unwrap_or_default().max(length).max(1),
        rows,
        spans,
        spans_left_out: left_out,
    }
}

/// What the frame's cause records say; places are known of the last recording only.
fn asked(source: &Source<'_>, frame: &Frame) -> (Vec<String>, u64) {
    let recorded = frame.records.first().is_some_and(|first| first.ordinal >= source.recording_from);
    let all: Vec<&Record> = frame.records.iter().filter(|r| r.kind() == Some(Kind::Cause)).collect();
    let name = |r: &&Record| match Class::of(r.flags()) {
        class @ (Class::Event | Class::Refresh) if recorded => {
            format!("{} {}", class.name(), clean(&shorten(&source.places.name(r.aux()), PLACE)))
        }
        class => class.name().to_owned(),
    };
    (all.iter().take(ASKED).map(name).collect(), all.len().saturating_sub(ASKED) as u64)
}

/// Rows and spans, and how many are left out: over the limits, or with times that no picture can hold.
fn layout(frame: &Frame) -> (Vec<Lane>, Spans, u64) {
    let all = || frame.records.iter().filter(|record| record.kind() == Some(Kind::Span));
    let mut groups: BTreeMap<(u16, u16), Vec<Span>> = BTreeMap::new();
    for (record, span) in all().filter_map(|record| Some((record, span(frame, record)?))).take(MAX_SPANS) {
        groups.entry((record.stage(), record.device())).or_default().push(span);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.iter_mut().for_each(|(_, spans)| spans.sort_unstable());
    // What belongs to no device, then device by device; roots first, then by time.
    groups.sort_by_key(|((stage, device), spans)| {
        (*device != NO_DEVICE, *device, !matches!(*stage, ROOT | DEVICE), spans.first().copied())
    });
    let (mut rows, mut columns) = (Vec::new(), Spans::default());
    for ((stage, device), spans) in groups {
        let lane = Lane { stage, device: (device != NO_DEVICE).then_some(device) };
        for lane_spans in lanes(spans) {
            if rows.len() < MAX_ROWS {
                lane_spans.into_iter().for_each(|span| columns.push(rows.len(), span));
                rows.push(lane);
            }
        }
    }
    let left_out = all().count() - columns.row.len();
    (rows, columns, left_out as u64)
}

/// Spans that overlap lie in rows of their own.
fn lanes(spans: Vec<Span>) -> Vec<Vec<Span>> {
    let mut lanes: Vec<(i64, Vec<Span>)> = Vec::new();
    for span in spans {
        let end = span.0 + span.1;
        let free = lanes.iter().position(|(last, _)| *last <= span.0);
        match free.or((lanes.len() >= LANES).then_some(LANES - 1)) {
            Some(at) => {
                lanes[at].0 = lanes[at].0.max(end);
                lanes[at].1.push(span);
            }
            None => lanes.push((end, vec![span])),
        }
    }
    lanes.into_iter().map(|(_, spans)| spans).collect()
}

fn span(frame: &Frame, record: &Record) -> Option<Span> {
    let offset = i128::from(record.start_ns()) - i128::from(frame.start_ns);
    let length = i128::from(record.end_ns()) - i128::from(record.start_ns());
    let exact = offset.abs() < EXACT / 2 && (0..EXACT / 2).contains(&length);
    exact.then_some((offset as i64, length as i64, record.aux()))
}

impl Spans {
    fn push(&mut self, row: usize, (offset, length, count): Span) {
        self.row.push(row);
        self.offset_ns.push(offset);
        self.duration_ns.push(length);
        self.count.push(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_lies_in_rows_of_its_own_and_never_in_more_than_four() {
        assert_eq!(lanes(vec![(0, 5, 0), (5, 5, 0), (7, 1, 0)]).len(), 2);
        assert_eq!(lanes(vec![(0, 5, 0), (5, 5, 0)]).len(), 1);
        let many = lanes((0..100).map(|at| (at, 1_000, 0)).collect());
        assert_eq!((many.len(), many.iter().map(Vec::len).sum::<usize>()), (LANES, 100));
    }

    #[test]
    fn times_that_no_script_can_hold_are_left_out_and_counted() {
        let record = |start: u64, end: u64| Record { ordinal: 0, words: [start, end, 7 << 32, 1 << 8, 3] };
        let records = vec![record(90, 110), record(0, u64::MAX), record(9, 3), record(u64::MAX, u64::MAX)];
        let frame = Frame { id: 1, start_ns: 100, end_ns: 200, truncated: false, records };
        let (rows, spans, left_out) = layout(&frame);
        assert_eq!((rows.len(), left_out), (1, 3));
        assert_eq!((spans.offset_ns, spans.duration_ns, spans.count), (vec![-10], vec![20], vec![3]));
    }
}
