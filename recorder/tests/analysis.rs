//! The analysis of frames on rings that the writer made: each rule once with and once without its reason.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use proptest::prelude::*;
use wireproof_recorder::analysis::causes::{Counts, KEEP, PlaceRow};
use wireproof_recorder::analysis::coverage::coverage;
use wireproof_recorder::analysis::findings::{self, code};
use wireproof_recorder::analysis::frame_causes::Class;
use wireproof_recorder::analysis::requests::{Outcome, Requests, late_after, requests};
use wireproof_recorder::analysis::{causes, causes_within, skips, slow, span};
use wireproof_recorder::header::{Identity, Stage, Tables};
use wireproof_recorder::layout::file_bytes;
use wireproof_recorder::places::{FURTHER, Places};
use wireproof_recorder::snapshot::{self, Times};
use wireproof_recorder::words::HeapWords;
use wireproof_recorder::{Account, Event, Frame, Kind, Policy, Record, Ring, Writer, account, parse};

const MS: u64 = 1_000_000;
const PERIOD: u64 = 16_666_667;
const DEVICE: u16 = 5;
const CAUSE: u16 = 18;
const RECORDING: u16 = 20;
/// Sources: a timer, an event, the place that stands for further ones, places from 4 on.
const TIMER: (u16, u64) = (1, 1);
const CONTROL: (u16, u64) = (2, 2);
const REFRESH: u16 = 3;

/// A ring under way.
struct Pen<'a>(Writer<&'a HeapWords>);

fn record(write: impl FnOnce(&mut Pen<'_>)) -> Ring {
    let capacity = 4_096;
    let words = HeapWords::new((file_bytes(capacity) / 8) as usize);
    let stage = |(id, name): (u16, &str)| Stage { id, category: 0, name: name.to_owned() };
    let stages = [
        (1, "frame_due"),
        (2, "source"),
        (3, "effects"),
        (4, "audio"),
        (DEVICE, "device"),
        (15, "wire_send"),
        (RECORDING, "recording"),
    ];
    let tables = Tables { stages: stages.map(stage).to_vec(), ..Tables::default() };
    let identity = Identity { period_ns: PERIOD, tables, ..Identity::default() };
    let mut pen = Pen(Writer::start(&words, &identity, capacity, 0x66AA_0002).unwrap());
    write(&mut pen);
    parse(&snapshot::take(&words).unwrap().seal(&Times::default(), 1), Policy::Conservative).unwrap()
}

fn cause((class, source): (u16, u64), at_ns: u64) -> Event {
    Event { kind: Kind::Cause, flags: class, aux: source, ..Event::span(CAUSE, at_ns, at_ns) }
}

impl Pen<'_> {
    /// A frame of 5 ms with these records.
    fn frame(&mut self, id: u32, start_ns: u64, events: &[Event]) {
        self.frame_until(id, start_ns, start_ns + 5 * MS, events);
    }

    fn frame_until(&mut self, id: u32, start_ns: u64, end_ns: u64, events: &[Event]) {
        let mut batch = self.0.frame(id);
        events.iter().for_each(|event| assert!(batch.event(event).is_some()));
        batch.complete(start_ns, end_ns);
    }

    /// Frames a period apart, each with a cause that starts with it.
    fn caused(&mut self, ids: std::ops::Range<u32>, mut of: impl FnMut(u32) -> Vec<(u16, u64)>) {
        for id in ids {
            let start = u64::from(id) * PERIOD;
            let causes: Vec<Event> = of(id).into_iter().map(|source| cause(source, start)).collect();
            self.frame(id, start, &causes);
        }
    }

    /// A request that is made at this moment.
    fn ask(&mut self, source: (u16, u64), at_ns: u64) {
        self.0.event(&cause(source, at_ns));
    }

    /// A sign of life beside the frames.
    fn lives(&mut self, at_ns: u64) {
        self.0.event(&Event::span(16, at_ns, at_ns));
    }

    fn recording(&mut self, number: u64, at_ns: u64) {
        self.0.event(&Event { kind: Kind::State, aux: number, ..Event::span(RECORDING, at_ns, at_ns) });
    }
}

