//! Numbers of a stream's counter that other datagrams of the same sender carry: queries and settings beside DDP pixels, ArtNzs
//! beside ArtDmx.
//!
//! Owns the question whether they share the counter, which each sender answers by its own numbers; until it is answered, what
//! is missing beside such a datagram is neither a loss nor none. It never judges what the numbers alone leave open.

use super::episodes::{TEARS_MAX, lose, report};
use super::findings::Place as At;
use super::flow::Flow;
use super::model::{Model, Unit};
use super::observation::Observation;
use super::sequence::{Gap, Lane};
use super::settle::{Shared, lock, shared_counter};
use super::{Verifier, chunks::Seat};
use crate::{Datagram, Pdu, Protocol, Severity};
use std::net::{IpAddr, SocketAddr};

/// Numbers heard and not weighed yet that are kept of one stream.
const HEARD_MAX: usize = 256;
/// Streams of one socket or Port-Address that may share a counter with its other datagrams.
const SIBLINGS_MAX: usize = 8;
/// Losses that wait for the answer.
const DOUBTS_MAX: usize = 32;
/// Fits, or misses, from which on the answer is known (of DDP's 15 numbers one coincides by chance with one that is lost).
pub(super) const KNOWN: u32 = 2;
/// Fits for each miss: the network changes the order of a datagram now and then.
pub(super) const FITS_TO_ONE: u32 = 4;
/// Misses for each fit.
pub(super) const MISSES_TO_ONE: u32 = 2;

/// Where the streams are found that may share a counter: protocol, sender, and source port or Port-Address.
pub(crate) type Home = (Protocol, IpAddr, u32);

/// The number of a datagram of another kind.
#[derive(Clone, Copy, Debug)]
struct Heard {
    packet: u64,
    raw: u32,
    to: SocketAddr,
}

/// What is known of a sender's other datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// They take numbers of the stream's counter.
    Shared,
    /// They count for themselves.
    Own,
    /// Too few came to tell.
    Open,
}

/// Numbers that are missing from the stream and were heard elsewhere, until the sender is known.
#[derive(Clone, Debug)]
struct Doubt {
    o: Observation,
    lane: usize,
    numbers: Vec<i64>,
    tears: Vec<(i64, i64, bool)>,
    /// Engine time of the stream's datagram before.
    since: i64,
}

/// The numbers heard beside a stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aside {
    heard: Vec<Heard>,
    fits: u32,
    misses: u32,
    doubts: Vec<Doubt>,
}

impl Aside {
    /// Nothing was heard since the newest datagram that was judged.
    pub(crate) fn is_quiet(&self) -> bool {
        self.heard.is_empty()
    }

    fn standing(&self) -> Standing {
        let known = |yes: u32, no: u32, to_one| yes >= KNOWN && yes >= no.saturating_mul(to_one);
        match () {
            () if known(self.fits, self.misses, FITS_TO_ONE) => Standing::Shared,
            () if known(self.misses, self.fits, MISSES_TO_ONE) => Standing::Own,
            () => Standing::Open,
        }
    }

    /// The numbers between those of the other datagrams belong to this stream, as far as is known.
    fn carries(&self) -> bool {
        self.fits > 0 && self.standing() != Standing::Own
    }

    /// A late datagram brings a number that was in doubt: the other one that carried it counts for itself.
    pub(crate) fn mend(&mut self, lane: usize, number: i64) -> bool {
        let doubt = self.doubts.iter_mut().find(|d| d.lane == lane && d.numbers.contains(&number));
        let Some(doubt) = doubt else { return false };
        doubt.numbers.retain(|n| *n != number);
        doubt.tears.retain(|(n, ..)| *n != number);
        self.misses += 1;
        true
    }
}

/// How the numbers heard lie between two of the stream.
struct Chain {
    /// Numbers from the stream's last one forward to each.
    at: Vec<i64>,
    /// The same to the stream's next one.
    whole: i64,
    /// Each is the next after the one before.
    exact: bool,
    /// They and the stream's own go forward, in less than half of the cycle.
    within: bool,
}

