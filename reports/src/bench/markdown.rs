//! Markdown: the rows as a table for an issue or a page of measurements.

use super::{Bench, Encoder, ns, range, ratio};
use crate::markdown::{escape, head, row};
use std::io::{self, Write};

/// Writes the record as Markdown.
pub(super) fn write(bench: &Bench, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "# Encoders on one frame of {} octets\n", bench.frame_bytes)?;
    let peers = bench.encoders.iter().any(|encoder| encoder.ratio_to_own.is_some());
    let mut names =
        vec!["encoder", "backend", "datagrams", "min ns", "p50 ns", "p95 ns", "x memcpy", "95 % interval"];
    names.extend(peers.then_some("x ours"));
    names.push("identical");
    head(out, &names)?;
    row(out, &copying(bench, peers))?;
    bench.encoders.iter().try_for_each(|encoder| row(out, &cells(encoder, peers)))?;
    writeln!(out)?;
    let lines = bench.method().into_iter().chain(bench.remarks()).chain([bench.score()]);
    lines.into_iter().try_for_each(|line| writeln!(out, "* {}", escape(&line)))
}

fn copying(bench: &Bench, peers: bool) -> Vec<String> {
    let times = bench.memcpy.ns_per_frame;
    let dash = || "-".to_owned();
    let mut cells = vec!["memcpy".to_owned(), dash(), dash()];
    cells.extend([times.min, times.p50, times.p95].map(|time| ns(Some(time))));
    cells.extend([ratio(Some(1.0)), dash()]);
    cells.extend(peers.then(dash));
    cells.push(dash());
    cells
}

fn cells(encoder: &Encoder, peers: bool) -> Vec<String> {
    let times = encoder.ns_per_frame;
    let mut cells = vec![encoder.name.clone(), encoder.backend.clone(), encoder.datagrams.to_string()];
    cells.extend([times.map(|t| t.min), times.map(|t| t.p50), times.map(|t| t.p95)].map(ns));
    cells.extend([ratio(encoder.ratio_to_memcpy), range(encoder.ratio_interval)]);
    cells.extend(peers.then(|| ratio(encoder.ratio_to_own.map(|own| own.median))));
    cells.push(if encoder.identical { "yes" } else { "NO" }.to_owned());
    cells
}
