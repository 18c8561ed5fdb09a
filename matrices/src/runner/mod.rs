//! The runner of a matrix as a state machine without input or output: it says what to do next and is told what came of it.
//!
//! It never opens a file or a socket and never reads a clock; see [`io`] for the contract with whoever executes it.

pub mod io;
pub mod record;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The order of a run: strata one after another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Strata in order; one without stratum factors.
    pub strata: Vec<Stratum>,
}

/// The order of a stratum.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stratum {
    /// Levels of its factors; empty without.
    pub levels: BTreeMap<String, String>,
    /// Its blocks.
    pub blocks: Vec<Block>,
}

/// The order of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Treatments in order, row-major over the treatment factors.
    pub treatments: Vec<u32>,
    /// Planned drains (and sham windows) of each of its arms, ns from the beginning of the window.
    pub drains_ns: Vec<u64>,
}
