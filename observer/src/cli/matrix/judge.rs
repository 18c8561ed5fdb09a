//! `matrix judge` and `verify`: what needs a bundle and no device.

use super::super::failure::{Failure, INTEGRITY};
use super::super::{output, say};
use crate::matrix::judging::{How, Judged, judge_bundle, report};
use crate::matrix::verifying;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use wireproof_matrices::plan::{Margin, Plan};
use wireproof_matrices::units;
use wireproof_matrices::verdict::Outcome;
use wireproof_reports::matrix::InconclusiveIs;
use wireproof_reports::{Format, Style};

/// How a verdict is shown.
#[derive(Debug, Args)]
pub(in crate::cli) struct Show {
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: Shape,
    /// Write the report here instead of standard output; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
    /// What a script makes of INCONCLUSIVE: its own exit code 3, or a failure
    #[arg(long, value_name = "WHAT", value_parser = ["own", "fail"], default_value = "own")]
    inconclusive_is: String,
}

/// Formats of a verdict.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Shape {
    /// Text for people
    Table,
    /// One document
    Json,
    /// One object a line
    Jsonl,
    /// One row a gate
    Csv,
    /// Tables for a pull request
    Markdown,
    /// One test case a gate
    Junit,
    /// A page that stands alone
    Html,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof matrix judge evidence/20261130T090000Z-drain-safety-5f0c1234 --format markdown
  wireproof matrix judge BUNDLE --what-if p95=0.25ms

With --what-if the verdict is exploratory: every table says so, and nothing passes.")]
pub(in crate::cli) struct JudgeArgs {
    /// The bundle
    bundle: PathBuf,
    /// Another margin for a gate, such as p95=0.25ms, rate=0.2% or lost=3; may be given several times
    #[arg(long, value_name = "GATE=MARGIN")]
    what_if: Vec<String>,
    #[command(flatten)]
    show: Show,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof matrix verify evidence/20261130T090000Z-drain-safety-5f0c1234
  wireproof matrix verify BUNDLE && echo nothing was changed

Exit code 0 when everything is the same again, 7 with every difference named.")]
pub(in crate::cli) struct VerifyArgs {
    /// The bundle
    bundle: PathBuf,
}

pub(super) fn judge(args: &JudgeArgs) -> Result<u8, Failure> {
    let plan = crate::matrix::bundle::Bundle::open(&args.bundle)?.plan()?;
    let what_if: Result<Vec<_>, Failure> =
        args.what_if.iter().map(|text| margin("--what-if", text, &plan)).collect();
    let judged = judge_bundle(&args.bundle, &How { what_if: what_if?, arms: None })?;
    show(&judged, &args.show)?;
    Ok(args.show.code(judged.verdict.verdict.exit_code()))
}

pub(super) fn verify(args: &VerifyArgs) -> Result<u8, Failure> {
    let verified = verifying::verify(&args.bundle)?;
    output::write(None, |out| {
        verified.checked.iter().try_for_each(|line| writeln!(out, "ok    {line}"))?;
        verified.notes.iter().try_for_each(|line| writeln!(out, "note  {line}"))?;
        Ok(verified.differences.iter().try_for_each(|line| writeln!(out, "DIFFERS {line}"))?)
    })?;
    Ok(if verified.differences.is_empty() { 0 } else { INTEGRITY })
}

/// Writes a verdict.
pub(super) fn show(judged: &Judged, shown: &Show) -> Result<(), Failure> {
    let style = Style { color: false, width: Show::width() };
    let inconclusive = match shown.inconclusive_is.as_str() {
        "fail" => InconclusiveIs::Failure,
        _ => InconclusiveIs::Skipped,
    };
    output::write(shown.target(), |out| {
        Ok(report(judged).render(shown.format.into(), style, inconclusive, out)?)
    })?;
    if shown.target().is_some() {
        say(&judged.verdict.line());
    }
    Ok(())
}

impl Show {
    /// The exit code, if INCONCLUSIVE is to count as FAIL.
    pub(super) fn code(&self, code: u8) -> u8 {
        let counts = self.inconclusive_is == "fail" && code == Outcome::Inconclusive.exit_code();
        if counts { Outcome::Fail.exit_code() } else { code }
    }
}

impl From<Shape> for Format {
    fn from(shape: Shape) -> Format {
        match shape {
            Shape::Table => Format::Table,
            Shape::Json => Format::Json,
            Shape::Jsonl => Format::Jsonl,
            Shape::Csv => Format::Csv,
            Shape::Markdown => Format::Markdown,
            Shape::Junit => Format::Junit,
            Shape::Html => Format::Html,
        }
    }
}

/// `GATE=VALUE` of an option in the unit of the gate's own margin.
pub(super) fn margin(option: &str, text: &str, plan: &Plan) -> Result<(String, Margin), Failure> {
    let usage = |why: &str| Failure::usage(&format!("{option} {text}"), why);
    let (id, value) = text.split_once('=').ok_or_else(|| usage("write GATE=VALUE, such as p95=0.25ms"))?;
    let gate = plan.gate.iter().find(|gate| gate.id == id);
    let gate = gate.ok_or_else(|| usage("the plan has no gate of this name"))?;
    let value = match gate.margin {
        Some(Margin::Ns(_)) => {
            units::duration_ns(value).map(Margin::Ns).map_err(|e| usage(&e.to_string()))?
        }
        Some(Margin::Ppm(_)) => {
            units::ratio_ppm(value).map(Margin::Ppm).map_err(|e| usage(&e.to_string()))?
        }
        Some(Margin::Count(_)) => {
            value.parse().map(Margin::Count).map_err(|_| usage("a number is needed"))?
        }
        None => return Err(usage("this gate has no margin")),
    };
    Ok((id.to_owned(), value))
}
