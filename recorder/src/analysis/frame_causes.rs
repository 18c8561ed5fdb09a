//! Causes of the frames of a ring's last recording, from its `cause` records and the side file of places. Guesses no
//! cause: a frame without a record is by `other`, and is counted apart, too.

use super::causes::{AMBIENT, Cause, Counts, PlaceRow, Tally};
use super::recording::Recording;
use super::runs::{EVERY, Row, Runs, Surge, surge};
use super::select::within;
use crate::frames::{Frame, Ring};
use crate::layout::{Kind, Record};
use crate::places::Places;
use serde::Serialize;

/// Class of a `cause` record: its flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// 1: a pacing timer or an animation came due.
    Timer,
    /// 2: control input, cue, DMX-in or source change.
    Event,
    /// 3: an explicit request with its place.
    Refresh,
    /// 4 and all others.
    Other,
}

impl Class {
    /// The class of the flags of a `cause` record.
    pub fn of(flags: u16) -> Class {
        match flags {
            1 => Class::Timer,
            2 => Class::Event,
            3 => Class::Refresh,
            _ => Class::Other,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Class::Timer => "timer",
            Class::Event => "event",
            Class::Refresh => "refresh",
            Class::Other => "other",
        }
    }
}

/// Frames by `other`, by what their records say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Others {
    /// A timer came due.
    pub timer: u64,
    /// Some other reason was written down, or an event that every frame gets.
    pub other: u64,
    /// No record says why.
    pub unrecorded: u64,
}

/// A source that asked for one frame after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AlwaysRow {
    /// Event or refresh.
    pub class: Class,
    /// Its id.
    pub source: u64,
    /// Its place.
    pub place: String,
    /// The longest row of frames.
    pub row: Row,
    /// The place sounds like a drain, a poll or a status request: perhaps the measuring tool itself.
    pub own: bool,
}

/// Why the frames of the last recording were made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CauseReport {
    /// Number of the recording, if its beginning is in the ring.
    pub recording: Option<u64>,
    /// Frames of earlier recordings, which are left out.
    pub earlier_frames: u64,
    /// Counts and places.
    #[serde(flatten)]
    pub counts: Counts,
    /// Frames by `other` in parts.
    pub other: Others,
    /// Events by source, most first.
    pub events: Vec<PlaceRow>,
    /// Events of sources past those that are kept.
    pub events_rest: u64,
    /// `cause` records in frames.
    pub cause_records: u64,
    /// Records of events and requests, in frames and beside them, whose source has no name.
    pub unnamed: u64,
    /// Sources that asked for a second of frames in a row.
    pub always: Vec<AlwaysRow>,
    /// Where `other` surges.
    pub surge: Option<Surge>,
}

/// Words in a place that sound like the measuring tool.
const OWN: [&str; 5] = ["wireproof", "drain", "poll", "status", "/v1/"];

/// Whether a place sounds like the measuring tool's own request.
pub fn is_own(place: &str) -> bool {
    let place = place.to_ascii_lowercase();
    OWN.iter().any(|word| place.contains(word))
}

/// Counts the causes of the last recording.
pub fn causes(ring: &Ring, places: &Places) -> CauseReport {
    let recording = Recording::last(ring);
    let mut counting = Counting::new(places);
    recording.frames().iter().for_each(|frame| counting.frame(frame));
    let asks = |r: &&Record| {
        r.kind() == Some(Kind::Cause) && matches!(Class::of(r.flags()), Class::Event | Class::Refresh)
    };
    let unnamed = recording.loose().filter(asks).filter(|r| places.get(r.aux()).is_none());
    counting.report.unnamed += unnamed.count() as u64;
    let earlier_frames = (ring.frames.len() - recording.frames().len()) as u64;
    CauseReport { recording: recording.number, earlier_frames, ..counting.report() }
}

