//! Whole verdicts: what counts, what spoils a run, what never passes.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use serde_json::json;
use std::collections::BTreeMap;
use support::{arm, arms, circumstances, drain, factor, frame, gate, p95, plan};
use wireproof_matrices::arm::{Arm, ArmState, Episode, Owners, Span, WireStream};
use wireproof_matrices::plan::{Class, Kind, Margin, Plan, Role};
use wireproof_matrices::verdict::{Circumstances, Decision, Outcome, SeedRule, Verdict, judge, what_if};

const IDLE: [i64; 10] = [5402, 5388, 5441, 5370, 5510, 5395, 5620, 5407, 5386, 5433];
const RAW: [i64; 10] = [5480, 5401, 5520, 5466, 5498, 5377, 5702, 5590, 5444, 5451];
const SLOW: [i64; 10] = [7474, 7012, 7390, 7205, 7288, 6990, 7611, 7120, 7333, 7054];

fn lost() -> wireproof_matrices::plan::Gate {
    let mut gate = gate("lost", "wire.lost", Kind::Zero, None);
    gate.min_trials = Some(30_000);
    gate.on_fail = Some("do not ship".into());
    gate
}

fn two_gates() -> Plan {
    let mut plan = plan(10);
    plan.gate = vec![p95(500), lost()];
    plan
}

fn lose(arm: &mut Arm, owners: Owners) {
    let stream = &mut arm.measured.streams[1];
    stream.owners = owners;
    stream.lost = owners.all();
    arm.measured.episodes.push(Episode {
        stream: "sacn".into(),
        span: Span { start_ns: 2_000_000_000, end_ns: 2_020_000_000 },
        missing: owners.all(),
        owners,
    });
}

fn again(arm: &Arm) -> Arm {
    let mut again = arm.clone();
    again.place.attempt += 1;
    again
}

fn run(plan: &Plan, arms: &[Arm]) -> Verdict {
    judge(plan, arms, &circumstances())
}

#[test]
fn the_same_arms_in_any_order_give_the_same_bytes_and_can_be_read_back() {
    let (plan, mut arms) = (two_gates(), arms(&IDLE, &RAW));
    let text = serde_json::to_string(&run(&plan, &arms)).unwrap();
    arms.reverse();
    arms.swap(3, 11);
    let verdict = run(&plan, &arms);
    assert_eq!(serde_json::to_string(&verdict).unwrap(), text);
    assert_eq!(serde_json::from_str::<Verdict>(&text).unwrap(), verdict);
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found["schema"], "wireproof.verdict/1");
    assert_eq!((&found["verdict"], &found["drops_vs_drains"]), (&json!("pass"), &json!(null)));
    let keys = ["id", "metric", "kind", "margin", "point", "bound_low", "bound_high", "verdict", "reason"];
    let row = keys.map(|key| found["gates"][0][key].clone());
    let expected = json!([
        "p95",
        "frame.p95",
        "non-inferiority",
        500,
        68.5,
        20,
        87.5,
        "pass",
        "upper_bound_within_margin"
    ]);
    assert_eq!(json!(row), expected);
}

#[test]
fn a_run_cut_short_is_partial_whatever_its_gates_say() {
    let mut arms = arms(&IDLE, &RAW);
    arms[19].state = ArmState::Interrupted;
    let verdict = run(&two_gates(), &arms);
    assert_eq!((verdict.verdict, verdict.blocks_complete), (Outcome::Partial, 9));
    assert_eq!(verdict.gates[0].verdict, Decision::Pass);
    assert_eq!(verdict.reasons, ["9 of 10 blocks are complete"]);
    let slow = support::arms(&IDLE[..8], &SLOW[..8]);
    let aborted = Circumstances { aborted: Some("SIGINT".into()), ..circumstances() };
    let verdict = judge(&two_gates(), &slow, &aborted);
    let expected =
        ["8 of 10 blocks are complete: SIGINT", "partial: gate p95 fails: lower_bound_beyond_margin"];
    assert_eq!((verdict.verdict.exit_code(), &verdict.reasons[..]), (5, &expected.map(str::to_owned)[..]));
    // All blocks are there, and yet it was stopped.
    assert_eq!(judge(&two_gates(), &support::arms(&IDLE, &RAW), &aborted).verdict, Outcome::Partial);
}

