//! `wireproof matrix`: seeded A/B matrices, from the plan to the order of its arms.

mod args;
mod check;
mod freeze;
mod init;
mod load;
mod order;

pub(super) use args::MatrixArgs;

use super::failure::Failure;
use args::MatrixVerb;

/// Runs the verb.
pub(super) fn run(args: &MatrixArgs) -> Result<u8, Failure> {
    match &args.verb {
        MatrixVerb::Init(args) => init::run(args),
        MatrixVerb::Check(args) => check::run(args),
        MatrixVerb::Freeze(args) => freeze::run(args),
        MatrixVerb::Order(args) => order::run(args),
    }
}
