//! The last recording of a ring: what came before recording was switched on again belongs to another one, whose places
//! are gone, and is never drawn together with it.

use crate::frames::{Frame, Ring};
use crate::layout::{Kind, Record};

/// Stage whose `state` records tell that a recording begins; aux is its number.
pub const STAGE: &str = "recording";

/// The last recording in a ring.
#[derive(Clone, Copy, Debug)]
pub struct Recording<'a> {
    ring: &'a Ring,
    /// Its number, if its beginning is in the ring.
    pub number: Option<u64>,
    /// Recordings of which the ring holds the beginning.
    pub begun: u64,
    from: u64,
    first_frame: usize,
}

impl<'a> Recording<'a> {
    /// Finds it.
    pub fn last(ring: &'a Ring) -> Recording<'a> {
        let begins =
            |r: &&Record| r.kind() == Some(Kind::State) && ring.tables.stage(r.stage()) == Some(STAGE);
        let begun = || ring.loose.iter().filter(begins);
        let last = begun().max_by_key(|record| record.ordinal);
        let from = last.map_or(0, |record| record.ordinal);
        let of = |frame: &Frame| frame.records.first().is_some_and(|record| record.ordinal >= from);
        let first_frame = ring.frames.iter().position(of).unwrap_or(ring.frames.len());
        Recording { ring, number: last.map(Record::aux), begun: begun().count() as u64, from, first_frame }
    }

    /// Its whole frames, oldest first.
    pub fn frames(&self) -> &'a [Frame] {
        self.ring.frames.get(self.first_frame..).unwrap_or_default()
    }

    /// Its records that belong to no frame.
    pub fn loose(&self) -> impl Iterator<Item = &'a Record> {
        let from = self.from;
        self.ring.loose.iter().filter(move |record| record.ordinal >= from)
    }

    /// The time of its last sign of life, ns.
    pub fn end_ns(&self) -> u64 {
        let frames = self.frames().iter().map(|frame| frame.end_ns);
        frames.chain(self.loose().map(Record::end_ns)).max().unwrap_or_default()
    }

    /// Something may be missing in front of the first frame.
    pub fn cut_before(&self) -> bool {
        self.number.is_none() && self.ring.window.lo > 0
    }

    /// Frames were begun and are not whole, anywhere in the ring.
    pub fn has_partial(&self) -> bool {
        let partial = &self.ring.partial;
        partial.count + partial.crc + partial.unfinished > 0
    }

    /// The names of the ring.
    pub fn ring(&self) -> &'a Ring {
        self.ring
    }
}
