//! What the verifier means by its words, one small capture each.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests count as tests"
)]

mod wire;

use wire::account::{found, has, only, sequence};
use wire::capture::{Data, FRAME, MS, START, Wire, sync};
use wireproof_protocols::verify::{Account, Ended};
use wireproof_protocols::{Arrival, Checksum, Severity, Timestamp};

// ---- numbers

#[test]
fn a_late_datagram_is_neither_lost_nor_a_duplicate() {
    let mut w = Wire::sacn();
    w.numbers(0..30).numbers([31, 30]).numbers(32..50);
    let a = w.finish();
    assert_eq!(sequence(&a), (0, 0, 1, 0, 0));
    assert!(has(&a, "SEQ-LATE") && !has(&a, "SEQ-LOST") && !has(&a, "SEQ-DUPLICATE"));
    assert_eq!(a.outputs[0].frames.torn, 0);
}

#[test]
fn a_late_datagram_that_comes_twice_is_late_once_and_a_duplicate_once() {
    let mut w = Wire::sacn();
    w.numbers(0..30).numbers([31, 30, 30]).numbers(32..50);
    assert_eq!(sequence(&w.finish()), (0, 0, 1, 0, 1));
}

#[test]
fn a_duplicate_does_not_cancel_a_loss() {
    let mut w = Wire::sacn();
    w.numbers(0..30).numbers(31..40).numbers([39]).numbers(40..60);
    let a = w.finish();
    assert_eq!(sequence(&a), (1, 1, 0, 0, 1));
    assert_eq!(only(&a).owners.unknown, 1);
}

/// The worked case counts short lists; here they stand in a stream that is known already.
#[test]
fn the_worked_case_of_accounting_counts_sets_and_does_not_subtract() {
    let case: serde_json::Value =
        serde_json::from_str(include_str!("cases/sequence_accounting.json")).unwrap();
    let lists = [("first", &case["input"]), ("second", &case["input"]["second"])];
    for (name, list) in lists {
        let number = |v: &serde_json::Value| 29 + v.as_u64().unwrap() as u8;
        let received: Vec<u8> = list["received"].as_array().unwrap().iter().map(number).collect();
        let mut w = Wire::sacn();
        w.numbers(0..number(&list["first"])).numbers(received).numbers(number(&list["last"]) + 1..60);
        let expected = |key: &str| case["expected"][name][key].as_u64().unwrap();
        let (lost, late, duplicates) = (expected("lost"), expected("reordered"), expected("duplicates"));
        assert_eq!(sequence(&w.finish()), (lost, lost, late, 0, duplicates), "{name}");
    }
}

#[test]
fn a_number_from_before_the_first_is_old() {
    let mut w = Wire::sacn();
    w.numbers([100, 101, 98]).numbers(102..130);
    let a = w.finish();
    assert_eq!(sequence(&a), (0, 0, 0, 1, 0));
    assert!(!has(&a, "SEQ-LATE"));
}

#[test]
fn duplicates_with_the_same_and_with_another_payload_are_told_apart() {
    let mut w = Wire::sacn();
    w.numbers(0..30).numbers([29]);
    w.send(&Data { content: 222, ..Data::numbered(29) }.octets()).wait(FRAME).numbers(30..50);
    let a = w.finish();
    assert_eq!(sequence(&a).4, 2);
    let texts: Vec<&str> = found(&a, "SEQ-DUPLICATE").iter().map(|f| f.text.as_str()).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[1].contains("another payload"), "{texts:?}");
}

/// Sends number 30 twice, `apart` ns from each other, with this IP id.
fn twice(apart: i64, ip_id: Option<u16>) -> Account {
    let mut w = Wire::sacn();
    w.numbers(0..30);
    w.link.ip_id = ip_id;
    w.send(&Data::numbered(30).octets()).wait(apart).send(&Data::numbered(30).octets());
    w.link.ip_id = None;
    w.wait(FRAME).numbers(31..40);
    w.finish()
}

