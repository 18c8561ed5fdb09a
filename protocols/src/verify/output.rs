//! One output: the frames of a logical device, their tears, causes, sync outcomes and times.

use super::account::{CauseAccount, FrameAccount, Spread, SyncAccount};
use super::cadence::Cadence;
use super::flow::Flow;
use super::herald::Torn;
use super::spread::{Bars, Gauge, rate_mhz};
use super::tiles::Flaw;
use super::timeline::FrameLine;
use crate::time::{MS, SECOND};
use crate::{Cid, Protocol};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// Synchronization addresses remembered of one output.
const ADDRESSES_MAX: usize = 16;
/// Most torn frames remembered by number; further ones are counted only.
const TEARS_MAX: usize = 8192;
/// A repeat after a pause of at least this long is a keep-alive (E1.31 6.6.2: 800..1000 ms).
pub(super) const KEEP_ALIVE: i64 = 700 * MS;
/// Unchanged content for longer than this while sending is frozen.
pub(super) const FROZEN_AFTER: i64 = SECOND;
/// Repeats of unchanged content from which on the sender is known to send it all the same.
const INSISTS: u64 = 24;
/// Repeats that a frozen output must at least have sent.
pub(super) const FROZEN_REPEATS: u64 = 10;
/// Before a period is known, a stream seen for the first time after this long a pause begins a new frame.
const FIRST_PAUSE: i64 = 3 * MS;

/// A frame with a hole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tear {
    /// First stream concerned.
    pub flow: usize,
    /// Datagrams missing.
    pub missing: u64,
    /// Octets that are in no datagram although none is missing.
    pub octets: u64,
    /// The end of the frame is among them.
    pub end: bool,
    /// Record and stamp at which it was noticed.
    pub place: (u64, i64),
}

/// A pause before a frame whose first chunk is the old one: a stutter if another chunk of it is new.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pause {
    /// Number of the frame.
    pub frame: i64,
    /// Record and stamp after it.
    pub place: (u64, i64),
    /// Time from frame to frame that is usual, ns.
    pub period: i64,
    /// Time since the frame before, ns.
    pub since: i64,
}

/// What makes several streams one output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct OutputKey {
    pub protocol: Protocol,
    pub source: IpAddr,
    pub sender: Option<Cid>,
    /// Source port where two ports of one host clash, else 0.
    pub port: u16,
    /// Stream and destination index where every stream is an output of its own.
    pub alone: Option<(usize, u8)>,
    /// Place in the rig of the output that declares the streams: what a rig declares apart are devices apart, and what it
    /// does not declare is none of them.
    pub rig: Option<usize>,
}

/// The frame being put together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Current {
    pub number: i64,
    pub start: i64,
    pub start_stamp: i64,
    pub last: i64,
    pub packet: u64,
    /// Datagrams in it.
    pub datagrams: u32,
    /// Data octets in it.
    pub octets: u64,
    /// A datagram of it carried other data than the one in its place the time before.
    pub changed: bool,
    /// Carried a goodbye.
    pub goodbye: bool,
    /// First of a session that is not the first.
    pub restart: bool,
    /// A sync packet closed it.
    pub closed: bool,
}

/// One output.
#[derive(Debug)]
pub(crate) struct Output {
    pub key: OutputKey,
    /// Streams, in order of appearance.
    pub flows: Vec<usize>,
    /// Frame being put together.
    pub current: Option<Current>,
    /// Period of frame starts.
    pub cadence: Cadence,
    /// Torn frames by raw number.
    pub tears: BTreeMap<i64, Tear>,
    /// Torn frames beyond the bound.
    pub tears_more: u64,
    /// Torn frames that were told while the run went on.
    pub told: Torn,
    tears_last: i64,
    /// Sync outcomes.
    pub sync: SyncAccount,
    /// Causes.
    pub causes: CauseAccount,
    interval: Gauge,
    /// Frames from the first one on as numbered, those that nobody saw included, and the time that they took, ns.
    sent: (i64, i64),
    spread: Gauge,
    /// How many frames had so many datagrams.
    sizes: BTreeMap<u32, u64>,
    octet_sizes: BTreeMap<u64, u64>,
    /// Datagrams in raw frame 0.
    pub first_size: u32,
    before: Option<(i64, i64)>,
    /// Longest time from frame start to frame start since it was asked for, ns.
    longest: i64,
    changed_at: i64,
    repeats: u64,
    frozen: bool,
    /// Data asks for synchronization, or ArtSync was seen.
    pub synced: bool,
    /// Synchronization addresses that data names, each with the time of its last sync packet.
    pub addresses: Vec<(u16, Option<i64>)>,
    /// Datagrams declared by a rig; 0 = not declared.
    pub declared: u32,
    /// The last closed frame repeated the one before.
    pub repeating: bool,
    /// A pause before the frame being put together, until its end shows what it is.
    pub pause: Option<Pause>,
    /// Streams of it have no usable numbers.
    pub unnumbered: bool,
    /// Frames over time.
    pub line: FrameLine,
}

