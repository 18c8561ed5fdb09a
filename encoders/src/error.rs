//! Why something cannot be encoded: the field, the value asked for and the limit of the protocol.

use std::fmt;
use wireproof_protocols::Value;

/// A value that the protocol has no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodeError {
    /// The field in the protocol's own words.
    pub field: &'static str,
    /// The value asked for.
    pub value: u64,
    /// What the protocol allows.
    pub limit: Value,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} is not {}", self.field, self.value, self.limit)
    }
}

impl std::error::Error for EncodeError {}

/// Checks that `value` lies in `low..=high`.
pub(crate) fn within(field: &'static str, value: u64, low: u64, high: u64) -> Result<(), EncodeError> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(EncodeError { field, value, limit: Value::Range(low, high) })
}
