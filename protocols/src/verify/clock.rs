//! The capture clock: a time that never runs backwards for the engine, and the steps it was made from.

use crate::Timestamp;
use crate::time::{MS, SECOND};

/// A step back of less than this is jitter between capture queues and is flattened.
const JITTER: i64 = 10 * MS;
/// A silence of the whole capture from this long on may be a step forward.
const LEAP: i64 = SECOND;

/// No capture pauses for this long: the clock was set.
const SET_FORWARD: i64 = 30 * 86_400 * SECOND;

/// Engine time ends here, so that no sum or difference of two instants overflows.
const END: i64 = i64::MAX / 8;

/// What a new stamp did to the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tick {
    /// Nothing unusual.
    Normal,
    /// The clock was set back by this many nanoseconds.
    Back(i64),
    /// The clock was set forward by this many nanoseconds.
    Forward(i64),
    /// Nothing at all was captured for this long.
    Leap(i64),
}

/// Engine time from capture stamps: nanoseconds since the first one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    last_stamp: Option<i64>,
    now: i64,
    first: Option<i64>,
    latest: i64,
}

impl Clock {
    /// Takes a stamp; returns the engine's time, which never decreases, and what happened.
    pub(crate) fn advance(&mut self, at: Timestamp) -> (i64, Tick) {
        let Some(last) = self.last_stamp else {
            self.last_stamp = Some(at.0);
            self.first = Some(at.0);
            self.latest = at.0;
            return (self.now, Tick::Normal);
        };
        let step = at.0.saturating_sub(last);
        self.first = self.first.map(|f| f.min(at.0));
        self.latest = self.latest.max(at.0);
        if step < 0 && step > -JITTER {
            return (self.now, Tick::Normal);
        }
        self.last_stamp = Some(at.0);
        if step < 0 {
            return (self.now, Tick::Back(step.saturating_neg()));
        }
        if step > SET_FORWARD {
            return (self.now, Tick::Forward(step));
        }
        let step = step.min((END - self.now).max(0));
        self.now += step;
        (self.now, if step >= LEAP { Tick::Leap(step) } else { Tick::Normal })
    }

    /// Engine time of the newest stamp.
    pub(crate) fn now(&self) -> i64 {
        self.now
    }

    /// Smallest and largest stamp seen.
    pub(crate) fn stamps(&self) -> (Option<i64>, Option<i64>) {
        (self.first, self.first.map(|_| self.latest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engine_time_never_decreases_and_steps_are_told() {
        let mut c = Clock::default();
        let ticks: Vec<(i64, Tick)> =
            [10_000, 20_000, 19_000, 8_000, 9_000].iter().map(|ms| c.advance(Timestamp(ms * MS))).collect();
        assert_eq!(ticks[1].1, Tick::Leap(10 * SECOND));
        assert_eq!(ticks[2].1, Tick::Back(SECOND));
        assert_eq!(ticks[3].1, Tick::Back(11 * SECOND));
        assert!(ticks.windows(2).all(|w| w[0].0 <= w[1].0), "{ticks:?}");
        assert_eq!(c.stamps(), (Some(8_000 * MS), Some(20_000 * MS)));
    }
}
