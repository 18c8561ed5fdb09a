//! Streams and outputs of the run record.

use super::timeline::{Bars, Timeline};
use crate::number::thousandths;
use serde::{Deserialize, Serialize};
use wireproof_protocols::verify;

/// One stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// Protocol.
    pub protocol: String,
    /// Packet kind without protocol.
    pub kind: String,
    /// Source address and port.
    pub source: String,
    /// First destination.
    pub destination: Option<String>,
    /// CID in UUID notation.
    pub sender: Option<String>,
    /// Source name.
    pub name: Option<String>,
    /// Universe, Port-Address, DDP ID or device id.
    pub stream_id: u32,
    /// Datagrams.
    pub datagrams: u64,
    /// UDP payload octets.
    pub bytes: u64,
    /// Sessions.
    pub sessions: u64,
    /// Datagrams per second, kept in thousandths.
    #[serde(rename = "rate_hz", with = "thousandths")]
    pub rate_mhz: u64,
    /// Sequence account.
    pub sequence: Sequence,
    /// Frame account.
    pub frames: Frames,
    /// Interval between datagrams, ns.
    pub interval_ns: Interval,
    /// Owners of what was lost.
    pub owners: Owners,
    /// `terminated`, `silent` or `running`.
    pub ended: String,
    /// Index into `outputs`.
    pub output: Option<usize>,
    /// Art-Net Physical.
    pub part: u8,
    /// First arrival, ns since 1970.
    pub first_ns: i64,
    /// Last arrival, ns since 1970.
    pub last_ns: i64,
    /// Destinations in order of first appearance.
    pub destinations: Vec<String>,
    /// Priorities seen.
    pub priorities: Vec<u8>,
    /// Synchronization addresses seen.
    pub sync_addresses: Vec<u16>,
    /// Start codes seen.
    pub start_codes: Vec<u8>,
    /// Data octets of a datagram: slots in sACN and Art-Net.
    pub data_octets: Octets,
    /// Frames and losses over time.
    #[serde(default, skip_serializing_if = "Timeline::is_empty")]
    pub timeline: Timeline,
}

/// Smallest and largest number of octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Octets {
    /// Smallest.
    pub min: u32,
    /// Largest.
    pub max: u32,
}

/// Sequence account of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence {
    /// The inferred numbering.
    pub model: String,
    /// Proven lost.
    pub lost_min: u64,
    /// Best estimate of what was lost.
    pub lost: u64,
    /// Cut by the edges of the capture.
    pub edge: u64,
    /// Places where numbers are missing.
    pub gaps: u64,
    /// Same number again.
    pub duplicates: u64,
    /// Out of order, fills a hole.
    pub late: u64,
    /// Sessions begun by restart evidence.
    pub restarts: u64,
    /// `lost` and `lost_min` differ or could.
    pub ambiguous: bool,
    /// From before the session.
    pub old: u64,
}

/// Frame account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frames {
    /// Frames begun.
    pub seen: u64,
    /// With everything in them.
    pub complete: u64,
    /// With a hole.
    pub torn: u64,
    /// Without their end mark.
    pub unterminated: u64,
}

/// Distribution of a time, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// Smallest.
    pub min: u64,
    /// Median.
    pub p50: u64,
    /// 95th percentile.
    pub p95: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// Largest.
    pub max: u64,
}

/// Who lost it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owners {
    /// The sender.
    pub sender: u64,
    /// The network.
    pub wire: u64,
    /// The observer.
    pub observer: u64,
    /// Upstream without a sender's record, or ambiguous.
    pub unknown: u64,
}

/// One output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// Protocol.
    pub protocol: String,
    /// Indices into `streams`.
    pub streams: Vec<usize>,
    /// Datagrams in a whole frame, 0 when it varies.
    pub datagrams_per_frame: u32,
    /// Data octets in a whole frame, 0 when it varies.
    pub octets_per_frame: u64,
    /// Frames per second, kept in thousandths.
    #[serde(rename = "rate_hz", with = "thousandths")]
    pub rate_mhz: u64,
    /// Whether a rig declared the shape.
    pub declared: bool,
    /// Frames.
    pub frames: Frames,
    /// How synchronised frames were closed.
    pub sync: Sync,
    /// Why frames were sent.
    pub causes: Causes,
    /// From frame start to frame start, ns.
    pub frame_interval_ns: Interval,
    /// From the first to the last datagram of a frame, ns.
    pub spread_ns: Interval,
    /// How many frame intervals were how long.
    #[serde(default, skip_serializing_if = "Bars::is_empty")]
    pub frame_interval_bars: Bars,
    /// Frames over time.
    #[serde(default, skip_serializing_if = "Timeline::is_empty")]
    pub timeline: Timeline,
}

