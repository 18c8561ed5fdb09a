//! `matrix run --dry`: the whole run against a simulated device in simulated time. It shows that a plan can be walked to its
//! end, how long that takes and what is sent to the device when; what it measures is made up.

use super::judge::{Show, show};
use super::soak;
use crate::cli::failure::{Failure, INTEGRITY, IO};
use crate::cli::say;
use crate::matrix::env::tool;
use crate::matrix::judging::{Judged, decided};
use crate::matrix::schedule::schedule;
use std::collections::BTreeMap;
use wireproof_matrices::digest::Digest;
use wireproof_matrices::journal::{Entry, JOURNAL_VERSION, Record};
use wireproof_matrices::plan::Plan;
use wireproof_matrices::runner::io::{Command, Exit};
use wireproof_matrices::runner::{Runner, Start};
use wireproof_matrices::simulated::{Bench, Driven, drive};
use wireproof_matrices::soak::{Rule, Told};
use wireproof_matrices::verdict::{Circumstances, judge_soak};
use wireproof_protocols::Timestamp;

/// Seed of the simulated noise: the same walk every time.
const SEED: u64 = 1;

/// Walks through a plan.
pub(super) fn run(plan: &Plan, shown: &Show) -> Result<u8, Failure> {
    let Walk { exit, bench, circumstances } = walk(plan, plan, None)?;
    let (verdict, envelope) = decided(plan, &bench.arms, &circumstances);
    let judged = Judged {
        plan: plan.clone(),
        verdict,
        environment: None,
        findings: Vec::new(),
        envelope,
        causes: Vec::new(),
    };
    show(&judged, shown)?;
    // What is made up proves nothing: only a walk that cannot be ended is an error.
    Ok(exit.code.unwrap_or(0))
}

/// Walks through a soak of a plan.
pub(super) fn soak(plan: &Plan, course: &Plan, rule: &Rule, shown: &Show) -> Result<u8, Failure> {
    let Walk { exit, bench, circumstances } = walk(plan, course, Some(rule))?;
    let entry = |record: &Record| Entry { n: 0, at_ns: 0, record: record.clone() };
    let mut journal: Vec<Entry> = bench.journal.iter().map(entry).collect();
    journal.extend(
        bench.dropped.iter().map(|arm| entry(&Record::Dropped { arm: arm.clone(), files: Vec::new() })),
    );
    let told = Told::of(&journal).map_err(|error| soak::refused(&error.into()))?;
    let told = told.ok_or_else(|| mistake("its journal does not begin with the rule"))?;
    let verdict = judge_soak(course, &bench.arms, &told, &circumstances);
    let judged = Judged {
        plan: course.clone(),
        verdict,
        environment: None,
        findings: Vec::new(),
        envelope: None,
        causes: Vec::new(),
    };
    show(&judged, shown)?;
    Ok(exit.code.unwrap_or(0))
}

/// A walk that came to its end.
struct Walk {
    exit: Exit,
    bench: Bench,
    circumstances: Circumstances,
}

fn mistake(what: &str) -> Failure {
    Failure::Said { code: IO, text: format!("{what}, which is a mistake in this program") }
}

/// Walks through the plan that arms are run by; `frozen` is the one whose hash they have.
fn walk(frozen: &Plan, plan: &Plan, soak: Option<&Rule>) -> Result<Walk, Failure> {
    let integrity = |error: String| Failure::Said { code: INTEGRITY, text: error };
    let sha256 = frozen.sha256().map_err(|error| integrity(error.to_string()))?;
    let digest: Digest = sha256.parse().map_err(|_| integrity(format!("{sha256} is no hash")))?;
    let first = Record::Plan {
        plan: digest,
        version: JOURNAL_VERSION,
        name: plan.name.clone(),
        base_url: plan.target.base_url.clone(),
        pre_registered: false,
        tool: tool(),
        soak: soak.cloned(),
    };
    let start = Start { plan: plan.clone(), schedule: schedule(plan), first, bundle: "DRY".to_owned() };
    let from = Timestamp(0);
    let (mut runner, mut bench) = (Runner::new(start, from), Bench::new(plan.clone(), SEED));
    let Driven::Left(exit, end) = drive(&mut runner, &mut bench, None) else {
        return Err(mistake("the walk did not come to its end"));
    };
    say(&format!("simulated: nothing was sent; the run would take {} s", end.0.div_euclid(1_000_000_000)));
    told(&bench).iter().for_each(|(what, times)| say(&format!("{times:>6} x {what}")));
    exit.lines.iter().for_each(|line| say(line));
    let circumstances = Circumstances {
        plan_sha256: sha256,
        gates_sha256: frozen.gates_sha256().map_err(|error| integrity(error.to_string()))?,
        attempt: 1,
        attempts: 1,
        what_if: vec!["simulated: what was measured is made up".to_owned()],
        judged_by: tool(),
        ..Circumstances::default()
    };
    Ok(Walk { exit: *exit, bench, circumstances })
}

/// What would be asked of the device, and how often.
fn told(bench: &Bench) -> BTreeMap<String, u64> {
    let mut told = BTreeMap::new();
    for (_, command) in &bench.trace {
        let what = match command {
            Command::SetToggle { factor, level } => format!("set {factor} to {level}"),
            Command::StartDrain { kind, .. } => format!("download {kind:?} in a window"),
            Command::Collect { .. } => "collect the ring".to_owned(),
            Command::StartArm(_) => "arm".to_owned(),
            Command::SampleClock => "sample the clock".to_owned(),
            _ => continue,
        };
        *told.entry(what).or_default() += 1;
    }
    told
}
