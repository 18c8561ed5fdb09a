//! The device's clock on the time line of the stamps: an interval for each instant, never a point. Guesses nothing: a
//! clock that was set on the way gives no time at all.

use super::record::Life;
use wireproof_recorder::offset::Track;

/// Most that two clocks drift apart, parts in a million.
pub(crate) const DRIFT_PPM: i128 = 1_000;
/// Readings of both clocks that differ by more than this, beyond the drift, are those of a clock that was set, ns.
pub(crate) const STEP_NS: i128 = 1_000_000;

/// How the device's clock is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clock {
    /// By requests and answers during the run.
    Measured(Track),
    /// By the anchors in its rings: its wall clock and the one of the stamps are apart by no more than this, ns.
    Anchored {
        /// Most that the two wall clocks are apart, ns.
        uncertainty_ns: u64,
    },
}

impl Clock {
    /// The time line of one writer; `None` when its wall clock was set and nothing else is known.
    pub(super) fn of<'a>(&'a self, life: &'a Life) -> Option<TimeLine<'a>> {
        let steady = || {
            let anchors = life.anchors.iter().map(|(m, (w, _))| (i128::from(*m), i128::from(*w)));
            let pairs = anchors.clone().zip(anchors.skip(1));
            pairs.into_iter().all(|((m, w), (n, v))| {
                let passed = n - m;
                ((v - w) - passed).abs() <= STEP_NS + passed * DRIFT_PPM / 1_000_000
            })
        };
        match self {
            Clock::Measured(_) => Some(TimeLine { clock: self, life }),
            Clock::Anchored { .. } => {
                (!life.anchors.is_empty() && steady()).then_some(TimeLine { clock: self, life })
            }
        }
    }
}

/// The clock of one writer.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeLine<'a> {
    clock: &'a Clock,
    life: &'a Life,
}

impl TimeLine<'_> {
    /// Stamp times between which an instant of the device's monotonic clock lies, ns.
    pub(super) fn stamps(&self, device_ns: u64) -> (i64, i64) {
        let uncertainty_ns = match self.clock {
            Clock::Measured(track) => {
                return track.bench_ns(i64::try_from(device_ns).unwrap_or(i64::MAX));
            }
            Clock::Anchored { uncertainty_ns } => *uncertainty_ns,
        };
        let anchors = &self.life.anchors;
        let behind = anchors.range(..=device_ns).next_back();
        let ahead = anchors.range(device_ns..).next();
        let nearest = [behind, ahead].into_iter().flatten().min_by_key(|(m, _)| m.abs_diff(device_ns));
        let Some((monotonic, (wall, spread))) = nearest else { return (i64::MIN, i64::MAX) };
        let passed = i128::from(device_ns) - i128::from(*monotonic);
        let middle = i128::from(*wall) + passed;
        let far = i128::from(uncertainty_ns) + i128::from(*spread) + passed.abs() * DRIFT_PPM / 1_000_000;
        let bound = |ns: i128| ns.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        (bound(middle - far), bound(middle + far))
    }
}
