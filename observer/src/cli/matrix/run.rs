//! `matrix run`, `resume` and `restore`: what touches a device.

use super::super::failure::{Failure, INTEGRITY, IO, USAGE};
use super::super::{config, lower, output, say};
use super::check::{predict, refuse_unrunnable};
use super::dry;
use super::judge::{Show, show};
use super::load;
use super::soak::{self, SoakArgs};
use super::view::View;
use crate::matrix::bundle::{Bundle, BundleLock, Seal, Writer};
use crate::matrix::judging::{How, anonymized, judge_bundle};
use crate::matrix::restoring::{self, NotRestored};
use crate::matrix::running::{Ended, New, NoRun, Ready, prepare, take_up};
use crate::matrix::soaking::run_by;
use clap::Args;
use std::path::{Path, PathBuf};
use wireproof_matrices::manifest::MANIFEST;
use wireproof_matrices::plan::Plan;
use wireproof_matrices::plan::check::{Severity, check};

/// A run that could not put its device back, or did not begin.
const INVALID: u8 = 4;
/// A run that was stopped.
const PARTIAL: u8 = 5;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof matrix run drain.toml
  wireproof matrix run drain.lock --expect 5f0c8e… --evidence /var/evidence
  wireproof matrix run drain.lock --until-bound 1e-5

Every step is in the journal before it is taken. The first Ctrl-C ends the arm, puts the device back and seals what is
there (PARTIAL, 5); a second one skips all waiting; a third leaves at once and says how to put the device back.

