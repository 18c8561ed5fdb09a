//! pcapng files: sections in either byte order, interfaces, the three packet blocks and interface statistics.
//! Every other block is skipped.

use super::clock::Clock;
use super::ending::{Ending, Told, nearer, of_section};
use super::evidence;
use super::octets::Endian;
use super::options::Options;
use super::record::{Entry, LinkType, RECORD_MAX, Record, Walker};
use super::run::Run;
use super::tally::Tally;
use super::window::{VIEW_MAX, Window};
use wireproof_protocols::Timestamp;

/// Block type of a section header; the same in both byte orders.
pub(super) const SECTION: u32 = 0x0a0d_0d0a;
/// Block type of an interface description.
pub(super) const INTERFACE: u32 = 1;
/// Block type of the obsolete packet block.
const PACKET: u32 = 2;
/// Block type of a simple packet.
const SIMPLE: u32 = 3;
/// Block type of interface statistics.
pub(super) const STATISTICS: u32 = 5;
/// Block type of an enhanced packet.
pub(super) const ENHANCED: u32 = 6;
/// Octets around a block's body: type, length, length again.
pub(super) const FRAME: usize = 12;
/// Interfaces of one section that are kept; a file with more is taken for damaged.
const INTERFACES_MAX: usize = 65_536;

/// Option codes: a comment in any block, then those of interface, enhanced packet and statistics blocks.
pub(super) mod option {
    pub(in crate::capture) const COMMENT: u16 = 1;
    pub(in crate::capture) const APPLICATION: u16 = 4;
    pub(in crate::capture) const RESOLUTION: u16 = 9;
    pub(in crate::capture) const OFFSET: u16 = 14;
    pub(in crate::capture) const PACKET_DROPS: u16 = 4;
    pub(in crate::capture) const START: u16 = 2;
    pub(in crate::capture) const END: u16 = 3;
    pub(in crate::capture) const RECEIVED: u16 = 4;
    pub(in crate::capture) const INTERFACE_DROPS: u16 = 5;
    pub(in crate::capture) const SYSTEM_DROPS: u16 = 7;
    pub(in crate::capture) const DELIVERED: u16 = 8;
}

/// One interface of the section being read.
struct Interface {
    link_type: LinkType,
    snap_length: u32,
    clock: Clock,
    /// Stamp of the last record.
    last: Option<Timestamp>,
    /// Before this no drop that is still to be told can lie: the first record, then the last statistics.
    since: Option<Timestamp>,
    statistics: bool,
    /// Drops told so far.
    told: u64,
    ending: Ending,
}

/// Where a section stands.
#[derive(Default)]
struct Reader {
    endian: Endian,
    interfaces: Vec<Interface>,
    last: Timestamp,
    /// Records of the sections before.
    before: u64,
}

/// A block whose octets are in view, or one to skip.
struct Block {
    kind: u32,
    length: usize,
}

/// The fixed fields of a packet block.
struct Fields<'a> {
    interface: u32,
    at: Option<(u32, u32)>,
    original: u32,
    data: &'a [u8],
    options: &'a [u8],
    drops: u64,
}

/// True when a file that starts with `first` is pcapng.
pub(super) fn claims(first: &[u8]) -> bool {
    first.starts_with(&SECTION.to_be_bytes())
}

/// Hands every record and every drop count to `on`. An error is one sentence on the damage that ended the walk.
pub(super) fn walk(window: &mut Window<'_>, tally: &mut Tally, on: &mut impl Walker) -> Result<(), String> {
    let mut reader = Reader::default();
    while let Some(block) = reader.next(window)? {
        let body = window.view().get(8..block.length.saturating_sub(4)).unwrap_or_default();
        let read = reader.read(block.kind, body, tally, on);
        read.map_err(|what| format!("{} at octet {} {what}", name_of(block.kind), window.offset()))?;
        window.advance(block.length);
        let octets = reader.runs(window.view(), tally, on);
        window.advance(octets);
    }
    let endings = reader.interfaces.iter().map(|interface| interface.ending);
    tally.ended = of_section(endings, tally.records - reader.before);
    Ok(())
}

