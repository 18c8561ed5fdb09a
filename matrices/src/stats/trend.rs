//! Trends of a series in its order: Kendall's S with its exact probability, and the Theil-Sen slope.
//!
//! Ties add nothing to S; the probability is that without ties, which then says a little less than it could.

/// Pairs that rise minus pairs that fall.
pub fn kendall_s(values: &[f64]) -> i64 {
    let mut s = 0;
    for (i, first) in values.iter().enumerate() {
        for later in &values[i + 1..] {
            s += i64::from(later > first) - i64::from(later < first);
        }
    }
    s
}

/// P(|S| >= |s|) of n values in random order.
pub fn kendall_p(n: usize, s: i64) -> f64 {
    let pairs = n * n.saturating_sub(1) / 2;
    let s = usize::try_from(s.unsigned_abs()).unwrap_or(usize::MAX);
    if s == 0 {
        return 1.0;
    }
    if s > pairs {
        return 0.0;
    }
    // S = pairs - 2 * inversions, so S >= s with at most (pairs - s) / 2 inversions.
    let tail: f64 = inversions(n).iter().take((pairs - s) / 2 + 1).sum();
    (2.0 * tail).min(1.0)
}

/// P(inversions = k) of n values in random order, for k = 0..=n(n-1)/2.
fn inversions(n: usize) -> Vec<f64> {
    let mut chance = vec![1.0];
    for size in 2..=n {
        let grown = chance.len() + size - 1;
        let mut next = vec![0.0; grown];
        for (k, value) in next.iter_mut().enumerate() {
            let from = (k + 1).saturating_sub(size);
            *value = chance[from..=k.min(chance.len() - 1)].iter().sum::<f64>() / size as f64;
        }
        chance = next;
    }
    chance
}

/// Median slope over all pairs, by step; `None` of fewer than two values.
pub fn theil_sen(values: &[f64]) -> Option<f64> {
    let slopes: Vec<f64> = (0..values.len())
        .flat_map(|i| (i + 1..values.len()).map(move |j| (values[j] - values[i]) / (j - i) as f64))
        .collect();
    super::median(&slopes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_values_have_the_probabilities_of_their_twenty_four_orders() {
        // Inversions of 4 values: 1 3 5 6 5 3 1 of 24.
        let expected = [(6, 2.0), (4, 8.0), (2, 18.0), (0, 24.0)];
        for (s, orders) in expected {
            assert!((kendall_p(4, s) - orders / 24.0).abs() < 1e-15, "{s}");
            assert!((kendall_p(4, -s) - orders / 24.0).abs() < 1e-15, "{s}");
        }
        assert_eq!((kendall_p(4, 7), kendall_p(0, 0), kendall_p(1, 0)), (0.0, 1.0, 1.0));
        let all: f64 = inversions(40).iter().sum();
        assert!((all - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_straight_line_has_its_slope_and_every_pair_rising() {
        let line: Vec<f64> = (0..9).map(|i| 3.0 * f64::from(i) - 4.0).collect();
        assert_eq!((kendall_s(&line), theil_sen(&line)), (36, Some(3.0)));
        assert_eq!((kendall_s(&[2.0, 2.0]), theil_sen(&[1.0])), (0, None));
    }
}
