//! Silences at the edges of a window, from tapes made here: one stream beside another, both, and neither.

use super::tape::{self, One, Taped};
use super::tests::{PARTS, PERIOD, START, Taping, noted, plan};
use super::*;
use wireproof_matrices::arm::{Arm, ArmState, FrameSpan, Owners, Place, WireStream};
use wireproof_matrices::levels::Levels;
use wireproof_matrices::metrics::{Count, Event, count};
use wireproof_matrices::plan::Ladder;
use wireproof_protocols::Protocol;
use wireproof_protocols::Timestamp;
use wireproof_protocols::layout::Layouts;
use wireproof_protocols::verify::{DropLayer, HostDrops, Options, Verifier};

const SOURCES: [&str; 2] = ["10.0.0.17:5000", "10.0.0.18:5000"];

/// The DDP stream twice, `a` and `b`, from two addresses of the device.
fn twice() -> Plan {
    let mut plan = plan();
    let mut second = plan.stream[0].clone();
    (second.id, second.source) = ("b".to_owned(), "10.0.0.18".to_owned());
    plan.stream[0].id = "a".to_owned();
    plan.stream.push(second);
    plan
}

/// Both streams in frames 0 to 419 as far as they are kept: by frame, part and stream.
fn taped(keep: impl Fn(u32, u32, usize) -> bool) -> Taping {
    let mut taping = Taping::new();
    for frame in 0..420 {
        for part in 0..PARTS {
            let at = START + i64::from(frame) * PERIOD + i64::from(part) * 50_000;
            for (i, source) in SOURCES.iter().enumerate().filter(|(i, _)| keep(frame, part, *i)) {
                taping.send(at + i as i64, source, frame, part, frame as u8);
            }
        }
    }
    taping
}

fn of(taping: Taping) -> Measured {
    of_plan(&twice(), taping)
}

fn of_plan(plan: &Plan, taping: Taping) -> Measured {
    let (noted, tape) = (noted(), taping.octets());
    let raw = Raw { noted: &noted, tape: &tape, ring: None, places: None, tap: None, counters: &[] };
    measured(plan, &raw).unwrap()
}

/// What the gate `wire.lost` counts.
fn gated(m: &Measured) -> Count {
    let place = Place { stratum: 0, block: 1, position: 1, treatment: 0, attempt: 1 };
    let state = ArmState::Ok;
    let arm = Arm { place, levels: Default::default(), state, notes: Vec::new(), measured: m.clone() };
    count(Event::Lost, &twice(), &arm)
}

/// Lost of both streams, owned by them, of episodes.
fn lost(m: &Measured) -> ([u64; 2], usize) {
    ([m.streams[0].lost, m.streams[1].lost], m.episodes.len())
}

#[test]
fn a_silence_that_lasts_past_the_end_while_the_other_stream_goes_on_is_a_loss_of_what_was_due() {
    let m = of(taped(|frame, _, stream| stream == 0 || !(330..400).contains(&frame)));
    assert_eq!(lost(&m), ([0, 30 * 6], 1));
    assert_eq!(m.streams[1].owners.upstream, 180);
    let e = &m.episodes[0];
    assert_eq!(
        (e.stream.as_str(), e.missing, e.owners.upstream, e.span.end_ns),
        ("b", 180, 180, m.window.end_ns)
    );
    let count = gated(&m);
    assert_eq!((count.events, count.episodes, count.ambiguous), (180, 1, 0));
}

#[test]
fn one_that_never_ends_on_the_tape_is_the_same() {
    let m = of(taped(|frame, _, stream| stream == 1 || frame < 330));
    assert_eq!(lost(&m), ([180, 0], 1));
}

#[test]
fn a_silence_from_before_the_beginning_is_a_loss_of_what_was_due_in_the_window() {
    let m = of(taped(|frame, _, stream| stream == 1 || !(30..80).contains(&frame)));
    assert_eq!(lost(&m), ([20 * 6, 0], 1));
    assert_eq!(m.episodes[0].span.start_ns, m.window.start_ns);
}

