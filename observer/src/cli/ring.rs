//! `wireproof ring`: flight-recorder rings as files: downloaded, verified, summarised, accounted for frame by frame.

mod args;
mod causes;
mod convert;
mod fetch;
mod frames;
mod load;
mod places;
mod summary;
mod verify;

pub(super) use args::RingArgs;

pub(super) use load::{image, refused};

use super::failure::Failure;
use args::RingVerb;
use std::io::Write;
use wireproof_recorder::account::Share;
use wireproof_recorder::analysis::Finding;
use wireproof_reports::text::clean;

/// Runs the verb.
pub(super) fn run(args: &RingArgs) -> Result<u8, Failure> {
    match &args.verb {
        RingVerb::Fetch(args) => fetch::run(args),
        RingVerb::Verify(args) => verify::run(args),
        RingVerb::Summary(args) => summary::run(args),
        RingVerb::Convert(args) => convert::run(args),
        RingVerb::Frames(args) => frames::run(args),
        RingVerb::Causes(args) => causes::run(args),
    }
}

/// A share for people; a dash where there is nothing to share.
fn percent(share: Option<Share>) -> String {
    share.and_then(Share::percent).map_or_else(|| "-".to_owned(), |percent| format!("{percent:.2} %"))
}

/// Nanoseconds as milliseconds with three digits.
fn ms(ns: i128) -> String {
    let (sign, ns) = if ns < 0 { ("-", -ns) } else { ("", ns) };
    format!("{sign}{}.{:03}", ns / 1_000_000, ns / 1000 % 1000)
}

/// Findings for people; nothing where there are none.
fn findings_table(findings: &[Finding], out: &mut dyn Write) -> Result<(), Failure> {
    if !findings.is_empty() {
        writeln!(out)?;
    }
    for finding in findings {
        let (severity, code, count) = (finding.severity.name(), finding.code, finding.count);
        writeln!(out, "{severity:<9} {code:<20} {count:>8}  {}", clean(&finding.text))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_shares_are_shown_with_their_digits() {
        assert_eq!([ms(5_576_499), ms(-1_500_000), ms(999)], ["5.576", "-1.500", "0.000"]);
        let share = Share { part: 2, whole: 3 };
        assert_eq!([percent(Some(share)), percent(Some(Share::default()))], ["66.67 %", "-"]);
    }
}
