//! The source ports of one stream: whether a change of port is a new session, a second sender, or neither.
//!
//! One counter over several ports puts the numbers of the port that comes back behind those that other ports sent
//! meanwhile, however many are lost; a second sender goes on with its own. It knows numbers and ports only.

use super::conflict::ACTIVE_ARTNET;
use super::flow::Flow;
use super::model::Model;
use crate::{Pdu, Protocol};

/// Source ports remembered of one stream.
const PORTS_MAX: usize = 8;
/// Furthest behind the newest number that a port which comes back may be for what it sends to be late (E1.31 6.7.2).
pub(super) const LATE: i64 = 19;
/// Weight of a port that comes back with numbers like late ones, in ports that come back as those of one counter do, and
/// weight of a second sender: its counter may be a few numbers away only.
pub(super) const DOUBT: u32 = 16;
/// See [`DOUBT`].
pub(super) const CLASH: u32 = 4 * DOUBT;
/// Changes of port over which the numbers run on, from which on a port alone begins no session.
const RUNS_ON: u32 = 3;

/// A way between two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Steps {
    /// Forward, 0..cycle.
    pub forward: i64,
    /// Numbers in a cycle.
    pub cycle: i64,
}

impl Steps {
    /// It is as much behind as what comes late.
    pub(crate) fn is_late(self) -> bool {
        self.forward > 0 && self.cycle - self.forward <= LATE
    }
}

/// The source port changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// From the newest number of the stream.
    pub newest: Option<Steps>,
    /// From the newest number when this port was left.
    pub own: Option<Steps>,
    /// The port sent before, not long ago.
    pub back: bool,
    /// No port was known.
    pub first: bool,
}

#[derive(Clone, Copy, Debug)]
struct Port {
    port: u16,
    /// Newest number, and engine time, when another port took over.
    left: Option<(u32, i64)>,
}

/// The ports of a stream.
#[derive(Debug, Default)]
pub(crate) struct Ports {
    known: Vec<Port>,
    /// The port in use came back behind the newest number: its first number since, and the datagrams before that.
    behind: Option<(u32, u64)>,
    /// See [`DOUBT`].
    doubts: u32,
    /// Changes of port over which the numbers ran on.
    runs_on: u32,
}

impl Ports {
    /// The newest number when the port was left; `None` when it never was, or long ago.
    pub(crate) fn number(&self, port: u16, now: i64) -> Option<u32> {
        let (number, at) = self.known.iter().find(|p| p.port == port)?.left?;
        (now - at <= ACTIVE_ARTNET).then_some(number)
    }

    /// The port was seen before.
    pub(crate) fn knows(&self, port: u16) -> bool {
        self.known.iter().any(|p| p.port == port)
    }

    /// The port in use sends its first datagram since it came back; its number and the datagrams before it, when it is
    /// behind the newest number.
    pub(crate) fn entered(&mut self, behind: Option<(u32, u64)>) {
        self.behind = behind;
    }

    /// Another port takes over from this one, with so many datagrams of the stream before.
    pub(crate) fn left(&mut self, port: u16, (newest, datagrams): (u32, u64), at: i64) {
        // What comes behind the newest number does not become it.
        let own = |(first, before): (u32, u64)| {
            let sent = datagrams.saturating_sub(before + 1);
            first.wrapping_add(u32::try_from(sent).unwrap_or(0))
        };
        let number = self.behind.map_or(newest, own);
        if let Some(p) = self.known.iter_mut().find(|p| p.port == port) {
            p.left = Some((number, at));
        }
    }

    /// True when the source port was never seen, the first one aside; of very many ports none is called new.
    pub(crate) fn is_new(&mut self, port: u16) -> bool {
        if self.knows(port) || self.known.len() >= PORTS_MAX {
            return false;
        }
        self.known.push(Port { port, left: None });
        self.known.len() > 1
    }

    /// Another sender uses the port that comes back.
    pub(crate) fn clash(&mut self, turn: &Turn) -> bool {
        let Some((newest, own)) = turn.newest.zip(turn.own).filter(|_| turn.back) else { return false };
        if newest.forward <= own.forward {
            self.doubts = self.doubts.saturating_sub(1);
            return false;
        }
        self.doubts += if own.forward <= 1 { DOUBT } else { 0 };
        !newest.is_late() || self.doubts >= CLASH
    }

    /// The port takes over a stream of DDP, each of whose ports is a session: true when it does not go on with the
    /// numbers of the port before.
    pub(crate) fn inherits(&mut self, port: u16, turn: &Turn) -> bool {
        self.is_new(port);
        let Some(newest) = turn.newest.filter(|_| !turn.first) else { return false };
        let goes_on = newest.forward == 1;
        self.runs_on = if goes_on { self.runs_on.saturating_add(1) } else { self.runs_on.saturating_sub(1) };
        !goes_on && self.runs_on < RUNS_ON
    }
}

impl Flow {
    /// The datagram comes from another source port than the one before: whether its numbers begin anew with it.
    ///
    /// A port that was never seen begins a session; one that comes back, beside another that goes on, with numbers of its
    /// own is a second sender, and from here on the stream keeps the port that came back (see [`Flow::clash`]).
    #[inline]
    pub(crate) fn changes_port(&mut self, port: u16, pdu: &Pdu<'_>, now: i64) -> bool {
        if self.port == Some(port) {
            return false;
        }
        self.turn_to(port, pdu, now)
    }

    #[cold]
    fn turn_to(&mut self, port: u16, pdu: &Pdu<'_>, now: i64) -> bool {
        let before = self.port.replace(port);
        let raw = self.number(pdu);
        let steps = |from: Option<u32>| from.zip(raw).and_then(|(from, raw)| self.forward(from, raw));
        let newest = steps(self.group_raw);
        let own = self.cold.ports.number(port, now).map(|number| steps(Some(number)));
        if let (Some(before), Some(number)) = (before, self.group_raw) {
            self.cold.ports.left(before, (number, self.datagrams), self.arrived_at);
        }
        let behind = newest.is_some_and(Steps::is_late).then_some(raw).flatten();
        self.cold.ports.entered(behind.map(|raw| (raw, self.datagrams)));
        let turn = Turn { newest, own: own.flatten(), back: own.is_some(), first: before.is_none() };
        if self.protocol() == Protocol::Ddp {
            return self.cold.ports.inherits(port, &turn);
        }
        if self.clash.is_none() && self.cold.ports.clash(&turn) {
            self.clash = Some(port);
            self.cold.source.set_port(port);
            return true;
        }
        // A port that comes back after a long time comes with another session.
        let long_ago = self.cold.ports.knows(port) && !turn.back;
        self.cold.ports.is_new(port) || (long_ago && newest.is_some_and(|steps| steps.forward > 1))
    }

    /// Numbers from one forward to another, modulo the cycle.
    fn forward(&self, from: u32, to: u32) -> Option<Steps> {
        let model = self.model.unwrap_or_else(|| Model::prescribed(self.protocol()));
        let cycle = match self.protocol() {
            Protocol::Sacn => 256,
            _ => i64::try_from(model.cycle).unwrap_or(i64::MAX),
        };
        let forward = match self.protocol() {
            Protocol::Sacn => i64::from(to.wrapping_sub(from) & 0xff),
            _ => model.apart(from, to)?.rem_euclid(cycle.max(1)),
        };
        Some(Steps { forward, cycle })
    }
}
