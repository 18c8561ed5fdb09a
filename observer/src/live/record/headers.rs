//! Ethernet, IP and UDP headers for a datagram that a socket handed over without them.

use crate::capture::LinkType;
use pnet_datalink::MacAddr;
use pnet_packet::Packet;
use pnet_packet::ethernet::{EtherTypes, MutableEthernetPacket};
use pnet_packet::ip::IpNextHeaderProtocols;
use pnet_packet::ipv4::{self, MutableIpv4Packet};
use pnet_packet::ipv6::MutableIpv6Packet;
use pnet_packet::udp::MutableUdpPacket;
use std::net::IpAddr;
use wireproof_protocols::Datagram;

/// Records are Ethernet frames: a broadcast on the link shows nowhere else.
pub(super) const LINK_TYPE: LinkType = LinkType::ETHERNET;
/// Octets of the longest pair of headers.
pub(super) const MOST: usize = ETHERNET + V6 + UDP;

const ETHERNET: usize = 14;
const V4: usize = 20;
const V6: usize = 40;
const UDP: usize = 8;

/// The headers in front of the payload. The UDP checksum is left out (0): the kernel has checked it, and a socket does
/// not show it. The IP id is 0 and the link addresses are made up (locally administered, or those of the group or the
/// broadcast): a socket does not show them either.
pub(super) fn of<'a>(d: &Datagram<'_>, room: &'a mut [u8; MOST]) -> &'a [u8] {
    let (link, packet) = room.split_at_mut(ETHERNET);
    if let Some(mut ethernet) = MutableEthernetPacket::new(link) {
        ethernet.set_destination(link_address(d));
        ethernet.set_source(MacAddr::new(2, 0, 0, 0, 0, 1));
        ethernet.set_ethertype(if d.source.is_ipv4() { EtherTypes::Ipv4 } else { EtherTypes::Ipv6 });
    }
    let length = ETHERNET + ip(d, packet);
    &room[..length]
}

/// Where the frame was addressed to, as far as the datagram shows it (RFC 1112 6.4, RFC 2464 7).
fn link_address(d: &Datagram<'_>) -> MacAddr {
    match d.destination.ip() {
        _ if d.link.broadcast => MacAddr::broadcast(),
        IpAddr::V4(to) if to.is_multicast() => {
            let [_, b, c, d] = to.octets();
            MacAddr::new(1, 0, 0x5e, b & 0x7f, c, d)
        }
        IpAddr::V6(to) if to.is_multicast() => {
            let o = to.octets();
            MacAddr::new(0x33, 0x33, o[12], o[13], o[14], o[15])
        }
        _ => MacAddr::new(2, 0, 0, 0, 0, 2),
    }
}

/// IP and UDP headers; returns their length.
fn ip(d: &Datagram<'_>, room: &mut [u8]) -> usize {
    let udp_length = u16::try_from(d.length as usize + UDP).unwrap_or(u16::MAX);
    let ttl = d.link.ttl.unwrap_or(64);
    let head = match (d.source.ip(), d.destination.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            if let Some(mut ip) = MutableIpv4Packet::new(&mut room[..V4]) {
                ip.set_version(4);
                ip.set_header_length(5);
                ip.set_total_length(udp_length.saturating_add(V4 as u16));
                ip.set_ttl(ttl);
                ip.set_next_level_protocol(IpNextHeaderProtocols::Udp);
                ip.set_source(source);
                ip.set_destination(destination);
                let sum = ipv4::checksum(&ip.to_immutable());
                ip.set_checksum(sum);
            }
            V4
        }
        (source, destination) => {
            if let Some(mut ip) = MutableIpv6Packet::new(&mut room[..V6]) {
                ip.set_version(6);
                ip.set_payload_length(udp_length);
                ip.set_next_header(IpNextHeaderProtocols::Udp);
                ip.set_hop_limit(ttl);
                ip.set_source(as_v6(source));
                ip.set_destination(as_v6(destination));
                debug_assert!(ip.packet().len() == V6);
            }
            V6
        }
    };
    if let Some(mut udp) = MutableUdpPacket::new(&mut room[head..head + UDP]) {
        udp.set_source(d.source.port());
        udp.set_destination(d.destination.port());
        udp.set_length(udp_length);
    }
    head + UDP
}

fn as_v6(address: IpAddr) -> std::net::Ipv6Addr {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{Dissector, Item, Record};
    use wireproof_protocols::{Checksum, Timestamp};

    #[test]
    fn built_headers_are_read_back_as_the_same_datagram() {
        for (from, to) in [("10.0.0.1:5568", "239.255.0.1:5568"), ("[fe80::1]:4000", "[ff18::83:0:1]:5568")] {
            let d = Datagram::new(from.parse().unwrap(), to.parse().unwrap(), b"ASC-E1.17");
            let mut room = [0; MOST];
            let mut octets = of(&d, &mut room).to_vec();
            octets.extend_from_slice(d.payload);
            let record = Record {
                number: 1,
                at: Timestamp(1),
                link_type: LINK_TYPE,
                interface: 0,
                snap_length: 0,
                data: &octets,
                original_length: octets.len() as u32,
                comment: None,
            };
            let mut dissector = Dissector::new();
            let Item::Datagram(_, back) = dissector.dissect(&record) else { panic!("{from}") };
            assert_eq!((back.source, back.destination, back.payload), (d.source, d.destination, d.payload));
            assert_eq!((back.length, back.link.checksum), (9, Checksum::Absent));
        }
    }
}
