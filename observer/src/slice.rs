//! Cutting the evidence of one finding out of a capture, link layer and all, so that the piece shows it again; or whole
//! streams, by a filter.
//!
//! A piece is a run of neighbouring records around the first occurrence: enough datagrams of the stream before it
//! that numbering, cadence and frame shape are learned as in the whole capture, enough after it that the finding
//! closes. It is analysed before it is written and made longer while it does not show the finding.

mod cut;
mod filtered;
mod focus;

pub use filtered::{FilteredReport, slice_where};

use crate::capture::{self, CaptureError, Item, LinkType, PcapngWriter};
use crate::outfile;
use cut::{Blind, Cut, Plan, Span};
use focus::Focus;
use std::io;
use std::path::Path;
use std::str::FromStr;
use thiserror::Error;
use wireproof_protocols::verify::{Account, Finding, Options, StreamAccount, Verifier};
use wireproof_protocols::{Arrival, Timestamp};

/// How often a piece that does not show its finding is made four times as long.
const WIDENINGS: u32 = 4;
/// Drop counts of the capture that are kept.
const BLINDS_MAX: usize = 4096;
/// A loss episode up to this long is kept whole, ns.
const EPISODE_MAX: i64 = 60_000_000_000;

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

/// What to cut.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Id of the finding.
    pub finding: &'a str,
    /// How much to keep around it, at least.
    pub around: Around,
    /// From the first to the last occurrence; else around the first.
    pub all: bool,
    /// Options of the run that gave the finding its id.
    pub options: Options,
}

/// What was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceReport {
    /// Records written.
    pub records: u64,
    /// Stamp of the first record kept.
    pub from: Timestamp,
    /// Stamp of the last record kept.
    pub to: Timestamp,
    /// Id the finding has when the piece is analysed; `None` when the piece alone does not show it.
    pub found_again: Option<String>,
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
    /// No stream of the capture fits the filter.
    #[error(
        "none of the {count} streams of {input} fits {expression}: list them with `wireproof analyze {input}`"
    )]
    NoStream {
        /// Capture as given.
        input: String,
        /// The filter.
        expression: String,
        /// Streams there are.
        count: u64,
    },
    /// The input is a tape.
    #[error("{input} is a tape, which holds no packets to cut out: slice the capture of the same run")]
    Tape {
        /// Input as given.
        input: String,
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

/// Writes the records around the first occurrence of a finding, with the finding as comment on its record.
///
/// The capture is read several times.
///
/// # Errors
/// See [`SliceError`]; no output file is left behind.
pub fn slice(input: &Path, request: &Request<'_>, out: &Path) -> Result<SliceReport, SliceError> {
    let Whole { account, blinds, ended } = run(input, &request.options)?;
    let found = account.findings.iter().find(|f| f.id.eq_ignore_ascii_case(request.finding));
    let found = found.ok_or_else(|| SliceError::NoFinding {
        input: input.display().to_string(),
        finding: request.finding.to_owned(),
        count: account.findings.len(),
    })?;
    let focus = Focus::of(found, &account, request.options.layouts);
    let (cut, found_again) = fitting(input, request, (found, &account), &focus, (&blinds, ended))?;
    let comment = format!("wireproof: {} {} {}", found.id, found.code, found.text);
    let kept = outfile::write(out, |file| write(input, &cut, &comment, (&blinds, ended), file));
    let kept = kept.map_err(|error| match error {
        SliceError::Write { source, .. } => SliceError::Write { out: out.display().to_string(), source },
        other => other,
    })?;
    Ok(SliceReport { records: kept.records, from: kept.from, to: kept.to, found_again })
}

/// The id that a finding of a live run has in the capture of that run: the same code, first occurrence and stream, in
/// the words of [`wireproof_protocols::verify::StreamAccount::words`]; `None` when the capture does not show it.
///
/// # Errors
/// When the capture cannot be read.
pub fn id_of(
    input: &Path,
    options: &Options,
    (code, first_ns, stream): (&str, i64, &str),
) -> Result<Option<String>, SliceError> {
    let Whole { account, .. } = run(input, options)?;
    let mut alike = account.findings.iter().filter(|f| f.code == code && f.first_ns == first_ns);
    let first = alike.clone().next();
    let named = alike.find(|f| {
        let of = f.stream.and_then(|index| account.streams.get(index));
        of.is_some_and(|s| stream.ends_with(&format!(" {} of {}", s.stream_id, s.source.ip())))
    });
    Ok(named.or(first).map(|f| f.id.clone()))
}

/// What the whole capture says.
struct Whole {
    account: Account,
    /// Its own drop counts.
    blinds: Vec<Blind>,
    /// When capturing ended, where it says so.
    ended: Option<Timestamp>,
}

/// The whole capture through the verifier.
fn run(input: &Path, options: &Options) -> Result<Whole, SliceError> {
    let mut verifier = Verifier::new(options.clone());
    let (mut blinds, mut taped) = (Vec::new(), false);
    let report = capture::read_path(input, &mut |item| match item {
        Item::Datagram(arrival, datagram) => verifier.on_datagram(arrival, &datagram),
        Item::Packet(arrival) => verifier.on_packet(arrival),
        Item::Blind { from, to, dropped } => {
            verifier.on_blind(from, to, dropped);
            if blinds.len() < BLINDS_MAX {
                blinds.push(Blind { from, to, dropped, host: None });
            }
        }
        Item::Drops(host) => {
            verifier.on_drops(host);
            if blinds.len() < BLINDS_MAX {
                blinds.push(Blind { from: host.from, to: host.to, dropped: host.count, host: Some(host) });
            }
        }
        Item::ClockStep(by) => verifier.on_clock_step(by),
        Item::Taped(_) => taped = true,
    })?;
    if taped {
        return Err(SliceError::Tape { input: input.display().to_string() });
    }
    // The ids of findings are those of `analyze`.
    if let Some(damage) = report.damaged {
        verifier.on_damage(report.packets, damage);
    }
    report.ended.into_iter().for_each(|at| verifier.on_end(at));
    Ok(Whole { account: verifier.finish(), blinds, ended: report.ended })
}

/// The shortest cut that shows the finding again, else the longest one tried.
fn fitting<'f>(
    input: &Path,
    request: &Request<'_>,
    (found, account): (&Finding, &Account),
    focus: &'f Focus,
    (blinds, ended): (&[Blind], Option<Timestamp>),
) -> Result<(Cut<'f>, Option<String>), SliceError> {
    let mut round = 0;
    loop {
        let plan = plan(request, found, account, 4u64.pow(round));
        let cut = Cut::locate(input, focus, plan)?;
        let trial = trial(input, &cut, (blinds, ended), &request.options)?;
        let id = shown(found, account, &trial).map(|f| f.id.clone());
        if id.is_some() || round == WIDENINGS {
            return Ok((cut, id));
        }
        round += 1;
    }
}

