//! A UDP datagram as a capture source hands it over: addresses, octets, and what only the link layer saw.

use crate::Timestamp;
use std::net::SocketAddr;

/// When and as which record of the capture a datagram arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Capture time.
    pub at: Timestamp,
    /// Number of the capture record (1-based, as Wireshark counts) that completed the datagram.
    pub packet: u64,
}

/// One UDP datagram, borrowed from the capture source.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Sender address and port.
    pub source: SocketAddr,
    /// Destination address and port.
    pub destination: SocketAddr,
    /// The octets captured, from the start of the UDP payload.
    pub payload: &'a [u8],
    /// Octets the sender sent (UDP length - 8); larger than `payload.len()` when the capture cut the datagram
    /// (snap length).
    pub length: u32,
    /// What the layers below UDP showed.
    pub link: Link,
}

impl<'a> Datagram<'a> {
    /// A datagram captured whole, with nothing known of the layers below.
    pub fn new(source: SocketAddr, destination: SocketAddr, payload: &'a [u8]) -> Self {
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        Datagram { source, destination, payload, length, link: Link::default() }
    }

    /// Octets the sender sent, as a slice index.
    #[inline]
    pub fn len(&self) -> usize {
        self.length as usize
    }

    /// True when the datagram carries no octets.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// True when the capture kept fewer octets than were sent, so that a missing octet says nothing.
    #[inline]
    pub fn is_cut(&self) -> bool {
        (self.payload.len() as u64) < u64::from(self.length)
    }
}

/// What the layers below UDP showed of a datagram. A socket source knows `broadcast` and `ttl` at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// IPv4 identification field; `None` for IPv6 and socket sources.
    pub ip_id: Option<u16>,
    /// The UDP checksum against the octets.
    pub checksum: Checksum,
    /// The UDP checksum as it stands in the datagram; 0 when there is none or it is not known.
    pub checksum_field: u16,
    /// IP fragments the datagram was reassembled from; 0 or 1 when it was sent whole.
    pub fragments: u16,
    /// True when the link-layer destination was the broadcast address (a directed IP broadcast shows only there).
    pub broadcast: bool,
    /// 802.1Q VLAN id of the outermost tag.
    pub vlan: Option<u16>,
    /// IPv4 time to live or IPv6 hop limit.
    pub ttl: Option<u8>,
}

/// State of a UDP checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checksum {
    /// Not looked at: socket source, or the capture cut the datagram.
    #[default]
    Unknown,
    /// The sender sent none (field 0, legal in IPv4).
    Absent,
    /// Matches the octets.
    Good,
    /// Does not match the octets.
    Bad,
}
