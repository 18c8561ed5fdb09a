//! The receive loop: polls the sources, verifies inline, and hands everything else over without ever waiting.
//!
//! It owns its sources and its verifier. It shares with other threads a stop flag and bounded queues that it only
//! tries; what does not fit is counted. It takes no lock, reads and writes no file, logs nothing. It allocates where
//! the verifier meets a stream or a finding for the first time, and nowhere else.

use super::glances::Glances;
use super::health::{Clocks, Health, Vitals};
use super::record::RecordFeed;
use super::source::{Layer, Seen, Source};
use super::tape::TapeFeed;
use super::untold::Key;
use crossbeam_channel::{Receiver, Sender};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};
use wireproof_protocols::attribution::STALL_LIMIT;
use wireproof_protocols::verify::{DropLayer, Finding, HostDrops, Progress, StreamAccount, Verifier, rules};
use wireproof_protocols::{Arrival, Rule, Severity, Timestamp};
use wireproof_reports::filter::StreamSoFar;

/// Time between two readings of the sources' counters.
const COUNTERS_EVERY: Duration = Duration::from_millis(100);
/// Longest wait for something to arrive when there is one source, and when there are several.
const WAITS: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(2)];
/// Local ports whose newest datagram is remembered, to place drops in time.
const PORTS_KEPT: usize = 64;
/// Findings remembered as told: twice as many as an account lists. What is told beyond is told again at the end.
const TOLD_KEPT: usize = 8_192;

/// A finding told while the run goes on; its number comes at the end.
#[derive(Clone, Debug)]
pub struct Told {
    /// Rule code.
    pub code: &'static str,
    /// Severity so far.
    pub severity: Severity,
    /// Capture time.
    pub at: Timestamp,
    /// The stream concerned, in words; empty when it is about none.
    pub stream: String,
    /// What was found.
    pub text: String,
    /// The stream concerned, as a filter sees it.
    pub subject: Option<Box<StreamSoFar>>,
    /// The stream concerned, by its order of appearance.
    pub place: Option<usize>,
    /// The waiver that covers it, so that it does not count.
    pub waived: Option<String>,
}

/// What the loop is connected to.
pub struct Links {
    /// Set to end the run.
    pub stop: Arc<AtomicBool>,
    /// Readings of the host's counters.
    pub host: Receiver<HostDrops>,
    /// Empty progress records to be filled in.
    pub asked: Receiver<Box<Progress>>,
    /// Filled ones, with the observer's own state so far.
    pub answered: Sender<(Box<Progress>, Vitals)>,
    /// Findings as they come.
    pub told: Sender<Told>,
    /// Where records go, when they are kept.
    pub record: Option<RecordFeed>,
    /// Where the tape goes, when there is one.
    pub tape: Option<TapeFeed>,
    /// Who looks at the run from outside.
    pub glances: Vec<Glances>,
}

/// How the loop is run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manner {
    /// End the run at the first violation.
    pub fail_fast: bool,
    /// Scheduling priority under SCHED_FIFO.
    pub realtime: Option<u8>,
    /// CPU to stay on.
    pub cpu: Option<usize>,
    /// The clock of the stamps; the system's when there is none.
    pub clock: Option<fn() -> Timestamp>,
}

/// What the loop leaves behind.
pub struct Received {
    /// The verifier, with everything it saw.
    pub verifier: Verifier,
    /// The sources.
    pub sources: Vec<Box<dyn Source>>,
    /// State of the loop.
    pub health: Health,
    /// Datagrams and frames handed over by the sources.
    pub packets: u64,
    /// Findings that could not be told at once.
    pub untold: u64,
    /// The findings that were told.
    pub told: Vec<Key>,
    /// Why the loop ended before it was told to.
    pub failed: Option<io::Error>,
    /// What is left of the record's hand-over, to be closed.
    pub record: Option<RecordFeed>,
    /// The same of the tape.
    pub tape: Option<TapeFeed>,
}

struct Loop {
    verifier: Verifier,
    links: Links,
    manner: Manner,
    health: Health,
    packets: u64,
    untold: u64,
    told: Vec<Key>,
    /// Drops announced by receive buffers and rings, and drops that the sources' counters said when last read.
    lost: u64,
    counted: u64,
    /// Drops announced by layer.
    layers: [u64; DropLayer::ALL.len()],
    /// Octets in the receive buffers when last looked at, and granted.
    buffer: (u64, u64),
    /// Capture time of the newest datagram by local port.
    newest: Vec<(u16, Timestamp)>,
    latest: Timestamp,
    pending: u64,
    began: Instant,
}

