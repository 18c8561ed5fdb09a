//! The capture clock: a time that never runs backwards for the engine, and the steps it was made from.

use crate::Timestamp;
use crate::time::{MS, SECOND};

/// A step back of less than this is jitter between capture queues and is flattened.
pub(super) const JITTER: i64 = 10 * MS;
/// A silence of the whole capture from this long on may be a step forward.
pub(super) const LEAP: i64 = SECOND;

/// No capture pauses for this long: the clock was set.
pub(super) const SET_FORWARD: i64 = 30 * 86_400 * SECOND;

/// An announced step is looked for in so much engine time after the announcement, and between packets no further apart.
const ANNOUNCED: i64 = 60 * SECOND;

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
    /// A step that the observer knows of, and the engine time it said so.
    announced: Option<(i64, i64)>,
}

impl Clock {
    /// The clock of the stamps was set by this many nanoseconds; the stamps to come will show it.
    pub(crate) fn announce(&mut self, by: i64) {
        // Two steps before any packet are one.
        let before = self.announced.map_or(0, |(by, _)| by);
        self.announced = Some((before.saturating_add(by), self.now));
    }

    /// The time that really passed, when `step` between two stamps holds the announced one.
    fn passed(&mut self, step: i64) -> Option<(i64, i64)> {
        let (by, said) = self.announced?;
        if self.now - said > ANNOUNCED {
            self.announced = None;
            return None;
        }
        let passed = step.saturating_sub(by);
        let shows = if by < 0 { step <= -JITTER } else { step >= by.saturating_sub(JITTER) };
        (shows && passed > -JITTER && passed <= ANNOUNCED).then_some((by, passed.max(0)))
    }

    /// Takes a stamp; returns the engine's time, which never decreases, and what happened.
    #[inline(always)]
    pub(crate) fn advance(&mut self, at: Timestamp) -> (i64, Tick) {
        // The usual stamp: a little later than the last one, which is no earlier than the first.
        if let (Some(last), None) = (self.last_stamp, self.announced)
            && let step @ 0..LEAP = at.0.saturating_sub(last)
            && self.now < END - LEAP
        {
            self.last_stamp = Some(at.0);
            self.latest = self.latest.max(at.0);
            self.now += step;
            return (self.now, Tick::Normal);
        }
        self.weigh(at)
    }

    /// Any stamp.
    #[inline(never)]
    fn weigh(&mut self, at: Timestamp) -> (i64, Tick) {
        let Some(last) = self.last_stamp else {
            self.last_stamp = Some(at.0);
            self.first = Some(at.0);
            self.latest = at.0;
            return (self.now, Tick::Normal);
        };
        let step = at.0.saturating_sub(last);
        self.first = self.first.map(|f| f.min(at.0));
        self.latest = self.latest.max(at.0);
        if let Some((by, passed)) = self.passed(step) {
            self.announced = None;
            self.last_stamp = Some(at.0);
            self.now += passed.min((END - self.now).max(0));
            let tick = if by < 0 { Tick::Back(by.saturating_neg()) } else { Tick::Forward(by) };
            return (self.now, tick);
        }
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

    /// Time that really passed from the last stamp to this one, ns; 0 when the clock was set back or far forward.
    pub(crate) fn since(&mut self, at: Timestamp) -> i64 {
        let step = self.last_stamp.map_or(0, |last| at.0.saturating_sub(last));
        let passed = self.passed(step).map_or(step, |(_, passed)| passed);
        if (0..=SET_FORWARD).contains(&passed) { passed } else { 0 }
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

    #[test]
    fn an_announced_step_is_taken_out_where_the_stamps_show_it_and_nowhere_else() {
        for (by, tick) in [(10, Tick::Forward(10 * SECOND)), (-10, Tick::Back(10 * SECOND))] {
            let mut c = Clock::default();
            let mut stamp = 100 * SECOND;
            let mut advance = |c: &mut Clock, by: i64| {
                stamp += by;
                c.advance(Timestamp(stamp))
            };
            advance(&mut c, 0);
            c.announce(by * SECOND);
            // One that waited in the buffer while the clock was set.
            assert_eq!(advance(&mut c, 20 * MS), (20 * MS, Tick::Normal));
            assert_eq!(
                c.clone().since(Timestamp((100 + by) * SECOND + 50 * MS)),
                30 * MS,
                "the step is taken out"
            );
            assert_eq!(advance(&mut c, by * SECOND + 30 * MS), (50 * MS, tick));
            assert_eq!(advance(&mut c, 20 * MS), (70 * MS, Tick::Normal));
            assert_eq!(advance(&mut c, 10 * SECOND), (70 * MS + 10 * SECOND, Tick::Leap(10 * SECOND)));
        }
    }

    #[test]
    fn hostile_announcements_overflow_nothing() {
        let mut c = Clock::default();
        for by in [i64::MAX, i64::MIN, i64::MAX, 1, -1] {
            c.announce(by);
            for at in [0, i64::MAX, i64::MIN, 5] {
                c.advance(Timestamp(at));
            }
        }
        assert!(c.now() >= 0);
    }
}
