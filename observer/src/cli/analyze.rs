//! `wireproof analyze`: captures in, a summary out, the verdict as exit code.

use super::args::AnalyzeArgs;
use super::config::{Given, Settings};
use super::failure::Failure;
use super::{config, output, say};
use crate::{analysis, rig_file};
use wireproof_protocols::verify::Options;
use wireproof_reports::{Format, Mask, Observer, Style, Summary, render};

/// Runs the verb.
pub(super) fn run(args: &AnalyzeArgs) -> Result<u8, Failure> {
    let target = args.output.as_deref();
    output::check(&args.files, target)?;
    let given = Given { format: args.format, color: args.color, strict: args.strict, rig: args.rig.clone() };
    let settings = Settings::resolve(given)?;
    let rig = settings.rig.as_deref().map(rig_file::load).transpose()?;
    let options = Options { rig, strict: settings.strict, ..Options::default() };
    let (report, account) = analysis::analyze(&args.files, options)?;
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
