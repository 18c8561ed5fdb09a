//! The worked cases of baselines, budgets and the table.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod golden;
mod support;

use golden::case;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use wireproof_matrices::compare::{
    Budget, FLOOR_NS, Identity, Row, against_baseline, against_budget, markdown, ratio, rows,
};
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
    };
    let rows: Vec<Row> = case["input"]["rows_ns"].as_array().unwrap().iter().map(row).collect();
    assert_eq!(case["expected"]["markdown"], markdown(&rows));
}

#[test]
fn two_verdicts_are_compared_by_the_figures_they_share() {
    let mut plan = support::plan(6);
    plan.gate = vec![support::p95(500_000)];
    let run = |raw: i64| judge(&plan, &support::arms(&[5_402_000; 6], &[raw; 6]), &support::circumstances());
    let budgets =
        BTreeMap::from([("frame.p95 raw minus baseline".to_owned(), Budget { limit: 500_000, unmet: None })]);
    let rows = rows(&run(5_502_000), &run(7_474_000), FLOOR_NS, &budgets);
    let found: Vec<_> = rows.iter().map(|row| (row.metric.as_str(), row.now, row.verdict())).collect();
    let expected = [
        ("frame.p95 baseline", 5_402_000, "pass".to_owned()),
        ("frame.p95 raw", 7_474_000, "fail".to_owned()),
        ("frame.p95 raw minus baseline", 2_072_000, "fail (baseline and budget)".to_owned()),
    ];
    assert_eq!(found, expected);
    let (same, mut other) = (Identity::of(&plan, "ab", "ad2d91a"), Identity::of(&plan, "ab", "ad2d91b"));
    assert_eq!(same.differences(&other).conditions, ["device build: ad2d91a then, ad2d91b here"]);
    other.streams.pop();
    assert_eq!(same.differences(&other).conditions.len(), 2);
}
