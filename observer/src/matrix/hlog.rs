//! `hdr.hlog` of an arm: its frame times and the intervals on the wire as an HDR histogram log, for the tools that read one.
//!
//! For pictures and long rows of runs only: buckets of three digits are coarser than a margin. Nothing here is judged; what
//! is judged are the exact values.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{
    IntervalLogHistogram, IntervalLogIterator, IntervalLogWriterBuilder, LogEntry, Tag,
};
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializer};
use std::io;
use std::time::Duration;
use wireproof_matrices::arm::{Measured, Span};
use wireproof_matrices::metrics::window_frames;

/// Name in an arm's folder.
pub const HLOG: &str = "hdr.hlog";
/// Significant digits of a value.
const DIGITS: u8 = 3;
/// Largest value that is kept apart, ns: an hour; larger ones count as it.
const MOST_NS: u64 = 3_600_000_000_000;
/// Tag of the frame times; those of streams are `wire:` and the stream's name.
const FRAMES: &str = "frame";
/// What stands above the histograms, as `HistogramLogWriter` of HdrHistogram writes it.
const HEAD: &[u8] = b"#[Histogram log format version 1.3]\n\
    #[Values in ns, Interval_Max in ms]\n\
    \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";

/// One histogram of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct Logged {
    /// `frame`, or `wire:` and the name of a stream.
    pub tag: String,
    /// Since 1970, to the millisecond.
    pub start: Duration,
    /// Length of the window, to the millisecond.
    pub length: Duration,
    /// Its values, ns.
    pub histogram: Histogram<u64>,
}

/// The log of an arm: frame times when it has a ring, then the intervals between the frames of each stream, all in ns. The
/// octets depend on the values alone.
///
/// # Errors
/// None in memory, as far as anybody knows.
pub fn write(measured: &Measured, guard_ns: u64, intervals: &[(String, Vec<u64>)]) -> io::Result<Vec<u8>> {
    let mut out = HEAD.to_vec();
    let mut serializer = V2DeflateSerializer::new();
    let mut builder = IntervalLogWriterBuilder::new();
    // No start and no base time: stamps are seconds since 1970.
    let mut log = builder.with_max_value_divisor(1_000_000.0).begin_log_with(&mut out, &mut serializer)?;
    let (start, length) = placed(measured.window);
    let mut put = |tag: &str, values: &mut dyn Iterator<Item = u64>| {
        let histogram = filled(values)?;
        log.write_histogram(&histogram, start, length, Tag::new(tag)).map_err(io::Error::other)
    };
    if measured.ring {
        let time = |span: Span| span.end_ns.saturating_sub(span.start_ns).unsigned_abs();
        put(FRAMES, &mut window_frames(measured, guard_ns).map(|frame| time(frame.span)))?;
    }
    for (stream, values) in intervals {
        put(&tag(stream), &mut values.iter().copied())?;
    }
    Ok(out)
}

/// Reads a log.
///
/// # Errors
/// What is no line of a log, or no histogram.
pub fn read(octets: &[u8]) -> io::Result<Vec<Logged>> {
    let entries = IntervalLogIterator::new(octets).map(|entry| match entry {
        Ok(LogEntry::Interval(interval)) => logged(&interval).map(Some),
        Ok(_) => Ok(None),
        Err(error) => Err(bad(format!("{error:?}"))),
    });
    entries.filter_map(Result::transpose).collect()
}

fn logged(interval: &IntervalLogHistogram<'_>) -> io::Result<Logged> {
    let octets = STANDARD.decode(interval.encoded_histogram()).map_err(|e| bad(e.to_string()))?;
    let histogram = Deserializer::new().deserialize(&mut &octets[..]).map_err(io::Error::other)?;
    let tag = interval.tag().map_or(String::new(), |tag| tag.as_str().to_owned());
    Ok(Logged { tag, start: interval.start_timestamp(), length: interval.duration(), histogram })
}

