//! The worked cases of gates, windows, invalid arms and the overall verdict, through the same door as a run.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod golden;
mod support;

use golden::{case, close, numbers};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use support::{arm, arms, circumstances, frame, gate, p95, plan};
use wireproof_matrices::arm::Span;
use wireproof_matrices::gate::{StratumDifferences, overhead, trend};
use wireproof_matrices::metrics::{in_drains, window_frames};
use wireproof_matrices::plan::{Kind, Margin};
use wireproof_matrices::stats::{achieved, critical_t};
use wireproof_matrices::validity::repeats;
use wireproof_matrices::verdict::{Decision, GateResult, judge, overall};

/// Judges one gate on arms with these p95.
fn judged(case: &Value) -> GateResult {
    let values = |key: &str| numbers(&case["input"][key]).into_iter().map(|v| v as i64).collect::<Vec<_>>();
    let (idle, raw) = (values("baseline"), values("treatment"));
    let mut plan = plan(u32::try_from(idle.len()).unwrap());
    plan.gate = vec![p95(case["input"]["margin"].as_u64().unwrap())];
    judge(&plan, &arms(&idle, &raw), &circumstances()).gates.remove(0)
}

#[test]
fn gates_on_pairs_say_what_the_worked_cases_say() {
    for id in
        ["gate-pass", "gate-fail", "gate-inconclusive", "gate-too-few", "gate-separated", "gate-boundary"]
    {
        let case = case(id);
        let gate = judged(&case);
        let row = &gate.comparisons[0];
        let t = critical_t(row.differences.len(), 50_000);
        let mut found = json!({
            "differences": row.differences, "median_baseline": row.median_baseline,
            "median_treatment": row.median_treatment, "point": gate.point, "hl": gate.hl,
            "walsh_count": row.pairs * (row.pairs + 1) / 2, "T": row.critical_t,
            "achieved_alpha": achieved(row.differences.len(), t), "seed_rule": gate.seed_rule,
            "arms_over": row.arms_over, "verdict": gate.verdict, "reason": gate.reason,
        });
        if row.critical_t >= 0 {
            found["lower"] = json!(gate.bound_low);
            found["upper"] = json!(gate.bound_high);
        } else {
            assert_eq!((gate.bound_low, gate.bound_high), (None, None));
        }
        assert_eq!(found, case["expected"], "{id}");
        assert_eq!(row.arms_over_flagged, row.arms_over >= 4, "{id}");
    }
}

#[test]
fn rates_are_equivalent_by_frames_over_their_own_time() {
    let case = case("rate-equivalence");
    let mut plan = plan(6);
    plan.gate = vec![gate("rate", "wire.rate", Kind::Equivalence, Some(Margin::Ppm(1_000)))];
    plan.stream.truncate(1);
    plan.stream[0].datagrams_per_frame = 1;
    let mut arms = arms(&[5; 6], &[5; 6]);
    for arm in &mut arms {
        let key =
            ["baseline_frames_first_last_ns", "treatment_frames_first_last_ns"][arm.place.treatment as usize];
        let row = numbers(&case["input"][key][arm.place.block as usize - 1]);
        let wire = &mut arm.measured.streams[0];
        (wire.frames, wire.first_ns, wire.last_ns) = (row[0] as u64, row[1] as i64, row[2] as i64);
    }
    let verdict = judge(&plan, &arms, &circumstances());
    let (gate, expected) = (&verdict.gates[0], &case["expected"]);
    assert_eq!(json!(gate.verdict), expected["verdict"]);
    close(gate.hl.unwrap().0, &expected["hl_ppm"], 1e-12);
    close(gate.bound_low.unwrap().0, &expected["lower_ppm"], 1e-12);
    close(gate.bound_high.unwrap().0, &expected["upper_ppm"], 1e-12);
    for (found, ppm) in gate.comparisons[0].differences.iter().zip(expected["diff_ppm"].as_array().unwrap()) {
        close(found.0, ppm, 1e-12);
    }
    for (key, treatment) in [("rate_hz_baseline", "idle"), ("rate_hz_treatment", "raw")] {
        let arms = verdict.arms.iter().filter(|arm| arm.treatment == treatment);
        for (arm, hz) in arms.zip(expected[key].as_array().unwrap()) {
            close(arm.values["wire.rate:big"].0, hz, 1e-12);
        }
    }
}

