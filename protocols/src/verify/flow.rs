//! One stream: who sends what where, its counters, and the datagrams waiting until its numbering is known.

use super::account::{Ended, Owners, SequenceAccount};
use super::aside::{Aside, Home};
use super::cadence::Cadence;
use super::chunks::Chunks;
use super::conflict::Kin;
use super::content::{content, same};
use super::herald::Wait;
use super::model::Model;
use super::observation::Observation;
use super::ports::Ports;
use super::row::Row;
use super::sequence::{Gap, Lane};
use super::soon;
use super::spread::Gauge;
use super::stride::Stride;
use super::timeline::LossLine;
use crate::{Cid, Datagram, Kind, Marks, Pdu, Protocol};
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

/// Destinations kept of one stream.
pub(crate) const DESTINATIONS_MAX: usize = 16;
/// Chunks whose content is remembered of one stream.
const CONTENTS: usize = 64;

/// Flow key of the contract: sACN (source IP, CID, universe, kind); DDP (source IP, source port, ID);
/// Art-Net (source IP, port-address, physical); BigPacket and others (source IP, stream id). Where two source ports
/// of one host send the same stream at the same time, the later one has a key with its port (see [`Flow::clash`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowKey {
    pub kind: Kind,
    pub source: IpAddr,
    pub port: u16,
    pub sender: Cid,
    pub stream: u32,
    pub part: u8,
}

impl Hash for FlowKey {
    // The kind's name is left out: its protocol and length tell kinds apart well enough for a table.
    fn hash<H: Hasher>(&self, state: &mut H) {
        state
            .write_u64(u64::from(self.stream) << 32 | u64::from(self.port) << 16 | u64::from(self.part) << 8);
        state.write_u8(self.kind.protocol.tag() ^ (self.kind.name.len() as u8) << 3);
        state.write(&self.sender);
        self.source.hash(state);
    }
}

impl FlowKey {
    /// The key of a datagram; `None` when it belongs to no stream.
    pub(crate) fn of(d: &Datagram<'_>, pdu: &Pdu<'_>) -> Option<FlowKey> {
        let port = if pdu.kind.protocol == Protocol::Ddp { d.source.port() } else { 0 };
        Some(FlowKey {
            kind: pdu.kind,
            source: d.source.ip(),
            port,
            sender: pdu.sender.unwrap_or([0; 16]),
            stream: pdu.stream?,
            part: pdu.part,
        })
    }
}

impl FlowKey {
    /// The datagram belongs to this stream; what differs most often is compared first.
    #[inline]
    pub(crate) fn is_of(&self, d: &Datagram<'_>, pdu: &Pdu<'_>) -> bool {
        Some(self.stream) == pdu.stream
            && self.kind == pdu.kind
            && (self.kind.protocol != Protocol::Ddp && self.port == 0 || self.port == d.source.port())
            && self.part == pdu.part
            && self.source == d.source.ip()
            && self.sender == pdu.sender.unwrap_or([0; 16])
    }
}

/// A destination of a stream.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Destination {
    pub breaks: u64,
    pub source_breaks: u64,
    pub path: Option<usize>,
    pub seen: bool,
    pub stride: Stride,
    pub address: SocketAddr,
}

impl Destination {
    /// No IP id is missing since the datagram before: on the path that broke so many times, or at the source.
    #[inline(always)]
    pub(crate) fn runs_on(&mut self, breaks: u64, source: Option<u64>) -> bool {
        let all = source.unwrap_or(0);
        let runs_on = breaks == self.breaks || (source.is_some() && all == self.source_breaks);
        let seen = std::mem::replace(&mut self.seen, true);
        (self.breaks, self.source_breaks) = (breaks, all);
        seen && runs_on
    }
}

/// Losses that no finding lists, because there were too many of them: together, with the time they lie in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unlisted {
    /// Stamp of the last datagram before the first of them, and of the first one after the last.
    pub window: (i64, i64),
    /// Datagrams whose owner is not known yet.
    pub unknown: u64,
}

