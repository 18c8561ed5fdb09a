//! The plan of a matrix: its types, how it is read, frozen and checked. Everything in it is an integer, a word or a list;
//! there are no floats.

pub mod canonical;
mod error;
pub mod metric;
mod model;
mod read;
pub mod shape;

pub use error::{LockError, PlanError};
pub use model::*;
pub use read::MOST_TEXT;
