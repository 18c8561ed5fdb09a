//! What the verifier hands over at the end: plain data, from which every report and verdict is made.

use super::spread::Bars;
use super::timeline::{ObserverTimeline, TimeAxis, Timeline};
use crate::{Protocol, Severity};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Everything learned from one run.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// First and last capture time over all packets, ns since 1970.
    pub first_ns: Option<i64>,
    /// See `first_ns`.
    pub last_ns: Option<i64>,
    /// Datagram counts.
    pub datagrams: DatagramCounts,
    /// One entry a stream, in order of first appearance.
    pub streams: Vec<StreamAccount>,
    /// One entry an output (what one frame is made of), in order of first appearance.
    pub outputs: Vec<OutputAccount>,
    /// Findings in order of first occurrence; `id` is `f0001`, `f0002`, …
    pub findings: Vec<Finding>,
    /// What this capture cannot show, one sentence each.
    pub limits: Vec<String>,
    /// What the observing host lost, by its own counters; all 0 for a capture file that carries no such evidence.
    pub observer: ObserverLoss,
    /// The bins of all time lines.
    pub axis: TimeAxis,
    /// What the observer and the capture lost over time.
    pub observer_timeline: ObserverTimeline,
}

/// Losses of the observing host by counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObserverLoss {
    /// Socket buffers, wrong checksums left out.
    pub socket: u64,
    /// Packet ring or libpcap buffer.
    pub ring: u64,
    /// Missing datagrams that the network card's counter explains.
    pub nic: u64,
    /// Missing datagrams that the backlog counter explains.
    pub softnet: u64,
    /// Missing datagrams held against a stall of the receive loop where no counter exists.
    pub stalled: u64,
    /// Missing datagrams that a tap on the interface saw and no counter explains: a filter, a membership, or a bug here.
    pub undelivered: u64,
    /// Wrong UDP checksums, host-wide; a loss on the wire.
    pub checksum: u64,
    /// Everything the network card counted, other traffic included.
    pub nic_counted: u64,
    /// Everything the backlog counter counted, other traffic included.
    pub softnet_counted: u64,
}

impl ObserverLoss {
    /// Datagrams lost by the observing host.
    pub fn lost(&self) -> u64 {
        let parts = [self.socket, self.ring, self.nic, self.softnet, self.stalled, self.undelivered];
        parts.iter().fold(0, |sum, part| sum.saturating_add(*part))
    }
}

/// Counts over all datagrams. `lighting` counts before, everything else after removal of capture duplicates.
#[derive(Clone, Debug, Default)]
pub struct DatagramCounts {
    /// Datagrams of a known protocol or on its port.
    pub lighting: u64,
    /// UDP datagrams of nobody here.
    pub other: u64,
    /// The same datagram seen twice by the capture.
    pub capture_duplicates: u64,
    /// On a protocol's port with a wrong identifier.
    pub undecodable: u64,
    /// Lighting datagrams that broke no shape rule (see [`crate::Faults::well_formed`]).
    pub well_formed: u64,
    /// Lighting datagrams that did.
    pub malformed: u64,
    /// Lighting datagrams that arrived as IP fragments.
    pub fragmented: u64,
    /// Lighting datagrams cut by the snap length.
    pub cut: u64,
    /// Lighting datagrams of streams beyond the most that are followed: decoded and counted, not judged.
    pub unfollowed: u64,
    /// Lighting datagrams cut before their stream and number: counted, not judged.
    pub unread: u64,
    /// Lighting datagrams with a wrong UDP checksum.
    pub bad_checksum: u64,
    /// By kind, e.g. `sacn/data`.
    pub by_kind: BTreeMap<&'static str, u64>,
}

