//! How a run begins: checks, the device's status, what its factors stood at; and how each arm is begun.
//!
//! It never sets anything before the journal has the originals.

use super::io::{Answer, Command, Failure, Outcome, Preflight, Status};
use super::limits::limit_ns;
use super::queue::Queue;
use super::settle::Warmup;
use super::soaking::Soaking;
use super::steps::{ArmRun, Move, Step, intent, outcome};
use super::toggle::Turn;
use super::{Left, Runner, Start, State};
use crate::journal::{DeviceId, Record, Step as Named};
use crate::ladder::Climb;
use crate::plan::profile::same_boot;
use crate::plan::{Role, Toggle, Word};
use std::collections::{BTreeMap, VecDeque};
use wireproof_protocols::Timestamp;

type Answered = Option<Result<Answer, Failure>>;

impl Runner {
    pub(super) fn with(start: Start, queue: Queue, now: Timestamp) -> Self {
        let Start { plan, schedule, first, bundle } = start;
        let soaking = Soaking::begin(&first);
        let steps = first_steps(first, &plan.toggle);
        let invalid = schedule.treatments.iter().map(|treatment| (treatment.name.clone(), 0)).collect();
        let arms = u32::try_from(queue.left()).unwrap_or(u32::MAX);
        Self {
            plan,
            schedule,
            bundle,
            now,
            state: State::Preflight,
            ends: None,
            tickets: 0,
            out: VecDeque::new(),
            open: None,
            again: None,
            current: None,
            steps,
            queue,
            arms,
            ended: 0,
            arm: None,
            stratum: None,
            cold: true,
            drifted: Vec::new(),
            held: BTreeMap::new(),
            originals: BTreeMap::new(),
            touched: Vec::new(),
            unrestored: Vec::new(),
            device: None,
            expected: DeviceId::default(),
            restarts: 0,
            invalid,
            block_throttled: None,
            block_repeats: 0,
            block_rate_off: Vec::new(),
            hold_ns: None,
            retention_ns: None,
            rejoin: false,
            signals: 0,
            leaving: None,
            hurry: None,
            disk_broken: false,
            keep_off: false,
            later: Vec::new(),
            climb: Climb::default(),
            soaking,
            exit: None,
        }
    }

    /// Goes on from what a cut run left: the first values that were read are the originals, and their factors count as
    /// touched.
    pub(super) fn take_over(&mut self, left: Left) {
        self.take_over_soak(&left);
        self.expected = left.device;
        self.restarts = left.restarts;
        left.invalid.into_iter().for_each(|(name, n)| *self.invalid.entry(name).or_default() += n);
        for toggle in self.plan.toggle.clone() {
            let Some(value) = left.originals.get(&toggle.factor) else { continue };
            self.originals.insert(toggle.factor.clone(), level_of(&toggle, value));
            self.touch(&toggle.factor);
        }
        let known = &left.originals;
        self.steps.retain(|step| !matches!(step, Step::Original(factor) if known.contains_key(factor)));
    }

    /// Checks before the start; every reason not to start is told at once.
    pub(super) fn preflight(&mut self, answer: Answered) -> Move {
        match answer {
            None => Move::Ask(Command::Preflight, limit_ns(&Command::Preflight), Step::Preflight),
            Some(Ok(Answer::Preflight(preflight))) => {
                self.hold_ns = preflight.buffers.iter().map(|buffer| buffer.hold_ns).min();
                self.retention_ns = preflight.retention_ns;
                let refused = self.refusals(&preflight);
                self.keep_off = preflight.held_by.is_some();
                self.preflight_ended(&refused);
                Move::Next
            }
            Some(other) => {
                self.preflight_ended(&[format!("the checks before the start failed: {}", why(other))]);
                Move::Next
            }
        }
    }

    fn preflight_ended(&mut self, refused: &[String]) {
        for reason in refused {
            self.stop(Outcome::Refused, reason.clone());
        }
        self.steps.push_front(outcome(Named::Preflight, None, refused.is_empty(), refused.join("; ")));
    }

    fn refusals(&self, found: &Preflight) -> Vec<String> {
        let mut refused = Vec::new();
        if let Some(holder) = &found.held_by {
            refused.push(format!("another run uses this device: {holder}"));
        }
        if let Some(bundle) = found.unrestored.as_ref().filter(|bundle| **bundle != self.bundle) {
            refused
                .push(format!("an earlier run left the device changed: wireproof matrix restore {bundle}"));
        }
        refused.extend(found.taken.iter().map(|address| format!("the port is taken: {address}")));
        refused.extend(found.silent.iter().map(|stream| format!("no datagram of stream {stream} came")));
        for buffer in &found.buffers {
            refused.extend(self.small(buffer));
        }
        match found.stall {
            Some(stall) if stall.lost > 0 && stall.reported == stall.lost => {}
            Some(stall) => refused.push(format!(
                "the stall control lost {} datagrams and reported {} as the observer's",
                stall.lost, stall.reported
            )),
            None => refused.push("the stall control could not be run".to_owned()),
        }
        // A soak drops what it keeps no longer: a few chunks lie there at once.
        let arms = if self.soaking.is_some() { 1 } else { u64::from(self.arms) };
        refused.extend(self.space_missing(found.free_bytes, arms));
        refused.extend(self.kept_too_short(found.retention_ns));
        refused
    }