/// Runs the loop until it is stopped, or a source fails for good.
pub fn receive(
    mut sources: Vec<Box<dyn Source>>,
    verifier: Verifier,
    links: Links,
    manner: Manner,
) -> Received {
    let mut l = Loop {
        verifier,
        links,
        manner,
        health: Health::default(),
        packets: 0,
        untold: 0,
        told: Vec::new(),
        lost: 0,
        counted: 0,
        layers: [0; DropLayer::ALL.len()],
        buffer: (0, 0),
        newest: Vec::with_capacity(PORTS_KEPT),
        latest: manner.clock.map_or_else(now, |clock| clock()),
        pending: 0,
        began: Instant::now(),
    };
    let failed = l.rounds(&mut sources);
    l.close(&mut sources);
    l.tell(l.clock());
    let (record, tape) = (l.links.record.take(), l.links.tape.take());
    Received {
        verifier: l.verifier,
        sources,
        health: l.health,
        packets: l.packets,
        untold: l.untold,
        told: l.told,
        failed,
        record,
        tape,
    }
}

impl Loop {
    fn rounds(&mut self, sources: &mut [Box<dyn Source>]) -> Option<io::Error> {
        let wait = WAITS[usize::from(sources.len() > 1)];
        let mut down = vec![false; sources.len()];
        let mut ended = Instant::now();
        let mut counted = ended;
        while !self.links.stop.load(Ordering::Relaxed) {
            let idle = self.round(sources, &mut down, wait);
            let waited = match idle {
                Ok(true) => wait * u32::try_from(sources.len()).unwrap_or(1),
                Ok(false) => Duration::ZERO,
                Err(error) => return Some(error),
            };
            let end = Instant::now();
            self.watch(end.duration_since(ended).saturating_sub(waited));
            ended = end;
            if end.duration_since(counted) >= COUNTERS_EVERY {
                counted = end;
                self.count(sources);
                if let Some(by) = self.health.look(clocks(self.began, self.manner.clock)) {
                    self.stepped(by);
                }
                // Holes of slow streams and torn frames come of age between datagrams.
                self.tell(self.clock());
            }
            self.hand_over();
        }
        None
    }

