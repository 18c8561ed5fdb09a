//! The Wilcoxon signed-rank statistic, exactly: critical values, Walsh averages, Hodges-Lehmann and its bounds
//! (experiments, section 6.1).
//!
//! Probabilities are counts of sign patterns over 2^n, added without subtraction: exact up to n = 53, and within
//! n * 2^-53 of themselves beyond. There is no normal approximation at any n.

/// P(W+ = w) for w = 0..=n(n+1)/2 under the hypothesis of symmetry around 0.
fn distribution(n: usize) -> Vec<f64> {
    let mut chance = vec![0.0; n * (n + 1) / 2 + 1];
    chance[0] = 1.0;
    let mut top = 0;
    for rank in 1..=n {
        top += rank;
        for w in (0..=top).rev() {
            let with = if w >= rank { chance[w - rank] } else { 0.0 };
            chance[w] = f64::midpoint(chance[w], with);
        }
    }
    chance
}

/// P(W+ <= w) of n pairs.
pub fn signed_rank_p(n: usize, w: u64) -> f64 {
    let take = usize::try_from(w).unwrap_or(usize::MAX).saturating_add(1);
    distribution(n).iter().take(take).sum::<f64>().min(1.0)
}

/// Largest T with P(W+ <= T) <= alpha, alpha in ppm; `None` when even T = 0 is too likely.
pub fn critical_t(n: usize, alpha_ppm: u64) -> Option<u64> {
    let limit = alpha_ppm as f64 / 1e6;
    let mut sum = 0.0;
    let within = distribution(n).into_iter().take_while(|chance| {
        sum += *chance;
        sum <= limit
    });
    (within.count() as u64).checked_sub(1)
}

/// The error that is really made with a critical value; 0 without one.
pub fn achieved(n: usize, t: Option<u64>) -> f64 {
    t.map_or(0.0, |t| signed_rank_p(n, t))
}

/// All means of two values, each with itself too, ascending: n(n+1)/2 of them.
pub fn walsh(values: &[f64]) -> Vec<f64> {
    let mut means: Vec<f64> = (0..values.len())
        .flat_map(|i| values[i..].iter().map(move |other| f64::midpoint(values[i], *other)))
        .collect();
    means.sort_by(f64::total_cmp);
    means
}

/// Hodges-Lehmann estimate of the centre and its bounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Number of values.
    pub n: usize,
    /// Walsh averages, ascending.
    pub walsh: Vec<f64>,
    /// Their median.
    pub hl: Option<f64>,
    /// Critical value; `None` without a finite bound.
    pub t: Option<u64>,
    /// Lower bound, one-sided.
    pub lower: Option<f64>,
    /// Upper bound, one-sided.
    pub upper: Option<f64>,
}

impl Estimate {
    /// P(W+ <= number of Walsh averages at or below the margin): the chance of so high values when the centre is at the
    /// margin. Below alpha exactly when the lower bound is beyond the margin.
    pub fn p_above(&self, margin: f64) -> f64 {
        signed_rank_p(self.n, self.walsh.iter().filter(|mean| **mean <= margin).count() as u64)
    }

    /// The same from the other side: the chance of so low values.
    pub fn p_below(&self, margin: f64) -> f64 {
        signed_rank_p(self.n, self.walsh.iter().filter(|mean| **mean >= margin).count() as u64)
    }
}

/// The estimate of values in any order with one-sided bounds at alpha, ppm.
pub fn estimate(values: &[f64], alpha_ppm: u64) -> Estimate {
    bounded(values, critical_t(values.len(), alpha_ppm))
}

/// The estimate with a critical value that is known already.
pub(crate) fn bounded(values: &[f64], t: Option<u64>) -> Estimate {
    let walsh = walsh(values);
    let at = |index: Option<usize>| index.and_then(|index| walsh.get(index)).copied();
    let t_index = t.and_then(|t| usize::try_from(t).ok());
    let (lower, upper) = (at(t_index), at(t_index.and_then(|t| walsh.len().checked_sub(1 + t))));
    Estimate { n: values.len(), hl: super::median(&walsh), t, lower, upper, walsh }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// P(W+ <= w) by trying every sign pattern.
    fn tried(n: u32, w: u64) -> f64 {
        let sum = |signs: u32| {
            (0..n).filter(|bit| signs >> bit & 1 == 1).map(|bit| u64::from(bit) + 1).sum::<u64>()
        };
        (0..1_u32 << n).filter(|signs| sum(*signs) <= w).count() as f64 / f64::from(1_u32 << n)
    }

    #[test]
    fn the_distribution_is_that_of_trying_every_sign_pattern() {
        for n in 1..=12_u32 {
            for w in 0..=u64::from(n * (n + 1) / 2) {
                assert!((signed_rank_p(n as usize, w) - tried(n, w)).abs() < 1e-15, "n {n}, w {w}");
            }
        }
    }

    #[test]
    fn critical_values_exist_at_two_hundred_pairs_and_are_the_last_that_hold() {
        for n in [20, 53, 54, 100, 200, 250] {
            let t = critical_t(n, 50_000).unwrap();
            assert!(signed_rank_p(n, t) <= 0.05 && signed_rank_p(n, t + 1) > 0.05, "n {n}");
        }
        // Tables of the signed-rank test: n = 50, one-sided 5 % and two-sided 5 %.
        assert_eq!((critical_t(50, 50_000), critical_t(50, 25_000)), (Some(466), Some(434)));
        assert_eq!((critical_t(4, 50_000), critical_t(0, 50_000)), (None, None));
    }

    proptest! {
        #[test]
        fn the_probability_at_the_margin_agrees_with_the_bound(
            values in proptest::collection::vec(-50_i32..50, 5..25), margin in -40_i32..40,
        ) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let (found, margin) = (estimate(&values, 50_000), f64::from(margin));
            prop_assert_eq!(found.p_above(margin) <= 0.05, found.lower.unwrap() > margin);
            prop_assert_eq!(found.p_below(margin) <= 0.05, found.upper.unwrap() < margin);
            prop_assert!(found.lower <= found.hl && found.hl <= found.upper);
        }
    }
}
