//! The host's clock is set while a run goes on: one finding, nothing lost, and records that say the same. The source is
//! a double that plays a planted run in real time and stamps by a clock that is set halfway; loop, verifier, capture
//! file, tape and report are the real ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use wireproof::analysis::analyze;
use wireproof::live::conduct::{Observed, Run, conduct};
use wireproof::live::receive::{Manner, now};
use wireproof::live::record::RecordPlan;
use wireproof::live::source::{Layer, Seen, Source, SourceCounters, SourceInfo};
use wireproof_fixture::{Planted, PlantedDatagram, case};
use wireproof_protocols::verify::{Account, Finding, Options};
use wireproof_protocols::{Datagram, Protocol, Timestamp};
use wireproof_reports::{Summary, Verdict};

const SECOND: i64 = 1_000_000_000;
/// Frames of a planted run after which the clock is set, and after which the run ends, ns.
const SET_AT: i64 = 1_500_000_000;
const END_AT: i64 = 3_000_000_000;

/// How far a clock was set.
type Set = AtomicI64;

/// A planted run in real time.
struct Player {
    arrivals: Vec<PlantedDatagram>,
    next: usize,
    began: Option<Instant>,
    set: &'static Set,
    by: i64,
    over: Arc<AtomicBool>,
    info: SourceInfo,
}

impl Player {
    fn due(&self, d: &PlantedDatagram) -> Duration {
        let since = d.at.0 - self.arrivals[0].at.0;
        Duration::from_nanos(u64::try_from(since).unwrap())
    }
}