#[test]
fn what_the_bench_lost_spoils_the_arm_and_hides_nothing() {
    let mut arms = arms(&IDLE, &RAW);
    arms.push(again(&arms[5]));
    lose(&mut arms[5], Owners { observer: 5, upstream: 2, ..Owners::default() });
    arms[5].measured.frames = vec![frame(1, 1_000, 99_000_000)];
    let verdict = run(&two_gates(), &arms);
    assert_eq!((verdict.verdict, verdict.validity.rule.as_str()), (Outcome::Pass, "repeat"));
    assert_eq!(
        verdict.validity.invalid_by_treatment,
        BTreeMap::from([("idle".into(), 0), ("raw".into(), 1)])
    );
    let row = verdict.arms.iter().find(|row| row.name == "b03-p2-raw-a1").unwrap();
    assert_eq!(
        (row.state.as_str(), row.counted, &row.reasons[..]),
        ("invalid", false, &["observer_lost".to_owned()][..])
    );
    let repeat = verdict.arms.iter().find(|row| row.attempt == 2).unwrap();
    assert!(repeat.counted && repeat.values["frame.p95"].0 == 5520.0);
    assert_eq!((verdict.attribution.counted.lost, verdict.attribution.not_counted.upstream), (0, 2));
    assert_eq!((verdict.attribution.losses.len(), verdict.attribution.losses[0].counted), (1, false));
    assert!(verdict.findings.iter().any(|line| line.starts_with("2 datagrams were lost before the bench")));
}

#[test]
fn invalid_arms_of_one_treatment_spoil_the_run_even_when_they_were_repeated() {
    let mut arms = arms(&IDLE, &SLOW);
    for index in [1, 3] {
        arms.push(again(&arms[index]));
        arms[index].measured.health.lost = 1;
    }
    let verdict = run(&two_gates(), &arms);
    assert_eq!((verdict.verdict, verdict.blocks_complete), (Outcome::Invalid, 10));
    assert_eq!(verdict.reasons[0], "run invalid: losses cluster in raw");
    assert_eq!(verdict.verdict.exit_code(), 4);
    // A run that is cut short as well is still INVALID.
    let short = run(&two_gates(), &arms[..18]);
    assert_eq!((short.verdict, short.blocks_complete), (Outcome::Invalid, 7));
    let spoiled = Circumstances { run_invalid: vec!["build_changed".into()], ..circumstances() };
    let verdict = judge(&two_gates(), &support::arms(&IDLE, &RAW), &spoiled);
    assert_eq!((verdict.verdict, verdict.reasons[0].as_str()), (Outcome::Invalid, "build_changed"));
}

#[test]
fn a_loss_of_the_device_fails_and_is_listed_with_frame_and_drain() {
    let mut arms = arms(&IDLE, &RAW);
    arms[1].measured.drains = vec![drain(1_990_000_000, 2_200_000_000), drain(9_000_000_000, 9_200_000_000)];
    arms[1].measured.frames.push(frame(119, 1_990_000_000, 5_000));
    lose(&mut arms[1], Owners { sender: 1, wire: 1, upstream: 2, ..Owners::default() });
    let verdict = run(&two_gates(), &arms);
    let zero = verdict.gates[1].zero.as_ref().unwrap();
    assert_eq!((verdict.verdict, zero.events, zero.episodes), (Outcome::Fail, 4, 1));
    assert_eq!(zero.by_arm, BTreeMap::from([("b01-p2-raw-a1".to_owned(), 4)]));
    assert_eq!(verdict.reasons, ["gate lost fails: events; decided beforehand: do not ship"]);
    let loss = &verdict.attribution.losses[0];
    assert_eq!((loss.near_frame, loss.nearest_drain_lag_ns), (Some(119), Some(20_000_000)));
    assert_eq!((loss.owners.unknown, loss.owners.sender, loss.owners.wire), (2, 1, 1));
}