impl Reader {
    /// Hands over the usual blocks at the start of the view; how many octets they are.
    #[inline(always)]
    fn runs(&mut self, view: &[u8], tally: &mut Tally, on: &mut impl Walker) -> usize {
        let mut left = view;
        while let Some(number) = self.endian.u32(left, 8)
            && let Some(interface) = self.interfaces.get_mut(number as usize)
        {
            let Interface { clock, link_type, snap_length, .. } = *interface;
            let run = Run { endian: self.endian, interface: number, clock, link_type, snap_length };
            let ran = run.records(left, tally.records, on);
            let Some((first, last)) = ran.stamps else { break };
            interface.since.get_or_insert(first);
            interface.last = Some(last);
            self.last = last;
            tally.take(link_type, ran.records);
            left = left.get(ran.octets..).unwrap_or_default();
        }
        view.len() - left.len()
    }

    /// The next block that matters, wholly in view; `None` at the end of the file.
    #[inline]
    fn next(&mut self, window: &mut Window<'_>) -> Result<Option<Block>, String> {
        loop {
            let have = window.require(FRAME);
            let view = window.view();
            let (Some(kind), Some(third)) = (self.endian.u32(view, 0), Endian::Big.u32(view, 8)) else {
                return if have == 0 { Ok(None) } else { Err(cut_frame(window)) };
            };
            if kind == SECTION {
                self.endian = byte_order(third).ok_or_else(|| bad_order(window))?;
            }
            let length = self.endian.u32(view, 4).unwrap_or_default() as usize;
            if length < FRAME || !length.is_multiple_of(4) {
                return Err(bad_length(window, kind, length));
            }
            if matches!(kind, SECTION | INTERFACE | PACKET | SIMPLE | STATISTICS | ENHANCED) {
                self.bring_into_view(window, kind, length)?;
                return Ok(Some(Block { kind, length }));
            }
            self.pass(window, kind, length)?;
        }
    }

    #[inline]
    fn bring_into_view(&self, window: &mut Window<'_>, kind: u32, length: usize) -> Result<(), String> {
        if length > VIEW_MAX {
            return Err(bad_length(window, kind, length));
        }
        if window.require(length) < length {
            return Err(cut_block(window, kind, length));
        }
        let trailer = self.endian.u32(window.view(), length - 4).unwrap_or_default() as usize;
        if trailer == length { Ok(()) } else { Err(bad_trailer(window.offset(), kind, length, trailer)) }
    }

    /// Passes over a block of no interest, however long it is.
    fn pass(&self, window: &mut Window<'_>, kind: u32, length: usize) -> Result<(), String> {
        let at = window.offset();
        if !window.skip(length as u64 - 4) || window.require(4) < 4 {
            return Err(format!(
                "{} at octet {at} is cut: the file ends before its {length} octets",
                name_of(kind)
            ));
        }
        let trailer = self.endian.u32(window.view(), 0).unwrap_or_default() as usize;
        window.advance(4);
        if trailer == length { Ok(()) } else { Err(bad_trailer(at, kind, length, trailer)) }
    }

