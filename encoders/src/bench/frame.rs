//! The frame every arm gets: seeded octets at an address that is a multiple of 64.

use super::order::Choices;

/// Octets of a cache line; buffers begin at a multiple of it.
pub const ALIGNMENT: usize = 64;

/// Octets at an address that is a multiple of [`ALIGNMENT`].
#[derive(Debug)]
pub struct Aligned {
    room: Vec<u8>,
    start: usize,
    length: usize,
}

impl Aligned {
    /// So many zeros.
    pub fn zeros(length: usize) -> Aligned {
        let room = vec![0; length + ALIGNMENT];
        // Without a usable offset the buffer merely begins where the allocation does.
        let start = room.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Aligned { room, start, length }
    }

    /// Random octets of a seed; another number is another frame of the same seed.
    pub fn seeded(length: usize, seed: u64, number: u8) -> Aligned {
        let mut frame = Aligned::zeros(length);
        Choices::new(seed, &format!("bench frame {number}")).fill(frame.octets_mut());
        frame
    }

    /// The octets.
    pub fn octets(&self) -> &[u8] {
        &self.room[self.start..self.start + self.length]
    }

    /// The octets, to be written.
    pub fn octets_mut(&mut self) -> &mut [u8] {
        &mut self.room[self.start..self.start + self.length]
    }
}

/// Octets of a memory page, within which loads and stores of the same offset get in each other's way.
const PAGE: usize = 4096;
/// Cache lines from one place to the next: odd, so that all of a page come in turn.
const STEP: usize = 27;

/// Frames that lie at another cache line of their page in each block, so that no row depends on how its own memory
/// happens to lie beside them.
#[derive(Debug)]
pub struct Places<'a> {
    frames: [&'a [u8]; 2],
    room: Aligned,
    offset: usize,
}

impl<'a> Places<'a> {
    /// Both frames, of one length, in their first place.
    pub fn new(frames: [&'a [u8]; 2]) -> Places<'a> {
        let longest = frames[0].len().max(frames[1].len());
        let room = Aligned::zeros(2 * (longest.next_multiple_of(ALIGNMENT) + PAGE));
        let mut places = Places { frames, room, offset: 0 };
        places.put();
        places
    }

    /// Puts the frames into the place of this block.
    pub fn turn(&mut self, block: u32) {
        let offset = block as usize % (PAGE / ALIGNMENT) * STEP % (PAGE / ALIGNMENT) * ALIGNMENT;
        if offset != self.offset {
            self.offset = offset;
            self.put();
        }
    }

    /// Both frames where they lie.
    pub fn frames(&self) -> [&[u8]; 2] {
        let at = |which: usize| {
            let start = self.start(which);
            &self.room.octets()[start..start + self.frames[which].len()]
        };
        [at(0), at(1)]
    }

    /// The second frame begins where the room of the first ends.
    fn start(&self, which: usize) -> usize {
        self.offset + which * (self.room.length / 2)
    }

    fn put(&mut self) {
        for which in 0..2 {
            let (start, frame) = (self.start(which), self.frames[which]);
            self.room.octets_mut()[start..start + frame.len()].copy_from_slice(frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_begins_at_a_cache_line_and_has_its_length() {
        for length in [0, 1, 63, 64, 65, 8640] {
            let buffer = Aligned::zeros(length);
            assert_eq!(buffer.octets().len(), length);
            assert_eq!(buffer.octets().as_ptr() as usize % ALIGNMENT, 0);
        }
    }

    #[test]
    fn a_seed_and_a_number_decide_the_frame() {
        let octets = |seed, number| Aligned::seeded(100, seed, number).octets().to_vec();
        assert_eq!(octets(1, 0), octets(1, 0));
        assert_ne!(octets(1, 0), octets(1, 1));
        assert_ne!(octets(1, 0), octets(2, 0));
        assert_eq!(Aligned::seeded(50, 1, 0).octets(), &octets(1, 0)[..50]);
    }

    #[test]
    fn frames_come_to_lie_at_every_cache_line_of_a_page() {
        let frames = [Aligned::seeded(700, 1, 0), Aligned::seeded(700, 1, 1)];
        let frames = [frames[0].octets(), frames[1].octets()];
        let mut places = Places::new(frames);
        let base = places.frames()[0].as_ptr() as usize;
        let mut seen = Vec::new();
        for block in 0..64 {
            places.turn(block);
            assert_eq!(places.frames(), frames, "{block}");
            seen.push(places.frames()[0].as_ptr() as usize - base);
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..64).map(|line| line * ALIGNMENT).collect::<Vec<_>>());
        places.turn(64);
        assert_eq!(places.frames()[0].as_ptr() as usize, base);
    }
}
