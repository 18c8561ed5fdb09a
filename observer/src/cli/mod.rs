//! The command line: verbs, exit codes, and one line for everything that goes wrong.

mod alerts;
mod analyze;
mod args;
mod baseline;
mod bench;
mod bench_args;
mod children;
mod compare;
mod config;
mod demo;
mod device;
mod device_service;
mod doctor;
mod explain;
mod extcap;
mod failure;
mod filter;
mod generate;
mod inputs;
mod layouts;
mod learn;
mod live_view;
mod lower;
mod man;
mod matrix;
mod memory;
mod observe;
mod output;
mod quantity;
mod render;
mod replay;
mod report;
mod ring;
mod rings;
mod schema;
mod selftest;
mod send;
mod serve;
mod slice;
mod soak;
mod stall;
mod thresholds;
mod transmit;
mod tui;

use args::{Cli, Verb};
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};
use failure::Failure;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use wireproof_reports::text::clean;

/// Runs the command line and returns the exit code (`docs/exit-codes.md`).
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    match parsed(extcap::named(arguments)).and_then(|cli| cli.map_or(Ok(0), |cli| dispatch(cli.verb))) {
        Ok(code) => code,
        // Whoever read standard output has enough; that is no error.
        Err(Failure::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Err(Failure::Write(error)) => {
            say(&format!("standard output cannot be written ({error}): check where it leads"));
            failure::IO
        }
        Err(Failure::Said { code, text }) => {
            say(&text);
            code
        }
        Err(Failure::Shown { code, text, below }) => {
            say(&text);
            below.iter().for_each(|line| drop(writeln!(io::stderr(), "  {}", clean(line))));
            code
        }
    }
}

/// The command line, with variables and files under its options; `None` when it was help that was asked for.
fn parsed(arguments: Vec<OsString>) -> Result<Option<Cli>, Failure> {
    let tool = || config::with_variables(Cli::command());
    let mut outcome = tool().try_get_matches_from(&arguments);
    let verb = outcome.as_ref().ok().and_then(|matches| matches.subcommand_name());
    if verb.is_some_and(|verb| config::VERBS.contains(&verb)) {
        let layers = config::Layers::read()?;
        outcome = layers.under(tool()).try_get_matches_from(&arguments);
        if let (Ok(matches), Some(path)) = (&outcome, layers.local()) {
            tell_of_settings(matches, path);
        }
    }
    if let Ok(matches) = &outcome {
        config::agree(matches)?;
    }
    match outcome.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => Ok(Some(cli)),
        Err(error) => not_parsed(&error).map(|()| None),
    }
}

/// A file that nobody named changes what a live run does: it is said that one holds.
fn tell_of_settings(matches: &clap::ArgMatches, path: &Path) {
    let observing = matches.subcommand_matches("observe");
    if observing.is_some_and(|given| !given.get_flag("quiet")) {
        say(&format!("settings of ./{} hold (wireproof config show)", path.display()));
    }
}

/// The definition of the command line, for man pages and completions.
pub fn command() -> clap::Command {
    Cli::command()
}

fn dispatch(verb: Verb) -> Result<u8, Failure> {
    match verb {
        Verb::Analyze(args) => analyze::run(&args),
        Verb::Observe(args) => observe::run(&args),
        Verb::Learn(args) => learn::run(&args),
        Verb::Explain(args) => explain::run(&args),
        Verb::Extcap(args) => extcap::run(&args),
        Verb::Slice(args) => slice::run(&args),
        Verb::Doctor(args) => doctor::run(&args),
        Verb::Replay(args) => replay::run(&args),
        Verb::Send(args) => send::run(&args),
        Verb::Bench(args) => bench::run(&args),
        Verb::Demo(args) => demo::run(&args),
        Verb::Device(args) => device::run(&args),
        Verb::Layouts(args) => layouts::run(&args),
        Verb::Ring(args) => ring::run(&args),
        Verb::Matrix(args) => matrix::run(&args),
        Verb::Baseline(args) => baseline::run(&args),
        Verb::Compare(args) => compare::run(&args),
        Verb::Report(args) => render::run(&args),
        Verb::DeviceService(args) => device_service::run(*args),
        Verb::Schema(args) => schema::run(&args),
        Verb::Selftest(args) => selftest::run(&args),
        Verb::Config(args) => config::run(&args),
        Verb::Completions(args) => generate::completions(&args),
        Verb::Man(args) => generate::man(&args),
    }
}

/// One line on standard error; a closed standard error is nobody's problem.
fn say(text: &str) {
    let _ = writeln!(io::stderr(), "wireproof: {}", clean(text));
}

fn not_parsed(error: &clap::Error) -> Result<(), Failure> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(error.print()?),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Err(Failure::usage("no verb given", "`wireproof --help` lists them"))
        }
        _ => Err(usage_line(&error.render().to_string())),
    }
}

/// Clap's message and its tip as one line.
fn usage_line(rendered: &str) -> Failure {
    let mut paragraphs = rendered.split("\n\n").map(|p| p.split_whitespace().collect::<Vec<_>>().join(" "));
    let what = paragraphs.next().unwrap_or_default();
    let tip = paragraphs.find_map(|p| p.strip_prefix("tip: ").map(str::to_owned));
    let what = what.strip_prefix("error: ").unwrap_or(&what);
    Failure::usage(what, tip.as_deref().unwrap_or("see `wireproof --help`"))
}
