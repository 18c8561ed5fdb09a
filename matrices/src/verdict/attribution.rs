//! Who lost what, arm by arm: every loss is listed, whether its arm counts or not.

use super::{Attribution, LossRow, OwnerRow};
use crate::arm::{Arm, Episode, Owners, Span};
use crate::levels::Layout;
use std::collections::BTreeSet;

/// Most losses that are listed one by one.
const LISTED: usize = 1000;

impl From<&Owners> for OwnerRow {
    fn from(owners: &Owners) -> Self {
        OwnerRow {
            lost: owners.all(),
            sender: owners.sender,
            wire: owners.wire,
            observer: owners.observer,
            unknown: owners.upstream + owners.ambiguous,
            upstream: owners.upstream,
            ambiguous: owners.ambiguous,
        }
    }
}

impl OwnerRow {
    fn add(&mut self, other: OwnerRow) {
        self.lost += other.lost;
        self.sender += other.sender;
        self.wire += other.wire;
        self.observer += other.observer;
        self.unknown += other.unknown;
        self.upstream += other.upstream;
        self.ambiguous += other.ambiguous;
    }
}

/// The attribution of a run; `counted` are indices of the arms that count.
pub(super) fn attribution(layout: &Layout, arms: &[&Arm], counted: &BTreeSet<usize>) -> Attribution {
    let mut all = Attribution::default();
    let mut losses = Vec::new();
    for (index, arm) in arms.iter().enumerate() {
        let counts = counted.contains(&index);
        for stream in &arm.measured.streams {
            let mut row = OwnerRow::from(&stream.owners);
            // What no owner was found for is ambiguous, never forgotten.
            let open = stream.lost.saturating_sub(row.lost);
            row.add(OwnerRow { lost: open, unknown: open, ambiguous: open, ..OwnerRow::default() });
            if counts {
                all.counted.add(row)
            } else {
                all.not_counted.add(row)
            }
            all.streams.entry(stream.id.clone()).or_default().add(row);
        }
        let name = layout.arm_name(arm);
        losses.extend(arm.measured.episodes.iter().map(|episode| loss(&name, counts, arm, episode)));
    }
    all.losses_rest = losses.len().saturating_sub(LISTED) as u64;
    losses.truncate(LISTED);
    all.losses = losses;
    all
}

fn loss(name: &str, counted: bool, arm: &Arm, episode: &Episode) -> LossRow {
    let mut owners = OwnerRow::from(&episode.owners);
    let open = episode.missing.saturating_sub(owners.lost);
    owners.add(OwnerRow { lost: open, unknown: open, ambiguous: open, ..OwnerRow::default() });
    LossRow {
        arm: name.to_owned(),
        counted,
        stream: episode.stream.clone(),
        start_ns: episode.span.start_ns,
        end_ns: episode.span.end_ns,
        owners,
        near_frame: near_frame(arm, middle(episode.span)),
        nearest_drain_lag_ns: nearest_drain(arm, middle(episode.span)),
    }
}

fn middle(span: Span) -> i64 {
    span.start_ns.midpoint(span.end_ns)
}

/// The frame that began last before a bench time, laid over the device's clock by the two windows.
fn near_frame(arm: &Arm, bench_ns: i64) -> Option<u32> {
    let measured = &arm.measured;
    let device_ns =
        bench_ns.saturating_sub(measured.window.start_ns).saturating_add(measured.device_window?.start_ns);
    let before = measured.frames.iter().filter(|frame| frame.span.start_ns <= device_ns);
    before.max_by_key(|frame| frame.span.start_ns).map(|frame| frame.id)
}

fn nearest_drain(arm: &Arm, bench_ns: i64) -> Option<i64> {
    let lags = arm
        .measured
        .drains
        .iter()
        .filter(|drain| drain.real)
        .map(|drain| bench_ns.saturating_sub(drain.bench.start_ns));
    lags.min_by_key(|lag| lag.unsigned_abs())
}
