//! Datagrams to records. Allocates where a stream, a kind or a fault is met for the first time, and nowhere else, so
//! that a receive loop can use it.

use super::slot::{DIGESTS, SLOT, Slot, digests};
use super::slot::{TEXT, TEXT_AT, blind, datagram, drops, fault, faults, flag, kind, others, step, what};
use super::table::{Class, Set, Stream, put_text, tagged, word};
use std::collections::HashMap;
use wireproof_protocols::fault::FAULTS_MAX;
use wireproof_protocols::verify::{HostDrops, Noted};
use wireproof_protocols::{Arrival, Datagram, Fault, Kind, Pdu, Timestamp};

/// Streams, fault classes and sets told at most; when there are more, all are told anew as they come.
const STREAMS_MAX: usize = 65_535;
const CLASSES_MAX: usize = 16_384;
/// Records of a name, of one fault text, and of a discovery's list.
pub(super) const NAME_PARTS: usize = 2;
pub(super) const TEXT_PARTS: usize = 8;
pub(super) const DATA_PARTS: usize = 1_024_usize.div_ceil(TEXT);
/// Most octets that one call appends.
pub const ROOM: usize = SLOT * (FAULTS_MAX * (1 + 3 * TEXT_PARTS) + NAME_PARTS + DATA_PARTS + 9);
/// Other traffic is told this often, ns: it keeps the clock of the tape going.
const OTHERS_EVERY: i64 = 500_000_000;
/// Writes records. Definitions stand before the first record that needs them.
#[derive(Debug, Default)]
pub struct Encoder {
    kinds: Vec<Kind>,
    streams: Vec<Stream>,
    by_stream: HashMap<Stream, u16>,
    /// Which stream follows which: lighting traffic is cyclic.
    successor: Vec<u16>,
    last: u16,
    classes: HashMap<Class, u16>,
    sets: HashMap<Set, u16>,
    /// Newest stamp on the tape.
    newest: Option<i64>,
    /// Other traffic not told yet.
    waiting: Option<(Arrival, u64)>,
    /// Records left out and not told yet.
    missing: Option<(i64, i64, u64)>,
    /// Datagrams written.
    pub datagrams: u64,
    digests: Option<Digests>,
}

/// Digests that are not told yet.
#[derive(Clone, Copy, Debug, Default)]
struct Digests {
    values: [u64; DIGESTS],
    count: usize,
}

impl Encoder {
    /// One that keeps a digest of each datagram's data, too: eight octets a datagram.
    pub fn with_digests() -> Encoder {
        Encoder { digests: Some(Digests::default()), ..Encoder::default() }
    }

    /// Appends a lighting datagram: at most [`ROOM`] octets.
    pub fn datagram(
        &mut self,
        arrival: Arrival,
        d: &Datagram<'_>,
        noted: &Noted<'_>,
        found: &[Fault],
        out: &mut Vec<u8>,
    ) {
        self.tell_missing(arrival.at.0, out);
        self.keep_time(arrival.at.0, out);
        let number = self.stream(&Stream::of(d, noted.pdu.as_ref()), noted.pdu.as_ref(), out);
        let set = if found.is_empty() { 0 } else { self.set(number, found, out) };
        if let Some(pdu) = noted.pdu.filter(|p| p.kind.name == "sacn/discovery") {
            put_text(what::DATA, 0, pdu.data, DATA_PARTS, out);
        }
        let mut slot = of_datagram(arrival, d, noted);
        datagram::stream.put(&mut slot, number);
        datagram::faults.put(&mut slot, set);
        out.extend_from_slice(&tagged(slot, datagram::TAG));
        self.newest = Some(arrival.at.0);
        // What other traffic waits to be told came before this; only its number is left to tell.
        if let Some((last, _)) = &mut self.waiting {
            *last = arrival;
        }
        self.datagrams += 1;
        if let Some(digests) = &mut self.digests {
            digests.add(noted.digest(), out);
        }
    }

    /// Takes note of a datagram of nobody here, or of a packet without one.
    pub fn other(&mut self, arrival: Arrival, is_datagram: bool, out: &mut Vec<u8>) {
        self.keep_time(arrival.at.0, out);
        let before = self.waiting.map_or(0, |(_, n)| n);
        self.waiting = Some((arrival, before + u64::from(is_datagram)));
        if self.newest.is_none_or(|newest| is_step(newest, arrival.at.0)) {
            self.tell_others(out);
        }
    }

    /// Tells other traffic by which the clock of the run reads otherwise, before a packet stamped `at`.
    fn keep_time(&mut self, at: i64, out: &mut Vec<u8>) {
        if self.waiting.is_some_and(|(last, _)| is_step(last.at.0, at)) {
            self.tell_others(out);
        }
    }

    /// Appends drop evidence.
    pub fn drops(&mut self, d: &HostDrops, out: &mut Vec<u8>) {
        let mut slot = [0; _];
        drops::has_port.put(&mut slot, u8::from(d.port.is_some()));
        drops::port.put(&mut slot, d.port.unwrap_or(0));
        drops::from_ns.put(&mut slot, d.from.0);
        drops::to_ns.put(&mut slot, d.to.0);
        drops::count.put(&mut slot, d.count);
        drops::layer.put(&mut slot, word(d.layer.name()));
        out.extend_from_slice(&tagged(slot, drops::TAG));
    }

