//! Everybody who follows a run that goes on is told every finding of its account one time: while it lasts, or at its end. The
//! source is a double that plays a planted run in real time; loop, verifier, capture file and alerts are the real ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use wireproof::alert::{Alerter, Choice, Plan};
use wireproof::analysis;
use wireproof::live::conduct::{Event, Observed, Run, conduct};
use wireproof::live::receive::{Manner, now};
use wireproof::live::record::RecordPlan;
use wireproof::live::source::{Layer, Seen, Source, SourceCounters, SourceInfo};
use wireproof::slice::{Around, Request, slice};
use wireproof_fixture::{Planted, PlantedDatagram, case};
use wireproof_protocols::verify::rig::{Rig, RigOutput};
use wireproof_protocols::verify::{Account, Ended, Options};
use wireproof_protocols::{Datagram, Protocol, Timestamp};
use wireproof_reports::Summary;

const SECOND: i64 = 1_000_000_000;

/// A planted run in real time.
struct Player {
    arrivals: Vec<PlantedDatagram>,
    next: usize,
    began: Option<Instant>,
    /// How long after the first datagram it ends, ns, and who is told.
    end: i64,
    over: Arc<AtomicBool>,
    info: SourceInfo,
}

impl Player {
    fn due(&self, d: &PlantedDatagram) -> Duration {
        Duration::from_nanos(u64::try_from(d.at.0 - self.arrivals[0].at.0).unwrap())
    }
}

