//! How the receive loop itself is doing: the gaps between its rounds and how long datagrams waited in the kernel.

use hdrhistogram::Histogram;
use std::ops::Range;
use wireproof_protocols::Timestamp;
use wireproof_protocols::verify::DropLayer;
use wireproof_reports::QueueDelay;

/// Largest queue delay told apart: one minute.
const LONGEST: u64 = 60_000_000_000;
/// Datagrams between two looks at the clock: what arrives meanwhile waits at least until the next look.
const LOOK: u32 = 64;

/// A difference between two clocks that grows by this much at once is a step, not a slew; ns.
pub(crate) const STEP: i64 = 50_000_000;
/// Stamps from before a step may come for this long after it, ns.
const SETTLES: u64 = 1_000_000_000;

/// How the observer is doing, while a run goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vitals {
    /// Datagrams and frames received.
    pub received: u64,
    /// Lost by receive buffers and rings.
    pub lost: u64,
    /// What each counter of the host said, in the order of [`DropLayer::ALL`]; those of a network card and of a backlog
    /// count other traffic too.
    pub layers: [u64; DropLayer::ALL.len()],
    /// Records left out of the capture file and the tape because the disk was too slow.
    pub queue: u64,
    /// Findings that could not be shown.
    pub untold: u64,
    /// Longest time the receive loop was away, ns.
    pub loop_gap_max_ns: u64,
    /// How long datagrams waited in the kernel.
    pub queue_delay: QueueDelay,
    /// Octets in the receive buffers, and the room there is, as the kernel charges them, all sources together.
    pub buffer: (u64, u64),
}

/// A reading of two clocks.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    /// The clock of the stamps, which can be set.
    pub now: Timestamp,
    /// A clock that only goes on, ns since any instant.
    pub steady: u64,
    /// Both were read so soon after one another that their difference means something.
    pub is_tight: bool,
}

/// State of the receive loop. All memory is taken at the start.
#[derive(Debug)]
pub struct Health {
    delay: Option<Histogram<u64>>,
    delay_max: u64,
    now: Timestamp,
    until_look: u32,
    steady: u64,
    /// How far the clock of the stamps is ahead of the steady one.
    ahead: Option<i64>,
    /// The last step, and the steady time it was noticed at.
    stepped: Option<(i64, u64)>,
    /// Bucket of the newest delays, and how many of them were not put into it yet.
    bucket: Range<u64>,
    in_bucket: u64,
    /// Longest time between the ends of two rounds, less the time asked to wait, ns.
    pub loop_gap_max: u64,
}

impl Default for Health {
    fn default() -> Self {
        let mut delay = Histogram::new_with_bounds(1_000, LONGEST, 2).ok();
        if let Some(h) = &mut delay {
            // Touch the pages now, not in the loop.
            (0..9).for_each(|digit| h.saturating_record(10u64.pow(digit + 2)));
            h.reset();
        }
        Health {
            delay,
            delay_max: 0,
            now: Timestamp(0),
            until_look: 0,
            steady: 0,
            ahead: None,
            stepped: None,
            bucket: 0..0,
            in_bucket: 0,
            loop_gap_max: 0,
        }
    }
}

impl Health {
    /// A round begins: the clock has to be looked at again.
    pub fn round(&mut self) {
        self.until_look = 0;
    }

    /// A datagram stamped `at` by the kernel is in hand. `clocks` reads the clock of the stamps and one that nobody sets;
    /// says by how much the former was set since it was read last, ns.
    #[inline]
    pub fn waited(&mut self, at: Timestamp, clocks: impl FnOnce() -> Clocks) -> Option<i64> {
        let mut step = None;
        if self.until_look == 0 {
            step = self.look(clocks());
        }
        self.until_look -= 1;
        let delay = self.now.0.saturating_sub(at.0);
        if self.is_of_another_time(delay) {
            return step;
        }
        let delay = u64::try_from(delay).unwrap_or(0);
        self.delay_max = self.delay_max.max(delay);
        self.record(delay.min(LONGEST));
        step
    }

    /// Counts a delay. Datagrams that follow one another mostly fall into one bucket, and are put into it together.
    #[inline]
    fn record(&mut self, delay: u64) {
        if self.bucket.contains(&delay) {
            self.in_bucket += 1;
        } else {
            self.turn_to(Some(delay));
        }
    }

    /// Puts what was counted into its bucket, and begins with that of `delay`.
    fn turn_to(&mut self, delay: Option<u64>) {
        let Some(h) = &mut self.delay else { return };
        if self.in_bucket > 0 {
            h.saturating_record_n(self.bucket.start, self.in_bucket);
        }
        let first = |delay| (h.lowest_equivalent(delay)..h.next_non_equivalent(delay), 1);
        (self.bucket, self.in_bucket) = delay.map_or((0..0, 0), first);
    }