#[test]
fn a_copy_made_by_the_capture_is_counted_apart_within_five_milliseconds_only() {
    let near = twice(5 * MS, Some(700));
    assert_eq!((near.datagrams.capture_duplicates, sequence(&near).4), (1, 0));
    assert_eq!((near.datagrams.lighting, only(&near).datagrams), (41, 40));
    assert!(has(&near, "CAP-DUPLICATE") && !has(&near, "SEQ-DUPLICATE"));
    for other in [twice(5 * MS + 1, Some(700)), twice(MS, Some(0)), twice(MS, None)] {
        assert_eq!((other.datagrams.capture_duplicates, sequence(&other).4), (0, 1));
    }
}

#[test]
fn a_wrap_from_255_to_1_seen_twice_is_a_habit_and_no_loss() {
    let mut w = Wire::sacn();
    w.numbers(200..=255).numbers(1..=255).numbers(1..=255);
    let a = w.finish();
    assert_eq!(sequence(&a), (0, 0, 0, 0, 0));
    assert_eq!(found(&a, "SEQ-DIALECT")[0].severity, Severity::Info);
    assert_eq!(a.outputs[0].frames.torn, 0);
}

#[test]
fn a_wrap_from_255_to_1_seen_once_is_a_loss_of_one() {
    let mut w = Wire::sacn();
    w.numbers(200..=255).numbers(1..=100);
    assert_eq!(sequence(&w.finish()), (1, 1, 0, 0, 0));
    let mut w = Wire::sacn();
    w.numbers(200..=255).numbers(1..=255).numbers(0..=100);
    assert_eq!(sequence(&w.finish()), (1, 1, 0, 0, 0));
}

#[test]
fn a_zero_that_comes_late_after_the_wrap_is_late_and_not_lost() {
    let mut w = Wire::sacn();
    w.numbers(200..=255).numbers([1, 0]).numbers(2..=100);
    assert_eq!(sequence(&w.finish()), (0, 0, 1, 0, 0));
}

#[test]
fn levels_and_per_address_priorities_share_one_counter() {
    let mut w = Wire::sacn();
    for n in 0..80u8 {
        w.send(&Data { start_code: if n % 4 == 3 { 0xdd } else { 0 }, ..Data::numbered(n) }.octets());
        w.wait(FRAME);
    }
    let a = w.finish();
    assert_eq!(sequence(&a), (0, 0, 0, 0, 0));
    assert_eq!(only(&a).start_codes, [0, 0xdd]);
    assert_eq!(a.outputs[0].frames.torn, 0);
}

// ---- sessions

#[test]
fn after_three_goodbyes_any_number_begins_a_session_and_nothing_is_lost() {
    for (goodbyes, severity) in [(3u8, Severity::Info), (2, Severity::Warning), (4, Severity::Warning)] {
        let mut w = Wire::sacn();
        w.numbers(0..30);
        for n in 30..30 + goodbyes {
            w.send(&Data { options: 0x40, ..Data::numbered(n) }.octets()).wait(FRAME);
        }
        w.numbers(200..230);
        let a = w.finish();
        assert_eq!(sequence(&a), (0, 0, 0, 0, 0));
        assert_eq!((only(&a).sessions, only(&a).sequence.restarts), (2, 1));
        assert_eq!(found(&a, "STREAM-ENDED")[0].severity, severity, "{goodbyes} goodbyes");
        assert_eq!(found(&a, "SEQ-RESTART")[0].severity, Severity::Info);
        assert_eq!(only(&a).ended, Ended::Running);
    }
}

#[test]
fn a_stream_that_ends_with_a_goodbye_is_terminated() {
    let mut w = Wire::sacn();
    w.numbers(0..30);
    (30..33).for_each(|n| {
        w.send(&Data { options: 0x40, ..Data::numbered(n) }.octets()).wait(FRAME);
    });
    let a = w.finish();
    assert_eq!((only(&a).ended, only(&a).sessions, a.outputs[0].causes.goodbye), (Ended::Terminated, 1, 1));
}

#[test]
fn a_silence_over_two_and_a_half_seconds_ends_a_session() {
    for (silence, sessions) in [(2_400 * MS, 1), (2_600 * MS, 2)] {
        let mut w = Wire::sacn();
        w.numbers(0..40).wait(silence - FRAME).numbers(40..60);
        let a = w.finish();
        assert_eq!(sequence(&a), (0, 0, 0, 0, 0), "{silence}");
        assert_eq!(only(&a).sessions, sessions, "{silence}");
        assert_eq!(has(&a, "STREAM-SILENT"), sessions == 2, "{silence}");
    }
}