#[test]
fn a_stream_that_is_silent_all_through_the_window_has_lost_all_of_it() {
    let m = of(taped(|frame, _, stream| stream == 0 || frame < 30));
    assert_eq!(lost(&m), ([0, 300 * 6], 1));
    assert_eq!((gated(&m).events, gated(&m).ambiguous), (1_800, 0));
}

#[test]
fn where_nothing_goes_on_nothing_is_lost() {
    let m = of(taped(|frame, _, _| frame < 330));
    assert_eq!(lost(&m), ([0, 0], 0));
    let m = of(taped(|frame, _, _| !(40..80).contains(&frame)));
    assert_eq!(lost(&m), ([0, 0], 0));
}

#[test]
fn no_more_is_lost_than_the_device_is_known_to_have_made() {
    let m = of(taped(|frame, _, stream| frame < if stream == 0 { 340 } else { 330 }));
    assert_eq!(lost(&m), ([0, 60], 1), "the other one stopped, too, 10 frames later");
    let m = of(taped(|frame, _, stream| frame < if stream == 0 { 331 } else { 330 }));
    assert_eq!(lost(&m), ([0, 0], 0), "one frame is no going on");
}

#[test]
fn two_periods_at_an_edge_are_how_frames_lie() {
    let m = of(taped(|frame, _, stream| stream == 0 || ![60, 61, 358, 359].contains(&frame)));
    assert_eq!(lost(&m), ([0, 0], 0));
}

#[test]
fn a_clean_run_lost_nothing_whatever_the_window_cuts() {
    for shift in 0..40 {
        let mut noted = noted();
        noted.window.start_ns += shift * PERIOD / 40;
        noted.window.end_ns += shift * PERIOD / 37;
        let tape = taped(|_, _, _| true).octets();
        let raw = Raw { noted: &noted, tape: &tape, ring: None, places: None, tap: None, counters: &[] };
        assert_eq!(lost(&measured(&twice(), &raw).unwrap()), ([0, 0], 0), "{shift}");
    }
}

#[test]
fn what_this_host_dropped_in_it_is_the_observers_and_each_drop_counts_once() {
    let with = |port: Option<u16>| {
        let mut taping = taped(|frame, _, stream| stream == 0 || frame < 330);
        let at = |frame: i64| Timestamp(START + frame * PERIOD);
        let drops = HostDrops { layer: DropLayer::Socket, port, from: at(330), to: at(359), count: 100 };
        taping.encoder.drops(&drops, &mut taping.slots);
        of(taping).streams[1].owners
    };
    assert_eq!((with(Some(4048)).observer, with(Some(4048)).upstream), (100, 80));
    assert_eq!((with(None).observer, with(None).upstream), (100, 80));
    assert_eq!((with(Some(9)).observer, with(Some(9)).upstream), (0, 180), "of another socket");
}

#[test]
fn a_stream_that_the_device_does_not_send_at_this_level_loses_nothing() {
    let mut plan = twice();
    plan.stream[1].from_level = Some(2);
    plan.ladder = Some(Ladder { factor: "n".to_owned(), arms_per_step: 2, alpha_ppm: 50_000 });
    let tape = taped(|frame, _, stream| stream == 0 || frame < 200).octets();
    let at = |level: &str| {
        let place = Place { stratum: 0, block: 1, position: 1, treatment: 0, attempt: 1 };
        let levels = [("n".to_owned(), level.to_owned())].into();
        let order = ArmOrder { place, levels, measure_ns: 0, drains_ns: Vec::new(), drain: None };
        let noted = Noted { order: Some(order), ..noted() };
        let raw = Raw { noted: &noted, tape: &tape, ring: None, places: None, tap: None, counters: &[] };
        measured(&plan, &raw).unwrap().streams[1].lost
    };
    assert_eq!((at("1"), at("2")), (0, 160 * 6));
}

