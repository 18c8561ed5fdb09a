//! The table: rows for people, the copy first, the score last.

use super::{Bench, Encoder, ns, range, ratio};
use crate::Style;
use crate::columns::{Align, Columns};
use crate::text::{clean, wrap};
use std::io::{self, Write};

/// Columns that give way when the width is small, least needed first: octets, least, interval, datagrams.
const SPARE: [usize; 4] = [3, 4, 8, 2];

/// Writes the whole table.
pub(super) fn write(bench: &Bench, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let method = bench.method();
    let mut lines = method.iter().flat_map(|text| wrap(text, style.width));
    lines.try_for_each(|line| writeln!(out, "{line}"))?;
    writeln!(out)?;
    rows(bench).lines_within(style.width, &SPARE).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    let remarks = bench.remarks();
    if !remarks.is_empty() {
        writeln!(out)?;
    }
    let remarks = remarks.iter().flat_map(|text| wrap(text, style.width));
    remarks.into_iter().try_for_each(|line| writeln!(out, "{line}"))?;
    writeln!(out, "\n{}", bench.score())
}

fn rows(bench: &Bench) -> Columns {
    use Align::{Left, Right};
    let peers = bench.encoders.iter().any(|encoder| encoder.ratio_to_own.is_some());
    let mut header = vec![
        ("ENCODER", Left),
        ("BACKEND", Left),
        ("DGRAMS", Right),
        ("OCTETS", Right),
        ("MIN ns", Right),
        ("p50 ns", Right),
        ("p95 ns", Right),
        ("x MEMCPY", Right),
        ("95 %", Right),
    ];
    header.extend(peers.then_some(("x OURS", Right)));
    header.push(("IDENTICAL", Left));
    let mut columns = Columns::new(&header);
    columns.row(copying(bench, peers));
    bench.encoders.iter().for_each(|encoder| columns.row(row(encoder, peers)));
    columns
}

fn copying(bench: &Bench, peers: bool) -> Vec<String> {
    let times = bench.memcpy.ns_per_frame;
    let dash = || "-".to_owned();
    let mut cells = vec!["memcpy".to_owned(), dash(), dash(), bench.frame_bytes.to_string()];
    cells.extend([times.min, times.p50, times.p95].map(|time| ns(Some(time))));
    cells.extend([ratio(Some(1.0)), dash()]);
    cells.extend(peers.then(dash));
    cells.push(dash());
    cells
}

fn row(encoder: &Encoder, peers: bool) -> Vec<String> {
    let times = encoder.ns_per_frame;
    let mut cells = vec![
        clean(&encoder.name).into_owned(),
        clean(&encoder.backend).into_owned(),
        encoder.datagrams.to_string(),
        encoder.bytes.to_string(),
        ns(times.map(|t| t.min)),
        ns(times.map(|t| t.p50)),
        ns(times.map(|t| t.p95)),
        ratio(encoder.ratio_to_memcpy),
        range(encoder.ratio_interval),
    ];
    cells.extend(peers.then(|| ratio(encoder.ratio_to_own.map(|own| own.median))));
    cells.push(if encoder.identical { "yes" } else { "NO" }.to_owned());
    cells
}
