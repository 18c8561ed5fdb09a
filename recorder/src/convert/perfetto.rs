//! The timeline as a Perfetto trace: one packet sequence, names interned once, a track for each lane, times on
//! CLOCK_MONOTONIC. Field numbers are those of `perfetto_trace.proto`.

use super::lanes::{Lanes, Visit};
use super::protobuf::{Message, Small};
use super::sink::Sink;
use super::timeline::{ClockPair, Event, Group, Label, Name, Shape, Timeline, Track, Written};
use crate::layout::NO_FRAME;
use std::io::{self, Write};

/// `Trace.packet`, length-delimited.
const PACKET: u32 = 1;
/// Fields of `TracePacket`.
mod packet {
    pub(super) const CLOCK_SNAPSHOT: u32 = 6;
    pub(super) const TIMESTAMP: u32 = 8;
    pub(super) const SEQUENCE_ID: u32 = 10;
    pub(super) const TRACK_EVENT: u32 = 11;
    pub(super) const INTERNED_DATA: u32 = 12;
    pub(super) const SEQUENCE_FLAGS: u32 = 13;
    pub(super) const TIMESTAMP_CLOCK_ID: u32 = 58;
    pub(super) const DEFAULTS: u32 = 59;
    pub(super) const TRACK_DESCRIPTOR: u32 = 60;
}
/// Fields of `TrackEvent`, and the values of its type.
mod event {
    pub(super) const CATEGORY_IIDS: u32 = 3;
    pub(super) const DEBUG_ANNOTATIONS: u32 = 4;
    pub(super) const TYPE: u32 = 9;
    pub(super) const NAME_IID: u32 = 10;
    pub(super) const TRACK_UUID: u32 = 11;
    pub(super) const NAME: u32 = 23;
    pub(super) const COUNTER_VALUE: u32 = 30;
    pub(super) const BEGIN: u8 = 1;
    pub(super) const END: u8 = 2;
    pub(super) const INSTANT: u8 = 3;
    pub(super) const COUNTER: u8 = 4;
}
/// Fields of `DebugAnnotation`.
mod annotation {
    pub(super) const NAME_IID: u32 = 1;
    pub(super) const UINT: u32 = 3;
    pub(super) const STRING: u32 = 6;
    pub(super) const NAME: u32 = 10;
}
/// Fields of `TrackDescriptor` and of what it holds.
mod track {
    pub(super) const UUID: u32 = 1;
    pub(super) const NAME: u32 = 2;
    pub(super) const PROCESS: u32 = 3;
    pub(super) const PARENT: u32 = 5;
    pub(super) const COUNTER: u32 = 8;
    pub(super) const CHILD_ORDERING: u32 = 11;
    pub(super) const RANK: u32 = 12;
    pub(super) const EXPLICIT: u64 = 3;
    pub(super) const PROCESS_PID: u32 = 1;
    pub(super) const PROCESS_NAME: u32 = 6;
}
/// Clocks of `ClockSnapshot`.
mod clock {
    pub(super) const REALTIME: u64 = 1;
    pub(super) const MONOTONIC: u64 = 3;
    pub(super) const BOOTTIME: u64 = 6;
}
/// `SEQ_INCREMENTAL_STATE_CLEARED`.
const CLEARED: u64 = 1;
/// `SEQ_NEEDS_INCREMENTAL_STATE`.
const NEEDED: u8 = 2;
/// The one packet sequence.
const SEQUENCE: u8 = 1;
/// Key of the annotation `frame`; labels follow.
const FRAME_IID: u8 = 1;

/// Octet in front of a field of one octet's number.
const fn tag(field: u32, wire: u8) -> u8 {
    (field as u8) << 3 | wire
}

/// Writes the trace; events have to be sorted ([`Timeline::sort`]).
///
/// # Errors
/// What the writer says.
pub fn write(timeline: &Timeline, out: &mut dyn Write) -> io::Result<Written> {
    let mut trace = Trace::new(timeline, out);
    trace.snapshot(&timeline.clock);
    trace.names(timeline);
    for (index, group) in timeline.groups.iter().enumerate() {
        trace.group(index, group);
    }
    trace.about(timeline);
    for (rank, track) in timeline.tracks.iter().enumerate() {
        trace.track(rank, track);
    }
    let Trace { sink, written, .. } = trace;
    sink.finish()?;
    Ok(written)
}

