//! Runs in memory: a simulated clock, an exit that keeps what leaves, and the verifier as the judge of it.

use super::*;
use crate::send::clock::simulated::Simulated;
use crate::send::faults::{Follower, Kind, Odds};
use crate::send::identity::derived;
use crate::send::pattern::Pattern;
use std::cell::Cell;
use std::net::SocketAddr;
use wireproof_encoders::{Backend, ENCODERS, Setup, build};
use wireproof_protocols::verify::{Account, Options, Verifier};
use wireproof_protocols::{Arrival, Datagram, Protocol, Severity};

/// Frame of the field: 17 universes, six chunks.
const FRAME: usize = 8_640;
/// Time from one datagram of a frame to the next.
const SPACING_NS: u64 = 40_000;

/// What left: when, where to, and the payload.
#[derive(Default)]
struct Book(Vec<(u64, SocketAddr, Vec<u8>)>);

impl Book {
    /// Datagrams of one frame leave one after the other.
    fn note(&mut self, now_ns: u64, to: SocketAddr, payload: Vec<u8>) {
        let after = self.0.last().map_or(0, |(at, _, _)| at + SPACING_NS);
        self.0.push((now_ns.max(after), to, payload));
    }

    /// Frames by their begin.
    fn begins(&self) -> Vec<u64> {
        let mut begins: Vec<u64> = self.0.iter().map(|(at, _, _)| at / 1_000_000).collect();
        begins.dedup();
        begins
    }

    /// What the verifier makes of it.
    fn judged(&self) -> Account {
        let mut verifier = Verifier::new(Options::default());
        // Art-Net is sent from its own port; the others do not care.
        let source = SocketAddr::from(([10, 0, 0, 1], 6454));
        for ((at, to, payload), packet) in self.0.iter().zip(1..) {
            let at = Timestamp(i64::try_from(1_700_000_000_000_000_000 + at).unwrap());
            verifier.on_datagram(Arrival { at, packet }, &Datagram::new(source, *to, payload));
        }
        verifier.finish()
    }
}

impl Exit for Book {
    fn batch(&mut self, batch: &Batch<'_>, which: Range<usize>, now_ns: u64) {
        for d in which.filter_map(|i| batch.get(i)) {
            self.note(now_ns, d.destination, d.to_vec());
        }
    }

    fn owned(&mut self, datagrams: &[Owned], now_ns: u64) {
        datagrams.iter().for_each(|(to, payload)| self.note(now_ns, *to, payload.clone()));
    }
}

fn encoder(protocol: Protocol, multicast: bool) -> Box<dyn Encoder + Send> {
    let port = match protocol {
        Protocol::Sacn => 5568,
        Protocol::Ddp => 4048,
        Protocol::ArtNet => 6454,
        _ => 21_600,
    };
    let to = (!multicast).then_some(SocketAddr::from(([10, 0, 0, 2], port)));
    build(protocol, Backend::Gather, &Setup::new(to, derived("tests", "show"))).unwrap()
}

fn plan(rate: u64, length: Length) -> Plan {
    Plan { rate: Rate::from_mhz(rate * 1000).unwrap(), length, frame_octets: FRAME, discovery: false }
}

struct Ran {
    shown: Shown,
    book: Book,
    faults: Faults,
}

fn run(plan: Plan, protocol: Protocol, odds: &str, hold_ups_ns: &[u64], stop: &dyn Fn() -> bool) -> Ran {
    let mut clock = Simulated { now_ns: 1_000, hold_ups_ns: hold_ups_ns.to_vec() };
    let odds = if odds.is_empty() { Odds::default() } else { odds.parse().unwrap() };
    let follower = if slow(protocol) { Follower::NextFrame } else { Follower::NextDatagram };
    let mut faults = Faults::new(5, odds, follower);
    let (mut book, mut encoder) = (Book::default(), encoder(protocol, plan.discovery));
    let mut picture = Picture::Pattern(Pattern::Ramp, 1);
    let shown = show(&plan, &mut *encoder, &mut picture, &mut faults, &mut clock, &mut book, stop);
    Ran { shown: shown.unwrap(), book, faults }
}

fn clean(plan: Plan, protocol: Protocol) -> Ran {
    run(plan, protocol, "", &[], &|| false)
}

