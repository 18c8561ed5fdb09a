//! What can be measured: the names of metrics, what they are counted in, where they come from, and how they are judged if
//! the plan does not say.

use super::{Class, Kind};

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
    use Class::{Diagnostic, Gate};
    match name {
        "frame.p50" => Some(frame(5000, Diagnostic)),
        "frame.p95" => Some(frame(9500, Gate)),
        "frame.p99" => Some(frame(9900, Gate)),
        "frame.max" => Some(frame(10_000, Diagnostic)),
        "frame.in_drain.p50" => Some(Metric { in_drain: true, ..frame(5000, Gate) }),
        "frame.in_drain.p95" => Some(Metric { in_drain: true, ..frame(9500, Diagnostic) }),
        "frame.misses" => Some(Metric { ring: true, ..count(Gate) }),
        "wire.rate" => Some(Metric { quantity: Quantity::Rate, kind: Kind::Equivalence, ..count(Gate) }),
        "wire.lost" | "wire.shape" | "wire.foreign" | "wire.payload" => Some(count(Gate)),
        "wire.dup" | "wire.reordered" => Some(count(Diagnostic)),
        "wire.jitter.p50" => Some(Metric { ring: false, ..frame(5000, Diagnostic) }),
        "wire.jitter.p95" => Some(Metric { ring: false, ..frame(9500, Diagnostic) }),
        "wire.jitter.p99" => Some(Metric { ring: false, ..frame(9900, Diagnostic) }),
        "device.cpu" => {
            Some(Metric { quantity: Quantity::Points, kind: Kind::Overhead, ..count(Diagnostic) })
        }
        _ => range(name).map(|(_, _, percentile)| frame(percentile, Gate)),
    }
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

fn frame(percentile: u32, class: Class) -> Metric {
    let kind = Kind::NonInferiority;
    let percentile = Some(percentile);
    Metric { quantity: Quantity::Time, ring: true, in_drain: false, percentile, class, kind }
}

fn count(class: Class) -> Metric {
    let quantity = Quantity::Count;
    Metric { quantity, ring: false, in_drain: false, percentile: None, class, kind: Kind::Zero }
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
