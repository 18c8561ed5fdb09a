//! Every way out: the normal end, a signal, an error, a full disk. Whatever was touched is put back in reverse order and
//! read back; what could not be is said loudly, with the command that does it.
//!
//! It never leaves a touched factor unmentioned.

use super::io::{Answer, Command, Ending, Exit, Failure, Outcome};
use super::limits::{ABORT_NS, HURRY_ABORT_NS, HURRY_NS, is_finished_first, limit_ns};
use super::steps::{Move, Step, intent, outcome};
use super::toggle::{Toggling, Turn};
use super::{Runner, State};
use crate::journal::{ArmEnd, Record, Step as Named};
use std::collections::BTreeMap;

type Answered = Option<Result<Answer, Failure>>;

impl Runner {
    /// The last arm is over.
    pub(super) fn complete(&mut self) {
        self.leaving = Some(Ending { outcome: Outcome::Complete, reasons: Vec::new(), restored: true });
        self.leave(false);
    }

    /// Stops the run: what is to be put back is put back, the rest is sealed. While leaving, only the reason is added.
    pub(super) fn stop(&mut self, outcome: Outcome, reason: String) {
        if self.leaving.is_some() {
            return self.worsen(outcome, reason);
        }
        self.leaving = Some(Ending { outcome, reasons: vec![reason], restored: true });
        self.leave(false);
    }

    fn worsen(&mut self, outcome: Outcome, reason: String) {
        let Some(ending) = &mut self.leaving else { return };
        if rank(outcome) > rank(ending.outcome) {
            ending.outcome = outcome;
        }
        if !ending.reasons.contains(&reason) {
            ending.reasons.push(reason);
        }
    }

    /// Writing failed: nothing is measured any more, and the device is put back before anything else is written.
    pub(super) fn disk(&mut self, why: &str) {
        let reason = format!("evidence could not be written: {why}");
        if self.leaving.is_some() {
            return self.worsen(Outcome::Partial, reason);
        }
        self.leaving = Some(Ending { outcome: Outcome::Partial, reasons: vec![reason], restored: true });
        self.leave(true);
    }

    pub(super) fn internal(&mut self, why: &str) {
        self.stop(Outcome::Partial, format!("the bench failed: {why}"));
    }

    /// The first signal stops the arm, the second all waiting, the third everything.
    pub(super) fn signal(&mut self) {
        self.signals = self.signals.saturating_add(1);
        match self.signals {
            1 if self.leaving.is_none() => self.stop(Outcome::Partial, "stopped by a signal".to_owned()),
            1 => {}
            2 => self.hurry(),
            _ => self.leave_at_once(),
        }
    }

    /// Replaces whatever was to come by the way out.
    fn leave(&mut self, quiet: bool) {
        self.state = State::Restore;
        self.forget(false);
        let why = self.leaving.as_ref().map(|ending| ending.reasons.join("; ")).unwrap_or_default();
        let interrupted = Record::Interrupted { why: why.clone() };
        match (why.is_empty(), quiet) {
            (true, _) => {}
            (false, true) => self.later.push(interrupted),
            (false, false) => self.steps.push_back(Step::Say(Box::new(interrupted))),
        }
        if self.arm.is_some() {
            self.steps.push_back(Step::Drop);
        }
        self.put_back(quiet);
        self.finish();
    }

    /// Steps that put back what was touched, the last first.
    fn put_back(&mut self, quiet: bool) {
        for (factor, level) in self.touched.clone().into_iter().rev() {
            let Some(toggle) = self.toggle(&factor).filter(|_| !self.keep_off) else {
                self.give_up(&factor, "the device belongs to another run");
                continue;
            };
            let toggling = match self.hurry {
                Some(cap) => Toggling::restore(toggle, &level).hurry(cap),
                None => Toggling::restore(toggle, &level),
            };
            if !quiet {
                self.steps.push_back(intent(Named::Restore, None, format!("{factor}={level}")));
            }
            self.steps.push_back(Step::Restore { toggling, quiet });
        }
    }

    fn finish(&mut self) {
        self.steps.push_back(Step::Flush);
        if let Some(arm) = self.arm.as_ref().filter(|arm| arm.told) {
            let (arm, state) = (arm.order.place.clone(), ArmEnd::Interrupted);
            let record = Record::ArmEnd { arm, state, reasons: Vec::new(), files: BTreeMap::new() };
            self.steps.push_back(Step::Say(Box::new(record)));
        }
        self.steps.extend([Step::Seal, Step::Leave]);
    }

    /// Drops what was to come, and gives up what is open unless it is better finished.
    fn forget(&mut self, hard: bool) {
        self.current = None;
        self.again = None;
        self.steps.clear();
        let Some(open) = &mut self.open else { return };
        open.step = None;
        let ticket = open.ticket;
        let journal = matches!(open.command, Command::Journal(_));
        if let Some(at) = self.out.iter().position(|output| output.ticket == ticket).filter(|_| !journal) {
            self.out.remove(at);
            self.open = None;
            return;
        }
        if !hard && is_finished_first(&open.command) {
            return;
        }
        let patience = if hard { HURRY_ABORT_NS } else { ABORT_NS };
        open.deadline = open.deadline.min(self.now.plus(patience));
        self.send(Command::Abort { open: ticket }, 0);
    }

