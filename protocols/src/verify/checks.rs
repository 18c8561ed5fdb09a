//! The UDP checksums of one host: whose the wrong ones are, the wire's or the network card's.
//!
//! A capture on the sending host sees datagrams before its network card puts the checksum in: then all of them are
//! wrong, but for what chance makes right. On a path that damages datagrams right ones come between. Each wrong one is
//! decided once: when it comes, or, before the first right one of its host, with that. It never looks at a datagram.

/// Wrong checksums for each right one from which on they are the network card's; beside the first right one so many
/// before it.
pub(super) const OFFLOAD_OF: u64 = 20;
/// Wrong checksums that speak for the network card beside right ones yet to come, at most.
const CREDIT_MAX: u64 = 2 * OFFLOAD_OF;

/// What the checksums of a host show so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Checks {
    /// Right ones.
    pub good: u64,
    /// Wrong ones that are the network card's.
    pub carded: u64,
    /// Wrong ones that are damage.
    pub broken: u64,
    /// First one of `carded`: record and stamp.
    pub first: (u64, i64),
    /// Of `carded`: of datagrams that break no shape rule.
    sound: u64,
    /// A wrong one that comes beside right ones is the network card's all the same.
    by_card: bool,
    /// What speaks for the network card: wrong ones, of which a right one takes [`OFFLOAD_OF`].
    credit: u64,
}

/// What a checksum says about datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Damage {
    /// Datagrams before it that were damaged, as is known with it.
    pub before: u64,
    /// Of these: those that break no shape rule.
    pub sound: u64,
    /// It is of a damaged datagram itself.
    pub itself: bool,
    /// Record and stamp of the first of them.
    pub first: (u64, i64),
}

impl Checks {
    /// How many there are.
    pub(crate) fn all(&self) -> u64 {
        self.good + self.carded + self.broken
    }

    /// Nothing is open: another right one says nothing.
    #[inline]
    pub(crate) fn is_calm(&self) -> bool {
        self.good > 0 && self.credit == 0 && !self.by_card
    }

    /// Counts a right one; returns how many wrong ones before it are damage, and how many of these break no shape rule:
    /// with the first right one, unless they were many.
    #[inline]
    pub(crate) fn right(&mut self) -> (u64, u64) {
        self.good += 1;
        if self.credit == 0 && !self.by_card { (0, 0) } else { self.doubt() }
    }

    #[cold]
    fn doubt(&mut self) -> (u64, u64) {
        let enough = self.credit >= OFFLOAD_OF;
        self.credit = self.credit.saturating_sub(OFFLOAD_OF);
        let first = self.good == 1;
        self.by_card = enough && (self.by_card || first);
        if first && !enough {
            self.broken += self.carded;
            return (std::mem::take(&mut self.carded), std::mem::take(&mut self.sound));
        }
        (0, 0)
    }

    /// Counts a wrong one, of a datagram that breaks no shape rule or does; `true` when it is damage, `false` when it is the
    /// network card's as far as is known.
    pub(crate) fn wrong(&mut self, place: (u64, i64), sound: bool) -> bool {
        self.credit = (self.credit + 1).min(CREDIT_MAX);
        self.by_card |= self.credit >= OFFLOAD_OF;
        if self.good > 0 && !self.by_card {
            self.broken += 1;
            return true;
        }
        if self.carded == 0 {
            self.first = place;
        }
        self.carded += 1;
        self.sound += u64::from(sound);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (right, the network card's, damage) after a row of checksums, `+` right and `-` wrong.
    fn count(row: &str) -> (u64, u64, u64) {
        let mut checks = Checks::default();
        let mut told = 0;
        for (at, sign) in row.chars().enumerate() {
            told += match sign {
                '+' => checks.right().0,
                _ => u64::from(checks.wrong((at as u64, 0), true)),
            };
        }
        assert_eq!((told, checks.all()), (checks.broken, row.len() as u64), "each is told once: {row}");
        (checks.good, checks.carded, checks.broken)
    }

    #[test]
    fn wrong_checksums_are_the_network_cards_or_damage_and_never_both() {
        let often = |row: &str, n: usize| row.repeat(n);
        let rows = [
            ("all wrong: a capture on the sender", often("-", 400), (0, 400, 0)),
            ("all right", often("+", 400), (400, 0, 0)),
            ("one of many", often("+", 200) + "-" + &often("+", 200), (400, 0, 1)),
            ("the very first one", "-".to_owned() + &often("+", 400), (400, 0, 1)),
            ("a few before the first right one", often("-", 19) + &often("+", 400), (400, 0, 19)),
            ("every second", often("+-", 200), (200, 0, 200)),
            ("every second, a wrong one first", often("-+", 200), (200, 0, 200)),
            ("every tenth", often("+++++-++++", 40), (360, 0, 40)),
            ("nine of ten", often("-----+----", 40), (40, 0, 360)),
            ("one right by chance", often("-", 100) + "+" + &often("-", 100), (1, 200, 0)),
            ("one right by chance, early", often("-", 20) + "+" + &often("-", 100), (1, 120, 0)),
            ("two right in a row", often("-", 100) + "++" + &often("-", 100), (2, 200, 0)),
            ("the card's until that was turned off", often("-", 100) + &often("+", 100), (100, 100, 0)),
            // Until a row of wrong ones is long enough they count as damage: nothing told is taken back.
            ("the card's since that was turned on", often("+", 100) + &often("-", 100), (100, 81, 19)),
        ];
        for (what, row, expected) in rows {
            assert_eq!(count(&row), expected, "{what}");
        }
    }
}
