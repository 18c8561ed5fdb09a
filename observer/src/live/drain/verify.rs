//! What a downloaded ring is worth: stamp, checksums, generations and size, then its frames. Runs on the control thread,
//! after the download and off the receive path.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use wireproof_recorder::layout::{MAGIC, STAMP, u64_at};
use wireproof_recorder::{Policy, Refusal, Ring, parse};

/// Where the stamp holds the number of the copy.
const SNAPSHOT: usize = STAMP + 72;

/// The verdict on a downloaded ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RingCheck {
    /// It can be believed.
    Ok(RingFacts),
    /// Nothing of it can be believed; the file is kept as evidence.
    Refused(Refusal),
}

/// What a ring that can be believed says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RingFacts {
    /// Generation of its writer.
    pub generation: u64,
    /// Number of the copy; `None` when it was not sealed with a stamp.
    pub snapshot: Option<u64>,
    /// Whole frames.
    pub frames: u64,
    /// Id of the first.
    pub first_frame: Option<u32>,
    /// Id of the last.
    pub last_frame: Option<u32>,
    /// Ids between them that are not there.
    pub missing: u64,
    /// Slots that were dropped.
    pub dropped: u64,
    /// Frames that were not whole.
    pub partial: u64,
}

/// Checks the file if it is a ring; `told` when the server says so.
pub(super) fn check(path: &Path, told: bool) -> io::Result<Option<RingCheck>> {
    let mut magic = [0; MAGIC.len()];
    let short = File::open(path)?.read_exact(&mut magic).is_err();
    if !told && (short || magic != MAGIC) {
        return Ok(None);
    }
    let image = fs::read(path)?;
    Ok(Some(match parse(&image, Policy::Conservative) {
        Ok(ring) => RingCheck::Ok(facts(&ring, &image)),
        Err(why) => RingCheck::Refused(why),
    }))
}

fn facts(ring: &Ring, image: &[u8]) -> RingFacts {
    let (drops, partial) = (&ring.drops, &ring.partial);
    RingFacts {
        generation: ring.generation,
        snapshot: ring.stamped.then(|| u64_at(image, SNAPSHOT)),
        frames: ring.frames.len() as u64,
        first_frame: ring.frames.first().map(|frame| frame.id),
        last_frame: ring.frames.last().map(|frame| frame.id),
        missing: ring.gaps.iter().map(|gap| u64::from(gap.missing)).sum(),
        dropped: drops.pending + drops.stale + drops.foreign + drops.empty + drops.bad_kind,
        partial: partial.count + partial.crc + partial.unfinished,
    }
}
