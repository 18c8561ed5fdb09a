//! Quantities as they are written in a plan: strings with a unit, turned into integers without rounding.
//!
//! It never computes with floats: what is no whole number of the smallest unit is refused.

use thiserror::Error;

/// Longest quantity that is read, octets.
const LONGEST: usize = 64;
/// Units of time and their length, ns.
const TIMES: [(&str, u128); 5] =
    [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("min", 60_000_000_000)];
/// Units of ratios and their size, parts per million.
const RATIOS: [(&str, u128); 3] = [("%", 10_000), ("ppm", 1), ("", 1_000_000)];
/// Units of sizes, octets.
const SIZES: [(&str, u128); 7] = [
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

/// Why a quantity was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UnitError {
    /// There is no number in front.
    #[error("{text:?} has no number: write it like {example}")]
    Number {
        /// As written, cut.
        text: String,
        /// Something that is read.
        example: &'static str,
    },
    /// The unit is missing or none of those allowed.
    #[error("{text:?} has no unit known here: write it like {example}")]
    Unit {
        /// As written, cut.
        text: String,
        /// Something that is read.
        example: &'static str,
    },
    /// It is no whole number of the smallest unit.
    #[error("{text:?} is no whole number of {smallest}: nothing is rounded, write a multiple of it")]
    Inexact {
        /// As written, cut.
        text: String,
        /// The smallest unit.
        smallest: &'static str,
    },
    /// It does not fit into 63 bits.
    #[error("{text:?} is too large: write less than 2^63 {smallest}")]
    TooLarge {
        /// As written, cut.
        text: String,
        /// The smallest unit.
        smallest: &'static str,
    },
}

/// How one sort of quantity is written.
struct Sort {
    units: &'static [(&'static str, u128)],
    smallest: &'static str,
    example: &'static str,
}

/// A duration such as `0.50ms`, in ns.
///
/// # Errors
/// No number, no unit of `ns us ms s min`, no whole number of ns, or too large.
pub fn duration_ns(text: &str) -> Result<u64, UnitError> {
    Sort { units: &TIMES, smallest: "ns", example: "\"500us\" (ns, us, ms, s, min)" }.read(text)
}

/// A ratio such as `0.1%`, `1000ppm` or `0.001`, in parts per million.
///
/// # Errors
/// No number, another unit, no whole number of ppm, or too large.
pub fn ratio_ppm(text: &str) -> Result<u64, UnitError> {
    Sort { units: &RATIOS, smallest: "ppm", example: "\"0.1%\" or \"1000ppm\"" }.read(text)
}

/// A size such as `2GiB`, in octets.
///
/// # Errors
/// No number, no unit, no whole number of octets, or too large.
pub fn size_bytes(text: &str) -> Result<u64, UnitError> {
    Sort { units: &SIZES, smallest: "octets", example: "\"2GiB\" (B, kB, MB, GB, KiB, MiB, GiB)" }.read(text)
}

impl Sort {
    fn read(&self, text: &str) -> Result<u64, UnitError> {
        let shown = || text.chars().take(LONGEST).collect::<String>();
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let no_number = || UnitError::Number { text: shown(), example: self.example };
        if text.len() > LONGEST {
            return Err(no_number());
        }
        let (whole, part) =
            number.split_once('.').map_or((number, None), |(whole, part)| (whole, Some(part)));
        if whole.is_empty() || part.is_some_and(|part| part.is_empty() || part.contains('.')) {
            return Err(no_number());
        }
        let size = self.units.iter().find(|(name, _)| *name == unit).map(|(_, size)| *size);
        let size = size.ok_or_else(|| UnitError::Unit { text: shown(), example: self.example })?;
        let too_large = || UnitError::TooLarge { text: shown(), smallest: self.smallest };
        match exact(whole, part.unwrap_or_default().trim_end_matches('0'), size) {
            None => Err(too_large()),
            Some(None) => Err(UnitError::Inexact { text: shown(), smallest: self.smallest }),
            Some(Some(value)) => {
                let value = u64::try_from(value).ok().filter(|value| *value < 1 << 63);
                value.ok_or_else(too_large)
            }
        }
    }
}

