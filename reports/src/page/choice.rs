//! What of a run is drawn and listed: the worst first, bounded, so that a page stays small however large the run was.

use super::cell::NAME;
use super::fold::{self, Event};
use crate::json::write_line;
use crate::render::RenderError;
use crate::summary::{Finding, Output, Stream, Summary};
use crate::text::fit;
use serde_json::{Map, Value, json};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Outputs with pictures.
const OUTPUTS: usize = 12;
/// Strips of all outputs.
const STRIPS: usize = 96;
/// Strips of one output while others want some.
const STRIPS_EACH: usize = 24;
/// Rows of the table of outputs.
const OUTPUT_ROWS: usize = 64;
/// Room for findings that are listed and for the table of streams, with what the record keeps of them, octets; a stream
/// takes so many beside its addresses and its name, which stand there twice, and a finding so many.
const ROOM: usize = 1_620_000;
const STREAM_ROW: usize = 330;
const FINDING: usize = 1_500;
/// Streams with losses that are listed with their owners.
const LOSERS: usize = 24;
/// Largest record that a page carries whole, octets.
const WHOLE: usize = 900_000;
/// Longest text of an excerpt, characters.
const LONGEST: usize = 1_000;

/// Indices into the lists of the record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Choice {
    /// Outputs with pictures, each with the streams that have strips.
    pub(super) drawn: Vec<(usize, Vec<usize>)>,
    /// Outputs of the table.
    pub(super) outputs: Vec<usize>,
    /// Streams of the table.
    pub(super) streams: Vec<usize>,
    /// Events.
    pub(super) events: Vec<Event>,
    /// Streams whose losses are listed, and how many have any.
    pub(super) losers: (Vec<usize>, usize),
}

/// Frames a finding cost: torn ones it names or counts.
pub(super) fn cost(f: &Finding) -> u64 {
    if counts_frames(f) { f.count } else { f.frames.len() as u64 }
}

/// The finding counts frames, not datagrams.
pub(super) fn counts_frames(f: &Finding) -> bool {
    matches!(f.code.as_str(), "FRAME-TORN" | "FRAME-UNTERMINATED")
}

/// Worse streams and outputs have more frames that were not shown whole, then more losses.
fn badness(s: &Stream) -> (u64, u64) {
    (s.frames.torn + s.frames.unterminated, s.sequence.lost)
}

fn output_badness(s: &Summary, o: &Output) -> (u64, u64) {
    let lost = o.streams.iter().filter_map(|at| s.streams.get(*at));
    (o.frames.torn + o.frames.unterminated, lost.fold(0, |sum, s| sum.saturating_add(s.sequence.lost)))
}

pub(super) fn severity(f: &Finding) -> u8 {
    match f.severity.as_str() {
        "violation" => 0,
        "warning" => 1,
        _ => 2,
    }
}

impl Choice {
    /// The worst of a run.
    pub(super) fn of(s: &Summary) -> Choice {
        let mut outputs: Vec<usize> = (0..s.outputs.len()).collect();
        outputs.sort_by_key(|at| Reverse(output_badness(s, &s.outputs[*at])));
        let events = fold::events(s);
        let drawn = drawn(s, &outputs);
        outputs.truncate(OUTPUT_ROWS);
        let listed = events.iter().map(|event| event.listed.len().max(1)).sum::<usize>();
        let room = ROOM.saturating_sub(listed * FINDING);
        Choice { drawn, outputs, streams: streams(s, room), events, losers: losers(s) }
    }

    /// The record as the page carries it: whole, or without what the page has nothing of.
    pub(super) fn record(&self, s: &Summary) -> Result<Vec<u8>, RenderError> {
        let mut whole = Vec::new();
        write_line(s, &mut whole)?;
        if whole.len() <= WHOLE {
            return Ok(whole);
        }
        let mut record: Value = serde_json::from_slice(&whole)?;
        self.cut(&mut record);
        let mut cut = Vec::new();
        write_line(&record, &mut cut)?;
        Ok(cut)
    }