/// Counts the causes of those frames of the last recording that lie inside a window, its guard on both sides left out
/// ([`super::select::within`]); times are the ring's own, ns. Requests beside frames are not looked at.
pub fn causes_within(ring: &Ring, places: &Places, window: (u64, u64), guard_ns: u64) -> CauseReport {
    let recording = Recording::last(ring);
    let mut counting = Counting::new(places);
    within(recording.frames(), window, guard_ns).for_each(|frame| counting.frame(frame));
    CauseReport { recording: recording.number, ..counting.report() }
}

/// The `cause` records of a frame.
pub(super) fn records(frame: &Frame) -> impl Iterator<Item = &Record> {
    frame.records.iter().filter(|record| record.kind() == Some(Kind::Cause))
}

/// Whether a source is an event that every frame gets.
pub(super) fn is_ambient(places: &Places, source: u64) -> bool {
    places.get(source).is_some_and(|place| AMBIENT.contains(&place))
}

struct Counting<'a> {
    places: &'a Places,
    tally: Tally,
    /// Events counted as if they were places.
    events: Tally,
    runs: Runs,
    list: Vec<(u32, Cause)>,
    report: CauseReport,
}

impl<'a> Counting<'a> {
    fn new(places: &'a Places) -> Self {
        Counting {
            places,
            tally: Tally::default(),
            events: Tally::default(),
            runs: Runs::default(),
            list: Vec::new(),
            report: CauseReport::default(),
        }
    }

    fn frame(&mut self, frame: &Frame) {
        let (mut events, mut refreshes, mut asked) = (Vec::new(), Vec::new(), Vec::new());
        let mut timer = false;
        let before = self.report.cause_records;
        for record in records(frame) {
            self.report.cause_records += 1;
            let source = record.aux();
            match Class::of(record.flags()) {
                Class::Event => events.push(self.named(source)),
                Class::Refresh if self.places.is_further(source) => {
                    refreshes.push(None);
                    continue;
                }
                Class::Refresh => refreshes.push(Some(self.named(source))),
                class => {
                    timer |= class == Class::Timer;
                    continue;
                }
            }
            let event = Class::of(record.flags()) == Class::Event;
            if !(event && is_ambient(self.places, source)) {
                asked.push((event, source));
            }
        }
        let cause = self.settle(&events, &refreshes);
        if cause == Cause::Other {
            let others = &mut self.report.other;
            match (timer, self.report.cause_records > before) {
                (true, _) => others.timer += 1,
                (false, true) => others.other += 1,
                (false, false) => others.unrecorded += 1,
            }
        }
        self.runs.frame(frame.id, asked);
        self.list.push((frame.id, cause));
    }

    fn settle(&mut self, events: &[String], refreshes: &[Option<String>]) -> Cause {
        let caused = events.iter().filter(|event| !AMBIENT.contains(&event.as_str()));
        self.events.frame([], caused.map(String::as_str));
        let kept = refreshes.iter().flatten().map(String::as_str);
        let rest = refreshes.iter().filter(|place| place.is_none()).count();
        (0..rest).for_each(|_| self.tally.ask_rest());
        self.tally.frame_with(events.iter().map(String::as_str), kept, rest > 0)
    }

    fn named(&mut self, source: u64) -> String {
        if self.places.get(source).is_none() {
            self.report.unnamed += 1;
        }
        self.places.name(source)
    }

    fn report(self) -> CauseReport {
        let places = self.places;
        let always = |(event, source, row): (bool, u64, Row)| {
            let place = places.name(source);
            let class = if event { Class::Event } else { Class::Refresh };
            AlwaysRow { class, source, own: is_own(&place), place, row }
        };
        let events = self.events.counts();
        CauseReport {
            counts: self.tally.counts(),
            events: events.places,
            events_rest: events.places_rest,
            always: self.runs.of(EVERY).into_iter().map(always).collect(),
            surge: surge(&self.list),
            ..self.report
        }
    }
}
