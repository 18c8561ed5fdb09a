//! What happens around a window: clocks, status, the collecting download, reading factors back, judging, counting.
//!
//! It never looks into a ring; it is told what was measured.

use super::io::{Answer, Around, Collected, Command, Failure, Outcome, Status};
use super::limits::limit_ns;
use super::settle::signed;
use super::steps::{Counted, Move, Step, intent, outcome};
use super::validity::{Finding, RESTARTED, judge};
use super::{Runner, State};
use crate::arm::{Arm, ArmState, Measured};
use crate::journal::{ArmEnd, Record, Step as Named, Stored};
use crate::plan::profile::same_boot;
use crate::validity::{Repeats, repeats};
use std::collections::BTreeMap;
use wireproof_protocols::Timestamp;

/// Most findings kept of one arm.
const NOTES: usize = 64;
/// What is wrong with a copy from before the end of the window.
const STALE: &str = "ring_stale";
/// How long a device may go on answering with the same copy before it is asked again, ns.
const FRESH_NS: i64 = 500_000_000;

/// How often a ring is collected that has this against it.
fn attempts(problem: &str) -> u32 {
    if problem == STALE { 4 } else { 2 }
}

type Answered = Option<Result<Answer, Failure>>;

impl Runner {
    pub(super) fn clock(&mut self, index: usize, answer: Answered) -> Move {
        match answer {
            None => Move::Ask(Command::SampleClock, limit_ns(&Command::SampleClock), Step::Clock(index)),
            Some(Ok(Answer::Clock(sample))) => {
                if let Some(arm) = &mut self.arm {
                    arm.clock[index] = Some(sample);
                }
                Move::Next
            }
            Some(_) => {
                self.spoil("clock_unstable");
                Move::Next
            }
        }
    }

    pub(super) fn arm_status(&mut self, index: usize, answer: Answered) -> Move {
        match answer {
            None => Move::Ask(Command::ReadStatus, limit_ns(&Command::ReadStatus), Step::ArmStatus(index)),
            Some(Ok(Answer::Status(status))) => self.arm_status_read(index, *status),
            Some(other) if index == 0 => self.end_arm("device_unreachable", &why(other)),
            Some(_) => {
                self.spoil("device_unreachable");
                Move::Next
            }
        }
    }

    fn arm_status_read(&mut self, index: usize, status: Status) -> Move {
        let restarted = self.has_restarted(&status);
        let boot = status.boot.clone();
        if self.device.is_none() {
            self.meet(&status);
        }
        if index == 1 {
            self.note_rate_told(&status);
        }
        if let Some(arm) = &mut self.arm {
            arm.status[index] = Some(status);
        }
        match restarted {
            true if index == 0 => self.restarted_in_arm(&format!("its boot is {boot}")),
            _ => Move::Next,
        }
    }

    /// True when the status is of another boot than the one that was seen first or last.
    pub(super) fn has_restarted(&self, status: &Status) -> bool {
        self.device.as_ref().is_some_and(|before| !same_boot(&before.boot, &status.boot))
    }

    pub(super) fn restarted_in_arm(&mut self, text: &str) -> Move {
        if let Some(arm) = &mut self.arm {
            arm.restarted = true;
        }
        self.end_arm(RESTARTED, text)
    }

    pub(super) fn pause(&mut self, until: Option<Timestamp>) -> Move {
        let until = until.unwrap_or(self.now.plus(signed(self.plan.timing.guard_ns)));
        if self.now < until { Move::Wait(until, Step::Pause(Some(until))) } else { Move::Next }
    }