impl Chain {
    /// `None` where a value is not a number of the cycle, or the stream's own did not move.
    fn of(model: &Model, last: u32, heard: impl Iterator<Item = u32>, raw: u32) -> Option<Chain> {
        if model.unit != Unit::Datagram || model.step != 1 {
            return None;
        }
        let cycle = i64::try_from(model.cycle).ok()?;
        let place = |raw: u32| model.place(raw).and_then(|place| i64::try_from(place).ok());
        let from = place(last)?;
        let direct = (place(raw)? - from).rem_euclid(cycle);
        let (mut newest, mut whole, mut exact) = (from, 0, true);
        let mut at = Vec::new();
        let mut moves = true;
        for next in heard {
            let next = place(next)?;
            let step = (next - newest).rem_euclid(cycle);
            (newest, whole) = (next, whole + step);
            exact &= step == 1;
            moves &= step > 0;
            at.push(whole);
        }
        let step = (place(raw)? - newest).rem_euclid(cycle);
        whole += step;
        let exact = exact && step == 1;
        let within = moves && step > 0 && whole == direct && direct * 2 < cycle;
        (direct > 0 || exact).then_some(Chain { at, whole, exact, within })
    }

    fn fits(&self) -> bool {
        self.exact || self.within
    }

    fn len(&self) -> i64 {
        i64::try_from(self.at.len()).unwrap_or(i64::MAX)
    }

    /// Numbers that neither the stream nor anything else carries.
    fn missing(&self) -> Vec<i64> {
        (1..self.whole.min(TEARS_MAX as i64)).filter(|n| !self.at.contains(n)).collect()
    }
}

/// What is known before a datagram is judged.
pub(super) struct Before {
    chain: Option<Chain>,
    heard: usize,
    standing: Standing,
    /// The numbers heard are taken as of this counter.
    taken: bool,
    highest: i64,
    since: i64,
    tears: Vec<(i64, bool)>,
    foreign: bool,
}

/// Lets the lane pass over the numbers that were heard elsewhere since the stream's newest datagram.
#[cold]
pub(super) fn before(flow: &mut Flow, o: &Observation, lane: usize) -> Option<Before> {
    let aside = &flow.cold.aside;
    let heard = aside.heard.iter().take_while(|h| h.packet < o.packet).count();
    if heard == 0 || !o.counts() {
        return None;
    }
    let model = *flow.lanes[lane].model();
    let own = flow.destinations.get(usize::from(o.dest)).map(|d| d.address);
    let aimed = |h: &&Heard| !model.per_destination || Some(h.to) == own;
    let numbers = aside.heard[..heard].iter().filter(aimed).map(|h| h.raw);
    let follows = flow.lanes[lane].has_started() && !o.new_session && !o.new_port;
    let last = flow.lanes[lane].newest_raw();
    let chain = follows.then(|| Chain::of(&model, last, numbers, o.raw)).flatten();
    let chain = chain.filter(|chain| !chain.at.is_empty());
    let foreign = aside.heard[..heard].iter().any(|h| flow.destinations.iter().all(|d| d.address != h.to));
    let standing = aside.standing();
    let taken = standing != Standing::Own && chain.as_ref().is_some_and(Chain::fits);
    let (highest, since) = (flow.lanes[lane].highest(), flow.last_at);
    let n = chain.as_ref().map_or(0, Chain::len);
    let mut tears = Vec::new();
    if taken {
        if let Some(c) = flow.chunks.get(usize::from(o.dest)) {
            let chunks = if c.chunks > 0 { c.chunks } else { i64::MAX };
            c.walk(n.unsigned_abs(), Seat::default(), chunks, |frame, end| tears.push((frame, end)));
        }
        flow.lanes[lane].pass(n);
    }
    Some(Before { chain, heard, standing, taken, highest, since, tears, foreign })
}

/// Weighs what was heard, once the datagram is judged.
#[cold]
pub(super) fn after(flow: &mut Flow, o: &Observation, lane: usize, b: Before, shared: &mut Shared) {
    let moved = flow.lanes[lane].highest() - b.highest;
    let passed = b.chain.as_ref().filter(|_| b.taken).map_or(0, Chain::len);
    if moved == 0 {
        return;
    }
    flow.cold.aside.heard.drain(..b.heard);
    let Some(chain) = b.chain.as_ref().filter(|_| moved > passed) else { return };
    let placed = b.taken && moved == chain.whole;
    if placed {
        flow.lanes[lane].heard(chain.whole, &chain.at, b.standing == Standing::Shared);
        place_losses(flow, o, &b, chain);
    }
    if chain.exact {
        // An IP id that runs on says by itself that nothing was lost.
        flow.cold.aside.fits = flow.cold.aside.fits.saturating_add(1 + u32::from(o.ip_runs_on));
    } else if !chain.fits() {
        flow.cold.aside.misses = flow.cold.aside.misses.saturating_add(1);
    }
    if placed && b.standing == Standing::Open {
        let numbers: Vec<i64> = chain.at.iter().map(|n| b.highest + n).collect();
        let tears = numbers.iter().zip(&b.tears).map(|(n, (frame, end))| (*n, *frame, *end)).collect();
        flow.cold.aside.doubts.push(Doubt { o: *o, lane, numbers, tears, since: b.since });
    }
    answer(flow, o, b.foreign, shared);
}

