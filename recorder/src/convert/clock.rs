//! From wall time to the ring's clock, and how sure that is. Reads no clock: the ring's own readings of both clocks
//! (header and `clock_anchor` records) are all it knows.

use crate::layout::{ANCHOR, Kind, Record, u64_at};

/// A jump of wall - monotonic that is a step and no drift: more than this beyond [`DRIFT_PPM`].
const STEP_NS: u64 = 1_000_000;
/// Drift that is no step, parts in a million.
const DRIFT_PPM: u64 = 500;
/// Pieces between steps; a ring with more is not believed past them.
const MAX_PIECES: usize = 64;

/// The header's reading of the clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// CLOCK_MONOTONIC, ns.
    pub monotonic_ns: u64,
    /// CLOCK_REALTIME, ns since 1970; 0 when the ring has no reading.
    pub wall_ns: u64,
    /// Time the reading took, ns: it is right within half of this.
    pub spread_ns: u64,
    /// CLOCK_BOOTTIME - CLOCK_MONOTONIC, ns.
    pub boot_offset_ns: u64,
}

impl Reading {
    /// The reading in the header of an image of layout 2.
    pub fn of(image: &[u8]) -> Reading {
        let field = |index: usize| u64_at(image, ANCHOR + 8 * index);
        Reading { monotonic_ns: field(0), wall_ns: field(1), spread_ns: field(2), boot_offset_ns: field(3) }
    }
}

/// A moment on both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Anchor {
    monotonic: i128,
    wall: i128,
}

impl Anchor {
    fn offset(self) -> i128 {
        self.wall - self.monotonic
    }
}

/// Wall time on the ring's clock.
#[derive(Clone, Debug)]
pub struct WallClock {
    /// Anchors between two steps of the wall clock, oldest first.
    pieces: Vec<Vec<Anchor>>,
    spread_ns: u64,
}

impl WallClock {
    /// The clock of a ring; `None` when nothing ties it to wall time, as in a legacy ring.
    pub fn new<'a>(reading: &Reading, records: impl IntoIterator<Item = &'a Record>) -> Option<WallClock> {
        let of = |record: &Record| Anchor { monotonic: record.start_ns().into(), wall: record.aux().into() };
        let anchors = records.into_iter().filter(|r| r.kind() == Some(Kind::Anchor) && r.aux() > 0);
        let mut all: Vec<Anchor> = anchors.map(of).collect();
        if reading.wall_ns > 0 {
            all.push(Anchor { monotonic: reading.monotonic_ns.into(), wall: reading.wall_ns.into() });
        }
        all.sort_by_key(|anchor| anchor.monotonic);
        let mut pieces: Vec<Vec<Anchor>> = Vec::new();
        for anchor in all {
            let full = pieces.len() == MAX_PIECES;
            match pieces.last_mut() {
                Some(piece) if piece.last().is_some_and(|last| !is_step(*last, anchor)) => piece.push(anchor),
                _ if full => break,
                _ => pieces.push(vec![anchor]),
            }
        }
        (!pieces.is_empty()).then_some(WallClock { pieces, spread_ns: reading.spread_ns })
    }

    /// Number of steps of the wall clock between the anchors.
    pub fn steps(&self) -> usize {
        self.pieces.len() - 1
    }

    /// The ring's time of a wall time; `None` in front of the boot. Between two anchors on a straight line, past them
    /// with the offset of the nearest one. A wall time that a step made happen twice is put at its latest place.
    pub fn monotonic(&self, wall_ns: i64) -> Option<u64> {
        let wall = i128::from(wall_ns);
        let piece =
            self.pieces.iter().rev().find(|piece| piece.first().is_some_and(|first| first.wall <= wall));
        let piece = piece.or(self.pieces.first())?;
        let behind = piece.partition_point(|anchor| anchor.wall <= wall);
        let offset = match (behind.checked_sub(1).and_then(|at| piece.get(at)), piece.get(behind)) {
            (Some(a), Some(b)) if b.wall > a.wall => {
                a.offset() + (b.offset() - a.offset()) * (wall - a.wall) / (b.wall - a.wall)
            }
            (Some(a), _) | (None, Some(a)) => a.offset(),
            (None, None) => return None,
        };
        u64::try_from(wall - offset).ok()
    }

    /// How far a converted time may be off, ns: half of the spread of the reading, and the most that the offset moved
    /// from one anchor to the next. The difference between two hosts' clocks is not in it.
    pub fn uncertainty_ns(&self) -> u64 {
        let moved = |pair: &[Anchor]| match pair {
            [a, b] => (b.offset() - a.offset()).unsigned_abs(),
            _ => 0,
        };
        let drift =
            self.pieces.iter().flat_map(|piece| piece.windows(2)).map(moved).max().unwrap_or_default();
        self.spread_ns.div_ceil(2).saturating_add(u64::try_from(drift).unwrap_or(u64::MAX))
    }
}