fn places() -> Places {
    let mut places = Places::default();
    for (id, name) in [(1, "pacing timer"), (2, "control"), (3, FURTHER), (9, "pointer_position")] {
        places.insert(id, name);
    }
    (10..60).for_each(|id| places.insert(id, &format!("p{id}.rs:1")));
    places
}

fn codes(ring: &Ring) -> Vec<&'static str> {
    let (causes, requests) = (causes(ring, &places()), followed(ring));
    findings::of_causes(&causes, &requests, &places()).iter().map(|finding| finding.code).collect()
}

fn followed(ring: &Ring) -> Requests {
    requests(ring, &places(), late_after(PERIOD))
}

#[test]
fn every_frame_has_one_cause_and_a_pointer_s_position_is_none() {
    let ring = record(|pen| {
        pen.caused(1..7, |id| match id {
            1 => vec![(2, 9), (REFRESH, 10)],
            2 => vec![(2, 9), CONTROL, (REFRESH, 11)],
            3 => vec![TIMER],
            4 => vec![(2, 9)],
            5 => vec![],
            _ => vec![(REFRESH, 11), (REFRESH, 10), (REFRESH, 3)],
        });
    });
    let found = causes(&ring, &places());
    let c = &found.counts;
    assert_eq!((c.frames, c.by_events, c.by_refresh, c.by_other), (6, 1, 2, 3));
    assert_eq!((found.other.timer, found.other.other, found.other.unrecorded), (1, 1, 1));
    let asked: Vec<_> = c.places.iter().map(|row| (row.place.as_str(), row.requests)).collect();
    assert_eq!((asked, c.places_rest), (vec![("p10.rs:1", 2), ("p11.rs:1", 2)], 1));
    assert_eq!((found.events.len(), found.events[0].place.as_str()), (1, "control"));
    assert_eq!(codes(&ring), [code::NO_CAUSE]);
}

#[test]
fn the_thirty_third_place_is_counted_with_the_rest() {
    let ring = record(|pen| pen.caused(0..34, |id| vec![(REFRESH, 10 + u64::from(id.min(32)))]));
    let found = causes(&ring, &places());
    assert_eq!((found.counts.places.len(), found.counts.places_rest, found.counts.by_refresh), (32, 2, 34));
}

#[test]
fn a_restart_of_recording_starts_from_nothing() {
    let ring = record(|pen| {
        pen.recording(1, 0);
        pen.ask((REFRESH, 12), 1);
        pen.caused(0..100, |_| vec![(REFRESH, 10)]);
        pen.recording(2, 100 * PERIOD);
        pen.caused(100..103, |_| vec![(REFRESH, 11)]);
    });
    let found = causes(&ring, &places());
    assert_eq!((found.recording, found.earlier_frames, found.counts.frames), (Some(2), 100, 3));
    assert_eq!(found.counts.places.len(), 1, "{:?}", found.counts.places);
    assert_eq!(found.counts.places[0].place, "p11.rs:1");
    assert_eq!((found.always, followed(&ring).requests), (Vec::new(), 0));
}

#[test]
fn a_place_that_asks_for_every_frame_of_a_second_is_a_finding_and_one_that_rests_is_none() {
    let always =
        record(|pen| pen.caused(0..252, |id| if id == 251 { vec![TIMER] } else { vec![(REFRESH, 10)] }));
    let found = causes(&always, &places());
    assert_eq!((found.always.len(), found.always[0].row.frames, found.always[0].own), (1, 251, false));
    assert_eq!((found.always[0].class, found.always[0].row.last), (Class::Refresh, 250));
    assert_eq!(codes(&always), [code::ALWAYS]);
    let rests = record(|pen| {
        pen.caused(0..252, |id| if id.is_multiple_of(59) { vec![TIMER] } else { vec![(REFRESH, 10)] })
    });
    assert_eq!(codes(&rests), [""; 0]);
}

