//! Drop counters of the observing host against the losses of streams: every missing datagram gets one owner.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests count as tests"
)]

mod wire;

use wire::account::{found, has};
use wire::capture::{Data, FRAME, START, Wire};
use wireproof_protocols::Timestamp;
use wireproof_protocols::verify::{Account, DropLayer, HostDrops, Options, Owners, TapEvidence, Verifier};

fn at(frame: i64) -> Timestamp {
    Timestamp(START + frame * FRAME)
}

fn drops(layer: DropLayer, frame: i64, count: u64) -> HostDrops {
    HostDrops { layer, port: None, from: at(frame - 1), to: at(frame), count }
}

/// Universe 1 without the numbers 30..30+lost, one datagram a frame; time goes on over the hole.
fn with_hole(lost: u8, options: Options, tell: impl FnOnce(&mut Verifier)) -> Account {
    let mut w = Wire::sacn();
    w.verifier = Verifier::new(options);
    w.numbers(0..30).wait(i64::from(lost) * FRAME).numbers(30 + lost..80);
    tell(&mut w.verifier);
    w.finish()
}

fn owners(a: &Account) -> Owners {
    let all = found(a, "SEQ-LOST")[0].owners.unwrap();
    assert_eq!(all, a.streams[0].owners, "finding and stream agree");
    assert_eq!(all.sender + all.wire + all.observer + all.unknown, a.streams[0].sequence.lost);
    all
}

#[test]
fn what_the_socket_counted_is_the_observers() {
    let a = with_hole(5, Options::default(), |v| v.on_drops(drops(DropLayer::Socket, 35, 5)));
    assert_eq!(owners(&a), Owners { observer: 5, ..Owners::default() });
    assert!(found(&a, "SEQ-LOST")[0].tainted);
    assert_eq!((a.observer.socket, a.observer.lost(), found(&a, "OBS-LOST")[0].count), (5, 5, 5));
}

#[test]
fn with_flat_counters_a_hole_is_upstream_and_stands() {
    let a = with_hole(5, Options::default(), |v| v.on_drops(drops(DropLayer::Socket, 75, 0)));
    assert_eq!(owners(&a), Owners { unknown: 5, ..Owners::default() });
    assert!(!found(&a, "SEQ-LOST")[0].tainted && !has(&a, "OBS-LOST"));
}

#[test]
fn drops_of_another_time_or_port_explain_nothing() {
    let late = drops(DropLayer::Socket, 75, 5);
    let elsewhere = HostDrops { port: Some(4048), ..drops(DropLayer::Socket, 35, 5) };
    for told in [late, elsewhere] {
        let a = with_hole(5, Options::default(), |v| v.on_drops(told));
        assert_eq!(owners(&a).unknown, 5, "{told:?}");
        assert_eq!(a.observer.lost(), 5, "it lost five of something else");
    }
}

#[test]
fn wrong_checksums_are_the_wires_although_the_socket_counts_them() {
    let a = with_hole(3, Options::default(), |v| {
        v.on_drops(drops(DropLayer::Socket, 33, 3));
        v.on_drops(drops(DropLayer::Checksum, 36, 3));
    });
    assert_eq!(owners(&a), Owners { wire: 3, ..Owners::default() });
    assert_eq!((a.observer.lost(), a.observer.checksum), (0, 3));
    assert!(!found(&a, "SEQ-LOST")[0].tainted && !has(&a, "OBS-LOST"));
}

#[test]
fn one_drop_never_explains_two_losses() {
    let mut w = Wire::sacn();
    for n in 0..80u8 {
        for universe in [1, 2] {
            if !(30..34).contains(&n) {
                w.send(&Data { universe, ..Data::numbered(n) }.octets());
            }
        }
        w.wait(FRAME);
    }
    w.verifier.on_drops(drops(DropLayer::Socket, 33, 5));
    let a = w.finish();
    let of = |f: fn(&Owners) -> u64| a.streams.iter().map(|s| f(&s.owners)).collect::<Vec<_>>();
    assert_eq!((of(|o| o.observer), of(|o| o.unknown)), (vec![4, 1], vec![0, 3]));
}

#[test]
fn the_cards_drops_convict_only_when_they_cover_the_loss() {
    for (count, observer, tainted, lost) in [(12, 12, true, 12), (2, 0, true, 0)] {
        let a = with_hole(12, Options::default(), |v| v.on_drops(drops(DropLayer::Nic, 40, count)));
        assert_eq!((owners(&a).observer, found(&a, "SEQ-LOST")[0].tainted), (observer, tainted));
        assert_eq!((a.observer.nic, a.observer.nic_counted), (lost, count));
    }
}