fn plan(request: &Request<'_>, found: &Finding, account: &Account, factor: u64) -> Plan {
    let stream = found.stream.and_then(|index| account.streams.get(index));
    let (frames, margin) = match request.around {
        Around::Frames(frames) => (frames, 0),
        Around::Time(ns) => (0, ns),
    };
    let own = u64::from(frames) * stream.map_or(1, |s| datagrams_per_frame(s, account));
    let span = Span { first: found.first_ns.min(found.last_ns), last: last(request, found) };
    let longest = stream.map_or(0, |s| s.interval_ns.max).min(15_000_000_000);
    Plan {
        packet: found.first_packet,
        span,
        before: own.max(160).saturating_mul(factor),
        after: own.max(64).saturating_mul(factor),
        margin: i64::try_from(margin).unwrap_or(i64::MAX),
        tail: i64::try_from((4_000_000_000 + 4 * longest).saturating_mul(factor)).unwrap_or(i64::MAX),
        closing: found.code == "STREAM-SILENT",
        bystanders: i64::try_from(5_000_000_000u64.saturating_mul(factor)).unwrap_or(i64::MAX),
        company: i64::try_from(60_000_000_000u64.saturating_mul(factor)).unwrap_or(i64::MAX),
    }
}

/// The last instant that is evidence: that of the last occurrence, or of the first one's loss episode.
fn last(request: &Request<'_>, found: &Finding) -> i64 {
    let episode = matches!(found.code, "SEQ-LOST" | "SEQ-AMBIGUOUS" | "FRAME-TORN" | "FRAME-UNTERMINATED");
    let short = found.last_ns.saturating_sub(found.first_ns) <= EPISODE_MAX;
    if request.all || episode && short { found.first_ns.max(found.last_ns) } else { found.first_ns }
}

