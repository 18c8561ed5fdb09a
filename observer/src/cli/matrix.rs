//! `wireproof matrix`: seeded A/B matrices against a device, their evidence and their verdicts.

mod judge;
mod run;
mod view;

use super::failure::{Failure, INTEGRITY, USAGE};
use crate::matrix::bundle::BundleError;
use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof matrix run drain.toml --expect 5f0c…
  wireproof matrix verify evidence/20261130T090000Z-drain-safety-5f0c1234")]
pub(super) struct MatrixArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Run a plan against its device and judge it
    Run(run::RunArgs),
    /// Go on with a run that was cut
    Resume(run::ResumeArgs),
    /// Put back what a cut run left changed on its device
    Restore(run::RestoreArgs),
    /// Judge a bundle again, or try what other margins would say
    Judge(judge::JudgeArgs),
    /// Check a bundle without the device: hashes, chain, order, and every figure from the raw record
    Verify(judge::VerifyArgs),
}

/// Runs the verb.
pub(super) fn run(args: &MatrixArgs) -> Result<u8, Failure> {
    match &args.what {
        What::Run(args) => run::run(args),
        What::Resume(args) => run::resume(args),
        What::Restore(args) => run::restore(args),
        What::Judge(args) => judge::judge(args),
        What::Verify(args) => judge::verify(args),
    }
}

impl From<BundleError> for Failure {
    fn from(error: BundleError) -> Self {
        let todo = match error.exit_code() {
            INTEGRITY => ": nothing of it can be believed",
            USAGE => "",
            _ if matches!(error, BundleError::Io { .. }) => ": check the folder, its rights and the disk",
            _ => "",
        };
        Failure::Said { code: error.exit_code(), text: format!("{error}{todo}") }
    }
}
