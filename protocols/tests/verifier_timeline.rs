//! The time lines of the account against its counters: the same frames, tears and losses, only with their time.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod wire;

use wire::capture::{Data, MS, START, Wire, bigpacket, ddp};
use wireproof_protocols::Timestamp;
use wireproof_protocols::verify::{Account, DropLayer, HostDrops};

const SECOND: i64 = 1_000 * MS;

fn sum(column: &[u64]) -> u64 {
    column.iter().sum()
}

/// What has to hold of every account.
fn agrees(a: &Account) {
    for o in &a.outputs {
        let t = &o.timeline;
        assert_eq!(sum(&t.frames), o.frames.seen, "{}", o.name);
        assert_eq!(
            (sum(&t.torn), sum(&t.unterminated)),
            (o.frames.torn, o.frames.unterminated),
            "{}",
            o.name
        );
        let longest = t.longest_ns.iter().max().copied().unwrap_or(0);
        assert_eq!(longest, o.frame_interval_ns.max, "{}: one truth for the chart and the table", o.name);
        let bars = &o.frame_interval_bars;
        let held = bars.under + sum(&bars.counts) + bars.over;
        assert_eq!(held, o.frame_interval_ns.count, "{}", o.name);
    }
    for s in &a.streams {
        let t = &s.timeline;
        assert_eq!(sum(&t.lost), s.sequence.lost, "{} {}", s.protocol.name(), s.stream_id);
        assert!(sum(&t.frames) <= s.frames.seen && sum(&t.torn) == s.frames.torn);
        let columns = [&t.frames, &t.torn, &t.unterminated, &t.missing, &t.lost, &t.longest_ns];
        assert!(columns.iter().all(|c| c.is_empty() || c.len() == a.axis.bins && sum(c) > 0));
    }
    assert!(a.axis.bins <= 512 && a.axis.bin_ns > 0);
}

/// Chunked and universe streams with losses of every size over so many seconds.
fn planted(seconds: u32) -> Account {
    let mut w = Wire::sacn();
    for i in 0..seconds * 40 {
        for universe in (1..=3).filter(|u| !(*u == 2 && matches!(i % 400, 120 | 121 | 300))) {
            w.send(&Data { universe, ..Data::numbered(i as u8) }.octets());
        }
        w.destination.set_port(21_600);
        for index in
            (0..4).filter(|index| !(i % 97 == 50 && *index == 2 || (200..206).contains(&(i % 1_000))))
        {
            w.send(&bigpacket(i, index, 4));
        }
        w.destination.set_port(5568);
        w.wait(25 * MS);
    }
    w.finish()
}

#[test]
fn time_lines_add_up_to_the_counters_however_long_the_run() {
    for seconds in [10, 60, 600] {
        agrees(&planted(seconds));
    }
}

#[test]
fn a_loss_stands_in_the_bin_in_which_it_was_noticed() {
    let a = planted(60);
    let bin = |second: f64| (second * 1e9 / a.axis.bin_ns as f64) as usize;
    let universe = a.streams.iter().find(|s| s.stream_id == 2).unwrap();
    // Numbers 120 and 121 of each ten seconds, that is at 3.0 s; number 300 at 7.5 s.
    for at in [3.05, 7.525, 13.05, 53.05] {
        let near = &universe.timeline.lost[bin(at) - 1..=bin(at) + 1];
        assert!(sum(near) > 0, "{at}: {near:?}");
        assert!(sum(&universe.timeline.torn[bin(at) - 1..=bin(at) + 1]) > 0, "{at}");
    }
    assert_eq!(sum(&universe.timeline.lost), 18);
    let quiet = a.streams.iter().find(|s| s.stream_id == 1).unwrap();
    assert!(quiet.timeline.lost.is_empty() && quiet.timeline.torn.is_empty());
}

#[test]
fn more_tears_than_are_remembered_have_their_time_as_well() {
    let mut w = Wire::new(21_600);
    for frame in 0..20_000u32 {
        [0, 1, 3].iter().for_each(|index| {
            w.send(&bigpacket(frame, *index, 4));
        });
        w.wait(110 * MS);
    }
    let a = w.finish();
    agrees(&a);
    let torn = &a.outputs[0].timeline.torn;
    let late = torn.len() - torn.len() / 8;
    assert!(torn[late..].iter().all(|n| *n > 0), "{torn:?}");
}

#[test]
fn the_clock_of_the_host_moves_no_bin_and_an_outage_of_hours_has_its_place() {
    let mut w = Wire::new(4048);
    for i in 0..8_000u32 {
        if i == 4_000 {
            w.verifier.on_clock_step(-3_600 * SECOND);
            w.at -= 3_600 * SECOND;
        }
        w.send(&ddp((i % 15) as u8 + 1, &[i as u8, 1, 2])).wait(25 * MS);
    }
    let a = w.finish();
    let seconds = a.axis.bin_ns as f64 * a.axis.bins as f64 / 1e9;
    assert!((199.0..205.0).contains(&seconds), "{seconds}");
    agrees(&a);
}

#[test]
fn drops_of_the_observer_and_the_capture_stand_where_they_were_counted() {
    let mut w = Wire::sacn();
    w.numbers((0..=255).cycle().take(2_000));
    let at = |second: i64| Timestamp(START + second * SECOND);
    w.verifier.on_drops(HostDrops {
        layer: DropLayer::Socket,
        port: None,
        from: at(10),
        to: at(10),
        count: 7,
    });
    w.verifier.on_drops(HostDrops { layer: DropLayer::Nic, port: None, from: at(20), to: at(21), count: 99 });
    w.verifier.on_blind(at(30), at(40), 1_000);
    let a = w.finish();
    let bin = |second: i64| usize::try_from(second * SECOND).unwrap() / a.axis.bin_ns as usize;
    let t = &a.observer_timeline;
    assert_eq!((sum(&t.lost), t.lost[bin(10)]), (7, 7));
    assert_eq!(sum(&t.capture_dropped), 1_000);
    assert!(t.capture_dropped[bin(31)..bin(39)].iter().all(|n| *n > 0), "{t:?}");
    assert_eq!(sum(&t.capture_dropped[..bin(29)]) + sum(&t.capture_dropped[bin(41)..]), 0);
}

#[test]
fn a_run_that_saw_nothing_has_no_time_line() {
    let a = Wire::sacn().finish();
    assert_eq!((a.axis.bins, a.streams.len()), (0, 0));
}

#[test]
fn intervals_hold_the_pauses_that_a_viewer_saw_and_the_rate_the_frames_as_sent() {
    let mut w = Wire::new(4048);
    for i in 0..600u32 {
        if !matches!(i % 60, 20 | 40 | 41) {
            w.send(&ddp((i % 15) as u8 + 1, &[i as u8, 1, 2]));
        }
        w.wait(25 * MS);
    }
    let a = w.finish();
    agrees(&a);
    let (o, i) = (&a.outputs[0], a.outputs[0].frame_interval_ns);
    assert_eq!(i.max, 75_000_000, "two frames are missing in the longest pause");
    assert!(i.p50.abs_diff(25_000_000) < 25_000, "{}: a histogram keeps three digits", i.p50);
    assert_eq!(i.count, 569, "one interval less than frames that came");
    assert_eq!(o.rate_mhz, 40_000, "a loss changes no rate");
    assert_eq!(o.frames.seen, 600);
}
