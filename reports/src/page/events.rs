//! What happened, worst first, and losses beside downloads on one time line.

use super::cell::{Cell, count, instant, made, ms, sentence, spaced, words};
use super::chart;
use super::choice::{Choice, cost, counts_frames};
use super::fold::Event;
use super::grid::{Column, Grid};
use super::overview::{OWNERS, shares};
use crate::groups;
use crate::summary::{Axis, Drain, DrainedRing, Finding, Summary};
use std::collections::BTreeSet;
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
    let row = |event: &Event| match event.all.as_slice() {
        [at] => (format!("/findings/{at}"), alone(s, *at, &s.findings[*at]).to_vec()),
        _ => (String::new(), several(s, event).to_vec()),
    };
    let rows = choice.events.iter().map(row).collect();
    Grid { label: "Events", columns: &COLUMNS, rows, fold: true }.write(out)?;
    let shown = choice.events.iter().map(|event| event.all.len()).sum();
    super::more(s.findings.len(), shown, ("finding", "findings"), "`--format json` lists all", out)?;
    writeln!(out, "</section>")
}

fn severity(f: &Finding) -> Cell {
    match f.severity.as_str() {
        "violation" => words(&f.severity).class("bad"),
        "warning" => words(&f.severity).class("open"),
        _ => words(&f.severity),
    }
}

/// Frames that it cost.
fn frames(at: usize, f: &Finding) -> Cell {
    let key = if counts_frames(f) { "count" } else { "frames" };
    count(cost(f)).at(format!("/findings/{at}/{key}"))
}

fn alone(s: &Summary, at: usize, f: &Finding) -> [Cell; 7] {
    let frames = frames(at, f);
    [
        instant(f.first_ns, s.stamp_digits()),
        if cost(f) > 0 { frames.class("n bad") } else { frames },
        severity(f),
        words(&f.code).class("t"),
        count(f.count),
        made(groups::shares(f.owners).unwrap_or_default()).class("owner"),
        sentence(&f.text).class("what").and(&f.text, &detail(s, at, f)),
    ]
}

/// Findings alike: sums of all, and each of them behind a line that unfolds.
fn several(s: &Summary, event: &Event) -> [Cell; 7] {
    let (all, worst) = (event.findings(s), &s.findings[event.worst]);
    let first = event.first();
    let cost = event.cost(s);
    let such_as = if groups::alike(&all) { "" } else { "such as: " };
    let text = sentence(&worst.text).span(&format!("/findings/{}/text", event.worst));
    let told = [streams(s, event), doubt(worst), explain(worst)].map(|line| small(&line)).concat();
    [
        instant(s.findings[first].first_ns, s.stamp_digits()).at(format!("/findings/{first}/first_ns")),
        if cost > 0 { count(cost).class("n bad") } else { count(cost) },
        severity(worst),
        words(&worst.code).class("t"),
        count(event.count(s)),
        made(groups::shares(groups::sum(&all)).unwrap_or_default()).class("owner"),
        made(format!("{such_as}{text}{told}{}", list(s, event))).class("what"),
    ]
}

/// The findings of an event, each in a line.
fn list(s: &Summary, event: &Event) -> String {
    let worst = &s.findings[event.worst];
    let one_stream = event.all.iter().all(|at| s.findings[*at].stream == worst.stream);
    let item = |at: &usize| format!("<li>{}", item(s, *at, worst, one_stream));
    let items: String = event.listed.iter().map(item).collect();
    let left = event.all.len() - event.listed.len();
    let more = match left {
        0 => String::new(),
        n => format!(
            "<p class=\"sub\">{} more are not shown: <code>--format json</code> lists all.</p>",
            spaced(n as u64)
        ),
    };
    let head = format!("all {} findings like this", spaced(event.all.len() as u64));
    format!("<details><summary>{head}</summary><ol class=\"alike\">{items}</ol>{more}</details>")
}