/// Codes of what was found, a stream's proper end left out.
fn codes(account: &Account) -> Vec<(&'static str, Severity)> {
    let found = account.findings.iter().map(|f| (f.code, f.severity));
    found.filter(|(code, severity)| (*code, *severity) != ("STREAM-ENDED", Severity::Info)).collect()
}

fn slow(protocol: Protocol) -> bool {
    matches!(protocol, Protocol::Sacn | Protocol::ArtNet)
}

#[test]
fn what_is_sent_has_no_findings_in_any_protocol() {
    for entry in ENCODERS {
        let rate = if slow(entry.protocol) { 40 } else { 60 };
        let Ran { shown, book, .. } = clean(plan(rate, Length::Time(8_000_000_000)), entry.protocol);
        assert_eq!((shown.frames, shown.skipped, shown.lateness.max_ns), (rate * 8, 0, 0));
        let account = book.judged();
        assert_eq!(codes(&account), [], "{:?}", entry.protocol);
        assert_eq!(account.datagrams.lighting, book.0.len() as u64);
        for stream in &account.streams {
            assert_eq!((stream.sequence.lost, stream.sequence.duplicates, stream.sessions), (0, 0, 1));
        }
    }
}

#[test]
fn a_sacn_run_ends_with_three_goodbyes_a_frame_apart_on_every_universe() {
    let Ran { shown, book, .. } = clean(plan(40, Length::Frames(100)), Protocol::Sacn);
    assert_eq!((shown.frames, shown.goodbyes), (100, 51));
    let account = book.judged();
    let ended = account.findings.iter().find(|f| f.code == "STREAM-ENDED").unwrap();
    assert_eq!((ended.severity, ended.count), (Severity::Info, 1));
    let last = book.begins()[book.begins().len() - 4..].to_vec();
    assert!(last.windows(2).all(|w| w[1] - w[0] == 25), "{last:?}");
}

#[test]
fn sixty_frames_of_whole_universes_are_more_than_a_dmx_line_carries() {
    let Ran { shown, mut book, .. } = clean(plan(60, Length::Frames(300)), Protocol::Sacn);
    // The verifier goes by the fewest slots of a stream, and a goodbye has none.
    book.0.truncate(book.0.len() - shown.goodbyes as usize);
    let found = codes(&book.judged());
    assert!(!found.is_empty() && found.iter().all(|(code, _)| *code == "TIME-RATE"), "{found:?}");
}

#[test]
fn universes_are_announced_every_ten_seconds_to_the_group() {
    let length = Length::Time(35_000_000_000);
    let Ran { shown, book, .. } = clean(Plan { discovery: true, ..plan(40, length) }, Protocol::Sacn);
    assert_eq!(shown.discoveries, 4);
    let group: SocketAddr = "239.255.250.214:5568".parse().unwrap();
    assert_eq!(book.0.iter().filter(|(_, to, _)| *to == group).count(), 4);
    let account = book.judged();
    assert_eq!(codes(&account), []);
    assert_eq!(account.streams.len(), 17);
}

#[test]
fn a_hold_up_skips_periods_and_is_no_burst() {
    let ms = 1_000_000;
    let holds = [vec![0; 100], vec![130 * ms], vec![0; 50], vec![3 * ms]].concat();
    let Ran { shown, book, .. } =
        run(plan(40, Length::Time(10_000_000_000)), Protocol::BigPacket, "", &holds, &|| false);
    assert_eq!((shown.frames + shown.skipped, shown.skipped), (400, 5));
    let begins = book.begins();
    assert!(begins.windows(2).all(|w| w[1] - w[0] >= 20), "{begins:?}");
    let found = codes(&book.judged());
    assert_eq!(found, [("TIME-GAP", Severity::Warning)]);
}

#[test]
fn a_hold_up_at_the_end_does_not_make_the_run_longer() {
    let holds = [vec![0; 98], vec![10_000_000_000]].concat();
    let Ran { shown, .. } = run(plan(100, Length::Time(1_000_000_000)), Protocol::Ddp, "", &holds, &|| false);
    assert_eq!((shown.frames, shown.skipped), (99, 1));
    let Ran { shown, .. } = run(plan(100, Length::Frames(100)), Protocol::Ddp, "", &holds, &|| false);
    assert_eq!(shown.frames, 100);
}

