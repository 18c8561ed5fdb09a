//! Markdown: the run as tables for an issue or a build page.

use crate::groups::{FOLD, NAMED, alike, count, grouped, shares, streams as streams_of, sum};
use crate::summary::{Finding, Output, Stream, Summary};
use crate::text::{clean, milliseconds, rate, rfc3339, seconds};
use std::io::{self, Write};
use wireproof_protocols::words::counted;

/// Writes the summary as Markdown.
pub(crate) fn write(s: &Summary, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "# {} {}\n", s.verdict.word(), escape(&s.source.name))?;
    writeln!(out, "{}\n", escape(&s.reason))?;
    facts(s, out)?;
    if let Some(f) = &s.filter {
        let (streams, findings) =
            (counted(f.streams_left_out, "stream"), counted(f.findings_left_out, "finding"));
        let expression = escape(&f.expression);
        writeln!(out, "\nFiltered: {expression}; left out: {streams} and {findings}.")?;
    }
    if let Some(alerts) = &s.alerts {
        writeln!(out, "\nAlerts: {}.", alerts.words())?;
        alerts.failures.iter().try_for_each(|why| writeln!(out, "* {}", escape(why)))?;
    }
    streams(&s.streams, out)?;
    outputs(&s.outputs, out)?;
    findings(s, out)?;
    waivers(s, out)?;
    writeln!(out, "\n## What this capture can and cannot show\n")?;
    if !s.drains.is_empty() {
        let failed = s.drains.iter().filter(|d| d.error.is_some()).count();
        writeln!(out, "* {} background downloads, {failed} failed", s.drains.len())?;
    }
    crate::drains::sentences(s).iter().try_for_each(|text| writeln!(out, "* {}", escape(text)))?;
    s.limits.iter().try_for_each(|l| writeln!(out, "* {}", escape(l)))
}

fn facts(s: &Summary, out: &mut dyn Write) -> io::Result<()> {
    head(
        out,
        &["packets", "span s", "stamps", "lighting", "malformed", "other", "capture dropped", "damage"],
    )?;
    row(
        out,
        &[
            s.source.packets.to_string(),
            seconds(s.span_ns),
            s.source.timestamps.clone(),
            s.datagrams.lighting.to_string(),
            s.datagrams.malformed.to_string(),
            s.datagrams.other.to_string(),
            s.source.capture_dropped.to_string(),
            s.source.damaged.clone().unwrap_or_else(|| "none".to_owned()),
        ],
    )
}

fn streams(streams: &[Stream], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n## Streams\n")?;
    head(
        out,
        &[
            "#",
            "kind",
            "id",
            "source",
            "name",
            "datagrams",
            "rate Hz",
            "lost",
            "duplicates",
            "late",
            "p99 ms",
        ],
    )?;
    streams.iter().enumerate().try_for_each(|(index, s)| row(out, &stream_row(index, s)))
}

fn stream_row(index: usize, s: &Stream) -> [String; 11] {
    [
        index.to_string(),
        format!("{}/{}", s.protocol, s.kind),
        s.stream_id.to_string(),
        s.source.clone(),
        s.name.clone().unwrap_or_default(),
        s.datagrams.to_string(),
        rate(s.datagrams, s.rate_mhz).unwrap_or_else(|| "-".to_owned()),
        format!("{} ({} proven)", s.sequence.lost, s.sequence.lost_min),
        s.sequence.duplicates.to_string(),
        s.sequence.late.to_string(),
        milliseconds(s.interval_ns.p99),
    ]
}

fn outputs(outputs: &[Output], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n## Outputs\n")?;
    head(out, &["output", "streams", "frames", "complete", "torn", "unterminated", "rate Hz"])?;
    outputs.iter().try_for_each(|o| row(out, &output_row(o)))
}

fn output_row(o: &Output) -> [String; 7] {
    [
        o.name.clone(),
        o.streams.len().to_string(),
        o.frames.seen.to_string(),
        o.frames.complete.to_string(),
        o.frames.torn.to_string(),
        o.frames.unterminated.to_string(),
        rate(o.frames.seen, o.rate_mhz).unwrap_or_else(|| "-".to_owned()),
    ]
}

fn findings(s: &Summary, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n## Findings\n")?;
    let groups = grouped(s);
    if groups.iter().any(|g| g.len() >= FOLD) {
        writeln!(out, "{}, alike ones folded; `--format json` lists all.\n", s.findings.len())?;
    }
    let names =
        ["id", "severity", "code", "count", "owner", "stream", "packet", "first", "text", "expected", "got"];
    head(out, &names)?;
    let digits = s.stamp_digits();
    for group in &groups {
        if group.len() >= FOLD {
            row(out, &finding_row(s, group, digits))?;
        } else {
            group.iter().try_for_each(|f| row(out, &finding_row(s, &[f], digits)))?;
        }
    }
    Ok(())
}

/// Every waiver of the rig, used or not.
fn waivers(s: &Summary, out: &mut dyn Write) -> io::Result<()> {
    if s.waivers.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n## Waivers\n")?;
    head(out, &["id", "code", "streams", "state", "used", "covers", "until", "reason", "findings"])?;
    s.waivers.iter().try_for_each(|w| {
        let cells = [
            w.id.clone(),
            w.code.clone(),
            w.streams.clone(),
            w.state.name().to_owned(),
            w.used.to_string(),
            w.limit(),
            w.expires.clone(),
            w.reason.clone(),
            w.findings.join(", "),
        ];
        row(out, &cells)
    })
}

