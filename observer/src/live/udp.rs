//! The UDP socket source: datagrams of the protocol ports with kernel stamps, destination and drop account. It sends
//! nothing and joins no group unless asked.
//!
//! Waiting: as soon as one socket is readable the thread sleeps for one millisecond and then takes everything, when
//! the buffer can hold the load that long; the kernel has stamped the datagrams already, and one wake-up serves many. It
//! does not sleep when it left datagrams behind for want of time.
//!
//! Order: within a round the datagrams of all sockets are handed over by stamp; those stamped after the round began
//! wait for the next round, because another socket may still receive an earlier one. So steps back between sockets are
//! the few microseconds from stamp to queue. Datagrams of one socket keep the order of its queue.
//!
//! Drops: [`Seen::Dropped`] tells what the counter beside a datagram shows, at its place; [`Source::counters`] asks the
//! kernel and includes what no datagram has announced; [`UdpSource::take_unannounced`] tells that rest when no datagram
//! will follow. Each drop is told once.

mod control;
mod error;
mod lane;
mod open;
mod options;
mod platform;

pub use error::UdpError;
pub use options::{
    FULL_SIZE_CHARGE, GATHER_HOLD, HOLD, UNKNOWN_BUFFER, UNKNOWN_RATE, UdpOptions, default_addresses,
    hold_time,
};

use crate::live::multicast::JoinBudget;
use crate::live::source::{Layer, Seen, Source, SourceCounters, SourceInfo};
use crate::live::sys_socket::{MOST_SLOTS, PollSet};
use lane::{Lane, now};
use open::{Bound, Opened};
use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;
use wireproof_protocols::Timestamp;

/// How long datagrams may gather before they are taken.
const GATHER: Duration = Duration::from_millis(1);
/// Most datagrams of one round, a few milliseconds of work, so that a flood does not keep the receive loop from its
/// other duties.
const ROUND: usize = 4_096;
/// Datagram slots of all sockets together, where there are many sockets: about 9.5 MB.
const SLOTS: usize = 1_024;

/// Said of sockets whose drops nobody counts.
const NO_COUNTER: &str = "No counter tells what these sockets drop: whose a loss is stays open \
    (INCONCLUSIVE), and a stall of the receive loop is held against the observer.";

/// UDP sockets as one source.
pub struct UdpSource {
    lanes: Vec<Lane>,
    set: PollSet,
    gathers: bool,
    /// The last round was full, so that more is there already.
    behind: bool,
    /// What went wrong behind datagrams that were handed over; told by the next poll.
    failure: Option<io::Error>,
    info: SourceInfo,
    budget: Option<JoinBudget>,
    counts_drops: bool,
}

impl UdpSource {
    /// Opens the sockets and joins the groups asked for.
    ///
    /// # Errors
    /// What could not be opened or joined, with what to do about it; nothing stays open or joined then.
    pub fn open(options: &UdpOptions) -> Result<Self, UdpError> {
        let Opened { sockets, budget, mut notes } = open::open(options)?;
        let granted = sockets.iter().map(|s| s.granted).min().unwrap_or(0);
        let gathers = options.may_gather(granted);
        let stamped = sockets.iter().all(|s| s.kernel_stamps);
        notes.extend(buffer_note(options, granted));
        notes.extend(options.is_portable().then(|| NO_COUNTER.to_owned()));
        notes.extend((!gathers).then(|| gather_note(options, granted)));
        notes.extend(
            (!stamped).then(|| "The kernel does not stamp: times are those of this process.".to_owned()),
        );
        let info = SourceInfo {
            kind: "udp",
            name: names(&sockets),
            timestamps: if stamped { "kernel" } else { "user" },
            link_type: None,
            buffer_bytes: (options.asked_bytes().into(), granted),
            notes,
        };
        let slots = (SLOTS / sockets.len().max(1)).clamp(8, MOST_SLOTS);
        let lanes: Vec<_> = sockets.into_iter().map(|bound| Lane::new(bound, slots)).collect();
        let set = PollSet::new(lanes.iter().map(Lane::fd), options.is_portable());
        Ok(UdpSource {
            lanes,
            set,
            gathers,
            behind: false,
            failure: None,
            info,
            budget,
            counts_drops: !options.is_portable(),
        })
    }

    /// Address and port of each socket, ports as the system chose them.
    pub fn local_addresses(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.lanes.iter().map(Lane::local)
    }

    /// What the joins cost; `None` when none was asked for.
    pub fn join_budget(&self) -> Option<&JoinBudget> {
        self.budget.as_ref()
    }

    /// True when datagrams gather for a millisecond before they are taken.
    pub fn gathers(&self) -> bool {
        self.gathers
    }

    /// Asks the kernel once more and returns the drops that no [`Seen::Dropped`] has told; they count as told. For the
    /// end, after the last poll found nothing.
    ///
    /// # Errors
    /// What the operating system says; the drops known before are kept for another call.
    pub fn take_unannounced(&mut self) -> io::Result<u64> {
        self.counters()?;
        Ok(self.lanes.iter_mut().map(|lane| lane.drops.take_rest()).sum())
    }

