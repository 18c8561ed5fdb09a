//! The findings of the table: the worst first, many of one kind folded into one entry.

use super::severity_word;
use crate::Style;
use crate::groups::{FOLD, NAMED, alike, count, grouped, shares, streams, sum};
use crate::summary::{Finding, Owners, Summary};
use crate::text::{clean, rfc3339, wrap};
use std::io::{self, Write};

/// Writes the section.
pub(super) fn write(s: &Summary, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let groups = grouped(s);
    let folded = groups.iter().any(|g| g.len() >= FOLD);
    let hint = if folded { " (alike ones folded; --format json lists all)" } else { "" };
    writeln!(out, "\nFINDINGS {}{hint}", s.findings.len())?;
    for group in groups {
        if group.len() >= FOLD {
            fold(s, &group, style, out)?;
        } else {
            group.iter().try_for_each(|f| one(s, f, style, out))?;
        }
    }
    Ok(())
}

fn one(s: &Summary, f: &Finding, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let word = severity_word(&f.severity, style);
    let stream = f.stream.map(|n| format!("  stream {n}")).unwrap_or_default();
    writeln!(out, "{} {word} {} x{}{}{stream}{}", f.id, f.code, f.count, owned(f.owners), tainted(f))?;
    if let Some(place) = place(s, f) {
        writeln!(out, "    {place}")?;
    }
    waived(s, f, style, out)?;
    evidence(f, "", style, out)
}

/// Which waiver covers it, and why.
fn waived(s: &Summary, f: &Finding, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let Some(w) = s.waiver_of(f) else { return Ok(()) };
    let text = format!("waived by {} until {}: {}", w.id, w.expires, w.reason);
    wrap(&text, style.width.saturating_sub(4)).iter().try_for_each(|part| writeln!(out, "    {part}"))
}

fn fold(s: &Summary, group: &[&Finding], style: Style, out: &mut dyn Write) -> io::Result<()> {
    let Some(first) = group.first() else { return Ok(()) };
    let word = severity_word(&first.severity, style);
    let (n, count) = (group.len(), count(group));
    let (owned, streams, tainted) = (owned(sum(group)), on_streams(group), tainted(first));
    writeln!(out, "{} {word} {} x{count} in {n} findings{owned}{streams}{tainted}", first.id, first.code)?;
    waived(s, first, style, out)?;
    evidence(first, if alike(group) { "" } else { "such as: " }, style, out)?;
    for f in group.iter().take(NAMED) {
        if let Some(place) = place(s, f) {
            writeln!(out, "    {} {place}", f.id)?;
        }
    }
    writeln!(out, "    and {} more, the last is {}", n - NAMED, group.last().map_or("", |f| f.id.as_str()))
}

/// What was found, and expected against got.
fn evidence(f: &Finding, before: &str, style: Style, out: &mut dyn Write) -> io::Result<()> {
    for part in wrap(&format!("{before}{}", f.text), style.width.saturating_sub(4)) {
        writeln!(out, "    {part}")?;
    }
    let detail = detail(f);
    if detail.is_empty() { Ok(()) } else { writeln!(out, "    {}", clean(&detail)) }
}

/// Record and time; `None` for a finding about the whole run.
fn place(s: &Summary, f: &Finding) -> Option<String> {
    let at = rfc3339(f.first_ns, s.stamp_digits());
    match (f.first_packet, f.first_ns) {
        (0, 0) => None,
        (0, _) => Some(format!("from {at} on")),
        (packet, _) => Some(format!("packet {packet} at {at}")),
    }
}

/// `  stream 3`, `  streams 0-3, 7`, or how many when they are scattered.
fn on_streams(group: &[&Finding]) -> String {
    match streams(group) {
        (0, _) => String::new(),
        (1, list) => format!("  stream {list}"),
        (n, list) if list.is_empty() => format!("  {n} streams"),
        (_, list) => format!("  streams {list}"),
    }
}

fn tainted(f: &Finding) -> &'static str {
    if f.tainted { "  tainted by capture loss" } else { "" }
}

fn owned(owners: Option<Owners>) -> String {
    shares(owners).map(|o| format!("  owner {o}")).unwrap_or_default()
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