/// A loss that may still be mended by a late datagram.
#[derive(Clone, Debug)]
pub(crate) struct Episode {
    pub lane: usize,
    pub from: i64,
    pub to: i64,
    pub lost: u64,
    pub lost_min: u64,
    pub ambiguous: bool,
    pub wire: u64,
    pub place: (u64, i64),
    /// See [`Gap::residue`]; of several gaps the sum.
    pub residue: i64,
    /// Silence after which the standard lets a sender begin anew, ns; 0 where there was none.
    pub silence: i64,
    /// Stamp of the last datagram before it.
    pub since: i64,
    pub last_stamp: i64,
    pub last_at: i64,
    /// Number, frame and whether the frame's end is missing.
    pub tears: Vec<(i64, i64, bool)>,
    /// Its numbers were heard in datagrams of another kind.
    pub heard: bool,
    /// Since when it can be told.
    pub wait: Wait,
}

/// A silence that time calls a loss and the numbers do not: a burst that catches up takes it back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stall {
    pub lane: usize,
    /// First number of the gap.
    pub from: i64,
    /// Datagrams that were due and are not missing by number.
    pub due: i64,
    /// Datagrams that came early since.
    pub early: i64,
    /// Whole cycles called lost, in datagrams, and how many of them were taken back.
    pub excess: (i64, i64),
    pub cycle: i64,
}

/// One stream: what every datagram touches lies together in front, in as few lines of the cache as it fits; what only
/// some touch follows, and the rest is behind a box.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Flow {
    /// Engine time of the newest datagram.
    pub arrived_at: i64,
    /// Engine time of the newest datagram that was judged.
    pub last_at: i64,
    pub last_stamp: i64,
    pub last_packet: u64,
    pub datagrams: u64,
    pub bytes: u64,
    /// Datagrams with start code 0 and more than a start code, for the DMX rate.
    pub levels: u64,
    /// Datagrams before which no IP id was missing.
    pub ip_runs: u64,
    // The second line.
    pub active_ns: u64,
    pub active_steps: u64,
    pub longest_ns: i64,
    /// Content number of the newest datagram.
    content: u64,
    pub octets: (u32, u32),
    pub(super) port: Option<u16>,
    /// Two source ports send this stream at the same time: the one that is left in it.
    pub clash: Option<u16>,
    pub goodbyes: u32,
    pub group_still: u32,
    pub group_raw: Option<u32>,
    // The third line.
    /// Group assembly: frame last seen in, last raw number, numbers in a row that did not move.
    pub group_frame: Option<i64>,
    pub group_first: Option<i64>,
    /// Frame and raw number of the newest datagram judged.
    pub settled: Option<(i64, u32)>,
    last_facts: (u8, u8, u16),
    /// A wrap or a stall may be undecided, see [`Cold`].
    pub undecided: bool,
    /// The newest datagram judged repeated the one before.
    pub still: bool,
    pub last_preview: bool,
    pub ended: Ended,
    // The fourth line, and parts of the next seven.
    pub cadence: Cadence,
    pub lanes: Row<Lane>,
    pub intervals: Gauge,
    pub episodes: Vec<Episode>,
    pub destinations: Row<Destination>,
    // What only some datagrams touch.
    pub index: usize,
    pub key: FlowKey,
    frames: bool,
    pub source_index: Option<usize>,
    pub model: Option<Model>,
    pub chunks: Vec<Chunks>,
    pub output: Option<usize>,
    /// Content numbers of the newest datagrams by chunk.
    contents: Vec<u64>,
    pub last_priority: u8,
    pub sync_missing: bool,
    pub universe: Option<usize>,
    pub cold: Box<Cold>,
}

/// Where a line of the cache begins, what lies in it begins as well; asked of the processors whose lines are known.
#[cfg(target_pointer_width = "64")]
const _: () = {
    use std::mem::offset_of;
    assert!(offset_of!(Flow, active_ns) == 64 && offset_of!(Flow, group_frame) == 128);
    assert!(offset_of!(Flow, cadence) == 192 && offset_of!(Flow, lanes) == 384);
    assert!(offset_of!(Flow, intervals) == 768 && offset_of!(Flow, episodes) == 832);
};

