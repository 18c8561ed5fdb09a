//! The table: a run for people, plain text of a given width, the verdict first and last.

mod findings;

use crate::Style;
use crate::columns::{Align, Columns};
use crate::summary::{Causes, Interval, Output, Stream, Summary, Sync};
use crate::text::{clean, fit, milliseconds, rate, rfc3339, seconds, wrap};
use crate::verdict::Verdict;
use crate::waiver::Waived;
use std::collections::BTreeMap;
use std::io::{self, Write};
use wireproof_protocols::words::counted;

/// Writes the whole table.
pub(crate) fn write(summary: &Summary, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let word = verdict_word(summary.verdict, style);
    let width = style.width;
    for (n, part) in wrap(&summary.reason, width.saturating_sub(14)).iter().enumerate() {
        writeln!(out, "{}{part}", if n == 0 { format!("{word}  ") } else { "      ".to_owned() })?;
    }
    writeln!(out)?;
    header(summary, width, out)?;
    streams(&summary.streams, width, out)?;
    outputs(&summary.outputs, width, out)?;
    findings::write(summary, style, out)?;
    waivers(&summary.waivers, width, out)?;
    drains(summary, width, out)?;
    if let Some(alerts) = &summary.alerts {
        line(out, width, "alerts", &alerts.words())?;
        alerts.failures.iter().try_for_each(|why| line(out, width, "", why))?;
        writeln!(out)?;
    }
    limits(&summary.limits, width, out)?;
    writeln!(out, "VERDICT {word}: {}", clean(&summary.reason))
}

fn header(s: &Summary, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let (d, source) = (&s.datagrams, &s.source);
    let mut line = |label: &str, text: &str| line(out, width, label, text);
    line("capture", &source.name)?;
    line("packets", &format!("{}{}", source.packets, bracketed(&source.link_types)))?;
    line("span", &span(s))?;
    line("stamps", &source.timestamps)?;
    line("damage", source.damaged.as_deref().unwrap_or("none"))?;
    line("dropped", &format!("{} by the capture itself", source.capture_dropped))?;
    let lighting = format!("{} lighting", d.lighting);
    let special = tallied(&[
        (d.malformed, "malformed"),
        (d.undecodable, "undecodable"),
        (d.capture_duplicates, "capture duplicates"),
        (d.fragmented, "fragmented"),
        (d.cut, "cut"),
        (d.bad_checksum, "with a bad checksum"),
    ]);
    let special = if special.is_empty() { String::new() } else { format!(" ({special})") };
    line("datagrams", &format!("{lighting}{special}, {} other", d.other))?;
    line("kinds", &listed(&d.by_kind))?;
    if let Some(f) = &s.filter {
        let (streams, findings) =
            (counted(f.streams_left_out, "stream"), counted(f.findings_left_out, "finding"));
        let left = format!("{streams} and {findings} left out");
        line("filter", &format!("{}; {left}, the lines above are of the whole capture", f.expression))?;
    }
    observer(s, width, out)
}

/// Every waiver of the rig, used or not.
fn waivers(waivers: &[Waived], width: usize, out: &mut dyn Write) -> io::Result<()> {
    if waivers.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nWAIVERS {}", waivers.len())?;
    for w in waivers {
        let head = format!(
            "{} {} {}: {} of {}, until {}",
            w.id,
            w.code,
            w.state.name(),
            w.used,
            w.limit(),
            w.expires
        );
        writeln!(out, "{head}")?;
        let why = format!("{}; {}", w.streams, w.reason);
        wrap(&why, width.saturating_sub(4)).iter().try_for_each(|part| writeln!(out, "    {part}"))?;
    }
    Ok(())
}

/// The numbers other than 0 with their words.
fn tallied(numbers: &[(u64, &str)]) -> String {
    let words = numbers.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}"));
    words.collect::<Vec<_>>().join(", ")
}

fn observer(s: &Summary, width: usize, out: &mut dyn Write) -> io::Result<()> {
    if s.source.kind == "file" {
        return Ok(());
    }
    let (o, l) = (&s.observer, &s.observer.layers);
    let text = format!(
        "lost {} (socket {}, ring {}, nic {}, queue {}); loop gap max {} ms; queue delay p99 {} ms",
        o.lost,
        l.socket,
        l.ring,
        l.nic,
        l.queue,
        milliseconds(o.loop_gap_max_ns),
        milliseconds(o.queue_delay_ns.p99)
    );
    line(out, width, "observer", &text)
}

