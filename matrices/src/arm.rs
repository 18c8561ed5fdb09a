//! What one attempt at one arm measured: the plain data that metrics, verdict and report are computed from.
//!
//! It never says whether the device is good; that is the verdict's room.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where an arm stands in the run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// Stratum, from 0.
    pub stratum: u32,
    /// Block within the stratum, from 1.
    pub block: u32,
    /// Position within the block, from 1.
    pub position: u32,
    /// Index of the treatment (row-major over the treatment factors).
    pub treatment: u32,
    /// Attempt, from 1.
    pub attempt: u32,
}

/// A span of a clock, ns: `[start, end)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    /// Start, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
}

/// A frame of the recorder, on the device's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameSpan {
    /// Its id.
    pub id: u32,
    /// Its time.
    #[serde(flatten)]
    pub span: Span,
}

/// A download, or the same window without one (sham) in arms that do not drain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArmDrain {
    /// Planned start from the beginning of the window, ns.
    pub planned_ns: u64,
    /// Its time on the bench's clock.
    pub bench: Span,
    /// Its time on the device's clock.
    pub device: Span,
    /// False for the windows of arms that do not drain.
    pub real: bool,
    /// Why it failed or was left out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failed: Option<String>,
    /// Octets received.
    pub bytes: u64,
    /// SHA-256 of what was received, if kept.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sha256: Option<String>,
}

/// Missing datagrams by owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owners {
    /// The device's own record says not sent.
    pub sender: u64,
    /// Lost or damaged behind the device.
    pub wire: u64,
    /// Lost by the bench.
    pub observer: u64,
    /// Certainly lost before the bench, nobody knows where.
    pub upstream: u64,
    /// Not known whether lost at all, or whether the bench lost them.
    pub ambiguous: u64,
}

/// What the wire showed of one stream within the window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireStream {
    /// Name of the stream in the plan.
    pub id: String,
    /// Datagrams in the window.
    pub datagrams: u64,
    /// Frames in the window, counted by their first datagram.
    pub frames: u64,
    /// First datagram of the first frame, bench ns.
    pub first_ns: i64,
    /// First datagram of the last frame, bench ns.
    pub last_ns: i64,
    /// Missing.
    pub lost: u64,
    /// Owners of the missing; they add up to `lost`.
    pub owners: Owners,
    /// The same number again.
    pub duplicates: u64,
    /// Out of order.
    pub reordered: u64,
    /// Violations of the shape rules, torn frames included.
    pub shape: u64,
    /// Datagrams of other sources.
    pub foreign: u64,
    /// Intervals between first datagrams of frames: p50, p95, p99, ns.
    pub jitter_ns: [u64; 3],
    /// Digests of whole frames' payload and how often each was seen, hex.
    pub payload: BTreeMap<String, u64>,
}

/// A run of missing datagrams of one stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Episode {
    /// Name of the stream in the plan.
    pub stream: String,
    /// From the last datagram before to the first after, bench ns.
    pub span: Span,
    /// Missing.
    pub missing: u64,
    /// Owners.
    pub owners: Owners,
}

/// The bench's own state in the window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Longest gap of the receive loop, ns.
    pub loop_gap_max_ns: u64,
    /// Datagrams the bench lost, by its own counters.
    pub lost: u64,
    /// Drops of the network card and the kernel's queues.
    pub host_drops: u64,
    /// Clock steps, ns.
    pub clock_steps_ns: Vec<i64>,
    /// True when the bench was suspended.
    pub suspended: bool,
    /// True when the interface was down.
    pub link_down: bool,
}

/// What one attempt at an arm measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// The window on the bench's clock (that of the capture timestamps).
    pub window: Span,
    /// The window on the device's clock; `None` when the clocks were not laid on one another.
    pub device_window: Option<Span>,
    /// Uncertainty between the clocks, ns.
    pub clock_error_ns: u64,
    /// Change of the offset between before and after, ns.
    pub clock_drift_ns: i64,
    /// Whole frames of the collected ring, device clock, by start; more than the window.
    pub frames: Vec<FrameSpan>,
    /// Frames in the ring that were damaged or torn in the copy.
    pub torn_frames: u64,
    /// Frame ids in the window that the ring lacks without a record of why.
    pub missing_frames: u64,
    /// True when the ring was collected and verified.
    pub ring: bool,
    /// Generation of the ring before and after.
    pub generation: [u64; 2],
    /// Boot id before and after.
    pub boot: [String; 2],
    /// True when records of the window had been overwritten.
    pub wrapped: bool,
    /// True when the collected copy of the ring was made before the window had ended: its last frames are not in it.
    #[serde(default)]
    pub stale: bool,
    /// Deadline misses recorded in the window.
    pub misses: u64,
    /// Stage ranges `FROM,TO` asked for by gates: times of the frames in the window, ns.
    pub ranges: BTreeMap<String, Vec<u64>>,
    /// Drains, or the sham windows.
    pub drains: Vec<ArmDrain>,
    /// Streams, in the order of the plan.
    pub streams: Vec<WireStream>,
    /// Losses, by time.
    pub episodes: Vec<Episode>,
    /// CPU of the device in hundredths of a percentage point of a core.
    pub cpu_hundredths: Option<i64>,
    /// The bench's own state.
    pub health: Health,
    /// `throttled` flags of the device before and after, if it has them.
    pub throttled: [Option<u64>; 2],
}

/// What became of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum ArmState {
    /// It counts.
    Ok,
    /// It says nothing about the device; reasons such as `toggle_drifted`.
    Invalid {
        /// Why.
        reasons: Vec<String>,
    },
    /// Stopped by a signal or an error.
    Interrupted,
}

/// One attempt at one arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    /// Where it stands.
    pub place: Place,
    /// Level of every factor.
    pub levels: BTreeMap<String, String>,
    /// What became of it.
    #[serde(flatten)]
    pub state: ArmState,
    /// Findings that do not spoil it, such as `loop_stalled`.
    pub notes: Vec<String>,
    /// What it measured.
    pub measured: Measured,
}
