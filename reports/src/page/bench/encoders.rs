//! The page of a bench of encoders.

use super::plot::{Row, intervals};
use super::{list, maybe};
use crate::bench::{Bench, Encoder};
use crate::json::Safe;
use crate::page::cell::{count, fraction, made, number, words};
use crate::page::grid::{Column, Grid};
use crate::page::{escape, shell};
use crate::render::RenderError;
use serde::Serialize;
use serde_json::ser::Serializer;
use std::io::{self, Write};

/// What such a bench does not show.
const NOT: [&str; 6] = [
    "What a socket costs: nothing is sent. Handing datagrams to the kernel usually costs more than making them.",
    "Cold caches: frame and datagrams lie in the processor's caches, block after block.",
    "Other shapes of frames: one size and one packing were timed.",
    "Wall time under load: times are CPU time of the thread, and others may have had the processor in between.",
    "Another machine: a time in ns is of this one. Ratios travel better than times, and no ratio travels for certain.",
    "That two rows differ where their intervals overlap.",
];

/// Writes the page.
pub(crate) fn write(bench: &Bench, out: &mut dyn Write) -> Result<(), RenderError> {
    shell::open("Encoders on one frame", out)?;
    head(bench, out)?;
    writeln!(out, "<main>")?;
    ratios(bench, out)?;
    peers(bench, out)?;
    times(bench, out)?;
    remarks(bench, out)?;
    list("method", "How it was timed", &bench.method(), out)?;
    list("not", "What this does not show", &NOT.map(str::to_owned), out)?;
    writeln!(out, "</main>")?;
    let mut record = Vec::new();
    bench.serialize(&mut Serializer::with_formatter(&mut record, Safe::shortest_line()))?;
    shell::record(&record, out)?;
    Ok(shell::close(out)?)
}

fn head(bench: &Bench, out: &mut dyn Write) -> io::Result<()> {
    let (class, word) = if bench.identical() { ("good", "IDENTICAL") } else { ("bad", "DIFFERS") };
    writeln!(
        out,
        "<header>\n<h1><span class=\"{class} badge\">{word}</span> Encoders on one frame of {} octets</h1>",
        count(bench.frame_bytes).span("/frame_bytes")
    )?;
    writeln!(out, "<p class=\"lead\">{}</p>", escape(&bench.score()))?;
    writeln!(
        out,
        "<p class=\"sub\">Seed {}, {} blocks after {} to warm up; an encoder whose octets differ has no times.</p>\n</header>",
        number(bench.seed).span("/seed"),
        count(bench.blocks.into()).span("/blocks"),
        count(bench.warm_up_blocks.into()).span("/warm_up_blocks")
    )
}

/// An encoder in words.
fn name(encoder: &Encoder, at: usize) -> String {
    let path = |key: &str| format!("/encoders/{at}/{key}");
    format!(
        "{} <small>{}</small>",
        words(&encoder.name).span(&path("name")),
        words(&encoder.backend).span(&path("backend"))
    )
}

/// A median with its interval in words, from the places of a record.
fn said(median: (f64, &str), low: (f64, &str), high: (f64, &str)) -> String {
    let figure = |(value, path): (f64, &str)| fraction(value).span(path);
    format!("{}\u{d7} [{}, {}]", figure(median), figure(low), figure(high))
}

fn ratios(bench: &Bench, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<section id=\"ratios\">\n<h2>Against the limit</h2>")?;
    writeln!(
        out,
        "<p>The limit is a plain copy of the frame's octets, timed in the same blocks: median {} ns. A dot is the median of \
         the blocks' ratios to it, the line its interval at 95 %; the dashed line is the copy itself. Only an encoder that does not touch every \
         octet can lie below it.</p>",
        fraction(bench.memcpy.ns_per_frame.p50).span("/memcpy/ns_per_frame/p50")
    )?;
    let row = |(at, encoder): (usize, &Encoder)| {
        let (median, interval) = (encoder.ratio_to_memcpy?, encoder.ratio_interval?);
        let path = |key: &str| format!("/encoders/{at}/{key}");
        let words = said(
            (median, &path("ratio_to_memcpy")),
            (interval.low, &path("ratio_interval/low")),
            (interval.high, &path("ratio_interval/high")),
        );
        Some(Row { name: name(encoder, at), words, median, low: interval.low, high: interval.high })
    };
    let rows: Vec<Row> = bench.encoders.iter().enumerate().filter_map(row).collect();
    out.write_all(intervals(&rows, 1.0, "Ratio to the copy with its interval").as_bytes())?;
    writeln!(out, "</section>")
}

