//! What a run that goes on tells at once: each finding one time, as soon as it is settled, and nothing else than the account.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests count as tests"
)]

mod wire;

use wire::account::found;
use wire::capture::{Data, FRAME, MS, START, Wire, sync};
use wire::ddp;
use wireproof_protocols::verify::{Finding, Glance, Options, Progress, Verifier};
use wireproof_protocols::{Severity, Timestamp};

/// Time between two looks.
const LOOK: i64 = 100 * MS;

/// A run that is looked at, and what it told: code, stamp of the look, finding.
struct Watched {
    wire: Wire,
    next: i64,
    told: Vec<(i64, Finding)>,
}

impl Watched {
    fn new(port: u16) -> Watched {
        Watched { wire: Wire::new(port), next: START + LOOK, told: Vec::new() }
    }

    /// Lets time go by, with the looks that are due in it.
    fn wait(&mut self, ns: i64) -> &mut Watched {
        self.wire.at += ns;
        while self.next <= self.wire.at {
            let news = self.wire.verifier.news(Timestamp(self.next));
            self.told.extend(news.into_iter().map(|f| (self.next, f)));
            self.next += LOOK;
        }
        self
    }

    /// Sends numbers of universe 1 from `numbers`, one in `apart`, but for the ones that are lost.
    fn numbers(
        &mut self,
        numbers: std::ops::Range<u32>,
        apart: i64,
        lost: impl Fn(u32) -> bool,
    ) -> &mut Watched {
        for n in numbers {
            if !lost(n) {
                self.wire.send(&Data::numbered(n as u8).octets());
            }
            self.wait(apart);
        }
        self
    }

    fn codes(&self) -> Vec<&'static str> {
        self.told.iter().map(|(_, f)| f.code).collect()
    }

    fn of(&self, code: &str) -> Vec<&(i64, Finding)> {
        self.told.iter().filter(|(_, f)| f.code == code).collect()
    }

    /// The findings of a severity as a progress line counts them, and the codes that a page lists.
    fn seen(&mut self) -> ([u64; 3], Vec<&'static str>) {
        let (mut progress, mut glance) = (Progress::with_room(8), Glance::roomy());
        self.wire.verifier.progress(&mut progress);
        self.wire.verifier.glance(Timestamp(self.wire.at), &mut glance);
        assert_eq!(
            (glance.findings, glance.findings_seen),
            (progress.findings, glance.account.findings.len())
        );
        (progress.findings, glance.account.findings.iter().map(|f| f.code).collect())
    }
}

#[test]
fn a_loss_of_a_slow_stream_is_told_when_its_time_is_over_and_once() {
    let mut w = Watched::new(5568);
    w.numbers(0..50, 250 * MS, |n| n == 40);
    let noticed = START + 41 * 250 * MS;
    let told = w.of("SEQ-LOST");
    assert_eq!(told.len(), 1, "{:?}", w.codes());
    assert!((noticed + 250 * MS..=noticed + 350 * MS).contains(&told[0].0), "{}", told[0].0 - noticed);
    assert_eq!((told[0].1.count, told[0].1.severity), (1, Severity::Violation));
    assert_eq!(w.of("FRAME-TORN")[0].0, told[0].0, "the frame that it tore comes with it");
    w.numbers(50..200, 250 * MS, |_| false);
    assert_eq!(w.codes(), ["SEQ-LOST", "FRAME-TORN"]);
    let (counts, page) = w.seen();
    assert_eq!((counts, page), ([0, 0, 2], vec!["FRAME-TORN", "SEQ-LOST"]));
    let a = w.wire.finish();
    assert_eq!((found(&a, "SEQ-LOST").len(), found(&a, "FRAME-TORN").len(), a.findings.len()), (1, 1, 2));
    let mut again = Wire::sacn();
    (0..200).filter(|n| *n != 40).for_each(|n| {
        again.at = START + n * 250 * MS;
        again.send(&Data::numbered(n as u8).octets());
    });
    assert_eq!(format!("{a:?}"), format!("{:?}", again.finish()), "watched or not");
}

