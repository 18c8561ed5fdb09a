//! The tables of a bundle as CSV after RFC 4180, and findings as JSON lines: written with every column always, read back
//! strictly.
//!
//! A reader takes octets that somebody may have changed: a column too many, too few or elsewhere is an error with its line.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use wireproof_matrices::arm::{ArmDrain, Episode, FrameSpan, Owners, Place, Span, WireStream};
use wireproof_matrices::number::Number;
use wireproof_matrices::verdict::ArmRow;

/// A row of a table.
pub trait Row: Serialize + DeserializeOwned {
    /// Names of the columns, in the order of the fields.
    const HEADER: &'static [&'static str];
}

/// A table that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct TableError {
    /// Line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub what: String,
}

/// Writes a table; one without rows has its header.
///
/// # Errors
/// What the writer says.
pub fn write_rows<T: Row>(out: &mut dyn io::Write, rows: impl IntoIterator<Item = T>) -> io::Result<()> {
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(out);
    writer.write_record(T::HEADER).map_err(io::Error::other)?;
    rows.into_iter().try_for_each(|row| writer.serialize(row).map_err(whole))?;
    writer.flush()
}

/// The error of the file behind a table, so that a full disk is known as one.
fn whole(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// Reads a table.
///
/// # Errors
/// The first line that is not as [`write_rows`] writes it.
pub fn read_rows<T: Row>(octets: &[u8]) -> Result<Vec<T>, TableError> {
    let mut reader = csv::ReaderBuilder::new().has_headers(true).from_reader(octets);
    let header = reader.headers().map_err(at)?;
    if !header.iter().eq(T::HEADER.iter().copied()) {
        let what = format!("columns are '{}'", T::HEADER.join(","));
        return Err(TableError { line: 1, what });
    }
    reader.deserialize().map(|row| row.map_err(at)).collect()
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn at(error: csv::Error) -> TableError {
    TableError { line: error.position().map_or(1, csv::Position::line), what: error.to_string() }
}

/// A row of `frames.csv`, on the device's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Frame {
    id: u32,
    start_ns: i64,
    end_ns: i64,
}

impl Row for Frame {
    const HEADER: &'static [&'static str] = &["id", "start_ns", "end_ns"];
}

/// A row of `episodes.csv`, on the bench's clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct EpisodeLine {
    stream: String,
    start_ns: i64,
    end_ns: i64,
    missing: u64,
    sender: u64,
    wire: u64,
    observer: u64,
    upstream: u64,
    ambiguous: u64,
}

impl Row for EpisodeLine {
    const HEADER: &'static [&'static str] =
        &["stream", "start_ns", "end_ns", "missing", "sender", "wire", "observer", "upstream", "ambiguous"];
}

/// A row of `drains.csv`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct DrainLine {
    planned_ns: u64,
    bench_start_ns: i64,
    bench_end_ns: i64,
    device_start_ns: i64,
    device_end_ns: i64,
    real: bool,
    octets: u64,
    sha256: Option<String>,
    failed: Option<String>,
}

impl Row for DrainLine {
    const HEADER: &'static [&'static str] = &[
        "planned_ns",
        "bench_start_ns",
        "bench_end_ns",
        "device_start_ns",
        "device_end_ns",
        "real",
        "octets",
        "sha256",
        "failed",
    ];
}

/// A row of `wire.csv`: a stream's totals. Digests of its payload stand in `arm.json` only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct WireLine {
    stream: String,
    datagrams: u64,
    frames: u64,
    first_ns: i64,
    last_ns: i64,
    lost: u64,
    sender: u64,
    wire: u64,
    observer: u64,
    upstream: u64,
    ambiguous: u64,
    duplicates: u64,
    reordered: u64,
    shape: u64,
    foreign: u64,
    jitter_p50_ns: u64,
    jitter_p95_ns: u64,
    jitter_p99_ns: u64,
}

impl Row for WireLine {
    const HEADER: &'static [&'static str] = &[
        "stream",
        "datagrams",
        "frames",
        "first_ns",
        "last_ns",
        "lost",
        "sender",
        "wire",
        "observer",
        "upstream",
        "ambiguous",
        "duplicates",
        "reordered",
        "shape",
        "foreign",
        "jitter_p50_ns",
        "jitter_p95_ns",
        "jitter_p99_ns",
    ];
}

