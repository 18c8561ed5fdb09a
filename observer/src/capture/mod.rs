//! Capture files: records in, UDP datagrams out. One streaming pass, memory independent of the file size.

use std::collections::BTreeMap;
use wireproof_protocols::{Arrival, Datagram, Timestamp};

/// What a capture yields, in file order.
#[derive(Debug)]
pub enum Item<'a> {
    /// A whole UDP datagram.
    Datagram(Arrival, Datagram<'a>),
    /// A record without a (complete) UDP datagram: other protocols, fragments still open, undissected link types.
    Packet(Arrival),
    /// The capture says it lost packets between these instants (interface statistics).
    Blind {
        /// Not before this.
        from: Timestamp,
        /// Not after this.
        to: Timestamp,
        /// Packets lost.
        dropped: u64,
    },
}

/// What is known of a capture file after the pass.
#[derive(Clone, Debug, Default)]
pub struct SourceReport {
    /// File name as given, `-` for standard input.
    pub name: String,
    /// Resolution of the stamps: `file-us` or `file-ns` (the finest interface decides).
    pub timestamps: &'static str,
    /// Records read.
    pub packets: u64,
    /// Records by link type, libpcap's names (`EN10MB`, `LINUX_SLL`, `NULL`, `RAW`, …; `LT<number>` when unnamed).
    pub link_types: BTreeMap<String, u64>,
    /// What is damaged and where, one sentence; everything before it was read.
    pub damaged: Option<String>,
    /// Packets the capture says it dropped.
    pub capture_dropped: u64,
    /// IP fragments seen, datagrams put together from fragments, datagrams that stayed incomplete.
    pub fragments: (u64, u64, u64),
}