/// What only the first, the last and the odd datagrams of a stream touch.
#[derive(Debug)]
pub(crate) struct Cold {
    pub source: SocketAddr,
    pub sender: Option<Cid>,
    pub name: Option<String>,
    /// Source ports and what was seen from them.
    pub ports: Ports,
    pub sessions: u64,
    pub first_stamp: i64,
    pub waiting: Vec<Observation>,
    pub sequence: SequenceAccount,
    pub owners: Owners,
    pub torn: BTreeSet<i64>,
    pub torn_more: u64,
    pub priorities: BTreeSet<u8>,
    pub syncs: BTreeSet<u16>,
    pub start_codes: BTreeSet<u8>,
    /// DDP timecode of the newest datagram that had one.
    pub timecode: Option<u32>,
    pub edge: u64,
    /// Engine time of the end of the newest pause in which nothing was lost.
    pub paused_at: i64,
    /// Content came again after such a pause: the sender leaves out what does not change.
    pub keeps_alive: bool,
    /// A wrap from 255 to 1 that is a loss of one or a habit, with the frame and the time before it.
    pub zero_wrap: Option<(Observation, Gap, Option<i64>, i64)>,
    /// The newest gap that only time calls a loss, until a datagram comes in time.
    pub stall: Option<Stall>,
    pub unnumbered: u64,
    /// Datagrams that came with a wrong checksum and were thrown away.
    pub damaged: u64,
    pub unlisted: Option<Unlisted>,
    /// The same source at other addresses.
    pub kin: Vec<Kin>,
    /// Losses over time.
    pub losses: LossLine,
    pub shared_told: bool,
    /// Numbers that other datagrams of the sender carried.
    pub aside: Aside,
    /// Makes no frames and shares the counter of a stream that does: numbers are judged there.
    pub carried: bool,
    /// Where that stream is found.
    pub home: Option<Home>,
}

/// Carries data that makes frames (not a sync stream, not KiNET).
pub(crate) fn makes_frames(kind: Kind) -> bool {
    let named = matches!(kind.name, "sacn/data" | "artnet/ArtDmx" | "ddp/display" | "bigpacket/chunk");
    named || kind.protocol.layout().is_some()
}

/// Frames are made of chunks that say where they belong, not of universes.
pub(crate) fn chunked(protocol: Protocol) -> bool {
    match protocol {
        Protocol::Ddp | Protocol::BigPacket => true,
        other => other.layout().is_some_and(|table| table.has_chunks()),
    }
}

impl Flow {
    /// A stream seen for the first time.
    pub(crate) fn new(
        index: usize,
        key: FlowKey,
        d: &Datagram<'_>,
        pdu: &Pdu<'_>,
        at: i64,
        stamp: i64,
    ) -> Flow {
        let name = String::from_utf8_lossy(pdu.name).into_owned();
        Flow {
            index,
            key,
            frames: makes_frames(key.kind),
            source_index: None,
            destinations: Row::default(),
            port: None,
            clash: None,
            datagrams: 0,
            bytes: 0,
            octets: (u32::MAX, 0),
            levels: 0,
            last_stamp: stamp,
            last_packet: 0,
            arrived_at: at,
            last_at: at,
            active_ns: 0,
            active_steps: 0,
            intervals: Gauge::default(),
            cadence: Cadence::default(),
            longest_ns: 0,
            model: None,
            lanes: Row::default(),
            chunks: Vec::new(),
            output: None,
            episodes: Vec::new(),
            undecided: false,
            goodbyes: 0,
            ended: Ended::Running,
            content: 0,
            contents: Vec::new(),
            still: false,
            group_frame: None,
            group_first: None,
            group_raw: None,
            group_still: 0,
            settled: None,
            last_priority: pdu.priority,
            last_facts: (0, 0, 0),
            last_preview: false,
            sync_missing: false,
            universe: None,
            ip_runs: 0,
            cold: Box::new(Cold {
                source: d.source,
                sender: pdu.sender,
                name: (!name.is_empty()).then_some(name),
                ports: Ports::default(),
                sessions: 0,
                first_stamp: stamp,
                waiting: Vec::new(),
                sequence: SequenceAccount::default(),
                owners: Owners::default(),
                torn: BTreeSet::new(),
                torn_more: 0,
                priorities: BTreeSet::new(),
                syncs: BTreeSet::new(),
                start_codes: BTreeSet::new(),
                timecode: None,
                edge: 0,
                zero_wrap: None,
                paused_at: i64::MIN,
                keeps_alive: false,
                stall: None,
                unnumbered: 0,
                damaged: 0,
                unlisted: None,
                kin: Vec::new(),
                losses: LossLine::empty(),
                shared_told: false,
                aside: Aside::default(),
                carried: false,
                home: None,
            }),
        }
    }

