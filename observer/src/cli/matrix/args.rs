//! What can be typed behind `wireproof matrix`.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use wireproof_matrices::plan::{TEMPLATES, Template};

#[derive(Debug, Args)]
#[command(
    subcommand_required = true,
    after_help = "\
Examples:
  wireproof matrix init --template drain -o plan.toml
  wireproof matrix check plan.toml

A plan says what is varied, in which order arms are run, what is judged and by how much. Freeze it before the code under
test exists: its hash shows later that no threshold was moved. docs/matrix.md explains the file."
)]
pub(in crate::cli) struct MatrixArgs {
    #[command(subcommand)]
    pub(super) verb: MatrixVerb,
}

#[derive(Debug, Subcommand)]
pub(super) enum MatrixVerb {
    /// Write a plan to begin with
    Init(InitArgs),
    /// Say what is wrong with a plan, how long it takes, and what it can find
    Check(super::check::CheckArgs),
    /// Freeze a plan: its canonical form and three hashes
    Freeze(FreezeArgs),
    /// Print which arm is run when
    Order(OrderArgs),
    /// Say how often the gates of a plan raise a false alarm, from runs without a difference
    Calibrate(super::calibrate::CalibrateArgs),
    /// Run a plan against its device and judge it
    Run(super::run::RunArgs),
    /// Go on with a run that was cut
    Resume(super::run::ResumeArgs),
    /// Put back what a cut run left changed on its device
    Restore(super::run::RestoreArgs),
    /// Judge a bundle again, or try what other margins would say
    Judge(super::judge::JudgeArgs),
    /// Check a bundle without the device: hashes, chain, order, and every figure from the raw record
    Verify(super::judge::VerifyArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof matrix init --template drain -o plan.toml
  wireproof matrix init --template preview --seed 7 --url http://pi-lab.local:8080
  wireproof matrix init --profile wled --url http://192.168.0.40 -o wled.toml

profiler, drain, preview: one switch against the other, 20 arms, about 7 minutes. sham: drain with a third level that
downloads from this host instead of the device. calibrate: two levels that do the same, for `calibrate`. ladder: outputs step by step. field-12-arms and field-20-arms: the
field's own matrices. field, wled: for other controllers, read by a profile. Streams, sources and paths are those of the simulated device: change them to yours.")]
pub(super) struct InitArgs {
    /// The plan to begin with
    #[arg(long, value_name = "NAME", value_parser = template(), required_unless_present = "profile")]
    pub(super) template: Option<&'static Template>,
    /// For another controller: field, wled, or the file of a profile of its own, beside the plan; see docs/device-profiles.md
    #[arg(long, value_name = "NAME|FILE")]
    pub(super) profile: Option<String>,
    /// Its name: 1 to 40 of a-z, 0-9 and -
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,
    /// Seed of the order, 0 to 2^63-1
    #[arg(long, value_name = "N", value_parser = seed())]
    pub(super) seed: Option<u64>,
    /// Where the device's web service is
    #[arg(long, value_name = "URL")]
    pub(super) url: Option<String>,
    /// Write here instead of standard output; - is standard output. What is there is kept
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct PlanArgs {
    /// The plan, or its lock; - is standard input
    #[arg(value_name = "PLAN|LOCK")]
    pub(super) file: PathBuf,
    /// Output format
    #[arg(long, value_parser = ["table", "json"], default_value = "table")]
    pub(super) format: String,
    /// Write here instead of standard output; - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof matrix freeze plan.toml -o plan.lock
  wireproof matrix freeze plan.toml -o - | sha256sum

Prints the hashes. Comments, spacing, order of keys and the way a unit is written do not change plan_sha256; every value
does. A lock of another plan is not overwritten.")]
pub(super) struct FreezeArgs {
    /// The plan; - is standard input
    #[arg(value_name = "PLAN")]
    pub(super) file: PathBuf,
    /// The lock to write [default: PLAN with the ending .lock]; - writes it to standard output
    #[arg(short, long, value_name = "LOCK")]
    pub(super) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof matrix order plan.toml
  wireproof matrix order plan.lock --format json

The same seed gives the same order on every machine and in every version, whatever else the plan says.")]
pub(super) struct OrderArgs {
    #[command(flatten)]
    pub(super) plan: PlanArgs,
    /// The order of another seed
    #[arg(long, value_name = "N", value_parser = seed())]
    pub(super) seed: Option<u64>,
}

fn template() -> impl TypedValueParser<Value = &'static Template> {
    PossibleValuesParser::new(TEMPLATES.iter().map(|template| template.name))
        .try_map(|name| Template::find(&name).ok_or("not a template"))
}

fn seed() -> impl TypedValueParser<Value = u64> {
    clap::value_parser!(u64).range(0..=i64::MAX as u64)
}
