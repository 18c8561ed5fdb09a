//! The datagram that was to come: of a stream that is known, with the header that was expected, the next number, in time.
//!
//! Owns the question whether there is nothing to weigh, and then does with the datagram what the general way
//! (`Verifier::judge`) does with it, by the same functions; whatever differs in anything is left to that way, untouched. It
//! never finds anything. Tests hold both ways against each other.

use super::Verifier;
use super::account::Ended;
use super::arrive::{SACN_TIMEOUT, fingerprint};
use super::chunks::Seat;
use super::content::sample;
use super::episodes::{flush, never_came};
use super::flow::Flow;
use super::frames::{eight_bit_step, into_frame};
use super::model::Unit;
use super::observation::Observation;
use super::sequence::Step;
use super::settle::{Shared, frame_of, moved};
use super::sources::Source;
use crate::{Arrival, Checksum, Datagram, Marks, Pdu, Protocol};

/// What a header says, and where its datagrams belong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    flow: u32,
    source: u32,
    path: u32,
    output: u32,
    stream: u32,
    offset: u32,
    length: u32,
    /// Place in the counts by kind.
    kind: u16,
    marks: Marks,
    priority: u8,
    /// Frames are made of chunks.
    chunked: bool,
    art_net: bool,
}

impl Expected {
    /// Priority, start code and synchronization address.
    fn facts(&self) -> (u8, u8, u16) {
        (self.priority, 0, 0)
    }
}

/// What the number and the time of the datagram mean for its stream.
#[derive(Clone, Copy)]
struct Next {
    /// Place of the number in its cycle.
    place: u64,
    /// Where the datagram stands in its frame, for streams of chunks.
    seat: Seat,
    /// Number of that frame.
    frame: i64,
}

impl Verifier {
    /// Has the memory fetched that the datagrams after the one at hand will most likely touch.
    #[inline(always)]
    fn fetch_ahead(&self) {
        if let Some(soon) = self.heads.soon(1) {
            if let Some(flow) = self.flows.get(soon.flow as usize) {
                flow.fetch();
            }
            if let Some(path) = self.shared.sources.paths.get(soon.path as usize) {
                path.fetch();
            }
        }
        if let Some(soon) = self.heads.soon(2) {
            if let Some(flow) = self.flows.get(soon.flow as usize) {
                flow.fetch_far();
            }
            if let Some(path) = self.shared.sources.paths.get(soon.path as usize) {
                path.fetch_far();
            }
        }
    }

    /// Takes the datagram if it is the one that was to come, and tells the sample and the number of its content; `None`, and
    /// nothing done, when there is more to judge.
    #[inline(always)]
    pub(super) fn goes_on(&mut self, now: i64, arrival: Arrival, d: &Datagram<'_>) -> Option<(u64, u64)> {
        self.fetch_ahead();
        let (expected, raw, data) = self.heads.expected(d)?;
        let flow = self.flows.get_mut(expected.flow as usize)?;
        let right = d.link.checksum == Checksum::Good;
        let calm =
            !right || self.shared.sources.list.get(expected.source as usize).is_some_and(Source::is_calm);
        let intact = calm && d.link.checksum != Checksum::Bad && d.link.fragments <= 1;
        if !intact || self.leap.is_some() || !is_settled(flow, d, now, expected.facts()) {
            return None;
        }
        let mut o = Observation {
            at: now,
            stamp: arrival.at.0,
            packet: arrival.packet,
            raw,
            numbered: true,
            offset: expected.offset,
            length: expected.length,
            sound: true,
            frame: -1,
            marks: expected.marks,
            ..Observation::default()
        };
        let next = next(flow, &o, expected)?;
        o.hash = sample(data);
        let path = &mut self.shared.sources.paths[expected.path as usize];
        let print = || fingerprint(d, Some((raw, expected.stream, expected.offset)), o.hash);
        if path.is_copy(d, now, print) {
            return None;
        }
        path.follow(d.link.ip_id);
        o.ip_went_back = path.went_back;
        let breaks = path.breaks;
        self.faults.clear();
        self.counts.lighting += 1;
        self.counts.well_formed += 1;
        self.kinds[usize::from(expected.kind)].1 += 1;
        let source = &mut self.shared.sources.list[expected.source as usize];
        source.follow(d.link.ip_id);
        source.checks[0].good += u64::from(right);
        o.ip_runs_on = flow.destinations[0].runs_on(breaks, Some(source.breaks)) && d.link.ip_id.is_some();
        flow.destinations[0].stride.follow(d.link.ip_id.unwrap_or(0));
        let (index, output, chunked) = (expected.flow as usize, expected.output as usize, expected.chunked);
        if index != self.last_flow {
            self.successor[self.last_flow] = index;
            self.last_flow = index;
        }
        count(flow, &o, d.length);
        let content;
        if chunked {
            (o.same, content) = flow.remember_pixels(o.offset, data, o.hash);
            settle_chunk(flow, &o, next, &mut self.shared);
        } else {
            (o.same, content) = flow.remember_levels(data, o.hash);
            settle_universe(flow, &mut o, next, output, &mut self.shared);
        }
        if !flow.episodes.is_empty() {
            flush(flow, &mut self.shared, false);
        }
        if self.universes.contested {
            self.rivals(index, now, arrival.packet, arrival.at.0);
        }
        Some((o.hash, content))
    }

