//! Time as a span: earliest start to latest end, never a sum of what may run side by side; work beside the frame before
//! counts once; the time of a stage range. Says nothing about what ran on which core.

use super::quantiles::Quantiles;
use crate::frames::Frame;
use crate::header::Tables;
use crate::layout::{Kind, Record};
use serde::Serialize;

/// A start and an end, ns.
pub type Interval = (u64, u64);

/// Latest end minus earliest start; 0 of none.
pub fn span(parts: &[Interval]) -> u64 {
    let start = parts.iter().map(|(start, _)| *start).min().unwrap_or_default();
    parts.iter().map(|(_, end)| *end).max().unwrap_or_default().saturating_sub(start)
}

/// What of the time lies past the floor; time that two parts share counts once.
pub fn past_floor(parts: impl IntoIterator<Item = Interval>, floor: u64) -> u64 {
    let late = |(start, end): Interval| (start.max(floor), end);
    let mut parts: Vec<Interval> = parts.into_iter().map(late).filter(|(start, end)| start < end).collect();
    parts.sort_unstable();
    let mut reached = 0;
    let mut sum = 0_u64;
    for (start, end) in parts {
        sum = sum.saturating_add(end.saturating_sub(start.max(reached)));
        reached = reached.max(end);
    }
    sum
}

/// Time of a frame: the build past the floor and the spans of its submissions. What lies between submissions does not
/// count; the floor is the latest end of the frame before if it directly precedes, 0 otherwise.
pub fn frame_total(build: &[Interval], submissions: &[Vec<Interval>], floor: u64) -> u64 {
    let build = past_floor(build.iter().copied(), floor);
    submissions.iter().map(|passes| span(passes)).fold(build, u64::saturating_add)
}

/// Stages from one to another, both included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    from: u16,
    members: Vec<u16>,
}

/// Why there is no range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// It has not the form.
    #[error("{0:?} is no range of stages")]
    Form(String),
    /// A stage is not in the ring's table.
    #[error("the ring has no stage {0:?}")]
    Stage(String),
    /// The second stage stands before the first.
    #[error("{to:?} stands before {from:?} in the ring's table of stages")]
    Order {
        /// First stage.
        from: String,
        /// Second stage.
        to: String,
    },
}

impl Range {
    /// `wire_prepare..wire_send`: the stages between two of the ring's table, in its order; names or ids.
    ///
    /// # Errors
    /// A name that is not there, or stages in the wrong order.
    pub fn parse(text: &str, tables: &Tables) -> Result<Range, RangeError> {
        let (from, to) = text.split_once("..").ok_or_else(|| RangeError::Form(text.to_owned()))?;
        let place = |name: &str| {
            let id = name.parse().ok();
            let stages = || tables.stages.iter();
            let found =
                stages().position(|s| s.name == name).or_else(|| stages().position(|s| Some(s.id) == id));
            found.ok_or_else(|| RangeError::Stage(name.to_owned()))
        };
        let (first, last) = (place(from)?, place(to)?);
        let members = tables.stages.get(first..=last).unwrap_or_default();
        let members: Vec<u16> = members.iter().map(|stage| stage.id).collect();
        match members.first() {
            Some(from) => Ok(Range { from: *from, members }),
            None => Err(RangeError::Order { from: from.to_owned(), to: to.to_owned() }),
        }
    }

    /// From the start of the first stage, not the earliest member, to the latest end of any member; `None` for a frame
    /// without the first stage. 0 if all ended before it started.
    pub fn time(&self, frame: &Frame, device: Option<u16>) -> Option<u64> {
        let of =
            |r: &&Record| r.kind() == Some(Kind::Span) && device.is_none_or(|device| r.device() == device);
        let spans = || frame.records.iter().filter(of);
        let start = spans().filter(|r| r.stage() == self.from).map(Record::start_ns).min()?;
        let end = spans().filter(|r| self.members.contains(&r.stage())).map(Record::end_ns).max()?;
        Some(end.saturating_sub(start))
    }
}

/// Times of a stage range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RangeRow {
    /// As it was asked for.
    pub range: String,
    /// Frames with the first stage.
    pub frames: u64,
    /// Frames without it.
    pub without: u64,
    /// Times, ns.
    pub ns: Quantiles,
}

/// Times of a range in these frames.
///
/// # Errors
/// As [`Range::parse`].
pub fn range(
    text: &str,
    frames: &[Frame],
    tables: &Tables,
    device: Option<u16>,
) -> Result<RangeRow, RangeError> {
    let range = Range::parse(text, tables)?;
    let times: Vec<u64> = frames.iter().filter_map(|frame| range.time(frame, device)).collect();
    let (all, with) = (frames.len() as u64, times.len() as u64);
    Ok(RangeRow { range: text.to_owned(), frames: with, without: all - with, ns: Quantiles::of(times) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::Stage;
    use crate::layout::NO_PARENT;
    use proptest::prelude::*;

    fn tables() -> Tables {
        let stage = |(id, name): (u16, &str)| Stage { id, category: 0, name: name.to_owned() };
        let stages = [(2, "source"), (13, "prepare"), (14, "encode"), (15, "send")];
        Tables { stages: stages.map(stage).to_vec(), ..Tables::default() }
    }

    fn frame(spans: &[(u16, u16, u64, u64)]) -> Frame {
        let record = |(stage, device, start, end): &(u16, u16, u64, u64)| Record {
            ordinal: 0,
            words: [
                *start,
                *end,
                u64::from(*stage) << 32 | u64::from(*device) << 48,
                1 << 8 | u64::from(NO_PARENT) << 48,
                0,
            ],
        };
        Frame {
            id: 1,
            start_ns: 0,
            end_ns: 100,
            truncated: false,
            records: spans.iter().map(record).collect(),
        }
    }

    #[test]
    fn a_range_runs_from_its_named_stage_to_the_latest_end() {
        let frames = [
            frame(&[(2, 0, 0, 5), (14, 0, 8, 60), (13, 0, 10, 20), (15, 1, 30, 50)]),
            frame(&[(14, 0, 1, 2)]),
        ];
        let row = range("prepare..send", &frames, &tables(), None).unwrap();
        assert_eq!((row.frames, row.without, row.ns.p50), (1, 1, 50), "from 10, though encode began at 8");
        assert_eq!(range("13..13", &frames, &tables(), None).unwrap().ns.max, 10);
        assert_eq!(range("prepare..send", &frames, &tables(), Some(1)).unwrap().frames, 0);
    }

    #[test]
    fn a_range_that_cannot_be_is_refused() {
        let said = |text: &str| Range::parse(text, &tables()).unwrap_err().to_string();
        assert_eq!(said("send"), "\"send\" is no range of stages");
        assert_eq!(said("send..sent"), "the ring has no stage \"sent\"");
        assert_eq!(said("send..source"), "\"source\" stands before \"send\" in the ring's table of stages");
    }

    proptest! {
        #[test]
        fn work_side_by_side_counts_once(parts in prop::collection::vec((0_u64..1000, 0_u64..1000), 0..20), floor in 0_u64..1000) {
            let sum: u64 = parts.iter().map(|(start, end)| end.saturating_sub(*start)).sum();
            let union = past_floor(parts.iter().copied(), 0);
            let whole: Vec<_> = parts.iter().copied().filter(|(start, end)| start < end).collect();
            prop_assert!(union <= sum && union <= span(&whole));
            prop_assert!(past_floor(parts.iter().copied(), floor) <= union);
            prop_assert_eq!(past_floor(parts.iter().copied(), 1000), 0);
        }
    }
}
