//! Cadence: the third witness. A period learned from the last in-order intervals, and whether it is steady
//! enough to say anything. Datagrams that catch up after a pause teach no period, and a period far below what the
//! stream kept to over the long run says nothing.

use super::soon;
use std::num::NonZeroI64;

/// Intervals remembered.
pub(super) const KEPT: usize = 32;
/// Fewest intervals that may speak.
pub(super) const ENOUGH: usize = 8;

/// Periods beyond which an interval is a pause.
pub(super) const PAUSE: u32 = 8;
/// A stream that pauses more often than once in so many intervals comes in bursts: what lies inside of them is no period.
pub(super) const PAUSES_ONE_IN: u32 = 12;

/// Once the memory is full the period is worked out anew after this many intervals.
const REFRESH: u32 = 15;
/// Intervals of the long run; beyond it the older half is forgotten bit by bit.
const LONG_RUN: i64 = 2048;

/// The period of a stream or of an output's frames.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct Cadence {
    period: i64,
    /// Intervals of the long run without pauses: their sum in nanoseconds and their number.
    run: (i64, i64),
    /// What was due in the last pause and has not come yet.
    owed: i64,
    /// The burst after a pause in which the numbers could hide a loss.
    burst: Option<Burst>,
    /// Intervals added since the period was last worked out.
    stale: u32,
    len: u8,
    next: u8,
    steady: bool,
    // What lies above fits one line of the cache.
    ring: [u32; KEPT],
}

const _: () = assert!(std::mem::offset_of!(Cadence, ring) == 64);

/// Datagrams that catch up on a pause.
#[derive(Clone, Copy, Debug)]
struct Burst {
    /// Due in the pause.
    due: NonZeroI64,
    /// Came of it.
    came: i64,
    /// Intervals in a row that catch up on nothing.
    calm: u8,
}

/// Intervals in a row after which a burst is over: one slow datagram does not end it.
const CALM: u8 = 3;

impl Cadence {
    /// Has the memory fetched that the next interval touches, but for the place where it will be put.
    #[inline(always)]
    pub(crate) fn fetch(&self) {
        soon::fetch(&self.period);
    }

    /// The place where it will be put, once that memory is there.
    #[inline(always)]
    pub(crate) fn fetch_far(&self) {
        soon::fetch_at(&self.ring, usize::from(self.next));
    }

    /// Adds an interval in nanoseconds between two neighbours in order; not positive ones say nothing, ones over
    /// 4.29 s count as that. `true`, and nothing learned, when it belongs to a burst that catches up on a pause.
    #[inline]
    pub(crate) fn add(&mut self, interval: i64) -> bool {
        if self.owed > 0 {
            if interval.saturating_mul(2) < self.period {
                self.owed -= 1;
                if let Some(b) = &mut self.burst {
                    *b = Burst { came: b.came + 1, calm: 0, ..*b };
                }
                return true;
            }
            self.owed /= 2;
        }
        if interval > 0 {
            self.learn(interval);
        }
        false
    }

    /// A pause in which `due` more were to come: they may follow in a burst.
    pub(crate) fn owe(&mut self, due: i64) {
        self.owed = due.max(0);
        self.burst = None;
    }

    /// Datagrams of the last pause are still to come, sooner than the period.
    pub(crate) fn catches_up(&self) -> bool {
        self.owed > 0
    }

    /// As `owe`, after a pause whose numbers run on: whole cycles of them may be missing.
    pub(crate) fn owe_unproven(&mut self, due: i64) {
        self.owe(due);
        self.burst = NonZeroI64::new(due.max(0)).map(|due| Burst { due, came: 0, calm: 0 });
    }

    /// After an interval that catches up on nothing: what was due in a pause whose numbers run on and what of it came,
    /// told once when the burst is over.
    #[inline]
    pub(crate) fn unpaid(&mut self) -> Option<(i64, i64)> {
        let b = self.burst.as_mut()?;
        b.calm += 1;
        if b.calm < CALM {
            return None;
        }
        self.burst.take().filter(|b| b.came > 0).map(|b| (b.due.get(), b.came))
    }

