//! What a conversion writes: tracks of events on the ring's clock (CLOCK_MONOTONIC, ns), in groups, with a table of
//! names. Holds no format.

use crate::layout::NO_FRAME;
use std::collections::HashMap;

/// Times from here on are no time since boot: 2^62 ns are 146 years.
pub const TIME_LIMIT_NS: u64 = 1 << 62;

/// Index of a text in the timeline's table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(pub u32);

impl Name {
    /// The empty text.
    pub const NONE: Name = Name(0);

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What the value of an event is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Label {
    /// It has none.
    #[default]
    None = 0,
    /// Number of datagrams, octets or whatever the stage counts.
    Count,
    /// Records of a frame.
    Records,
    /// Key of a cause's place.
    Source,
    /// Nanoseconds past a deadline.
    OverrunNs,
    /// Wall time, ns since 1970.
    WallNs,
    /// Whatever the kind of record means.
    Value,
    /// Sequence number on the wire.
    Sequence,
    /// Task id.
    Tid,
    /// Length, ns, of what could not be drawn as a span.
    DurationNs,
}

impl Label {
    /// Every label that names a value, in order.
    pub const ALL: [Label; 9] = [
        Label::Count,
        Label::Records,
        Label::Source,
        Label::OverrunNs,
        Label::WallNs,
        Label::Value,
        Label::Sequence,
        Label::Tid,
        Label::DurationNs,
    ];

    /// The argument's name in a trace.
    pub const fn name(self) -> &'static str {
        match self {
            Label::None => "",
            Label::Count => "count",
            Label::Records => "records",
            Label::Source => "source",
            Label::OverrunNs => "overrun_ns",
            Label::WallNs => "wall_ns",
            Label::Value => "value",
            Label::Sequence => "sequence",
            Label::Tid => "tid",
            Label::DurationNs => "duration_ns",
        }
    }
}

/// A span, an instant or a sample, by the shape of its track.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// CLOCK_MONOTONIC, ns.
    pub start_ns: u64,
    /// The start, or later.
    pub end_ns: u64,
    /// A value; [`Label`] says of what.
    pub value: u64,
    /// Frame, or [`NO_FRAME`].
    pub frame: u32,
    /// What it is called.
    pub name: Name,
    /// A remark, or [`Name::NONE`].
    pub note: Name,
    /// What the value is.
    pub label: Label,
}

impl Event {
    /// An instant without a frame.
    pub fn at(ns: u64, name: Name) -> Event {
        Event { start_ns: ns, end_ns: ns, name, frame: NO_FRAME, ..Event::default() }
    }
}

/// What the events of a track are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Spans; those that overlap without nesting go to another lane.
    Spans,
    /// Instants at their start.
    Instants,
    /// Samples of one counter: the value from the start on.
    Counter,
}

/// Tracks that stand together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// What they show.
    pub name: String,
    /// Process whose tracks they are; 0 for none.
    pub pid: u32,
}

/// Events of one row.
#[derive(Clone, Debug)]
pub struct Track {
    /// What the row is called.
    pub name: String,
    /// Index of its group.
    pub group: usize,
    /// What its events are.
    pub shape: Shape,
    /// Category of its events.
    pub category: Name,
    /// Events in any order.
    pub events: Vec<Event>,
}

/// How ring times relate to others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockPair {
    /// CLOCK_MONOTONIC, ns.
    pub monotonic_ns: u64,
    /// CLOCK_REALTIME at the same moment, ns since 1970; 0 when unknown.
    pub wall_ns: u64,
    /// CLOCK_BOOTTIME - CLOCK_MONOTONIC, ns.
    pub boot_offset_ns: u64,
}

/// Everything a conversion writes.
#[derive(Clone, Debug)]
pub struct Timeline {
    names: Vec<String>,
    by_name: HashMap<String, Name>,
    /// Groups in the order shown.
    pub groups: Vec<Group>,
    /// Tracks in the order shown.
    pub tracks: Vec<Track>,
    /// What else is known of the trace: key and text.
    pub about: Vec<(String, String)>,
    /// The header's clock reading.
    pub clock: ClockPair,
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline {
            names: vec![String::new()],
            by_name: HashMap::from([(String::new(), Name::NONE)]),
            groups: Vec::new(),
            tracks: Vec::new(),
            about: Vec::new(),
            clock: ClockPair::default(),
        }
    }
}

impl Timeline {
    /// The key of a text; a text that is not in the table is added to it.
    pub fn name(&mut self, text: &str) -> Name {
        if let Some(name) = self.by_name.get(text) {
            return *name;
        }
        let name = Name(u32::try_from(self.names.len()).unwrap_or_default());
        self.names.push(text.to_owned());
        self.by_name.insert(text.to_owned(), name);
        name
    }

    /// The texts in the order of their keys; the first is empty.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The text of a key.
    pub fn text(&self, name: Name) -> &str {
        self.names.get(name.index()).map_or("", String::as_str)
    }

    /// Adds a group and returns its index.
    pub fn group(&mut self, name: &str, pid: u32) -> usize {
        self.groups.push(Group { name: name.to_owned(), pid });
        self.groups.len() - 1
    }

    /// Adds an empty track and returns its index.
    pub fn track(&mut self, group: usize, name: &str, shape: Shape, category: &str) -> usize {
        let category = self.name(category);
        self.tracks.push(Track { name: name.to_owned(), group, shape, category, events: Vec::new() });
        self.tracks.len() - 1
    }

    /// Adds an event to a track; a track that is not there takes none.
    pub fn push(&mut self, track: usize, event: Event) {
        if let Some(track) = self.tracks.get_mut(track) {
            track.events.push(event);
        }
    }

    /// Earliest start, and latest end, ns; `None` without events.
    pub fn range(&self) -> Option<(u64, u64)> {
        let mut events = self.tracks.iter().flat_map(|track| &track.events);
        let first = events.next()?;
        let begin = (first.start_ns, first.end_ns);
        Some(events.fold(begin, |(start, end), event| (start.min(event.start_ns), end.max(event.end_ns))))
    }

    /// Puts the events of every track in order: by start, and at equal starts the longest first, so that a span
    /// stands in front of what it contains. Records of a ring come in order, or nearly.
    pub fn sort(&mut self) {
        for track in &mut self.tracks {
            let key = |event: &Event| (event.start_ns, !event.end_ns);
            if !track.events.is_sorted_by_key(key) {
                track.events.sort_by_key(key);
            }
        }
    }
}

/// What a writer has put out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Spans.
    pub spans: u64,
    /// Instants.
    pub instants: u64,
    /// Samples of counters.
    pub samples: u64,
    /// Rows in use, one for each lane.
    pub lanes: u64,
    /// Spans that found no lane and became instants with a `duration_ns`.
    pub beyond_lanes: u64,
}
