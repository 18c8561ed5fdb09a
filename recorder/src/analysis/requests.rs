//! From a request to its frame: how long it took, which requests got a frame only because of something unrelated, and
//! which got none.
//!
//! A request is a `cause` record of class event or refresh. Written without a frame when it is made, it is one that a
//! frame has to follow; written in a frame with a start before the frame's own, it is one that the frame served. A record
//! that starts with its frame says why, not since when. A request is never held against a hole in the ring.

use super::frame_causes::{Class, is_ambient, records};
use super::quantiles::Quantiles;
use super::recording::Recording;
use super::skips::Skips;
use crate::frames::{Frame, Ring};
use crate::layout::{Kind, Record};
use crate::places::Places;
use serde::Serialize;
use std::collections::HashSet;

/// Requests that are told of each outcome at most.
const TOLD: usize = 16;
/// Periods after which a request is late.
pub const LATE_PERIODS: u64 = 2;
/// After how long a request is late where the ring names no period, ns.
pub const LATE_NS: u64 = 100_000_000;

/// After how long a request is late, ns: two periods, or 100 ms where the ring names none.
pub fn late_after(period_ns: u64) -> u64 {
    if period_ns == 0 { LATE_NS } else { period_ns.saturating_mul(LATE_PERIODS) }
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// A frame names it.
    Served,
    /// The next frame does not name it and came in time.
    Beside,
    /// The next frame does not name it and came late: it waited for something unrelated.
    Unrelated,
    /// The recorder went on for longer than a request may wait, and there is no frame.
    Never,
    /// The ring ends, or has a hole.
    Unknown,
}

/// A request that is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RequestRow {
    /// When it was made, ns.
    pub at_ns: u64,
    /// Event or refresh.
    pub class: Class,
    /// Its place.
    pub place: String,
    /// What became of it.
    pub outcome: Outcome,
    /// The frame it got.
    pub frame: Option<u32>,
    /// Until that frame began, or until the recorder's last sign of life, ns.
    pub waited_ns: u64,
}

/// Requests of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Requests {
    /// Requests with a time of their own.
    pub requests: u64,
    /// `cause` records that say why, not since when.
    pub untimed: u64,
    /// A request is late after this, ns.
    pub late_after_ns: u64,
    /// Named by their frame.
    pub served: u64,
    /// Those of them that were late.
    pub late: u64,
    /// Got a frame in time that does not name them.
    pub beside: u64,
    /// Waited for an unrelated frame.
    pub unrelated: u64,
    /// Got no frame.
    pub never: u64,
    /// The ring cannot say.
    pub unknown: u64,
    /// From request to start of frame, ns, of requests that got one.
    pub to_start_ns: Quantiles,
    /// From request to end of frame, ns, of the same.
    pub to_end_ns: Quantiles,
    /// The first late, unrelated and missing ones.
    pub told: Vec<RequestRow>,
}

/// Follows the requests of the last recording.
pub fn requests(ring: &Ring, places: &Places, late_after_ns: u64) -> Requests {
    let recording = Recording::last(ring);
    let mut following = Following::new(recording, places, late_after_ns);
    let open: Vec<&Record> = recording.loose().filter(|record| is_request(record, places)).collect();
    let known: HashSet<(u64, u64)> = open.iter().map(|record| (record.aux(), record.start_ns())).collect();
    open.into_iter().for_each(|record| following.open(record));
    for frame in recording.frames() {
        let asked = || records(frame).filter(|record| is_request(record, places));
        let events = asked().filter(|record| Class::of(record.flags()) == Class::Event);
        let latest_event_ns = events.map(Record::start_ns).max().unwrap_or_default();
        for record in asked() {
            if record.start_ns() >= frame.start_ns {
                following.found.untimed += 1;
            } else if !known.contains(&(record.aux(), record.start_ns())) {
                following.within(record, frame, latest_event_ns);
            }
        }
    }
    following.finish()
}

fn is_request(record: &Record, places: &Places) -> bool {
    let class = Class::of(record.flags());
    let asks = matches!(class, Class::Event | Class::Refresh);
    asks && record.kind() == Some(Kind::Cause) && !is_ambient(places, record.aux())
}

struct Following<'a> {
    recording: Recording<'a>,
    places: &'a Places,
    /// Frames with their places in the recording, by start.
    by_start: Vec<(u64, usize)>,
    skips: Skips,
    /// Frame, class and source of the causes in frames.
    named: HashSet<(usize, u16, u64)>,
    found: Requests,
    starts: Vec<u64>,
    ends: Vec<u64>,
    told: [usize; 3],
}

