//! The run of the moment as Prometheus metrics (text format 0.0.4): names, units, and which series there are.
//!
//! Written by hand: the format is a few lines, and the usual libraries keep their own registry of counters, where here
//! every figure comes from one record. Labels never name an address, a component or a source.

use crate::summary::{Interval, Stream, Summary};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The media type of what is written.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Most streams exported, by protocol, kind and number; further ones are counted in one gauge.
pub const STREAMS_EXPORTED: usize = 256;

/// One metric: name, type and help.
type Metric = (&'static str, &'static str, &'static str);

/// All metrics, in the order in which they are written.
#[rustfmt::skip]
pub const METRICS: &[Metric] = &[
    ("wireproof_build_info", "gauge", "1, with the version of the observer."),
    ("wireproof_snapshot_timestamp_seconds", "gauge", "When these figures were taken, by the clock that stamps datagrams."),
    ("wireproof_run_seconds", "gauge", "How long the run has been going on."),
    ("wireproof_verdict", "gauge", "1 for the verdict so far: pass, fail, inconclusive or invalid."),
    ("wireproof_datagrams_total", "counter", "UDP datagrams seen: lighting protocols and others."),
    ("wireproof_datagrams_malformed_total", "counter", "Lighting datagrams that broke a shape rule."),
    ("wireproof_datagrams_undecodable_total", "counter", "Datagrams on a port of a protocol with a wrong identifier."),
    ("wireproof_findings_total", "counter", "Findings by severity that count, those of streams that are left out and waived ones not among them."),
    ("wireproof_findings_waived", "gauge", "Findings that a waiver of the rig covers at this moment."),
    ("wireproof_lost_datagrams", "gauge", "Datagrams missing so far by owner; falls when a late one fills its hole. Owners are settled at the end of the run."),
    ("wireproof_observer_lost_datagrams_total", "counter", "Datagrams the observer lost itself; anything but 0 makes the run invalid."),
    ("wireproof_observer_loop_gap_max_seconds", "gauge", "Longest time between two rounds of the receive loop."),
    ("wireproof_observer_queue_delay_seconds", "gauge", "From the stamp of the kernel to the receive call: quantiles since the start."),
    ("wireproof_streams", "gauge", "Streams seen since the start, without those that the filter leaves out."),
    ("wireproof_streams_running", "gauge", "Streams that are sending, of those looked at."),
    ("wireproof_streams_left_out", "gauge", "Streams that the filter leaves out, of those looked at."),
    ("wireproof_streams_not_looked_at", "gauge", "Streams beyond those looked at: neither filter nor waivers are laid over them."),
    ("wireproof_streams_not_exported", "gauge", "Streams without series of their own, because there are too many."),
    ("wireproof_stream_datagrams_total", "counter", "Datagrams of a stream."),
    ("wireproof_stream_bytes_total", "counter", "UDP payload bytes of a stream."),
    ("wireproof_stream_lost_datagrams", "gauge", "Datagrams of a stream missing so far; falls when a late one fills its hole."),
    ("wireproof_stream_late_total", "counter", "Datagrams out of order that filled a hole."),
    ("wireproof_stream_duplicates_total", "counter", "Datagrams with a number seen before."),
    ("wireproof_stream_restarts_total", "counter", "Sessions begun by restart evidence."),
    ("wireproof_stream_frames_total", "counter", "Frames by state: complete, torn, unterminated."),
    ("wireproof_stream_interval_seconds", "gauge", "Time between datagrams of a stream: quantiles since the start."),
    ("wireproof_stream_last_datagram_timestamp_seconds", "gauge", "Stamp of the newest datagram of a stream."),
];

/// What stands beside the record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment<'a> {
    /// Version of the observer.
    pub version: &'a str,
    /// When the record was taken, ns since 1970.
    pub at_ns: i64,
    /// Length of the run so far, ns.
    pub run_ns: u64,
    /// All streams that are wanted, those that the record has no room for included.
    pub streams_seen: usize,
    /// Streams that nobody looked at, so that a filter or a waiver says nothing of them.
    pub not_looked_at: usize,
    /// Findings by severity: info, warning, violation.
    pub findings: [u64; 3],
    /// Findings that are waived, which are none of the others.
    pub waived: u64,
    /// Missing datagrams.
    pub lost: u64,
}