    /// Appends that the clock of the stamps was set by so many nanoseconds.
    pub fn clock_step(&mut self, by: i64, out: &mut Vec<u8>) {
        self.tell_others(out);
        let mut slot = [0; _];
        step::by_ns.put(&mut slot, by);
        out.extend_from_slice(&tagged(slot, step::TAG));
    }

    /// Appends what the capture says it lost.
    pub fn blind(&mut self, from: Timestamp, to: Timestamp, dropped: u64, out: &mut Vec<u8>) {
        put_blind(false, (from.0, to.0, dropped), out);
    }

    /// Counts a datagram that is not written; the tape says so before its next record.
    pub fn leave_out(&mut self, at: Timestamp) {
        let (from, _, n) = self.missing.unwrap_or((self.newest.unwrap_or(at.0), at.0, 0));
        self.missing = Some((from, at.0, n + 1));
    }

    /// Appends what was left to tell.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        if let Some((_, to, _)) = self.missing {
            self.tell_missing(to, out);
        }
        self.tell_others(out);
        self.digests.iter_mut().for_each(|digests| digests.tell(out));
    }

    fn tell_missing(&mut self, to: i64, out: &mut Vec<u8>) {
        if let Some((from, _, n)) = self.missing.take() {
            put_blind(true, (from, to, n), out);
        }
    }

    fn tell_others(&mut self, out: &mut Vec<u8>) {
        let Some((arrival, n)) = self.waiting.take() else { return };
        let mut slot = [0; _];
        others::at_ns.put(&mut slot, arrival.at.0);
        others::packet.put(&mut slot, arrival.packet);
        others::datagrams.put(&mut slot, n);
        out.extend_from_slice(&tagged(slot, others::TAG));
        self.newest = Some(arrival.at.0);
    }

    /// The number of a stream, told before when it has none.
    fn stream(&mut self, stream: &Stream, pdu: Option<&Pdu<'_>>, out: &mut Vec<u8>) -> u16 {
        let next = self.successor.get(usize::from(self.last)).copied().unwrap_or(0);
        let near = [next, self.last].into_iter().find(|n| self.streams.get(usize::from(*n)) == Some(stream));
        let number = match near.or_else(|| self.by_stream.get(stream).copied()) {
            Some(number) => number,
            None => self.new_stream(stream, pdu, out),
        };
        if let Some(successor) =
            self.successor.get_mut(usize::from(self.last)).filter(|_| number != self.last)
        {
            *successor = number;
        }
        self.last = number;
        number
    }

    #[cold]
    fn new_stream(&mut self, stream: &Stream, pdu: Option<&Pdu<'_>>, out: &mut Vec<u8>) -> u16 {
        if self.streams.len() >= STREAMS_MAX {
            self.streams.clear();
            self.by_stream.clear();
            self.successor.clear();
            self.forget_faults();
        }
        let kind = stream.kind.map_or(0, |kind| self.kind(kind, out));
        let number = u16::try_from(self.streams.len()).unwrap_or(0);
        self.streams.push(*stream);
        self.by_stream.insert(*stream, number);
        self.successor.push(number);
        out.extend_from_slice(&stream.slot(kind, number));
        put_text(what::NAME, number, pdu.map_or(&[], |p| p.name), NAME_PARTS, out);
        number
    }

    /// The number of a kind, from 1.
    fn kind(&mut self, of: Kind, out: &mut Vec<u8>) -> u8 {
        let place = self.kinds.iter().position(|k| *k == of);
        let place = place.unwrap_or_else(|| {
            self.kinds.push(of);
            self.kinds.len() - 1
        });
        let number = u8::try_from(place + 1).unwrap_or(u8::MAX);
        if place + 1 == self.kinds.len() {
            let mut slot = [0; _];
            let octets = of.name.as_bytes().get(..TEXT).unwrap_or(of.name.as_bytes());
            kind::kind.put(&mut slot, number);
            kind::length.put(&mut slot, u8::try_from(octets.len()).unwrap_or(0));
            slot[TEXT_AT..TEXT_AT + octets.len()].copy_from_slice(octets);
            out.extend_from_slice(&tagged(slot, kind::TAG));
        }
        number
    }

    /// The number of a set of faults, from 1.
    fn set(&mut self, stream: u16, found: &[Fault], out: &mut Vec<u8>) -> u16 {
        if self.classes.len() + FAULTS_MAX > CLASSES_MAX || self.sets.len() >= CLASSES_MAX {
            self.forget_faults();
        }
        let mut set = Set::default();
        for f in found {
            set.push(self.class(stream, f, out));
        }
        if let Some(number) = self.sets.get(&set) {
            return *number;
        }
        let number = u16::try_from(self.sets.len() + 1).unwrap_or(u16::MAX);
        self.sets.insert(set, number);
        let mut slot = [0; _];
        faults::count.put(&mut slot, u8::try_from(set.as_slice().len()).unwrap_or(0));
        faults::faults.put(&mut slot, number);
        for (place, class) in slot[TEXT_AT..].as_chunks_mut::<2>().0.iter_mut().zip(set.as_slice()) {
            *place = class.to_le_bytes();
        }
        out.extend_from_slice(&tagged(slot, faults::TAG));
        number
    }

    fn class(&mut self, stream: u16, f: &Fault, out: &mut Vec<u8>) -> u16 {
        let class = Class { stream, code: f.rule.code, severity: f.severity };
        if let Some(number) = self.classes.get(&class) {
            return *number;
        }
        let number = u16::try_from(self.classes.len()).unwrap_or(u16::MAX);
        self.classes.insert(class, number);
        let mut slot = [0; _];
        fault::severity.put(&mut slot, f.severity as u8);
        fault::fault.put(&mut slot, number);
        fault::stream.put(&mut slot, stream);
        fault::offset.put(&mut slot, f.offset);
        fault::code.put(&mut slot, word(f.rule.code));
        out.extend_from_slice(&tagged(slot, fault::TAG));
        let (expected, got) = (f.expected.to_string(), f.got.to_string());
        let texts = [(what::HINT, f.hint), (what::EXPECTED, &*expected), (what::GOT, &*got)];
        texts.iter().for_each(|(what, text)| put_text(*what, number, text.as_bytes(), TEXT_PARTS, out));
        number
    }

    fn forget_faults(&mut self) {
        self.classes.clear();
        self.sets.clear();
    }
}

