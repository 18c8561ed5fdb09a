//! Whether the chunks of a frame tile it: no hole, no overlap, one count, the usual end. Judged by what the stream
//! usually does, as partial updates are legal; never judges a frame of which a number is missing, which is a loss.

use super::observation::Observation;
use super::sequence::Step;

/// Frames that their chunks tile from which on one that they do not is told.
pub(super) const TILED_LEAST: u64 = 8;
/// Frames that their chunks tile for each one that they do not, from which on it is told.
pub(super) const TILED_TO_ONE: u64 = 4;
/// Frames of another end in a row that make it the usual one.
const ENDS_ANEW: u32 = 3;
/// Frames judged that wait until the habit of the stream is known.
const HELD_MAX: usize = 16;
/// Separate runs of octets kept of one frame; one with more is not judged.
const PARTS_MAX: usize = 64;

/// What is wrong with a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flaw {
    /// Raw number of the frame.
    pub frame: i64,
    /// Record and stamp of the datagram that shows it, or of the frame's first one.
    pub place: (u64, i64),
    /// Chunks by index that never came.
    pub missing: u32,
    /// First octet of the first hole, and the octets of all holes before the usual end.
    pub hole: (u32, u32),
    /// Octets that several chunks carry.
    pub twice: u32,
    /// Usual end, and end of this frame; equal where nothing is told.
    pub ends: (u32, u32),
    /// The data past the usual end does not go on from the rest.
    pub apart: bool,
    /// Two counts of chunks that datagrams of the frame announce; equal where nothing is told.
    pub counts: (u32, u32),
}

impl Flaw {
    /// Something of the frame is in none of its chunks.
    pub(crate) fn has_hole(&self) -> bool {
        self.missing > 0 || self.hole.1 > 0
    }

    fn is_none(&self) -> bool {
        !self.has_hole() && self.twice == 0 && self.counts.0 == self.counts.1 && self.ends.0 == self.ends.1
    }
}

/// What came of one frame.
#[derive(Clone, Debug, Default)]
struct Tile {
    open: bool,
    frame: i64,
    raw: u32,
    place: (u64, i64),
    /// Not judged at all: something of it was lost, or came from before the capture.
    excused: bool,
    /// Offsets are not judged: a datagram with a length of its own is malformed.
    loose: bool,
    count: u32,
    other: u32,
    /// Where the chunk stands that does not go on from the one before.
    odd: Option<(u64, i64)>,
    seen: u128,
    chunks: u32,
    parts: Vec<(u32, u32)>,
    twice: u32,
}

impl Tile {
    fn begin(&mut self, o: &Observation, frame: i64) {
        self.parts.clear();
        let parts = std::mem::take(&mut self.parts);
        let place = (o.packet, o.stamp);
        *self = Tile { open: true, frame, raw: o.raw, place, parts, ..Tile::default() };
    }

    #[inline]
    fn add(&mut self, o: &Observation, offsets: bool) {
        if o.count > 0 {
            self.add_index(o);
        } else {
            self.chunks += 1;
        }
        self.loose |= !o.sound;
        if !offsets || o.length == 0 {
            return;
        }
        let end = o.offset.saturating_add(o.length);
        match self.parts.last_mut() {
            Some(last) if last.1 == o.offset => last.1 = end,
            None => self.parts.push((o.offset, end)),
            Some(_) => self.add_part(o, end),
        }
    }

    fn add_index(&mut self, o: &Observation) {
        let (count, index) = (u32::from(o.count), u32::from(o.index));
        if self.count == 0 {
            self.count = count;
        } else if count != self.count && self.other == 0 {
            self.other = count;
            self.odd.get_or_insert((o.packet, o.stamp));
        }
        let bit = 1u128.checked_shl(index).unwrap_or(0);
        let came = self.seen & bit != 0;
        self.seen |= bit;
        self.chunks += u32::from(index < count && !came);
    }

