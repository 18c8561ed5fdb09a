//! The verdict of a run.

mod attribution;
mod judge;
mod model;
mod say;

pub use judge::{Circumstances, counted_blocks, judge, overall, what_if};
pub use model::*;