/// A packet sequence under way.
struct Trace<'a> {
    sink: Sink<'a>,
    timeline: &'a Timeline,
    written: Written,
    next_uuid: u64,
}

impl<'a> Trace<'a> {
    fn new(timeline: &'a Timeline, out: &'a mut dyn Write) -> Self {
        let next_uuid = 1 + timeline.groups.len() as u64;
        Trace { sink: Sink::new(out), timeline, written: Written::default(), next_uuid }
    }

    fn packet(&mut self, packet: &Message) {
        let mut whole = Message::default();
        whole.message(PACKET, packet);
        self.sink.octets().extend_from_slice(&whole.0);
    }

    /// Clocks read at one moment. A ring without a reading has its clock alone, which then stands for BOOTTIME, too.
    fn snapshot(&mut self, pair: &ClockPair) {
        let mut snapshot = Message::default();
        let mut add = |id: u64, ns: u64| {
            let mut clock = Message::default();
            clock.varint(1, id).varint(2, ns);
            snapshot.message(1, &clock);
        };
        add(clock::MONOTONIC, pair.monotonic_ns);
        add(clock::BOOTTIME, pair.monotonic_ns.saturating_add(pair.boot_offset_ns));
        if pair.wall_ns > 0 {
            add(clock::REALTIME, pair.wall_ns);
        }
        snapshot.varint(2, clock::MONOTONIC);
        let mut packet = Message::default();
        packet.message(packet::CLOCK_SNAPSHOT, &snapshot).varint(packet::SEQUENCE_ID, SEQUENCE.into());
        self.packet(&packet);
    }

    /// Defaults and interned names of the sequence.
    fn names(&mut self, timeline: &Timeline) {
        let entry = |iid: u64, text: &str| {
            let mut entry = Message::default();
            entry.varint(1, iid).text(2, text);
            entry
        };
        let mut data = Message::default();
        for (name, text) in used(timeline, timeline.tracks.iter().map(|track| track.category)) {
            data.message(1, &entry(name, text));
        }
        for (name, text) in
            used(timeline, timeline.tracks.iter().flat_map(|track| &track.events).map(|event| event.name))
        {
            data.message(2, &entry(name, text));
        }
        data.message(3, &entry(FRAME_IID.into(), "frame"));
        for label in Label::ALL {
            data.message(3, &entry(label_iid(label).into(), label.name()));
        }
        let mut defaults = Message::default();
        defaults.varint(packet::TIMESTAMP_CLOCK_ID, clock::MONOTONIC);
        let mut packet = Message::default();
        packet.varint(packet::SEQUENCE_ID, SEQUENCE.into()).varint(packet::SEQUENCE_FLAGS, CLEARED);
        packet.message(packet::INTERNED_DATA, &data).message(packet::DEFAULTS, &defaults);
        self.packet(&packet);
    }

    fn descriptor(&mut self, descriptor: &Message) {
        let mut packet = Message::default();
        packet.varint(packet::SEQUENCE_ID, SEQUENCE.into()).message(packet::TRACK_DESCRIPTOR, descriptor);
        self.packet(&packet);
    }

    fn group(&mut self, index: usize, group: &Group) {
        let mut descriptor = Message::default();
        descriptor.varint(track::UUID, index as u64 + 1);
        if group.pid > 0 {
            let mut process = Message::default();
            process.varint(track::PROCESS_PID, group.pid.into()).text(track::PROCESS_NAME, &group.name);
            descriptor.message(track::PROCESS, &process);
        } else {
            descriptor.text(track::NAME, &group.name);
        }
        descriptor.varint(track::CHILD_ORDERING, track::EXPLICIT);
        self.descriptor(&descriptor);
    }

