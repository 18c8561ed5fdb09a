//! Which frames of a ring the page carries span by span: those at the percentiles, the slowest, the worst explained,
//! those beside gaps, and neighbours; all of a small ring. Bounded by frames and by spans.

use super::frame::MAX_SPANS;
use serde::Serialize;
use std::collections::BTreeMap;
use wireproof_recorder::analysis::quantiles::rank;
use wireproof_recorder::{Account, Frame, Kind, Ring};

/// The slowest frames that are carried.
pub(super) const SLOWEST: usize = 50;
/// Frames on each side of those at the percentiles.
const NEIGHBOURS: usize = 2;
/// Gaps whose frames on both sides are carried.
const GAPS: usize = 20;
/// Frames of a ring that is carried whole.
const SMALL: usize = 120;
/// Spans that are carried in all.
const SPANS: usize = 16_000;

/// Places of the frames to begin with in the list of those carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Picks {
    /// The frame at the median.
    pub(super) p50: usize,
    /// At the 95th percentile, nearest rank.
    pub(super) p95: usize,
    /// At the 99th.
    pub(super) p99: usize,
    /// The slowest.
    pub(super) worst: usize,
}

/// The frames that are carried.
#[derive(Debug, Default)]
pub(super) struct Choice {
    /// Their places in the ring, in order, and why.
    pub(super) frames: BTreeMap<usize, Vec<&'static str>>,
    /// Those to begin with.
    pub(super) picks: Option<Picks>,
    /// Places of all frames of the ring, slowest last.
    pub(super) by_time: Vec<usize>,
    spans: usize,
}

impl Choice {
    /// Chooses; of frames that took equally long the earlier one comes first.
    pub(super) fn of(ring: &Ring, account: &Account) -> Choice {
        let frames = &ring.frames;
        let mut by_time: Vec<usize> = (0..frames.len()).collect();
        by_time.sort_by_key(|at| duration(&frames[*at]));
        let mut choice = Choice { by_time, ..Choice::default() };
        let Some(last) = frames.len().checked_sub(1) else { return choice };
        let points = choice.percentiles(ring);
        let slowest: Vec<usize> = choice.by_time.iter().rev().take(SLOWEST).copied().collect();
        slowest.into_iter().for_each(|at| choice.add(ring, at, "slowest"));
        if let Some(at) = account.worst_frame().and_then(|worst| explained(account, worst)) {
            choice.add(ring, at, "least explained");
        }
        for at in points {
            let near = at.saturating_sub(NEIGHBOURS)..=at.saturating_add(NEIGHBOURS).min(last);
            near.filter(|near| *near != at).for_each(|near| choice.add(ring, near, "neighbour"));
        }
        let holes = (1..frames.len()).filter(|at| frames[*at].id.wrapping_sub(frames[at - 1].id) != 1);
        for at in holes.take(GAPS) {
            choice.add(ring, at - 1, "before a gap");
            choice.add(ring, at, "after a gap");
        }
        if frames.len() <= SMALL {
            (0..frames.len()).for_each(|at| choice.add(ring, at, "all"));
        }
        choice.picks = choice.placed(points);
        choice
    }

    /// The frames at p50, p95 and p99, and the slowest, the earliest of several; they are carried in any case.
    fn percentiles(&mut self, ring: &Ring) -> [usize; 4] {
        let n = self.by_time.len() as u64;
        let points = [50, 95, 99, 100].map(|num| {
            let at = usize::try_from(rank(n, num, 100)).unwrap_or(1).max(1) - 1;
            let ns = duration(&ring.frames[self.by_time[at]]);
            self.by_time[self.by_time.partition_point(|at| duration(&ring.frames[*at]) < ns)]
        });
        for (at, name) in points.into_iter().zip(["p50", "p95", "p99", "worst"]) {
            self.add(ring, at, name);
        }
        points
    }

    fn add(&mut self, ring: &Ring, at: usize, why: &'static str) {
        if let Some(known) = self.frames.get_mut(&at) {
            if why != "all" && why != "neighbour" {
                known.push(why);
            }
            return;
        }
        let spans = ring.frames[at].records.iter().filter(|r| r.kind() == Some(Kind::Span)).count();
        let spans = self.spans + spans.min(MAX_SPANS);
        if spans <= SPANS {
            self.spans = spans;
            self.frames.insert(at, vec![why]);
        }
    }

    fn placed(&self, points: [usize; 4]) -> Option<Picks> {
        let place = |at: usize| self.frames.keys().position(|known| *known == at);
        let [p50, p95, p99, worst] = points.map(place);
        Some(Picks { p50: p50?, p95: p95?, p99: p99?, worst: worst? })
    }
}

fn duration(frame: &Frame) -> u64 {
    frame.end_ns.saturating_sub(frame.start_ns)
}

fn explained(account: &Account, worst: wireproof_recorder::account::Share) -> Option<usize> {
    account.rows.iter().position(|row| row.covered_ns == worst.part && row.root_ns == worst.whole)
}
