//! The window of an arm: downloads at their planned times, one at a time, never tried again.
//!
//! It never decides whether the arm counts; it keeps the log of the downloads.

use super::io::{Answer, Command, DrainKind, Failure};
use super::limits::{GRACE_NS, limit_ns};
use super::settle::signed;
use super::steps::{ArmRun, Move, Step};
use super::{Runner, State};
use crate::arm::{ArmDrain, Span};
use crate::validity::SKIPPED;
use wireproof_protocols::Timestamp;

/// An open window.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Window {
    opened: Timestamp,
    /// Downloads that were begun or skipped.
    next: usize,
    /// The download that is going: its index and when it counts as lost.
    going: Option<(u32, Timestamp)>,
    /// Ones that ended, in the order of the plan.
    log: Vec<ArmDrain>,
}

impl Window {
    fn begin(opened: Timestamp) -> Self {
        Self { opened, next: 0, going: None, log: Vec::new() }
    }

    /// Takes the end of a download; one that is not going is ignored.
    fn ended(&mut self, index: u32, drain: ArmDrain, planned_ns: u64) {
        if self.going.take_if(|(going, _)| *going == index).is_some() {
            self.log.push(ArmDrain { planned_ns, real: true, ..drain });
        }
    }

    /// Gives up on a download that was not heard of.
    fn lose(&mut self, now: Timestamp, planned_ns: u64, why: &str) {
        if let Some((_, _)) = self.going.take() {
            let bench = Span { start_ns: self.opened.plus(signed(planned_ns)).0, end_ns: now.0 };
            self.log.push(failed(planned_ns, bench, why.to_owned()));
        }
    }
}

fn failed(planned_ns: u64, bench: Span, why: String) -> ArmDrain {
    ArmDrain {
        planned_ns,
        bench,
        device: Span::default(),
        real: true,
        failed: Some(why),
        bytes: 0,
        sha256: None,
    }
}

/// A sham window: where a download would have begun. Its length is that of the block's downloads, which the analysis knows.
fn sham(planned_ns: u64, at: Timestamp) -> ArmDrain {
    let bench = Span { start_ns: at.0, end_ns: at.0 };
    ArmDrain { planned_ns, bench, device: Span::default(), real: false, failed: None, bytes: 0, sha256: None }
}

impl Runner {
    pub(super) fn start_arm(&mut self, answer: Option<Result<Answer, Failure>>) -> Move {
        match (&self.arm, answer) {
            (Some(arm), None) => {
                let command = Command::StartArm(Box::new(arm.order.clone()));
                let limit = limit_ns(&command);
                Move::Ask(command, limit, Step::StartArm)
            }
            (_, Some(Err(failure))) => self.end_arm("window_not_opened", &failure.to_string()),
            _ => Move::Next,
        }
    }

    pub(super) fn open(&mut self, answer: Option<Result<Answer, Failure>>) -> Move {
        match answer {
            None => Move::Ask(Command::OpenWindow, limit_ns(&Command::OpenWindow), Step::Open),
            Some(Ok(_)) => {
                self.state = State::Measure;
                if let Some(arm) = &mut self.arm {
                    arm.opened = Some(self.now);
                }
                self.steps.push_front(Step::Window(Window::begin(self.now)));
                Move::Next
            }
            Some(Err(failure)) => self.end_arm("window_not_opened", &failure.to_string()),
        }
    }

    pub(super) fn drained(&mut self, index: u32, drain: ArmDrain) {
        let planned = self.planned(index as usize);
        if let Some(Step::Window(window) | Step::Close(window)) = self.holder() {
            window.ended(index, drain, planned);
        }
    }

    /// The step that holds the window: waiting, or the one that an open command goes back to.
    fn holder(&mut self) -> Option<&mut Step> {
        let open = self.open.as_mut().and_then(|open| open.step.as_mut());
        open.or(self.current.as_mut())
    }

