//! Quantities as they are typed: times, sizes, rotations and lists of universes.

use crate::live::record::Rotation;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// A number and its unit.
fn split(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number = text[..end].parse::<f64>().ok().filter(|n| n.is_finite())?;
    Some((number, &text[end..]))
}

/// A time above zero: `20us`, `500ms`, `90s`, `10min`, `24h`, `1h5m`; a plain number is seconds.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let refused = || format!("{text} is no time: write 500ms, 90s, 10min, 1h5m or 24h");
    let mut sum = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let next = rest[end..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |i| end + i);
        // A number without a unit stands alone.
        if end == next && rest.len() != text.len() {
            return Err(refused());
        }
        let part = part(&rest[..next]).ok_or_else(refused)?;
        sum = sum.checked_add(part).ok_or_else(refused)?;
        rest = &rest[next..];
    }
    if sum.is_zero() { Err(refused()) } else { Ok(sum) }
}

/// One number and its unit of a time.
fn part(text: &str) -> Option<Duration> {
    let (number, unit) = split(text)?;
    let seconds = match unit {
        "us" => number / 1e6,
        "ms" => number / 1e3,
        "" | "s" => number,
        "min" | "m" => number * 60.0,
        "h" => number * 3600.0,
        "d" => number * 86_400.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(seconds).ok()
}

/// What `-w -` writes to.
pub(super) const STDOUT: &str = "/dev/stdout";

/// Where a capture goes: a file, a named pipe, or standard output.
pub(super) fn target(given: PathBuf) -> PathBuf {
    if given.as_os_str() == "-" { STDOUT.into() } else { given }
}

/// A size above zero: `212992`, `64KiB`, `8MiB`, `1GiB`, `500MB`.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let refused = || format!("{text} is no size: write 212992, 64KiB, 8MiB or 1GiB");
    let (number, unit) = split(text).ok_or_else(refused)?;
    let factor = match unit {
        "" | "B" => 1.0,
        "k" | "K" | "KiB" => 1024.0,
        "M" | "MiB" => 1048576.0,
        "G" | "GiB" => 1073741824.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        _ => return Err(refused()),
    };
    let octets = number * factor;
    if (1.0..1e15).contains(&octets) { Ok(octets as u64) } else { Err(refused()) }
}

/// A size or a time.
pub(super) fn rotation(text: &str) -> Result<Rotation, String> {
    // Every unit of time ends in one of these, none of a size does.
    let is_time = text.ends_with(['s', 'n', 'm', 'h', 'd']);
    let refused = || format!("{text} is neither size nor time: write 1GiB or 10min");
    if is_time {
        return time(text).map(Rotation::Time).map_err(|_| refused());
    }
    bytes(text).map(Rotation::Bytes).map_err(|_| refused())
}

/// Universes such as `1-12,40`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Universes(pub(super) Vec<u16>);

impl FromStr for Universes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || format!("{text} is no list of universes: write 1-12,40 (1 to 63999)");
        let number = |t: &str| t.trim().parse::<u16>().ok().filter(|u| *u > 0);
        let mut all = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = number(first).zip(number(last)).ok_or_else(refused)?;
            if first > last {
                return Err(refused());
            }
            all.extend(first..=last);
        }
        all.sort_unstable();
        all.dedup();
        Ok(Universes(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_read_with_their_units() {
        let ms = |text| time(text).map(|t| t.as_millis());
        assert_eq!(
            (ms("500ms"), ms("1.5s"), ms("2"), ms("10min"), ms("24h")),
            (Ok(500), Ok(1500), Ok(2000), Ok(600_000), Ok(86_400_000))
        );
        assert_eq!(
            (bytes("212992"), bytes("8MiB"), bytes("1GB")),
            (Ok(212_992), Ok(8 << 20), Ok(1_000_000_000))
        );
        assert_eq!((ms("1h5m"), ms("1m30s"), ms("1.5h0.5s")), (Ok(3_900_000), Ok(90_000), Ok(5_400_500)));
        assert_eq!(rotation("1h5m"), Ok(Rotation::Time(Duration::from_secs(3_900))));
        assert_eq!(rotation("10min"), Ok(Rotation::Time(Duration::from_secs(600))));
        assert_eq!(rotation("1GiB"), Ok(Rotation::Bytes(1 << 30)));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "s", "0s", "-1s", "5 s", "1e9999s", "5parsec", ".", "1..2s", "1h5", "h5m", "1h 5m"] {
            assert!(time(text).is_err(), "{text}");
        }
        for text in ["", "0", "MiB", "-1", "5X", "99999999999GiB"] {
            assert!(bytes(text).is_err() && rotation(text).is_err(), "{text}");
        }
    }

    #[test]
    fn universes_are_ranges_and_numbers() {
        assert_eq!("1-3,40,2".parse(), Ok(Universes(vec![1, 2, 3, 40])));
        for text in ["", "0", "3-1", "1-", "a", "1,,2", "70000"] {
            assert!(text.parse::<Universes>().is_err(), "{text}");
        }
    }
}
