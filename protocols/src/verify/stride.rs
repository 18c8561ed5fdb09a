//! The IP id as a count: how far a stream's ids usually move from one datagram to the next, and so for how many datagrams
//! of the stream a jump of the id has room. A host that does not count evenly says nothing. It never decides anything.

/// Moves by the usual distance after which it is known.
const KNOWN: u8 = 16;
/// Moves that are remembered; a move by another distance takes half of them away.
const MOST: u8 = 32;

/// How far the ids of a stream usually move, towards one destination.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stride {
    last: u16,
    usual: u16,
    even: u8,
}

/// How far an id moved, and how far it usually does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moved {
    by: u16,
    /// 0 where it is not known.
    usual: u16,
}

impl Stride {
    /// Follows the id of the next datagram.
    #[inline]
    pub(crate) fn follow(&mut self, id: u16) -> Moved {
        let by = id.wrapping_sub(self.last);
        self.last = id;
        let moved = Moved { by, usual: if self.even < KNOWN { 0 } else { self.usual } };
        if by == self.usual {
            self.even = (self.even + 1).min(MOST);
        } else {
            self.even /= 2;
            self.usual = if self.even == 0 { by } else { self.usual };
        }
        moved
    }
}

impl Moved {
    /// The id has room for `n` datagrams of the stream that did not come, give or take what else the host may have sent:
    /// one in sixteen.
    pub(crate) fn says(self, n: i64) -> bool {
        let want = i64::from(self.usual).saturating_mul(n.saturating_add(1));
        let off = (i64::from(self.by) - want.rem_euclid(1 << 16)).rem_euclid(1 << 16);
        self.usual != 0 && off.min((1 << 16) - off) <= (want / 16).min(1024)
    }

    /// The host counts evenly, and its id has no room for just `n` datagrams.
    pub(crate) fn denies(self, n: i64) -> bool {
        self.usual != 0 && !self.says(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the last of these ids says.
    fn last(ids: impl IntoIterator<Item = u16>) -> Moved {
        let mut stride = Stride::default();
        ids.into_iter().fold(Moved::default(), |_, id| stride.follow(id))
    }

    #[test]
    fn an_even_count_tells_how_many_are_missing_across_the_end_of_the_ids() {
        for by in [1, 12] {
            let even = (0..40u16).map(|n| 65_300u16.wrapping_add(n * by));
            let moved = last(even.chain([65_300u16.wrapping_add((39 + 56) * by)]));
            assert!(
                moved.says(55) && !moved.says(0) && !moved.says(25) && moved.denies(0),
                "{by}: {moved:?}"
            );
        }
    }

    #[test]
    fn ids_that_stand_still_or_jump_about_say_nothing() {
        let jumps = (0..60u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 16) as u16);
        for moved in [last([7; 60]), last([0; 60]), last(jumps), last(0..10)] {
            assert!((0..300).all(|n| !moved.says(n) && !moved.denies(n)), "{moved:?}");
        }
    }
}
