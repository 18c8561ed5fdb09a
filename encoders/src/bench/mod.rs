//! Benches on identical input: arms in seeded randomized blocks, paired ratios, and the golden octets without
//! which no encoder is timed.
//!
//! [`run`] knows nothing of encoders: an arm is anything that does a number of iterations, and the clock is an
//! argument. Nothing here opens a socket, starts a thread or reads a clock of its own.

pub mod frame;
pub mod gate;
pub mod golden;
mod golden_declared;
mod order;
mod runner;
mod stats;
pub mod suite;

pub use runner::{Arm, Clock, Plan, RunError, Timings, run};
pub use stats::{Difference, Interval, LEAST_SAMPLES, Ratio, median, median_interval, quantile};
