//! From a record to a UDP datagram: link layer, IP, reassembly, UDP.

use super::Item;
use super::ip::{self, Ip, Part, UDP};
use super::link::{self, Network};
use super::reassembly::{Key, Reassembly};
use super::record::Record;
use super::udp;
use std::net::SocketAddr;
use wireproof_protocols::{Arrival, Datagram, Link};

/// Protocol part of the key of IPv6 fragments.
const IPV6_FRAGMENT: u8 = 44;

/// Dissects records in file order; holds the fragments still to be put together (at most 64 datagrams of 64 KiB).
#[derive(Default)]
pub struct Dissector {
    reassembly: Reassembly,
}

impl Dissector {
    /// A dissector with no fragments open.
    pub fn new() -> Self {
        Self::default()
    }

    /// The item a record stands for: a datagram, or a packet when it completes none.
    #[inline]
    pub fn dissect<'a>(&'a mut self, record: &Record<'a>) -> Item<'a> {
        let arrival = record.arrival();
        let Some(network) = link::network(record.link_type, record.data) else {
            return Item::Packet(arrival);
        };
        let missing = (record.original_length as usize).saturating_sub(record.data.len());
        if network.version() != 4 {
            return self.version_6(&network, missing, arrival).unwrap_or(Item::Packet(arrival));
        }
        match ip::v4(network.octets, missing) {
            Some(ip) if ip.part.fragment.is_none() => finish(&network, &ip, &ip.part, 1, arrival),
            Some(ip) => self.reassembled(&network, &ip, arrival).unwrap_or(Item::Packet(arrival)),
            None => Item::Packet(arrival),
        }
    }

    /// IP fragments seen, datagrams put together from fragments, datagrams that are incomplete so far.
    pub fn fragments(&self) -> (u64, u64, u64) {
        (self.reassembly.seen, self.reassembly.completed, self.reassembly.incomplete())
    }

    /// Fragmented datagrams of which two fragments disagreed about octets.
    pub fn overlapping(&self) -> u64 {
        self.reassembly.overlapping
    }

    #[inline(never)]
    fn version_6<'a>(
        &'a mut self,
        network: &Network<'a>,
        missing: usize,
        arrival: Arrival,
    ) -> Option<Item<'a>> {
        let ip = ip::v6(network.octets, missing)?;
        match ip.part.fragment {
            None => Some(finish(network, &ip, &ip.part, 1, arrival)),
            Some(_) => self.reassembled(network, &ip, arrival),
        }
    }

    #[inline(never)]
    fn reassembled<'a>(
        &'a mut self,
        network: &Network<'_>,
        ip: &Ip<'_>,
        arrival: Arrival,
    ) -> Option<Item<'a>> {
        let fragment = ip.part.fragment?;
        self.reassembly.seen += 1;
        if !ip::may_lead_to_udp(ip.part.protocol) {
            return None;
        }
        let protocol = if ip.source.is_ipv4() { ip.part.protocol } else { IPV6_FRAGMENT };
        let key = Key { source: ip.source, destination: ip.destination, protocol, id: fragment.id };
        let whole = self.reassembly.take(arrival.at, key, fragment, &ip.part)?;
        let (octets, length, routed) = (whole.octets, whole.octets.len(), ip.part.routed);
        let part = Part { protocol: whole.protocol, octets, length, routed, fragment: None };
        let part = if ip.source.is_ipv6() { ip::follow(part)? } else { part };
        Some(finish(network, ip, &part, whole.fragments, arrival))
    }
}

/// The datagram in a whole IP payload. Inlined into each path, so that the header fields of the usual one stay in
/// registers: copies of half-written structures cost more than the checksum.
#[inline(always)]
fn finish<'a>(
    network: &Network<'_>,
    ip: &Ip<'_>,
    part: &Part<'a>,
    fragments: u16,
    arrival: Arrival,
) -> Item<'a> {
    if part.protocol != UDP || part.fragment.is_some() {
        return Item::Packet(arrival);
    }
    let Some(udp) = udp::dissect(&ip.source, &ip.destination, part) else { return Item::Packet(arrival) };
    let link = Link {
        ip_id: ip.id,
        checksum: udp.checksum,
        checksum_field: udp.checksum_field,
        fragments,
        broadcast: network.broadcast,
        vlan: network.vlan,
        ttl: Some(ip.ttl),
    };
    let source = SocketAddr::new(ip.source, udp.source);
    let destination = SocketAddr::new(ip.destination, udp.destination);
    Item::Datagram(arrival, Datagram { source, destination, payload: udp.payload, length: udp.length, link })
}
