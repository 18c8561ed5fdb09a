//! Classic pcap files: microsecond, nanosecond and Kuznetzov's modified format, in both byte orders.

use super::octets::Endian;
use super::record::{LinkType, RECORD_MAX, Record, Walker};
use super::tally::Tally;
use super::wide;
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
pub(super) fn walk(window: &mut Window<'_>, tally: &mut Tally, on: &mut impl Walker) -> Result<(), String> {
    window.require(FILE_HEADER);
    let Some(header) = Header::parse(window.view()) else {
        return Err(format!("the file ends inside its header, after {} octets", window.view().len()));
    };
    window.advance(FILE_HEADER);
    tally.nanoseconds = header.nanoseconds;
    while header.next(window, tally.records + 1)? {
        let (records, octets) = header.in_view(window.view(), tally.records, on);
        tally.take(header.link_type, records);
        window.advance(octets);
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

    /// Hands over the records that lie whole in view; how many they were, and how many octets.
    #[inline(always)]
    fn in_view(&self, view: &[u8], before: u64, on: &mut impl Walker) -> (u64, usize) {
        let (most, scale) = (self.most(), if self.nanoseconds { 1 } else { 1_000 });
        let (mut number, mut left) = (before, view);
        while let Some((head, behind)) = left.split_at_checked(self.record_header)
            && let Some(head) = self.head(head, scale)
            && head.captured <= most
            && let Some((data, rest)) = behind.split_at_checked(head.captured)
        {
            number += 1;
            left = rest;
            // The record after the next one, should the next one be as long as this.
            let ahead = self.record_header + head.captured;
            (0..3).for_each(|line| wide::expect(rest, ahead + line * 64));
            on.record(&Record {
                number,
                at: head.at,
                link_type: self.link_type,
                interface: 0,
                snap_length: self.snap_length,
                data,
                original_length: head.original,
                comment: None,
            });
        }
        (number - before, view.len() - left.len())
    }

    /// Brings the next record into view; false at the end of the file.
    #[inline(never)]
    fn next(&self, window: &mut Window<'_>, number: u64) -> Result<bool, String> {
        let have = window.require(self.record_header);
        let head = window.view().get(..self.record_header).and_then(|octets| self.head(octets, 1));
        let Some(head) = head else {
            return if have == 0 { Ok(false) } else { Err(cut_header(window, number)) };
        };
        if head.captured > self.most() {
            return Err(impossible(window, number, head.captured));
        }
        let need = self.record_header + head.captured;
        if window.require(need) < need {
            return Err(cut_record(window, number, need));
        }
        Ok(true)
    }

    /// What a record header says; a unit of its fraction is so many nanoseconds.
    #[inline(always)]
    fn head(&self, octets: &[u8], scale: i64) -> Option<Head> {
        let (words, _) = octets.first_chunk::<16>()?.as_chunks::<4>();
        let word = |at: usize| match self.endian {
            Endian::Little => u32::from_le_bytes(words[at]),
            Endian::Big => u32::from_be_bytes(words[at]),
        };
        let (seconds, fraction) = (i64::from(word(0)), i64::from(word(1)) * scale);
        let (first, second) = (word(2), word(3));
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
