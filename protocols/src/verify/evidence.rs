//! Drop counters of the observing host, laid against the losses of the streams: every missing datagram gets its owner.
//!
//! Each counted drop is a budget that losses of its time draw on, so that no drop explains two losses. What a socket
//! or ring counted is placed between two datagrams; what other counters say is known to a sampling interval only.

use super::account::{ObserverLoss, Owners};
use super::findings::Place;
use super::flow::{Flow, Unlisted};
use super::model::Unit;
use super::tap::TapEvidence;
use super::{Verifier, rules};
use crate::attribution::{Evidence, STALL_LIMIT, Split, split};
use crate::time::MS;
use crate::{Rule, Severity, Timestamp};

/// Most intervals kept; further ones are merged into the newest of their layer.
const KEPT: usize = 4096;
/// Drops of one layer no further apart than this are one interval.
const MERGED: i64 = 5 * MS;
/// Counters that are sampled may be late by this much.
pub(super) const SAMPLED: i64 = 150 * MS;

/// Which counter of the host counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropLayer {
    /// Receive buffer of a UDP socket (wrong checksums among them).
    Socket,
    /// Packet ring or libpcap buffer.
    Ring,
    /// Network card.
    Nic,
    /// Backlog queue of a CPU.
    Softnet,
    /// Wrong UDP checksums, host-wide.
    Checksum,
    /// Frames that a network card did not hand on, for want of room or because nobody speaks their protocol.
    Unclear,
    /// The link was down.
    Link,
}

impl DropLayer {
    /// All of them.
    pub const ALL: [DropLayer; 7] = [
        DropLayer::Socket,
        DropLayer::Ring,
        DropLayer::Nic,
        DropLayer::Softnet,
        DropLayer::Checksum,
        DropLayer::Unclear,
        DropLayer::Link,
    ];

    /// The word in records and comments.
    pub fn name(self) -> &'static str {
        match self {
            DropLayer::Socket => "socket",
            DropLayer::Ring => "ring",
            DropLayer::Nic => "nic",
            DropLayer::Softnet => "softnet",
            DropLayer::Checksum => "checksum",
            DropLayer::Unclear => "unclear",
            DropLayer::Link => "link",
        }
    }
}

/// Drops that a counter of the observing host counted between two instants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostDrops {
    /// Which counter.
    pub layer: DropLayer,
    /// Local UDP port the counter belongs to; `None` when it counts for all.
    pub port: Option<u16>,
    /// Capture time of what was received before.
    pub from: Timestamp,
    /// Capture time of what was received after.
    pub to: Timestamp,
    /// How many.
    pub count: u64,
}

/// What the host's counters said, and how much of it losses have drawn.
#[derive(Debug, Default)]
pub(crate) struct HostEvidence {
    drops: Vec<(HostDrops, u64)>,
    stalls: Vec<(i64, i64)>,
    unclear: u64,
    /// Socket drops that are no wrong checksums and were not drawn yet.
    net: u64,
    pub(crate) total: ObserverLoss,
}

impl HostEvidence {
    fn add(&mut self, d: HostDrops) {
        let total = match d.layer {
            DropLayer::Socket => &mut self.total.socket,
            DropLayer::Ring => &mut self.total.ring,
            DropLayer::Checksum => &mut self.total.checksum,
            DropLayer::Nic => &mut self.total.nic_counted,
            DropLayer::Softnet => &mut self.total.softnet_counted,
            DropLayer::Unclear | DropLayer::Link => &mut self.unclear,
        };
        *total = total.saturating_add(d.count);
        let full = self.drops.len() >= KEPT;
        let last = self.drops.iter_mut().rev().take(if full { KEPT } else { 8 });
        let same = last.map(|(b, left)| (b, left)).find(|(b, _)| b.layer == d.layer && b.port == d.port);
        match same {
            Some((b, left)) if full || d.from.0.saturating_sub(b.to.0) <= MERGED => {
                b.from = b.from.min(d.from);
                b.to = b.to.max(d.to);
                b.count = b.count.saturating_add(d.count);
                *left = left.saturating_add(d.count);
            }
            _ if !full => self.drops.push((d, d.count)),
            _ => {}
        }
    }

    /// What counters counted, interval by interval.
    pub(crate) fn counted(&self) -> impl Iterator<Item = &HostDrops> {
        self.drops.iter().map(|(d, _)| d)
    }

    fn is_empty(&self) -> bool {
        self.drops.is_empty() && self.stalls.is_empty()
    }

