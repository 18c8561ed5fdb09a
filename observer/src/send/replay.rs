//! A capture on the wire again: which datagrams, when, and where to. It reads the file on a thread of its own, so that
//! neither a slow disk nor a pipe delays what is due, and holds a few hundred datagrams at most.

mod mapping;
mod read;
mod sockets;
mod timeline;

pub use mapping::{Mapping, Rule, Target};
pub use read::{Captured, Part, Portion, WAITING, Which, read};
pub use sockets::{Exit, Sockets};
pub use timeline::Timeline;

use super::clock::Clock;
use super::pace::{Errors, Lateness};
use crossbeam_channel::Receiver;
use std::net::SocketAddr;

/// A delay beyond which what follows is moved instead of being made up for, ns.
pub const HOLD_UP_NS: u64 = 20_000_000;

/// What a replay did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Datagrams handed to the sockets.
    pub datagrams: u64,
    /// Datagrams whose destination no rule names.
    pub unmapped: u64,
    /// Datagrams of which the capture kept only the beginning.
    pub cut: u64,
    /// UDP datagrams of other protocols.
    pub other: u64,
    /// Times the sender was held up for so long that what followed was moved.
    pub moved: u64,
    /// By how much altogether, ns.
    pub moved_ns: u64,
    /// Times the clock of the capture was set back by more than a second; the replay goes on from there.
    pub clock_steps: u64,
    /// How late datagrams left.
    pub lateness: Lateness,
    /// Rounds through the file that were begun.
    pub rounds: u64,
    /// Somebody ended it before its end.
    pub cut_short: bool,
    /// What went wrong with the file; everything before was replayed.
    pub failed: Option<String>,
}

/// Sends the datagrams at their times until there are no more or `stop` says so.
pub fn replay(
    parts: &Receiver<Part>,
    mapping: &Mapping,
    timeline: &mut Timeline,
    clock: &mut dyn Clock,
    exit: &mut dyn Exit,
    stop: &dyn Fn() -> bool,
) -> Replayed {
    let mut run =
        Run { mapping, timeline, clock, exit, stop, errors: Errors::new(), done: Replayed::default() };
    for part in parts {
        run.part(part);
        if stop() {
            run.done.cut_short = true;
            break;
        }
    }
    run.done.clock_steps = run.timeline.clock_steps();
    run.done.lateness = run.errors.lateness();
    run.done
}

struct Run<'a> {
    mapping: &'a Mapping,
    timeline: &'a mut Timeline,
    clock: &'a mut dyn Clock,
    exit: &'a mut dyn Exit,
    stop: &'a dyn Fn() -> bool,
    errors: Errors,
    done: Replayed,
}

impl Run<'_> {
    fn part(&mut self, part: Part) {
        match part {
            Part::Round => {
                self.done.rounds += 1;
                self.timeline.begin_again();
            }
            Part::LeftOut { cut, other } => {
                self.done.cut += cut;
                self.done.other += other;
            }
            Part::Failed(text) => self.done.failed = Some(text),
            Part::Datagrams(portion) => {
                for d in portion.iter() {
                    match self.mapping.target(d.destination) {
                        Some(to) => self.datagram(&d, to),
                        None => self.done.unmapped += 1,
                    }
                    if (self.stop)() {
                        break;
                    }
                }
            }
        }
    }

    fn datagram(&mut self, d: &Captured<'_>, to: SocketAddr) {
        let due = self.timeline.due_ns(d.at, self.clock.now_ns());
        let now = self.clock.wait(due, self.stop);
        if (self.stop)() {
            return;
        }
        let late = now.saturating_sub(due);
        if late > HOLD_UP_NS {
            self.timeline.move_by(late);
            self.done.moved += 1;
            self.done.moved_ns += late;
        }
        self.errors.add(late);
        self.exit.send(d.source, to, d.payload);
        self.done.datagrams += 1;
    }
}

#[cfg(test)]
mod tests;