#[test]
fn a_loss_that_cannot_be_told_stops_the_loss_gate_and_no_other() {
    let mut arms = arms(&IDLE, &RAW);
    lose(&mut arms[1], Owners { ambiguous: 1, ..Owners::default() });
    // A loss without any owner is as open.
    arms[2].measured.streams[0].lost = 2;
    let verdict = run(&two_gates(), &arms);
    let words = verdict.gates.iter().map(|gate| gate.verdict).collect::<Vec<_>>();
    assert_eq!(
        (verdict.verdict, words),
        (Outcome::Inconclusive, vec![Decision::Pass, Decision::Inconclusive])
    );
    let zero = verdict.gates[1].zero.as_ref().unwrap();
    assert_eq!((verdict.gates[1].reason.as_str(), zero.ambiguous), ("ambiguous_events", 3));
    assert_eq!(verdict.attribution.counted.unknown, 3);
}

#[test]
fn a_stream_that_shows_nothing_is_no_proof_that_nothing_was_lost() {
    let mut arms = arms(&IDLE, &RAW);
    arms[4].measured.streams[0] = WireStream { id: "big".into(), ..WireStream::default() };
    arms[5].measured.streams.remove(1);
    let gate = run(&two_gates(), &arms).gates.remove(1);
    assert_eq!((gate.verdict, gate.reason.as_str()), (Decision::Inconclusive, "ambiguous_events"));
    assert_eq!(gate.zero.unwrap().by_arm.into_values().sum::<u64>(), 2);
}

#[test]
fn a_zero_is_worth_its_trials() {
    let mut plan = two_gates();
    plan.gate[1].min_trials = Some(1_000_000);
    let verdict = run(&plan, &arms(&IDLE, &RAW));
    let zero = verdict.gates[1].zero.as_ref().unwrap();
    assert_eq!(
        (verdict.gates[1].reason.as_str(), zero.trials, zero.one_in),
        ("too_few_trials", 216_000, 72_103)
    );
    assert_eq!((zero.upper_ppb, verdict.verdict), (13_870, Outcome::Inconclusive));
    assert!(
        verdict.limits.contains(&"wire.lost: none in 216000 does not exclude 1 in 72103 (95 %)".to_owned())
    );
}

fn shown(arm: &mut Arm, digests: &[(&str, u64)]) {
    arm.measured.streams[1].payload = digests.iter().map(|(digest, n)| ((*digest).to_owned(), *n)).collect();
}

#[test]
fn a_treatment_may_not_change_what_is_shown() {
    let mut plan = plan(2);
    plan.gate = vec![gate("shown", "wire.payload", Kind::Zero, None)];
    let make = |digests: [&[(&str, u64)]; 4]| {
        let mut arms = arms(&[1, 1], &[1, 1]);
        for (arm, digests) in arms.iter_mut().zip(digests) {
            shown(arm, digests);
        }
        let gate = run(&plan, &arms).gates.remove(0);
        (gate.verdict, gate.reason, gate.zero.unwrap().events)
    };
    let (a, b): (&[_], &[_]) = (&[("aa", 450), ("bb", 450)], &[("aa", 440), ("bb", 460)]);
    assert_eq!(make([a, b, b, a]), (Decision::Pass, "no_events".into(), 0));
    assert_eq!(make([a, &[("aa", 449), ("bb", 450), ("cc", 1)], b, a]), (Decision::Fail, "events".into(), 1));
    let mut lossy = arms(&[1, 1], &[1, 1]);
    for (arm, digests) in lossy.iter_mut().zip([a, &[("aa", 900)], b, a]) {
        shown(arm, digests);
    }
    lossy[1].measured.streams[1].lost = 1;
    assert_eq!(run(&plan, &lossy).gates[0].verdict, Decision::Pass, "the lost datagram may be of that frame");
    // Frozen: nothing strange is shown, and something is missing.
    assert_eq!(make([a, &[("aa", 900)], b, a]), (Decision::Fail, "events".into(), 1));
    let differ = "baseline_payloads_differ:sacn".to_owned();
    assert_eq!(make([a, b, &[("aa", 900)], a]), (Decision::Inconclusive, differ.clone(), 0));
    assert_eq!(make([&[], a, &[], a]), (Decision::Inconclusive, differ, 0));
    assert_eq!(make([&[], &[], &[], &[]]), (Decision::Inconclusive, "too_few_trials".into(), 0));
}

