//! Opening a capture: files and standard input, gzip and zstd wrappers, the format by its magic number.

use super::dissect::Dissector;
use super::error::{CaptureError, name_of};
use super::record::{Entry, Record, Walker};
use super::tally::Tally;
use super::window::Window;
use super::{Item, SourceReport, Taker, pcap, pcapng, tape};
use flate2::bufread::MultiGzDecoder;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use wireproof_protocols::layout::Layouts;
use zstd::stream::read::Decoder as ZstdDecoder;

/// Octets that decide the format.
const MAGIC: usize = 8;
/// Octets that each packed octet may stand for; gzip ends at 1,032 by its format, zstd at 32,768.
const UNPACKED_MOST: u64 = 2_000;
/// Octets that may be unpacked whatever the size was.
const UNPACKED_ANYWAY: u64 = 16 << 20;

/// Reads the capture at `path` (`-` is standard input) and hands every item to `each`, in file order.
///
/// # Errors
/// When there is no capture to read: see [`CaptureError`]. Damage behind a valid header is no error.
pub fn read_path(
    path: &Path,
    each: &mut (impl FnMut(Item<'_>) + ?Sized),
) -> Result<SourceReport, CaptureError> {
    let mut input = open(path)?;
    dissected(&name_of(path), &mut *input, (Dissector::new(), Layouts::default()), each)
}

/// As [`read_path`], into a [`Taker`]; datagrams of these layouts are known again on a tape.
///
/// # Errors
/// As [`read_path`].
pub fn read_into(
    path: &Path,
    layouts: Layouts,
    taker: &mut impl Taker,
) -> Result<SourceReport, CaptureError> {
    let mut input = open(path)?;
    dissected(&name_of(path), &mut *input, (Dissector::new(), layouts), taker)
}

/// As [`read_into`], with every UDP checksum left [`wireproof_protocols::Checksum::Unknown`]: of the payload nothing is
/// looked at.
///
/// # Errors
/// As [`read_path`].
pub fn read_headers_into(path: &Path, taker: &mut impl Taker) -> Result<SourceReport, CaptureError> {
    let mut input = open(path)?;
    dissected(&name_of(path), &mut *input, (Dissector::of_headers(), Layouts::default()), taker)
}

/// Reads a capture from a stream and hands every item to `each`, in stream order.
///
/// # Errors
/// As [`read_path`]; `name` stands for the stream in reports and errors.
pub fn read_stream(
    name: &str,
    mut input: impl Read,
    each: &mut (impl FnMut(Item<'_>) + ?Sized),
) -> Result<SourceReport, CaptureError> {
    dissected(name, &mut input, (Dissector::new(), Layouts::default()), each)
}

/// Reads the records of a capture from a stream without dissecting them.
///
/// # Errors
/// As [`read_path`]; the stream is called `-`.
pub fn read_records(
    mut input: impl Read,
    each: &mut (impl FnMut(&Record<'_>) + ?Sized),
) -> Result<SourceReport, CaptureError> {
    walk("-", &mut input, Layouts::default(), &mut Records(each))
}

/// Reads the records of the capture at `path` (`-` is standard input) without dissecting them.
///
/// # Errors
/// As [`read_path`].
pub fn read_records_path(
    path: &Path,
    each: &mut (impl FnMut(&Record<'_>) + ?Sized),
) -> Result<SourceReport, CaptureError> {
    let mut input = open(path)?;
    walk(&name_of(path), &mut *input, Layouts::default(), &mut Records(each))
}

/// Hands records on as they are.
struct Records<'e, E: ?Sized>(&'e mut E);

impl<E: FnMut(&Record<'_>) + ?Sized> Walker for Records<'_, E> {
    #[inline]
    fn record(&mut self, record: &Record<'_>) {
        (self.0)(record);
    }

    fn entry(&mut self, entry: Entry<'_>) {
        if let Entry::Record(record) = entry {
            (self.0)(&record);
        }
    }
}

/// Hands the datagrams of records on.
struct Dissecting<'t, T: ?Sized> {
    dissector: Dissector,
    taker: &'t mut T,
}

impl<T: Taker + ?Sized> Walker for Dissecting<'_, T> {
    #[inline(always)]
    fn record(&mut self, record: &Record<'_>) {
        self.dissector.dissect_into(record, self.taker);
    }

    fn entry(&mut self, entry: Entry<'_>) {
        match entry {
            Entry::Record(record) => self.record(&record),
            Entry::Blind { from, to, dropped } => self.taker.item(Item::Blind { from, to, dropped }),
            Entry::Drops(drops) => self.taker.item(Item::Drops(drops)),
            Entry::ClockStep(by) => self.taker.item(Item::ClockStep(by)),
            Entry::Taped(event) => self.taker.item(Item::Taped(event)),
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
    (dissector, layouts): (Dissector, Layouts),
    taker: &mut (impl Taker + ?Sized),
) -> Result<SourceReport, CaptureError> {
    let mut dissecting = Dissecting { dissector, taker };
    let mut report = walk(name, input, layouts, &mut dissecting)?;
    report.fragments = dissecting.dissector.fragments();
    report.overlapping = dissecting.dissector.overlapping();
    Ok(report)
}

/// Looks through a wrapper, if there is one, and walks the capture inside.
fn walk(
    name: &str,
    input: &mut dyn Read,
    layouts: Layouts,
    on: &mut impl Walker,
) -> Result<SourceReport, CaptureError> {
    let packed = Cell::new(0);
    let mut counted = Counted { input, octets: &packed };
    let mut window = Window::new(&mut counted);
    window.require(MAGIC);
    let walked = match window.view() {
        [0x1f, 0x8b, ..] => {
            let mut decoder = Unpacked::new(MultiGzDecoder::new(&mut window), &packed);
            unwrapped((name, "gzip"), &mut decoder, layouts, on)
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => match ZstdDecoder::with_buffer(&mut window) {
            Ok(decoder) => unwrapped((name, "zstd"), &mut Unpacked::new(decoder, &packed), layouts, on),
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

/// Counts what comes out of a file or a pipe.
struct Counted<'a> {
    input: &'a mut dyn Read,
    octets: &'a Cell<u64>,
}

impl Read for Counted<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(room)?;
        self.octets.set(self.octets.get().saturating_add(count as u64));
        Ok(count)
    }
}

/// Unpacks, and no more than a capture can have been: what a file of some octets may cost has a limit.
struct Unpacked<'a, D> {
    decoder: D,
    octets: u64,
    packed: &'a Cell<u64>,
}

impl<'a, D> Unpacked<'a, D> {
    fn new(decoder: D, packed: &'a Cell<u64>) -> Self {
        Unpacked { decoder, octets: 0, packed }
    }
}

impl<D: Read> Read for Unpacked<'_, D> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.decoder.read(room)?;
        self.octets = self.octets.saturating_add(count as u64);
        if self.octets > UNPACKED_ANYWAY.saturating_add(UNPACKED_MOST.saturating_mul(self.packed.get())) {
            let what = format!("it unpacks to over {UNPACKED_MOST} times its size, which no capture does");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(count)
    }
}

/// Walks the capture inside a wrapper; an error of the decompressor is damage, and what came before it counts.
fn unwrapped(
    (name, wrapper): (&str, &str),
    decoder: &mut dyn Read,
    layouts: Layouts,
    on: &mut impl Walker,
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
    report.ended = None;
    report.damaged =
        Some(format!("the {wrapper} wrapper is damaged after {octets} unpacked octets: {error}"));
    Ok(report)
}

/// Walks a capture by its magic number.
fn plain(
    name: &str,
    window: &mut Window<'_>,
    layouts: Layouts,
    on: &mut impl Walker,
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
    let (packets, capture_dropped) = (tally.records, tally.dropped);
    let timestamps = if tally.nanoseconds { "file-ns" } else { "file-us" };
    let ended = tally.ended.filter(|_| walked.is_ok());
    let [link_types, undecoded] = tally.link_types();
    Ok(SourceReport {
        name: name.to_owned(),
        timestamps,
        packets,
        ended,
        damaged: walked.err(),
        capture_dropped,
        link_types,
        undecoded,
        ..SourceReport::default()
    })
}
