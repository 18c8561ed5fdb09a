//! Which other streams lost something at the same time: a hint on who lost it, never a proof.
//!
//! Streams to one port share the way to the capture. When many of them lose datagrams at once, the way is to blame or
//! the sending host; when one of many does, look at what sends that stream. Everything is sorted and counted, so that
//! thousands of losses at once cost no more than sorting them.

use super::Verifier;
use super::flow::Flow;
use super::model::Unit;
use crate::time::MS;
use std::collections::{BTreeMap, BTreeSet};

/// From the stamp of the last datagram before a loss to that of the first one after it.
type Window = (i64, i64);

/// Streams to one port that carry numbers.
#[derive(Debug, Default)]
struct Port {
    firsts: Vec<i64>,
    lasts: Vec<i64>,
    /// Loss windows by stream.
    losses: BTreeMap<usize, Vec<Window>>,
}

impl Verifier {
    /// Says with each loss how many other streams lost something at the time.
    pub(crate) fn coincide(&mut self) {
        let losses: Vec<(usize, Window)> = self.shared.findings.losses().filter_map(|f| window(f)).collect();
        if losses.is_empty() {
            return;
        }
        let mut ports: BTreeMap<u16, Port> = BTreeMap::new();
        for (stream, flow) in self.flows.iter().enumerate() {
            let Some(port) = port_of(flow) else { continue };
            let port = ports.entry(port).or_default();
            port.firsts.push(flow.cold.first_stamp.min(flow.last_stamp));
            port.lasts.push(flow.last_stamp.max(flow.cold.first_stamp));
            if let Some(unlisted) = flow.cold.unlisted {
                port.losses.entry(stream).or_default().push(unlisted.window);
            }
        }
        for (stream, window) in &losses {
            let port = self.flows.get(*stream).and_then(port_of).and_then(|port| ports.get_mut(&port));
            port.into_iter().for_each(|port| port.losses.entry(*stream).or_default().push(*window));
        }
        let mut said: BTreeMap<(u16, Window), (u64, u64)> = BTreeMap::new();
        for (number, port) in &mut ports {
            port.count(&mut |window, counted| {
                said.insert((*number, window), counted);
            });
        }
        for f in self.shared.findings.losses() {
            let Some((stream, window)) = window(f) else { continue };
            let Some(port) = self.flows.get(stream).and_then(port_of) else { continue };
            if let Some((losing, active)) = said.get(&(port, window)) {
                f.text.push_str(&sentence(*losing, *active, port, window));
            }
        }
    }
}

fn window(f: &super::Finding) -> Option<(usize, Window)> {
    Some((f.stream?, (f.since_ns.min(f.last_ns), f.last_ns.max(f.since_ns))))
}

/// The destination port of a stream in whose numbers a loss would show.
fn port_of(flow: &Flow) -> Option<u16> {
    let numbered = flow.has_frames() && flow.model.is_some_and(|m| m.unit != Unit::Nothing);
    flow.destinations.first().filter(|_| numbered).map(|d| d.address.port())
}

fn sentence(losing: u64, active: u64, port: u16, (from, to): Window) -> String {
    let ms = to.abs_diff(from).div_ceil(MS.unsigned_abs()).max(1);
    match (losing, active) {
        (_, 0) => String::new(),
        (0, 1) => format!("; the other stream to port {port} lost nothing then"),
        (_, 1) => format!("; the other stream to port {port} lost some within the same {ms} ms"),
        (0, n) => format!("; none of the {n} other streams to port {port} lost any then"),
        (k, n) => format!("; {k} of the {n} other streams to port {port} lost some within the same {ms} ms"),
    }
}

