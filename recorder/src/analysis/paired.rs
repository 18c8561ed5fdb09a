//! Paired differences: the same frames with and without, frame 700 against frame 700. Differences are signed: near zero
//! a negative one is no bug. Never subtracts percentiles.

use super::quantiles::Quantiles;
use crate::frames::Frame;
use serde::Serialize;
use std::collections::HashMap;

/// Differences of the pairs, ns: the second arm minus the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Paired {
    /// Frames that stand in both.
    pub pairs: u64,
    /// Frames of the first arm without a partner.
    pub only_off: u64,
    /// Frames of the second arm without a partner.
    pub only_on: u64,
    /// Differences, on minus off, ns.
    pub difference_ns: Quantiles<i64>,
}

/// Values of two arms by frame number; of a number that stands twice in an arm the last counts.
pub fn differences(
    off: impl IntoIterator<Item = (u32, u64)>,
    on: impl IntoIterator<Item = (u32, u64)>,
) -> Paired {
    let off: HashMap<u32, u64> = off.into_iter().collect();
    let on: HashMap<u32, u64> = on.into_iter().collect();
    let pair = |(id, on): (&u32, &u64)| Some(difference(*off.get(id)?, *on));
    let list: Vec<i64> = on.iter().filter_map(pair).collect();
    let pairs = list.len() as u64;
    Paired {
        pairs,
        only_off: off.len() as u64 - pairs,
        only_on: on.len() as u64 - pairs,
        difference_ns: Quantiles::of(list),
    }
}

fn difference(off: u64, on: u64) -> i64 {
    let difference = i128::from(on) - i128::from(off);
    i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
}

/// Frames as pairs of number and duration, ns: numbers as they are, or counted from the first frame of the arm, for arms
/// that are parts of one run.
pub fn durations(frames: &[Frame], from_first: bool) -> impl Iterator<Item = (u32, u64)> {
    let first = frames.first().filter(|_| from_first).map_or(0, |frame| frame.id);
    frames
        .iter()
        .map(move |frame| (frame.id.wrapping_sub(first), frame.end_ns.saturating_sub(frame.start_ns)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn frame_700_stands_against_frame_700() {
        let off = [(699, 5_000), (700, 5_100), (701, 5_000), (800, 9)];
        let on = [(701, 4_990), (700, 5_148), (699, 5_050), (702, 1)];
        let found = differences(off, on);
        assert_eq!((found.pairs, found.only_off, found.only_on), (3, 1, 1));
        let expected = Quantiles { min: -10, p50: 48, p95: 50, p99: 50, max: 50 };
        assert_eq!(found.difference_ns, expected);
        assert_eq!(differences([], on).pairs, 0);
        assert_eq!(differences([(1, 0)], [(1, u64::MAX)]).difference_ns.max, i64::MAX);
    }

    #[test]
    fn arms_of_one_run_are_paired_from_their_first_frames() {
        let frame = |id, end_ns| Frame { id, start_ns: 0, end_ns, truncated: false, records: Vec::new() };
        let off = [frame(u32::MAX, 10), frame(0, 20), frame(1, 30)];
        let on = [frame(50, 11), frame(52, 33)];
        let found = differences(durations(&off, true), durations(&on, true));
        assert_eq!((found.pairs, found.difference_ns.min, found.difference_ns.max), (2, 1, 3));
        assert_eq!(differences(durations(&off, false), durations(&on, false)).pairs, 0);
    }

    proptest! {
        #[test]
        fn the_other_way_round_is_the_negative(values in prop::collection::vec((0_u64..1 << 40, 0_u64..1 << 40), 1..50)) {
            let arm = |pick: fn(&(u64, u64)) -> u64| (0_u32..).zip(values.iter().map(pick)).collect::<Vec<_>>();
            let (a, b) = (arm(|pair| pair.0), arm(|pair| pair.1));
            let (there, back) = (differences(a.clone(), b.clone()), differences(b, a));
            prop_assert_eq!(there.difference_ns.min, -back.difference_ns.max);
            prop_assert_eq!(there.difference_ns.max, -back.difference_ns.min);
        }
    }
}