#[test]
fn drops_of_the_card_without_a_loss_are_no_ones() {
    let a = with_hole(0, Options::default(), |v| v.on_drops(drops(DropLayer::Nic, 40, 9)));
    assert_eq!((a.observer.lost(), has(&a, "OBS-LOST")), (0, false));
}

#[test]
fn without_a_drop_counter_a_stall_convicts_and_nothing_else_acquits() {
    let options = Options { no_drop_counter: true, ..Options::default() };
    let a = with_hole(5, options.clone(), |v| v.on_stall(at(29), at(29 + 15)));
    assert_eq!((owners(&a).observer, a.observer.stalled), (5, 5));
    let a = with_hole(5, options, |_| {});
    assert_eq!((owners(&a).unknown, found(&a, "SEQ-LOST")[0].tainted), (5, true));
    let counted = with_hole(5, Options::default(), |v| v.on_stall(at(29), at(29 + 15)));
    assert_eq!((owners(&counted).unknown, found(&counted, "SEQ-LOST")[0].tainted), (5, false));
}

#[test]
fn a_torn_frame_of_the_observers_loss_is_tainted_too() {
    let mut w = Wire::sacn();
    for n in 0..80u8 {
        for universe in [1, 2, 3] {
            if !(n == 40 && universe == 2) {
                w.send(&Data { universe, ..Data::numbered(n) }.octets());
            }
        }
        w.wait(FRAME);
    }
    w.verifier.on_drops(drops(DropLayer::Ring, 40, 1));
    let a = w.finish();
    assert!(found(&a, "FRAME-TORN").iter().all(|f| f.tainted) && has(&a, "FRAME-TORN"));
    assert_eq!((a.observer.ring, a.streams[1].owners.observer), (1, 1));
}

/// What a tap makes of the same traffic without the numbers 30..30+lost.
fn tap(lost: u8, dropped: u64) -> TapEvidence {
    TapEvidence::of(&with_hole(lost, Options::default(), |_| {}), dropped)
}

#[test]
fn what_a_tap_saw_was_lost_between_the_interface_and_the_socket() {
    for (tap_lost, observer) in [(0, 5), (2, 3), (5, 0)] {
        let a = with_hole(5, Options::default(), |v| v.on_tap(tap(tap_lost, 0)));
        let expected = Owners { observer, unknown: 5 - observer, ..Owners::default() };
        assert_eq!((owners(&a), a.observer.undelivered), (expected, observer), "tap lost {tap_lost}");
        assert_eq!(has(&a, "OBS-LOST"), observer > 0);
    }
}

#[test]
fn what_the_socket_counted_is_not_counted_again_because_a_tap_saw_it() {
    let a = with_hole(5, Options::default(), |v| {
        v.on_drops(drops(DropLayer::Socket, 35, 5));
        v.on_tap(tap(0, 0));
    });
    assert_eq!((owners(&a).observer, a.observer.socket, a.observer.undelivered), (5, 5, 0));
}

#[test]
fn without_a_drop_counter_a_healthy_tap_acquits_the_observer_and_a_stalled_one_does_not() {
    let options = Options { no_drop_counter: true, ..Options::default() };
    for (dropped, tainted) in [(0, false), (1390, true)] {
        let a = with_hole(5, options.clone(), |v| v.on_tap(tap(5, dropped)));
        assert_eq!((owners(&a).unknown, found(&a, "SEQ-LOST")[0].tainted), (5, tainted));
    }
}

#[test]
fn a_tap_that_never_saw_the_stream_says_nothing() {
    let a = with_hole(5, Options::default(), |v| v.on_tap(TapEvidence::default()));
    assert_eq!((owners(&a).unknown, has(&a, "OBS-LOST")), (5, false));
}

#[test]
fn a_tap_that_dropped_some_of_it_or_was_gone_says_nothing_of_that_time() {
    let holed = |count| with_hole(5, Options::default(), |v| v.on_drops(drops(DropLayer::Ring, 35, count)));
    let a = with_hole(5, Options::default(), |v| v.on_tap(TapEvidence::of(&holed(2), 2)));
    assert_eq!((owners(&a).observer, owners(&a).unknown), (0, 5), "dropped");
    let mut early = Wire::sacn();
    early.numbers(0..30);
    let early = TapEvidence::of(&early.finish(), 0);
    let a = with_hole(5, Options::default(), |v| v.on_tap(early));
    assert_eq!((owners(&a).observer, owners(&a).unknown), (0, 5), "gone");
}

#[test]
fn frames_a_card_throws_away_all_the_time_leave_the_sender_accused() {
    let mut w = Wire::sacn();
    w.numbers(0..30).wait(5 * FRAME).numbers(35..200);
    for frame in (6..200).step_by(6) {
        w.verifier.on_drops(HostDrops { from: at(frame - 6), ..drops(DropLayer::Unclear, frame, 6) });
    }
    let a = w.finish();
    assert_eq!((owners(&a).unknown, found(&a, "SEQ-LOST")[0].tainted), (5, false));
}