    /// Leaves every group and closes the sockets, as dropping the source does, but says what went wrong.
    ///
    /// # Errors
    /// The first membership the system refused to end (closing ends it all the same).
    pub fn close(mut self) -> io::Result<()> {
        let mut first = Ok(());
        for lane in &mut self.lanes {
            first = first.and(lane.leave());
        }
        first
    }

    /// Begins a round on every socket.
    fn begin(&mut self) {
        for (at, lane) in self.lanes.iter_mut().enumerate() {
            if let Err(e) = lane.begin(self.set.is_ready(at)) {
                self.failure = Some(e);
            }
        }
    }

    /// The socket whose head is the earliest that may be handed over, and the stamp up to which it stays the earliest.
    #[inline]
    fn earliest(&self, horizon: Timestamp) -> Option<(usize, Timestamp)> {
        let mut first: Option<(usize, Timestamp)> = None;
        let mut second = Timestamp(i64::MAX);
        for (at, lane) in self.lanes.iter().enumerate() {
            let Some(stamp) = lane.head_until(horizon) else { continue };
            match first {
                Some((_, earliest)) if stamp >= earliest => second = second.min(stamp),
                _ => {
                    second = first.map_or(second, |(_, earliest)| earliest);
                    first = Some((at, stamp));
                }
            }
        }
        first.map(|(at, _)| (at, second))
    }

    /// Hands over everything up to the horizon, by stamp.
    fn merge(&mut self, horizon: Timestamp, each: &mut dyn FnMut(Seen<'_>)) -> usize {
        let (mut steps, mut handed) = (0, 0);
        while steps < ROUND {
            let Some((at, until)) = self.earliest(horizon) else { break };
            let Some(lane) = self.lanes.get_mut(at) else { break };
            while steps < ROUND && lane.head_until(horizon).is_some_and(|stamp| stamp <= until) {
                handed += lane.hand_over(each);
                steps += 1;
                if let Err(e) = lane.advance() {
                    self.failure = Some(e);
                }
            }
        }
        self.behind = steps >= ROUND;
        handed
    }
}

impl Source for UdpSource {
    fn poll(&mut self, wait: Duration, each: &mut dyn FnMut(Seen<'_>)) -> io::Result<usize> {
        if let Some(e) = self.failure.take() {
            return Err(e);
        }
        let holds_some = self.lanes.iter().any(Lane::has_head);
        if !holds_some && self.set.wait(wait)? == 0 {
            return Ok(0);
        }
        let gathers = self.gathers && !self.behind && wait >= GATHER;
        if gathers {
            thread::sleep(GATHER);
        }
        let is_alone = self.lanes.len() == 1;
        // A single socket needs no order among sockets: its queue is the order.
        let horizon = if is_alone { Timestamp(i64::MAX) } else { now() };
        // With several sockets, each has to be asked after the horizon was set: one that became readable before it
        // must not be passed over.
        if holds_some || !is_alone {
            self.set.wait(Duration::ZERO)?;
        }
        self.begin();
        let handed = self.merge(horizon, each);
        match self.failure.take_if(|_| handed == 0) {
            Some(e) => Err(e),
            None => Ok(handed),
        }
    }

    fn counters(&mut self) -> io::Result<SourceCounters> {
        let mut sum = SourceCounters::default();
        for lane in &mut self.lanes {
            let memory = lane.ask()?;
            sum.received += lane.received;
            sum.dropped += lane.drops.known();
            sum.cut += lane.cut;
            sum.queued_bytes += u64::from(memory.queued);
            sum.granted_bytes += u64::from(memory.granted);
        }
        Ok(sum)
    }

    fn take_unannounced(&mut self) -> io::Result<u64> {
        UdpSource::take_unannounced(self)
    }

    fn layer(&self) -> Layer {
        Layer::Socket
    }

    fn counts_drops(&self) -> bool {
        self.counts_drops
    }

    fn info(&self) -> &SourceInfo {
        &self.info
    }
}

/// The addresses in words, each once.
fn names(sockets: &[Bound]) -> String {
    let firsts = sockets.iter().filter(|s| !s.is_shard);
    firsts.map(|s| s.local.to_string()).collect::<Vec<_>>().join(", ")
}

fn buffer_note(options: &UdpOptions, granted: u64) -> Option<String> {
    let asked = options.asked_bytes();
    (granted < u64::from(asked)).then(|| {
        format!(
            "The receive buffer is {granted} octets where {asked} were asked for; allow more with {}.",
            platform::buffer_advice(asked)
        )
    })
}

fn gather_note(options: &UdpOptions, granted: u64) -> String {
    let held = hold_time(granted, FULL_SIZE_CHARGE, options.expected_rate());
    format!(
        "The receive buffer holds {} ms of {} datagrams per second, less than {} ms: datagrams are taken at once, which \
         costs more processor time.",
        held.as_millis(),
        options.expected_rate(),
        GATHER_HOLD.as_millis()
    )
}
