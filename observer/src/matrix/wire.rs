//! The wire of an arm: the live engine on threads of its own, its tape in the arm's folder, and what the runner is told
//! while it goes on.
//!
//! It decides nothing. The receive loop shares with this module only what it shares with `observe`.

use super::declared;
use super::going::{TAP, TAPE};
use crate::live::conduct::{Event, Observed, Run, RunError, conduct};
use crate::live::interfaces::{self, Interface};
use crate::live::multicast::Joins;
use crate::live::record::{HEADERS_MOST, RecordPlan};
use crate::live::source::{Source, SourceInfo};
use crate::live::tap::{TapError, TapFilter, TapOptions, packet_ring};
use crate::live::udp::{FULL_SIZE_CHARGE, UdpError, UdpOptions, UdpSource, hold_time};
use crossbeam_channel::Sender;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use wireproof_matrices::levels::Levels;
use wireproof_matrices::plan::{Pcap, Plan, PlanStream};
use wireproof_protocols::verify::{Options, Progress, StreamProgress};

/// Name of the capture beside a tape, when the plan asks for one.
pub const CAPTURE: &str = "capture.pcapng";
/// Octets of each payload in a capture of headers: that of sACN with its start code takes 126; a layout's may be longer.
const PAYLOAD_KEPT: u32 = 128;
/// Time between two looks at the streams.
const LOOK: Duration = Duration::from_millis(100);
/// A port that nothing is sent to (RFC 863).
const DISCARD: u16 = 9;
/// The time over which a rate is taken, ns.
const OVER_NS: i64 = 2_000_000_000;
/// The least time that says anything about a rate, ns.
const LEAST_NS: i64 = 400_000_000;

/// What the streams looked like at a moment.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// Frames a million seconds over the last two seconds, or as much as was seen so far, of the slowest stream.
    pub rate_uhz: Option<u64>,
    /// How far the worst stream is from the expected rate, ppm; `None` before two seconds were seen.
    pub off_ppm: Option<u64>,
    /// Datagrams missing over the last two seconds.
    pub gaps: u64,
    /// Streams of the plan of which something came, by name.
    pub seen: BTreeMap<String, u64>,
    /// All streams were seen that the device sends.
    pub all: bool,
    /// Missing since the start.
    pub lost: u64,
    /// Lost by the observer since the start.
    pub observer_lost: u64,
    /// Longest gap of the receive loop since the start, ns.
    pub loop_gap_ns: u64,
}

/// A running wire.
#[derive(Debug)]
pub struct Wire {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Observed, RunError>>,
}

/// Why there is no wire.
#[derive(Debug, thiserror::Error)]
pub enum NoWire {
    /// A socket cannot be had.
    #[error(transparent)]
    Sockets(#[from] UdpError),
    /// A stream of the plan has no address.
    #[error("stream {0}: listen is no address and port")]
    Listen(String),
    /// A tap cannot be had for want of a right.
    #[error(
        "--tap {interface} takes the right CAP_NET_RAW: run `sudo setcap cap_net_raw=ep {binary}`, run as root, or leave --tap out"
    )]
    TapRights {
        /// Interface as given.
        interface: String,
        /// Path of the running program.
        binary: String,
    },
    /// A tap cannot be had.
    #[error("--tap: {0}")]
    Tap(TapError),
    /// No thread.
    #[error("the wire's thread cannot be started: {0}")]
    Thread(std::io::Error),
    /// It could not run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// It died.
    #[error("the wire's thread ended too early")]
    Died,
}

/// Where what an arm receives goes.
#[derive(Clone, Debug)]
pub struct Into {
    /// Folder of the arm.
    pub folder: PathBuf,
    /// Interface with a tap on it beside the sockets.
    pub tap: Option<String>,
}

