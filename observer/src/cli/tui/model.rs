//! What the full-screen view shows: the newest picture of the run, the events so far, and what the user looks at.
//! Pure: it reads no clock and no terminal.

use super::layout::{Layout, Size};
use crate::live::health::Vitals;
use crate::live::receive::Told;
use crate::live::source::SourceInfo;
use crate::live::udp::{FULL_SIZE_CHARGE, hold_time};
use std::collections::VecDeque;
use std::time::Duration;
use wireproof_protocols::Severity;
use wireproof_protocols::verify::{Progress, StreamProgress};
use wireproof_reports::text::clean;
use wireproof_reports::{Standing, Weight};

/// Events kept; older ones are in the summary at the end.
pub(super) const EVENTS: usize = 1_000;
/// Findings that can be marked for cutting.
pub(super) const MARKS: usize = 32;
/// A stream is silent when nothing came for this long and for three periods, ns.
const SILENT: i64 = 2_500_000_000;

/// A list that the arrow keys move in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pane {
    Streams,
    Events,
}

/// What lies over the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overlay {
    Nothing,
    Help,
    /// The event in full.
    Event,
}

/// Something that happened. `serial` counts all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Noted {
    pub(super) serial: u64,
    /// Capture time, ns since 1970; 0 for a line that is no finding.
    pub(super) at_ns: i64,
    pub(super) severity: Severity,
    /// Rule code; `download` for one.
    pub(super) code: &'static str,
    /// The stream in words; may be empty.
    pub(super) stream: String,
    pub(super) text: String,
    /// The stream concerned, by its order of appearance.
    pub(super) place: Option<usize>,
    /// The waiver that covered it when it came.
    pub(super) waived: Option<String>,
}

/// A finding whose evidence is to be cut out when the capture is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Mark {
    pub(in crate::cli) code: &'static str,
    pub(in crate::cli) at_ns: i64,
    pub(in crate::cli) stream: String,
}

/// A picture of the run.
#[derive(Clone, Debug, Default)]
pub(super) struct Snapshot {
    pub(super) gone: Duration,
    /// Time of day, ns since 1970.
    pub(super) now_ns: i64,
    pub(super) progress: Progress,
    pub(super) vitals: Vitals,
}

/// How pictures look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    /// Colours, beside words and never in their place.
    pub(super) color: bool,
    /// Nothing but ASCII.
    pub(super) ascii: bool,
}

/// Everything that is drawn.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) look: Look,
    pub(super) size: Size,
    pub(super) shot: Snapshot,
    /// What of the figures counts; none while everything does.
    pub(super) standing: Option<Standing>,
    /// Datagrams a second between the last two pictures.
    pub(super) rate: f64,
    pub(super) sources: Vec<String>,
    /// Granted receive buffers, octets: the smallest of them.
    pub(super) granted: Option<u64>,
    /// Streams in the order they are shown in, by their order of appearance.
    pub(super) order: Vec<usize>,
    /// The selected stream, by its order of appearance.
    pub(super) selected: usize,
    pub(super) events: VecDeque<Noted>,
    pub(super) events_seen: u64,
    /// The chosen event; `None` follows the newest.
    pub(super) chosen: Option<u64>,
    pub(super) pane: Pane,
    pub(super) overlay: Overlay,
    /// Why evidence cannot be cut out; `None` when it can.
    pub(super) no_slice: Option<&'static str>,
    pub(super) marks: Vec<Mark>,
    /// What the last key did.
    pub(super) note: String,
    pub(super) ending: bool,
}

impl Model {
    pub(super) fn new(size: Size, look: Look, no_slice: Option<&'static str>) -> Model {
        Model {
            look,
            size,
            shot: Snapshot::default(),
            standing: None,
            rate: 0.0,
            sources: Vec::new(),
            granted: None,
            order: Vec::new(),
            selected: 0,
            events: VecDeque::new(),
            events_seen: 0,
            chosen: None,
            pane: Pane::Streams,
            overlay: Overlay::Nothing,
            no_slice,
            marks: Vec::new(),
            note: String::new(),
            ending: false,
        }
    }

