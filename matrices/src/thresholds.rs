//! What arms, soaks and comparisons are judged by, taken from the constants they use. It decides nothing.

use crate::compare::{FAIL_PERCENT, FLOOR_NS, WARN_PERCENT};
use crate::correlate::{LEVEL, MERGE_NS, SHIFTS};
use crate::plan::{Validity, usual_validity};
use crate::power::WANTED;
use crate::resume::LONG_PAUSE_NS;
use crate::soak::{INVALID_IN_A_ROW, INVALID_PERCENT};
use crate::validity::{DRAINS_OF_TEN, TORN_OF};
use wireproof_protocols::threshold::{Threshold, time};

macro_rules! thresholds {
    ($usual:ident; $($file:literal: $what:literal, [$($code:literal),+], $value:expr, $source:literal;)*) => {
        /// Every threshold of arms, runs, soaks and comparisons; those that a plan may set with their defaults.
        pub fn thresholds() -> Vec<Threshold> {
            let $usual: Validity = usual_validity();
            vec![$(Threshold {
                codes: &[$($code),+],
                what: $what,
                value: $value,
                source: $source,
                place: concat!("matrices/src/", $file),
            }),*]
        }
    };
}

thresholds! { usual;
    "validity.rs": "frame rate of a stream without a loss against `expected_fps`", ["fps_changed"],
        format!("{} % off (`fps_tolerance`)", percent(usual.fps_tolerance_ppm)),
        "own choice";
    "validity.rs": "clock of the device against the bench's over an arm, steps of the bench's clock",
        ["clock_unstable", "clock_unmapped"],
        format!("more than {} (`clock_step`)", ns(usual.clock_step_ns)), "own choice";
    "validity.rs": "torn frames in the ring of an arm", ["torn_frames"],
        format!("1 of {TORN_OF} frames"), "own choice";
    "validity.rs": "downloads done of those planned", ["too_few_drains"],
        format!("fewer than {DRAINS_OF_TEN} of 10"), "own choice";
    "runner/validity.rs": "the receive loop away (a note, no spoilt arm)", ["loop_stalled"],
        "more than half of what the receive buffer holds (`max_loop_gap`)".to_owned(),
        "beyond the whole of it datagrams are lost";
    "runner/start.rs": "how long the receive buffers hold", ["rmem_max"],
        format!("{} at least (`min_hold`)", ns(usual.min_hold_ns)), "waits of a busy host were up to 47 ms; with a reserve";
    "resume.rs": "pause of a resumed run that is told with the verdict", ["pause"],
        format!("more than {} min", LONG_PAUSE_NS / 60_000_000_000), "own choice";
    "power.rs": "chance that a device without any effect passes", ["power-low"],
        format!("less than {} %", (WANTED * 100.0).round()), "custom of power analysis";
    "correlate.rs": "losses and downloads that coincide: both tests", ["drops_vs_drains"],
        format!("probability below {LEVEL}; losses within {} are one episode; {SHIFTS} shifts", ns(MERGE_NS.unsigned_abs())),
        "RFC 3357, loss period";
    "soak.rs": "invalid chunks of a soak", ["soak"],
        format!("{INVALID_IN_A_ROW} in a row, or more than {INVALID_PERCENT} % at the end"), "own choice";
    "compare/mod.rs": "growth of a figure over its baseline", ["baseline"],
        format!("warning past {} %, failure past {} % and {}", WARN_PERCENT - 100, FAIL_PERCENT - 100,
            ns(FLOOR_NS.unsigned_abs())),
        "the rule of baselines (docs/baselines.md)";
}

fn ns(ns: u64) -> String {
    time(i64::try_from(ns).unwrap_or(i64::MAX))
}

/// Parts per million as percent.
fn percent(ppm: u64) -> String {
    let text = format!("{}.{:04}", ppm / 10_000, ppm % 10_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
