//! Who else is talking: several sources on one universe, port-address or display.
//!
//! It judges by what receivers would do with them. A receiver knows a sACN source by its CID: one that sends the same
//! content from two addresses (IPv4 and IPv6, two network cards) is one source. Receivers on two VLANs never meet. A
//! source that is followed by another and never comes back has handed over.

use super::account::Ended;
use super::flow::{Flow, FlowKey, chunked};
use super::{Verifier, findings::Place, rules};
use crate::time::SECOND;
use crate::{Datagram, Protocol, Rule, Severity};
use std::collections::HashMap;
use std::net::SocketAddr;

/// Sources of one universe compared with each other.
const RIVALS_MAX: usize = 16;
/// A source counts as active for this long (E1.31 6.7.1).
pub(super) const ACTIVE: i64 = 2_500_000_000;
/// Art-Net keeps merging for longer; 4 s covers its repeat of unchanged input.
pub(super) const ACTIVE_ARTNET: i64 = 4 * SECOND;
/// Changes from one source to the other from which on it is no hand-over.
pub(super) const TURNS: u64 = 3;
/// Of them: changes back to a source that sent before.
pub(super) const RETURNS: u64 = 2;
/// Streams of one host in a row, each from another port and none of which came back, after which a further port goes on
/// with the newest.
const HEIRS: usize = 4;
/// Addresses remembered of one source.
const ADDRESSES_MAX: usize = 16;

#[derive(Debug, Default)]
struct Universe {
    flows: Vec<usize>,
    last_top: Option<usize>,
    turns: u64,
    /// Of `turns`: back to a source that sent before.
    returns: u64,
    /// Newest stream, and how many joined since one came back.
    newest: Option<usize>,
    heirs: usize,
}

/// What tells universes apart: protocol, number, display and VLAN.
type UniverseKey = (Protocol, u32, Option<SocketAddr>, Option<u16>);

fn universe_key(protocol: Protocol, stream: u32, d: &Datagram<'_>) -> UniverseKey {
    (protocol, stream, chunked(protocol).then_some(d.destination), d.link.vlan)
}

/// All universes with their sources.
#[derive(Debug, Default)]
pub(crate) struct Universes {
    /// Some universe has more than one source.
    pub contested: bool,
    list: Vec<Universe>,
    by_key: HashMap<UniverseKey, usize>,
}

impl Universes {
    /// Puts a stream under its universe; displays are told apart by their address.
    pub(crate) fn join(&mut self, flow: &Flow, d: &Datagram<'_>) -> usize {
        let list = &mut self.list;
        let key = universe_key(flow.protocol(), flow.key.stream, d);
        let index = *self.by_key.entry(key).or_insert_with(|| {
            list.push(Universe::default());
            list.len() - 1
        });
        let universe = &mut self.list[index];
        universe.newest = Some(flow.index);
        universe.heirs += 1;
        if universe.flows.len() < RIVALS_MAX {
            universe.flows.push(flow.index);
        }
        self.contested |= universe.flows.len() > 1;
        index
    }

    /// The newest stream to a display whose sender changes its port again and again and never back.
    pub(crate) fn heir(&self, key: &FlowKey, d: &Datagram<'_>) -> Option<usize> {
        let index = self.by_key.get(&universe_key(key.kind.protocol, key.stream, d))?;
        let universe = &self.list[*index];
        universe.newest.filter(|_| universe.heirs >= HEIRS)
    }

    /// A stream sent again after another had: its sender has not given way.
    pub(crate) fn came_back(&mut self, universe: usize) {
        self.list[universe].heirs = 0;
    }
}

impl Universe {
    /// A stream that has the top priority sent.
    fn turn(&mut self, f: &Flow, now: i64) {
        if self.last_top.is_some_and(|last| last != f.index && !f.is_kin(last, now)) {
            let back = f.datagrams > 1;
            self.turns += 1;
            self.returns += u64::from(back);
            self.heirs = if back { 0 } else { self.heirs };
        }
        self.last_top = Some(f.index);
    }
}

/// Another address from which the same CID showed the same content.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kin {
    /// Stream there.
    flow: usize,
    /// Engine time of the newest datagram that did.
    at: i64,
    /// Datagrams that did, and of them those with the number of the one there.
    met: (u64, u64),
    /// They clashed all the same.
    strange: bool,
}

impl Flow {
    fn meet(&mut self, other: usize, now: i64, number: bool) {
        let kin = &mut self.cold.kin;
        let known = kin.iter().position(|k| k.flow == other);
        let at = known.unwrap_or(kin.len());
        if known.is_none() && kin.len() < ADDRESSES_MAX {
            kin.push(Kin { flow: other, at: now, met: (0, 0), strange: false });
        }
        if let Some(k) = kin.get_mut(at) {
            (k.at, k.met) = (now, (k.met.0 + 1, k.met.1 + u64::from(number)));
        }
    }