    #[inline]
    fn learn(&mut self, interval: i64) {
        if self.period == 0 || interval / 3 * 2 <= self.period {
            let (sum, n) = self.run;
            let (sum, n) = if n < LONG_RUN { (sum, n) } else { (sum / 2, n / 2) };
            self.run = (sum.saturating_add(interval.min(i64::from(u32::MAX))), n + 1);
        }
        self.ring[usize::from(self.next) % KEPT] = u32::try_from(interval).unwrap_or(u32::MAX);
        self.next = (self.next + 1) % KEPT as u8;
        self.len = (self.len + 1).min(KEPT as u8);
        self.stale += 1;
    }

    /// The period in nanoseconds, when at least three quarters of the remembered intervals lie within a quarter
    /// of their median, and the period is no less than half of what the long run says.
    #[inline]
    pub(crate) fn steady(&mut self) -> Option<i64> {
        self.refresh();
        let (sum, n) = self.run;
        let kept_to = self.period.saturating_mul(2).saturating_mul(n) >= sum;
        (self.steady && self.period > 0 && kept_to).then_some(self.period)
    }

    /// The median of what is there, however little; `None` below two intervals.
    pub(crate) fn rough(&mut self) -> Option<i64> {
        self.refresh();
        (self.len >= 2).then_some(self.period)
    }

    #[inline]
    fn refresh(&mut self) {
        let fresh_enough = if self.len < KEPT as u8 { 0 } else { REFRESH };
        if self.stale > fresh_enough {
            self.work_out();
        }
    }

    #[inline(never)]
    fn work_out(&mut self) {
        self.stale = 0;
        self.steady = false;
        let kept = &self.ring[..usize::from(self.len)];
        let middle = if kept.len() == KEPT { median(&self.ring) } else { select(kept) };
        self.period = i64::from(middle);
        if usize::from(self.len) < ENOUGH {
            return;
        }
        let (least, most) = (middle - middle / 4, middle.saturating_add(middle / 4));
        let near: u32 = kept.iter().map(|v| u32::from(*v >= least && *v <= most)).sum();
        let pause = middle.saturating_mul(PAUSE);
        let pauses: u32 = kept.iter().map(|v| u32::from(*v > pause)).sum();
        let len = u32::from(self.len);
        self.steady = near * 4 >= len * 3 && pauses * PAUSES_ONE_IN <= len;
    }
}

/// The upper median of a full ring: the least value that more than half of all do not exceed, found by halving what lies
/// between the least and the largest, without a branch that depends on their order.
fn median(ring: &[u32; KEPT]) -> u32 {
    let (mut low, mut high) = ring.iter().fold((u32::MAX, 0), |(l, h), v| (l.min(*v), h.max(*v)));
    while low < high {
        let middle = low + (high - low) / 2;
        let up_to: u32 = ring.iter().map(|v| u32::from(*v <= middle)).sum();
        if up_to as usize > KEPT / 2 { high = middle } else { low = middle + 1 }
    }
    low
}

/// The same of any row; 0 of none.
fn select(row: &[u32]) -> u32 {
    let mut room = [0; KEPT];
    let sorted = &mut room[..row.len()];
    sorted.copy_from_slice(row);
    match row.len() {
        0 => 0,
        n => *sorted.select_nth_unstable(n / 2).1,
    }
}

