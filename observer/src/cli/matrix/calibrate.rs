//! `matrix calibrate`: how often the gates of a plan raise a false alarm, from runs in which both treatments were the same.

use super::judge::Shape;
use crate::cli::failure::{Failure, USAGE};
use crate::cli::{config, output, say};
use crate::matrix::bundle::Bundle;
use crate::matrix::judging::{How, arms, judge_opened};
use clap::Args;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use wireproof_matrices::calibrate::{Alarms, alarms, calibrate, pooled};
use wireproof_matrices::plan::{Plan, Role};
use wireproof_matrices::soak::rule;
use wireproof_reports::Style;
use wireproof_reports::matrix::calibrate::CalibrationReport;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof matrix calibrate evidence/20261130T090000Z-drain-a-a-5f0c1234
  wireproof matrix calibrate evidence/*-drain-a-a-5f0c1234 --format markdown

The runs have to be A/A: a plan whose two levels do the same, such as the template calibrate. What fails in them is a false alarm. Swapping the names of
the treatments within blocks shows more of each run; several runs of one plan show how often its gates fail.")]
pub(in crate::cli) struct CalibrateArgs {
    /// Bundles of one plan
    #[arg(required = true)]
    bundles: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: Shape,
    /// Write here instead of standard output; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the verb.
pub(super) fn run(args: &CalibrateArgs) -> Result<u8, Failure> {
    let mut opened = Vec::new();
    for path in &args.bundles {
        opened.push(Bundle::open(path)?);
    }
    let Some(first) = opened.first() else { return Ok(USAGE) };
    if let Some(other) = opened.iter().find(|bundle| bundle.plan_sha256() != first.plan_sha256()) {
        let what = format!("{} has another plan", other.dir().display());
        return Err(Failure::usage(&what, "give bundles of one plan"));
    }
    let mut names = BTreeSet::new();
    if let Some(twice) = opened.iter().find(|bundle| !names.insert(bundle.dir().canonicalize().ok())) {
        let what = format!("{} is given twice", twice.dir().display());
        return Err(Failure::usage(
            &what,
            "one run shows only once how often gates fail: give each bundle once",
        ));
    }
    if let Some(soak) = opened.iter().find(|bundle| rule(bundle.journal()).is_some()) {
        let what = format!("{} is a soak", soak.dir().display());
        return Err(Failure::usage(&what, "give bundles of runs that compare"));
    }
    let plan = first.plan()?;
    if !is_known_aa(&plan) {
        say(
            "as far as the plan says its levels do different things: what fails is a false alarm only if they do not",
        );
    }
    let swapped: Result<Vec<_>, Failure> =
        opened.iter().map(|bundle| Ok(calibrate(&plan, &arms(bundle)?))).collect();
    let gates = pooled(swapped?);
    let verdicts: Result<Vec<_>, _> =
        opened.iter().map(|bundle| judge_opened(bundle, &How::default()).map(|j| j.verdict)).collect();
    let runs: BTreeMap<String, Alarms> = if opened.len() > 1 { alarms(&verdicts?) } else { BTreeMap::new() };
    let plan_sha256 = first.plan_sha256().to_string();
    let report =
        CalibrationReport { name: &plan.name, plan_sha256: &plan_sha256, gates: &gates, runs: &runs };
    let style = Style { color: false, width: config::width() };
    output::write(args.output.as_deref(), |out| Ok(report.render(args.format.into(), style, out)?))?;
    Ok(0)
}

/// True when the only treatment is a second level of `drain` that does what the baseline does.
fn is_known_aa(plan: &Plan) -> bool {
    let mut treatments = plan.factor.iter().filter(|factor| factor.role == Role::Treatment);
    treatments.all(|factor| {
        let mut others = factor.levels.iter().filter(|level| **level != factor.baseline);
        factor.name == "drain" && others.all(|level| level == "again")
    })
}