#[test]
fn the_tool_s_own_poll_is_told_as_such() {
    let ring = record(|pen| pen.caused(0..60, |_| vec![(2, 70)]));
    let mut places = places();
    places.insert(70, "GET /v1/ring/raw");
    let found = causes(&ring, &places);
    assert!(found.always[0].own && found.always[0].class == Class::Event);
    let list = findings::of_causes(&found, &followed(&ring), &places);
    assert!(list[0].text.ends_with("; it sounds like the measuring tool itself"), "{}", list[0].text);
}

#[test]
fn a_surge_of_other_is_a_finding_and_a_paced_engine_has_none() {
    let broken = |id: u32| if id < 130 { vec![(REFRESH, 10 + u64::from(id % 2))] } else { vec![(4, 0)] };
    let ring = record(|pen| pen.caused(0..240, broken));
    assert_eq!(causes(&ring, &places()).surge.unwrap().first, 120);
    assert_eq!(codes(&ring), [code::SURGE]);
    let paced = |id: u32| if id.is_multiple_of(23) { vec![(REFRESH, 10)] } else { vec![TIMER] };
    assert_eq!(codes(&record(|pen| pen.caused(0..240, paced))), [""; 0]);
}

#[test]
fn a_ring_without_causes_says_so_and_nothing_else() {
    assert_eq!(codes(&record(|pen| pen.caused(0..240, |_| vec![]))), [code::NO_CAUSES]);
    assert_eq!(codes(&record(|_| ())), [""; 0], "there is no frame that could say why");
}

#[test]
fn a_source_that_the_side_file_does_not_name_is_a_finding() {
    let ring = record(|pen| pen.caused(0..3, |_| vec![(REFRESH, 99)]));
    assert_eq!(codes(&ring), [code::UNNAMED]);
    let without = causes(&ring, &Places::default());
    assert_eq!(without.counts.places[0].place, "source 99");
    assert_eq!(findings::of_causes(&without, &followed(&ring), &Places::default()), []);
}

#[test]
fn a_request_is_timed_from_where_it_was_made_to_its_frame() {
    let ring = record(|pen| {
        pen.ask((REFRESH, 10), 10 * MS);
        pen.frame(1, 13 * MS, &[cause((REFRESH, 10), 13 * MS)]);
        pen.frame(2, 30 * MS, &[cause(CONTROL, 28 * MS)]);
        pen.frame(3, 90 * MS, &[cause((REFRESH, 11), 31 * MS)]);
    });
    let found = followed(&ring);
    assert_eq!((found.requests, found.served, found.late, found.untimed), (3, 3, 1, 1));
    assert_eq!(
        (found.to_start_ns.min, found.to_start_ns.p50, found.to_start_ns.max),
        (2 * MS, 3 * MS, 59 * MS)
    );
    assert_eq!((found.to_end_ns.min, found.to_end_ns.max), (7 * MS, 64 * MS));
    assert_eq!((found.told.len(), found.told[0].frame), (1, Some(3)));
    assert_eq!(codes(&ring), [code::LATE]);
}

#[test]
fn a_request_that_is_recorded_when_made_and_again_in_its_frame_counts_once() {
    let ring = record(|pen| {
        pen.ask((REFRESH, 10), 10 * MS);
        pen.frame(1, 13 * MS, &[cause((REFRESH, 10), 10 * MS)]);
    });
    assert_eq!((followed(&ring).requests, followed(&ring).served), (1, 1));
}

#[test]
fn a_request_without_a_frame_is_a_violation_once_it_has_waited_too_long() {
    let ring = |until: u64, skip: bool| {
        record(|pen| {
            pen.frame(1, MS, &[cause(TIMER, MS)]);
            pen.ask((REFRESH, 10), 10 * MS);
            if skip {
                drop(pen.0.frame(2));
            }
            pen.lives(10 * MS + until);
        })
    };
    let never = ring(2 * PERIOD + 1, false);
    assert_eq!((followed(&never).never, codes(&never)), (1, vec![code::NEVER]));
    assert_eq!(followed(&never).told[0].outcome, Outcome::Never);
    let early = ring(2 * PERIOD, false);
    assert_eq!((followed(&early).unknown, codes(&early)), (1, vec![]));
}

