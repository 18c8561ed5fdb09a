//! Capacity ladders in simulated time: a device with a planted limit, and how often the envelope is stated too large.
//!
//! It never waits.
#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod simulation;

use simulation::*;
use std::collections::BTreeMap;
use wireproof_matrices::ladder::{Envelope, Stop, problem};
use wireproof_matrices::plan::{Class, Factor, Kind, Ladder, Margin, Plan, Role, Word};
use wireproof_matrices::runner::io::Outcome;
use wireproof_matrices::simulated::{Bench, Fault};
use wireproof_matrices::verdict::Decision;

/// The level that the planted device just carries.
const LIMIT: u32 = 9;
const STEPS: u32 = 12;
const CEILING_NS: i64 = 8 * MS;
/// The 95th percentile of the simulated frame times without load, ns.
const P95_NS: i64 = 5_550_000;

/// Twelve steps of eight arms: p95 stays below 8 ms, and nothing is lost.
fn plan() -> Plan {
    let mut plan = short(8);
    let levels: Vec<String> = (1..=STEPS).map(|level| level.to_string()).collect();
    plan.factor.retain(|factor| factor.name == "profiler");
    let baseline = "1".to_owned();
    plan.factor.push(Factor {
        name: "outputs".to_owned(),
        levels: levels.clone(),
        baseline,
        role: Role::Stratum,
    });
    let mut toggle = plan.toggle.iter().find(|toggle| toggle.factor == "preview").expect("a toggle").clone();
    toggle.factor = "outputs".to_owned();
    toggle.verify.equals = levels.iter().map(|level| (level.clone(), Word::Text(level.clone()))).collect();
    plan.toggle.retain(|toggle| toggle.factor == "profiler");
    plan.toggle.push(toggle);
    plan.gate.retain(|gate| gate.id == "p95" || gate.id == "lost");
    plan.gate[0].kind = Kind::Ceiling;
    plan.gate[0].margin = Some(Margin::Ns(CEILING_NS as u64));
    plan.gate[1].min_trials = Some(20_000);
    plan.drain = None;
    plan.timing.measure_ns = 5_000_000_000;
    plan.ladder = Some(Ladder { factor: "outputs".to_owned(), arms_per_step: 8, alpha_ppm: 50_000 });
    plan
}

/// A device whose p95 rises by 0.6 ms a level and is just over the ceiling one level above its limit.
fn bench(plan: &Plan, seed: u64) -> Bench {
    let mut bench = Bench::new(plan.clone(), seed);
    for level in 1..=STEPS {
        let over = (i64::from(level) - i64::from(LIMIT + 1)) * 600_000;
        bench.level_cost_ns.insert(format!("outputs={level}"), CEILING_NS - P95_NS + 10_000 + over);
    }
    bench
}

fn climb(plan: &Plan, bench: Bench) -> (Run, Envelope) {
    let run = run_on(start(plan), bench);
    let envelope = Envelope::of(plan, &run.bench.arms).expect("the plan has a ladder");
    (run, envelope)
}

#[test]
fn a_planted_limit_of_nine_is_found_and_overstated_no_more_often_than_alpha_over_a_hundred_seeds() {
    let plan = plan();
    assert_eq!(problem(&plan), None);
    let mut found: BTreeMap<Option<u64>, u32> = BTreeMap::new();
    for seed in 1..=100 {
        let (run, envelope) = climb(&plan, bench(&plan, seed));
        assert_eq!(run.outcome(), Outcome::Complete, "seed {seed}: {}", run.why());
        assert!(run.is_restored(), "seed {seed}");
        *found.entry(envelope.largest).or_default() += 1;
        let steps = envelope.steps.len();
        assert_eq!(run.bench.arms.len(), steps * 8, "seed {seed}: it stops at the step that does not hold");
    }
    let overstated: u32 =
        found.iter().filter(|(level, _)| **level > Some(u64::from(LIMIT))).map(|(_, n)| n).sum();
    assert!(overstated <= 5, "overstated {overstated} of 100: {found:?}");
    assert!(found.get(&Some(9)).is_some_and(|exact| *exact >= 95), "it is not timid either: {found:?}");
}

#[test]
fn an_event_of_a_zero_gate_ends_the_ladder_with_the_step_before_as_the_envelope() {
    let plan = plan();
    let mut bench = Bench::new(plan.clone(), 1);
    bench.plant(4 * 8 + 3..=4 * 8 + 3, Fault::LostBySender(2));
    let (run, envelope) = climb(&plan, bench);
    assert_eq!(
        (envelope.largest, envelope.stop, envelope.decision()),
        (Some(4), Stop::Failed, Decision::Pass)
    );
    assert_eq!(run.bench.arms.len(), 5 * 8);
    let lost = envelope.steps[4].gates.iter().find(|gate| gate.id == "lost").expect("a gate");
    assert_eq!((lost.verdict, lost.point.expect("events").0), (Decision::Fail, 2.0));
    let said = envelope.sentence();
    assert_eq!(said, "outputs up to 4 holds (error 5 % over all steps); at 5 lost failed");
}