#[test]
fn a_stream_is_silent_when_the_capture_goes_on_and_running_when_it_does_not() {
    for (rest, ended) in [(2_400, Ended::Running), (2_600, Ended::Silent)] {
        let mut w = Wire::sacn();
        w.numbers(0..40).wait(rest * MS - FRAME);
        w.verifier.on_packet(Arrival { at: Timestamp(w.at), packet: 41 });
        let a = w.finish();
        assert_eq!(only(&a).ended, ended, "{rest} ms");
        assert_eq!(has(&a, "STREAM-SILENT"), ended == Ended::Silent);
    }
}

#[test]
fn a_stream_is_silent_when_the_run_went_on_without_any_packet() {
    for (rest, ended) in [(2_400, Ended::Running), (2_600, Ended::Silent), (-5_000, Ended::Running)] {
        let mut w = Wire::sacn();
        w.numbers(0..40);
        w.verifier.on_end(Timestamp(w.at - FRAME + rest * MS));
        let a = w.finish();
        assert_eq!(only(&a).ended, ended, "{rest} ms");
        assert_eq!(has(&a, "STREAM-SILENT"), ended == Ended::Silent);
    }
}

// ---- frames

/// Thirty frames of universes 1 and 2 with this sync address; `sent` says which of universe 1, universe 2 and
/// the sync packet of a frame reach the capture.
fn frames(address: u16, sent: impl Fn(u8) -> [bool; 3]) -> Account {
    let mut w = Wire::sacn();
    for n in 0..30 {
        let [one, two, end] = sent(n);
        let data = Data { sync: address, ..Data::numbered(n) };
        for (_, universe) in [(one, 1), (two, 2)].iter().filter(|(there, _)| *there) {
            w.send(&Data { universe: *universe, ..data }.octets()).wait(MS / 10);
        }
        if end {
            w.send(&sync(n, address));
        }
        w.at = START + (i64::from(n) + 1) * FRAME;
    }
    w.finish()
}

#[test]
fn a_frame_without_one_of_its_universes_is_torn_and_named() {
    let a = frames(0, |n| [true, n != 12, false]);
    let f = a.outputs[0].frames;
    assert_eq!((f.seen, f.complete, f.torn, f.unterminated), (30, 29, 1, 0));
    assert_eq!(found(&a, "FRAME-TORN")[0].frames, [12]);
    assert_eq!(found(&a, "SEQ-LOST")[0].frames, [12]);
    assert_eq!((a.streams[0].sequence.lost, a.streams[1].sequence.lost), (0, 1));
    assert_eq!((a.streams[0].frames.torn, a.streams[1].frames.torn), (0, 1));
}

#[test]
fn synchronised_frames_end_in_one_of_four_ways() {
    let a = frames(7, |n| [true, n != 12 && n != 18, n != 18 && n != 24]);
    let s = a.outputs[0].sync;
    assert_eq!((s.explicit, s.missed, s.all_data, s.timeout), (27, 1, 1, 1));
    assert!(!has(&a, "SYNC-MISSING") && !has(&a, "SYNC-ORPHAN"));
}

#[test]
fn sync_nobody_asked_for_is_an_orphan_and_sync_that_never_comes_is_missing() {
    let missing = frames(7, |_| [true, true, false]);
    assert!(has(&missing, "SYNC-MISSING") && !has(&missing, "SYNC-ORPHAN"));
    let mut w = Wire::sacn();
    (0..30).for_each(|n| {
        w.numbers([n]).send(&sync(n, 9));
    });
    let orphan = w.finish();
    assert!(has(&orphan, "SYNC-ORPHAN") && !has(&orphan, "SYNC-MISSING"));
}

