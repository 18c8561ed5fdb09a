//! `wireproof report`: any record again in any format that it has, without the data it was made from.

use super::compare::formats;
use super::failure::Failure;
use super::inputs::{self, Input, rendered};
use super::{config, output};
use crate::matrix::judging::{How, judge_bundle, report};
use clap::Args;
use std::path::PathBuf;
use wireproof_reports::matrix::InconclusiveIs;
use wireproof_reports::{Format, Style};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof report run.json --format markdown
  wireproof report evidence/20261130T090000Z-drain-safety-5f0c1234 --format html -o report.html

RECORD is the JSON of any verb (- is standard input) or an evidence bundle, which is judged again from what lies in it.
Nothing is judged otherwise: exit code 0 when it is written, 2 for a format that it has not, 7 for what is no record.")]
pub(super) struct RenderArgs {
    /// The record
    #[arg(value_name = "RECORD")]
    record: PathBuf,
    /// Output format
    #[arg(long, value_parser = formats(), default_value = "table")]
    format: Format,
    /// Write here instead of standard output; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the verb.
pub(super) fn run(args: &RenderArgs) -> Result<u8, Failure> {
    output::check(std::slice::from_ref(&args.record), args.output.as_deref())?;
    let style = Style { color: false, width: config::width() };
    let target = args.output.as_deref();
    match inputs::read(&args.record)? {
        Input::Bundle(dir) => {
            let judged = judge_bundle(&dir, &How::default())?;
            output::write(target, |out| {
                rendered(report(&judged).render(args.format, style, InconclusiveIs::default(), out))
            })?;
        }
        Input::Record(record) => {
            output::write(target, |out| rendered(record.render(args.format, style, out)))?;
        }
        Input::Capture(path) => {
            return Err(inputs::untrusted(&path, "no record (a capture is read by `wireproof analyze`)"));
        }
    }
    Ok(0)
}