    /// Takes octets that do not go on from the last ones into the sorted runs.
    #[cold]
    fn add_part(&mut self, o: &Observation, end: u32) {
        let (from, to) = (o.offset, end);
        let (mut start, mut stop, mut twice) = (from, to, 0u32);
        self.parts.retain(|(a, b)| {
            if *b < from || *a > to {
                return true;
            }
            twice = twice.saturating_add(to.min(*b).saturating_sub(from.max(*a)));
            (start, stop) = (start.min(*a), stop.max(*b));
            false
        });
        let at = self.parts.partition_point(|(a, _)| *a < start);
        self.parts.insert(at, (start, stop));
        self.twice = self.twice.saturating_add(twice);
        self.odd.get_or_insert((o.packet, o.stamp));
        self.excused |= self.parts.len() > PARTS_MAX;
    }

    /// What is wrong with it, where frames usually have `usual` chunks and end at octet `usual_end`, 0 if unknown.
    fn flaw(&self, usual: u32, usual_end: u32) -> Flaw {
        let want = if self.other == 0 || self.count == usual { self.count } else { usual.min(self.other) };
        let want = if want == 0 { self.count.min(self.other) } else { want };
        let mut flaw = Flaw {
            frame: self.frame,
            place: self.odd.unwrap_or(self.place),
            missing: want.saturating_sub(self.chunks),
            ..Flaw::default()
        };
        if self.other > 0 {
            flaw.counts = (self.count, self.other);
        }
        if !self.loose {
            flaw.twice = self.twice;
            self.holes(&mut flaw, usual_end);
        }
        flaw
    }

    fn holes(&self, flaw: &mut Flaw, usual_end: u32) {
        let frame_end = if usual_end == 0 { u32::MAX } else { usual_end };
        for pair in self.parts.windows(2) {
            let (from, to) = (pair[0].1, pair[1].0);
            let hole = to.min(frame_end).saturating_sub(from);
            if flaw.hole.1 == 0 && hole > 0 {
                flaw.hole.0 = from;
            }
            flaw.hole.1 = flaw.hole.1.saturating_add(hole);
            if to > frame_end {
                (flaw.ends, flaw.apart) = ((usual_end, self.end()), true);
            }
        }
    }

    fn end(&self) -> u32 {
        self.parts.last().map_or(0, |(_, end)| *end)
    }
}

/// The frames of one stream towards one destination.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tiles {
    offsets: bool,
    now: Tile,
    before: Tile,
    tiled: u64,
    flawed: u64,
    held: Vec<Flaw>,
    /// Announced count and number of chunks, and end, of the usual frame.
    usual: (u32, u32, u32),
    /// Frames with the usual end, and others.
    ends: (u64, u64),
    /// End of the last frames that had another one, and how many in a row.
    anew: (u32, u32),
    /// A frame with the usual chunks that ended past the usual end: told when the next one does not.
    past: Option<Flaw>,
}

impl Tiles {
    /// Nothing seen; `offsets` when datagrams say where in the frame their octets belong.
    pub(crate) fn new(offsets: bool) -> Tiles {
        Tiles { offsets, ..Tiles::default() }
    }

    /// Takes a datagram that came at `position` of its frame, the last one being of another frame or of the same; gives
    /// what is wrong with the last but one when another begins.
    #[inline]
    pub(crate) fn take(
        &mut self,
        o: &Observation,
        step: Step,
        (last, frame): (i64, i64),
        position: i64,
    ) -> Option<Flaw> {
        let found = if self.now.open && self.now.frame == frame { None } else { self.turn(o, frame) };
        self.now.add(o, self.offsets);
        if step != Step::InOrder {
            self.disturbed(o, step, (last, frame), position);
        }
        found
    }

