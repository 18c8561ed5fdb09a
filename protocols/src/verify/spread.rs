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

    /// The same as at most `most` bars of one round width; what lies far outside is counted at its end.
    pub(crate) fn bars(&mut self, most: u64) -> Bars {
        if self.histogram.is_some() {
            self.record();
        }
        let values: Vec<(u64, u64)> = match &self.histogram {
            Some(h) => {
                let recorded =
                    h.iter_recorded().map(|v| (v.value_iterated_to(), u64::from(v.count_at_value())));
                recorded.map(|(value, count)| (h.median_equivalent(value), count)).collect()
            }
            None => self.few.iter().map(|value| (*value, 1)).collect(),
        };
        let at = |q: f64| match &self.histogram {
            Some(h) => h.value_at_quantile(q),
            None => nearest_rank(&self.few, q),
        };
        Bars::of(&values, (at(0.005), at(0.995)), most)
    }

    /// Values per second in thousandths.
    pub(crate) fn rate_mhz(&self) -> u64 {
        let Totals { count, sum, .. } = self.totals();
        rate_mhz(count, sum)
    }
}

/// How many values were how large: bars side by side, and what lies below and above them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bars {
    /// Where the first bar begins, ns.
    pub from_ns: u64,
    /// Width of a bar, ns: 1, 2 or 5 times a power of ten.
    pub width_ns: u64,
    /// Values below the first bar.
    pub under: u64,
    /// Values of each bar; empty when there were none at all.
    pub counts: Vec<u64>,
    /// Values above the last bar.
    pub over: u64,
}

impl Bars {
    /// Bars that reach from one value to the other, with a little room.
    fn of(values: &[(u64, u64)], (low, high): (u64, u64), most: u64) -> Bars {
        if values.is_empty() {
            return Bars::default();
        }
        // Finer bars than the histogram tells values apart would stand like a comb.
        let least = (high / 200).max(FINEST);
        let width_ns = round_up((high.saturating_sub(low) / most.saturating_sub(7).max(1)).max(least));
        let from_ns = (low / width_ns).saturating_sub(3) * width_ns;
        let n = ((high - from_ns) / width_ns + 4).min(most);
        let mut bars =
            Bars { from_ns, width_ns, counts: vec![0; usize::try_from(n).unwrap_or(0)], ..Bars::default() };
        for (value, count) in values {
            let place =
                value.checked_sub(from_ns).map(|v| usize::try_from(v / width_ns).unwrap_or(usize::MAX));
            let bar = match place {
                None => &mut bars.under,
                Some(place) => bars.counts.get_mut(place).unwrap_or(&mut bars.over),
            };
            *bar += count;
        }
        bars
    }
}

/// The next of 1, 2 and 5 times a power of ten.
fn round_up(value: u64) -> u64 {
    let power = 10u64.saturating_pow(value.max(1).ilog10());
    [1, 2, 5, 10].into_iter().map(|n| power.saturating_mul(n)).find(|n| *n >= value).unwrap_or(u64::MAX)
}

fn nearest_rank(values: &[u64], q: f64) -> u64 {
    // On the stack: a look at a run that goes on allocates nothing.
    let mut room = [0; FEW];
    let n = values.len().min(FEW);
    let sorted = &mut room[..n];
    sorted.copy_from_slice(&values[..n]);
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

    #[test]
    fn bars_hold_every_value_and_are_round_and_few() {
        for (n, period, jitter) in
            [(10, 25_000_000, 0), (600, 16_666_667, 80_000), (5_000, 33_000_000, 30_000_000)]
        {
            let mut g = Gauge::default();
            (0..n).for_each(|i| g.add(period + (i * 7919 % 1000 - 500) * jitter / 1000));
            g.add(5_000_000_000);
            let bars = g.bars(64);
            let held = bars.counts.iter().sum::<u64>() + bars.under + bars.over;
            assert_eq!(held, n.unsigned_abs() + 1, "{bars:?}");
            assert!(bars.counts.len() <= 64, "{bars:?}");
            assert!([1, 2, 5].contains(&(bars.width_ns / 10u64.pow(bars.width_ns.ilog10()))), "{bars:?}");
            assert!(n == 10 || bars.over == 1, "{bars:?}");
        }
        assert_eq!(Gauge::default().bars(64), Bars::default());
    }
}
