//! How the receive loop itself is doing: the gaps between its rounds and how long datagrams waited in the kernel.

use hdrhistogram::Histogram;
use wireproof_protocols::Timestamp;
use wireproof_reports::QueueDelay;

/// Largest queue delay told apart: one minute.
const LONGEST: u64 = 60_000_000_000;
/// Datagrams between two looks at the clock: what arrives meanwhile waits at least until the next look.
const LOOK: u32 = 64;

/// State of the receive loop. All memory is taken at the start.
#[derive(Debug)]
pub struct Health {
    delay: Option<Histogram<u64>>,
    delay_max: u64,
    now: Timestamp,
    until_look: u32,
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
        Health { delay, delay_max: 0, now: Timestamp(0), until_look: 0, loop_gap_max: 0 }
    }
}

impl Health {
    /// A round begins: the clock has to be looked at again.
    pub fn round(&mut self) {
        self.until_look = 0;
    }

    /// A datagram stamped `at` by the kernel is in hand. `clock` reads the clock of the stamps.
    #[inline]
    pub fn waited(&mut self, at: Timestamp, clock: impl FnOnce() -> Timestamp) {
        if self.until_look == 0 {
            self.now = clock();
            self.until_look = LOOK;
        }
        self.until_look -= 1;
        let delay = u64::try_from(self.now.0.saturating_sub(at.0)).unwrap_or(0);
        self.delay_max = self.delay_max.max(delay);
        if let Some(h) = &mut self.delay {
            h.saturating_record(delay.min(LONGEST));
        }
    }

    /// The loop was away for this long, ns.
    pub fn away(&mut self, ns: u64) {
        self.loop_gap_max = self.loop_gap_max.max(ns);
    }

    /// Distribution of the queue delay.
    pub fn queue_delay(&self) -> QueueDelay {
        let at = |q: f64| self.delay.as_ref().map_or(0, |h| h.value_at_quantile(q).min(self.delay_max));
        QueueDelay { p50: at(0.50), p99: at(0.99), max: self.delay_max }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_counted_against_a_clock_that_is_looked_at_now_and_then() {
        let mut h = Health::default();
        let mut looks = 0;
        h.round();
        for i in 0..128 {
            h.waited(Timestamp(1_000_000 * i), || {
                looks += 1;
                Timestamp(200_000_000)
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
    fn a_stamp_ahead_of_the_clock_is_no_delay() {
        let mut h = Health::default();
        h.waited(Timestamp(10), || Timestamp(5));
        assert_eq!(h.queue_delay(), QueueDelay { p50: 0, p99: 0, max: 0 });
    }
}
