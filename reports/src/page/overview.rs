//! The top of the page: the verdict, what it rests on, and who lost what.

use super::cell::{Cell, count, instant, length, sentence, words};
use super::choice::Choice;
use super::grid::{Column, Grid};
use crate::summary::{Owners, Stream, Summary};
use crate::verdict::Verdict;
use std::io::{self, Write};

/// The owners in the order of the record, each with what it means.
pub(super) const OWNERS: [(&str, &str); 4] = [
    ("sender", "the sender's own record says not sent"),
    ("wire", "sent, and lost behind the sender"),
    ("observer", "lost by this observer, by its own counters"),
    ("unknown", "upstream of the capture, device or network, or ambiguous"),
];

/// The class of a verdict.
pub(super) fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "good",
        Verdict::Fail | Verdict::Invalid => "bad",
        Verdict::Inconclusive | Verdict::Partial => "open",
    }
}

/// The shares in the order of [`OWNERS`].
pub(super) fn shares(o: &Owners) -> [u64; 4] {
    [o.sender, o.wire, o.observer, o.unknown]
}

/// Writes the heading, the sentence of the verdict and the figures at a glance; a title that was `told` is no verdict.
pub(super) fn write(title: &str, told: bool, s: &Summary, out: &mut dyn Write) -> io::Result<()> {
    let badge = format!("<span class=\"{} badge\">{}</span>", class(s.verdict), s.verdict.word());
    let (title, reason) = (super::escape(title), sentence(&s.reason).span("/reason"));
    if told {
        // The title has a result of its own.
        writeln!(out, "<header>\n<h1>{title}</h1>")?;
        writeln!(out, "<p class=\"lead\">What was observed: {badge} {reason}</p>")?;
    } else {
        writeln!(out, "<header>\n<h1>{badge} {title}</h1>\n<p class=\"lead\">{reason}</p>")?;
    }
    if let Some(f) = &s.filter {
        let expression = words(&f.expression).span("/filter/expression");
        let streams = count(f.streams_left_out).span("/filter/streams_left_out");
        let findings = count(f.findings_left_out).span("/filter/findings_left_out");
        let left = format!("left out: streams {streams}, findings {findings}");
        writeln!(out, "<p class=\"lead\">Filtered: {expression}; {left}.</p>")?;
    }
    if let Some(damage) = &s.source.damaged {
        let damage = sentence(damage).span("/source/damaged");
        writeln!(
            out,
            "<p class=\"lead\">The capture is damaged, only what lies before the damage was judged: {damage}</p>"
        )?;
    }
    writeln!(out, "<p class=\"sub\">{}</p>\n</header>", about(s))?;
    writeln!(out, "<div class=\"tiles\">")?;
    tiles(s).iter().try_for_each(|tile| writeln!(out, "{tile}"))?;
    writeln!(out, "</div>")
}

fn about(s: &Summary) -> String {
    let name = sentence(&s.source.name).span("/source/name");
    let kind = words(&s.source.kind).span("/source/kind");
    let packets = count(s.source.packets).span("/source/packets");
    let span = length(s.span_ns).span("/span_ns");
    let digits = s.stamp_digits();
    let from = s.first_ns.map(|ns| format!(", from {}", instant(ns, digits).span("/first_ns")));
    format!("{name} ({kind}), {packets} packets over {span}{}", from.unwrap_or_default())
}

fn tile(heading: &str, class: &str, figure: &str, below: &str) -> String {
    format!("<section class=\"tile {class}\"><h3>{heading}</h3><b>{figure}</b><p>{below}</p></section>")
}