/// What closing a frame brought to light.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Closed {
    /// Content has been unchanged for over a second while sending; told once a time.
    pub froze: bool,
}

impl Output {
    /// An output that has seen nothing.
    pub(crate) fn new(key: OutputKey) -> Output {
        Output {
            key,
            flows: Vec::new(),
            current: None,
            cadence: Cadence::default(),
            tears: BTreeMap::new(),
            tears_more: 0,
            told: Torn::default(),
            tears_last: -1,
            sync: SyncAccount::default(),
            causes: CauseAccount::default(),
            interval: Gauge::default(),
            sent: (0, 0),
            spread: Gauge::default(),
            sizes: BTreeMap::new(),
            octet_sizes: BTreeMap::new(),
            first_size: 0,
            before: None,
            longest: 0,
            changed_at: i64::MIN,
            repeats: 0,
            frozen: false,
            synced: false,
            addresses: Vec::new(),
            declared: 0,
            repeating: false,
            pause: None,
            unnumbered: false,
            line: FrameLine::new(),
        }
    }

    /// Frame number for a datagram of a stream last seen in frame `last_frame`, `ahead` numbers later
    /// (`None`: no numbers). Says whether a new frame has to begin.
    #[inline]
    pub(crate) fn choose(&mut self, at: i64, last_frame: Option<i64>, ahead: Option<i64>) -> (i64, bool) {
        let Some(current) = &self.current else { return (0, true) };
        match last_frame.zip(ahead).map(|(last, ahead)| last.saturating_add(ahead)) {
            Some(target) if target == current.number && !current.closed => (target, false),
            target => self.weigh(at, last_frame, target.zip(ahead)),
        }
    }

    /// As `choose`, for a datagram that is not simply the next one of its frame: `target` is the frame that its number,
    /// so far `ahead`, asks for.
    fn weigh(&mut self, at: i64, last_frame: Option<i64>, target: Option<(i64, i64)>) -> (i64, bool) {
        let period = self.cadence.steady();
        let Some(current) = self.current else { return (0, true) };
        let next = current.number + 1;
        let pause = at - current.last;
        let long_pause = period.map_or(last_frame.is_none() && pause > FIRST_PAUSE, |p| pause > p / 2);
        let twice = last_frame == Some(current.number);
        let by_rule =
            if twice || current.closed || long_pause { (next, true) } else { (current.number, false) };
        let Some((target, ahead)) = target else { return by_rule };
        let half = period.is_some_and(|p| (at - current.start) * 2 >= p);
        if target == next && (ahead == 1 || half) {
            return (next, true);
        }
        let by_time = || period.map(|p| current.number + super::cadence::nearest(at - current.start, p));
        if ahead > 1 && target > next && by_time().is_some_and(|t| (t - target).abs() <= ahead / 16) {
            return (target, true);
        }
        by_rule
    }

    /// Begins frame `number`, closing the one before.
    pub(crate) fn begin(&mut self, number: i64, at: i64, stamp: i64, packet: u64) -> Closed {
        let closed = self.close();
        self.line.begin(number, at, self.before.map(|(_, start)| start));
        self.current =
            Some(Current { number, start: at, start_stamp: stamp, last: at, packet, ..Current::default() });
        closed
    }

    /// Takes back so many frames that seemed to lie before the one being put together.
    pub(crate) fn shift(&mut self, frames: i64) {
        if let Some(c) = &mut self.current {
            c.number -= frames;
            self.line.lower(c.number);
        }
        if let Some((number, _)) = &mut self.before {
            *number -= frames;
        }
        // Steps of the jump are counted when its frame is closed, which may be yet to come.
        self.sent.0 = self.sent.0.saturating_sub(frames);
    }