    /// Downloads the ring; once more when it was cut short, or overwritten while the window's records are still there, and
    /// after a while when the device answered with a copy from before the end of the window.
    pub(super) fn collect(&mut self, attempt: u32, answer: Answered) -> Move {
        let Some(answer) = answer else {
            let limit = self.plan.drain.as_ref().map_or(30_000_000_000, |drain| drain.timeout_ns);
            return Move::Ask(Command::Collect { attempt }, limit, Step::Collect(attempt));
        };
        let (problem, again) = match answer {
            Ok(Answer::Collected(collected)) => self.collected(&collected),
            _ => (Some("collect_failed"), true),
        };
        let place = self.arm.as_ref().map(|arm| arm.order.place.clone());
        let what = problem.unwrap_or_default();
        match problem {
            Some(problem) if again && attempt < attempts(problem) => {
                self.steps.push_front(Step::Collect(attempt + 1));
                self.steps.push_front(intent(Named::Collect, place.as_ref(), "once more"));
                if problem == STALE {
                    self.steps.push_front(Step::Pause(Some(self.now.plus(FRESH_NS))));
                }
            }
            Some(problem) if self.needs_ring() => self.spoil(problem),
            Some(problem) => {
                self.noted(problem, "the ring could not be collected; no gate needs it in this arm")
            }
            None => {
                if let Some(arm) = &mut self.arm {
                    arm.collected = true;
                }
            }
        }
        self.steps.push_front(outcome(Named::Collect, place.as_ref(), problem.is_none(), what));
        Move::Next
    }

    /// What is wrong with a collected ring, and whether collecting it again is worth it.
    fn collected(&self, collected: &Collected) -> (Option<&'static str>, bool) {
        let expected = self.plan.drain.as_ref().map(|drain| drain.expect_bytes);
        let opened = self.arm.as_ref().and_then(|arm| arm.opened);
        let age = opened.map_or(0, |opened| self.now.since(opened));
        let too_late = self.retention_ns.is_some_and(|kept| age > signed(kept));
        match collected {
            Collected { whole: false, .. } => (Some("collect_failed"), true),
            Collected { bytes, .. } if expected.is_some_and(|expected| *bytes != expected) => {
                (Some("collect_failed"), true)
            }
            Collected { stale: true, .. } => (Some(STALE), true),
            Collected { wrapped: true, still_there, .. } => (Some("ring_wrapped"), *still_there),
            _ if too_late => (Some("ring_wrapped"), false),
            _ => (None, false),
        }
    }

    /// True when a gate looks at this arm's ring.
    fn needs_ring(&self) -> bool {
        self.arm.as_ref().is_some_and(|arm| super::validity::needs_ring(&self.plan, &arm.order.levels))
    }

    pub(super) fn reverify(&mut self, factor: String, answer: Answered) -> Move {
        let (Some(level), Some(toggle)) = (self.held.get(&factor).cloned(), self.toggle(&factor)) else {
            return Move::Next;
        };
        let limit = toggle.timeout_ns;
        match answer {
            None => {
                let command = Command::VerifyToggle { factor: factor.clone(), level };
                return Move::Ask(command, limit, Step::Reverify(factor));
            }
            Some(Ok(Answer::Level { level: Some(seen), .. })) if seen == level => return Move::Next,
            Some(Ok(Answer::Level { level: seen, value })) => {
                let seen = seen.unwrap_or_else(|| format!("{value:?}"));
                self.spoil("toggle_drifted");
                self.noted("toggle_drifted", &format!("{factor} was set to {level} and reads {seen}"));
                self.drifted.push(factor);
            }
            Some(_) => self.spoil("device_unreachable"),
        }
        Move::Next
    }

    pub(super) fn measure(&mut self, answer: Answered) -> Move {
        let Some(arm) = &mut self.arm else { return Move::Next };
        match answer {
            None => {
                let (clock, status, drains) = (arm.clock, arm.status.clone(), arm.drains.clone());
                let command = Command::Measure(Box::new(Around { clock, status, drains }));
                let limit = limit_ns(&command);
                Move::Ask(command, limit, Step::Measure)
            }
            Some(Ok(Answer::Measured(measured))) => {
                arm.measured = Some(measured);
                Move::Next
            }
            Some(other) => self.end_arm("not_measured", &why(other)),
        }
    }

    /// Judges the arm and writes its files, then its record, then counts it.
    pub(super) fn conclude(&mut self, answer: Answered) -> Move {
        match answer {
            None => {
                let Some(arm) = self.judged() else { return Move::Next };
                let command = Command::KeepArm(Box::new(arm));
                let limit = limit_ns(&command);
                Move::Ask(command, limit, Step::Conclude)
            }
            Some(Ok(Answer::Kept(files))) => {
                self.record_arm(files);
                Move::Next
            }
            Some(other) => {
                self.disk(&why(other));
                Move::Next
            }
        }
    }

