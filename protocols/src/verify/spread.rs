//! Distributions of times: an HDR histogram beside exact extremes and an exact sum.

use super::account::Spread;
use hdrhistogram::Histogram;

/// Values below this are told apart by half of it, ns.
const FINEST: u64 = 1_000;
/// Largest value the histogram keeps apart: one day.
const LARGEST: u64 = 86_400_000_000_000;
/// Values up to here have their place from the start: three frames at 60 a second and more, in 28 KiB.
const USUAL: u64 = 67_000_000;
/// Values gathered before they are recorded; fewer than this in all need no histogram.
const FEW: usize = 48;

/// Collects times in nanoseconds.
///
/// A histogram begins with room for usual times and grows, at most to a day, when a longer one comes: a stream that
/// never pauses costs a quarter of the full size.
#[derive(Debug, Default)]
pub(crate) struct Gauge {
    few: Vec<u64>,
    histogram: Option<Box<Histogram<u32>>>,
    total: Totals,
}

/// What is exact over all values recorded.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    count: u64,
    sum: u64,
    min: u64,
    max: u64,
}

impl Gauge {
    /// Adds a time; not positive ones are left out.
    ///
    /// Values are gathered in a row and recorded a batch at a time: the histogram's memory is far from the stream's.
    #[inline]
    pub(crate) fn add(&mut self, ns: i64) {
        let Ok(value @ 1..) = u64::try_from(ns) else { return };
        self.few.push(value);
        if self.few.len() == FEW {
            self.record();
        }
    }

    #[inline(never)]
    fn record(&mut self) {
        if self.histogram.is_none() {
            self.histogram = Histogram::new_with_bounds(FINEST, USUAL, 3).ok().map(|mut h| {
                h.auto(true);
                Box::new(h)
            });
        }
        self.total = self.totals();
        for value in self.few.drain(..) {
            if let Some(h) = &mut self.histogram {
                // Beyond a day a value only counts in the extremes; room can always be made up to there.
                let _ = h.record(value.min(LARGEST));
            }
        }
    }

    fn totals(&self) -> Totals {
        self.few.iter().fold(self.total, |t, value| Totals {
            count: t.count + 1,
            sum: t.sum.saturating_add(*value),
            min: if t.count == 0 { *value } else { t.min.min(*value) },
            max: t.max.max(*value),
        })
    }

    /// The distribution; the quantiles never leave the exact extremes.
    pub(crate) fn spread(&mut self) -> Spread {
        if self.histogram.is_some() {
            self.record();
        }
        let Totals { count, min, max, .. } = self.totals();
        if count == 0 {
            return Spread::default();
        }
        let at = |q: f64| match &self.histogram {
            Some(h) => h.value_at_quantile(q).clamp(min, max),
            None => nearest_rank(&self.few, q),
        };
        Spread { count, min, p50: at(0.50), p95: at(0.95), p99: at(0.99), p999: at(0.999), max }
    }

    /// Values per second in thousandths.
    pub(crate) fn rate_mhz(&self) -> u64 {
        let Totals { count, sum, .. } = self.totals();
        rate_mhz(count, sum)
    }
}

fn nearest_rank(values: &[u64], q: f64) -> u64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
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