    /// Has the memory fetched that the next datagram of a universe touches, but for what only that memory names.
    #[inline(always)]
    pub(crate) fn fetch(&self) {
        soon::fetch(&self.arrived_at);
        soon::fetch(&self.active_ns);
        soon::fetch(&self.group_frame);
        self.cadence.fetch();
        soon::fetch_head::<{ Lane::USUAL }, _>(&self.lanes);
        soon::fetch(&self.intervals);
        soon::fetch(&self.episodes);
    }

    /// The rest, once that memory is there.
    #[inline(always)]
    pub(crate) fn fetch_far(&self) {
        self.cadence.fetch_far();
        if let Some(lane) = self.lanes.first() {
            lane.fetch_far();
        }
        self.intervals.fetch();
    }

    /// Protocol of the stream.
    pub(crate) fn protocol(&self) -> Protocol {
        self.key.kind.protocol
    }

    /// Frames are made of chunks at offsets, not of universes.
    pub(crate) fn chunked(&self) -> bool {
        chunked(self.protocol())
    }

    /// Carries data that makes frames (not a sync stream, not KiNET).
    pub(crate) fn has_frames(&self) -> bool {
        self.frames
    }

    /// The stream's eight-bit numbers go through zero.
    #[inline]
    pub(crate) fn counts_zero(&self) -> bool {
        self.model.is_some_and(|m| m.first == 0 && m.cycle == 256)
    }

    /// The datagram's number, where it has one that counts.
    #[inline]
    pub(crate) fn number(&self, pdu: &Pdu<'_>) -> Option<u32> {
        pdu.sequence.filter(|_| !pdu.marks.has(Marks::SEQUENCE_OFF) || self.counts_zero())
    }

    /// Numbers from one forward to another by the layout that declares the protocol, see [`Model::apart`]; `None` for
    /// protocols of the registry.
    pub(crate) fn declared_step(&self, from: u32, to: u32) -> Option<Option<i64>> {
        self.protocol().layout()?;
        let model = self.model.unwrap_or_else(|| Model::prescribed(self.protocol()));
        Some(model.apart(from, to))
    }

    /// The port of the newest datagram.
    #[inline]
    pub(crate) fn is_from(&self, port: u16) -> bool {
        self.port == Some(port)
    }

    /// The newest datagrams carried this priority, start code and synchronization address.
    #[inline]
    pub(crate) fn has_facts(&self, facts: (u8, u8, u16)) -> bool {
        self.last_facts == facts
    }

    /// Counts the time since the datagram before, of the same session.
    #[inline(always)]
    pub(crate) fn pace(&mut self, interval: i64) {
        self.intervals.add(interval);
        self.longest_ns = self.longest_ns.max(interval);
        self.active_ns = self.active_ns.saturating_add(u64::try_from(interval).unwrap_or(0));
        self.active_steps += 1;
    }

