//! Metrics: their names, their units, and what each reads from an arm (experiments, section 5).
//!
//! It never compares arms; that is the gates' room.

mod count;
mod frames;
mod payload;
mod reading;

pub use count::{Count, count};
pub use frames::{in_drains, shams, window_frames};
pub use payload::payload;
pub use reading::{Reading, read};

use crate::verdict::Unit;

/// A quantile of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantile {
    /// Half are no larger.
    P50,
    /// 95 of 100 are no larger.
    P95,
    /// 99 of 100 are no larger.
    P99,
    /// The largest.
    Max,
}

impl Quantile {
    /// Its percent.
    pub fn percent(self) -> u64 {
        match self {
            Quantile::P50 => 50,
            Quantile::P95 => 95,
            Quantile::P99 => 99,
            Quantile::Max => 100,
        }
    }

    fn parse(word: &str) -> Option<Self> {
        match word {
            "p50" => Some(Quantile::P50),
            "p95" => Some(Quantile::P95),
            "p99" => Some(Quantile::P99),
            "max" => Some(Quantile::Max),
            _ => None,
        }
    }
}

/// Something that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Frames over their deadline.
    Misses,
    /// Datagrams missing.
    Lost,
    /// Datagrams seen twice.
    Dup,
    /// Datagrams out of order.
    Reordered,
    /// Violations of the shape rules.
    Shape,
    /// Datagrams of other sources.
    Foreign,
    /// Frames that show what the baseline does not.
    Payload,
}

/// A metric by its name in the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Metric {
    /// `frame.p50`, `frame.p95`, `frame.p99`, `frame.max`.
    Frame(Quantile),
    /// `frame.in_drain.p50`, `frame.in_drain.p95`.
    InDrain(Quantile),
    /// `frame.range(A,B).p50`, `frame.range(A,B).p95`.
    Range(String, Quantile),
    /// `wire.rate`.
    Rate,
    /// `wire.jitter.p50`, `wire.jitter.p95`, `wire.jitter.p99`.
    Jitter(Quantile),
    /// `device.cpu`.
    Cpu,
    /// `frame.misses`, `wire.lost`, `wire.dup`, `wire.reordered`, `wire.shape`, `wire.foreign`, `wire.payload`.
    Events(Event),
}

/// Version of the definitions in this module; `compare` refuses to compare across versions.
pub const DEFINITIONS: u32 = 1;

impl Metric {
    /// The metric of this name; `None` of an unknown one.
    pub fn parse(name: &str) -> Option<Self> {
        let event = match name {
            "frame.misses" => Some(Event::Misses),
            "wire.lost" => Some(Event::Lost),
            "wire.dup" => Some(Event::Dup),
            "wire.reordered" => Some(Event::Reordered),
            "wire.shape" => Some(Event::Shape),
            "wire.foreign" => Some(Event::Foreign),
            "wire.payload" => Some(Event::Payload),
            _ => None,
        };
        match name {
            "wire.rate" => Some(Metric::Rate),
            "device.cpu" => Some(Metric::Cpu),
            _ => event.map(Metric::Events).or_else(|| Metric::distribution(name)),
        }
    }

    fn distribution(name: &str) -> Option<Self> {
        let (what, word) = name.rsplit_once('.')?;
        let quantile = Quantile::parse(word)?;
        let middle = matches!(quantile, Quantile::P50 | Quantile::P95);
        if let Some(stages) = what.strip_prefix("frame.range(").and_then(|rest| rest.strip_suffix(')')) {
            let (from, to) = stages.split_once(',')?;
            let (from, to) = (from.trim(), to.trim());
            let both = middle && !from.is_empty() && !to.is_empty() && !to.contains(',');
            return both.then(|| Metric::Range(format!("{from},{to}"), quantile));
        }
        match what {
            "frame" => Some(Metric::Frame(quantile)),
            "frame.in_drain" => middle.then_some(Metric::InDrain(quantile)),
            "wire.jitter" => (quantile != Quantile::Max).then_some(Metric::Jitter(quantile)),
            _ => None,
        }
    }

    /// True when there is one series for each stream.
    pub fn by_stream(&self) -> bool {
        matches!(self, Metric::Rate | Metric::Jitter(_))
    }

    /// True when it is read from the device's ring: it exists only where the recorder is on.
    pub fn needs_ring(&self) -> bool {
        matches!(
            self,
            Metric::Frame(_) | Metric::InDrain(_) | Metric::Range(..) | Metric::Events(Event::Misses)
        )
    }

    /// Unit of an arm's value.
    pub fn unit(&self) -> Unit {
        match self {
            Metric::Rate => Unit::PerSecond,
            Metric::Cpu => Unit::CpuHundredths,
            Metric::Events(_) => Unit::Count,
            _ => Unit::Ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_table_is_known_and_no_other() {
        let known = [
            "frame.p50",
            "frame.p95",
            "frame.p99",
            "frame.max",
            "frame.in_drain.p50",
            "frame.in_drain.p95",
            "frame.misses",
            "wire.rate",
            "wire.lost",
            "wire.dup",
            "wire.reordered",
            "wire.shape",
            "wire.foreign",
            "wire.jitter.p50",
            "wire.jitter.p95",
            "wire.jitter.p99",
            "device.cpu",
            "wire.payload",
            "frame.range(render,send).p50",
            "frame.range(render, send).p95",
        ];
        assert_eq!(known.iter().filter(|name| Metric::parse(name).is_none()).count(), 0);
        let unknown = [
            "frame",
            "frame.p90",
            "frame.in_drain.p99",
            "frame.range(a).p50",
            "frame.range(a,b).max",
            "wire.p95",
            "frame.range(a,b,c).p50",
            "frame.range(,b).p50",
            "wire.jitter.max",
            "observer.loop_gap",
            "",
        ];
        assert_eq!(unknown.iter().find(|name| Metric::parse(name).is_some()), None);
    }
}