    /// Something is missing before this datagram, or the sender began anew with it.
    fn disturbed(&mut self, o: &Observation, step: Step, (last, frame): (i64, i64), position: i64) {
        if let Step::Gap(_) = step {
            self.now.excused = true;
            self.before.excused |= last != frame;
        } else if step == Step::Restart && (o.new_session || o.new_port || position == 0) {
            // The sender itself cut the frame before.
            self.before.excused = true;
            self.now.excused |= position > 0;
        } else if last < 0 && position > 0 {
            self.now.excused = true;
        }
    }

    fn turn(&mut self, o: &Observation, frame: i64) -> Option<Flaw> {
        let found = self.judge_before();
        std::mem::swap(&mut self.now, &mut self.before);
        self.now.begin(o, frame);
        found
    }

    /// A datagram of the frame `raw` came after later ones; without numbers of frames it may be of any.
    pub(crate) fn late(&mut self, o: &Observation, by_frame: bool) {
        let offsets = self.offsets;
        for tile in [&mut self.now, &mut self.before] {
            if !by_frame {
                tile.excused = true;
            } else if tile.open && tile.raw == o.raw {
                tile.add(o, offsets);
                return;
            }
        }
    }

    /// Frames that seemed to lie before the newest one do not.
    pub(crate) fn shift(&mut self, frames: i64) {
        self.now.frame -= frames;
    }

    /// What waits for the habit of the stream, once that is known.
    pub(crate) fn ready(&mut self) -> Vec<Flaw> {
        if self.held.is_empty() || self.tiled < TILED_LEAST {
            return Vec::new();
        }
        let held = std::mem::take(&mut self.held);
        if self.tiled >= self.flawed * TILED_TO_ONE { held } else { Vec::new() }
    }

    /// The run ends; the last frame is judged where it is known to be whole.
    pub(crate) fn finish(&mut self, whole: bool) -> Vec<Flaw> {
        let mut found: Vec<Flaw> = self.judge_before().into_iter().collect();
        std::mem::swap(&mut self.now, &mut self.before);
        self.before.excused |= !whole;
        found.extend(self.judge_before());
        if self.tiled > self.flawed {
            found.extend(std::mem::take(&mut self.held));
        }
        found.sort_by_key(|f| f.frame);
        found
    }

    fn judge_before(&mut self) -> Option<Flaw> {
        let tile = &mut self.before;
        if !std::mem::take(&mut tile.open) || tile.excused {
            return None;
        }
        let flaw = tile.flaw(self.usual.0, self.usual.2);
        if flaw.is_none() {
            self.tiled += 1;
            let tile = &self.before;
            let shape = (tile.count, tile.chunks, tile.end());
            return if tile.loose { None } else { self.end_of(shape, flaw) };
        }
        let habit = self.tiled >= TILED_LEAST && self.tiled >= self.flawed * TILED_TO_ONE;
        self.flawed += 1;
        if self.tiled < TILED_LEAST && self.held.len() < HELD_MAX {
            self.held.push(flaw);
        }
        habit.then_some(flaw)
    }

    /// Learns where frames end; a single one that ends later, with no more chunks than usual, is told.
    fn end_of(&mut self, (count, chunks, end): (u32, u32, u32), flaw: Flaw) -> Option<Flaw> {
        if self.ends.0 == 0 || end == self.usual.2 && chunks == self.usual.1 {
            self.usual = (count, chunks, end);
            self.ends.0 += 1;
            self.anew.1 = 0;
            return self.past.take().filter(|_| self.ends.0 >= self.ends.1 * TILED_TO_ONE);
        }
        self.ends.1 += 1;
        self.anew = if self.anew.0 == end { (end, self.anew.1 + 1) } else { (end, 1) };
        let past = end > self.usual.2 && chunks == self.usual.1 && self.ends.0 >= TILED_LEAST;
        self.past = (past && self.anew.1 == 1).then_some(Flaw { ends: (self.usual.2, end), ..flaw });
        if self.anew.1 >= ENDS_ANEW {
            (self.usual, self.ends) = ((count, chunks, end), (1, 0));
        }
        None
    }
}
