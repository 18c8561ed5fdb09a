//! A look at a run that goes on: counts by stream, taken without disturbing anything.

use super::Verifier;
use super::account::Finding;
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
}

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
        into.findings = self.shared.findings.kept();
        let room = into.streams.capacity();
        into.streams.extend(self.flows.iter_mut().take(room).map(|f| StreamProgress {
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
        }));
    }

    /// Findings listed so far.
    #[inline]
    pub fn findings_so_far(&self) -> usize {
        self.shared.findings.listed().len()
    }

    /// The findings listed since there were `before`, in order of report; their numbers come at the end.
    pub fn findings_since(&self, before: usize) -> &[Finding] {
        self.shared.findings.listed().get(before..).unwrap_or_default()
    }

    /// A stream in words, e.g. `universe 3 of 10.0.0.1`.
    pub fn stream_name(&self, stream: usize) -> Option<String> {
        let flow = self.flows.get(stream)?;
        let id = flow.key.stream;
        let what = match flow.protocol() {
            Protocol::Sacn => format!("universe {id}"),
            Protocol::ArtNet => format!("port-address {id}"),
            Protocol::Ddp => format!("DDP ID {id}"),
            Protocol::BigPacket => format!("device {id}"),
            Protocol::Kinet => format!("{} {id}", flow.key.kind.name),
        };
        Some(format!("{what} of {}", flow.key.source))
    }

    /// The number of a severity in [`Progress::findings`].
    pub const fn severity_index(severity: Severity) -> usize {
        severity as usize
    }
}