    /// A source is listened to.
    pub(super) fn listening(&mut self, info: &SourceInfo) {
        self.sources.push(clean(&format!("{} {}", info.kind, info.name)).into_owned());
        let (_, granted) = info.buffer_bytes;
        self.granted = Some(self.granted.map_or(granted, |least| least.min(granted)));
    }

    /// A newer picture. The first one selects the stream with the most trouble; later ones leave the selection.
    pub(super) fn update(&mut self, shot: Snapshot) {
        let first = self.order.is_empty();
        let seconds = shot.gone.saturating_sub(self.shot.gone).as_secs_f64();
        if seconds > 0.0 {
            let came = shot.vitals.received.saturating_sub(self.shot.vitals.received);
            self.rate = came as f64 / seconds;
        }
        self.shot = shot;
        self.order = order(&self.shot, self.standing.as_ref());
        if first || !self.order.contains(&self.selected) {
            self.selected = self.order.first().copied().unwrap_or(0);
        }
    }

    /// What is shown from here on counts so.
    pub(super) fn stand(&mut self, standing: Standing) {
        self.standing = Some(standing);
    }

    /// A finding.
    pub(super) fn found(&mut self, told: &Told) {
        self.push(Noted {
            serial: self.events_seen,
            at_ns: told.at.0,
            severity: told.severity,
            code: told.code,
            stream: clean(&told.stream).into_owned(),
            text: clean(&told.text).into_owned(),
            place: told.place,
            waived: told.waived.clone(),
        });
    }

    /// Something else that happened, such as a download.
    pub(super) fn remark(&mut self, what: &'static str, severity: Severity, text: &str) {
        let (serial, stream, text) = (self.events_seen, String::new(), clean(text).into_owned());
        self.push(Noted { serial, at_ns: 0, severity, code: what, stream, text, place: None, waived: None });
    }

    fn push(&mut self, event: Noted) {
        if self.events.len() == EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
        self.events_seen += 1;
    }

    /// The waiver that covers the event at this moment: a limit that is exceeded later covers nothing any more.
    pub(super) fn waived<'a>(&'a self, event: &'a Noted) -> Option<&'a str> {
        let standing = self.standing.as_ref();
        match standing.and_then(|s| s.weight(event.place, event.code, event.at_ns)) {
            Some(Weight::Waived(id)) => Some(id),
            Some(_) => None,
            None => event.waived.as_deref(),
        }
    }

    /// Whether all that is wrong with a stream is waived.
    pub(super) fn excused(&self, stream: usize) -> bool {
        self.standing.as_ref().is_some_and(|s| is_excused(s, stream))
    }

    /// Streams that are wanted, those that the list has no room for included.
    pub(super) fn streams_seen(&self) -> usize {
        let seen = self.shot.progress.streams_seen;
        self.standing.as_ref().map_or(seen, |s| s.streams(seen))
    }

    /// What the figures leave out, in words; empty when nothing.
    pub(super) fn terms(&self) -> String {
        let words = self.standing.as_ref().map(|s| s.words(self.shot.progress.streams_seen));
        clean(&words.unwrap_or_default()).into_owned()
    }

    pub(super) fn layout(&self) -> Layout {
        Layout::of(self.size)
    }

    /// Place of the selected stream in the order.
    pub(super) fn row(&self) -> usize {
        self.order.iter().position(|index| *index == self.selected).unwrap_or(0)
    }

    /// The streams in view: the selected one is among them.
    pub(super) fn rows(&self) -> &[usize] {
        let (from, to) = window(self.row(), self.layout().stream_rows, self.order.len());
        &self.order[from..to]
    }

    pub(super) fn stream(&self, index: usize) -> Option<&StreamProgress> {
        self.shot.progress.streams.get(index)
    }

    /// Place of the chosen event in the list: the newest one unless another is chosen.
    pub(super) fn event_row(&self) -> usize {
        let last = self.events.len().saturating_sub(1);
        let first = self.events.front().map_or(0, |event| event.serial);
        let chosen = self.chosen.map(|serial| serial.saturating_sub(first));
        chosen.map_or(last, |row| usize::try_from(row).unwrap_or(last).min(last))
    }

