//! What the engine keeps of one datagram: a fixed-size record, so that a stream's first datagrams can wait until
//! its numbering is known.

use super::stride::Moved;
use crate::Marks;

/// One datagram of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Observation {
    /// Engine time, ns.
    pub at: i64,
    /// Capture stamp, ns.
    pub stamp: i64,
    /// Capture record, 1-based.
    pub packet: u64,
    /// Number on the wire.
    pub raw: u32,
    /// Whether the datagram has a number at all.
    pub numbered: bool,
    /// Octet offset of the data in the frame.
    pub offset: u32,
    /// Data octets announced, of those that the datagram has.
    pub length: u32,
    /// The length announced is the length that came, or padding is legal.
    pub sound: bool,
    /// Hash of the data octets.
    pub hash: u64,
    /// The content repeats that of the datagram before, in the same place of the frame.
    pub same: bool,
    /// Chunk index and chunks in the frame (BigPacket).
    pub index: u16,
    /// See `index`; 0 when the protocol does not say.
    pub count: u16,
    /// Frame number given by the group assembler (universes), -1 when none.
    pub frame: i64,
    /// Marks of the PDU.
    pub marks: Marks,
    /// Index of the destination in the stream's list.
    pub dest: u8,
    /// The source port was never seen in this stream.
    pub new_port: bool,
    /// No IP id is missing between the stream's datagram before (to this destination) and this one.
    pub ip_runs_on: bool,
    /// The IP id is a little behind the newest of its path: the network changed the order.
    pub ip_went_back: bool,
    /// How far the IP id moved since the stream's datagram before (to this destination).
    pub moved: Moved,
    /// The stream ended before (goodbye or silence).
    pub new_session: bool,
    /// It ended with a goodbye.
    pub after_goodbye: bool,
}

impl Observation {
    /// Takes part in the numbering (a DDP push without data does not).
    pub(crate) fn counts(&self) -> bool {
        self.numbered && (self.marks.has(Marks::DATA) || !self.marks.has(Marks::SEQUENCE_OFF))
    }
}
