//! `wireproof compare`: a run against a baseline, or two observed runs side by side.

use super::failure::{FAIL, Failure, USAGE};
use super::inputs::{self, Input, rendered};
use super::{config, filter, layouts, output, say};
use crate::analysis;
use crate::baseline::checked;
use crate::infile;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::io::Read;
use std::path::{Path, PathBuf};
use wireproof_matrices::compare::Budgets;
use wireproof_protocols::layout::Layouts;
use wireproof_protocols::verify::Options;
use wireproof_reports::baseline::Baseline;
use wireproof_reports::compare::Refusal;
use wireproof_reports::compare_runs::{Runs, Said};
use wireproof_reports::record::Record;
use wireproof_reports::{Comparison, Filter, Format, Observer, Style, Summary, Terms, Verdict};

/// Longest file of budgets, octets.
const BUDGETS: u64 = 1 << 20;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof compare baselines/drain-safety.json evidence/20261201T090000Z-drain-safety-5f0c1234 --budgets budgets.toml
  wireproof compare before.pcapng after.pcapng
  wireproof compare old.json new.json --fail-on-worse --format markdown

With a baseline: FAIL past +10 % and the floor (20 us of times) or over a budget, a warning past +5 %. Exit code 1 when a
gate fails, 3 when one cannot tell, 4 or 5 when the run itself is INVALID or PARTIAL, 2 when the runs are not alike.
Two runs: exit code 0 whatever comes out; with --fail-on-worse 1 when something is worse or gone, 3 when nothing could be
compared. docs/baselines.md has the rules.")]
pub(super) struct CompareArgs {
    /// A baseline, or the first run: a summary (JSON of analyze or observe) or a capture
    #[arg(value_name = "BASELINE|BEFORE")]
    before: PathBuf,
    /// The bundle of a run, or the second run
    #[arg(value_name = "BUNDLE|AFTER")]
    after: PathBuf,
    /// Absolute ceilings; only with a baseline
    #[arg(long, value_name = "FILE")]
    budgets: Option<PathBuf>,
    /// Layout of a house protocol for captures: a TOML file, or a name of `wireproof layouts list`; may be given several
    /// times
    #[arg(long, value_name = "LAYOUT")]
    layout: Vec<PathBuf>,
    /// Compare runs that are not alike; every report of it says so
    #[arg(long)]
    allow_different: bool,
    /// Exit with 1 when a figure of the second run is worse, or a stream is gone
    #[arg(long)]
    fail_on_worse: bool,
    /// Compare only streams of captures that fit, such as 'protocol == sacn'
    #[arg(id = "where", long = "where", value_name = "EXPR")]
    filter: Option<String>,
    /// Output format
    #[arg(long, value_parser = formats(), default_value = "table")]
    format: Format,
    /// Write here instead of standard output; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Parses the name of any format; which of them a record has, it says itself.
pub(super) fn formats() -> impl TypedValueParser<Value = Format> {
    const ALL: [Format; 7] = [
        Format::Table,
        Format::Json,
        Format::Jsonl,
        Format::Csv,
        Format::Markdown,
        Format::Junit,
        Format::Html,
    ];
    PossibleValuesParser::new(ALL.map(Format::name))
        .try_map(|name| ALL.into_iter().find(|format| format.name() == name).ok_or("not a format"))
}

/// Runs the verb.
pub(super) fn run(args: &CompareArgs) -> Result<u8, Failure> {
    output::check(&[args.before.clone(), args.after.clone()], args.output.as_deref())?;
    filter::parse(args.filter.as_deref())?;
    let before = inputs::read(&args.before)?;
    if let Input::Record(record) = before {
        return match *record {
            Record::Baseline(baseline) => with_baseline(args, &baseline),
            other => runs(args, Input::Record(Box::new(other))),
        };
    }
    runs(args, before)
}

fn with_baseline(args: &CompareArgs, baseline: &Baseline) -> Result<u8, Failure> {
    if args.filter.is_some() {
        let todo = "leave it out, a baseline is of a whole run";
        return Err(Failure::usage("--where is for two captures", todo));
    }
    if args.fail_on_worse {
        let what = "--fail-on-worse is for two runs";
        return Err(Failure::usage(what, "leave it out, a comparison with a baseline fails by itself"));
    }
    if !args.after.is_dir() {
        let what = format!("{} is no evidence bundle", args.after.display());
        return Err(Failure::usage(&what, "with a baseline comes the folder of a run"));
    }
    let budgets = args.budgets.as_deref().map(budgets).transpose()?.unwrap_or_default();
    let run = checked(&args.after)?.snapshot;
    if let (Err(error), Some(file)) = (budgets.fit(&run.figures), &args.budgets) {
        return Err(Failure::Said { code: USAGE, text: format!("{}, {error}", file.display()) });
    }
    let comparison = Comparison::of(baseline, &run, &budgets, args.allow_different).map_err(refused)?;
    let style = style();
    output::write(args.output.as_deref(), |out| rendered(comparison.render(args.format, style, out)))?;
    if output::file(args.output.as_deref()).is_some() {
        say(&comparison.line());
    }
    Ok(Verdict::exit_code(comparison.verdict))
}

fn refused(refusal: Refusal) -> Failure {
    match refusal {
        Refusal::Definitions(lines) => {
            let what = format!("metrics are defined otherwise ({})", lines.join("; "));
            Failure::usage(&what, "set a baseline by a run of this version")
        }
        Refusal::Conditions(lines) => {
            let what = format!("the runs are not alike ({})", lines.join("; "));
            Failure::usage(&what, "compare like runs, or say --allow-different, which marks the report")
        }
    }
}

fn budgets(path: &Path) -> Result<Budgets, Failure> {
    let unreadable = |why: String| {
        Failure::io(&format!("{} cannot be read ({why})", path.display()), "check its name and rights")
    };
    let mut text = String::new();
    let read = infile::open(path).and_then(|file| file.take(BUDGETS + 1).read_to_string(&mut text));
    read.map_err(|error| unreadable(error.to_string()))?;
    if text.len() as u64 > BUDGETS {
        return Err(unreadable(format!("over {BUDGETS} octets")));
    }
    Budgets::read(&text)
        .map_err(|error| Failure::Said { code: USAGE, text: format!("{}, {error}", path.display()) })
}

fn runs(args: &CompareArgs, before: Input) -> Result<u8, Failure> {
    if args.budgets.is_some() || args.allow_different {
        let what = "--budgets and --allow-different belong to a baseline";
        return Err(Failure::usage(
            what,
            "two runs are compared where they are alike, and the rest says why not",
        ));
    }
    let wanted = filter::parse(args.filter.as_deref())?;
    let layouts = layouts::load(&args.layout)?;
    let read = |path: &Path, input| summary(path, input, (wanted.clone(), layouts));
    let (before, after) = (read(&args.before, before)?, read(&args.after, inputs::read(&args.after)?)?);
    let expression = |summary: &Summary| summary.filter.as_ref().map(|f| f.expression.clone());
    if expression(&before) != expression(&after) {
        say("the runs are not filtered alike: what only one of them kept is new or gone here");
    }
    let runs = Runs::of(&before, &after).map_err(|why| inputs::untrusted(&args.before, &why))?;
    let style = style();
    output::write(args.output.as_deref(), |out| rendered(runs.render(args.format, style, out)))?;
    if output::file(args.output.as_deref()).is_some() {
        say(&format!("{}: {}", runs.outcome.word(), runs.line()));
    }
    Ok(match runs.outcome {
        Said::Worse if args.fail_on_worse => FAIL,
        Said::NotCompared if args.fail_on_worse => Verdict::Inconclusive.exit_code(),
        _ => 0,
    })
}

/// The summary of a run; a capture is read by the engine of `analyze`.
fn summary(
    path: &Path,
    input: Input,
    (filter, layouts): (Option<Filter>, Layouts),
) -> Result<Summary, Failure> {
    match input {
        Input::Record(record) => match *record {
            Record::Summary(_) if filter.is_some() => {
                let what = format!("{} is a summary, --where is for captures", path.display());
                Err(Failure::usage(&what, "give --where to the analyze or observe that makes it"))
            }
            Record::Summary(summary) => Ok(*summary),
            Record::Baseline(_) => {
                let what = format!("{} is a baseline", path.display());
                Err(Failure::usage(&what, "it comes first, and the bundle of a run second"))
            }
            other => {
                let what = format!("{} is a record of {}", path.display(), other.schema());
                Err(Failure::usage(&what, "give summaries (analyze --format json) or captures"))
            }
        },
        Input::Bundle(_) => {
            let what = format!("{} is a folder", path.display());
            Err(Failure::usage(
                &what,
                "a bundle is compared with a baseline: `wireproof baseline set` makes one",
            ))
        }
        Input::Capture(path) => {
            let options = Options { layouts, ..Options::default() };
            let (read, mut account) = analysis::analyze(&[&path], options)?;
            if let (0, Some(damage)) = (read.packets, &read.damaged) {
                let what = format!("nothing could be read of {}, {damage}", read.name);
                return Err(Failure::io(&what, "fetch the capture again"));
            }
            if let Some(damage) = &read.damaged {
                say(&format!("{} is damaged, everything before it was judged: {damage}", read.name));
            }
            let settled = Terms { filter, ..Terms::default() }.settle(&mut account);
            Ok(Summary::settled(&account, analysis::source(read), Observer::default(), false, settled))
        }
    }
}

fn style() -> Style {
    Style { color: false, width: config::width() }
}
