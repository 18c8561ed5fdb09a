//! What drives the steps: one open command at a time, its answer, its limit, and asking a silent device again.
//!
//! It never knows what a step is for.

use super::Runner;
use super::io::{Answer, Command, Failure, Fault, Input, Output, Ticket};
use super::limits::{BACKOFF_NS, GRACE_NS, is_repeatable};
use super::steps::{Move, Step};
use crate::journal::Record;
use wireproof_protocols::Timestamp;

/// A command that was handed out.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub ticket: Ticket,
    pub command: Command,
    pub limit_ns: u64,
    /// Then it counts as lost.
    pub deadline: Timestamp,
    /// Who gets the answer; `None`: nobody waits for it.
    pub step: Option<Step>,
    pub tries: usize,
}

/// A command that is asked again.
#[derive(Clone, Debug)]
pub(super) struct Again {
    pub at: Timestamp,
    pub command: Command,
    pub limit_ns: u64,
    pub step: Step,
    pub tries: usize,
}

impl Runner {
    /// Takes an input in, without going on.
    pub(super) fn take(&mut self, input: Input) {
        match input {
            Input::Done { ticket, result } => self.done(ticket, result),
            Input::Warming(warming) => self.warming(warming),
            Input::Settling(settling) => self.settling(settling),
            Input::Drained { index, drain } => self.drained(index, *drain),
            Input::Signal => self.signal(),
            Input::Fault(Fault::Disk(why)) => self.disk(&why),
            Input::Fault(Fault::Internal(why)) => self.internal(&why),
            Input::Noted { code, text } => self.noted(&code, &text),
            Input::Tick => {}
        }
    }

    /// Goes on as far as it can.
    pub(super) fn turn(&mut self) {
        while self.exit.is_none() && !self.is_waiting() {
            if let Some(again) = self.again.take() {
                self.ask(again.command, again.limit_ns, again.step, again.tries);
                continue;
            }
            let Some(step) = self.current.take().or_else(|| self.steps.pop_front()) else { return };
            if !self.follow(step, None) {
                return;
            }
        }
    }

    /// True while a command is open or a pause before asking again lasts. A command that is over its limit is answered
    /// here.
    fn is_waiting(&mut self) -> bool {
        if let Some(open) = &self.open {
            if self.now < open.deadline {
                return true;
            }
            let ticket = open.ticket;
            self.done(ticket, Err(Failure::TimedOut));
            return self.open.is_some();
        }
        self.again.as_ref().is_some_and(|again| self.now < again.at)
    }

    /// Lets a step go on; false when it waits for time or an input.
    fn follow(&mut self, step: Step, answer: Option<Result<Answer, Failure>>) -> bool {
        match self.advance(step, answer) {
            Move::Ask(command, limit_ns, step) => self.ask(command, limit_ns, step, 0),
            Move::Wait(at, step) => {
                self.current = Some(step);
                self.ends = Some(at);
                return false;
            }
            Move::Next => {}
        }
        true
    }

    pub(super) fn ask(&mut self, command: Command, limit_ns: u64, step: Step, tries: usize) {
        let ticket = self.send(command.clone(), limit_ns);
        let limit = i64::try_from(limit_ns).unwrap_or(i64::MAX);
        let deadline = self.now.plus(limit).plus(GRACE_NS);
        self.open = Some(Open { ticket, command, limit_ns, deadline, step: Some(step), tries });
    }

    pub(super) fn send(&mut self, command: Command, limit_ns: u64) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.out.push_back(Output { ticket, limit_ns, command });
        ticket
    }

    fn done(&mut self, ticket: Ticket, result: Result<Answer, Failure>) {
        let Some(open) = self.open.take_if(|open| open.ticket == ticket) else { return };
        self.out.retain(|output| output.ticket != ticket);
        self.remember(&open.command, &result);
        let Some(step) = open.step else {
            return self.unheard(&open.command, &result);
        };
        if let Err(Failure::Disk(why)) = &result
            && self.leaving.is_none()
        {
            return self.disk(why);
        }
        if matches!(result, Err(Failure::Unreachable(_))) && self.may_ask_again(&open.command, open.tries) {
            let at = self.now.plus(BACKOFF_NS[open.tries]);
            let (command, limit_ns, tries) = (open.command, open.limit_ns, open.tries + 1);
            self.again = Some(Again { at, command, limit_ns, step, tries });
            return;
        }
        self.follow(step, Some(result));
    }

    /// The start of an arm is in the journal, whoever waited for it.
    fn remember(&mut self, command: &Command, result: &Result<Answer, Failure>) {
        if let (Command::Journal(record), Ok(_), Some(arm)) = (command, result, &mut self.arm) {
            arm.told |= matches!(&**record, Record::ArmStart { .. });
        }
    }

    fn may_ask_again(&self, command: &Command, tries: usize) -> bool {
        self.hurry.is_none() && tries < BACKOFF_NS.len() && is_repeatable(command)
    }

    /// The answer to a command whose step was given up. A journal that cannot be written stays broken.
    fn unheard(&mut self, command: &Command, result: &Result<Answer, Failure>) {
        if let (Command::Journal(_), Err(failure)) = (command, result) {
            self.disk_broken = true;
            self.disk(&failure.to_string());
        }
    }

    pub(super) fn timeout(&self) -> Option<Timestamp> {
        if let Some(open) = &self.open {
            return Some(open.deadline);
        }
        match &self.again {
            Some(again) => Some(again.at),
            None => self.current.as_ref().and(self.ends),
        }
    }

    /// Writes a record. While leaving, a record that cannot be written holds nothing up.
    pub(super) fn say(&mut self, record: Box<Record>, answer: Option<Result<Answer, Failure>>) -> Move {
        match answer {
            None if self.disk_broken => Move::Next,
            None => {
                if matches!(*record, Record::ArmEnd { .. }) {
                    self.arm = None;
                }
                let command = Command::Journal(record.clone());
                let limit = super::limits::limit_ns(&command);
                Move::Ask(command, limit, Step::Say(record))
            }
            Some(Ok(_)) => Move::Next,
            Some(Err(failure)) => {
                self.disk_broken = true;
                self.disk(&failure.to_string());
                Move::Next
            }
        }
    }
}