    /// The chosen event, or the newest one.
    pub(super) fn event(&self) -> Option<&Noted> {
        self.events.get(self.event_row())
    }

    /// The events in view, by their place in the list.
    pub(super) fn event_rows(&self) -> std::ops::Range<usize> {
        let (from, to) = window(self.event_row(), self.layout().event_rows, self.events.len());
        from..to
    }

    /// How long the smallest receive buffer holds at this rate while nobody reads, if every datagram has full size.
    pub(super) fn hold(&self) -> Option<Duration> {
        let granted = self.granted.filter(|granted| *granted > 0)?;
        (self.rate >= 1.0).then(|| hold_time(granted, FULL_SIZE_CHARGE, self.rate as u32))
    }

    /// Marks the chosen finding, or takes its mark away.
    pub(super) fn mark(&mut self) {
        if let Some(why) = self.no_slice {
            self.note = why.to_owned();
            return;
        }
        let Some(event) = self.event().filter(|event| event.at_ns != 0) else {
            self.note = "no finding to cut out: choose one in the list of events".to_owned();
            return;
        };
        let mark = Mark { code: event.code, at_ns: event.at_ns, stream: event.stream.clone() };
        if let Some(place) = self.marks.iter().position(|m| *m == mark) {
            self.marks.remove(place);
            self.note = format!("{} is not cut out", mark.code);
        } else if self.marks.len() == MARKS {
            self.note = format!("{MARKS} findings are marked, no more fit");
        } else {
            self.note = format!("{} is cut out of the capture when the run ends", mark.code);
            self.marks.push(mark);
        }
    }

    pub(super) fn is_marked(&self, event: &Noted) -> bool {
        let is = |m: &Mark| m.code == event.code && m.at_ns == event.at_ns && m.stream == event.stream;
        self.marks.iter().any(is)
    }
}

/// A part of a list of `len` that has `row` in it, in the middle where that can be.
fn window(row: usize, room: usize, len: usize) -> (usize, usize) {
    let from = row.saturating_sub(room / 2).min(len.saturating_sub(room));
    (from, len.min(from + room))
}

fn is_excused(standing: &Standing, stream: usize) -> bool {
    standing.excused.get(stream).copied().unwrap_or(false)
}

/// Streams with the most trouble first, then as they appeared; those that are left out are not among them.
fn order(shot: &Snapshot, standing: Option<&Standing>) -> Vec<usize> {
    let streams = &shot.progress.streams;
    let shows = |index: &usize| standing.is_none_or(|s| s.shows(*index));
    let mut order: Vec<usize> = (0..streams.len()).filter(shows).collect();
    order.sort_by_key(|index| {
        let s = &streams[*index];
        if standing.is_some_and(|standing| is_excused(standing, *index)) {
            return std::cmp::Reverse((0, 0, 0, is_silent(s, shot.now_ns), 0));
        }
        std::cmp::Reverse((s.lost, s.torn, s.late + s.duplicates, is_silent(s, shot.now_ns), s.restarts))
    });
    order
}

/// Nothing comes, and nothing said that it would end.
pub(super) fn is_silent(s: &StreamProgress, now_ns: i64) -> bool {
    !s.ended && now_ns.saturating_sub(s.last_ns) > SILENT.max(s.period_ns.saturating_mul(3))
}

/// The state of a stream in a word; what is waived is told apart from what counts.
pub(super) fn state(s: &StreamProgress, excused: bool, now_ns: i64) -> &'static str {
    match s {
        s if excused && s.lost + s.torn + s.late + s.duplicates > 0 => "WAIVED",
        s if s.lost > 0 => "LOST",
        s if s.torn > 0 => "TORN",
        s if is_silent(s, now_ns) => "SILENT",
        s if s.ended => "ENDED",
        s if s.late > 0 => "LATE",
        s if s.duplicates > 0 => "TWICE",
        _ => "ok",
    }
}
