//! Markdown: the run as tables for an issue or a build page.

use crate::summary::{Finding, Output, Stream, Summary};
use crate::table::owner;
use crate::text::{clean, milliseconds, rfc3339, seconds, thousandths};
use std::io::{self, Write};

/// Writes the summary as Markdown.
pub(crate) fn write(s: &Summary, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "# {} {}\n", s.verdict.word(), escape(&s.source.name))?;
    writeln!(out, "{}\n", escape(&s.reason))?;
    facts(s, out)?;
    streams(&s.streams, out)?;
    outputs(&s.outputs, out)?;
    findings(s, out)?;
    writeln!(out, "\n## What this capture can and cannot show\n")?;
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
        thousandths(s.rate_mhz),
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
        thousandths(o.rate_mhz),
    ]
}

fn findings(s: &Summary, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n## Findings\n")?;
    head(out, &["id", "severity", "code", "count", "owner", "packet", "first", "text", "expected", "got"])?;
    s.worst_first().into_iter().try_for_each(|f| row(out, &finding_row(f, s.stamp_digits())))
}

fn finding_row(f: &Finding, digits: usize) -> [String; 10] {
    [
        f.id.clone(),
        f.severity.clone(),
        f.code.clone(),
        f.count.to_string(),
        owner(f).unwrap_or_default(),
        f.first_packet.to_string(),
        rfc3339(f.first_ns, digits),
        f.text.clone(),
        f.expected.clone(),
        f.got.clone(),
    ]
}

fn head(out: &mut dyn Write, names: &[&str]) -> io::Result<()> {
    writeln!(out, "| {} |", names.join(" | "))?;
    writeln!(out, "|{}", "---|".repeat(names.len()))
}

fn row(out: &mut dyn Write, cells: &[String]) -> io::Result<()> {
    let cells: Vec<String> = cells.iter().map(|c| escape(c)).collect();
    writeln!(out, "| {} |", cells.join(" | "))
}

/// The text with control characters visible and everything Markdown or HTML would act on disarmed.
fn escape(text: &str) -> String {
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

    #[test]
    fn a_name_cannot_inject_markup() {
        assert_eq!(escape("<b>|[x](y)\x1b"), "&lt;b&gt;\\|\\[x\\](y)\\\\u{1b}");
    }
}
