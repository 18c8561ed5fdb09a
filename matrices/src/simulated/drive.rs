//! Driving a runner against the simulated bench until it leaves, or until a record at which it is cut off.

use super::Bench;
use crate::runner::Runner;
use crate::runner::io::{Command, Exit};
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
pub fn drive(runner: &mut Runner, bench: &mut Bench, cut_behind: Option<usize>) -> Driven {
    loop {
        while let Some(output) = runner.poll_output() {
            if let Command::Exit(exit) = output.command {
                return Driven::Left(exit, bench.now());
            }
            bench.execute(bench.now(), output);
            if cut_behind.is_some_and(|records| bench.journal.len() >= records) {
                return Driven::Cut(bench.now());
            }
        }
        let Some((now, input)) = bench.next_input(runner.poll_timeout()) else {
            return Driven::Stuck(bench.now());
        };
        runner.handle_input(now, input);
    }
}