/// Opens a tap that hears what the plan's sockets hear, and transmits nothing.
///
/// # Errors
/// [`NoWire::Tap`], [`NoWire::TapRights`]
pub fn open_tap(plan: &Plan, interface: &str) -> Result<Box<dyn Source>, NoWire> {
    let port = |stream: &PlanStream| Some(stream.listen.parse::<SocketAddr>().ok()?.port());
    let ports: BTreeSet<u16> = plan.stream.iter().filter_map(port).collect();
    let filter = TapFilter::Ports(ports.into_iter().collect());
    let options = TapOptions { promiscuous: false, ..TapOptions::new(interface, filter) };
    packet_ring(&options).map_err(|error| match error {
        TapError::NotPermitted { interface, binary } => NoWire::TapRights { interface, binary },
        error => NoWire::Tap(error),
    })
}

/// The capture of an arm, as the plan wants it.
fn capture(plan: &Plan, folder: &Path) -> Option<RecordPlan> {
    let snap = match plan.evidence.pcap {
        Pcap::None => return None,
        Pcap::Headers => HEADERS_MOST + PAYLOAD_KEPT.max(declared::longest_header(plan)),
        Pcap::Full => 0,
    };
    let min_free = plan.evidence.min_free_bytes;
    Some(RecordPlan { path: folder.join(CAPTURE), snap, min_free, ..RecordPlan::default() })
}

/// Opens the sockets of a plan.
///
/// # Errors
/// An address that is none, or a socket that cannot be had.
pub fn open(plan: &Plan) -> Result<UdpSource, NoWire> {
    let mut addresses: Vec<SocketAddr> = Vec::new();
    let mut universes = Vec::new();
    for stream in &plan.stream {
        let address: SocketAddr = stream.listen.parse().map_err(|_| NoWire::Listen(stream.id.clone()))?;
        // A listen address that is a group is joined; the socket is bound to its port.
        let bound = if address.ip().is_multicast() { any(address) } else { address };
        if !addresses.contains(&bound) {
            addresses.push(bound);
        }
        if address.ip().is_multicast() && stream.protocol == "sacn" {
            let wanted = crate::rig_file::parse_ranges(&stream.universes).unwrap_or_default();
            universes.extend(wanted.into_iter().filter_map(|universe| u16::try_from(universe).ok()));
        }
    }
    let options = UdpOptions {
        addresses,
        rate: Some(rate(plan)),
        joins: Joins { universes, ..Joins::default() },
        ..UdpOptions::default()
    };
    Ok(UdpSource::open(&options)?)
}

fn any(address: SocketAddr) -> SocketAddr {
    let ip: IpAddr = if address.is_ipv4() { [0, 0, 0, 0].into() } else { [0_u16; 8].into() };
    SocketAddr::new(ip, address.port())
}

/// Datagrams a second of all streams.
pub fn rate(plan: &Plan) -> u32 {
    let of = |stream: &PlanStream| stream.datagrams_per_frame.saturating_mul(plan.target.expected_fps);
    plan.stream.iter().map(of).fold(0, u32::saturating_add)
}

