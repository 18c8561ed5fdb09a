//! Whether two looks at a device saw the same start of it, where it tells only how long it has been up.

/// Begins the word of a start that was worked out from a time.
const UP_SINCE: &str = "up-since";
/// Shortest time by which two readings of the same start may differ, s: answers take time, and clocks drift.
const LEAST_S: i64 = 3;

/// The word of a start: the second it happened in by the bench's clock, and by how many it may be off. It is told as the
/// boot id of a device that has none.
pub fn up_since(now_ns: i64, uptime_ns: u64, unit_ns: u64) -> String {
    let uptime_ns = i64::try_from(uptime_ns).unwrap_or(i64::MAX);
    let second = now_ns.saturating_sub(uptime_ns).div_euclid(1_000_000_000);
    let coarse = i64::try_from(unit_ns.div_ceil(1_000_000_000)).unwrap_or(i64::MAX);
    format!("{UP_SINCE}:{second}:{}", coarse.saturating_add(1).max(LEAST_S))
}

/// Whether two words are of the same start. Words of the device itself have to be equal.
pub fn same_boot(one: &str, other: &str) -> bool {
    match (parsed(one), parsed(other)) {
        (Some((one, off)), Some((other, off_too))) => one.abs_diff(other) <= off.max(off_too).unsigned_abs(),
        _ => one == other,
    }
}

fn parsed(word: &str) -> Option<(i64, i64)> {
    let mut parts = word.strip_prefix(UP_SINCE)?.strip_prefix(':')?.split(':');
    let read = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    parts.next().is_none().then_some(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    #[test]
    fn readings_of_one_start_are_the_same_and_a_later_start_is_another() {
        let at = |now_s: i64, up_s: u64| up_since(now_s * S + 900_000_000, up_s * S as u64, S as u64);
        let first = at(1_000_000, 500);
        assert_eq!(first, "up-since:999500:3");
        for (now_s, up_s) in [(1_000_060, 559), (1_000_060, 561), (1_000_003, 503), (1_003_600, 4_102)] {
            assert!(same_boot(&first, &at(now_s, up_s)), "{now_s} {up_s}");
        }
        assert!(!same_boot(&first, &at(1_000_060, 4)));
        assert!(!same_boot(&at(1_000_000, 2), &at(1_000_010, 0)), "a short life is told from the next");
    }

    #[test]
    fn words_of_the_device_have_to_be_equal() {
        assert!(same_boot("b-1", "b-1") && same_boot("", ""));
        assert!(!same_boot("b-1", "b-2") && !same_boot("up-since:5:3", "b-1"));
        assert!(!same_boot("up-since:5:3:7", "up-since:5:3"), "only whole words of ours are times");
        assert!(same_boot("up-since:9223372036854775807:3", "up-since:9223372036854775806:3"));
    }
}
