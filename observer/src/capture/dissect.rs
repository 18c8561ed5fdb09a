//! From a record to a UDP datagram: link layer, IP, reassembly, UDP.

use super::ip::{self, Ip, Part, UDP};
use super::link::{self, Network};
use super::reassembly::{Key, Reassembly};
use super::record::Record;
use super::{Item, Taker};
use super::{udp, usual};
use std::net::SocketAddr;
use wireproof_protocols::{Arrival, Datagram, Link};

/// Protocol part of the key of IPv6 fragments.
const IPV6_FRAGMENT: u8 = 44;

/// Dissects records in file order; holds the fragments still to be put together (at most 64 datagrams of 64 KiB).
#[derive(Default)]
pub struct Dissector {
    reassembly: Reassembly,
    headers_only: bool,
}

impl Dissector {
    /// A dissector with no fragments open.
    pub fn new() -> Self {
        Self::default()
    }

    /// A dissector that looks at no payload, so that every checksum stays unknown.
    pub fn of_headers() -> Self {
        Dissector { headers_only: true, ..Self::default() }
    }

    /// The item a record stands for: a datagram, or a packet when it completes none.
    #[inline]
    pub fn dissect<'a>(&'a mut self, record: &Record<'a>) -> Item<'a> {
        match usual::datagram(record, self.headers_only) {
            Some(datagram) => Item::Datagram(record.arrival(), datagram),
            None => self.any(&{ *record }),
        }
    }

    /// As [`Dissector::dissect`], into a taker.
    #[inline(always)]
    pub fn dissect_into<'a>(&'a mut self, record: &Record<'a>, taker: &mut (impl Taker + ?Sized)) {
        match usual::datagram(record, self.headers_only) {
            Some(datagram) => taker.datagram(record.arrival(), &datagram),
            // A copy for whoever is called: only where its address is given away does a record have to lie in memory.
            None => taker.item(self.any(&{ *record })),
        }
    }

    /// Any record.
    #[inline(never)]
    fn any<'a>(&'a mut self, record: &Record<'a>) -> Item<'a> {
        let arrival = record.arrival();
        let Some(network) = link::network(record.link_type, record.data) else {
            return Item::Packet(arrival);
        };
        let missing = (record.original_length as usize).saturating_sub(record.data.len());
        if network.version() != 4 {
            return self.version_6(&network, missing, arrival).unwrap_or(Item::Packet(arrival));
        }
        match ip::v4(network.octets, missing) {
            Some(ip) if ip.part.fragment.is_none() => {
                finish(&network, &ip, &ip.part, 1, arrival, self.headers_only)
            }
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
            None => Some(finish(network, &ip, &ip.part, 1, arrival, self.headers_only)),
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
        Some(finish(network, ip, &part, whole.fragments, arrival, self.headers_only))
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
    headers_only: bool,
) -> Item<'a> {
    if part.protocol != UDP || part.fragment.is_some() {
        return Item::Packet(arrival);
    }
    let Some(udp) = udp::dissect(&ip.source, &ip.destination, part, headers_only) else {
        return Item::Packet(arrival);
    };
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

#[cfg(test)]
mod tests {
    use super::super::record::LinkType;
    use super::*;
    use wireproof_protocols::Timestamp;

    /// Ethernet, IPv4 and UDP with 64 octets of payload, checksums as they come.
    fn frame() -> Vec<u8> {
        let mut frame = vec![0x02; 12];
        frame.extend([
            0x08, 0x00, 0x45, 0, 0, 92, 0x12, 0x34, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ]);
        frame.extend([0x15, 0xc0, 0x15, 0xc0, 0, 72, 0x99, 0x88]);
        frame.extend((0..64).map(|i| i * 3));
        frame
    }

    fn shown(item: &Item<'_>) -> String {
        match item {
            Item::Datagram(arrival, datagram) => format!("{arrival:?} {datagram:?}"),
            Item::Packet(arrival) => format!("{arrival:?}"),
            _ => String::new(),
        }
    }

    /// Every value of every header octet, padding, cut records and lengths beside one another: where the short way
    /// answers at all, it says what the long way says.
    #[test]
    fn the_short_way_says_what_the_long_way_says() {
        let mut short = 0;
        for (at, value) in (0..42).flat_map(|at| (0..=255u8).map(move |value| (at, value))) {
            let mut data = frame();
            data[at] = value;
            for (length, missing) in [(106, 0), (106, 7), (105, 1), (100, 0), (41, 65), (126, 0)] {
                let mut data = data.clone();
                data.resize(length, 0xee);
                for headers_only in [false, true] {
                    let record = Record {
                        number: 7,
                        at: Timestamp(5),
                        link_type: LinkType::ETHERNET,
                        interface: 0,
                        snap_length: 0,
                        data: &data,
                        original_length: (length + missing) as u32,
                        comment: None,
                    };
                    let mut dissector = Dissector { headers_only, ..Dissector::default() };
                    let long = shown(&dissector.any(&record));
                    let Some(datagram) = usual::datagram(&record, headers_only) else { continue };
                    short += 1;
                    let item = Item::Datagram(record.arrival(), datagram);
                    assert_eq!(shown(&item), long, "octet {at} is {value}, {length} captured");
                }
            }
        }
        assert!(short > 30_000, "{short}");
    }

    #[test]
    fn another_link_type_never_takes_the_short_way() {
        let data = frame();
        let record = |link_type| Record {
            number: 1,
            at: Timestamp(0),
            link_type,
            interface: 0,
            snap_length: 0,
            data: &data,
            original_length: 106,
            comment: None,
        };
        assert!(usual::datagram(&record(LinkType::ETHERNET), false).is_some());
        assert!(usual::datagram(&record(LinkType::SLL), false).is_none());
    }
}
