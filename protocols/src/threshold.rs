//! Thresholds: what a rule is judged by beside the octets of one datagram. `docs/thresholds.md` is made of them.

use crate::time::{MS, SECOND};

/// One limit of a rule or of a word that a run uses.
#[derive(Clone, Debug)]
pub struct Threshold {
    /// Codes of the rules, or words of a run such as `fps_changed`.
    pub codes: &'static [&'static str],
    /// What is held against it.
    pub what: &'static str,
    /// The limit with its unit.
    pub value: String,
    /// The clause or the measurement it comes from.
    pub source: &'static str,
    /// File that holds it, from the root of the project.
    pub place: &'static str,
}

/// Nanoseconds as people write them: `2.5 s`, `115 ms`, `20 us`.
pub fn time(ns: i64) -> String {
    let (unit, name) = match ns.unsigned_abs() {
        n if n >= SECOND.unsigned_abs() => (SECOND, "s"),
        n if n >= MS.unsigned_abs() => (MS, "ms"),
        _ => (1_000, "us"),
    };
    let thousandths = ns / (unit / 1_000);
    let text = format!("{}.{:03}", thousandths / 1_000, (thousandths % 1_000).abs());
    format!("{} {name}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_have_the_unit_people_read() {
        let texts = [2_500 * 1_000_000, 115_000_000, 20_000, 1_000_000_000, 92_500_000_000].map(time);
        assert_eq!(texts, ["2.5 s", "115 ms", "20 us", "1 s", "92.5 s"]);
    }
}
