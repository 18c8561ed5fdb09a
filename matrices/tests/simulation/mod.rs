//! A run of the example plan against the simulated bench, as the tests of the runner need it.
//!
//! It never asserts anything.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::collections::BTreeMap;
use wireproof_matrices::arm::{Arm, ArmState};
use wireproof_matrices::digest::Digest;
use wireproof_matrices::journal::{Entry, JOURNAL_VERSION, Record};
use wireproof_matrices::order::order;
use wireproof_matrices::plan::Plan;
use wireproof_matrices::runner::io::{Command, Exit, Input, Outcome};
use wireproof_matrices::runner::{Left, Runner, Schedule, Start};
use wireproof_matrices::simulated::{Bench, Driven, Fault, drive};
use wireproof_protocols::Timestamp;

const EXAMPLE: &str = include_str!("../golden/plan_example.toml");
pub(crate) const MS: i64 = 1_000_000;
pub(crate) const SECOND: i64 = 1_000 * MS;
/// Seed of the simulated noise; printed with every failing assertion through [`Run`].
pub(crate) const SEED: u64 = 7;

/// The example plan: ten blocks of idle and raw, the profiler fixed on, the preview a stratum.
pub(crate) fn example() -> Plan {
    Plan::read(EXAMPLE).expect("the example is a plan")
}

/// The example with so few blocks that a test of one fault stays short.
pub(crate) fn short(blocks: u32) -> Plan {
    let mut plan = example();
    plan.design.blocks = blocks;
    plan.timing.warmup_ns = 20_000_000_000;
    plan
}

/// The example with the profiler varied instead of held, so that a toggle is set in every arm.
pub(crate) fn varied(blocks: u32) -> Plan {
    let mut plan = short(blocks);
    let text = EXAMPLE.replace(
        "name     = \"profiler\"\nlevels   = [\"on\"]\nrole     = \"fixed\"",
        "name     = \"profiler\"\nlevels   = [\"on\", \"off\"]\nrole     = \"treatment\"",
    );
    let gates = text.replace("metric = \"frame.", "where = { profiler = \"on\" }\nmetric = \"frame.");
    let changed = Plan::read(&gates).expect("the changed example is a plan");
    plan.factor = changed.factor;
    plan.gate = changed.gate;
    plan
}

/// What the runner starts from.
pub(crate) fn start(plan: &Plan) -> Start {
    let sha = plan.sha256().expect("a plan has a hash");
    let first = Record::Plan {
        plan: sha.parse::<Digest>().expect("hex"),
        version: JOURNAL_VERSION,
        name: plan.name.clone(),
        base_url: plan.target.base_url.clone(),
        pre_registered: true,
        tool: "wireproof 0.1.0".to_owned(),
        soak: None,
    };
    Start {
        plan: plan.clone(),
        schedule: Schedule::from(&order(plan)),
        first,
        bundle: "evidence/x".to_owned(),
    }
}

/// A run that ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) exit: Exit,
    pub(crate) ended: Timestamp,
    pub(crate) bench: Bench,
    /// What the factors stood at before.
    pub(crate) before: BTreeMap<String, String>,
}

/// Runs a plan with faults planted.
pub(crate) fn run(plan: &Plan, faults: &[(std::ops::RangeInclusive<u32>, Fault)]) -> Run {
    run_with(plan, faults, &[])
}

/// Runs a plan with faults planted and inputs at times.
pub(crate) fn run_with(
    plan: &Plan,
    faults: &[(std::ops::RangeInclusive<u32>, Fault)],
    inputs: &[(Timestamp, Input)],
) -> Run {
    let mut bench = Bench::new(plan.clone(), SEED);
    for (arms, fault) in faults {
        bench.plant(arms.clone(), fault.clone());
    }
    for (at, input) in inputs {
        bench.send_at(*at, input.clone());
    }
    run_on(start(plan), bench)
}

/// Runs a plan on a bench.
pub(crate) fn run_on(start: Start, mut bench: Bench) -> Run {
    let before = bench.levels.clone();
    let mut runner = Runner::new(start, Timestamp(0));
    finish(&mut runner, &mut bench, before)
}

fn finish(runner: &mut Runner, bench: &mut Bench, before: BTreeMap<String, String>) -> Run {
    match drive(runner, bench, None) {
        Driven::Left(exit, ended) => Run { exit: *exit, ended, bench: bench.clone(), before },
        other => panic!("it did not leave: {other:?} (seed {SEED})"),
    }
}

/// Runs a plan until so many records are in the journal, cuts it off and goes on; `None` when it left before.
pub(crate) fn cut_and_resume(plan: &Plan, records: usize) -> Option<Run> {
    cut_and_resume_with(plan, records, |_| {})
}

/// The same, with something that happens while the bench is off.
pub(crate) fn cut_and_resume_with(plan: &Plan, records: usize, happens: impl Fn(&mut Bench)) -> Option<Run> {
    let mut bench = Bench::new(plan.clone(), SEED);
    let before = bench.levels.clone();
    let mut runner = Runner::new(start(plan), Timestamp(0));
    let Driven::Cut(at) = drive(&mut runner, &mut bench, Some(records)) else { return None };
    bench.cut();
    happens(&mut bench);
    let entries = entries(&bench.journal);
    let mut start = start(plan);
    let left = Left::of(&start.schedule, &entries).expect("the journal fits the order");
    let device = match left.device.boot_id.is_empty() {
        true => bench.device(),
        false => left.device.clone(),
    };
    start.first = Record::Resumed { dropped_octets: 0, device };
    let mut runner = Runner::resume(start, left, at);
    Some(finish(&mut runner, &mut bench, before))
}

/// Records as entries of a journal, a second apart.
pub(crate) fn entries(journal: &[Record]) -> Vec<Entry> {
    (1..)
        .zip(journal)
        .map(|(n, record)| Entry { n, at_ns: n as i64 * SECOND, record: record.clone() })
        .collect()
}

impl Run {
    /// True when every factor stands where it stood before.
    pub(crate) fn is_restored(&self) -> bool {
        self.bench.levels == self.before
    }

    pub(crate) fn outcome(&self) -> Outcome {
        self.exit.ending.outcome
    }

    /// Reasons of the run, one line.
    pub(crate) fn why(&self) -> String {
        self.exit.lines.join("; ")
    }

    /// Reasons of the nth attempt, from 1.
    pub(crate) fn reasons(&self, attempt: usize) -> Vec<String> {
        match &self.bench.arms[attempt - 1].state {
            ArmState::Invalid { reasons } => reasons.clone(),
            _ => Vec::new(),
        }
    }

    /// The nth attempt, from 1.
    pub(crate) fn attempt(&self, attempt: usize) -> &Arm {
        &self.bench.arms[attempt - 1]
    }

    /// True when the nth attempt has a note of this code.
    pub(crate) fn noted(&self, attempt: usize, code: &str) -> bool {
        self.attempt(attempt).notes.iter().any(|note| note.starts_with(&format!("{code}: ")))
    }

    /// Positions in the trace of commands that match.
    pub(crate) fn commands(&self, matches: impl Fn(&Command) -> bool) -> Vec<usize> {
        (0..).zip(&self.bench.trace).filter(|(_, (_, command))| matches(command)).map(|(i, _)| i).collect()
    }

    /// Attempts that were begun again: block, position, attempt.
    pub(crate) fn repeats(&self) -> Vec<(u32, u32, u32)> {
        let again = self.bench.arms.iter().filter(|arm| arm.place.attempt > 1);
        again.map(|arm| (arm.place.block, arm.place.position, arm.place.attempt)).collect()
    }
}
