//! The racing reader: a copy of a ring whose writer goes on, bracketed so that it can be judged, and sealed with a
//! stamp so that it can be judged anywhere. Never writes to a ring, never waits for its writer.

use crate::bracket::{self, After, Before, CopyError, Source};
use crate::crc;
use crate::image::Refusal;
use crate::layout::{
    CAPACITY, CLAIMED, HEADER_BYTES, MAGIC, MAX_CAPACITY, PAYLOAD_BYTES, RECORD_BYTES, STAMP, STAMP_BODY_CRC,
    STAMP_CRC, STAMP_MAGIC, VISIBLE, commit, file_bytes, slot, u64_at, word,
};
use crate::memory::Shared;
use crate::protocol::{Protocol, Sound};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Octets copied at once, whole records: between two chunks a paced copier rests.
pub const CHUNK: usize = 1365 * RECORD_BYTES;

impl<M: Shared> Source for M {
    fn words(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn word(&self, at: usize) -> io::Result<u64> {
        Ok(self.load(at))
    }

    fn copy(&self, at: usize, octets: &mut [u8]) -> io::Result<()> {
        Shared::copy(self, at, octets);
        Ok(())
    }

    fn fence(&self) {
        self.fence_acquire();
    }
}

/// A ring file that somebody else may cut short: read with `pread`, because a mapping would end in SIGBUS.
#[derive(Clone, Copy, Debug)]
pub struct Pread<'a>(pub &'a File);

impl Source for Pread<'_> {
    fn words(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len() / 8)
    }

    fn word(&self, at: usize) -> io::Result<u64> {
        let mut octets = [0; 8];
        self.0.read_exact_at(&mut octets, at as u64 * 8)?;
        Ok(u64::from_le_bytes(octets))
    }

    fn copy(&self, at: usize, octets: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(octets, at as u64 * 8)
    }

    fn fence(&self) {
        std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
    }
}

/// When a copy was made, on the caller's clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Monotonic, before.
    pub monotonic_start_ns: u64,
    /// Monotonic, after.
    pub monotonic_end_ns: u64,
    /// Wall clock, before.
    pub wall_start_ns: u64,
}

/// A bracketed copy, not yet sealed.
#[derive(Debug)]
pub struct Snapshot {
    octets: Vec<u8>,
    before: Before,
    after: After,
    capacity: u64,
    /// Slots of the window with the commit word that they should have.
    committed: u64,
    /// CRC-32C of everything behind the header.
    body_crc: u32,
    yields: u32,
}

/// Copies a ring, in one go.
///
/// # Errors
/// The ring is being initialised, its generation changed, or it cannot be read.
pub fn take(source: &impl Source) -> Result<Snapshot, CopyError> {
    take_into(source, Vec::new(), &mut || false)
}

/// Copies a ring into a buffer that is used again; `rest` runs between chunks and says whether it rested.
///
/// # Errors
/// As [`take`].
pub fn take_into(
    source: &impl Source,
    octets: Vec<u8>,
    rest: &mut dyn FnMut() -> bool,
) -> Result<Snapshot, CopyError> {
    copy::<Sound>(source, octets, rest)
}

/// [`take_into`] by any protocol.
///
/// # Errors
/// As [`take`].
pub fn copy<P: Protocol>(
    source: &impl Source,
    mut octets: Vec<u8>,
    rest: &mut dyn FnMut() -> bool,
) -> Result<Snapshot, CopyError> {
    let before = bracket::open::<P>(source)?;
    if source.word(0)?.to_le_bytes() != MAGIC {
        return Err(Refusal::Magic.into());
    }
    let capacity = source.word(word(CAPACITY))?;
    if !capacity.is_power_of_two() || capacity > MAX_CAPACITY {
        return Err(Refusal::Geometry.into());
    }
    // Checked before memory is taken: the capacity is whatever somebody wrote.
    if file_bytes(capacity) > source.words()? * 8 {
        return Err(Refusal::Size.into());
    }
    octets.resize(file_bytes(capacity) as usize, 0);
    let (head, body) = octets.split_at_mut(HEADER_BYTES);
    source.copy(0, head)?;
    let (mut yields, mut body_crc) = (0, 0);
    let mut slots = Slots { before, capacity, committed: 0 };
    for (index, chunk) in body.chunks_mut(CHUNK).enumerate() {
        source.copy((HEADER_BYTES + index * CHUNK) / 8, chunk)?;
        slots.check(index * (CHUNK / RECORD_BYTES), chunk);
        // While the chunk is still in the cache: a pass of its own over all of it costs more than twice as much.
        body_crc = crc::append(body_crc, chunk);
        yields += u32::from(rest());
    }
    let after = bracket::close::<P>(source, &before)?;
    let committed = slots.inside(&octets, bracket::window(&before, &after, capacity).start);
    Ok(Snapshot { octets, before, after, capacity, committed, body_crc, yields })
}

