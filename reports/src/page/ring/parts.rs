//! What stands below the frames: time line, gaps, whole frames, percentiles, coverage, causes, findings, limits.

use super::record::RingPage;
use crate::page::cell::{Cell, count, fraction, made, ms, number, sentence, words};
use crate::page::chart;
use crate::page::grid::{Column, Grid};
use std::io::{self, Write};
use wireproof_recorder::analysis::Quantiles;
use wireproof_recorder::analysis::causes::PlaceRow;

/// Writes the longest frames over time, and gaps where they lie.
pub(super) fn time_line(page: &RingPage, out: &mut dyn Write) -> io::Result<()> {
    let (line, usual) = (&page.timeline, page.summary.frame_ns.p50);
    if line.bins == 0 {
        return Ok(());
    }
    writeln!(out, "<section id=\"time\">\n<h2>Frames over time</h2>\n<figure class=\"chart wide\">")?;
    writeln!(
        out,
        "<figcaption><span>longest frame in each {} ms</span> <span><i class=\"usual\"></i> median {} ms</span> \
         <span>a bin without a frame is empty</span></figcaption>",
        ms(line.bin_ns).span("/timeline/bin_ns"),
        ms(usual).span("/summary/frame_ns/p50")
    )?;
    writeln!(
        out,
        "{}</figure>",
        chart::intervals(line.axis(), &line.longest_ns, usual, "Longest frame over time")
    )?;
    let lanes = [
        ("left out on purpose", "l-observer", page.gaps.iter().filter(|gap| gap.skipped > 0).collect()),
        ("lost", "gone", page.gaps.iter().filter(|gap| gap.lost > 0).collect::<Vec<_>>()),
    ];
    if page.gaps.is_empty() {
        return writeln!(out, "</section>");
    }
    writeln!(out, "<div class=\"lanes gaps\">")?;
    for (name, class, gaps) in lanes {
        let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
        let spans: Vec<(i64, i64)> =
            gaps.iter().map(|gap| (signed(gap.from_ns), signed(gap.to_ns))).collect();
        let picture = chart::lane(line.axis(), class, &spans, &format!("Gaps: {name}"));
        writeln!(out, "<div class=\"strip\"><span>gaps: {name}</span>{picture}</div>")?;
    }
    writeln!(out, "</div>\n</section>")
}

const GAPS: [Column; 6] = [
    ("/after", "behind frame", "n"),
    ("/before", "in front of frame", "n"),
    ("/missing", "missing", "n"),
    ("/skipped", "left out on purpose", "n"),
    ("/lost", "lost", "n"),
    ("/from_ns", "ms after the first", "n"),
];

/// Writes the holes in the ids.
pub(super) fn gaps(page: &RingPage, out: &mut dyn Write) -> io::Result<()> {
    if page.frames.is_empty() {
        return Ok(());
    }
    writeln!(out, "<section id=\"gaps\">\n<h2>Gaps</h2>")?;
    if page.gaps.is_empty() {
        return writeln!(
            out,
            "<p>No id is missing between the first whole frame and the last.</p>\n</section>"
        );
    }
    let row = |(at, gap): (usize, &super::time::GapRow)| {
        let lost = count(gap.lost.into()).class(if gap.lost > 0 { "n bad" } else { "n" });
        let cells = vec![
            number(gap.after),
            number(gap.before),
            count(gap.missing.into()),
            count(gap.skipped.into()),
            lost,
            ms(gap.from_ns),
        ];
        (format!("/gaps/{at}"), cells)
    };
    let rows = page.gaps.iter().enumerate().map(row).collect();
    Grid { label: "Gaps", columns: &GAPS, rows, fold: true }.write(out)?;
    if page.gaps_left_out > 0 {
        let more = count(page.gaps_left_out).span("/gaps_left_out");
        writeln!(out, "<p class=\"sub\">{more} more are not listed: the largest are.</p>")?;
    }
    writeln!(out, "</section>")
}

