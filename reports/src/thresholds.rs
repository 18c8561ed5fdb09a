//! What reconciling and the comparison of two runs judge by, taken from the constants they use. It decides nothing.

use crate::compare_runs::{MOST_EXACT, NEEDED, RATE_PERCENT};
use crate::reconcile::{DRIFT_PPM, STEP_NS, TRAVEL_NS};
use wireproof_protocols::threshold::{Threshold, time};

/// Every threshold of this crate.
pub fn thresholds() -> Vec<Threshold> {
    let needed: Vec<String> = NEEDED.iter().map(|(name, count)| format!("{count} for {name}")).collect();
    vec![
        Threshold {
            codes: &["owners sender, wire"],
            what: "travel of a datagram from the sender's record to its arrival",
            value: format!("{} at most", time(TRAVEL_NS)),
            source: "own choice: a switched network takes less than 1 ms",
            place: "reports/src/reconcile/settle.rs",
        },
        Threshold {
            codes: &["owners sender, wire"],
            what: "clocks of device and observer that drift apart; readings further apart are of a clock that was set",
            value: format!("{DRIFT_PPM} ppm, and {}", time(i64::try_from(STEP_NS).unwrap_or(i64::MAX))),
            source: "both clocks slewed at 500 ppm",
            place: "reports/src/reconcile/clock.rs",
        },
        Threshold {
            codes: &["compare"],
            what: "datagrams a second of a stream in two runs that are still alike",
            value: format!("{RATE_PERCENT} % of the larger apart"),
            source: "own choice",
            place: "reports/src/compare_runs/figures.rs",
        },
        Threshold {
            codes: &["compare"],
            what: "intervals in both runs that a percentile needs",
            value: needed.join(", "),
            source: "20 values beyond the percentile, 10 at the last two",
            place: "reports/src/compare_runs/figures.rs",
        },
        Threshold {
            codes: &["compare"],
            what: "events up to which the interval of a rate is exact (Clopper-Pearson), Wilson's beyond",
            value: MOST_EXACT.to_string(),
            source: "they agree to about a thousandth there",
            place: "reports/src/compare_runs/figures.rs",
        },
    ]
}
