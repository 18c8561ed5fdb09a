//! Frames made of chunks (DDP, BigPacket): where a datagram stands in its frame, from its offset or index.

use super::cadence::{Cadence, nearest};
use super::observation::Observation;
use super::sequence::Place;
use super::settle::{ENDS_LEAST, ENDS_TO_ONE};
use super::tiles::Tiles;
use crate::Marks;

/// Lost datagrams placed into frames one by one; beyond it only whole frames are counted.
const PLACED_MAX: u64 = 1024;

/// Frames in a row with a larger datagram that make its size the chunk size.
const LARGER_FRAMES: u32 = 3;

/// Frame state of one stream towards one destination.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chunks {
    /// Output index.
    pub output: usize,
    /// Raw number of the frame being put together, -1 before the first.
    pub frame: i64,
    /// Engine time of its first datagram.
    pub start: i64,
    /// Engine time of the last datagram.
    pub last: i64,
    /// Number on the wire of the last datagram.
    pub raw: u32,
    /// Position of the last datagram in its frame.
    pub position: i64,
    /// The last datagram ended its frame.
    pub ended: bool,
    /// Chunks in a frame, as last seen whole; 0 = unknown.
    pub chunks: i64,
    /// Whole frames of that size in a row.
    pub steady: u32,
    /// Position of the first datagram of the capture.
    pub first_position: i64,
    /// Datagrams of the frame being put together.
    pub present: i64,
    /// Losses of the stream when the frame began.
    pub lost_before: u64,
    /// Frames that ended with and without an end mark.
    pub with_end: u64,
    /// See `with_end`.
    pub without_end: u64,
    /// End marks that were followed by more of the same frame.
    pub early_end: u64,
    /// Datagrams that carried an end mark.
    pub ends: u64,
    /// Period of frame starts.
    pub cadence: Cadence,
    /// Octets of the largest datagram that is no exception: the chunk size.
    pub chunk: u32,
    /// Smallest offset seen.
    pub base: u32,
    /// What the chunks of a frame cover.
    pub tiles: Tiles,
    /// Offset of the last datagram, and where its octets end.
    reach: (u32, u32),
    /// Frames in a row with a datagram larger than the chunk size, and whether this frame has one.
    larger: (u32, bool),
    /// Nearly every frame among the stream's first datagrams ends with its mark.
    marked: bool,
    whole_start: bool,
}

/// A datagram's place in frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seat {
    /// Position in the frame.
    pub position: i64,
    /// Begins another frame than the last datagram's.
    pub new_frame: bool,
}

impl Chunks {
    /// State for a stream whose first datagrams are known: chunk size and base offset are theirs. `offsets` when they
    /// say at which octet of the frame they belong.
    pub(crate) fn new(output: usize, seen: &[Observation], offsets: bool) -> Chunks {
        let data = || seen.iter().filter(|o| o.marks.has(Marks::DATA));
        Chunks {
            output,
            frame: -1,
            chunk: usual_length(seen),
            base: data().map(|o| o.offset).min().unwrap_or(0),
            chunks: usual_chunks(seen),
            tiles: Tiles::new(offsets),
            marked: usually_marked(seen),
            ..Chunks::default()
        }
    }

    /// Position of a datagram in its frame, from index or offset.
    pub(crate) fn position_of(&self, o: &Observation) -> i64 {
        let open = self.frame >= 0 && !self.ended;
        if o.count > 0 && (o.index < o.count || !open) {
            return i64::from(o.index.min(o.count - 1));
        }
        let chunk = self.chunk.max(1);
        let (from, end) = self.reach;
        if !open || o.count == 0 && o.offset <= from {
            return i64::from(o.offset.saturating_sub(self.base).div_ceil(chunk));
        }
        let gap = if o.count > 0 { 0 } else { i64::from(o.offset.saturating_sub(end)) };
        self.position + 1 + nearest(gap, i64::from(chunk))
    }

    /// A single larger datagram does not make the chunks of a stream larger.
    fn grow(&mut self, length: u32) {
        if self.chunks == 0 || self.chunk == 0 || self.larger.0 >= LARGER_FRAMES {
            self.chunk = length;
            self.larger = (0, false);
        } else {
            self.larger.1 = true;
        }
    }