/// Writes what share of the window is whole, and why the rest is not.
pub(super) fn whole(page: &RingPage, out: &mut dyn Write) -> io::Result<()> {
    let w = &page.whole;
    let n = |n: u64, key: &str| count(n).span(&format!("/whole/{key}"));
    let oldest = w.oldest_given_up.map_or_else(
        || "none: the ring has not wrapped over a frame".to_owned(),
        |id| {
            format!(
                "frame {}: the ring has wrapped over its beginning",
                number(id).span("/whole/oldest_given_up")
            )
        },
    );
    let slots = [
        ("pending", w.slots.pending),
        ("stale", w.slots.stale),
        ("foreign", w.slots.foreign),
        ("empty", w.slots.empty),
        ("bad_kind", w.slots.bad_kind),
    ];
    let slots: Vec<String> = slots
        .into_iter()
        .map(|(key, slots)| format!("{} {}", key.replace('_', " "), n(slots, &format!("slots/{key}"))))
        .collect();
    let facts = [
        ("ids in the window", format!("{}, first whole frame to last", n(w.ids, "ids"))),
        ("whole", count(page.summary.frames).span("/summary/frames")),
        ("left out on purpose", format!("{} by the engine: they were not due", n(w.skipped, "skipped"))),
        ("lost", format!("{} for any other reason", n(w.lost, "lost"))),
        (
            "begun and not whole",
            format!(
                "{} with records missing, {} with a wrong checksum, {} never completed",
                n(w.wrong_count, "wrong_count"),
                n(w.wrong_checksum, "wrong_checksum"),
                n(w.unfinished, "unfinished")
            ),
        ),
        ("oldest given up", oldest),
        ("slots dropped", slots.join(", ")),
        ("behind the last publication", format!("{} records", n(w.unpublished_tail, "unpublished_tail"))),
        (
            "cut by the batch limit",
            format!(
                "{} whole frames without some of their events",
                count(page.summary.truncated).span("/summary/truncated")
            ),
        ),
        (
            "since the writer's start",
            format!(
                "{} frames abandoned, {} events dropped over the batch limit",
                n(w.abandoned_since_start, "abandoned_since_start"),
                n(w.events_dropped_since_start, "events_dropped_since_start")
            ),
        ),
    ];
    writeln!(out, "<section id=\"whole\">\n<h2>Which frames are whole, and why others are not</h2>")?;
    writeln!(out, "<div class=\"scroll\"><table class=\"facts\">")?;
    facts.iter().try_for_each(|(name, text)| writeln!(out, "<tr><th scope=\"row\">{name}<td>{text}"))?;
    writeln!(out, "</table></div>\n</section>")
}

const STAGES: [Column; 7] = [
    ("/name", "stage", ""),
    ("/device_name", "device", ""),
    ("/spans", "spans", "n"),
    ("/ns/p50", "p50 ms", "n"),
    ("/ns/p95", "p95 ms", "n"),
    ("/ns/p99", "p99 ms", "n"),
    ("/ns/max", "longest ms", "n"),
];

fn quantiles(q: &Quantiles) -> [Cell; 4] {
    [ms(q.p50), ms(q.p95), ms(q.p99), ms(q.max)]
}

/// A name of the ring, or the id where it has none.
fn named(name: Option<&String>, id: u16, path: &str) -> Cell {
    name.map_or_else(|| number(id).class("").at(path.to_owned()), |name| words(name))
}

/// Writes percentiles of stages and ranges, each of its own.
pub(super) fn stages(page: &RingPage, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<section id=\"stages\">\n<h2>Percentiles of each stage</h2>")?;
    writeln!(
        out,
        "<p>Each row is of its own. <b>They do not add up</b>: the 95th percentile of one stage and that of another belong \
         to different frames, and stages run side by side. The percentiles of whole frames stand at the top.</p>"
    )?;
    let row = |(at, row): (usize, &wireproof_recorder::analysis::stages::StageRow)| {
        let path = format!("/summary/stages/{at}");
        let device = match (&row.device_name, row.device) {
            (name, Some(id)) => named(name.as_ref(), id, &format!("{path}/device")),
            (_, None) => made(String::new()).at(format!("{path}/device")),
        };
        let mut cells =
            vec![named(row.name.as_ref(), row.stage, &format!("{path}/stage")), device, count(row.spans)];
        cells.extend(quantiles(&row.ns));
        (path, cells)
    };
    let rows = page.summary.stages.iter().enumerate().map(row).collect();
    Grid { label: "Percentiles of stages", columns: &STAGES, rows, fold: true }.write(out)?;
    more(page.left_out.stages, "stages", out)?;
    writeln!(out, "</section>")?;
    ranges(page, out)
}