impl Source for Player {
    fn poll(&mut self, wait: Duration, each: &mut dyn FnMut(Seen<'_>)) -> io::Result<usize> {
        let began = *self.began.get_or_insert_with(Instant::now);
        let Some(first) = self.arrivals.get(self.next) else {
            self.over.store(true, Ordering::Relaxed);
            return Ok(0);
        };
        thread::sleep(self.due(first).saturating_sub(began.elapsed()).min(wait));
        let gone = began.elapsed();
        let ready: Vec<PlantedDatagram> =
            self.arrivals[self.next..].iter().take_while(|d| self.due(d) <= gone).cloned().collect();
        // Stamped on arrival; the clock is set while they wait to be read.
        let base = now().0 + self.set.load(Ordering::Relaxed) - i64::try_from(gone.as_nanos()).unwrap();
        let stamp = |d: &PlantedDatagram| Timestamp(base + i64::try_from(self.due(d).as_nanos()).unwrap());
        let stamps: Vec<Timestamp> = ready.iter().map(stamp).collect();
        let is_set = self.set.load(Ordering::Relaxed) != 0;
        if !is_set && gone.as_nanos() >= SET_AT.unsigned_abs().into() {
            self.set.store(self.by, Ordering::Relaxed);
        }
        self.next += ready.len();
        for (d, at) in ready.iter().zip(&stamps) {
            // As a socket hands it over: without what the layers below showed.
            each(Seen::Datagram(*at, Datagram::new(d.source, d.destination, &d.payload)));
        }
        Ok(ready.len())
    }

    fn counters(&mut self) -> io::Result<SourceCounters> {
        Ok(SourceCounters::default())
    }

    fn layer(&self) -> Layer {
        Layer::Socket
    }

    fn info(&self) -> &SourceInfo {
        &self.info
    }
}

/// The datagrams of the planted run that `of` picks, up to the end of the play.
fn arrivals(of: impl Fn(&PlantedDatagram) -> bool) -> Vec<PlantedDatagram> {
    let planted: Planted = (case("mixed-clean").unwrap().build)(3).unwrap();
    let first = planted.arrivals[0].at.0;
    planted.arrivals.into_iter().filter(|d| of(d) && d.at.0 - first < END_AT).collect()
}

fn observe(
    arrivals: Vec<PlantedDatagram>,
    by: i64,
    set: &'static Set,
    clock: fn() -> Timestamp,
    folder: &Path,
) -> Observed {
    let over = Arc::new(AtomicBool::new(false));
    let info =
        SourceInfo { kind: "udp", name: "double".to_owned(), timestamps: "kernel", ..SourceInfo::default() };
    let player = Player { arrivals, next: 0, began: None, set, by, over: Arc::clone(&over), info };
    let record = RecordPlan { path: folder.join("run.pcapng"), ..RecordPlan::default() };
    let run = Run {
        record: Some(record),
        tape: Some(folder.join("run.tape")),
        interrupted: over,
        manner: Manner { clock: Some(clock), ..Manner::default() },
        ..Run::default()
    };
    conduct(vec![Box::new(player)], Options::default(), &run, &mut |_| {}).unwrap()
}

fn steps(account: &Account) -> Vec<&Finding> {
    account.findings.iter().filter(|f| f.code == "TIME-CLOCK-STEP").collect()
}

/// What the records have to say like the run: everything but the observer's own state.
fn told(account: &Account) -> (String, Vec<String>) {
    let findings = account.findings.iter().filter(|f| !f.code.starts_with("OBS-"));
    let lines = findings.map(|f| format!("{} {} {} {:?} {}", f.code, f.count, f.first_ns, f.stream, f.text));
    (format!("{:#?}{:#?}", account.streams, account.outputs), lines.collect())
}

fn holds(
    arrivals: Vec<PlantedDatagram>,
    (by, text): (i64, &str),
    set: &'static Set,
    clock: fn() -> Timestamp,
) {
    let folder = tempfile::tempdir().unwrap();
    let count = arrivals.len() as u64;
    let observed = observe(arrivals, by, set, clock, folder.path());
    let account = &observed.account;
    let found = steps(account);
    assert_eq!(found.len(), 1, "{:#?}", account.findings);
    assert_eq!((found[0].count, found[0].severity.name()), (1, "warning"));
    let ms: i64 = found[0].text.split_whitespace().find_map(|word| word.parse().ok()).unwrap();
    assert!(
        found[0].text.contains(text) && (ms * 1_000_000 - by.abs()).abs() < SECOND / 10,
        "{}",
        found[0].text
    );
    // Nothing was lost, and no stream began anew.
    assert_eq!(account.datagrams.lighting, count);
    for s in &account.streams {
        let q = &s.sequence;
        let none = (q.lost, q.lost_min, q.duplicates, q.late, q.restarts, q.ambiguous);
        assert_eq!(none, (0, 0, 0, 0, 0, false), "{s:#?}");
        assert_eq!((s.sessions, s.ended.name()), (1, "running"), "{s:#?}");
        assert!(s.interval_ns.max < 1_000_000_000, "{s:#?}");
    }
    let summary =
        Summary::of_run(account, wireproof_reports::Source::default(), observed.observer.clone(), false);
    assert_eq!((summary.verdict(), summary.verdict().exit_code()), (Verdict::Pass, 0), "{}", summary.reason);
    // Datagrams that waited while the clock was set did not wait for ten seconds.
    let delay = observed.observer.queue_delay_ns;
    assert!(delay.max < 2 * SECOND.unsigned_abs(), "{delay:?}");
    for file in ["run.pcapng", "run.tape"] {
        let (report, again) = analyze(&[folder.path().join(file)], Options::default()).unwrap();
        assert_eq!(report.damaged, None, "{file}");
        assert_eq!(told(&again), told(account), "{file}");
    }
}

/// A clock that is set for one test alone.
macro_rules! clock {
    () => {{
        static SET: Set = AtomicI64::new(0);
        fn clock() -> Timestamp {
            Timestamp(now().0 + SET.load(Ordering::Relaxed))
        }
        (&SET, clock as fn() -> Timestamp)
    }};
}

const FORWARD: (i64, &str) = (10 * SECOND, "was set forward by");
const BACK: (i64, &str) = (-10 * SECOND, "fell back by");

#[test]
fn a_clock_set_forward_by_ten_seconds_is_one_finding_and_no_loss() {
    let (set, clock) = clock!();
    holds(arrivals(|_| true), FORWARD, set, clock);
}

#[test]
fn a_clock_set_back_by_ten_seconds_is_one_finding_and_no_loss() {
    let (set, clock) = clock!();
    holds(arrivals(|_| true), BACK, set, clock);
}

/// One host alone: nothing but the observer's other clock tells the step from a pause.
fn of_ddp() -> Vec<PlantedDatagram> {
    let ddp = |d: &PlantedDatagram| d.destination.port() == 4048;
    let arrivals = arrivals(ddp);
    assert!(arrivals.len() > 500 && case("mixed-clean").unwrap().protocol == Protocol::Sacn);
    arrivals
}

#[test]
fn a_display_alone_loses_nothing_when_the_clock_is_set_forward() {
    let (set, clock) = clock!();
    holds(of_ddp(), FORWARD, set, clock);
}

#[test]
fn a_display_alone_loses_nothing_when_the_clock_is_set_back() {
    let (set, clock) = clock!();
    holds(of_ddp(), BACK, set, clock);
}