#[test]
fn whoever_ends_a_run_early_still_gets_the_goodbyes() {
    for (length, cut_short) in [(Length::Open, false), (Length::Frames(1_000), true)] {
        let asked = Cell::new(0);
        let stop = || {
            asked.set(asked.get() + 1);
            asked.get() > 300
        };
        let Ran { shown, book, .. } = run(plan(40, length), Protocol::Sacn, "", &[], &stop);
        assert!(shown.frames > 50 && shown.frames < 300, "{shown:?}");
        assert_eq!((shown.goodbyes, shown.cut_short), (51, cut_short));
        assert_eq!(codes(&book.judged()), []);
    }
}

#[test]
fn drops_on_purpose_are_what_the_verifier_misses() {
    for entry in ENCODERS {
        let rate = if slow(entry.protocol) { 40 } else { 60 };
        let Ran { book, faults, .. } =
            run(plan(rate, Length::Frames(400)), entry.protocol, "drop=0.005", &[], &|| false);
        let dropped = faults.truth().count(Kind::Drop);
        assert!(dropped > 5, "{:?}", entry.protocol);
        let account = book.judged();
        let lost: u64 = account.streams.iter().map(|s| s.sequence.lost).sum();
        let edge: u64 = account.streams.iter().map(|s| s.sequence.edge).sum();
        assert!(
            lost <= dropped && dropped <= lost + edge,
            "{:?}: {lost} + {edge} of {dropped}",
            entry.protocol
        );
        let violations = codes(&account).iter().filter(|(_, s)| *s == Severity::Violation).count();
        assert!(violations > 0, "{:?}", entry.protocol);
    }
}

#[test]
fn repeats_and_disorder_on_purpose_are_found_as_what_they_are() {
    for entry in ENCODERS {
        let rate = if slow(entry.protocol) { 40 } else { 60 };
        let plan = plan(rate, Length::Frames(400));
        let Ran { book, faults, .. } = run(plan, entry.protocol, "duplicate=0.002", &[], &|| false);
        let sum: u64 = book.judged().streams.iter().map(|s| s.sequence.duplicates).sum();
        assert_eq!(sum, faults.truth().count(Kind::Duplicate), "{:?}", entry.protocol);
        let Ran { book, faults, .. } = run(plan, entry.protocol, "reorder=0.002", &[], &|| false);
        let account = book.judged();
        let late: u64 = account.streams.iter().map(|s| s.sequence.late).sum();
        assert_eq!(late, faults.truth().count(Kind::Reorder), "{:?}", entry.protocol);
    }
}

#[test]
fn cut_datagrams_and_stalls_on_purpose_are_found_as_what_they_are() {
    for entry in ENCODERS {
        let rate = if slow(entry.protocol) { 40 } else { 60 };
        let plan = plan(rate, Length::Frames(300));
        let Ran { book, faults, .. } = run(plan, entry.protocol, "truncate=0.004", &[], &|| false);
        assert!(faults.truth().count(Kind::Truncate) > 0);
        let found = codes(&book.judged());
        assert!(found.iter().any(|(_, s)| *s == Severity::Violation), "{:?}: {found:?}", entry.protocol);
        let Ran { shown, book, faults } = run(plan, entry.protocol, "stall=0.02", &[], &|| false);
        let stalls = faults.truth().count(Kind::Stall);
        assert_eq!((shown.stalled, shown.skipped, shown.frames), (stalls * STALL_PERIODS, 0, 300));
        let found = codes(&book.judged());
        assert!(
            stalls > 0 && found.iter().all(|(code, _)| *code == "TIME-GAP"),
            "{:?}: {found:?}",
            entry.protocol
        );
    }
}

#[test]
fn a_frame_that_the_protocol_has_no_room_for_sends_nothing() {
    let setup =
        Setup { first: Some(63_990), ..Setup::new(Some(SocketAddr::from(([10, 0, 0, 2], 5568))), [7; 16]) };
    let mut encoder = build(Protocol::Sacn, Backend::Contiguous, &setup).unwrap();
    let (mut book, mut clock) = (Book::default(), Simulated::default());
    let mut picture = Picture::Pattern(Pattern::Ramp, 1);
    let mut faults = Faults::default();
    let error = show(
        &plan(40, Length::Open),
        &mut *encoder,
        &mut picture,
        &mut faults,
        &mut clock,
        &mut book,
        &|| false,
    );
    assert!(matches!(error, Err(ShowError::Encode(e)) if e.value == FRAME as u64), "{error:?}");
    assert_eq!(book.0.len(), 0);
}