    /// Closes the frame being put together, if any.
    pub(crate) fn close(&mut self) -> Closed {
        let Some(c) = self.current.take() else { return Closed::default() };
        self.sizes_add(c);
        if let Some((number, start)) = self.before {
            self.pause(c.number - number, c.start - start);
        }
        if c.datagrams > 1 {
            self.spread.add((c.last - c.start).max(1));
        }
        if self.synced && !c.closed {
            if self.whole(c.datagrams) { self.sync.all_data += 1 } else { self.sync.timeout += 1 }
        }
        let pause = self.before.map_or(0, |(_, start)| c.start - start);
        self.longest = self.longest.max(pause);
        self.before = Some((c.number, c.start));
        self.cause(&c, pause)
    }

    /// Time from the start of the frame before, which lies `steps` numbers back. Whoever watches sees it whole, whether
    /// frames are missing in it or not; only one without says anything about the period.
    fn pause(&mut self, steps: i64, pause: i64) {
        self.interval.add(pause);
        if steps == 1 {
            self.cadence.add(pause);
        }
        self.sent.0 = self.sent.0.saturating_add(steps.max(1));
        self.sent.1 = self.sent.1.saturating_add(pause.max(0));
    }

    fn sizes_add(&mut self, c: Current) {
        if c.number == 0 {
            self.first_size = c.datagrams;
        }
        if self.sizes.len() < 4096 || self.sizes.contains_key(&c.datagrams) {
            *self.sizes.entry(c.datagrams).or_default() += 1;
        }
        if self.octet_sizes.len() < 4096 || self.octet_sizes.contains_key(&c.octets) {
            *self.octet_sizes.entry(c.octets).or_default() += 1;
        }
    }

    /// Engine time since which content has not changed, when it came again often enough to show that it is sent all the
    /// same.
    pub(crate) fn insists_since(&self) -> Option<i64> {
        (self.repeating && self.repeats >= INSISTS).then_some(self.changed_at)
    }

    fn cause(&mut self, c: &Current, pause: i64) -> Closed {
        let same = !c.changed && self.changed_at != i64::MIN;
        self.repeating = same;
        if c.goodbye {
            self.causes.goodbye += 1;
        } else if c.restart {
            self.causes.restart += 1;
        } else if !same {
            self.causes.changed += 1;
        } else if pause >= KEEP_ALIVE {
            self.causes.keep_alive += 1;
        } else {
            self.causes.repeat += 1;
        }
        if !same || c.goodbye {
            self.changed_at = c.start;
            self.repeats = 0;
            self.frozen = false;
            return Closed::default();
        }
        self.repeats += 1;
        let frozen = c.start - self.changed_at > FROZEN_AFTER && self.repeats >= FROZEN_REPEATS;
        let froze = frozen && !self.frozen;
        self.frozen |= frozen;
        Closed { froze }
    }

    /// A keep-alive was seen, the frame being put together included as far as it is there.
    pub(crate) fn keeps_alive(&self) -> bool {
        let paused = |start: i64| self.before.is_some_and(|(_, before)| start - before >= KEEP_ALIVE);
        self.causes.keep_alive > 0 || self.current.is_some_and(|c| !c.changed && paused(c.start))
    }

    /// Data of this output asks for synchronization on `address`; the first few addresses are remembered.
    pub(crate) fn wants(&mut self, address: u16) {
        self.synced = true;
        if self.addresses.len() < ADDRESSES_MAX && !self.addresses.iter().any(|(a, _)| *a == address) {
            self.addresses.push((address, None));
        }
    }

    /// Time of the last sync packet on `address`.
    pub(crate) fn synced_at(&self, address: u16) -> Option<i64> {
        self.addresses.iter().find(|(a, _)| *a == address).and_then(|(_, at)| *at)
    }

    /// A sync packet for this output.
    pub(crate) fn on_sync(&mut self) {
        self.synced = true;
        let Some(mut c) = self.current else { return };
        if c.closed {
            self.causes.sync_only += 1;
            return;
        }
        if self.whole(c.datagrams) {
            self.sync.explicit += 1
        } else {
            self.sync.missed += 1
        }
        c.closed = true;
        self.current = Some(c);
    }

    /// Usual number of datagrams in a frame, when one number makes up most frames.
    pub(crate) fn usual_size(&self) -> Option<u32> {
        if self.declared > 0 {
            return Some(self.declared);
        }
        usual(&self.sizes)
    }

