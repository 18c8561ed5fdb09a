//! Classic pcap files: microsecond, nanosecond and Kuznetzov's modified format, in both byte orders.

use super::octets::Endian;
use super::record::{Entry, LinkType, RECORD_MAX, Record};
use super::tally::Tally;
use super::window::Window;
use wireproof_protocols::Timestamp;

const FILE_HEADER: usize = 24;
/// Below this, a stated snap length does not bound a record: some programs state one and write more.
const SNAP_FLOOR: u32 = 65_535;

/// How captured and original length stand in a record header. Versions before 2.3 swapped them, 2.3 did in part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lengths {
    InOrder,
    Swapped,
    LargerIsOriginal,
}

/// The file header, as far as reading needs it.
struct Header {
    endian: Endian,
    nanoseconds: bool,
    record_header: usize,
    lengths: Lengths,
    snap_length: u32,
    link_type: LinkType,
}

/// What a record header says.
struct Head {
    at: Timestamp,
    captured: usize,
    original: u32,
}

/// Byte order, stamp resolution and record header length by magic number.
fn magic(first: &[u8]) -> Option<(Endian, bool, usize)> {
    Some(match first.first_chunk::<4>()? {
        [0xd4, 0xc3, 0xb2, 0xa1] => (Endian::Little, false, 16),
        [0xa1, 0xb2, 0xc3, 0xd4] => (Endian::Big, false, 16),
        [0x4d, 0x3c, 0xb2, 0xa1] => (Endian::Little, true, 16),
        [0xa1, 0xb2, 0x3c, 0x4d] => (Endian::Big, true, 16),
        [0x34, 0xcd, 0xb2, 0xa1] => (Endian::Little, false, 24),
        [0xa1, 0xb2, 0xcd, 0x34] => (Endian::Big, false, 24),
        _ => return None,
    })
}

/// True when a file that starts with `first` is classic pcap.
pub(super) fn claims(first: &[u8]) -> bool {
    magic(first).is_some()
}

/// Hands every record to `on`. An error is one sentence on the damage that ended the walk.
pub(super) fn walk(
    window: &mut Window<'_>,
    tally: &mut Tally,
    on: &mut impl FnMut(Entry<'_>),
) -> Result<(), String> {
    window.require(FILE_HEADER);
    let Some(header) = Header::parse(window.view()) else {
        return Err(format!("the file ends inside its header, after {} octets", window.view().len()));
    };
    window.advance(FILE_HEADER);
    tally.nanoseconds = header.nanoseconds;
    while let Some(head) = header.next(window, tally.records + 1)? {
        tally.record(header.link_type);
        let length = header.record_header + head.captured;
        on(Entry::Record(Record {
            number: tally.records,
            at: head.at,
            link_type: header.link_type,
            interface: 0,
            snap_length: header.snap_length,
            data: &window.view()[header.record_header..length],
            original_length: head.original,
            comment: None,
        }));
        window.advance(length);
    }
    Ok(())
}

impl Header {
    fn parse(octets: &[u8]) -> Option<Header> {
        let (endian, nanoseconds, record_header) = magic(octets)?;
        let version = (endian.u16(octets, 4)?, endian.u16(octets, 6)?);
        let lengths = match version {
            (2, 0..=2) | (543, _) => Lengths::Swapped,
            (2, 3) => Lengths::LargerIsOriginal,
            _ => Lengths::InOrder,
        };
        let snap_length = endian.u32(octets, 16)?;
        // The upper half carries the length of the frame check sequence and reserved bits.
        let link_type = LinkType((endian.u32(octets, 20)? & 0xffff) as u16);
        Some(Header { endian, nanoseconds, record_header, lengths, snap_length, link_type })
    }

    /// The next record header, with the whole record in view; `None` at the end of the file.
    #[inline]
    fn next(&self, window: &mut Window<'_>, number: u64) -> Result<Option<Head>, String> {
        let have = window.require(self.record_header);
        let Some(head) = window.view().get(..self.record_header).and_then(|octets| self.head(octets)) else {
            return if have == 0 { Ok(None) } else { Err(cut_header(window, number)) };
        };
        if head.captured > self.most() {
            return Err(impossible(window, number, head.captured));
        }
        let need = self.record_header + head.captured;
        if window.require(need) < need {
            return Err(cut_record(window, number, need));
        }
        Ok(Some(head))
    }

    #[inline]
    fn head(&self, octets: &[u8]) -> Option<Head> {
        let seconds = i64::from(self.endian.u32(octets, 0)?);
        let fraction = i64::from(self.endian.u32(octets, 4)?) * if self.nanoseconds { 1 } else { 1_000 };
        let (first, second) = (self.endian.u32(octets, 8)?, self.endian.u32(octets, 12)?);
        let (captured, original) = match self.lengths {
            Lengths::InOrder => (first, second),
            Lengths::Swapped => (second, first),
            Lengths::LargerIsOriginal => (first.min(second), first.max(second)),
        };
        let at = Timestamp(seconds * 1_000_000_000 + fraction);
        Some(Head { at, captured: captured as usize, original })
    }

    /// The most octets a record of this file can hold.
    #[inline]
    fn most(&self) -> usize {
        let stated = if self.snap_length == 0 { u32::MAX } else { self.snap_length.max(SNAP_FLOOR) };
        (stated as usize).min(RECORD_MAX)
    }
}

#[cold]
fn cut_header(window: &Window<'_>, number: u64) -> String {
    let (at, have) = (window.offset(), window.view().len());
    format!("the file ends inside the header of record {number} at octet {at}, after {have} octets of it")
}

#[cold]
fn impossible(window: &Window<'_>, number: u64, captured: usize) -> String {
    let at = window.offset();
    format!("record {number} at octet {at} claims {captured} octets, more than a record can hold")
}

#[cold]
fn cut_record(window: &Window<'_>, number: u64, need: usize) -> String {
    let (at, have) = (window.offset(), window.view().len());
    format!("record {number} at octet {at} is cut: {have} of its {need} octets are in the file")
}
