//! ChaCha with 8 rounds as a stream of words, and the bounded draws and shuffles made of it.
//!
//! 256-bit key, 64-bit block counter from 0 (words 12 and 13), 64-bit stream (words 14 and 15): the layout of
//! `rand_chacha::ChaCha8Rng`, which the tests compare it with.

use sha2::{Digest, Sha256};

/// First four words of the state, `expand 32-byte k`.
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];
/// Columns, then diagonals.
const QUARTERS: [[usize; 4]; 8] = [
    [0, 4, 8, 12],
    [1, 5, 9, 13],
    [2, 6, 10, 14],
    [3, 7, 11, 15],
    [0, 5, 10, 15],
    [1, 6, 11, 12],
    [2, 7, 8, 13],
    [3, 4, 9, 14],
];

/// The key of a seed: SHA-256 of `observer-order-1`, a zero octet and the seed, little-endian.
pub fn key(seed: u64) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"observer-order-1\0");
    hash.update(seed.to_le_bytes());
    hash.finalize().into()
}

/// Words of one stream of a key.
#[derive(Clone, Debug)]
pub struct Keystream {
    key: [u32; 8],
    stream: u64,
    counter: u64,
    block: [u32; 16],
    /// Words of the block that are used up.
    used: usize,
    drawn: u64,
}

impl Keystream {
    /// The stream of this number, from its beginning.
    pub fn new(key: &[u8; 32], stream: u64) -> Self {
        let mut words = [0; 8];
        for (word, octets) in words.iter_mut().zip(key.chunks_exact(4)) {
            *word = u32::from_le_bytes([octets[0], octets[1], octets[2], octets[3]]);
        }
        Keystream { key: words, stream, counter: 0, block: [0; 16], used: 16, drawn: 0 }
    }

    /// The next word.
    pub fn word(&mut self) -> u32 {
        if self.used == self.block.len() {
            self.block = self.make();
            self.counter = self.counter.wrapping_add(1);
            self.used = 0;
        }
        let word = self.block[self.used];
        self.used += 1;
        self.drawn += 1;
        word
    }

    /// Words drawn so far.
    pub fn drawn(&self) -> u64 {
        self.drawn
    }

    /// A number below `bound`, each equally likely; 0 without a draw for a bound of 0 or 1.
    pub fn below(&mut self, bound: u32) -> u32 {
        if bound < 2 {
            return 0;
        }
        let zone = (1u64 << 32) - (1u64 << 32) % u64::from(bound);
        loop {
            let word = self.word();
            if u64::from(word) < zone {
                return word % bound;
            }
        }
    }

    /// Shuffles a list of less than 2^32 entries, from its end.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            let bound = u32::try_from(at + 1).unwrap_or(u32::MAX);
            list.swap(at, self.below(bound) as usize);
        }
    }

    fn make(&self) -> [u32; 16] {
        let halves = |word: u64| [word as u32, (word >> 32) as u32];
        let mut start = [0; 16];
        start[..4].copy_from_slice(&CONSTANTS);
        start[4..12].copy_from_slice(&self.key);
        start[12..14].copy_from_slice(&halves(self.counter));
        start[14..].copy_from_slice(&halves(self.stream));
        let mut state = start;
        for _ in 0..4 {
            QUARTERS.iter().for_each(|at| quarter(&mut state, at));
        }
        std::array::from_fn(|at| state[at].wrapping_add(start[at]))
    }
}

/// A quarter round (RFC 8439, 2.1).
fn quarter(state: &mut [u32; 16], &[a, b, c, d]: &[usize; 4]) {
    for (left, right) in [(16, 12), (8, 7)] {
        state[a] = state[a].wrapping_add(state[b]);
        state[d] = (state[d] ^ state[a]).rotate_left(left);
        state[c] = state[c].wrapping_add(state[d]);
        state[b] = (state[b] ^ state[c]).rotate_left(right);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_core::{Rng, SeedableRng};

    #[test]
    fn the_words_are_those_of_rand_chacha() {
        for (seed, stream) in
            [(0, 0), (42, 0), (42, 7), (20_250_117, (1 << 32) + 3), (u64::MAX >> 1, u64::MAX)]
        {
            let mut theirs = ChaCha8Rng::from_seed(key(seed));
            theirs.set_stream(stream);
            let mut ours = Keystream::new(&key(seed), stream);
            for at in 0..1000 {
                assert_eq!(ours.word(), theirs.next_u32(), "seed {seed}, stream {stream}, word {at}");
            }
        }
    }

    #[test]
    fn the_block_counter_carries_into_its_upper_word() {
        let mut theirs = ChaCha8Rng::from_seed(key(1));
        theirs.set_word_pos(((1u128 << 32) - 1) * 16);
        let mut ours = Keystream::new(&key(1), 0);
        ours.counter = (1 << 32) - 1;
        for at in 0..64 {
            assert_eq!(ours.word(), theirs.next_u32(), "word {at}");
        }
    }

    #[test]
    fn bounds_of_nothing_draw_nothing() {
        let mut keystream = Keystream::new(&[0; 32], 0);
        assert_eq!((keystream.below(0), keystream.below(1), keystream.drawn()), (0, 0, 0));
        assert!(keystream.below(u32::MAX) < u32::MAX);
    }
}
