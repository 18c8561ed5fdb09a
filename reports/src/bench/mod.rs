//! The record of a bench (`wireproof.bench/1`): what was timed, how, and how it compares; one renderer a format.
//!
//! It is built from measured numbers and computes nothing but how they are rounded.

mod csv;
mod json;
mod markdown;
mod table;

use crate::{Format, RenderError, Style};
use serde::{Deserialize, Serialize};
use std::io::Write;

/// Version of the record.
pub const SCHEMA: &str = "wireproof.bench/1";

/// A bench of encoders on one identical frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bench {
    /// [`SCHEMA`].
    pub schema: String,
    /// Seed of the frame and of the order in the blocks.
    pub seed: u64,
    /// Octets of the frame.
    pub frame_bytes: u64,
    /// Blocks that count; each times every arm once.
    pub blocks: u32,
    /// The rows, ours before their peers.
    pub encoders: Vec<Encoder>,
    /// Blocks thrown away before.
    pub warm_up_blocks: u32,
    /// The clock by its name in the system, and its smallest step seen, ns.
    pub clock: Clock,
    /// The limit: the octets of the frame copied to another place.
    pub memcpy: Copying,
}

/// Where the times come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// Name in the system.
    pub name: String,
    /// Smallest step seen, ns.
    pub step_ns: u64,
    /// The CPU the thread was kept on, if it was.
    pub cpu: Option<u64>,
}

/// The arm everything is compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Copying {
    /// Time of one copy, ns.
    pub ns_per_frame: Times,
    /// Blocks in which it took more than 1.25 times its median; they count.
    pub disturbed_blocks: u64,
}

/// One encoder in one way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Encoder {
    /// `sacn`, `ddp`, `artnet` or `bigpacket`, with a suffix for another way; peers as `peer:…`.
    pub name: String,
    /// `contiguous` or `gather`.
    pub backend: String,
    /// Datagrams of the frame.
    pub datagrams: u64,
    /// UDP payload octets of the frame.
    pub bytes: u64,
    /// Time of one frame, ns; none when it was not timed.
    pub ns_per_frame: Option<Times>,
    /// How many times as long as the copy: median of the ratios of the blocks.
    pub ratio_to_memcpy: Option<f64>,
    /// True when every octet was that of the golden datagrams, before and after the timing.
    pub identical: bool,
    /// Interval of `ratio_to_memcpy` at 95 %.
    pub ratio_interval: Option<Interval>,
    /// How many times as long as our contiguous encoder of the protocol; peers only.
    pub ratio_to_own: Option<Paired>,
    /// Blocks in which it took more than 1.25 times its median; they count.
    pub disturbed_blocks: u64,
    /// The first octet that differs, or why there was nothing to compare.
    pub difference: Option<String>,
    /// In which documented fields the golden datagrams of a peer follow its habit.
    pub habit: Option<String>,
}

/// Times over the blocks, ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Least.
    pub min: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile, nearest rank.
    pub p95: f64,
}

/// Both ends of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A ratio by blocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paired {
    /// Median of the ratios of the blocks.
    pub median: f64,
    /// Lower end of its interval at 95 %.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Bench {
    /// The formats of a bench, in the order of the help text.
    pub const FORMATS: [Format; 5] =
        [Format::Table, Format::Json, Format::Csv, Format::Markdown, Format::Html];

    /// True when every row is byte-identical to its golden datagrams.
    pub fn identical(&self) -> bool {
        self.encoders.iter().all(|encoder| encoder.identical)
    }

    /// Writes the record; the octets depend on the arguments alone.
    ///
    /// # Errors
    /// [`RenderError::Write`] when the writer fails, [`RenderError::Encode`] for a format that a bench has not.
    pub fn render(&self, format: Format, style: Style, out: &mut dyn Write) -> Result<(), RenderError> {
        match format {
            Format::Table => Ok(table::write(self, style, out)?),
            Format::Json => json::write(self, out),
            Format::Csv => csv::write(self, out),
            Format::Markdown => Ok(markdown::write(self, out)?),
            Format::Html => crate::page::bench::encoders(self, out),
            Format::Jsonl | Format::Junit => Err(format.missing("a bench")),
        }
    }

    /// The number of rows that are right, and of all.
    pub(crate) fn score(&self) -> String {
        let right = self.encoders.iter().filter(|encoder| encoder.identical).count();
        format!("{right}/{} byte-identical to the golden datagrams", self.encoders.len())
    }

    /// How the times came about, one sentence a line.
    pub(crate) fn method(&self) -> Vec<String> {
        let pinned = self.clock.cpu.map(|cpu| format!(", kept on CPU {cpu}")).unwrap_or_default();
        let disturbed = |n: &u64| *n > 0;
        let arms = self.encoders.iter().map(|encoder| encoder.disturbed_blocks);
        let blocks: Vec<u64> = arms.chain([self.memcpy.disturbed_blocks]).filter(disturbed).collect();
        let mut lines = vec![
            format!(
                "one frame of {} octets for all, seed {}, at another place of its page in each block; no socket",
                self.frame_bytes, self.seed
            ),
            format!(
                "{} blocks after {} to warm up, every arm once in each, in seeded random order",
                self.blocks, self.warm_up_blocks
            ),
            format!("clock {} in steps of {} ns{pinned}", self.clock.name, self.clock.step_ns),
            "ratios are medians over the blocks, with their intervals at 95 % (ISO 16269-7)".to_owned(),
        ];
        if !blocks.is_empty() {
            let (arms, timings) = (blocks.len(), blocks.iter().copied().fold(0, u64::saturating_add));
            lines.push(format!(
                "{timings} timings of {arms} arms took over 1.25 x the arm's median; they count"
            ));
        }
        lines
    }

    /// Why rows have no times, and whose habits were allowed for.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let refused = self.encoders.iter().filter_map(|encoder| {
            let why = encoder.difference.as_ref()?;
            Some(format!("NOT TIMED {} {}: {why}", encoder.name, encoder.backend))
        });
        let habits = self
            .encoders
            .iter()
            .filter_map(|encoder| encoder.habit.as_ref().map(|habit| format!("{}: {habit}", encoder.name)));
        refused.chain(habits).collect()
    }
}

/// Nanoseconds with two decimals, or a dash.
fn ns(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.2}"))
}

/// A ratio with three significant digits at least, or a dash.
fn ratio(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value < 1.0 => format!("{value:.3}"),
        Some(value) if value < 100.0 => format!("{value:.2}"),
        Some(value) => format!("{value:.0}"),
    }
}

/// Both ends of an interval, or a dash.
fn range(interval: Option<Interval>) -> String {
    let both = |i: Interval| format!("{}..{}", ratio(Some(i.low)), ratio(Some(i.high)));
    interval.map_or("-".to_owned(), both)
}

#[cfg(test)]
mod tests;
