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
#[repr(C)]
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

    /// Has the place fetched where the next time will be put.
    #[inline(always)]
    pub(crate) fn fetch(&self) {
        super::soon::fetch_end(&self.few);
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
        if let Some(h) = &mut self.histogram {
            record_runs(h, &self.few);
        }
        self.few.clear();
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
        let mut bars =
            Bars { counts: Vec::with_capacity(usize::try_from(most).unwrap_or(0)), ..Bars::default() };
        self.bars_into(&mut bars);
        bars
    }

    /// Fills in as many bars as there is room for. Allocates nothing.
    pub(crate) fn bars_into(&mut self, into: &mut Bars) {
        if self.histogram.is_some() {
            self.record();
        }
        if self.few.is_empty() && self.histogram.is_none() {
            into.clear();
            return;
        }
        let at = |q: f64| match &self.histogram {
            Some(h) => h.value_at_quantile(q),
            None => nearest_rank(&self.few, q),
        };
        into.lay_out(at(0.005), at(0.995));
        match &self.histogram {
            Some(h) => h.iter_recorded().for_each(|v| {
                into.add(h.median_equivalent(v.value_iterated_to()), u64::from(v.count_at_value()));
            }),
            None => self.few.iter().for_each(|value| into.add(*value, 1)),
        }
    }

    /// Three quantiles and the extremes in one pass, for a look at a run that goes on. Allocates nothing.
    pub(crate) fn quantiles(&mut self) -> Quantiles {
        if self.histogram.is_some() {
            self.record();
        }
        let Totals { count, max, min, .. } = self.totals();
        let quantiles = [0.50, 0.95, 0.99];
        let [p50, p95, p99] = match &self.histogram {
            Some(h) => ranked(h, quantiles).map(|value| value.clamp(min, max)),
            None => quantiles.map(|q| nearest_rank(&self.few, q)),
        };
        Quantiles { count, p50, p95, p99, max }
    }
}

/// Records values; neighbours that the histogram does not tell apart are recorded at once.
fn record_runs(h: &mut Histogram<u32>, values: &[u64]) {
    let mut left = values;
    while let Some(first) = left.first() {
        // Beyond a day a value only counts in the extremes; room can always be made up to there.
        let value = *first.min(&LARGEST);
        let (low, width) = (h.lowest_equivalent(value), h.equivalent_range(value));
        let alike = left.iter().take_while(|v| (**v).min(LARGEST).wrapping_sub(low) < width).count().max(1);
        let _ = h.record_n(value, u32::try_from(alike).unwrap_or(1));
        left = &left[alike..];
    }
}

/// The values at some quantiles, in ascending order, found in one pass.
fn ranked(h: &Histogram<u32>, quantiles: [f64; 3]) -> [u64; 3] {
    let ranks = quantiles.map(|q| ((q * h.len() as f64).ceil() as u64).max(1));
    let (mut values, mut found, mut seen) = ([h.max(); 3], 0, 0);
    for v in h.iter_recorded() {
        seen += u64::from(v.count_at_value());
        while found < ranks.len() && seen >= ranks[found] {
            values[found] = h.highest_equivalent(v.value_iterated_to());
            found += 1;
        }
        if found == ranks.len() {
            break;
        }
    }
    values
}

/// A distribution at a glance, ns; all 0 when nothing was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quantiles {
    /// Values measured.
    pub count: u64,
    /// Median.
    pub p50: u64,
    /// 95th percentile.
    pub p95: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Largest, exact.
    pub max: u64,
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
    /// Takes everything out; the room for bars stays.
    pub(crate) fn clear(&mut self) {
        self.counts.clear();
        (self.from_ns, self.width_ns, self.under, self.over) = (0, 0, 0, 0);
    }

    /// Empty bars that reach from one value to the other, with a little room, as many as there is memory for.
    fn lay_out(&mut self, low: u64, high: u64) {
        self.clear();
        let most = self.counts.capacity() as u64;
        // Finer bars than the histogram tells values apart would stand like a comb.
        let least = (high / 200).max(FINEST);
        self.width_ns = round_up((high.saturating_sub(low) / most.saturating_sub(7).max(1)).max(least));
        self.from_ns = (low / self.width_ns).saturating_sub(3) * self.width_ns;
        let n = ((high - self.from_ns) / self.width_ns + 4).min(most);
        self.counts.resize(usize::try_from(n).unwrap_or(0), 0);
    }

    fn add(&mut self, value: u64, count: u64) {
        let place = value.checked_sub(self.from_ns);
        let bar = match place.map(|v| usize::try_from(v / self.width_ns).unwrap_or(usize::MAX)) {
            None => &mut self.under,
            Some(place) => self.counts.get_mut(place).unwrap_or(&mut self.over),
        };
        *bar += count;
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
    let rank = (q * n as f64).ceil() as usize;
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
    fn a_glance_says_what_the_whole_distribution_says() {
        for n in [0, 1, 20, 47, 48, 49, 5_000] {
            let mut g = Gauge::default();
            (0..n).for_each(|i| g.add(16_666_667 + (i * 7919 % 1000 - 500) * 9_000));
            let (glance, s) = (g.quantiles(), g.spread());
            assert_eq!(
                (glance.count, glance.p50, glance.p95, glance.p99, glance.max),
                (s.count, s.p50, s.p95, s.p99, s.max),
                "{n}"
            );
        }
    }

    #[test]
    fn runs_are_recorded_as_value_by_value() {
        let mut values: Vec<u64> = (0..4_000u64).map(|i| 16_666_667 + (i * 7919 % 11) * 3_000).collect();
        values.extend((0..60).flat_map(|bit| [1 << bit, (1u64 << bit) + 1, (1 << bit) + (1 << bit >> 11)]));
        values.extend([1, 511, 512, 1_023, 1_024, LARGEST - 1, LARGEST, LARGEST + 1, u64::MAX, 5, 5, 5]);
        let new = || {
            let mut h = Histogram::<u32>::new_with_bounds(FINEST, USUAL, 3).unwrap();
            h.auto(true);
            h
        };
        let (mut runs, mut singly) = (new(), new());
        values.chunks(FEW).for_each(|values| record_runs(&mut runs, values));
        values.iter().for_each(|value| singly.record((*value).min(LARGEST)).unwrap());
        assert_eq!(runs, singly);
        assert_eq!((runs.len(), runs.min_nz(), runs.max()), (singly.len(), singly.min_nz(), singly.max()));
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
