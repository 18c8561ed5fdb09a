//! `wireproof analyze`: captures in, a summary out, the verdict as exit code.

use super::args::AnalyzeArgs;
use super::config::Settings;
use super::failure::Failure;
use super::{output, report, rings, say};
use crate::analysis;
use crate::taping::Taping;
use std::path::Path;
use wireproof_reports::{Observer, Summary};

/// Runs the verb.
pub(super) fn run(args: &AnalyzeArgs) -> Result<u8, Failure> {
    output::check(&args.files, args.report.output.as_deref())?;
    check_tape(args)?;
    let settings = Settings::of(&args.report)?;
    let terms = settings.terms(false)?;
    let mut tape = args.tape.as_deref().map(start).transpose()?;
    let (read, mut account) = analysis::analyze_taping(&args.files, terms.options.clone(), &mut tape)?;
    let retaped = tape.as_ref().is_some_and(Taping::has_refused);
    let taped = tape.map(|tape| tape.finish(read.timestamps == "file-us", read.ended));
    if let (0, Some(damage)) = (read.packets, &read.damaged) {
        let what = format!("nothing could be read of {}, {damage}", read.name);
        return Err(Failure::io(&what, "fetch the capture again"));
    }
    let reconciled =
        rings::of_files(&mut account, &args.ring, args.ring_clock, (&args.files, terms.options.layouts))?;
    let settled = terms.settle(&mut account);
    let (source, observer) = (analysis::source(read), Observer::default());
    let mut summary = Summary::settled(&account, source, observer, false, settled);
    summary.reconciled = reconciled;
    report::write(&args.report, &settings, &mut summary, false)?;
    if let Some(damage) = &summary.source.damaged {
        say(&format!("{} is damaged, everything before it was judged: {damage}", summary.source.name));
    }
    if let (true, Some(path)) = (retaped, &args.tape) {
        let what = format!("{} lacks what was read from a tape, which holds no octets", path.display());
        return Err(Failure::usage(&what, "give --tape with captures only, and copy tapes as files"));
    }
    if let (Some(Err(error)), Some(path)) = (taped, &args.tape) {
        let what = format!(
            "{}: the tape ended early ({error}); what was written before can be read",
            path.display()
        );
        return Err(Failure::io(&what, "make room on the disk"));
    }
    Ok(report::exit_code(&args.report, &summary))
}

/// Refuses a tape that would take the place of another file of the run.
fn check_tape(args: &AnalyzeArgs) -> Result<(), Failure> {
    let Some(tape) = args.tape.as_deref() else { return Ok(()) };
    output::named("--tape", Some(tape))?;
    output::check(&args.files, Some(tape))?;
    if output::file(args.report.output.as_deref()).is_some_and(|path| output::same(path, tape)) {
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
