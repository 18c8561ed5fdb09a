//! Counting alone, the core of every analysis: who sends what, which numbers are missing, at what intervals.
//!
//! Rests on the numbers as the protocols prescribe them. It never infers how a sender counts, weighs numbers against
//! time, puts frames together, looks for copies or names owners: what it counts says nothing that
//! [`super::Verifier`] would have to agree with where a capture is not plain.

use super::STREAMS_MAX;
use super::flow::FlowKey;
use super::heads::Heads;
use super::model::{Model, Unit};
use crate::{Arrival, Datagram, Faults, Marks, Pdu, registry};
use std::collections::HashMap;
use std::net::IpAddr;

/// Intervals below 2 to this power, ns, are not told apart.
const FINEST: u32 = 10;
/// Intervals from 2 to this power on, ns (19.5 h), are not told apart.
const LONGEST: u32 = 46;
/// Steps of a doubling, as a power of 2.
const STEPS: u32 = 4;
const PLACES: usize = ((LONGEST - FINEST) << STEPS) as usize;

/// The engine. Feed datagrams in capture order, then call [`Counter::finish`].
#[derive(Debug, Default)]
pub struct Counter {
    datagrams: u64,
    others: u64,
    malformed: u64,
    unfollowed: u64,
    faults: Faults,
    streams: Vec<Stream>,
    by_key: HashMap<FlowKey, usize>,
    last: usize,
    /// Headers, each with its stream.
    heads: Heads<usize>,
}

/// What was counted.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Datagrams of lighting protocols.
    pub lighting: u64,
    /// Datagrams that nobody claims.
    pub others: u64,
    /// Lighting datagrams that break a rule of shape, or cannot be read at all.
    pub malformed: u64,
    /// Datagrams of streams beyond [`STREAMS_MAX`].
    pub unfollowed: u64,
    /// Streams in order of appearance.
    pub streams: Vec<StreamCounts>,
}

/// What was counted of one stream.
#[derive(Clone, Debug)]
pub struct StreamCounts {
    /// Protocol and packet.
    pub kind: &'static str,
    /// Sending host.
    pub source: IpAddr,
    /// Universe, port-address, DDP ID or device id.
    pub stream: u32,
    /// Datagrams.
    pub datagrams: u64,
    /// Numbers that were skipped and did not come late.
    pub missing: u64,
    /// Numbers that came late.
    pub late: u64,
    /// Numbers that came twice in a row.
    pub repeated: u64,
    /// Numbers that began anew.
    pub restarts: u64,
    /// Datagrams without a number.
    pub unnumbered: u64,
    /// Median and 99th percentile of the time from one datagram to the next, ns, to a sixteenth; `None` without any.
    pub intervals: Option<(u64, u64)>,
}

/// What a datagram that is the next one touches stands first, in two lines of the cache.
#[derive(Debug)]
#[repr(C, align(64))]
struct Stream {
    /// Engine time of the newest datagram; `None` before the first.
    at: Option<i64>,
    place: Option<u64>,
    datagrams: u64,
    /// The place of the newest interval, and how many have come there that are not in `intervals` yet.
    run: (u32, u32),
    model: Model,
    key: FlowKey,
    /// The stream that followed this one the last time: lighting traffic is cyclic.
    next: usize,
    missing: u64,
    late: u64,
    repeated: u64,
    restarts: u64,
    unnumbered: u64,
    intervals: Box<[u32]>,
}

impl Counter {
    /// An engine that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes one UDP datagram. What is not inlined gets a copy: only where its address is given away does a datagram have
    /// to lie in memory.
    #[inline(always)]
    pub fn on_datagram(&mut self, arrival: Arrival, d: &Datagram<'_>) {
        if let Some((stream, number, _)) = self.heads.expected(d) {
            self.datagrams += 1;
            self.last = *stream;
            let stream = &mut self.streams[*stream];
            let place = stream.model.place(number);
            stream.take(arrival.at.0, place);
        } else {
            self.plain(arrival, &{ *d });
        }
    }

    /// A datagram whose header is not the one that was expected.
    #[inline(never)]
    fn plain(&mut self, arrival: Arrival, d: &Datagram<'_>) {
        let Some(pdu) = registry::plain(d) else { return self.any(arrival, d) };
        self.datagrams += 1;
        if let Some(index) = self.count(arrival, d, &pdu) {
            self.heads.keep(d, pdu.kind.protocol, || Some(index));
        }
    }

