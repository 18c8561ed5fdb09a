//! The decoded content of a datagram in one shape for all protocols, borrowed from the payload.

use crate::layout::{LayoutId, Table};

/// A protocol family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// Streaming ACN, ANSI E1.31.
    Sacn,
    /// Distributed Display Protocol (3waylabs).
    Ddp,
    /// Art-Net 4.
    ArtNet,
    /// BigPacket, the documented default layout.
    BigPacket,
    /// KiNET v1/v2; named, not judged.
    Kinet,
    /// A protocol declared by a layout file.
    Layout(LayoutId),
}

impl Protocol {
    /// Name in every output and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Sacn => "sacn",
            Protocol::Ddp => "ddp",
            Protocol::ArtNet => "artnet",
            Protocol::BigPacket => "bigpacket",
            Protocol::Kinet => "kinet",
            Protocol::Layout(layout) => layout.name(),
        }
    }

    /// The layout it was declared by.
    pub fn layout(self) -> Option<&'static Table> {
        match self {
            Protocol::Layout(layout) => Some(layout.table()),
            _ => None,
        }
    }

    /// A small number for tables; layouts share one.
    #[inline]
    pub(crate) fn tag(self) -> u8 {
        match self {
            Protocol::Sacn => 0,
            Protocol::Ddp => 1,
            Protocol::ArtNet => 2,
            Protocol::BigPacket => 3,
            Protocol::Kinet => 4,
            Protocol::Layout(_) => 5,
        }
    }
}

/// What kind of datagram it is: protocol and packet name. `name` is the `by_kind` key, e.g. `sacn/data`.
#[derive(Clone, Copy, Debug, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// The protocol.
    pub protocol: Protocol,
    /// `by_kind` key, protocol and packet joined by a slash.
    pub name: &'static str,
}

impl PartialEq for Kind {
    // Equal names are nearly always the same constant: no octet has to be looked at.
    #[inline]
    fn eq(&self, other: &Kind) -> bool {
        self.protocol == other.protocol && (std::ptr::eq(self.name, other.name) || self.name == other.name)
    }
}

impl std::hash::Hash for Kind {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl Kind {
    /// A kind; `name` carries the protocol's name before the slash.
    pub const fn new(protocol: Protocol, name: &'static str) -> Kind {
        Kind { protocol, name }
    }

    /// The part after the slash, e.g. `data`; a layout has one kind, `data`.
    pub fn short(self) -> &'static str {
        if let Protocol::Layout(_) = self.protocol {
            return "data";
        }
        self.name.split_once('/').map_or(self.name, |(_, short)| short)
    }
}

/// A sender's component identifier (sACN CID), 16 octets in network order.
pub type Cid = [u8; 16];

/// Marks of a datagram, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks(pub u16);

impl Marks {
    /// Ends a frame: DDP push, BigPacket LAST.
    pub const PUSH: Marks = Marks(1);
    /// First chunk of a frame: BigPacket FIRST.
    pub const FIRST: Marks = Marks(2);
    /// The sender says the content is unchanged: BigPacket REPEAT.
    pub const REPEAT: Marks = Marks(4);
    /// The sender says goodbye: sACN Stream_Terminated.
    pub const TERMINATED: Marks = Marks(8);
    /// Not for live output: sACN preview.
    pub const PREVIEW: Marks = Marks(16);
    /// sACN Force_Synchronization.
    pub const FORCE_SYNC: Marks = Marks(32);
    /// Frame synchronization without data: sACN sync, ArtSync.
    pub const SYNC: Marks = Marks(64);
    /// Carries pixel or level data of a stream.
    pub const DATA: Marks = Marks(128);
    /// The sequence field holds the value that means "not used" (DDP 0, Art-Net 0).
    pub const SEQUENCE_OFF: Marks = Marks(256);
    /// `Pdu::sender_time` is valid.
    pub const TIMED: Marks = Marks(512);

    /// True when every bit of `other` is set.
    #[inline]
    pub fn has(self, other: Marks) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both together.
    #[inline]
    #[must_use]
    pub const fn and(self, other: Marks) -> Marks {
        Marks(self.0 | other.0)
    }
}

/// A decoded datagram. Fields a protocol does not carry hold 0, `None` or an empty slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pdu<'a> {
    /// What it is.
    pub kind: Kind,
    /// Universe, Port-Address, DDP ID or device id; `None` when the datagram belongs to no stream
    /// (polls, replies, discovery, or too short to tell). A sACN sync packet carries its sync address here.
    pub stream: Option<u32>,
    /// Second half of the stream key: Art-Net Physical.
    pub part: u8,
    /// sACN CID.
    pub sender: Option<Cid>,
    /// Source name up to the first NUL, not necessarily UTF-8.
    pub name: &'a [u8],
    /// Sequence number as it stands on the wire (DDP: low nibble, or 16 when the octet reads 0x10; BigPacket:
    /// frame sequence). `None` when
    /// the packet has no such field.
    pub sequence: Option<u32>,
    /// Chunk number in its frame, 0-based; sACN discovery: page.
    pub index: u16,
    /// Chunks in the frame, 0 when the protocol does not say; sACN discovery: last page + 1.
    pub count: u16,
    /// Octet offset of `data` in the frame (DDP, BigPacket).
    pub offset: u32,
    /// Octets in the whole frame, 0 when the protocol does not say.
    pub frame_length: u32,
    /// Slots, pixels or chunk octets; sACN discovery: the universe list, big-endian u16.
    pub data: &'a [u8],
    /// Octets of data the header announces; differs from `data.len()` in a malformed or cut datagram.
    pub data_length: u32,
    /// DMX start code (sACN, ArtNzs), else 0.
    pub start_code: u8,
    /// sACN priority, else 100.
    pub priority: u8,
    /// Synchronization universe the data waits for, 0 = none.
    pub sync: u16,
    /// Sender's own time in microseconds (BigPacket) or 1/65,536 s (DDP timecode); see [`Marks::TIMED`].
    pub sender_time: u64,
    /// Bits.
    pub marks: Marks,
}

impl Pdu<'_> {
    /// Octets of data that the header announces and a datagram of `sent` octets has, and whether its length can be
    /// believed: a wrong one teaches nothing about the datagrams that follow. Padding is right where it is `well_formed`.
    #[inline]
    pub(crate) fn carried(&self, sent: u32, well_formed: bool) -> (u32, bool) {
        let room = sent.saturating_sub(self.around());
        let length = self.data_length.min(room);
        (length, self.data_length == length && (well_formed || length == room))
    }

    /// Octets of its datagram beside the data, at least.
    #[inline]
    fn around(&self) -> u32 {
        match self.kind.protocol {
            Protocol::Ddp if self.marks.has(Marks::TIMED) => 14,
            Protocol::Ddp => 10,
            Protocol::BigPacket => 32,
            Protocol::Sacn => 126,
            Protocol::ArtNet => 18,
            Protocol::Kinet => 0,
            Protocol::Layout(layout) => layout.table().around(),
        }
    }

    /// A PDU of this kind that carries nothing.
    pub const fn empty(kind: Kind) -> Pdu<'static> {
        Pdu {
            kind,
            stream: None,
            part: 0,
            sender: None,
            name: &[],
            sequence: None,
            index: 0,
            count: 0,
            offset: 0,
            frame_length: 0,
            data: &[],
            data_length: 0,
            start_code: 0,
            priority: 100,
            sync: 0,
            sender_time: 0,
            marks: Marks(0),
        }
    }
}
