//! A matrix: its verdict (`wireproof.verdict/1`) and what lies beside it in the bundle, in every format.
//!
//! What a format says is put together once, in `parts`; the writers only lay it out. Nothing here judges or
//! computes statistics: every figure stands in the record.

pub mod calibrate;
mod csv;
mod figure;
mod html;
mod json;
mod junit;
mod markdown;
mod parts;
mod plot;
mod table;

use crate::{Format, RenderError, Style};
use serde::Serialize;
use std::io::Write;
use wireproof_matrices::ladder::Envelope;
use wireproof_matrices::plan::Plan;
use wireproof_matrices::verdict::{Decision, Outcome, Verdict};
use wireproof_recorder::analysis::causes::Counts;

/// What stands in every table of a run that was judged by other margins than the frozen ones.
pub const EXPLORATORY: &str = "EXPLORATORY, not the frozen plan";

/// What a report of a matrix shows.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Report<'a> {
    /// The verdict.
    pub verdict: &'a Verdict,
    /// The plan it was judged by, from the bundle.
    pub plan: Option<&'a Plan>,
    /// `env.json` of the bundle: tool, kernel, network card, clocks, device.
    pub environment: Option<&'a serde_json::Value>,
    /// Why frames were made, by treatment.
    pub causes: &'a [CauseRow],
    /// What a capacity ladder showed.
    pub envelope: Option<&'a Envelope>,
}

/// Why the frames of a treatment's counted arms were made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CauseRow {
    /// The treatment.
    pub treatment: String,
    /// Its frames by cause, and the places that asked.
    pub counts: Counts,
    /// Of the frames by other: those without any record of a cause.
    pub unrecorded: u64,
}

/// What a CI job makes of INCONCLUSIVE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InconclusiveIs {
    /// A skipped test.
    #[default]
    Skipped,
    /// A failed test (`--inconclusive-is fail`).
    Failure,
}

impl<'a> Report<'a> {
    /// The formats of a matrix, in the order of the help text.
    pub const FORMATS: [Format; 7] = [
        Format::Table,
        Format::Json,
        Format::Jsonl,
        Format::Csv,
        Format::Markdown,
        Format::Junit,
        Format::Html,
    ];

    /// A report of a verdict alone.
    pub fn new(verdict: &'a Verdict) -> Report<'a> {
        Report { verdict, plan: None, environment: None, causes: &[], envelope: None }
    }

    /// Writes the report; the octets depend on the arguments alone.
    ///
    /// # Errors
    /// [`RenderError::Write`] when the writer fails.
    pub fn render(
        &self,
        format: Format,
        style: Style,
        inconclusive: InconclusiveIs,
        out: &mut dyn Write,
    ) -> Result<(), RenderError> {
        match format {
            Format::Table => Ok(table::write(self, style, out)?),
            Format::Json => json::write(self.verdict, out),
            Format::Jsonl => json::write_lines(self.verdict, out),
            Format::Csv => csv::write(self.verdict, out),
            Format::Markdown => Ok(markdown::write(self, out)?),
            Format::Junit => Ok(junit::write(self.verdict, inconclusive, out)?),
            Format::Html => html::write(self, out),
        }
    }
}

/// The word for what a gate says in this run: nothing passes in a run that is partial or exploratory.
fn decision(verdict: &Verdict, decision: Decision) -> String {
    let word = match decision {
        Decision::Shown => "shown",
        Decision::Pass if verdict.exploratory => "would hold",
        Decision::Pass => "PASS",
        Decision::Inconclusive => "INCONCLUSIVE",
        Decision::Fail => "FAIL",
    };
    if verdict.verdict == Outcome::Partial { format!("partial: {word}") } else { word.to_owned() }
}

/// `1 block`, `2 blocks`.
fn plural(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{} {noun}s", figure::count(n)) }
}