    fn small(&self, buffer: &super::io::Buffer) -> Option<String> {
        let super::io::Buffer { stream, asked_bytes, got_bytes, hold_ns, remedy } = buffer;
        if got_bytes < asked_bytes {
            return Some(format!(
                "the receive buffer of {stream} is {got_bytes} octets instead of {asked_bytes}: {remedy}"
            ));
        }
        let least = self.plan.validity.min_hold_ns;
        let (holds, least_ms) = (hold_ns / 1_000_000, least / 1_000_000);
        (*hold_ns < least).then(|| {
            format!("the receive buffer of {stream} holds {holds} ms, less than {least_ms} ms: {remedy}")
        })
    }

    fn space_missing(&self, free: u64, arms: u64) -> Option<String> {
        let each = self.plan.ring_bytes();
        let needed = self.plan.evidence.min_free_bytes.saturating_add(each.saturating_mul(arms));
        (free < needed).then(|| format!("{free} octets are free, {needed} are needed"))
    }

    fn kept_too_short(&self, retention: Option<u64>) -> Option<String> {
        let kept = retention?;
        let needed = self.plan.timing.measure_ns.saturating_add(self.plan.timing.guard_ns);
        (needed > kept / 5 * 4).then(|| {
            format!(
                "the ring keeps {} ms, too short for a window of {} ms",
                kept / 1_000_000,
                needed / 1_000_000
            )
        })
    }

    pub(super) fn first_status(&mut self, answer: Answered) -> Move {
        match answer {
            None => Move::Ask(Command::ReadStatus, limit_ns(&Command::ReadStatus), Step::FirstStatus),
            Some(Ok(Answer::Status(status))) => {
                for reason in self.mismatches(&status).into_iter().chain(self.other_device(&id(&status))) {
                    self.stop(Outcome::Refused, reason);
                }
                self.meet(&status);
                self.note_rate_told(&status);
                Move::Next
            }
            Some(other) => {
                self.stop(Outcome::Refused, format!("the device's status could not be read: {}", why(other)));
                Move::Next
            }
        }
    }

    /// Remembers who answers, and writes it down when it is the first answer, or the first after a restart.
    pub(super) fn meet(&mut self, status: &Status) {
        if self.device.replace(status.clone()).is_none() {
            self.steps.push_front(Step::Say(Box::new(Record::Env { device: id(status) })));
        }
    }

    /// Tells when the device's own figure of its rate is off by more than the tolerance and one frame, as whole numbers are.
    /// The wire decides.
    pub(super) fn note_rate_told(&mut self, status: &Status) {
        let wanted = u64::from(self.plan.target.expected_fps).saturating_mul(1_000);
        let Some(told) = status.fps_mhz else { return };
        let tolerance = wanted.saturating_mul(self.plan.validity.fps_tolerance_ppm) / 1_000_000;
        if told.abs_diff(wanted) > tolerance.saturating_add(1_000) {
            let text = format!(
                "the device says {}.{:03} frames a second, the plan expects {}; the wire decides",
                told / 1_000,
                told % 1_000,
                self.plan.target.expected_fps
            );
            self.noted("device_rate", &text);
        }
    }

    /// A cut run goes on only against the same build and boot.
    fn other_device(&self, id: &DeviceId) -> Option<String> {
        let known = *self.expected.boot_id != *"" || !self.expected.build.is_empty();
        // A soak counts restarts of its device itself.
        let boot = self.soaking.is_some() || same_boot(&id.boot_id, &self.expected.boot_id);
        let same = boot && id.build == self.expected.build;
        (known && !same).then(|| {
            let (was, is) = (&self.expected, id);
            format!(
                "the device was build {} boot {} and is build {} boot {}",
                was.build, was.boot_id, is.build, is.boot_id
            )
        })
    }

    /// Values of `target.require` that do not hold.
    pub(super) fn mismatches(&self, status: &Status) -> Vec<String> {
        let differing =
            self.plan.target.require.iter().filter(|(key, wanted)| status.values.get(*key) != Some(wanted));
        let text = |(key, wanted): (&String, &Word)| {
            let got = status.values.get(key).map_or("missing".to_owned(), word);
            format!("the plan requires {key} = {} of the device, and it is {got}", word(wanted))
        };
        differing.map(text).collect()
    }

