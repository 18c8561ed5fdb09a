//! A second look at the same traffic: what an independent tap on the interface saw of datagrams that the sockets missed.

use super::Verifier;
use super::account::{Account, StreamAccount};
use super::flow::Flow;
use crate::Protocol;
use std::collections::HashMap;
use std::net::IpAddr;

/// Loss intervals of one stream kept.
const KEPT: usize = 4096;

/// What makes a stream the same to the tap and to the sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    protocol: Protocol,
    kind: &'static str,
    source: IpAddr,
    stream: u32,
    part: u8,
}

impl Key {
    fn of(s: &StreamAccount) -> Key {
        Key { protocol: s.protocol, kind: s.kind, source: s.source.ip(), stream: s.stream_id, part: s.part }
    }
}

/// Losses of the streams that a tap saw, and the frames it dropped itself.
#[derive(Clone, Debug, Default)]
pub struct TapEvidence {
    /// Last stamp before, stamp after, and how many are missing there.
    streams: HashMap<Key, Vec<(i64, i64, u64)>>,
    dropped: u64,
}

impl TapEvidence {
    /// The losses of the tap's own account; `dropped` frames were lost by the tap itself.
    pub fn of(account: &Account, dropped: u64) -> TapEvidence {
        let mut tap = TapEvidence { dropped, ..TapEvidence::default() };
        for s in &account.streams {
            tap.streams.entry(Key::of(s)).or_default();
        }
        let losses = account.findings.iter().filter(|f| matches!(f.code, "SEQ-LOST" | "SEQ-AMBIGUOUS"));
        for f in losses {
            let Some(s) = f.stream.and_then(|i| account.streams.get(i)) else { continue };
            let lost = f.owners.map_or(f.count, |o| o.sender + o.wire + o.observer + o.unknown);
            let list = tap.streams.entry(Key::of(s)).or_default();
            if list.len() < KEPT {
                list.push((f.since_ns, f.last_ns, lost));
            }
        }
        tap
    }

    /// Of `missing` datagrams of a stream how many the tap saw, and how many frames it dropped; `None` when it does
    /// not know the stream.
    pub(crate) fn seen(&self, flow: &Flow, (since, last): (i64, i64), missing: u64) -> Option<(u64, u64)> {
        let key = Key {
            protocol: flow.protocol(),
            kind: flow.key.kind.short(),
            source: flow.key.source,
            stream: flow.key.stream,
            part: flow.key.part,
        };
        let lost = self.streams.get(&key)?.iter().filter(|(from, to, _)| *from <= last && *to >= since);
        let lost = lost.fold(0u64, |sum, (_, _, n)| sum.saturating_add(*n));
        Some((missing.saturating_sub(lost), self.dropped))
    }
}

impl Verifier {
    /// What an independent tap saw of the same traffic. Laid against the losses at the end.
    pub fn on_tap(&mut self, tap: TapEvidence) {
        self.tap = Some(tap);
    }
}