/// The interface that the plan's streams come in by; `None` when there are several, or nobody knows: all are counted then.
pub fn interface(plan: &Plan) -> Option<String> {
    let local = |stream: &PlanStream| {
        let source: IpAddr = stream.source.parse().ok()?;
        let any: IpAddr = if source.is_ipv4() { [0, 0, 0, 0].into() } else { [0_u16; 8].into() };
        // Connecting a UDP socket sends nothing; it asks the routing table.
        let socket = UdpSocket::bind((any, 0)).ok()?;
        socket.connect((source, DISCARD)).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    let locals: BTreeSet<IpAddr> = plan.stream.iter().map(local).collect::<Option<_>>()?;
    let has = |interface: &Interface| interface.addresses.iter().any(|ip| locals.contains(ip));
    let found: Vec<Interface> = interfaces::list().into_iter().filter(has).collect();
    <[Interface; 1]>::try_from(found).ok().map(|[one]| one.name)
}

/// How long a socket of these buffers holds the plan's traffic, ns.
pub fn hold_ns(info: &SourceInfo, plan: &Plan) -> u64 {
    let held = hold_time(info.buffer_bytes.1, FULL_SIZE_CHARGE, rate(plan));
    u64::try_from(held.as_nanos()).unwrap_or(u64::MAX)
}

impl Wire {
    /// Begins to receive into the folder of an arm, or into nothing. What the streams look like that the device sends at these
    /// levels goes to `looks`, as far as somebody takes it.
    ///
    /// # Errors
    /// [`NoWire`]
    pub fn start(
        plan: &Arc<Plan>,
        levels: &Levels,
        into: Option<&Into>,
        looks: Sender<Look>,
    ) -> Result<Wire, NoWire> {
        // The tap first: it has to have been there for whatever a socket could miss.
        let tap = into.and_then(|into| into.tap.as_deref()).map(|name| open_tap(plan, name)).transpose()?;
        let source = open(plan)?;
        let stop = Arc::new(AtomicBool::new(false));
        let run = Run {
            digests: into.is_some(),
            record: into.and_then(|into| capture(plan, &into.folder)),
            tape: into.map(|into| into.folder.join(TAPE)),
            tap_tape: into.filter(|_| tap.is_some()).map(|into| into.folder.join(TAP)),
            tap: Mutex::new(tap),
            interrupted: Arc::clone(&stop),
            progress_every: Some(LOOK),
            interface: interface(plan),
            ..Run::default()
        };
        let layouts = declared::layouts(plan);
        let options = Options { no_drop_counter: !source.counts_drops(), layouts, ..Options::default() };
        let mut rates = Rates::new(Arc::clone(plan), levels.clone());
        let body = move || {
            let sources: Vec<Box<dyn Source>> = vec![Box::new(source)];
            conduct(sources, options, &run, &mut |event| {
                if let Event::Progress(_, progress, vitals) = event {
                    // Nobody waits for it: the next one is newer.
                    let _ = looks.try_send(rates.look(progress, vitals.lost, vitals.loop_gap_max_ns));
                }
            })
        };
        let thread =
            thread::Builder::new().name("matrix-wire".to_owned()).spawn(body).map_err(NoWire::Thread)?;
        Ok(Wire { stop, thread })
    }

    /// True when it ended by itself.
    pub fn is_over(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends it; the tape is on the disk then.
    ///
    /// # Errors
    /// What kept it from running.
    pub fn stop(self) -> Result<Observed, NoWire> {
        self.stop.store(true, Ordering::Relaxed);
        Ok(self.thread.join().map_err(|_| NoWire::Died)??)
    }
}

/// Counts of a stream at a moment.
#[derive(Clone, Copy, Debug)]
struct Count {
    at_ns: i64,
    datagrams: u64,
    lost: u64,
}

/// Rates from row of looks.
struct Rates {
    plan: Arc<Plan>,
    levels: Levels,
    /// By plan stream, source and stream id: the looks of the last two seconds and a little more.
    kept: BTreeMap<(usize, IpAddr, u32), VecDeque<Count>>,
}

impl Rates {
    fn new(plan: Arc<Plan>, levels: Levels) -> Rates {
        Rates { plan, levels, kept: BTreeMap::new() }
    }

    fn look(&mut self, progress: &Progress, observer_lost: u64, loop_gap_ns: u64) -> Look {
        let plan = Arc::clone(&self.plan);
        let mut look = Look { lost: progress.lost, observer_lost, loop_gap_ns, ..Look::default() };
        for s in &progress.streams {
            let mut expected = plan.stream.iter().enumerate().filter(|(_, p)| plan.sends(p, &self.levels));
            let Some((at, stream)) = expected.find(|(_, p)| is_of(p, s)) else { continue };
            *look.seen.entry(stream.id.clone()).or_default() += s.datagrams;
            let count = Count { at_ns: s.last_ns, datagrams: s.datagrams, lost: s.lost };
            let kept = self.kept.entry((at, s.source.ip(), s.stream_id)).or_default();
            kept.push_back(count);
            while kept.get(1).is_some_and(|next| count.at_ns - next.at_ns >= OVER_NS) {
                kept.pop_front();
            }
            let Some(first) = kept.front().filter(|first| count.at_ns - first.at_ns >= LEAST_NS) else {
                continue;
            };
            let rate = rate_uhz(first, &count, own_share(stream, s));
            look.rate_uhz = Some(look.rate_uhz.unwrap_or(u64::MAX).min(rate));
            if count.at_ns - first.at_ns < OVER_NS {
                continue;
            }
            look.gaps += count.lost.saturating_sub(first.lost);
            let expected = u64::from(plan.target.expected_fps) * 1_000_000;
            let off = rate.abs_diff(expected) * 1_000_000 / expected.max(1);
            look.off_ppm = Some(look.off_ppm.unwrap_or(0).max(off));
        }
        look.all = plan.stream.iter().all(|p| look.seen.contains_key(&p.id) || !plan.sends(p, &self.levels));
        if !look.all {
            (look.off_ppm, look.rate_uhz) = (None, None);
        }
        look
    }
}

fn is_of(plan: &PlanStream, s: &StreamProgress) -> bool {
    let source = plan.source.parse::<IpAddr>().is_ok_and(|ip| ip == s.source.ip());
    let universes = crate::rig_file::parse_ranges(&plan.universes).unwrap_or_default();
    let universe = universes.is_empty() || universes.contains(&s.stream_id);
    // Syncs and the like have their own streams and carry no frames.
    let data = matches!(s.kind, "data" | "display" | "chunk" | "ArtDmx");
    let port = plan.listen.parse::<SocketAddr>().is_ok_and(|listen| listen.port() == s.destination.port());
    source && port && universe && data && s.protocol.name() == plan.protocol
}

/// Datagrams of a frame in this flow: one where each universe is a flow, all of them otherwise.
fn own_share(plan: &PlanStream, s: &StreamProgress) -> u64 {
    match declared::is_by_universe(s.protocol) {
        true => 1,
        false => u64::from(plan.datagrams_per_frame.max(1)),
    }
}

/// Frames a million seconds between two looks. A look in the middle of a frame counts it as begun.
fn rate_uhz(first: &Count, last: &Count, share: u64) -> u64 {
    let begun = |count: &Count| count.datagrams.saturating_add(count.lost).div_ceil(share);
    let frames = u128::from(begun(last).saturating_sub(begun(first)));
    let passed = u128::from(last.at_ns.abs_diff(first.at_ns)).max(1);
    u64::try_from(frames * 1_000_000_000_000_000 / passed).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_that_of_frames_whatever_the_moment_of_the_look() {
        let first = Count { at_ns: 0, datagrams: 6, lost: 0 };
        let last = |datagrams, lost| Count { at_ns: 2_000_000_000, datagrams, lost };
        assert_eq!(rate_uhz(&first, &last(726, 0), 6), 60_000_000);
        assert_eq!(
            rate_uhz(&first, &last(723, 0), 6),
            60_000_000,
            "three of the last frame's six were there"
        );
        assert_eq!(rate_uhz(&first, &last(720, 6), 6), 60_000_000, "a lost frame is missing, not slow");
        assert_eq!(rate_uhz(&first, &last(66, 0), 1), 30_000_000);
    }

    #[test]
    fn the_interface_of_streams_from_this_host_is_the_loopback() {
        let mut plan = crate::matrix::measured::example_plan();
        plan.stream[0].source = "127.0.0.1".to_owned();
        let loopback = interfaces::list().into_iter().find(|interface| interface.loopback);
        assert_eq!(interface(&plan), loopback.map(|interface| interface.name));
        plan.stream[0].source = "no address".to_owned();
        assert_eq!(interface(&plan), None);
    }
}