    pub(super) fn original(&mut self, factor: String, answer: Answered) -> Move {
        let Some(toggle) = self.toggle(&factor) else { return Move::Next };
        match answer {
            None => {
                let (limit, command) = (toggle.timeout_ns, Command::ReadToggle { factor: factor.clone() });
                Move::Ask(command, limit, Step::Original(factor))
            }
            Some(Ok(Answer::Level { level, value })) => {
                match (level, toggle.restore.as_str()) {
                    (None, "original") => {
                        let value = word(&value);
                        self.stop(
                            Outcome::Refused,
                            format!("{factor} stands at {value}, which is none of its levels: give toggle.restore a level"),
                        );
                    }
                    (level, _) => {
                        self.originals.insert(factor.clone(), level.unwrap_or_default());
                        let record = Record::ToggleOriginal { factor, value: word(&value) };
                        self.steps.push_front(Step::Say(Box::new(record)));
                    }
                }
                Move::Next
            }
            Some(other) => {
                self.stop(Outcome::Refused, format!("{factor} could not be read: {}", why(other)));
                Move::Next
            }
        }
    }

    /// Sets a factor and proves it; one that cannot be set ends the run (rows 1 and 2).
    pub(super) fn apply(&mut self, mut toggling: super::toggle::Toggling, answer: Answered) -> Move {
        let Some(toggle) = self.toggle(&toggling.factor).cloned() else { return Move::Next };
        let (factor, level) = (toggling.factor.clone(), toggling.level.clone());
        let place = self.arm.as_ref().map(|arm| arm.order.place.clone());
        self.touch(&factor);
        match toggling.advance(self.now, &toggle, answer) {
            Turn::Ask(command, limit) => Move::Ask(command, limit, Step::Apply(toggling)),
            Turn::Wait(at) => Move::Wait(at, Step::Apply(toggling)),
            Turn::Held => {
                if let Some(arm) = &mut self.arm {
                    arm.set = self.now;
                }
                self.drifted.retain(|drifted| *drifted != factor);
                let what = format!("{factor}={level}");
                self.held.insert(factor, level);
                self.steps.push_front(outcome(Named::Verify, place.as_ref(), true, what));
                Move::Next
            }
            Turn::Failed(why) => {
                let what = format!("{factor} could not be set to {level}: {why}");
                self.stop(Outcome::Invalid, what.clone());
                self.steps.push_front(outcome(Named::Verify, place.as_ref(), false, what));
                Move::Next
            }
        }
    }

    /// Remembers that a factor was touched and what it goes back to.
    pub(super) fn touch(&mut self, factor: &str) {
        let Some(toggle) = self.toggle(factor) else { return };
        let back = match toggle.restore.as_str() {
            "original" => self.originals.get(factor).cloned().unwrap_or_default(),
            level => level.to_owned(),
        };
        if !self.touched.iter().any(|(touched, _)| touched == factor) {
            self.touched.push((factor.to_owned(), back));
        }
    }

    /// Begins the next arm, or ends the run.
    pub(super) fn next_arm(&mut self) -> Move {
        self.arm = None;
        let soaked = self.soaking.as_ref().is_some_and(Soaking::is_over);
        if self.queue.left() == 0 || soaked || self.has_climbed_enough() {
            self.complete();
            return Move::Next;
        }
        if self.cold {
            self.warm_up();
            return Move::Next;
        }
        let Some((place, first)) = self.queue.next() else { return Move::Next };
        if first {
            self.block_throttled = None;
            self.block_rate_off.clear();
        }
        let order = self.order_of(&place);
        let mut steps = self.change_stratum(&place);
        self.arm = Some(new_arm(order.clone(), self.now));
        steps.extend(self.arm_steps(&order, first));
        steps.push(Step::NextArm);
        self.steps.extend(steps);
        Move::Next
    }

    /// True when the step of a ladder that was just finished does not hold.
    fn has_climbed_enough(&self) -> bool {
        self.plan.ladder.is_some() && !self.queue.is_inside_stratum() && self.climb.is_over(&self.plan)
    }

    fn change_stratum(&mut self, place: &crate::arm::Place) -> Vec<Step> {
        if self.stratum.replace(place.stratum) == Some(place.stratum) {
            return Vec::new();
        }
        self.applying(Role::Stratum, &self.schedule.levels(place))
    }