/// One stream: a flow key of `design/cli.md`.
#[derive(Clone, Debug)]
pub struct StreamAccount {
    /// Protocol.
    pub protocol: Protocol,
    /// Packet kind without protocol: `data`, `sync`, `ArtDmx`, `display`, `chunk`.
    pub kind: &'static str,
    /// Source address; the port is that of the first datagram.
    pub source: SocketAddr,
    /// Destinations in order of first appearance, at most 16 kept.
    pub destinations: Vec<SocketAddr>,
    /// CID in UUID notation.
    pub sender: Option<String>,
    /// Source name, lossy UTF-8.
    pub name: Option<String>,
    /// Universe, Port-Address, DDP ID or device id.
    pub stream_id: u32,
    /// Art-Net Physical.
    pub part: u8,
    /// Index into `Account::outputs`; `None` for sync streams and streams that carry no frames.
    pub output: Option<usize>,
    /// Datagrams.
    pub datagrams: u64,
    /// UDP payload octets.
    pub bytes: u64,
    /// Sessions (see `design/cli.md`).
    pub sessions: u64,
    /// Datagrams per second in thousandths, over the active time; 0 when there is no interval.
    pub rate_mhz: u64,
    /// First and last arrival, ns since 1970.
    pub first_ns: i64,
    /// See `first_ns`.
    pub last_ns: i64,
    /// Sequence account.
    pub sequence: SequenceAccount,
    /// Frame account.
    pub frames: FrameAccount,
    /// Interval between datagrams.
    pub interval_ns: Spread,
    /// Owners of `sequence.lost`.
    pub owners: Owners,
    /// How the stream ended.
    pub ended: Ended,
    /// sACN priorities seen, ascending, at most 8 kept.
    pub priorities: Vec<u8>,
    /// Synchronization addresses seen other than 0, ascending, at most 8 kept.
    pub sync_addresses: Vec<u16>,
    /// Start codes seen, ascending, at most 8 kept.
    pub start_codes: Vec<u8>,
    /// Octets of data in the smallest and the largest datagram.
    pub data_octets: (u32, u32),
    /// Frames and losses over time.
    pub timeline: Timeline,
}

/// Sequence account of a stream.
#[derive(Clone, Debug, Default)]
pub struct SequenceAccount {
    /// The inferred numbering, e.g. `per-datagram 0..255`.
    pub model: String,
    /// Proven lost.
    pub lost_min: u64,
    /// Best estimate of what was sent on this path and not seen.
    pub lost: u64,
    /// Datagrams of the first and the last frame that the capture may have cut.
    pub edge: u64,
    /// Places where numbers are missing.
    pub gaps: u64,
    /// Same number again on the network.
    pub duplicates: u64,
    /// Out of order and filled a hole.
    pub late: u64,
    /// Out of order from before the session.
    pub old: u64,
    /// Sessions started by anything but the first datagram.
    pub restarts: u64,
    /// `lost` and `lost_min` differ or could.
    pub ambiguous: bool,
}

/// Frame account: `complete + torn + unterminated = seen`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameAccount {
    /// Frames begun, those cut by the edges of the capture left out.
    pub seen: u64,
    /// Frames with everything in them.
    pub complete: u64,
    /// Frames with a hole.
    pub torn: u64,
    /// Frames whose end mark never came.
    pub unterminated: u64,
}

impl FrameAccount {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: FrameAccount) -> FrameAccount {
        FrameAccount {
            seen: self.seen + other.seen,
            complete: self.complete + other.complete,
            torn: self.torn + other.torn,
            unterminated: self.unterminated + other.unterminated,
        }
    }
}

/// Distribution of a time in nanoseconds; all 0 when nothing was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// Values measured.
    pub count: u64,
    /// Smallest, exact.
    pub min: u64,
    /// Median: exact by nearest rank for few values, else from an HDR histogram (3 significant digits above 1 ms,
    /// half a microsecond below).
    pub p50: u64,
    /// 95th percentile.
    pub p95: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// Largest, exact.
    pub max: u64,
}

/// Who lost it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owners {
    /// The sender's own record says not sent.
    pub sender: u64,
    /// Lost after the sender's record says sent, or damaged on the way (bad checksum beside good ones).
    pub wire: u64,
    /// Proven by a counter of the observer.
    pub observer: u64,
    /// Upstream of the capture point without a sender's record, or ambiguous.
    pub unknown: u64,
}

/// How a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With a goodbye.
    Terminated,
    /// It stopped while the capture went on.
    Silent,
    /// It was still sending at the end.
    Running,
}

impl Ended {
    /// The word in every output.
    pub fn name(self) -> &'static str {
        match self {
            Ended::Terminated => "terminated",
            Ended::Silent => "silent",
            Ended::Running => "running",
        }
    }
}

