//! The verdict of a run.

mod attribution;
mod judge;
mod model;
mod say;
mod soak;

pub use judge::{Circumstances, counted_blocks, judge, overall, what_if};
pub use model::*;
pub use soak::{SoakRow, judge_soak};
