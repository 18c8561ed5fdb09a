//! The value of a metric in one arm, and how far two of them differ.

use super::{Event, Metric, Quantile, count, in_drains, shams, window_frames};
use crate::arm::{Arm, FrameSpan, WireStream};
use crate::plan::Plan;
use crate::stats::at;

/// One value of one arm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reading {
    /// A whole number of ns, events or hundredths.
    Value(f64),
    /// Frames after the first, over the time they took.
    Rate {
        /// Frames after the first.
        steps: u64,
        /// From the first to the last, ns.
        span_ns: u64,
        /// Datagrams of a frame.
        each: u32,
    },
}

impl Reading {
    /// The value as a number in the metric's unit.
    pub fn value(self) -> f64 {
        match self {
            Reading::Value(value) => value,
            Reading::Rate { steps, span_ns, each } => {
                (u128::from(steps) * u128::from(each) * 1_000_000_000) as f64 / span_ns as f64
            }
        }
    }

    /// This minus a baseline, in parts per million of the baseline; `None` over a baseline at or below zero.
    pub fn relative_ppm(self, baseline: Reading) -> Option<f64> {
        if let (Reading::Rate { .. }, Reading::Rate { .. }) = (self, baseline) {
            return rate_ppm(self, baseline);
        }
        let (value, base) = (self.value(), baseline.value());
        (base > 0.0).then(|| (value - base) * 1e6 / base)
    }
}

/// Relative difference of two rates from their integers: no rounding before the last division.
fn rate_ppm(treatment: Reading, baseline: Reading) -> Option<f64> {
    let (Reading::Rate { steps: ts, span_ns: tt, .. }, Reading::Rate { steps: bs, span_ns: bt, .. }) =
        (treatment, baseline)
    else {
        return None;
    };
    let (high, low) = (i128::from(ts) * i128::from(bt), i128::from(bs) * i128::from(tt));
    (low > 0).then(|| ((high - low) * 1_000_000) as f64 / low as f64)
}

/// The values of a metric in an arm, by stream where it has streams. The partner is the arm it is compared with, whose
/// downloads are this arm's sham windows.
pub fn read(
    metric: &Metric,
    plan: &Plan,
    arm: &Arm,
    partner: Option<&Arm>,
) -> Vec<(Option<String>, Reading)> {
    if metric.by_stream() {
        return arm.measured.streams.iter().filter_map(|stream| by_stream(metric, plan, stream)).collect();
    }
    single(metric, plan, arm, partner).map(|value| (None, Reading::Value(value))).into_iter().collect()
}

fn single(metric: &Metric, plan: &Plan, arm: &Arm, partner: Option<&Arm>) -> Option<f64> {
    let measured = &arm.measured;
    match metric {
        Metric::Frame(q) => quantile(window_frames(measured, plan.timing.guard_ns).map(length), *q),
        Metric::InDrain(q) => quantile(in_drains(&measured.frames, &shams(arm, partner)).map(length), *q),
        Metric::Range(stages, q) => quantile(measured.ranges.get(stages)?.iter().copied(), *q),
        Metric::Cpu => measured.cpu_hundredths.map(|cpu| cpu as f64),
        Metric::Events(Event::Misses) if !measured.ring => None,
        Metric::Events(Event::Payload) => None,
        Metric::Events(event) => Some(count(*event, plan, arm).events as f64),
        Metric::Rate | Metric::Jitter(_) => None,
    }
}

fn by_stream(metric: &Metric, plan: &Plan, stream: &WireStream) -> Option<(Option<String>, Reading)> {
    let reading = match metric {
        Metric::Rate => rate(plan, stream)?,
        Metric::Jitter(q) => Reading::Value(jitter(stream, *q)? as f64),
        _ => return None,
    };
    Some((Some(stream.id.clone()), reading))
}

fn rate(plan: &Plan, stream: &WireStream) -> Option<Reading> {
    let each = plan.stream.iter().find(|planned| planned.id == stream.id)?.datagrams_per_frame;
    let span_ns = u64::try_from(stream.last_ns.saturating_sub(stream.first_ns)).ok()?;
    (stream.frames >= 2 && span_ns > 0).then(|| Reading::Rate { steps: stream.frames - 1, span_ns, each })
}

fn jitter(stream: &WireStream, q: Quantile) -> Option<u64> {
    let index = match q {
        Quantile::P50 => 0,
        Quantile::P95 => 1,
        Quantile::P99 => 2,
        Quantile::Max => return None,
    };
    (stream.frames >= 2).then(|| stream.jitter_ns[index])
}

fn length(frame: &FrameSpan) -> u64 {
    u64::try_from(frame.span.end_ns.saturating_sub(frame.span.start_ns)).unwrap_or(0)
}

fn quantile(values: impl Iterator<Item = u64>, q: Quantile) -> Option<f64> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    at(&values, q.percent(), 100).map(|value| value as f64)
}
