//! The runner of a matrix as a state machine without input or output: it says what to do next and is told what came of it.
//!
//! It never opens a file or a socket and never reads a clock; see [`io`] for the contract with whoever executes it.

pub mod io;

use crate::journal::Record;
use crate::plan::Plan;
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

/// What a run starts from.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// The plan, frozen.
    pub plan: Plan,
    /// Its order.
    pub schedule: Schedule,
    /// The first record, [`Record::Plan`].
    pub first: Record,
    /// Path of the bundle, for the restore command.
    pub bundle: String,
}