/// A label and its text, wrapped under itself.
pub(crate) fn line(out: &mut dyn Write, width: usize, label: &str, text: &str) -> io::Result<()> {
    for (n, part) in wrap(text, width.saturating_sub(11)).iter().enumerate() {
        writeln!(out, "{:<9}  {part}", if n == 0 { label } else { "" })?;
    }
    Ok(())
}

fn span(s: &Summary) -> String {
    match (s.first_ns, s.last_ns) {
        (Some(first), Some(last)) => {
            let at = |ns| rfc3339(ns, s.stamp_digits());
            format!("{} s, {} to {}", seconds(s.span_ns), at(first), at(last))
        }
        _ => "no packets".to_owned(),
    }
}

fn listed(counts: &BTreeMap<String, u64>) -> String {
    if counts.is_empty() {
        return "none".to_owned();
    }
    counts.iter().map(|(name, n)| format!("{name} {n}")).collect::<Vec<_>>().join(", ")
}

fn bracketed(counts: &BTreeMap<String, u64>) -> String {
    if counts.is_empty() { String::new() } else { format!(" ({})", listed(counts)) }
}

fn streams(streams: &[Stream], width: usize, out: &mut dyn Write) -> io::Result<()> {
    use Align::{Left, Right};
    writeln!(out, "\nSTREAMS {}", streams.len())?;
    if streams.is_empty() {
        return Ok(());
    }
    let mut columns = Columns::new(&[
        ("#", Right),
        ("KIND", Left),
        ("ID", Right),
        ("SOURCE", Left),
        ("NAME", Left),
        ("DGRAMS", Right),
        ("RATE/s", Right),
        ("LOST", Right),
        ("DUP", Right),
        ("LATE", Right),
        ("p50 ms", Right),
        ("max ms", Right),
        ("ENDED", Left),
    ]);
    for (index, s) in streams.iter().enumerate() {
        columns.row(stream_row(index, s));
    }
    let zero = |of: fn(&Stream) -> u64| streams.iter().all(|s| of(s) == 0);
    // The names stand under OUTPUTS too; a column of zeros says least.
    let mut spare = vec![4];
    spare.extend(zero(|s| s.sequence.late).then_some(9));
    spare.extend(zero(|s| s.sequence.duplicates).then_some(8));
    spare.extend([10, 11]);
    columns.lines_within(width, &spare).iter().try_for_each(|l| writeln!(out, "{l}"))?;
    streams.iter().enumerate().flat_map(|(i, s)| doubts(i, s)).try_for_each(|l| writeln!(out, "{l}"))
}

/// What the columns of a stream cannot say: datagrams at the edges, losses that are estimates.
fn doubts(index: usize, s: &Stream) -> impl Iterator<Item = String> {
    let q = &s.sequence;
    let guess = (q.lost > q.lost_min).then(|| {
        format!("stream {index}: {} lost by number, position and time, {} proven", q.lost, q.lost_min)
    });
    let edge =
        (q.edge > 0).then(|| format!("stream {index}: {} at the edges, perhaps cut by the capture", q.edge));
    guess.into_iter().chain(edge)
}

fn stream_row(index: usize, s: &Stream) -> Vec<String> {
    vec![
        index.to_string(),
        format!("{}/{}", s.protocol, s.kind),
        s.stream_id.to_string(),
        s.source.clone(),
        fit(s.name.as_deref().unwrap_or("-"), 16),
        s.datagrams.to_string(),
        rate(s.datagrams, s.rate_mhz).unwrap_or_else(|| "-".to_owned()),
        lost(s),
        s.sequence.duplicates.to_string(),
        s.sequence.late.to_string(),
        milliseconds(s.interval_ns.p50),
        milliseconds(s.interval_ns.max),
        s.ended.clone(),
    ]
}

/// `5`, or `0..16` when the proven part is smaller.
fn lost(s: &Stream) -> String {
    let q = &s.sequence;
    if q.lost_min == q.lost { q.lost.to_string() } else { format!("{}..{}", q.lost_min, q.lost) }
}

fn outputs(outputs: &[Output], width: usize, out: &mut dyn Write) -> io::Result<()> {
    if outputs.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nOUTPUTS {}", outputs.len())?;
    for o in outputs {
        writeln!(out, "{}", clean(&o.name))?;
        for part in output(o).iter().flat_map(|text| wrap(text, width.saturating_sub(4))) {
            writeln!(out, "    {part}")?;
        }
    }
    Ok(())
}