fn peers(bench: &Bench, out: &mut dyn Write) -> io::Result<()> {
    let row = |(at, encoder): (usize, &Encoder)| {
        let own = encoder.ratio_to_own?;
        let path = |key: &str| format!("/encoders/{at}/ratio_to_own/{key}");
        let words = said((own.median, &path("median")), (own.low, &path("low")), (own.high, &path("high")));
        Some(Row { name: name(encoder, at), words, median: own.median, low: own.low, high: own.high })
    };
    let rows: Vec<Row> = bench.encoders.iter().enumerate().filter_map(row).collect();
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "<section id=\"peers\">\n<h2>Peers against our contiguous encoder</h2>")?;
    writeln!(
        out,
        "<p>How many times as long a peer takes, block by block; the dashed line is as long as ours.</p>"
    )?;
    out.write_all(intervals(&rows, 1.0, "Ratio to our encoder with its interval").as_bytes())?;
    writeln!(out, "</section>")
}

const COLUMNS: [Column; 10] = [
    ("/name", "encoder", ""),
    ("/backend", "backend", ""),
    ("/datagrams", "datagrams", "n"),
    ("/bytes", "octets", "n"),
    ("/ns_per_frame/min", "least ns", "n"),
    ("/ns_per_frame/p50", "p50 ns", "n"),
    ("/ns_per_frame/p95", "p95 ns", "n"),
    ("/ratio_to_memcpy", "\u{d7} copy", "n"),
    ("/disturbed_blocks", "disturbed", "n"),
    ("", "octets right", ""),
];

fn times(bench: &Bench, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<section id=\"times\">\n<h2>Times of a frame</h2>")?;
    let t = bench.memcpy.ns_per_frame;
    let figure = |value: f64, key: &str| fraction(value).span(&format!("/memcpy/ns_per_frame/{key}"));
    writeln!(
        out,
        "<p>The copy: least {}, p50 {}, p95 {} ns. Disturbed are blocks in which an arm took more than a quarter longer than \
         its median; they count.</p>",
        figure(t.min, "min"),
        figure(t.p50, "p50"),
        figure(t.p95, "p95")
    )?;
    let row = |(at, encoder): (usize, &Encoder)| {
        let path = format!("/encoders/{at}");
        let times = encoder.ns_per_frame;
        let time = |value: Option<f64>| {
            let cell = maybe(value);
            // Without times there is nothing to point at below them.
            if times.is_none() { cell.at(format!("{path}/ns_per_frame")) } else { cell }
        };
        let right =
            if encoder.identical { made("yes".to_owned()) } else { made("NO".to_owned()).class("bad") };
        let cells = vec![
            words(&encoder.name),
            words(&encoder.backend),
            count(encoder.datagrams),
            count(encoder.bytes),
            time(times.map(|t| t.min)),
            time(times.map(|t| t.p50)),
            time(times.map(|t| t.p95)),
            maybe(encoder.ratio_to_memcpy),
            count(encoder.disturbed_blocks),
            right,
        ];
        (path, cells)
    };
    let rows = bench.encoders.iter().enumerate().map(row).collect();
    Grid { label: "Times of a frame", columns: &COLUMNS, rows, fold: true }.write(out)?;
    writeln!(out, "</section>")
}

fn remarks(bench: &Bench, out: &mut dyn Write) -> io::Result<()> {
    let remarks = bench.remarks();
    if remarks.is_empty() { Ok(()) } else { list("remarks", "Remarks", &remarks, out) }
}