    /// A datagram that is not one of the most usual kinds, or about which there is something to say.
    #[inline(never)]
    fn any(&mut self, arrival: Arrival, d: &Datagram<'_>) {
        self.faults.clear();
        let Some(decoded) = registry::decode(d, &mut self.faults) else {
            self.others += 1;
            return;
        };
        self.datagrams += 1;
        if !self.faults.is_empty() && !self.faults.well_formed() || decoded.is_err() {
            self.malformed += 1;
        }
        if let Ok(pdu) = decoded {
            self.count(arrival, d, &pdu);
        }
    }

    #[inline(always)]
    fn count(&mut self, arrival: Arrival, d: &Datagram<'_>, pdu: &Pdu<'_>) -> Option<usize> {
        let index = self.near(d, pdu).or_else(|| self.search(FlowKey::of(d, pdu)?))?;
        let stream = &mut self.streams[index];
        let place = stream.number(pdu);
        stream.take(arrival.at.0, place);
        Some(index)
    }

    /// The stream that followed the last one before, or the last one.
    #[inline(always)]
    fn near(&mut self, d: &Datagram<'_>, pdu: &Pdu<'_>) -> Option<usize> {
        let last = self.streams.get(self.last)?;
        let next = last.next;
        if self.streams.get(next).is_some_and(|s| s.key.is_of(d, pdu)) {
            self.last = next;
            return Some(next);
        }
        last.key.is_of(d, pdu).then_some(self.last)
    }

    /// The stream that the table knows, or a further one.
    #[inline(never)]
    fn search(&mut self, key: FlowKey) -> Option<usize> {
        let known = self.by_key.get(&key).copied();
        let index = known.or_else(|| self.open(key))?;
        if let Some(last) = self.streams.get_mut(self.last).filter(|_| self.last != index) {
            last.next = index;
        }
        self.last = index;
        Some(index)
    }

    fn open(&mut self, key: FlowKey) -> Option<usize> {
        let index = self.streams.len();
        if index >= STREAMS_MAX {
            self.unfollowed += 1;
            return None;
        }
        self.by_key.insert(key, index);
        self.streams.push(Stream::new(key, index));
        Some(index)
    }

    /// Ends the run and hands over the counts.
    pub fn finish(mut self) -> Counts {
        self.streams.iter_mut().for_each(|stream| stream.settle(stream.run.0));
        Counts {
            lighting: self.datagrams,
            others: self.others,
            malformed: self.malformed,
            unfollowed: self.unfollowed,
            streams: self.streams.iter().map(Stream::counts).collect(),
        }
    }
}

impl Stream {
    fn new(key: FlowKey, next: usize) -> Stream {
        Stream {
            at: None,
            place: None,
            datagrams: 0,
            run: (0, 0),
            model: Model::prescribed(key.kind.protocol),
            key,
            next,
            missing: 0,
            late: 0,
            repeated: 0,
            restarts: 0,
            unnumbered: 0,
            intervals: vec![0; PLACES].into_boxed_slice(),
        }
    }

    #[inline(always)]
    fn take(&mut self, at: i64, place: Option<u64>) {
        self.datagrams += 1;
        if let Some(before) = self.at.replace(at) {
            let place = place_of(at.saturating_sub(before)) as u32;
            if place != self.run.0 {
                self.settle(place);
            }
            self.run.1 = self.run.1.saturating_add(1);
        }
        match place {
            Some(place) => self.step(place),
            None => self.unnumbered += 1,
        }
    }

    /// Puts the run of intervals to the others; the next one begins at `place`.
    #[inline(never)]
    fn settle(&mut self, place: u32) {
        let (before, run) = std::mem::replace(&mut self.run, (place, 0));
        if let Some(n) = self.intervals.get_mut(before as usize) {
            *n = n.saturating_add(run);
        }
    }

    /// Where the datagram stands in the cycle of its numbers.
    #[inline]
    fn number(&self, pdu: &Pdu<'_>) -> Option<u64> {
        let counts = pdu.marks.has(Marks::DATA) || !pdu.marks.has(Marks::SEQUENCE_OFF);
        let place = self.model.place(pdu.sequence.filter(|_| counts)?)?;
        match self.model.unit {
            Unit::Datagram => Some(place),
            Unit::Frame => Some(place * u64::from(pdu.count.max(1)) + u64::from(pdu.index)),
            Unit::Nothing => None,
        }
    }

    #[inline]
    fn step(&mut self, place: u64) {
        let Some(before) = self.place.replace(place) else { return };
        let follows = place == before + 1 || place == 0 && before + 1 == self.model.cycle;
        if !follows {
            self.leap(before, place);
        }
    }

