//! Capture stamps as clocks give them: steady, leaping, standing still, wild.

use super::dice::Dice;
use wireproof_protocols::{Arrival, Timestamp};

pub(crate) const MS: i64 = 1_000_000;
pub(crate) const SECOND: i64 = 1000 * MS;
pub(crate) const YEAR: i64 = 365 * 86_400 * SECOND;

/// How capture stamps go on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pace {
    Steady,
    Leaps,
    Equal,
    Wild,
    FromTheEnds,
}

pub(crate) struct Time {
    pace: Pace,
    pub(crate) now: i64,
    step: i64,
    packet: u64,
}

impl Time {
    pub(crate) fn new(dice: &mut Dice) -> Time {
        let pace = [Pace::Steady, Pace::Steady, Pace::Leaps, Pace::Equal, Pace::Wild, Pace::FromTheEnds]
            [dice.below(6)];
        let now = match pace {
            Pace::FromTheEnds => [i64::MIN, i64::MAX - SECOND, i64::MIN / 2, i64::MAX / 2][dice.below(4)],
            _ => 1_700_000_000 * SECOND,
        };
        let step = [1, 1000, MS / 10, MS, 3 * MS, 20 * MS, 900 * MS][dice.below(7)];
        Time { pace, now, step, packet: 0 }
    }

    pub(crate) fn next(&mut self, dice: &mut Dice) -> Arrival {
        self.now = match self.pace {
            Pace::Equal => self.now,
            Pace::Wild => dice.wild(self.now),
            Pace::Leaps | Pace::FromTheEnds if dice.one_in(60) => dice.leap(self.now),
            _ => {
                let jitter = self.step / 8;
                let jitter = dice.below(usize::try_from(jitter).unwrap_or(0) + 1) as i64;
                self.now.saturating_add(self.step + jitter)
            }
        };
        let strange = dice.one_in(200);
        self.packet = if strange { dice.u64() } else { self.packet.wrapping_add(1) };
        Arrival { at: Timestamp(self.now), packet: self.packet }
    }
}

impl Dice {
    pub(crate) fn wild(&mut self, now: i64) -> i64 {
        match self.below(8) {
            0 => [i64::MIN, i64::MAX, 0, -1, 1][self.below(5)],
            1 => self.u64() as i64,
            _ => now.wrapping_add(self.below(2_000_000_000) as i64 - 1_000_000_000),
        }
    }

    pub(crate) fn leap(&mut self, now: i64) -> i64 {
        let by = [1, 5 * MS, 11 * MS, SECOND, 2600 * MS, 3600 * SECOND, YEAR, 90 * YEAR];
        let by = by[self.below(by.len())];
        if self.one_in(3) { now.saturating_sub(by) } else { now.saturating_add(by) }
    }
}
