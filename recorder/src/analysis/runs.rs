//! Frames that never stop: sources that ask for one frame after the other; and a share of `other` that surges, which is
//! what broken records of places look like. Counts only, holds no ring.

use super::causes::Cause;
use serde::Serialize;
use std::collections::HashMap;

/// Frames in a row from which on a source keeps the engine awake: a second at 60 frames a second.
pub const EVERY: u64 = 60;
/// Frames of a block whose share of `other` is compared with that of all blocks before.
pub const BLOCK: usize = 60;
/// Sources that are followed at once; more at a time are not told apart.
const MAX_SOURCES: usize = 4096;

/// The longest row of frames that one source asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Frames in the row.
    pub frames: u64,
    /// Id of the first.
    pub first: u32,
    /// Id of the last.
    pub last: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Run {
    /// Index behind its last frame.
    next: u64,
    now: Row,
    longest: Row,
}

/// Follows sources from frame to frame.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    runs: HashMap<(bool, u64), Run>,
    index: u64,
}

impl Runs {
    /// The next frame, and the sources that asked for it: whether it is an event, and its id.
    pub fn frame(&mut self, id: u32, sources: impl IntoIterator<Item = (bool, u64)>) {
        for source in sources {
            if self.runs.len() >= MAX_SOURCES && !self.runs.contains_key(&source) {
                continue;
            }
            let run = self.runs.entry(source).or_default();
            if run.next > self.index {
                continue;
            }
            if run.next < self.index || run.now.frames == 0 {
                run.now = Row { frames: 0, first: id, last: id };
            }
            run.now = Row { frames: run.now.frames + 1, last: id, ..run.now };
            run.next = self.index + 1;
            if run.now.frames > run.longest.frames {
                run.longest = run.now;
            }
        }
        self.index += 1;
    }

    /// Sources that asked for so many frames in a row, longest row first; whether it is an event, and its id.
    pub fn of(&self, frames: u64) -> Vec<(bool, u64, Row)> {
        let long = |(key, run): (&(bool, u64), &Run)| {
            (run.longest.frames >= frames).then_some((key.0, key.1, run.longest))
        };
        let mut list: Vec<_> = self.runs.iter().filter_map(long).collect();
        list.sort_by(|a, b| b.2.frames.cmp(&a.2.frames).then_with(|| (a.0, a.1).cmp(&(b.0, b.1))));
        list
    }
}

/// A block of frames with far more `other` than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Surge {
    /// Id of the first frame of the first such block.
    pub first: u32,
    /// Frames of that block.
    pub frames: u64,
    /// Those of them by `other`.
    pub other: u64,
    /// Frames before it.
    pub frames_before: u64,
    /// Those of them by `other`.
    pub other_before: u64,
}

/// The first block in which `other` makes half of the frames and more, and at least twice the share of all blocks before.
/// A paced engine, whose frames are by `other` from the start, has no surge.
pub fn surge(causes: &[(u32, Cause)]) -> Option<Surge> {
    let mut before = (0_u64, 0_u64);
    for block in causes.as_chunks::<BLOCK>().0 {
        let frames = block.len() as u64;
        let other = block.iter().filter(|(_, cause)| *cause == Cause::Other).count() as u64;
        let (frames_before, other_before) = before;
        let twice = other * frames_before >= 2 * other_before * frames;
        if frames_before > 0 && 2 * other >= frames && twice {
            return Some(Surge { first: block[0].0, frames, other, frames_before, other_before });
        }
        before = (frames_before + frames, other_before + other);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(shares: &[usize]) -> Vec<(u32, Cause)> {
        let cause = |other: bool| if other { Cause::Other } else { Cause::Refresh };
        let block = |share: usize| (0..BLOCK).map(move |n| cause(n < share));
        (0..).zip(shares.iter().flat_map(|share| block(*share))).collect()
    }

    #[test]
    fn a_surge_is_half_of_the_frames_and_twice_what_was() {
        let found = surge(&blocks(&[1, 0, 2, 30])).unwrap();
        assert_eq!((found.first, found.other, found.frames_before, found.other_before), (180, 30, 180, 3));
        assert_eq!(surge(&blocks(&[0, 29, 29, 29])), None, "less than half");
        assert_eq!(surge(&blocks(&[57, 56, 60, 57])), None, "a paced engine");
        assert_eq!(surge(&blocks(&[60])), None, "nothing to compare with");
        assert_eq!(surge(&blocks(&[16, 31])), None, "less than twice");
        assert_eq!(surge(&blocks(&[16, 32])).unwrap().first, 60);
        assert_eq!(surge(&blocks(&[0, 60])[..119]), None, "a block is not full");
    }

    #[test]
    fn a_row_ends_with_the_first_frame_that_the_source_did_not_ask_for() {
        let mut runs = Runs::default();
        for id in 0..10 {
            let mut sources = vec![(false, 4), (false, 4)];
            if id != 6 {
                sources.push((true, 4));
            }
            runs.frame(id, sources);
        }
        let all = runs.of(1);
        assert_eq!(all[0], (false, 4, Row { frames: 10, first: 0, last: 9 }));
        assert_eq!(all[1], (true, 4, Row { frames: 6, first: 0, last: 5 }));
        assert_eq!(runs.of(11), []);
    }

    #[test]
    fn more_sources_than_can_be_followed_cost_no_more_memory() {
        let mut runs = Runs::default();
        runs.frame(1, (0..2 * MAX_SOURCES as u64).map(|source| (false, source)));
        assert_eq!(runs.of(1).len(), MAX_SOURCES);
    }
}