/// Writes metrics. Remembers what its counters said: a counter never falls while its series is there.
#[derive(Debug, Default)]
pub struct Exporter {
    marks: BTreeMap<String, u64>,
}

impl Exporter {
    /// The metrics of the moment. A stream that ended or fell silent has no series; the sums keep it.
    pub fn text(&mut self, summary: &Summary, moment: &Moment<'_>) -> String {
        let groups = groups(&summary.streams);
        let exported = &groups[..groups.len().min(STREAMS_EXPORTED)];
        let mut page = Page {
            text: String::with_capacity(4_096),
            before: std::mem::take(&mut self.marks),
            marks: BTreeMap::new(),
        };
        for metric in METRICS {
            page.family(metric);
            if metric.0.starts_with("wireproof_stream_") {
                exported.iter().for_each(|group| group.write(metric.0, &mut page));
            } else {
                run_wide(metric.0, summary, moment, &groups, &mut page);
            }
        }
        self.marks = page.marks;
        page.text
    }
}

struct Page {
    text: String,
    before: BTreeMap<String, u64>,
    marks: BTreeMap<String, u64>,
}

impl Page {
    fn family(&mut self, (name, kind, help): &Metric) {
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn gauge(&mut self, series: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.text, "{series} {value}");
    }

    fn counter(&mut self, series: &str, value: u64) {
        let value = value.max(self.before.get(series).copied().unwrap_or(0));
        let _ = writeln!(self.text, "{series} {value}");
        self.marks.insert(series.to_owned(), value);
    }
}

fn run_wide(name: &str, summary: &Summary, moment: &Moment<'_>, groups: &[Group], page: &mut Page) {
    let with = |label: &str, value: &str| format!("{name}{{{label}=\"{}\"}}", escaped(value));
    let (d, o) = (&summary.datagrams, &summary.observer);
    match name {
        "wireproof_build_info" => page.gauge(&with("version", moment.version), 1),
        "wireproof_snapshot_timestamp_seconds" => page.gauge(name, stamp(moment.at_ns)),
        "wireproof_run_seconds" => page.gauge(name, seconds(moment.run_ns)),
        "wireproof_verdict" => page.gauge(&with("verdict", summary.verdict.name()), 1),
        "wireproof_datagrams_total" => {
            page.counter(&with("kind", "lighting"), d.lighting);
            page.counter(&with("kind", "other"), d.other);
        }
        "wireproof_datagrams_malformed_total" => page.counter(name, d.malformed),
        "wireproof_datagrams_undecodable_total" => page.counter(name, d.undecodable),
        "wireproof_findings_total" => {
            for (severity, n) in ["info", "warning", "violation"].iter().zip(moment.findings) {
                page.counter(&with("severity", severity), n);
            }
        }
        "wireproof_findings_waived" => page.gauge(name, moment.waived),
        "wireproof_streams_left_out" => {
            page.gauge(name, summary.filter.as_ref().map_or(0, |filter| filter.streams_left_out));
        }
        "wireproof_streams_not_looked_at" => page.gauge(name, moment.not_looked_at),
        "wireproof_lost_datagrams" => {
            let sum =
                |of: fn(&Stream) -> u64| summary.streams.iter().fold(0u64, |n, s| n.saturating_add(of(s)));
            page.gauge(&with("owner", "sender"), sum(|s| s.owners.sender));
            page.gauge(&with("owner", "wire"), sum(|s| s.owners.wire));
            page.gauge(&with("owner", "observer"), sum(|s| s.owners.observer));
            page.gauge(&with("owner", "unknown"), sum(|s| s.owners.unknown));
        }
        "wireproof_observer_lost_datagrams_total" => page.counter(name, o.lost),
        "wireproof_observer_loop_gap_max_seconds" => page.gauge(name, seconds(o.loop_gap_max_ns)),
        "wireproof_observer_queue_delay_seconds" => {
            let delay = o.queue_delay_ns;
            quantiles(name, "", &[("0.5", delay.p50), ("0.99", delay.p99), ("1", delay.max)], page);
        }
        "wireproof_streams" => page.gauge(name, moment.streams_seen),
        "wireproof_streams_running" => {
            page.gauge(name, summary.streams.iter().filter(|s| s.ended == "running").count());
        }
        _ => {
            let left_out: usize = groups.iter().skip(STREAMS_EXPORTED).map(|g| g.streams).sum();
            page.gauge(name, left_out + moment.streams_seen.saturating_sub(summary.streams.len()));
        }
    }
}