#[test]
fn a_request_is_not_held_against_a_frame_that_is_not_whole() {
    let ring = record(|pen| {
        pen.ask((REFRESH, 10), 10 * MS);
        let mut batch = pen.0.frame(2);
        batch.event(&cause((REFRESH, 10), 12 * MS));
        drop(batch);
        pen.lives(900 * MS);
    });
    assert_eq!((followed(&ring).never, followed(&ring).unknown), (0, 1));
}

#[test]
fn a_request_served_only_by_something_unrelated_is_a_violation() {
    let ring = record(|pen| {
        pen.frame(1, MS, &[cause(TIMER, MS)]);
        pen.ask((REFRESH, 10), 10 * MS);
        pen.lives(500 * MS);
        pen.frame(2, 3_000 * MS, &[cause(CONTROL, 3_000 * MS)]);
    });
    let found = followed(&ring);
    assert_eq!((found.unrelated, found.told[0].frame, found.told[0].waited_ns), (1, Some(2), 2_990 * MS));
    assert_eq!(codes(&ring), [code::UNRELATED]);
    let soon = record(|pen| {
        pen.ask((REFRESH, 10), 10 * MS);
        pen.frame(2, 20 * MS, &[cause(CONTROL, 20 * MS)]);
    });
    assert_eq!((followed(&soon).beside, codes(&soon)), (1, vec![]));
}

#[test]
fn a_request_that_its_frame_names_beside_a_much_later_event_was_served_by_that_event() {
    let frame = |event_at: u64| {
        record(|pen| pen.frame(1, 3_000 * MS, &[cause(CONTROL, event_at), cause((REFRESH, 10), 10 * MS)]))
    };
    let ring = frame(2_999 * MS);
    assert_eq!((followed(&ring).unrelated, followed(&ring).served), (1, 1), "the event itself was served");
    let together = frame(12 * MS);
    assert_eq!((followed(&together).unrelated, followed(&together).late), (0, 2));
}

#[test]
fn an_event_that_waited_is_late_and_not_unrelated_to_the_event_after_it() {
    let both = [cause(CONTROL, 10 * MS), cause((2, 12), 2_999 * MS)];
    let ring = record(|pen| pen.frame(1, 3_000 * MS, &both));
    assert_eq!((followed(&ring).unrelated, followed(&ring).served, followed(&ring).late), (0, 2, 1));
}

#[test]
fn a_frame_that_begins_with_the_request_serves_it() {
    let ring = record(|pen| {
        pen.ask((REFRESH, 10), 10 * MS);
        pen.frame(1, 10 * MS, &[cause((REFRESH, 10), 10 * MS)]);
        pen.frame(2, 20 * MS, &[cause(TIMER, 20 * MS)]);
    });
    let found = followed(&ring);
    assert_eq!((found.served, found.beside, found.to_start_ns.max, found.to_end_ns.max), (1, 0, 0, 5 * MS));
}

#[test]
fn a_pointer_s_position_in_every_frame_is_no_source_that_never_rests() {
    let ring = record(|pen| pen.caused(0..120, |_| vec![(2, 9), TIMER]));
    assert_eq!((causes(&ring, &places()).always, codes(&ring)), (Vec::new(), vec![]));
}

#[test]
fn a_request_in_front_of_a_hole_is_not_known_unless_the_engine_left_it_out() {
    let ring = |skipped: bool| {
        record(|pen| {
            pen.frame(1, MS, &[cause(TIMER, MS)]);
            pen.ask((REFRESH, 10), 10 * MS);
            let mut events = vec![cause(CONTROL, 900 * MS)];
            if skipped {
                events.push(Event {
                    kind: Kind::Skipped,
                    aux: 2 << 32 | 52,
                    ..Event::span(24, 900 * MS, 900 * MS)
                });
            }
            pen.frame(54, 900 * MS, &events);
        })
    };
    assert_eq!((followed(&ring(false)).unknown, skips::lost(&ring(false))), (1, 52));
    assert_eq!((followed(&ring(true)).unrelated, skips::lost(&ring(true))), (1, 0));
}

