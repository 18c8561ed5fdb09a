//! What is known of sending hosts and of the paths between hosts: checksums, IP ids, copies made by the capture.

use super::checks::{Checks, Damage};
use crate::time::MS;
use crate::{Checksum, Datagram};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

/// Two sightings of one datagram further apart than this are not the capture's doing.
pub(super) const COPY_WINDOW: i64 = 5 * MS;
/// Datagrams of a path remembered for copies.
const REMEMBERED: usize = 16;
/// Hosts and paths remembered; further ones have no IP-id witness.
const PATHS_MAX: usize = 65_536;
/// Damaged datagrams remembered per host until a gap claims them.
const DAMAGED_MAX: usize = 256;

/// A sending host.
#[derive(Debug)]
pub(crate) struct Source {
    /// Address.
    pub address: IpAddr,
    /// Checksums of datagrams sent whole, and of those sent as IP fragments: network cards leave these alone.
    pub checks: [Checks; 2],
    damaged: Vec<(SocketAddr, i64)>,
    last_id: Option<u16>,
    /// Places where the IP id of all its datagrams together did not go up by exactly one.
    pub breaks: u64,
}

impl Source {
    /// Follows the IP id over all destinations: many hosts count once for all of them.
    #[inline]
    pub(crate) fn follow(&mut self, ip_id: Option<u16>) {
        let runs_on = matches!((self.last_id, ip_id), (Some(last), Some(id)) if id == last.wrapping_add(1));
        self.breaks += u64::from(!runs_on);
        self.last_id = ip_id;
    }

    /// Nothing about its checksums is open: another right one says nothing.
    #[inline]
    pub(crate) fn is_calm(&self) -> bool {
        self.checks[0].is_calm()
    }

    /// Checksums seen, and of them the wrong ones that were left to the network card, with the place of the first.
    pub(crate) fn offloaded(&self) -> Option<(u64, u64, (u64, i64))> {
        let all = self.checks.iter().fold(0, |sum, c| sum + c.all());
        let carded = self.checks.iter().fold(0, |sum, c| sum + c.carded);
        let first = self.checks.iter().filter(|c| c.carded > 0).map(|c| c.first).min()?;
        Some((all, carded, first))
    }

    /// Damaged datagrams to this destination since `after`; they are taken off the list.
    pub(crate) fn take_damaged(&mut self, destination: SocketAddr, after: i64, most: u64) -> u64 {
        let mut taken = 0;
        self.damaged.retain(|(d, at)| {
            let hit = taken < most && *d == destination && *at >= after;
            taken += u64::from(hit);
            !hit
        });
        taken
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Sighting {
    ip_id: u16,
    at: i64,
    print: u64,
    ports: (u16, u16),
}

/// One direction between two hosts.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Path {
    /// Places where the IP id did not go up by exactly one.
    pub breaks: u64,
    next: usize,
    last_id: Option<u16>,
    /// The newest datagram's IP id is a little behind the newest id.
    pub went_back: bool,
    ring: [Sighting; REMEMBERED],
}

/// All hosts and paths.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// Hosts in order of appearance.
    pub list: Vec<Source>,
    by_address: HashMap<IpAddr, usize>,
    /// Paths in order of appearance.
    pub paths: Vec<Path>,
    by_path: HashMap<(IpAddr, IpAddr), usize>,
}

impl Sources {
    /// Index of the host, made when new; `None` beyond the bound.
    pub(crate) fn source(&mut self, address: IpAddr) -> Option<usize> {
        if let Some(&i) = self.by_address.get(&address) {
            return Some(i);
        }
        if self.list.len() >= PATHS_MAX {
            return None;
        }
        self.by_address.insert(address, self.list.len());
        self.list.push(Source {
            address,
            checks: [Checks::default(); 2],
            damaged: Vec::new(),
            last_id: None,
            breaks: 0,
        });
        Some(self.list.len() - 1)
    }

    /// Index of the path, made when new; `None` beyond the bound.
    pub(crate) fn path(&mut self, from: IpAddr, to: IpAddr) -> Option<usize> {
        if let Some(&i) = self.by_path.get(&(from, to)) {
            return Some(i);
        }
        if self.paths.len() >= PATHS_MAX {
            return None;
        }
        self.by_path.insert((from, to), self.paths.len());
        let ring = [Sighting::default(); REMEMBERED];
        self.paths.push(Path { last_id: None, breaks: 0, went_back: false, ring, next: 0 });
        Some(self.paths.len() - 1)
    }

    /// Counts a checksum, of a datagram that breaks no shape rule or does: how many wrong ones turn out to be damage with it, the first one's place, and whether the
    /// datagram itself is damaged.
    pub(crate) fn checksum(
        &mut self,
        source: usize,
        d: &Datagram<'_>,
        sound: bool,
        at: i64,
        place: (u64, i64),
    ) -> Damage {
        let s = &mut self.list[source];
        let checks = &mut s.checks[usize::from(d.link.fragments > 1)];
        match d.link.checksum {
            Checksum::Good => {
                let (before, sound) = checks.right();
                Damage { before, sound, itself: false, first: checks.first }
            }
            Checksum::Bad if checks.wrong(place, sound) => {
                if s.damaged.len() >= DAMAGED_MAX {
                    s.damaged.remove(0);
                }
                s.damaged.push((d.destination, at));
                Damage { before: 0, sound: 0, itself: true, first: place }
            }
            Checksum::Bad | Checksum::Absent | Checksum::Unknown => Damage::default(),
        }
    }
}

impl Path {
    #[inline(always)]
    pub(crate) fn fetch(&self) {
        super::soon::fetch(&self.breaks);
    }

    #[inline(always)]
    pub(crate) fn fetch_far(&self) {
        super::soon::fetch_at(&self.ring, self.next);
        super::soon::fetch_at(&self.ring, self.next + 1);
    }

    /// True, and nothing done, when this very datagram was seen on this path within 5 ms: a copy made by the capture.
    #[inline]
    pub(crate) fn is_copy(&mut self, d: &Datagram<'_>, at: i64, print: impl FnOnce() -> u64) -> bool {
        let Some(id) = d.link.ip_id.filter(|id| *id != 0) else { return false };
        let ports = (d.source.port(), d.destination.port());
        let print = print();
        // A counting sender's next id is ahead of the last one: no copy of anything remembered.
        let ahead = self.last_id.is_some_and(|last| (1..0x4000).contains(&id.wrapping_sub(last)));
        if !ahead && self.saw(Sighting { ip_id: id, at, print, ports }) {
            return true;
        }
        self.ring[self.next % REMEMBERED] = Sighting { ip_id: id, at, print, ports };
        self.next = (self.next + 1) % REMEMBERED;
        false
    }

    #[inline(never)]
    fn saw(&self, now: Sighting) -> bool {
        let fresh =
            |s: &Sighting| s.ip_id == now.ip_id && s.ports == now.ports && now.at - s.at <= COPY_WINDOW;
        self.ring.iter().any(|s| fresh(s) && s.print == now.print)
    }

    /// Follows the IP id of a datagram that is no copy.
    #[inline]
    pub(crate) fn follow(&mut self, ip_id: Option<u16>) {
        let ahead = match (self.last_id, ip_id) {
            (Some(last), Some(id)) => id.wrapping_sub(last) as i16,
            _ => 0,
        };
        self.breaks += u64::from(ahead != 1);
        self.went_back = (-512..0).contains(&ahead);
        if !self.went_back {
            self.last_id = ip_id;
        }
    }
}