    /// A datagram that goes back in a frame whose end mark is still to come, though it is no frame's first by place or
    /// time.
    fn strays(&mut self, o: &Observation) -> bool {
        let known = self.with_end >= ENDS_LEAST;
        let marked = if known { self.with_end >= self.without_end * ENDS_TO_ONE } else { self.marked };
        let inside = if o.count > 0 { o.index > 0 } else { o.offset > self.base };
        let period = self.cadence.steady();
        let paused = period.is_some_and(|p| (o.at - self.last) * 2 > p);
        let early = period.is_some_and(|p| (o.at - self.start) * 2 < p);
        marked && (inside || early) && !self.ended && !paused
    }

    /// Seat of the next datagram, before anything is known of losses; `numbered` when frames have numbers, `next` when
    /// datagrams have and this one's follows the last one's.
    pub(crate) fn seat(&mut self, o: &Observation, numbered: bool, next: bool) -> Seat {
        if o.length > self.chunk {
            self.grow(o.length);
        }
        let position = self.position_of(o);
        if self.frame < 0 || o.new_session || o.new_port {
            return Seat { position, new_frame: true };
        }
        if numbered {
            return Seat { position, new_frame: o.raw != self.raw };
        }
        let goes_on = position > self.position;
        if !goes_on && next && self.strays(o) {
            return Seat { position: self.position + 1, new_frame: false };
        }
        let paused = self.cadence.steady().is_none_or(|p| (o.at - self.last) * 2 > p);
        Seat { position, new_frame: !goes_on || (self.ended && paused) }
    }

    /// The seat is the next one of the same frame, so early that time cannot speak for another.
    pub(crate) fn is_next(&self, o: &Observation, seat: Seat, period: Option<i64>) -> bool {
        let early = period.is_none_or(|p| (o.at - self.start) * 2 < p);
        early && !seat.new_frame && seat.position == self.position + 1
    }

    /// The seat is the first one of the next frame, in time, after a frame that ended with its mark: time cannot speak for
    /// datagrams in between, and there is nothing to say about the frame before.
    pub(crate) fn begins_next(&self, o: &Observation, seat: Seat, period: Option<i64>) -> bool {
        let since = o.at - self.start;
        let due =
            |p: i64| nearest(since, p).saturating_mul(self.chunks.max(1)) + seat.position - self.position;
        let prompt = period.is_none_or(|p| since.saturating_mul(2) < p.saturating_mul(3) && due(p) <= 1);
        prompt && seat.new_frame && self.ended && self.frame >= 0
    }

    /// What the sequence lane has to know of the seat.
    pub(crate) fn place(&mut self, o: &Observation, seat: Seat, repeats: bool) -> Place {
        let chunks = if o.count > 0 { i64::from(o.count) } else { self.chunks.max(1) };
        let tail = if self.ended || self.frame < 0 { 0 } else { (chunks - 1 - self.position).max(0) };
        let period = self.cadence.steady();
        let since = o.at - self.start;
        let known = self.chunks > 0 && o.at >= self.last;
        let estimate = period.filter(|_| known).map(|p| {
            let frames = nearest(since, p);
            frames.saturating_mul(chunks).saturating_add(seat.position - self.position - 1)
        });
        let too_soon = self.ended && self.cadence.rough().is_some_and(|p| since.saturating_mul(2) < p);
        let steady = self.steady >= 3;
        Place {
            position: seat.position,
            chunks: if o.count > 0 || steady { chunks } else { 1 },
            tail: if seat.new_frame { tail } else { 0 },
            estimate,
            too_soon,
            new_frame: seat.new_frame,
            shared: false,
            repeats,
            catching_up: self.cadence.catches_up(),
        }
    }

    /// Walks from the last datagram over `lost` missing ones to `seat`: calls `each` with the frame and whether
    /// the frame's end is missing, for every missing one, and returns the frame the datagram belongs to.
    pub(crate) fn walk(&self, lost: u64, seat: Seat, chunks: i64, mut each: impl FnMut(i64, bool)) -> i64 {
        if self.frame < 0 {
            return 0;
        }
        let chunks = chunks.max(1);
        let (mut frame, mut position) = (self.frame, self.position);
        let mut ended = self.ended || position + 1 >= chunks;
        for _ in 0..lost.min(PLACED_MAX) {
            if ended {
                frame += 1;
                position = -1;
            }
            position += 1;
            ended = position + 1 >= chunks;
            each(frame, ended);
        }
        let beyond = i64::try_from(lost.saturating_sub(PLACED_MAX)).unwrap_or(0) / chunks;
        frame += beyond;
        let begins = if lost == 0 { seat.new_frame } else { ended || seat.position <= position };
        if begins { frame + 1 } else { frame }
    }

