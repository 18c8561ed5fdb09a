//! Windows cut by capture timestamps, frames by their places, losses by owner, all from tapes made here.

use super::*;
use std::net::SocketAddr;
use wireproof_matrices::plan::*;
use wireproof_protocols::verify::{DropLayer, HostDrops, Options, Verifier};
use wireproof_protocols::{Arrival, Datagram, Timestamp};
use wireproof_reports::tape::{Encoder, Sealer, Totals};

pub(super) const PERIOD: i64 = 16_666_667;
pub(super) const PARTS: u32 = 6;
pub(super) const START: i64 = 1_700_000_000_000_000_000;

/// A tape of DDP frames; `change` may drop a datagram (`None`) or move it.
pub(super) struct Taping {
    verifier: Verifier,
    pub(super) encoder: Encoder,
    pub(super) slots: Vec<u8>,
    packets: u64,
}

impl Taping {
    pub(super) fn new() -> Taping {
        let verifier = Verifier::new(Options::default());
        Taping { verifier, encoder: Encoder::with_digests(), slots: Vec::new(), packets: 0 }
    }

    pub(super) fn send(&mut self, at: i64, source: &str, frame: u32, part: u32, shows: u8) {
        let push = u8::from(part + 1 == PARTS);
        let number = ((frame * PARTS + part) % 15) as u8 + 1;
        let mut payload = vec![0x40 | push, number, 0x0b, 1];
        payload.extend_from_slice(&(part * 30).to_be_bytes());
        payload.extend_from_slice(&30_u16.to_be_bytes());
        payload.extend_from_slice(&[shows; 30]);
        let source: SocketAddr = source.parse().unwrap();
        let d = Datagram::new(source, "10.0.0.9:4048".parse().unwrap(), &payload);
        self.packets += 1;
        let arrival = Arrival { at: Timestamp(at), packet: self.packets };
        let noted = self.verifier.on_datagram_noted(arrival, &d).unwrap();
        self.encoder.datagram(arrival, &d, &noted, self.verifier.faults().as_slice(), &mut self.slots);
    }

    pub(super) fn frames(&mut self, frames: std::ops::Range<u32>, keep: impl Fn(u32, u32) -> bool) {
        for frame in frames {
            for part in (0..PARTS).filter(|part| keep(frame, *part)) {
                let at = START + i64::from(frame) * PERIOD + i64::from(part) * 50_000;
                self.send(at, "10.0.0.17:5000", frame, part, frame as u8);
            }
        }
    }

    fn drops(&mut self, frame: u32, count: u64) {
        let at = |frame: u32| Timestamp(START + i64::from(frame) * PERIOD);
        let (from, to) = (at(frame), at(frame + 1));
        let drops = HostDrops { layer: DropLayer::Socket, port: Some(4048), from, to, count };
        self.encoder.drops(&drops, &mut self.slots);
    }

    pub(super) fn octets(mut self) -> Vec<u8> {
        self.encoder.finish(&mut self.slots);
        let (mut octets, mut sealer) = (Sealer::header(START), Sealer::default());
        sealer.seal(&self.slots, &mut octets);
        sealer.end(&Totals { datagrams: self.encoder.datagrams, ..Totals::default() }, &mut octets);
        octets
    }
}

pub(crate) fn plan() -> Plan {
    let stream = PlanStream {
        from_level: None,
        id: "ddp".to_owned(),
        protocol: "ddp".to_owned(),
        listen: "0.0.0.0:4048".to_owned(),
        source: "10.0.0.17".to_owned(),
        universes: String::new(),
        datagrams_per_frame: PARTS,
        seq_modulus: 15,
    };
    Plan {
        schema: 1,
        name: "t".to_owned(),
        purpose: String::new(),
        target: Target {
            base_url: "http://10.0.0.17".to_owned(),
            status: "/v1/status".to_owned(),
            profile: None,
            auth: None,
            expected_fps: 60,
            require: Default::default(),
        },
        layout: Vec::new(),
        stream: vec![stream],
        factor: Vec::new(),
        design: Design {
            blocks: 1,
            seed: 1,
            order: "balanced-blocks-1".to_owned(),
            max_invalid_repeats: 2,
            looks: Vec::new(),
        },
        timing: Timing {
            warmup_ns: 0,
            settle_ns: 0,
            measure_ns: 0,
            guard_ns: 50_000_000,
            arm_deadline_ns: 0,
        },
        drain: None,
        toggle: Vec::new(),
        gate: Vec::new(),
        validity: Validity {
            max_loop_gap_ns: None,
            fps_tolerance_ppm: 5_000,
            min_hold_ns: 0,
            clock_step_ns: 1_000_000,
        },
        evidence: Evidence { dir: String::new(), pcap: Pcap::None, min_free_bytes: 0 },
        ladder: None,
    }
}