    /// Reads the body of one block. An error says what is wrong with it.
    #[inline]
    fn read(
        &mut self,
        kind: u32,
        body: &[u8],
        tally: &mut Tally,
        on: &mut impl Walker,
    ) -> Result<(), &'static str> {
        match kind {
            ENHANCED => self.record(enhanced(self.endian, body).ok_or(SHORT)?, tally, on),
            PACKET => self.record(obsolete(self.endian, body).ok_or(SHORT)?, tally, on),
            SIMPLE => self.record(self.simple(body).ok_or(SHORT)?, tally, on),
            STATISTICS => self.statistics(body, tally, on),
            INTERFACE => self.interface(body, tally),
            _ => self.section(body, tally.records),
        }
    }

    /// Starts a section. Its version is not judged: the lengths of the blocks tell soon enough.
    fn section(&mut self, body: &[u8], records: u64) -> Result<(), &'static str> {
        self.interfaces.clear();
        self.before = records;
        if body.len() >= 16 { Ok(()) } else { Err(SHORT) }
    }

    fn interface(&mut self, body: &[u8], tally: &mut Tally) -> Result<(), &'static str> {
        if self.interfaces.len() >= INTERFACES_MAX {
            return Err("is one more interface than a section can have");
        }
        let link_type = LinkType(self.endian.u16(body, 0).ok_or(SHORT)?);
        let snap_length = self.endian.u32(body, 4).ok_or(SHORT)?;
        let mut clock = Clock::default();
        for (code, value) in Options::new(self.endian, body.get(8..).unwrap_or_default()) {
            match (code, value) {
                (option::RESOLUTION, [resolution, ..]) => clock.set_resolution(*resolution),
                (option::OFFSET, value) => {
                    clock.set_offset(self.endian.u64(value, 0).unwrap_or_default().cast_signed());
                }
                _ => {}
            }
        }
        tally.nanoseconds |= clock.finer_than_microseconds();
        let (last, since) = (None, None);
        self.interfaces.push(Interface {
            link_type,
            snap_length,
            clock,
            last,
            since,
            statistics: false,
            told: 0,
            ending: Ending::default(),
        });
        Ok(())
    }

    fn simple<'a>(&self, body: &'a [u8]) -> Option<Fields<'a>> {
        let original = self.endian.u32(body, 0)?;
        let octets = body.get(4..)?;
        let snap = self.interfaces.first().map_or(0, |interface| interface.snap_length);
        let bound = if snap == 0 { original } else { original.min(snap) };
        let data = &octets[..octets.len().min(bound as usize)];
        Some(Fields { interface: 0, at: None, original, data, options: &[], drops: 0 })
    }

    #[inline]
    fn record(
        &mut self,
        fields: Fields<'_>,
        tally: &mut Tally,
        on: &mut impl Walker,
    ) -> Result<(), &'static str> {
        let interface = self.interfaces.get_mut(fields.interface as usize).ok_or(UNDECLARED)?;
        if fields.data.len() > RECORD_MAX {
            return Err("claims more octets than a record can hold");
        }
        let at = fields.at.map_or(self.last, |(high, low)| interface.clock.instant(high, low));
        let (mut drops, mut comment) = (fields.drops, None);
        if !fields.options.is_empty() {
            (drops, comment) = record_options(self.endian, fields.options, drops);
        }
        if drops > 0 {
            tally.dropped = tally.dropped.saturating_add(drops);
            interface.told = interface.told.saturating_add(drops);
            let from = interface.last.unwrap_or(at).min(at);
            on.entry(Entry::Blind { from, to: at, dropped: drops });
        }
        self.last = at;
        interface.last = Some(at);
        interface.since.get_or_insert(at);
        tally.record(interface.link_type);
        on.entry(Entry::Record(Record {
            number: tally.records,
            at,
            link_type: interface.link_type,
            interface: fields.interface,
            snap_length: interface.snap_length,
            data: fields.data,
            original_length: fields.original,
            comment,
        }));
        Ok(())
    }

    /// Tells the drops that statistics add to those told before. The counts run from the start of the capture.
    fn statistics(
        &mut self,
        body: &[u8],
        tally: &mut Tally,
        on: &mut impl Walker,
    ) -> Result<(), &'static str> {
        let endian = self.endian;
        let number = endian.u32(body, 0).ok_or(SHORT)?;
        let stamp = (endian.u32(body, 4).ok_or(SHORT)?, endian.u32(body, 8).ok_or(SHORT)?);
        let interface = self.interfaces.get_mut(number as usize).ok_or(UNDECLARED)?;
        let at = interface.clock.instant(stamp.0, stamp.1);
        let (mut said, mut told, mut set) = (Told::default(), None, None);
        for (code, value) in Options::new(endian, body.get(12..).unwrap_or_default()) {
            match code {
                option::START => said.start = interface.clock.read(endian, value),
                option::COMMENT => {
                    let comment = std::str::from_utf8(value).unwrap_or_default();
                    told = evidence::parse(comment).or(told);
                    set = evidence::parse_step(comment).or(set);
                }
                option::END => said.end = interface.clock.read(endian, value),
                option::RECEIVED => said.received = count(endian, value),
                option::DELIVERED => said.delivered = endian.u64(value, 0).filter(|n| *n != u64::MAX),
                option::INTERFACE_DROPS | option::SYSTEM_DROPS => {
                    said.dropped = said.dropped.saturating_add(count(endian, value));
                }
                _ => {}
            }
        }
        if let Some(by) = set {
            on.entry(Entry::ClockStep(by));
            return Ok(());
        }
        if let Some(drops) = told {
            on.entry(Entry::Drops(drops));
            return Ok(());
        }
        let newest = interface.last.filter(|_| interface.clock.finer_than_microseconds());
        let said = said.meant(newest);
        let at = newest.map_or(at, |newest| nearer(at, newest));
        let (start, to) = (said.start, said.end.unwrap_or(at));
        interface.ending.take(&said, interface.since);
        let from = if interface.statistics { start.max(interface.since) } else { start.or(interface.since) };
        interface.statistics = true;
        interface.since = Some(to);
        let dropped = said.dropped.saturating_sub(interface.told);
        if dropped > 0 {
            interface.told = said.dropped;
            tally.dropped = tally.dropped.saturating_add(dropped);
            on.entry(Entry::Blind { from: from.unwrap_or(to).min(to), to, dropped });
        }
        Ok(())
    }
}

