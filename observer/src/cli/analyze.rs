//! `wireproof analyze`: captures in, a summary out, the verdict as exit code.

use super::args::AnalyzeArgs;
use super::config::{Given, Settings};
use super::failure::Failure;
use super::{config, output, say};
use crate::taping::Taping;
use crate::{analysis, rig_file};
use std::path::Path;
use wireproof_protocols::verify::Options;
use wireproof_reports::{Format, Mask, Observer, Style, Summary, render};

/// Runs the verb.
pub(super) fn run(args: &AnalyzeArgs) -> Result<u8, Failure> {
    let target = args.output.as_deref();
    output::check(&args.files, target)?;
    check_tape(args)?;
    let given = Given { format: args.format, color: args.color, strict: args.strict, rig: args.rig.clone() };
    let settings = Settings::resolve(given)?;
    let rig = settings.rig.as_deref().map(rig_file::load).transpose()?;
    let options = Options { rig, strict: settings.strict, ..Options::default() };
    let mut tape = args.tape.as_deref().map(start).transpose()?;
    let (report, account) = analysis::analyze_taping(&args.files, options, &mut tape)?;
    let taped = tape.map(|tape| tape.finish(report.timestamps == "file-us"));
    if let (0, Some(damage)) = (report.packets, &report.damaged) {
        let what = format!("nothing could be read of {}, {damage}", report.name);
        return Err(Failure::io(&what, "fetch the capture again"));
    }
    let mut summary = Summary::new(&account, analysis::source(report), Observer::default());
    if args.anonymize {
        Mask::new().apply(&mut summary);
    }
    let to_file = output::file(target).is_some();
    let color = settings.format == Format::Table && !to_file && settings.colored();
    let style = Style { color, width: config::width() };
    output::write(target, |out| Ok(render(&summary, settings.format, style, out)?))?;
    talk(&summary, to_file);
    if let (Some(Err(error)), Some(path)) = (taped, &args.tape) {
        let what = format!(
            "{}: the tape ended early ({error}); what was written before can be read",
            path.display()
        );
        return Err(Failure::io(&what, "make room on the disk"));
    }
    Ok(if args.exit_zero { 0 } else { summary.verdict().exit_code() })
}

/// What the user has to know and cannot see in the data on standard output.
fn talk(summary: &Summary, to_file: bool) {
    if let Some(damage) = &summary.source.damaged {
        say(&format!("{} is damaged, everything before it was judged: {damage}", summary.source.name));
    }
    if to_file {
        say(&format!("{}: {}", summary.verdict().word(), summary.reason));
    }
}

/// Refuses a tape that would take the place of another file of the run.
fn check_tape(args: &AnalyzeArgs) -> Result<(), Failure> {
    let Some(tape) = args.tape.as_deref() else { return Ok(()) };
    output::check(&args.files, Some(tape))?;
    if output::file(args.output.as_deref()).is_some_and(|path| output::same(path, tape)) {
        let what = format!("--tape and -o are both {}", tape.display());
        return Err(Failure::usage(&what, "give one of them another name"));
    }
    Ok(())
}

fn start(path: &Path) -> Result<Taping, Failure> {
    Taping::create(path).map_err(|error| {
        let what = format!("{} cannot be written ({error})", path.display());
        Failure::io(&what, "check the folder, its rights and the space on the disk")
    })
}