/// The window holds the beginnings of frames 60 to 359.
pub(super) fn noted() -> Noted {
    let window = Span { start_ns: START + 60 * PERIOD - 3, end_ns: START + 360 * PERIOD - 3 };
    Noted { window, ..Noted::default() }
}

fn of(tape: &[u8], noted: &Noted) -> Measured {
    measured(&plan(), &Raw { noted, tape, ring: None, places: None, tap: None, counters: &[] }).unwrap()
}

#[test]
fn a_clean_window_has_its_frames_its_rate_and_one_digest_a_picture() {
    let mut taping = Taping::new();
    taping.frames(0..420, |_, _| true);
    let m = of(&taping.octets(), &noted());
    let stream = &m.streams[0];
    assert_eq!((stream.datagrams, stream.frames, stream.lost, stream.shape), (1_800, 300, 0, 0));
    assert_eq!((stream.first_ns, stream.last_ns), (START + 60 * PERIOD, START + 359 * PERIOD));
    assert_eq!(stream.jitter_ns, [PERIOD as u64; 3]);
    assert_eq!((stream.payload.len(), stream.payload.values().sum::<u64>()), (256, 300));
    assert!(m.episodes.is_empty() && m.health.lost == 0 && !m.ring);
}

#[test]
fn what_is_lost_outside_the_window_does_not_count() {
    let mut taping = Taping::new();
    taping.frames(0..420, |frame, part| !([30, 390].contains(&frame) && part == 2));
    let m = of(&taping.octets(), &noted());
    assert_eq!((m.streams[0].lost, m.streams[0].frames, m.episodes.len()), (0, 300, 0));
}

#[test]
fn a_lost_first_datagram_costs_no_frame_and_is_an_episode_of_the_wire() {
    let mut taping = Taping::new();
    taping.frames(0..420, |frame, part| !(frame == 200 && part == 0));
    let m = of(&taping.octets(), &noted());
    let stream = &m.streams[0];
    assert_eq!((stream.frames, stream.lost, stream.owners.upstream), (300, 1, 1));
    assert_eq!(stream.payload.values().sum::<u64>(), 299, "the torn frame has no digest");
    assert_eq!(m.episodes.len(), 1);
    let e = &m.episodes[0];
    assert_eq!((e.missing, e.owners.upstream), (1, 1));
    assert!(e.span.start_ns < START + 200 * PERIOD && e.span.end_ns > START + 200 * PERIOD);
}

#[test]
fn what_the_socket_counted_is_the_observers_and_counts_in_the_window_only() {
    let mut taping = Taping::new();
    taping.frames(0..200, |frame, part| !(frame == 100 && part > 2));
    taping.drops(100, 3);
    taping.frames(200..420, |_, _| true);
    let octets = taping.octets();
    let m = of(&octets, &noted());
    assert_eq!((m.streams[0].lost, m.streams[0].owners.observer, m.health.lost), (3, 3, 3));
    let later = Span { start_ns: START + 120 * PERIOD, end_ns: START + 400 * PERIOD };
    let m = of(&octets, &Noted { window: later, ..Noted::default() });
    assert_eq!((m.streams[0].lost, m.health.lost), (0, 0));
}

#[test]
fn another_source_is_foreign_and_no_part_of_the_stream() {
    let mut taping = Taping::new();
    taping.frames(0..200, |_, _| true);
    taping.send(START + 200 * PERIOD - 1_000, "10.0.0.99:5000", 7, 0, 1);
    taping.frames(200..420, |_, _| true);
    let m = of(&taping.octets(), &noted());
    let stream = &m.streams[0];
    assert_eq!((stream.foreign, stream.datagrams, stream.frames, stream.lost), (1, 1_800, 300, 0));
}

