//! `wireproof slice`: the evidence of one finding, or the streams that fit a filter, as a capture of its own.

use super::args::SliceArgs;
use super::failure::Failure;
use super::{filter, layouts, output, say};
use crate::{rig_file, slice};
use wireproof_protocols::verify::Options;
use wireproof_reports::Filter;
use wireproof_reports::text::rfc3339;

/// Runs the verb.
pub(super) fn run(args: &SliceArgs) -> Result<u8, Failure> {
    let dash = |path: &std::path::Path| path.as_os_str() == "-";
    if dash(&args.file) {
        return Err(Failure::usage("slice reads its capture several times", "give a file instead of -"));
    }
    if dash(&args.output) {
        return Err(Failure::usage("slice writes a capture, not text", "give -o a file name"));
    }
    output::check(std::slice::from_ref(&args.file), Some(&args.output))?;
    let wanted = filter::parse(args.filter.as_deref())?;
    let layouts = layouts::load(&args.layout)?;
    let rig = args.rig.as_deref().map(|path| rig_file::load_with(path, layouts)).transpose()?;
    let options = Options { rig, strict: args.strict, layouts, ..Options::default() };
    if let Some(wanted) = wanted {
        return streams(args, &wanted, &options);
    }
    let finding = args.finding.as_deref().unwrap_or_default();
    let request = slice::Request { finding, around: args.around, all: args.all, options };
    let report = slice::slice(&args.file, &request, &args.output)?;
    let again = match &report.found_again {
        Some(id) => format!("analyze finds it there as {id}"),
        None => "the piece alone does not show the finding: give a longer --around".to_owned(),
    };
    say(&format!(
        "{} records from {} to {} written to {}; {again}",
        report.records,
        rfc3339(report.from.0, 9),
        rfc3339(report.to.0, 9),
        args.output.display()
    ));
    Ok(0)
}

/// The streams that fit.
fn streams(args: &SliceArgs, wanted: &Filter, options: &Options) -> Result<u8, Failure> {
    let report = slice::slice_where(&args.file, wanted, options, &args.output)?;
    let fragments = match report.fragments {
        0 => String::new(),
        n => format!(", {n} of them fragments, whosever they are,"),
    };
    say(&format!(
        "{} records{fragments} of {} of {} streams from {} to {} written to {}",
        report.records,
        report.streams,
        report.streams + report.left_out,
        rfc3339(report.from.0, 9),
        rfc3339(report.to.0, 9),
        args.output.display()
    ));
    Ok(0)
}
