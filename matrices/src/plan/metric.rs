//! What can be measured: the names of metrics, what they are counted in, where they come from, and how they are judged if
//! the plan does not say.

use super::{Class, Kind};
use crate::metrics::{Event, Metric as Measured, Quantile};

/// What a metric is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A time, ns.
    Time,
    /// A rate; differences are parts per million of it.
    Rate,
    /// A number of events.
    Count,
    /// Percentage points of a processor core.
    Points,
}

/// A metric by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// What it is counted in.
    pub quantity: Quantity,
    /// True when it is read from the device's ring, which needs its profiler.
    pub ring: bool,
    /// True when only frames that overlap a drain count.
    pub in_drain: bool,
    /// The percentile of the frames of a window, in hundredths; 10,000 for the largest.
    pub percentile: Option<u32>,
    /// Whether it decides when the plan does not say.
    pub class: Class,
    /// How it is judged when the plan does not say.
    pub kind: Kind,
}

/// Names for people.
pub const NAMES: &str = "frame.p50, frame.p95, frame.p99, frame.max, frame.misses, frame.in_drain.p50, \
     frame.in_drain.p95, frame.range(A,B).p50, frame.range(A,B).p95, wire.rate, wire.lost, wire.dup, wire.reordered, \
     wire.shape, wire.foreign, wire.payload, wire.jitter.p50, wire.jitter.p95, wire.jitter.p99, device.cpu";

/// The metric of this name.
pub fn metric(name: &str) -> Option<Metric> {
    use Measured::{Cpu, Events, Frame, InDrain, Jitter, Range, Rate};
    let measured = Measured::parse(name)?;
    let (class, kind) = match &measured {
        Frame(Quantile::P95 | Quantile::P99) | InDrain(Quantile::P50) => (Class::Gate, Kind::NonInferiority),
        Range(..) => (range(name).map(|_| Class::Gate)?, Kind::NonInferiority),
        Frame(_) | InDrain(_) | Jitter(_) => (Class::Diagnostic, Kind::NonInferiority),
        Rate => (Class::Gate, Kind::Equivalence),
        Cpu => (Class::Diagnostic, Kind::Overhead),
        Events(Event::Dup | Event::Reordered) => (Class::Diagnostic, Kind::Zero),
        Events(_) => (Class::Gate, Kind::Zero),
    };
    let (quantity, percentile) = match &measured {
        Frame(quantile) | InDrain(quantile) | Range(_, quantile) | Jitter(quantile) => {
            (Quantity::Time, u32::try_from(quantile.percent() * 100).ok())
        }
        Rate => (Quantity::Rate, None),
        Cpu => (Quantity::Points, None),
        Events(_) => (Quantity::Count, None),
    };
    let (ring, in_drain) = (measured.needs_ring(), matches!(measured, InDrain(_)));
    Some(Metric { quantity, ring, in_drain, percentile, class, kind })
}

/// The stages of `frame.range(FROM,TO).p95` and the percentile in hundredths.
pub fn range(name: &str) -> Option<(&str, &str, u32)> {
    let (stages, percentile) = name.strip_prefix("frame.range(")?.split_once(").")?;
    let (from, to) = stages.split_once(',')?;
    let fit = |stage: &str| {
        let known = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        !stage.is_empty() && stage.len() <= 40 && stage.chars().all(known)
    };
    let percentile = [("p50", 5000), ("p95", 9500)].into_iter().find(|(name, _)| *name == percentile)?.1;
    (fit(from) && fit(to)).then_some((from, to, percentile))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_is_known_and_no_other() {
        for name in NAMES.split(", ") {
            assert!(metric(name).is_some(), "{name}");
        }
        for name in
            ["", "frame", "frame.p96", "frame.range(,B).p50", "frame.range(A).p50", "frame.range(A,B).p99"]
        {
            assert_eq!(metric(name), None, "{name}");
        }
        assert_eq!(
            range("frame.range(wire_prepare,wire_send).p95"),
            Some(("wire_prepare", "wire_send", 9500))
        );
    }
}