fn bad(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Start since 1970, and length, of a window.
fn placed(window: Span) -> (Duration, Duration) {
    let ns = |ns: i64| Duration::from_nanos(u64::try_from(ns).unwrap_or(0));
    (ns(window.start_ns), ns(window.end_ns.saturating_sub(window.start_ns)))
}

fn filled(values: &mut dyn Iterator<Item = u64>) -> io::Result<Histogram<u64>> {
    let mut histogram = Histogram::new_with_bounds(1, MOST_NS, DIGITS).map_err(io::Error::other)?;
    values.for_each(|ns| histogram.saturating_record(ns));
    Ok(histogram)
}

/// What may stand in a tag.
fn tag(stream: &str) -> String {
    let plain = |c: char| if matches!(c, ',' | ' ' | '\r' | '\n') { '_' } else { c };
    format!("wire:{}", stream.chars().map(plain).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wireproof_matrices::arm::FrameSpan;

    const START: i64 = 1_700_000_000_000_000_000;

    fn measured() -> Measured {
        let span = |n: i64| Span { start_ns: n * 16_666_667, end_ns: n * 16_666_667 + 5_115_000 + n };
        let frames = (0..120).map(|n| FrameSpan { id: n as u32, span: span(n) }).collect();
        let window = Span { start_ns: START, end_ns: START + 2_000_000_000 };
        let device_window = Some(Span { start_ns: 0, end_ns: 2_000_000_000 });
        Measured { ring: true, frames, window, device_window, ..Measured::default() }
    }

    fn intervals() -> Vec<(String, Vec<u64>)> {
        vec![
            ("pole a".to_owned(), vec![16_666_667; 100]),
            ("sacn".to_owned(), vec![1, u64::MAX, 250_000_000]),
        ]
    }

    #[test]
    fn a_log_is_read_back_with_every_value_in_its_bucket_and_its_tag() {
        let octets = write(&measured(), 50_000_000, &intervals()).unwrap();
        let logs = read(&octets).unwrap();
        let tags: Vec<&str> = logs.iter().map(|log| log.tag.as_str()).collect();
        assert_eq!(tags, ["frame", "wire:pole_a", "wire:sacn"]);
        let at = (Duration::from_secs(1_700_000_000), Duration::from_secs(2));
        assert!(logs.iter().all(|log| (log.start, log.length) == at));
        let [frames, pole, sacn] = [0, 1, 2].map(|at: usize| &logs[at].histogram);
        let exact = window_frames(&measured(), 50_000_000).count() as u64;
        assert!(exact > 100 && frames.len() == exact, "{}", frames.len());
        assert_eq!((pole.len(), pole.count_at(16_666_667)), (100, 100));
        assert!(pole.max().abs_diff(16_666_667) * 1_000 < 16_666_667, "three digits");
        assert_eq!((sacn.len(), sacn.count_at(MOST_NS), sacn.count_at(250_000_000)), (3, 1, 1));
    }

    #[test]
    fn the_same_values_give_the_same_octets_and_an_arm_without_a_ring_has_no_frames() {
        let measured = Measured { ring: false, ..measured() };
        let octets = write(&measured, 0, &intervals()).unwrap();
        assert_eq!(octets, write(&measured, 0, &intervals()).unwrap());
        assert_eq!(read(&octets).unwrap().len(), 2);
        let text = String::from_utf8(octets).unwrap();
        assert!(text.starts_with("#[Histogram log format version 1.3]\n"), "{text}");
        // The cookie of the compressed form of version 2, as every HdrHistogram writes it.
        assert!(text.lines().skip(4).all(|line| line.contains(",HISTFAAAA")), "{text}");
    }

    #[test]
    fn what_is_no_log_is_said_to_be_none() {
        for bad in ["Tag=x,1.0,1.0,1.0,!!!\n", "Tag=x,1.0,1.0,1.0,AAAA\n", "nonsense\n"] {
            assert!(read(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