    /// Takes the datagram into `frame`; what its start says of the cadence, when it says anything
    /// (see [`Cadence::add`]).
    pub(crate) fn accept(&mut self, o: &Observation, seat: Seat, frame: i64, lost: u64) -> Option<bool> {
        let mut early = None;
        if frame != self.frame {
            early = self.turn(o, seat, frame, lost);
        } else if self.ended {
            self.early_end += 1;
        }
        self.present += 1;
        self.position = seat.position;
        self.raw = o.raw;
        self.last = o.at;
        self.reach = (o.offset, o.offset.saturating_add(o.length));
        // One datagram with another count than the rest of its frame does not make the frame longer.
        if o.count > 0 && (self.present == 1 || self.chunks == 0) {
            self.chunks = i64::from(o.count);
        }
        let behind = i64::from(o.index) + 1;
        let count_end = o.count > 0 && (behind == i64::from(o.count) || behind == self.chunks);
        self.ended = o.marks.has(Marks::PUSH) || count_end;
        self.ends += u64::from(self.ended);
        early
    }

    fn turn(&mut self, o: &Observation, seat: Seat, frame: i64, lost: u64) -> Option<bool> {
        let mut early = None;
        if self.frame < 0 {
            self.first_position = seat.position;
        } else {
            self.learn(lost);
            if self.ended {
                self.with_end += 1
            } else {
                self.without_end += 1
            }
            if self.whole_start && seat.position == 0 && frame == self.frame + 1 {
                early = Some(self.cadence.add(o.at - self.start));
            }
        }
        self.larger = if self.larger.1 { (self.larger.0 + 1, false) } else { (0, false) };
        self.frame = frame;
        self.start = o.at;
        self.whole_start = seat.position == 0;
        self.present = 0;
        self.lost_before = lost;
        early
    }

    /// A frame from position 0 without losses tells the usual number of chunks.
    fn learn(&mut self, lost: u64) {
        let whole = self.whole_start && self.present == self.position + 1;
        let clean = lost == self.lost_before;
        if !whole || !clean || (!self.ended && self.with_end > 0) {
            return;
        }
        if self.present == self.chunks {
            self.steady = self.steady.saturating_add(1);
        } else if self.steady <= 3 {
            self.chunks = self.present;
            self.steady = 0;
        } else {
            self.steady = 3;
        }
    }

    /// Frames that were due in the silence before `o`; `None` without a silence or a steady `period`.
    pub(crate) fn due(&self, o: &Observation, period: Option<i64>) -> Option<i64> {
        period.map(|p| super::cadence::nearest(o.at - self.start, p) - 1).filter(|due| *due > 0)
    }

    /// An end mark without data (a DDP push on its own).
    pub(crate) fn end(&mut self) {
        self.ended = true;
        self.ends += 1;
    }
}

/// The largest length that came at least twice among a stream's first datagrams, or the largest one.
fn usual_length(seen: &[Observation]) -> u32 {
    let mut lengths: Vec<u32> = seen.iter().filter(|o| o.marks.has(Marks::DATA)).map(|o| o.length).collect();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    let twice = lengths.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
    twice.or(lengths.first().copied()).unwrap_or(0)
}

/// Of the frames among a stream's first datagrams at least three, and three of four, end with their mark.
fn usually_marked(seen: &[Observation]) -> bool {
    let ends = seen.windows(2).filter(|pair| pair[1].offset <= pair[0].offset);
    let (with, all) =
        ends.fold((0, 0), |(with, all), pair| (with + u32::from(pair[0].marks.has(Marks::PUSH)), all + 1));
    with >= 3 && with * 4 >= all * 3
}

/// Chunks in most frames of a stream's first datagrams, 0 when no frame is whole.
fn usual_chunks(seen: &[Observation]) -> i64 {
    let mut counts: Vec<(i64, u32)> = Vec::new();
    let mut size = 0;
    let mut last: Option<u32> = None;
    for o in seen.iter().filter(|o| o.marks.has(Marks::DATA)) {
        if last.is_some_and(|l| o.offset <= l) {
            count(&mut counts, size);
            size = 0;
        }
        size += 1;
        last = Some(o.offset);
    }
    counts.iter().max_by_key(|(size, n)| (*n, *size)).map_or(0, |(size, _)| *size)
}

fn count(counts: &mut Vec<(i64, u32)>, size: i64) {
    match counts.iter_mut().find(|(s, _)| *s == size) {
        Some((_, n)) => *n += 1,
        None => counts.push((size, 1)),
    }
}
