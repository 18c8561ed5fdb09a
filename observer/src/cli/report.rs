//! The end of a run, live or from files: its summary goes out, the verdict becomes the exit code.

use super::args::ReportArgs;
use super::config::Settings;
use super::failure::Failure;
use super::{config, output, say};
use wireproof_reports::{Format, Mask, Style, Summary, Verdict, render};

/// Writes the summary where it was asked for; one that goes to a file is said in one line, too. Without a file it goes to
/// standard error where standard output is taken.
pub(super) fn write(
    args: &ReportArgs,
    settings: &Settings,
    summary: &mut Summary,
    is_taken: bool,
) -> Result<(), Failure> {
    if args.anonymize {
        Mask::new().apply(summary);
    }
    let target = args.output.as_deref();
    let to_file = output::file(target).is_some();
    let color = settings.format == Format::Table && !to_file && settings.colored();
    let style = Style { color, width: config::width() };
    if is_taken && !to_file {
        return output::aside(|out| {
            Ok(render(summary, settings.format, Style { color: false, ..style }, out)?)
        });
    }
    output::write(target, |out| Ok(render(summary, settings.format, style, out)?))?;
    // Rows of streams have no verdict: that there are none has to be said.
    let unsaid = settings.format == Format::Csv && summary.datagrams.lighting == 0;
    if (to_file || unsaid) && !args.unheard {
        say(&format!("{}: {}", summary.verdict().word(), summary.reason));
    }
    Ok(())
}

/// Says that a run was cut short where nobody may read its verdict: on standard output that is for programs.
pub(super) fn cut_short(args: &ReportArgs, settings: &Settings, summary: &Summary) {
    let for_programs = matches!(settings.format, Format::Json | Format::Jsonl | Format::Csv | Format::Junit);
    let told = output::file(args.output.as_deref()).is_some();
    if summary.verdict() == Verdict::Partial && for_programs && !told {
        say(&format!("{}: {}", summary.verdict().word(), summary.reason));
    }
}

/// The verdict's exit code, unless only the data was wanted.
pub(super) fn exit_code(args: &ReportArgs, summary: &Summary) -> u8 {
    if args.exit_zero { 0 } else { summary.verdict().exit_code() }
}
