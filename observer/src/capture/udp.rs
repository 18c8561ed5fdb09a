//! UDP headers: bounds and checksum.

use super::checksum::{intact, sum};
use super::ip::{Part, UDP};
use std::net::IpAddr;
use wireproof_protocols::Checksum;

/// Octets of a UDP header.
const HEADER: usize = 8;

/// A UDP datagram within an IP payload.
pub(super) struct Udp<'a> {
    pub(super) source: u16,
    pub(super) destination: u16,
    /// The octets captured.
    pub(super) payload: &'a [u8],
    /// Payload octets the sender sent.
    pub(super) length: u32,
    pub(super) checksum: Checksum,
    /// The checksum as it stands in the header.
    pub(super) checksum_field: u16,
}

/// Reads a UDP header, and unless `headers_only` checks the octets against its checksum; `None` when its length lies outside the IP payload, or the capture cut the header.
#[inline(always)]
pub(super) fn dissect<'a>(
    source: &IpAddr,
    destination: &IpAddr,
    part: &Part<'a>,
    headers_only: bool,
) -> Option<Udp<'a>> {
    let head = part.octets.first_chunk::<HEADER>()?;
    let stated = u16::from_be_bytes([head[4], head[5]]);
    let length = usize::from(stated);
    if length < HEADER || length > part.length {
        return None;
    }
    let captured = &part.octets[..length.min(part.octets.len())];
    let checksum = if head[6..] == [0, 0] {
        Checksum::Absent
    } else if headers_only || captured.len() < length || part.routed {
        Checksum::Unknown
    } else if matches(source, destination, captured) {
        Checksum::Good
    } else {
        Checksum::Bad
    };
    Some(Udp {
        source: u16::from_be_bytes([head[0], head[1]]),
        destination: u16::from_be_bytes([head[2], head[3]]),
        payload: &captured[HEADER..],
        length: u32::from(stated) - HEADER as u32,
        checksum,
        checksum_field: u16::from_be_bytes([head[6], head[7]]),
    })
}

/// True when the octets of a whole datagram, header included, match its checksum.
#[inline(always)]
pub(super) fn matches(source: &IpAddr, destination: &IpAddr, datagram: &[u8]) -> bool {
    intact(pseudo_header(source, destination, datagram.len() as u16) + sum(datagram))
}

/// The sum over the pseudo-header of RFC 768 or RFC 8200 (both come to the same words).
#[inline(always)]
fn pseudo_header(source: &IpAddr, destination: &IpAddr, length: u16) -> u64 {
    let [high, low] = length.to_be_bytes();
    address(source) + address(destination) + sum(&[0, UDP, high, low])
}

#[inline(always)]
fn address(address: &IpAddr) -> u64 {
    match address {
        IpAddr::V4(address) => u64::from(u32::from_ne_bytes(address.octets())),
        IpAddr::V6(address) => sum(&address.octets()),
    }
}