fn tiles(s: &Summary) -> [String; 4] {
    let t = &s.totals;
    let n = |n: u64, path: &str| count(n).span(&format!("/totals{path}"));
    let broken = t.frames.torn + t.frames.unterminated;
    let frames = format!(
        "of {} complete; {} torn, {} without end",
        n(t.frames.seen, "/frames/seen"),
        n(t.frames.torn, "/frames/torn"),
        n(t.frames.unterminated, "/frames/unterminated")
    );
    let lost = format!(
        "{} proven, of {} lighting datagrams seen",
        n(t.lost_min, "/lost_min"),
        count(s.datagrams.lighting).span("/datagrams/lighting")
    );
    let findings = format!(
        "warnings: {}, infos: {}",
        n(t.findings.warning, "/findings/warning"),
        n(t.findings.info, "/findings/info")
    );
    let observer = match s.source.kind.as_str() {
        "file" => format!(
            "the capture lost {} itself",
            count(s.source.capture_dropped).span("/source/capture_dropped")
        ),
        _ => format!(
            "longest gap of the loop {}",
            length(s.observer.loop_gap_max_ns).span("/observer/loop_gap_max_ns")
        ),
    };
    let good = |bad: bool| if bad { "bad" } else { "good" };
    let spoiled = s.observer.lost > 0 || s.source.capture_dropped > 0;
    [
        tile("Frames complete", good(broken > 0), &n(t.frames.complete, "/frames/complete"), &frames),
        tile("Datagrams lost", good(t.lost > 0), &n(t.lost, "/lost"), &lost),
        tile(
            "Violations",
            good(t.findings.violation > 0),
            &n(t.findings.violation, "/findings/violation"),
            &findings,
        ),
        tile(
            "Lost by the observer",
            good(spoiled),
            &count(s.observer.lost).span("/observer/lost"),
            &observer,
        ),
    ]
}

const COLUMNS: [Column; 10] = [
    ("", "stream", ""),
    ("/source", "from", ""),
    ("/sequence/lost", "lost", "n"),
    ("/sequence/lost_min", "proven", "n"),
    ("/owners/sender", "sender", "n"),
    ("/owners/wire", "wire", "n"),
    ("/owners/observer", "observer", "n"),
    ("/owners/unknown", "unknown", "n"),
    ("/frames/torn", "frames torn", "n"),
    ("/frames/unterminated", "without end", "n"),
];

/// Writes who lost what.
pub(super) fn owners(s: &Summary, choice: &Choice, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<section id=\"owners\">\n<h2>Who lost what</h2>")?;
    let by_owner = shares(&s.totals.owners);
    let sum = by_owner.iter().fold(0u64, |sum, n| sum.saturating_add(*n));
    if sum == 0 {
        return writeln!(out, "<p>No datagram is missing.</p>\n</section>");
    }
    writeln!(out, "<div class=\"shares\" role=\"img\" aria-label=\"missing datagrams by owner\">")?;
    for ((name, _), n) in OWNERS.iter().zip(by_owner).filter(|(_, n)| *n > 0) {
        let share = n as f64 * 100.0 / sum as f64;
        writeln!(out, "<i class=\"o-{name}\" style=\"width:{share:.2}%\"></i>")?;
    }
    writeln!(out, "</div>\n<div class=\"keys\">")?;
    for ((name, meaning), n) in OWNERS.iter().zip(by_owner) {
        let n = count(n).span(&format!("/totals/owners/{name}"));
        writeln!(out, "<span><i class=\"o-{name}\"></i><b>{name} {n}</b> {meaning}</span>")?;
    }
    writeln!(out, "</div>")?;
    let (losers, all) = &choice.losers;
    let rows = losers.iter().map(|at| (format!("/streams/{at}"), row(*at, &s.streams[*at]).to_vec()));
    Grid { label: "Losses by stream", columns: &COLUMNS, rows: rows.collect(), fold: true }.write(out)?;
    super::more(
        *all,
        losers.len(),
        ("stream with losses", "streams with losses"),
        "the table of streams has them",
        out,
    )?;
    writeln!(out, "</section>")
}

fn row(at: usize, s: &Stream) -> [Cell; 10] {
    let o = &s.owners;
    [
        super::cell::made(super::stream_name(at, s)),
        words(&s.source),
        count(s.sequence.lost),
        count(s.sequence.lost_min),
        count(o.sender),
        count(o.wire),
        count(o.observer),
        count(o.unknown),
        count(s.frames.torn),
        count(s.frames.unterminated),
    ]
}
