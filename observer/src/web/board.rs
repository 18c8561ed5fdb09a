//! What the clients are shown: the record of the moment, the last two minutes of each output, and the bodies made of
//! them. Each body is made once a look, however many ask for it.

use crate::live::glances::Look;
use crate::live::source::SourceInfo;
use hyper::body::Bytes;
use serde_json::{Value, json};
use std::collections::VecDeque;
use wireproof_protocols::verify::{Account, Glance};
use wireproof_reports::metrics::{Exporter, Moment};
use wireproof_reports::summary::{Finding, Output, Stream};
use wireproof_reports::{Format, Mask, Observer, Source, Standing, Style, Summary, Terms, render};

/// Looks that a chart shows.
pub(super) const HISTORY: usize = 240;
/// Outputs with a chart: those with most torn frames, then those with the longest interval.
const CHARTS: usize = 12;
/// Newest findings shown.
const EVENTS: usize = 100;
/// Looks over which the rate of a stream is taken.
const RATE_LOOKS: usize = 4;
/// What a record of the moment leaves open.
const OPEN: &str =
    "The run goes on: owners of losses, frames at its edges and the ids of findings are settled at its end.";

/// What is shown.
#[derive(Debug)]
pub(super) struct Board {
    source: Source,
    mask: Option<Mask>,
    terms: Terms,
    standing: Standing,
    exporter: Exporter,
    summary: Summary,
    moment: Moment<'static>,
    began_ns: Option<i64>,
    looks: u64,
    tracks: Vec<Track>,
    counts: VecDeque<(i64, Vec<u64>)>,
    bodies: Bodies,
}

/// Bodies of this look that somebody asked for.
#[derive(Debug, Default)]
struct Bodies {
    live: Option<Bytes>,
    summary: Option<Bytes>,
    metrics: Option<Bytes>,
}

/// One output over time: for each look how many frames were complete and torn, and the longest interval.
#[derive(Debug, Default)]
struct Track {
    before: (u64, u64),
    points: VecDeque<(u64, u64, i64)>,
}

impl Board {
    pub(super) fn new(sources: &[SourceInfo], anonymize: bool, terms: Terms) -> Board {
        let source = source(sources, 0);
        Board {
            mask: anonymize.then(Mask::new),
            terms,
            standing: Standing::default(),
            exporter: Exporter::default(),
            summary: Summary::new(&Account::default(), source.clone(), Observer::default()),
            source,
            moment: Moment { version: env!("CARGO_PKG_VERSION"), ..Moment::default() },
            began_ns: None,
            looks: 0,
            tracks: Vec::new(),
            counts: VecDeque::new(),
            bodies: Bodies::default(),
        }
    }

    /// Takes a look over.
    pub(super) fn take(&mut self, look: &Look) {
        let glance = &look.glance;
        let mut account = glance.account.clone();
        // Drops that a counter shows already and no datagram has announced yet.
        let known = account.observer.socket.saturating_add(account.observer.ring);
        let more = look.lost.saturating_sub(known);
        if self.source.kind == "udp" {
            account.observer.socket = account.observer.socket.saturating_add(more);
        } else {
            account.observer.ring = account.observer.ring.saturating_add(more);
        }
        account.limits = vec![OPEN.to_owned()];
        self.standing = self.terms.stand(&account);
        self.follow(look.at.0, &account, &glance.longest_ns);
        let settled = self.terms.settle_so_far(&mut account);
        let observer = Observer {
            loop_gap_max_ns: look.loop_gap_max_ns,
            queue_delay_ns: look.queue_delay,
            ..Observer::default()
        };
        let source = Source { packets: look.packets, ..self.source.clone() };
        self.summary = Summary::settled(&account, source, observer, false, settled);
        if let Some(mask) = &mut self.mask {
            mask.apply(&mut self.summary);
        }
        let began = *self.began_ns.get_or_insert(look.at.0);
        self.moment.at_ns = look.at.0;
        self.moment.run_ns = u64::try_from(look.at.0.saturating_sub(began)).unwrap_or(0);
        self.count(glance);
        self.looks += 1;
        self.bodies = Bodies::default();
    }

