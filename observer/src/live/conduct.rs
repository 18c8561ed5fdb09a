//! One live run from start to verdict: starts the threads, watches the time, the signals and what the receive loop
//! tells, ends everything in order, and makes the account.

use super::counters::{CounterReader, Counters, PERIOD};
use super::drain::{DrainPlan, DrainSpan, DrainTotals, Drainer, RingCheck, once};
use super::glances::{Glances, Look, Watcher, pair};
use super::health::Vitals;
use super::receive::{Links, Manner, Received, Told, now, receive};
use super::record::{RecordFeed, RecordPlan, Recorded, Writing};
use super::source::{Source, SourceInfo};
use super::tape::{TapeFeed, TapeWriting, Taped};
use crate::outfile;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use wireproof_protocols::Timestamp;
use wireproof_protocols::verify::{
    Account, DropLayer, HostDrops, Options, Progress, TapEvidence, Verifier, WANTED_MAX, rules,
};
use wireproof_reports::{Layers, Observer};

/// Time between two looks at the signals and the clock.
const LOOK: Duration = Duration::from_millis(50);
/// Findings that wait to be told.
const TOLD: usize = 1_024;
/// Host counter readings that wait to be taken.
const READINGS: usize = 1_024;
/// Streams of a progress record.
const STREAMS_SHOWN: usize = 512;
/// Longest that the download after the end may take.
const LAST: Duration = Duration::from_secs(5);
/// How long a download that is broken off may take to end.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a run does besides receiving.
#[derive(Default)]
pub struct Run {
    /// How long; `None` until it is stopped.
    pub duration: Option<Duration>,
    /// Capture file.
    pub record: Option<RecordPlan>,
    /// Tape.
    pub tape: Option<PathBuf>,
    /// The tape holds a digest of each datagram's data, too.
    pub digests: bool,
    /// Background downloads.
    pub drain: Option<DrainPlan>,
    /// How the receive loop is run.
    pub manner: Manner,
    /// Interface whose counters are read; `None` for all.
    pub interface: Option<String>,
    /// Set from outside to end the run (a signal).
    pub interrupted: Arc<AtomicBool>,
    /// Time between two progress events; `None` for none.
    pub progress_every: Option<Duration>,
    /// Which streams the progress events are to say more about.
    pub wanted: Arc<Mutex<Wanted>>,
    /// A tap on the interface beside sockets, on a thread of its own: it testifies what reached this host. Taken by
    /// the run.
    pub tap: Mutex<Option<Box<dyn Source>>>,
    /// Tape of what the tap sees, so that its testimony can be laid against the losses again.
    pub tap_tape: Option<PathBuf>,
    /// Time between two looks at the run as a whole, for who has to tell what of it counts; `None` for none.
    pub looks_every: Option<Duration>,
    /// Somebody who looks at the run from outside, such as a web page. Taken by the run.
    pub glances: Mutex<Option<Glances>>,
}

/// Streams whose distributions somebody looks at, by their order of appearance.
#[derive(Debug, Default)]
pub struct Wanted {
    /// Streams whose quantiles are shown, at most [`WANTED_MAX`].
    pub quantiles: Vec<usize>,
    /// The stream whose intervals are drawn.
    pub chart: Option<usize>,
}

