//! Where every field of every record stands: the one list that writer, reader and the header's field map share.
//!
//! Numbers are little-endian. Octet 0 of a record is its tag; a reader skips tags that it does not know.

use std::marker::PhantomData;

/// Octets of a record.
pub const SLOT: usize = 64;
/// The first octets of a tape; the line ends show when somebody changed them.
pub(super) const MAGIC: [u8; 8] = *b"wptape\r\n";
/// Version of the layout; fields may be added in unused octets, and tags, without a new one.
pub(super) const VERSION: u16 = 1;
/// Reads 4d 3c 2b 1a in a file: little-endian.
pub(super) const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// Octets of the header before its text.
pub(super) const HEAD: usize = 64;
/// Longest header, octets.
pub(super) const HEADER_MAX: usize = 64 << 10;
/// Most records of a block, its seal included.
pub(super) const BLOCK_SLOTS: usize = 1_024;
/// Octets of text or other content in one record.
pub(super) const TEXT: usize = 56;
/// Where it begins.
pub(super) const TEXT_AT: usize = 8;
/// Most fault classes of one datagram.
pub(super) const SET_MAX: usize = 28;
/// Digests of one record.
pub(super) const DIGESTS: usize = TEXT / 8;

/// One record.
pub(super) type Slot = [u8; SLOT];

/// A number in a record.
pub(super) trait Number: Copy {
    /// Name in the field map.
    const NAME: &'static str;
    fn read(slot: &Slot, at: usize) -> Self;
    fn write(self, slot: &mut Slot, at: usize);
}

macro_rules! numbers {
    ($($t:ident)*) => {$(
        impl Number for $t {
            const NAME: &'static str = stringify!($t);
            fn read(slot: &Slot, at: usize) -> Self {
                slot.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |octets| $t::from_le_bytes(*octets))
            }
            fn write(self, slot: &mut Slot, at: usize) {
                if let Some(place) = slot.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
                    *place = self.to_le_bytes();
                }
            }
        }
    )*};
}
numbers!(u8 u16 u32 u64 i64);

/// Octets in a record: addresses, identifiers, text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Octets16(pub [u8; 16]);

impl Number for Octets16 {
    const NAME: &'static str = "octets16";
    fn read(slot: &Slot, at: usize) -> Self {
        Octets16(slot.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default())
    }
    fn write(self, slot: &mut Slot, at: usize) {
        if let Some(place) = slot.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
            *place = self.0;
        }
    }
}

/// A field: where it stands and what it holds.
pub(super) struct Field<T> {
    at: usize,
    holds: PhantomData<T>,
}

impl<T: Number> Field<T> {
    const fn at(at: usize) -> Self {
        Field { at, holds: PhantomData }
    }

    #[inline]
    pub(super) fn get(&self, slot: &Slot) -> T {
        T::read(slot, self.at)
    }

    #[inline]
    pub(super) fn put(&self, slot: &mut Slot, value: T) {
        value.write(slot, self.at);
    }
}

/// A line of the field map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldInfo {
    /// Tag of the record.
    pub tag: u8,
    /// Name of the record.
    pub record: &'static str,
    /// Name of the field.
    pub field: &'static str,
    /// Octet of the record.
    pub at: usize,
    /// `u8`, `u16`, `u32`, `u64`, `i64` or `octets16`.
    pub holds: &'static str,
}