#[test]
fn a_frame_belongs_to_a_window_when_all_of_it_is_inside_the_guard() {
    let case = case("window-frames");
    let input = &case["input"];
    let of = |key: &str| input[key].as_i64().unwrap();
    for (i, first) in numbers(&input["first_frame_start_ns"]).into_iter().enumerate() {
        let mut arm = arm(1, 0, 1);
        let window = numbers(&input["window_ns"]);
        arm.measured.device_window = Some(Span { start_ns: window[0] as i64, end_ns: window[1] as i64 });
        arm.measured.frames = (0..400)
            .map(|n| frame(n, first as i64 + i64::from(n) * of("period_ns"), of("frame_ns")))
            .collect();
        // The guard and the clock error are cut off alike.
        arm.measured.clock_error_ns = 2_000_000;
        let inside: Vec<u32> =
            window_frames(&arm.measured, of("guard_ns") as u64 - 2_000_000).map(|f| f.id).collect();
        assert_eq!(case["expected"]["frames"][i], inside.len());
        assert_eq!(case["expected"]["first_last_index"][i], json!([inside[0], inside[inside.len() - 1]]));
    }
}

#[test]
fn frames_of_a_drain_overlap_it_in_the_drained_arm_and_in_its_partner() {
    let case = case("in-drain-frames");
    let (input, expected) = (&case["input"], &case["expected"]);
    let us = |key: &str| input[key].as_i64().unwrap() * 1_000;
    let length = |n: u32| if (60..=72).contains(&n) { us("frames_60_to_72_us") } else { us("normal_us") };
    let frames: Vec<_> = (0..180).map(|n| frame(n, i64::from(n) * us("period_us"), length(n))).collect();
    let drain = numbers(&input["drain_us"]);
    let (start_ns, end_ns) = (drain[0] as i64 * 1_000, drain[1] as i64 * 1_000);
    let span = [Span { start_ns, end_ns }];
    let inside: Vec<u32> = in_drains(&frames, &span).map(|frame| frame.id).collect();
    assert_eq!(
        (json!([inside[0], inside[inside.len() - 1]]), json!(inside.len())),
        (expected["indices"].clone(), expected["count"].clone())
    );
    let share = (inside.len() as f64 / frames.len() as f64 * 1e6).round() / 1e6;
    assert_eq!(expected["share_of_window"], share);
    // The idle arm has the same windows at the same distance from its own start, and no download.
    let mut plan = plan(1);
    plan.gate = vec![
        gate("in", "frame.in_drain.p50", Kind::NonInferiority, Some(Margin::Ns(500_000))),
        gate("p95", "frame.p95", Kind::NonInferiority, Some(Margin::Ns(500_000))),
    ];
    let mut both = arms(&[1], &[1]);
    for (arm, shift) in both.iter_mut().zip([7_000_000_000, 0]) {
        arm.measured.device_window = Some(Span { start_ns: shift, end_ns: shift + 3_000_060_000 });
        arm.measured.frames = frames.clone();
        for frame in &mut arm.measured.frames {
            frame.span = Span { start_ns: frame.span.start_ns + shift, end_ns: frame.span.end_ns + shift };
        }
    }
    both[1].measured.drains = vec![support::drain(start_ns, end_ns)];
    let verdict = judge(&plan, &both, &circumstances());
    for arm in &verdict.arms {
        let p50_us = arm.values["frame.in_drain.p50"].0 / 1_000.0;
        assert_eq!(expected["p50_us"], p50_us as i64, "{}", arm.name);
        assert_eq!(expected["window_p95_us"], (arm.values["frame.p95"].0 / 1_000.0) as i64, "{}", arm.name);
    }
}