/// One logical device: the set of streams that make one frame.
#[derive(Clone, Debug)]
pub struct OutputAccount {
    /// Name from the rig, or one made from protocol and source.
    pub name: String,
    /// Protocol.
    pub protocol: Protocol,
    /// Where its datagrams go, for an output of chunks to one address.
    pub destination: Option<SocketAddr>,
    /// Indices into `Account::streams`.
    pub streams: Vec<usize>,
    /// Datagrams in a whole frame, 0 when it varies.
    pub datagrams_per_frame: u32,
    /// Data octets in a whole frame, 0 when it varies.
    pub octets_per_frame: u64,
    /// Frames per second in thousandths.
    pub rate_mhz: u64,
    /// Whether the shape was declared by a rig or learned.
    pub declared: bool,
    /// Frames.
    pub frames: FrameAccount,
    /// How frames were closed where the output is synchronised.
    pub sync: SyncAccount,
    /// Why frames were sent, as the wire shows it.
    pub causes: CauseAccount,
    /// From frame start to frame start.
    pub frame_interval_ns: Spread,
    /// From the first to the last datagram of a frame.
    pub spread_ns: Spread,
    /// How many frame intervals were how long.
    pub frame_interval_bars: Bars,
    /// Frames over time.
    pub timeline: Timeline,
}

/// The four outcomes of a synchronised frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncAccount {
    /// Everything arrived, then the sync packet.
    pub explicit: u64,
    /// Everything arrived, no sync packet before the next frame.
    pub all_data: u64,
    /// Neither: closed by time or by the next frame.
    pub timeout: u64,
    /// The sync packet came while data was missing.
    pub missed: u64,
}

/// Frame causes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CauseAccount {
    /// At least one payload differs from the frame before.
    pub changed: u64,
    /// Every payload equals the frame before.
    pub repeat: u64,
    /// A repeat after a pause (keep-alive).
    pub keep_alive: u64,
    /// A sync packet without data.
    pub sync_only: u64,
    /// Carried a goodbye.
    pub goodbye: u64,
    /// First frame of a session that is not the first.
    pub restart: u64,
}

/// One finding; equal findings of a stream are merged, losses are merged into episodes.
#[derive(Clone, Debug)]
pub struct Finding {
    /// `f0001` …
    pub id: String,
    /// Rule code.
    pub code: &'static str,
    /// Severity, after the rig and `--strict`.
    pub severity: Severity,
    /// Index into `Account::streams`.
    pub stream: Option<usize>,
    /// How often.
    pub count: u64,
    /// Capture record of the first occurrence, 1-based; 0 when it has none.
    pub first_packet: u64,
    /// Capture time of the first occurrence.
    pub first_ns: i64,
    /// For a loss: capture time of the stream's last datagram before it; else `first_ns`.
    pub since_ns: i64,
    /// For a loss: datagrams that are proven missing.
    pub proven: u64,
    /// For a loss: datagrams missing modulo the cycle of the numbers.
    pub residue: i64,
    /// Capture time of the last occurrence.
    pub last_ns: i64,
    /// What was found, one sentence.
    pub text: String,
    /// What the rule asks for; may be empty.
    pub expected: String,
    /// What is there; may be empty.
    pub got: String,
    /// Octet offset in the UDP payload, where one applies.
    pub offset: Option<u16>,
    /// Frame numbers concerned (0-based, counted from the first whole frame of the output), at most 32 kept.
    pub frames: Vec<u64>,
    /// Owners, for a loss episode.
    pub owners: Option<Owners>,
    /// True when the capture itself lost packets at the time, so that the finding cannot be held against anybody.
    pub tainted: bool,
    /// Of `owners.unknown`: how many may be the observer's own, which no sender's record can decide.
    pub open: u64,
    /// Of a rig: which streams were not seen.
    pub missing: Option<Missing>,
    /// Index of the waiver that covers it; the verifier gives none.
    pub waiver: Option<usize>,
}

/// Streams of a rig that were not seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Index into the outputs of the rig.
    pub output: usize,
    /// Their numbers, ascending.
    pub streams: Vec<u32>,
}
