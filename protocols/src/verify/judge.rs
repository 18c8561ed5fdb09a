//! Rules that only the whole run can answer: rates, synchronization, identities, discovery, push, the capture.

use super::account::Owners;
use super::findings::Place;
use super::flow::Flow;
use super::model::Unit;
use super::spread::rate_mhz;
use super::{Verifier, rules};
use crate::words::counted;
use crate::{Protocol, Rule, Severity};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

/// CIDs that products share on every installation (reference 5, row 2): no sign of a copied identity.
const SHARED_CIDS: [[u8; 10]; 2] =
    [*b"FALCON FPP", [0xc0, 0xde, 0x00, 0x80, 0xc6, 0x9b, 0x11, 0xe0, 0x95, 0x72]];

/// Datagrams of levels from which on a rate is judged.
pub(super) const RATE_LEAST: u64 = 50;
/// Percent of the most that DMX512 carries up to which a rate is right: clocks differ.
pub(super) const RATE_PERCENT: u64 = 101;
/// A slot on the line, us (E1.11).
pub(super) const SLOT_US: u64 = 44;
/// Shortest frame on the line, us (E1.11).
pub(super) const SHORTEST_US: u64 = 1_204;
/// Nodes leave synchronous mode when ArtSync stays away for longer than this (Art-Net 4, ArtSync).
pub(super) const ART_SYNC: i64 = 4 * crate::time::SECOND;
/// Frames without any push from which on it is told.
pub(super) const PUSH_LEAST: u64 = 8;

fn rule(code: &str) -> Option<&'static Rule> {
    crate::registry::rule(code)
}

fn start(f: &Flow) -> Place {
    Place { stream: Some(f.index), packet: 0, stamp: f.cold.first_stamp }
}

impl Verifier {
    pub(crate) fn end_rules(&mut self) {
        self.lonely_steps();
        self.rates();
        self.unnumbered();
        self.synchronization();
        self.identities();
        self.discovery();
        self.pushes();
        self.capture();
    }

    fn rates(&mut self) {
        for f in self.flows.iter().filter(|f| matches!(f.key.kind.name, "sacn/data" | "artnet/ArtDmx")) {
            let most = dmx_limit_mhz(f.octets.0.min(f.octets.1));
            let nodes =
                if f.model.is_some_and(|m| m.per_destination) { f.destinations.len() as u64 } else { 1 };
            let rate = rate_mhz(f.levels.saturating_sub(1) / nodes.max(1), f.active_ns);
            if f.levels < RATE_LEAST || rate.saturating_mul(100) <= most * RATE_PERCENT {
                continue;
            }
            let found = self.shared.findings.add(rules::TIME_RATE, Severity::Warning, start(f), 0, || {
                let slots = f.octets.0.min(f.octets.1);
                format!("{} Hz with {slots} slots; DMX512 carries at most {} Hz", hertz(rate), hertz(most))
            });
            if let Some(found) = found {
                found.expected = format!("at most {} Hz", hertz(most));
                found.got = format!("{} Hz", hertz(rate));
                found.count = f.levels;
            }
        }
    }