    /// What is counted beside the record. Without terms that is everything, also what a look has no room for.
    fn count(&mut self, glance: &Glance) {
        let (moment, standing) = (&mut self.moment, &self.standing);
        moment.streams_seen = standing.streams(glance.streams_seen);
        moment.not_looked_at = glance.streams_seen.saturating_sub(standing.wanted.len());
        (moment.findings, moment.lost) = match self.terms.is_empty() {
            true => (glance.findings, glance.lost),
            false => (standing.findings, standing.lost),
        };
        moment.waived = standing.waived;
    }

    fn follow(&mut self, at_ns: i64, account: &Account, longest_ns: &[i64]) {
        self.tracks.resize_with(account.outputs.len(), Track::default);
        for ((track, output), longest) in self.tracks.iter_mut().zip(&account.outputs).zip(longest_ns) {
            let now = (output.frames.complete, output.frames.torn + output.frames.unterminated);
            let step = (now.0.saturating_sub(track.before.0), now.1.saturating_sub(track.before.1));
            track.before = now;
            if track.points.len() == HISTORY {
                track.points.pop_front();
            }
            track.points.push_back((step.0, step.1, *longest));
        }
        if self.counts.len() > RATE_LOOKS {
            self.counts.pop_front();
        }
        self.counts.push_back((at_ns, account.streams.iter().map(|s| s.datagrams).collect()));
    }

    /// The record of the moment.
    pub(super) fn summary(&mut self) -> Bytes {
        let make = |summary: &Summary| {
            let mut body = Vec::new();
            // A list of octets takes everything; a record that cannot be written is an empty answer.
            let _ = render(summary, Format::Json, Style::default(), &mut body);
            Bytes::from(body)
        };
        self.bodies.summary.get_or_insert_with(|| make(&self.summary)).clone()
    }

    /// The metrics of the moment.
    pub(super) fn metrics(&mut self) -> String {
        let Board { exporter, summary, moment, bodies, .. } = self;
        let body = bodies.metrics.get_or_insert_with(|| Bytes::from(exporter.text(summary, moment)));
        String::from_utf8_lossy(body).into_owned()
    }

    /// What the page asks for every second.
    pub(super) fn live(&mut self) -> Bytes {
        if let Some(body) = &self.bodies.live {
            return body.clone();
        }
        let body = Bytes::from(self.live_value().to_string());
        self.bodies.live = Some(body.clone());
        body
    }

    fn live_value(&self) -> Value {
        let (s, moment) = (&self.summary, &self.moment);
        let [info, warning, violation] = moment.findings;
        json!({
            "schema": "wireproof.live/1",
            "looks": self.looks,
            "at_ns": moment.at_ns,
            "run_ns": moment.run_ns,
            "step_ms": super::LOOK_EVERY.as_millis() as u64,
            "history": HISTORY,
            "verdict": s.verdict.name(),
            "reason": s.reason,
            "source": { "kind": s.source.kind, "name": s.source.name, "timestamps": s.source.timestamps },
            "observer": {
                "lost": s.observer.lost,
                "loop_gap_max_ns": s.observer.loop_gap_max_ns,
                "queue_p99_ns": s.observer.queue_delay_ns.p99,
                "queue_max_ns": s.observer.queue_delay_ns.max,
            },
            "datagrams": {
                "lighting": s.datagrams.lighting, "other": s.datagrams.other, "malformed": s.datagrams.malformed,
            },
            "lost": moment.lost,
            "findings": { "info": info, "warning": warning, "violation": violation, "waived": moment.waived },
            "terms": self.terms_value(),
            "streams_seen": moment.streams_seen,
            "streams": s.streams.iter().zip(self.shown_streams()).map(|(s, i)| self.stream(i, s)).collect::<Vec<_>>(),
            "outputs_seen": s.outputs.len(),
            "outputs": self.charts(),
            "events": events(s),
        })
    }

    /// What the figures leave out; the expression as the record says it, which may be masked.
    fn terms_value(&self) -> Value {
        json!({
            "filter": self.summary.filter.as_ref().map(|f| &f.expression),
            "streams_left_out": self.standing.left_out(),
            "streams_not_looked_at": self.moment.not_looked_at,
            "waivers": self.summary.waivers.len(),
        })
    }

