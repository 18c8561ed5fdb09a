//! What the frames' time went to: spans, never sums of what may run side by side; coverage as a union. Never adds
//! percentiles and never draws frames of two rings as one.

use crate::analysis::span::past_floor;
use crate::frames::Frame;
use crate::layout::{Kind, Record};
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};

/// Stage of the span around a whole frame.
pub const ROOT: u16 = 1;
/// Stage of the span around a device's work.
pub const DEVICE: u16 = 5;

/// A device root of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceRow {
    /// Device.
    pub device: u16,
    /// Time in children, ns.
    pub covered_ns: u64,
    /// Its own time, ns.
    pub root_ns: u64,
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Frame id.
    pub id: u32,
    /// Latest end minus earliest start of the frame's own work, ns.
    pub span_ns: i128,
    /// Sum of the durations, ns: not a time that passed.
    pub sum_ns: i128,
    /// Work of stages that may begin beside the frame before, past the floor, ns; a union, as they may run side by side.
    pub prologue_ns: u64,
    /// Prologue plus span, ns.
    pub total_ns: i128,
    /// Time in children, ns.
    pub covered_ns: u64,
    /// The frame's own time, ns.
    pub root_ns: u64,
    /// Device roots.
    pub devices: Vec<DeviceRow>,
    /// Latest end of the frame before, if it directly precedes; 0 otherwise.
    pub floor_ns: u64,
}

/// All frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Frame by frame.
    pub rows: Vec<Row>,
    /// Stages that begin before their frame does.
    pub prologue: BTreeSet<u16>,
}

/// A part of a whole, both in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Covered.
    pub part: u64,
    /// Of so much.
    pub whole: u64,
}

impl Share {
    /// Per cent with four digits; `None` of nothing.
    pub fn percent(self) -> Option<f64> {
        let percent = 100.0 * self.part as f64 / self.whole as f64;
        (self.whole > 0).then(|| format!("{percent:.4}").parse().unwrap_or(percent))
    }

    pub(crate) fn add(self, other: Share) -> Share {
        Share { part: self.part.saturating_add(other.part), whole: self.whole.saturating_add(other.whole) }
    }

    pub(crate) fn worse(self, other: Share) -> Share {
        let (left, right) = (
            u128::from(self.part) * u128::from(other.whole),
            u128::from(other.part) * u128::from(self.whole),
        );
        if right < left { other } else { self }
    }
}

impl Account {
    /// Children of all frames over all frames.
    pub fn frame_coverage(&self) -> Share {
        self.frames().fold(Share::default(), Share::add)
    }

    /// Children of all device roots over all device roots.
    pub fn device_coverage(&self) -> Share {
        self.devices().fold(Share::default(), Share::add)
    }

    /// The frame with the smallest share.
    pub fn worst_frame(&self) -> Option<Share> {
        self.frames().filter(|share| share.whole > 0).reduce(Share::worse)
    }

    /// The device root with the smallest share.
    pub fn worst_device(&self) -> Option<Share> {
        self.devices().filter(|share| share.whole > 0).reduce(Share::worse)
    }

    fn frames(&self) -> impl Iterator<Item = Share> {
        self.rows.iter().map(|row| Share { part: row.covered_ns, whole: row.root_ns })
    }

    fn devices(&self) -> impl Iterator<Item = Share> {
        self.rows
            .iter()
            .flat_map(|row| &row.devices)
            .map(|device| Share { part: device.covered_ns, whole: device.root_ns })
    }
}

/// Accounts for the frames. Stages with a span that begins before its frame, in any frame, are prologue in all.
pub fn account(frames: &[Frame]) -> Account {
    let early = |frame: &Frame| {
        let start = frame.start_ns;
        let spans = frame.records.iter().filter(|record| is_span(record) && record.start_ns() < start);
        spans.map(Record::stage).filter(|stage| *stage != ROOT).collect::<Vec<_>>()
    };
    let prologue: BTreeSet<u16> = frames.iter().flat_map(early).collect();
    let mut rows = Vec::with_capacity(frames.len());
    let mut before: Option<(u32, u64)> = None;
    for frame in frames {
        let floor = before.filter(|(id, _)| frame.id.wrapping_sub(*id) == 1).map_or(0, |(_, end)| end);
        let (row, last_end) = row(frame, floor, &prologue);
        before = Some((frame.id, last_end));
        rows.push(row);
    }
    Account { rows, prologue }
}

fn is_span(record: &Record) -> bool {
    record.kind() == Some(Kind::Span)
}

fn length(record: &Record) -> i128 {
    i128::from(record.end_ns()) - i128::from(record.start_ns())
}

/// The row of a frame, and the end that may be the floor of the next one.
fn row(frame: &Frame, floor: u64, prologue: &BTreeSet<u16>) -> (Row, u64) {
    let spans = || frame.records.iter().filter(|record| is_span(record));
    let body = || spans().filter(|r| r.stage() != ROOT && !prologue.contains(&r.stage()));
    let start = body().map(Record::start_ns).min().unwrap_or_default();
    let end = body().map(Record::end_ns).max().unwrap_or_default();
    let early = spans().filter(|r| prologue.contains(&r.stage())).map(|r| (r.start_ns(), r.end_ns()));
    let prologue_ns = past_floor(early, floor);
    let span_ns = i128::from(end) - i128::from(start);
    let row = Row {
        id: frame.id,
        span_ns,
        sum_ns: body().filter(|r| r.stage() != DEVICE).map(length).sum(),
        prologue_ns,
        total_ns: span_ns + i128::from(prologue_ns),
        covered_ns: Union::of(body()).within(frame.start_ns, frame.end_ns),
        root_ns: frame.end_ns.saturating_sub(frame.start_ns),
        devices: devices(frame),
        floor_ns: floor,
    };
    (row, end)
}

