//! Seeded A/B matrices: plans, order, the runner as a state machine, statistics, verdicts and correlation.
//!
//! Pure: time, files, network and randomness come in as arguments; the same data give the same bytes. The order uses its
//! own ChaCha8 keystream, no `rand` shuffle, because those are not stable across versions.

pub mod arm;
pub mod calibrate;
pub mod clock;
pub mod compare;
pub mod correlate;
pub mod digest;
pub mod gate;
#[cfg(test)]
mod golden;
pub mod journal;
pub mod ladder;
pub mod levels;
pub mod manifest;
pub mod metrics;
pub mod number;
pub mod order;
pub mod plan;
pub mod power;
pub mod resume;
pub mod runner;
pub mod simulated;
pub mod soak;
pub mod stats;
pub mod thresholds;
pub mod units;
pub mod validity;
pub mod verdict;