/// What is known of an output; outcomes that never happened are left out.
fn output(o: &Output) -> Vec<String> {
    let f = &o.frames;
    let (sync, causes) = (sync(&o.sync), causes(&o.causes));
    let mut lines = vec![
        format!(
            "{}, {} and {} octets a frame ({})",
            plural(o.streams.len() as u64, "stream"),
            varies(u64::from(o.datagrams_per_frame), "datagram"),
            if o.octets_per_frame == 0 { "varying".to_owned() } else { o.octets_per_frame.to_string() },
            if o.declared { "rig" } else { "learned" }
        ),
        format!(
            "frames {}: {} complete, {} torn, {} unterminated; {}",
            f.seen,
            f.complete,
            f.torn,
            f.unterminated,
            rate(f.seen, o.rate_mhz)
                .map_or_else(|| "too short for a rate".to_owned(), |rate| format!("{rate}/s"))
        ),
        format!("interval p50/p95/p99/max {}", distribution(&o.frame_interval_ns)),
        format!("spread   p50/p95/p99/max {}", distribution(&o.spread_ns)),
    ];
    lines.extend((!sync.is_empty()).then(|| format!("sync: {sync}")));
    lines.extend((!causes.is_empty()).then(|| format!("causes: {causes}")));
    lines
}

fn sync(s: &Sync) -> String {
    tallied(&[
        (s.explicit, "explicit"),
        (s.all_data, "all-data"),
        (s.timeout, "timeout"),
        (s.missed, "missed"),
    ])
}

fn causes(c: &Causes) -> String {
    tallied(&[
        (c.changed, "changed"),
        (c.repeat, "repeat"),
        (c.keep_alive, "keep-alive"),
        (c.sync_only, "sync-only"),
        (c.goodbye, "goodbye"),
        (c.restart, "restart"),
    ])
}

fn plural(n: u64, word: &str) -> String {
    if n == 1 { format!("1 {word}") } else { format!("{n} {word}s") }
}

fn varies(n: u64, word: &str) -> String {
    if n == 0 { format!("varying {word}s") } else { plural(n, word) }
}

fn distribution(i: &Interval) -> String {
    let ms = milliseconds;
    format!("{}/{}/{}/{} ms", ms(i.p50), ms(i.p95), ms(i.p99), ms(i.max))
}

/// Background downloads: how many, how long, and how many datagrams were missing while they ran.
fn drains(s: &Summary, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let sentences = crate::drains::sentences(s);
    if s.drains.is_empty() {
        let names = std::iter::once("device").chain(std::iter::repeat(""));
        names.zip(&sentences).try_for_each(|(name, text)| line(out, width, name, text))?;
        return if sentences.is_empty() { Ok(()) } else { writeln!(out) };
    }
    let failed = s.drains.iter().filter(|d| d.error.is_some()).count();
    let longest = s.drains.iter().map(|d| d.ended_ns.saturating_sub(d.started_ns)).max().unwrap_or(0);
    let during = |at: i64| s.drains.iter().any(|d| d.started_ns <= at && at <= d.ended_ns);
    let lost = |f: &&crate::summary::Finding| f.code == "SEQ-LOST" && during(f.first_ns);
    let missing: u64 = s.findings.iter().filter(lost).map(|f| f.count).fold(0, u64::saturating_add);
    let text = format!(
        "{} ({failed} failed), longest {} ms; {} missing while one ran",
        s.drains.len(),
        longest / 1_000_000,
        counted(missing, "datagram")
    );
    line(out, width, "downloads", &text)?;
    sentences.iter().try_for_each(|text| line(out, width, "", text))?;
    writeln!(out)
}

fn limits(limits: &[String], width: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\nWHAT THIS CAPTURE CAN AND CANNOT SHOW")?;
    if limits.is_empty() {
        writeln!(out, "No limits beyond those of its edges are known.")?;
    }
    for part in limits.iter().flat_map(|l| wrap(l, width)) {
        writeln!(out, "{part}")?;
    }
    writeln!(out)
}

fn verdict_word(verdict: Verdict, style: Style) -> String {
    let color = match verdict {
        Verdict::Pass => "32",
        Verdict::Fail | Verdict::Invalid => "31",
        Verdict::Inconclusive | Verdict::Partial => "33",
    };
    paint(verdict.word(), color, style)
}

fn severity_word(severity: &str, style: Style) -> String {
    match severity {
        "violation" => paint(severity, "31", style),
        "warning" => paint(severity, "33", style),
        other => paint(other, "36", style),
    }
}

/// The word, in an ANSI colour if the style has colours.
pub(crate) fn paint(word: &str, color: &str, style: Style) -> String {
    if style.color { format!("\x1b[1;{color}m{word}\x1b[0m") } else { word.to_owned() }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