    /// What is left of a layer's drops around an interval.
    fn left(&self, layer: DropLayer, port: u16, (from, to): (i64, i64)) -> u64 {
        let hit = |b: &HostDrops| is_hit(b, layer, port, (from, to));
        self.drops.iter().filter(|(b, _)| hit(b)).fold(0, |sum, (_, left)| sum.saturating_add(*left))
    }

    /// Takes `n` off a layer's drops, those nearest to the middle of the interval first.
    fn draw(&mut self, layer: DropLayer, port: u16, window: (i64, i64), mut n: u64) {
        let middle = |from: i64, to: i64| from.saturating_add(to.saturating_sub(from) / 2);
        while n > 0 {
            let hits = self.drops.iter_mut().filter(|(b, left)| *left > 0 && is_hit(b, layer, port, window));
            let near =
                hits.min_by_key(|(b, _)| middle(b.from.0, b.to.0).abs_diff(middle(window.0, window.1)));
            let Some((_, left)) = near else { return };
            let part = n.min(*left);
            *left -= part;
            n -= part;
        }
    }

    /// Nobody can say whether so many datagrams of the interval reached this host: the link was down, or the card
    /// threw away more frames than it does all the time.
    fn is_unclear(&self, missing: u64, port: u16, window: (i64, i64), run: i64) -> bool {
        if self.left(DropLayer::Link, port, window) > 0 {
            return true;
        }
        let (from, to) = wide(window);
        let around = self.drops.iter().filter(|(b, _)| is_hit(b, DropLayer::Unclear, port, (from, to)));
        // Of a reading that reaches beyond the interval, as much as lies in it.
        let thrown = around.fold(0u128, |sum, (b, left)| {
            let length = u128::from(b.to.0.abs_diff(b.from.0)).max(1);
            let inside = u128::from(b.to.0.min(to).abs_diff(b.from.0.max(from))).max(1);
            sum + u128::from(*left) * inside.min(length) / length
        });
        let share =
            u128::from(to.abs_diff(from)) * u128::from(self.unclear) / u128::from(run.max(1).unsigned_abs());
        missing > 0 && thrown.saturating_sub(share) >= u128::from(missing)
    }

    fn stall(&self, (from, to): (i64, i64)) -> Option<i64> {
        self.stalls.iter().filter(|(a, b)| *a <= to && *b >= from).map(|(a, b)| b.saturating_sub(*a)).max()
    }
}

fn is_hit(b: &HostDrops, layer: DropLayer, port: u16, (from, to): (i64, i64)) -> bool {
    b.layer == layer && b.port.is_none_or(|p| p == port) && b.from.0 <= to && b.to.0 >= from
}

/// An interval with room for counters that are sampled.
fn wide((from, to): (i64, i64)) -> (i64, i64) {
    (from.saturating_sub(SAMPLED), to.saturating_add(SAMPLED))
}

impl Verifier {
    /// Drops that a counter of the observing host counted. They are laid against the losses at the end.
    pub fn on_drops(&mut self, drops: HostDrops) {
        if drops.count > 0 {
            let (from, to) = (drops.from.min(drops.to), drops.from.max(drops.to));
            self.evidence.add(HostDrops { from, to, ..drops });
        }
    }

    /// The receive loop stood still between two instants. Held against the observer only where there is no drop
    /// counter ([`super::Options::no_drop_counter`]).
    pub fn on_stall(&mut self, from: Timestamp, to: Timestamp) {
        if self.evidence.stalls.len() < KEPT && to.0.saturating_sub(from.0) >= STALL_LIMIT {
            self.evidence.stalls.push((from.0, to.0));
        }
    }

    /// Adds a finding about the observer's own state (`OBS-…`) at a time.
    pub fn remark(&mut self, rule: &'static Rule, at: Timestamp, text: String) {
        let place = Place { stream: None, packet: 0, stamp: at.0 };
        self.shared.findings.add(rule, rule.severity, place, 0, || text);
    }

    /// The capture is damaged behind its record `packet`: what came after is not known. One finding for each damage.
    pub fn on_damage(&mut self, packet: u64, text: String) {
        let place = Place { stream: None, packet, stamp: self.clock.stamps().1.unwrap_or(0) };
        let rule = rules::CAP_DAMAGED;
        self.shared.findings.single(rule, rule.severity, place, text);
    }

    /// So many packets of the capture are of a link type that is not decoded; `text` says which.
    pub fn on_undecoded(&mut self, packets: u64, text: String) {
        let place = Place { stream: None, packet: 0, stamp: self.clock.stamps().0.unwrap_or(0) };
        let rule = rules::CAP_LINK_TYPE;
        if let Some(found) = self.shared.findings.single(rule, rule.severity, place, text) {
            found.count = packets;
        }
    }

