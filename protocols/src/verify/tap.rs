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

/// A stream as the tap saw it.
#[derive(Clone, Debug)]
struct Tapped {
    /// Stamps of its first and last datagram: of other times the tap says nothing.
    span: (i64, i64),
    missing: Vec<Missing>,
}

impl Tapped {
    fn of(s: &StreamAccount) -> Tapped {
        Tapped { span: (s.first_ns, s.last_ns), missing: Vec::new() }
    }

    fn widen(&mut self, s: &StreamAccount) {
        self.span = (self.span.0.min(s.first_ns), self.span.1.max(s.last_ns));
    }
}

/// What is missing of a stream on the tap itself.
#[derive(Clone, Copy, Debug)]
struct Missing {
    /// Last stamp before.
    since: i64,
    /// Stamp after.
    last: i64,
    lost: u64,
    /// The tap dropped some of it itself: it says nothing of this time.
    own: bool,
}

/// Losses of the streams that a tap saw, and the frames it dropped itself.
#[derive(Clone, Debug, Default)]
pub struct TapEvidence {
    streams: HashMap<Key, Tapped>,
    dropped: u64,
}

impl TapEvidence {
    /// The losses of the tap's own account; `dropped` frames were lost by the tap itself.
    pub fn of(account: &Account, dropped: u64) -> TapEvidence {
        let mut tap = TapEvidence { dropped, ..TapEvidence::default() };
        for s in &account.streams {
            tap.streams.entry(Key::of(s)).or_insert_with(|| Tapped::of(s)).widen(s);
        }
        let losses = account.findings.iter().filter(|f| matches!(f.code, "SEQ-LOST" | "SEQ-AMBIGUOUS"));
        for f in losses {
            let Some(s) = f.stream.and_then(|i| account.streams.get(i)) else { continue };
            let lost = f.owners.map_or(f.count, |o| o.sender + o.wire + o.observer + o.unknown);
            let list = &mut tap.streams.entry(Key::of(s)).or_insert_with(|| Tapped::of(s)).missing;
            if list.len() < KEPT {
                let own = f.owners.is_some_and(|o| o.observer > 0);
                list.push(Missing { since: f.since_ns, last: f.last_ns, lost, own });
            }
        }
        tap
    }

    /// Of `missing` datagrams of a stream how many the tap saw, and how many frames it dropped; `None` when it does
    /// not know the stream, was not there all that time, or dropped some of it then.
    pub(crate) fn seen(&self, flow: &Flow, (since, last): (i64, i64), missing: u64) -> Option<(u64, u64)> {
        let key = Key {
            protocol: flow.protocol(),
            kind: flow.key.kind.short(),
            source: flow.key.source,
            stream: flow.key.stream,
            part: flow.key.part,
        };
        let stream = self.streams.get(&key)?;
        if stream.span.0 > since || stream.span.1 < last {
            return None;
        }
        let around = stream.missing.iter().filter(|m| m.since <= last && m.last >= since);
        let mut lost = 0_u64;
        for m in around {
            if m.own {
                return None;
            }
            lost = lost.saturating_add(m.lost);
        }
        Some((missing.saturating_sub(lost), self.dropped))
    }
}

impl Verifier {
    /// What an independent tap saw of the same traffic. Laid against the losses at the end.
    pub fn on_tap(&mut self, tap: TapEvidence) {
        self.tap = Some(tap);
    }
}