/// A device that has more to do than time for it sends fewer frames: that is the limit, and nobody's mistake.
#[test]
fn a_step_whose_frame_rate_breaks_down_is_judged_by_the_gates() {
    let plan = plan();
    let mut bench = bench(&plan, 5);
    bench.plant(9 * 8 + 1..=10 * 8, Fault::RateOff(-400_000));
    let (run, envelope) = climb(&plan, bench);
    assert_eq!((run.outcome(), run.repeats()), (Outcome::Complete, vec![]), "{}", run.why());
    assert_eq!((envelope.largest, envelope.steps.len()), (Some(9), 10));
    assert!(run.noted(9 * 8 + 1, "rate_off"));
}

#[test]
fn every_step_says_its_bounds_and_how_long_the_ring_kept_its_records() {
    let plan = plan();
    let (_, envelope) = climb(&plan, bench(&plan, 3));
    for step in &envelope.steps[..9] {
        let [p95, lost] = step.gates.as_slice() else { panic!("two gates") };
        let (point, bound) = (p95.point.expect("a point").0, p95.bound.expect("a bound").0);
        assert!(point <= bound && bound <= CEILING_NS as f64, "level {}", step.level);
        let clean = 8.0 * 24.0 * 300.0;
        let expected = 1.0 - (0.004166_f64).powf(1.0 / clean);
        let rate = lost.bound.expect("a bound").0 / 1e9;
        assert!((rate / expected - 1.0).abs() < 1e-3, "{rate} against {expected}");
        let kept = step.kept_ns.expect("a ring") / 1_000_000;
        assert!((5_900..6_100).contains(&kept), "{kept} ms");
    }
}

#[test]
fn a_ladder_to_its_top_says_that_the_device_may_carry_more() {
    let plan = plan();
    let (run, envelope) = climb(&plan, Bench::new(plan.clone(), 1));
    assert_eq!((envelope.largest, envelope.stop), (Some(12), Stop::Top));
    assert_eq!(run.bench.arms.len(), 96);
    assert!(envelope.sentence().ends_with("no higher step was planned"));
}

#[test]
fn a_ladder_whose_first_step_fails_or_that_was_cut_short_states_nothing_it_did_not_show() {
    let plan = plan();
    let mut heavy = Bench::new(plan.clone(), 1);
    heavy.level_cost_ns.insert("outputs=1".to_owned(), 4 * MS);
    let (run, envelope) = climb(&plan, heavy);
    assert_eq!((envelope.largest, envelope.stop, envelope.decision()), (None, Stop::Failed, Decision::Fail));
    assert_eq!(run.bench.arms.len(), 8);

    let cut = Envelope::of(&plan, &run.bench.arms[..7]).expect("a ladder");
    let expected = (None, Stop::Unfinished, Decision::Inconclusive);
    assert_eq!((cut.largest, cut.stop, cut.decision()), expected, "seven arms have no bound at this error");
    let (run, _) = climb(&plan, Bench::new(plan.clone(), 1));
    let cut = Envelope::of(&plan, &run.bench.arms[..23]).expect("a ladder");
    assert_eq!((cut.largest, cut.stop), (Some(2), Stop::Unfinished));
}

#[test]
fn too_few_arms_for_the_share_of_the_error_are_named_with_the_number_that_would_do() {
    let mut plan = plan();
    plan.ladder.as_mut().expect("a ladder").arms_per_step = 6;
    assert_eq!(
        problem(&plan).as_deref(),
        Some("6 arms a step cannot decide with 0.4166 % of error a step: 8 can")
    );
    plan.gate.retain(|gate| gate.kind == Kind::Zero);
    assert_eq!(problem(&plan), None, "a zero needs no pairs");
    assert!(plan.gate.iter().all(|gate| gate.class == Class::Gate));
}

#[test]
fn the_word_of_a_ladder_is_its_envelope_but_never_over_a_spoiled_or_unfinished_run() {
    use wireproof_matrices::verdict::{Circumstances, Outcome as Says, judge};
    let plan = plan();
    let (run, envelope) = climb(&plan, bench(&plan, 1));
    let word = |known: &Circumstances, arms: &[_]| {
        let mut verdict = judge(&plan, arms, known);
        Envelope::of(&plan, arms).expect("the plan has a ladder").decide(&mut verdict);
        (verdict.verdict, verdict.reasons[0].clone())
    };
    let known = Circumstances::default();
    assert_eq!(judge(&plan, &run.bench.arms, &known).verdict, Says::Partial);
    assert_eq!(word(&known, &run.bench.arms), (Says::Pass, envelope.sentence()));
    let spoiled =
        Circumstances { run_invalid: vec!["the bench slept".to_owned()], ..Circumstances::default() };
    assert_eq!(word(&spoiled, &run.bench.arms).0, Says::Invalid);
    assert_eq!(word(&known, &run.bench.arms[..12]).0, Says::Partial);
    let tried = Circumstances { what_if: vec!["p95".to_owned()], ..Circumstances::default() };
    assert_eq!(word(&tried, &run.bench.arms).0, Says::Inconclusive);
}
