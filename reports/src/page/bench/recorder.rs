//! The page of a bench of the recorder's writer.

use super::list;
use super::plot::{Row, intervals};
use crate::bench_recorder::{Difference, RecorderBench, Timed};
use crate::json::Safe;
use crate::page::cell::{count, fraction, number, words};
use crate::page::grid::{Column, Grid};
use crate::page::{escape, shell};
use crate::render::RenderError;
use serde::Serialize;
use serde_json::ser::Serializer;
use std::io::{self, Write};

/// What such a bench does not show.
const NOT: [&str; 5] = [
    "What a device pays: the shares of a core are extrapolated from hot arms of one process along a straight line.",
    "Cold caches: between two frames of a device, others use the caches.",
    "What a reader of the ring costs, and what the ring costs on a disk, where writeback holds a writer up.",
    "Another machine: a time in ns is of this one. Ratios travel better than times, and no ratio travels for certain.",
    "That recording is free where an interval holds 0: it says that noise was more than the difference.",
];

/// Writes the page.
pub(crate) fn write(bench: &RecorderBench, out: &mut dyn Write) -> Result<(), RenderError> {
    shell::open("Recorder, on and off", out)?;
    head(bench, out)?;
    writeln!(out, "<main>")?;
    costs(bench, out)?;
    ratios(bench, out)?;
    times(bench, out)?;
    list("method", "How it was timed", &bench.method(), out)?;
    list("not", "What this does not show", &NOT.map(str::to_owned), out)?;
    writeln!(out, "</main>")?;
    let mut record = Vec::new();
    bench.serialize(&mut Serializer::with_formatter(&mut record, Safe::shortest_line()))?;
    shell::record(&record, out)?;
    Ok(shell::close(out)?)
}

fn head(bench: &RecorderBench, out: &mut dyn Write) -> io::Result<()> {
    let (class, word) = if bench.check.right() { ("good", "READS BACK") } else { ("bad", "WRONG") };
    writeln!(
        out,
        "<header>\n<h1><span class=\"{class} badge\">{word}</span> Recorder, on and off, frames of {} records</h1>",
        count(bench.events_per_frame.into()).span("/events_per_frame")
    )?;
    let [shares, checked] = bench.remarks();
    writeln!(out, "<p class=\"lead\">{}</p>\n<p>{}</p>", escape(&checked), escape(&shares))?;
    writeln!(
        out,
        "<p class=\"sub\">Seed {}, {} blocks after {} to warm up; {} octets of work in a frame.</p>\n</header>",
        number(bench.seed).span("/seed"),
        count(bench.blocks.into()).span("/blocks"),
        count(bench.warm_up_blocks.into()).span("/warm_up_blocks"),
        count(bench.frame_bytes).span("/frame_bytes")
    )
}

/// Keys of the costs in the record, in the order of their names.
const COSTS: [&str; 5] = [
    "per_frame_ns",
    "per_event_ns",
    "per_frame_given_times_ns",
    "per_event_given_times_ns",
    "per_unframed_event_ns",
];

fn costs(bench: &RecorderBench, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<section id=\"costs\">\n<h2>What recording costs</h2>")?;
    writeln!(
        out,
        "<p>On minus off, block by block: a dot is the median of the differences in ns, the line its interval at 95 %. Frames \
         and single events have an axis each; the dashed line is nothing.</p>"
    )?;
    let costs = bench.costs();
    let row = |at: usize| {
        let (name, d): &(String, Difference) = &costs[at];
        let figure = |value: f64, key: &str| fraction(value).span(&format!("/cost/{}/{key}", COSTS[at]));
        let words = format!(
            "{} ns [{}, {}]",
            figure(d.median, "median"),
            figure(d.low, "low"),
            figure(d.high, "high")
        );
        Row { name: escape(name), words, median: d.median, low: d.low, high: d.high }
    };
    for rows in [vec![row(0), row(2)], vec![row(1), row(3), row(4)]] {
        out.write_all(intervals(&rows, 0.0, "Difference in ns with its interval").as_bytes())?;
    }
    writeln!(out, "</section>")
}

fn ratios(bench: &RecorderBench, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<section id=\"ratios\">\n<h2>Against the limit</h2>")?;
    writeln!(
        out,
        "<p>The limit is one read of the clock, timed in the same blocks: an event that is stamped twice cannot cost less than \
         two. A dot is the median of the blocks' ratios to it, the line its interval at 95 %.</p>"
    )?;
    let row = |(at, arm): (usize, &Timed)| {
        let figure = |value: f64, key: &str| fraction(value).span(&format!("/arms/{at}/{key}"));
        let words = format!(
            "{}\u{d7} [{}, {}]",
            figure(arm.ratio_to_clock, "ratio_to_clock"),
            figure(arm.ratio_interval.low, "ratio_interval/low"),
            figure(arm.ratio_interval.high, "ratio_interval/high")
        );
        let name = format!(
            "{} <small>per {}</small>",
            words_of(&arm.name, at, "name"),
            words_of(&arm.unit, at, "unit")
        );
        Row {
            name,
            words,
            median: arm.ratio_to_clock,
            low: arm.ratio_interval.low,
            high: arm.ratio_interval.high,
        }
    };
    let rows: Vec<Row> = bench.arms.iter().enumerate().map(row).collect();
    out.write_all(intervals(&rows, 1.0, "Ratio to a clock read with its interval").as_bytes())?;
    writeln!(out, "</section>")
}

fn words_of(text: &str, at: usize, key: &str) -> String {
    words(text).span(&format!("/arms/{at}/{key}"))
}

const COLUMNS: [Column; 7] = [
    ("/name", "arm", ""),
    ("/unit", "for a", ""),
    ("/ns/min", "least ns", "n"),
    ("/ns/p50", "p50 ns", "n"),
    ("/ns/p95", "p95 ns", "n"),
    ("/ratio_to_clock", "\u{d7} clock", "n"),
    ("/disturbed_blocks", "disturbed", "n"),
];

fn times(bench: &RecorderBench, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<section id=\"times\">\n<h2>Times</h2>")?;
    let row = |(at, arm): (usize, &Timed)| {
        let cells = vec![
            words(&arm.name),
            words(&arm.unit),
            fraction(arm.ns.min),
            fraction(arm.ns.p50),
            fraction(arm.ns.p95),
            fraction(arm.ratio_to_clock),
            count(arm.disturbed_blocks),
        ];
        (format!("/arms/{at}"), cells)
    };
    let rows = bench.arms.iter().enumerate().map(row).collect();
    Grid { label: "Times of the arms", columns: &COLUMNS, rows, fold: true }.write(out)?;
    writeln!(out, "</section>")
}