    /// Finds the owners of all losses and reports what the observer itself lost.
    pub(crate) fn attribute(&mut self) {
        if self.evidence.is_empty() && !self.options.no_drop_counter && self.tap.is_none() {
            return;
        }
        let (first, last) = self.clock.stamps();
        let run = last.zip(first).map_or(1, |(last, first)| last.saturating_sub(first));
        self.evidence.net = self.evidence.total.socket.saturating_sub(self.evidence.total.checksum);
        self.settle_by_counters();
        let no_counter = self.options.no_drop_counter;
        let mut spoiled: Vec<(i64, i64)> = Vec::new();
        // Exact places first: what a socket counted between two datagrams is not spent on a loss beside it.
        for exact in [true, false] {
            for f in self.shared.findings.losses() {
                let Some(flow) = f.stream.and_then(|s| self.flows.get_mut(s)) else { continue };
                let Some(of) = &mut f.owners else { continue };
                let loss =
                    Loss { window: (f.since_ns, f.last_ns), missing: of.unknown, exact, no_counter, run };
                let s = owners(flow, &loss, self.tap.as_ref(), &mut self.evidence);
                if s.observer + s.ambiguous > 0 {
                    spoiled.push(loss.window);
                    f.tainted = true;
                }
                f.open = s.ambiguous;
                give(of, s);
                give(&mut flow.cold.owners, s);
            }
        }
        for flow in &mut self.flows {
            let Some(Unlisted { window, unknown: missing }) = flow.cold.unlisted else { continue };
            let loss = Loss { window, missing, exact: false, no_counter, run };
            let s = owners(flow, &loss, self.tap.as_ref(), &mut self.evidence);
            give(&mut flow.cold.owners, s);
        }
        self.shared.findings.taint(|from, to| spoiled.iter().any(|(a, b)| from <= *b && to >= *a));
        self.observer_lost();
    }

    fn observer_lost(&mut self) {
        let total = &mut self.evidence.total;
        // A socket counts a wrong checksum as a drop; that one was lost on the wire.
        total.socket = total.socket.saturating_sub(total.checksum);
        let lost = total.lost();
        if lost == 0 {
            return;
        }
        let (socket, ring, host) =
            (total.socket, total.ring, total.nic + total.softnet + total.stalled + total.undelivered);
        let first = self.evidence.drops.first().map_or(0, |(d, _)| d.from.0);
        let place = Place { stream: None, packet: 0, stamp: first };
        self.shared.findings.add_n(rules::OBS_LOST, place, 0, lost, || {
            format!(
                "the observer lost {}: {socket} in socket buffers, {ring} in the packet ring, {host} in the host before",
                crate::words::counted(lost, "datagram")
            )
        });
    }
}

/// A loss whose owners are asked for.
struct Loss {
    /// Stamp of the last datagram before it and of the first one after it.
    window: (i64, i64),
    /// Datagrams whose owner is not known yet.
    missing: u64,
    /// Only what is placed between two datagrams is asked.
    exact: bool,
    no_counter: bool,
    /// Length of the run, ns.
    run: i64,
}

fn port_of(flow: &Flow) -> u16 {
    flow.destinations.first().map_or(0, |d| d.address.port())
}

/// Gives the shares of a split to their owners.
fn give(of: &mut Owners, s: Split) {
    of.observer = of.observer.saturating_add(s.observer);
    of.wire = of.wire.saturating_add(s.corrupt);
    of.unknown = of.unknown.saturating_sub(s.observer + s.corrupt);
}

