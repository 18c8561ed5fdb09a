//! What the observer saw, on the ring's clock: arrivals of a capture, findings and downloads of a summary.

use super::ConvertArgs;
use crate::capture::{self, Item};
use crate::cli::failure::{Failure, INTEGRITY};
use crate::cli::say;
use crate::infile;
use std::collections::HashMap;
use std::path::Path;
use wireproof_protocols::layout::Layouts;
use wireproof_protocols::{Arrival, Datagram, Faults};
use wireproof_recorder::convert::{Event, Label, Name, Shape, Timeline, WallClock};
use wireproof_reports::Summary;

/// What is kept around the ring's time, ns.
const MARGIN_NS: u64 = 1_000_000_000;
/// Arrivals that are drawn.
const MAX_ARRIVALS: u64 = 2_000_000;
/// Streams with a row of their own.
const MAX_STREAMS: usize = 256;

/// Wall time of the observer on the ring's clock.
pub(super) struct Clock<'a> {
    wall: &'a WallClock,
    offset_ns: i64,
    window: (u64, u64),
}

impl<'a> Clock<'a> {
    pub(super) fn new(wall: &'a WallClock, args: &ConvertArgs, ring: (u64, u64)) -> Self {
        let window = (ring.0.saturating_sub(MARGIN_NS), ring.1.saturating_add(MARGIN_NS));
        Clock { wall, offset_ns: args.wire_offset, window }
    }

    /// The ring's time, if it lies around the ring.
    fn at(&self, wall_ns: i64) -> Option<u64> {
        let at = self.wall.monotonic(wall_ns.checked_add(self.offset_ns)?)?;
        (self.window.0..=self.window.1).contains(&at).then_some(at)
    }
}

/// Streams and their rows.
struct Rows<'t> {
    timeline: &'t mut Timeline,
    layouts: Layouts,
    group: usize,
    by_stream: HashMap<String, usize>,
    drawn: u64,
    outside: u64,
    beyond: u64,
}

/// Adds the arrivals of a capture and returns how many were drawn.
pub(super) fn arrivals(
    path: &Path,
    layouts: Layouts,
    clock: &Clock<'_>,
    timeline: &mut Timeline,
) -> Result<u64, Failure> {
    let group = timeline.group("on the wire", 0);
    let mut rows =
        Rows { timeline, layouts, group, by_stream: HashMap::new(), drawn: 0, outside: 0, beyond: 0 };
    let report = capture::read_into(path, layouts, &mut |item: Item<'_>| {
        if let Item::Datagram(arrival, datagram) = item {
            rows.add(arrival, &datagram, clock);
        }
    })?;
    let Rows { drawn, outside, beyond, .. } = rows;
    if let Some(damaged) = report.damaged {
        say(&format!("{}: {damaged}", path.display()));
    }
    if drawn == 0 {
        let what =
            format!("none of the {outside} lighting datagrams of {} lies in the ring's time", path.display());
        return Err(Failure::usage(
            &what,
            "check that both were taken together, or shift with --wire-offset",
        ));
    }
    say(&format!(
        "{}: {drawn} arrivals drawn, {outside} outside of the ring's time, {beyond} past the limit of {MAX_ARRIVALS}",
        path.display()
    ));
    Ok(drawn)
}

impl Rows<'_> {
    fn add(&mut self, arrival: Arrival, datagram: &Datagram<'_>, clock: &Clock<'_>) {
        let Some(decoder) = self.layouts.claim(datagram) else { return };
        let Some(at) = clock.at(arrival.at.0) else {
            self.outside += 1;
            return;
        };
        if self.drawn >= MAX_ARRIVALS {
            self.beyond += 1;
            return;
        }
        self.drawn += 1;
        let mut faults = Faults::default();
        let pdu = decoder.decode(datagram, &mut faults).ok();
        let protocol = decoder.protocol().name();
        let stream = pdu.and_then(|pdu| pdu.stream).map_or_else(String::new, |stream| format!(" {stream}"));
        let row = self.row(format!("{protocol}{stream} from {}", datagram.source.ip()), protocol);
        let kind = pdu.map_or("undecodable", |pdu| pdu.kind.name);
        let name = self.timeline.name(kind);
        let sequence = pdu.and_then(|pdu| pdu.sequence);
        let (label, value) = sequence.map_or((Label::None, 0), |number| (Label::Sequence, number.into()));
        self.timeline.push(row, Event { label, value, ..Event::at(at, name) });
    }

    fn row(&mut self, mut stream: String, protocol: &str) -> usize {
        if self.by_stream.len() >= MAX_STREAMS && !self.by_stream.contains_key(&stream) {
            "other streams".clone_into(&mut stream);
        }
        if let Some(row) = self.by_stream.get(&stream) {
            return *row;
        }
        let row = self.timeline.track(self.group, &stream, Shape::Instants, protocol);
        self.by_stream.insert(stream, row);
        row
    }
}

/// Adds findings and downloads of a summary.
pub(super) fn findings(path: &Path, clock: &Clock<'_>, timeline: &mut Timeline) -> Result<(), Failure> {
    let summary = summary(path)?;
    let group = timeline.group("observer", 0);
    let track = timeline.track(group, "findings", Shape::Instants, "finding");
    let mut drawn = 0u64;
    for finding in &summary.findings {
        let text = format!("{} {} x{}: {}", finding.id, finding.severity, finding.count, finding.text);
        let note = timeline.name(&text);
        let name = timeline.name(&finding.code);
        let last = format!("{} (last)", finding.code);
        let last = if finding.last_ns > finding.first_ns { timeline.name(&last) } else { Name::NONE };
        for (name, at) in [(name, finding.first_ns), (last, finding.last_ns)] {
            if let Some(at) = clock.at(at).filter(|_| name != Name::NONE) {
                timeline.push(track, Event { note, ..Event::at(at, name) });
                drawn += 1;
            }
        }
    }
    let downloads = timeline.track(group, "ring downloads", Shape::Spans, "drain");
    for drain in &summary.drains {
        if let (Some(start), Some(end)) = (clock.at(drain.started_ns), clock.at(drain.ended_ns)) {
            let name = timeline.name("download");
            let event = Event {
                end_ns: end.max(start),
                label: Label::Value,
                value: drain.number,
                ..Event::at(start, name)
            };
            timeline.push(downloads, event);
            drawn += 1;
        }
    }
    say(&format!(
        "{}: {} findings and {} downloads, {drawn} marks drawn in the ring's time",
        path.display(),
        summary.findings.len(),
        summary.drains.len()
    ));
    Ok(())
}

/// The longest summary that is read, octets.
const LONGEST: u64 = 64 << 20;

fn summary(path: &Path) -> Result<Summary, Failure> {
    let text = infile::text(path, LONGEST).map_err(|error| {
        Failure::io(&format!("{} cannot be read ({error})", path.display()), "check the name and its rights")
    })?;
    serde_json::from_str(&text).map_err(|error| Failure::Said {
        code: INTEGRITY,
        text: format!(
            "{} is no summary ({error}): write one with analyze or observe --format json",
            path.display()
        ),
    })
}
