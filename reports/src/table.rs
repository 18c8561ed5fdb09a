//! The table: a run for people, plain text of about 100 columns, the verdict first and last.

use crate::Style;
use crate::columns::{Align, Columns};
use crate::summary::{Finding, Interval, Output, Stream, Summary};
use crate::text::{clean, fit, milliseconds, rfc3339, seconds, thousandths, wrap};
use crate::verdict::Verdict;
use std::collections::BTreeMap;
use std::io::{self, Write};

const WIDTH: usize = 100;

/// Writes the whole table.
pub(crate) fn write(summary: &Summary, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let word = verdict_word(summary.verdict, style);
    writeln!(out, "{word}  {}: {}\n", clean(&summary.source.name), clean(&summary.reason))?;
    header(summary, out)?;
    streams(&summary.streams, out)?;
    outputs(&summary.outputs, out)?;
    findings(summary, style, out)?;
    limits(&summary.limits, out)?;
    writeln!(out, "VERDICT {word}: {}", clean(&summary.reason))
}

fn header(s: &Summary, out: &mut dyn Write) -> io::Result<()> {
    let (d, source) = (&s.datagrams, &s.source);
    line(out, "capture", &source.name)?;
    line(out, "packets", &format!("{}{}", source.packets, bracketed(&source.link_types)))?;
    line(out, "span", &span(s))?;
    line(out, "stamps", &source.timestamps)?;
    line(out, "damage", source.damaged.as_deref().unwrap_or("none"))?;
    line(out, "dropped", &format!("{} by the capture itself", source.capture_dropped))?;
    let counts = format!(
        "{} lighting ({} well-formed, {} malformed), {} other, {} undecodable, {} capture duplicates",
        d.lighting, d.well_formed, d.malformed, d.other, d.undecodable, d.capture_duplicates
    );
    line(out, "datagrams", &counts)?;
    line(out, "", &format!("{} fragmented, {} cut, {} bad checksum", d.fragmented, d.cut, d.bad_checksum))?;
    line(out, "kinds", &listed(&d.by_kind))?;
    observer(s, out)
}

fn observer(s: &Summary, out: &mut dyn Write) -> io::Result<()> {
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
    line(out, "observer", &text)
}

fn line(out: &mut dyn Write, label: &str, text: &str) -> io::Result<()> {
    for (n, part) in wrap(text, WIDTH - 11).iter().enumerate() {
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

fn streams(streams: &[Stream], out: &mut dyn Write) -> io::Result<()> {
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
    columns.lines().iter().try_for_each(|l| writeln!(out, "{l}"))
}

fn stream_row(index: usize, s: &Stream) -> Vec<String> {
    vec![
        index.to_string(),
        format!("{}/{}", s.protocol, s.kind),
        s.stream_id.to_string(),
        s.source.clone(),
        fit(s.name.as_deref().unwrap_or("-"), 16),
        s.datagrams.to_string(),
        thousandths(s.rate_mhz),
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

fn outputs(outputs: &[Output], out: &mut dyn Write) -> io::Result<()> {
    if outputs.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nOUTPUTS {}", outputs.len())?;
    for o in outputs {
        output(o, out)?;
    }
    Ok(())
}

fn output(o: &Output, out: &mut dyn Write) -> io::Result<()> {
    let (f, s, c) = (&o.frames, &o.sync, &o.causes);
    let shape = if o.declared { "rig" } else { "learned" };
    let parts = format!(
        "{} ({}, {} streams, {} datagrams and {} octets a frame, {shape})",
        clean(&o.name),
        o.protocol,
        o.streams.len(),
        varies(u64::from(o.datagrams_per_frame)),
        varies(o.octets_per_frame)
    );
    writeln!(out, "{parts}")?;
    writeln!(
        out,
        "    frames {}: complete {}, torn {}, unterminated {}; {}/s",
        f.seen,
        f.complete,
        f.torn,
        f.unterminated,
        thousandths(o.rate_mhz)
    )?;
    writeln!(
        out,
        "    interval {}; spread {}",
        distribution(&o.frame_interval_ns),
        distribution(&o.spread_ns)
    )?;
    writeln!(
        out,
        "    sync: explicit {}, all-data {}, timeout {}, missed {}",
        s.explicit, s.all_data, s.timeout, s.missed
    )?;
    writeln!(
        out,
        "    causes: changed {}, repeat {}, keep-alive {}, sync-only {}, goodbye {}, restart {}",
        c.changed, c.repeat, c.keep_alive, c.sync_only, c.goodbye, c.restart
    )
}

fn varies(n: u64) -> String {
    if n == 0 { "a varying number of".to_owned() } else { n.to_string() }
}

fn distribution(i: &Interval) -> String {
    let ms = milliseconds;
    format!("p50/p95/p99/max {}/{}/{}/{} ms", ms(i.p50), ms(i.p95), ms(i.p99), ms(i.max))
}

fn findings(s: &Summary, style: Style, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\nFINDINGS {}", s.findings.len())?;
    s.worst_first().into_iter().try_for_each(|f| finding(s, f, style, out))
}

fn finding(s: &Summary, f: &Finding, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let word = severity_word(&f.severity, style);
    let owner = owner(f).map(|o| format!("  owner {o}")).unwrap_or_default();
    let tainted = if f.tainted { "  tainted by capture loss" } else { "" };
    let stream = f.stream.map(|n| format!("  stream {n}")).unwrap_or_default();
    writeln!(out, "{} {word} {} x{}{owner}{stream}{tainted}", f.id, f.code, f.count)?;
    writeln!(out, "    packet {} at {}", f.first_packet, rfc3339(f.first_ns, s.stamp_digits()))?;
    for part in wrap(&f.text, WIDTH - 4) {
        writeln!(out, "    {part}")?;
    }
    let detail = detail(f);
    if detail.is_empty() { Ok(()) } else { writeln!(out, "    {}", clean(&detail)) }
}

/// The owners of a loss that have a share in it, the largest first.
pub(crate) fn owner(f: &Finding) -> Option<String> {
    let o = f.owners?;
    let mut shares =
        vec![(o.sender, "sender"), (o.wire, "wire"), (o.observer, "observer"), (o.unknown, "unknown")];
    shares.retain(|(n, _)| *n > 0);
    shares.sort_by_key(|(n, _)| std::cmp::Reverse(*n));
    let words: Vec<String> = shares.iter().map(|(n, name)| format!("{name} {n}")).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn detail(f: &Finding) -> String {
    let mut parts = Vec::new();
    if !f.expected.is_empty() {
        parts.push(format!("expected {}", f.expected));
    }
    if !f.got.is_empty() {
        parts.push(format!("got {}", f.got));
    }
    parts.extend(f.offset.map(|o| format!("offset {o}")));
    parts.join(", ")
}

fn limits(limits: &[String], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\nWHAT THIS CAPTURE CAN AND CANNOT SHOW")?;
    if limits.is_empty() {
        writeln!(out, "No limits beyond those of its edges are known.")?;
    }
    for part in limits.iter().flat_map(|l| wrap(l, WIDTH)) {
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

fn paint(word: &str, color: &str, style: Style) -> String {
    if style.color { format!("\x1b[1;{color}m{word}\x1b[0m") } else { word.to_owned() }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
