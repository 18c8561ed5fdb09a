//! The plan of a matrix: its types. Everything in it is an integer, a word or a list; there are no floats.

mod model;

pub use model::*;
