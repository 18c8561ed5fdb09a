//! A sender that begins its numbers anew, leaves out what does not change, or counts through a value that means "not used":
//! number, time and IP id weighed against each other. It takes no datagram and counts nothing.

use super::model::{Model, Unit};
use super::observation::Observation;
use super::sequence::{Lane, Place, Recent, fits};
use super::stride::Moved;

/// Frames by which numbers and time have to be apart before time speaks against the numbers.
pub(super) const LEAP: i64 = 8;
/// Silence after which a number that came before is no duplicate any more but a beginning, ms; without a cadence the
/// longer one.
pub(super) const ANEW_MS: (u32, u32) = (1_000, 2_500);

impl Place {
    /// The silence may be one of content that does not change: nothing shows that something was sent in it.
    pub(super) fn excuses(&self, o: &Observation) -> bool {
        self.repeats && !self.estimate.is_some_and(|e| e > 0 && self.counted(o).says(e))
    }

    /// What the IP id says; nothing where a counter runs over several destinations, which have ids of their own.
    pub(super) fn counted(&self, o: &Observation) -> Moved {
        if self.shared { Moved::default() } else { o.moved }
    }

    /// `skipped` numbers are too many for the time that passed at the stream's pace.
    pub(super) fn crowds(&self, skipped: i64) -> bool {
        let chunks = self.chunks.clamp(1, 1 << 16);
        let room = |e: i64| e.max(0).saturating_add(2 * chunks).saturating_mul(2);
        skipped >= LEAP * chunks && !self.catching_up && self.estimate.is_some_and(|e| skipped > room(e))
    }
}

impl Lane {
    /// The cycle that this sender keeps, where `o` shows that it goes through the value that means "not used": the value
    /// comes just after the last number, in the place of the first.
    pub(crate) fn counts_through(&self, o: &Observation, unused: Option<u32>) -> Option<Model> {
        let at_end = self.started && self.model.step == 1 && self.place + 1 == self.model.cycle;
        let between = o.counts() && unused == Some(o.raw) && o.raw.checked_add(1) == Some(self.model.first);
        let counted = self.model.unit != Unit::Nothing && at_end && between;
        counted.then_some(Model { cycle: self.model.cycle + 1, first: o.raw, ..self.model })
    }

    /// The newest number as it is on the wire, where numbers are counted.
    pub(crate) fn newest_raw(&self) -> u32 {
        self.model.first.saturating_add(u32::try_from(self.place).unwrap_or(u32::MAX))
    }

    /// The number and the place in the frame with which a sender begins.
    pub(super) fn at_first(&self, o: &Observation, p: &Place) -> bool {
        let second = self.model.first == 0 && o.raw == 1 && self.model.cycle <= 16;
        (o.raw == self.model.first || second) && p.position == 0
    }

    /// The first number again after a silence, where it lies behind the newest: nothing on a path repeats or delays a
    /// datagram for so long.
    pub(super) fn comes_back(&self, o: &Observation, p: &Place, forward: i64, cycle: i64) -> bool {
        if !self.at_first(o, p) || self.model.cycle <= 16 || forward >= 1 && forward <= cycle / 2 {
            return false;
        }
        let newest = self.recent[usize::try_from(self.highest & 31).unwrap_or(0)];
        let silence = Recent::of(o).at_ms.wrapping_sub(newest.at_ms);
        let skipped = (forward - 1).rem_euclid(cycle);
        match p.estimate {
            // The same number again and again may be one that never moves.
            None => forward != 0 && silence >= ANEW_MS.1,
            Some(e) => silence >= ANEW_MS.0 && e >= LEAP * p.chunks.max(1) && !fits(e, skipped, cycle),
        }
    }

    /// The first number again, where it lies ahead of the newest and time and IP id do not agree that the numbers between
    /// were lost. A cycle of few numbers is no sign of a beginning without the IP id.
    pub(super) fn begins_ahead(&self, o: &Observation, p: &Place, skipped: i64, cycle: i64) -> bool {
        let ids = p.counted(o);
        if ids.says(skipped) || o.ip_runs_on || self.model.shared || p.shared {
            return false;
        }
        let leap = LEAP * p.chunks.clamp(1, 1 << 16);
        let Some(e) = p.estimate else { return skipped >= leap && ids.denies(skipped) };
        let long = !fits(e, skipped, cycle) && e - skipped >= leap;
        if self.model.cycle <= 16 {
            return long && e - skipped > cycle && ids.denies(skipped) && ids.denies(e);
        }
        long || p.crowds(skipped) || skipped >= leap && ids.denies(skipped) && ids.denies(e)
    }

    /// Nothing but the numbers speaks for a loss, and something speaks against it: time has no room for so many, or a sender
    /// begins with this number.
    pub(super) fn doubtful(&self, o: &Observation, p: &Place, skipped: i64, cycle: i64) -> bool {
        if p.counted(o).says(skipped) || self.model.shared || p.shared {
            return false;
        }
        let leap = LEAP * p.chunks.clamp(1, 1 << 16);
        let begins = self.at_first(o, p)
            && match p.estimate {
                None => self.model.cycle > 16 && skipped >= leap,
                Some(e) => !fits(e, skipped, cycle) && e - skipped > cycle.max(leap),
            };
        begins || cycle > 16 && !p.repeats && p.crowds(skipped)
    }
}
