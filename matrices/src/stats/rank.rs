//! Percentiles by nearest rank, values that were measured; and the median, half way between two where there are two.
//!
//! Ranks are integers; nothing is interpolated but the median.

/// Rank of a quantile, 1 for the least of n values: ceil(n * num / den); 0 of none.
pub fn rank(n: u64, num: u64, den: u64) -> u64 {
    let rank = (u128::from(n) * u128::from(num)).div_ceil(u128::from(den.max(1)));
    u64::try_from(rank).unwrap_or(u64::MAX).clamp(n.min(1), n)
}

/// The value at a quantile of values in ascending order; `None` of none.
pub fn at<T: Copy>(sorted: &[T], num: u64, den: u64) -> Option<T> {
    let rank = usize::try_from(rank(sorted.len() as u64, num, den)).ok()?;
    sorted.get(rank.checked_sub(1)?).copied()
}

/// The median of values in any order: the middle, or the mean of the two middle ones; `None` of none.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    Some(if sorted.len() % 2 == 1 { upper } else { f64::midpoint(sorted[sorted.len() / 2 - 1], upper) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_stays_within_the_values_whatever_is_asked() {
        let asked = [(0, 1, 2), (5, 0, 1), (5, 9, 1), (u64::MAX, u64::MAX, 1), (5, 1, 0)];
        assert_eq!(asked.map(|(n, num, den)| rank(n, num, den)), [0, 1, 5, u64::MAX, 5]);
    }

    #[test]
    fn a_median_lies_between_the_middle_two_and_is_absent_of_none() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 9.0]), Some(3.0));
        assert_eq!(median(&[]), None);
        assert_eq!(at::<u64>(&[], 1, 2), None);
    }
}