impl<'a> Following<'a> {
    fn new(recording: Recording<'a>, places: &'a Places, late_after_ns: u64) -> Self {
        let frames = recording.frames();
        let mut by_start: Vec<_> =
            frames.iter().enumerate().map(|(at, frame)| (frame.start_ns, at)).collect();
        by_start.sort_unstable();
        let framed = frames.iter().flat_map(|frame| &frame.records);
        let skips = Skips::of(framed.chain(recording.loose()));
        let named = |(at, frame): (usize, &'a Frame)| records(frame).map(move |r| (at, r.flags(), r.aux()));
        let found = Requests { late_after_ns, ..Requests::default() };
        Following {
            recording,
            places,
            by_start,
            skips,
            named: frames.iter().enumerate().flat_map(named).collect(),
            found,
            starts: Vec::new(),
            ends: Vec::new(),
            told: [0; 3],
        }
    }

    /// A request that waits for a frame.
    fn open(&mut self, record: &Record) {
        let at = record.start_ns();
        let next = self.by_start.partition_point(|(start, _)| *start < at);
        let Some(&(_, index)) = self.by_start.get(next) else { return self.unanswered(record) };
        let frames = self.recording.frames();
        let Some(frame) = frames.get(index) else { return };
        let waited = frame.start_ns - at;
        let is_late = waited > self.found.late_after_ns;
        let outcome = if self.named.contains(&(index, record.flags(), record.aux())) {
            Outcome::Served
        } else if !is_late {
            Outcome::Beside
        } else if self.hole_before(index) {
            Outcome::Unknown
        } else {
            Outcome::Unrelated
        };
        self.settle(record, outcome, Some(frame), waited);
    }

    /// A request that a frame carries: one that waited until the frame was made for an event of later is a request that
    /// was served by that event.
    fn within(&mut self, record: &Record, frame: &Frame, latest_event_ns: u64) {
        let waited = frame.start_ns - record.start_ns();
        let later = latest_event_ns > record.start_ns().saturating_add(self.found.late_after_ns);
        let unrelated = later && Class::of(record.flags()) == Class::Refresh;
        let outcome = if unrelated { Outcome::Unrelated } else { Outcome::Served };
        self.settle(record, outcome, Some(frame), waited);
    }

    fn unanswered(&mut self, record: &Record) {
        let waited = self.recording.end_ns().saturating_sub(record.start_ns());
        let certain = waited > self.found.late_after_ns && !self.recording.has_partial();
        let outcome = if certain { Outcome::Never } else { Outcome::Unknown };
        self.settle(record, outcome, None, waited);
    }

    /// Whether frames in front of this one were lost by writer or reader, and not left out by the engine.
    fn hole_before(&self, index: usize) -> bool {
        let frames = self.recording.frames();
        let (Some(before), Some(frame)) =
            (index.checked_sub(1).and_then(|at| frames.get(at)), frames.get(index))
        else {
            return self.recording.cut_before() || self.recording.has_partial();
        };
        let missing = frame.id.wrapping_sub(before.id).wrapping_sub(1);
        self.skips.lost(before.id, missing) > 0
    }

    fn settle(&mut self, record: &Record, outcome: Outcome, frame: Option<&Frame>, waited_ns: u64) {
        let late = waited_ns > self.found.late_after_ns;
        self.found.requests += 1;
        let counter = match outcome {
            Outcome::Served => &mut self.found.served,
            Outcome::Beside => &mut self.found.beside,
            Outcome::Unrelated => &mut self.found.unrelated,
            Outcome::Never => &mut self.found.never,
            Outcome::Unknown => &mut self.found.unknown,
        };
        *counter += 1;
        self.found.late += u64::from(late && outcome == Outcome::Served);
        if let Some(frame) = frame.filter(|_| outcome != Outcome::Unknown) {
            self.starts.push(waited_ns);
            self.ends.push(frame.end_ns.saturating_sub(record.start_ns()));
        }
        let kind = match outcome {
            Outcome::Served if late => 0,
            Outcome::Unrelated => 1,
            Outcome::Never => 2,
            _ => return,
        };
        if self.told[kind] < TOLD {
            self.told[kind] += 1;
            self.found.told.push(RequestRow {
                at_ns: record.start_ns(),
                class: Class::of(record.flags()),
                place: self.places.name(record.aux()),
                outcome,
                frame: frame.map(|frame| frame.id),
                waited_ns,
            });
        }
    }

    fn finish(mut self) -> Requests {
        self.found.to_start_ns = Quantiles::of(self.starts);
        self.found.to_end_ns = Quantiles::of(self.ends);
        self.found.told.sort_by_key(|row| row.at_ns);
        self.found
    }
}
