//! Medians, quantiles and the interval of a median; no assumption on the shape of a distribution.

/// Fewest samples of which an interval of the median at 95 % can be made: the range of 5 covers 93.75 %.
pub const LEAST_SAMPLES: usize = 6;

/// The two ends of an interval, both included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// How many times as long one arm takes as another: the median over the blocks, each block its own pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Median of the ratios of the blocks.
    pub median: f64,
    /// Interval of that median at 95 % or a little more.
    pub interval: Interval,
}

impl Ratio {
    /// The ratio of pairs; `None` for fewer than [`LEAST_SAMPLES`] or a pair without a finite ratio.
    pub fn of(pairs: impl Iterator<Item = (f64, f64)>) -> Option<Ratio> {
        let ratios = sorted(pairs.map(|(a, b)| a / b));
        if ratios.iter().any(|ratio| !ratio.is_finite()) {
            return None;
        }
        Some(Ratio { median: median(&ratios)?, interval: median_interval(&ratios)? })
    }
}

/// How much longer one arm takes than another, ns: the median over the blocks, each block its own pair. Negative when
/// it is shorter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Median of the differences of the blocks.
    pub median: f64,
    /// Interval of that median at 95 % or a little more.
    pub interval: Interval,
}

impl Difference {
    /// The difference of pairs; `None` for fewer than [`LEAST_SAMPLES`] or a pair without a finite difference.
    pub fn of(pairs: impl Iterator<Item = (f64, f64)>) -> Option<Difference> {
        let differences = sorted(pairs.map(|(a, b)| a - b));
        if differences.iter().any(|difference| !difference.is_finite()) {
            return None;
        }
        Some(Difference { median: median(&differences)?, interval: median_interval(&differences)? })
    }
}