    /// Usual number of datagrams as seen, whatever a rig declares.
    pub(crate) fn learned_size(&self) -> Option<u32> {
        usual(&self.sizes)
    }

    /// Number of datagrams that nine of ten frames have, once sixteen were seen: the shape an output keeps to.
    pub(crate) fn strict_size(&self) -> Option<u32> {
        if self.declared > 0 {
            return Some(self.declared);
        }
        let total: u64 = self.sizes.values().sum();
        let (size, n) = self.sizes.iter().max_by_key(|(_, n)| **n)?;
        (total >= 16 && n * 10 >= total * 9).then_some(*size)
    }

    /// Usual number of octets in a frame.
    pub(crate) fn usual_octets(&self) -> Option<u64> {
        usual(&self.octet_sizes)
    }

    fn whole(&self, datagrams: u32) -> bool {
        self.usual_size().is_none_or(|n| datagrams >= n)
    }

    /// Notes that frame `number` lacks a datagram.
    pub(crate) fn tear(&mut self, number: i64, flow: usize, end: bool, place: (u64, i64)) {
        if let Some(t) = self.tears.get_mut(&number) {
            t.missing += 1;
            t.end |= end;
        } else if self.tears.len() < TEARS_MAX {
            self.tears.insert(number, Tear { flow, missing: 1, octets: 0, end, place });
            self.told.note(number);
        } else if self.tears_last != number {
            self.tears_last = number;
            self.tears_more += 1;
            self.line.torn(number);
        }
    }

    /// Notes that nothing was lost of a frame and something of it is in none of its chunks.
    pub(crate) fn hole(&mut self, flaw: &Flaw, flow: usize) {
        if self.tears.contains_key(&flaw.frame) {
            return;
        }
        self.tear(flaw.frame, flow, false, flaw.place);
        if let Some(t) = self.tears.get_mut(&flaw.frame) {
            t.missing = u64::from(flaw.missing);
            t.octets = u64::from(flaw.hole.1);
        }
    }

    /// Longest time from frame start to frame start since the last call, ns; 0 when no frame was closed.
    pub(crate) fn take_longest(&mut self) -> i64 {
        std::mem::take(&mut self.longest)
    }

    /// Forgets where the frame before began: the capture clock leapt.
    pub(crate) fn forget_time(&mut self) {
        self.before = None;
    }

    /// Frame counts between the raw numbers `base` and `end` (excluded).
    pub(crate) fn frames(&self, base: i64, end: i64) -> FrameAccount {
        let seen = u64::try_from(end - base).unwrap_or(0);
        let inside = || self.tears.range(base..end.max(base)).map(|(_, t)| t);
        let unterminated = inside().filter(|t| t.end).count() as u64;
        let torn = inside().count() as u64 - unterminated + self.tears_more;
        let torn = torn.min(seen.saturating_sub(unterminated));
        FrameAccount { seen, complete: seen - torn - unterminated, torn, unterminated }
    }

    /// Where its datagrams go, for an output of chunks.
    pub(crate) fn destination(&self, flows: &[Flow]) -> Option<SocketAddr> {
        let (flow, dest) = self.key.alone?;
        flows[flow].destinations.get(usize::from(dest)).map(|d| d.address)
    }

    /// Interval and spread of the frames.
    pub(crate) fn times(&mut self) -> (Spread, Spread) {
        (self.interval.spread(), self.spread.spread())
    }

    /// Frame intervals by length, in as many bars as a time line of `bins` bins deserves.
    pub(crate) fn bars(&mut self, bins: u64) -> Bars {
        self.interval.bars(bins)
    }

    /// Frame intervals so far. Allocates nothing.
    pub(crate) fn frame_intervals(&mut self) -> &mut Gauge {
        &mut self.interval
    }

    /// Mean rate of the frames sent, those that nobody saw included, in thousandths of a hertz.
    pub(crate) fn rate_mhz(&self) -> u64 {
        let counted = |n: i64| u64::try_from(n).unwrap_or(0);
        rate_mhz(counted(self.sent.0), counted(self.sent.1))
    }
}

fn usual<K: Copy + Ord>(sizes: &BTreeMap<K, u64>) -> Option<K> {
    let total: u64 = sizes.values().sum();
    let (size, n) = sizes.iter().max_by_key(|(_, n)| **n)?;
    (total >= 3 && n * 10 >= total * 6).then_some(*size)
}
