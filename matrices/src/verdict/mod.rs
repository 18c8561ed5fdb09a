//! The verdict of a run.

mod model;

pub use model::*;
