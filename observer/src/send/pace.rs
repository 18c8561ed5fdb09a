//! Deadlines: when the frames of a paced sender are due, what became of late ones, and how well they were kept.
//!
//! Time is an argument (nanoseconds of a monotonic clock); this file never reads a clock and never sleeps.

use hdrhistogram::Histogram;

/// Longest error that is told apart, ns; longer ones count as this.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Frames in a second, exact to a thousandth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(u64);

impl Rate {
    /// Slowest: one frame in 1,000 s.
    pub const MIN: Rate = Rate(1);
    /// Fastest: 10,000 frames a second.
    pub const MAX: Rate = Rate(10_000_000);

    /// A rate in thousandths of a hertz; `None` outside [`Rate::MIN`]..=[`Rate::MAX`].
    pub fn from_mhz(mhz: u64) -> Option<Rate> {
        (Rate::MIN.0..=Rate::MAX.0).contains(&mhz).then_some(Rate(mhz))
    }

    /// Thousandths of a hertz.
    pub fn mhz(self) -> u64 {
        self.0
    }

    /// Nanoseconds from the start to the deadline of a frame: rounded down, never accumulated, so that it does not
    /// drift whatever the rate.
    pub fn offset_ns(self, frame: u64) -> u64 {
        u64::try_from(u128::from(frame) * 1_000_000_000_000 / u128::from(self.0)).unwrap_or(u64::MAX)
    }

    /// The last frame that is due `ns` after the start.
    pub fn frame_at(self, ns: u64) -> u64 {
        // The first product of the rounding above that exceeds `ns` belongs to the frame behind.
        let behind = ((u128::from(ns) + 1) * u128::from(self.0)).div_ceil(1_000_000_000_000);
        u64::try_from(behind.saturating_sub(1)).unwrap_or(u64::MAX)
    }

    /// Frames of a run of this length: those that are due before its end.
    pub fn frames_in(self, ns: u64) -> u64 {
        if ns == 0 { 0 } else { self.frame_at(ns - 1) + 1 }
    }
}

/// How late things happened.
#[derive(Clone, Debug)]
pub struct Errors {
    late_ns: Histogram<u64>,
    longest_ns: u64,
}

/// Percentiles of how late things happened, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// Half were at most this late.
    pub p50_ns: u64,
    /// 99 of 100 were at most this late.
    pub p99_ns: u64,
    /// The latest, exact.
    pub max_ns: u64,
}

impl Errors {
    /// Nothing happened yet.
    #[allow(clippy::expect_used, reason = "the bounds are constants that the histogram takes")]
    pub fn new() -> Self {
        let late_ns = Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("constant bounds");
        Errors { late_ns, longest_ns: 0 }
    }

    /// Something happened so late.
    pub fn add(&mut self, late_ns: u64) {
        self.late_ns.saturating_record(late_ns.min(LONGEST_NS));
        self.longest_ns = self.longest_ns.max(late_ns);
    }

    /// Percentiles so far; all 0 when nothing happened.
    pub fn lateness(&self) -> Lateness {
        if self.late_ns.is_empty() {
            return Lateness::default();
        }
        let at = |quantile| self.late_ns.value_at_quantile(quantile).min(self.longest_ns);
        Lateness { p50_ns: at(0.5), p99_ns: at(0.99), max_ns: self.longest_ns }
    }
}

impl Default for Errors {
    fn default() -> Self {
        Errors::new()
    }
}

/// A frame that is to be sent at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Number of the period since the start, from 0.
    pub period: u64,
    /// How long after its deadline, ns; less than a period.
    pub late_ns: u64,
    /// Periods that passed without a frame since the turn before.
    pub skipped: u64,
}

/// Gives every period one frame at its absolute deadline, or none: whole periods that were missed are skipped and
/// counted, so that what follows a hold-up is never a burst.
#[derive(Clone, Debug)]
pub struct Pacer {
    start_ns: u64,
    rate: Rate,
    next: u64,
    skipped: u64,
    errors: Errors,
}

