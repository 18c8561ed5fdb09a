//! What spoils an arm by its own measurements, and that no measurement whatever breaks the judge.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use proptest::prelude::*;
use std::collections::BTreeMap;
use support::{arm, arms, circumstances, drain, drain_plan, frame, gate, p95, plan};
use wireproof_matrices::arm::{Arm, ArmState, Episode, Owners, Span};
use wireproof_matrices::plan::{Class, Direction, Kind, Margin, Plan};
use wireproof_matrices::validity::reasons;
use wireproof_matrices::verdict::{Verdict, judge};

fn frames_of(least: u32) -> Plan {
    let mut plan = plan(10);
    plan.gate = vec![p95(500)];
    plan.gate[0].min_frames = least;
    plan.drain =
        Some(drain_plan(vec![1_000_000_000, 4_000_000_000, 7_000_000_000, 10_000_000_000, 13_000_000_000]));
    plan
}

fn spoiled(change: impl FnOnce(&mut Arm)) -> Vec<String> {
    let mut arm = arm(1, 1, 5_000);
    arm.measured.drains = (0..5).map(|i| drain(i * 3_000_000_000, i * 3_000_000_000 + 1)).collect();
    change(&mut arm);
    reasons(&frames_of(1), &arm)
}

#[test]
fn an_arm_without_a_fault_counts() {
    assert_eq!(spoiled(|_| {}), Vec::<String>::new());
}

#[test]
fn every_fault_has_its_word() {
    type Change = fn(&mut Arm);
    let rows: [(&str, Change); 17] = [
        ("observer_lost", |arm| arm.measured.health.lost = 1),
        ("observer_lost", |arm| arm.measured.streams[0].owners.observer = 1),
        ("host_drops", |arm| arm.measured.health.host_drops = 1),
        ("bench_suspended", |arm| arm.measured.health.suspended = true),
        ("link_down", |arm| arm.measured.health.link_down = true),
        ("device_restarted", |arm| arm.measured.generation = [1, 2]),
        ("device_restarted", |arm| arm.measured.boot = ["a".into(), "b".into()]),
        ("clock_unstable", |arm| arm.measured.clock_drift_ns = -1_000_001),
        ("ring_wrapped", |arm| arm.measured.wrapped = true),
        ("ring_stale", |arm| arm.measured.stale = true),
        ("torn_frames", |arm| arm.measured.torn_frames = 1),
        ("drain_failed", |arm| arm.measured.drains[0].failed = Some("timeout".into())),
        ("too_few_drains", |arm| arm.measured.drains.truncate(3)),
        ("foreign_source", |arm| arm.measured.streams[1].foreign = 1),
        ("fps_changed", |arm| arm.measured.streams[0].last_ns = 15_060_000_000),
        ("ring_missing", |arm| arm.measured.ring = false),
        ("too_few_frames", |arm| arm.measured.device_window = None),
    ];
    for (word, change) in rows {
        assert_eq!(spoiled(change), [word]);
    }
}

/// Its word is the run's own, that the device did not answer.
#[test]
fn a_status_that_was_not_read_is_no_restart() {
    for side in [0, 1] {
        let found = spoiled(|arm| {
            arm.state = ArmState::Invalid { reasons: vec!["device_unreachable".into()] };
            arm.measured.boot = ["B1".into(), "B1".into()];
            arm.measured.generation = [7, 7];
            arm.measured.boot[side] = String::new();
            arm.measured.generation[side] = 0;
        });
        assert_eq!(found, ["device_unreachable"]);
    }
}

#[test]
fn what_the_run_said_of_an_arm_stays_and_is_not_said_twice() {
    let found = spoiled(|arm| {
        arm.state = ArmState::Invalid { reasons: vec!["toggle_drifted".into(), "observer_lost:7".into()] };
        arm.measured.health.lost = 7;
    });
    assert_eq!(found, ["toggle_drifted", "observer_lost:7"]);
    assert_eq!(spoiled(|arm| arm.state = ArmState::Interrupted), ["interrupted"]);
}

#[test]
fn limits_themselves_are_no_fault() {
    let none = spoiled(|arm| {
        arm.measured.clock_drift_ns = 1_000_000;
        // 0.49 % off.
        arm.measured.streams[0].last_ns = 15_057_000_000;
        // A slow stream that lost datagrams says nothing about the pace.
        arm.measured.streams[1].last_ns = 20_000_000_000;
        arm.measured.streams[1].lost = 1;
        // One of five left out is 80 % done.
        arm.measured.drains[4].failed = Some("skipped".into());
    });
    assert_eq!(none, Vec::<String>::new());
}

#[test]
fn an_arm_with_too_few_frames_is_never_padded() {
    let mut arm = arm(1, 1, 5_000);
    arm.measured.drains = (0..5).map(|i| drain(i * 3_000_000_000, i * 3_000_000_000 + 1)).collect();
    arm.measured.frames = (0..289).map(|id| frame(id, i64::from(id) * 16_666_667, 5_000)).collect();
    assert_eq!(reasons(&frames_of(290), &arm), ["too_few_frames"]);
    assert_eq!(reasons(&frames_of(289), &arm), Vec::<String>::new());
    // A diagnostic asks nothing of an arm.
    let mut plan = frames_of(290);
    plan.gate[0].class = Class::Diagnostic;
    assert_eq!(reasons(&plan, &arm), Vec::<String>::new());
}

