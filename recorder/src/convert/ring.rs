//! Parsed records as tracks: frames, the engine, each device, what belongs to no frame, causes, misses and counters.
//! Decides which record goes where; draws nothing.

use super::causes;
use super::timeline::{ClockPair, Event, Label, Name, Shape, TIME_LIMIT_NS, Timeline};
use crate::header::Tables;
use crate::layout::{FLAG_TRUNCATED, Kind, NO_DEVICE, NO_FRAME, Record};
use crate::places::Places;
use std::collections::HashMap;

/// Rows for devices and counters at most; a header names 16 devices. Spans of further devices stand on the engine's row,
/// samples of further counters are left out; both are counted.
const MAX_ROWS: usize = 64;

/// What a ring is converted with.
#[derive(Clone, Debug, Default)]
pub struct Context<'a> {
    /// Names of stages, devices and protocols.
    pub tables: Option<&'a Tables>,
    /// Places of causes by id, from the side file.
    pub places: Places,
    /// Process id of the writer; 0 when unknown.
    pub pid: u32,
    /// The header's clock reading.
    pub clock: ClockPair,
}

/// What could not be drawn as it was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Odd {
    /// Records that end before they start, drawn without length.
    pub inverted: u64,
    /// Records whose start or end is no time since a boot, left out.
    pub out_of_range: u64,
    /// Records of a kind that is not known, left out.
    pub unknown_kind: u64,
    /// Records of devices or counters past the number of rows.
    pub crowded: u64,
}

/// Puts the records on tracks; `records` in any order, best in the ring's.
pub fn tracks<'a>(records: impl IntoIterator<Item = &'a Record>, context: &Context<'_>) -> (Timeline, Odd) {
    let mut board = Board::new(context);
    for record in records {
        board.add(record);
    }
    board.timeline.tracks.retain(|track| !track.events.is_empty());
    board.timeline.sort();
    (board.timeline, board.odd)
}

/// Tracks that exist once.
struct Fixed {
    frames: usize,
    engine: usize,
    causes: usize,
    misses: usize,
    skipped: usize,
    unframed: usize,
    recorder: usize,
}

struct Board<'a> {
    context: &'a Context<'a>,
    timeline: Timeline,
    odd: Odd,
    group: usize,
    fixed: Fixed,
    /// Track by device id, 0 for none yet, else index + 1.
    devices: Vec<u16>,
    unframed_devices: HashMap<u16, usize>,
    counters: HashMap<(u16, u16), usize>,
    rows: usize,
    /// Name by stage id.
    stages: Vec<Name>,
    whole: Name,
    truncated: Name,
}

impl<'a> Board<'a> {
    fn new(context: &'a Context<'a>) -> Self {
        let mut timeline = Timeline::default();
        timeline.clock = context.clock;
        let group = timeline.group("flight recorder", context.pid);
        let mut track = |name: &str, shape, category: &str| timeline.track(group, name, shape, category);
        let fixed = Fixed {
            frames: track("frames", Shape::Spans, "frame"),
            causes: track("causes", Shape::Instants, "cause"),
            misses: track("deadline misses", Shape::Spans, "deadline"),
            skipped: track("skipped frames", Shape::Instants, "deadline"),
            engine: track("engine", Shape::Spans, "engine"),
            unframed: track("outside frames", Shape::Spans, "unframed"),
            recorder: track("recorder", Shape::Instants, "recorder"),
        };
        let (whole, truncated) = (timeline.name("frame"), timeline.name("frame (events dropped)"));
        let mut board = Board {
            context,
            timeline,
            odd: Odd::default(),
            group,
            fixed,
            devices: vec![0; 1 << 16],
            unframed_devices: HashMap::new(),
            counters: HashMap::new(),
            rows: 0,
            stages: vec![Name::NONE; 1 << 16],
            whole,
            truncated,
        };
        // In the order of the header's table, so that rows do not depend on who came first.
        let declared = context.tables.into_iter().flat_map(|tables| &tables.devices);
        for device in declared {
            board.device(device.id);
        }
        board
    }

    #[inline]
    fn add(&mut self, record: &Record) {
        let (start, mut end) = (record.start_ns(), record.end_ns());
        if start.max(end) >= TIME_LIMIT_NS {
            self.odd.out_of_range += 1;
            return;
        }
        if end < start {
            self.odd.inverted += 1;
            end = start;
        }
        let event = Event { start_ns: start, end_ns: end, frame: record.frame(), ..Event::default() };
        match record.kind() {
            Some(Kind::Span) => self.span(record, event),
            Some(kind) => self.other(record, kind, event),
            None => self.odd.unknown_kind += 1,
        }
    }

    #[inline]
    fn span(&mut self, record: &Record, event: Event) {
        let label = if record.aux() == 0 { Label::None } else { Label::Count };
        let name = self.stage(record.stage());
        let track = match (record.frame(), record.device()) {
            (NO_FRAME, NO_DEVICE) => self.fixed.unframed,
            (NO_FRAME, device) => self.unframed_device(device),
            (_, NO_DEVICE) => self.fixed.engine,
            (_, device) => self.device(device),
        };
        self.timeline.push(track, Event { name, label, value: record.aux(), ..event });
    }

