//! IPv4 and IPv6 headers, down to the transport payload or to a fragment of it.

use super::octets::be16;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Protocol number of UDP.
pub(super) const UDP: u8 = 17;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;

/// An IP packet's header, and what it carries.
#[derive(Clone, Copy)]
pub(super) struct Ip<'a> {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    /// IPv4 identification.
    pub(super) id: Option<u16>,
    /// Time to live or hop limit.
    pub(super) ttl: u8,
    pub(super) part: Part<'a>,
}

/// A stretch of an IP payload behind the headers read so far.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    /// Protocol of the octets.
    pub(super) protocol: u8,
    /// The octets captured.
    pub(super) octets: &'a [u8],
    /// Octets the sender sent.
    pub(super) length: usize,
    /// True when a routing header still to be followed hides the final destination.
    pub(super) routed: bool,
    /// Where the octets belong when they are a fragment.
    pub(super) fragment: Option<Fragment>,
}

/// A fragment's place in its datagram.
#[derive(Clone, Copy)]
pub(super) struct Fragment {
    pub(super) id: u32,
    pub(super) offset: usize,
    /// True when more fragments follow.
    pub(super) more: bool,
}

/// Reads an IPv4 header. `missing` octets of the record were not captured. `None` when its lengths cannot be right.
#[inline(always)]
pub(super) fn v4(octets: &[u8], missing: usize) -> Option<Ip<'_>> {
    let sent = octets.len() + missing;
    let head = octets.first_chunk::<20>()?;
    let header = usize::from(head[0] & 0x0f) * 4;
    // Hosts that leave segmentation to the interface hand the capture a total length of 0.
    let total = match usize::from(u16::from_be_bytes([head[2], head[3]])) {
        0 => sent,
        total => total,
    };
    if header < head.len() || total < header || total > sent {
        return None;
    }
    let id = u16::from_be_bytes([head[4], head[5]]);
    let flags = u16::from_be_bytes([head[6], head[7]]);
    let (offset, more) = (usize::from(flags & 0x1fff) * 8, flags & 0x2000 != 0);
    let fragment = (more || offset != 0).then_some(Fragment { id: u32::from(id), offset, more });
    let octets = octets.get(header..total.min(octets.len()))?;
    Some(Ip {
        source: IpAddr::V4(Ipv4Addr::new(head[12], head[13], head[14], head[15])),
        destination: IpAddr::V4(Ipv4Addr::new(head[16], head[17], head[18], head[19])),
        id: Some(id),
        ttl: head[8],
        part: Part { protocol: head[9], octets, length: total - header, routed: false, fragment },
    })
}

/// Reads an IPv6 header and follows its extension headers; otherwise as [`v4`].
pub(super) fn v6(octets: &[u8], missing: usize) -> Option<Ip<'_>> {
    let sent = octets.len() + missing;
    let (head, octets) = octets.split_first_chunk::<40>()?;
    let length = usize::from(u16::from_be_bytes([head[4], head[5]]));
    if head.len() + length > sent {
        return None;
    }
    let octets = &octets[..length.min(octets.len())];
    let part = Part { protocol: head[6], octets, length, routed: false, fragment: None };
    let address = |at: usize| Some(IpAddr::V6(Ipv6Addr::from(*head.get(at..)?.first_chunk::<16>()?)));
    Some(Ip { source: address(8)?, destination: address(24)?, id: None, ttl: head[7], part: follow(part)? })
}

/// Follows IPv6 extension headers to the transport protocol or to a fragment.
pub(super) fn follow(part: Part<'_>) -> Option<Part<'_>> {
    let mut part = part;
    loop {
        let header = match part.protocol {
            HOP_BY_HOP | ROUTING | DESTINATION => (usize::from(*part.octets.get(1)?) + 1) * 8,
            AUTHENTICATION => (usize::from(*part.octets.get(1)?) + 2) * 4,
            FRAGMENT => 8,
            _ => return Some(part),
        };
        let (head, rest) = part.octets.split_at_checked(header)?;
        part.routed |= part.protocol == ROUTING && *head.get(3)? != 0;
        part.fragment = if part.protocol == FRAGMENT { fragment(head)? } else { None };
        part.protocol = *head.first()?;
        part.octets = rest;
        part.length -= header;
        if part.fragment.is_some() {
            return Some(part);
        }
    }
}

/// The place a fragment header states; `Some(None)` for an atomic fragment (RFC 6946), which is whole.
fn fragment(head: &[u8]) -> Option<Option<Fragment>> {
    let field = be16(head, 2)?;
    let (offset, more) = (usize::from(field & 0xfff8), field & 1 != 0);
    let id = u32::from_be_bytes(*head.get(4..)?.first_chunk()?);
    Some((more || offset != 0).then_some(Fragment { id, offset, more }))
}

/// True when a fragment that states `protocol` can be part of a UDP datagram.
pub(super) fn may_lead_to_udp(protocol: u8) -> bool {
    matches!(protocol, UDP | HOP_BY_HOP | ROUTING | AUTHENTICATION | DESTINATION)
}