impl Pacer {
    /// The first frame is due at `start_ns`.
    pub fn new(start_ns: u64, rate: Rate) -> Self {
        Pacer { start_ns, rate, next: 0, skipped: 0, errors: Errors::new() }
    }

    /// When the next frame is due.
    pub fn deadline_ns(&self) -> u64 {
        self.due_ns(self.next)
    }

    /// Takes the turn that is due at `now_ns`; `None` before the deadline.
    ///
    /// A turn is late by less than a period. Periods that passed whole are skipped; the turn is that of the last one
    /// begun, so that at most two frames ever stand within one period.
    pub fn turn(&mut self, now_ns: u64) -> Option<Turn> {
        if now_ns < self.deadline_ns() {
            return None;
        }
        let period = self.rate.frame_at(now_ns - self.start_ns).max(self.next);
        let skipped = period - self.next;
        let late_ns = now_ns - self.due_ns(period);
        self.next = period + 1;
        self.skipped += skipped;
        self.errors.add(late_ns);
        Some(Turn { period, late_ns, skipped })
    }

    /// The period whose turn is next.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Leaves out so many periods on purpose; they do not count as skipped.
    pub fn pass_over(&mut self, periods: u64) {
        self.next = self.next.saturating_add(periods);
    }

    /// Periods that passed without a frame.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// How late the turns were.
    pub fn lateness(&self) -> Lateness {
        self.errors.lateness()
    }

