//! The run record: `wireproof.summary/1`, the plain data every report is rendered from.

#[cfg(test)]
pub(crate) mod sample;
mod stream;
mod timeline;
mod totals;

pub use stream::{Causes, Frames, Interval, Octets, Output, Owners, Sequence, Stream, Sync};
pub use timeline::{Axis, Bars, LossTimes, Timeline};
pub use totals::{Severities, Totals};

use crate::alerts::Alerts;
use crate::filter::Filtered;
use crate::reconcile::Reconciled;
use crate::terms::Settled;
use crate::verdict::{Verdict, filtered, judge};
use crate::waiver::Waived;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wireproof_protocols::verify::{self, Account, DatagramCounts};

/// Name and version of the record's layout.
pub const SCHEMA: &str = "wireproof.summary/1";

/// Everything a run says, in the key order of the contract.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`SCHEMA`].
    pub schema: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Where the datagrams came from.
    pub source: Source,
    /// From the first to the last packet, ns.
    pub span_ns: u64,
    /// Datagram counts.
    pub datagrams: Datagrams,
    /// The observer's own state; zeros for a file.
    pub observer: Observer,
    /// One entry a stream, in order of first appearance.
    pub streams: Vec<Stream>,
    /// Findings in order of first occurrence.
    pub findings: Vec<Finding>,
    /// Why the verdict is what it is, one sentence.
    pub reason: String,
    /// First capture time, ns since 1970.
    pub first_ns: Option<i64>,
    /// Last capture time, ns since 1970.
    pub last_ns: Option<i64>,
    /// One entry an output, in order of first appearance.
    pub outputs: Vec<Output>,
    /// What the capture cannot show, one sentence each.
    pub limits: Vec<String>,
    /// Background downloads of a live run, in order of their end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drains: Vec<Drain>,
    /// Clock of the device, when its downloads say what time it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_clock: Option<DeviceClock>,
    /// What the device's own record decided about the losses, when there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconciled: Option<Reconciled>,
    /// Sums over all streams, outputs and findings.
    #[serde(default)]
    pub totals: Totals,
    /// The bins that all time lines share; absent when nothing was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Axis>,
    /// What a filter left of the run; absent when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filtered>,
    /// What became of the rig's waivers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waivers: Vec<Waived>,
    /// What became of alerts; absent when there were to be none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alerts: Option<Alerts>,
}

/// A background download.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drain {
    /// Which multiple of the interval it is, from 1.
    pub number: u64,
    /// Start, ns since 1970, of the clock of the stamps.
    pub started_ns: i64,
    /// End.
    pub ended_ns: i64,
    /// Octets received.
    pub bytes: u64,
    /// SHA-256 of the body, hexadecimal; empty when it did not come whole.
    pub sha256: String,
    /// Name of the file; empty when there is none.
    pub file: String,
    /// Why there is no file.
    pub error: Option<String>,
    /// How often it was gone on with after it broke off.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resumed: u32,
    /// What the body is worth, if it is a recorder's ring.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring: Option<DrainedRing>,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// A downloaded ring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum DrainedRing {
    /// It can be believed.
    Ok {
        /// Generation of its writer.
        generation: u64,
        /// Number of the copy; null when it was not sealed with a stamp.
        snapshot: Option<u64>,
        /// Whole frames.
        frames: u64,
        /// Id of the first.
        first_frame: Option<u32>,
        /// Id of the last.
        last_frame: Option<u32>,
        /// Ids between them that are not there.
        missing: u64,
        /// Slots that were dropped.
        dropped: u64,
        /// Frames that were not whole.
        partial: u64,
    },
    /// Nothing of it can be believed.
    Refused {
        /// Why, as `ring verify` has it.
        code: String,
    },
}

/// Clock of the device against the one of the stamps: never more than is proven.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceClock {
    /// Device's monotonic clock minus the clock of the stamps, ns; null when a clock was set during the run.
    pub offset_ns: Option<i64>,
    /// The truth is no further away than this, ns.
    pub uncertainty_ns: Option<u64>,
    /// Time it holds for, ns since 1970.
    pub at_ns: Option<i64>,
    /// Exchanges with the device.
    pub exchanges: u64,
    /// Most that the clocks are taken to drift apart, parts in a million.
    pub drift_ppm: u32,
}