    fn cut(&self, record: &mut Value) {
        let streams: BTreeSet<usize> =
            self.drawn.iter().flat_map(|(_, streams)| streams.iter().copied()).collect();
        let listed: BTreeSet<usize> = self.streams.iter().copied().collect();
        let outputs: BTreeSet<usize> = self.drawn.iter().map(|(output, _)| *output).collect();
        let rows: BTreeSet<usize> = self.outputs.iter().copied().collect();
        let events = self.events.iter().flat_map(|e| e.listed.iter().copied().chain([e.worst, e.first()]));
        let events: BTreeSet<usize> = events.collect();
        let named = events.iter().filter_map(|at| stream_of(record, *at));
        let named: BTreeSet<usize> = named.collect();
        let losers: BTreeSet<usize> = self.losers.0.iter().copied().collect();
        each(record, "streams", |at, stream| match () {
            () if streams.contains(&at) => {}
            () if losers.contains(&at) => without_pictures(stream),
            () if named.contains(&at) || listed.contains(&at) => *stream = row_of_stream(stream),
            () => *stream = json!({}),
        });
        each(record, "outputs", |at, output| match () {
            () if outputs.contains(&at) => {}
            () if rows.contains(&at) => without_pictures(output),
            () => *output = json!({}),
        });
        each(record, "findings", |at, finding| {
            if !events.contains(&at) {
                *finding = json!({});
            }
        });
        shorten(record);
        if let Some(record) = record.as_object_mut() {
            let text = "An excerpt: streams, outputs and findings keep what the page shows of them. `--format json` writes all.";
            record.insert("excerpt".to_owned(), json!(text));
        }
    }
}

/// The streams of the table: all, or as many of the worst as there is room for.
fn streams(s: &Summary, most: usize) -> Vec<usize> {
    let room = |at: &usize| {
        let stream = &s.streams[*at];
        let name = stream.name.as_deref().unwrap_or_default();
        // Markup takes up to six octets a character in the record and five in the cell; a longer name is longer there.
        let name = super::escape(&fit(name, NAME)).len() * 5 / 2 + name.len().saturating_sub(4 * NAME);
        STREAM_ROW + name + 2 * (stream.source.len() + stream.destination.as_ref().map_or(0, String::len))
    };
    let mut streams: Vec<usize> = (0..s.streams.len()).collect();
    if streams.iter().map(room).sum::<usize>() > most {
        streams.sort_by_key(|at| Reverse(badness(&s.streams[*at])));
        let mut taken = 0;
        streams.retain(|at| {
            taken += room(at);
            taken <= most
        });
    }
    streams
}

fn losers(s: &Summary) -> (Vec<usize>, usize) {
    let mut losers: Vec<usize> = (0..s.streams.len()).filter(|at| s.streams[*at].sequence.lost > 0).collect();
    losers.sort_by_key(|at| Reverse(s.streams[*at].sequence.lost));
    let all = losers.len();
    losers.truncate(LOSERS);
    (losers, all)
}

fn stream_of(record: &Value, finding: usize) -> Option<usize> {
    usize::try_from(record.get("findings")?.get(finding)?.get("stream")?.as_u64()?).ok()
}

fn each(record: &mut Value, list: &str, mut change: impl FnMut(usize, &mut Value)) {
    let items = record.get_mut(list).and_then(Value::as_array_mut);
    items.into_iter().flatten().enumerate().for_each(|(at, item)| change(at, item));
}

/// Cuts every text that is far longer than anybody reads.
fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > LONGEST => *text = fit(text, LONGEST),
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(items) => items.values_mut().for_each(shorten),
        _ => {}
    }
}

fn without_pictures(item: &mut Value) {
    if let Some(item) = item.as_object_mut() {
        item.remove("timeline");
        item.remove("frame_interval_bars");
    }
}

/// What the table of streams shows of one.
fn row_of_stream(stream: &Value) -> Value {
    let mut row = Map::new();
    for path in super::streams::COLUMNS.iter().map(|column| column.0).filter(|path| !path.is_empty()) {
        let Some(value) = stream.pointer(path) else { continue };
        let mut keys = path.split('/').skip(1);
        match (keys.next(), keys.next()) {
            (Some(key), None) => {
                row.insert(key.to_owned(), value.clone());
            }
            (Some(outer), Some(inner)) => {
                let outer = row.entry(outer).or_insert_with(|| json!({}));
                if let Some(outer) = outer.as_object_mut() {
                    outer.insert(inner.to_owned(), value.clone());
                }
            }
            _ => {}
        }
    }
    Value::Object(row)
}

fn drawn(s: &Summary, outputs: &[usize]) -> Vec<(usize, Vec<usize>)> {
    let mut left = STRIPS;
    let mut drawn = Vec::new();
    for at in outputs.iter().filter(|at| s.outputs[**at].frames.seen > 0).take(OUTPUTS) {
        let mut streams: Vec<usize> =
            s.outputs[*at].streams.iter().copied().filter(|at| *at < s.streams.len()).collect();
        let most = if outputs.len() == 1 { left } else { left.min(STRIPS_EACH) };
        if streams.len() > most {
            streams.sort_by_key(|at| Reverse(badness(&s.streams[*at])));
            streams.truncate(most);
            streams.sort_unstable();
        }
        left -= streams.len();
        drawn.push((*at, streams));
    }
    drawn
}
