//! How often verdicts are wrong, on simulated runs through the same door as real ones.
//!
//! 1,000 runs by default; `WIREPROOF_RUNS` asks for another number. Seeds count from 0, so that a run can be had again.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "helpers of tests; how many runs is asked for"
)]

mod support;

use support::noise::{Model, Noise};
use support::{circumstances, gate, p95, plan};
use wireproof_matrices::calibrate::{alarms, calibrate};
use wireproof_matrices::gate::Rule;
use wireproof_matrices::plan::{Kind, Margin, Plan};
use wireproof_matrices::power::deviation;
use wireproof_matrices::stats::at;
use wireproof_matrices::verdict::{Decision, Outcome, SeedRule, Verdict, judge};

/// The recommended plan: 10 blocks, arm sd 0.3 ms, 900 frames, 5 drains.
const PERFECT: Model = Model {
    blocks: 10,
    frames: 900,
    drains: 5,
    arm_sd: 300_000.0,
    block_sd: 300_000.0,
    uniform_ns: 0.0,
    in_drain_ns: 0.0,
};

fn runs() -> u64 {
    std::env::var("WIREPROOF_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(1_000)
}

fn recommended(blocks: u32) -> Plan {
    let limit = |ns| Some(Margin::Ns(ns));
    let mut plan = plan(blocks);
    plan.gate = vec![
        p95(500_000),
        gate("p99", "frame.p99", Kind::NonInferiority, limit(1_000_000)),
        gate("in-drain", "frame.in_drain.p50", Kind::NonInferiority, limit(500_000)),
        gate("rate", "wire.rate", Kind::Equivalence, Some(Margin::Ppm(1_000))),
    ];
    for gate in &mut plan.gate {
        gate.min_frames = 290;
    }
    plan
}

fn verdicts(model: &Model, runs: u64) -> Vec<Verdict> {
    let plan = recommended(model.blocks);
    (0..runs).map(|seed| judge(&plan, &Noise::new(seed).run(model), &circumstances())).collect()
}

fn share(runs: &[Verdict], of: impl Fn(&Verdict) -> bool) -> f64 {
    runs.iter().filter(|run| of(run)).count() as f64 / runs.len() as f64
}

/// The runs as they would be with so much more in every treatment arm: every difference and every median moves by it.
fn moved(plan: &Plan, run: &Verdict, gate: usize, by: f64) -> (Decision, SeedRule) {
    let row = &run.gates[gate].comparisons[0];
    let Some(Margin::Ns(margin)) = plan.gate[gate].margin else { unreachable!() };
    let rule = Rule::of(&plan.gate[gate], &plan.design, margin as f64);
    let differences: Vec<f64> = row.differences.iter().map(|difference| difference.0 + by).collect();
    let ruling = rule.decide(&differences, row.point.map(|point| point.0 + by));
    (ruling.decision, ruling.seed_rule.unwrap())
}

/// Standard deviation of an arm's percentile over 600 arms, ms.
fn spread(frames: u32, percent: u64) -> f64 {
    let value = |seed| {
        let mut lengths = Noise::new(seed).lengths(frames);
        lengths.sort_by(f64::total_cmp);
        at(&lengths, percent, 100).unwrap() / 1e6
    };
    deviation(&(0..600).map(value).collect::<Vec<_>>()).unwrap()
}

#[test]
fn arms_spread_as_the_reference_says() {
    // Section 6.3, from independent tails to bursts of three, with a tenth to spare for another shape of the tail.
    let rows = [(299, 95, 0.11, 0.20), (299, 99, 0.66, 0.81), (900, 95, 0.05, 0.09), (900, 99, 0.33, 0.42)];
    for (frames, percent, least, most) in rows {
        let sd = spread(frames, percent);
        println!("{frames} frames: sd of p{percent} {sd:.3} ms");
        assert!(sd >= least * 0.9 && sd <= most * 1.1, "{frames} frames, p{percent}: {sd}");
    }
}

#[test]
fn the_noise_has_the_percentiles_of_the_field() {
    let mut lengths = Noise::new(7).lengths(900_000);
    lengths.sort_by(f64::total_cmp);
    let tail: Vec<bool> = Noise::new(8).lengths(90_000).iter().map(|ns| *ns > 5_560e3).collect();
    for (share, expected_us) in [(0.5, 5_120.0), (0.95, 5_560.0), (0.99, 6_930.0), (0.9995, 11_100.0)] {
        let found_us = lengths[(900_000.0 * share) as usize] / 1e3;
        assert!((found_us / expected_us - 1.0).abs() < 0.02, "{share}: {found_us}");
    }
    let (after, all) =
        tail.windows(2).filter(|two| two[0]).fold((0, 0), |(a, n), two| (a + i32::from(two[1]), n + 1));
    assert!(f64::from(after) / f64::from(all) > 0.6, "bursts: {after} of {all}");
}

#[test]
fn a_perfect_device_passes_and_a_device_at_the_limit_does_not() {
    let (plan, runs) = (recommended(10), verdicts(&PERFECT, runs()));
    let passed = share(&runs, |run| run.verdict == Outcome::Pass);
    println!("{} runs: a perfect device passes all gates in {passed:.3}", runs.len());
    assert!(passed >= 0.90, "{passed}");
    for (gate, limit) in [(0, 500_000.0), (1, 1_000_000.0), (2, 500_000.0)] {
        let id = &plan.gate[gate].id;
        let false_pass = share(&runs, |run| moved(&plan, run, gate, limit).0 == Decision::Pass);
        let by_points = share(&runs, |run| moved(&plan, run, gate, limit).1 == SeedRule::Pass);
        println!("{id}: passes at its limit in {false_pass:.3}, by points alone in {by_points:.3}");
        assert!(false_pass <= 0.06, "{id}: {false_pass}");
        assert!((0.4..0.6).contains(&by_points), "{id}: {by_points}");
        let false_fail = share(&runs, |run| moved(&plan, run, gate, limit).0 == Decision::Fail);
        assert!(false_fail <= 0.06, "{id}: {false_fail}");
        let seen = share(&runs, |run| moved(&plan, run, gate, 2.0 * limit).0 == Decision::Fail);
        println!("{id}: fails at twice its limit in {seen:.3}");
        assert!(seen >= 0.90, "{id}: {seen}");
    }
    // The same runs are A/A runs: the treatment does nothing.
    for (id, row) in alarms(&runs) {
        println!("{id}: {} false alarms in {} runs, upper bound {:.4}", row.alarms, row.runs, row.upper);
        assert!(row.within && row.upper <= 0.05 && row.runs >= 59, "{id}: {row:?}");
    }
}

#[test]
fn a_device_at_the_limit_in_every_frame_passes_as_a_whole_no_more_often() {
    let model = Model { uniform_ns: 500_000.0, ..PERFECT };
    let runs = verdicts(&model, runs() / 5);
    let passed = share(&runs, |run| run.verdict == Outcome::Pass);
    println!("{} runs: at the limit all gates pass in {passed:.3}", runs.len());
    assert!(passed <= 0.06, "{passed}");
}

#[test]
fn a_slowdown_inside_drains_only_is_seen_by_the_gate_made_for_it() {
    let model = Model { in_drain_ns: 1_000_000.0, ..PERFECT };
    let runs = verdicts(&model, runs() / 10);
    let any = share(&runs, |run| run.verdict == Outcome::Fail);
    let p99 = share(&runs, |run| run.gates[1].verdict == Decision::Pass);
    println!("{} runs: a gate fails in {any:.3}, p99 passes in {p99:.3}", runs.len());
    assert!(any >= 0.85 && p99 >= 0.85, "{any} {p99}");
}

#[test]
fn a_device_against_itself_alarms_no_gate_whatever_its_arms_are_called() {
    let arms = Noise::new(1).run(&PERFECT);
    let rows = calibrate(&recommended(10), &arms);
    assert_eq!(
        rows.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(),
        ["p95", "p99", "in-drain", "rate"]
    );
    for row in rows {
        assert_eq!((row.patterns, row.warning), (1_024, None), "{}", row.id);
        assert!(row.alarms * 1_000_000 <= row.patterns * row.nominal_ppm, "{}: {}", row.id, row.alarms);
    }
}
