//! `wireproof ring summary`: percentiles of whole frames and of their stages, coverage, deadlines. Percentiles are
//! never added; a span is never a sum.

use super::args::SummaryArgs;
use super::{load, ms, percent};
use crate::cli::failure::Failure;
use crate::cli::output;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};
use wireproof_recorder::account::Share;
use wireproof_recorder::header::{self, Facts};
use wireproof_recorder::layout::{Counter, NO_DEVICE};
use wireproof_recorder::{Account, Kind, Record, Ring, account};
use wireproof_reports::text::clean;

const SCHEMA: &str = "wireproof.ring-summary/1";
/// Significant digits of the percentiles.
const DIGITS: u8 = 3;

/// A ring in figures; keys in fixed order.
#[derive(Debug, Serialize)]
struct Document {
    schema: &'static str,
    version: u8,
    generation: u64,
    /// Number of the copy: figures of different copies are never shown as one.
    snapshot: Option<u64>,
    digest: String,
    frames: u64,
    first_frame: Option<u32>,
    last_frame: Option<u32>,
    span_ns: u64,
    period_ns: u64,
    missing: u64,
    skipped: u64,
    partial: u64,
    truncated: u64,
    frame_ns: Quantiles,
    coverage: Coverage,
    deadlines: Deadlines,
    stages: Vec<StageRow>,
}

#[derive(Debug, Default, Serialize)]
struct Quantiles {
    min: u64,
    p50: u64,
    p95: u64,
    p99: u64,
    max: u64,
}

/// Per cent of the time that children explain.
#[derive(Debug, Serialize)]
struct Coverage {
    frames: Option<f64>,
    devices: Option<f64>,
    worst_frame: Option<f64>,
    worst_device: Option<f64>,
}

/// Records of the ring, and what the writer has counted since it started.
#[derive(Debug, Serialize)]
struct Deadlines {
    missed: u64,
    worst_overrun_ns: u64,
    missed_since_start: u64,
    slow_since_start: u64,
}

/// Spans of one stage, of one device where it has one.
#[derive(Debug, Serialize)]
struct StageRow {
    stage: u16,
    name: Option<String>,
    device: Option<u16>,
    device_name: Option<String>,
    spans: u64,
    ns: Quantiles,
}

/// Runs the verb.
pub(super) fn run(args: &SummaryArgs) -> Result<u8, Failure> {
    output::check(std::slice::from_ref(&args.file), args.output.as_deref())?;
    let (image, ring) = load::ring(&args.file, &args.read)?;
    let facts = if ring.version == 1 { Facts::default() } else { header::facts(&image) };
    let account = account(&ring.frames);
    let document = document(&ring, &facts, &account);
    output::write(args.output.as_deref(), |out| match args.format.as_str() {
        "json" => {
            let text = serde_json::to_string_pretty(&document).map_err(io::Error::from)?;
            Ok(writeln!(out, "{text}")?)
        }
        _ => table(&document, &account, out),
    })?;
    Ok(0)
}

fn document(ring: &Ring, facts: &Facts, account: &Account) -> Document {
    let frames = &ring.frames;
    let starts = frames.iter().map(|frame| frame.start_ns).min().unwrap_or_default();
    let ends = frames.iter().map(|frame| frame.end_ns).max().unwrap_or_default();
    let partial = &ring.partial;
    Document {
        schema: SCHEMA,
        version: ring.version,
        generation: ring.generation,
        snapshot: facts.snapshot,
        digest: format!("{:08x}", ring.digest),
        frames: frames.len() as u64,
        first_frame: frames.first().map(|frame| frame.id),
        last_frame: frames.last().map(|frame| frame.id),
        span_ns: ends.saturating_sub(starts),
        period_ns: facts.period_ns,
        missing: ring.gaps.iter().map(|gap| u64::from(gap.missing)).sum(),
        skipped: records(ring, Kind::Skipped).map(|record| record.aux() & 0xFFFF_FFFF).sum(),
        partial: partial.count + partial.crc + partial.unfinished,
        truncated: frames.iter().filter(|frame| frame.truncated).count() as u64,
        frame_ns: quantiles(frames.iter().map(|frame| frame.end_ns.saturating_sub(frame.start_ns))),
        coverage: Coverage {
            frames: account.frame_coverage().percent(),
            devices: account.device_coverage().percent(),
            worst_frame: account.worst_frame().and_then(Share::percent),
            worst_device: account.worst_device().and_then(Share::percent),
        },
        deadlines: Deadlines {
            missed: records(ring, Kind::DeadlineMiss).count() as u64,
            worst_overrun_ns: records(ring, Kind::DeadlineMiss).map(Record::aux).max().unwrap_or_default(),
            missed_since_start: facts.counter(Counter::DeadlineMisses),
            slow_since_start: facts.counter(Counter::SlowFrames),
        },
        stages: stages(ring),
    }
}

