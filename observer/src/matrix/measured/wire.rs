//! What the wire showed of each stream of the plan within the window.

use super::edges::{self, Lane};
use super::frames::{FrameStarts, Part, Shown};
use super::senders::Intruders;
use super::tape::{One, Taped};
use crate::matrix::declared;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use wireproof_matrices::arm::{Episode, Measured, Owners, Span, WireStream};
use wireproof_matrices::levels::Levels;
use wireproof_matrices::plan::{Plan, PlanStream};
use wireproof_protocols::Protocol;
use wireproof_protocols::verify::{Account, Finding, StreamAccount};
use wireproof_recorder::offset::Offset;
use wireproof_reports::reconcile::{Clock, DeviceRecord, reconcile};

/// A stream of the plan as something that datagrams can be held against.
pub(super) struct Wanted<'a> {
    pub(super) plan: &'a PlanStream,
    pub(super) port: u16,
    source: Option<IpAddr>,
    pub(super) universes: BTreeSet<u32>,
    pub(super) protocol: Option<Protocol>,
}

impl<'a> Wanted<'a> {
    fn of(whole: &Plan, plan: &'a PlanStream) -> Wanted<'a> {
        let protocol = declared::protocol(whole, plan);
        let port = plan.listen.parse::<SocketAddr>().map_or(0, |address| address.port());
        let universes =
            crate::rig_file::parse_ranges(&plan.universes).unwrap_or_default().into_iter().collect();
        Wanted { plan, port, source: plan.source.parse().ok(), universes, protocol }
    }

    /// The datagram belongs to the stream, whoever sent it.
    fn has(&self, protocol: Option<Protocol>, stream: u32, destination: SocketAddr) -> bool {
        let universe = protocol.is_none() || self.universes.is_empty() || self.universes.contains(&stream);
        let named = protocol.is_none_or(|protocol| protocol.name() == self.plan.protocol);
        named && universe && destination.port() == self.port
    }

    fn is_from(&self, source: SocketAddr) -> bool {
        self.source == Some(source.ip())
    }

    fn has_stream(&self, stream: &StreamAccount) -> bool {
        let to = |destination: &SocketAddr| self.has(Some(stream.protocol), stream.stream_id, *destination);
        self.is_from(stream.source) && stream.destinations.iter().any(to)
    }

    /// Place of a datagram in its frame.
    fn place(&self, one: &One) -> u64 {
        match one.protocol.is_some_and(declared::is_by_universe) {
            true => u64::from(one.stream),
            false => u64::from(one.offset),
        }
    }
}

/// Fills in streams and losses; the device's record, if it is there, says what was not sent. Returns the intervals between
/// the frames of each stream, ns, in their order.
pub(super) fn measure(
    plan: &Plan,
    levels: &Levels,
    taped: &Taped,
    device: Option<(&[u8], Offset)>,
    m: &mut Measured,
) -> Vec<(String, Vec<u64>)> {
    let mut intervals = Vec::new();
    let mut account = taped.account.clone();
    if let Some((image, offset)) = device {
        let mut record = DeviceRecord::default();
        if record.add(image).is_ok() {
            reconcile(&mut account, &record, &Clock::Measured(offset.into()));
        }
    }
    let wanted: Vec<Wanted<'_>> = plan.stream.iter().map(|stream| Wanted::of(plan, stream)).collect();
    let mut lanes: Vec<Lane> = Vec::new();
    for (index, want) in wanted.iter().enumerate() {
        let intruders = intruders(want, &taped.datagrams);
        let of = |one: &&One| of_device(want, one) && !intruders.sent(one);
        lanes.extend(edges::lanes(index, want, taped.datagrams.iter().filter(of)));
        let (mut stream, between) =
            passed(want, &intruders, plan.target.expected_fps, &taped.datagrams, m.window);
        intervals.push((stream.id.clone(), between));
        let own: Vec<usize> = indices(&account, want, &intruders);
        counted(&account, &own, &mut stream);
        let found = account.findings.iter().filter(|f| f.stream.is_some_and(|s| own.contains(&s)));
        let episodes: Vec<Episode> = found.filter_map(|f| episode(f, &stream.id)).collect();
        let ambiguous = episodes.iter().map(|e| e.owners.ambiguous).sum::<u64>().min(stream.owners.upstream);
        stream.owners.ambiguous = ambiguous;
        stream.owners.upstream -= ambiguous;
        m.episodes.extend(episodes);
        m.streams.push(stream);
    }
    edges::measure(plan, levels, &lanes, taped, m);
    m.episodes.sort_by(|a, b| (a.span, &a.stream).cmp(&(b.span, &b.stream)));
    intervals
}

fn indices(account: &Account, want: &Wanted<'_>, intruders: &Intruders) -> Vec<usize> {
    let streams = account.streams.iter().enumerate();
    let own = |stream: &StreamAccount| {
        want.has_stream(stream)
            && !intruders.has(stream.stream_id, &stream.destinations, stream.source.port())
    };
    streams.filter(|(_, stream)| own(stream)).map(|(i, _)| i).collect()
}

fn intruders(want: &Wanted<'_>, datagrams: &[One]) -> Intruders {
    Intruders::of(datagrams.iter().filter(|one| of_device(want, one)))
}

/// It is no copy, and the stream's from the host that is to send it.
fn of_device(want: &Wanted<'_>, one: &One) -> bool {
    !one.copy && want.has(one.protocol, one.stream, one.destination) && want.is_from(one.source)
}

/// What a pass over the datagrams shows, and the intervals between the frames, ns.
fn passed(
    want: &Wanted<'_>,
    intruders: &Intruders,
    fps: u32,
    datagrams: &[One],
    window: Span,
) -> (WireStream, Vec<u64>) {
    let mut stream = WireStream { id: want.plan.id.clone(), ..WireStream::default() };
    let mut frames = FrameStarts::new(fps, want.plan.datagrams_per_frame, want.plan.seq_modulus);
    let mut shown: Vec<Shown> = Vec::new();
    let inside = |ns: i64| (window.start_ns..window.end_ns).contains(&ns);
    for one in datagrams.iter().filter(|d| !d.copy && want.has(d.protocol, d.stream, d.destination)) {
        let counts = inside(one.at_ns);
        if !want.is_from(one.source) || intruders.sent(one) {
            stream.foreign += u64::from(counts);
            continue;
        }
        stream.datagrams += u64::from(counts);
        stream.shape += u64::from(counts && (!one.well_formed || one.protocol.is_none()));
        if one.data && one.protocol.is_some() {
            let (at_ns, place) = (one.at_ns, want.place(one));
            shown.extend(frames.datagram(Part { at_ns, place, number: one.number, digest: one.digest }));
        }
    }
    shown.extend(frames.finish());
    shown.retain(|frame| inside(frame.start_ns));
    stream.frames = shown.len() as u64;
    stream.first_ns = shown.first().map_or(0, |frame| frame.start_ns);
    stream.last_ns = shown.last().map_or(0, |frame| frame.start_ns);
    let pairs = shown.iter().zip(shown.iter().skip(1));
    let intervals: Vec<u64> = pairs.map(|(a, b)| a.start_ns.abs_diff(b.start_ns)).collect();
    stream.jitter_ns = jitter(&intervals);
    stream.payload = payload(&shown);
    (stream, intervals)
}

/// What the account of the window says.
fn counted(account: &Account, own: &[usize], stream: &mut WireStream) {
    for s in own.iter().filter_map(|i| account.streams.get(*i)) {
        stream.lost += s.sequence.lost;
        stream.duplicates += s.sequence.duplicates;
        stream.reordered += s.sequence.late + s.sequence.old;
        stream.owners.sender += s.owners.sender;
        stream.owners.wire += s.owners.wire;
        stream.owners.observer += s.owners.observer;
        stream.owners.upstream += s.owners.unknown;
    }
    let outputs = account.outputs.iter().filter(|o| o.streams.iter().any(|s| own.contains(s)));
    stream.shape += outputs.map(|o| o.frames.torn + o.frames.unterminated).sum::<u64>();
}

/// A loss as an episode.
fn episode(f: &Finding, stream: &str) -> Option<Episode> {
    let of = f.owners?;
    let missing = of.sender + of.wire + of.observer + of.unknown;
    if missing == 0 {
        return None;
    }
    // Beyond what is proven nobody knows whether it was lost at all.
    let ambiguous = f.open.max(missing.saturating_sub(f.proven)).min(of.unknown);
    let owners = Owners {
        sender: of.sender,
        wire: of.wire,
        observer: of.observer,
        upstream: of.unknown - ambiguous,
        ambiguous,
    };
    let span = Span { start_ns: f.since_ns, end_ns: f.last_ns };
    Some(Episode { stream: stream.to_owned(), span, missing, owners })
}

/// Intervals between frames: nearest rank of p50, p95, p99, ns.
fn jitter(intervals: &[u64]) -> [u64; 3] {
    let mut gaps = intervals.to_vec();
    gaps.sort_unstable();
    let at = |num: u64| wireproof_recorder::analysis::quantiles::at(&gaps, num, 100).unwrap_or(0);
    [at(50), at(95), at(99)]
}

fn payload(shown: &[Shown]) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for digest in shown.iter().filter_map(|frame| frame.digest.clone()) {
        *all.entry(digest).or_default() += 1;
    }
    all
}