impl Port {
    /// For every loss window: how many other streams lost something in it, and how many were there.
    fn count(&mut self, each: &mut dyn FnMut(Window, (u64, u64))) {
        self.firsts.sort_unstable();
        self.lasts.sort_unstable();
        let windows: BTreeSet<Window> = self.losses.values().flatten().copied().collect();
        // A stream lost nothing in a window that lies whole between two of its losses.
        let mut calm: Vec<Window> = self.losses.values_mut().flat_map(|own| between(own)).collect();
        calm.sort_unstable();
        let mut ends: Vec<i64> = calm.iter().map(|(_, end)| *end).collect();
        ends.sort_unstable();
        let mut opened = Counted::new(ends.len());
        let mut next = calm.iter().peekable();
        let streams = self.losses.len() as u64;
        for (from, to) in windows {
            while let Some((_, end)) = next.next_if(|(start, _)| *start < from) {
                opened.add(ends.partition_point(|e| e < end));
            }
            let spared = opened.from(ends.partition_point(|e| *e <= to));
            let begun = self.firsts.partition_point(|first| *first <= to);
            let over = self.lasts.partition_point(|last| *last < from);
            let active = begun.saturating_sub(over).saturating_sub(1) as u64;
            each((from, to), (streams.saturating_sub(spared).saturating_sub(1).min(active), active));
        }
    }
}

/// The times before, between and after windows.
fn between(windows: &mut [Window]) -> Vec<Window> {
    windows.sort_unstable();
    let mut calm = Vec::with_capacity(windows.len() + 1);
    let mut since = i64::MIN;
    for (from, to) in windows.iter() {
        if *from > since {
            calm.push((since, *from));
        }
        since = since.max(*to);
    }
    calm.push((since, i64::MAX));
    calm
}

/// Counts by place, with sums over all places from one on (a Fenwick tree).
struct Counted {
    sums: Vec<u64>,
    all: u64,
}

impl Counted {
    fn new(places: usize) -> Counted {
        Counted { sums: vec![0; places + 1], all: 0 }
    }

    fn add(&mut self, place: usize) {
        self.all += 1;
        let mut at = place + 1;
        while let Some(sum) = self.sums.get_mut(at) {
            *sum += 1;
            at += at & at.wrapping_neg();
        }
    }

    /// How many were added at `place` or behind it.
    fn from(&self, place: usize) -> u64 {
        let (mut at, mut before) = (place, 0);
        while at > 0 {
            before += self.sums.get(at).copied().unwrap_or(0);
            at &= at - 1;
        }
        self.all - before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same by looking at every pair.
    fn plainly(losses: &BTreeMap<usize, Vec<Window>>, (from, to): Window) -> u64 {
        let hit = |own: &&Vec<Window>| own.iter().any(|(a, b)| *a <= to && *b >= from);
        losses.values().filter(hit).count() as u64 - 1
    }

    #[test]
    fn counting_says_what_looking_at_every_pair_says() {
        let mut state = 12_345_u64;
        let mut dice = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 33) % n) as i64
        };
        for round in 0..200 {
            let mut losses: BTreeMap<usize, Vec<Window>> = BTreeMap::new();
            for _ in 0..1 + dice(40) {
                let from = dice(300);
                losses.entry(dice(9) as usize).or_default().push((from, from + dice(30)));
            }
            let plenty = 100;
            let (firsts, lasts) = (vec![i64::MIN; plenty], vec![i64::MAX; plenty]);
            let mut port = Port { firsts, lasts, losses: losses.clone() };
            port.count(&mut |window, (losing, active)| {
                assert_eq!((losing, active), (plainly(&losses, window), 99), "round {round} {window:?}");
            });
        }
    }

    #[test]
    fn sentences_count_right() {
        let texts: Vec<String> = [(0, 0), (0, 1), (1, 1), (0, 14), (3, 14)]
            .map(|(k, n)| sentence(k, n, 5568, (0, 39_000_001)))
            .into();
        assert_eq!(
            texts,
            [
                "",
                "; the other stream to port 5568 lost nothing then",
                "; the other stream to port 5568 lost some within the same 40 ms",
                "; none of the 14 other streams to port 5568 lost any then",
                "; 3 of the 14 other streams to port 5568 lost some within the same 40 ms",
            ]
        );
    }
}