impl Source for Player {
    fn poll(&mut self, wait: Duration, each: &mut dyn FnMut(Seen<'_>)) -> io::Result<usize> {
        let began = *self.began.get_or_insert_with(Instant::now);
        let next = self.arrivals.get(self.next).map_or(wait, |d| self.due(d).saturating_sub(began.elapsed()));
        thread::sleep(next.min(wait));
        let gone = began.elapsed();
        self.over.fetch_or(gone.as_nanos() >= self.end.unsigned_abs().into(), Ordering::Relaxed);
        let base = now().0 - i64::try_from(gone.as_nanos()).unwrap();
        let ready = self.arrivals[self.next..].iter().take_while(|d| self.due(d) <= gone).count();
        for d in &self.arrivals[self.next..self.next + ready] {
            let at = Timestamp(base + i64::try_from(self.due(d).as_nanos()).unwrap());
            each(Seen::Datagram(at, Datagram::new(d.source, d.destination, &d.payload)));
        }
        self.next += ready;
        Ok(ready)
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

/// A rig with an output that is never seen: only the end of a run can say so.
fn rig() -> Options {
    let absent = RigOutput {
        name: "absent".to_owned(),
        protocol: Protocol::ArtNet,
        source: None,
        destination: None,
        sender: None,
        streams: vec![7],
        datagrams_per_frame: None,
        octets_per_frame: None,
        rate_mhz: None,
        sync: None,
        on_change: false,
    };
    Options { rig: Some(Rig { outputs: vec![absent], severities: Vec::new() }), ..Options::default() }
}

/// The first seconds of a planted run without the datagrams of port 5568 between two instants, ns.
fn arrivals(seconds: i64, hole: std::ops::Range<i64>) -> Vec<PlantedDatagram> {
    let planted: Planted = (case("mixed-clean").unwrap().build)(3).unwrap();
    let first = planted.arrivals[0].at.0;
    let lost = |d: &PlantedDatagram| d.destination.port() == 5568 && hole.contains(&(d.at.0 - first));
    let all = planted.arrivals.into_iter();
    all.filter(|d| d.at.0 - first < seconds * SECOND && !lost(d)).collect()
}

fn play(
    arrivals: Vec<PlantedDatagram>,
    end: i64,
    run: Run,
    watch: &mut dyn FnMut(Event<'_>),
) -> (Observed, Duration) {
    let info = SourceInfo { kind: "udp", name: "double".to_owned(), ..SourceInfo::default() };
    let over = Arc::clone(&run.interrupted);
    let player = Player { arrivals, next: 0, began: None, end, over, info };
    let began = Instant::now();
    let observed = conduct(vec![Box::new(player)], rig(), &run, watch).unwrap();
    (observed, began.elapsed())
}

fn by_code(codes: impl Iterator<Item = &'static str>) -> BTreeMap<&'static str, u64> {
    codes.fold(BTreeMap::new(), |mut all, code| {
        *all.entry(code).or_default() += 1;
        all
    })
}

fn listed(account: &Account) -> BTreeMap<&'static str, u64> {
    by_code(account.findings.iter().map(|f| f.code))
}

#[test]
fn every_finding_is_told_once_the_torn_frames_while_the_run_lasts_and_the_absent_output_at_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.pcapng");
    let run =
        Run { record: Some(RecordPlan { path: path.clone(), ..RecordPlan::default() }), ..Run::default() };
    let over = Arc::clone(&run.interrupted);
    let (mut told, mut early) = (Vec::new(), Vec::new());
    let hole = SECOND..SECOND + SECOND / 10;
    let (observed, _) = play(arrivals(3, hole), 3 * SECOND, run, &mut |event| {
        if let Event::Found(found) = event {
            told.push(found.code);
            early.extend((!over.load(Ordering::Relaxed)).then_some(found.code));
        }
    });
    let listed = listed(&observed.account);
    assert_eq!(by_code(told.into_iter()), listed);
    let early = by_code(early.into_iter());
    for code in ["SEQ-LOST", "FRAME-TORN"] {
        assert!(listed[code] > 0 && early.get(code) == listed.get(code), "{code}: {early:?} of {listed:?}");
    }
    assert!(listed.contains_key("RIG-MISSING") && !early.contains_key("RIG-MISSING"), "{listed:?}");
    let capture = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    assert!(capture.contains("wireproof: FRAME-TORN "), "a comment for who reads along");
}

/// How each stream ended, and what is said of silent ones, in their order.
fn silences(account: &Account) -> (Vec<Ended>, Vec<String>) {
    let said = account.findings.iter().filter(|f| f.code == "STREAM-SILENT").map(|f| f.text.clone());
    (account.streams.iter().map(|s| s.ended).collect(), said.collect())
}

/// Nothing comes after them: only the clock of the run shows it, and what is written of the run says when it ended.
#[test]
fn streams_that_all_fall_silent_at_once_are_silent_and_told_and_in_capture_and_tape_too() {
    let folder = tempfile::tempdir().unwrap();
    let (path, tape) = (folder.path().join("run.pcapng"), folder.path().join("run.tape"));
    let run = Run {
        record: Some(RecordPlan { path: path.clone(), ..RecordPlan::default() }),
        tape: Some(tape.clone()),
        ..Run::default()
    };
    let mut told = Vec::new();
    let (observed, _) = play(arrivals(1, 0..0), 4 * SECOND, run, &mut |event| {
        if let Event::Found(found) = event {
            told.push(found.code);
        }
    });
    let streams = observed.account.streams.len();
    let silent = told.iter().filter(|code| **code == "STREAM-SILENT").count();
    assert!(streams > 2 && silent == streams, "{silent} of {streams} in {told:?}");
    assert!(observed.account.streams.iter().all(|s| s.ended == Ended::Silent));
    for file in [&path, &tape] {
        let (read, account) = analysis::analyze(&[file], rig()).unwrap();
        assert_eq!(read.damaged, None);
        assert_eq!(silences(&account), silences(&observed.account), "{}", file.display());
    }
    for finding in observed.account.findings.iter().filter(|f| f.code == "STREAM-SILENT").take(2) {
        let cut = folder.path().join("cut.pcapng");
        let (_, account) = analysis::analyze(&[&path], rig()).unwrap();
        let id = &account.findings.iter().find(|f| f.first_ns == finding.first_ns).unwrap().id;
        let request = Request { finding: id, around: Around::Frames(30), all: false, options: rig() };
        assert!(slice(&path, &request, &cut).unwrap().found_again.is_some(), "{finding:?}");
        let (_, piece) = analysis::analyze(&[&cut], rig()).unwrap();
        assert!(silences(&piece).1.contains(&finding.text), "{finding:?}");
    }
}

#[test]
fn a_run_that_ends_at_the_first_violation_ends_with_the_first_torn_frame_or_loss() {
    let manner = Manner { fail_fast: true, ..Manner::default() };
    let hole = SECOND..SECOND + SECOND / 10;
    let (observed, took) = play(arrivals(3, hole), 9 * SECOND, Run { manner, ..Run::default() }, &mut |_| {});
    assert!(took < Duration::from_secs(5), "{took:?}");
    let account = &observed.account;
    assert!(!observed.cut_short && listed(account).contains_key("SEQ-LOST"), "{:?}", account.findings);
}

#[test]
fn alerts_delivered_and_held_back_are_as_many_as_there_are_findings() {
    let plan = Plan {
        exec: Some("true".parse().unwrap()),
        webhook: None,
        on: Choice::of(["info"]).unwrap(),
        every: Duration::from_secs(60),
        most: 2,
        timeout: Duration::from_secs(20),
        anonymize: false,
        filter: None,
    };
    let mut alerter = Alerter::start(plan).unwrap();
    let hole = SECOND..SECOND + SECOND / 10;
    let (observed, _) = play(arrivals(2, hole), 2 * SECOND, Run::default(), &mut |event| {
        if let Event::Found(found) = event {
            alerter.found(found);
        }
    });
    let counts = alerter.finish(&Summary::new(
        &observed.account,
        wireproof_reports::Source::default(),
        observed.observer.clone(),
    ));
    let all = observed.account.findings.len() as u64;
    assert!(all > 4, "{:?}", observed.account.findings);
    assert_eq!((counts.delivered, counts.suppressed, counts.dropped), (2, all - 2, 0), "{counts:?}");
}