/// Where the datagrams came from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// `file`, `udp`, `packet` or `pcap`.
    pub kind: String,
    /// File or interface.
    pub name: String,
    /// Who stamped the packets and how finely: `file-us`, `file-ns`, `kernel`, `user`, `hardware`.
    pub timestamps: String,
    /// Packets read.
    pub packets: u64,
    /// Packets by link type.
    pub link_types: BTreeMap<String, u64>,
    /// What is damaged and where.
    pub damaged: Option<String>,
    /// Packets the capture says it lost itself.
    pub capture_dropped: u64,
    /// IP fragments.
    pub fragments: Fragments,
}

/// IP fragments of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fragments {
    /// Fragments seen.
    pub seen: u64,
    /// Datagrams put together.
    pub reassembled: u64,
    /// Datagrams that stayed incomplete.
    pub incomplete: u64,
}

/// Datagram counts; see [`DatagramCounts`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Datagrams {
    /// Of a known protocol or on its port.
    pub lighting: u64,
    /// Of nobody here.
    pub other: u64,
    /// Seen twice by the capture.
    pub capture_duplicates: u64,
    /// On a protocol's port with a wrong identifier.
    pub undecodable: u64,
    /// By kind.
    pub by_kind: BTreeMap<String, u64>,
    /// Broke no shape rule.
    pub well_formed: u64,
    /// Broke one.
    pub malformed: u64,
    /// Arrived as IP fragments.
    pub fragmented: u64,
    /// Of streams beyond the most that are followed: counted, not judged.
    pub unfollowed: u64,
    /// Cut before stream and number: counted, not judged.
    #[serde(default)]
    pub unread: u64,
    /// Cut by the snap length.
    pub cut: u64,
    /// With a wrong UDP checksum.
    pub bad_checksum: u64,
}

/// The observer's own state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observer {
    /// Datagrams the observer lost; anything but 0 makes the run invalid.
    pub lost: u64,
    /// Drops by layer.
    pub layers: Layers,
    /// Longest time between two rounds of the receive loop, ns.
    pub loop_gap_max_ns: u64,
    /// From the kernel's stamp to the receive call, ns.
    pub queue_delay_ns: QueueDelay,
    /// What was lost here over time.
    #[serde(default, skip_serializing_if = "LossTimes::is_empty")]
    pub timeline: LossTimes,
}

impl Observer {
    /// The same with the losses that the account holds against the observer.
    #[must_use]
    pub fn with_losses(self, account: &Account) -> Observer {
        let o = &account.observer;
        let nic = o.nic.saturating_add(o.softnet).saturating_add(o.undelivered).saturating_add(o.stalled);
        let layers = Layers { socket: o.socket, ring: o.ring, nic, ..self.layers };
        let timeline = LossTimes::from(&account.observer_timeline);
        Observer { lost: o.lost(), layers, timeline, ..self }
    }
}

/// Drops of the observer by layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layers {
    /// Socket buffer.
    pub socket: u64,
    /// Packet ring.
    pub ring: u64,
    /// Network interface.
    pub nic: u64,
    /// Between threads.
    pub queue: u64,
}

/// Distribution of the queue delay, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueDelay {
    /// Median.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Largest.
    pub max: u64,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// `f0001` …
    pub id: String,
    /// Rule code.
    pub code: String,
    /// `violation`, `warning` or `info`.
    pub severity: String,
    /// Index into `streams`.
    pub stream: Option<usize>,
    /// How often.
    pub count: u64,
    /// Capture record of the first occurrence, 1-based; 0 when it has none.
    pub first_packet: u64,
    /// Capture time of the first occurrence, ns since 1970.
    pub first_ns: i64,
    /// What was found.
    pub text: String,
    /// What the rule asks for.
    pub expected: String,
    /// What is there.
    pub got: String,
    /// Octet offset in the UDP payload.
    pub offset: Option<u16>,
    /// Capture time of the last occurrence, ns since 1970.
    pub last_ns: i64,
    /// Frame numbers concerned, at most 32.
    pub frames: Vec<u64>,
    /// Owners of a loss episode.
    pub owners: Option<Owners>,
    /// True when the capture itself lost packets at the time.
    pub tainted: bool,
    /// Index into `waivers` of the one that covers it, so that it does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiver: Option<usize>,
}