    /// What is known of the trace, as the arguments of an instant in front of everything.
    fn about(&mut self, timeline: &Timeline) {
        let Some((first, _)) = timeline.range().filter(|_| !timeline.groups.is_empty()) else { return };
        let mut event = Message::default();
        event.varint(event::TYPE, event::INSTANT.into()).varint(event::TRACK_UUID, 1);
        event.text(event::NAME, "about this trace");
        for (key, text) in &timeline.about {
            let mut annotation = Message::default();
            annotation.text(annotation::NAME, key).text(annotation::STRING, text);
            event.message(event::DEBUG_ANNOTATIONS, &annotation);
        }
        self.track_event(first, &event);
        self.written.instants += 1;
    }

    fn track_event(&mut self, ns: u64, event: &Message) {
        let mut packet = Message::default();
        packet.varint(packet::TIMESTAMP, ns).varint(packet::SEQUENCE_ID, SEQUENCE.into());
        packet.varint(packet::SEQUENCE_FLAGS, NEEDED.into()).message(packet::TRACK_EVENT, event);
        self.packet(&packet);
    }

    fn track(&mut self, rank: usize, track: &Track) {
        let mut rows = Rows { trace: self, rank, track, uuids: Vec::new() };
        match track.shape {
            Shape::Spans => Lanes::default().run(&track.events, &mut rows),
            Shape::Instants => {
                track.events.iter().for_each(|event| rows.instant(event, event.label, event.value))
            }
            Shape::Counter => track.events.iter().for_each(|event| rows.sample(event)),
        }
    }
}

/// Keys and texts of these names, each once, in the order of the keys.
fn used(timeline: &Timeline, names: impl Iterator<Item = Name>) -> Vec<(u64, &str)> {
    let mut seen = vec![false; timeline.names().len()];
    names.for_each(|name| {
        if let Some(place) = seen.get_mut(name.index()) {
            *place = true;
        }
    });
    let texts = timeline.names().iter().enumerate().skip(1);
    texts.filter(|(key, _)| seen[*key]).map(|(key, text)| (key as u64, text.as_str())).collect()
}

const fn label_iid(label: Label) -> u8 {
    FRAME_IID + label as u8
}

/// The lanes of one track.
struct Rows<'t, 'a> {
    trace: &'t mut Trace<'a>,
    rank: usize,
    track: &'t Track,
    /// Track ids by lane.
    uuids: Vec<u64>,
}

impl Rows<'_, '_> {
    /// The id of a lane's track, which is described when it is first needed.
    #[inline]
    fn uuid(&mut self, lane: usize) -> u64 {
        match self.uuids.get(lane) {
            Some(uuid) => *uuid,
            None => self.describe(lane),
        }
    }

    #[cold]
    fn describe(&mut self, lane: usize) -> u64 {
        let uuid = self.trace.next_uuid;
        self.trace.next_uuid += 1;
        self.trace.written.lanes += 1;
        self.uuids.push(uuid);
        let mut descriptor = Message::default();
        descriptor.varint(track::UUID, uuid).varint(track::PARENT, self.track.group as u64 + 1);
        descriptor.text(track::NAME, &lane_name(&self.track.name, lane));
        let rank = self.rank * super::lanes::MAX_LANES + lane;
        descriptor.varint(track::RANK, rank as u64);
        if self.track.shape == Shape::Counter {
            descriptor.octets(track::COUNTER, &[]);
        }
        self.trace.descriptor(&descriptor);
        uuid
    }

    fn instant(&mut self, event: &Event, label: Label, value: u64) {
        self.trace.written.instants += 1;
        self.put(0, event::INSTANT, event, label, value);
    }

    fn sample(&mut self, event: &Event) {
        self.trace.written.samples += 1;
        let mut message = Message::default();
        message.varint(event::TYPE, event::COUNTER.into()).varint(event::TRACK_UUID, self.uuid(0));
        message.varint(event::COUNTER_VALUE, event.value);
        self.trace.track_event(event.start_ns, &message);
    }