    /// The streams of the record, by their order of appearance.
    fn shown_streams(&self) -> impl Iterator<Item = usize> {
        kept(&self.standing.wanted)
    }

    fn stream(&self, index: usize, s: &Stream) -> Value {
        json!({
            "protocol": s.protocol, "kind": s.kind, "id": s.stream_id, "source": s.source,
            "destination": s.destination, "name": s.name, "datagrams": s.datagrams, "rate_mhz": self.rate_mhz(index),
            "lost": s.sequence.lost, "late": s.sequence.late, "duplicates": s.sequence.duplicates,
            "complete": s.frames.complete, "torn": s.frames.torn + s.frames.unterminated,
            "p50_ns": s.interval_ns.p50, "p99_ns": s.interval_ns.p99, "max_ns": s.interval_ns.max, "ended": s.ended,
        })
    }

    /// Datagrams a second over the last few looks, in thousandths.
    fn rate_mhz(&self, stream: usize) -> u64 {
        let held = |(at, counts): &(i64, Vec<u64>)| counts.get(stream).map(|n| (*at, *n));
        let Some((first, last)) = self.counts.iter().find_map(held).zip(self.counts.back().and_then(held))
        else {
            return 0;
        };
        let ns = u128::try_from(last.0 - first.0).unwrap_or(0);
        let rate = u128::from(last.1.saturating_sub(first.1)) * 1_000_000_000_000;
        rate.checked_div(ns).and_then(|rate| u64::try_from(rate).ok()).unwrap_or(0)
    }

    /// The outputs that need a look, in order of appearance.
    fn charts(&self) -> Vec<Value> {
        let outputs = &self.summary.outputs;
        let tracks: Vec<&Track> = kept(&self.standing.outputs).filter_map(|i| self.tracks.get(i)).collect();
        let mut worst: Vec<usize> = (0..outputs.len().min(tracks.len())).collect();
        let trouble = |o: &Output| (o.frames.torn + o.frames.unterminated, o.frame_interval_ns.max);
        worst.retain(|i| outputs[*i].frames.seen > 0);
        worst.sort_by_key(|i| std::cmp::Reverse(trouble(&outputs[*i])));
        worst.truncate(CHARTS);
        worst.sort_unstable();
        worst.into_iter().map(|i| chart(&outputs[i], tracks[i])).collect()
    }
}

/// The places that are kept.
fn kept(list: &[bool]) -> impl Iterator<Item = usize> {
    list.iter().enumerate().filter(|(_, kept)| **kept).map(|(at, _)| at)
}

fn chart(o: &Output, track: &Track) -> Value {
    let column = |of: fn(&(u64, u64, i64)) -> Value| track.points.iter().map(of).collect::<Vec<_>>();
    json!({
        "name": o.name, "protocol": o.protocol, "rate_mhz": o.rate_mhz,
        "complete": o.frames.complete, "torn": o.frames.torn + o.frames.unterminated,
        "p50_ns": o.frame_interval_ns.p50, "max_ns": o.frame_interval_ns.max,
        "steps": { "complete": column(|p| p.0.into()), "torn": column(|p| p.1.into()), "longest_ns": column(|p| p.2.into()) },
    })
}

/// The newest findings, the newest first.
fn events(s: &Summary) -> Vec<Value> {
    let mut newest: Vec<&Finding> = s.findings.iter().collect();
    newest.sort_by_key(|f| std::cmp::Reverse(f.first_ns));
    let stream =
        |f: &Finding| f.stream.and_then(|i| s.streams.get(i)).map(|s| (s.protocol.clone(), s.stream_id));
    let event = |f: &Finding| {
        let at = stream(f).map(|(protocol, id)| format!("{protocol} {id}"));
        json!({
            "code": f.code, "severity": f.severity, "at_ns": f.first_ns, "count": f.count, "text": f.text, "stream": at,
            "waived": f.waiver.and_then(|at| s.waivers.get(at)).map(|w| &w.id),
        })
    };
    newest.into_iter().take(EVENTS).map(event).collect()
}

