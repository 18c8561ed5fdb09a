//! Which of several senders on one host is the device: two programs drive the same stream from two source ports. Addresses
//! alone cannot tell them apart, and what one of them lacks is no loss of the other.

use super::tape::One;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// A stream on its way: number and destination.
type Path = (u32, SocketAddr);

/// Source ports of one path.
#[derive(Debug, Default)]
struct Ports {
    counts: BTreeMap<u16, u64>,
    last: Option<u16>,
    /// A port came again after another one: both send at the same time. A device that restarts changes its port once.
    both: bool,
}

/// Source ports that are not the device's, by path.
#[derive(Debug, Default)]
pub(super) struct Intruders(BTreeMap<Path, BTreeSet<u16>>);

impl Intruders {
    /// Of the datagrams of one stream of the plan: where ports take turns, the busiest one is the device's.
    pub(super) fn of<'a>(datagrams: impl Iterator<Item = &'a One>) -> Intruders {
        let mut paths: BTreeMap<Path, Ports> = BTreeMap::new();
        for one in datagrams {
            let ports = paths.entry((one.stream, one.destination)).or_default();
            let port = one.source.port();
            ports.both |= ports.last.is_some_and(|last| last != port) && ports.counts.contains_key(&port);
            ports.last = Some(port);
            *ports.counts.entry(port).or_default() += 1;
        }
        let several = paths.into_iter().filter(|(_, ports)| ports.both);
        Intruders(several.map(|(path, ports)| (path, ports.others())).collect())
    }

    /// The datagram is another sender's.
    pub(super) fn sent(&self, one: &One) -> bool {
        self.has(one.stream, &[one.destination], one.source.port())
    }

    /// So is a stream with this number, these destinations and this source port.
    pub(super) fn has(&self, stream: u32, destinations: &[SocketAddr], port: u16) -> bool {
        let of = |to: &SocketAddr| self.0.get(&(stream, *to));
        destinations.iter().filter_map(of).any(|ports| ports.contains(&port))
    }
}

impl Ports {
    fn others(self) -> BTreeSet<u16> {
        let own =
            self.counts.iter().max_by_key(|(port, count)| (**count, u16::MAX - **port)).map(|(p, _)| *p);
        self.counts.into_keys().filter(|port| Some(*port) != own).collect()
    }
}