/// One finding, or several alike: the first with the places of the first few and the sums of all.
fn finding_row(s: &Summary, group: &[&Finding], digits: usize) -> [String; 11] {
    let Some(first) = group.first() else { return Default::default() };
    let tainted = if first.tainted { ", tainted by capture loss" } else { "" };
    let waived = s.waiver_of(first).map(|w| format!(", waived by {}", w.id)).unwrap_or_default();
    let folded = if group.len() > 1 { format!(" in {} findings", group.len()) } else { String::new() };
    let before = if alike(group) { "" } else { "such as: " };
    let last = group.last().filter(|_| group.len() > NAMED).map(|f| f.id.clone());
    let ids = listed(group, |f| f.id.clone());
    [
        last.map_or_else(|| ids.clone(), |last| format!("{ids} to {last}")),
        format!("{}{tainted}{waived}", first.severity),
        first.code.clone(),
        format!("{}{folded}", count(group)),
        shares(sum(group)).unwrap_or_default(),
        on_streams(group),
        listed(group, |f| f.first_packet.to_string()),
        rfc3339(first.first_ns, digits),
        format!("{before}{}", first.text),
        first.expected.clone(),
        first.got.clone(),
    ]
}

/// The first few, and that there are more.
fn listed(group: &[&Finding], of: impl Fn(&Finding) -> String) -> String {
    let named: Vec<String> = group.iter().take(NAMED).map(|f| of(f)).collect();
    let more = if group.len() > NAMED { ", …" } else { "" };
    format!("{}{more}", named.join(", "))
}

/// Which streams, or how many when they are scattered.
fn on_streams(group: &[&Finding]) -> String {
    match streams_of(group) {
        (0, _) => String::new(),
        (n, list) if list.is_empty() => format!("{n} streams"),
        (_, list) => list,
    }
}

/// The head of a table.
pub(crate) fn head(out: &mut dyn Write, names: &[&str]) -> io::Result<()> {
    writeln!(out, "| {} |", names.join(" | "))?;
    writeln!(out, "|{}", "---|".repeat(names.len()))
}

/// A row of a table, its cells escaped.
pub(crate) fn row(out: &mut dyn Write, cells: &[String]) -> io::Result<()> {
    let cells: Vec<String> = cells.iter().map(|c| escape(c)).collect();
    writeln!(out, "| {} |", cells.join(" | "))
}

/// The text with control characters visible and everything Markdown or HTML would act on disarmed.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '~' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::sample;

    #[test]
    fn every_row_has_the_columns_of_its_header() {
        let mut out = Vec::new();
        write(&sample::summary(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let mut columns = 0;
        for line in text.lines() {
            let bars = line.replace("\\|", "").matches('|').count();
            if bars > 0 && columns > 0 {
                assert_eq!(bars, columns, "{line}");
            }
            columns = bars;
        }
        assert!(text.starts_with("# FAIL show"));
    }

    /// The sample with 17 more losses, each on a stream of its own.
    fn with_losses() -> Summary {
        let mut summary = sample::summary();
        let loss = summary.findings.iter().find(|f| f.code == "SEQ-LOST").unwrap().clone();
        for i in 0..17 {
            let (id, packet) = (format!("f{:04}", 100 + i), 100 + i as u64);
            summary.findings.push(Finding { id, stream: Some(i), first_packet: packet, ..loss.clone() });
        }
        summary
    }

    fn markdown(summary: &Summary) -> String {
        let mut out = Vec::new();
        write(summary, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn many_findings_of_one_code_are_one_row() {
        let text = markdown(&with_losses());
        let row = "| f0002, f0100, f0101, … to f0116 | violation | SEQ-LOST | 54 in 18 findings | unknown 90 | 0-16 \
                   | 12, 100, 101, … | 2023-11-14T22:13:20.123456Z | 5 datagrams lost";
        assert!(text.contains(row), "{text}");
        assert!(text.contains("\n20, alike ones folded; `--format json` lists all.\n\n| id |"), "{text}");
        assert_eq!(text.matches("| SEQ-LOST |").count(), 1, "{text}");
    }

    #[test]
    fn folded_findings_that_differ_say_such_as_and_tainted_ones_stand_apart() {
        let mut summary = with_losses();
        let marked = |id: &str| id >= "f0110";
        for f in summary.findings.iter_mut().filter(|f| marked(&f.id)) {
            (f.tainted, f.text) = (true, format!("{} lost", f.id));
        }
        let text = markdown(&summary);
        assert!(
            text.contains("| violation, tainted by capture loss | SEQ-LOST | 21 in 7 findings |"),
            "{text}"
        );
        assert!(text.contains("| such as: f0110 lost |"), "{text}");
    }

    #[test]
    fn few_findings_of_one_code_stand_alone_in_markdown() {
        let text = markdown(&sample::summary());
        assert!(text.contains("| f0002 | violation | SEQ-LOST | 3 | unknown 5 | 0 | 12 |"), "{text}");
        assert!(!text.contains("folded"), "{text}");
    }

    #[test]
    fn a_name_cannot_inject_markup() {
        assert_eq!(escape("<b>|[x](y)\x1b"), "&lt;b&gt;\\|\\[x\\](y)\\\\u{1b}");
    }
}
