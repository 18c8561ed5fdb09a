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
}