/// Streams that the labels do not tell apart.
#[derive(Debug, Default)]
struct Group {
    labels: String,
    streams: usize,
    runs: bool,
    datagrams: u64,
    bytes: u64,
    lost: u64,
    late: u64,
    duplicates: u64,
    restarts: u64,
    frames: [u64; 3],
    interval: Interval,
    last_ns: i64,
}

/// The streams that send, in order of appearance. Senders of the same universe are one: no label tells them apart.
fn groups(streams: &[Stream]) -> Vec<Group> {
    let mut places: BTreeMap<(&str, &str, u32), usize> = BTreeMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for s in streams {
        let place = *places.entry((&s.protocol, &s.kind, s.stream_id)).or_insert_with(|| {
            let labels = format!(
                "protocol=\"{}\",kind=\"{}\",stream=\"{}\"",
                escaped(&s.protocol),
                escaped(&s.kind),
                s.stream_id
            );
            groups.push(Group { labels, ..Group::default() });
            groups.len() - 1
        });
        if let Some(group) = groups.get_mut(place) {
            group.add(s);
        }
    }
    groups.retain(|g| g.runs);
    groups
}

impl Group {
    fn add(&mut self, s: &Stream) {
        let add = |to: &mut u64, n: u64| *to = to.saturating_add(n);
        self.streams += 1;
        self.runs |= s.ended == "running";
        add(&mut self.datagrams, s.datagrams);
        add(&mut self.bytes, s.bytes);
        add(&mut self.lost, s.sequence.lost);
        add(&mut self.late, s.sequence.late);
        add(&mut self.duplicates, s.sequence.duplicates);
        add(&mut self.restarts, s.sequence.restarts);
        for (to, n) in self.frames.iter_mut().zip([s.frames.complete, s.frames.torn, s.frames.unterminated]) {
            add(to, n);
        }
        let (a, b) = (&mut self.interval, &s.interval_ns);
        // Of several senders the worst.
        (a.p50, a.p95, a.p99, a.max) =
            (a.p50.max(b.p50), a.p95.max(b.p95), a.p99.max(b.p99), a.max.max(b.max));
        self.last_ns = self.last_ns.max(s.last_ns);
    }

    fn write(&self, name: &str, page: &mut Page) {
        let series = format!("{name}{{{}}}", self.labels);
        match name {
            "wireproof_stream_datagrams_total" => page.counter(&series, self.datagrams),
            "wireproof_stream_bytes_total" => page.counter(&series, self.bytes),
            "wireproof_stream_lost_datagrams" => page.gauge(&series, self.lost),
            "wireproof_stream_late_total" => page.counter(&series, self.late),
            "wireproof_stream_duplicates_total" => page.counter(&series, self.duplicates),
            "wireproof_stream_restarts_total" => page.counter(&series, self.restarts),
            "wireproof_stream_frames_total" => {
                for (state, n) in ["complete", "torn", "unterminated"].iter().zip(self.frames) {
                    page.counter(&format!("{name}{{{},state=\"{state}\"}}", self.labels), n);
                }
            }
            "wireproof_stream_interval_seconds" => {
                let i = self.interval;
                let values = [("0.5", i.p50), ("0.95", i.p95), ("0.99", i.p99), ("1", i.max)];
                quantiles(name, &format!("{},", self.labels), &values, page);
            }
            _ => page.gauge(&series, stamp(self.last_ns)),
        }
    }
}

fn quantiles(name: &str, labels: &str, values: &[(&str, u64)], page: &mut Page) {
    for (q, ns) in values {
        page.gauge(&format!("{name}{{{labels}q=\"{q}\"}}"), seconds(*ns));
    }
}

fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

fn stamp(ns: i64) -> String {
    seconds(u64::try_from(ns).unwrap_or(0))
}

/// A label's value as the format wants it.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
