//! `wireproof explain`: the rule catalogue, one rule, or the rules of a prefix.

mod markdown;

use super::args::ExplainArgs;
use super::failure::Failure;
use super::{output, thresholds};
use std::io::{self, Write};
use wireproof_protocols::{Layer, Rule, registry};
use wireproof_reports::text::wrap;

const WIDTH: usize = 88;

/// Runs the verb.
pub(super) fn run(args: &ExplainArgs) -> Result<u8, Failure> {
    if args.thresholds {
        output::write(None, |out| match args.format.as_str() {
            "markdown" => Ok(thresholds::markdown(out)?),
            _ => Ok(thresholds::table(out)?),
        })?;
        return Ok(0);
    }
    let rules = chosen(args.code.as_deref())?;
    output::write(None, |out| match args.format.as_str() {
        "markdown" => Ok(markdown::write(&rules, out)?),
        _ if args.code.is_some() && rules.len() == 1 => {
            Ok(rules.iter().try_for_each(|rule| explain(rule, out))?)
        }
        _ => Ok(rules.iter().try_for_each(|rule| list(rule, out))?),
    })?;
    Ok(0)
}

/// The rule of a code, the rules of a prefix, or all.
fn chosen(code: Option<&str>) -> Result<Vec<&'static Rule>, Failure> {
    let Some(code) = code else { return Ok(registry::rules().collect()) };
    if let Some(rule) = registry::rule(code) {
        return Ok(vec![rule]);
    }
    let prefix = code.to_ascii_uppercase();
    let rules: Vec<&Rule> =
        registry::rules().filter(|r| !prefix.is_empty() && r.code.starts_with(&prefix)).collect();
    if rules.is_empty() { Err(unknown(code)) } else { Ok(rules) }
}

fn unknown(code: &str) -> Failure {
    let what = format!("no rule has the code {code:?}");
    let id = code.strip_prefix(['f', 'F']).is_some_and(|n| n.len() >= 4 && n.parse::<u64>().is_ok());
    if id {
        return Failure::usage(&what, "that is the id of a finding, give its code");
    }
    let upper = code.to_ascii_uppercase();
    let nearest = registry::rules().min_by_key(|rule| distance(&upper, rule.code));
    match nearest {
        Some(rule) => Failure::usage(&what, &format!("did you mean {}?", rule.code)),
        None => Failure::usage(&what, "`wireproof explain` lists them"),
    }
}

/// Edits (insert, delete, replace) from one text to the other; only the first 64 characters count.
pub(super) fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

fn list(rule: &Rule, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{:<20}  {:<9}  {}", rule.code, rule.severity.name(), rule.title)
}

fn explain(rule: &Rule, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}  {}  ({})\n", rule.code, rule.severity.name(), layer(rule.layer))?;
    paragraph("", rule.title, out)?;
    paragraph("written in", &reference(rule), out)?;
    paragraph("meaning", rule.meaning, out)?;
    thresholds::of(rule).iter().try_for_each(|t| paragraph("judged by", &thresholds::line(t), out))?;
    paragraph("what to do", rule.advice, out)?;
    paragraph("example", rule.example, out)?;
    rule.known.iter().try_for_each(|product| paragraph("known for it", product, out))
}

fn paragraph(label: &str, text: &str, out: &mut dyn Write) -> io::Result<()> {
    let indent = if label.is_empty() { 0 } else { 14 };
    for (n, line) in wrap(text, WIDTH - indent).iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        writeln!(out, "{:indent$}{line}", if n == 0 { label } else { "" })?;
    }
    Ok(())
}

fn reference(rule: &Rule) -> String {
    let parts = [rule.edition, rule.clause];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

fn layer(layer: Layer) -> &'static str {
    match layer {
        Layer::Shape => "shape of one datagram",
        Layer::Habit => "habit receivers tolerate",
        Layer::Stream => "over several datagrams",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("SEQ-LOST", "SEQ-LOST"), 0);
        assert_eq!(distance("SEQ-LSOT", "SEQ-LOST"), 2);
        assert_eq!(distance("SEQLOST", "SEQ-LOST"), 1);
        assert_eq!(distance("", "ABC"), 3);
        assert_eq!(distance("ABC", ""), 3);
    }
}
