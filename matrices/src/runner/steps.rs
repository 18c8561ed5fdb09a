//! The steps of a run, and the lists they come in.

use super::io::{ArmOrder, ClockSample, DrainKind, Status};
use super::settle::{Settle, Warmup};
use super::toggle::Toggling;
use super::window::Window;
use super::{Runner, State};
use crate::arm::{Measured, Place};
use crate::journal::{Record, Step as Named};
use crate::plan::{Role, Toggle};
use crate::soak::Chunk;
use std::collections::BTreeMap;
use wireproof_protocols::Timestamp;

/// Factor that the runner drives itself.
const DRAIN: &str = "drain";

/// A step.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Writes a record.
    Say(Box<Record>),
    /// Shows a state.
    Enter(State),
    Preflight,
    FirstStatus,
    /// Reads what a factor stands at.
    Original(String),
    /// Sets a factor and proves it.
    Apply(Toggling),
    WarmupStart(Warmup),
    Warmup(Warmup),
    NextArm,
    Space,
    Lease,
    /// Sets a factor to the level that it stands at, so that its lease does not run out.
    Renew(String),
    Rejoin,
    /// Status before the arm's factors are set: the same device, build and boot.
    BlockStatus,
    ArmStatus(usize),
    SettleStart,
    Settle(Settle),
    Clock(usize),
    StartArm,
    Open,
    Window(Window),
    Close(Window),
    Pause(Option<Timestamp>),
    Collect(u32),
    Reverify(String),
    Measure,
    /// Gives an arm up that ends early.
    Drop,
    /// Judges the arm and writes its files.
    Conclude,
    /// Counts an arm that is in the journal.
    Count(Box<Counted>),
    /// Drops the evidence of chunks down to its totals.
    DropEvidence(Vec<Place>),
    Restore {
        toggling: Toggling,
        quiet: bool,
    },
    /// Writes what could not be written before.
    Flush,
    Seal,
    Leave,
}

/// What counting an arm needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    pub place: Place,
    pub reasons: Vec<String>,
    pub restarted: bool,
    pub throttled: Option<String>,
    /// What it amounts to in a soak.
    pub chunk: Option<Chunk>,
}

/// An arm that is going.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ArmRun {
    pub order: ArmOrder,
    /// True once its start is in the journal: only then its end may follow.
    pub told: bool,
    pub began: Timestamp,
    /// When the last factor was verified.
    pub set: Timestamp,
    pub clock: [Option<ClockSample>; 2],
    pub status: [Option<Status>; 2],
    pub opened: Option<Timestamp>,
    pub drains: Vec<crate::arm::ArmDrain>,
    pub measured: Option<Box<Measured>>,
    pub collected: bool,
    pub reasons: Vec<String>,
    pub notes: Vec<String>,
    pub restarted: bool,
    /// What it amounts to in a soak, once it was judged.
    pub chunk: Option<Chunk>,
}

/// What comes after a step was asked to go on.
pub(super) enum Move {
    /// A command, its limit in ns, and the step that gets the answer.
    Ask(super::io::Command, u64, Step),
    /// The same step again, then or at the next input.
    Wait(Timestamp, Step),
    /// It is over.
    Next,
}

/// Record of something about to be done.
pub(super) fn intent(step: Named, arm: Option<&Place>, what: impl Into<String>) -> Step {
    Step::Say(Box::new(Record::Intent { step, arm: arm.cloned(), what: what.into() }))
}

/// Record of something that was done.
pub(super) fn outcome(step: Named, arm: Option<&Place>, ok: bool, what: impl Into<String>) -> Step {
    Step::Say(Box::new(Record::Result { step, arm: arm.cloned(), ok, what: what.into() }))
}

impl Runner {
    /// The toggle of a factor.
    pub(super) fn toggle(&self, factor: &str) -> Option<&Toggle> {
        self.plan.toggle.iter().find(|toggle| toggle.factor == factor)
    }

    /// Steps that set the factors of a role to these levels, in declared order.
    pub(super) fn applying(&self, role: Role, levels: &BTreeMap<String, String>) -> Vec<Step> {
        let factors = self.plan.factor.iter().filter(|factor| factor.role == role && factor.name != DRAIN);
        factors.filter_map(|f| self.applying_one(&f.name, levels.get(&f.name)?)).flatten().collect()
    }

    /// Steps that set one factor; `None` without a toggle.
    pub(super) fn applying_one(&self, factor: &str, level: &str) -> Option<[Step; 2]> {
        let toggle = self.toggle(factor)?;
        let arm = self.arm.as_ref().map(|arm| &arm.order.place);
        let set = intent(Named::Set, arm, format!("{factor}={level}"));
        Some([set, Step::Apply(Toggling::apply(toggle, level))])
    }

    /// What an arm is going to be.
    pub(super) fn order_of(&self, place: &Place) -> ArmOrder {
        let levels = self.schedule.levels(place);
        let block = self.schedule.block(place);
        ArmOrder {
            place: place.clone(),
            measure_ns: self.plan.timing.measure_ns,
            drains_ns: block.map(|block| block.drains_ns.clone()).unwrap_or_default(),
            drain: self.drain_kind(levels.get(DRAIN)),
            levels,
        }
    }

