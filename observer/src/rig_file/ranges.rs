//! Stream numbers as ranges: `1-12,40`.

use thiserror::Error;

/// The most streams one list may name.
pub const STREAMS_MAX: usize = 65_536;

/// Why a list of ranges was refused.
#[derive(Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RangeError {
    /// A part is neither a number nor a range.
    #[error("{0:?} is no range; allowed are numbers and ranges such as 1-12,40")]
    Part(String),
    /// A range runs backwards.
    #[error("the range {0}-{1} runs backwards; write {1}-{0}")]
    Backwards(u32, u32),
    /// More than [`STREAMS_MAX`].
    #[error("more than 65536 streams; split the list over several outputs")]
    TooMany,
}

/// The numbers of a list, ascending and each once.
///
/// # Errors
/// See [`RangeError`]; an empty list is refused too.
pub fn parse_ranges(text: &str) -> Result<Vec<u32>, RangeError> {
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (low, high) = part_range(part.trim())?;
        let room = STREAMS_MAX - numbers.len();
        if (high - low) as usize >= room {
            return Err(RangeError::TooMany);
        }
        numbers.extend(low..=high);
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

fn part_range(part: &str) -> Result<(u32, u32), RangeError> {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<u32>().ok().filter(|_| digits)
    };
    let (low, high) = part.split_once('-').unwrap_or((part, part));
    match (number(low.trim()), number(high.trim())) {
        (Some(low), Some(high)) if low <= high => Ok((low, high)),
        (Some(low), Some(high)) => Err(RangeError::Backwards(low, high)),
        _ => Err(RangeError::Part(part.chars().take(40).collect())),
    }
}

/// The shortest list of ranges for ascending numbers.
pub fn format_ranges(numbers: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match parts.last_mut() {
            Some((_, high)) if high.checked_add(1) == Some(*number) => *high = *number,
            _ => parts.push((*number, *number)),
        }
    }
    let text = |(low, high): &(u32, u32)| if low == high { low.to_string() } else { format!("{low}-{high}") };
    parts.iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_numbers_are_read_and_written() {
        assert_eq!(parse_ranges("1-3,40").unwrap(), [1, 2, 3, 40]);
        assert_eq!(parse_ranges(" 40 , 1 - 3, 2").unwrap(), [1, 2, 3, 40]);
        assert_eq!(format_ranges(&[1, 2, 3, 40]), "1-3,40");
        assert_eq!(format_ranges(&[u32::MAX - 1, u32::MAX]), "4294967294-4294967295");
        assert_eq!(format_ranges(&[]), "");
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for bad in ["", ",", "1-", "-1", "a", "1..3", "+1", "1-2-3", "99999999999"] {
            assert!(matches!(parse_ranges(bad), Err(RangeError::Part(_))), "{bad}");
        }
        assert_eq!(parse_ranges("12-1"), Err(RangeError::Backwards(12, 1)));
    }

    #[test]
    fn the_number_of_streams_is_bounded_before_it_is_spent() {
        assert_eq!(parse_ranges("0-4294967295"), Err(RangeError::TooMany));
        assert_eq!(parse_ranges("0-65535").unwrap().len(), STREAMS_MAX);
        assert_eq!(parse_ranges("0-65536"), Err(RangeError::TooMany));
        assert_eq!(parse_ranges("0-65535,7"), Err(RangeError::TooMany));
    }
}