#[test]
fn other_margins_are_exploratory_and_pass_nothing() {
    let (changed, list) = what_if(&two_gates(), &[("p95".into(), Margin::Ns(5_000))]).unwrap();
    assert_eq!(list, ["p95: 5us instead of 500ns"]);
    let what_if_run = Circumstances { what_if: list, ..circumstances() };
    let verdict = judge(&changed, &arms(&IDLE, &SLOW), &what_if_run);
    assert_eq!((verdict.verdict, verdict.exploratory), (Outcome::Inconclusive, true));
    assert!(verdict.gates.iter().all(|gate| gate.verdict == Decision::Inconclusive));
    assert_eq!(verdict.gates[0].reason, "exploratory:upper_bound_within_margin");
    assert!(verdict.line().starts_with("EXPLORATORY, not the frozen plan: INCONCLUSIVE"));
    let unknown = what_if(&changed, &[("p59".into(), Margin::Ns(1))]);
    assert_eq!(unknown.unwrap_err(), "no gate is called p59: name one of the plan");
}

#[test]
fn diagnostics_show_a_breach_and_decide_nothing() {
    let mut plan = two_gates();
    plan.gate[0].class = Class::Diagnostic;
    let verdict = run(&plan, &arms(&IDLE, &SLOW));
    assert_eq!((verdict.verdict, verdict.gates[0].verdict), (Outcome::Pass, Decision::Fail));
    assert_eq!(verdict.gates[0].comparisons[0].p_fail, None);
    plan.gate.remove(1);
    let verdict = run(&plan, &arms(&IDLE, &SLOW));
    assert_eq!(verdict.verdict, Outcome::Inconclusive);
    assert_eq!(verdict.reasons, ["no gate decides: the plan has diagnostics only"]);
}

#[test]
fn gates_that_fail_together_are_adjusted() {
    let mut plan = plan(10);
    plan.gate = vec![p95(500), gate("p50", "frame.p50", Kind::NonInferiority, Some(Margin::Ns(100)))];
    let verdict = run(&plan, &arms(&IDLE, &SLOW));
    let rows: Vec<_> = verdict.holm.iter().map(|row| (row.id.as_str(), row.p.0, row.adjusted.0)).collect();
    // All ten pairs are beyond: 1 of 1,024.
    assert_eq!(rows, [("p95", 1.0 / 1024.0, 2.0 / 1024.0), ("p50", 1.0 / 1024.0, 2.0 / 1024.0)]);
    plan.gate.pop();
    assert_eq!(run(&plan, &arms(&IDLE, &SLOW)).holm, []);
}

#[test]
fn a_value_that_is_missing_prevents_a_pass() {
    let mut plan = plan(10);
    plan.gate = vec![gate("range", "frame.range(a,b).p50", Kind::NonInferiority, Some(Margin::Ns(500)))];
    let mut arms = arms(&IDLE, &RAW);
    for arm in &mut arms {
        let length = arm.measured.frames[0].span.end_ns - 1_000;
        arm.measured.ranges.insert("a,b".into(), vec![length as u64]);
    }
    assert_eq!(run(&plan, &arms).verdict, Outcome::Pass);
    arms[7].measured.ranges.clear();
    let gate = run(&plan, &arms).gates.remove(0);
    assert_eq!((gate.verdict, gate.reason.as_str()), (Decision::Inconclusive, "values_missing"));
    assert_eq!(gate.comparisons[0].pairs, 9);
}

/// Arms of three treatments: drain=raw, drain=convert against drain=idle.
fn three(plan: &mut Plan, lengths: [&[i64; 10]; 3]) -> Vec<Arm> {
    plan.factor = vec![factor("drain", &["idle", "raw", "convert"], Role::Treatment)];
    let levels = ["idle", "raw", "convert"];
    let one = |block: usize, treatment: usize| {
        let mut arm = arm(
            u32::try_from(block).unwrap() + 1,
            u32::try_from(treatment).unwrap(),
            lengths[treatment][block],
        );
        arm.levels = BTreeMap::from([("drain".to_owned(), levels[treatment].to_owned())]);
        arm
    };
    (0..10).flat_map(|block| [0, 1, 2].map(|treatment| one(block, treatment))).collect()
}