#[test]
fn work_beside_the_frame_before_counts_once_and_side_by_side_stages_count_once() {
    let ring = record(|pen| {
        for id in [1_u32, 2, 4] {
            let start = u64::from(id) * 20 * MS;
            // Effects and audio run side by side, from 15 ms before the frame until 2 ms before it.
            let early = |stage: u16, lead: u64| Event::span(stage, start - lead * MS, start - 2 * MS);
            let body = Event::span(2, start, start + 10 * MS);
            pen.frame_until(id, start, start + 10 * MS, &[early(3, 15), early(4, 12), body]);
        }
    });
    let rows: Vec<_> = account(&ring.frames)
        .rows
        .iter()
        .map(|r| (r.floor_ns / MS, r.prologue_ns / MS, r.total_ns))
        .collect();
    let ms = i128::from(MS);
    assert_eq!(
        rows,
        [(0, 13, 23 * ms), (30, 8, 18 * ms), (0, 13, 23 * ms)],
        "frame 4 has no floor: 3 is missing"
    );
}

#[test]
fn what_frames_say_becomes_findings() {
    let ring = record(|pen| {
        for id in [1_u32, 2, 3, 9] {
            let start = u64::from(id) * 500 * MS;
            let took = if id == 1 { 5 } else { 25 };
            let covered = Event::span(2, start, start + took * 9 / 10 * MS);
            let miss =
                Event { kind: Kind::DeadlineMiss, aux: 3 * MS, ..Event::span(19, start, start + took * MS) };
            let events = if id == 1 { vec![covered] } else { vec![covered, miss] };
            pen.frame_until(id, start, start + took * MS, &events);
        }
    });
    let accounted = account(&ring.frames);
    let (slow, covered) = (slow::slow(&ring.frames), coverage(&accounted));
    let misses = ring.frames.iter().flat_map(|f| &f.records).filter(|r| r.kind() == Some(Kind::DeadlineMiss));
    let deadlines = slow::deadlines(misses, &ring.frames, PERIOD);
    assert_eq!((deadlines.missed, deadlines.worst_overrun_ns, deadlines.over_period), (3, 3 * MS, 3));
    assert_eq!((slow.frames, slow.told.len(), slow.told[0].overrun_ns), (3, 2, 3 * MS));
    let list = findings::of_frames(&accounted, &covered, &slow, &deadlines, skips::lost(&ring));
    let found: Vec<_> = list.iter().map(|finding| (finding.code, finding.count)).collect();
    assert_eq!(found, [(code::DEADLINE, 3), (code::SLOW, 3), (code::COVERAGE, 1), (code::LOST, 5)]);
    let quiet = account(&[]);
    assert_eq!(
        findings::of_frames(&quiet, &coverage(&quiet), &slow::slow(&[]), &slow::Deadlines::default(), 0),
        []
    );
}

#[test]
fn each_of_many_requests_in_front_of_a_crowded_frame_is_followed() {
    let ring = record(|pen| {
        (0..2_000).for_each(|_| pen.ask((REFRESH, 10), MS));
        let skip = Event { kind: Kind::Skipped, aux: 3 << 32 | 1, ..Event::span(24, 2 * MS, 2 * MS) };
        let events: Vec<_> =
            (0..2_000).map(|n| if n % 2 == 0 { cause((REFRESH, 11), MS / 2) } else { skip }).collect();
        pen.frame(7, 900 * MS, &events);
    });
    let found = followed(&ring);
    assert_eq!((found.requests, found.unrelated, found.late), (3_000, 2_000, 1_000));
    assert_eq!(found.told.len(), 32, "sixteen of each outcome");
}

/// Records of any content, most of their fields from a few values so that they meet.
fn any_record() -> impl Strategy<Value = Record> {
    let few = || prop_oneof![Just(0_u64), Just(1), Just(u64::MAX), Just(20 * MS), 0_u64..100, any::<u64>()];
    let id = prop_oneof![Just(0_u32), Just(1), Just(u32::MAX), any::<u32>()];
    (few(), few(), id, (0_u16..21, 0_u16..3), (0_u8..12, 0_u16..6), few()).prop_map(
        |(start, end, frame, (stage, device), (kind, flags), aux)| Record {
            ordinal: aux ^ start,
            words: [
                start,
                end,
                u64::from(frame) | u64::from(stage) << 32 | u64::from(device) << 48,
                u64::from(kind) << 8 | u64::from(flags) << 16,
                aux,
            ],
        },
    )
}