    /// A constant step above one is a shared counter only if another stream shows it too or the IP ids run on;
    /// otherwise every second (or third …) datagram may just as well be lost.
    fn lonely_steps(&mut self) {
        let step =
            |f: &Flow| f.model.filter(|m| m.unit == Unit::Datagram && m.step > 1).map(|m| u64::from(m.step));
        for index in 0..self.flows.len() {
            let Some(k) = step(&self.flows[index]) else { continue };
            let f = &self.flows[index];
            let sibling = |o: &&Flow| {
                o.index != index
                    && o.key.source == f.key.source
                    && o.protocol() == f.protocol()
                    && step(o) == Some(k)
            };
            if self.flows.iter().any(|o| sibling(&o)) || f.ip_runs * 10 >= f.datagrams * 8 {
                continue;
            }
            let lost = (k - 1) * f.datagrams.saturating_sub(f.cold.sessions.max(1));
            let place = start(f);
            self.shared.findings.retract("SEQ-SHARED-COUNTER", index);
            if f.cold.damaged > 0 && f.cold.damaged.abs_diff(lost) * 10 <= lost {
                self.evenly_damaged(index, lost);
                continue;
            }
            let text = format!(
                "every datagram is {k} numbers ahead of the one before: either {lost} datagrams were lost evenly, or \
                 the counter is shared with streams that this capture does not show"
            );
            if let Some(found) =
                self.shared.findings.single(rules::SEQ_AMBIGUOUS, Severity::Warning, place, text)
            {
                found.count = lost;
            }
            let f = &mut self.flows[index];
            f.cold.sequence.lost += lost;
            f.cold.sequence.ambiguous = true;
            f.cold.owners.unknown += lost;
        }
    }

    /// The numbers that a stream skips all the time are those of datagrams that came with a wrong checksum.
    fn evenly_damaged(&mut self, index: usize, lost: u64) {
        let f = &mut self.flows[index];
        let wire = f.cold.damaged.min(lost);
        f.cold.sequence.lost += lost;
        f.cold.sequence.lost_min += wire;
        let of = Owners { wire, unknown: lost - wire, ..Owners::default() };
        f.cold.owners.wire += of.wire;
        f.cold.owners.unknown += of.unknown;
        let (place, last) = (start(f), f.last_stamp);
        let text = format!("{} lost: so many came with a wrong checksum", counted(lost, "datagram"));
        let rule = rules::SEQ_LOST;
        if let Some(found) = self.shared.findings.single(rule, rule.severity, place, text) {
            (found.count, found.proven, found.last_ns, found.owners) = (lost, wire, last, Some(of));
        }
    }

    /// Single datagrams without a number in a stream that counts.
    fn unnumbered(&mut self) {
        let counting = |f: &&Flow| f.cold.unnumbered > 0 && f.model.is_some_and(|m| m.unit != Unit::Nothing);
        for f in self.flows.iter().filter(counting) {
            let text = || {
                format!(
                    "{} of {} datagrams carry no number: a loss beside them cannot be told",
                    f.cold.unnumbered, f.datagrams
                )
            };
            self.shared.findings.add_n(rules::SEQ_UNUSED, start(f), 1, f.cold.unnumbered, text);
        }
    }

    fn synchronization(&mut self) {
        let synced: BTreeSet<u32> =
            self.flows.iter().filter(|f| f.key.kind.name == "sacn/sync").map(|f| f.key.stream).collect();
        let mut wanted = BTreeSet::new();
        for f in self.flows.iter().filter(|f| f.key.kind.name == "sacn/data") {
            wanted.extend(f.cold.syncs.iter().map(|s| u32::from(*s)));
            for sync in f.cold.syncs.iter().filter(|s| !synced.contains(&u32::from(**s))) {
                self.shared.findings.add(rules::SYNC_MISSING, Severity::Warning, start(f), 1, || {
                    format!(
                        "data waits for synchronization on {sync}, and none was seen at this capture point"
                    )
                });
            }
        }
        for f in
            self.flows.iter().filter(|f| f.key.kind.name == "sacn/sync" && !wanted.contains(&f.key.stream))
        {
            self.shared.findings.add(rules::SYNC_ORPHAN, Severity::Warning, start(f), 0, || {
                format!(
                    "{} synchronization packets on {}, but no data asks for them",
                    f.datagrams, f.key.stream
                )
            });
        }
        self.art_sync();
    }

