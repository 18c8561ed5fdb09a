//! Frame ids that are missing: left out by the engine on purpose, or lost by writer, ring or reader.

use super::stages::records;
use crate::frames::Ring;
use crate::layout::{Kind, Record};

/// Frames that the engine left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skips(Vec<(u32, u32)>);

impl Skips {
    /// Those of these records.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Skips {
        let skips = records.into_iter().filter(|record| record.kind() == Some(Kind::Skipped));
        let mut list: Vec<_> = skips.map(|r| ((r.aux() >> 32) as u32, r.aux() as u32)).collect();
        list.sort_unstable();
        Skips(list)
    }

    /// Of so many ids missing behind a frame, those that were not left out on purpose.
    pub fn lost(&self, after: u32, missing: u32) -> u32 {
        let first = after.wrapping_add(1);
        let inside = |skip: &&(u32, u32)| skip.0.wrapping_sub(first) < missing;
        let from = self.0.partition_point(|skip| skip.0 < first);
        // The ids wrap: those behind the wrap stand in front.
        let list =
            self.0.iter().skip(from).take_while(inside).chain(self.0.iter().take(from).take_while(inside));
        let skipped: u64 = list.map(|(_, count)| u64::from(*count)).sum();
        u32::try_from(u64::from(missing).saturating_sub(skipped)).unwrap_or_default()
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
