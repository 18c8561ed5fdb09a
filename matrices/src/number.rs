//! A figure of a verdict: written as an integer when it is whole, so that the same data give the same bytes.
//!
//! It never holds infinities or NaN: a bound that does not exist is an absent figure.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A finite figure in the unit that stands beside it.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Number(pub f64);

/// Whole figures up to this are exact in an `f64`.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl Number {
    /// The figure, if it is finite.
    pub fn finite(value: f64) -> Option<Self> {
        value.is_finite().then_some(Number(value))
    }
}

impl Serialize for Number {
    #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            value if value.fract() == 0.0 && value.abs() <= EXACT => serializer.serialize_i64(value as i64),
            value => serializer.serialize_f64(value),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_figure_is_written_without_a_point_and_read_back() {
        let figures = [Number(78.0), Number(-0.0), Number(87.5), Number(-11.0)];
        let text = serde_json::to_string(&figures).unwrap();
        assert_eq!(text, "[78,0,87.5,-11]");
        assert_eq!(serde_json::from_str::<Vec<Number>>(&text).unwrap(), figures);
        assert_eq!(Number::finite(f64::INFINITY), None);
    }
}