With --until-bound the plan is not compared but soaked: windows of its baseline, one after another, until the metric was
shown to happen less often than the rate asked for. `matrix resume` goes on with one that was stopped.")]
pub(in crate::cli) struct RunArgs {
    /// The plan, or its lock; - is standard input
    #[arg(value_name = "PLAN|LOCK")]
    plan: PathBuf,
    /// Run only if this is the hash of the plan: it was published beforehand
    #[arg(long, value_name = "HASH")]
    expect: Option<String>,
    /// Walk through every step against a simulated device in simulated time: nothing is sent and nothing is written
    #[arg(long, conflicts_with_all = ["evidence", "anonymize", "tap"])]
    dry: bool,
    #[command(flatten)]
    soak: SoakArgs,
    /// Folder of the bundles [default: evidence.dir of the plan]
    #[arg(short = 'o', long, value_name = "DIR")]
    evidence: Option<PathBuf>,
    /// Write a copy of the bundle without addresses and names beside it, for somebody else's eyes
    #[arg(long)]
    anonymize: bool,
    /// Listen on this interface beside the sockets, and lay what it saw against each loss; takes CAP_NET_RAW
    #[arg(long, value_name = "IF")]
    tap: Option<String>,
    /// With --tap: go on as this user (a name, or UID:GID), with no right but those that opening takes; root keeps all rights [default: who
    /// called sudo]
    #[arg(short = 'Z', long, value_name = "USER", requires = "tap")]
    user: Option<String>,
    #[command(flatten)]
    show: Show,
    /// Say nothing while it runs
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof matrix resume evidence/20261130T090000Z-drain-safety-5f0c1234
  wireproof matrix resume BUNDLE --format json

The same plan, build and boot of the device are asked for. A block with an unfinished arm is repeated whole. A soak goes
on with its next window, also when the device was restarted.")]
pub(in crate::cli) struct ResumeArgs {
    /// The bundle
    bundle: PathBuf,
    /// Listen on this interface beside the sockets, as with `run`
    #[arg(long, value_name = "IF")]
    tap: Option<String>,
    /// With --tap: go on as this user (a name, or UID:GID), with no right but those that opening takes; root keeps all rights [default: who
    /// called sudo]
    #[arg(short = 'Z', long, value_name = "USER", requires = "tap")]
    user: Option<String>,
    #[command(flatten)]
    show: Show,
    /// Say nothing while it runs
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof matrix restore evidence/20261130T090000Z-drain-safety-5f0c1234
  wireproof matrix restore BUNDLE && wireproof matrix resume BUNDLE")]
pub(in crate::cli) struct RestoreArgs {
    /// The bundle
    bundle: PathBuf,
}

pub(super) fn run(args: &RunArgs) -> Result<u8, Failure> {
    let text = load::text(&args.plan)?;
    let load::Loaded { lock, profile, .. } = load::of(&args.plan, &text)?;
    if let Some(expected) = &args.expect
        && *expected != lock.plan_sha256
    {
        let text = format!(
            "{} has the hash {}, {expected} was expected: nothing was sent; see what changed since it was frozen",
            args.plan.display(),
            lock.plan_sha256
        );
        return Err(Failure::Said { code: INTEGRITY, text });
    }
    let rule = args.soak.rule()?;
    if let Some(rule) = &rule {
        let course = soak::checked(&args.plan, &lock.plan, rule)?;
        if args.dry {
            return dry::soak(&lock.plan, &course, rule, &args.show);
        }
    } else {
        check_matrix(&args.plan, &lock.plan)?;
        if args.dry {
            return dry::run(&lock.plan, &args.show);
        }
    }
    let evidence = args.evidence.clone().unwrap_or_else(|| PathBuf::from(&lock.plan.evidence.dir));
    let new = New {
        plan: &lock.plan,
        text: text.as_bytes(),
        profile: profile.as_deref().map(str::as_bytes),
        pre_registered: args.expect.is_some(),
        soak: rule.as_ref(),
        tap: args.tap.as_deref(),
    };
    if args.tap.is_some() {
        lower::for_arms(args.user.as_deref(), &lock.plan, args.quiet)?;
    }
    let ready = prepare(&new, &evidence)?;
    let bundle = ready.bundle().to_owned();
    let code = conduct(ready, &args.show, args.quiet)?;
    if args.anonymize {
        copy_masked(&bundle)?;
    }
    Ok(code)
}

/// Says what is wrong with the plan of a matrix.
fn check_matrix(file: &Path, plan: &Plan) -> Result<(), Failure> {
    let checked = check(plan, &predict);
    for remark in checked.remarks.iter().filter(|remark| remark.severity != Severity::Error) {
        say(&format!("{} {} ({}): {}", remark.severity.name(), remark.code, remark.table, remark.text));
    }
    refuse_unrunnable(file, &checked)
}

/// Copies a bundle without addresses; what cannot be masked is left out and said.
fn copy_masked(bundle: &Path) -> Result<(), Failure> {
    let mut name = bundle.as_os_str().to_owned();
    name.push("-anonymized");
    let left_out = anonymized(&Bundle::open(bundle)?, Path::new(&name))?;
    say(&format!("masked copy: {}", name.display()));
    if !left_out.is_empty() {
        say(&format!("left out of it: {}", left_out.join(", ")));
    }
    Ok(())
}

pub(super) fn resume(args: &ResumeArgs) -> Result<u8, Failure> {
    if args.tap.is_some() {
        let plan = run_by(&Bundle::open(&args.bundle)?)?;
        lower::for_arms(args.user.as_deref(), &plan, args.quiet)?;
    }
    let lock = BundleLock::take(&args.bundle)?;
    if Bundle::open(&args.bundle)?.seal() == Seal::Cut {
        return finish_seal(lock, &args.show);
    }
    conduct(take_up(lock, args.tap.as_deref())?, &args.show, args.quiet)
}

/// A run that was killed between its last record and its manifest lacks nothing but the manifest.
fn finish_seal(lock: BundleLock, shown: &Show) -> Result<u8, Failure> {
    let bundle = lock.dir().to_owned();
    Writer::finish_seal(lock)?;
    say("the run was complete and its seal was cut: the manifest is written");
    let judged = judge_bundle(&bundle, &How::default())?;
    show(&judged, shown)?;
    Ok(shown.code(judged.verdict.verdict.exit_code()))
}

pub(super) fn restore(args: &RestoreArgs) -> Result<u8, Failure> {
    let restored = restoring::restore(&args.bundle).map_err(|error| match error {
        NotRestored::Bundle(error) => error.into(),
        NotRestored::Device(error) => Failure::Said { code: USAGE, text: error.to_string() },
        error @ NotRestored::Factor { .. } => Failure::Said { code: INVALID, text: error.to_string() },
        NotRestored::System(error) => Failure::io(&error.to_string(), "see `wireproof doctor`"),
    })?;
    if restored.is_empty() {
        say("nothing to put back");
    }
    restored.iter().for_each(|(factor, level)| say(&format!("{factor} stands at {level} again")));
    Ok(0)
}

fn conduct(ready: Ready, shown: &Show, quiet: bool) -> Result<u8, Failure> {
    say(&format!("bundle: {}", ready.bundle().display()));
    ready.left_by(|bundle| {
        // Whoever draws waits for this, and the process ends before it does: the line stays the last one.
        let _drawing = std::io::stderr().lock();
        say(&format!("left at once by a third signal: wireproof matrix restore {}", bundle.display()));
        std::process::exit(INVALID.into());
    });
    let mut view = View::new(quiet);
    let ended = ready.run(&mut |seen| view.show(seen))?;
    view.clear();
    finish(&ended, shown)
}

/// The last words, the report and the exit code.
fn finish(ended: &Ended, shown: &Show) -> Result<u8, Failure> {
    let Some(exit) = &ended.exit else {
        let restored = match &ended.rescued {
            Some(Ok(restored)) => format!("{} factors were put back", restored.len()),
            Some(Err(why)) => format!("{why}: wireproof matrix restore {}", ended.bundle.display()),
            None => String::new(),
        };
        let text = format!("the program failed, which is a mistake in it; {restored}");
        return Err(Failure::Said { code: IO, text });
    };
    exit.lines.iter().for_each(|line| say(line));
    if !exit.ending.restored && !ended.bundle.join(MANIFEST).exists() {
        // What to do was said, and whoever left in a hurry does not wait for a report.
        return Ok(INVALID);
    }
    let judged = judge_bundle(&ended.bundle, &How::default())?;
    show(&judged, shown)?;
    if judged.verdict.soak.as_ref().is_some_and(|soak| soak.ended.is_none()) && exit.code == Some(PARTIAL) {
        say(&format!("it goes on with: wireproof matrix resume {}", ended.bundle.display()));
    }
    if !exit.ending.restored {
        say(&format!("NOT RESTORED, put it back with: wireproof matrix restore {}", ended.bundle.display()));
    }
    let code = judged.verdict.verdict.exit_code();
    Ok(exit.code.unwrap_or_else(|| shown.code(code)))
}

impl Show {
    /// Where the report goes.
    pub(super) fn target(&self) -> Option<&Path> {
        output::file(self.report.as_deref())
    }

    /// Columns of a table.
    pub(super) fn width() -> usize {
        config::width()
    }
}

impl From<NoRun> for Failure {
    fn from(error: NoRun) -> Self {
        match error {
            NoRun::Bundle(error) => error.into(),
            NoRun::Device(error) => Failure::Said { code: USAGE, text: error.to_string() },
            NoRun::Soak(_) => Failure::Said { code: USAGE, text: error.to_string() },
            NoRun::Tap(_) | NoRun::Silent(_) | NoRun::System(_) => Failure::io_line(&error),
        }
    }
}
