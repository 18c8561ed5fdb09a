//! `wireproof baseline`: which run others are compared with, chosen by hand from a sealed bundle.

use super::failure::{Failure, USAGE};
use super::{output, say};
use crate::baseline::{StoreError, checked, store};
use crate::matrix::bundle::Seal;
use crate::matrix::clock::wall_ns;
use crate::matrix::env::tool;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use wireproof_matrices::compare::fit_as_baseline;
use wireproof_reports::baseline::{Baseline, SCHEMA};

/// Longest reason, characters.
const REASON: usize = 1000;

#[derive(Debug, Args)]
#[command(
    subcommand_required = true,
    after_help = "\
Examples:
  wireproof baseline set evidence/20261130T090000Z-drain-safety-5f0c1234 --reason \"lowest CPU frame of five\"
  wireproof baseline set BUNDLE && wireproof compare baselines/drain-safety.json LATER_BUNDLE

docs/baselines.md explains the rule, budgets and what has to be alike."
)]
pub(super) struct BaselineArgs {
    #[command(subcommand)]
    verb: BaselineVerb,
}

#[derive(Debug, Subcommand)]
enum BaselineVerb {
    /// Choose a run as the baseline; the one before is kept
    Set(SetArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof baseline set evidence/20261130T090000Z-drain-safety-5f0c1234 --reason \"lowest CPU frame of five\"
  wireproof baseline set BUNDLE --name release-7.1 --dir lab/baselines

Only a sealed bundle of a run that is PASS by its frozen plan is taken, and none is chosen for being the last. Prints where
the baseline is. Exit code 2 for a run that is not fit, 7 for a bundle that was changed.")]
struct SetArgs {
    /// The bundle of the run
    #[arg(value_name = "BUNDLE")]
    bundle: PathBuf,
    /// Why this run; kept with it
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    reason: Option<String>,
    /// Name of the baseline [default: the name of the plan]
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Option<String>,
    /// Folder of baselines
    #[arg(long, value_name = "DIR", default_value = "baselines")]
    dir: PathBuf,
}

/// Runs the verb.
pub(super) fn run(args: &BaselineArgs) -> Result<u8, Failure> {
    match &args.verb {
        BaselineVerb::Set(args) => set(args),
    }
}

fn set(args: &SetArgs) -> Result<u8, Failure> {
    let checked = checked(&args.bundle)?;
    let verdict = &checked.judged.verdict;
    let fit = fit_as_baseline(verdict.verdict, verdict.exploratory, checked.seal == Seal::Sealed);
    fit.map_err(|why| {
        let text = format!("{}: {why} (it is {})", args.bundle.display(), verdict.line());
        Failure::Said { code: USAGE, text }
    })?;
    let baseline = Baseline {
        schema: SCHEMA.to_owned(),
        name: args.name.clone().unwrap_or_else(|| checked.snapshot.plan.clone()),
        set_ns: wall_ns(),
        set_by: tool(),
        reason: args.reason.clone(),
        run: checked.snapshot,
    };
    let (path, kept) = store(&args.dir, &baseline)?;
    if let Some(kept) = kept {
        say(&format!("the baseline before is kept as {}", kept.display()));
    }
    if baseline.reason.is_none() {
        say("no reason was given: --reason says later why this run was chosen");
    }
    output::write(None, |out| Ok(writeln!(out, "{}", path.display())?))?;
    Ok(0)
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Foreign { .. } => Failure::Said { code: USAGE, text: error.to_string() },
            StoreError::Io { .. } => Failure::io_line(&error),
        }
    }
}

fn name(text: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    match text.len() {
        1..=64 if text.chars().all(allowed) && !text.starts_with('.') => Ok(text.to_owned()),
        _ => Err("1 to 64 of letters, digits, - _ and ., no . in front".to_owned()),
    }
}

fn reason(text: &str) -> Result<String, String> {
    match text.chars().count() {
        1..=REASON => Ok(text.to_owned()),
        _ => Err(format!("1 to {REASON} characters")),
    }
}