    fn other(&mut self, record: &Record, kind: Kind, event: Event) {
        let aux = record.aux();
        let fixed = &self.fixed;
        let (track, text, label, value) = match kind {
            Kind::FrameComplete => return self.frame(record, event),
            Kind::Cause => return self.cause(record, event),
            Kind::Counter => return self.counter(record, event),
            Kind::DeadlineMiss => (fixed.misses, "deadline miss", Label::OverrunNs, aux),
            Kind::Skipped => {
                let frame = (aux >> 32) as u32;
                let name = self.timeline.name("skipped");
                let event = Event { name, frame, label: Label::Count, value: aux & 0xFFFF_FFFF, ..event };
                return self.timeline.push(self.fixed.skipped, event);
            }
            Kind::Drops => (fixed.recorder, "drops", Label::Count, aux),
            Kind::Anchor => (fixed.recorder, "clock anchor", Label::WallNs, aux),
            Kind::State => (fixed.recorder, "state", Label::Value, aux),
            Kind::Mark | Kind::Span => (fixed.recorder, "mark", Label::Value, aux),
        };
        let named = matches!(kind, Kind::Mark | Kind::State | Kind::Drops) && self.declared(record.stage());
        let name = if named { self.stage(record.stage()) } else { self.timeline.name(text) };
        self.timeline.push(track, Event { name, label, value, ..event });
    }

    fn frame(&mut self, record: &Record, event: Event) {
        let truncated = record.flags() & FLAG_TRUNCATED != 0;
        let name = if truncated { self.truncated } else { self.whole };
        // A legacy ring counts nothing.
        let records = record.aux() >> 32;
        let label = if records == 0 { Label::None } else { Label::Records };
        self.timeline.push(self.fixed.frames, Event { name, label, value: records, ..event });
    }

    fn cause(&mut self, record: &Record, event: Event) {
        let name = self.timeline.name(causes::class(record.flags()));
        let note =
            self.context.places.get(record.aux()).map_or(Name::NONE, |place| self.timeline.name(place));
        let event = Event { name, note, label: Label::Source, value: record.aux(), ..event };
        self.timeline.push(self.fixed.causes, event);
    }

    fn counter(&mut self, record: &Record, event: Event) {
        let key = (record.stage(), record.device());
        let track = match self.counters.get(&key) {
            Some(track) => *track,
            None => {
                let stage = self.stage(key.0);
                let mut name = self.timeline.text(stage).to_owned();
                if key.1 != NO_DEVICE {
                    name = format!("{name} ({})", self.device_name(key.1));
                }
                let Some(track) = self.row(&name, Shape::Counter, "counter") else { return };
                self.counters.insert(key, track);
                track
            }
        };
        let name = self.stage(record.stage());
        self.timeline.push(track, Event { name, label: Label::Value, value: record.aux(), ..event });
    }

    /// A further track, as long as there are not too many.
    fn row(&mut self, name: &str, shape: Shape, category: &str) -> Option<usize> {
        if self.rows >= MAX_ROWS {
            self.odd.crowded += 1;
            return None;
        }
        self.rows += 1;
        Some(self.timeline.track(self.group, name, shape, category))
    }

    #[inline]
    fn device(&mut self, id: u16) -> usize {
        match self.devices[usize::from(id)] {
            0 => self.new_device(id),
            track => usize::from(track) - 1,
        }
    }

    #[cold]
    fn new_device(&mut self, id: u16) -> usize {
        let name = self.device_name(id);
        let protocol = self.protocol_of(id);
        let Some(track) = self.row(&name, Shape::Spans, &protocol) else { return self.fixed.engine };
        self.devices[usize::from(id)] = u16::try_from(track + 1).unwrap_or_default();
        track
    }

    fn unframed_device(&mut self, id: u16) -> usize {
        if let Some(track) = self.unframed_devices.get(&id) {
            return *track;
        }
        let name = format!("{} outside frames", self.device_name(id));
        let Some(track) = self.row(&name, Shape::Spans, "unframed") else { return self.fixed.unframed };
        self.unframed_devices.insert(id, track);
        track
    }

    fn device_name(&self, id: u16) -> String {
        let name = self.context.tables.and_then(|tables| tables.device(id));
        name.map_or_else(|| format!("device {id}"), str::to_owned)
    }

    fn protocol_of(&self, device: u16) -> String {
        let of = |tables: &Tables| {
            let protocol = tables.devices.iter().find(|d| d.id == device)?.protocol;
            Some(tables.protocols.iter().find(|p| p.id == protocol)?.name.clone())
        };
        self.context.tables.and_then(of).unwrap_or_else(|| "device".to_owned())
    }

    fn declared(&self, stage: u16) -> bool {
        self.context.tables.is_some_and(|tables| tables.stage(stage).is_some())
    }

    #[inline]
    fn stage(&mut self, id: u16) -> Name {
        match self.stages[usize::from(id)] {
            Name::NONE => self.new_stage(id),
            name => name,
        }
    }

    #[cold]
    fn new_stage(&mut self, id: u16) -> Name {
        let name = self.context.tables.and_then(|tables| tables.stage(id));
        let text = name.filter(|n| !n.is_empty()).map_or_else(|| format!("stage {id}"), str::to_owned);
        let name = self.timeline.name(&text);
        self.stages[usize::from(id)] = name;
        name
    }
}