    /// Keeps the header of a datagram that went the general way without anything to say about it, so that the next one with
    /// this header can be expected.
    #[inline]
    pub(super) fn expect(&mut self, d: &Datagram<'_>, pdu: &Pdu<'_>) {
        let (flow, kinds) = (self.flows.get(self.last_flow), &self.kinds);
        self.heads.keep(d, pdu.kind.protocol, || {
            let flow = flow.filter(|flow| flow.key.is_of(d, pdu) && is_judged(flow))?;
            let target = flow.destinations.first().filter(|target| target.address == d.destination)?;
            let usual = pdu.sync == 0 && pdu.start_code == 0 && pdu.marks.has(Marks::DATA);
            let home = flow.key.port == 0 || pdu.kind.protocol == Protocol::Ddp;
            let other = Marks::TERMINATED.and(Marks::TIMED).and(Marks::SEQUENCE_OFF).and(Marks::SYNC);
            let sound = pdu.carried(d.length, true) == (pdu.data_length, true);
            if !usual || !home || !sound || pdu.marks.0 & other.0 != 0 {
                return None;
            }
            Some(Expected {
                flow: u32::try_from(flow.index).ok()?,
                source: u32::try_from(flow.source_index?).ok()?,
                path: u32::try_from(target.path?).ok()?,
                output: u32::try_from(flow.output?).ok()?,
                stream: pdu.stream?,
                offset: pdu.offset,
                length: pdu.data_length,
                kind: u16::try_from(kinds.iter().position(|(kind, _)| *kind == pdu.kind)?).ok()?,
                marks: pdu.marks,
                priority: pdu.priority,
                chunked: flow.chunked(),
                art_net: pdu.kind.protocol == Protocol::ArtNet,
            })
        });
    }
}

/// The numbering of the stream is known, and every datagram has its number.
fn is_judged(flow: &Flow) -> bool {
    flow.has_frames()
        && flow.model.is_some_and(|m| m.unit == Unit::Datagram && m.step == 1 && !m.per_destination)
}

/// Nothing is open in the stream: no session that begins, no other sender, no loss that may yet be mended.
#[inline(always)]
fn is_settled(flow: &Flow, d: &Datagram<'_>, now: i64, facts: (u8, u8, u16)) -> bool {
    flow.clash.is_none()
        && flow.is_from(d.source.port())
        && flow.goodbyes == 0
        && now - flow.arrived_at <= SACN_TIMEOUT
        && flow.has_facts(facts)
        && flow.episodes.is_empty()
        && !flow.undecided
}

/// The datagram has the next number, and time does not speak for anything in between.
#[inline(always)]
fn next(flow: &mut Flow, o: &Observation, expected: &Expected) -> Option<Next> {
    let place = flow.lanes.first()?.next(o.raw)?;
    if expected.chunked {
        let [chunks] = &mut flow.chunks[..] else { return None };
        if o.length > chunks.chunk {
            return None;
        }
        let period = chunks.cadence.steady();
        let seat = chunks.seat(o, false, true);
        let goes_on = chunks.is_next(o, seat, period);
        let frame = chunks.frame + i64::from(!goes_on);
        return (goes_on || chunks.begins_next(o, seat, period)).then_some(Next { place, seat, frame });
    }
    let protocol = if expected.art_net { Protocol::ArtNet } else { Protocol::Sacn };
    if eight_bit_step(protocol, flow.group_raw?, o.raw) != 1 {
        return None;
    }
    let prompt = flow.cadence.steady().is_none_or(|p| (o.at - flow.last_at) * 2 <= p * 3);
    prompt.then_some(Next { place, seat: Seat::default(), frame: -1 })
}

/// Counts the datagram.
#[inline(always)]
fn count(flow: &mut Flow, o: &Observation, octets: u32) {
    flow.pace(o.at - flow.arrived_at);
    flow.tally(o, octets);
    flow.octets = (flow.octets.0.min(o.length), flow.octets.1.max(o.length));
    flow.levels += 1;
    flow.last_preview = o.marks.has(Marks::PREVIEW);
    flow.ended = Ended::Running;
    flow.arrived_at = o.at;
    flow.group_raw = Some(o.raw);
}

