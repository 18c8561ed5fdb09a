//! The table of a layout: what stands where in a datagram and what it means. It is data and decides nothing.
//!
//! A [`Layout`] that came from [`Layout::read`] is checked: every field lies inside its region, no two fields share a
//! bit, a role that counts once stands once, and every name that one part gives another part exists.

use crate::Severity;

/// A checked layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Name: lower-case letters, digits and dashes. Reports say `layout:NAME`.
    pub name: String,
    /// One line about the protocol; may be empty.
    pub title: String,
    /// Where the protocol is written down; may be empty.
    pub source: String,
    /// Octets of the header, from the start of the UDP payload.
    pub header_len: u16,
    /// Octets after the data.
    pub footer_len: u16,
    /// How many octets of data there are.
    pub payload_len: PayloadLength,
    /// The data is a multiple of this many octets.
    pub payload_unit: u16,
    /// How bad octets after the footer are.
    pub trailing: Severity,
    /// The fields in the order of the text.
    pub fields: Vec<Field>,
    /// Which datagrams are this protocol's.
    pub matching: Matching,
    /// How datagrams or frames are numbered; `None` when they are not.
    pub sequence: Option<Sequence>,
    /// How datagrams make frames.
    pub frame: FrameRule,
}

/// How many octets of data a datagram carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadLength {
    /// Everything between header and footer.
    Rest,
    /// What this field of [`Layout::fields`] says, after its `scale` and `add`.
    Field(usize),
}

/// Which datagrams are a layout's: the port first, the magic second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matching {
    /// UDP destination ports.
    pub udp_dst: Vec<u16>,
    /// The magic identifies a datagram on every port.
    pub any_port: bool,
    /// Layouts with a higher one are asked first.
    pub priority: u8,
}

/// A run of octets or bits and what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name in findings.
    pub name: String,
    /// Line of the text it begins on, from 1.
    pub line: usize,
    /// Where [`Field::at`] counts from.
    pub region: Region,
    /// First octet in the region.
    pub at: u16,
    /// Octets; 1 to 8 for a number.
    pub size: u16,
    /// Highest and lowest bit of the number that is the field, bit 0 being worth one; `None` is all of it.
    pub bits: Option<(u8, u8)>,
    /// Order of the number's octets.
    pub order: ByteOrder,
    /// What it means.
    pub role: Role,
    /// What it has to be.
    pub constant: Option<Constant>,
    /// Added to the number after `scale`.
    pub add: i64,
    /// What the number is multiplied by.
    pub scale: u32,
    /// First index of a frame, or the octet that a length counts from.
    pub base: u32,
    /// Least number as it stands on the wire.
    pub min: Option<u64>,
    /// Greatest number as it stands on the wire.
    pub max: Option<u64>,
    /// What a sender of this program writes where nothing else says it.
    pub send: Option<u64>,
    /// The number on the wire is a multiple of it.
    pub multiple_of: Option<u64>,
    /// How bad a broken rule of this field is; `None` is the rule's own.
    pub severity: Option<Severity>,
    /// How a checksum is made; only with that role.
    pub checksum: Option<Checksum>,
}

/// Part of a datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Region {
    /// Before the data.
    #[default]
    Header,
    /// After the data.
    Footer,
}

/// Order of the octets of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ByteOrder {
    /// Highest octet first, as networks have it.
    #[default]
    Big,
    /// Lowest octet first.
    Little,
}

/// What a field has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Constant {
    /// These octets.
    Octets(Vec<u8>),
    /// This number.
    Number(u64),
}

/// What a field means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Identifies the protocol: another value is another protocol.
    Magic,
    /// Has one value.
    Const,
    /// The protocol's version: one value, or `min` and `max`.
    Version,
    /// Has to be zero.
    ReservedZero,
    /// Not judged, apart from `min`, `max` and `multiple_of`.
    Opaque,
    /// Universe, output or device: the key of a stream.
    StreamId,
    /// Second half of the key of a stream.
    Part,
    /// Identifier of the sender, 1 to 16 octets: part of the key of a stream.
    SenderId,
    /// Name of the sender, text up to a NUL.
    SenderName,
    /// Number of the frame.
    FrameSeq,
    /// Number of the datagram.
    PacketSeq,
    /// Number of the datagram in its frame.
    PacketIndex,
    /// Datagrams in the frame.
    PacketCount,
    /// Where the data goes in the frame.
    ByteOffset,
    /// Octets of data.
    PayloadLen,
    /// Octets of the frame.
    FrameLen,
    /// Octets of the header.
    HeaderLen,
    /// Not zero on the last datagram of a frame.
    LastPacket,
    /// Not zero on the first datagram of a frame.
    FirstPacket,
    /// Not zero on a frame that is sent again unchanged.
    Repeat,
    /// Not zero on the last datagrams of a stream.
    Terminated,
    /// Not zero when the time is valid.
    TimeValid,
    /// The sender's time, microseconds after `scale`.
    TimestampUs,
    /// Octets from `base` to the end of the datagram.
    LengthOfRest,
    /// Sum over other octets.
    Checksum,
}

