//! A capture on the wire again: which datagrams, when, and where to. It reads the file on a thread of its own, so that
//! neither a slow disk nor a pipe delays what is due, and holds a few hundred datagrams at most.

mod mapping;
mod read;
mod sockets;
mod timeline;

pub use mapping::{Mapping, Rule, Target};
pub use read::{Part, WAITING, Which, read};
pub use sockets::{Exit, Sockets};
pub use timeline::Timeline;

use super::clock::Clock;
use super::pace::{Errors, Lateness};
use crossbeam_channel::Receiver;

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
    let mut done = Replayed::default();
    let mut errors = Errors::new();
    for part in parts {
        match part {
            Part::Round => {
                done.rounds += 1;
                timeline.begin_again();
            }
            Part::LeftOut { cut, other } => {
                done.cut += cut;
                done.other += other;
            }
            Part::Failed(text) => done.failed = Some(text),
            Part::Datagrams(datagrams) => {
                for d in datagrams.iter() {
                    let Some(to) = mapping.target(d.destination) else {
                        done.unmapped += 1;
                        continue;
                    };
                    let due = timeline.due_ns(d.at, clock.now_ns());
                    let now = clock.wait(due, stop);
                    if stop() {
                        break;
                    }
                    let late = now.saturating_sub(due);
                    if late > HOLD_UP_NS {
                        timeline.move_by(late);
                        done.moved += 1;
                        done.moved_ns += late;
                    }
                    errors.add(late);
                    exit.send(d.source, to, d.payload);
                    done.datagrams += 1;
                }
            }
        }
        if stop() {
            done.cut_short = true;
            break;
        }
    }
    done.clock_steps = timeline.clock_steps();
    done.lateness = errors.lateness();
    done
}

#[cfg(test)]
mod tests;
