//! Link layers: from a record's octets to the IP header.

use super::octets::{Endian, be16};
use super::record::LinkType;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// Below this, the type field of an Ethernet frame is a length (IEEE 802.3).
const TYPES: u16 = 0x0600;

/// The network layer of a record.
#[derive(Clone, Copy)]
pub(super) struct Network<'a> {
    /// From the IP header to the end of the capture, padding included.
    pub(super) octets: &'a [u8],
    /// True when the link-layer destination is the broadcast address.
    pub(super) broadcast: bool,
    /// VLAN id of the outermost tag.
    pub(super) vlan: Option<u16>,
}

impl Network<'_> {
    /// The IP version the header states: 4 or 6.
    #[inline(always)]
    pub(super) fn version(&self) -> u8 {
        self.octets.first().map_or(0, |first| first >> 4)
    }
}

/// Whether records of this link type are looked into at all.
pub(super) fn is_dissected(link_type: LinkType) -> bool {
    matches!(link_type.0, 0 | 1 | 12 | 14 | 101 | 108 | 113 | 228 | 229 | 276)
}

/// Finds the IP header in a record; `None` when it carries no IP, when link layer and header disagree about the
/// version, or when the link type is not dissected.
#[inline(always)]
pub(super) fn network(link_type: LinkType, data: &[u8]) -> Option<Network<'_>> {
    match link_type.0 {
        1 => {
            let broadcast = data.starts_with(&[0xff; 6]);
            typed(be16(data, 12)?, data.get(14..)?, broadcast)
        }
        0 | 108 => family(data),
        12 | 14 | 101 => bare(data, 0),
        113 => typed(be16(data, 14)?, data.get(16..)?, be16(data, 0)? == 1),
        228 => bare(data, 4),
        229 => bare(data, 6),
        276 => typed(be16(data, 0)?, data.get(20..)?, *data.get(10)? == 1),
        _ => None,
    }
}

/// A header of version `version` (0: 4 or 6) right at the start.
fn bare(octets: &[u8], version: u8) -> Option<Network<'_>> {
    stating(version, Network { octets, broadcast: false, vlan: None })
}

/// The network layer when its header states the version the link layer announced.
#[inline(always)]
fn stating(version: u8, network: Network<'_>) -> Option<Network<'_>> {
    let stated = network.version();
    (stated == version || (version == 0 && matches!(stated, 4 | 6))).then_some(network)
}

/// Follows an EtherType through VLAN tags (stacked or not) and LLC/SNAP.
#[inline(always)]
fn typed(ether_type: u16, octets: &[u8], broadcast: bool) -> Option<Network<'_>> {
    let (mut ether_type, mut octets, mut vlan) = (ether_type, octets, None);
    loop {
        let version = match ether_type {
            IPV4 => 4,
            IPV6 => 6,
            0x8100 | 0x88a8 | 0x9100 => {
                vlan.get_or_insert(be16(octets, 0)? & 0x0fff);
                ether_type = be16(octets, 2)?;
                octets = octets.get(4..)?;
                continue;
            }
            length if length < TYPES => {
                (ether_type, octets) = llc(octets)?;
                continue;
            }
            _ => return None,
        };
        return stating(version, Network { octets, broadcast, vlan });
    }
}

/// The EtherType an LLC header stands for: SNAP with RFC 1042's or the bridge-tunnel OUI, or the SAP of IP.
fn llc(octets: &[u8]) -> Option<(u16, &[u8])> {
    match octets {
        [0xaa, 0xaa, 0x03, 0x00, 0x00, 0x00 | 0xf8, high, low, rest @ ..] => {
            let ether_type = u16::from_be_bytes([*high, *low]);
            (ether_type >= TYPES).then_some((ether_type, rest))
        }
        [0x06, 0x06, 0x03, rest @ ..] => Some((IPV4, rest)),
        _ => None,
    }
}

/// BSD loopback: an address family in either byte order. The number for IPv6 depends on the capturing system.
fn family(data: &[u8]) -> Option<Network<'_>> {
    let octets = data.get(4..)?;
    let version = |endian: Endian| match endian.u32(data, 0) {
        Some(2) => Some(4),
        Some(10 | 23 | 24 | 28 | 30) => Some(6),
        _ => None,
    };
    let version = version(Endian::Little).or_else(|| version(Endian::Big))?;
    bare(octets, version)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For each link type a record that leads to IP, if any does: an IPv4 or IPv6 header at each place where one may be.
    #[test]
    fn a_link_type_is_dissected_when_some_record_of_it_leads_to_ip() {
        let (four, six) = ([[0x45; 4]; 10].concat(), [[0x60; 4]; 10].concat());
        let heads: [&[u8]; 6] = [
            &[],
            &[2, 0, 0, 0],
            &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0],
            &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0],
            &[8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &[10, 0, 0, 0],
        ];
        for number in 0..=u16::MAX {
            let leads = |head: &&[u8]| {
                [&four, &six].iter().any(|ip| network(LinkType(number), &[*head, &ip[..]].concat()).is_some())
            };
            assert_eq!(is_dissected(LinkType(number)), heads.iter().any(leads), "{number}");
        }
    }
}
