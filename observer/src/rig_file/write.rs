//! A rig as the text of a rig file.

use super::format_ranges;
use std::fmt::Write;
use wireproof_protocols::Cid;
use wireproof_protocols::verify::rig::{Rig, RigOutput};
use wireproof_reports::text::{clean, is_unsafe, thousandths};

/// The rig as TOML; each line of `comment` stands in front of it.
pub fn to_toml(rig: &Rig, comment: &[String]) -> String {
    let mut text = String::new();
    for line in comment {
        line_of(&mut text, &format!("# {}", clean(line)));
    }
    for output in &rig.outputs {
        output_table(&mut text, output);
    }
    if !rig.severities.is_empty() {
        line_of(&mut text, "\n[severity]");
    }
    for (code, severity) in &rig.severities {
        line_of(&mut text, &format!("{} = {}", quoted(code), quoted(severity.name())));
    }
    text
}

fn output_table(text: &mut String, o: &RigOutput) {
    line_of(text, "\n[[output]]");
    line_of(text, &format!("name = {}", quoted(&o.name)));
    line_of(text, &format!("protocol = {}", quoted(o.protocol.name())));
    optional(text, "source", o.source.map(|a| quoted(&a.to_string())));
    optional(text, "destination", o.destination.map(|a| quoted(&a.to_string())));
    optional(text, "sender", o.sender.map(|c| quoted(&cid(&c))));
    line_of(text, &format!("streams = {}", quoted(&format_ranges(&o.streams))));
    optional(text, "datagrams_per_frame", o.datagrams_per_frame.map(|n| n.to_string()));
    optional(text, "octets_per_frame", o.octets_per_frame.map(|n| n.to_string()));
    optional(text, "rate_hz", o.rate_mhz.map(|(rate, _)| thousandths(rate)));
    let percent = |tenths: u64| format!("{}.{}", tenths / 10, tenths % 10);
    optional(text, "rate_tolerance_percent", o.rate_mhz.map(|(_, tolerance)| percent(tolerance)));
    optional(text, "sync", o.sync.map(|s| s.to_string()));
    optional(text, "on_change", o.on_change.then(|| "true".to_owned()));
}

fn optional(text: &mut String, key: &str, value: Option<String>) {
    if let Some(value) = value {
        line_of(text, &format!("{key} = {value}"));
    }
}

fn line_of(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// A basic string of TOML, with everything a terminal would obey as `\u` escapes.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if is_unsafe(c) => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{:04X}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The CID in UUID notation.
fn cid(cid: &Cid) -> String {
    let hex = format!("{:032x}", u128::from_be_bytes(*cid));
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}
