//! Text that is safe to show: names and sentences from the network without control characters, times, durations.

use std::borrow::Cow;
use std::fmt::Write;

/// True for characters that could move a cursor, start an escape sequence, break a line or reorder text.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// The text with every unsafe character written as `\u{1b}`; borrowed when there is none.
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_unsafe(c) {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{{{:x}}}", c as u32);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// The first `width` characters of the cleaned text, with `…` in the last place when it was longer.
pub fn fit(text: &str, width: usize) -> String {
    let text = clean(text);
    if text.chars().count() <= width {
        return text.into_owned();
    }
    let mut out: String = text.chars().take(width.saturating_sub(1)).collect();
    out.push('…');
    out
}

/// The instant as RFC 3339 in UTC with microseconds; nanoseconds where `digits` is 9.
pub fn rfc3339(ns: i64, digits: usize) -> String {
    match jiff::Timestamp::from_nanosecond(i128::from(ns)) {
        Ok(at) if digits > 6 => format!("{at:.9}"),
        Ok(at) => format!("{at:.6}"),
        Err(_) => format!("{ns} ns"),
    }
}

/// Nanoseconds as milliseconds with three decimals, rounded down.
pub fn milliseconds(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000_000, ns / 1000 % 1000)
}

/// Nanoseconds as seconds with six decimals, rounded down.
pub fn seconds(ns: u64) -> String {
    format!("{}.{:06}", ns / 1_000_000_000, ns / 1000 % 1_000_000)
}

/// Thousandths as a number with three decimals.
pub fn thousandths(value: u64) -> String {
    format!("{}.{:03}", value / 1000, value % 1000)
}

/// Fewer events than this, or less time than this, have no rate.
const RATE_EVENTS: u64 = 4;
const RATE_TIME_NS: u64 = 100_000_000;

/// A rate in thousandths of a hertz with three decimals; `None` where so many events are too few, or lie too close
/// together, for one.
pub fn rate(events: u64, mhz: u64) -> Option<String> {
    // The time they took is (events - 1) / rate.
    let ns = u128::from(events.saturating_sub(1)) * 1_000_000_000_000;
    let told = events >= RATE_EVENTS && ns >= u128::from(mhz) * u128::from(RATE_TIME_NS);
    told.then(|| thousandths(mhz))
}

/// The last part of a path.
pub fn base_name(path: &str) -> &str {
    path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path)
}

/// Lines of at most `width` characters, broken at spaces; a longer word keeps a line of its own.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut room = width;
    for word in clean(text).split_whitespace() {
        let length = word.chars().count();
        if length + 1 > room && room < width {
            lines.push(String::new());
            room = width;
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
            room = room.saturating_sub(length + 1);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_become_visible() {
        assert_eq!(clean("a\x1b[31mb\u{9b}c\n"), "a\\u{1b}[31mb\\u{9b}c\\u{a}");
        assert_eq!(clean("\u{202e}evil"), "\\u{202e}evil");
        assert!(matches!(clean("Pult Süd 灯"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_long_text_is_cut_to_its_width() {
        assert_eq!(fit("abcdef", 4), "abc…");
        assert_eq!(fit("abcd", 4), "abcd");
        assert_eq!(fit("abcd", 0), "…");
    }

    #[test]
    fn times_are_rfc_3339_in_utc() {
        assert_eq!(rfc3339(1_700_000_000_123_456_789, 6), "2023-11-14T22:13:20.123456Z");
        assert_eq!(rfc3339(1_700_000_000_123_456_789, 9), "2023-11-14T22:13:20.123456789Z");
        assert_eq!(rfc3339(-1, 9), "1969-12-31T23:59:59.999999999Z");
        assert!(rfc3339(i64::MIN, 6).ends_with('Z'));
        assert!(rfc3339(i64::MAX, 6).ends_with('Z'));
    }

    #[test]
    fn durations_keep_their_unit() {
        assert_eq!(milliseconds(33_878_123), "33.878");
        assert_eq!(seconds(100_055_894_000), "100.055894");
        assert_eq!(thousandths(29_549), "29.549");
    }

    #[test]
    fn a_rate_needs_four_events_and_a_tenth_of_a_second() {
        assert_eq!(rate(591, 29_549).as_deref(), Some("29.549"));
        assert_eq!(rate(3, 153_846_154), None, "three goodbyes within microseconds");
        assert_eq!(rate(3, 1), None);
        assert_eq!(rate(4, 30_000).as_deref(), Some("30.000"), "three intervals in 100 ms");
        assert_eq!(rate(4, 30_001), None);
        assert_eq!(rate(5, u64::MAX), None);
        assert_eq!((rate(0, 0), rate(4, 0).as_deref()), (None, Some("0.000")));
    }

    #[test]
    fn the_base_name_is_the_last_part_of_a_path() {
        let names = ["/a/b.pcap", "b.pcap", "a/b/", "/", ""].map(base_name);
        assert_eq!(names, ["b.pcap", "b.pcap", "b", "/", ""]);
    }

    #[test]
    fn wrapping_breaks_at_spaces_only() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("abcdefghij k", 4), ["abcdefghij", "k"]);
        assert_eq!(wrap("", 4), [""]);
    }
}
