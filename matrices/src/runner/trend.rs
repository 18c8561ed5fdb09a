//! Whether a short series still moves: Kendall's test, exact.
//!
//! It never judges by how much; a p-value below one in a hundred is called a trend.

/// One in a hundred.
const LEVEL: f64 = 0.01;

/// True when the series rises or falls (two-sided p < 0.01). Ties count for neither side, which only makes it slower to
/// say so. At most 64 values are looked at, the last ones.
pub(super) fn is_trending(values: &[u64]) -> bool {
    let values = &values[values.len().saturating_sub(64)..];
    let n = values.len();
    if n < 2 {
        return false;
    }
    let s: i64 =
        (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).map(|(i, j)| sign(values[i], values[j])).sum();
    let pairs = (n * (n - 1) / 2) as i64;
    let inversions = (pairs - s.abs()) / 2;
    2.0 * share_with_at_most(n, inversions as usize) < LEVEL
}

fn sign(earlier: u64, later: u64) -> i64 {
    later.cmp(&earlier) as i64
}

/// Share of the orders of `n` values that have at most `most` inversions.
fn share_with_at_most(n: usize, most: usize) -> f64 {
    let mut share = vec![0.0; most + 1];
    share[0] = 1.0;
    for placed in 2..=n {
        let mut next = vec![0.0; most + 1];
        let mut window = 0.0;
        for k in 0..=most {
            window += share[k];
            if k >= placed {
                window -= share[k - placed];
            }
            next[k] = window / placed as f64;
        }
        share = next;
    }
    share.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rising_series_of_five_is_not_yet_a_trend_and_one_of_six_is() {
        assert!(!is_trending(&[1, 2, 3, 4, 5]), "2/120 = 0.017");
        assert!(is_trending(&[1, 2, 3, 4, 5, 6]), "2/720 = 0.003");
        assert!(is_trending(&[6, 5, 4, 3, 2, 1]));
    }

    #[test]
    fn orders_of_four_values_have_the_known_numbers_of_inversions() {
        let counts = [1.0, 3.0, 5.0, 6.0, 5.0, 3.0, 1.0];
        let mut sum = 0.0;
        for (most, count) in counts.iter().enumerate() {
            sum += count / 24.0;
            assert!((share_with_at_most(4, most) - sum).abs() < 1e-12, "at most {most}");
        }
    }

    #[test]
    fn a_still_or_alternating_series_is_no_trend() {
        assert!(!is_trending(&[7; 20]));
        let alternating: Vec<u64> = (0..20).map(|i| i % 2).collect();
        assert!(!is_trending(&alternating));
        assert!(!is_trending(&[]));
    }
}
