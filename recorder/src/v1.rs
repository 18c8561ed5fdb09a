//! Legacy rings through declared field maps: the order of their fields is not public, so a map says what is believed,
//! and [`score`] says how well a file bears it out. Never guesses a map.

use crate::frames::{self, Counts, Policy, Ring, Window};
use crate::header::Tables;
use crate::image::Refusal;
use crate::layout::{Kind, NO_FRAME, NO_PARENT, ORDINAL_LIMIT, Record, Uncommitted, u32_at, u64_at};
use serde::Deserialize;

/// Magic of the assumed maps.
pub const MAGIC: &str = "PFXRING1";
/// Names of the built-in maps.
pub const NAMES: [&str; 2] = ["v1-assumed-a", "v1-assumed-b"];
/// A larger header or record is a mistake in a map.
const MAX_SIZE: usize = 1 << 20;
/// Stage ids above this are not plausible.
const STAGE_LIMIT: u64 = 1 << 10;

/// Where a little-endian number lies: first octet and number of octets, 1 to 8.
pub type Place = (usize, usize);

/// The fields of a record.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fields {
    /// Start, ns.
    pub start: Place,
    /// End, ns.
    pub end: Place,
    /// Frame id.
    pub frame: Place,
    /// Stage id.
    pub stage: Place,
    /// Device id.
    pub device: Place,
    /// Protocol id.
    pub proto: Place,
    /// Flags.
    pub flags: Place,
    /// Auxiliary value.
    pub aux: Place,
}

/// A declared field map.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldMap {
    /// First octets of the file, if they are known.
    #[serde(default)]
    pub magic: Option<String>,
    /// Octets of the header.
    pub header: usize,
    /// Octets of a record.
    pub record: usize,
    /// Octet of the `u64` published position.
    pub visible: usize,
    /// Octet of the `u64` generation.
    #[serde(default)]
    pub generation: Option<usize>,
    /// Octet of the `u64` header sequence, odd while it is written.
    #[serde(default)]
    pub seq: Option<usize>,
    /// Octet of the `u32` capacity.
    #[serde(default)]
    pub capacity: Option<usize>,
    /// Fields of a record.
    pub fields: Fields,
    /// Octet of a record's `u64` commit word.
    pub commit: usize,
    /// A commit word is its ordinal plus this.
    pub commit_bias: u64,
    /// Stage of the record that ends a frame.
    pub complete_stage: u64,
    /// Frame id of records that belong to no frame.
    pub no_frame: u64,
}