    fn art_sync(&mut self) {
        let Some(a13) = rule("ARTNET-A13") else { return };
        let senders: BTreeSet<IpAddr> =
            self.flows.iter().filter(|f| f.key.kind.name == "artnet/ArtDmx").map(|f| f.key.source).collect();
        for f in self.flows.iter().filter(|f| f.key.kind.name == "artnet/ArtSync") {
            if !senders.contains(&f.key.source) {
                self.shared.findings.add(a13, Severity::Warning, start(f), 0, || {
                    "ArtSync from an address that sends no ArtDmx: nodes ignore it".to_owned()
                });
            } else if f.longest_ns > ART_SYNC {
                self.shared.findings.add(a13, Severity::Warning, start(f), 1, || {
                    "ArtSync stayed away for over 4 s: nodes fall back to immediate output".to_owned()
                });
            }
            let unicast = |a: &IpAddr| matches!(a, IpAddr::V4(v4) if v4.octets()[3] != 255 && !v4.is_multicast() && !is_any(*v4));
            if f.destinations.iter().any(|d| unicast(&d.address.ip())) {
                self.shared.findings.add(a13, Severity::Warning, start(f), 2, || {
                    "ArtSync is sent to single addresses; it is meant to be broadcast".to_owned()
                });
            }
        }
    }

    fn identities(&mut self) {
        let Some(s31) = rule("SACN-S31") else { return };
        self.twins(s31);
        let mut hosts: BTreeMap<[u8; 16], BTreeMap<IpAddr, usize>> = BTreeMap::new();
        for f in &self.flows {
            if let Some(cid) = f.cold.sender {
                hosts.entry(cid).or_default().entry(f.key.source).or_insert(f.index);
            }
        }
        for by_host in hosts.values_mut().filter(|by_host| by_host.len() > 1) {
            self.join_addresses(by_host);
        }
        for (cid, by_host) in hosts.iter().filter(|(_, by_host)| by_host.len() > 1) {
            let shared = SHARED_CIDS.iter().any(|known| cid.starts_with(known));
            let severity = if shared { Severity::Info } else { Severity::Warning };
            let Some(flow) = by_host.values().max().map(|i| &self.flows[*i]) else { continue };
            self.shared.findings.add(s31, severity, start(flow), 0, || {
                let list: Vec<String> = by_host.keys().take(8).map(ToString::to_string).collect();
                format!(
                    "CID {} is used by {} hosts: {}",
                    super::finish::uuid(*cid),
                    by_host.len(),
                    list.join(", ")
                )
            });
        }
    }

    /// Leaves one address of each source that shows the same from several, with the same numbers.
    fn join_addresses(&self, by_host: &mut BTreeMap<IpAddr, usize>) {
        let all: Vec<IpAddr> = by_host.keys().copied().collect();
        for (at, address) in all.iter().enumerate() {
            let own = self.flows.iter().filter(|f| f.key.source == *address);
            let others: BTreeSet<IpAddr> =
                own.flat_map(Flow::one_with).map(|i| self.flows[i].key.source).collect();
            if all[..at].iter().any(|before| others.contains(before) && by_host.contains_key(before)) {
                by_host.remove(address);
            }
        }
    }

    /// One CID used by two programs of one host at the same time.
    fn twins(&mut self, s31: &'static Rule) {
        for f in self.flows.iter().filter(|f| f.key.port != 0) {
            let Some(cid) = f.cold.sender else { continue };
            let key = super::flow::FlowKey { port: 0, ..f.key };
            let Some(first) = self.by_key.get(&key).map(|i| &self.flows[*i]) else { continue };
            let (a, b) = (first.cold.source, f.cold.source);
            self.shared.findings.add(s31, Severity::Warning, start(f), 1, || {
                format!("CID {} is used by two senders of one host: {a} and {b}", super::finish::uuid(cid))
            });
        }
    }

