//! From records to whole frames: what is returned, what is dropped, and why. Never returns half a frame.

use crate::crc;
use crate::header::Tables;
use crate::layout::{FLAG_TRUNCATED, Kind, NO_FRAME, Record, Uncommitted};
use serde::Serialize;
use std::collections::HashMap;

/// What becomes of the oldest frame after a wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Its id is dropped, whole or not: the rule of the field.
    #[default]
    Conservative,
    /// It stays if it proves whole.
    Exact,
}

/// Ordinals that count, `lo` included and `hi` not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// First ordinal.
    pub lo: u64,
    /// Ordinal behind the last one.
    pub hi: u64,
}

/// Slots inside the window that were dropped, by commit word or kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Announced and not written.
    pub pending: u64,
    /// Another ordinal of this generation.
    pub stale: u64,
    /// Another generation.
    pub foreign: u64,
    /// Never written.
    pub empty: u64,
    /// A kind that the layout does not know.
    pub bad_kind: u64,
}

impl Counts {
    /// Counts one slot.
    pub fn count(&mut self, why: Uncommitted) {
        let counter = match why {
            Uncommitted::Pending => &mut self.pending,
            Uncommitted::Stale => &mut self.stale,
            Uncommitted::Foreign => &mut self.foreign,
            Uncommitted::Empty => &mut self.empty,
        };
        *counter += 1;
    }
}

/// Frames that were not returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Partial {
    /// Records are missing.
    pub count: u64,
    /// The checksum does not match.
    pub crc: u64,
    /// No `frame_complete`: abandoned, or the writer died.
    pub unfinished: u64,
}

/// A whole frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Frame id.
    pub id: u32,
    /// Start of the frame, ns.
    pub start_ns: u64,
    /// End of the frame, ns.
    pub end_ns: u64,
    /// The writer dropped events of it over its batch limit.
    pub truncated: bool,
    /// Its records in order, `frame_complete` last.
    pub records: Vec<Record>,
}

/// A hole in the ids of the returned frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Last id in front of the hole.
    pub after: u32,
    /// First id behind it.
    pub before: u32,
    /// Ids between them.
    pub missing: u32,
}

/// What an image says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Layout, 1 or 2.
    pub version: u8,
    /// Records the ring holds.
    pub capacity: u64,
    /// Generation of its writer.
    pub generation: u64,
    /// It is a copy that was sealed with a stamp.
    pub stamped: bool,
    /// The ordinals that count.
    pub window: Window,
    /// Slots of the window that were dropped.
    pub drops: Counts,
    /// Whole frames, oldest first.
    pub frames: Vec<Frame>,
    /// Records that belong to no frame.
    pub loose: Vec<Record>,
    /// Frames that were not returned.
    pub partial: Partial,
    /// The id that was given up because the ring had wrapped over its beginning.
    pub oldest_discarded: Option<u32>,
    /// Holes in the ids.
    pub gaps: Vec<Gap>,
    /// Records past the published position: what a writer that died had written.
    pub unpublished_tail: u64,
    /// CRC-32C over ordinal and first 40 octets of each returned frame's records, in order.
    pub digest: u32,
    /// Names of stages, devices and protocols.
    pub tables: Tables,
}

impl Ring {
    /// Records in whole frames.
    pub fn framed_records(&self) -> u64 {
        self.frames.iter().map(|frame| frame.records.len() as u64).sum()
    }
}

/// What a parser found, to be put together.
pub(crate) struct Parts<'a> {
    pub(crate) version: u8,
    pub(crate) capacity: u64,
    pub(crate) generation: u64,
    pub(crate) stamped: bool,
    pub(crate) window: Window,
    pub(crate) drops: Counts,
    pub(crate) records: &'a [Record],
    pub(crate) policy: Policy,
    /// Frames carry a count and a checksum.
    pub(crate) sealed: bool,
    pub(crate) unpublished_tail: u64,
    pub(crate) tables: Tables,
}

