//! One record of a capture file, and the link types it can have.

use std::fmt;
use wireproof_protocols::verify::HostDrops;
use wireproof_protocols::{Arrival, Timestamp};
use wireproof_reports::tape::Event;

/// The most octets a record may hold (libpcap's MAXIMUM_SNAPLEN); more is damage.
pub const RECORD_MAX: usize = 262_144;

/// A link-layer type as the tcpdump registry numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback: the address family in the byte order of the capturing host.
    pub const NULL: LinkType = LinkType(0);
    /// Ethernet.
    pub const ETHERNET: LinkType = LinkType(1);
    /// IP without a link layer.
    pub const RAW: LinkType = LinkType(101);
    /// OpenBSD loopback: the address family in network order.
    pub const LOOP: LinkType = LinkType(108);
    /// Linux cooked capture.
    pub const SLL: LinkType = LinkType(113);
    /// IPv4 without a link layer.
    pub const IPV4: LinkType = LinkType(228);
    /// IPv6 without a link layer.
    pub const IPV6: LinkType = LinkType(229);
    /// Linux cooked capture, version 2.
    pub const SLL2: LinkType = LinkType(276);
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            0 => "NULL",
            1 => "EN10MB",
            12 | 14 | 101 => "RAW",
            105 => "802.11",
            108 => "LOOP",
            113 => "SLL",
            127 => "RADIOTAP",
            228 => "IPV4",
            229 => "IPV6",
            276 => "SLL2",
            other => return write!(f, "LT{other}"),
        };
        f.write_str(name)
    }
}

/// One record, borrowed from the reader.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Number of the record in the file, from 1, as Wireshark counts.
    pub number: u64,
    /// Capture time; a record without one (simple packet block) has that of the record before.
    pub at: Timestamp,
    /// Link type of the interface.
    pub link_type: LinkType,
    /// Number of the interface within its section; 0 in a pcap file.
    pub interface: u32,
    /// Snap length of the interface in octets; 0 means unlimited.
    pub snap_length: u32,
    /// The octets captured, from the start of the link layer.
    pub data: &'a [u8],
    /// Octets on the wire; larger than `data.len()` when the snap length cut the record.
    pub original_length: u32,
    /// The first comment on the record, up to the first octet that is not UTF-8.
    pub comment: Option<&'a str>,
}

impl Record<'_> {
    /// Time and number of the record.
    #[inline]
    pub fn arrival(&self) -> Arrival {
        Arrival { at: self.at, packet: self.number }
    }
}

/// What a capture file holds, in file order.
pub(super) enum Entry<'a> {
    /// A record.
    Record(Record<'a>),
    /// The capture's own count of packets lost between two instants.
    Blind { from: Timestamp, to: Timestamp, dropped: u64 },
    /// What a live observer wrote of its own counters.
    Drops(HostDrops),
    /// The clock of the stamps was set, in ns.
    ClockStep(i64),
    /// What a tape holds instead of a record.
    Taped(Event<'a>),
}

/// What takes the entries of a capture, in file order.
pub(super) trait Walker {
    /// Takes a record; of records there are by far the most.
    fn record(&mut self, record: &Record<'_>);

    /// Takes any entry, a record too.
    fn entry(&mut self, entry: Entry<'_>);
}