const SHORT: &str = "is shorter than its own fields say";
const UNDECLARED: &str = "belongs to an interface that the section does not describe";

/// A count of packets; all ones stands for unknown.
fn count(endian: Endian, value: &[u8]) -> u64 {
    endian.u64(value, 0).filter(|count| *count != u64::MAX).unwrap_or_default()
}

#[inline]
fn enhanced(endian: Endian, body: &[u8]) -> Option<Fields<'_>> {
    let at = Some((endian.u32(body, 4)?, endian.u32(body, 8)?));
    let (data, options) = split(body.get(20..)?, endian.u32(body, 12)? as usize)?;
    let original = endian.u32(body, 16)?;
    Some(Fields { interface: endian.u32(body, 0)?, at, original, data, options, drops: 0 })
}

fn obsolete(endian: Endian, body: &[u8]) -> Option<Fields<'_>> {
    let at = Some((endian.u32(body, 4)?, endian.u32(body, 8)?));
    let (data, options) = split(body.get(20..)?, endian.u32(body, 12)? as usize)?;
    let drops = endian.u16(body, 2).filter(|drops| *drops != u16::MAX).map_or(0, u64::from);
    let original = endian.u32(body, 16)?;
    Some(Fields { interface: u32::from(endian.u16(body, 0)?), at, original, data, options, drops })
}

/// Captured octets, and the options behind their padding.
#[inline]
fn split(octets: &[u8], captured: usize) -> Option<(&[u8], &[u8])> {
    let data = octets.get(..captured)?;
    Some((data, octets.get(captured.next_multiple_of(4)..).unwrap_or_default()))
}

/// Drops before a record (`drops` when no option says) and its first comment.
fn record_options(endian: Endian, options: &[u8], drops: u64) -> (u64, Option<&str>) {
    let (mut drops, mut comment) = (drops, None);
    for (code, value) in Options::new(endian, options) {
        match code {
            option::COMMENT if comment.is_none() => comment = Some(text(value)),
            option::PACKET_DROPS => drops = count(endian, value),
            _ => {}
        }
    }
    (drops, comment)
}

/// The UTF-8 text an option starts with.
fn text(value: &[u8]) -> &str {
    value.utf8_chunks().next().map_or("", |chunk| chunk.valid())
}

fn byte_order(magic: u32) -> Option<Endian> {
    match magic {
        0x1a2b_3c4d => Some(Endian::Big),
        0x4d3c_2b1a => Some(Endian::Little),
        _ => None,
    }
}

fn name_of(kind: u32) -> String {
    match kind {
        SECTION => "section header".into(),
        INTERFACE => "interface description".into(),
        PACKET | SIMPLE | ENHANCED => "packet block".into(),
        STATISTICS => "interface statistics".into(),
        other => format!("block of type {other:#x}"),
    }
}

#[cold]
fn cut_frame(window: &Window<'_>) -> String {
    let (at, have) = (window.offset(), window.view().len());
    format!("the file ends inside a block at octet {at}, after {have} octets of it")
}

#[cold]
fn bad_order(window: &Window<'_>) -> String {
    format!("section header at octet {} has no valid byte-order magic", window.offset())
}

#[cold]
fn bad_length(window: &Window<'_>, kind: u32, length: usize) -> String {
    format!("{} at octet {} has the impossible length {length}", name_of(kind), window.offset())
}

#[cold]
fn cut_block(window: &Window<'_>, kind: u32, length: usize) -> String {
    let (at, have) = (window.offset(), window.view().len());
    format!("{} at octet {at} is cut: {have} of its {length} octets are in the file", name_of(kind))
}

#[cold]
fn bad_trailer(at: u64, kind: u32, length: usize, trailer: usize) -> String {
    format!("{} at octet {at} states two lengths, {length} and {trailer}", name_of(kind))
}
