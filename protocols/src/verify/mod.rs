//! The verifier: a sans-IO state machine from datagrams to an [`account::Account`].
//!
//! Order of work for one datagram: clock, decoder, capture copy, checksum, stream, session, frame, numbering.
//! Everything is bounded; what goes beyond a bound is counted and said in `Account::limits`.

pub mod account;
mod anew;
mod arrive;
mod aside;
mod cadence;
mod checks;
mod chronicle;
mod chunks;
mod clock;
mod coincidence;
mod conflict;
mod content;
pub mod count;
mod episodes;
mod evidence;
mod findings;
mod finish;
mod flow;
mod frames;
mod glance;
mod habits;
mod heads;
mod herald;
mod judge;
mod leap;
mod model;
mod noted;
mod observation;
mod output;
mod outputs;
mod pauses;
mod ports;
mod progress;
pub mod rig;
mod rig_check;
pub mod ring_rules;
mod row;
pub mod rules;
mod sequence;
mod settle;
mod soon;
mod sources;
mod spread;
mod steady;
mod stride;
mod tap;
pub mod thresholds;
mod tiles;
mod timeline;
mod untiled;

pub use account::*;
pub use evidence::{DropLayer, HostDrops};
pub use glance::{Glance, STREAMS_SEEN_AT_ONCE};
pub use noted::{Noted, Remark};
pub use progress::{Progress, StreamProgress, WANTED_MAX};
pub use rig_check::missing_text;
pub use sequence::sacn_accepts;
pub use spread::{Bars, Quantiles};
pub use tap::TapEvidence;
pub use timeline::{ObserverTimeline, TimeAxis, Timeline};

use crate::layout::Layouts;
use crate::{Arrival, Cid, Datagram, Faults, Kind, Severity, Timestamp};
use clock::{Clock, Tick};
use conflict::Universes;
use flow::{Flow, FlowKey};
use leap::Leap;
use output::OutputKey;
use rig::Rig;
use settle::Shared;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

/// Most streams followed; datagrams of further ones are decoded and counted only.
pub const STREAMS_MAX: usize = 8_192;

/// What the caller decides beforehand.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Expected shape of the outputs.
    pub rig: Option<Rig>,
    /// Raise warnings to violations.
    pub strict: bool,
    /// Layouts of house protocols, asked before the decoders of the registry.
    pub layouts: Layouts,
    /// The observing platform counts no drops (macOS): a stall of the receive loop is all the evidence there is.
    pub no_drop_counter: bool,
}

impl Options {
    /// Severity of a finding that usually has this one: `strict` raises a warning, and what the rig sets wins.
    pub fn severity(&self, code: &str, usual: Severity) -> Severity {
        let raised = if self.strict && usual == Severity::Warning { Severity::Violation } else { usual };
        let set = self.rig.as_ref().and_then(|r| r.severities.iter().find(|(of, _)| of == code));
        set.map_or(raised, |(_, severity)| *severity)
    }
}

/// A time in which the capture lost packets.
#[derive(Clone, Copy, Debug)]
struct Blind {
    from: i64,
    to: i64,
    dropped: u64,
}

/// The engine. Feed datagrams in capture order, then call [`Verifier::finish`].
#[derive(Debug)]
pub struct Verifier {
    options: Options,
    clock: Clock,
    counts: DatagramCounts,
    kinds: Vec<(Kind, u64)>,
    faults: Faults,
    shared: Shared,
    flows: Vec<Flow>,
    by_key: HashMap<FlowKey, usize>,
    by_output: HashMap<OutputKey, Vec<usize>>,
    /// Streams of frames that may share their counter with other datagrams of the sender.
    by_home: HashMap<aside::Home, Vec<usize>>,
    /// Which stream follows which: lighting traffic is cyclic.
    successor: Vec<usize>,
    last_flow: usize,
    /// Headers of streams whose datagrams are expected.
    heads: heads::Heads<steady::Expected>,
    universes: Universes,
    leap: Option<Leap>,
    blind: Vec<Blind>,
    evidence: evidence::HostEvidence,
    tap: Option<TapEvidence>,
    discovered: BTreeMap<(IpAddr, Cid), BTreeSet<u16>>,
    first_copy: Option<(u64, i64)>,
    first_cut: Option<(u64, i64)>,
    first_fragment: Option<(u64, i64)>,
    unfollowed: u64,
    packets: u64,
    /// Time that the run went on after its last packet, ns.
    quiet: i64,
    /// When the run ended, by the clock of the stamps, as far as it was told.
    ended: Option<Timestamp>,
}

