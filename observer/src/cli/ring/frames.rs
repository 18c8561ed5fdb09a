//! `wireproof ring frames`: one row for each whole frame.

use super::args::{FramesArgs, Rows};
use super::{load, ms};
use crate::cli::failure::Failure;
use crate::cli::output;
use serde::Serialize;
use std::io::{self, Write};
use wireproof_recorder::account::{Row, Share};
use wireproof_recorder::{Frame, Kind, Ring, account};

const SCHEMA: &str = "wireproof.ring-frames/1";

/// A frame; keys in fixed order.
#[derive(Debug, Serialize)]
struct FrameRow {
    id: u32,
    start_ns: u64,
    duration_ns: u64,
    span_ns: i64,
    prologue_ns: u64,
    coverage: Option<f64>,
    worst_device: Option<f64>,
    records: usize,
    missing_before: u32,
    missed_deadline: bool,
    truncated: bool,
}

/// All of them; keys in fixed order.
#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: &'static str,
    version: u8,
    generation: u64,
    digest: String,
    frames: &'a [FrameRow],
}

/// Runs the verb.
pub(super) fn run(args: &FramesArgs) -> Result<u8, Failure> {
    output::check(std::slice::from_ref(&args.file), args.out.output.as_deref())?;
    let (_, ring) = load::ring(&args.file, &args.read)?;
    let account = account(&ring.frames);
    let before = std::iter::once(None).chain(ring.frames.iter().map(Some));
    let rows = ring.frames.iter().zip(&account.rows).zip(before);
    let rows: Vec<FrameRow> = rows.map(|((frame, row), before)| frame_row(frame, row, before)).collect();
    let skip = args.last.map_or(0, |last| rows.len().saturating_sub(last));
    let rows = rows.get(skip..).unwrap_or_default();
    output::write(args.out.output.as_deref(), |out| match args.out.format {
        Rows::Json => json(&ring, rows, out),
        Rows::Jsonl => jsonl(rows, out),
        Rows::Csv => csv(rows, out),
        Rows::Table => table(rows, out),
    })?;
    Ok(0)
}

fn frame_row(frame: &Frame, row: &Row, before: Option<&Frame>) -> FrameRow {
    let share = |part, whole| Share { part, whole }.percent();
    let devices = row.devices.iter().filter_map(|device| share(device.covered_ns, device.root_ns));
    FrameRow {
        id: frame.id,
        start_ns: frame.start_ns,
        duration_ns: row.root_ns,
        span_ns: i64::try_from(row.span_ns).unwrap_or_default(),
        prologue_ns: row.prologue_ns,
        coverage: share(row.covered_ns, row.root_ns),
        worst_device: devices.min_by(f64::total_cmp),
        records: frame.records.len(),
        missing_before: before.map_or(0, |before| frame.id.wrapping_sub(before.id).wrapping_sub(1)),
        missed_deadline: frame.records.iter().any(|record| record.kind() == Some(Kind::DeadlineMiss)),
        truncated: frame.truncated,
    }
}

fn json(ring: &Ring, rows: &[FrameRow], out: &mut dyn Write) -> Result<(), Failure> {
    let document = Document {
        schema: SCHEMA,
        version: ring.version,
        generation: ring.generation,
        digest: format!("{:08x}", ring.digest),
        frames: rows,
    };
    let text = serde_json::to_string_pretty(&document).map_err(io::Error::from)?;
    Ok(writeln!(out, "{text}")?)
}

fn jsonl(rows: &[FrameRow], out: &mut dyn Write) -> Result<(), Failure> {
    for row in rows {
        writeln!(out, "{}", serde_json::to_string(row).map_err(io::Error::from)?)?;
    }
    Ok(())
}

fn csv(rows: &[FrameRow], out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(
        out,
        "id,start_ns,duration_ns,span_ns,prologue_ns,coverage,worst_device,records,missing_before,missed_deadline,truncated"
    )?;
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    for r in rows {
        writeln!(
            out,
            "{},{},{},{},{},{},{},{},{},{},{}",
            r.id,
            r.start_ns,
            r.duration_ns,
            r.span_ns,
            r.prologue_ns,
            number(r.coverage),
            number(r.worst_device),
            r.records,
            r.missing_before,
            r.missed_deadline,
            r.truncated
        )?;
    }
    Ok(())
}

fn table(rows: &[FrameRow], out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(
        out,
        "{:>10} {:>14} {:>10} {:>10} {:>10} {:>9} {:>9} {:>7}  notes",
        "frame", "start ms", "frame ms", "span ms", "before ms", "covered", "device", "records"
    )?;
    let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2} %"));
    for r in rows {
        let line = format!(
            "{:>10} {:>14} {:>10} {:>10} {:>10} {:>9} {:>9} {:>7}  {}",
            r.id,
            ms(r.start_ns.into()),
            ms(r.duration_ns.into()),
            ms(r.span_ns.into()),
            ms(r.prologue_ns.into()),
            shown(r.coverage),
            shown(r.worst_device),
            r.records,
            notes(r)
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn notes(row: &FrameRow) -> String {
    let mut notes = Vec::new();
    if row.missing_before > 0 {
        notes.push(format!("{} missing before", row.missing_before));
    }
    if row.missed_deadline {
        notes.push("deadline missed".to_owned());
    }
    if row.truncated {
        notes.push("events dropped".to_owned());
    }
    notes.join(", ")
}