#[test]
fn a_pause_is_a_gap_in_time_only_when_no_number_is_missing() {
    let mut w = Wire::sacn();
    w.numbers(0..40).wait(2 * FRAME).numbers(40..60);
    let a = w.finish();
    assert!(has(&a, "TIME-GAP") && !has(&a, "SEQ-LOST"));
    let mut w = Wire::sacn();
    w.numbers(0..40).wait(2 * FRAME).numbers(42..60);
    let a = w.finish();
    assert!(!has(&a, "TIME-GAP") && has(&a, "SEQ-LOST"));
    assert_eq!(sequence(&a), (2, 2, 0, 0, 0));
}

/// Sends `n` frames `apart` ns from each other; every `change`th brings new content.
fn paced(n: u8, apart: i64, change: u8) -> Account {
    let mut w = Wire::sacn();
    for i in 0..n {
        w.send(&Data { content: i / change, ..Data::numbered(i) }.octets()).wait(apart);
    }
    w.finish()
}

#[test]
fn content_is_frozen_after_more_than_a_second_without_change() {
    assert!(!has(&paced(200, FRAME, 40), "FRAME-FROZEN"));
    assert_eq!(found(&paced(200, FRAME, 100), "FRAME-FROZEN")[0].count, 2);
}

#[test]
fn a_repeat_after_a_pause_is_a_keep_alive() {
    let causes = |a: Account| {
        let c = a.outputs[0].causes;
        (c.changed, c.repeat, c.keep_alive)
    };
    assert_eq!(causes(paced(20, 900 * MS, 20)), (1, 0, 19));
    assert_eq!(causes(paced(20, 100 * MS, 20)), (1, 19, 0));
    assert_eq!(causes(paced(20, 900 * MS, 1)), (20, 0, 0));
}

#[test]
fn a_universe_is_too_fast_when_dmx_cannot_carry_its_slots() {
    for (slots, hertz, fast) in [(512, 44, false), (512, 46, true), (375, 60, false), (510, 60, true)] {
        let mut w = Wire::sacn();
        (0..100).for_each(|n| {
            w.send(&Data { slots, ..Data::numbered(n) }.octets()).wait(1_000 * MS / hertz);
        });
        assert_eq!(has(&w.finish(), "TIME-RATE"), fast, "{slots} slots at {hertz} Hz");
    }
}

// ---- sources, links and the capture

/// Two senders on universe 1 at these priorities, 40 datagrams each, `turn` in a row.
fn rivals(priorities: [u8; 2], turn: u8) -> Account {
    let mut w = Wire::sacn();
    for round in 0..40 / turn {
        for cid in [1u32, 2] {
            for n in round * turn..(round + 1) * turn {
                let priority = priorities[cid as usize - 1];
                w.send(&Data { cid, priority, ..Data::numbered(n) }.octets()).wait(FRAME);
            }
        }
    }
    w.finish()
}

#[test]
fn two_sources_conflict_only_when_they_take_turns_at_the_same_priority() {
    assert!(!has(&rivals([100, 100], 40), "SRC-CONFLICT"), "a takeover is no conflict");
    let conflict = rivals([100, 100], 1);
    assert_eq!(found(&conflict, "SRC-CONFLICT")[0].severity, Severity::Violation);
    let backup = rivals([100, 50], 1);
    assert!(has(&backup, "SRC-LOWER-PRIORITY") && !has(&backup, "SRC-CONFLICT"));
}

#[test]
fn a_damaged_datagram_is_lost_on_the_wire() {
    let mut w = Wire::sacn();
    w.link.checksum = Checksum::Good;
    w.numbers(0..40);
    w.link.checksum = Checksum::Bad;
    w.numbers([40]);
    w.link.checksum = Checksum::Good;
    w.numbers(41..50);
    let a = w.finish();
    assert_eq!(sequence(&a), (1, 1, 0, 0, 0));
    assert_eq!((only(&a).owners.wire, only(&a).owners.unknown), (1, 0));
    assert!(has(&a, "CAP-CHECKSUM") && !has(&a, "CAP-OFFLOAD"));
}

#[test]
fn a_host_whose_checksums_are_all_wrong_leaves_them_to_its_card() {
    let mut w = Wire::sacn();
    w.link.checksum = Checksum::Bad;
    w.numbers(0..40);
    let a = w.finish();
    assert_eq!(sequence(&a), (0, 0, 0, 0, 0));
    assert_eq!((only(&a).datagrams, found(&a, "CAP-OFFLOAD")[0].count), (40, 40));
    assert!(!has(&a, "CAP-CHECKSUM"));
}

