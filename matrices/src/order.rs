//! `balanced-blocks-1`: which arm is run when, from the seed alone.
//!
//! It owns the keystream, the draws, the Williams rows and the order of a plan. It never asks a random number crate: those
//! change their shuffles between versions, and an order is kept for years.

mod keystream;
mod plan;

pub use keystream::{Keystream, key};
pub use plan::{Order, Stratum, Treatment, combinations, order};

/// Name of this order in a plan.
pub const NAME: &str = "balanced-blocks-1";
/// Drain jitter of stratum s uses stream `JITTER + s`.
const JITTER: u64 = 1 << 32;

/// Blocks of treatments, and how many words were drawn for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// One row of treatment indices a block, in the order of the run.
    pub rows: Vec<Vec<u32>>,
    /// Words drawn from the keystream.
    pub drawn: u64,
}

/// The Williams square of `k` treatments: each follows each other equally often; for odd `k` the mirrored rows too.
pub fn williams(k: u32) -> Vec<Vec<u32>> {
    let first: Vec<u32> =
        (0..k).map(|at| if at % 2 == 1 { at.div_ceil(2) } else { (k - at / 2) % k }).collect();
    let row = |shift: u32| first.iter().map(move |treatment| (treatment + shift) % k).collect::<Vec<u32>>();
    let mut rows: Vec<Vec<u32>> = (0..k).map(row).collect();
    if k % 2 == 1 {
        let mirrored: Vec<Vec<u32>> = rows.iter().map(|row| row.iter().rev().copied().collect()).collect();
        rows.extend(mirrored);
    }
    rows
}

/// The blocks of a stratum: every block holds every treatment once.
pub fn blocks(seed: u64, stratum: u32, treatments: u32, blocks: u32) -> Blocks {
    let mut keystream = Keystream::new(&key(seed), u64::from(stratum));
    let (base, wanted) = (williams(treatments), blocks as usize);
    let mut rows: Vec<Vec<u32>> = Vec::with_capacity(wanted);
    while rows.len() < wanted && !base.is_empty() {
        let mut names: Vec<u32> = (0..treatments).collect();
        keystream.shuffle(&mut names);
        let mut group: Vec<Vec<u32>> =
            base.iter().map(|row| row.iter().map(|treatment| names[*treatment as usize]).collect()).collect();
        if wanted - rows.len() < group.len() {
            keystream.shuffle(&mut group);
            group.truncate(wanted - rows.len());
        }
        rows.append(&mut group);
    }
    keystream.shuffle(&mut rows);
    Blocks { rows, drawn: keystream.drawn() }
}

/// Starts of the drains of each block, ns from the beginning of the window; every arm of a block shares them.
///
/// `jitter_ns` is cut down to whole microseconds, and to less than 2^32 of them.
pub fn drain_starts(
    seed: u64,
    stratum: u32,
    blocks: u32,
    offsets_ns: &[u64],
    jitter_ns: u64,
) -> Vec<Vec<u64>> {
    let mut keystream = Keystream::new(&key(seed), JITTER + u64::from(stratum));
    let bound = u32::try_from((jitter_ns / 1000).saturating_add(1)).unwrap_or(u32::MAX);
    let mut start = |offset: &u64| offset.saturating_add(u64::from(keystream.below(bound)) * 1000);
    (0..blocks).map(|_| offsets_ns.iter().map(&mut start).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_treatment_follows_every_other_equally_often() {
        for k in 1..=12 {
            let rows = williams(k);
            let copies = rows.len() / k as usize;
            let mut follows = vec![vec![0; k as usize]; k as usize];
            for row in &rows {
                row.windows(2).for_each(|pair| follows[pair[0] as usize][pair[1] as usize] += 1);
            }
            for (before, row) in follows.iter().enumerate() {
                for (after, count) in row.iter().enumerate() {
                    assert_eq!(
                        *count,
                        if before == after { 0 } else { copies },
                        "k {k}, {before} before {after}"
                    );
                }
            }
        }
    }

    #[test]
    fn blocks_hold_each_treatment_once_and_positions_are_balanced() {
        for (k, count, seed) in
            (1..=7).flat_map(|k| (1..=25).map(move |count| (k, count, u64::from(k * count))))
        {
            let rows = blocks(seed, 3, k, count).rows;
            assert_eq!(rows.len(), count as usize);
            let mut positions = vec![vec![0i64; k as usize]; k as usize];
            for row in &rows {
                row.iter().enumerate().for_each(|(at, treatment)| positions[at][*treatment as usize] += 1);
                let mut sorted = row.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..k).collect::<Vec<_>>());
            }
            let all = positions.iter().flatten();
            let (least, most) = (all.clone().min().unwrap(), all.max().unwrap());
            assert!(most - least <= if k % 2 == 0 { 1 } else { 2 }, "k {k}, blocks {count}, seed {seed}");
        }
    }

    #[test]
    fn no_treatments_and_no_blocks_give_no_rows() {
        assert_eq!((blocks(1, 0, 0, 5).rows.len(), blocks(1, 0, 2, 0).rows.len()), (0, 0));
        assert!(drain_starts(1, 0, 0, &[1], 1).is_empty());
        assert_eq!(drain_starts(1, 0, 1, &[u64::MAX], u64::MAX), [[u64::MAX]]);
    }
}