fn is_step(a: Anchor, b: Anchor) -> bool {
    let elapsed = (b.monotonic - a.monotonic).unsigned_abs();
    let moved = (b.offset() - a.offset()).unsigned_abs();
    moved > elapsed * u128::from(DRIFT_PPM) / 1_000_000 + u128::from(STEP_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALL: u64 = 1_790_000_000_000_000_000;

    fn anchor(monotonic: u64, wall: u64) -> Record {
        Record {
            ordinal: 0,
            words: [monotonic, monotonic, u64::from(u32::MAX), (Kind::Anchor as u64) << 8, wall],
        }
    }

    fn reading(monotonic_ns: u64, wall_ns: u64) -> Reading {
        Reading { monotonic_ns, wall_ns, spread_ns: 120, boot_offset_ns: 0 }
    }

    #[test]
    fn a_header_reading_alone_is_an_offset() {
        let clock = WallClock::new(&reading(1_000, WALL), []).unwrap();
        assert_eq!(clock.monotonic(WALL as i64 + 5), Some(1_005));
        assert_eq!(clock.monotonic(WALL as i64 - 1_000), Some(0));
        assert_eq!(clock.monotonic(WALL as i64 - 1_001), None);
        assert_eq!((clock.uncertainty_ns(), clock.steps()), (60, 0));
        assert!(WallClock::new(&Reading::default(), []).is_none());
    }

    #[test]
    fn drift_between_anchors_is_followed() {
        let second = 1_000_000_000;
        let records = [anchor(second, WALL + second + 100_000)];
        let clock = WallClock::new(&reading(0, WALL), &records).unwrap();
        let half = (WALL + second / 2 + 50_000) as i64;
        assert!(clock.monotonic(half).unwrap().abs_diff(second / 2) <= 1);
        assert_eq!(clock.uncertainty_ns(), 60 + 100_000);
    }

    #[test]
    fn a_step_of_the_wall_clock_splits_the_line() {
        let second = 1_000_000_000;
        let hour = 3_600 * second;
        let records = [
            anchor(second, WALL + second),
            anchor(2 * second, WALL + 2 * second + hour),
            anchor(3 * second, WALL + 3 * second + hour),
        ];
        let clock = WallClock::new(&reading(0, WALL), &records).unwrap();
        assert_eq!((clock.steps(), clock.uncertainty_ns()), (1, 60));
        assert_eq!(clock.monotonic((WALL + second / 2) as i64), Some(second / 2));
        assert_eq!(clock.monotonic((WALL + hour + 5 * second / 2) as i64), Some(5 * second / 2));
    }

    #[test]
    fn hostile_anchors_neither_panic_nor_grow() {
        let records: Vec<Record> =
            (0..10_000u64).map(|i| anchor(i, i.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)).collect();
        let clock = WallClock::new(&reading(u64::MAX, u64::MAX), &records).unwrap();
        assert!(clock.steps() < MAX_PIECES);
        for wall in [i64::MIN, -1, 0, i64::MAX] {
            clock.monotonic(wall);
        }
        clock.uncertainty_ns();
    }
}
