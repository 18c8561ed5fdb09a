//! Seeded choices.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

pub(crate) struct Dice(ChaCha8Rng);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(ChaCha8Rng::seed_from_u64(seed))
    }

    pub(crate) fn u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n.max(1) as u64) as usize
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn u8(&mut self) -> u8 {
        self.0.next_u32() as u8
    }

    pub(crate) fn u16(&mut self) -> u16 {
        match self.below(6) {
            0 => [0, 1, 2, 0x7fff, 0xffff][self.below(5)],
            1 => self.0.next_u32() as u16,
            _ => self.below(40) as u16,
        }
    }

    pub(crate) fn u32(&mut self) -> u32 {
        match self.below(6) {
            0 => [0, 1, 1440, 0x7fff_ffff, 0x8000_0000, u32::MAX - 1, u32::MAX][self.below(7)],
            1 => self.0.next_u32(),
            2 => 1 << self.below(32),
            _ => self.below(10_000) as u32,
        }
    }

    pub(crate) fn octets(&mut self, n: usize) -> Vec<u8> {
        let mut octets = vec![0; n];
        self.0.fill_bytes(&mut octets);
        octets
    }
}

impl Dice {
    pub(crate) fn scramble(&mut self, vector: &[u8]) -> Vec<u8> {
        if self.one_in(10) {
            let n = self.below(200);
            return self.octets(n);
        }
        let mut payload = vector.to_vec();
        for _ in 0..self.below(4) {
            let at = if self.one_in(2) { self.below(payload.len()) } else { self.below(130) };
            if let Some(octet) = payload.get_mut(at) {
                *octet = self.u8();
            }
        }
        if self.one_in(8) {
            payload.truncate(self.below(payload.len() + 1));
        }
        payload
    }
}
