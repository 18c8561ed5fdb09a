//! A look at a run that goes on: counts by stream, taken without disturbing anything.

use super::Verifier;
use super::account::{Ended, Owners, StreamAccount};
use super::flow::Flow;
use super::output::Output;
use super::spread::{Bars, Gauge, Quantiles};
use crate::{Protocol, Severity};
use std::net::SocketAddr;

/// Where a stream stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamProgress {
    /// Protocol.
    pub protocol: Protocol,
    /// Packet kind without protocol.
    pub kind: &'static str,
    /// Source address and first source port.
    pub source: SocketAddr,
    /// First destination.
    pub destination: SocketAddr,
    /// Universe, Port-Address, DDP ID or device id.
    pub stream_id: u32,
    /// Datagrams.
    pub datagrams: u64,
    /// Missing, as counted so far.
    pub lost: u64,
    /// Out of order, filled a hole.
    pub late: u64,
    /// Same number again.
    pub duplicates: u64,
    /// Sessions begun after the first.
    pub restarts: u64,
    /// Capture time of the newest datagram, ns since 1970.
    pub last_ns: i64,
    /// Usual interval between datagrams, ns; 0 while it is not known.
    pub period_ns: i64,
    /// Frames begun so far, those that the ends of the run cut included.
    pub frames: u64,
    /// Frames with a hole or without their end so far.
    pub torn: u64,
    /// It said goodbye, and nothing came since.
    pub ended: bool,
    /// Owners of `lost` so far. What the observer's counters explain is taken out of `unknown` when the run ends.
    pub owners: Owners,
    /// Time from frame to frame; all 0 unless it was asked for (see [`Progress::wanted`]).
    pub intervals: Quantiles,
}

/// Most streams whose distributions are worked out for one look: at some 6 µs each, 0.3 ms of the receive loop.
pub const WANTED_MAX: usize = 48;
/// Bars of the chart of a stream.
const BARS: usize = 64;

/// Where a run stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Streams in order of appearance, as many as the list has room for.
    pub streams: Vec<StreamProgress>,
    /// All streams.
    pub streams_seen: usize,
    /// Lighting datagrams.
    pub lighting: u64,
    /// Other UDP datagrams.
    pub other: u64,
    /// Lighting datagrams that broke a shape rule.
    pub malformed: u64,
    /// Missing over all streams, as counted so far.
    pub lost: u64,
    /// Findings by severity so far: info, warning, violation.
    pub findings: [u64; 3],
    /// Streams whose frame intervals are asked for, by their place in `streams`; those beyond [`WANTED_MAX`] are not
    /// answered.
    pub wanted: Vec<usize>,
    /// The stream whose frame intervals are asked for as bars.
    pub charted: Option<usize>,
    /// Them; empty when none are asked for.
    pub bars: Bars,
}

impl Progress {
    /// A record with room for so many streams.
    pub fn with_room(streams: usize) -> Progress {
        Progress {
            streams: Vec::with_capacity(streams),
            wanted: Vec::with_capacity(WANTED_MAX),
            bars: Bars { counts: Vec::with_capacity(BARS), ..Bars::default() },
            ..Progress::default()
        }
    }
}

/// Where the times between a stream's frames are gathered.
fn gauge<'a>(flow: &'a mut Flow, outputs: &'a mut [Output]) -> &'a mut Gauge {
    let output = flow.chunks.first().and_then(|c| outputs.get_mut(c.output));
    match output {
        Some(output) => output.frame_intervals(),
        None => &mut flow.intervals,
    }
}

/// Frames begun, and torn ones or ones without an end among them, so far.
fn frames(flow: &Flow, outputs: &[Output]) -> (u64, u64) {
    let count = |n: i64| u64::try_from(n).unwrap_or(0);
    if !flow.chunked() {
        let torn = flow.cold.torn.len() as u64 + flow.cold.torn_more;
        return (flow.group_frame.map_or(0, |n| count(n.saturating_add(1))), torn);
    }
    flow.chunks.iter().fold((0, 0), |(seen, torn), c| {
        let holes = outputs.get(c.output).map_or(0, |o| o.tears.len() as u64 + o.tears_more);
        (seen + count(c.frame.saturating_add(1)), torn + holes)
    })
}

fn stream(f: &mut Flow, outputs: &[Output]) -> StreamProgress {
    let (frames, torn) = frames(f, outputs);
    StreamProgress {
        protocol: f.protocol(),
        kind: f.key.kind.short(),
        source: f.cold.source,
        destination: f.destinations.first().map_or(f.cold.source, |to| to.address),
        stream_id: f.key.stream,
        datagrams: f.datagrams,
        lost: f.cold.sequence.lost,
        late: f.cold.sequence.late,
        duplicates: f.cold.sequence.duplicates,
        restarts: f.cold.sequence.restarts,
        last_ns: f.last_stamp,
        period_ns: f.cadence.rough().unwrap_or(0),
        frames,
        torn,
        ended: f.ended == Ended::Terminated,
        owners: f.cold.owners,
        intervals: Quantiles::default(),
    }
}

impl Verifier {
    /// Fills in where the run stands. Never allocates: streams beyond the list's capacity are left out.
    pub fn progress(&mut self, into: &mut Progress) {
        into.streams.clear();
        into.streams_seen = self.flows.len();
        into.lighting = self.counts.lighting;
        into.other = self.counts.other;
        into.malformed = self.counts.malformed;
        into.lost = self.flows.iter().fold(0, |sum, f| sum.saturating_add(f.cold.sequence.lost));
        (_, into.findings) = self.counts_so_far();
        let room = into.streams.capacity();
        let outputs = &self.shared.outputs;
        into.streams.extend(self.flows.iter_mut().take(room).map(|f| stream(f, outputs)));
        self.distributions(into);
    }

    /// The distributions that are asked for; others would cost the receive loop too much.
    fn distributions(&mut self, into: &mut Progress) {
        into.bars.clear();
        let Progress { streams, wanted, charted, bars, .. } = into;
        for index in wanted.iter().take(WANTED_MAX) {
            if let (Some(s), Some(flow)) = (streams.get_mut(*index), self.flows.get_mut(*index)) {
                s.intervals = gauge(flow, &mut self.shared.outputs).quantiles();
            }
        }
        if let Some(flow) = charted.and_then(|index| self.flows.get_mut(index)) {
            gauge(flow, &mut self.shared.outputs).bars_into(bars);
        }
    }

    /// Findings listed so far.
    #[inline]
    pub fn findings_so_far(&self) -> usize {
        self.shared.findings.listed().len()
    }

    /// The number of a severity in [`Progress::findings`].
    pub const fn severity_index(severity: Severity) -> usize {
        severity as usize
    }
}

impl StreamAccount {
    /// The stream in words, e.g. `universe 3 of 10.0.0.1`.
    pub fn words(&self) -> String {
        let id = self.stream_id;
        let what = match self.protocol {
            Protocol::Sacn => format!("universe {id}"),
            Protocol::ArtNet => format!("port-address {id}"),
            Protocol::Ddp => format!("DDP ID {id}"),
            Protocol::BigPacket => format!("device {id}"),
            Protocol::Layout(_) => format!("stream {id}"),
            Protocol::Kinet => format!("{}/{} {id}", self.protocol.name(), self.kind),
        };
        format!("{what} of {}", self.source.ip())
    }
}
