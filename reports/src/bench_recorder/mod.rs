//! The record of a bench of the recorder (`wireproof.bench-recorder/1`): arms with the writer on and off, what it costs
//! as paired differences, and what a device would pay, which is an extrapolation and says so.
//!
//! It is built from measured numbers and computes nothing but shares and how they are rounded.

mod render;

use crate::bench::{Clock, Interval, Times};
use crate::{Format, RenderError, Style};
use serde::{Deserialize, Serialize};
use std::io::Write;

/// Version of the record.
pub const SCHEMA: &str = "wireproof.bench-recorder/1";
/// What an extrapolation is, in the record itself.
pub const LABEL: &str =
    "extrapolation: a straight line from hot arms of one process, not measured on a device";

/// A bench of the recorder's writer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecorderBench {
    /// [`SCHEMA`].
    pub schema: String,
    /// Seed of the frame and of the order in the blocks.
    pub seed: u64,
    /// Octets that each frame of work goes through.
    pub frame_bytes: u64,
    /// Records of a frame, `frame_complete` included.
    pub events_per_frame: u32,
    /// Blocks that count; each times every arm once.
    pub blocks: u32,
    /// The ring.
    pub ring: Place,
    /// The arms; the first is a clock read, which all others are compared with.
    pub arms: Vec<Timed>,
    /// What recording costs.
    pub cost: Cost,
    /// What that would be of a core.
    pub extrapolation: Extrapolation,
    /// Whether what was timed was really written.
    pub check: Check,
    /// Blocks thrown away before.
    pub warm_up_blocks: u32,
    /// The clock that timed it.
    pub clock: Clock,
}

/// Where the ring lay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// A folder in memory, or `heap` where there is none.
    pub place: String,
    /// Records it holds.
    pub capacity: u64,
}

/// One of the things that were timed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// `clock_gettime`, `frame/off`, `frame/on`, `frame/given-times`, `unframed/off` or `unframed/on`.
    pub name: String,
    /// What its times are for: a `read`, a `frame` or an `event`.
    pub unit: String,
    /// Times, ns.
    pub ns: Times,
    /// How many times as long as a clock read: median of the ratios of the blocks.
    pub ratio_to_clock: f64,
    /// Interval of `ratio_to_clock` at 95 %.
    pub ratio_interval: Interval,
    /// Blocks in which it took more than 1.25 times its median; they count.
    pub disturbed_blocks: u64,
}

/// A difference by blocks, ns; negative where noise is more than the difference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Median of the differences of the blocks.
    pub median: f64,
    /// Lower end of its interval at 95 %.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// On minus off, block by block, ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// A frame, with two clock reads an event.
    pub per_frame_ns: Difference,
    /// The same by events.
    pub per_event_ns: Difference,
    /// A frame whose times the engine has anyway: no clock is read.
    pub per_frame_given_times_ns: Difference,
    /// The same by events.
    pub per_event_given_times_ns: Difference,
    /// An event of no frame, with two clock reads, published at once.
    pub per_unframed_event_ns: Difference,
}

/// Shares of a core at the rates of the field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Extrapolation {
    /// [`LABEL`].
    pub label: String,
    /// Frames a second.
    pub frames_per_s: u32,
    /// Unframed events a second.
    pub unframed_per_s: u32,
    /// Per cent of a core for the frames.
    pub framed_core_percent: f64,
    /// Per cent of a core for the unframed events.
    pub unframed_core_percent: f64,
    /// Per cent of a core for both.
    pub core_percent: f64,
}

/// What the ring holds after the timing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Frames that the arms wrote.
    pub frames_written: u64,
    /// Frames that the ring says were published.
    pub frames_published: u64,
    /// Frames that could be read back.
    pub frames_read: u64,
    /// Those of them that are not what was written, and records that were refused.
    pub wrong: u64,
}

impl Check {
    /// True when every frame was published and everything read back is right.
    pub fn right(&self) -> bool {
        self.frames_written == self.frames_published && self.frames_read > 0 && self.wrong == 0
    }
}