/// `value / unit` rounded to the nearest whole number; 0 when the unit is not positive.
pub(crate) fn nearest(value: i64, unit: i64) -> i64 {
    if unit <= 0 { 0 } else { (value + unit / 2).div_euclid(unit) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regular_stream_is_steady_and_a_bursty_one_is_not() {
        let mut regular = Cadence::default();
        let mut bursty = Cadence::default();
        for i in 0..40 {
            regular.add(16_666_667 + (i % 7) * 10_000);
            bursty.add(if i % 2 == 0 { 1_000 } else { 33_000_000 });
        }
        assert!(regular.steady().is_some_and(|p| (16_600_000..16_800_000).contains(&p)));
        assert_eq!(bursty.steady(), None);
    }

    #[test]
    fn the_median_of_a_full_ring_is_the_one_that_selecting_finds() {
        let mut seed = 7u64;
        for spread in [0, 1, 2, 7, 1_000, 90_000_000, u32::MAX] {
            for _ in 0..200 {
                let ring: [u32; KEPT] = std::array::from_fn(|_| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    ((seed >> 32) as u32).checked_rem(spread).unwrap_or(16_666_667)
                });
                assert_eq!(median(&ring), select(&ring), "{ring:?}");
            }
        }
        let mut ends = [0; KEPT];
        ends[..KEPT / 2].fill(u32::MAX);
        assert_eq!((median(&ends), median(&[u32::MAX; KEPT])), (u32::MAX, u32::MAX));
        assert_eq!((select(&ends), select(&[])), (u32::MAX, 0));
    }

    #[test]
    fn bursts_of_a_few_with_pauses_between_have_no_period_and_a_rare_pause_changes_none() {
        let steady = |long: u64| {
            let mut c = Cadence::default();
            let intervals = (0..200).map(|i| if i % long == long - 1 { 120_000_000 } else { 1_000_000 });
            // One pause among few intervals may be a stutter; two make bursts.
            let told = intervals.enumerate().filter(|(n, i)| !c.add(*i) && c.steady().is_some() && *n >= 16);
            told.count()
        };
        assert_eq!([steady(4), steady(5), steady(8)], [0, 0, 0]);
        assert!(steady(100) > 150, "{}", steady(100));
    }

    #[test]
    fn a_burst_that_catches_up_leaves_the_period_alone() {
        let mut c = Cadence::default();
        (0..40).for_each(|_| assert!(!c.add(25_000_000)));
        assert_eq!(c.steady(), Some(25_000_000));
        c.owe(60);
        assert!((0..60).all(|_| c.add(30_000)));
        assert_eq!(c.steady(), Some(25_000_000));
    }

    #[test]
    fn a_period_far_below_the_long_run_says_nothing_until_it_is_the_long_run() {
        let mut c = Cadence::default();
        (0..100).for_each(|_| assert!(!c.add(25_000_000)));
        (0..60).for_each(|_| assert!(!c.add(30_000)));
        assert_eq!(c.steady(), None);
        (0..20_000).for_each(|_| assert!(!c.add(30_000)));
        assert_eq!(c.steady(), Some(30_000));
    }

    #[test]
    fn what_a_burst_leaves_owing_is_told_once_and_only_after_numbers_that_run_on() {
        let mut c = Cadence::default();
        (0..40).for_each(|_| assert!(!c.add(25_000_000)));
        assert_eq!(c.steady(), Some(25_000_000));
        c.owe(60);
        assert!(c.add(30_000) && !c.add(25_000_000));
        assert_eq!([c.unpaid(), c.unpaid(), c.unpaid()], [None; 3]);
        c.owe_unproven(60);
        (0..30).for_each(|_| assert!(c.add(30_000)));
        assert!(!c.add(25_000_000));
        assert_eq!(c.unpaid(), None);
        (0..10).for_each(|_| assert!(c.add(30_000)));
        assert_eq!([c.unpaid(), c.unpaid(), c.unpaid(), c.unpaid()], [None, None, Some((60, 40)), None]);
    }

    #[test]
    fn rounding_is_to_the_nearest() {
        assert_eq!(
            [nearest(0, 10), nearest(4, 10), nearest(5, 10), nearest(26, 10), nearest(7, 0)],
            [0, 0, 1, 3, 0]
        );
    }
}