    /// Counts a datagram of so many octets.
    #[inline(always)]
    pub(crate) fn tally(&mut self, o: &Observation, octets: u32) {
        self.datagrams += 1;
        self.ip_runs += u64::from(o.ip_runs_on);
        self.bytes += u64::from(octets);
        self.last_stamp = o.stamp;
        self.last_packet = o.packet;
    }

    /// Remembers what the contract lists per stream, bounded; `length` octets of data came.
    pub(crate) fn note(&mut self, pdu: &Pdu<'_>, length: u32) {
        let facts = (pdu.priority, pdu.start_code, pdu.sync);
        if self.datagrams == 1 || self.last_facts != facts {
            self.last_facts = facts;
            keep(&mut self.cold.priorities, pdu.priority);
            keep(&mut self.cold.start_codes, pdu.start_code);
            if pdu.sync != 0 {
                keep(&mut self.cold.syncs, pdu.sync);
            }
        }
        self.octets = (self.octets.0.min(length), self.octets.1.max(length));
        self.levels += u64::from(pdu.start_code == 0 && pdu.marks.has(Marks::DATA));
        self.last_priority = pdu.priority;
        self.last_preview = pdu.marks.has(Marks::PREVIEW);
    }

    /// Number of the newest content of a universe; 0 before the first.
    pub(crate) fn shows(&self) -> u64 {
        self.content
    }

    /// Remembers the content, whose sample is `sampled`, or whose number stands on a tape; says whether it repeats
    /// the content before, in the same place of the frame, and its number.
    pub(crate) fn remember(&mut self, pdu: &Pdu<'_>, sampled: u64, taped: Option<u64>) -> (bool, u64) {
        if pdu.start_code != 0 || !pdu.marks.has(Marks::DATA) {
            return (false, 0);
        }
        if !self.chunked() {
            return renewed(&mut self.content, taped, pdu.data, sampled);
        }
        let chunk = if pdu.count > 0 { u32::from(pdu.index) } else { pdu.offset / self.octets.1.max(1) };
        self.remember_chunk(chunk, taped, pdu.data, sampled)
    }

    #[inline]
    fn remember_chunk(&mut self, chunk: u32, taped: Option<u64>, data: &[u8], sampled: u64) -> (bool, u64) {
        let chunk = chunk as usize % CONTENTS;
        if self.contents.len() <= chunk {
            self.contents.resize(chunk + 1, 0);
        }
        renewed(&mut self.contents[chunk], taped, data, sampled)
    }

    /// As [`Flow::remember`], for the levels of a universe.
    #[inline(always)]
    pub(crate) fn remember_levels(&mut self, data: &[u8], sampled: u64) -> (bool, u64) {
        renewed(&mut self.content, None, data, sampled)
    }

    /// As [`Flow::remember`], for pixels at an offset of their frame.
    #[inline(always)]
    pub(crate) fn remember_pixels(&mut self, offset: u32, data: &[u8], sampled: u64) -> (bool, u64) {
        self.remember_chunk(offset / self.octets.1.max(1), None, data, sampled)
    }

    /// A datagram was judged: something may be undecided, or is no longer.
    pub(crate) fn decided(&mut self) {
        self.undecided =
            self.cold.zero_wrap.is_some() || self.cold.stall.is_some() || !self.cold.aside.is_quiet();
    }

    /// Notes a torn frame of the stream.
    pub(crate) fn tear(&mut self, frame: i64) {
        if self.cold.torn.len() < 4096 {
            self.cold.torn.insert(frame);
        } else {
            self.cold.torn_more += 1;
            self.cold.losses.at(self.last_at).torn += 1;
        }
    }
}

/// Puts the number of the content in its place; says whether it repeats the one before, and the number.
#[inline(always)]
fn renewed(place: &mut u64, taped: Option<u64>, data: &[u8], sampled: u64) -> (bool, u64) {
    let before = *place;
    let number = taped.unwrap_or_else(|| content(data, sampled, before));
    *place = number;
    (before != 0 && same(before, number), number)
}

fn keep<T: Ord>(set: &mut BTreeSet<T>, value: T) {
    if set.len() < 8 {
        set.insert(value);
    }
}