/// The numbers of a hole in which some were heard are those that nobody carried.
fn place_losses(flow: &mut Flow, o: &Observation, b: &Before, chain: &Chain) {
    let missing = chain.missing();
    let Some(first) = missing.first() else { return };
    let Some(e) = flow.episodes.last_mut().filter(|e| e.last_at == o.at && e.to < b.highest + chain.whole)
    else {
        return;
    };
    e.to = b.highest + chain.whole - 1;
    if e.place.0 == o.packet {
        e.from = b.highest + first;
    }
    let passed = b.highest + chain.len() + 1;
    for (number, ..) in e.tears.iter_mut().filter(|(n, ..)| *n >= passed) {
        let index = usize::try_from(*number - passed).unwrap_or(usize::MAX);
        *number = missing.get(index).map_or(*number, |n| b.highest + n);
    }
}

/// Settles the doubts, where the sender is known.
fn answer(flow: &mut Flow, o: &Observation, foreign: bool, shared: &mut Shared) {
    match flow.cold.aside.standing() {
        Standing::Shared => {
            flow.cold.aside.doubts.clear();
            let place = At { stream: Some(flow.index), packet: o.packet, stamp: o.stamp };
            let severity = if foreign { Severity::Warning } else { Severity::Info };
            let what =
                if flow.protocol() == Protocol::Ddp { "queries and settings" } else { "ArtNzs datagrams" };
            shared_counter(flow, place, severity, &mut shared.findings, || {
                format!("{what} of the sender take numbers of the same counter: those are not missing here")
            });
        }
        Standing::Own => settle_doubts(flow, true, shared),
        Standing::Open if flow.cold.aside.doubts.len() > DOUBTS_MAX => {
            let oldest = flow.cold.aside.doubts.remove(0);
            tell(flow, oldest, false, shared);
        }
        Standing::Open => {}
    }
}

/// Tells what is still in doubt: losses where the others are known to count for themselves, else what may be.
pub(super) fn settle_doubts(flow: &mut Flow, proven: bool, shared: &mut Shared) {
    for doubt in std::mem::take(&mut flow.cold.aside.doubts) {
        tell(flow, doubt, proven, shared);
    }
}

fn tell(flow: &mut Flow, doubt: Doubt, proven: bool, shared: &mut Shared) {
    let Some(from) = doubt.numbers.first().copied() else { return };
    let lost = doubt.numbers.len() as u64;
    let gap = Gap {
        lost,
        lost_min: if proven { lost } else { 0 },
        ambiguous: !proven,
        from,
        residue: i64::try_from(lost).unwrap_or(i64::MAX),
    };
    let newest = std::mem::replace(&mut flow.last_at, doubt.since);
    let waiting = std::mem::take(&mut flow.episodes);
    lose(flow, &doubt.o, doubt.lane, gap, doubt.tears, shared);
    let told = std::mem::replace(&mut flow.episodes, waiting);
    flow.last_at = newest;
    for mut e in told {
        e.heard = true;
        shared.heralds.open -= 1;
        report(flow, &e, shared);
    }
}

/// Among a stream's first datagrams, numbers heard elsewhere account for what looks like a step above one.
pub(super) fn explains(flow: &Flow, model: &Model, waiting: &[Observation]) -> bool {
    let model = Model { step: 1, ..*model };
    let heard = &flow.cold.aside.heard;
    let exact = |w: &&[Observation]| {
        let between = heard.iter().filter(|h| w[0].packet < h.packet && h.packet < w[1].packet);
        let chain = Chain::of(&model, w[0].raw, between.map(|h| h.raw), w[1].raw);
        chain.is_some_and(|chain| chain.exact && !chain.at.is_empty())
    };
    !heard.is_empty() && waiting.windows(2).filter(exact).count() * 2 >= waiting.len().max(4)
}