/// A row of `summary.csv`: a metric of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SummaryRow {
    /// Such as `b01-p1-raw-a1`.
    pub arm: String,
    /// Stratum; empty without.
    pub stratum: String,
    /// Block, from 1.
    pub block: u32,
    /// Position, from 1.
    pub position: u32,
    /// Treatment.
    pub treatment: String,
    /// Attempt, from 1.
    pub attempt: u32,
    /// `ok`, `invalid` or `interrupted`.
    pub state: String,
    /// True when it was judged.
    pub counted: bool,
    /// Metric, a stream's as `wire.rate:sacn`.
    pub metric: String,
    /// Its value.
    pub value: Number,
}

impl Row for SummaryRow {
    const HEADER: &'static [&'static str] = &[
        "arm",
        "stratum",
        "block",
        "position",
        "treatment",
        "attempt",
        "state",
        "counted",
        "metric",
        "value",
    ];
}

/// The rows of `summary.csv`: every metric of every attempt, in the order of the run.
pub fn summary_rows(arms: &[ArmRow]) -> Vec<SummaryRow> {
    let row = |arm: &ArmRow, metric: &str, value: Number| SummaryRow {
        arm: arm.name.clone(),
        stratum: arm.stratum.clone(),
        block: arm.block,
        position: arm.position,
        treatment: arm.treatment.clone(),
        attempt: arm.attempt,
        state: arm.state.clone(),
        counted: arm.counted,
        metric: metric.to_owned(),
        value,
    };
    arms.iter()
        .flat_map(|arm| arm.values.iter().map(move |(metric, value)| row(arm, metric, *value)))
        .collect()
}

/// Writes `frames.csv`.
///
/// # Errors
/// What the writer says.
pub fn write_frames(out: &mut dyn io::Write, frames: &[FrameSpan]) -> io::Result<()> {
    let row = |f: &FrameSpan| Frame { id: f.id, start_ns: f.span.start_ns, end_ns: f.span.end_ns };
    write_rows(out, frames.iter().map(row))
}

/// Reads `frames.csv`.
///
/// # Errors
/// As [`read_rows`].
pub fn read_frames(octets: &[u8]) -> Result<Vec<FrameSpan>, TableError> {
    let frame = |f: Frame| FrameSpan { id: f.id, span: Span { start_ns: f.start_ns, end_ns: f.end_ns } };
    Ok(read_rows(octets)?.into_iter().map(frame).collect())
}

/// Writes `episodes.csv`.
///
/// # Errors
/// What the writer says.
pub fn write_episodes(out: &mut dyn io::Write, episodes: &[Episode]) -> io::Result<()> {
    let row = |e: &Episode| EpisodeLine {
        stream: e.stream.clone(),
        start_ns: e.span.start_ns,
        end_ns: e.span.end_ns,
        missing: e.missing,
        sender: e.owners.sender,
        wire: e.owners.wire,
        observer: e.owners.observer,
        upstream: e.owners.upstream,
        ambiguous: e.owners.ambiguous,
    };
    write_rows(out, episodes.iter().map(row))
}

/// Reads `episodes.csv`.
///
/// # Errors
/// As [`read_rows`].
pub fn read_episodes(octets: &[u8]) -> Result<Vec<Episode>, TableError> {
    let episode = |e: EpisodeLine| Episode {
        stream: e.stream,
        span: Span { start_ns: e.start_ns, end_ns: e.end_ns },
        missing: e.missing,
        owners: owners([e.sender, e.wire, e.observer, e.upstream, e.ambiguous]),
    };
    Ok(read_rows(octets)?.into_iter().map(episode).collect())
}

fn owners([sender, wire, observer, upstream, ambiguous]: [u64; 5]) -> Owners {
    Owners { sender, wire, observer, upstream, ambiguous }
}