    /// Reads the clocks; says by how much the clock of the stamps was set since the last look, ns.
    pub fn look(&mut self, clocks: Clocks) -> Option<i64> {
        self.now = clocks.now;
        self.until_look = LOOK;
        self.steady = clocks.steady;
        let ahead = clocks.now.0.saturating_sub(i64::try_from(clocks.steady).unwrap_or(i64::MAX));
        // Between two readings that lie apart anything may have passed.
        if !clocks.is_tight {
            return None;
        }
        let before = self.ahead.replace(ahead)?;
        let by = ahead.saturating_sub(before);
        if by.abs() < STEP {
            return None;
        }
        self.stepped = Some((by, self.steady));
        Some(by)
    }

    /// The stamp was made before the clock was set, so that it says nothing about the delay.
    fn is_of_another_time(&self, delay: i64) -> bool {
        let Some((by, when)) = self.stepped else { return false };
        let recent = self.steady.saturating_sub(when) < SETTLES;
        recent && if by > 0 { delay >= by - STEP } else { delay <= -STEP }
    }

    /// The loop was away for this long, ns.
    pub fn away(&mut self, ns: u64) {
        self.loop_gap_max = self.loop_gap_max.max(ns);
    }

    /// Distribution of the queue delay.
    pub fn queue_delay(&mut self) -> QueueDelay {
        self.turn_to(None);
        let at = |q: f64| self.delay.as_ref().map_or(0, |h| h.value_at_quantile(q).min(self.delay_max));
        QueueDelay { p50: at(0.50), p99: at(0.99), max: self.delay_max }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks(now: i64, steady: u64) -> Clocks {
        Clocks { now: Timestamp(now), steady, is_tight: true }
    }

    #[test]
    fn delays_are_counted_against_a_clock_that_is_looked_at_now_and_then() {
        let mut h = Health::default();
        let mut looks = 0;
        h.round();
        for i in 0..128 {
            h.waited(Timestamp(1_000_000 * i), || {
                looks += 1;
                clocks(200_000_000, 7)
            });
        }
        assert_eq!(looks, 2);
        let d = h.queue_delay();
        assert_eq!(d.max, 200_000_000);
        assert!((130_000_000..140_000_000).contains(&d.p50), "{d:?}");
        h.away(5);
        h.away(3);
        assert_eq!(h.loop_gap_max, 5);
    }

    #[test]
    fn delays_put_into_their_buckets_together_are_those_put_in_one_by_one() {
        let mut h = Health::default();
        let mut single = Histogram::<u64>::new_with_bounds(1_000, LONGEST, 2).unwrap();
        let (mut state, now) = (1u64, 100_000_000_000i64);
        for i in 0..20_000u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Slowly falling delays, as in a burst, with leaps between; some beyond the longest.
            let delay = if i % 97 == 0 { state % 90_000_000_000 } else { 3_000_000 - (i % 700) * 4_000 };
            h.waited(Timestamp(now - delay as i64), || clocks(now, 0));
            single.saturating_record(delay.min(LONGEST));
            if i % 1_000 == 0 || i == 19_999 {
                let at = |q| single.value_at_quantile(q).min(h.delay_max);
                let (p50, p99, max) = (at(0.50), at(0.99), h.delay_max);
                assert_eq!(h.queue_delay(), QueueDelay { p50, p99, max }, "after {i}");
            }
        }
    }

    #[test]
    fn a_stamp_ahead_of_the_clock_is_no_delay() {
        let mut h = Health::default();
        h.waited(Timestamp(10), || clocks(5, 5));
        assert_eq!(h.queue_delay(), QueueDelay { p50: 0, p99: 0, max: 0 });
    }

    #[test]
    fn a_clock_that_is_set_spoils_no_delay() {
        for by in [10_000_000_000, -10_000_000_000] {
            let mut h = Health::default();
            let base = 1_000_000_000_000;
            assert_eq!(h.waited(Timestamp(base), || clocks(base + 1_000_000, 50)), None);
            h.round();
            // Stamped before the clock was set, read after.
            let old = Timestamp(base + 2_000_000);
            assert_eq!(h.waited(old, || clocks(base + by + 4_000_000, 3_000_050)), Some(by));
            assert_eq!(h.waited(Timestamp(base + by + 3_000_000), || unreachable!()), None);
            let d = h.queue_delay();
            assert_eq!((d.max, d.p99), (1_000_000, 1_000_000), "{by}");
        }
    }

    #[test]
    fn readings_that_lie_apart_and_slewed_clocks_are_no_step() {
        let mut h = Health::default();
        assert_eq!(h.look(clocks(1_000, 0)), None);
        assert_eq!(h.look(Clocks { is_tight: false, ..clocks(900_000_000, 1) }), None);
        for i in 1..100 {
            assert_eq!(h.look(clocks(1_000 + i * 108_000_000, i as u64 * 100_000_000)), None);
        }
    }
}