    fn discovery(&mut self) {
        let Some(s44) = rule("SACN-S44") else { return };
        let mut sent: BTreeMap<(IpAddr, [u8; 16]), (usize, BTreeSet<u16>)> = BTreeMap::new();
        for f in &self.flows {
            if let (Some(cid), Ok(universe)) = (f.cold.sender, u16::try_from(f.key.stream)) {
                sent.entry((f.key.source, cid)).or_insert((f.index, BTreeSet::new())).1.insert(universe);
            }
        }
        for (key, list) in &self.discovered {
            let source = key.0;
            let (stream, seen) = sent.remove(key).map_or((None, BTreeSet::new()), |(i, set)| (Some(i), set));
            let unseen: Vec<u16> = list.difference(&seen).copied().collect();
            let unlisted: Vec<u16> = seen.difference(list).copied().collect();
            if unseen.is_empty() && unlisted.is_empty() {
                continue;
            }
            let place = Place { stream, packet: 0, stamp: 0 };
            self.shared.findings.add(s44, Severity::Info, place, 0, || {
                format!(
                    "discovery of {source} lists {}; listed but not seen here: {}; seen but not listed: {}",
                    counted(list.len() as u64, "universe"),
                    some(&unseen),
                    some(&unlisted)
                )
            });
        }
    }

    fn pushes(&mut self) {
        let Some(d13) = rule("DDP-D13") else { return };
        for f in self.flows.iter().filter(|f| f.protocol() == Protocol::Ddp) {
            for c in &f.chunks {
                let frames = c.with_end + c.without_end;
                let mut tell = |variant, text: &str| {
                    self.shared.findings.add(d13, Severity::Warning, start(f), variant, || text.to_owned());
                };
                if frames >= PUSH_LEAST && c.ends == 0 {
                    tell(0, "no push in any frame: displays that wait for it stay frozen");
                }
                if c.early_end > 0 && c.chunks > 1 {
                    tell(1, "push before the end of the frame: displays show a torn picture");
                }
            }
        }
    }

    fn capture(&mut self) {
        let findings = &mut self.shared.findings;
        let at =
            |first: Option<(u64, i64)>| first.map(|(packet, stamp)| Place { stream: None, packet, stamp });
        if let Some(place) = at(self.first_copy) {
            let n = self.counts.capture_duplicates;
            let text = || {
                format!(
                    "{} seen twice in the capture (same IP id within 5 ms): removed",
                    counted(n, "datagram")
                )
            };
            findings.add_n(rules::CAP_DUPLICATE, place, 0, n, text);
        }
        if let Some(place) = at(self.first_cut) {
            let n = self.counts.cut;
            let text = || format!("{} cut by the capture's snap length", counted(n, "datagram"));
            findings.add_n(rules::CAP_TRUNCATED, place, 0, n, text);
            // What was cut off may have moved.
            findings.retract_all(rules::FRAME_FROZEN.code);
        }
        if let Some(place) = at(self.first_fragment) {
            let n = self.counts.fragmented;
            let text = || format!("{} travelled as IP fragments", counted(n, "datagram"));
            findings.add_n(rules::CAP_FRAGMENT, place, 0, n, text);
        }
        for s in &self.shared.sources.list {
            let Some((all, carded, first)) = s.offloaded() else { continue };
            let place = Place { stream: None, packet: first.0, stamp: first.1 };
            let variant = u32::try_from(first.0).unwrap_or(u32::MAX);
            let text = || {
                format!(
                    "{carded} of {all} checksums of {} are wrong: left to the network card of the capturing host, not a wire error",
                    s.address
                )
            };
            findings.add_n(rules::CAP_OFFLOAD, place, variant, carded, text);
        }
    }

    /// Marks what was found while the capture itself lost packets.
    pub(crate) fn blind_times(&mut self) {
        if self.blind.is_empty() {
            return;
        }
        let total = self.blind.iter().fold(0, |sum: u64, b| sum.saturating_add(b.dropped));
        let first = self.blind.first().map_or(0, |b| b.from);
        let place = Place { stream: None, packet: 0, stamp: first };
        let text = || {
            format!(
                "the capture itself lost {}; losses of that time are nobody's fault yet",
                counted(total, "packet")
            )
        };
        self.shared.findings.add_n(rules::CAP_DROPPED, place, 0, total, text);
        let blind = std::mem::take(&mut self.blind);
        self.shared.findings.taint(|from, to| blind.iter().any(|b| from <= b.to && to >= b.from));
        self.blind = blind;
    }

