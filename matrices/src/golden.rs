//! The worked cases, for tests: input and exact expected output by id.

use serde_json::Value;

/// A worked case.
pub(crate) fn case(id: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("../tests/golden/experiments.json")).unwrap();
    let found = all["cases"].as_array().unwrap().iter().find(|case| case["id"] == id);
    found.unwrap_or_else(|| panic!("no case {id}")).clone()
}