fn any_frame() -> impl Strategy<Value = Frame> {
    let records = prop::collection::vec(any_record(), 0..8);
    (any_record(), records).prop_map(|(of, records)| Frame {
        id: of.frame(),
        start_ns: of.start_ns(),
        end_ns: of.end_ns(),
        truncated: false,
        records,
    })
}

/// Spans of a frame: stage, device, start, end.
type Spans = Vec<(u16, u16, u64, u64)>;

fn frames() -> impl Strategy<Value = Vec<Spans>> {
    let one = (1_u16..8, 0_u16..3, 0_u64..3_000, 0_u64..3_000);
    prop::collection::vec(prop::collection::vec(one, 0..30), 1..6)
}

fn written(frames: &[Spans]) -> Ring {
    record(|pen| {
        for (id, spans) in frames.iter().enumerate() {
            let event = |(stage, device, start, end): &(u16, u16, u64, u64)| {
                Event::span(*stage, *start, *end).device(*device, 1)
            };
            let events: Vec<_> = spans.iter().map(event).collect();
            pen.frame_until(id as u32, 1_000, 2_000, &events);
        }
    })
}

fn shares(account: &Account) -> Vec<(u64, u64)> {
    let of = |row: &wireproof_recorder::account::Row| {
        let devices = row.devices.iter().map(|device| (device.covered_ns, device.root_ns));
        std::iter::once((row.covered_ns, row.root_ns)).chain(devices).collect::<Vec<_>>()
    };
    account.rows.iter().flat_map(of).collect()
}

proptest! {
    #[test]
    fn no_content_makes_the_analysis_fail(
        frames in prop::collection::vec(any_frame(), 0..12),
        loose in prop::collection::vec(any_record(), 0..12),
        late in any::<u64>(),
    ) {
        let ring = Ring { frames, loose, ..record(|_| ()) };
        let (found, asked) = (causes(&ring, &places()), requests(&ring, &places(), late));
        let (c, a) = (&found.counts, &asked);
        prop_assert_eq!(c.by_events + c.by_refresh + c.by_other, c.frames);
        prop_assert_eq!(c.frames + found.earlier_frames, ring.frames.len() as u64);
        prop_assert_eq!(a.requests, a.served + a.beside + a.unrelated + a.never + a.unknown);
        let accounted = account(&ring.frames);
        prop_assert!(shares(&accounted).iter().all(|(part, whole)| part <= whole));
        let (covered, slow) = (coverage(&accounted), slow::slow(&ring.frames));
        let deadlines = slow::deadlines([], &ring.frames, late);
        let _ = findings::of_frames(&accounted, &covered, &slow, &deadlines, skips::lost(&ring));
        let _ = findings::of_causes(&found, &asked, &places());
        let told: u64 = slow.told.iter().map(|told| 1 + told.suppressed).sum();
        prop_assert_eq!(told + slow.suppressed, slow.frames);
        prop_assert!(span::range("source..wire_send", &ring.frames, &ring.tables, None).is_ok());
    }

    #[test]
    fn no_share_is_above_the_whole_and_no_union_above_its_sum(list in frames()) {
        let ring = written(&list);
        let accounted = account(&ring.frames);
        for (part, whole) in shares(&accounted) {
            prop_assert!(part <= whole);
        }
        let found = coverage(&accounted);
        for percent in [found.frames, found.devices, found.worst_frame, found.worst_device].into_iter().flatten() {
            prop_assert!((0.0..=100.0).contains(&percent));
        }
        prop_assert!(found.worst_frame <= found.frames && found.worst_device <= found.devices);
        for (row, frame) in accounted.rows.iter().zip(&ring.frames) {
            let early = |stage: u16| accounted.prologue.contains(&stage);
            let lengths = frame.records.iter().filter(|r| r.kind() == Some(Kind::Span) && early(r.stage()));
            let sum: u64 = lengths.map(|r| r.end_ns().saturating_sub(r.start_ns())).sum();
            prop_assert!(row.prologue_ns <= sum);
        }
    }

    #[test]
    fn every_frame_has_exactly_one_cause_whatever_is_recorded(
        list in prop::collection::vec(prop::collection::vec((0_u16..6, 0_u64..60), 0..6), 0..200),
    ) {
        let ring = record(|pen| pen.caused(0..list.len() as u32, |id| list[id as usize].clone()));
        let found = causes(&ring, &places());
        let (c, o) = (&found.counts, &found.other);
        prop_assert_eq!(c.frames, list.len() as u64);
        prop_assert_eq!(c.by_events + c.by_refresh + c.by_other, c.frames);
        prop_assert_eq!(o.timer + o.other + o.unrecorded, c.by_other);
        let requests: u64 = c.places.iter().map(|row| row.requests).sum();
        let asked = list.iter().flatten().filter(|(class, _)| *class == REFRESH).count() as u64;
        prop_assert_eq!(requests + c.places_rest, asked);
    }

    #[test]
    fn every_request_has_exactly_one_outcome(
        asked in prop::collection::vec((2_u16..4, 9_u64..14, 0_u64..40), 0..30),
        frames in prop::collection::vec((0_u64..40, prop::collection::vec((1_u16..5, 9_u64..14, 0_u64..40), 0..4)), 0..20),
    ) {
        let ring = record(|pen| {
            for (class, source, at) in &asked {
                pen.ask((*class, *source), at * 10 * MS);
            }
            for (id, (start, causes)) in frames.iter().enumerate() {
                let causes: Vec<_> = causes.iter().map(|(class, source, at)| cause((*class, *source), at * 10 * MS)).collect();
                pen.frame(id as u32, start * 10 * MS, &causes);
            }
        });
        let found = followed(&ring);
        prop_assert_eq!(found.requests, found.served + found.beside + found.unrelated + found.never + found.unknown);
        prop_assert!(found.late <= found.served);
        prop_assert!(found.to_start_ns.max <= found.to_end_ns.max);
    }
}