#[test]
fn the_worst_treatment_speaks_for_the_gate_and_all_are_listed() {
    let mut plan = plan(10);
    plan.gate = vec![p95(500)];
    let arms = three(&mut plan, [&IDLE, &RAW, &SLOW]);
    let verdict = run(&plan, &arms);
    let gate = &verdict.gates[0];
    let rows: Vec<_> = gate.comparisons.iter().map(|row| (row.treatment.as_str(), row.verdict)).collect();
    assert_eq!(rows, [("raw", Decision::Pass), ("convert", Decision::Fail)]);
    assert_eq!(
        (verdict.verdict, gate.point.unwrap().0, gate.seed_rule),
        (Outcome::Fail, 1842.0, Some(SeedRule::Fail))
    );
}

#[test]
fn a_selector_takes_its_own_level_as_the_baseline() {
    let mut plan = plan(10);
    plan.factor.push(factor("profiler", &["off", "on"], Role::Treatment));
    plan.gate = vec![p95(500)];
    plan.gate[0].selector = BTreeMap::from([("profiler".to_owned(), "on".to_owned())]);
    let mut arms = Vec::new();
    for (block, (idle, raw)) in (1..=10).zip(IDLE.iter().zip(&RAW)) {
        for (treatment, (drain, profiler)) in
            (0..).zip([("idle", "off"), ("idle", "on"), ("raw", "off"), ("raw", "on")])
        {
            let mut arm = arm(block, treatment, if drain == "idle" { *idle } else { *raw });
            arm.levels =
                [("drain", drain), ("profiler", profiler)].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
            if profiler == "off" {
                // There is no ring then.
                arm.measured.ring = false;
                arm.measured.frames.clear();
            }
            arms.push(arm);
        }
    }
    let verdict = run(&plan, &arms);
    assert_eq!((verdict.verdict, verdict.blocks_complete), (Outcome::Pass, 10));
    let rows = &verdict.gates[0].comparisons;
    assert_eq!((rows.len(), rows[0].treatment.as_str()), (1, "drain=raw,profiler=on"));
    assert_eq!(verdict.gates[0].hl.unwrap().0, 50.0);
}

#[test]
fn strata_are_judged_together_shown_apart_and_never_compared() {
    let mut plan = plan(5);
    plan.factor.push(factor("preview", &["off", "on"], Role::Stratum));
    plan.gate = vec![p95(500)];
    let mut all = Vec::new();
    for (stratum, level, offset) in [(0, "off", 0), (1, "on", 3_000)] {
        let take = |values: &[i64; 10]| {
            values[stratum as usize * 5..][..5].iter().map(|v| v + offset).collect::<Vec<_>>()
        };
        for mut arm in arms(&take(&IDLE), &take(&RAW)) {
            arm.place.stratum = stratum;
            arm.levels.insert("preview".into(), level.into());
            all.push(arm);
        }
    }
    let verdict = run(&plan, &all);
    let row = &verdict.gates[0].comparisons[0];
    assert_eq!((verdict.verdict, row.pairs, row.hl.unwrap().0), (Outcome::Pass, 10, 50.0));
    let strata: Vec<_> = row.strata.iter().map(|s| (s.stratum.as_str(), s.pairs, s.hl.unwrap().0)).collect();
    assert_eq!(strata, [("preview-off", 5, 46.0), ("preview-on", 5, 58.0)]);
    // The step between the strata is no drift and no effect, and hides no outlier of a stratum's own.
    assert_eq!((row.point.unwrap().0, row.seed_rule), (71.0, Some(SeedRule::Pass)));
    assert_eq!(row.arms_over, 0);
    assert!(
        verdict.gates[0].outliers.iter().any(|one| one.arm.starts_with("s2-")),
        "{:?}",
        verdict.gates[0].outliers
    );
    assert!(verdict.gates[0].drift.iter().all(|drift| !drift.reported));
    assert_eq!(verdict.gates[0].drift.len(), 2);
    assert!(verdict.arms.iter().any(|arm| arm.name == "s2-b01-p1-idle-a1" && arm.stratum == "preview-on"));
    assert!(verdict.limits.iter().any(|line| line.contains("not causal")));
}