#[test]
fn at_forty_hertz_every_loss_is_told_within_half_a_second_and_the_last_one_too() {
    let mut w = Watched::new(5568);
    w.numbers(0..300, FRAME, |n| n % 40 == 35);
    w.wait(0);
    let told: Vec<i64> = w.of("SEQ-LOST").iter().map(|(at, _)| *at).collect();
    let lost: Vec<i64> = (0..7).map(|i| START + (36 + 40 * i) * FRAME).collect();
    assert_eq!(told.len(), 7, "{:?}", w.codes());
    assert!(
        told.iter().zip(lost).all(|(told, lost)| (250 * MS..400 * MS).contains(&(told - lost))),
        "{told:?}"
    );
    assert_eq!(w.of("FRAME-TORN").len(), 7);
    let a = w.wire.finish();
    assert_eq!((found(&a, "SEQ-LOST").len(), found(&a, "FRAME-TORN").len()), (7, 7));
}

#[test]
fn a_datagram_that_comes_late_within_the_time_is_not_told_as_lost() {
    let mut w = Watched::new(5568);
    w.numbers(0..30, FRAME, |_| false).wait(FRAME);
    w.numbers(31..39, FRAME, |_| false);
    w.wire.send(&Data::numbered(30).octets());
    w.numbers(39..120, FRAME, |_| false);
    assert_eq!(w.codes(), ["SEQ-LATE"]);
}

#[test]
fn a_loss_that_comes_late_after_it_was_told_is_taken_back() {
    let mut w = Watched::new(5568);
    w.numbers(0..30, FRAME, |_| false).wait(FRAME);
    w.numbers(31..47, FRAME, |_| false);
    assert_eq!(w.codes(), ["SEQ-LOST", "FRAME-TORN"]);
    assert_eq!(w.seen().0, [0, 0, 2]);
    w.wire.send(&Data::numbered(30).octets());
    w.numbers(47..130, FRAME, |_| false);
    assert_eq!(w.codes(), ["SEQ-LOST", "FRAME-TORN", "SEQ-LATE"]);
    assert!(!w.seen().1.contains(&"SEQ-LOST"));
    let a = w.wire.finish();
    assert_eq!(a.findings.iter().map(|f| f.code).collect::<Vec<_>>(), ["SEQ-LATE"]);
}

#[test]
fn a_stream_that_never_stops_losing_is_told_while_it_does() {
    let mut w = Watched::new(5568);
    w.numbers(0..40, FRAME, |_| false);
    w.numbers(40..160, FRAME, |n| n % 3 == 1);
    let first = w.of("SEQ-LOST").first().map(|(at, _)| at - START - 40 * FRAME).unwrap();
    assert!(first <= 750 * MS, "{first}");
    let a = w.wire.finish();
    assert_eq!(found(&a, "SEQ-LOST").len(), 1, "one episode");
    assert_eq!((w.told.iter().filter(|(_, f)| f.code == "SEQ-LOST")).count(), 1);
}

#[test]
fn torn_frames_close_together_are_told_as_the_one_finding_that_they_are() {
    let mut w = Watched::new(5568);
    w.numbers(0..120, FRAME, |n| [20, 24, 30, 60, 90, 91, 92].contains(&n));
    w.wait(20 * FRAME);
    let told: Vec<u64> = w.of("FRAME-TORN").iter().map(|(_, f)| f.frames[0]).collect();
    assert_eq!(told, [20, 60, 90]);
    let burst = &w.of("FRAME-TORN")[2].1;
    assert_eq!(
        (burst.count, burst.text.as_str()),
        (3, "3 frames from 90 on lack 3 datagrams, first of universe 1")
    );
    let a = w.wire.finish();
    let account: Vec<u64> = found(&a, "FRAME-TORN").iter().map(|f| f.frames[0]).collect();
    assert_eq!(account, told);
}

