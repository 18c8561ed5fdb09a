//! What became of the alerts of a live run, for its record: they never change a verdict.

use serde::{Deserialize, Serialize};

/// Most failures whose words are kept.
pub const FAILURES_MAX: usize = 20;

/// Alerts of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alerts {
    /// Delivered: the command ended with 0, the server answered 2xx.
    pub delivered: u64,
    /// Tried in vain.
    pub failed: u64,
    /// Held back by the rate limits.
    pub suppressed: u64,
    /// Lost because too many waited, or the run was over.
    pub dropped: u64,
    /// What went wrong, the first few.
    pub failures: Vec<String>,
}

impl Alerts {
    /// The counts in words.
    pub fn words(&self) -> String {
        format!(
            "{} delivered, {} failed, {} held back by the rate limits, {} dropped",
            self.delivered, self.failed, self.suppressed, self.dropped
        )
    }
}
