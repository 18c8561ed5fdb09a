//! Distributions of times: an HDR histogram beside exact extremes and an exact sum.

use super::account::Spread;
use hdrhistogram::Histogram;

/// Values below this are told apart by half of it, ns.
const FINEST: u64 = 1_000;
/// Largest value the histogram keeps apart: one day.
const LARGEST: u64 = 86_400_000_000_000;

/// Collects times in nanoseconds. Allocates with the first value.
#[derive(Debug, Default)]
pub(crate) struct Gauge {
    histogram: Option<Box<Histogram<u32>>>,
    count: u64,
    sum: u64,
    min: u64,
    max: u64,
}

impl Gauge {
    /// Adds a time; not positive ones are left out.
    #[inline]
    pub(crate) fn add(&mut self, ns: i64) {
        let Ok(value @ 1..) = u64::try_from(ns) else { return };
        if self.count == 0 {
            self.min = value;
            self.histogram = fresh();
        }
        self.count += 1;
        self.sum = self.sum.saturating_add(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        if let Some(h) = &mut self.histogram {
            // Grows with the largest value; beyond a day it only counts in the extremes.
            let _ = h.record(value.min(LARGEST));
        }
    }

    /// The distribution; the quantiles never leave the exact extremes.
    pub(crate) fn spread(&self) -> Spread {
        let Some(h) = &self.histogram else { return Spread::default() };
        let at = |q| h.value_at_quantile(q).clamp(self.min, self.max);
        Spread {
            count: self.count,
            min: self.min,
            p50: at(0.50),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            max: self.max,
        }
    }

    /// Values per second in thousandths.
    pub(crate) fn rate_mhz(&self) -> u64 {
        rate_mhz(self.count, self.sum)
    }
}

fn fresh() -> Option<Box<Histogram<u32>>> {
    let mut h = Histogram::new_with_bounds(FINEST, FINEST * 4, 3).ok()?;
    h.auto(true);
    Some(Box::new(h))
}

/// `count` events over `ns` nanoseconds, per second in thousandths, rounded.
pub(crate) fn rate_mhz(count: u64, ns: u64) -> u64 {
    if ns == 0 {
        return 0;
    }
    let scaled = u128::from(count) * 1_000_000_000_000 + u128::from(ns / 2);
    u64::try_from(scaled / u128::from(ns)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_a_thousandth_and_extremes_exact() {
        let mut g = Gauge::default();
        (1..=1000).for_each(|ms| g.add(ms * 1_000_000 + 7));
        let s = g.spread();
        assert_eq!((s.count, s.min, s.max), (1000, 1_000_007, 1_000_000_007));
        assert!(s.p50.abs_diff(500_000_007) <= 600_000, "{s:?}");
        assert_eq!(rate_mhz(590, 19_967_000_000), 29_549);
    }
}