/// Universes 1 and 2 of sACN with numbers of their own, in frames 0 to 419 as far as they are kept.
fn universes(group: bool, keep: impl Fn(i64, u32) -> bool, number: impl Fn(i64) -> u32) -> WireStream {
    let mut plan = plan();
    let stream = &mut plan.stream[0];
    (stream.protocol, stream.listen) = ("sacn".to_owned(), "0.0.0.0:5568".to_owned());
    (stream.universes, stream.datagrams_per_frame, stream.seq_modulus) = ("1-2".to_owned(), 2, 256);
    let one = |frame: i64, universe: u32| One {
        at_ns: START + frame * PERIOD + i64::from(universe),
        source: "10.0.0.17:5000".parse().unwrap(),
        destination: if group { "239.255.0.1:5568" } else { "10.0.0.9:5568" }.parse().unwrap(),
        protocol: Some(Protocol::Sacn),
        stream: universe,
        offset: 0,
        number: Some(number(frame) % 256),
        data: true,
        copy: false,
        well_formed: true,
        digest: 0,
    };
    let all = (0..420).flat_map(|frame| [(frame, 1), (frame, 2)]).filter(|(frame, of)| keep(*frame, *of));
    let taped = Taped {
        datagrams: all.map(|(frame, of)| one(frame, of)).collect(),
        account: Verifier::new(Options::default()).finish(),
        steps: Vec::new(),
        drops: Vec::new(),
        left_out: 0,
        blind: Vec::new(),
    };
    let mut m = Measured { window: noted().window, ..Measured::default() };
    wire::measure(&plan, &Levels::new(), &taped, None, &mut m);
    m.streams.remove(0)
}

#[test]
fn a_universe_that_falls_silent_beside_the_others_is_held_against_them_and_its_numbers() {
    let gone = |frame: i64, of: u32| of == 1 || !(330..400).contains(&frame);
    let all = universes(false, |_, _| true, |frame| frame as u32);
    assert_eq!((all.lost, all.owners), (0, Owners::default()));
    let lost = universes(false, gone, |frame| frame as u32);
    assert_eq!((lost.lost, lost.owners.upstream), (30, 30));
    let waited = universes(false, gone, |frame| if frame < 400 { frame as u32 } else { frame as u32 - 70 });
    assert_eq!(waited.lost, 0, "its numbers go on where they stopped: none was sent");
}

#[test]
fn a_group_that_never_came_again_may_have_been_left_by_this_host() {
    let gone = |frame: i64, of: u32| of == 1 || frame < 330;
    let group = universes(true, gone, |frame| frame as u32);
    assert_eq!((group.lost, group.owners.ambiguous, group.owners.upstream), (30, 30, 0));
    let unicast = universes(false, gone, |frame| frame as u32);
    assert_eq!((unicast.lost, unicast.owners.ambiguous, unicast.owners.upstream), (30, 0, 30));
    let back = universes(true, |frame, of| gone(frame, of) || frame > 400, |frame| frame as u32);
    assert_eq!((back.lost, back.owners.ambiguous, back.owners.upstream), (30, 0, 30));
}

#[test]
fn frames_of_the_ring_show_that_the_device_went_on() {
    let mut taping = Taping::new();
    taping.frames(0..330, |_, _| true);
    let (noted, tape) = (noted(), taping.octets());
    let taped = tape::read(&tape, noted.window, Layouts::default(), None).unwrap();
    let window = noted.window;
    let frame = |i: i64| FrameSpan {
        id: i as u32,
        span: Span { start_ns: 7 + i * PERIOD, end_ns: 7 + i * PERIOD + 5_000_000 },
    };
    let with = |frames: i64| {
        let device = Span { start_ns: 60 * PERIOD, end_ns: 360 * PERIOD };
        let mut m = Measured {
            window,
            device_window: Some(device),
            frames: (0..frames).map(frame).collect(),
            clock_error_ns: 1_000,
            ..Measured::default()
        };
        wire::measure(&plan(), &Levels::new(), &taped, None, &mut m);
        m.streams[0].lost
    };
    assert_eq!((with(420), with(340), with(331), with(0)), (180, 60, 0, 0));
}