impl Verifier {
    /// An engine that has seen nothing.
    pub fn new(options: Options) -> Self {
        Verifier {
            options,
            clock: Clock::default(),
            counts: DatagramCounts::default(),
            kinds: Vec::new(),
            faults: Faults::new(),
            shared: Shared::default(),
            flows: Vec::new(),
            by_key: HashMap::new(),
            by_output: HashMap::new(),
            by_home: HashMap::new(),
            successor: Vec::new(),
            last_flow: 0,
            heads: heads::Heads::default(),
            universes: Universes::default(),
            leap: None,
            blind: Vec::new(),
            evidence: evidence::HostEvidence::default(),
            tap: None,
            discovered: BTreeMap::new(),
            first_copy: None,
            first_cut: None,
            first_fragment: None,
            unfollowed: 0,
            packets: 0,
            quiet: 0,
            ended: None,
        }
    }

    /// Takes one UDP datagram.
    pub fn on_datagram(&mut self, arrival: Arrival, d: &Datagram<'_>) {
        let now = self.tick(arrival);
        self.packets += 1;
        if self.goes_on(now, arrival, d).is_none() {
            self.arrive::<true>(now, arrival, d);
        }
    }

    /// The clock that stamps was set by `by` nanoseconds, as the observing host knows by another clock. The step is taken
    /// out of the time between the two packets that show it.
    pub fn on_clock_step(&mut self, by: i64) {
        self.clock.announce(by);
    }

    /// Takes note of the time of a capture record that holds no UDP datagram.
    pub fn on_packet(&mut self, arrival: Arrival) {
        self.tick(arrival);
    }

    /// Packets the capture itself lost between two instants (drop counters of the file or the observer).
    pub fn on_blind(&mut self, from: Timestamp, to: Timestamp, dropped: u64) {
        if dropped == 0 {
            return;
        }
        if self.blind.len() < 4096 {
            self.blind.push(Blind { from: from.0.min(to.0), to: to.0.max(from.0), dropped });
        } else if let Some(last) = self.blind.last_mut() {
            last.from = last.from.min(from.0);
            last.to = last.to.max(to.0);
            last.dropped = last.dropped.saturating_add(dropped);
        }
    }

    /// The run goes on until this time by the clock of the stamps, and no packet came since the last one: streams may have
    /// fallen silent with nothing after them to show it. Without it a run ends with its last packet.
    pub fn on_end(&mut self, at: Timestamp) {
        self.quiet = self.clock.since(at);
        self.ended = Some(at);
    }

    /// The time that [`Verifier::on_end`] was told.
    pub fn ended(&self) -> Option<Timestamp> {
        self.ended
    }

    /// Ends the run and hands over the account.
    pub fn finish(mut self) -> Account {
        self.settle_all();
        self.conclude()
    }

    #[inline(always)]
    fn tick(&mut self, arrival: Arrival) -> i64 {
        let before = self.clock.now();
        let (now, tick) = self.clock.advance(arrival.at);
        match tick {
            Tick::Normal => {}
            Tick::Back(by) => self.stepped(arrival, "fell back", by),
            Tick::Forward(by) => self.stepped(arrival, "was set forward", by),
            Tick::Leap(by) => self.leapt(arrival, before, by),
        }
        now
    }

    fn stepped(&mut self, arrival: Arrival, how: &str, by: i64) {
        let place = findings::Place { stream: None, packet: arrival.packet, stamp: arrival.at.0 };
        self.shared.findings.add(rules::TIME_CLOCK_STEP, rules::TIME_CLOCK_STEP.severity, place, 0, || {
            format!("the capture clock {how} by {} ms", by / crate::time::MS)
        });
        self.shared.outputs.iter_mut().for_each(output::Output::forget_time);
    }
}
