//! Percentiles by nearest rank: values that were measured, never values in between. Integers only.

use serde::Serialize;

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

/// Least, median, tails and largest of a set of values; all zero of none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Quantiles<T = u64> {
    /// The least value.
    pub min: T,
    /// The median.
    pub p50: T,
    /// 95 of 100 are no larger.
    pub p95: T,
    /// 99 of 100 are no larger.
    pub p99: T,
    /// The largest value: a diagnostic, its spread grows with the number of values.
    pub max: T,
}

impl<T: Copy + Ord + Default> Quantiles<T> {
    /// Those of these values, in any order.
    pub fn of(values: impl IntoIterator<Item = T>) -> Self {
        let mut values: Vec<T> = values.into_iter().collect();
        values.sort_unstable();
        let at = |num| at(&values, num, 100).unwrap_or_default();
        Quantiles { min: at(0), p50: at(50), p95: at(95), p99: at(99), max: at(100) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_are_those_of_the_values_and_zero_of_none() {
        let q = Quantiles::of((1..=1000_u64).map(|n| n * 1000));
        let expected = Quantiles { min: 1000, p50: 500_000, p95: 950_000, p99: 990_000, max: 1_000_000 };
        assert_eq!(q, expected);
        assert_eq!(Quantiles::of(std::iter::empty::<u64>()), Quantiles::default());
        assert_eq!(Quantiles::of([u64::MAX]).p50, u64::MAX);
        assert_eq!(Quantiles::of([-5_i64, 3]), Quantiles { min: -5, p50: -5, p95: 3, p99: 3, max: 3 });
    }

    #[test]
    fn a_rank_stays_within_the_values_whatever_is_asked() {
        let asked = [(0, 1, 2), (5, 0, 1), (5, 9, 1), (u64::MAX, u64::MAX, 1), (5, 1, 0)];
        assert_eq!(asked.map(|(n, num, den)| rank(n, num, den)), [0, 1, 5, u64::MAX, 5]);
    }

    proptest! {
        #[test]
        fn quantiles_are_members_in_order(values in prop::collection::vec(any::<u64>(), 1..200)) {
            let q = Quantiles::of(values.iter().copied());
            let list = [q.min, q.p50, q.p95, q.p99, q.max];
            prop_assert!(list.is_sorted() && list.iter().all(|value| values.contains(value)));
            let no_larger = values.iter().filter(|value| **value <= q.p95).count() * 100;
            prop_assert!(no_larger >= values.len() * 95);
        }
    }
}