    /// A BEGIN or an instant, with name, category, frame and value.
    #[inline]
    fn put(&mut self, lane: usize, kind: u8, event: &Event, label: Label, value: u64) {
        let uuid = self.uuid(lane);
        if event.note != Name::NONE {
            return self.put_noted(uuid, kind, event, label, value);
        }
        let category = self.track.category;
        self.trace.sink.in_place(|room| {
            let mut small = Small::new(room);
            let (packet, inner) = open(&mut small, event.start_ns, kind, uuid);
            small.raw(&[tag(event::NAME_IID, 0)]);
            small.varint(event.name.0.into());
            small.raw(&[tag(event::CATEGORY_IIDS, 0)]);
            small.varint(category.0.into());
            if event.frame != NO_FRAME {
                number(&mut small, FRAME_IID, event.frame.into());
            }
            if label != Label::None {
                number(&mut small, label_iid(label), value);
            }
            close(small, packet, inner)
        });
    }

    /// An event with a remark, of any length.
    fn put_noted(&mut self, uuid: u64, kind: u8, event: &Event, label: Label, value: u64) {
        let mut message = Message::default();
        message.varint(event::TYPE, kind.into()).varint(event::TRACK_UUID, uuid);
        message.varint(event::NAME_IID, event.name.0.into());
        message.varint(event::CATEGORY_IIDS, self.track.category.0.into());
        let mut add = |iid: u8, value: u64| {
            let mut number = Message::default();
            number.varint(annotation::NAME_IID, iid.into()).varint(annotation::UINT, value);
            message.message(event::DEBUG_ANNOTATIONS, &number);
        };
        if event.frame != NO_FRAME {
            add(FRAME_IID, event.frame.into());
        }
        if label != Label::None {
            add(label_iid(label), value);
        }
        let mut note = Message::default();
        note.text(annotation::NAME, "note").text(annotation::STRING, self.trace.timeline.text(event.note));
        message.message(event::DEBUG_ANNOTATIONS, &note);
        self.trace.track_event(event.start_ns, &message);
    }
}

/// An annotation with a number.
#[inline]
fn number(small: &mut Small<'_>, iid: u8, value: u64) {
    small.raw(&[tag(event::DEBUG_ANNOTATIONS, 2)]);
    let opened = small.open();
    small.raw(&[tag(annotation::NAME_IID, 0), iid, tag(annotation::UINT, 0)]);
    small.varint(value);
    small.close(opened);
}

/// Begins a packet with a track event: stamp, sequence, type and track. At most 64 octets with all that may follow.
#[inline]
fn open(small: &mut Small<'_>, ns: u64, kind: u8, uuid: u64) -> (usize, usize) {
    small.raw(&[tag(PACKET, 2)]);
    let packet = small.open();
    small.raw(&[tag(packet::TIMESTAMP, 0)]);
    small.varint(ns);
    small.raw(&[tag(packet::SEQUENCE_ID, 0), SEQUENCE, tag(packet::SEQUENCE_FLAGS, 0), NEEDED]);
    small.raw(&[tag(packet::TRACK_EVENT, 2)]);
    let inner = small.open();
    small.raw(&[tag(event::TYPE, 0), kind, tag(event::TRACK_UUID, 0)]);
    small.varint(uuid);
    (packet, inner)
}

/// Ends the packet and tells its length.
#[inline]
fn close(mut small: Small<'_>, packet: usize, inner: usize) -> usize {
    small.close(inner);
    small.close(packet);
    small.length()
}

impl Visit for Rows<'_, '_> {
    #[inline]
    fn begin(&mut self, lane: usize, event: &Event) {
        self.trace.written.spans += 1;
        self.put(lane, event::BEGIN, event, event.label, event.value);
    }

    #[inline]
    fn end(&mut self, lane: usize, ns: u64) {
        let uuid = self.uuid(lane);
        self.trace.sink.in_place(|room| {
            let mut small = Small::new(room);
            let (packet, inner) = open(&mut small, ns, event::END, uuid);
            close(small, packet, inner)
        });
    }

    fn beyond(&mut self, event: &Event) {
        self.trace.written.beyond_lanes += 1;
        self.instant(event, Label::DurationNs, event.end_ns - event.start_ns);
    }
}

/// What a lane's row is called.
pub(super) fn lane_name(track: &str, lane: usize) -> String {
    if lane == 0 { track.to_owned() } else { format!("{track} (lane {})", lane + 1) }
}
