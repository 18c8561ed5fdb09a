//! What happened, worst first, and losses beside downloads on one time line.

use super::cell::{Cell, count, instant, made, ms, sentence, words};
use super::chart;
use super::choice::{Choice, Event, cost, counts_frames};
use super::grid::{Column, Grid};
use super::overview::{OWNERS, shares};
use crate::groups;
use crate::summary::{Axis, Drain, DrainedRing, Finding, Summary};
use std::io::{self, Write};

const COLUMNS: [Column; 7] = [
    ("/first_ns", "first seen", "t"),
    ("", "frames", "n"),
    ("/severity", "severity", ""),
    ("/code", "code", ""),
    ("/count", "count", "n"),
    ("/owners", "owner", ""),
    ("/text", "what", ""),
];

/// Writes the events.
pub(super) fn write(s: &Summary, choice: &Choice, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<section id=\"events\">\n<h2>Events</h2>")?;
    writeln!(out, "<p class=\"sub\">What cost the most frames comes first.</p>")?;
    let rows =
        choice.events.iter().map(|e| (format!("/findings/{}", e.at), row(s, e, &s.findings[e.at]).to_vec()));
    Grid { label: "Events", columns: &COLUMNS, rows: rows.collect(), fold: true }.write(out)?;
    super::more(
        s.findings.len(),
        choice.events.iter().map(|e| 1 + e.alike).sum(),
        ("finding", "findings"),
        "`--format json` lists all",
        out,
    )?;
    writeln!(out, "</section>")
}

fn row(s: &Summary, event: &Event, f: &Finding) -> [Cell; 7] {
    let at = event.at;
    let severity = match f.severity.as_str() {
        "violation" => words(&f.severity).class("bad"),
        "warning" => words(&f.severity).class("open"),
        _ => words(&f.severity),
    };
    let frames = if counts_frames(f) { "count" } else { "frames" };
    let frames = count(cost(f)).at(format!("/findings/{at}/{frames}"));
    let owner = groups::shares(f.owners).unwrap_or_default();
    [
        instant(f.first_ns, s.stamp_digits()),
        if cost(f) > 0 { frames.class("n bad") } else { frames },
        severity,
        words(&f.code).class("t"),
        count(f.count),
        made(owner).class("owner"),
        sentence(&f.text).class("what").and(&f.text, &detail(s, event, f)),
    ]
}

/// Where it was, what was expected, and where more is said.
fn detail(s: &Summary, event: &Event, f: &Finding) -> String {
    let at = event.at;
    let path = |key: &str| format!("/findings/{at}/{key}");
    let mut lines = Vec::new();
    if let Some((index, stream)) = f.stream.and_then(|at| Some((at, s.streams.get(at)?))) {
        let source = words(&stream.source).span(&format!("/streams/{index}/source"));
        lines.push(format!("{} from {source}", super::stream_name(index, stream)));
    }
    if event.alike > 0 {
        lines.push(format!("and {} more like it within a second, on other streams", event.alike));
    }
    if !f.expected.is_empty() || !f.got.is_empty() {
        let (expected, got) =
            (sentence(&f.expected).span(&path("expected")), sentence(&f.got).span(&path("got")));
        lines.push(format!("expected {expected}, got {got}"));
    }
    if let Some((at, w)) = f.waiver.and_then(|at| Some((at, s.waivers.get(at)?))) {
        let path = |key: &str| format!("/waivers/{at}/{key}");
        let (id, day) = (words(&w.id).span(&path("id")), words(&w.expires).span(&path("expires")));
        lines.push(format!("waived by {id} until {day}: {}", words(&w.reason).span(&path("reason"))));
    }
    if f.tainted {
        lines.push("tainted: the capture itself lost packets at the time".to_owned());
    }
    lines.push(format!("<code>wireproof explain {}</code>", super::escape(&f.code)));
    lines.iter().map(|line| format!("<small>{line}</small>")).collect()
}