    fn drain_kind(&self, level: Option<&String>) -> Option<DrainKind> {
        let level = level?;
        let factor = self.plan.factor.iter().find(|factor| factor.name == DRAIN)?;
        let plan = self.plan.drain.as_ref()?;
        match plan.paths.get(level) {
            _ if *level == factor.baseline || level == "again" => None,
            Some(path) => Some(DrainKind::Path(path.clone())),
            None if level == "sham" => Some(DrainKind::Sham),
            None => Some(DrainKind::Raw),
        }
    }

    /// Steps of an arm from its first to its last.
    pub(super) fn arm_steps(&self, order: &ArmOrder, first_of_block: bool) -> Vec<Step> {
        let place = Some(&order.place);
        let treatment = self.schedule.name(order.place.treatment).to_owned();
        let mut steps = vec![Step::Enter(State::Set), Step::Space, Step::Lease];
        steps.extend(self.renewing());
        steps.extend([Step::Say(Box::new(Record::ArmStart { arm: order.place.clone(), treatment }))]);
        if self.rejoin {
            steps.push(Step::Rejoin);
        }
        if first_of_block {
            steps.push(Step::BlockStatus);
        }
        let drifted =
            self.drifted.iter().filter_map(|factor| self.applying_one(factor, self.held.get(factor)?));
        steps.extend(drifted.flatten());
        steps.extend(self.applying(Role::Treatment, &order.levels));
        steps.extend([intent(Named::Settle, place, ""), Step::ArmStatus(0), Step::SettleStart]);
        steps.extend(self.plan.has_clock().then_some(Step::Clock(0)));
        steps.extend([Step::StartArm, intent(Named::Measure, place, ""), Step::Open]);
        steps
    }

    /// Steps from the end of the window to the end of the arm.
    pub(super) fn after_window(&self, place: &Place) -> Vec<Step> {
        let mut steps = vec![outcome(Named::Measure, Some(place), true, ""), Step::Enter(State::Guard)];
        steps.extend(self.plan.has_clock().then_some(Step::Clock(1)));
        steps.extend([Step::Pause(None), Step::Enter(State::Collect)]);
        // A plan without [drain] is asked all the same, and has nothing: so its journal has always been.
        if self.plan.has_ring() || self.plan.profile().is_none() {
            steps.extend([intent(Named::Collect, Some(place), ""), Step::Collect(1)]);
        }
        steps.push(Step::Enter(State::Reverify));
        steps.extend(self.held.keys().cloned().map(Step::Reverify));
        steps.extend([Step::ArmStatus(1), Step::Enter(State::Judge), Step::Measure, Step::Conclude]);
        steps
    }
}

impl Runner {
    /// Lets a step go on with the answer to what it asked, if it asked.
    pub(super) fn advance(
        &mut self,
        step: Step,
        answer: Option<Result<super::io::Answer, super::io::Failure>>,
    ) -> Move {
        match step {
            Step::Say(record) => self.say(record, answer),
            Step::Enter(state) => {
                self.state = state;
                Move::Next
            }
            Step::Preflight => self.preflight(answer),
            Step::FirstStatus => self.first_status(answer),
            Step::Original(factor) => self.original(factor, answer),
            Step::Apply(toggling) => self.apply(toggling, answer),
            Step::WarmupStart(warmup) => self.warmup_start(warmup, answer),
            Step::Warmup(warmup) => self.warmup(warmup),
            Step::NextArm => self.next_arm(),
            Step::Space => self.space(answer),
            Step::Lease => self.lease(answer),
            Step::Renew(factor) => self.renew(factor, answer),
            Step::Rejoin => self.rejoin(answer),
            Step::BlockStatus => self.block_status(answer),
            Step::ArmStatus(side) => self.arm_status(side, answer),
            Step::SettleStart => self.settle_start(answer),
            Step::Settle(settle) => self.settle(settle),
            Step::Clock(side) => self.clock(side, answer),
            Step::StartArm => self.start_arm(answer),
            Step::Open => self.open(answer),
            Step::Window(window) => self.window(window, answer),
            Step::Close(window) => self.close(window, answer),
            Step::Pause(until) => self.pause(until),
            Step::Collect(attempt) => self.collect(attempt, answer),
            Step::Reverify(factor) => self.reverify(factor, answer),
            Step::Measure => self.measure(answer),
            Step::Drop => self.drop_arm(answer),
            Step::Conclude => self.conclude(answer),
            Step::Count(counted) => self.count(&counted),
            Step::DropEvidence(places) => self.drop_evidence(places, answer),
            Step::Restore { toggling, quiet } => self.restore(toggling, quiet, answer),
            Step::Flush => self.flush(),
            Step::Seal => self.seal(answer),
            Step::Leave => {
                self.say_goodbye(None);
                Move::Next
            }
        }
    }
}