/// What is wrong with a map.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// A field lies outside its record, or is wider than its value.
    #[error("field {0} does not fit: it needs [octet, size] inside the record, size 1 to {1}")]
    Field(&'static str, usize),
    /// A field of the header lies outside it.
    #[error("{0} lies outside the header")]
    Header(&'static str),
    /// Header or record have no size, or one of megabytes.
    #[error("header and record need a size of 1 to 1048576 octets")]
    Size,
}

impl FieldMap {
    /// A built-in map.
    pub fn named(name: &str) -> Option<FieldMap> {
        let (frame, small, aux) = match name {
            "v1-assumed-a" => ((16, 8), 24, (32, 4)),
            "v1-assumed-b" => ((16, 4), 20, (28, 8)),
            _ => return None,
        };
        let fields = Fields {
            start: (0, 8),
            end: (8, 8),
            frame,
            stage: (small, 2),
            device: (small + 2, 2),
            proto: (small + 4, 2),
            flags: (small + 6, 2),
            aux,
        };
        Some(FieldMap {
            magic: Some(MAGIC.to_owned()),
            header: 4096,
            record: 48,
            visible: 40,
            generation: Some(24),
            seq: Some(32),
            capacity: Some(16),
            fields,
            commit: 36,
            commit_bias: 1,
            complete_stage: 16,
            no_frame: 0,
        })
    }

    /// Checks that every field lies where it can be read.
    ///
    /// # Errors
    /// The first field that does not.
    pub fn check(&self) -> Result<(), MapError> {
        if !(1..=MAX_SIZE).contains(&self.header) || !(1..=MAX_SIZE).contains(&self.record) {
            return Err(MapError::Size);
        }
        let f = &self.fields;
        let places = [
            ("start", f.start, 8),
            ("end", f.end, 8),
            ("frame", f.frame, 8),
            ("stage", f.stage, 2),
            ("device", f.device, 2),
            ("proto", f.proto, 8),
            ("flags", f.flags, 2),
            ("aux", f.aux, 8),
            ("commit", (self.commit, 8), 8),
        ];
        for (name, (at, size), limit) in places {
            let end = at.checked_add(size);
            if !(1..=limit).contains(&size) || end.is_none_or(|end| end > self.record) {
                return Err(MapError::Field(name, limit));
            }
        }
        let header = [
            ("visible", Some(self.visible), 8),
            ("generation", self.generation, 8),
            ("seq", self.seq, 8),
            ("capacity", self.capacity, 4),
        ];
        for (name, at, size) in header {
            if at.is_some_and(|at| at.checked_add(size).is_none_or(|end| end > self.header)) {
                return Err(MapError::Header(name));
            }
        }
        Ok(())
    }
}

/// The committed records of a legacy image.
struct Slots {
    capacity: u64,
    generation: u64,
    window: Window,
    drops: Counts,
    records: Vec<Record>,
    /// Records whose fields are within reason.
    plausible: u64,
}

/// Parses a legacy image through a map that has been checked.
///
/// # Errors
/// The reason why nothing of it can be believed.
pub fn parse(image: &[u8], map: &FieldMap) -> Result<Ring, Refusal> {
    let slots = slots(image, map)?;
    Ok(assemble(&slots))
}

fn assemble(slots: &Slots) -> Ring {
    frames::assemble(&frames::Parts {
        version: 1,
        capacity: slots.capacity,
        generation: slots.generation,
        stamped: false,
        window: slots.window,
        drops: slots.drops,
        records: &slots.records,
        policy: Policy::Conservative,
        sealed: false,
        unpublished_tail: 0,
        tables: Tables::default(),
    })
}

/// How well a file bears a map out, in thousandths: half for fields within reason, half for framed records that end
/// in a frame. The right map scores 1,000.
///
/// # Errors
/// As [`parse`].
pub fn score(image: &[u8], map: &FieldMap) -> Result<u32, Refusal> {
    let slots = slots(image, map)?;
    let ring = assemble(&slots);
    let share = |part: u64, whole: u64| (part * 500).checked_div(whole).unwrap_or_default() as u32;
    let framed = slots.records.iter().filter(|record| record.frame() != NO_FRAME);
    let judged = framed.filter(|record| Some(record.frame()) != ring.oldest_discarded).count() as u64;
    Ok(share(slots.plausible, slots.records.len() as u64) + share(ring.framed_records(), judged))
}

fn slots(image: &[u8], map: &FieldMap) -> Result<Slots, Refusal> {
    let body = image.get(map.header..).ok_or(Refusal::Short)?;
    if map.magic.as_ref().is_some_and(|magic| !image.starts_with(magic.as_bytes())) {
        return Err(Refusal::Magic);
    }
    let capacity = (body.len() / map.record.max(1)) as u64;
    let declared = map.capacity.is_none_or(|at| u64::from(u32_at(image, at)) == capacity);
    if body.len() % map.record.max(1) != 0 || !declared {
        return Err(Refusal::Size);
    }
    if map.seq.is_some_and(|at| u64_at(image, at) & 1 == 1) {
        return Err(Refusal::Initialising);
    }
    let visible = u64_at(image, map.visible);
    if visible >= ORDINAL_LIMIT {
        return Err(Refusal::Position);
    }
    let mut slots = Slots {
        capacity,
        generation: map.generation.map_or(0, |at| u64_at(image, at)),
        window: Window { lo: visible.saturating_sub(capacity), hi: visible },
        drops: Counts::default(),
        records: Vec::new(),
        plausible: 0,
    };
    slots.read(body, map);
    Ok(slots)
}

impl Slots {
    fn read(&mut self, body: &[u8], map: &FieldMap) {
        for ordinal in self.window.lo..self.window.hi {
            let at = (ordinal % self.capacity.max(1)) as usize * map.record;
            let octets = body.get(at..at + map.record).unwrap_or_default();
            match u64_at(octets, map.commit) {
                word if word == ordinal.wrapping_add(map.commit_bias) => {
                    let (record, plausible) = read(octets, ordinal, map);
                    self.records.push(record);
                    self.plausible += u64::from(plausible);
                }
                0 => self.drops.count(Uncommitted::Pending),
                _ => self.drops.count(Uncommitted::Stale),
            }
        }
    }
}

/// A legacy record in the terms of layout 2, and whether its fields are within reason.
fn read(octets: &[u8], ordinal: u64, map: &FieldMap) -> (Record, bool) {
    let value = |(at, size): Place| {
        let octets = octets.get(at..at + size).unwrap_or_default();
        octets.iter().rev().fold(0_u64, |value, octet| value << 8 | u64::from(*octet))
    };
    let f = &map.fields;
    let [start, end, frame, stage] = [f.start, f.end, f.frame, f.stage].map(value);
    let [device, proto, flags, aux] = [f.device, f.proto, f.flags, f.aux].map(value);
    let framed = frame != map.no_frame;
    let kind = if framed && stage == map.complete_stage { Kind::FrameComplete } else { Kind::Span };
    let id = if framed { frame & 0xFFFF_FFFF } else { u64::from(NO_FRAME) };
    let words = [
        start,
        end,
        id | stage << 32 | device << 48,
        proto & 0xFF | (kind as u64) << 8 | flags << 16 | u64::from(NO_PARENT) << 48,
        aux,
    ];
    let plausible = start <= end && frame <= u64::from(u32::MAX) && stage < STAGE_LIMIT;
    (Record { ordinal, words }, plausible)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_assumed_maps_fit() {
        for name in NAMES {
            assert_eq!(FieldMap::named(name).unwrap().check(), Ok(()));
        }
        assert_eq!(FieldMap::named("v1"), None);
    }

    #[test]
    fn a_map_that_reaches_outside_is_refused() {
        let good = FieldMap::named("v1-assumed-a").unwrap();
        let spoil = |change: fn(&mut FieldMap)| {
            let mut map = good.clone();
            change(&mut map);
            map.check()
        };
        assert_eq!(spoil(|m| m.fields.aux = (41, 8)), Err(MapError::Field("aux", 8)));
        assert_eq!(spoil(|m| m.fields.aux = (usize::MAX, 8)), Err(MapError::Field("aux", 8)));
        assert_eq!(spoil(|m| m.fields.stage = (24, 3)), Err(MapError::Field("stage", 2)));
        assert_eq!(spoil(|m| m.fields.end = (8, 0)), Err(MapError::Field("end", 8)));
        assert_eq!(spoil(|m| m.commit = 44), Err(MapError::Field("commit", 8)));
        assert_eq!(spoil(|m| m.visible = 4089), Err(MapError::Header("visible")));
        assert_eq!(spoil(|m| m.record = 0), Err(MapError::Size));
    }
}