/// Two programs on one host: the address says nothing, and what one of them left out is no loss of the other.
#[test]
fn another_port_that_takes_turns_is_foreign_and_one_that_follows_is_a_restart() {
    let mut taping = Taping::new();
    taping.frames(0..200, |_, _| true);
    for frame in 200..260 {
        taping.frames(frame..frame + 1, |_, _| true);
        let at = START + i64::from(frame) * PERIOD + 400_000;
        let parts = (0..PARTS).filter(|part| frame % 7 != 3 || *part > 2);
        parts.for_each(|part| taping.send(at, "10.0.0.17:5001", frame, part, 1));
    }
    taping.frames(260..420, |_, _| true);
    let m = of(&taping.octets(), &noted());
    assert_eq!((m.streams[0].datagrams, m.streams[0].frames), (1_800, 300));
    assert!(m.streams[0].foreign > 300, "{}", m.streams[0].foreign);
    let mut taping = Taping::new();
    taping.frames(0..200, |_, _| true);
    for frame in 200..420 {
        let at = START + i64::from(frame) * PERIOD;
        (0..PARTS).for_each(|part| taping.send(at, "10.0.0.17:5001", frame, part, frame as u8));
    }
    assert_eq!(of(&taping.octets(), &noted()).streams[0].foreign, 0);
}

#[test]
fn a_cut_tape_and_one_without_digests_are_refused() {
    let mut taping = Taping::new();
    taping.frames(0..10, |_, _| true);
    let whole = taping.octets();
    let cut = &whole[..whole.len() - 64];
    let raw = |tape| {
        measured(&plan(), &Raw { noted: &noted(), tape, ring: None, places: None, tap: None, counters: &[] })
    };
    assert!(matches!(raw(cut), Err(TapeError::Damaged(_))));
    let mut taping = Taping { encoder: Encoder::default(), ..Taping::new() };
    taping.frames(0..10, |_, _| true);
    assert_eq!(raw(&taping.octets()), Err(TapeError::Digests { datagrams: 60, digests: 0 }));
}

#[test]
fn drains_move_to_both_clocks_by_the_middle_of_both_samples() {
    let mut taping = Taping::new();
    taping.frames(0..420, |_, _| true);
    let sample = |offset_ns| Some(ClockSample { offset_ns, error_ns: 10 });
    let drain = ArmDrain {
        planned_ns: 5,
        bench: Span { start_ns: 100, end_ns: 200 },
        device: Span::default(),
        real: true,
        failed: None,
        bytes: 9,
        sha256: None,
    };
    let noted = Noted { ahead_ns: 1_000, clock: [sample(40), sample(60)], drains: vec![drain], ..noted() };
    let m = of(&taping.octets(), &noted);
    assert_eq!((m.clock_drift_ns, m.clock_error_ns), (20, 10));
    assert_eq!(m.drains[0].bench, Span { start_ns: 1_100, end_ns: 1_200 });
    assert_eq!(m.drains[0].device, Span { start_ns: 150, end_ns: 250 });
    assert_eq!(m.device_window.unwrap().start_ns, noted.window.start_ns - 950);
}

#[test]
fn steps_of_the_clock_and_sleep_show_between_two_readings_around_the_window() {
    let mut taping = Taping::new();
    taping.frames(0..420, |_, _| true);
    let noted = noted();
    let row = |ms: i64| Row {
        at_ns: noted.window.start_ns + ms * 1_000_000,
        steady_ns: ms * 1_000_000,
        ..Row::default()
    };
    let mut rows: Vec<Row> = (-10..70).map(|i| row(i * 100)).collect();
    rows[2].at_ns += 50_000_000;
    let octets = taping.octets();
    let with = |rows: &[Row]| {
        measured(
            &plan(),
            &Raw { noted: &noted, tape: &octets, ring: None, places: None, tap: None, counters: rows },
        )
    };
    assert_eq!(with(&rows).unwrap().health.clock_steps_ns, Vec::<i64>::new(), "before the window");
    rows[20..].iter_mut().for_each(|row| row.at_ns += 2_000_000);
    rows[30..].iter_mut().for_each(|row| row.asleep_ns += 2_000_000_000);
    rows[40..].iter_mut().for_each(|row| row.nic_dropped = Some(7));
    rows[..40].iter_mut().for_each(|row| row.nic_dropped = Some(4));
    let health = with(&rows).unwrap().health;
    assert_eq!((health.clock_steps_ns, health.suspended, health.host_drops), (vec![2_000_000], true, 3));
}