/// The samples in ascending order.
pub(super) fn sorted(samples: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = samples.collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The middle of ascending samples, the mean of both middles for an even number; `None` without samples.
pub fn median(sorted: &[f64]) -> Option<f64> {
    let upper = sorted.get(sorted.len() / 2)?;
    match sorted.len() % 2 {
        0 => sorted.get(sorted.len() / 2 - 1).map(|lower| f64::midpoint(*lower, *upper)),
        _ => Some(*upper),
    }
}

/// The smallest of ascending samples that at least `percent` % do not exceed (nearest rank); `None` without samples.
pub fn quantile(sorted: &[f64], percent: u8) -> Option<f64> {
    let rank = (sorted.len() * usize::from(percent)).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

/// The interval of the median at 95 % or more between two order statistics of ascending samples, from the binomial
/// distribution with 1/2 (ISO 16269-7:2001, clause 5; Conover, Practical Nonparametric Statistics, 3.2).
/// `None` for fewer than [`LEAST_SAMPLES`].
pub fn median_interval(sorted: &[f64]) -> Option<Interval> {
    let rank = rank(sorted.len())?;
    Some(Interval { low: *sorted.get(rank - 1)?, high: *sorted.get(sorted.len() - rank)? })
}

/// The largest rank `k` for which fewer than `k` of `n` fair coins show heads in at most 2.5 % of throws.
fn rank(n: usize) -> Option<usize> {
    // Logarithms, because 1/2 to the power of n leaves the range of a float beyond 1,074 samples.
    let mut log_chance = -(n as f64) * std::f64::consts::LN_2;
    let mut below = 0.0;
    let mut rank = 0;
    while rank < n {
        below += log_chance.exp();
        if below > 0.025 {
            break;
        }
        log_chance += ((n - rank) as f64 / (rank + 1) as f64).ln();
        rank += 1;
    }
    (rank > 0).then_some(rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn up_to(n: u32) -> Vec<f64> {
        (1..=n).map(f64::from).collect()
    }

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_both_middles() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(median(&[1.0, 2.0, 9.0]), Some(2.0));
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), Some(3.0));
    }

    #[test]
    fn a_quantile_is_the_nearest_rank() {
        assert_eq!(quantile(&[], 50), None);
        assert_eq!(quantile(&[3.0], 0), Some(3.0));
        let hundred = up_to(100);
        for (percent, value) in [(0, 1.0), (1, 1.0), (5, 5.0), (50, 50.0), (95, 95.0), (100, 100.0)] {
            assert_eq!(quantile(&hundred, percent), Some(value), "{percent}");
        }
        assert_eq!(quantile(&up_to(10), 95), Some(10.0));
    }

    /// Ranks of the sign-test interval at 95 % as the published tables have them.
    #[test]
    fn the_ranks_are_those_of_the_tables() {
        for n in 0..LEAST_SAMPLES {
            assert_eq!(rank(n), None, "{n}");
        }
        let table = [(6, 1), (8, 1), (9, 2), (10, 2), (12, 3), (15, 4), (20, 6), (25, 8), (30, 10), (50, 18)];
        for (n, k) in table.into_iter().chain([(100, 40)]) {
            assert_eq!(rank(n), Some(k), "{n}");
        }
    }

    #[test]
    fn many_samples_leave_the_interval_where_the_normal_distribution_has_it() {
        for n in [1000usize, 10_000, 100_000] {
            let expected = n as f64 / 2.0 - 1.959_964 * (n as f64).sqrt() / 2.0;
            assert!((rank(n).unwrap() as f64 - expected).abs() < 1.5, "{n}");
        }
    }

    /// Counts every outcome of `n` coins: the interval covers the median in at least 95 %, and the next narrower
    /// one does not.
    #[test]
    fn the_interval_covers_what_it_promises_and_no_narrower_one_does() {
        for n in LEAST_SAMPLES..=40 {
            let k = rank(n).unwrap();
            let coverage = |k: usize| {
                let tail: u64 = (0..k as u64).map(|heads| choose(n as u64, heads)).sum();
                1.0 - 2.0 * tail as f64 / 2f64.powi(n as i32)
            };
            assert!(coverage(k) >= 0.95, "{n}");
            assert!(coverage(k + 1) < 0.95, "{n}");
        }
    }

    fn choose(n: u64, k: u64) -> u64 {
        (0..k).fold(1, |product, i| product * (n - i) / (i + 1))
    }

    #[test]
    fn the_interval_lies_between_two_samples() {
        assert_eq!(median_interval(&up_to(5)), None);
        assert_eq!(median_interval(&up_to(6)), Some(Interval { low: 1.0, high: 6.0 }));
        assert_eq!(median_interval(&up_to(100)), Some(Interval { low: 40.0, high: 61.0 }));
    }

    #[test]
    fn a_ratio_pairs_its_samples_and_is_not_moved_by_one_disturbed_pair() {
        let drifting = (1..=20u32).map(|n| (f64::from(n) * 3.0, f64::from(n)));
        let disturbed = drifting.clone().chain([(5000.0, 1.0)]);
        let interval = Interval { low: 3.0, high: 3.0 };
        assert_eq!(Ratio::of(drifting), Some(Ratio { median: 3.0, interval }));
        assert_eq!(Ratio::of(disturbed), Some(Ratio { median: 3.0, interval }));
    }

    #[test]
    fn a_ratio_to_nothing_is_none() {
        assert_eq!(Ratio::of((0..20).map(|_| (1.0, 0.0))), None);
        assert_eq!(Ratio::of((0..20).map(|_| (0.0, 0.0))), None);
        assert_eq!(Ratio::of((0..5).map(|_| (1.0, 1.0))), None);
    }

    #[test]
    fn a_difference_pairs_its_samples_so_that_drift_and_one_disturbed_pair_do_not_move_it() {
        let drifting = (1..=20u32).map(|n| (f64::from(n) * 10.0 + 3.0, f64::from(n) * 10.0));
        let disturbed = drifting.clone().chain([(5000.0, 1.0)]);
        let interval = Interval { low: 3.0, high: 3.0 };
        assert_eq!(Difference::of(drifting), Some(Difference { median: 3.0, interval }));
        assert_eq!(Difference::of(disturbed), Some(Difference { median: 3.0, interval }));
    }

    #[test]
    fn a_difference_may_be_negative_and_has_an_interval_or_none_at_all() {
        let pairs = (1..=6u32).map(|n| (0.0, f64::from(n)));
        let interval = Interval { low: -6.0, high: -1.0 };
        assert_eq!(Difference::of(pairs.clone()), Some(Difference { median: -3.5, interval }));
        assert_eq!(Difference::of(pairs.clone().take(5)), None);
        assert_eq!(Difference::of(pairs.chain([(f64::NAN, 1.0)])), None);
    }
}
