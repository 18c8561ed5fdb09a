//! The conductor: one thread that owns a run. It does what the runner asks for, hands what happens back to it in one order,
//! and never decides anything itself.

use super::clock::{BenchClock, wall_ns};
use super::control::{Control, Fetch, Job, Told, failure};
use super::device::Device;
use super::evidence::Evidence;
use super::going::{From, Going, RING};
use super::measured::lacks;
use super::preflight::{Checks, free_bytes, preflight};
use super::ring_reader::RingReader;
use super::sham::Sham;
use super::wire::{self, Into, Look, NoWire, Wire};
use crate::live::drain::DrainSpan;
use crossbeam_channel::{Receiver, Sender, after, bounded, never, select, unbounded};
use std::io;
use std::panic::catch_unwind;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use wireproof_matrices::arm::Span;
use wireproof_matrices::journal::Record;
use wireproof_matrices::levels::Levels;
use wireproof_matrices::plan::Plan;
use wireproof_matrices::runner::io::{
    Answer, ArmOrder, Around, ClockSample, Collected, Command, DrainKind, Exit, Failure, Fault, Input,
    Output, Preflight, Settling, Ticket, Warming,
};
use wireproof_matrices::runner::{Progress, Runner, Schedule};

/// Looks that wait to be taken.
const LOOKS: usize = 64;
/// Time that the wire of an arm runs before its window may open: what is on its way is on the tape then.
const BEFORE: Duration = Duration::from_millis(250);
/// Longest time without a look at the runner's clock.
const IDLE: Duration = Duration::from_secs(1);

/// What a run is made of.
pub struct Parts {
    /// The state machine.
    pub runner: Runner,
    /// Its plan.
    pub plan: Arc<Plan>,
    /// Its evidence.
    pub evidence: Evidence,
    /// The device.
    pub device: Device,
    /// The clock the runner lives by.
    pub clock: BenchClock,
    /// Signals.
    pub signals: Receiver<i32>,
    /// Interface with a tap on it beside the sockets.
    pub tap: Option<String>,
}

/// What is told to whoever watches.
#[derive(Debug)]
pub struct Seen<'a> {
    /// Where the run stands.
    pub progress: Progress,
    /// The newest look at the streams.
    pub look: &'a Look,
    /// Arms that ended and what was found since the last time, as the journal has it.
    pub news: &'a [Record],
    /// Frames over their deadline in the arms that were kept so far.
    pub late_frames: u64,
    /// Datagrams missing in them.
    pub missing: u64,
    /// Names of treatments.
    pub schedule: &'a Schedule,
}

/// What of the wire the runner wants to hear.
#[derive(Clone, Copy, Debug)]
enum Reporting {
    Nothing,
    Warming(Instant),
    Settling,
}

/// A run.
pub struct Conductor {
    parts: Parts,
    control: Control,
    told: Receiver<Told>,
    tell: Sender<Told>,
    looks: Receiver<Look>,
    give_looks: Sender<Look>,
    wire: Option<Wire>,
    /// The step of the ladder that was set last, by its factor.
    levels: Levels,
    look: Look,
    reporting: Reporting,
    arm: Option<Going>,
    /// A `StartArm` that waits for the streams, and since when.
    starting: Option<(Ticket, Instant)>,
    /// The collecting download that is going.
    collecting: Option<Fetch>,
    sham: Option<Sham>,
    clock_sample: Option<ClockSample>,
    generation: u64,
    cpu_ns: Option<u64>,
    retention_ns: Option<u64>,
    news: Vec<Record>,
    late_frames: u64,
    missing: u64,
}