/// Writes `drains.csv`.
///
/// # Errors
/// What the writer says.
pub fn write_drains(out: &mut dyn io::Write, drains: &[ArmDrain]) -> io::Result<()> {
    let row = |d: &ArmDrain| DrainLine {
        planned_ns: d.planned_ns,
        bench_start_ns: d.bench.start_ns,
        bench_end_ns: d.bench.end_ns,
        device_start_ns: d.device.start_ns,
        device_end_ns: d.device.end_ns,
        real: d.real,
        octets: d.bytes,
        sha256: d.sha256.clone(),
        failed: d.failed.clone(),
    };
    write_rows(out, drains.iter().map(row))
}

/// Reads `drains.csv`.
///
/// # Errors
/// As [`read_rows`].
pub fn read_drains(octets: &[u8]) -> Result<Vec<ArmDrain>, TableError> {
    let drain = |d: DrainLine| ArmDrain {
        planned_ns: d.planned_ns,
        bench: Span { start_ns: d.bench_start_ns, end_ns: d.bench_end_ns },
        device: Span { start_ns: d.device_start_ns, end_ns: d.device_end_ns },
        real: d.real,
        failed: d.failed,
        bytes: d.octets,
        sha256: d.sha256,
    };
    Ok(read_rows(octets)?.into_iter().map(drain).collect())
}

/// Writes `wire.csv`.
///
/// # Errors
/// What the writer says.
pub fn write_wire(out: &mut dyn io::Write, streams: &[WireStream]) -> io::Result<()> {
    write_rows(out, streams.iter().map(wire_line))
}

fn wire_line(s: &WireStream) -> WireLine {
    let [jitter_p50_ns, jitter_p95_ns, jitter_p99_ns] = s.jitter_ns;
    WireLine {
        stream: s.id.clone(),
        datagrams: s.datagrams,
        frames: s.frames,
        first_ns: s.first_ns,
        last_ns: s.last_ns,
        lost: s.lost,
        sender: s.owners.sender,
        wire: s.owners.wire,
        observer: s.owners.observer,
        upstream: s.owners.upstream,
        ambiguous: s.owners.ambiguous,
        duplicates: s.duplicates,
        reordered: s.reordered,
        shape: s.shape,
        foreign: s.foreign,
        jitter_p50_ns,
        jitter_p95_ns,
        jitter_p99_ns,
    }
}

/// Reads `wire.csv`; digests of payload are not in it.
///
/// # Errors
/// As [`read_rows`].
pub fn read_wire(octets: &[u8]) -> Result<Vec<WireStream>, TableError> {
    let stream = |w: WireLine| WireStream {
        id: w.stream,
        datagrams: w.datagrams,
        frames: w.frames,
        first_ns: w.first_ns,
        last_ns: w.last_ns,
        lost: w.lost,
        owners: owners([w.sender, w.wire, w.observer, w.upstream, w.ambiguous]),
        duplicates: w.duplicates,
        reordered: w.reordered,
        shape: w.shape,
        foreign: w.foreign,
        jitter_ns: [w.jitter_p50_ns, w.jitter_p95_ns, w.jitter_p99_ns],
        payload: BTreeMap::new(),
    };
    Ok(read_rows(octets)?.into_iter().map(stream).collect())
}

/// A line of `findings.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// `violation`, `warning` or `info`.
    pub severity: String,
    /// Arm, inside one.
    pub arm: Option<Place>,
    /// Name of the stream in the plan, if it is about one.
    pub stream: Option<String>,
    /// Bench clock, ns.
    pub at_ns: Option<i64>,
    /// Code.
    pub code: String,
    /// One sentence.
    pub text: String,
    /// Files and counters that show it.
    pub evidence: Vec<String>,
}

/// Writes `findings.jsonl`.
///
/// # Errors
/// What the writer says.
pub fn write_findings(out: &mut dyn io::Write, findings: &[Finding]) -> io::Result<()> {
    findings.iter().try_for_each(|finding| {
        serde_json::to_writer(&mut *out, finding)?;
        out.write_all(b"\n")
    })
}

/// Reads `findings.jsonl`.
///
/// # Errors
/// The first line that is not a finding.
pub fn read_findings(octets: &[u8]) -> Result<Vec<Finding>, TableError> {
    let lines = (1..).zip(octets.split_inclusive(|octet| *octet == b'\n'));
    lines
        .map(|(line, octets)| {
            serde_json::from_slice(octets).map_err(|e| TableError { line, what: e.to_string() })
        })
        .collect()
}

#[cfg(test)]
mod tests;