/// What happens while a run goes on.
#[derive(Debug)]
pub enum Event<'a> {
    /// Everything is ready, and a source is listened to.
    Listening(&'a SourceInfo),
    /// Where the run stands: time gone by, counts, the observer's own state.
    Progress(Duration, &'a Progress, &'a Vitals),
    /// A look at the run as a whole.
    Looked(&'a Look),
    /// A finding.
    Found(&'a Told),
    /// A download ended.
    Drained(&'a DrainSpan),
}

/// What a run leaves behind.
#[derive(Debug)]
pub struct Observed {
    /// The account.
    pub account: Account,
    /// The observer's own state.
    pub observer: Observer,
    /// The sources.
    pub sources: Vec<SourceInfo>,
    /// Datagrams and frames seen.
    pub packets: u64,
    /// IP fragments of all sources that show them: seen, datagrams put together, datagrams that stayed incomplete.
    pub fragments: (u64, u64, u64),
    /// True when the run had a length and ended before it.
    pub cut_short: bool,
    /// Why it ended early, if it did.
    pub failed: Option<String>,
    /// Downloads, in order of their end.
    pub drains: Vec<DrainSpan>,
    /// What became of the downloads due.
    pub drain_totals: Option<DrainTotals>,
    /// Findings that could not be shown while the run went on; the account has them.
    pub untold: u64,
    /// Capture files.
    pub recorded: Option<Recorded>,
    /// The tape.
    pub taped: Option<Taped>,
    /// What became of the tap beside the sockets.
    pub tapped: Option<Tapped>,
}

/// What became of a tap.
#[derive(Debug, Default)]
pub struct Tapped {
    /// Frames that it dropped itself.
    pub dropped: u64,
    /// Its tape.
    pub taped: Option<Taped>,
    /// Why it ended before it was told to.
    pub failed: Option<String>,
}

/// Why a run could not be started.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The capture file cannot be made.
    #[error("{path} cannot be written ({source}): check the folder, its rights and the space on the disk")]
    Record {
        /// The file.
        path: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// Downloads cannot be made.
    #[error(transparent)]
    Drain(#[from] super::drain::DrainError),
    /// A thread cannot be started or set up.
    #[error("the receive thread cannot be started ({0}): see `wireproof doctor`")]
    Thread(io::Error),
}

/// Runs to the end and tells `watch` what happens meanwhile.
///
/// # Errors
/// [`RunError`], before anything was received.
pub fn conduct(
    mut sources: Vec<Box<dyn Source>>,
    options: Options,
    run: &Run,
    watch: &mut dyn FnMut(Event<'_>),
) -> Result<Observed, RunError> {
    let mut verifier = Verifier::new(options.clone());
    // Before the other file is emptied.
    if let Some(tape) = run.tape.as_deref().filter(|tape| outfile::is_busy(tape)) {
        let source =
            io::Error::new(io::ErrorKind::WouldBlock, "another process is writing it, give another name");
        return Err(RunError::Record { path: tape.display().to_string(), source });
    }
    let (writing, feed) = match run.record.clone() {
        None => (None, None),
        Some(plan) => {
            let path = plan.path.display().to_string();
            let started = Writing::start(plan).map_err(|source| RunError::Record { path, source })?;
            (Some(started.0), Some(begun(started.1, run)))
        }
    };
    let (taping, tape) = start_tape(run.tape.as_deref(), run.digests)?;
    if writing.is_some() {
        sources.iter_mut().for_each(|s| s.show_frames());
    }
    let infos: Vec<SourceInfo> = sources.iter().map(|s| s.info().clone()).collect();
    for source in &sources {
        let (asked, granted) = source.info().buffer_bytes;
        if granted < asked {
            let text = format!("{granted} octets of receive buffer were granted, {asked} were asked for");
            verifier.remark(rules::OBS_BUFFER, now(), text);
        }
    }
    let stop = Arc::new(AtomicBool::new(false));
    let (give_host, host) = bounded(READINGS);
    let (ask, asked) = bounded(1);
    let (answered, answers) = bounded(1);
    let (tell, told) = bounded(TOLD);
    let (own, watcher) = run.looks_every.map(|_| pair()).unzip();
    let others = run.glances.lock().ok().and_then(|mut glances| glances.take());
    let glances = own.into_iter().chain(others).collect();
    let links =
        Links { stop: Arc::clone(&stop), host, asked, answered, told: tell, record: feed, tape, glances };
    let began = Instant::now();
    let (give_span, spans) = bounded(1_024);
    let drainer = run.drain.clone().map(|plan| Drainer::start(plan, began, give_span)).transpose()?;
    let counting = count_host(run.interface.clone(), give_host, Arc::clone(&stop))?;
    let tapping = second_look(run, &options, &stop)?;
    let receiving = start(sources, verifier, links, run.manner)?;
    infos.iter().for_each(|info| watch(Event::Listening(info)));
    let mut channels = Channels { ask, answers, told, spans, watcher };
    let (finished, drains) = channels.attend(run, began, &stop, &receiving, watch);
    stop.store(true, Ordering::Relaxed);
    let drain_totals = drainer.map(|d| d.stop(PATIENCE));
    let _ = counting.join();
    let received = receiving.join().map_err(|_| RunError::Thread(io::Error::other("it ended too early")))?;
    let (tap, tapped) = tapping.and_then(|thread| thread.join().ok()).unzip();
    let (mut observed, late) = close(received, tap, (writing, taping), run);
    observed.tapped = tapped;
    channels.rest(&mut observed, drains, watch);
    late.iter().for_each(|found| watch(Event::Found(found)));
    observed.drain_totals = drain_totals;
    last_ring(run, &mut observed, watch)?;
    observed.cut_short = run.duration.is_some() && !finished && !(run.manner.fail_fast && is_fail(&observed));
    Ok(observed)
}

/// The capture file says when capturing began.
fn begun(mut feed: RecordFeed, run: &Run) -> RecordFeed {
    feed.began(run.manner.clock.map_or_else(now, |clock| clock()));
    feed
}

/// Makes a tape and starts the thread that writes it, if there is to be one.
fn start_tape(
    path: Option<&Path>,
    digests: bool,
) -> Result<(Option<TapeWriting>, Option<TapeFeed>), RunError> {
    let Some(path) = path else { return Ok((None, None)) };
    let refused = |source| RunError::Record { path: path.display().to_string(), source };
    let (writing, feed) = TapeWriting::start(path, digests).map_err(refused)?;
    Ok((Some(writing), Some(feed)))
}

/// Downloads the ring once more when nothing is received any more: the downloads before do not reach to the end.
fn last_ring(run: &Run, observed: &mut Observed, watch: &mut dyn FnMut(Event<'_>)) -> Result<(), RunError> {
    let ring = |span: &&DrainSpan| matches!(span.ring, Some(RingCheck::Ok(_)));
    let number = observed.drains.iter().map(|span| span.number).max().unwrap_or_default() + 1;
    let Some(plan) = run.drain.as_ref().filter(|_| observed.drains.iter().any(|span| ring(&span))) else {
        return Ok(());
    };
    let plan = DrainPlan { deadline: plan.deadline.min(LAST), ..plan.clone() };
    if let Some(span) = once(&plan, number)? {
        watch(Event::Drained(&span));
        observed.drains.push(span);
    }
    Ok(())
}

/// A run that was told to end at the first violation, and did, is not cut short.
fn is_fail(observed: &Observed) -> bool {
    observed.account.findings.iter().any(|f| f.severity == wireproof_protocols::Severity::Violation)
}

fn start(
    sources: Vec<Box<dyn Source>>,
    verifier: Verifier,
    links: Links,
    manner: Manner,
) -> Result<JoinHandle<Received>, RunError> {
    let (ready, is_ready) = bounded(1);
    let body = move || {
        let set = super::sys_thread::apply(manner.cpu, manner.realtime);
        let refused = set.is_err();
        let _ = ready.send(set);
        if refused {
            links.stop.store(true, Ordering::Relaxed);
        }
        receive(sources, verifier, links, manner)
    };
    let thread = thread::Builder::new().name("receive".to_owned()).spawn(body).map_err(RunError::Thread)?;
    match is_ready.recv() {
        Ok(Ok(())) => Ok(thread),
        Ok(Err(error)) => Err(RunError::Thread(error)),
        Err(_) => Err(RunError::Thread(io::Error::other("it ended too early"))),
    }
}

/// Starts the tap's own receive loop; what it found comes when it ends.
fn second_look(
    run: &Run,
    options: &Options,
    stop: &Arc<AtomicBool>,
) -> Result<Option<JoinHandle<(TapEvidence, Tapped)>>, RunError> {
    let Some(tap) = run.tap.lock().ok().and_then(|mut tap| tap.take()) else { return Ok(None) };
    // Nobody asks it, and nobody is told: only its account counts.
    let ((_, host), (_, asked)) = (bounded(1), bounded(1));
    let ((answered, _), (told, _)) = (bounded(1), bounded(1));
    let (taping, tape) = start_tape(run.tap_tape.as_deref(), false)?;
    let stop = Arc::clone(stop);
    let links = Links { stop, host, asked, answered, told, record: None, tape, glances: Vec::new() };
    let verifier = Verifier::new(Options { rig: None, ..options.clone() });
    let body = move || {
        let received = receive(vec![tap], verifier, links, Manner::default());
        let ended = received.verifier.ended();
        let account = received.verifier.finish();
        let taped = received.tape.zip(taping).map(|(feed, taping)| feed.finish(taping, ended));
        let failed = received.failed.map(|error| error.to_string());
        let dropped = account.observer.ring;
        (TapEvidence::of(&account, dropped), Tapped { dropped, taped, failed })
    };
    thread::Builder::new().name("tap".to_owned()).spawn(body).map(Some).map_err(RunError::Thread)
}

/// Reads the host's counters beside the receive loop, which takes them from a queue.
fn count_host(
    interface: Option<String>,
    give: Sender<HostDrops>,
    stop: Arc<AtomicBool>,
) -> Result<JoinHandle<()>, RunError> {
    let mut reader = CounterReader::new(interface.as_deref());
    let (mut before, mut at) = (reader.read(), now());
    let body = move || {
        loop {
            let last = stop.load(Ordering::Relaxed);
            if !last {
                thread::sleep(PERIOD);
            }
            let (counters, to) = (reader.read(), now());
            if !told(&before, &counters, (at, to), &give) {
                return;
            }
            (before, at) = (counters, to);
            if last {
                return;
            }
        }
    };
    thread::Builder::new().name("counters".to_owned()).spawn(body).map_err(RunError::Thread)
}

/// Hands the differences over; `false` when nobody takes them any more.
fn told(
    before: &Counters,
    after: &Counters,
    (from, to): (Timestamp, Timestamp),
    give: &Sender<HostDrops>,
) -> bool {
    let delta = after.since(before);
    let counted = [
        (DropLayer::Checksum, delta.checksum_errors),
        (DropLayer::Nic, delta.nic_dropped),
        (DropLayer::Unclear, delta.nic_unclear),
        (DropLayer::Softnet, delta.softnet_dropped),
    ];
    counted.into_iter().filter_map(|(layer, n)| Some((layer, n.filter(|n| *n > 0)?))).all(|(layer, count)| {
        let sent = give.try_send(HostDrops { layer, port: None, from, to, count });
        !matches!(sent, Err(TrySendError::Disconnected(_)))
    })
}

/// Writes down what is asked for. Nobody holds the lock for longer than it takes to set it, and the receive loop never.
fn want(run: &Run, progress: &mut Progress) {
    let wanted = run.wanted.lock().unwrap_or_else(PoisonError::into_inner);
    progress.wanted.clear();
    progress.wanted.extend(wanted.quantiles.iter().take(WANTED_MAX));
    progress.charted = wanted.chart;
}

struct Channels {
    ask: Sender<Box<Progress>>,
    answers: Receiver<(Box<Progress>, Vitals)>,
    told: Receiver<Told>,
    spans: Receiver<DrainSpan>,
    watcher: Option<Watcher>,
}

impl Channels {
    /// Waits for the end: `true` when the run had its time, and the downloads that ended so far.
    fn attend(
        &mut self,
        run: &Run,
        began: Instant,
        stop: &AtomicBool,
        receiving: &JoinHandle<Received>,
        watch: &mut dyn FnMut(Event<'_>),
    ) -> (bool, Vec<DrainSpan>) {
        let mut drains = Vec::new();
        let mut next = run.progress_every.map(|every| began + every);
        let mut look = began;
        let mut spare = Some(Box::new(Progress::with_room(STREAMS_SHOWN)));
        loop {
            let left = run.duration.map(|d| (began + d).saturating_duration_since(Instant::now()));
            match self.told.recv_timeout(left.map_or(LOOK, |left| left.min(LOOK))) {
                Ok(found) => watch(Event::Found(&found)),
                // The loop is gone, or about to be: do not spin.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(Duration::from_millis(1)),
                Err(RecvTimeoutError::Timeout) => {}
            }
            while let Ok(span) = self.spans.try_recv() {
                watch(Event::Drained(&span));
                drains.push(span);
            }
            self.look(run, &mut look, watch);
            if let Ok((progress, vitals)) = self.answers.try_recv() {
                watch(Event::Progress(began.elapsed(), &progress, &vitals));
                spare = Some(progress);
            }
            if let (Some(due), Some(every)) = (next, run.progress_every)
                && Instant::now() >= due
                && let Some(mut progress) = spare.take()
            {
                want(run, &mut progress);
                next = Some(due.max(Instant::now()) + every);
                let _ = self.ask.try_send(progress);
            }
            if left.is_some_and(|left| left.is_zero()) {
                return (true, drains);
            }
            let ended = stop.load(Ordering::Relaxed) || receiving.is_finished();
            if ended || run.interrupted.load(Ordering::Relaxed) {
                return (false, drains);
            }
        }
    }

    /// Hands over a look that came, and asks for another once one is due at `next`.
    fn look(&mut self, run: &Run, next: &mut Instant, watch: &mut dyn FnMut(Event<'_>)) {
        let (Some(watcher), Some(every)) = (&mut self.watcher, run.looks_every) else { return };
        watcher.take(|look| watch(Event::Looked(look)));
        let now = Instant::now();
        if now >= *next {
            watcher.ask();
            *next = now + every;
        }
    }

    /// What was told while the threads ended.
    fn rest(&self, observed: &mut Observed, drains: Vec<DrainSpan>, watch: &mut dyn FnMut(Event<'_>)) {
        observed.drains = drains;
        self.told.try_iter().for_each(|found| watch(Event::Found(&found)));
        for span in self.spans.try_iter() {
            watch(Event::Drained(&span));
            observed.drains.push(span);
        }
    }
}

/// The account of what was received, and what of it nobody was told yet.
fn close(
    received: Received,
    tap: Option<TapEvidence>,
    (writing, taping): (Option<Writing>, Option<TapeWriting>),
    run: &Run,
) -> (Observed, Vec<Told>) {
    let Received { mut verifier, sources, mut health, packets, untold, told, failed, record, tape } =
        received;
    // What is written ends when the verifier's run did, so that it tells the same of streams that fell silent.
    let ended = verifier.ended();
    let left_out = record.map_or(0, |mut feed| {
        ended.into_iter().for_each(|at| feed.ended(at));
        feed.finish()
    });
    let recorded = writing.map(Writing::join);
    let taped = tape.zip(taping).map(|(feed, taping)| feed.finish(taping, ended));
    if let Some(text) = taped.as_ref().and_then(|taped| tape_not_whole(taped, run)) {
        verifier.remark(rules::OBS_RECORD, now(), text);
    }
    let taped_less = taped.as_ref().map_or(0, |t| t.left_out);
    let unwritten = recorded.as_ref().map_or(0, |r| r.unwritten);
    if let Some(text) = not_whole(left_out, recorded.as_ref(), run) {
        verifier.remark(rules::OBS_RECORD, now(), text);
    }
    if let Some(tap) = tap {
        verifier.on_tap(tap);
    }
    let fragments = sources.iter().filter_map(|s| s.fragments());
    let fragments = fragments.fold((0, 0, 0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2));
    let sources: Vec<SourceInfo> = sources.into_iter().map(|s| s.info().clone()).collect();
    let account = verifier.finish();
    let layers = Layers { queue: left_out + unwritten + taped_less, ..Layers::default() };
    let observer = Observer {
        lost: 0,
        layers,
        loop_gap_max_ns: health.loop_gap_max,
        queue_delay_ns: health.queue_delay(),
        ..Observer::default()
    }
    .with_losses(&account);
    let late = super::untold::untold(&account, &told);
    let observed = Observed {
        account,
        observer,
        sources,
        packets,
        fragments,
        cut_short: false,
        failed: failed.map(|error| error.to_string()),
        drains: Vec::new(),
        drain_totals: None,
        untold,
        recorded,
        taped,
        tapped: None,
    };
    (observed, late)
}

fn not_whole(left_out: u64, recorded: Option<&Recorded>, run: &Run) -> Option<String> {
    let recorded = recorded?;
    let path = run.record.as_ref().map_or_else(String::new, |plan| plan.path.display().to_string());
    match &recorded.failed {
        Some(error) => Some(format!(
            "{path}: writing ended after {} records ({error}); {} more were not written",
            recorded.records,
            recorded.unwritten + left_out
        )),
        None if left_out > 0 => {
            Some(format!("{path}: {left_out} records were left out, the disk was too slow"))
        }
        None => None,
    }
}

fn tape_not_whole(taped: &Taped, run: &Run) -> Option<String> {
    let path = run.tape.as_ref().map_or_else(String::new, |path| path.display().to_string());
    match &taped.failed {
        Some(error) => Some(format!("{path}: the tape ended early ({error}); what was written can be read")),
        None if taped.left_out > 0 => {
            Some(format!("{path}: {} records were left out, the disk was too slow", taped.left_out))
        }
        None => None,
    }
}