    /// The arm with its verdict.
    fn judged(&mut self) -> Option<Arm> {
        let mut run = self.arm.take()?;
        let (place, levels) = (run.order.place.clone(), run.order.levels.clone());
        let mut measured = run.measured.take().map(|measured| *measured);
        if let Some(measured) = &mut measured {
            fill(measured, &run.status, &run.clock);
        }
        let is_measured = measured.is_some();
        let measured = measured.unwrap_or_default();
        let mut arm = Arm { place, levels, state: ArmState::Ok, notes: Vec::new(), measured };
        if is_measured {
            for finding in judge(&self.plan, &run, &arm, self.max_loop_gap()) {
                match finding {
                    Finding::Spoils(reason) => add(&mut run.reasons, reason),
                    Finding::Note(text) => run.notes.push(text),
                }
            }
        }
        run.restarted |= run.reasons.iter().any(|reason| reason == RESTARTED);
        run.notes.truncate(NOTES);
        arm.notes.clone_from(&run.notes);
        if !run.reasons.is_empty() {
            arm.state = ArmState::Invalid { reasons: run.reasons.clone() };
        }
        if self.plan.ladder.is_some() && run.reasons.is_empty() {
            self.climb.take(arm.clone());
        }
        self.rejoin = arm.notes.iter().any(|note| note.starts_with("membership?"));
        run.chunk = self.chunk_of(&arm, &run.status);
        self.arm = Some(run);
        Some(arm)
    }

    /// Longest gap of the receive loop that is no finding: half of the hold time unless the plan says otherwise.
    fn max_loop_gap(&self) -> Option<u64> {
        self.plan.validity.max_loop_gap_ns.or(self.hold_ns.map(|hold| hold / 2))
    }

    fn record_arm(&mut self, files: BTreeMap<String, Stored>) {
        let chunk = self.chunk_record(&files);
        let Some(run) = &self.arm else { return };
        let place = run.order.place.clone();
        let state = if run.reasons.is_empty() { ArmEnd::Ok } else { ArmEnd::Invalid };
        let throttled = match &run.status {
            [Some(before), Some(after)] => self.throttle_change(before.throttled, after.throttled),
            _ => None,
        };
        let counted = Counted {
            place: place.clone(),
            reasons: run.reasons.clone(),
            restarted: run.restarted,
            throttled,
            chunk: run.chunk.clone(),
        };
        self.steps.push_front(Step::Count(Box::new(counted)));
        let end = Record::ArmEnd { arm: place.clone(), state, reasons: run.reasons.clone(), files };
        self.steps.push_front(Step::Say(Box::new(end)));
        if let Some(chunk) = chunk {
            self.steps.push_front(Step::Say(Box::new(chunk)));
        }
        for note in run.notes.iter().rev() {
            let (code, text) = note.split_once(": ").unwrap_or((note.as_str(), ""));
            let (code, text, severity) = (code.to_owned(), text.to_owned(), "info".to_owned());
            let finding = Record::Finding { severity, arm: Some(place.clone()), code, text };
            self.steps.push_front(Step::Say(Box::new(finding)));
        }
        self.steps.push_front(outcome(
            Named::Judge,
            Some(&place),
            run.reasons.is_empty(),
            run.reasons.join(" "),
        ));
    }

    fn throttle_change(&self, before: Option<u64>, after: Option<u64>) -> Option<String> {
        let first = self.block_throttled.or(before)?;
        let changed = [before, after].into_iter().flatten().find(|flags| *flags != first)?;
        Some(format!("throttled went from {first:#x} to {changed:#x}"))
    }

    /// What the end of an arm means for the run.
    pub(super) fn count(&mut self, counted: &Counted) -> Move {
        self.ended += 1;
        self.drifted.retain(|factor| self.held.contains_key(factor));
        if self.count_chunk(counted) {
            return Move::Next;
        }
        if !counted.reasons.is_empty() {
            self.count_invalid(counted);
        } else if let Some(why) = &counted.throttled {
            self.throttled(counted, why);
        }
        Move::Next
    }

    fn count_invalid(&mut self, counted: &Counted) {
        let name = self.schedule.name(counted.place.treatment).to_owned();
        *self.invalid.entry(name).or_default() += 1;
        self.queue.repeat(&counted.place);
        let rule = repeats(&self.invalid, self.plan.design.max_invalid_repeats);
        if counted.restarted {
            self.restarts += 1;
            self.cold = true;
            self.device = None;
        }
        if self.restarts > 1 {
            self.stop(Outcome::Invalid, "the device restarted a second time".to_owned());
        } else if rule != Repeats::Repeat {
            let last = counted.reasons.join(", ");
            self.stop(Outcome::Invalid, format!("{rule} (last: {last})"));
        }
        self.note_rate(counted);
    }