    /// Sets the fixed factors, warms up, and comes back for the next arm.
    fn warm_up(&mut self) {
        self.cold = false;
        self.stratum = None;
        self.drifted.clear();
        let fixed = self.schedule.fixed.clone();
        let steps = self.applying(Role::Fixed, &fixed);
        self.steps.extend(steps);
        if self.plan.timing.warmup_ns > 0 {
            self.steps.push_back(intent(Named::Warmup, None, ""));
            self.steps.push_back(Step::WarmupStart(Warmup::default()));
        }
        self.steps.push_back(Step::NextArm);
    }

    pub(super) fn space(&mut self, answer: Answered) -> Move {
        match answer {
            None => return Move::Ask(Command::ReadSpace, limit_ns(&Command::ReadSpace), Step::Space),
            Some(Ok(Answer::Space(free))) => {
                if let Some(missing) = self.space_missing(free, 1) {
                    self.disk(&missing);
                }
            }
            Some(other) => self.disk(&why(other)),
        }
        Move::Next
    }

    /// Renews the lease. One that is gone means that somebody else has the device: it is left alone.
    pub(super) fn lease(&mut self, answer: Answered) -> Move {
        match answer {
            None => return Move::Ask(Command::RenewLease, limit_ns(&Command::RenewLease), Step::Lease),
            Some(Ok(_)) => {}
            Some(Err(Failure::Refused(holder))) => {
                self.keep_off = true;
                self.stop(Outcome::Invalid, format!("another run took the device over: {holder}"));
            }
            Some(other) => {
                self.stop(Outcome::Invalid, format!("the lease could not be renewed: {}", why(other)));
            }
        }
        Move::Next
    }

    pub(super) fn rejoin(&mut self, answer: Answered) -> Move {
        if answer.is_none() {
            return Move::Ask(Command::Rejoin, limit_ns(&Command::Rejoin), Step::Rejoin);
        }
        self.rejoin = false;
        Move::Next
    }

    /// The device at the beginning of a block: another build ends the run, another boot spoils the arm.
    pub(super) fn block_status(&mut self, answer: Answered) -> Move {
        match answer {
            None => Move::Ask(Command::ReadStatus, limit_ns(&Command::ReadStatus), Step::BlockStatus),
            Some(Ok(Answer::Status(status))) => {
                let mismatches = self.mismatches(&status);
                let restarted = self.has_restarted(&status);
                self.block_throttled = status.throttled;
                let place = self.arm.as_ref().map(|arm| arm.order.place.clone());
                let what = mismatches.join("; ");
                for mismatch in &mismatches {
                    self.stop(Outcome::Invalid, mismatch.clone());
                }
                if mismatches.is_empty() && restarted {
                    if let Some(arm) = &mut self.arm {
                        arm.status[0] = Some((*status).clone());
                    }
                    return self.restarted_in_arm(&format!("its boot is {}", status.boot));
                }
                self.meet(&status);
                self.steps.push_front(outcome(Named::Check, place.as_ref(), mismatches.is_empty(), what));
                Move::Next
            }
            Some(other) => self.end_arm("device_unreachable", &why(other)),
        }
    }
}

fn first_steps(first: Record, toggles: &[Toggle]) -> VecDeque<Step> {
    let mut steps = VecDeque::from([
        Step::Say(Box::new(first)),
        intent(Named::Preflight, None, ""),
        Step::Preflight,
        Step::FirstStatus,
    ]);
    steps.extend(toggles.iter().map(|toggle| Step::Original(toggle.factor.clone())));
    steps.push_back(Step::NextArm);
    steps
}

fn id(status: &Status) -> DeviceId {
    DeviceId { build: status.build.clone(), boot_id: status.boot.clone() }
}

fn new_arm(order: super::io::ArmOrder, now: Timestamp) -> ArmRun {
    ArmRun {
        order,
        told: false,
        began: now,
        set: now,
        clock: [None; 2],
        status: [None, None],
        opened: None,
        drains: Vec::new(),
        measured: None,
        collected: false,
        reasons: Vec::new(),
        notes: Vec::new(),
        restarted: false,
        chunk: None,
    }
}

/// The level that a value of the journal shows.
fn level_of(toggle: &Toggle, value: &str) -> String {
    let shown = toggle.verify.equals.iter().find(|(_, shows)| word(shows) == value);
    shown.map_or(value.to_owned(), |(level, _)| level.clone())
}

/// A value as it is written.
pub(crate) fn word(value: &Word) -> String {
    match value {
        Word::Truth(truth) => truth.to_string(),
        Word::Integer(number) => number.to_string(),
        Word::Text(text) => text.clone(),
    }
}

fn why(answer: Result<Answer, Failure>) -> String {
    match answer {
        Ok(_) => "an answer to something else".to_owned(),
        Err(failure) => failure.to_string(),
    }
}
