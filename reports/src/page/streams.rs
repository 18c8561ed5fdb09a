//! The inventory: tables of outputs and of streams.

use super::cell::{Cell, count, hertz, made, ms, words};
use super::choice::Choice;
use super::grid::{Column, Grid};
use crate::summary::{Output, Stream, Summary};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// More streams than this lie behind a line that unfolds, in a box that scrolls; the rows of fewer become cards.
const SHOWN: usize = 64;

/// Digits of a CID that tell two senders apart.
const CID: usize = 8;

const OUTPUTS: [Column; 13] = [
    ("/name", "output", ""),
    ("/protocol", "protocol", ""),
    ("/streams", "streams", "n"),
    ("/datagrams_per_frame", "datagrams a frame", "n"),
    ("/rate_hz", "frames/s", "n"),
    ("/frames/seen", "frames", "n"),
    ("/frames/complete", "complete", "n"),
    ("/frames/torn", "torn", "n"),
    ("/frames/unterminated", "no end", "n"),
    ("/frame_interval_ns/p50", "interval p50 ms", "n"),
    ("/frame_interval_ns/p99", "p99 ms", "n"),
    ("/frame_interval_ns/max", "max ms", "n"),
    ("/spread_ns/p99", "spread p99 ms", "n"),
];

/// Columns of the table of streams; a page that cannot carry its whole record keeps these of each.
pub(super) const COLUMNS: [Column; 11] = [
    ("", "#", "n"),
    ("/kind", "kind", ""),
    ("/stream_id", "id", "n"),
    ("/name", "name", ""),
    ("/source", "from", ""),
    ("/destination", "to", ""),
    ("/datagrams", "datagrams", "n"),
    ("/rate_hz", "per second", "n"),
    ("/sequence/lost", "lost", "n"),
    ("/frames/torn", "torn", "n"),
    ("/interval_ns/p99", "interval p99 ms", "n"),
];

/// Writes the section.
pub(super) fn write(s: &Summary, choice: &Choice, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<section id=\"inventory\">\n<h2>Inventory</h2>")?;
    let rows = choice.outputs.iter().map(|at| (format!("/outputs/{at}"), output(&s.outputs[*at]).to_vec()));
    writeln!(out, "<h3>Outputs <small>one a device: what one frame is made of</small></h3>")?;
    Grid { label: "Outputs", columns: &OUTPUTS, rows: rows.collect(), fold: true }.write(out)?;
    super::more(s.outputs.len(), choice.outputs.len(), ("output", "outputs"), "the worst stand here", out)?;
    let shared = shared(s);
    let row = |at: &usize| (format!("/streams/{at}"), stream(*at, &s.streams[*at], &shared).to_vec());
    let rows = choice.streams.iter().map(row).collect();
    let folded = s.streams.len() > SHOWN;
    let table = Grid { label: "Streams", columns: &COLUMNS, rows, fold: !folded };
    if folded {
        let n = count(s.totals.streams).span("/totals/streams");
        writeln!(out, "<details>\n<summary>Streams: {n}</summary>")?;
    } else {
        writeln!(out, "<h3>Streams</h3>")?;
    }
    table.write(out)?;
    super::more(s.streams.len(), choice.streams.len(), ("stream", "streams"), "the worst stand here", out)?;
    writeln!(out, "{}</section>", if folded { "</details>\n" } else { "" })
}

fn output(o: &Output) -> [Cell; 13] {
    let (f, i) = (&o.frames, &o.frame_interval_ns);
    [
        words(&o.name),
        words(&o.protocol),
        count(o.streams.len() as u64),
        count(u64::from(o.datagrams_per_frame)),
        hertz(f.seen, o.rate_mhz),
        count(f.seen),
        count(f.complete),
        bad(f.torn),
        bad(f.unterminated),
        ms(i.p50),
        ms(i.p99),
        ms(i.max),
        ms(o.spread_ns.p99),
    ]
}

/// Names that several senders have.
fn shared(s: &Summary) -> BTreeSet<&str> {
    let mut senders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, sender) in s.streams.iter().filter_map(|s| Some((s.name.as_deref()?, s.sender.as_deref()?))) {
        senders.entry(name).or_default().insert(sender);
    }
    senders.into_iter().filter(|(_, senders)| senders.len() > 1).map(|(name, _)| name).collect()
}

/// The name; where several senders have it, with the first digits of the CID.
fn name(s: &Stream, shared: &BTreeSet<&str>) -> Cell {
    let name = s.name.as_deref().unwrap_or_default();
    let cell = words(name);
    match s.sender.as_deref().filter(|_| shared.contains(name)).and_then(|cid| cid.get(..CID)) {
        Some(cid) => cell.and(name, &format!(" <small>CID {}\u{2026}</small>", super::escape(cid))),
        None => cell,
    }
}

fn stream(at: usize, s: &Stream, shared: &BTreeSet<&str>) -> [Cell; 11] {
    [
        made(at.to_string()).class("n"),
        words(&s.kind),
        count(u64::from(s.stream_id)),
        name(s, shared),
        words(&s.source),
        words(s.destination.as_deref().unwrap_or_default()),
        count(s.datagrams),
        hertz(s.datagrams, s.rate_mhz),
        bad(s.sequence.lost),
        bad(s.frames.torn),
        ms(s.interval_ns.p99),
    ]
}

/// A count that should be 0.
fn bad(n: u64) -> Cell {
    if n > 0 { count(n).class("n bad") } else { count(n) }
}
