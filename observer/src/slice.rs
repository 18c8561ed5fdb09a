//! Cutting the evidence of one finding out of a capture, link layer and all, with a comment on the first record.

use crate::analysis::analyze;
use crate::capture::{self, CaptureError, PcapngWriter, Record};
use crate::outfile;
use std::io;
use std::path::Path;
use std::str::FromStr;
use thiserror::Error;
use wireproof_protocols::Timestamp;
use wireproof_protocols::verify::{Account, Finding, Options};

/// How much to keep before the first and after the last occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Around {
    /// Frames of the output the finding is about.
    Frames(u32),
    /// Nanoseconds.
    Time(u64),
}

impl FromStr for Around {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || format!("{text:?} is neither a number of frames (30f) nor a time (500ms, 2s)");
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let number: u32 = number.parse().map_err(|_| refused())?;
        let nanoseconds = match unit {
            "f" => return Ok(Around::Frames(number)),
            "us" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            _ => return Err(refused()),
        };
        Ok(Around::Time(u64::from(number) * nanoseconds))
    }
}

/// What was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceReport {
    /// Records written.
    pub records: u64,
    /// First instant kept.
    pub from: Timestamp,
    /// Last instant kept.
    pub to: Timestamp,
}

/// Why nothing was cut.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SliceError {
    /// The capture cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The capture has no finding of that id.
    #[error("{input} has no finding {finding}, it has {count}: list them with `wireproof analyze {input}`")]
    NoFinding {
        /// Capture as given.
        input: String,
        /// Id as given.
        finding: String,
        /// Findings there are.
        count: usize,
    },
    /// Frames were asked for and nothing tells how long one is.
    #[error("finding {finding} belongs to no output with a frame rate: give a time, such as --around 500ms")]
    NoFrameRate {
        /// Id as given.
        finding: String,
    },
    /// The output cannot be written.
    #[error("{out} cannot be written ({source}): check the folder and the space on the disk")]
    Write {
        /// Output as given.
        out: String,
        /// What the operating system said.
        source: io::Error,
    },
}

impl From<io::Error> for SliceError {
    fn from(source: io::Error) -> Self {
        SliceError::Write { out: "the output".to_owned(), source }
    }
}

/// Writes every record from `around` before the first to `around` after the last occurrence of a finding.
///
/// The capture is read twice; `options` must be those of the run that gave the finding its id.
///
/// # Errors
/// See [`SliceError`]; no output file is left behind.
pub fn slice(
    input: &Path,
    finding: &str,
    around: Around,
    options: Options,
    out: &Path,
) -> Result<SliceReport, SliceError> {
    let (_, account) = analyze(&[input], options)?;
    let found = account.findings.iter().find(|f| f.id.eq_ignore_ascii_case(finding));
    let Some(found) = found else {
        return Err(SliceError::NoFinding {
            input: input.display().to_string(),
            finding: finding.to_owned(),
            count: account.findings.len(),
        });
    };
    let margin = margin(around, found, &account)?;
    let (from, to) = window(found, margin);
    let written = outfile::write(out, |file| cut(input, found, from, to, file));
    let records = written.map_err(|error| match error {
        SliceError::Write { source, .. } => SliceError::Write { out: out.display().to_string(), source },
        other => other,
    })?;
    Ok(SliceReport { records, from, to })
}

fn window(found: &Finding, margin: i64) -> (Timestamp, Timestamp) {
    let first = found.first_ns.min(found.last_ns);
    let last = found.first_ns.max(found.last_ns);
    (Timestamp(first).plus(margin.saturating_neg()), Timestamp(last).plus(margin))
}

fn margin(around: Around, found: &Finding, account: &Account) -> Result<i64, SliceError> {
    let nanoseconds = match around {
        Around::Time(nanoseconds) => nanoseconds,
        Around::Frames(frames) => {
            let period = frame_period(found, account)
                .ok_or_else(|| SliceError::NoFrameRate { finding: found.id.clone() })?;
            period.saturating_mul(u64::from(frames))
        }
    };
    Ok(i64::try_from(nanoseconds).unwrap_or(i64::MAX))
}

/// The usual time between frames of the finding's output, else between datagrams of its stream, ns.
fn frame_period(found: &Finding, account: &Account) -> Option<u64> {
    let stream = account.streams.get(found.stream?)?;
    let output = stream.output.and_then(|index| account.outputs.get(index));
    let period = output.map_or(0, |o| o.frame_interval_ns.p50);
    [period, stream.interval_ns.p50].into_iter().find(|ns| *ns > 0)
}

fn cut(
    input: &Path,
    found: &Finding,
    from: Timestamp,
    to: Timestamp,
    out: &mut dyn io::Write,
) -> Result<u64, SliceError> {
    let mut writer = PcapngWriter::new(out)?;
    let comment = format!("wireproof {} {}: {}", found.id, found.code, found.text);
    let mut records = 0;
    let mut failed: Option<io::Error> = None;
    capture::read_records_path(input, &mut |record: &Record<'_>| {
        if failed.is_some() || record.at < from || record.at > to {
            return;
        }
        let comment = (record.number == found.first_packet).then_some(comment.as_str());
        match writer.record(record, comment) {
            Ok(()) => records += 1,
            Err(error) => failed = Some(error),
        }
    })?;
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(records),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn around_takes_frames_and_times() {
        assert_eq!("30f".parse(), Ok(Around::Frames(30)));
        assert_eq!("500ms".parse(), Ok(Around::Time(500_000_000)));
        assert_eq!("2s".parse(), Ok(Around::Time(2_000_000_000)));
        assert_eq!("0us".parse(), Ok(Around::Time(0)));
        for bad in ["", "f", "30", "30 f", "-1f", "1.5s", "99999999999f", "3m"] {
            assert!(bad.parse::<Around>().is_err(), "{bad}");
        }
    }
}