#[test]
fn frames_a_card_threw_away_just_then_leave_the_owner_open() {
    for (count, tainted) in [(20, true), (4, false)] {
        let mut w = Wire::sacn();
        w.numbers(0..30).wait(5 * FRAME).numbers(35..=255).numbers(0..=255);
        w.verifier.on_drops(drops(DropLayer::Unclear, 32, count));
        let a = w.finish();
        assert_eq!((owners(&a).unknown, a.observer.lost()), (5, 0));
        assert_eq!(found(&a, "SEQ-LOST")[0].tainted, tainted, "{count}");
    }
}

#[test]
fn what_was_missing_while_the_link_was_down_is_nobodys() {
    let a = with_hole(1, Options::default(), |v| v.on_drops(drops(DropLayer::Link, 31, 1)));
    assert_eq!((owners(&a).unknown, found(&a, "SEQ-LOST")[0].tainted, a.observer.lost()), (1, true, 0));
}

#[test]
fn wrong_checksums_on_several_ports_are_never_the_observers() {
    let mut w = Wire::sacn();
    for n in 0..80u8 {
        for (universe, hole) in [(1, 30), (2, 31), (3, 33)] {
            if n != hole {
                w.send(&Data { universe, ..Data::numbered(n) }.octets());
            }
        }
        w.wait(FRAME);
    }
    // Each is counted where the next datagram of its port comes; the host's count comes in one reading, a little late.
    for frame in [31, 32, 34] {
        w.verifier.on_drops(drops(DropLayer::Socket, frame, 1));
    }
    w.verifier.on_drops(HostDrops { from: at(36), ..drops(DropLayer::Checksum, 42, 3) });
    let a = w.finish();
    let of = |f: fn(&Owners) -> u64| a.streams.iter().map(|s| f(&s.owners)).collect::<Vec<_>>();
    assert_eq!((of(|o| o.wire), of(|o| o.observer), a.observer.lost()), (vec![1, 1, 1], vec![0, 0, 0], 0));
}

#[test]
fn a_drop_counter_settles_how_many_cycles_of_fifteen_are_missing() {
    for lost in [3u64, 15, 47, 130] {
        let mut w = Wire::new(4048);
        let mut n = 0u64;
        for frame in 0..200u64 {
            for chunk in 0..6u32 {
                let number = (n % 15) as u8 + 1;
                n += 1;
                let missing = (600..600 + lost).contains(&(n - 1));
                if !missing {
                    w.send(&chunked(number, chunk, frame as u8));
                }
            }
            // The sender itself is late before the hole, so that time says too much.
            w.wait(if frame == 99 { 6 * FRAME } else { FRAME });
        }
        let hit = HostDrops { port: Some(4048), ..drops(DropLayer::Socket, 100 + lost as i64 / 6, lost) };
        w.verifier.on_drops(HostDrops { from: at(99), to: at(106 + lost as i64 / 6), ..hit });
        let a = w.finish();
        let s = &a.streams[0];
        assert_eq!(
            (s.sequence.lost, s.sequence.lost_min, s.owners.observer),
            (lost, lost, lost),
            "{:?}",
            a.findings
        );
    }
}

/// A DDP chunk of 6 in a frame, push on the last.
fn chunked(number: u8, chunk: u32, content: u8) -> Vec<u8> {
    let mut octets = vec![0x40 | u8::from(chunk == 5), number, 0x0b, 1];
    octets.extend((chunk * 480).to_be_bytes());
    octets.extend(480u16.to_be_bytes());
    octets.extend([content; 480]);
    octets
}

#[test]
fn a_mass_loss_has_an_owner_to_the_last_datagram_although_few_of_its_episodes_are_listed() {
    let universes = 40u16;
    let mut w = Wire::sacn();
    let mut told = 0;
    for frame in 0..2_000i64 {
        let missing = frame > 40 && frame % 20 == 7;
        for universe in 1..=universes {
            if !missing {
                w.send(&Data { universe, ..Data::numbered(frame as u8) }.octets());
            }
        }
        if missing {
            told += u64::from(universes);
            w.verifier.on_drops(drops(DropLayer::Socket, frame + 1, universes.into()));
        }
        w.wait(FRAME);
    }
    let a = w.finish();
    let sum = |of: fn(&Owners) -> u64| a.streams.iter().map(|s| of(&s.owners)).sum::<u64>();
    let lost: u64 = a.streams.iter().map(|s| s.sequence.lost).sum();
    assert!(found(&a, "SEQ-LOST").len() < 2_100 && lost > 3_900, "more losses than are listed: {lost}");
    assert_eq!((lost, sum(|o| o.observer), sum(|o| o.unknown), a.observer.socket), (told, told, 0, told));
}