/// Puts records together to frames.
pub(crate) fn assemble(parts: &Parts<'_>) -> Ring {
    let mut assembly = Assembly::new(parts);
    parts.records.iter().for_each(|record| assembly.add(record));
    assembly.partial.unfinished += assembly.open.len() as u64;
    let Assembly { mut frames, loose, mut partial, oldest, .. } = assembly;
    if !parts.sealed {
        let whole = frames.len();
        frames.retain(|frame| without_holes(frame, parts.records));
        partial.count += (whole - frames.len()) as u64;
    }
    Ring {
        version: parts.version,
        capacity: parts.capacity,
        generation: parts.generation,
        stamped: parts.stamped,
        window: parts.window,
        drops: parts.drops,
        gaps: gaps(&frames),
        digest: digest(&frames),
        frames,
        loose,
        partial,
        oldest_discarded: oldest,
        unpublished_tail: parts.unpublished_tail,
        tables: parts.tables.clone(),
    }
}

/// Batches under way.
struct Assembly {
    sealed: bool,
    open: HashMap<u32, Vec<Record>>,
    frames: Vec<Frame>,
    loose: Vec<Record>,
    partial: Partial,
    oldest: Option<u32>,
    /// The oldest id, until its `frame_complete` has passed.
    skipping: Option<u32>,
}

impl Assembly {
    fn new(parts: &Parts<'_>) -> Self {
        let wrapped = parts.window.lo > 0 && parts.policy == Policy::Conservative;
        let framed = || parts.records.iter().map(Record::frame).find(|frame| *frame != NO_FRAME);
        let oldest = wrapped.then(framed).flatten();
        Assembly {
            sealed: parts.sealed,
            open: HashMap::new(),
            frames: Vec::new(),
            loose: Vec::new(),
            partial: Partial::default(),
            oldest,
            skipping: oldest,
        }
    }

    fn add(&mut self, record: &Record) {
        let frame = record.frame();
        let complete = record.kind() == Some(Kind::FrameComplete);
        if frame == NO_FRAME {
            self.loose.push(*record);
        } else if self.skipping == Some(frame) {
            if complete {
                self.skipping = None;
            }
        } else if complete {
            self.complete(record);
        } else {
            self.open.entry(frame).or_default().push(*record);
        }
    }

    /// One batch at a time is open in a writer: whatever else is open was abandoned.
    fn complete(&mut self, complete: &Record) {
        let mut batch = self.open.remove(&complete.frame()).unwrap_or_default();
        self.partial.unfinished += self.open.len() as u64;
        self.open.clear();
        if self.sealed {
            if !counted(&batch, complete) {
                self.partial.count += 1;
                return;
            }
            if !sealed(&batch, complete) {
                self.partial.crc += 1;
                return;
            }
        }
        batch.push(*complete);
        self.frames.push(Frame {
            id: complete.frame(),
            start_ns: complete.start_ns(),
            end_ns: complete.end_ns(),
            truncated: complete.flags() & FLAG_TRUNCATED != 0,
            records: batch,
        });
    }
}

/// The number matches, and the places are 0, 1, 2 and so on.
fn counted(batch: &[Record], complete: &Record) -> bool {
    let places = batch.iter().enumerate().all(|(place, record)| usize::from(record.seq()) == place);
    places && batch.len() as u64 + 1 == complete.aux() >> 32
}

fn sealed(batch: &[Record], complete: &Record) -> bool {
    let sum = batch.iter().fold(0, crc::record);
    crc::completion(sum, complete) == complete.aux() as u32
}

/// Every ordinal from the first to the last record of the frame was readable; `good` is sorted by ordinal.
fn without_holes(frame: &Frame, good: &[Record]) -> bool {
    let place = |record: Option<&Record>| {
        let ordinal = record?.ordinal;
        Some((ordinal, good.binary_search_by_key(&ordinal, |r| r.ordinal).ok()? as u64))
    };
    match (place(frame.records.first()), place(frame.records.last())) {
        (Some((from, first)), Some((to, last))) => to.wrapping_sub(from) == last.wrapping_sub(first),
        _ => false,
    }
}

fn gaps(frames: &[Frame]) -> Vec<Gap> {
    let gap = |pair: &[Frame]| match pair {
        [a, b] if b.id.wrapping_sub(a.id) != 1 => {
            Some(Gap { after: a.id, before: b.id, missing: b.id.wrapping_sub(a.id).wrapping_sub(1) })
        }
        _ => None,
    };
    frames.windows(2).filter_map(gap).collect()
}

fn digest(frames: &[Frame]) -> u32 {
    let one = |sum, record: &Record| crc::record(crc::append(sum, &record.ordinal.to_le_bytes()), record);
    frames.iter().flat_map(|frame| &frame.records).fold(0, one)
}
