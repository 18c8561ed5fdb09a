//! Who else is talking: several sources on one universe, port-address or display.

use super::account::Ended;
use super::flow::{Flow, chunked};
use super::{Verifier, findings::Place, rules};
use crate::time::SECOND;
use crate::{Protocol, Rule, Severity};
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

#[derive(Debug, Default)]
struct Universe {
    flows: Vec<usize>,
    last_top: Option<usize>,
    turns: u64,
}

/// All universes with their sources.
#[derive(Debug, Default)]
pub(crate) struct Universes {
    /// Some universe has more than one source.
    pub contested: bool,
    list: Vec<Universe>,
    by_key: HashMap<(Protocol, u32, Option<SocketAddr>), usize>,
}

impl Universes {
    /// Puts a stream under its universe; displays are told apart by their address.
    pub(crate) fn join(&mut self, flow: &Flow, destination: SocketAddr) -> usize {
        let protocol = flow.protocol();
        let own = chunked(protocol).then_some(destination);
        let list = &mut self.list;
        let index = *self.by_key.entry((protocol, flow.key.stream, own)).or_insert_with(|| {
            list.push(Universe::default());
            list.len() - 1
        });
        let universe = &mut self.list[index];
        if universe.flows.len() < RIVALS_MAX {
            universe.flows.push(flow.index);
        }
        self.contested |= universe.flows.len() > 1;
        index
    }
}

impl Verifier {
    /// Compares a stream that just sent with the others on its universe.
    pub(crate) fn rivals(&mut self, flow: usize, now: i64, packet: u64, stamp: i64) {
        let f = &self.flows[flow];
        let Some(index) = f.universe else { return };
        let universe = &mut self.universes.list[index];
        if universe.flows.len() < 2 || f.last_preview {
            return;
        }
        let mine = f.last_priority;
        let name = f.key.stream;
        let protocol = f.protocol();
        let window = if protocol == Protocol::ArtNet { ACTIVE_ARTNET } else { ACTIVE };
        let active = |i: &&usize| {
            let other = &self.flows[**i];
            **i != flow
                && now - other.arrived_at <= window
                && other.ended == Ended::Running
                && !other.last_preview
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
            if universe.last_top.is_some_and(|last| last != flow) {
                universe.turns += 1;
            }
            universe.last_top = Some(flow);
            // A hand-over is no conflict; for Art-Net every second sender within the time is a merge.
            if (universe.turns >= TURNS || protocol == Protocol::ArtNet)
                && let Some(rival) = rival
            {
                self.conflict(flow.max(rival), flow.min(rival), place);
            }
        }
    }

    fn conflict(&mut self, later: usize, earlier: usize, place: Place) {
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