fn extreme() -> impl Strategy<Value = i64> {
    prop_oneof![Just(0), Just(1), Just(-1), Just(i64::MAX), Just(i64::MIN), -2_000..2_000_i64]
}

fn unsigned() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(u64::MAX), Just(1 << 40), 0..2_000_u64]
}

prop_compose! {
    fn any_arm(block: u32, treatment: u32)(
        times in proptest::collection::vec(extreme(), 12),
        counts in proptest::collection::vec(unsigned(), 16),
        cpu in extreme(),
    ) -> Arm {
        let mut arm = arm(block, treatment, 1);
        let span = |i: usize| Span { start_ns: times[i], end_ns: times[i + 1] };
        let owners = Owners {
            sender: counts[0], wire: counts[1], observer: counts[2] & 1, upstream: counts[3], ambiguous: counts[4],
        };
        arm.measured.device_window = Some(span(0));
        arm.measured.clock_error_ns = counts[5] & 3;
        arm.measured.frames.push(wireproof_matrices::arm::FrameSpan { id: 1, span: span(2) });
        arm.measured.missing_frames = counts[6];
        arm.measured.misses = counts[7];
        arm.measured.drains = vec![drain(times[4], times[5])];
        arm.measured.cpu_hundredths = Some(cpu);
        arm.measured.ranges.insert("a,b".into(), vec![counts[8]]);
        let stream = &mut arm.measured.streams[0];
        (stream.datagrams, stream.frames, stream.lost, stream.owners) = (counts[9], counts[10], counts[11], owners);
        (stream.first_ns, stream.last_ns, stream.foreign) = (times[6], times[7], counts[12] & 1);
        (stream.shape, stream.jitter_ns) = (counts[13], [counts[14]; 3]);
        stream.payload = BTreeMap::from([("aa".to_owned(), counts[15]), ("bb".to_owned(), 1)]);
        arm.measured.episodes =
            vec![Episode { stream: "big".into(), span: span(8), missing: counts[11], owners }];
        arm
    }
}

fn every_gate() -> Vec<wireproof_matrices::plan::Gate> {
    let (ns, ppm, count) = (Some(Margin::Ns(u64::MAX)), Some(Margin::Ppm(1)), Some(Margin::Count(0)));
    let mut gates = vec![
        p95(500),
        gate("max", "frame.max", Kind::Equivalence, ns),
        gate("in", "frame.in_drain.p50", Kind::NonInferiority, ppm),
        gate("rate", "wire.rate", Kind::Equivalence, ppm),
        gate("rates", "wire.rate", Kind::Ceiling, count),
        gate("jitter", "wire.jitter.p99", Kind::Ceiling, ns),
        gate("range", "frame.range(a,b).p95", Kind::NonInferiority, ns),
        gate("dup", "wire.dup", Kind::NonInferiority, count),
        gate("cpu", "device.cpu", Kind::Overhead, None),
        gate("unknown", "frame.p90", Kind::Zero, None),
        gate("misfit", "frame.p95", Kind::Zero, None),
        gate("bare", "frame.p95", Kind::Ceiling, None),
    ];
    for metric in ["frame.misses", "wire.lost", "wire.shape", "wire.foreign", "wire.payload"] {
        gates.push(gate(metric, metric, Kind::Zero, None));
    }
    for gate in &mut gates {
        gate.min_frames = 0;
    }
    gates[0].direction = Direction::More;
    gates
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn no_measurement_breaks_the_judge_and_every_verdict_can_be_read_back(
        wild in proptest::collection::vec((any_arm(1, 0), any_arm(1, 1)), 6),
    ) {
        let mut plan = plan(6);
        plan.gate = every_gate();
        plan.validity.clock_step_ns = u64::MAX;
        plan.validity.fps_tolerance_ppm = u64::MAX;
        plan.design.max_invalid_repeats = u32::MAX;
        let mut all = Vec::new();
        for (block, (mut idle, mut raw)) in (1..).zip(wild) {
            (idle.place.block, raw.place.block) = (block, block);
            all.extend([idle, raw]);
        }
        let verdict = judge(&plan, &all, &circumstances());
        let text = serde_json::to_string(&verdict).unwrap();
        prop_assert_eq!(serde_json::from_str::<Verdict>(&text).unwrap(), verdict);
    }
}

#[test]
fn places_that_are_not_in_the_plan_are_listed_and_count_for_nothing() {
    let mut plan = plan(1);
    plan.gate = vec![p95(500)];
    let mut all = arms(&[5, 5], &[5, 5]);
    all[3].place.treatment = u32::MAX;
    let mut odd = all[1].clone();
    odd.place.stratum = u32::MAX;
    all.push(odd);
    let verdict = judge(&plan, &all, &circumstances());
    assert_eq!((verdict.arms.len(), verdict.blocks_complete), (5, 1));
    assert_eq!(verdict.arms.iter().filter(|row| row.counted).count(), 2);
}
