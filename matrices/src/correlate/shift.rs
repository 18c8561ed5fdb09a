//! Circular shifts: the losses of every arm moved by the same share of its length, and counted again. No random numbers.

use super::Laid;

/// Episodes inside windows for each of `shifts` shifts, all arms together.
pub(super) fn counts(arms: &[Laid], shifts: u32) -> Vec<u64> {
    (1..=shifts)
        .map(|j| arms.iter().map(|arm| shifted(arm, j, shifts)).fold(0, u64::saturating_add))
        .collect()
}

fn shifted(arm: &Laid, j: u32, shifts: u32) -> u64 {
    let by = i128::from(j) * i128::from(arm.length_ns) / i128::from(shifts + 1);
    // Less than the length, which is an i64.
    let by = i64::try_from(by).unwrap_or_default();
    let back = arm.length_ns - by;
    // Moved times stay in order when those that come round are taken first.
    let round = arm.losses.partition_point(|loss| loss.middle() < back);
    let (stay, wrap) = arm.losses.split_at(round);
    let came_round = wrap.iter().map(|loss| loss.middle() - back);
    arm.windows.count(came_round.chain(stay.iter().map(|loss| loss.middle() + by)))
}
