//! The worked cases of percentiles, critical values, bounds, drift, outliers and adjustment.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod golden;

use golden::{case, close, numbers};
use serde_json::json;
use wireproof_matrices::stats::{
    achieved, at, clopper_pearson, critical_t, fences, holm, kendall_p, kendall_s, median, rank, theil_sen,
    trials_needed, upper_bound,
};

#[test]
fn nearest_ranks_are_integers_rounded_up() {
    let case = case("percentile-ranks");
    let quantiles: Vec<(u64, u64)> = case["input"]["q"]
        .as_array()
        .unwrap()
        .iter()
        .map(|q| q.as_str().unwrap().split_once('/').unwrap())
        .map(|(num, den)| (num.parse().unwrap(), den.parse().unwrap()))
        .collect();
    for n in case["input"]["n"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()) {
        let ranks: Vec<u64> = quantiles.iter().map(|(num, den)| rank(n, *num, *den)).collect();
        assert_eq!(case["expected"]["ranks"][n.to_string()], json!(ranks), "n {n}");
    }
}

#[test]
fn percentiles_are_values_that_were_measured() {
    let case = case("percentile-values");
    let mut values: Vec<u64> =
        case["input"]["values_us"].as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect();
    values.sort_unstable();
    let at = |num| at(&values, num, 100).unwrap();
    let found = json!({"p50": at(50), "p95": at(95), "p99": at(99), "max": at(100), "min": values[0]});
    assert_eq!(found, case["expected"]);
}

#[test]
fn critical_values_and_the_error_they_make_are_exact() {
    let case = case("critical-values");
    for (i, n) in numbers(&case["input"]["n"]).into_iter().map(|n| n as usize).enumerate() {
        for (key, alpha_ppm) in [("T_0.05", 50_000), ("T_0.025", 25_000)] {
            let t = critical_t(n, alpha_ppm).map_or(-1, u64::cast_signed);
            assert_eq!(case["expected"][key][i], t, "n {n}, {key}");
        }
        assert_eq!(case["expected"]["achieved_0.05"][i], achieved(n, critical_t(n, 50_000)), "n {n}");
    }
}

#[test]
fn bounds_of_rare_events_are_those_of_clopper_and_pearson() {
    let case = case("zero-events");
    for row in case["expected"]["rows"].as_array().unwrap() {
        let (events, trials) = (row["events"].as_u64().unwrap(), row["trials"].as_u64().unwrap());
        let (one_sided, (low, high)) =
            (upper_bound(events, trials, 0.05), clopper_pearson(events, trials, 0.05));
        close(one_sided, &row["upper_95_one_sided"], 1e-9);
        close(low, &row["lower_95_two_sided"], 1e-9);
        close(high, &row["upper_95_two_sided"], 1e-9);
        assert_eq!(row["one_in"], (1.0 / one_sided).floor() as u64);
        if events == 0 {
            close(3.0 / trials as f64, &row["rule_of_three"], 1e-9);
        }
    }
}

#[test]
fn a_claim_of_never_names_the_trials_it_needs() {
    let case = case("zero-events-needed");
    for (i, rate) in case["input"]["rates"].as_array().unwrap().iter().enumerate() {
        let trials = trials_needed(rate.as_str().unwrap().parse().unwrap()).unwrap();
        assert_eq!(case["expected"]["trials"][i], trials);
        let minutes = (trials as f64 / 36.0).round() / 100.0;
        assert_eq!(case["expected"]["minutes_at_60fps"][i], minutes);
    }
}

#[test]
fn drift_is_the_trend_of_what_the_treatments_leave() {
    let case = case("drift");
    let (order, values) = (numbers(&case["input"]["run_order"]), numbers(&case["input"]["arm_p95_us"]));
    let of = |treatment: f64| -> Vec<f64> {
        order.iter().zip(&values).filter(|(t, _)| **t == treatment).map(|(_, v)| *v).collect()
    };
    let medians = [0.0, 1.0].map(|treatment| median(&of(treatment)).unwrap());
    let residuals: Vec<f64> = order.iter().zip(&values).map(|(t, v)| v - medians[*t as usize]).collect();
    assert_eq!(residuals, numbers(&case["expected"]["residuals"]));
    let s = kendall_s(&residuals);
    assert_eq!(case["expected"]["S"], s);
    close(kendall_p(residuals.len(), s), &case["expected"]["p_exact"], 1e-12);
    let slope = theil_sen(&residuals).unwrap();
    close(slope, &case["expected"]["theil_sen_us_per_arm"], 1e-12);
    close(slope * 19.0, &case["expected"]["total_drift_us"], 1e-12);
}

#[test]
fn outliers_are_tagged_and_stay() {
    let case = case("outliers");
    let values = numbers(&case["input"]["values"]);
    let fences = fences(&values).unwrap();
    let tagged = |test: &dyn Fn(f64) -> bool| -> Vec<f64> {
        values.iter().copied().filter(|value| test(*value)).collect()
    };
    let expected = &case["expected"];
    assert_eq!([fences.q1, fences.q3], [&expected["q1"], &expected["q3"]].map(|v| v.as_f64().unwrap()));
    assert_eq!(fences.above(1.5), expected["mild_above"].as_f64().unwrap());
    assert_eq!(fences.above(3.0), expected["severe_above"].as_f64().unwrap());
    assert_eq!(tagged(&|value| fences.mild(value)), numbers(&expected["mild"]));
    assert_eq!(tagged(&|value| fences.severe(value)), numbers(&expected["severe"]));
    assert_eq!(expected["used"], values.len());
}

#[test]
fn several_failing_gates_are_adjusted_step_by_step() {
    let case = case("holm");
    let p: Vec<f64> =
        case["input"]["p"].as_array().unwrap().iter().map(|p| p.as_str().unwrap().parse().unwrap()).collect();
    for (found, expected) in holm(&p).into_iter().zip(case["expected"]["adjusted"].as_array().unwrap()) {
        close(found, expected, 1e-12);
    }
}