/// Checks commit words while their chunk is still in the cache.
struct Slots {
    before: Before,
    capacity: u64,
    committed: u64,
}

impl Slots {
    /// The youngest published ordinal of a slot; `None` while there is none.
    fn ordinal(&self, slot: u64) -> Option<u64> {
        let visible = self.before.visible;
        let inside = visible & (self.capacity - 1);
        let lap = visible - inside;
        if slot < inside { Some(lap + slot) } else { (lap + slot).checked_sub(self.capacity) }
    }

    /// The slots of a chunk.
    fn check(&mut self, first: usize, chunk: &[u8]) {
        let (records, _) = chunk.as_chunks::<RECORD_BYTES>();
        for (slot, record) in (first as u64..).zip(records) {
            self.committed += u64::from(self.is_committed(slot, record));
        }
    }

    #[inline]
    fn is_committed(&self, slot: u64, record: &[u8; RECORD_BYTES]) -> bool {
        let expected = self.ordinal(slot).map(|ordinal| commit(self.before.generation, ordinal));
        expected == Some(u64_at(record, PAYLOAD_BYTES))
    }

    /// The count without the oldest slots, which the writer may have written again since.
    fn inside(&self, octets: &[u8], from: u64) -> u64 {
        let oldest = self.before.visible.saturating_sub(self.capacity);
        let given_up = (oldest..from.min(self.before.visible)).filter(|ordinal| {
            let at = slot(*ordinal, self.capacity) * 8;
            let record = octets.get(at..).and_then(|rest| rest.first_chunk());
            record.is_some_and(|record| self.is_committed(ordinal & (self.capacity - 1), record))
        });
        self.committed - given_up.count() as u64
    }
}

impl Snapshot {
    /// The ordinals that are whole in the copy.
    pub fn window(&self) -> Range<u64> {
        bracket::window(&self.before, &self.after, self.capacity)
    }

    /// What was read before and after.
    pub fn facts(&self) -> (Before, After) {
        (self.before, self.after)
    }

    /// The writer went on during the copy: only sealed, or judged by [`Snapshot::window`], it says what is certain.
    pub fn moved(&self) -> bool {
        let head = |octet| u64_at(&self.octets, octet);
        (head(CLAIMED), head(VISIBLE)) != (self.after.claimed, self.after.visible)
            || self.before.visible != self.after.visible
    }

    /// The octets without a stamp: an image to be judged by its commit words and checksums alone.
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// Slots of the window whose record was not there: pending, stale, foreign or never written.
    pub fn uncommitted(&self) -> u64 {
        let window = self.window();
        window.end.saturating_sub(window.start).saturating_sub(self.committed)
    }

    /// Published records that the writer overtook during the copy: not returned.
    pub fn overtaken(&self) -> u64 {
        let oldest = self.before.visible.saturating_sub(self.capacity);
        self.window().start.min(self.before.visible).saturating_sub(oldest)
    }

    /// Gives the buffer back.
    pub fn into_octets(self) -> Vec<u8> {
        self.octets
    }

    /// Writes the stamp: an image that can be judged anywhere.
    pub fn seal(mut self, times: &Times, id: u64) -> Vec<u8> {
        let words = [
            u64::from_le_bytes(STAMP_MAGIC),
            self.before.generation,
            self.after.generation,
            self.before.visible,
            self.after.visible,
            self.after.claimed,
            times.monotonic_start_ns,
            times.monotonic_end_ns,
            times.wall_start_ns,
            id,
            CHUNK as u64 | u64::from(self.yields) << 32,
        ];
        for (index, value) in words.iter().enumerate() {
            put(&mut self.octets, STAMP + 8 * index, &value.to_le_bytes());
        }
        put(&mut self.octets, STAMP_BODY_CRC, &self.body_crc.to_le_bytes());
        let stamp = crc::append(0, self.octets.get(STAMP..STAMP_CRC).unwrap_or_default());
        put(&mut self.octets, STAMP_CRC, &stamp.to_le_bytes());
        self.octets
    }
}

fn put(octets: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = octets.get_mut(at..at + value.len()) {
        place.copy_from_slice(value);
    }
}
