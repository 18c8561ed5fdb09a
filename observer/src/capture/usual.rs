//! The record that nearly all records are: Ethernet without tags, IPv4 without options or fragments, UDP, captured
//! whole. Read at fixed offsets; whatever differs in anything is left to the long way.

use super::record::{LinkType, Record};
use super::udp;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use wireproof_protocols::{Checksum, Datagram, Link};

/// Octets of the three headers.
const HEADERS: usize = IP + 20 + 8;
/// Where the IPv4 header begins.
const IP: usize = 14;
/// EtherType of IPv4, version 4 and a header of five words.
const USUAL: u32 = 0x08_00_45;

/// The datagram of a record, `None` when it is not of the usual shape.
#[inline(always)]
pub(super) fn datagram<'a>(record: &Record<'a>, headers_only: bool) -> Option<Datagram<'a>> {
    let head = record.data.first_chunk::<HEADERS>()?;
    let be16 = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let version = u32::from_be_bytes([0, head[12], head[13], head[14]]);
    let (total, length) = (be16(16), be16(38));
    let fits =
        record.data.len() >= IP + usize::from(total) && length >= 8 && total == length.wrapping_add(20);
    let whole = be16(20) & 0x3fff == 0 && head[23] == 17;
    if record.link_type != LinkType::ETHERNET || version != USUAL || !fits || !whole || total < length {
        return None;
    }
    let (source, destination) = (address(head, 26), address(head, 30));
    let segment = record.data.get(IP + 20..IP + usize::from(total))?;
    let link = Link {
        ip_id: Some(be16(18)),
        checksum: checksum(source, destination, segment, headers_only),
        checksum_field: be16(40),
        fragments: 1,
        broadcast: head[..6] == [0xff; 6],
        vlan: None,
        ttl: Some(head[22]),
    };
    Some(Datagram {
        source: SocketAddr::V4(SocketAddrV4::new(source, be16(34))),
        destination: SocketAddr::V4(SocketAddrV4::new(destination, be16(36))),
        payload: segment.get(8..)?,
        length: u32::from(length) - 8,
        link,
    })
}

#[inline(always)]
fn address(head: &[u8; HEADERS], at: usize) -> Ipv4Addr {
    Ipv4Addr::new(head[at], head[at + 1], head[at + 2], head[at + 3])
}

/// The checksum of a segment that was captured whole, its header included.
#[inline(always)]
fn checksum(source: Ipv4Addr, destination: Ipv4Addr, segment: &[u8], headers_only: bool) -> Checksum {
    if segment[6..8] == [0, 0] {
        Checksum::Absent
    } else if headers_only {
        Checksum::Unknown
    } else if udp::matches(&source.into(), &destination.into(), segment) {
        Checksum::Good
    } else {
        Checksum::Bad
    }
}
