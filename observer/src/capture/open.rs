//! Opening a capture: files and standard input, gzip and zstd wrappers, the format by its magic number.

use super::dissect::Dissector;
use super::error::{CaptureError, name_of};
use super::record::{Entry, Record};
use super::tally::Tally;
use super::window::Window;
use super::{Item, SourceReport, pcap, pcapng, tape};
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use wireproof_protocols::layout::Layouts;
use zstd::stream::read::Decoder as ZstdDecoder;

/// Octets that decide the format.
const MAGIC: usize = 8;

/// Reads the capture at `path` (`-` is standard input) and hands every item to `each`, in file order.
///
/// # Errors
/// When there is no capture to read: see [`CaptureError`]. Damage behind a valid header is no error.
pub fn read_path(path: &Path, each: &mut dyn FnMut(Item<'_>)) -> Result<SourceReport, CaptureError> {
    read_path_with(path, Layouts::default(), each)
}

/// As [`read_path`]; datagrams of these layouts are known again on a tape.
///
/// # Errors
/// As [`read_path`].
pub fn read_path_with(
    path: &Path,
    layouts: Layouts,
    each: &mut dyn FnMut(Item<'_>),
) -> Result<SourceReport, CaptureError> {
    let mut input = open(path)?;
    dissected(&name_of(path), &mut *input, layouts, each)
}

/// Reads a capture from a stream and hands every item to `each`, in stream order.
///
/// # Errors
/// As [`read_path`]; `name` stands for the stream in reports and errors.
pub fn read_stream(
    name: &str,
    mut input: impl Read,
    each: &mut dyn FnMut(Item<'_>),
) -> Result<SourceReport, CaptureError> {
    dissected(name, &mut input, Layouts::default(), each)
}

/// Reads the records of a capture from a stream without dissecting them.
///
/// # Errors
/// As [`read_path`]; the stream is called `-`.
pub fn read_records(
    mut input: impl Read,
    each: &mut dyn FnMut(&Record<'_>),
) -> Result<SourceReport, CaptureError> {
    walk("-", &mut input, Layouts::default(), &mut records(each))
}

/// Reads the records of the capture at `path` (`-` is standard input) without dissecting them.
///
/// # Errors
/// As [`read_path`].
pub fn read_records_path(
    path: &Path,
    each: &mut dyn FnMut(&Record<'_>),
) -> Result<SourceReport, CaptureError> {
    let mut input = open(path)?;
    walk(&name_of(path), &mut *input, Layouts::default(), &mut records(each))
}

fn records(each: &mut dyn FnMut(&Record<'_>)) -> impl FnMut(Entry<'_>) {
    |entry| {
        if let Entry::Record(record) = entry {
            each(&record);
        }
    }
}

fn open(path: &Path) -> Result<Box<dyn Read>, CaptureError> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = File::open(path).map_err(|error| CaptureError::opening(name_of(path), error))?;
    match file.metadata() {
        Ok(about) if about.is_dir() => Err(CaptureError::Directory { name: name_of(path) }),
        _ => Ok(Box::new(file)),
    }
}

fn dissected(
    name: &str,
    input: &mut dyn Read,
    layouts: Layouts,
    each: &mut dyn FnMut(Item<'_>),
) -> Result<SourceReport, CaptureError> {
    let mut dissector = Dissector::new();
    let mut report = walk(name, input, layouts, &mut |entry| match entry {
        Entry::Record(record) => each(dissector.dissect(&record)),
        Entry::Blind { from, to, dropped } => each(Item::Blind { from, to, dropped }),
        Entry::Drops(drops) => each(Item::Drops(drops)),
        Entry::ClockStep(by) => each(Item::ClockStep(by)),
        Entry::Taped(event) => each(Item::Taped(event)),
    })?;
    report.fragments = dissector.fragments();
    report.overlapping = dissector.overlapping();
    Ok(report)
}

/// Looks through a wrapper, if there is one, and walks the capture inside.
fn walk(
    name: &str,
    input: &mut dyn Read,
    layouts: Layouts,
    on: &mut impl FnMut(Entry<'_>),
) -> Result<SourceReport, CaptureError> {
    let mut window = Window::new(input);
    window.require(MAGIC);
    let walked = match window.view() {
        [0x1f, 0x8b, ..] => unwrapped((name, "gzip"), &mut MultiGzDecoder::new(&mut window), layouts, on),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => match ZstdDecoder::with_buffer(&mut window) {
            Ok(mut decoder) => unwrapped((name, "zstd"), &mut decoder, layouts, on),
            Err(source) => return Err(CaptureError::Io { name: name.to_owned(), source }),
        },
        _ => plain(name, &mut window, layouts, on),
    };
    // A fault below the wrapper is the disk's or the pipe's, not damage of the capture.
    match window.take_fault() {
        Some(source) => Err(CaptureError::Io { name: name.to_owned(), source }),
        None => walked,
    }
}

/// Walks the capture inside a wrapper; an error of the decompressor is damage, and what came before it counts.
fn unwrapped(
    (name, wrapper): (&str, &str),
    decoder: &mut dyn Read,
    layouts: Layouts,
    on: &mut impl FnMut(Entry<'_>),
) -> Result<SourceReport, CaptureError> {
    let mut window = Window::new(decoder);
    let walked = plain(name, &mut window, layouts, on);
    let Some(error) = window.take_fault() else { return walked };
    let octets = window.offset() + window.view().len() as u64;
    let mut report = match walked {
        Ok(report) => report,
        Err(error) if octets >= MAGIC as u64 => return Err(error),
        Err(_) => SourceReport { name: name.to_owned(), timestamps: "file-us", ..SourceReport::default() },
    };
    report.damaged =
        Some(format!("the {wrapper} wrapper is damaged after {octets} unpacked octets: {error}"));
    Ok(report)
}

/// Walks a capture by its magic number.
fn plain(
    name: &str,
    window: &mut Window<'_>,
    layouts: Layouts,
    on: &mut impl FnMut(Entry<'_>),
) -> Result<SourceReport, CaptureError> {
    let mut tally = Tally::default();
    window.require(MAGIC);
    let walked = match window.view() {
        [] => return Err(CaptureError::Empty { name: name.to_owned() }),
        first if pcapng::claims(first) => pcapng::walk(window, &mut tally, on),
        first if tape::claims(first) => tape::walk(window, &mut tally, layouts, on),
        first if pcap::claims(first) => pcap::walk(window, &mut tally, on),
        first => return Err(CaptureError::not_a_capture(name, first)),
    };
    if let Some(layout) = tally.layout.take() {
        return Err(CaptureError::Layout { name: name.to_owned(), layout });
    }
    Ok(SourceReport {
        name: name.to_owned(),
        timestamps: if tally.nanoseconds { "file-ns" } else { "file-us" },
        packets: tally.records,
        damaged: walked.err(),
        capture_dropped: tally.dropped,
        link_types: tally.link_types(),
        ..SourceReport::default()
    })
}