/// Writes losses, drops and downloads on one time line.
pub(super) fn time_line(s: &Summary, out: &mut dyn Write) -> io::Result<()> {
    let lanes = s.timeline.map(|axis| lanes(s, axis)).unwrap_or_default();
    let Some(axis) = s.timeline.filter(|_| !lanes.is_empty() || !s.drains.is_empty()) else { return Ok(()) };
    writeln!(out, "<section id=\"drains\">\n<h2>Losses and downloads on one time line</h2>")?;
    if s.drains.is_empty() {
        writeln!(out, "<p class=\"sub\">No downloads of a device's record are in this run.</p>")?;
    }
    writeln!(out, "<div class=\"strips lanes\">")?;
    for (name, picture) in &lanes {
        writeln!(out, "<div class=\"strip\"><span>{name}</span>{picture}</div>")?;
    }
    writeln!(out, "{}</div>", chart::time_labels(axis))?;
    if !s.drains.is_empty() {
        downloads(s, out)?;
    }
    writeln!(out, "</section>")
}

/// Lanes that have something on them, each with its name.
fn lanes(s: &Summary, axis: Axis) -> Vec<(String, String)> {
    let mut lanes = Vec::new();
    if !s.drains.is_empty() {
        let spans: Vec<(i64, i64)> = s.drains.iter().map(|d| (d.started_ns, d.ended_ns)).collect();
        lanes.push(("downloads".to_owned(), chart::lane(axis, "drain", &spans, "downloads over time")));
    }
    let torn: Vec<(i64, i64)> = of(s, counts_frames).collect();
    if !torn.is_empty() {
        lanes.push(("torn frames".to_owned(), chart::lane(axis, "torn", &torn, "torn frames over time")));
    }
    for (at, (owner, _)) in OWNERS.iter().enumerate() {
        let spans: Vec<(i64, i64)> = of(s, |f| f.owners.is_some_and(|o| shares(&o)[at] > 0)).collect();
        if !spans.is_empty() {
            let label = format!("losses over time, owner {owner}");
            lanes.push((format!("lost: {owner}"), chart::lane(axis, &format!("l-{owner}"), &spans, &label)));
        }
    }
    let columns = [
        ("observer's drops", &s.observer.timeline.lost),
        ("capture's drops", &s.observer.timeline.capture_dropped),
    ];
    for (name, values) in columns.into_iter().filter(|(_, values)| !values.is_empty()) {
        lanes.push((name.to_owned(), chart::column(axis, "l-observer", values, name)));
    }
    lanes
}

fn of<'a>(s: &'a Summary, which: impl Fn(&Finding) -> bool + 'a) -> impl Iterator<Item = (i64, i64)> + 'a {
    s.findings.iter().filter(move |f| which(f)).map(|f| (f.first_ns, f.last_ns.max(f.first_ns)))
}

const DOWNLOADS: [Column; 6] = [
    ("/number", "number", "n"),
    ("/started_ns", "begun", "t"),
    ("", "took ms", "n"),
    ("/bytes", "octets", "n"),
    ("", "ring", ""),
    ("/file", "file", ""),
];

fn downloads(s: &Summary, out: &mut dyn Write) -> io::Result<()> {
    let digits = s.stamp_digits();
    let row = |(at, d): (usize, &Drain)| {
        let took = ms(u64::try_from(d.ended_ns.saturating_sub(d.started_ns)).unwrap_or(0));
        let cells = vec![
            count(d.number),
            instant(d.started_ns, digits),
            took,
            count(d.bytes),
            made(ring(at, d)),
            words(&d.file),
        ];
        (format!("/drains/{at}"), cells)
    };
    let rows = s.drains.iter().enumerate().take(200).map(row).collect();
    Grid { label: "Downloads", columns: &DOWNLOADS, rows, fold: true }.write(out)?;
    super::more(s.drains.len(), 200, ("download", "downloads"), "`--format json` lists all", out)
}

/// What the body of a download is worth.
fn ring(at: usize, d: &Drain) -> String {
    let path = |key: &str| format!("/drains/{at}/{key}");
    match &d.ring {
        Some(DrainedRing::Ok { frames, .. }) => {
            format!("verified, {} frames", count(*frames).span(&path("ring/frames")))
        }
        Some(DrainedRing::Refused { code }) => format!("refused: {}", words(code).span(&path("ring/code"))),
        None => sentence(d.error.as_deref().unwrap_or_default()).span(&path("error")),
    }
}
