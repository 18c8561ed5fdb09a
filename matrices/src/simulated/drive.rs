//! Driving a runner against the simulated bench until it leaves, or until a record at which it is cut off.

use super::Bench;
use crate::runner::Runner;
use crate::runner::io::{Command, Exit, Input};
use wireproof_protocols::Timestamp;

/// How a simulated run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Driven {
    /// It left by itself.
    Left(Box<Exit>, Timestamp),
    /// It was cut off behind the asked record.
    Cut(Timestamp),
    /// It waits for nothing: a mistake in the runner.
    Stuck(Timestamp),
}

/// Runs until the end; `cut_behind`: until so many records are in the journal, as if the bench lost power then.
pub fn drive(runner: &mut Runner, bench: &mut Bench, from: Timestamp, cut_behind: Option<usize>) -> Driven {
    let mut now = from;
    loop {
        while let Some(output) = runner.poll_output() {
            if let Command::Exit(exit) = output.command {
                return Driven::Left(exit, now);
            }
            bench.execute(now, output);
            if cut_behind.is_some_and(|records| bench.journal.len() >= records) {
                return Driven::Cut(now);
            }
        }
        let at = match (bench.next_at(), runner.poll_timeout()) {
            (Some(event), Some(timeout)) => event.min(timeout),
            (Some(at), None) | (None, Some(at)) => at,
            (None, None) => return Driven::Stuck(now),
        };
        now = now.max(at);
        let input = match bench.next_at().is_some_and(|event| event <= now) {
            true => bench.happen().unwrap_or(Input::Tick),
            false => Input::Tick,
        };
        runner.handle_input(now, input);
    }
}
