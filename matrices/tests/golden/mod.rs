//! Reads the worked cases beside it. They were made for this project; the file is a copy, byte for byte.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "helpers of tests; not every test uses all"
)]

use serde_json::Value;

/// The worked case of this name.
pub fn case(id: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("experiments.json")).unwrap();
    all["cases"].as_array().unwrap().iter().find(|case| case["id"] == id).unwrap().clone()
}

/// A list of numbers.
pub fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// Asserts that a figure is the expected one, relative to it.
pub fn close(found: f64, expected: &Value, relative: f64) {
    let expected = expected.as_f64().unwrap();
    assert!((found - expected).abs() <= relative * expected.abs(), "{found} is not {expected}");
}