impl Digests {
    fn add(&mut self, digest: u64, out: &mut Vec<u8>) {
        if let Some(place) = self.values.get_mut(self.count) {
            *place = digest;
            self.count += 1;
        }
        if self.count == DIGESTS {
            self.tell(out);
        }
    }

    fn tell(&mut self, out: &mut Vec<u8>) {
        let count = std::mem::take(&mut self.count);
        if count == 0 {
            return;
        }
        let mut slot = [0; _];
        digests::count.put(&mut slot, u8::try_from(count).unwrap_or(0));
        for (place, digest) in slot[TEXT_AT..].as_chunks_mut::<8>().0.iter_mut().zip(&self.values[..count]) {
            *place = digest.to_le_bytes();
        }
        out.extend_from_slice(&tagged(slot, digests::TAG));
    }
}

/// Stamps from which the verifier reads more than that time went on.
fn is_step(before: i64, at: i64) -> bool {
    let step = at.saturating_sub(before);
    !(0..OTHERS_EVERY).contains(&step)
}

fn put_blind(own: bool, (from, to, n): (i64, i64, u64), out: &mut Vec<u8>) {
    let mut slot = [0; _];
    blind::own.put(&mut slot, u8::from(own));
    blind::from_ns.put(&mut slot, from);
    blind::to_ns.put(&mut slot, to);
    blind::count.put(&mut slot, n);
    out.extend_from_slice(&tagged(slot, blind::TAG));
}

/// The record of a datagram, without the numbers that refer to others.
fn of_datagram(arrival: Arrival, d: &Datagram<'_>, noted: &Noted<'_>) -> Slot {
    let mut slot = [0; _];
    let s = &mut slot;
    let pdu = noted.pdu.unwrap_or(Pdu::empty(Kind::new(wireproof_protocols::Protocol::Sacn, "")));
    let flags = [
        (noted.copy, flag::COPY),
        (pdu.sequence.is_some(), flag::NUMBERED),
        (noted.cut, flag::CUT),
        (d.link.ip_id.is_some(), flag::IP_ID),
        (noted.well_formed, flag::WELL_FORMED),
    ];
    let flags: u8 = flags.iter().filter(|(is, _)| *is).map(|(_, bit)| bit).sum();
    datagram::flags.put(s, flags | (d.link.checksum as u8) << flag::CHECKSUM);
    datagram::marks.put(s, pdu.marks.0);
    datagram::at_ns.put(s, arrival.at.0);
    datagram::content.put(s, noted.content);
    // The reader counts on: the upper half is not needed.
    datagram::packet.put(s, arrival.packet as u32);
    datagram::sampled.put(s, (noted.sampled >> 32) as u32);
    datagram::sequence.put(s, pdu.sequence.unwrap_or(0));
    datagram::offset.put(s, pdu.offset);
    datagram::data_length.put(s, pdu.data_length);
    datagram::length.put(s, d.length);
    // DDP's timecode has 32 bits; BigPacket's own clock is judged by nobody.
    datagram::sender_time.put(s, pdu.sender_time as u32);
    datagram::index.put(s, pdu.index);
    datagram::count.put(s, pdu.count);
    datagram::sync.put(s, pdu.sync);
    datagram::ip_id.put(s, d.link.ip_id.unwrap_or(0));
    datagram::start_code.put(s, pdu.start_code);
    datagram::priority.put(s, pdu.priority);
    datagram::fragments.put(s, u8::try_from(d.link.fragments).unwrap_or(u8::MAX));
    slot
}
