//! Seeded noise (SplitMix64) and the frame times it makes: the four percentiles of the field notes.
//!
//! It is no source of the order; that has its own keystream.

/// A stream of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 for 0.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// About normal, of mean 0 and standard deviation 1000.
    pub(crate) fn milli_normal(&mut self) -> i64 {
        let sum: i64 = (0..12).map(|_| self.below(1001) as i64).sum();
        sum - 6000
    }

    /// The time of a frame, ns: about 5.12 ms, six in a hundred up to 0.6 ms, two up to 3 ms more.
    pub(crate) fn frame_ns(&mut self) -> i64 {
        let body = 5_120_000 + self.milli_normal() * 120;
        match self.below(100) {
            0 | 1 => body + 600_000 + self.below(2_400_000) as i64,
            2..=7 => body + 250_000 + self.below(350_000) as i64,
            _ => body,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_times_have_about_the_percentiles_of_the_field() {
        let mut noise = Noise::new(1);
        let mut times: Vec<i64> = (0..20_000).map(|_| noise.frame_ns()).collect();
        times.sort_unstable();
        let percentiles = [50, 95, 99].map(|share| times[times.len() * share / 100] / 10_000);
        let expected = [513, 556, 693];
        let near = percentiles.iter().zip(expected).all(|(got, wanted)| (got - wanted).abs() < 30);
        assert!(near, "{percentiles:?} instead of {expected:?}, in 10 us");
    }
}
