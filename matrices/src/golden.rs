//! The worked cases, for tests: input and exact expected output by id.

use serde_json::Value;
use std::sync::LazyLock;

static ALL: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("../tests/golden/experiments.json")).unwrap());

/// A worked case.
pub(crate) fn case(id: &str) -> Value {
    let found = ALL["cases"].as_array().unwrap().iter().find(|case| case["id"] == id);
    found.unwrap_or_else(|| panic!("no case {id}")).clone()
}