    fn due_ns(&self, period: u64) -> u64 {
        self.start_ns.saturating_add(self.rate.offset_ns(period))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 7_000_000_123;

    fn hz(rate: u64) -> Rate {
        Rate::from_mhz(rate * 1000).unwrap()
    }

    #[test]
    fn deadlines_do_not_drift_at_any_rate() {
        for mhz in [1, 999, 1_000, 29_970, 44_100, 59_940, 60_000, 1_000_003, 10_000_000] {
            let rate = Rate::from_mhz(mhz).unwrap();
            // After as many frames as there are millihertz exactly 1,000 s have passed.
            assert_eq!(rate.offset_ns(mhz), 1_000_000_000_000, "{mhz}");
            assert_eq!(rate.offset_ns(mhz * 86_400), 86_400_000_000_000_000, "{mhz}");
        }
    }

    #[test]
    fn the_frame_at_a_time_is_the_last_one_due() {
        for mhz in [1, 333, 29_970, 60_000, 7_777_777, 10_000_000] {
            let rate = Rate::from_mhz(mhz).unwrap();
            // 31 years at the slowest rate.
            for frame in (0..500).chain([1 << 15, 1_000_003]) {
                let due = rate.offset_ns(frame);
                assert_eq!(rate.frame_at(due), frame, "{mhz} {frame}");
                assert_eq!(rate.frame_at(rate.offset_ns(frame + 1) - 1), frame, "{mhz} {frame}");
            }
        }
    }

    #[test]
    fn a_run_holds_the_frames_due_before_its_end() {
        let second = 1_000_000_000;
        let of = |rate: u64, ns| hz(rate).frames_in(ns);
        assert_eq!((of(60, second), of(60, 10 * second), of(40, second)), (60, 600, 40));
        assert_eq!((of(60, 0), of(60, 1), of(60, 16_666_666), of(60, 16_666_667)), (0, 1, 1, 2));
    }

    #[test]
    fn a_punctual_sender_gets_every_period_and_no_error() {
        let mut pacer = Pacer::new(START, hz(60));
        for period in 0..10_000 {
            let due = pacer.deadline_ns();
            assert_eq!(due, START + period * 1_000_000_000 / 60);
            assert_eq!(pacer.turn(due - 1), None);
            assert_eq!(pacer.turn(due), Some(Turn { period, late_ns: 0, skipped: 0 }));
        }
        assert_eq!((pacer.skipped(), pacer.lateness().max_ns), (0, 0));
    }

    #[test]
    fn one_late_frame_does_not_move_those_behind_it() {
        let mut pacer = Pacer::new(START, hz(100));
        pacer.turn(START).unwrap();
        let late = pacer.turn(START + 19_999_999).unwrap();
        assert_eq!(late, Turn { period: 1, late_ns: 9_999_999, skipped: 0 });
        assert_eq!(pacer.deadline_ns(), START + 20_000_000);
    }

    #[test]
    fn missed_periods_are_skipped_and_counted() {
        let mut pacer = Pacer::new(START, hz(100));
        pacer.turn(START).unwrap();
        let late = pacer.turn(START + 57_000_000).unwrap();
        assert_eq!(late, Turn { period: 5, late_ns: 7_000_000, skipped: 4 });
        assert_eq!(pacer.turn(START + 57_000_000), None, "nothing is made up for");
        assert_eq!((pacer.deadline_ns(), pacer.skipped()), (START + 60_000_000, 4));
    }

    #[test]
    fn periods_left_out_on_purpose_are_not_skipped() {
        let mut pacer = Pacer::new(START, hz(100));
        pacer.turn(START).unwrap();
        pacer.pass_over(10);
        assert_eq!((pacer.next(), pacer.deadline_ns()), (11, START + 110_000_000));
        assert_eq!(pacer.turn(START + 120_000_000), Some(Turn { period: 12, late_ns: 0, skipped: 1 }));
    }

    #[test]
    fn a_sender_that_begins_late_skips_the_first_periods() {
        let mut pacer = Pacer::new(START, hz(100));
        assert_eq!(pacer.turn(START + 30_000_000), Some(Turn { period: 3, late_ns: 0, skipped: 3 }));
    }

    /// Wakes at seeded times, early, late and very late, and checks what holds whatever the times are.
    #[test]
    fn whatever_the_hold_ups_no_period_has_two_frames_and_none_is_forgotten() {
        for seed in 1..200_u64 {
            let rate = Rate::from_mhz(1 + seed * 48_611 % 9_000_000).unwrap();
            let mut pacer = Pacer::new(START, rate);
            let mut state = seed;
            let (mut now, mut taken, mut skipped, mut last) = (START, 0, 0, None);
            for _ in 0..500 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let period = rate.offset_ns(1);
                let hold = [0, 1, period / 3, period - 1, period, period * 2, period * 7 + 5];
                now = now.max(pacer.deadline_ns()) + hold[(state >> 60) as usize % hold.len()];
                let turn = pacer.turn(now).unwrap();
                assert!(last.is_none_or(|last| turn.period > last), "seed {seed}: {turn:?}");
                assert!(turn.late_ns <= period, "seed {seed}: {turn:?} {period}");
                assert_eq!(START + rate.offset_ns(turn.period) + turn.late_ns, now, "seed {seed}");
                assert!(pacer.deadline_ns() > now, "seed {seed}: a second frame at once");
                (taken, skipped, last) = (taken + 1, skipped + turn.skipped, Some(turn.period));
            }
            assert_eq!(
                taken + skipped,
                last.unwrap() + 1,
                "seed {seed}: every period has a frame or is counted"
            );
            assert_eq!(pacer.skipped(), skipped, "seed {seed}");
        }
    }

    #[test]
    fn percentiles_are_of_the_errors_given() {
        let mut errors = Errors::new();
        assert_eq!(errors.lateness(), Lateness::default());
        (1..=1000).for_each(|n| errors.add(n));
        errors.add(u64::MAX);
        let Lateness { p50_ns, p99_ns, max_ns } = errors.lateness();
        assert!((495..=505).contains(&p50_ns) && (985..=995).contains(&p99_ns), "{p50_ns} {p99_ns}");
        assert_eq!(max_ns, u64::MAX);
    }

    #[test]
    fn rates_outside_the_limits_are_refused() {
        assert_eq!((Rate::from_mhz(0), Rate::from_mhz(10_000_001)), (None, None));
        assert_eq!((Rate::from_mhz(1), Rate::from_mhz(10_000_000)), (Some(Rate::MIN), Some(Rate::MAX)));
    }
}
