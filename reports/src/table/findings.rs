//! The findings of the table: the worst first, many of one kind folded into one entry.

use super::severity_word;
use crate::Style;
use crate::summary::{Finding, Owners, Summary};
use crate::text::{clean, rfc3339, wrap};
use std::io::{self, Write};

/// From so many findings of one code and severity on they are folded.
const FOLD: usize = 4;
/// Occurrences named in a folded entry.
const NAMED: usize = 3;

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

/// Findings of one code, severity and taint together, each group where its worst stands, in order of id inside.
fn grouped(s: &Summary) -> Vec<Vec<&Finding>> {
    let mut groups: Vec<Vec<&Finding>> = Vec::new();
    for f in s.worst_first() {
        let alike = |g: &&mut Vec<&Finding>| {
            g.first().is_some_and(|h| (&h.code, &h.severity, h.tainted) == (&f.code, &f.severity, f.tainted))
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(f),
            None => groups.push(vec![f]),
        }
    }
    groups.iter_mut().filter(|g| g.len() >= FOLD).for_each(|g| g.sort_by(|a, b| a.id.cmp(&b.id)));
    groups
}

fn one(s: &Summary, f: &Finding, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let word = severity_word(&f.severity, style);
    let stream = f.stream.map(|n| format!("  stream {n}")).unwrap_or_default();
    writeln!(out, "{} {word} {} x{}{}{stream}{}", f.id, f.code, f.count, owned(f.owners), tainted(f))?;
    if let Some(place) = place(s, f) {
        writeln!(out, "    {place}")?;
    }
    evidence(f, "", style, out)
}

fn fold(s: &Summary, group: &[&Finding], style: Style, out: &mut dyn Write) -> io::Result<()> {
    let Some(first) = group.first() else { return Ok(()) };
    let word = severity_word(&first.severity, style);
    let (n, count) = (group.len(), group.iter().map(|f| f.count).fold(0, u64::saturating_add));
    let (owned, streams, tainted) = (owned(sum(group)), streams(group), tainted(first));
    writeln!(out, "{} {word} {} x{count} in {n} findings{owned}{streams}{tainted}", first.id, first.code)?;
    let same = group.iter().all(|f| f.text == first.text && detail(f) == detail(first));
    evidence(first, if same { "" } else { "such as: " }, style, out)?;
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
fn streams(group: &[&Finding]) -> String {
    let mut list: Vec<usize> = group.iter().filter_map(|f| f.stream).collect();
    list.sort_unstable();
    list.dedup();
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for n in &list {
        match runs.last_mut() {
            Some((_, end)) if *end + 1 == *n => *end = *n,
            _ => runs.push((*n, *n)),
        }
    }
    let run = |(a, b): &(usize, usize)| if a == b { a.to_string() } else { format!("{a}-{b}") };
    match (list.len(), runs.len()) {
        (0, _) => String::new(),
        (1, _) => format!("  stream {}", list[0]),
        (n, 7..) => format!("  {n} streams"),
        _ => format!("  streams {}", runs.iter().map(run).collect::<Vec<_>>().join(", ")),
    }
}

fn tainted(f: &Finding) -> &'static str {
    if f.tainted { "  tainted by capture loss" } else { "" }
}

fn sum(group: &[&Finding]) -> Option<Owners> {
    group.iter().filter_map(|f| f.owners).reduce(|a, b| Owners {
        sender: a.sender.saturating_add(b.sender),
        wire: a.wire.saturating_add(b.wire),
        observer: a.observer.saturating_add(b.observer),
        unknown: a.unknown.saturating_add(b.unknown),
    })
}

fn owned(owners: Option<Owners>) -> String {
    shares(owners).map(|o| format!("  owner {o}")).unwrap_or_default()
}

/// The owners of a loss that have a share in it, the largest first.
pub(crate) fn owner(f: &Finding) -> Option<String> {
    shares(f.owners)
}

fn shares(owners: Option<Owners>) -> Option<String> {
    let o = owners?;
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