/// One finding among those that are like `worst`: what it has of its own.
fn item(s: &Summary, at: usize, worst: &Finding, one_stream: bool) -> String {
    let f = &s.findings[at];
    let path = |key: &str| format!("/findings/{at}/{key}");
    let id = words(&f.id).span(&path("id"));
    let mut parts =
        vec![format!("<b>{id}</b> {}", instant(f.first_ns, s.stamp_digits()).span(&path("first_ns")))];
    parts.push(format!("\u{d7} {}", count(f.count).span(&path("count"))));
    if cost(f) > 0 && !counts_frames(f) {
        parts.push(format!("frames {}", count(cost(f)).span(&path("frames"))));
    }
    parts.extend(groups::shares(f.owners).map(|owners| made(owners).span(&path("owners"))));
    let other = f.stream.filter(|_| !one_stream).and_then(|at| Some((at, s.streams.get(at)?)));
    parts.extend(other.map(|(index, stream)| super::stream_name(index, stream)));
    if f.text != worst.text {
        parts.push(sentence(&f.text).span(&path("text")));
    }
    parts.extend(waived(s, f));
    parts.join(", ")
}

/// Which streams: a few by name, many by number.
fn streams(s: &Summary, event: &Event) -> String {
    let all: BTreeSet<usize> = event.findings(s).iter().filter_map(|f| f.stream).collect();
    // An excerpt keeps the streams of what is listed.
    let kept = event.listed.iter().chain([&event.worst]).filter_map(|at| s.findings[*at].stream);
    let kept: BTreeSet<usize> = kept.collect();
    let name = |at: &usize| s.streams.get(*at).map(|stream| super::stream_name(*at, stream));
    let named: Vec<String> = kept.iter().take(groups::NAMED).filter_map(name).collect();
    match all.len() - named.len() {
        0 => named.join("; "),
        n => format!("{}; and {} more streams", named.join("; "), spaced(n as u64)),
    }
}

fn small(line: &str) -> String {
    if line.is_empty() { String::new() } else { format!("<small>{line}</small>") }
}

/// Whether the capture spoiled it.
fn doubt(f: &Finding) -> String {
    if f.tainted { "tainted: the capture itself lost packets at the time" } else { "" }.to_owned()
}

/// By which waiver it does not count.
fn waived(s: &Summary, f: &Finding) -> Option<String> {
    let (at, w) = f.waiver.and_then(|at| Some((at, s.waivers.get(at)?)))?;
    let path = |key: &str| format!("/waivers/{at}/{key}");
    let (id, day) = (words(&w.id).span(&path("id")), words(&w.expires).span(&path("expires")));
    Some(format!("waived by {id} until {day}: {}", words(&w.reason).span(&path("reason"))))
}

/// Where more is said.
fn explain(f: &Finding) -> String {
    format!("<code>wireproof explain {}</code>", super::escape(&f.code))
}

/// Where it was, what was expected, and where more is said.
fn detail(s: &Summary, at: usize, f: &Finding) -> String {
    let path = |key: &str| format!("/findings/{at}/{key}");
    let mut lines = Vec::new();
    if let Some((index, stream)) = f.stream.and_then(|at| Some((at, s.streams.get(at)?))) {
        let source = words(&stream.source).span(&format!("/streams/{index}/source"));
        lines.push(format!("{} from {source}", super::stream_name(index, stream)));
    }
    if !f.expected.is_empty() || !f.got.is_empty() {
        let (expected, got) =
            (sentence(&f.expected).span(&path("expected")), sentence(&f.got).span(&path("got")));
        lines.push(format!("expected {expected}, got {got}"));
    }
    lines.extend(waived(s, f));
    lines.extend([doubt(f), explain(f)]);
    lines.iter().map(|line| small(line)).collect()
}

/// Writes losses, drops and downloads on one time line.
pub(super) fn time_line(s: &Summary, out: &mut dyn Write) -> io::Result<()> {
    let lanes = s.timeline.map(|axis| lanes(s, axis)).unwrap_or_default();
    let Some(axis) = s.timeline.filter(|_| !lanes.is_empty() || !s.drains.is_empty()) else { return Ok(()) };
    writeln!(out, "<section id=\"drains\">\n<h2>Losses and downloads on one time line</h2>")?;
    if s.drains.is_empty() {
        writeln!(out, "<p class=\"sub\">No downloads of a device's record are in this run.</p>")?;
    }
    writeln!(out, "<div class=\"timed strips lanes\">")?;
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
