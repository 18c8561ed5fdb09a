//! The parts of the bench of the offline path.

pub(crate) mod arms;
pub(crate) mod block;
pub(crate) mod captured;
pub(crate) mod decoding;
pub(crate) mod instructions;
pub(crate) mod options;
pub(crate) mod report;
pub(crate) mod traffic;

use std::error::Error;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;