/// Puts a universe's datagram into its frame and its number.
#[inline(always)]
fn settle_universe(flow: &mut Flow, o: &mut Observation, next: Next, output: usize, shared: &mut Shared) {
    flow.group_still = 0;
    o.frame = into_frame(flow, o, Some(1), &mut shared.outputs[output], &mut shared.findings);
    flow.lanes[0].go_on(o, next.place, 0);
    // Nothing is undecided: what catches up on a pause takes nothing back.
    if !flow.cadence.add(o.at - flow.last_at)
        && let Some(pause) = flow.cadence.unpaid()
    {
        never_came(flow, o, 0, pause, shared);
    }
    moved(flow, o);
}

/// Puts a chunk into its frame and its number.
#[inline(always)]
fn settle_chunk(flow: &mut Flow, o: &Observation, next: Next, shared: &mut Shared) {
    flow.lanes[0].go_on(o, next.place, next.seat.position);
    flow.last_at = o.at;
    frame_of(flow, o, 0, next.seat, next.frame, Step::InOrder, shared);
    if next.seat.new_frame {
        flow.decided();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::tests::{artnet, ddp, sacn};
    use crate::verify::Options;
    use crate::{Link, Timestamp};
    use std::net::SocketAddr;

    const PERIOD: i64 = 25_000_000;
    /// Frames until the numbering of every stream is known.
    const LEARNED: u32 = 40;

    /// A frame of one universe of each kind and of a display with four chunks.
    fn frame(number: u32) -> Vec<(u16, Vec<u8>)> {
        let (mut universe, mut address) = (sacn(), artnet());
        universe[111] = number as u8;
        address[12] = (number % 255) as u8 + 1;
        let chunk = |i: u32| {
            let mut chunk = ddp();
            chunk[0] = 0x40 | u8::from(i == 3);
            chunk[1] = ((number * 4 + i) % 15) as u8 + 1;
            chunk[4..8].copy_from_slice(&(i * 36).to_be_bytes());
            (4048, chunk)
        };
        [(5568, universe), (6454, address)].into_iter().chain((0..4).map(chunk)).collect()
    }

    /// Hands a datagram over; whether it went the short way.
    fn feed(v: &mut Verifier, at: i64, d: &Datagram<'_>) -> bool {
        let arrival = Arrival { at: Timestamp(at), packet: v.packets + 1 };
        let now = v.tick(arrival);
        v.packets += 1;
        let short = v.goes_on(now, arrival, d).is_some();
        if !short {
            v.arrive::<true>(now, arrival, d);
        }
        short
    }

    fn datagram(port: u16, payload: &[u8]) -> Datagram<'_> {
        let at = |host: u8| SocketAddr::from(([10, 0, 0, host], port));
        let link = Link { checksum: Checksum::Good, checksum_field: 5, ip_id: None, ..Link::default() };
        Datagram { link, ..Datagram::new(at(1), at(2), payload) }
    }

    /// A run of so many frames; which datagrams of the last one went the short way.
    fn run(frames: u32) -> (Verifier, Vec<bool>) {
        let mut v = Verifier::new(Options::default());
        let mut last = Vec::new();
        for number in 0..frames {
            let feed = |(port, payload): &(u16, Vec<u8>)| {
                feed(&mut v, i64::from(number) * PERIOD, &datagram(*port, payload))
            };
            last = frame(number).iter().map(feed).collect();
        }
        (v, last)
    }

    #[test]
    fn in_a_steady_rig_everything_goes_the_short_way() {
        let (_, short) = run(LEARNED);
        assert_eq!(short, [true; 6]);
    }

    #[test]
    fn a_datagram_that_differs_in_any_octet_of_its_header_goes_the_long_way() {
        let lengths = [(0, 126), (1, 18)];
        for (which, octet) in lengths.into_iter().flat_map(|(i, n)| (0..n).map(move |octet| (i, octet))) {
            let (mut v, _) = run(LEARNED);
            let mut next = frame(LEARNED);
            next[which].1[octet] ^= 4;
            let at = i64::from(LEARNED) * PERIOD;
            let short: Vec<bool> = next.iter().map(|(p, o)| feed(&mut v, at, &datagram(*p, o))).collect();
            assert!(!short[which], "datagram {which}, octet {octet}");
        }
    }

    #[test]
    fn what_there_is_something_to_say_about_goes_the_long_way() {
        type Change = fn(&mut Datagram<'_>);
        let changes: [Change; 5] = [
            |d| d.link.checksum = Checksum::Bad,
            |d| d.link.fragments = 2,
            |d| d.length += 1,
            |d| d.source.set_port(9),
            |d| d.destination.set_port(9),
        ];
        for (i, change) in changes.iter().enumerate() {
            let (mut v, _) = run(LEARNED);
            let next = frame(LEARNED);
            let mut d = datagram(next[0].0, &next[0].1);
            change(&mut d);
            assert!(!feed(&mut v, i64::from(LEARNED) * PERIOD, &d), "change {i}");
        }
        let (mut v, _) = run(LEARNED);
        let next = frame(LEARNED);
        let late = i64::from(LEARNED + 1) * PERIOD;
        assert!(!feed(&mut v, late, &datagram(next[0].0, &next[0].1)), "after a pause");
    }
}