/// `whole.part` times `size`; the outer `None` is an overflow, the inner one a remainder.
fn exact(whole: &str, part: &str, size: u128) -> Option<Option<u128>> {
    let digits = format!("{whole}{part}").parse::<u128>().ok()?;
    let scaled = digits.checked_mul(size)?;
    let divisor = 10u128.checked_pow(u32::try_from(part.len()).ok()?)?;
    Some(scaled.is_multiple_of(divisor).then_some(scaled / divisor))
}

/// A duration in its largest unit that needs no more than three decimals, such as `500us` or `1.5s`.
pub fn duration_text(ns: u64) -> String {
    let unit = TIMES.iter().rev().skip(1).find(|(_, size)| u128::from(ns) >= *size).unwrap_or(&TIMES[0]);
    let thousandths = u128::from(ns) * 1000 / unit.1;
    let part = format!("{:03}", thousandths % 1000);
    let part = part.trim_end_matches('0');
    let point = if part.is_empty() { "" } else { "." };
    format!("{}{point}{part}{}", thousandths / 1000, unit.0)
}

/// A ratio in percent, such as `0.1%`.
pub fn ratio_text(ppm: u64) -> String {
    let part = format!("{:04}", ppm % 10_000);
    let part = part.trim_end_matches('0');
    let point = if part.is_empty() { "" } else { "." };
    format!("{}{point}{part}%", ppm / 10_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_read_when_they_are_whole_in_the_smallest_unit() {
        let read = ["0.50ms", "500us", "1.000000001s", "0.000001ms", "2min", "007ms", "1.50000000000ns0"];
        let read = read.map(|text| duration_ns(text).ok());
        let want = [Some(500_000), Some(500_000), Some(1_000_000_001), Some(1), Some(120_000_000_000)];
        assert_eq!(read[..5], want);
        assert_eq!(read[5..], [Some(7_000_000), None]);
        assert_eq!((size_bytes("2GiB"), size_bytes("1.5KiB")), (Ok(2 << 30), Ok(1536)));
        assert_eq!(["0.1%", "1000ppm", "0.001"].map(|text| ratio_ppm(text).ok()), [Some(1000); 3]);
    }

    #[test]
    fn each_refusal_says_what_to_write() {
        for (text, words) in [
            ("", "has no number"),
            ("ms", "has no number"),
            (".5ms", "has no number"),
            ("5.ms", "has no number"),
            ("1.2.3ms", "has no number"),
            ("-1ms", "has no number"),
            ("0.5", "has no unit"),
            ("1e3us", "has no unit"),
            ("5 ms", "has no unit"),
            ("5MS", "has no unit"),
            ("1.5ns", "no whole number of ns"),
            ("99999999999999999999s", "too large"),
            ("9223372036854775808ns", "too large"),
            ("340282366920938463463374607431768211455min", "too large"),
        ] {
            let said = duration_ns(text).unwrap_err().to_string();
            assert!(said.contains(words), "{text}: {said}");
        }
        assert!(duration_ns(&"9".repeat(1_000_000)).is_err());
        assert_eq!(duration_ns("9223372036854775807ns"), Ok(i64::MAX as u64));
    }

    #[test]
    fn durations_and_ratios_are_shown_as_they_would_be_written() {
        let shown = [0, 1, 500_000, 15_000_000_000, 1_500_000_000, 61_000_000_000].map(duration_text);
        assert_eq!(shown, ["0ns", "1ns", "500us", "15s", "1.5s", "61s"]);
        assert_eq!([0, 1000, 50_000, 1_000_000, 1].map(ratio_text), ["0%", "0.1%", "5%", "100%", "0.0001%"]);
    }
}