impl Extrapolation {
    /// The shares of so many frames and events a second at these costs.
    pub fn of(cost: &Cost, frames_per_s: u32, unframed_per_s: u32) -> Extrapolation {
        let percent = |ns: f64, rate: u32| ns * f64::from(rate) / 1e9 * 100.0;
        let framed = percent(cost.per_frame_ns.median, frames_per_s);
        let unframed = percent(cost.per_unframed_event_ns.median, unframed_per_s);
        let rounded = |percent: f64| (percent * 1e5).round() / 1e5;
        Extrapolation {
            label: LABEL.to_owned(),
            frames_per_s,
            unframed_per_s,
            framed_core_percent: rounded(framed),
            unframed_core_percent: rounded(unframed),
            core_percent: rounded(framed + unframed),
        }
    }
}

impl RecorderBench {
    /// Writes the record; the octets depend on the arguments alone.
    ///
    /// # Errors
    /// [`RenderError::Write`] when the writer fails, [`RenderError::Encode`] for a format that a bench has not.
    pub fn render(&self, format: Format, style: Style, out: &mut dyn Write) -> Result<(), RenderError> {
        match format {
            Format::Table => Ok(render::table(self, style, out)?),
            Format::Json => render::json(self, out),
            Format::Csv => render::csv(self, out),
            Format::Markdown => Ok(render::markdown(self, out)?),
            Format::Html => crate::page::bench::recorder(self, out),
            Format::Jsonl | Format::Junit => Err(format.missing("a bench")),
        }
    }

    /// How the times came about, one sentence a line.
    pub(crate) fn method(&self) -> Vec<String> {
        let pinned = self.clock.cpu.map(|cpu| format!(", kept on CPU {cpu}")).unwrap_or_default();
        let disturbed: u64 = self.arms.iter().map(|arm| arm.disturbed_blocks).fold(0, u64::saturating_add);
        let mut lines = vec![
            format!(
                "frames of {} records over {} octets of work, seed {}; a ring of {} records in {}",
                self.events_per_frame, self.frame_bytes, self.seed, self.ring.capacity, self.ring.place
            ),
            format!(
                "{} blocks after {} to warm up, writer on and off in each, in seeded random order",
                self.blocks, self.warm_up_blocks
            ),
            format!("clock {} in steps of {} ns{pinned}", self.clock.name, self.clock.step_ns),
            "ratios and differences are medians over the blocks, with their intervals at 95 % (ISO 16269-7)"
                .to_owned(),
        ];
        if disturbed > 0 {
            lines.push(format!("{disturbed} timings took over 1.25 x their arm's median; they count"));
        }
        lines
    }

    /// What recording costs: name and difference.
    pub(crate) fn costs(&self) -> [(String, Difference); 5] {
        let (cost, n) = (&self.cost, self.events_per_frame);
        [
            (format!("a frame of {n} events"), cost.per_frame_ns),
            ("an event of it".to_owned(), cost.per_event_ns),
            (format!("a frame of {n} events, times given"), cost.per_frame_given_times_ns),
            ("an event of it, times given".to_owned(), cost.per_event_given_times_ns),
            ("an unframed event".to_owned(), cost.per_unframed_event_ns),
        ]
    }

    /// What a device would pay, and what the ring says.
    pub(crate) fn remarks(&self) -> [String; 2] {
        let (e, check) = (&self.extrapolation, &self.check);
        let shares = format!(
            "{:.3} % of a core at {} frames/s and {} unframed events/s ({:.3} + {:.3} %)",
            e.core_percent, e.frames_per_s, e.unframed_per_s, e.framed_core_percent, e.unframed_core_percent
        );
        let verdict = if check.right() { "all right" } else { "NOT WHAT WAS WRITTEN" };
        let checked = format!(
            "{} frames written, {} published, the last {} read back: {verdict}",
            check.frames_written, check.frames_published, check.frames_read
        );
        [format!("{shares}; {}", e.label), checked]
    }
}

#[cfg(test)]
mod tests;
