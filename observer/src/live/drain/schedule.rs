//! When downloads start: at the multiples of an interval, whatever the ones before took.

use std::time::Duration;

/// The starts of one run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    every_ns: u128,
    /// Last multiple that lies within the run.
    last: u64,
    next: u64,
}

/// A start to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start {
    /// Which multiple it is.
    pub(super) number: u64,
    /// Time from the run's start.
    pub(super) at: Duration,
}

impl Schedule {
    /// Starts at 1, 2, 3 and so on times `every`, before the end of `run`; `None` for an interval of 0.
    pub(super) fn new(every: Duration, run: Option<Duration>) -> Option<Self> {
        let every_ns = every.as_nanos();
        let last = match run {
            Some(run) => run.as_nanos().saturating_sub(1).checked_div(every_ns)?,
            None => u128::MAX,
        };
        let last = u64::try_from(last).unwrap_or(u64::MAX - 1);
        (every_ns > 0).then_some(Schedule { every_ns, last, next: 1 })
    }

    /// The next start that is not over at `elapsed` after the run's start, and how many are over. A start is over once
    /// the one after it is due. There is none behind the end of the run.
    pub(super) fn upcoming(&mut self, elapsed: Duration) -> (Option<Start>, u64) {
        let due = u64::try_from(elapsed.as_nanos() / self.every_ns).unwrap_or(u64::MAX);
        let number = self.next.max(due).min(self.last.saturating_add(1));
        let skipped = number.saturating_sub(self.next);
        self.next = number;
        (self.start(number), skipped)
    }

    /// Takes a start off the list.
    pub(super) fn begun(&mut self, start: Start) {
        self.next = start.number.saturating_add(1);
    }

    /// Leaves out the starts that were due before `elapsed`, and returns how many: what runs into the time of the
    /// next start takes its place.
    pub(super) fn pass(&mut self, elapsed: Duration) -> u64 {
        let passed = u64::try_from(elapsed.as_nanos().div_ceil(self.every_ns)).unwrap_or(u64::MAX);
        let number = self.next.max(passed).min(self.last.saturating_add(1));
        let skipped = number.saturating_sub(self.next);
        self.next = self.next.max(number);
        skipped
    }

    fn start(&self, number: u64) -> Option<Start> {
        let ns = self.every_ns.checked_mul(u128::from(number))?;
        let at = Duration::from_nanos(u64::try_from(ns).ok()?);
        (number <= self.last).then_some(Start { number, at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Runs a schedule with downloads that all take `took`; returns the numbers begun and how many were skipped.
    fn run(every: Duration, run: Duration, took: Duration) -> (Vec<u64>, u64) {
        let mut schedule = Schedule::new(every, Some(run)).unwrap();
        let (mut now, mut numbers, mut skipped) = (Duration::ZERO, Vec::new(), 0);
        loop {
            let (start, over) = schedule.upcoming(now);
            skipped += over;
            let Some(start) = start else { return (numbers, skipped) };
            assert!(start.at >= now, "{start:?} at {now:?}");
            numbers.push(start.number);
            schedule.begun(start);
            now = start.at + took;
            skipped += schedule.pass(now);
        }
    }

    #[test]
    fn a_minute_every_five_seconds_has_eleven_starts() {
        let (numbers, skipped) = run(5 * SECOND, 60 * SECOND, SECOND / 5);
        assert_eq!((numbers, skipped), ((1..=11).collect(), 0));
        assert_eq!(run(5 * SECOND, 60 * SECOND + Duration::from_nanos(1), SECOND).0.len(), 12);
    }

    #[test]
    fn a_start_that_is_due_while_another_runs_is_skipped_and_counted() {
        assert_eq!(run(5 * SECOND, 60 * SECOND, 7 * SECOND), (vec![1, 3, 5, 7, 9, 11], 5));
        assert_eq!(run(5 * SECOND, 60 * SECOND, 600 * SECOND), (vec![1], 10));
    }

    #[test]
    fn a_download_that_takes_the_whole_interval_skips_nothing() {
        assert_eq!(run(5 * SECOND, 60 * SECOND, 5 * SECOND), ((1..=11).collect(), 0));
        assert_eq!(run(5 * SECOND, 60 * SECOND, 5 * SECOND + Duration::from_nanos(1)).0, [1, 3, 5, 7, 9, 11]);
    }

    #[test]
    fn a_process_that_did_not_run_begins_again_at_the_multiple_that_is_due() {
        let mut schedule = Schedule::new(5 * SECOND, None).unwrap();
        assert_eq!(schedule.upcoming(4 * SECOND), (Some(Start { number: 1, at: 5 * SECOND }), 0));
        assert_eq!(schedule.upcoming(9 * SECOND), (Some(Start { number: 1, at: 5 * SECOND }), 0));
        assert_eq!(schedule.upcoming(21 * SECOND), (Some(Start { number: 4, at: 20 * SECOND }), 3));
    }

    #[test]
    fn no_time_and_no_interval_is_too_long() {
        assert!(Schedule::new(Duration::ZERO, None).is_none());
        assert!(Schedule::new(Duration::ZERO, Some(SECOND)).is_none());
        let mut endless = Schedule::new(Duration::MAX, None).unwrap();
        assert_eq!(endless.upcoming(Duration::ZERO), (None, 0));
        let mut fast = Schedule::new(Duration::from_nanos(1), None).unwrap();
        let (start, skipped) = fast.upcoming(Duration::MAX);
        assert!(start.is_none() && skipped > 0);
        let mut none = Schedule::new(SECOND, Some(Duration::ZERO)).unwrap();
        assert_eq!((none.upcoming(Duration::ZERO), none.pass(Duration::MAX)), ((None, 0), 0));
    }
}