impl Conductor {
    /// Puts a run together; nothing is sent yet.
    ///
    /// # Errors
    /// No thread or no socket on the loopback interface.
    pub fn new(parts: Parts) -> io::Result<Conductor> {
        let (tell, told) = unbounded();
        let (give_looks, looks) = bounded(LOOKS);
        let control = Control::start(parts.device.clone(), parts.clock, tell.clone())?;
        let has_sham =
            parts.plan.factor.iter().any(|f| f.name == "drain" && f.levels.iter().any(|l| l == "sham"));
        let octets = parts.plan.drain.as_ref().filter(|_| has_sham).map(|drain| drain.expect_bytes);
        Ok(Conductor {
            parts,
            control,
            told,
            tell,
            looks,
            give_looks,
            wire: None,
            levels: Levels::new(),
            look: Look::default(),
            reporting: Reporting::Nothing,
            arm: None,
            starting: None,
            collecting: None,
            sham: octets.map(Sham::start).transpose()?,
            clock_sample: None,
            generation: 0,
            cpu_ns: None,
            retention_ns: None,
            news: Vec::new(),
            late_frames: 0,
            missing: 0,
        })
    }

    /// Runs to the end; the bundle is sealed then, and returned with the runner's last word.
    pub fn run(mut self, watch: &mut dyn FnMut(&Seen<'_>)) -> (Exit, Evidence) {
        loop {
            while let Some(output) = self.parts.runner.poll_output() {
                if let Some(exit) = self.execute(output) {
                    return (exit, self.parts.evidence);
                }
            }
            let progress = self.parts.runner.progress(self.parts.clock.now());
            watch(&Seen {
                progress,
                look: &self.look,
                news: &std::mem::take(&mut self.news),
                late_frames: self.late_frames,
                missing: self.missing,
                schedule: self.parts.runner.schedule(),
            });
            self.wait();
        }
    }

    /// Waits for the next thing to happen and takes it in.
    fn wait(&mut self) {
        let due = self.parts.runner.poll_timeout().map_or(IDLE, |at| {
            let left = at.0.saturating_sub(self.parts.clock.now_ns());
            Duration::from_nanos(u64::try_from(left).unwrap_or(0)).min(IDLE)
        });
        let (timer, none) = (after(due), never());
        let looks = if self.wire.is_some() { &self.looks } else { &none };
        let input = select! {
            recv(self.parts.signals) -> _ => Some(Input::Signal),
            recv(self.told) -> told => told.ok().and_then(|told| self.heard(told)),
            recv(looks) -> look => look.ok().and_then(|look| self.looked(look)),
            recv(timer) -> _ => Some(Input::Tick),
        };
        if let Some(input) = input {
            self.input(input);
        }
        if self.wire.as_ref().is_some_and(Wire::is_over) {
            let why = match self.wire.take().map(Wire::stop) {
                Some(Err(error)) => error.to_string(),
                Some(Ok(observed)) => observed.failed.unwrap_or_else(|| "it ended by itself".to_owned()),
                None => String::new(),
            };
            self.input(Input::Fault(Fault::Internal(format!("nothing is received any more: {why}"))));
        }
    }

    fn input(&mut self, input: Input) {
        self.parts.runner.handle_input(self.parts.clock.now(), input);
    }

    fn answer(&mut self, ticket: Ticket, result: Result<Answer, Failure>) {
        self.input(Input::Done { ticket, result });
    }

    /// Does one command, or begins it.
    fn execute(&mut self, output: Output) -> Option<Exit> {
        let Output { ticket, limit_ns, command } = output;
        let limit = Duration::from_nanos(limit_ns);
        let result = match command {
            Command::Exit(exit) => return Some(*exit),
            Command::Abort { open } => {
                self.abort(open);
                return None;
            }
            Command::Preflight => self.preflight(ticket),
            Command::ReadStatus => self.ask(ticket, limit, Job::Status),
            Command::ReadToggle { factor } | Command::VerifyToggle { factor, .. } => {
                self.ask(ticket, limit, Job::Level(factor))
            }
            Command::SetToggle { factor, level } => {
                self.steps(&factor, &level);
                self.ask(ticket, limit, Job::Set(factor, level))
            }
            Command::ReadCounter { factor } => self.ask(ticket, limit, Job::Counter(factor)),
            Command::SampleClock => self.ask(ticket, limit, Job::Clock),
            Command::Collect { .. } => self.collect(ticket, limit),
            Command::StartArm(order) => self.start_arm(ticket, *order),
            Command::StartDrain { index, kind, timeout_ns } => {
                Some(self.start_drain(index, &kind, Duration::from_nanos(timeout_ns)))
            }
            other => Some(self.at_once(other)),
        };
        if let Some(result) = result {
            self.answer(ticket, result);
        }
        None
    }

    /// Commands that are done when this returns.
    fn at_once(&mut self, command: Command) -> Result<Answer, Failure> {
        match command {
            Command::Journal(record) => {
                if matches!(*record, Record::ArmEnd { .. } | Record::Finding { .. }) {
                    self.news.push((*record).clone());
                }
                done(self.parts.evidence.journal(&record))
            }
            Command::ReadSpace => {
                let free = free_bytes(self.parts.evidence.dir());
                free.map(Answer::Space).map_err(|error| Failure::Disk(error.to_string()))
            }
            Command::StartWarmup => {
                self.reporting = Reporting::Warming(Instant::now());
                self.listen()
            }
            Command::StartSettle => {
                self.reporting = Reporting::Settling;
                self.listen()
            }
            Command::OpenWindow => self.open_window(),
            Command::CloseWindow => self.close_window(),
            Command::Measure(order) => self.measure(&order),
            Command::KeepArm(arm) => {
                // One that ended early was given up before: what is said of it is all there is.
                let going = self.arm.take();
                self.late_frames += arm.measured.misses;
                self.missing += arm.measured.episodes.iter().map(|episode| episode.missing).sum::<u64>();
                if let Some(going) = &going {
                    going.trim_drains(&self.parts.plan).map_err(|error| Failure::Disk(error.to_string()))?;
                }
                let kept = self.parts.evidence.keep_arm(&arm, going.as_ref());
                kept.map(Answer::Kept).map_err(|error| Failure::Disk(error.to_string()))
            }
            Command::DropEvidence { places } => done(self.parts.evidence.drop_arms(&places)),
            Command::DropArm { .. } => {
                self.control.cut_drains();
                self.starting = None;
                // What it received is evidence as far as it got; nobody counts it.
                if let Some(Err(_)) = self.wire.take().map(Wire::stop) {}
                self.arm = None;
                Ok(Answer::Done)
            }
            Command::Seal(ending) => {
                self.reporting = Reporting::Nothing;
                if let Some(Err(_)) = self.wire.take().map(Wire::stop) {}
                done(self.parts.evidence.seal(&ending))
            }
            // The lock of the bench is held, leases of factors are renewed by setting them; the sockets of each arm join anew.
            _ => Ok(Answer::Done),
        }
    }

    /// Another step of a ladder has other streams: what was received before is none of its.
    fn steps(&mut self, factor: &str, level: &str) {
        let ladder = self.parts.plan.ladder.as_ref();
        if ladder.is_none_or(|ladder| ladder.factor != factor) {
            return;
        }
        self.levels = Levels::from([(factor.to_owned(), level.to_owned())]);
        if let Some(Err(_)) = self.wire.take().map(Wire::stop) {}
    }

    fn ask(&mut self, ticket: Ticket, limit: Duration, job: Job) -> Option<Result<Answer, Failure>> {
        self.control.ask(ticket, limit, job);
        None
    }

    fn abort(&mut self, open: Ticket) {
        self.control.abort(open);
        // What runs elsewhere ends by itself; its answer comes too late.
        self.starting = None;
        self.answer(open, Err(Failure::Aborted));
    }

    fn preflight(&mut self, ticket: Ticket) -> Option<Result<Answer, Failure>> {
        let plan = Arc::clone(&self.parts.plan);
        let ring =
            plan.drain.as_ref().filter(|_| plan.has_ring()).map(|drain| self.parts.device.url(&drain.url));
        let folder = self.parts.evidence.dir().to_owned();
        let (unrestored, held_by) = (self.parts.evidence.unrestored(), self.parts.evidence.held_by());
        let tell = self.tell.clone();
        let check = move || {
            // A mistake in the checks is said at once, not when their time is over.
            let found = catch_unwind(|| preflight(&Checks { plan: &plan, ring, folder: &folder }));
            let found = found
                .map_err(|_| Failure::Refused("the checks failed, which is a mistake in them".to_owned()));
            let found =
                found.map(|found| Answer::Preflight(Box::new(Preflight { unrestored, held_by, ..found })));
            let _ = tell.send(Told::Done(ticket, found));
        };
        let started = thread::Builder::new().name("preflight".to_owned()).spawn(check);
        started.err().map(|error| Err(Failure::Refused(error.to_string())))
    }

    /// Makes sure that the streams are received.
    fn listen(&mut self) -> Result<Answer, Failure> {
        if self.wire.is_none() {
            self.wire = Some(self.wire_to(None).map_err(|error| Failure::Refused(error.to_string()))?);
        }
        Ok(Answer::Done)
    }

    /// Begins to receive anew; looks of before are thrown away.
    fn wire_to(&mut self, into: Option<&Into>) -> Result<Wire, NoWire> {
        if let Some(wire) = self.wire.take() {
            wire.stop()?;
        }
        self.looks.try_iter().for_each(drop);
        self.look = Look::default();
        Wire::start(&self.parts.plan, &self.levels, into, self.give_looks.clone())
    }

    fn start_arm(&mut self, ticket: Ticket, order: ArmOrder) -> Option<Result<Answer, Failure>> {
        self.reporting = Reporting::Nothing;
        let folder = match self.parts.evidence.arm_folder(&order.place) {
            Ok(folder) => folder,
            Err(error) => return Some(Err(Failure::Disk(error.to_string()))),
        };
        let going = match Going::begin(folder, order, wire::interface(&self.parts.plan)) {
            Ok(going) => going,
            Err(error) => return Some(Err(Failure::Refused(error.to_string()))),
        };
        let into = Into { folder: going.folder.clone(), tap: self.parts.tap.clone() };
        match self.wire_to(Some(&into)) {
            Ok(wire) => self.wire = Some(wire),
            Err(error) => return Some(Err(Failure::Refused(error.to_string()))),
        }
        self.arm = Some(going);
        self.starting = Some((ticket, Instant::now()));
        None
    }

    fn open_window(&mut self) -> Result<Answer, Failure> {
        let Some(arm) = &mut self.arm else { return Err(Failure::Refused("no arm is going".to_owned())) };
        arm.noted.cpu_ns[0] = self.cpu_ns;
        arm.noted.ahead_ns = self.parts.clock.ahead_ns();
        arm.noted.window.start_ns = wall_ns();
        Ok(Answer::Done)
    }

    fn close_window(&mut self) -> Result<Answer, Failure> {
        self.control.cut_drains();
        let Some(arm) = &mut self.arm else { return Err(Failure::Refused("no arm is going".to_owned())) };
        // The window is as long as planned; this thread may be late.
        let planned = arm.noted.order.as_ref().map_or(0, |order| order.measure_ns);
        let planned = i64::try_from(planned).unwrap_or(i64::MAX);
        let window = &mut arm.noted.window;
        window.end_ns = wall_ns().min(window.start_ns.saturating_add(planned));
        Ok(Answer::Done)
    }

    fn start_drain(&mut self, index: u32, kind: &DrainKind, limit: Duration) -> Result<Answer, Failure> {
        let sham = self.sham.as_ref().map(Sham::url);
        let from = From { plan: &self.parts.plan, device: &self.parts.device, sham: sham.as_deref() };
        let arm = self.arm.as_ref();
        let fetch = arm.and_then(|arm| arm.drain(index, kind, limit, &from));
        let fetch = fetch.ok_or_else(|| Failure::Refused("there is nothing to download".to_owned()))?;
        let planned = arm.and_then(|arm| arm.noted.order.as_ref()?.drains_ns.get(index as usize).copied());
        self.control.drain(index, planned.unwrap_or_default(), fetch);
        Ok(Answer::Done)
    }

    fn collect(&mut self, ticket: Ticket, limit: Duration) -> Option<Result<Answer, Failure>> {
        let from = From { plan: &self.parts.plan, device: &self.parts.device, sham: None };
        let Some(fetch) = self.arm.as_ref().and_then(|arm| arm.collect(limit, &from)) else {
            return Some(Ok(Answer::Collected(Collected::default())));
        };
        self.collecting = Some(fetch.clone());
        self.ask(ticket, limit, Job::Collect(Box::new(fetch)))
    }

    fn measure(&mut self, order: &Around) -> Result<Answer, Failure> {
        let wire = self.wire.take();
        let Some(arm) = &mut self.arm else { return Err(Failure::Refused("no arm is going".to_owned())) };
        arm.noted.cpu_ns[1] = self.cpu_ns;
        match arm.measure(&self.parts.plan, order, wire) {
            Ok(measured) => Ok(Answer::Measured(Box::new(measured))),
            Err(error) if error.kind() == io::ErrorKind::Other => Err(Failure::Refused(error.to_string())),
            Err(error) => Err(Failure::Disk(error.to_string())),
        }
    }

    /// Takes in what the control thread or the preflight tells.
    fn heard(&mut self, told: Told) -> Option<Input> {
        let (ticket, result) = match told {
            Told::Done(ticket, result) => (ticket, result),
            Told::Drained(index, drain) => return Some(Input::Drained { index, drain }),
            Told::Cpu(ns) => {
                self.cpu_ns = Some(ns);
                return None;
            }
            Told::Collected(ticket, span) => (ticket, Ok(Answer::Collected(self.collected(&span)))),
        };
        match &result {
            Ok(Answer::Clock(sample)) => self.clock_sample = Some(*sample),
            Ok(Answer::Status(status)) => self.generation = status.generation,
            Ok(Answer::Preflight(found)) => self.retention_ns = found.retention_ns,
            _ => {}
        }
        Some(Input::Done { ticket, result })
    }

    /// What the collecting download brought.
    fn collected(&mut self, span: &DrainSpan) -> Collected {
        let whole = self.collecting.take().is_some_and(|fetch| failure(&fetch, span).is_none());
        let Some(arm) = &mut self.arm else { return Collected::default() };
        let passed = wall_ns().saturating_sub(arm.noted.window.start_ns).unsigned_abs();
        let mut collected = Collected { bytes: span.bytes, whole, ..Collected::default() };
        collected.still_there = self.retention_ns.is_none_or(|kept| passed < kept);
        if let Some(sample) = self.clock_sample.filter(|_| whole) {
            let shift_ns = sample.offset_ns.saturating_sub(arm.noted.ahead_ns);
            let window = Span {
                start_ns: arm.noted.window.start_ns.saturating_add(shift_ns),
                end_ns: arm.noted.window.end_ns.saturating_add(shift_ns),
            };
            let image = std::fs::read(arm.folder.join(RING)).unwrap_or_default();
            (collected.wrapped, collected.stale) = lacks(&RingReader::of(&self.parts.plan), &image, window);
        }
        arm.noted.collected = Some(collected);
        collected
    }

    /// Takes in how the streams look.
    fn looked(&mut self, look: Look) -> Option<Input> {
        self.look = look;
        let all = self.look.all;
        if let Some((ticket, _)) = self.starting.take_if(|(_, since)| all && since.elapsed() >= BEFORE) {
            return Some(Input::Done { ticket, result: Ok(Answer::Done) });
        }
        match &mut self.reporting {
            Reporting::Nothing => None,
            Reporting::Warming(next) => {
                let rate_uhz = self.look.rate_uhz.filter(|_| Instant::now() >= *next)?;
                *next += Duration::from_secs(1);
                Some(Input::Warming(Warming { rate_uhz, p50_ns: None }))
            }
            Reporting::Settling => Some(Input::Settling(Settling {
                rate_off_ppm: self.look.off_ppm,
                gaps: self.look.gaps,
                generation: self.generation,
            })),
        }
    }
}

fn done<E: std::fmt::Display>(result: Result<(), E>) -> Result<Answer, Failure> {
    result.map(|()| Answer::Done).map_err(|error| Failure::Disk(error.to_string()))
}