/// The owners of three datagrams that the sockets did not see and no counter explains, beside a tap.
fn beside_tap(tap: Taping) -> wireproof_matrices::arm::Owners {
    let mut taping = Taping::new();
    taping.frames(0..420, |frame, part| !(frame == 200 && part > 2));
    let (tape, tap) = (taping.octets(), tap.octets());
    let noted = noted();
    let raw = Raw { noted: &noted, tape: &tape, ring: None, places: None, tap: Some(&tap), counters: &[] };
    let m = measured(&plan(), &raw).unwrap();
    assert_eq!((m.streams[0].lost, m.episodes.len()), (3, 1));
    m.streams[0].owners
}

fn tap_of(frames: std::ops::Range<u32>, keep: impl Fn(u32, u32) -> bool) -> Taping {
    let mut tap = Taping { encoder: Encoder::default(), ..Taping::new() };
    tap.frames(frames, keep);
    tap
}

#[test]
fn what_the_tap_saw_and_the_sockets_did_not_is_the_observers() {
    let owners = beside_tap(tap_of(0..420, |_, _| true));
    assert_eq!((owners.observer, owners.upstream), (3, 0));
}

#[test]
fn what_the_tap_did_not_see_either_was_lost_upstream() {
    let owners = beside_tap(tap_of(0..420, |frame, part| !(frame == 200 && part > 2)));
    assert_eq!((owners.observer, owners.upstream), (0, 3));
    let owners = beside_tap(tap_of(0..420, |frame, part| !(frame == 200 && part > 4)));
    assert_eq!((owners.observer, owners.upstream), (2, 1), "it saw two of them");
}

#[test]
fn a_tap_that_dropped_or_was_gone_says_nothing_of_that_time() {
    let mut tap = tap_of(0..201, |frame, part| !(frame == 200 && part > 4));
    let at = |frame: u32| Timestamp(START + i64::from(frame) * PERIOD);
    let drops = HostDrops { layer: DropLayer::Ring, port: None, from: at(200), to: at(201), count: 1 };
    tap.encoder.drops(&drops, &mut tap.slots);
    tap.frames(201..420, |_, _| true);
    let owners = beside_tap(tap);
    assert_eq!((owners.observer, owners.upstream), (0, 3), "its drops are in that interval");
    let mut tap = tap_of(0..101, |frame, part| !(frame == 100 && part > 4));
    let drops = HostDrops { from: at(100), to: at(101), ..drops };
    tap.encoder.drops(&drops, &mut tap.slots);
    tap.frames(101..420, |_, _| true);
    let owners = beside_tap(tap);
    assert_eq!((owners.observer, owners.upstream), (3, 0), "its drops are elsewhere");
    let owners = beside_tap(tap_of(0..200, |_, _| true));
    assert_eq!((owners.observer, owners.upstream), (0, 3), "it ended before");
}

#[test]
fn a_damaged_tape_of_the_tap_is_told_as_that() {
    let mut taping = Taping::new();
    taping.frames(0..10, |_, _| true);
    let (tape, noted) = (taping.octets(), noted());
    let tap = Some(&tape[..tape.len() - 64]);
    let raw = Raw { noted: &noted, tape: &tape, ring: None, places: None, tap, counters: &[] };
    assert!(matches!(measured(&plan(), &raw), Err(TapeError::Tap(_))));
}

#[test]
fn the_intervals_beside_the_figures_are_those_that_the_figures_come_from() {
    let mut taping = Taping::new();
    taping.frames(0..420, |_, _| true);
    let (tape, noted) = (taping.octets(), noted());
    let raw = Raw { noted: &noted, tape: &tape, ring: None, places: None, tap: None, counters: &[] };
    let worked = worked(&plan(), &raw).unwrap();
    assert_eq!(worked.intervals, [("ddp".to_owned(), vec![PERIOD as u64; 299])]);
    assert_eq!((worked.causes, worked.measured.streams[0].frames), (None, 300));
}