#[test]
fn causes_of_a_window_are_those_of_the_frames_whose_times_count_there() {
    let ring = record(|pen| {
        pen.caused(0..10, |id| vec![(REFRESH, 10 + u64::from(id % 2))]);
        pen.caused(10..20, |id| if id == 15 { Vec::new() } else { vec![CONTROL] });
    });
    let window = (4 * PERIOD, 16 * PERIOD + 5 * MS);
    let report = causes_within(&ring, &places(), window, 0);
    let counts = &report.counts;
    assert_eq!((counts.frames, counts.by_events, counts.by_refresh, counts.by_other), (13, 6, 6, 1));
    assert_eq!(report.other.unrecorded, 1);
    let row = |place: &str| PlaceRow { place: place.to_owned(), requests: 3 };
    assert_eq!(counts.places, [row("p10.rs:1"), row("p11.rs:1")]);
    assert_eq!(causes_within(&ring, &places(), window, 1).counts.frames, 11, "the guard cuts both ends");
    assert_eq!(causes_within(&ring, &places(), (0, u64::MAX), 0).counts, causes(&ring, &places()).counts);
}

#[test]
fn counts_of_arms_add_up_and_places_stay_bounded() {
    let row = |id: usize| PlaceRow { place: format!("p{id:02}"), requests: id as u64 };
    let of = |ids: std::ops::Range<usize>| Counts {
        frames: 5,
        by_events: 2,
        by_refresh: 2,
        by_other: 1,
        places: ids.rev().map(row).collect(),
        places_rest: 1,
    };
    let mut all = of(1..31);
    all.add(&of(29..35));
    assert_eq!((all.frames, all.by_events, all.by_refresh, all.by_other), (10, 4, 4, 2));
    assert_eq!(all.places.len(), KEEP);
    // 34 and 33 found room; 32 and 31 did not, beside the one of each that was counted together already.
    assert_eq!(all.places_rest, 2 + 32 + 31);
    let first: Vec<_> = all.places.iter().take(4).map(|p| (p.place.as_str(), p.requests)).collect();
    assert_eq!(first, [("p30", 60), ("p29", 58), ("p34", 34), ("p33", 33)]);
}
