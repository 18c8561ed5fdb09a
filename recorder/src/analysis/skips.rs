//! Frame ids that are missing: left out by the engine on purpose, or lost by writer, ring or reader.

use super::stages::records;
use crate::frames::Ring;
use crate::layout::{Kind, Record};

/// Frames that the engine left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skips {
    /// First ids, ascending.
    firsts: Vec<u32>,
    /// Frames left out by the skips in front of each, and by all.
    before: Vec<u64>,
}

impl Skips {
    /// Those of these records.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Skips {
        let skips = records.into_iter().filter(|record| record.kind() == Some(Kind::Skipped));
        let mut list: Vec<_> = skips.map(|r| ((r.aux() >> 32) as u32, r.aux() as u32)).collect();
        list.sort_unstable();
        let mut sum = 0;
        let mut before = vec![0];
        before.extend(list.iter().map(|(_, count)| {
            sum += u64::from(*count);
            sum
        }));
        Skips { firsts: list.into_iter().map(|(first, _)| first).collect(), before }
    }

    /// Of so many ids missing behind a frame, those that were not left out on purpose.
    pub fn lost(&self, after: u32, missing: u32) -> u32 {
        let first = u64::from(after.wrapping_add(1));
        let end = first + u64::from(missing);
        let wrapped = end.saturating_sub(1 << 32);
        let skipped = self.left_out(first, end) + self.left_out(0, wrapped);
        u32::try_from(u64::from(missing).saturating_sub(skipped)).unwrap_or_default()
    }

    /// Frames left out by skips that begin in a range of ids.
    fn left_out(&self, from: u64, to: u64) -> u64 {
        let until = |id: u64| {
            let at = self.firsts.partition_point(|first| u64::from(*first) < id);
            self.before.get(at).copied().unwrap_or_default()
        };
        until(to).saturating_sub(until(from))
    }
}

/// Ids missing between the frames of a ring that were not left out on purpose.
pub fn lost(ring: &Ring) -> u64 {
    let skips = Skips::of(records(ring, Kind::Skipped));
    ring.gaps.iter().map(|gap| u64::from(skips.lost(gap.after, gap.missing))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skips(list: &[(u32, u32)]) -> Skips {
        let record = |(first, count): &(u32, u32)| Record {
            ordinal: 0,
            words: [0, 0, 0, 9 << 8, u64::from(*first) << 32 | u64::from(*count)],
        };
        let records: Vec<_> = list.iter().map(record).collect();
        Skips::of(&records)
    }

    #[test]
    fn only_a_skip_of_the_same_gap_excuses_it() {
        let skips = skips(&[(11, 2), (30, 1), (31, 1), (u32::MAX, 1), (0, 1)]);
        assert_eq!(skips.lost(10, 2), 0);
        assert_eq!(skips.lost(10, 3), 1);
        assert_eq!(skips.lost(11, 2), 2, "the skip begins in front of the gap");
        assert_eq!(skips.lost(29, 2), 0);
        assert_eq!(skips.lost(u32::MAX - 1, 3), 1, "over the wrap of the ids");
        assert_eq!(skips.lost(50, 7), 7);
        assert_eq!(skips.lost(10, 0), 0);
    }
}