    /// A frame rate that is off in every treatment of a block is told: it is the device's, not the treatment's (row 23).
    fn note_rate(&mut self, counted: &Counted) {
        if !counted.reasons.iter().any(|reason| reason == "fps_changed") {
            return;
        }
        add(&mut self.block_rate_off, counted.place.treatment);
        if self.block_rate_off.len() == self.schedule.treatments.len() {
            let text =
                "the frame rate is off in every treatment of the block: a finding about the rate".to_owned();
            let code = "fps_changed".to_owned();
            let finding =
                Record::Finding { severity: "warning".into(), arm: Some(counted.place.clone()), code, text };
            self.steps.push_front(Step::Say(Box::new(finding)));
        }
    }

    /// Throttling that changed inside a block: the arm is kept, the block is repeated whole (row 28).
    fn throttled(&mut self, counted: &Counted, why: &str) {
        self.block_repeats += 1;
        if self.block_repeats > self.plan.design.max_invalid_repeats {
            return self.stop(Outcome::Invalid, format!("{why}, again after repeating a block for it"));
        }
        self.queue.repeat_block(&counted.place, &self.schedule);
        let (stratum, block) = (counted.place.stratum, counted.place.block);
        let record = Record::BlockRepeated { stratum, block, why: why.to_owned() };
        self.steps.push_front(Step::Say(Box::new(record)));
    }

    /// Adds a reason why the arm does not count.
    pub(super) fn spoil(&mut self, reason: &str) {
        if let Some(arm) = &mut self.arm {
            add(&mut arm.reasons, reason);
        }
    }

    /// Adds a finding to the arm, or to the run between arms.
    pub(super) fn noted(&mut self, code: &str, text: &str) {
        match &mut self.arm {
            Some(arm) if arm.notes.len() < NOTES => arm.notes.push(format!("{code}: {text}")),
            None if self.leaving.is_none() && self.steps.len() < NOTES => {
                let (severity, code, text) = ("info".to_owned(), code.to_owned(), text.to_owned());
                self.steps.push_front(Step::Say(Box::new(Record::Finding {
                    severity,
                    arm: None,
                    code,
                    text,
                })));
            }
            _ => {}
        }
    }

    /// Ends the arm before its time.
    pub(super) fn end_arm(&mut self, reason: &str, text: &str) -> Move {
        self.spoil(reason);
        if !text.is_empty() {
            self.noted(reason, text);
        }
        self.state = State::Judge;
        self.steps.clear();
        self.steps.extend([Step::Drop, Step::Conclude, Step::NextArm]);
        Move::Next
    }

    pub(super) fn drop_arm(&mut self, answer: Answered) -> Move {
        match (&self.arm, answer) {
            (Some(arm), None) => {
                let command = Command::DropArm { place: arm.order.place.clone() };
                let limit = limit_ns(&command);
                Move::Ask(command, limit, Step::Drop)
            }
            _ => Move::Next,
        }
    }
}

/// What the runner knows better than whoever put the numbers together.
fn fill(measured: &mut Measured, status: &[Option<Status>; 2], clock: &[Option<super::io::ClockSample>; 2]) {
    for (side, status) in status.iter().enumerate() {
        if let Some(status) = status {
            measured.boot[side] = status.boot.clone();
            measured.throttled[side] = status.throttled;
            measured.generation[side] = status.generation;
        }
    }
    if let [Some(before), Some(after)] = clock {
        measured.clock_drift_ns = after.offset_ns.saturating_sub(before.offset_ns);
        measured.clock_error_ns = before.error_ns.max(after.error_ns);
    }
}

fn add<T: PartialEq + Clone, U: Into<T>>(list: &mut Vec<T>, item: U) {
    let item = item.into();
    if !list.contains(&item) {
        list.push(item);
    }
}

fn why(answer: Result<Answer, Failure>) -> String {
    match answer {
        Ok(_) => "an answer to something else".to_owned(),
        Err(failure) => failure.to_string(),
    }
}