#[test]
fn universes_of_one_frame_tear_it_once() {
    let mut w = Watched::new(5568);
    for n in 0..60u8 {
        for universe in 1..=4 {
            if n != 30 || universe == 1 {
                w.wire.send(&Data { universe, ..Data::numbered(n) }.octets());
                w.wait(MS / 10);
            }
        }
        w.wire.send(&sync(n, 7));
        w.wait(FRAME - MS);
    }
    assert_eq!((w.of("SEQ-LOST").len(), w.of("FRAME-TORN").len()), (3, 1), "{:?}", w.codes());
    let a = w.wire.finish();
    assert_eq!((found(&a, "SEQ-LOST").len(), found(&a, "FRAME-TORN").len()), (3, 1));
}

#[test]
fn a_frame_without_its_end_is_told_with_the_next_look() {
    let mut w = Watched::new(4048);
    let mut number = 0;
    for frame in 0..80 {
        for chunk in 0..2u32 {
            let push = u8::from(chunk == 1 && frame != 40 && frame != 70);
            number = number % 15 + 1;
            w.wire.send(&ddp([0x40 | push, number, 1], chunk * 12, 12, &[frame as u8; 12]));
            w.wait(MS);
        }
        w.wait(FRAME - 2 * MS);
    }
    let told: Vec<(i64, u64)> =
        w.of("FRAME-UNTERMINATED").iter().map(|(at, f)| ((at - START) / FRAME, f.frames[0])).collect();
    assert_eq!(told.len(), 2, "{:?}", w.codes());
    assert!(told.iter().all(|(at, frame)| (1..=5).contains(&(at - *frame as i64))), "{told:?}");
    let a = w.wire.finish();
    assert_eq!(found(&a, "FRAME-UNTERMINATED").len(), 2);
}

#[test]
fn what_is_told_has_the_severity_that_the_account_will_give() {
    let mut w = Watched::new(5568);
    w.wire.verifier = Verifier::new(Options { strict: true, ..Options::default() });
    w.numbers(0..30, FRAME, |_| false);
    w.wire.send(&Data::numbered(29).octets());
    w.numbers(30..60, FRAME, |_| false);
    assert_eq!(w.codes(), ["SEQ-DUPLICATE"]);
    assert_eq!(w.told[0].1.severity, Severity::Violation);
    assert_eq!(w.seen().0, [0, 0, 1]);
}

#[test]
fn the_frame_that_is_put_together_is_told_when_it_is_whole() {
    let mut w = Watched::new(4048);
    let mut number = 0;
    for frame in 0..40 {
        for chunk in 0..4u32 {
            number = number % 15 + 1;
            if frame == 39 && chunk == 1 {
                continue;
            }
            let push = u8::from(chunk == 3);
            w.wire.send(&ddp([0x40 | push, number, 1], chunk * 12, 12, &[frame as u8; 12]));
            w.wait(MS);
            if frame == 39 && chunk == 2 {
                // The run ends within this frame.
                w.wait(400 * MS);
                let told = w.codes();
                assert_eq!(told, ["SEQ-LOST"], "a frame that the end cuts is no torn one");
                assert!(found(&w.wire.finish(), "FRAME-TORN").is_empty());
                return;
            }
        }
        w.wait(FRAME - 4 * MS);
    }
}

#[test]
fn a_look_that_finds_nothing_to_tell_allocates_nothing_while_a_loss_that_was_told_waits() {
    let mut w = Watched::new(5568);
    w.numbers(0..60, FRAME, |n| n == 40);
    assert_eq!(w.codes(), ["SEQ-LOST", "FRAME-TORN"]);
    let now = Timestamp(w.wire.at);
    let looks = allocation_counter::measure(|| {
        for _ in 0..10 {
            assert!(w.wire.verifier.news(now).is_empty());
        }
    });
    assert_eq!(looks.count_total, 0);
}