    /// Anything but the next number.
    #[cold]
    fn leap(&mut self, before: u64, place: u64) {
        let cycle = match self.model.unit {
            // Frames have no common number of chunks: a number that goes back has begun anew.
            Unit::Frame => u64::MAX,
            _ => self.model.cycle,
        };
        let forward = if place >= before { place - before } else { cycle - before + place };
        let back = cycle - forward;
        if forward == 0 {
            self.repeated += 1;
        } else if forward <= cycle / 2 {
            self.missing += forward - 1;
        } else if back <= u64::from(self.model.window) {
            self.late += 1;
            self.missing = self.missing.saturating_sub(1);
            self.place = Some(before);
        } else {
            self.restarts += 1;
        }
    }

    fn counts(&self) -> StreamCounts {
        StreamCounts {
            kind: self.key.kind.name,
            source: self.key.source,
            stream: self.key.stream,
            datagrams: self.datagrams,
            missing: self.missing,
            late: self.late,
            repeated: self.repeated,
            restarts: self.restarts,
            unnumbered: self.unnumbered,
            intervals: self.quantile(1, 2).zip(self.quantile(99, 100)),
        }
    }

    /// The least interval that `part` of `whole` intervals do not exceed.
    fn quantile(&self, part: u64, whole: u64) -> Option<u64> {
        let total: u64 = self.intervals.iter().map(|n| u64::from(*n)).sum();
        let rank = (total * part).div_ceil(whole).max(1);
        let mut seen = 0;
        self.intervals.iter().enumerate().find_map(|(place, n)| {
            seen += u64::from(*n);
            (seen >= rank).then(|| least(place))
        })
    }
}

/// The place of an interval: 16 for each doubling; backward ones count as the shortest.
#[inline]
fn place_of(ns: i64) -> usize {
    let ns = u64::try_from(ns).unwrap_or(0).clamp(1 << FINEST, (1 << LONGEST) - 1);
    let power = ns.ilog2();
    let step = (ns >> (power - STEPS)) & ((1 << STEPS) - 1);
    (((power - FINEST) << STEPS) as u64 | step) as usize
}

/// The least interval of a place, ns.
fn least(place: usize) -> u64 {
    let power = FINEST + (place >> STEPS) as u32;
    let step = (place & ((1 << STEPS) - 1)) as u64;
    (1 << power) + (step << (power - STEPS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Protocol;

    fn run(protocol: Protocol, numbers: &[u64]) -> Stream {
        let kind = crate::Kind::new(protocol, "test/test");
        let source = IpAddr::from([10, 0, 0, 1]);
        let key = FlowKey { kind, source, port: 0, sender: [0; 16], stream: 1, part: 0 };
        let mut stream = Stream::new(key, 0);
        numbers.iter().for_each(|n| stream.step(*n));
        stream
    }

    #[test]
    fn gaps_late_ones_repeats_and_restarts_are_told_apart() {
        let s = run(Protocol::Sacn, &[250, 251, 253, 252, 254, 255, 0, 0, 3, 200, 201]);
        assert_eq!((s.missing, s.late, s.repeated, s.restarts), (2, 1, 1, 1));
    }

    #[test]
    fn every_cycle_wraps_without_a_loss() {
        for protocol in [Protocol::Sacn, Protocol::ArtNet, Protocol::Ddp] {
            let cycle = Model::prescribed(protocol).cycle;
            let numbers: Vec<u64> = (0..3 * cycle).map(|n| n % cycle).collect();
            let s = run(protocol, &numbers);
            assert_eq!((s.missing, s.late, s.repeated, s.restarts), (0, 0, 0, 0), "{protocol:?}");
        }
    }

    #[test]
    fn a_place_holds_what_lies_within_a_sixteenth() {
        let mut last = 0;
        for ns in (1..2_000_000i64).step_by(97).chain([i64::MAX, 16_666_667, 1 << 45]) {
            let place = place_of(ns);
            let low = least(place);
            assert!(place < PLACES, "{ns}");
            if (1 << FINEST..1 << LONGEST).contains(&ns) {
                assert!(low as i64 <= ns && ns < low as i64 + (low as i64 >> STEPS) + 1, "{ns}: {low}");
            }
            if ns < 2_000_000 {
                assert!(place >= last, "{ns}");
                last = place;
            }
        }
        assert_eq!((place_of(-5), place_of(0)), (0, 0));
    }
}
