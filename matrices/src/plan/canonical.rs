//! The canonical form of JSON and the hashes over it: keys sorted, no spaces, integers only, strings escaped as in RFC 8785.
//!
//! It sorts itself and relies on no feature of a crate that could be switched on somewhere else in the workspace.

use super::{Gate, Plan};
use crate::digest::Digest;
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write;
use thiserror::Error;

/// In front of the plan when it is hashed.
const PLAN: &str = "observer-plan-1\n";
/// In front of the gates when they are hashed.
const GATES: &str = "observer-gates-1\n";

/// Why something has no canonical form.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CanonicalError {
    /// A number is no integer of 64 bits.
    #[error("{0} is no integer of 64 bits: write it in a smaller unit")]
    Float(String),
    /// It cannot be written as JSON.
    #[error("it cannot be written as JSON ({0}): please report it")]
    Json(String),
}

/// The canonical JSON of anything.
///
/// # Errors
/// A number in it is no integer, or a key no string.
pub fn canonical<T: Serialize + ?Sized>(thing: &T) -> Result<String, CanonicalError> {
    let value = serde_json::to_value(thing).map_err(|error| CanonicalError::Json(error.to_string()))?;
    let mut out = String::new();
    write_value(&value, &mut out)?;
    Ok(out)
}

/// `plan_sha256` of a canonical plan.
pub fn plan_sha256(canonical: &str) -> String {
    Digest::of_parts(&[PLAN.as_bytes(), canonical.as_bytes()]).to_string()
}

/// `gates_sha256` of the canonical array of gates.
pub fn gates_sha256(canonical: &str) -> String {
    Digest::of_parts(&[GATES.as_bytes(), canonical.as_bytes()]).to_string()
}

impl Plan {
    /// The canonical form.
    ///
    /// # Errors
    /// It cannot be written as JSON; no plan that was read gives that.
    pub fn canonical(&self) -> Result<String, CanonicalError> {
        canonical(self)
    }

    /// Hash of the plan: comments, spacing, order of keys and ways of writing a unit do not change it, any value does.
    ///
    /// # Errors
    /// As [`Plan::canonical`].
    pub fn sha256(&self) -> Result<String, CanonicalError> {
        Ok(plan_sha256(&self.canonical()?))
    }

    /// Hash of the gates alone: two runs with other numbers of blocks can show that they used the same thresholds.
    ///
    /// # Errors
    /// As [`Plan::canonical`].
    pub fn gates_sha256(&self) -> Result<String, CanonicalError> {
        Ok(gates_sha256(&canonical::<[Gate]>(&self.gate)?))
    }
}

fn write_value(value: &Value, out: &mut String) -> Result<(), CanonicalError> {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Number(number) if number.is_u64() || number.is_i64() => {
            let _ = write!(out, "{number}");
        }
        Value::Number(number) => return Err(CanonicalError::Float(number.to_string())),
        Value::String(text) => write_string(text, out),
        Value::Array(list) => {
            out.push('[');
            for (at, entry) in list.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                write_value(entry, out)?;
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            // RFC 8785, 3.2.3 sorts by UTF-16 code units.
            entries.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (at, (key, entry)) in entries.into_iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                write_string(key, out);
                out.push(':');
                write_value(entry, out)?;
            }
            out.push('}');
        }
    }
    Ok(())
}

/// RFC 8785, 3.2.2.2: only what JSON demands is escaped, in the short form where there is one.
fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_are_sorted_by_utf16_and_floats_are_refused() {
        let value = json!({ "\u{fb33}": 1, "\u{1f600}": 2, "b": 3, "B": 4 });
        assert_eq!(canonical(&value).unwrap(), "{\"B\":4,\"b\":3,\"\u{1f600}\":2,\"\u{fb33}\":1}");
        let refused = canonical(&json!([1, 1.5])).unwrap_err();
        assert_eq!(refused, CanonicalError::Float("1.5".to_owned()));
    }

    #[test]
    fn every_control_character_comes_back_from_a_json_parser() {
        let text: String = (0..0x300).filter_map(char::from_u32).collect();
        let written = canonical(&text).unwrap();
        assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
        assert!(written.starts_with("\"\\u0000\\u0001"));
    }
}