    /// What this capture cannot show, one sentence each.
    pub(crate) fn limits(&self) -> Vec<String> {
        let mut limits = Vec::new();
        let mut say = |text: String| limits.push(text);
        let data = || self.flows.iter().filter(|f| f.has_frames());
        let off = data().filter(|f| f.model.is_some_and(|m| m.unit == Unit::Nothing)).count();
        if off > 0 {
            let (streams, carry) = if off == 1 { ("stream", "carries") } else { ("streams", "carry") };
            say(format!(
                "{off} {streams} {carry} no usable sequence numbers: a datagram lost there can only show as a hole in a frame or a pause."
            ));
        }
        if data().any(|f| f.protocol() == Protocol::Ddp && f.model.is_some_and(|m| m.unit == Unit::Datagram))
        {
            say("DDP numbers repeat after 15 or 16 datagrams: longer losses are estimated from position and time, `lost_min` is what is proven.".to_owned());
        }
        if data().next().is_some() {
            say("Datagrams lost after the last one of a stream leave no trace in a capture.".to_owned());
            say("Without the sender's own record a loss upstream of the capture point is `unknown`: device or network.".to_owned());
        }
        if !self.blind.is_empty() {
            say("The capture itself lost packets: findings marked tainted cannot be held against anybody."
                .to_owned());
        }
        if self.counts.cut > 0 {
            say("Datagrams were cut by the snap length: contents and checksums beyond the cut were not checked.".to_owned());
        }
        if self.counts.unread > 0 {
            say(format!(
                "Cut before the number and not judged: {}. Capture whole datagrams (`-s 0`).",
                counted(self.counts.unread, "datagram")
            ));
        }
        if self.unfollowed > 0 {
            say(format!(
                "{} of streams beyond the first {} counted but not followed.",
                counted(self.unfollowed, "datagram"),
                super::STREAMS_MAX
            ));
        }
        if self.shared.findings.dropped() > 0 {
            say(format!("{} further findings were counted but not listed.", self.shared.findings.dropped()));
        }
        if data().next().is_none() && self.flows.is_empty() && self.counts.unread == 0 {
            say("No stream of lighting data was seen: there is nothing to judge.".to_owned());
        }
        limits
    }
}

fn is_any(a: Ipv4Addr) -> bool {
    a.is_broadcast() || a.is_unspecified()
}

fn some(list: &[u16]) -> String {
    if list.is_empty() {
        return "none".to_owned();
    }
    let mut text: Vec<String> = list.iter().take(12).map(ToString::to_string).collect();
    if list.len() > 12 {
        text.push("…".to_owned());
    }
    text.join(", ")
}

/// Most DMX512 frames per second for a slot count, in thousandths: 92 us break, 12 us mark, 44 us a slot with the
/// start code, at least 1,204 us in all (E1.11 as derived in the reference, 1.4).
pub(super) fn dmx_limit_mhz(slots: u32) -> u64 {
    let us = (92 + 12 + SLOT_US * (u64::from(slots.min(512)) + 1)).max(SHORTEST_US);
    1_000_000_000 / us
}

pub(super) fn hertz(mhz: u64) -> String {
    let tenths = (mhz + 50) / 100;
    format!("{}.{}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dmx_limits_are_within_a_tenth_of_the_reference() {
        let hz = [512, 510, 480, 375, 360, 24].map(|slots| hertz(dmx_limit_mhz(slots)));
        assert_eq!(hz, ["44.1", "44.3", "47.0", "60.1", "62.5", "830.6"]);
    }
}