fn devices(frame: &Frame) -> Vec<DeviceRow> {
    let spans = || frame.records.iter().filter(|record| is_span(record));
    let mut children: HashMap<u16, Vec<&Record>> = HashMap::new();
    for child in spans().filter(|record| record.stage() != DEVICE) {
        children.entry(child.device()).or_default().push(child);
    }
    let unions: HashMap<u16, Union> =
        children.into_iter().map(|(device, spans)| (device, Union::of(spans.into_iter()))).collect();
    let device = |root: &Record| DeviceRow {
        device: root.device(),
        covered_ns: unions
            .get(&root.device())
            .map_or(0, |union| union.within(root.start_ns(), root.end_ns())),
        root_ns: root.end_ns().saturating_sub(root.start_ns()),
    };
    spans().filter(|record| record.stage() == DEVICE).map(device).collect()
}

/// Intervals that do not overlap, in order, with the time in front of each: any number of questions stays cheap.
#[derive(Debug, Default)]
struct Union {
    /// Start, end, time covered in front of the start.
    parts: Vec<(u64, u64, u64)>,
}

impl Union {
    fn of<'a>(spans: impl Iterator<Item = &'a Record>) -> Union {
        let mut spans: Vec<(u64, u64)> =
            spans.map(|r| (r.start_ns(), r.end_ns())).filter(|(start, end)| start < end).collect();
        spans.sort_unstable();
        let mut union = Union::default();
        for (start, end) in spans {
            match union.parts.last_mut() {
                Some((_, last, _)) if start <= *last => *last = end.max(*last),
                Some((from, last, before)) => {
                    let before = *before + (*last - *from);
                    union.parts.push((start, end, before));
                }
                None => union.parts.push((start, end, 0)),
            }
        }
        union
    }

    /// Time covered before a moment.
    fn until(&self, moment: u64) -> u64 {
        let behind = self.parts.partition_point(|(start, _, _)| *start < moment);
        let part = behind.checked_sub(1).and_then(|index| self.parts.get(index));
        part.map_or(0, |(start, end, before)| before + (moment.min(*end) - start))
    }

    /// Time covered between two moments.
    fn within(&self, from: u64, to: u64) -> u64 {
        if from < to { self.until(to) - self.until(from) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{NO_DEVICE, NO_PARENT};

    fn span(stage: u16, device: u16, start: u64, end: u64) -> Record {
        let low = u64::from(stage) << 32 | u64::from(device) << 48;
        Record { ordinal: 0, words: [start, end, low, 1 << 8 | u64::from(NO_PARENT) << 48, 0] }
    }

    fn frame(id: u32, start_ns: u64, end_ns: u64, records: Vec<Record>) -> Frame {
        Frame { id, start_ns, end_ns, truncated: false, records }
    }

    #[test]
    fn time_that_two_children_share_counts_once_and_a_hole_not_at_all() {
        let records = vec![span(2, NO_DEVICE, 100, 104), span(3, NO_DEVICE, 102, 106), span(13, 0, 108, 112)];
        let account = account(&[frame(1, 100, 112, records)]);
        let row = &account.rows[0];
        assert_eq!((row.span_ns, row.sum_ns, row.covered_ns, row.root_ns), (12, 12, 10, 12));
    }

    #[test]
    fn a_device_s_children_are_clipped_to_it() {
        let records = vec![
            span(DEVICE, 1, 10, 20),
            span(6, 1, 5, 12),
            span(7, 1, 18, 30),
            span(8, 2, 10, 20),
            span(DEVICE, 3, 10, 20),
        ];
        let account = account(&[frame(1, 5, 30, records)]);
        let expected = [
            DeviceRow { device: 1, covered_ns: 4, root_ns: 10 },
            DeviceRow { device: 3, covered_ns: 0, root_ns: 10 },
        ];
        assert_eq!(account.rows[0].devices, expected);
        assert_eq!(account.worst_device(), Some(Share { part: 0, whole: 10 }));
        assert_eq!(account.device_coverage().percent(), Some(20.0));
    }

    #[test]
    fn a_floor_is_handed_over_to_the_very_next_frame_only() {
        let work = |at: u64| vec![span(4, NO_DEVICE, at - 9, at - 1), span(2, NO_DEVICE, at, at + 5)];
        let frames = [
            frame(u32::MAX, 100, 105, work(100)),
            frame(0, 110, 115, work(110)),
            frame(2, 130, 135, work(130)),
        ];
        let account = account(&frames);
        let floors: Vec<_> = account.rows.iter().map(|row| (row.floor_ns, row.prologue_ns)).collect();
        assert_eq!(floors, [(0, 8), (105, 4), (0, 8)]);
    }

    #[test]
    fn spans_that_end_before_they_start_cover_nothing() {
        let records = vec![span(2, 0, u64::MAX, 0), span(DEVICE, 0, 9, 3), span(3, 0, 0, u64::MAX)];
        let account = account(&[frame(1, 0, u64::MAX, records)]);
        assert_eq!(account.rows[0].covered_ns, u64::MAX);
        assert_eq!(account.rows[0].devices[0].covered_ns, 0);
        assert_eq!(account.worst_frame().and_then(Share::percent), Some(100.0));
    }
}