/// Datagrams of the stream in one frame of its output.
fn datagrams_per_frame(stream: &StreamAccount, account: &Account) -> u64 {
    let output = stream.output.and_then(|index| account.outputs.get(index));
    output.filter(|o| o.streams.len() == 1).map_or(1, |o| u64::from(o.datagrams_per_frame.max(1)))
}

/// The piece through the verifier, its records numbered as in the file to be written.
fn trial(
    input: &Path,
    cut: &Cut<'_>,
    (blinds, ended): (&[Blind], Option<Timestamp>),
    options: &Options,
) -> Result<Account, CaptureError> {
    let mut verifier = Verifier::new(options.clone());
    let mut packet = 0;
    let kept = cut.walk(input, &mut |record, item| {
        packet += 1;
        let arrival = Arrival { at: record.at, packet };
        match item {
            Some(datagram) => verifier.on_datagram(arrival, datagram),
            None => verifier.on_packet(arrival),
        }
    })?;
    blinds.iter().filter(|b| kept.overlaps(b)).for_each(|b| match b.host {
        Some(host) => verifier.on_drops(host),
        None => verifier.on_blind(b.from, b.to, b.dropped),
    });
    ended.filter(|_| cut.needs_end()).into_iter().for_each(|at| verifier.on_end(at));
    Ok(verifier.finish())
}

/// The finding of `piece` that is this finding of `whole`.
fn shown<'a>(found: &Finding, whole: &Account, piece: &'a Account) -> Option<&'a Finding> {
    let stream = |account: &'a Account, f: &Finding| f.stream.and_then(|index| account.streams.get(index));
    let own = found.stream.and_then(|index| whole.streams.get(index));
    piece.findings.iter().find(|f| {
        let (first, last) = (f.first_ns.min(f.last_ns), f.first_ns.max(f.last_ns));
        let at = f.first_ns == found.first_ns || f.count > 1 && (first..=last).contains(&found.first_ns);
        let same = match (own, stream(piece, f)) {
            (Some(a), Some(b)) => same_stream(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        let as_many = f.count == found.count || found.code != "SEQ-LOST";
        f.code == found.code && f.severity == found.severity && same && at && as_many
    })
}

fn same_stream(a: &StreamAccount, b: &StreamAccount) -> bool {
    let key = |s: &StreamAccount| (s.protocol, s.kind, s.source.ip(), s.stream_id, s.part);
    key(a) == key(b) && a.sender == b.sender
}

fn write(
    input: &Path,
    cut: &Cut<'_>,
    comment: &str,
    (blinds, ended): (&[Blind], Option<Timestamp>),
    out: &mut dyn io::Write,
) -> Result<cut::Kept, SliceError> {
    let mut writer = PcapngWriter::new(out)?;
    let mut failed: Option<io::Error> = None;
    let kept = cut.walk(input, &mut |record, _| {
        if failed.is_some() {
            return;
        }
        let note = (record.number == cut.anchor()).then(|| match record.comment {
            Some(before) => format!("{comment}\n{before}"),
            None => comment.to_owned(),
        });
        failed = writer.record(record, note.as_deref()).err();
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    drops(blinds.iter().filter(|b| kept.overlaps(b)), (kept.records == 0).then_some(comment), &mut writer)?;
    if let Some(at) = ended.filter(|_| cut.needs_end() && kept.records > 0) {
        writer.ended(0, (None, at), kept.records)?;
    }
    Ok(kept)
}

/// The capture's own drop counts, as two statistics blocks around each time in which it lost packets.
fn drops<'a>(
    blinds: impl Iterator<Item = &'a Blind>,
    comment: Option<&str>,
    writer: &mut PcapngWriter<&mut dyn io::Write>,
) -> io::Result<()> {
    let mut told = 0u64;
    for blind in blinds {
        if told == 0 && comment.is_some() {
            writer.interface(LinkType::ETHERNET, 0)?;
        }
        if let Some(host) = &blind.host {
            writer.evidence(0, host)?;
            continue;
        }
        writer.statistics(0, blind.from, 0, told, comment)?;
        told = told.saturating_add(blind.dropped);
        writer.statistics(0, blind.to, 0, told, None)?;
    }
    Ok(())
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
