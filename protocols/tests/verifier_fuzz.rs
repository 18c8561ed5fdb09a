//! Laws the verifier keeps on any input: no panic, an account that adds up, the same account for the same input and
//! whichever way its datagrams go.
//!
//! A run is a script of a few hundred arrivals made from one seed. `WIREPROOF_FUZZ_N` sets the number of datagrams
//! over all runs, `WIREPROOF_FUZZ_SEED` the seed of the first run; a failing run is cut down and printed with its
//! own seed, so that `WIREPROOF_FUZZ_SEED=<that seed> WIREPROOF_FUZZ_N=1` repeats it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "helpers of tests count as tests"
)]
#![allow(clippy::disallowed_methods, reason = "tests read the environment")]

mod script;
mod wire;

use script::{Event, plausible, scrambled, steady, vectors};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use wireproof_protocols::verify::rig::{Rig, RigOutput};
use wireproof_protocols::verify::{
    Account, DropLayer, FrameAccount, Glance, HostDrops, Noted, Options, OutputAccount, Progress,
    STREAMS_MAX, StreamAccount, Verifier,
};
use wireproof_protocols::{Arrival, Datagram, Fault, Protocol, Severity, Timestamp};

const DATAGRAMS: u64 = 100_000;
const SEED: u64 = 0x5eed_7e57;

// ---- laws

fn options(seed: u64) -> Options {
    let output = |protocol, stream| RigOutput {
        name: "rig".to_owned(),
        protocol,
        source: None,
        destination: None,
        sender: None,
        streams: vec![stream, stream + 1],
        datagrams_per_frame: Some(3),
        octets_per_frame: Some(72),
        rate_mhz: Some((40_000, 20)),
        sync: Some(7),
        on_change: false,
    };
    let outputs = vec![output(Protocol::Sacn, 1), output(Protocol::ArtNet, 1), output(Protocol::Ddp, 1)];
    let rig = seed.is_multiple_of(3).then_some(Rig { outputs, severities: Vec::new() });
    let (strict, no_drop_counter) = (seed.is_multiple_of(2), seed.is_multiple_of(5));
    Options { rig, strict, no_drop_counter, ..Options::default() }
}

/// How datagrams are handed over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The one that was to come takes a short way.
    Usual,
    /// The same, and what became of each is told.
    Noted,
    /// All of them go the general way, and what became of each is told.
    General,
}

/// What became of a datagram, and its faults.
type Note<'a> = (Option<Noted<'a>>, Vec<Fault>);

impl Way {
    fn take<'a>(self, verifier: &mut Verifier, arrival: Arrival, d: &Datagram<'a>) -> Note<'a> {
        let noted = match self {
            Way::Usual => {
                verifier.on_datagram(arrival, d);
                return (None, Vec::new());
            }
            Way::Noted => verifier.on_datagram_noted(arrival, d),
            Way::General => verifier.on_datagram_in_general(arrival, d),
        };
        (noted, verifier.faults().as_slice().to_vec())
    }
}

fn run<'a>(options: &Options, events: &'a [Event], way: Way) -> (Vec<Note<'a>>, Account) {
    watched(options, events, way, &mut |_, _, _| {})
}

/// A run at which somebody looks after each event: its number, and its time where it has one.
fn watched<'a>(
    options: &Options,
    events: &'a [Event],
    way: Way,
    look: &mut dyn FnMut(&mut Verifier, usize, Option<Timestamp>),
) -> (Vec<Note<'a>>, Account) {
    let mut verifier = Verifier::new(options.clone());
    let mut notes = Vec::new();
    for (number, event) in events.iter().enumerate() {
        match event {
            Event::Datagram(c) => {
                let d = Datagram {
                    length: c.length,
                    link: c.link,
                    ..Datagram::new(c.source, c.destination, &c.payload)
                };
                notes.push(way.take(&mut verifier, c.arrival, &d));
            }
            Event::Packet(arrival) => verifier.on_packet(*arrival),
            Event::Blind(from, to, dropped) => {
                verifier.on_blind(Timestamp(*from), Timestamp(*to), *dropped);
                let layer = DropLayer::ALL[from.rem_euclid(5) as usize];
                let (from, to) = (Timestamp(*from), Timestamp(*to));
                verifier.on_drops(HostDrops { layer, port: None, from, to, count: *dropped });
                verifier.on_stall(from, to);
            }
        }
        look(&mut verifier, number, event.at());
    }
    (notes, verifier.finish())
}

