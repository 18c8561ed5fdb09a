//! When the datagrams of a capture are due: capture time mapped to the clock of the sender. Time is an argument.

use wireproof_protocols::Timestamp;
use wireproof_protocols::time::SECOND;

/// A capture clock that falls back by more than this was set; less is disorder between interfaces.
const STEP_NS: i64 = SECOND;

/// Speed of a replay: parts in a thousand of the original.
pub(super) const NORMAL_SPEED: u64 = 1_000;

/// Deadlines of the datagrams, absolute: none depends on when the one before left.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// Thousandths of the original speed; 0 means as fast as possible.
    speed: u64,
    most_gap_ns: Option<u64>,
    /// Sender's time of the first datagram, moved by hold-ups.
    base_ns: Option<u64>,
    /// Capture time passed since the first datagram, over all rounds.
    passed_ns: u64,
    newest: Option<Timestamp>,
    datagrams: u64,
    again: bool,
    clock_steps: u64,
}

impl Timeline {
    /// A timeline at `speed` thousandths of the original (0: everything is due at once), gaps in the file shortened
    /// to `most_gap_ns`.
    pub fn new(speed: u64, most_gap_ns: Option<u64>) -> Self {
        Timeline {
            speed,
            most_gap_ns,
            base_ns: None,
            passed_ns: 0,
            newest: None,
            datagrams: 0,
            again: false,
            clock_steps: 0,
        }
    }

    /// When a datagram captured at `at` is due; the first is due now.
    pub fn due_ns(&mut self, at: Timestamp, now_ns: u64) -> u64 {
        let base = *self.base_ns.get_or_insert(now_ns);
        let gap = self.gap_ns(at);
        self.passed_ns = self.passed_ns.saturating_add(self.most_gap_ns.map_or(gap, |most| gap.min(most)));
        self.datagrams += 1;
        if self.speed == 0 {
            return now_ns;
        }
        let offset = u128::from(self.passed_ns) * u128::from(NORMAL_SPEED) / u128::from(self.speed);
        base.saturating_add(u64::try_from(offset).unwrap_or(u64::MAX))
    }

    /// Moves everything that follows: the sender was held up, and nothing is made up for.
    pub fn move_by(&mut self, ns: u64) {
        self.base_ns = self.base_ns.map(|base| base.saturating_add(ns));
    }

    /// The file begins again: its first datagram follows its last after the mean distance of two.
    pub fn begin_again(&mut self) {
        self.again = self.datagrams > 0;
    }

    /// Times the clock of the capture was set back.
    pub fn clock_steps(&self) -> u64 {
        self.clock_steps
    }

    /// Capture time since the newest datagram.
    fn gap_ns(&mut self, at: Timestamp) -> u64 {
        let Some(newest) = self.newest.filter(|_| !self.again) else {
            self.newest = Some(at);
            let mean = self.passed_ns / self.datagrams.saturating_sub(1).max(1);
            return if std::mem::take(&mut self.again) { mean } else { 0 };
        };
        let gap = at.since(newest);
        if gap < -STEP_NS {
            self.clock_steps += 1;
            self.newest = Some(at);
        } else {
            self.newest = Some(newest.max(at));
        }
        u64::try_from(gap).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 500;

    fn dues(timeline: &mut Timeline, at: &[i64]) -> Vec<u64> {
        at.iter().map(|at| timeline.due_ns(Timestamp(*at), NOW) - NOW).collect()
    }

    fn normal() -> Timeline {
        Timeline::new(NORMAL_SPEED, None)
    }

    #[test]
    fn datagrams_are_due_as_far_apart_as_they_were_captured() {
        assert_eq!(dues(&mut normal(), &[-70, -60, -60, 0, 1_000]), [0, 10, 10, 70, 1_070]);
    }

    #[test]
    fn speed_changes_distances_and_not_order() {
        assert_eq!(dues(&mut Timeline::new(2_000, None), &[0, 100, 301]), [0, 50, 150]);
        assert_eq!(dues(&mut Timeline::new(100, None), &[0, 100, 301]), [0, 1_000, 3_010]);
        assert_eq!(dues(&mut Timeline::new(0, None), &[0, 100, 301]), [0, 0, 0]);
    }

    #[test]
    fn rounding_does_not_add_up() {
        let mut timeline = Timeline::new(1_500, None);
        let last = (0..=3_000_000).map(|n| timeline.due_ns(Timestamp(n), NOW)).last();
        assert_eq!(last, Some(NOW + 2_000_000));
    }

    #[test]
    fn long_gaps_are_kept_or_shortened() {
        let hour = 3_600_000_000_000;
        assert_eq!(dues(&mut normal(), &[0, hour]), [0, hour as u64]);
        assert_eq!(
            dues(&mut Timeline::new(NORMAL_SPEED, Some(100)), &[0, 7, hour, hour + 1]),
            [0, 7, 107, 108]
        );
    }

    #[test]
    fn disorder_is_sent_at_once_and_does_not_stretch_the_run() {
        assert_eq!(dues(&mut normal(), &[0, 100, 90, 110]), [0, 100, 100, 110]);
    }

    #[test]
    fn a_clock_set_back_goes_on_from_there() {
        let mut timeline = normal();
        let back = 100 - 3_600_000_000_000;
        assert_eq!(dues(&mut timeline, &[0, 100, back, back + 10]), [0, 100, 100, 110]);
        assert_eq!(timeline.clock_steps(), 1);
    }

    #[test]
    fn what_follows_a_hold_up_is_moved() {
        let mut timeline = normal();
        assert_eq!(dues(&mut timeline, &[0, 100]), [0, 100]);
        timeline.move_by(1_000);
        assert_eq!(dues(&mut timeline, &[110, 120]), [1_110, 1_120]);
    }

    #[test]
    fn another_round_follows_after_the_mean_distance() {
        let mut timeline = normal();
        timeline.begin_again();
        assert_eq!(dues(&mut timeline, &[1_000, 1_010, 1_020]), [0, 10, 20]);
        timeline.begin_again();
        assert_eq!(dues(&mut timeline, &[1_000, 1_010, 1_020]), [30, 40, 50]);
        assert_eq!(timeline.clock_steps(), 0);
    }
}
