//! Drop evidence in a capture file: what the observing host's counters said, as a comment on a statistics block.
//!
//! `wireproof drops layer=socket port=5568 from=1700000000000000000 to=1700000000016000000 count=5`; without `port`
//! the counter counts for all ports. Instants are capture times in ns since 1970.

use wireproof_protocols::Timestamp;
use wireproof_protocols::verify::{DropLayer, HostDrops};

/// What the comment begins with.
const HEAD: &str = "wireproof drops ";
/// What the comment on a step of the clock begins with; `by` is in ns, negative when it was set back.
const STEP: &str = "wireproof clock-step ";

/// The drops as a comment.
pub fn comment(d: &HostDrops) -> String {
    let port = d.port.map_or_else(String::new, |port| format!(" port={port}"));
    format!("{HEAD}layer={}{port} from={} to={} count={}", d.layer.name(), d.from.0, d.to.0, d.count)
}

/// A step of the clock as a comment.
pub fn step_comment(by: i64) -> String {
    format!("{STEP}by={by}")
}

/// The step that a comment tells.
pub(super) fn parse_step(comment: &str) -> Option<i64> {
    comment.strip_prefix(STEP)?.strip_prefix("by=")?.parse().ok()
}

/// The drops that a comment tells; `None` when it is another comment, or lacks a part.
pub(super) fn parse(comment: &str) -> Option<HostDrops> {
    let mut words = comment.strip_prefix(HEAD)?.split_whitespace().filter_map(|word| word.split_once('='));
    let (mut layer, mut port, mut from, mut to, mut count) = (None, None, None, None, None);
    for (key, value) in words.by_ref().take(8) {
        match key {
            "layer" => layer = DropLayer::ALL.into_iter().find(|l| l.name() == value),
            "port" => port = Some(value.parse().ok()?),
            "from" => from = value.parse().ok(),
            "to" => to = value.parse().ok(),
            "count" => count = value.parse().ok(),
            _ => {}
        }
    }
    Some(HostDrops { layer: layer?, port, from: Timestamp(from?), to: Timestamp(to?), count: count? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for layer in DropLayer::ALL {
            for port in [None, Some(5568)] {
                let d =
                    HostDrops { layer, port, from: Timestamp(-5), to: Timestamp(1 << 60), count: u64::MAX };
                assert_eq!(parse(&comment(&d)), Some(d));
            }
        }
    }

    #[test]
    fn a_step_of_the_clock_is_read_back() {
        for by in [i64::MIN, -10_000_000_000, 1, i64::MAX] {
            assert_eq!(parse_step(&step_comment(by)), Some(by));
            assert_eq!(parse(&step_comment(by)), None);
        }
        assert_eq!(parse_step("wireproof clock-step by=x"), None);
    }

    #[test]
    fn other_comments_and_half_ones_tell_nothing() {
        let whole = "wireproof drops layer=ring from=1 to=2 count=3";
        assert!(parse(whole).is_some());
        let halves =
            ["", "drops", "wireproof drops", "wireproof drops layer=ring from=1 to=2", "wireproof: f0001"];
        for half in halves {
            assert_eq!(parse(half), None, "{half}");
        }
        for (good, bad) in [("ring", "moon"), ("from=1", "from=x"), ("count=3", "count=-3")] {
            assert_eq!(parse(&whole.replace(good, bad)), None);
        }
        assert_eq!(parse("wireproof drops layer=ring port=70000 from=1 to=2 count=3"), None);
    }
}