    /// One round over all sources; `true` when nothing came.
    fn round(
        &mut self,
        sources: &mut [Box<dyn Source>],
        down: &mut [bool],
        wait: Duration,
    ) -> io::Result<bool> {
        self.health.round();
        let mut seen = 0;
        for (source, down) in sources.iter_mut().zip(down) {
            let layer = source.layer();
            match source.poll(wait, &mut |item| self.take(layer, item)) {
                Ok(n) => {
                    seen += n;
                    *down &= n == 0;
                }
                Err(error) if error.kind() == io::ErrorKind::NetworkDown => {
                    if !*down {
                        *down = true;
                        self.went_down(&source.info().name);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(seen == 0)
    }

    fn went_down(&mut self, name: &str) {
        let at = self.clock();
        self.remark(rules::OBS_LINK, at, format!("{name} was down while it was observed"));
        // What is missing meanwhile may have been on the wire: no number is known, so that nothing is proven.
        let from = self.latest;
        self.evidence(HostDrops { layer: DropLayer::Link, port: None, from, to: at, count: 1 });
    }

    /// A finding about the observer, told like any other.
    fn remark(&mut self, rule: &'static Rule, at: Timestamp, text: String) {
        self.verifier.remark(rule, at, text);
        self.tell(at);
    }

    #[inline]
    fn take(&mut self, layer: Layer, item: Seen<'_>) {
        match item {
            Seen::Datagram(at, datagram) => {
                self.packets += 1;
                if let Some(by) = self.health.waited(at, || clocks(self.began, self.manner.clock)) {
                    self.stepped(by);
                }
                let port = datagram.destination.port();
                if self.pending > 0 {
                    self.dropped(layer, Some(port), at);
                }
                self.came(port, at);
                let before = self.verifier.findings_so_far();
                let arrival = Arrival { at, packet: self.packets };
                match &mut self.links.tape {
                    // What became of a datagram is put together only where somebody keeps it.
                    None => self.verifier.on_datagram(arrival, &datagram),
                    Some(tape) => {
                        let noted = self.verifier.on_datagram_noted(arrival, &datagram);
                        tape.datagram(arrival, &datagram, noted.as_ref(), &self.verifier);
                    }
                }
                if let Some(record) = &mut self.links.record {
                    record.datagram(at, &datagram);
                }
                if self.verifier.findings_so_far() != before {
                    self.tell(at);
                }
            }
            Seen::Packet(at) => {
                self.packets += 1;
                if self.pending > 0 {
                    self.dropped(layer, None, at);
                }
                self.latest = self.latest.max(at);
                let arrival = Arrival { at, packet: self.packets };
                self.verifier.on_packet(arrival);
                if let Some(tape) = &mut self.links.tape {
                    tape.other(arrival, false);
                }
            }
            Seen::Frame(record) => {
                if let Some(feed) = &mut self.links.record {
                    feed.frame(&record);
                }
            }
            Seen::Dropped(n) => self.pending = self.pending.saturating_add(n),
        }
    }

    /// The clock of the stamps was set; the stamps to come will show it.
    #[cold]
    fn stepped(&mut self, by: i64) {
        let at = self.clock();
        self.verifier.on_clock_step(by);
        if let Some(record) = &mut self.links.record {
            record.clock_step(at, by);
        }
        if let Some(tape) = &mut self.links.tape {
            tape.clock_step(by);
        }
        // What came last was stamped in another time: drops are placed by it.
        let moved = |at: Timestamp| Timestamp(at.0.saturating_add(by));
        self.latest = moved(self.latest);
        self.newest.iter_mut().for_each(|(_, at)| *at = moved(*at));
    }

    fn clock(&self) -> Timestamp {
        self.manner.clock.map_or_else(now, |clock| clock())
    }

    /// Drops between what came before on the port and now.
    fn dropped(&mut self, layer: Layer, port: Option<u16>, to: Timestamp) {
        let known = self.newest.iter().find(|(p, _)| Some(*p) == port).map(|(_, at)| *at);
        // A ring drops whatever port it is for.
        let port = port.filter(|_| layer == Layer::Socket);
        let from = if port.is_some() { known.unwrap_or(to) } else { self.latest };
        let count = std::mem::take(&mut self.pending);
        self.evidence(HostDrops { layer: layer.into(), port, from: from.min(to), to, count });
    }

    fn evidence(&mut self, drops: HostDrops) {
        if matches!(drops.layer, DropLayer::Socket | DropLayer::Ring) {
            self.lost = self.lost.saturating_add(drops.count);
        }
        if let Some(place) = DropLayer::ALL.iter().position(|layer| *layer == drops.layer) {
            self.layers[place] = self.layers[place].saturating_add(drops.count);
        }
        self.verifier.on_drops(drops);
        if let Some(record) = &mut self.links.record {
            record.evidence(&drops);
        }
        if let Some(tape) = &mut self.links.tape {
            tape.evidence(&drops);
        }
    }

    #[inline]
    fn came(&mut self, port: u16, at: Timestamp) {
        self.latest = self.latest.max(at);
        if let Some((_, newest)) = self.newest.iter_mut().find(|(p, _)| *p == port) {
            *newest = at;
        } else if self.newest.len() < PORTS_KEPT {
            self.newest.push((port, at));
        }
    }

    /// Tells what is known `at` this time and was not told before.
    #[cold]
    fn tell(&mut self, at: Timestamp) {
        let mut violation = false;
        for f in self.verifier.news(at) {
            violation |= f.severity == Severity::Violation;
            if let Some(record) = &mut self.links.record {
                record.finding(&f);
            }
            let stream = f.stream.and_then(|s| self.verifier.identity(s));
            match self.links.told.try_send(Told::of(&f, stream)) {
                Ok(()) if self.told.len() < TOLD_KEPT => self.told.push(Key::of(&f)),
                Ok(()) => {}
                Err(_) => self.untold += 1,
            }
        }
        if violation && self.manner.fail_fast {
            self.links.stop.store(true, Ordering::Relaxed);
        }
    }

    /// The loop was away between two rounds.
    fn watch(&mut self, gap: Duration) {
        let ns = u64::try_from(gap.as_nanos()).unwrap_or(u64::MAX);
        self.health.away(ns);
        let signed = i64::try_from(ns).unwrap_or(i64::MAX);
        if signed >= STALL_LIMIT {
            let to = self.clock();
            self.verifier.on_stall(Timestamp(to.0.saturating_sub(signed)), to);
            let text = format!("the receive loop was held up for {} ms", ns / 1_000_000);
            self.remark(rules::OBS_STALL, to, text);
        }
    }

    /// Reads the counters of the sources, which learn by it when their drops happened. What was dropped and not
    /// announced yet stays where it is until it is, but is shown at once.
    fn count(&mut self, sources: &mut [Box<dyn Source>]) {
        // A counter that cannot be read now is read again; the last reading closes the account.
        (self.counted, self.buffer) = (0, (0, 0));
        for counters in sources.iter_mut().filter_map(|source| source.counters().ok()) {
            self.counted = self.counted.saturating_add(counters.dropped);
            self.buffer.0 = self.buffer.0.saturating_add(counters.queued_bytes);
            self.buffer.1 = self.buffer.1.saturating_add(counters.granted_bytes);
        }
    }

    fn vitals(&mut self) -> Vitals {
        let left_out = self.links.record.as_ref().map_or(0, |feed| feed.left_out);
        Vitals {
            received: self.packets,
            lost: self.lost.max(self.counted),
            layers: self.layers,
            queue: left_out + self.links.tape.as_ref().map_or(0, |feed| feed.left_out),
            untold: self.untold,
            loop_gap_max_ns: self.health.loop_gap_max,
            queue_delay: self.health.queue_delay(),
            buffer: self.buffer,
        }
    }

    fn hand_over(&mut self) {
        while let Ok(drops) = self.links.host.try_recv() {
            self.evidence(drops);
        }
        if let Ok(mut progress) = self.links.asked.try_recv() {
            self.verifier.progress(&mut progress);
            let vitals = self.vitals();
            let _ = self.links.answered.try_send((progress, vitals));
        }
        for glances in &self.links.glances {
            let lost = self.lost.max(self.counted);
            glances.answer(&mut self.verifier, (lost, self.packets), &mut self.health, self.manner.clock);
        }
        if let Some(record) = &mut self.links.record {
            record.tick();
        }
        if let Some(tape) = &mut self.links.tape {
            tape.tick();
        }
    }

    /// The end: what was dropped after the last datagram is counted too.
    fn close(&mut self, sources: &mut [Box<dyn Source>]) {
        for source in sources.iter_mut() {
            let layer = source.layer();
            // Everything that is still in the buffers was there before the end.
            for _ in 0..1024 {
                match source.poll(Duration::ZERO, &mut |item| self.take(layer, item)) {
                    Ok(1..) => {}
                    _ => break,
                }
            }
            self.pending = self.pending.saturating_add(source.take_unannounced().unwrap_or(0));
            if self.pending > 0 {
                let to = self.clock();
                self.dropped_last(layer, to);
            }
        }
        while let Ok(drops) = self.links.host.try_recv() {
            self.evidence(drops);
        }
        self.verifier.on_end(self.clock());
    }

    fn dropped_last(&mut self, layer: Layer, to: Timestamp) {
        let from = self.newest.iter().map(|(_, at)| *at).min().unwrap_or(to).min(to);
        let count = std::mem::take(&mut self.pending);
        self.evidence(HostDrops { layer: layer.into(), port: None, from, to, count });
    }
}

impl Told {
    /// A finding and the stream it is about.
    pub(super) fn of(f: &Finding, stream: Option<StreamAccount>) -> Told {
        Told {
            code: f.code,
            severity: f.severity,
            at: Timestamp(f.first_ns),
            stream: stream.as_ref().map(StreamAccount::words).unwrap_or_default(),
            text: f.text.clone(),
            subject: stream.map(|account| Box::new(StreamSoFar(account))),
            place: f.stream,
            waived: None,
        }
    }
}

/// Both clocks, the steady one since `began`.
fn clocks(began: Instant, clock: Option<fn() -> Timestamp>) -> Clocks {
    let before = began.elapsed();
    let now = clock.map_or_else(now, |clock| clock());
    let after = began.elapsed();
    let is_tight = after.saturating_sub(before) < Duration::from_millis(1);
    Clocks { now, steady: u64::try_from(after.as_nanos()).unwrap_or(u64::MAX), is_tight }
}

/// The clock of the kernel's stamps.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}