#[test]
fn a_loss_is_tainted_only_while_the_capture_was_blind() {
    for (from, tainted) in [(20, true), (45, false)] {
        let mut w = Wire::sacn();
        w.numbers(0..30).numbers(32..60);
        let at = |frame: i64| Timestamp(START + frame * FRAME);
        w.verifier.on_blind(at(from), at(from + 12), 2);
        let a = w.finish();
        assert_eq!(found(&a, "SEQ-LOST")[0].tainted, tainted);
        assert!(has(&a, "CAP-DROPPED"));
    }
}

#[test]
fn numbers_that_the_ip_id_proves_unsent_are_not_lost() {
    let mut w = Wire::sacn();
    for (id, n) in (0..30u8).chain(35..60).enumerate() {
        w.link.ip_id = Some(100 + id as u16);
        w.numbers([n]);
    }
    let a = w.finish();
    assert_eq!(sequence(&a), (0, 0, 0, 0, 0));
    assert!(has(&a, "SEQ-SHARED-COUNTER"));
}

// ---- timecode

/// A DDP frame of one datagram with a timecode.
fn timed(sequence: u8, timecode: u32) -> Vec<u8> {
    let mut octets = vec![0x51, sequence, 0x0b, 1, 0, 0, 0, 0, 0, 3];
    octets.extend(timecode.to_be_bytes());
    octets.extend([sequence, 2, 3]);
    octets
}

/// 2023-11-14 22:13:20 UTC as the middle 32 bits of an NTP time.
const NTP: u32 = ((1_700_000_000u64 + 2_208_988_800) as u32 & 0xffff) << 16;

fn timecodes(codes: &[u32]) -> Account {
    let mut verifier = wireproof_protocols::verify::Verifier::new(Default::default());
    for (i, code) in codes.iter().enumerate() {
        let octets = timed(i as u8 + 1, *code);
        let at = Timestamp(1_700_000_000_000_000_000 + i as i64 * 20_000_000);
        let (from, to) = ("10.0.0.1:4048".parse().unwrap(), "10.0.0.2:4048".parse().unwrap());
        let d = wireproof_protocols::Datagram::new(from, to, &octets);
        verifier.on_datagram(Arrival { at, packet: i as u64 + 1 }, &d);
    }
    verifier.finish()
}

#[test]
fn a_timecode_that_runs_with_the_capture_is_fine() {
    assert!(!has(&timecodes(&[NTP, NTP + 1310, NTP + 2621]), "DDP-D14"));
}

#[test]
fn a_timecode_that_steps_back_or_is_far_away_is_told() {
    let back = timecodes(&[NTP + 2621, NTP + 1310, NTP + 3000]);
    assert!(found(&back, "DDP-D14")[0].text.contains("steps back by 20 ms"), "{:?}", back.findings);
    let away = timecodes(&[NTP + 2 * 65_536, NTP + 2 * 65_536 + 1310]);
    assert_eq!(found(&away, "DDP-D14")[0].count, 2);
}

// ---- the rig

#[test]
fn a_rig_tells_two_displays_of_one_sender_apart() {
    use wireproof_protocols::Protocol;
    use wireproof_protocols::verify::rig::{Rig, RigOutput};
    let display = |name: &str, host: [u8; 4]| RigOutput {
        name: name.to_owned(),
        protocol: Protocol::Ddp,
        source: None,
        destination: Some(host.into()),
        sender: None,
        streams: vec![1],
        datagrams_per_frame: Some(1),
        octets_per_frame: None,
        rate_mhz: None,
        sync: None,
        on_change: false,
    };
    let rig = Rig {
        outputs: vec![display("left", [10, 0, 0, 2]), display("right", [10, 0, 0, 3])],
        severities: vec![],
    };
    let options = wireproof_protocols::verify::Options { rig: Some(rig), ..Default::default() };
    let mut verifier = wireproof_protocols::verify::Verifier::new(options);
    for i in 0..100u64 {
        let octets = [0x41, (i % 15) as u8 + 1, 0x0b, 1, 0, 0, 0, 0, 0, 3, i as u8, 2, 3];
        let (from, to) = ("10.0.0.1:4048".parse().unwrap(), "10.0.0.2:4048".parse().unwrap());
        let at = Timestamp(1_700_000_000_000_000_000 + i as i64 * 20_000_000);
        let d = wireproof_protocols::Datagram::new(from, to, &octets);
        verifier.on_datagram(Arrival { at, packet: i + 1 }, &d);
    }
    let a = verifier.finish();
    assert_eq!(found(&a, "RIG-MISSING").len(), 1, "{:?}", a.findings);
    assert!(found(&a, "RIG-MISSING")[0].text.contains("right"));
    assert_eq!(a.outputs[0].name, "left");
    assert!(a.outputs[0].declared && !has(&a, "RIG-UNEXPECTED") && !has(&a, "RIG-SHAPE"));
}