impl Summary {
    /// The record of a complete run.
    pub fn new(account: &Account, source: Source, observer: Observer) -> Summary {
        Summary::of_run(account, source, observer, false)
    }

    /// The record of a run; `cut_short` when it had a fixed length and ended early.
    pub fn of_run(account: &Account, source: Source, observer: Observer, cut_short: bool) -> Summary {
        Summary::settled(account, source, observer, cut_short, Settled::default())
    }

    /// The record of a run whose account was settled on terms.
    pub fn settled(
        account: &Account,
        source: Source,
        observer: Observer,
        cut_short: bool,
        settled: Settled,
    ) -> Summary {
        let observer = observer.with_losses(account);
        let judged = judge(account, &observer, cut_short);
        let (verdict, reason) = match &settled.filter {
            Some(filter) => filtered(judged, filter),
            None => judged,
        };
        Summary {
            schema: SCHEMA.to_owned(),
            verdict,
            source,
            span_ns: span(account),
            datagrams: Datagrams::from(&account.datagrams),
            observer,
            streams: account.streams.iter().map(Stream::from).collect(),
            findings: account.findings.iter().map(Finding::from).collect(),
            reason,
            first_ns: account.first_ns,
            last_ns: account.last_ns,
            outputs: account.outputs.iter().map(Output::from).collect(),
            limits: account.limits.clone(),
            drains: Vec::new(),
            device_clock: None,
            reconciled: None,
            totals: Totals::of(account),
            timeline: Axis::of(account),
            filter: settled.filter,
            waivers: settled.waivers,
            alerts: None,
        }
    }

    /// The waiver that covers a finding.
    pub(crate) fn waiver_of(&self, f: &Finding) -> Option<&Waived> {
        f.waiver.and_then(|at| self.waivers.get(at))
    }

    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Findings with the worst first: by severity, waived and tainted ones after the others, then by count.
    pub fn worst_first(&self) -> Vec<&Finding> {
        let mut findings: Vec<&Finding> = self.findings.iter().collect();
        findings.sort_by_key(|f| {
            (severity_rank(&f.severity), f.waiver.is_some(), f.tainted, std::cmp::Reverse(f.count))
        });
        findings
    }

    /// Decimals of a second that the stamps really have.
    pub(crate) fn stamp_digits(&self) -> usize {
        if self.source.timestamps == "file-us" { 6 } else { 9 }
    }
}

fn span(account: &Account) -> u64 {
    match (account.first_ns, account.last_ns) {
        (Some(first), Some(last)) => u64::try_from(last.saturating_sub(first)).unwrap_or(0),
        _ => 0,
    }
}

fn severity_rank(name: &str) -> u8 {
    match name {
        "violation" => 0,
        "warning" => 1,
        _ => 2,
    }
}

impl From<&DatagramCounts> for Datagrams {
    fn from(d: &DatagramCounts) -> Self {
        Datagrams {
            lighting: d.lighting,
            other: d.other,
            capture_duplicates: d.capture_duplicates,
            undecodable: d.undecodable,
            by_kind: d.by_kind.iter().map(|(kind, n)| ((*kind).to_owned(), *n)).collect(),
            well_formed: d.well_formed,
            malformed: d.malformed,
            fragmented: d.fragmented,
            unfollowed: d.unfollowed,
            unread: d.unread,
            cut: d.cut,
            bad_checksum: d.bad_checksum,
        }
    }
}

impl From<&verify::Finding> for Finding {
    fn from(f: &verify::Finding) -> Self {
        Finding {
            id: f.id.clone(),
            code: f.code.to_owned(),
            severity: f.severity.name().to_owned(),
            stream: f.stream,
            count: f.count,
            first_packet: f.first_packet,
            first_ns: f.first_ns,
            text: f.text.clone(),
            expected: f.expected.clone(),
            got: f.got.clone(),
            offset: f.offset,
            last_ns: f.last_ns,
            frames: f.frames.clone(),
            owners: f.owners.map(Owners::from),
            tainted: f.tainted,
            waiver: f.waiver,
        }
    }
}
