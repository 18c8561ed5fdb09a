//! The statistics of a matrix: exact where a count exists, the same figures on every run.
//!
//! They know numbers only: no arms, no gates, no randomness, no normal approximation.

mod binomial;
mod exact;
mod fences;
mod holm;
mod rank;
mod signed;
mod trend;

pub use exact::{binomial_tail, clopper_pearson, trials_needed, upper_bound};
pub use fences::{Fences, fences};
pub use holm::holm;
pub use rank::{at, median, rank};
pub use signed::{Estimate, achieved, critical_t, estimate, signed_rank_p, walsh};
pub use trend::{kendall_p, kendall_s, theil_sen};
