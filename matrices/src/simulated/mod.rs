//! A simulated device and bench in simulated time: what `matrix run --dry` walks through, and what the tests of the runner
//! run against. Every row of the table of failures (experiments section 10) can be planted.
//!
//! It executes the runner's commands by the contract of [`crate::runner::io`]; it never reads a clock and never waits.

mod answers;
mod drive;
mod faults;
mod measured;
mod noise;

pub use drive::{Driven, drive};
pub use faults::{Fault, Planted};

use crate::arm::{Arm, ArmDrain, Place, Span};
use crate::journal::{DeviceId, Record};
use crate::plan::Plan;
use crate::runner::io::{Answer, ArmOrder, Command, Failure, Input, Output, Ticket};
use noise::Noise;
use std::collections::BTreeMap;
use wireproof_protocols::Timestamp;

/// One millisecond, ns.
const MS: i64 = 1_000_000;
/// How far the device's clock is ahead of the bench's, ns.
const OFFSET_NS: i64 = 86_400_000_000_000;

/// The bench and the device behind it.
#[derive(Clone, Debug)]
pub struct Bench {
    plan: Plan,
    planted: Vec<Planted>,
    now: Timestamp,
    noise: Noise,
    events: BTreeMap<(i64, u64), Event>,
    numbers: u64,
    /// What each factor stands at on the device.
    pub levels: BTreeMap<String, String>,
    /// Everything that was journalled.
    pub journal: Vec<Record>,
    /// Arms whose files were written.
    pub arms: Vec<Arm>,
    /// Arms whose evidence was dropped down to its totals.
    pub dropped: Vec<Place>,
    /// Commands in the order they were handed out, with their times.
    pub trace: Vec<(Timestamp, Command)>,
    /// Attempts at arms that were begun.
    pub started: u32,
    sets: BTreeMap<String, u32>,
    reads: u32,
    counters: BTreeMap<String, (u64, Timestamp)>,
    boot: u64,
    generation: u64,
    reporting: Reporting,
    order: Option<ArmOrder>,
    opened: Timestamp,
    sampled: u32,
    sealed: bool,
    /// Time that raw downloads add to each frame that overlaps one, ns.
    pub drain_cost_ns: i64,
    /// Time that a level adds to each frame, ns: by `factor=level`.
    pub level_cost_ns: BTreeMap<String, i64>,
}

#[derive(Clone, Debug)]
enum Event {
    Tell(Box<Input>),
    /// A report is due, unless reporting has changed since.
    Report(Reporting),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reporting {
    Nothing,
    Warming(Timestamp),
    Settling(Timestamp),
}

impl Bench {
    /// A healthy bench; every factor of a toggle stands at the first level that its read-back knows.
    pub fn new(plan: Plan, seed: u64) -> Self {
        let first =
            |toggle: &crate::plan::Toggle| toggle.verify.equals.keys().next().cloned().unwrap_or_default();
        let levels = plan.toggle.iter().map(|toggle| (toggle.factor.clone(), first(toggle))).collect();
        Self {
            plan,
            planted: Vec::new(),
            now: Timestamp(0),
            noise: Noise::new(seed),
            events: BTreeMap::new(),
            numbers: 0,
            levels,
            journal: Vec::new(),
            arms: Vec::new(),
            dropped: Vec::new(),
            trace: Vec::new(),
            started: 0,
            sets: BTreeMap::new(),
            reads: 0,
            counters: BTreeMap::new(),
            boot: 1,
            generation: 1,
            reporting: Reporting::Nothing,
            order: None,
            opened: Timestamp(0),
            sampled: 0,
            sealed: false,
            drain_cost_ns: 0,
            level_cost_ns: BTreeMap::new(),
        }
    }

    /// Plants a fault in some attempts, counted from 1 in the order they begin; 0 is the time before the first.
    pub fn plant(&mut self, arms: std::ops::RangeInclusive<u32>, fault: Fault) -> &mut Self {
        self.planted.push(Planted { fault, from: *arms.start(), to: *arms.end() });
        self
    }

    /// Sends an input at a time, such as a signal.
    pub fn send_at(&mut self, at: Timestamp, input: Input) {
        self.tell(at, input);
    }

    /// True once the bundle was sealed.
    pub fn is_sealed(&self) -> bool {
        self.sealed
    }

    /// Goes on as the same device after the bench was cut off: what it was told to do is forgotten, levels stand.
    pub fn cut(&mut self) {
        self.events.clear();
        self.reporting = Reporting::Nothing;
        self.order = None;
    }

    /// Restarts the device: another boot, another ring.
    pub fn restart(&mut self) {
        self.boot += 1;
        self.generation += 1;
    }

    /// Who answers.
    pub fn device(&self) -> DeviceId {
        let build = self.plan.target.require.get("build").map(crate::runner::word).unwrap_or_default();
        DeviceId { build, boot_id: format!("boot-{}", self.boot) }
    }

    fn faults(&self) -> impl Iterator<Item = &Fault> {
        let started = self.started;
        self.planted.iter().filter(move |planted| planted.holds_in(started)).map(|planted| &planted.fault)
    }

