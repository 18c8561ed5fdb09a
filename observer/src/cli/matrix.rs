//! `wireproof matrix`: seeded A/B matrices, from the plan to the verdict and what proves it.

mod args;
mod calibrate;
mod check;
mod dry;
mod freeze;
mod init;
mod judge;
mod load;
mod order;
mod run;
mod soak;
mod spread;
mod view;

pub(super) use args::MatrixArgs;

use super::failure::{Failure, INTEGRITY, USAGE};
use crate::matrix::bundle::BundleError;
use args::MatrixVerb;

/// Runs the verb.
pub(super) fn run(args: &MatrixArgs) -> Result<u8, Failure> {
    match &args.verb {
        MatrixVerb::Init(args) => init::run(args),
        MatrixVerb::Check(args) => check::run(args),
        MatrixVerb::Freeze(args) => freeze::run(args),
        MatrixVerb::Order(args) => order::run(args),
        MatrixVerb::Calibrate(args) => calibrate::run(args),
        MatrixVerb::Run(args) => run::run(args),
        MatrixVerb::Resume(args) => run::resume(args),
        MatrixVerb::Restore(args) => run::restore(args),
        MatrixVerb::Judge(args) => judge::judge(args),
        MatrixVerb::Verify(args) => judge::verify(args),
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