macro_rules! records {
    ($($(#[$about:meta])* $tag:literal $record:ident { $($field:ident $holds:ident $at:literal;)* })*) => {
        $(
            $(#[$about])*
            pub(super) mod $record {
                #![allow(non_upper_case_globals, reason = "fields are named as the map of the file names them")]
                #[allow(unused_imports, reason = "not every record holds octets")]
                use super::{Field, Octets16};
                pub(in super::super) const TAG: u8 = $tag;
                $(pub(in super::super) static $field: Field<$holds> = Field::at($at);)*
            }
        )*
        /// The field map, as it stands in every header.
        pub static FIELDS: &[FieldInfo] = &[$($(FieldInfo {
            tag: $tag,
            record: stringify!($record),
            field: stringify!($field),
            at: $at,
            holds: <$holds as Number>::NAME,
        },)*)*];
    };
}

records! {
    /// A lighting datagram.
    1 datagram {
        flags u8 1; stream u16 2; faults u16 4; marks u16 6; at_ns i64 8; content u64 16; packet u32 24; sampled u32 28;
        sequence u32 32; offset u32 36; data_length u32 40; length u32 44; sender_time u32 48; index u16 52;
        count u16 54; sync u16 56; ip_id u16 58; start_code u8 60; priority u8 61; fragments u8 62;
    }
    /// Who sends what where; `kind` 0 is a datagram with a wrong identifier.
    2 stream {
        kind u8 1; stream u16 2; flags u8 4; part u8 5; source_port u16 8; destination_port u16 10; stream_id u32 12;
        source Octets16 16; destination Octets16 32; sender Octets16 48;
    }
    /// A `by_kind` key, from octet 8 on.
    3 kind { kind u8 1; length u8 6; }
    /// Content of another record, from octet 8 on.
    4 text { what u8 1; of u16 2; length u8 6; }
    /// A rule broken in a stream; the rule's code is in `code`, its first case in words follows as text.
    5 fault { severity u8 1; fault u16 2; stream u16 4; offset u16 6; code Octets16 8; }
    /// Faults that one datagram has, as numbers of two octets from octet 8 on.
    6 faults { count u8 1; faults u16 2; }
    /// Drops that a counter of the observing host counted; the counter's name is in `layer`.
    7 drops { has_port u8 1; port u16 2; from_ns i64 8; to_ns i64 16; count u64 24; layer Octets16 32; }
    /// Datagrams of nobody here and packets without a datagram, since the record of this kind before.
    8 others { at_ns i64 8; packet u64 16; datagrams u64 24; }
    /// The capture lost packets (`own` 0), or this tape left records out (`own` 1).
    9 blind { own u8 1; from_ns i64 8; to_ns i64 16; count u64 24; }
    /// The clock of the stamps was set; the next stamps show it.
    11 step { by_ns i64 8; }
    /// Digests (XXH3-64) over the data of the next `count` datagrams without one, in order, from octet 8 on.
    12 digests { count u8 1; }
    /// Ends a block: CRC-32 (IEEE) over its records and this one with `crc` 0. `end` 1: the tape ends as it should;
    /// `ended_ns` is then when the run did, 0 where that is not known.
    10 seal {
        end u8 1; microseconds u8 2; crc u32 4; records u32 8; all_records u64 16; datagrams u64 24; left_out u64 32;
        ended_ns i64 40;
    }
}

/// Flags of a datagram.
pub(super) mod flag {
    pub(in super::super) const COPY: u8 = 1;
    pub(in super::super) const NUMBERED: u8 = 2;
    pub(in super::super) const CUT: u8 = 4;
    pub(in super::super) const IP_ID: u8 = 8;
    pub(in super::super) const WELL_FORMED: u8 = 16;
    /// Two bits: unknown, absent, good, bad.
    pub(in super::super) const CHECKSUM: u8 = 6;
}

/// Flags of a stream.
pub(super) mod known {
    pub(in super::super) const STREAM_ID: u8 = 1;
    pub(in super::super) const SENDER: u8 = 2;
    pub(in super::super) const SOURCE_6: u8 = 4;
    pub(in super::super) const DESTINATION_6: u8 = 8;
}

/// What a text is of.
pub(super) mod what {
    pub(in super::super) const NAME: u8 = 1;
    pub(in super::super) const HINT: u8 = 2;
    pub(in super::super) const EXPECTED: u8 = 3;
    pub(in super::super) const GOT: u8 = 4;
    /// Octets of the next datagram: the universes of a discovery.
    pub(in super::super) const DATA: u8 = 5;
}

/// The text of the header.
pub(super) fn map() -> String {
    let mut text = String::from(
        "wireproof tape. Records of 64 octets, little-endian; octet 0 is the tag, unknown tags are to be skipped.\n\
         tag record.field octet type\n",
    );
    for f in FIELDS {
        text.push_str(&format!("{} {}.{} {} {}\n", f.tag, f.record, f.field, f.at, f.holds));
    }
    text
}