#[test]
fn two_programs_with_one_cid_on_one_host_are_told_apart_by_port_and_lose_nothing() {
    let mut w = Wire::sacn();
    for n in 0..200u8 {
        for (port, number) in [(40_000, n), (40_001, n.wrapping_add(90))] {
            w.source.set_port(port);
            w.send(&Data::numbered(number).octets()).wait(FRAME / 2);
        }
    }
    let a = w.finish();
    assert_eq!(a.streams.len(), 2);
    assert!(a.streams.iter().all(|s| s.sequence.lost == 0 && s.datagrams >= 199));
    assert!(!has(&a, "SEQ-LOST") && !has(&a, "TIME-RATE"));
    let text = &found(&a, "SACN-S31")[0].text;
    assert!(text.contains("10.0.0.1:40000") && text.contains("10.0.0.1:40001"), "{text}");
    assert!(has(&a, "SRC-CONFLICT"));
}

#[test]
fn a_sender_that_comes_back_on_another_port_began_anew() {
    let mut w = Wire::sacn();
    w.numbers(0..60);
    w.source.set_port(40_001);
    w.numbers(7..60);
    let a = w.finish();
    assert_eq!((only(&a).sequence.lost, found(&a, "SEQ-RESTART").len()), (0, 1));
    assert!(!has(&a, "SACN-S31") && !has(&a, "SRC-CONFLICT"));
}

#[test]
fn an_early_hole_is_a_loss_although_the_ip_id_runs_on_and_a_late_one_fills_it() {
    let mut w = Wire::sacn();
    let numbers = (0..4u8).chain([5, 6, 8, 7]).chain(9..60);
    for (id, n) in numbers.enumerate() {
        w.link.ip_id = Some(100 + id as u16);
        w.numbers([n]);
    }
    let a = w.finish();
    assert_eq!(sequence(&a), (1, 1, 1, 0, 0));
    assert!(!has(&a, "SEQ-SHARED-COUNTER") && !has(&a, "SEQ-DUPLICATE"));
}

#[test]
fn ports_that_share_one_counter_are_one_sender() {
    let mut w = Wire::sacn();
    for n in 0..200u8 {
        w.source.set_port(40_000 + u16::from(n % 2));
        w.numbers([n]);
    }
    let a = w.finish();
    assert_eq!(only(&a).sequence.lost, 0);
    assert!(!has(&a, "SACN-S31") && !has(&a, "SRC-CONFLICT"));
}

#[test]
fn two_art_net_programs_on_ports_of_one_host_merge_and_lose_nothing() {
    let mut w = Wire::new(6454);
    for n in 0..120u8 {
        for (port, number) in [(40_000, n + 1), (40_001, n + 91)] {
            w.source.set_port(port);
            let head = [0, 0x50, 0, 14, number, 0, 1, 0, 0, 4, n, 1, 2, 3];
            w.send(&[&b"Art-Net\0"[..], &head[..]].concat()).wait(FRAME / 2);
        }
    }
    let a = w.finish();
    assert_eq!(a.streams.len(), 2);
    assert!(a.streams.iter().all(|s| s.sequence.lost == 0));
    assert!(!has(&a, "SEQ-LOST") && !has(&a, "SEQ-AMBIGUOUS"));
    let text = &found(&a, "ARTNET-A14")[0].text;
    assert!(text.contains(":40000") && text.contains(":40001"), "{text}");
}