    /// The second signal: no waiting, one attempt to put back, without records before it. A seal that is being made is
    /// given up.
    fn hurry(&mut self) {
        if self.leaving.is_none() {
            self.stop(Outcome::Partial, "stopped by a signal".to_owned());
        }
        self.hurry = Some(self.now.plus(HURRY_NS));
        let sealing = self.open.as_ref().is_some_and(|open| matches!(open.command, Command::Seal(_)));
        self.forget(true);
        self.put_back(true);
        self.finish();
        if sealing {
            self.worsen(Outcome::Partial, "stopped by a signal before it was sealed".to_owned());
            self.steps.retain(|step| !matches!(step, Step::Seal));
        }
    }

    /// The third signal.
    fn leave_at_once(&mut self) {
        self.forget(true);
        self.worsen(Outcome::Partial, "left at once by a third signal".to_owned());
        for (factor, _) in self.touched.clone() {
            self.give_up(&factor, "left at once");
        }
        self.say_goodbye(None);
    }

    fn give_up(&mut self, factor: &str, why: &str) {
        let Some(at) = self.touched.iter().position(|(touched, _)| touched == factor) else { return };
        let (factor, level) = self.touched.remove(at);
        self.unrestored.push((factor, level, why.to_owned()));
    }

    pub(super) fn restore(&mut self, mut toggling: Toggling, quiet: bool, answer: Answered) -> Move {
        let Some(toggle) = self.toggle(&toggling.factor).cloned() else { return Move::Next };
        self.state = State::Restore;
        let what = format!("{}={}", toggling.factor, toggling.level);
        let (ok, what) = match toggling.advance(self.now, &toggle, answer) {
            Turn::Ask(command, limit) => return Move::Ask(command, limit, Step::Restore { toggling, quiet }),
            Turn::Wait(at) => return Move::Wait(at, Step::Restore { toggling, quiet }),
            Turn::Held => {
                self.touched.retain(|(factor, _)| *factor != toggling.factor);
                (true, what)
            }
            Turn::Failed(why) => {
                self.give_up(&toggling.factor, &why);
                (false, format!("{what}: {why}"))
            }
        };
        match quiet {
            true => self.later.push(Record::Result { step: Named::Restore, arm: None, ok, what }),
            false => self.steps.push_front(outcome(Named::Restore, None, ok, what)),
        }
        Move::Next
    }

    /// Writes what had to wait until the device was put back.
    pub(super) fn flush(&mut self) -> Move {
        let mut records = std::mem::take(&mut self.later);
        let is_left = |factor: &String| self.unrestored.iter().any(|(left, ..)| left == factor);
        let factors: Vec<String> = self.originals.keys().filter(|factor| !is_left(factor)).cloned().collect();
        if !factors.is_empty() {
            records.push(Record::Restored { factors });
        }
        records.into_iter().rev().for_each(|record| self.steps.push_front(Step::Say(Box::new(record))));
        Move::Next
    }

    pub(super) fn seal(&mut self, answer: Answered) -> Move {
        self.state = State::Seal;
        match answer {
            None => {
                let command = Command::Seal(Box::new(self.ending()));
                let limit = limit_ns(&command);
                return Move::Ask(command, limit, Step::Seal);
            }
            Some(Err(failure)) => self.say_goodbye(Some(failure)),
            Some(Ok(_)) => self.say_goodbye(None),
        }
        Move::Next
    }

    fn ending(&self) -> Ending {
        let nothing = Ending { outcome: Outcome::Partial, reasons: Vec::new(), restored: true };
        Ending { restored: self.unrestored.is_empty(), ..self.leaving.clone().unwrap_or(nothing) }
    }

    /// The last word: what was not put back comes first and decides the exit code, what to do about it last.
    pub(super) fn say_goodbye(&mut self, unsealed: Option<Failure>) {
        let ending = self.ending();
        let mut lines: Vec<String> = self.unrestored.iter().map(not_restored).collect();
        lines.extend(ending.reasons.iter().cloned());
        lines.extend(unsealed.as_ref().map(|failure| format!("the bundle could not be sealed: {failure}")));
        if !ending.restored {
            // What there is to do comes last, where it is seen.
            lines.push(format!("put it back with: wireproof matrix restore {}", self.bundle));
        }
        let code = match (ending.restored, unsealed, ending.outcome) {
            (false, ..) => Some(4),
            (true, Some(_), _) => Some(6),
            (true, None, outcome) => code(outcome),
        };
        let exit = Exit { ending, code, lines };
        self.state = State::Over;
        self.send(Command::Exit(Box::new(exit.clone())), 0);
        self.exit = Some(exit);
    }
}

fn not_restored((factor, level, why): &(String, String, String)) -> String {
    format!("NOT RESTORED: {factor} has to stand at {level}: {why}")
}

/// Exit codes of the contract; a complete run has its verdict's.
fn code(outcome: Outcome) -> Option<u8> {
    match outcome {
        Outcome::Complete => None,
        Outcome::Invalid => Some(4),
        Outcome::Partial => Some(5),
        Outcome::Refused => Some(6),
    }
}

fn rank(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Complete => 0,
        Outcome::Partial => 1,
        Outcome::Invalid => 2,
        Outcome::Refused => 3,
    }
}