/// Splits a loss of a stream and takes what it explains off the counters.
fn owners(flow: &Flow, loss: &Loss, tap: Option<&TapEvidence>, host: &mut HostEvidence) -> Split {
    let Loss { window, missing, exact, .. } = *loss;
    if missing == 0 {
        return Split::default();
    }
    let port = port_of(flow);
    let tap = tap.filter(|_| !exact).and_then(|tap| tap.seen(flow, window, missing));
    let placed = if exact { window } else { wide(window) };
    let [socket, ring] = [DropLayer::Socket, DropLayer::Ring].map(|layer| host.left(layer, port, placed));
    let drops = socket.saturating_add(ring);
    let sampled = |layer| if exact { 0 } else { host.left(layer, port, wide(window)) };
    // Beyond what all sockets together really overflowed, a drop is a wrong checksum wherever it was counted.
    let checksum = host.left(DropLayer::Checksum, port, wide(window));
    let checksum = checksum.max(socket.saturating_sub(host.net)).min(socket);
    let (nic, softnet) = (sampled(DropLayer::Nic), sampled(DropLayer::Softnet));
    let evidence = Evidence {
        missing,
        socket_drops: (exact || !loss.no_counter || drops > 0).then_some(drops),
        checksum_errors: checksum,
        tap_seen: tap.map(|(seen, _)| seen),
        tap_drops: tap.map(|(_, dropped)| dropped),
        nic_drops: nic,
        softnet_drops: softnet,
        loop_gap_ns: host.stall(window),
        ..Evidence::default()
    };
    let mut s = split(&evidence);
    if !exact && host.is_unclear(s.upstream, port, window, loss.run) {
        s.ambiguous += std::mem::take(&mut s.upstream);
    }
    let by_socket = s.observer.min(socket - checksum);
    let by_ring = (s.observer - by_socket).min(ring);
    let by_host = s.observer - by_socket - by_ring;
    // Seen by the tap, counted by nobody: lost between the interface and this program.
    let by_path = by_host.min(tap.map_or(0, |(seen, _)| seen));
    let by_host = by_host - by_path;
    let by_nic = by_host.min(nic);
    let by_softnet = (by_host - by_nic).min(softnet);
    host.draw(DropLayer::Socket, port, placed, by_socket + s.corrupt);
    host.draw(DropLayer::Ring, port, placed, by_ring);
    host.draw(DropLayer::Checksum, port, wide(window), s.corrupt);
    host.draw(DropLayer::Nic, port, wide(window), by_nic);
    host.draw(DropLayer::Softnet, port, wide(window), by_softnet);
    host.net = host.net.saturating_sub(by_socket);
    host.total.nic += by_nic;
    host.total.softnet += by_softnet;
    host.total.undelivered += by_path;
    host.total.stalled += by_host - by_nic - by_softnet;
    s
}

impl Verifier {
    /// Numbers with few values leave whole cycles of a loss open. Where the socket's own counter fits what the numbers
    /// say, and no other stream of the port lost anything then, it knows the size.
    fn settle_by_counters(&mut self) {
        let all: Vec<(usize, u16, i64, i64)> = self
            .shared
            .findings
            .losses()
            .filter_map(|f| Some((f.stream?, f.since_ns, f.last_ns)))
            .filter_map(|(s, from, to)| Some((s, port_of(self.flows.get(s)?), from, to)))
            .collect();
        for f in self.shared.findings.losses() {
            let Some((stream, flow)) = f.stream.and_then(|s| Some((s, self.flows.get_mut(s)?))) else {
                continue;
            };
            let Some(model) = flow.model.filter(|m| m.unit == Unit::Datagram && m.cycle <= 16) else {
                continue;
            };
            let (port, window) = (port_of(flow), (f.since_ns, f.last_ns));
            let counted = self.evidence.left(DropLayer::Socket, port, window);
            let other = |(s, p, from, to): &(usize, u16, i64, i64)| {
                *s != stream && *p == port && *from <= window.1 && *to >= window.0
            };
            let cycle = i64::try_from(model.cycle).unwrap_or(16);
            let signed = i64::try_from(counted).unwrap_or(i64::MAX);
            let fits = signed.rem_euclid(cycle) == f.residue.rem_euclid(cycle);
            let lost = f.owners.map_or(0, |o| o.sender + o.wire + o.observer + o.unknown);
            if counted == 0 || !fits || all.iter().any(other) || (counted == lost && counted == f.proven) {
                continue;
            }
            let sequence = &mut flow.cold.sequence;
            sequence.lost = sequence.lost.saturating_sub(lost).saturating_add(counted);
            sequence.lost_min = sequence.lost_min.saturating_sub(f.proven).saturating_add(counted);
            let of = &mut flow.cold.owners;
            let open = f.owners.map_or(0, |o| o.unknown);
            let wire = f.owners.map_or(0, |o| o.wire).min(counted);
            of.unknown = of.unknown.saturating_sub(open).saturating_add(counted - wire);
            f.owners = Some(Owners { wire, unknown: counted - wire, ..Owners::default() });
            (f.code, f.severity) = (rules::SEQ_LOST.code, Severity::Violation);
            (f.count, f.proven) = (counted, counted);
            f.text = format!(
                "{} lost: the socket's drop counter settles what the numbers leave open",
                crate::words::counted(counted, "datagram")
            );
        }
    }
}