/// Outcomes of synchronised frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sync {
    /// Everything, then the sync packet.
    pub explicit: u64,
    /// Everything, no sync packet.
    pub all_data: u64,
    /// Closed by time or by the next frame.
    pub timeout: u64,
    /// Sync packet while data was missing.
    pub missed: u64,
}

/// Frame causes as the wire shows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Causes {
    /// A payload differs from the frame before.
    pub changed: u64,
    /// Equal to the frame before.
    pub repeat: u64,
    /// A repeat after a pause.
    pub keep_alive: u64,
    /// Sync packet without data.
    pub sync_only: u64,
    /// Carried a goodbye.
    pub goodbye: u64,
    /// First frame of a later session.
    pub restart: u64,
}

impl From<&verify::StreamAccount> for Stream {
    fn from(s: &verify::StreamAccount) -> Self {
        let destinations: Vec<String> = s.destinations.iter().map(ToString::to_string).collect();
        Stream {
            protocol: s.protocol.name().to_owned(),
            kind: s.kind.to_owned(),
            source: s.source.to_string(),
            destination: destinations.first().cloned(),
            sender: s.sender.clone(),
            name: s.name.clone(),
            stream_id: s.stream_id,
            datagrams: s.datagrams,
            bytes: s.bytes,
            sessions: s.sessions,
            rate_mhz: s.rate_mhz,
            sequence: Sequence::from(&s.sequence),
            frames: Frames::from(s.frames),
            interval_ns: Interval::from(s.interval_ns),
            owners: Owners::from(s.owners),
            ended: s.ended.name().to_owned(),
            output: s.output,
            part: s.part,
            first_ns: s.first_ns,
            last_ns: s.last_ns,
            destinations,
            priorities: s.priorities.clone(),
            sync_addresses: s.sync_addresses.clone(),
            start_codes: s.start_codes.clone(),
            data_octets: Octets { min: s.data_octets.0, max: s.data_octets.1 },
            timeline: Timeline::from(&s.timeline),
        }
    }
}

impl From<&verify::OutputAccount> for Output {
    fn from(o: &verify::OutputAccount) -> Self {
        Output {
            name: o.name.clone(),
            protocol: o.protocol.name().to_owned(),
            streams: o.streams.clone(),
            datagrams_per_frame: o.datagrams_per_frame,
            octets_per_frame: o.octets_per_frame,
            rate_mhz: o.rate_mhz,
            declared: o.declared,
            frames: Frames::from(o.frames),
            sync: Sync::from(o.sync),
            causes: Causes::from(o.causes),
            frame_interval_ns: Interval::from(o.frame_interval_ns),
            spread_ns: Interval::from(o.spread_ns),
            frame_interval_bars: Bars::from(&o.frame_interval_bars),
            timeline: Timeline::from(&o.timeline),
        }
    }
}

impl From<&verify::SequenceAccount> for Sequence {
    fn from(s: &verify::SequenceAccount) -> Self {
        Sequence {
            model: s.model.clone(),
            lost_min: s.lost_min,
            lost: s.lost,
            edge: s.edge,
            gaps: s.gaps,
            duplicates: s.duplicates,
            late: s.late,
            restarts: s.restarts,
            ambiguous: s.ambiguous,
            old: s.old,
        }
    }
}

impl From<verify::FrameAccount> for Frames {
    fn from(f: verify::FrameAccount) -> Self {
        Frames { seen: f.seen, complete: f.complete, torn: f.torn, unterminated: f.unterminated }
    }
}

impl From<verify::Spread> for Interval {
    fn from(s: verify::Spread) -> Self {
        Interval { min: s.min, p50: s.p50, p95: s.p95, p99: s.p99, p999: s.p999, max: s.max }
    }
}

impl From<verify::Owners> for Owners {
    fn from(o: verify::Owners) -> Self {
        Owners { sender: o.sender, wire: o.wire, observer: o.observer, unknown: o.unknown }
    }
}

impl From<verify::SyncAccount> for Sync {
    fn from(s: verify::SyncAccount) -> Self {
        Sync { explicit: s.explicit, all_data: s.all_data, timeout: s.timeout, missed: s.missed }
    }
}

impl From<verify::CauseAccount> for Causes {
    fn from(c: verify::CauseAccount) -> Self {
        Causes {
            changed: c.changed,
            repeat: c.repeat,
            keep_alive: c.keep_alive,
            sync_only: c.sync_only,
            goodbye: c.goodbye,
            restart: c.restart,
        }
    }
}
