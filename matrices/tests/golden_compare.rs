//! The worked cases of baselines, budgets and the table.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod golden;
mod support;

use golden::case;
use serde_json::{Value, json};
use wireproof_matrices::compare::{
    Better, Budget, FLOOR_NS, Identity, Measure, Row, against_baseline, against_budget, figures, markdown,
    ratio,
};
use wireproof_matrices::plan::{Class, Gate, Kind, Margin};
use wireproof_matrices::verdict::judge;

#[test]
fn growth_is_graded_by_ratio_and_floor() {
    let case = case("compare");
    assert_eq!(case["input"]["noise_floor_ns"], FLOOR_NS);
    let pairs = case["input"]["pairs_ns"].as_array().unwrap().iter();
    for (pair, expected) in pairs.zip(case["expected"]["rows"].as_array().unwrap()) {
        let (baseline, current) = (pair[0].as_i64().unwrap(), pair[1].as_i64().unwrap());
        let grade = against_baseline(baseline, current, FLOOR_NS);
        let found = json!({
            "baseline": baseline, "current": current, "verdict": grade, "ratio": ratio(baseline, current),
        });
        assert_eq!(found, *expected);
    }
}

#[test]
fn a_budget_is_a_ceiling_and_equal_passes() {
    let case = case("budgets");
    let rows = case["input"]["rows_ns"].as_array().unwrap().iter();
    let verdicts: Vec<Value> =
        rows.map(|row| json!(against_budget(row[1].as_i64().unwrap(), row[2].as_i64()))).collect();
    assert_eq!(json!(verdicts), case["expected"]["verdicts"]);
}

#[test]
fn the_table_is_exact_to_the_letter() {
    let case = case("report-markdown");
    let row = |row: &Value| Row {
        metric: row[0].as_str().unwrap().to_owned(),
        baseline: row[1].as_i64().unwrap(),
        now: row[2].as_i64().unwrap(),
        floor: FLOOR_NS,
        budget: row[3].as_i64().map(|limit| Budget { limit, unmet: None }),
        unit: Measure::Ns,
        better: Better::Less,
    };
    let rows: Vec<Row> = case["input"]["rows_ns"].as_array().unwrap().iter().map(row).collect();
    assert_eq!(case["expected"]["markdown"], markdown(&rows));
}

#[test]
fn the_figures_of_a_verdict_are_medians_and_what_is_added_in_their_smallest_unit() {
    let mut plan = support::plan(6);
    let zero = support::gate("lost", "wire.lost", Kind::Zero, None);
    let rate = support::gate("rate", "wire.rate", Kind::Equivalence, Some(Margin::Ppm(1_000)));
    let cpu = Gate { class: Class::Diagnostic, ..support::gate("cpu", "device.cpu", Kind::Overhead, None) };
    let mut again = support::p95(500_000);
    again.id = "p95-too".to_owned();
    plan.gate = vec![support::p95(500_000), zero, rate, cpu, again];
    let arms = support::arms(&[5_402_000; 6], &[7_474_000; 6]);
    let verdict = judge(&plan, &arms, &support::circumstances());
    let figures = figures(&plan, &verdict);
    let found: Vec<_> = figures.iter().map(|f| (f.metric.as_str(), f.unit, f.value, f.floor)).collect();
    // 60 frames a second, 6 and 12 datagrams each; the margin of 0.1 % is the floor.
    let big = |name| (name, Measure::Millihertz, 360_000, 360);
    let sacn = |name| (name, Measure::Millihertz, 720_000, 720);
    let expected = [
        ("frame.p95 baseline", Measure::Ns, 5_402_000, FLOOR_NS),
        ("frame.p95 raw", Measure::Ns, 7_474_000, FLOOR_NS),
        ("frame.p95 raw minus baseline", Measure::Ns, 2_072_000, FLOOR_NS),
        ("wire.lost", Measure::Count, 0, 0),
        big("wire.rate:big baseline"),
        big("wire.rate:big raw"),
        sacn("wire.rate:sacn baseline"),
        sacn("wire.rate:sacn raw"),
        ("device.cpu all minus baseline", Measure::CpuHundredths, 0, 0),
        ("frame.p95 baseline [p95-too]", Measure::Ns, 5_402_000, FLOOR_NS),
        ("frame.p95 raw [p95-too]", Measure::Ns, 7_474_000, FLOOR_NS),
        ("frame.p95 raw minus baseline [p95-too]", Measure::Ns, 2_072_000, FLOOR_NS),
    ];
    assert_eq!(found, expected);
    let (same, mut other) = (Identity::of(&plan, "ab", "ad2d91a"), Identity::of(&plan, "ab", "ad2d91b"));
    assert_eq!(same.differences(&other).conditions, ["device build: ad2d91a then, ad2d91b here"]);
    other.streams.pop();
    assert_eq!(same.differences(&other).conditions.len(), 2);
}