/// Records of a kind, in frames and beside them.
fn records(ring: &Ring, kind: Kind) -> impl Iterator<Item = &Record> {
    let framed = ring.frames.iter().flat_map(|frame| &frame.records);
    framed.chain(&ring.loose).filter(move |record| record.kind() == Some(kind))
}

fn stages(ring: &Ring) -> Vec<StageRow> {
    let mut spans: BTreeMap<(u16, u16), Vec<u64>> = BTreeMap::new();
    for record in ring.frames.iter().flat_map(|frame| &frame.records) {
        if record.kind() == Some(Kind::Span) {
            let duration = record.end_ns().saturating_sub(record.start_ns());
            spans.entry((record.stage(), record.device())).or_default().push(duration);
        }
    }
    let row = |((stage, device), durations): ((u16, u16), Vec<u64>)| StageRow {
        stage,
        name: ring.tables.stage(stage).map(str::to_owned),
        device: (device != NO_DEVICE).then_some(device),
        device_name: ring.tables.device(device).map(str::to_owned),
        spans: durations.len() as u64,
        ns: quantiles(durations.into_iter()),
    };
    spans.into_iter().map(row).collect()
}

/// Quantiles to three digits, least and largest exact.
fn quantiles(durations: impl Iterator<Item = u64>) -> Quantiles {
    let Ok(mut histogram) = Histogram::<u64>::new(DIGITS) else { return Quantiles::default() };
    let (mut min, mut max) = (u64::MAX, 0);
    for duration in durations {
        (min, max) = (min.min(duration), max.max(duration));
        histogram.saturating_record(duration);
    }
    if histogram.is_empty() {
        return Quantiles::default();
    }
    let at = |quantile| histogram.value_at_quantile(quantile).clamp(min, max);
    Quantiles { min, p50: at(0.50), p95: at(0.95), p99: at(0.99), max }
}

fn table(document: &Document, account: &Account, out: &mut dyn Write) -> Result<(), Failure> {
    let d = document;
    let ids = match (d.first_frame, d.last_frame) {
        (Some(first), Some(last)) => format!("ids {first} to {last}"),
        _ => "no whole frame".to_owned(),
    };
    let snapshot = d.snapshot.map_or_else(|| "no stamp".to_owned(), |id| format!("snapshot {id}"));
    writeln!(
        out,
        "{} frames, {ids}, {} ms; {snapshot}, digest {}",
        d.frames,
        ms(d.span_ns.into()),
        d.digest
    )?;
    writeln!(
        out,
        "{} ids missing, {} of them skipped on purpose; {} frames not whole, {} cut by the batch limit",
        d.missing, d.skipped, d.partial, d.truncated
    )?;
    writeln!(
        out,
        "deadlines: {} missed, worst by {} ms; since the writer's start {} missed, {} slow frames",
        d.deadlines.missed,
        ms(d.deadlines.worst_overrun_ns.into()),
        d.deadlines.missed_since_start,
        d.deadlines.slow_since_start
    )?;
    writeln!(
        out,
        "coverage: frames {}, worst {}; devices {}, worst {}",
        percent(Some(account.frame_coverage())),
        percent(account.worst_frame()),
        percent(Some(account.device_coverage())),
        percent(account.worst_device())
    )?;
    writeln!(out, "\n{:<28} {:>8} {:>10} {:>10} {:>10} {:>10}", "ms", "spans", "p50", "p95", "p99", "max")?;
    line(out, "frame", d.frames, &d.frame_ns)?;
    for row in &d.stages {
        let name = row.name.clone().unwrap_or_else(|| format!("stage {}", row.stage));
        let device = match (&row.device_name, row.device) {
            (Some(device), _) => format!(" {device}"),
            (None, Some(id)) => format!(" device {id}"),
            (None, None) => String::new(),
        };
        line(out, &clean(&format!("{name}{device}")), row.spans, &row.ns)?;
    }
    Ok(())
}

fn line(out: &mut dyn Write, name: &str, spans: u64, q: &Quantiles) -> io::Result<()> {
    let [p50, p95, p99, max] = [q.p50, q.p95, q.p99, q.max].map(|ns| ms(ns.into()));
    writeln!(out, "{name:<28} {spans:>8} {p50:>10} {p95:>10} {p99:>10} {max:>10}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_values_and_zero_of_none() {
        let q = quantiles((1..=1000).map(|n| n * 1000));
        assert_eq!((q.min, q.max), (1000, 1_000_000));
        assert!((499_500..=500_500).contains(&q.p50), "{}", q.p50);
        assert!((989_000..=991_000).contains(&q.p99), "{}", q.p99);
        assert_eq!(quantiles(std::iter::empty()).max, 0);
        assert_eq!(quantiles([u64::MAX].into_iter()).p50, u64::MAX);
    }
}