    /// The other stream is the same source at another address, as far as what it showed last tells.
    #[inline]
    fn is_kin(&self, other: usize, now: i64) -> bool {
        self.cold.kin.iter().any(|k| k.flow == other && now - k.at <= ACTIVE)
    }

    /// The same source at other addresses: its numbers, too, were the same, and it never clashed with them. While content
    /// stands still only every second datagram meets its own number.
    pub(crate) fn one_with(&self) -> impl Iterator<Item = usize> {
        self.cold.kin.iter().filter(|k| !k.strange && k.met.1 * 4 >= k.met.0).map(|k| k.flow)
    }
}

impl Verifier {
    /// Compares a stream that just sent with the others on its universe.
    pub(crate) fn rivals(&mut self, flow: usize, now: i64, packet: u64, stamp: i64) {
        let Some(index) = self.flows[flow].universe else { return };
        if self.universes.list[index].flows.len() < 2 || self.flows[flow].last_preview {
            return;
        }
        self.note_kin(flow, index, now);
        let f = &self.flows[flow];
        let universe = &mut self.universes.list[index];
        let (mine, name, protocol) = (f.last_priority, f.key.stream, f.protocol());
        let window = if protocol == Protocol::ArtNet { ACTIVE_ARTNET } else { ACTIVE };
        let active = |i: &&usize| {
            let other = &self.flows[**i];
            **i != flow
                && now - other.arrived_at <= window
                && other.ended == Ended::Running
                && !other.last_preview
                && !f.is_kin(**i, now)
        };
        let Some(top) = universe.flows.iter().filter(active).map(|i| self.flows[*i].last_priority).max()
        else {
            return;
        };
        let rival =
            universe.flows.iter().filter(active).find(|i| self.flows[**i].last_priority == top).copied();
        let place = Place { stream: Some(flow), packet, stamp };
        if mine < top {
            self.shared.findings.add(rules::SRC_LOWER, Severity::Info, place, 0, || {
                format!("priority {mine} on {name} while another source sends at {top}")
            });
            return;
        }
        if mine == top {
            universe.turn(f, now);
            // A hand-over is no conflict; for Art-Net every second sender within the time is a merge.
            let both = universe.turns >= TURNS && universe.returns >= RETURNS;
            if (both || protocol == Protocol::ArtNet)
                && let Some(rival) = rival
            {
                self.conflict(flow.max(rival), flow.min(rival), place);
            }
        }
    }

    /// Notes which other addresses of its CID show what the stream shows.
    fn note_kin(&mut self, flow: usize, universe: usize, now: i64) {
        let Some(cid) = self.flows[flow].cold.sender else { return };
        for at in 0..self.universes.list[universe].flows.len() {
            let other = self.universes.list[universe].flows[at];
            let Ok([f, o]) = self.flows.get_disjoint_mut([flow, other]) else { continue };
            let one = o.cold.sender == Some(cid) && o.key.source != f.key.source;
            if one && now - o.arrived_at <= ACTIVE && f.shows() != 0 && f.shows() == o.shows() {
                let numbers = f.group_raw == o.group_raw;
                f.meet(other, now, numbers);
                o.meet(flow, now, numbers);
            }
        }
    }

    fn conflict(&mut self, later: usize, earlier: usize, place: Place) {
        for (flow, other) in [(earlier, later), (later, earlier)] {
            self.flows[flow].cold.kin.iter_mut().filter(|k| k.flow == other).for_each(|k| k.strange = true);
        }
        let (a, b) = (&self.flows[earlier], &self.flows[later]);
        let rule: &'static Rule = match a.protocol() {
            Protocol::ArtNet => crate::registry::rule("ARTNET-A14").unwrap_or(rules::SRC_CONFLICT),
            _ => rules::SRC_CONFLICT,
        };
        let (from, to) = (who(a), who(b));
        let (stream, priority) = (a.key.stream, a.last_priority);
        let place = Place { stream: Some(later), ..place };
        self.shared.findings.add(rule, rule.severity, place, 0, || match rule.code {
            "SRC-CONFLICT" => {
                format!("{from} and {to} both send to universe {stream} at priority {priority}")
            }
            _ => format!("{from} and {to} both send to port-address {stream}: receivers merge them"),
        });
    }
}

fn who(f: &Flow) -> String {
    match &f.cold.name {
        Some(name) if f.key.port != 0 || f.clash.is_some() => format!("{name} ({})", f.cold.source),
        Some(name) => format!("{name} ({})", f.cold.source.ip()),
        None => f.cold.source.to_string(),
    }
}