#[test]
fn a_planned_look_may_end_the_run_and_costs_some_of_the_error() {
    let mut plan = plan(20);
    plan.design.looks = vec![10, 20];
    plan.gate = vec![p95(500)];
    let verdict = run(&plan, &arms(&IDLE, &RAW));
    assert_eq!((verdict.verdict, verdict.gates[0].alpha_ppm), (Outcome::Pass, 30_000));
    assert_eq!(verdict.gates[0].comparisons[0].critical_t, 8);
    // Nine blocks are no look, and a look that does not decide is no end.
    assert_eq!(run(&plan, &arms(&IDLE[..9], &RAW[..9])).verdict, Outcome::Partial);
    let open = [5890, 5401, 5990, 5466, 6120, 5377, 5702, 6090, 5444, 6011];
    assert_eq!(run(&plan, &arms(&IDLE, &open)).verdict, Outcome::Partial);
}

#[test]
fn a_ceiling_holds_for_every_treatment_by_itself() {
    let mut plan = plan(10);
    plan.gate = vec![gate("most", "frame.p95", Kind::Ceiling, Some(Margin::Ns(6_000)))];
    let verdict = run(&plan, &arms(&IDLE, &SLOW));
    let rows: Vec<_> = verdict.gates[0]
        .comparisons
        .iter()
        .map(|row| (row.treatment.as_str(), row.verdict, row.arms_over))
        .collect();
    assert_eq!(rows, [("idle", Decision::Pass, 0), ("raw", Decision::Fail, 10)]);
    assert_eq!(verdict.verdict, Outcome::Fail);
}

#[test]
fn deadline_misses_are_frames_over_their_period_and_holes_leave_them_open() {
    let mut plan = plan(1);
    plan.gate = vec![gate("misses", "frame.misses", Kind::Zero, None)];
    let mut arms = arms(&[1], &[1]);
    let lengths = [16_666_666, 16_666_667, 22_936_000, 5_000_000, 16_666_668];
    arms[1].measured.frames =
        (0..).zip(lengths).map(|(id, ns)| frame(id, i64::from(id) * 30_000_000, ns)).collect();
    let gate = run(&plan, &arms).gates.remove(0);
    let zero = gate.zero.unwrap();
    assert_eq!((gate.verdict, zero.events, zero.episodes, zero.trials), (Decision::Fail, 3, 2, 6));
    arms[1].measured.frames.clear();
    arms[1].measured.frames.push(frame(1, 0, 5));
    arms[1].measured.missing_frames = 1;
    let gate = run(&plan, &arms).gates.remove(0);
    assert_eq!((gate.verdict, gate.reason.as_str()), (Decision::Inconclusive, "ambiguous_events"));
}

#[test]
fn severe_outliers_are_used_and_the_verdict_without_them_is_only_said() {
    let mut slow = RAW;
    slow[4] = 95_000;
    let mut plan = plan(10);
    plan.gate = vec![p95(500)];
    let verdict = run(&plan, &arms(&IDLE, &slow));
    let gate = &verdict.gates[0];
    assert_eq!((gate.comparisons[0].pairs, gate.outliers.iter().filter(|one| one.severe).count()), (10, 2));
    let line = gate.comparisons[0].without_severe_outliers.as_ref().unwrap();
    assert!(line.starts_with("without severe outliers: pass") && line.ends_with("(not a verdict)"), "{line}");
}

#[test]
fn cpu_is_said_in_one_sentence_and_decides_nothing() {
    let mut plan = two_gates();
    let mut cpu = gate("cpu", "device.cpu", Kind::Overhead, None);
    cpu.expected_sign = Some("+".into());
    plan.gate.push(cpu);
    let mut arms = arms(&IDLE, &RAW);
    for arm in arms.iter_mut().filter(|arm| arm.place.treatment == 1) {
        arm.measured.cpu_hundredths = Some(-77 - i64::from(arm.place.block));
    }
    let verdict = run(&plan, &arms);
    assert_eq!((verdict.verdict, verdict.gates[2].verdict), (Outcome::Pass, Decision::Shown));
    let expected = "device.cpu: not usable as an overhead number (all:impossible_sign); all: the effect is not larger \
                    than -0.80 points (95 % interval -0.85 to -0.80)";
    assert_eq!(verdict.cpu, [expected]);
}