    fn has(&self, fault: &Fault) -> bool {
        self.faults().any(|planted| planted == fault)
    }

    fn tell(&mut self, at: Timestamp, input: Input) {
        self.schedule(at, Event::Tell(Box::new(input)));
    }

    fn schedule(&mut self, at: Timestamp, event: Event) {
        self.numbers += 1;
        self.events.insert((at.0, self.numbers), event);
    }

    /// The time on the bench's clock.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Lets time pass to what happens next, or to the runner's own timeout. `None`: nothing ever will.
    pub fn next_input(&mut self, timeout: Option<Timestamp>) -> Option<(Timestamp, Input)> {
        let at = match (self.next_at(), timeout) {
            (Some(event), Some(timeout)) => event.min(timeout),
            (at, other) => at.or(other)?,
        };
        self.now = self.now.max(at);
        let happened = self.next_at().is_some_and(|event| event <= self.now).then(|| self.happen()).flatten();
        Some((self.now, happened.unwrap_or(Input::Tick)))
    }

    /// When something happens next.
    fn next_at(&self) -> Option<Timestamp> {
        self.events.keys().next().map(|(at, _)| Timestamp(*at))
    }

    /// What happens next; reports come again until reporting changes.
    fn happen(&mut self) -> Option<Input> {
        let ((at, _), event) = self.events.pop_first()?;
        match event {
            Event::Tell(input) => Some(*input),
            Event::Report(reporting) if reporting == self.reporting => self.report(Timestamp(at), reporting),
            Event::Report(_) => Some(Input::Tick),
        }
    }

    /// Does what the runner asks.
    pub fn execute(&mut self, now: Timestamp, output: Output) {
        let Output { ticket, command, .. } = output;
        self.trace.push((now, command.clone()));
        if let Command::Abort { open } = command {
            return self.abort(now, open);
        }
        let takes = self.takes(&command);
        let result = self.answer(now, command);
        if let Some(result) = result {
            self.tell(now.plus(takes), Input::Done { ticket, result });
        }
    }

    fn abort(&mut self, now: Timestamp, open: Ticket) {
        let is_answer = |event: &Event| matches!(event, Event::Tell(input) if matches!(**input, Input::Done { ticket, .. } if ticket == open));
        self.events.retain(|_, event| !is_answer(event));
        self.tell(now.plus(MS), Input::Done { ticket: open, result: Err(Failure::Aborted) });
    }

    fn start_drain(&mut self, now: Timestamp, index: u32, timeout_ns: u64) -> Result<Answer, Failure> {
        if self.faults().any(|fault| matches!(fault, Fault::DrainRefused { index: i } if *i == index)) {
            return Err(Failure::Unreachable("503 Service Unavailable".to_owned()));
        }
        let slow = self.faults().find_map(|fault| match fault {
            Fault::SlowDrain { index: i, takes_ns } if *i == index => Some(*takes_ns),
            _ => None,
        });
        let timeout = i64::try_from(timeout_ns).unwrap_or(i64::MAX);
        let noise = self.noise.below(20) as i64 * MS;
        let takes = slow.unwrap_or(190 * MS + noise).min(timeout);
        let end = now.plus(takes);
        let drain = Box::new(self.drained(now, end, index, slow.is_some_and(|slow| slow >= timeout)));
        self.tell(end, Input::Drained { index, drain });
        Ok(Answer::Done)
    }

    fn drained(&self, start: Timestamp, end: Timestamp, index: u32, timed_out: bool) -> ArmDrain {
        let expected = self.plan.drain.as_ref().map_or(0, |drain| drain.expect_bytes);
        let cut =
            self.faults().any(|fault| matches!(fault, Fault::DrainTruncated { index: i } if *i == index));
        ArmDrain {
            planned_ns: 0,
            bench: Span { start_ns: start.0, end_ns: end.0 },
            device: Span { start_ns: start.plus(OFFSET_NS).0, end_ns: end.plus(OFFSET_NS).0 },
            real: true,
            failed: timed_out.then(|| "took longer than its time limit".to_owned()),
            bytes: if cut || timed_out { expected / 2 } else { expected },
            sha256: None,
        }
    }

    /// Ends the window: downloads that are going are cut off and told of first.
    fn close_window(&mut self, now: Timestamp) {
        let is_drain =
            |event: &Event| matches!(event, Event::Tell(input) if matches!(**input, Input::Drained { .. }));
        let going: Vec<(i64, u64)> =
            self.events.iter().filter(|(_, e)| is_drain(e)).map(|(key, _)| *key).collect();
        for key in going {
            if let Some(Event::Tell(input)) = self.events.remove(&key)
                && let Input::Drained { index, mut drain } = *input
            {
                drain.failed = Some("cut off by the end of the window".to_owned());
                drain.bench.end_ns = now.0;
                drain.device.end_ns = now.plus(OFFSET_NS).0;
                self.tell(now, Input::Drained { index, drain });
            }
        }
    }
}