const RANGES: [Column; 7] = [
    ("/range", "range", ""),
    ("/frames", "frames", "n"),
    ("/without", "frames without it", "n"),
    ("/ns/p50", "p50 ms", "n"),
    ("/ns/p95", "p95 ms", "n"),
    ("/ns/p99", "p99 ms", "n"),
    ("/ns/max", "longest ms", "n"),
];

fn ranges(page: &RingPage, out: &mut dyn Write) -> io::Result<()> {
    if page.summary.ranges.is_empty() {
        return Ok(());
    }
    writeln!(out, "<section id=\"ranges\">\n<h2>Ranges of stages</h2>")?;
    let row = |(at, row): (usize, &wireproof_recorder::analysis::span::RangeRow)| {
        let mut cells = vec![words(&row.range), count(row.frames), count(row.without)];
        cells.extend(quantiles(&row.ns));
        (format!("/summary/ranges/{at}"), cells)
    };
    let rows = page.summary.ranges.iter().enumerate().map(row).collect();
    Grid { label: "Ranges of stages", columns: &RANGES, rows, fold: true }.write(out)?;
    writeln!(out, "</section>")
}

fn more(n: u64, key: &str, out: &mut dyn Write) -> io::Result<()> {
    if n == 0 {
        return Ok(());
    }
    let n = count(n).span(&format!("/left_out/{key}"));
    writeln!(out, "<p class=\"sub\">{n} more are not listed; <code>--format json</code> has them.</p>")
}

const DEVICES: [Column; 7] = [
    ("/name", "device", ""),
    ("/roots", "roots", "n"),
    ("/coverage", "explained %", "n"),
    ("/worst", "worst root %", "n"),
    ("/ns/p50", "p50 ms", "n"),
    ("/ns/p95", "p95 ms", "n"),
    ("/ns/max", "longest ms", "n"),
];

/// Writes how much of the devices' time their children explain.
pub(super) fn devices(page: &RingPage, out: &mut dyn Write) -> io::Result<()> {
    if page.summary.devices.is_empty() {
        return Ok(());
    }
    writeln!(out, "<section id=\"devices\">\n<h2>Devices</h2>")?;
    let share = |share: Option<f64>| share.map_or_else(|| made(String::new()), fraction);
    let row = |(at, row): (usize, &wireproof_recorder::analysis::stages::DeviceRow)| {
        let path = format!("/summary/devices/{at}");
        let cells = vec![
            named(row.name.as_ref(), row.device, &format!("{path}/device")),
            count(row.roots),
            share(row.coverage),
            share(row.worst),
            ms(row.ns.p50),
            ms(row.ns.p95),
            ms(row.ns.max),
        ];
        (path, cells)
    };
    let rows = page.summary.devices.iter().enumerate().map(row).collect();
    Grid { label: "Devices", columns: &DEVICES, rows, fold: true }.write(out)?;
    more(page.left_out.devices, "devices", out)?;
    writeln!(out, "</section>")
}

const PLACES: [Column; 2] = [("/place", "who", ""), ("/requests", "requests", "n")];