#[test]
fn drift_is_reported_when_it_is_sure_and_large() {
    let case = case("drift");
    let row =
        trend("all", &numbers(&case["expected"]["residuals"]), case["input"]["margin_us"].as_f64().unwrap());
    let row = row.unwrap();
    assert_eq!(json!(row.reported), case["expected"]["drift_reported"]);
    assert_eq!(case["expected"]["S"], row.kendall_s);
    close(row.total.0, &case["expected"]["total_drift_us"], 1e-12);
    // Sure but small, and large but unsure.
    assert!(!trend("all", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 1.0e3).unwrap().reported);
    assert!(!trend("all", &[1.0e6, 2.0e6, 3.0e6, 4.0e6], 1.0e3).unwrap().reported);
}

#[test]
fn cpu_is_an_overhead_only_when_it_can_be() {
    let case = case("cpu-usability");
    for (run, expected) in
        case["input"]["runs"].as_array().unwrap().iter().zip(case["expected"]["runs"].as_array().unwrap())
    {
        let strata: Vec<StratumDifferences> = run
            .as_array()
            .unwrap()
            .iter()
            .map(|row| StratumDifferences {
                stratum: row[0].as_str().unwrap().to_owned(),
                differences: numbers(&row[1]),
            })
            .collect();
        let row = overhead(&strata, 6, 50_000, Some("+"));
        let shown: Vec<Value> = row
            .strata
            .iter()
            .map(|row| {
                let mut shown = json!({"stratum": row.stratum, "hl": row.hl, "n": row.pairs});
                if let (Some(low), Some(high)) = (row.bound_low, row.bound_high) {
                    (shown["lower"], shown["upper"]) = (json!(low), json!(high));
                }
                shown
            })
            .collect();
        let found = json!({
            "strata": shown, "usable_as_overhead": row.usable, "reasons": row.reasons, "text": row.text,
        });
        assert_eq!(found, *expected);
    }
}

#[test]
fn verdicts_have_their_precedence_and_exit_codes() {
    let case = case("overall");
    let rows = case["input"]["rows"].as_array().unwrap().iter();
    for (row, expected) in rows.zip(case["expected"]["rows"].as_array().unwrap()) {
        let gates: Vec<Decision> = serde_json::from_value(row[0].clone()).unwrap();
        let outcome = overall(&gates, row[1].as_bool().unwrap(), row[2].as_bool().unwrap());
        assert_eq!(json!([outcome, outcome.exit_code()]), *expected);
    }
}

#[test]
fn invalid_arms_are_repeated_unless_they_cluster_or_are_many() {
    let case = case("invalid-arms");
    let rows = case["input"]["rows"].as_array().unwrap().iter();
    for (row, expected) in rows.zip(case["expected"]["rows"].as_array().unwrap()) {
        let invalid: BTreeMap<String, u32> = serde_json::from_value(row["invalid"].clone()).unwrap();
        let limit = u32::try_from(row["limit"].as_u64().unwrap()).unwrap();
        assert_eq!(repeats(&invalid, limit).to_string(), *expected);
    }
}

#[test]
fn an_interval_that_touches_zero_contains_it_and_strata_have_to_agree() {
    let stratum = |stratum: &str, differences: [f64; 6]| StratumDifferences {
        stratum: stratum.to_owned(),
        differences: differences.to_vec(),
    };
    let touching = overhead(&[stratum("a", [0.0, 1.0, 2.0, 3.0, 4.0, 5.0])], 6, 50_000, None);
    assert_eq!(touching.reasons, ["a:interval_contains_zero"]);
    let (up, down) = (stratum("a", [5.0; 6]), stratum("b", [-5.0; 6]));
    assert_eq!(overhead(&[up, down], 6, 50_000, None).reasons, ["strata_disagree_in_sign"]);
    assert_eq!(overhead(&[], 6, 50_000, None).reasons, ["no_pairs"]);
}