    fn planned(&self, index: usize) -> u64 {
        self.arm.as_ref().and_then(|arm| arm.order.drains_ns.get(index).copied()).unwrap_or_default()
    }

    pub(super) fn window(&mut self, mut window: Window, answer: Option<Result<Answer, Failure>>) -> Move {
        let Some(arm) = self.arm.clone() else { return Move::Next };
        if let Some(Err(failure)) = answer {
            let index = window.next.saturating_sub(1);
            window.lose(self.now, self.planned(index), &format!("not begun: {failure}"));
        }
        if let Some((index, _)) = window.going.filter(|(_, lost)| self.now >= *lost) {
            window.lose(self.now, self.planned(index as usize), "took longer than its time limit");
        }
        let end = window.opened.plus(signed(arm.order.measure_ns));
        loop {
            if self.now >= end {
                break;
            }
            match arm.order.drains_ns.get(window.next) {
                Some(planned) if self.now >= window.opened.plus(signed(*planned)) => {
                    if let Some(command) = self.due(&arm, &mut window, *planned) {
                        let limit = limit_ns(&command);
                        return Move::Ask(command, limit, Step::Window(window));
                    }
                }
                planned => {
                    let next = planned.map_or(end, |planned| window.opened.plus(signed(*planned)));
                    let lost = window.going.map_or(end, |(_, lost)| lost);
                    return Move::Wait(next.min(end).min(lost), Step::Window(window));
                }
            }
        }
        self.steps.push_front(Step::Close(window));
        Move::Next
    }

    /// What is due at a planned time: a command, or a line in the log.
    fn due(&self, arm: &ArmRun, window: &mut Window, planned: u64) -> Option<Command> {
        let index = u32::try_from(window.next).unwrap_or(u32::MAX);
        window.next += 1;
        let Some(kind) = arm.order.drain.clone() else {
            window.log.push(sham(planned, window.opened.plus(signed(planned))));
            return None;
        };
        if window.going.is_some() {
            let bench = Span { start_ns: self.now.0, end_ns: self.now.0 };
            window.log.push(failed(planned, bench, SKIPPED.to_owned()));
            return None;
        }
        let timeout_ns = self.plan.drain.as_ref().map_or(5_000_000_000, |drain| drain.timeout_ns);
        window.going = Some((index, self.now.plus(signed(timeout_ns)).plus(GRACE_NS)));
        Some(command(index, kind, timeout_ns))
    }

    pub(super) fn close(&mut self, mut window: Window, answer: Option<Result<Answer, Failure>>) -> Move {
        let Some(answer) = answer else {
            return Move::Ask(Command::CloseWindow, limit_ns(&Command::CloseWindow), Step::Close(window));
        };
        if let Some((index, _)) = window.going {
            window.lose(self.now, self.planned(index as usize), "cut off by the end of the window");
        }
        self.skip_rest(&mut window);
        window.log.sort_by_key(|drain| drain.planned_ns);
        let Some(arm) = &mut self.arm else { return Move::Next };
        arm.drains = window.log;
        if let Err(failure) = answer {
            return self.end_arm("window_not_closed", &failure.to_string());
        }
        let place = arm.order.place.clone();
        self.after_window(&place).into_iter().rev().for_each(|step| self.steps.push_front(step));
        Move::Next
    }

    /// Downloads whose time had not come when the window ended.
    fn skip_rest(&self, window: &mut Window) {
        let Some(arm) = &self.arm else { return };
        for planned in arm.order.drains_ns.iter().skip(window.next) {
            let at = window.opened.plus(signed(*planned));
            window.log.push(match arm.order.drain {
                None => sham(*planned, at),
                Some(_) => failed(*planned, Span { start_ns: at.0, end_ns: at.0 }, SKIPPED.to_owned()),
            });
        }
    }
}

fn command(index: u32, kind: DrainKind, timeout_ns: u64) -> Command {
    Command::StartDrain { index, kind, timeout_ns }
}