/// The account of a run that everybody looks at, who see each finding once and no more than is told.
fn looked_at(options: &Options, events: &[Event]) -> Account {
    let (mut progress, mut glance) = (Progress::with_room(64), Glance::roomy());
    let mut told = BTreeSet::new();
    watched(options, events, Way::Usual, &mut |verifier, number, at| {
        if number % 3 != 0 {
            return;
        }
        let at = at.unwrap_or_default();
        // Every second look is late, so that what waits for time comes of age.
        let late = if number % 2 == 0 { 0 } else { 300_000_000 };
        for f in verifier.news(Timestamp(at.0.saturating_add(late))) {
            let merged =
                !matches!(f.code, "SEQ-LOST" | "SEQ-AMBIGUOUS" | "FRAME-TORN" | "FRAME-UNTERMINATED");
            let fresh =
                told.insert((f.code, f.stream, f.first_packet, f.first_ns, f.severity, f.text.clone()));
            assert!(fresh || !merged, "{} was told twice", f.code);
            assert!(!options.strict || f.severity != Severity::Warning, "{}: a warning in strict", f.code);
        }
        if number % 5 == 0 {
            verifier.progress(&mut progress);
            verifier.glance(at, &mut glance);
            assert_eq!(progress.findings, glance.findings);
            assert_eq!(progress.findings.iter().sum::<u64>(), glance.findings_seen as u64);
        }
    })
    .1
}

fn datagrams(events: &[Event]) -> u64 {
    events.iter().filter(|e| matches!(e, Event::Datagram(_))).count() as u64
}

/// Panics with a sentence when the account breaks a law.
fn check(options: &Options, events: &[Event]) {
    let (_, account) = run(options, events, Way::Usual);
    counts_add_up(&account, datagrams(events));
    account.streams.iter().enumerate().for_each(|(i, s)| stream_adds_up(i, s, &account));
    account.outputs.iter().enumerate().for_each(|(i, o)| output_adds_up(i, o, &account));
    findings_are_in_order(&account, options);
    let told = format!("{account:?}");
    assert!(told == format!("{:?}", run(options, events, Way::Usual).1), "the second account differs");
    let (notes, noted) = run(options, events, Way::Noted);
    assert!(told == format!("{noted:?}"), "the account with notes differs");
    let (in_general, general) = run(options, events, Way::General);
    assert!(told == format!("{general:?}"), "the general way says otherwise");
    let odd = notes.iter().zip(&in_general).position(|(note, general)| note != general);
    assert!(odd.is_none(), "the general way notes something else of datagram {odd:?}");
    let looked = looked_at(options, events);
    assert!(told == format!("{looked:?}"), "the account of a run that is looked at differs");
}

fn counts_add_up(a: &Account, fed: u64) {
    let c = &a.datagrams;
    let kinds: u64 = c.by_kind.values().sum();
    assert_eq!(c.lighting + c.other, fed, "lighting + other");
    assert_eq!(c.lighting, c.capture_duplicates + c.undecodable + kinds, "lighting");
    let damaged = a.findings.iter().filter(|f| f.code == "CAP-CHECKSUM").map(|f| f.count).sum::<u64>();
    assert_eq!(c.well_formed + c.malformed + damaged, kinds, "well-formed, malformed and damaged");
    assert!(damaged <= c.bad_checksum, "more damaged than bad checksums");
    assert!(c.cut.max(c.fragmented) <= c.lighting - c.capture_duplicates, "cut or fragmented");
    let own: u64 = a.streams.iter().map(|s| s.datagrams).sum();
    assert!(own <= kinds, "streams hold {own} datagrams of {kinds}");
    assert_eq!(a.first_ns.is_some(), a.last_ns.is_some(), "one end of time only");
    assert!(a.first_ns <= a.last_ns, "time ends before it begins");
}

fn adds_up(f: &FrameAccount) -> bool {
    f.complete.checked_add(f.torn).and_then(|n| n.checked_add(f.unterminated)) == Some(f.seen)
}

fn stream_adds_up(index: usize, s: &StreamAccount, a: &Account) {
    let (q, o) = (&s.sequence, &s.owners);
    assert!(q.lost_min <= q.lost, "stream {index}: lost_min {} of lost {}", q.lost_min, q.lost);
    let owned = o.sender + o.wire + o.observer + o.unknown;
    assert_eq!(owned, q.lost, "stream {index}: owners {o:?}");
    assert!(q.lost == q.lost_min || q.ambiguous, "stream {index}: estimated loss is not ambiguous {q:?}");
    assert!(adds_up(&s.frames), "stream {index}: {:?}", s.frames);
    assert!(s.datagrams > 0 && s.sessions > 0, "stream {index}: empty");
    assert!(q.late + q.old + q.duplicates <= s.datagrams, "stream {index}: {q:?}");
    assert!(q.restarts < s.sessions.max(1), "stream {index}: {} sessions, {q:?}", s.sessions);
    assert!(s.data_octets.0 <= s.data_octets.1, "stream {index}: octets {:?}", s.data_octets);
    assert!((1..=16).contains(&s.destinations.len()), "stream {index}: destinations");
    let kept = s.priorities.len().max(s.sync_addresses.len()).max(s.start_codes.len());
    assert!(kept <= 8, "stream {index}: {kept} kept");
    assert!(s.output.is_none_or(|o| o < a.outputs.len()), "stream {index}: output {:?}", s.output);
    let n = &s.interval_ns;
    assert!([n.min, n.p50, n.p95, n.p99, n.p999, n.max].is_sorted(), "stream {index}: {n:?}");
}

