//! `wireproof ring causes`: why each frame was made, which places asked, how long requests waited, and which of them got
//! no frame.

use super::args::{CausesArgs, Sheets};
use super::{findings_table, load, ms, places};
use crate::cli::failure::Failure;
use crate::cli::output;
use serde::Serialize;
use std::io::{self, Write};
use wireproof_recorder::analysis::causes::PlaceRow;
use wireproof_recorder::analysis::requests::{self, Outcome, Requests};
use wireproof_recorder::analysis::{CauseReport, Finding, causes, findings};
use wireproof_recorder::header::{self, Facts};
use wireproof_reports::text::{clean, is_unsafe};

const SCHEMA: &str = "wireproof.ring-causes/1";
/// Characters of a place in the table; a longer one keeps its tail.
const PLACE_WIDTH: usize = 72;

/// Causes of the last recording; keys in fixed order.
#[derive(Debug, Serialize)]
struct Document {
    schema: &'static str,
    version: u8,
    generation: u64,
    snapshot: Option<u64>,
    digest: String,
    /// Places that the side file names; null without one.
    places_known: Option<usize>,
    #[serde(flatten)]
    causes: CauseReport,
    requests: Requests,
    findings: Vec<Finding>,
}

/// Runs the verb.
pub(super) fn run(args: &CausesArgs) -> Result<u8, Failure> {
    let mut inputs = vec![args.file.clone()];
    inputs.extend(args.places.clone());
    output::check(&inputs, args.out.output.as_deref())?;
    let (image, ring) = load::ring(&args.file, &args.read)?;
    let facts = if ring.version == 1 { Facts::default() } else { header::facts(&image) };
    let (places, path) = places::load(&args.file, args.places.as_deref())?;
    let late = args.late.map(|late| u64::try_from(late.as_nanos()).unwrap_or(u64::MAX));
    let late = late.unwrap_or_else(|| requests::late_after(facts.period_ns));
    let (causes, requests) = (causes(&ring, &places), requests::requests(&ring, &places, late));
    let document = Document {
        schema: SCHEMA,
        version: ring.version,
        generation: ring.generation,
        snapshot: facts.snapshot,
        digest: format!("{:08x}", ring.digest),
        places_known: path.map(|_| places.len()),
        findings: findings::of_causes(&causes, &requests, &places),
        causes,
        requests,
    };
    output::write(args.out.output.as_deref(), |out| match args.out.format {
        Sheets::Json => {
            let text = serde_json::to_string_pretty(&document).map_err(io::Error::from)?;
            Ok(writeln!(out, "{text}")?)
        }
        Sheets::Csv => csv(&document.causes, out),
        Sheets::Table => table(&document, out),
    })?;
    Ok(0)
}

/// A row for each cause, each event and each place.
fn csv(causes: &CauseReport, out: &mut dyn Write) -> Result<(), Failure> {
    let counts = &causes.counts;
    writeln!(out, "kind,name,count")?;
    for (name, count) in
        [("events", counts.by_events), ("refresh", counts.by_refresh), ("other", counts.by_other)]
    {
        writeln!(out, "frames,{name},{count}")?;
    }
    for (kind, rows, rest) in
        [("event", &causes.events, causes.events_rest), ("refresh", &counts.places, counts.places_rest)]
    {
        for row in rows {
            writeln!(out, "{kind},{},{}", quoted(&row.place), row.requests)?;
        }
        if rest > 0 {
            writeln!(out, "{kind},,{rest}")?;
        }
    }
    Ok(())
}

/// A field after RFC 4180.
fn quoted(text: &str) -> String {
    let text = clean(text);
    let plain = !text.contains([',', '"']);
    if plain { text.into_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

fn table(document: &Document, out: &mut dyn Write) -> Result<(), Failure> {
    let (causes, counts) = (&document.causes, &document.causes.counts);
    let recording = causes.recording.map_or_else(String::new, |number| format!(" of recording {number}"));
    let earlier = if causes.earlier_frames > 0 {
        format!("; {} frames of earlier recordings left out", causes.earlier_frames)
    } else {
        String::new()
    };
    writeln!(out, "{} frames{recording}{earlier}", counts.frames)?;
    let other = &causes.other;
    writeln!(
        out,
        "{} by events, {} by refresh, {} by other ({} timer, {} other, {} without a record)",
        counts.by_events, counts.by_refresh, counts.by_other, other.timer, other.other, other.unrecorded
    )?;
    rows("places that asked", &counts.places, counts.places_rest, out)?;
    rows("events", &causes.events, causes.events_rest, out)?;
    requests_table(&document.requests, out)?;
    findings_table(&document.findings, out)
}

fn rows(title: &str, rows: &[PlaceRow], rest: u64, out: &mut dyn Write) -> Result<(), Failure> {
    if rows.is_empty() && rest == 0 {
        return Ok(());
    }
    writeln!(out, "\n{:>8}  {title}", "requests")?;
    for row in rows {
        writeln!(out, "{:>8}  {}", row.requests, shown(&row.place))?;
    }
    if rest > 0 {
        writeln!(out, "{rest:>8}  further places")?;
    }
    Ok(())
}

/// The tail of a place, without what could move a cursor.
fn shown(place: &str) -> String {
    let plain: String = place.chars().map(|c| if is_unsafe(c) { ' ' } else { c }).collect();
    wireproof_recorder::places::shorten(&plain, PLACE_WIDTH)
}

fn requests_table(requests: &Requests, out: &mut dyn Write) -> Result<(), Failure> {
    if requests.requests == 0 {
        return Ok(());
    }
    writeln!(
        out,
        "\n{} requests: {} served ({} later than {} ms), {} beside another, {} by something unrelated, {} never, {} not known",
        requests.requests,
        requests.served,
        requests.late,
        ms(requests.late_after_ns.into()),
        requests.beside,
        requests.unrelated,
        requests.never,
        requests.unknown
    )?;
    for (name, q) in [("start", &requests.to_start_ns), ("end", &requests.to_end_ns)] {
        let [p50, p95, p99, max] = [q.p50, q.p95, q.p99, q.max].map(|ns| ms(ns.into()));
        writeln!(out, "to frame {name:<5} ms: p50 {p50}, p95 {p95}, p99 {p99}, max {max}")?;
    }
    for row in &requests.told {
        let what = match (row.outcome, row.frame) {
            (Outcome::Never, _) | (_, None) => "no frame".to_owned(),
            (Outcome::Unrelated, Some(id)) => format!("unrelated frame {id}"),
            (_, Some(id)) => format!("frame {id}"),
        };
        let (at, waited) = (ms(row.at_ns.into()), ms(row.waited_ns.into()));
        let class = row.class.name();
        writeln!(out, "  at {at} ms {class} {}: {what} after {waited} ms", shown(&row.place))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_shown_by_its_tail_and_cannot_move_the_cursor() {
        let place = format!("{}\u{1b}[2J/melt.py:118", "x".repeat(100));
        let shown = shown(&place);
        assert_eq!(shown.chars().count(), PLACE_WIDTH);
        assert!(shown.starts_with('\u{2026}') && shown.ends_with(" [2J/melt.py:118"), "{shown}");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