/// The sources as the record's source.
fn source(sources: &[SourceInfo], packets: u64) -> Source {
    let names: Vec<&str> = sources.iter().map(|s| s.name.as_str()).collect();
    let first = sources.first();
    Source {
        kind: first.map_or("udp", |s| s.kind).to_owned(),
        name: names.join(", "),
        timestamps: first.map_or("kernel", |s| s.timestamps).to_owned(),
        packets,
        ..Source::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::lens::example;
    use wireproof_fixture::case;
    use wireproof_protocols::Timestamp;
    use wireproof_protocols::verify::{Options, Verifier};

    /// A planted case looked at so often on its way.
    fn looked_at(name: &str, looks: usize, anonymize: bool) -> (Board, Look, Account) {
        let planted = (case(name).unwrap().build)(1).unwrap();
        let mut verifier = Verifier::new(Options::default());
        let mut board = Board::new(&[], anonymize, Terms::default());
        let mut look = Look { glance: Glance::roomy(), ..Look::default() };
        let every = planted.arrivals.len() / looks;
        for (n, (arrival, d)) in planted.iter().enumerate() {
            verifier.on_datagram(arrival, &d);
            if n % every == every - 1 {
                look.at = Timestamp(arrival.at.0);
                verifier.glance(look.at, &mut look.glance);
                look.packets = n as u64 + 1;
                board.take(&look);
            }
        }
        (board, look, verifier.finish())
    }

    #[test]
    fn a_look_says_what_the_end_says_but_for_what_the_end_settles() {
        for name in ["mixed-clean", "artnet-clean", "ddp-clean-1-16", "sacn-drop-one", "ddp-drop-one"] {
            let (mut board, _, account) = looked_at(name, 10, false);
            let end = Summary::new(&account, Source::default(), Observer::default());
            let live: Value = serde_json::from_slice(&board.summary()).unwrap();
            assert_eq!(live["schema"], "wireproof.summary/1");
            let sums = |streams: &[Stream]| {
                streams.iter().map(|s| (s.stream_id, s.bytes > 0, s.sequence.lost)).collect::<Vec<_>>()
            };
            assert_eq!(sums(&board.summary.streams), sums(&end.streams), "{name}");
            assert_eq!(end.totals.lost > 0, name.ends_with("drop-one"), "{name}");
            assert!(board.summary.limits.iter().any(|l| l == OPEN));
            let read: Summary = serde_json::from_value(live).unwrap();
            assert_eq!(read, board.summary, "{name}");
        }
    }

    #[test]
    fn a_record_of_the_moment_keeps_to_the_schema() {
        let schema = serde_json::from_str(wireproof_reports::SUMMARY_SCHEMA).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        for name in ["mixed-clean", "sacn-drop-one"] {
            let (mut board, ..) = looked_at(name, 7, false);
            let live: Value = serde_json::from_slice(&board.summary()).unwrap();
            let errors: Vec<String> = validator.iter_errors(&live).map(|e| e.to_string()).collect();
            assert!(errors.is_empty(), "{name}: {errors:?}");
        }
        let empty: Value =
            serde_json::from_slice(&Board::new(&[], false, Terms::default()).summary()).unwrap();
        assert!(validator.is_valid(&empty), "{empty}");
    }

    #[test]
    fn charts_hold_the_frames_between_two_looks_and_two_minutes_at_most() {
        let (mut board, look, _) = looked_at("mixed-clean", 10, false);
        let live: Value = serde_json::from_slice(&board.live()).unwrap();
        let output = &live["outputs"][0];
        let steps = |column: &str| -> Vec<u64> {
            output["steps"][column].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect()
        };
        assert_eq!(steps("complete").iter().sum::<u64>(), output["complete"].as_u64().unwrap());
        assert!(steps("complete").iter().all(|n| *n > 0), "{output}");
        assert!(steps("longest_ns").iter().all(|ns| (1_000_000..200_000_000).contains(ns)), "{output}");
        (0..1_000).for_each(|_| board.take(&look));
        assert!(
            board.tracks.iter().all(|t| t.points.len() <= HISTORY) && board.counts.len() <= RATE_LOOKS + 1
        );
    }

    /// The case with its loss under terms: the board, and the record that the end would write.
    fn under(filter: Option<&str>, max: Option<u64>) -> (Board, Summary) {
        let terms = example::terms(filter, max);
        let mut run = example::run();
        let mut board = Board::new(&[], false, terms.clone());
        board.take(&example::look(&mut run));
        let mut account = run.verifier.finish();
        let settled = terms.settle(&mut account);
        let observer = Observer::default();
        (board, Summary::settled(&account, Source::default(), observer, false, settled))
    }

    #[test]
    fn page_and_metrics_leave_out_what_the_filter_leaves_out_and_count_waived_findings_apart() {
        for (filter, max) in [(None, None), (None, Some(9)), (Some("protocol == ddp"), None)] {
            let (mut board, end) = under(filter, max);
            let live: Value = serde_json::from_slice(&board.live()).unwrap();
            let (found, ended) = (&live["findings"], end.totals.findings);
            assert_eq!(found["violation"].as_u64().unwrap(), ended.violation, "{live}");
            assert_eq!(
                (found["waived"].as_u64(), live["lost"].as_u64()),
                (Some(ended.waived), Some(end.totals.lost))
            );
            assert_eq!(live["streams"].as_array().unwrap().len(), end.streams.len());
            let metrics = board.metrics();
            assert!(
                metrics.contains(&format!("\nwireproof_findings_waived {}\n", ended.waived)),
                "{metrics}"
            );
            assert!(metrics.contains(&format!("\nwireproof_streams {}\n", end.streams.len())), "{metrics}");
            let record: Value = serde_json::from_slice(&board.summary()).unwrap();
            assert_eq!(record["filter"]["expression"].as_str(), filter);
            assert_eq!(live["terms"]["filter"].as_str(), filter);
        }
        let (board, _) = under(None, Some(9));
        let waived: Vec<Value> = events(&board.summary).into_iter().filter(|e| e["waived"] == "w1").collect();
        assert_eq!((waived.len(), waived[0]["code"].as_str()), (1, Some("SEQ-LOST")));
        let (board, _) = under(Some("protocol == ddp"), None);
        assert_eq!((board.charts().len(), events(&board.summary).len()), (0, 0));
    }

    #[test]
    fn an_output_keeps_its_chart_when_others_are_left_out() {
        let planted = (case("mixed-clean").unwrap().build)(1).unwrap();
        let mut verifier = Verifier::new(Options::default());
        let mut board = Board::new(&[], false, example::terms(Some("protocol == ddp"), None));
        planted.iter().for_each(|(arrival, d)| verifier.on_datagram(arrival, &d));
        let mut look = Look { glance: Glance::roomy(), ..Look::default() };
        verifier.glance(look.at, &mut look.glance);
        board.take(&look);
        let live: Value = serde_json::from_slice(&board.live()).unwrap();
        let outputs = live["outputs"].as_array().unwrap();
        assert!(!outputs.is_empty() && outputs.iter().all(|o| o["protocol"] == "ddp"), "{live}");
        assert!(outputs.iter().all(|o| o["steps"]["complete"][0] == o["complete"]), "{live}");
    }

    #[test]
    fn a_masked_board_tells_no_address_and_no_name() {
        let (mut plain, ..) = looked_at("mixed-clean", 4, false);
        let secrets: Vec<String> = plain
            .summary
            .streams
            .iter()
            .flat_map(|s| [Some(s.source.clone()), s.name.clone()])
            .flatten()
            .collect();
        assert!(!secrets.is_empty());
        let shown = |board: &mut Board| {
            [board.live(), board.summary(), Bytes::from(board.metrics())]
                .map(|b| String::from_utf8(b.to_vec()).unwrap())
        };
        assert!(secrets.iter().all(|s| shown(&mut plain)[0].contains(s.as_str())));
        let (mut masked, ..) = looked_at("mixed-clean", 4, true);
        for text in shown(&mut masked) {
            assert!(secrets.iter().all(|s| !text.contains(s.as_str())));
        }
    }

    #[test]
    fn a_drop_that_only_a_counter_shows_makes_the_record_invalid_at_once() {
        let mut board = Board::new(&[], false, Terms::default());
        board.take(&Look { lost: 3, ..Look::default() });
        assert_eq!((board.summary.verdict.name(), board.summary.observer.lost), ("invalid", 3));
        assert!(board.metrics().contains("wireproof_observer_lost_datagrams_total 3\n"));
    }
}