/// Writes why frames were made.
pub(super) fn causes(page: &RingPage, out: &mut dyn Write) -> io::Result<()> {
    let (c, r) = (&page.causes, &page.requests);
    let n = |n: u64, key: &str| count(n).span(&format!("/causes/{key}"));
    writeln!(out, "<section id=\"causes\">\n<h2>Why frames were made</h2>")?;
    if c.cause_records == 0 {
        return writeln!(out, "<p>No frame says why it was made.</p>\n</section>");
    }
    writeln!(
        out,
        "<p>Of {} frames of the last recording {} by an event, {} by a request for a refresh, {} by other (timer {}, other \
         {}, without a record {}). Frames of earlier recordings, left out here: {}.</p>",
        n(c.counts.frames, "frames"),
        n(c.counts.by_events, "by_events"),
        n(c.counts.by_refresh, "by_refresh"),
        n(c.counts.by_other, "by_other"),
        n(c.other.timer, "other/timer"),
        n(c.other.other, "other/other"),
        n(c.other.unrecorded, "other/unrecorded"),
        n(c.earlier_frames, "earlier_frames")
    )?;
    let a = |n: u64, key: &str| count(n).span(&format!("/requests/{key}"));
    writeln!(
        out,
        "<p>Requests with a time of their own: {}; served {} (late {}), beside another {}, by something unrelated {}, never \
         {}, not known {}.</p>",
        a(r.requests, "requests"),
        a(r.served, "served"),
        a(r.late, "late"),
        a(r.beside, "beside"),
        a(r.unrelated, "unrelated"),
        a(r.never, "never"),
        a(r.unknown, "unknown")
    )?;
    places("Places that asked for a refresh", "/causes/places", &c.counts.places, out)?;
    places("Events", "/causes/events", &c.events, out)?;
    writeln!(out, "</section>")
}

fn places(label: &'static str, path: &str, places: &[PlaceRow], out: &mut dyn Write) -> io::Result<()> {
    if places.is_empty() {
        return Ok(());
    }
    writeln!(out, "<h3>{label}</h3>")?;
    let row = |(at, row): (usize, &PlaceRow)| {
        (format!("{path}/{at}"), vec![words(&row.place).class("what"), count(row.requests)])
    };
    let rows = places.iter().enumerate().map(row).collect();
    Grid { label, columns: &PLACES, rows, fold: true }.write(out)
}

const FINDINGS: [Column; 5] = [
    ("/severity", "severity", ""),
    ("/code", "code", ""),
    ("/count", "count", "n"),
    ("/frame", "frame", "n"),
    ("/text", "what", "what"),
];

/// Writes findings.
pub(super) fn findings(page: &RingPage, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<section id=\"findings\">\n<h2>Findings</h2>")?;
    let row = |(at, f): (usize, &wireproof_recorder::analysis::Finding)| {
        let class = match f.severity.name() {
            "violation" => "bad",
            "warning" => "open",
            _ => "",
        };
        let frame = f.frame.map_or_else(|| made(String::new()), number);
        let cells = vec![
            words(f.severity.name()).class(class),
            words(f.code),
            count(f.count),
            frame,
            sentence(&f.text).class("what"),
        ];
        (format!("/summary/findings/{at}"), cells)
    };
    let rows = page.summary.findings.iter().enumerate().map(row).collect();
    Grid { label: "Findings", columns: &FINDINGS, rows, fold: true }.write(out)?;
    more(page.left_out.findings, "findings", out)?;
    writeln!(out, "</section>")
}

/// What such a page cannot say.
const LIMITS: [&str; 6] = [
    "What reached the wire: a ring says what the device did, not what arrived. <code>wireproof analyze --ring</code> holds both \
     against one another.",
    "Frames that are not whole: they are counted above, and none of their spans is drawn.",
    "Whom the time between two spans went to: a hole in the picture is time without a record.",
    "Any other copy: frames and figures of two downloads are never shown as one.",
    "Exact times of spans that begin or last more than half of 2^53 ns away from their frame; they are counted as not drawn.",
    "Why frames of earlier recordings were made: the names of their places are gone.",
];

/// Writes what the page does not show.
pub(super) fn limits(page: &RingPage, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<section id=\"limits\">\n<h2>What this page does not show</h2>\n<ul>")?;
    LIMITS.iter().try_for_each(|limit| writeln!(out, "<li>{limit}"))?;
    if page.left_out.frames > 0 {
        let n = count(page.left_out.frames).span("/left_out/frames");
        writeln!(
            out,
            "<li>Spans of {n} frames that are whole; <code>wireproof ring convert</code> writes all of them."
        )?;
    }
    writeln!(out, "</ul>\n</section>")
}
