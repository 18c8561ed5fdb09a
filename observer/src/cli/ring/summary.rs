//! `wireproof ring summary`: percentiles of whole frames and of their stages, coverage, deadlines. Percentiles are
//! never added; a span is never a sum.

use super::args::{Pages, SummaryArgs};
use super::{findings_table, load, ms, percent, places};
use crate::cli::failure::Failure;
use crate::cli::output;
use std::io::{self, Write};
use wireproof_recorder::analysis::Quantiles;
use wireproof_recorder::analysis::slow::Slow;
use wireproof_recorder::analysis::span::{self, RangeError, RangeRow};
use wireproof_recorder::analysis::stages::DeviceRow;
use wireproof_recorder::header::{self, Facts};
use wireproof_recorder::places::Places;
use wireproof_recorder::{Account, Ring, account};
use wireproof_reports::text::clean;
use wireproof_reports::{RingPage, RingSummary};

/// Runs the verb.
pub(super) fn run(args: &SummaryArgs) -> Result<u8, Failure> {
    output::check(std::slice::from_ref(&args.file), args.out.output.as_deref())?;
    let (image, ring) = load::ring(&args.file, &args.read)?;
    let facts = if ring.version == 1 { Facts::default() } else { header::facts(&image) };
    let account = account(&ring.frames);
    let document = RingSummary::of(&ring, &facts, &account, ranges(args, &ring)?);
    let places = match args.out.format {
        Pages::Html => places::load(&args.file, None)?.0,
        _ => Places::default(),
    };
    output::write(args.out.output.as_deref(), |out| match args.out.format {
        Pages::Json => {
            let text = serde_json::to_string_pretty(&document).map_err(io::Error::from)?;
            Ok(writeln!(out, "{text}")?)
        }
        Pages::Table => table(&document, &account, out),
        Pages::Html => {
            let name = args.file.to_string_lossy();
            let page = RingPage::of(&name, &ring, &facts, &account, &places, document.clone());
            Ok(page.html(out)?)
        }
    })?;
    Ok(0)
}

/// The device of a name or id.
fn device(name: &str, ring: &Ring) -> Result<u16, Failure> {
    let devices = &ring.tables.devices;
    let id = name.parse().ok();
    let found = devices.iter().find(|d| d.name == name).or_else(|| devices.iter().find(|d| Some(d.id) == id));
    found.map(|device| device.id).ok_or_else(|| {
        let names: Vec<_> = devices.iter().map(|device| device.name.as_str()).collect();
        let todo = format!("name one of: {}", clean(&names.join(", ")));
        Failure::usage(&format!("the ring has no device {name:?}"), &todo)
    })
}

/// Times of the ranges that were asked for.
fn ranges(args: &SummaryArgs, ring: &Ring) -> Result<Vec<RangeRow>, Failure> {
    let refused = |error: RangeError| {
        let names: Vec<_> = ring.tables.stages.iter().map(|stage| stage.name.as_str()).collect();
        let todo = if names.is_empty() {
            "this ring names no stages".to_owned()
        } else {
            format!("write FROM..TO with stages in this order: {}", clean(&names.join(", ")))
        };
        Failure::usage(&error.to_string(), &todo)
    };
    let device = args.device.as_deref().map(|name| device(name, ring)).transpose()?;
    let times = |text: &String| span::range(text, &ring.frames, &ring.tables, device).map_err(refused);
    args.range.iter().map(times).collect()
}

fn table(document: &RingSummary, account: &Account, out: &mut dyn Write) -> Result<(), Failure> {
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
        d.deadlines.found.missed,
        ms(d.deadlines.found.worst_overrun_ns.into()),
        d.deadlines.missed_since_start,
        d.deadlines.slow_since_start
    )?;
    writeln!(
        out,
        "coverage: frames {}, worst {}{}; devices {}, worst {}{}",
        percent(Some(account.frame_coverage())),
        percent(account.worst_frame()),
        id(" in frame", d.coverage.worst_frame_id),
        percent(Some(account.device_coverage())),
        percent(account.worst_device()),
        id(" in frame", d.coverage.worst_device_frame)
    )?;
    slow_frames(&d.slow, out)?;
    times(d, out)?;
    findings_table(&d.findings, out)
}

fn id(what: &str, id: Option<u32>) -> String {
    id.map_or_else(String::new, |id| format!("{what} {id}"))
}

/// The slow frames that are told, one a second at most.
fn slow_frames(slow: &Slow, out: &mut dyn Write) -> Result<(), Failure> {
    for told in &slow.told {
        writeln!(
            out,
            "slow: frame {}, {} devices, {} ms, {} ms past its deadline, {} others not told",
            told.frame,
            told.devices,
            ms(told.duration_ns.into()),
            ms(told.overrun_ns.into()),
            told.suppressed
        )?;
    }
    if slow.suppressed > 0 {
        writeln!(out, "slow: {} more behind it, not told", slow.suppressed)?;
    }
    Ok(())
}

/// Percentiles, each of its own row.
fn times(d: &RingSummary, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "\n{:<28} {:>8} {:>10} {:>10} {:>10} {:>10}", "ms", "spans", "p50", "p95", "p99", "max")?;
    line(out, "frame", d.frames, &d.frame_ns)?;
    line(out, "work past the frame before", d.frames, &d.work_ns)?;
    for row in &d.ranges {
        line(out, &clean(&row.range), row.frames, &row.ns)?;
    }
    for row in &d.stages {
        let name = row.name.clone().unwrap_or_else(|| format!("stage {}", row.stage));
        let device = match (&row.device_name, row.device) {
            (Some(device), _) => format!(" {device}"),
            (None, Some(id)) => format!(" device {id}"),
            (None, None) => String::new(),
        };
        line(out, &clean(&format!("{name}{device}")), row.spans, &row.ns)?;
    }
    let worst = |row: &DeviceRow| row.worst.map_or_else(|| "-".to_owned(), |worst| format!("{worst:.2} %"));
    for row in &d.devices {
        let name = row.name.clone().unwrap_or_else(|| format!("device {}", row.device));
        let covered = row.coverage.map_or_else(|| "-".to_owned(), |share| format!("{share:.2} %"));
        writeln!(out, "covered {:<20} {:>8} {covered:>10}, worst {}", clean(&name), row.roots, worst(row))?;
    }
    Ok(())
}

fn line(out: &mut dyn Write, name: &str, spans: u64, q: &Quantiles) -> io::Result<()> {
    let [p50, p95, p99, max] = [q.p50, q.p95, q.p99, q.max].map(|ns| ms(ns.into()));
    writeln!(out, "{name:<28} {spans:>8} {p50:>10} {p95:>10} {p99:>10} {max:>10}")
}