impl Role {
    /// Every role with its word in the text.
    pub const ALL: [(&'static str, Role); 25] = [
        ("magic", Role::Magic),
        ("const", Role::Const),
        ("version", Role::Version),
        ("reserved_zero", Role::ReservedZero),
        ("opaque", Role::Opaque),
        ("stream_id", Role::StreamId),
        ("part", Role::Part),
        ("sender_id", Role::SenderId),
        ("sender_name", Role::SenderName),
        ("frame_seq", Role::FrameSeq),
        ("packet_seq", Role::PacketSeq),
        ("packet_index", Role::PacketIndex),
        ("packet_count", Role::PacketCount),
        ("byte_offset", Role::ByteOffset),
        ("payload_len", Role::PayloadLen),
        ("frame_len", Role::FrameLen),
        ("header_len", Role::HeaderLen),
        ("last_packet", Role::LastPacket),
        ("first_packet", Role::FirstPacket),
        ("repeat", Role::Repeat),
        ("terminated", Role::Terminated),
        ("time_valid", Role::TimeValid),
        ("timestamp_us", Role::TimestampUs),
        ("length_of_rest", Role::LengthOfRest),
        ("checksum", Role::Checksum),
    ];

    /// The word in the text.
    pub fn name(self) -> &'static str {
        Role::ALL.iter().find(|(_, role)| *role == self).map_or("", |(name, _)| name)
    }

    /// The field is a run of octets, not a number.
    pub fn is_octets(self) -> bool {
        matches!(self, Role::SenderId | Role::SenderName)
    }

    /// More than one field may have it.
    pub fn may_repeat(self) -> bool {
        use Role::{Const, LengthOfRest, Magic, Opaque, ReservedZero};
        matches!(self, Magic | Const | ReservedZero | Opaque | LengthOfRest)
    }
}

/// How a checksum is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum {
    /// The sum.
    pub sum: Sum,
    /// The octets it is made of.
    pub covers: Covers,
}

/// A way to sum up octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// Sum of the octets modulo 256.
    Sum8,
    /// Sum of the octets modulo 65,536.
    Sum16,
    /// Exclusive or of the octets.
    Xor8,
    /// The sum of IP headers (RFC 1071).
    Inet16,
    /// CRC-8/SMBUS.
    Crc8,
    /// CRC-16/IBM-3740, known as CRC-16/CCITT-FALSE.
    Crc16Ccitt,
    /// CRC-16/MODBUS.
    Crc16Modbus,
    /// CRC-32/ISO-HDLC, the one of Ethernet and zip.
    Crc32,
    /// CRC-32/ISCSI, known as CRC-32C.
    Crc32c,
}

/// The octets that a checksum is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covers {
    /// The header.
    Header,
    /// The data.
    Payload,
    /// Header, data and footer, its own octets being zero; in the footer all that stands before it.
    All,
}

/// How datagrams or frames are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// The field of [`Layout::fields`].
    pub field: usize,
    /// What one number counts.
    pub step: Step,
    /// First number of a cycle.
    pub first: u32,
    /// Last number of a cycle.
    pub last: u32,
    /// The number that means "not numbered".
    pub unused: Option<u32>,
    /// Who counts.
    pub scope: Scope,
    /// How far behind the newest number a datagram still counts as late.
    pub window: u32,
}

/// What one number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Datagrams.
    Packet,
    /// Frames: all datagrams of a frame have the same number.
    Frame,
}

/// What has a counter of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every stream.
    Stream,
    /// Every source, for all its streams.
    Source,
}

/// How datagrams make frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameRule {
    /// What ends a frame, any of these.
    pub ends_by: Vec<Ending>,
    /// Datagrams in every frame.
    pub expect_packets: Option<u16>,
    /// Octets in every frame.
    pub expect_bytes: Option<u32>,
    /// Every datagram of a frame but the last carries the same number of octets.
    pub even_chunks: bool,
}

/// What ends a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// The datagram that says so.
    LastPacket,
    /// The datagram whose index is one below the count.
    PacketCount,
    /// The datagram whose data ends where the frame ends.
    ByteCount,
    /// The datagram before another frame number.
    SeqChange,
}

impl Layout {
    /// The only field with a role that stands once, or the first.
    pub fn field(&self, role: Role) -> Option<&Field> {
        self.fields.iter().find(|field| field.role == role)
    }

    /// Frames are made of chunks that say where they belong, not of streams side by side.
    pub fn has_chunks(&self) -> bool {
        self.field(Role::ByteOffset).or(self.field(Role::PacketIndex)).is_some()
    }
}

impl Field {
    /// Bits of the number that are the field.
    pub fn width(&self) -> u32 {
        match self.bits {
            Some((high, low)) => u32::from(high.saturating_sub(low)) + 1,
            None => u32::from(self.size.min(8)) * 8,
        }
    }

    /// Greatest number that the field holds.
    pub fn most(&self) -> u64 {
        u64::MAX >> (64 - self.width().clamp(1, 64))
    }

    /// The field is read as a number; false for runs of octets.
    pub fn is_number(&self) -> bool {
        !self.role.is_octets() && !matches!(self.constant, Some(Constant::Octets(_))) && self.size <= 8
    }
}
