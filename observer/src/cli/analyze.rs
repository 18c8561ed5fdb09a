//! `wireproof analyze`: captures in, a summary out, the verdict as exit code.

use super::args::AnalyzeArgs;
use super::config::Settings;
use super::failure::Failure;
use super::{output, report, say};
use crate::{analysis, rig_file};
use wireproof_protocols::verify::Options;
use wireproof_reports::{Observer, Summary};

/// Runs the verb.
pub(super) fn run(args: &AnalyzeArgs) -> Result<u8, Failure> {
    output::check(&args.files, args.report.output.as_deref())?;
    let settings = Settings::resolve(&args.report)?;
    let rig = settings.rig.as_deref().map(rig_file::load).transpose()?;
    let options = Options { rig, strict: settings.strict, ..Options::default() };
    let (read, account) = analysis::analyze(&args.files, options)?;
    if let (0, Some(damage)) = (read.packets, &read.damaged) {
        let what = format!("nothing could be read of {}, {damage}", read.name);
        return Err(Failure::io(&what, "fetch the capture again"));
    }
    let mut summary = Summary::new(&account, analysis::source(read), Observer::default());
    report::write(&args.report, &settings, &mut summary)?;
    if let Some(damage) = &summary.source.damaged {
        say(&format!("{} is damaged, everything before it was judged: {damage}", summary.source.name));
    }
    Ok(report::exit_code(&args.report, &summary))
}