/// Where a stream's datagrams, or others of its sender, may share a counter.
fn home(d: &Datagram<'_>, pdu: &Pdu<'_>) -> Option<Home> {
    let part = match pdu.kind.name {
        "ddp/display" | "ddp/query" | "ddp/control" => u32::from(d.source.port()),
        "artnet/ArtDmx" | "artnet/ArtNzs" => pdu.stream?,
        _ => return None,
    };
    Some((pdu.kind.protocol, d.source.ip(), part))
}

impl Verifier {
    /// Remembers where a stream of frames is at home.
    pub(super) fn house(&mut self, index: usize, d: &Datagram<'_>, pdu: &Pdu<'_>) {
        if !self.flows[index].has_frames() {
            return;
        }
        let Some(home) = home(d, pdu) else { return };
        let siblings = self.by_home.entry(home).or_default();
        if siblings.len() < SIBLINGS_MAX {
            siblings.push(index);
        }
    }

    /// Hands the number of a datagram that makes no frames to the streams of its sender; `own` is the stream that it makes.
    #[cold]
    pub(super) fn overhear(&mut self, own: Option<usize>, d: &Datagram<'_>, pdu: &Pdu<'_>, packet: u64) {
        let Some(siblings) = home(d, pdu).and_then(|home| self.by_home.get(&home)) else { return };
        let mut carried = false;
        for index in siblings {
            let flow = &mut self.flows[*index];
            let Some(raw) = flow.number(pdu).filter(|_| flow.is_from(d.source.port())) else { continue };
            carried |= flow.cold.aside.carries();
            if flow.cold.aside.heard.len() < HEARD_MAX {
                flow.cold.aside.heard.push(Heard { packet, raw, to: d.destination });
                flow.undecided = true;
            }
        }
        if let Some(own) = own {
            self.flows[own].cold.carried = carried;
            self.flows[own].cold.home = home(d, pdu);
        }
    }

    /// Settles, at the end, which streams of other datagrams are counted by another stream.
    pub(super) fn settle_carried(&mut self) {
        for index in 0..self.flows.len() {
            let Some(home) = self.flows[index].cold.home else { continue };
            let mut carried = false;
            for sibling in self.by_home.get(&home).map(Vec::as_slice).unwrap_or_default() {
                let flow = &mut self.flows[*sibling];
                if flow.model.is_none() {
                    lock(flow, &mut self.shared);
                }
                carried |= flow.cold.aside.carries();
            }
            self.flows[index].cold.carried = carried;
        }
    }
}

impl Flow {
    /// The newest number for the grouping of frames, when others were heard since: the last of them that fits.
    #[cold]
    pub(super) fn pass_group(&mut self, pdu: &Pdu<'_>) {
        let aside = &self.cold.aside;
        let Some((last, raw)) = self.group_raw.zip(self.number(pdu)) else { return };
        if aside.standing() == Standing::Own {
            return;
        }
        let model = self.model.unwrap_or_else(|| Model::prescribed(self.protocol()));
        let newer = aside.heard.iter().filter(|h| h.packet > self.last_packet);
        let Some(chain) = Chain::of(&model, last, newer.map(|h| h.raw), raw).filter(Chain::fits) else {
            return;
        };
        let place = model.place(last).unwrap_or(0) + chain.at.len() as u64;
        self.group_raw = Some(model.first + (place % model.cycle) as u32);
    }
}

impl Lane {
    /// A number was seen.
    pub(crate) fn has_started(&self) -> bool {
        self.started
    }

    /// Passes over `n` numbers of the counter that came in datagrams of other kinds.
    pub(crate) fn pass(&mut self, n: i64) {
        self.highest += n;
        self.place = (self.place + n.unsigned_abs()) % self.model.cycle.max(1);
        self.seen = match u32::try_from(n) {
            Ok(shift) if shift < 128 => self.seen << shift,
            _ => 0,
        };
    }

    /// Of the newest `whole` numbers those `at` so far from the first of them came in datagrams of other kinds; the rest,
    /// the newest aside, is missing. Where nobody knows whether they were the stream's own, late ones may yet fill them.
    pub(crate) fn heard(&mut self, whole: i64, at: &[i64], known: bool) {
        let bits = u32::try_from(whole).ok().filter(|n| *n < 128).map_or(u128::MAX, |n| (1u128 << n) - 1);
        self.seen = self.seen & !bits | 1;
        for n in at.iter().filter(|_| known) {
            self.seen |= u32::try_from(whole - n).ok().filter(|b| *b < 128).map_or(0, |b| 1u128 << b);
        }
    }
}