fn output_adds_up(index: usize, o: &OutputAccount, a: &Account) {
    assert!(adds_up(&o.frames), "output {index}: {:?}", o.frames);
    assert!(!o.streams.is_empty(), "output {index}: no stream");
    let unique: BTreeSet<usize> = o.streams.iter().copied().collect();
    assert_eq!(unique.len(), o.streams.len(), "output {index}: a stream twice");
    assert!(o.streams.iter().all(|s| *s < a.streams.len()), "output {index}: {:?}", o.streams);
    assert!(
        o.streams.iter().all(|s| a.streams[*s].output.is_some()),
        "output {index}: not named by its stream"
    );
}

fn findings_are_in_order(a: &Account, options: &Options) {
    assert!(a.findings.len() <= 4096 && a.streams.len() <= STREAMS_MAX, "too many");
    for (n, f) in a.findings.iter().enumerate() {
        assert_eq!(f.id, format!("f{:04}", n + 1), "ids");
        assert!(f.stream.is_none_or(|s| s < a.streams.len()), "{}: stream {:?}", f.id, f.stream);
        assert!(f.frames.len() <= 32, "{}: {} frames", f.id, f.frames.len());
        assert!(f.count > 0 && !f.text.is_empty(), "{} {}: empty", f.id, f.code);
        assert!(f.frames.is_sorted(), "{} {}: frames {:?}", f.id, f.code, f.frames);
        assert!(!options.strict || f.severity != Severity::Warning, "{}: a warning in strict", f.code);
    }
}

// ---- the run of runs

thread_local! {
    static MESSAGE: RefCell<Option<String>> = const { RefCell::new(None) };
    static QUIET: RefCell<bool> = const { RefCell::new(false) };
}

/// The panic message with its place, or nothing. Keeps the panic off the screen.
fn failure(options: &Options, events: &[Event]) -> Option<String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if QUIET.with(|q| *q.borrow()) {
                MESSAGE.with(|m| *m.borrow_mut() = Some(info.to_string()));
            } else {
                usual(info);
            }
        }));
    });
    QUIET.with(|q| *q.borrow_mut() = true);
    let failed = catch_unwind(AssertUnwindSafe(|| check(options, events))).is_err();
    QUIET.with(|q| *q.borrow_mut() = false);
    failed.then(|| MESSAGE.with(|m| m.borrow_mut().take()).unwrap_or_default())
}

/// The place of a panic without the numbers of its message.
fn place(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}

/// Leaves events out as long as the same place goes on failing.
fn shrink(options: &Options, mut events: Vec<Event>, message: &str) -> Vec<Event> {
    let fails = |e: &[Event]| failure(options, e).is_some_and(|m| place(&m) == place(message));
    let mut size = events.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < events.len() {
            let mut fewer = events.clone();
            fewer.drain(at..(at + size).min(events.len()));
            if fails(&fewer) { events = fewer } else { at += size }
        }
        size /= 2;
    }
    events
}

fn show(event: &Event) -> String {
    let Event::Datagram(c) = event else { return format!("{event:?}") };
    let hex: String = c.payload.iter().map(|o| format!("{o:02x}")).collect();
    let (at, n) = (c.arrival.at.0, c.arrival.packet);
    let hex = hex.replace(&"0".repeat(80), "[0 x40]");
    format!("#{n} {at} {} > {} length {} {:?} {hex}", c.source, c.destination, c.length, c.link)
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |v| v.parse().expect("a whole number"))
}

/// Runs scripts of consecutive seeds until enough datagrams were fed; every distinct failure is told.
fn hammer(test: &str, share: u64, make: impl Fn(u64) -> Vec<Event>) {
    let first = setting("WIREPROOF_FUZZ_SEED", SEED);
    let wanted = setting("WIREPROOF_FUZZ_N", DATAGRAMS).div_ceil(share);
    let (mut fed, mut seed, mut failing) = (0, first, 0_u64);
    let (mut places, mut told) = (BTreeSet::new(), Vec::new());
    while fed < wanted {
        let (options, events) = (options(seed), make(seed));
        fed += datagrams(&events);
        if let Some(message) = failure(&options, &events) {
            failing += 1;
            if places.insert(place(&message).to_owned()) && places.len() <= 8 {
                let events = shrink(&options, events, &message);
                let message = failure(&options, &events).unwrap_or(message);
                let lines: Vec<String> = events.iter().take(40).map(show).collect();
                let n = events.len();
                told.push(format!("seed {seed}: {message}\n{n} events:\n{}", lines.join("\n")));
            }
        }
        seed = seed.wrapping_add(1);
    }
    println!("{test}: {fed} datagrams from seed {first} on, each five times, once looked at");
    assert!(told.is_empty(), "{failing} runs of {} fail:\n{}", seed - first, told.join("\n\n"));
}

#[test]
fn plausible_streams_with_mutated_fields_keep_every_law() {
    hammer("plausible", 2, plausible);
}

#[test]
fn a_rig_at_work_is_told_alike_whichever_way_its_datagrams_go() {
    hammer("steady", 1, steady);
}

#[test]
fn golden_vectors_mutated_or_not_and_random_octets_keep_every_law() {
    let vectors = vectors();
    hammer("scrambled", 2, scrambled(&vectors));
}
