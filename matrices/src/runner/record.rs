//! What the runner writes to the journal: one record before each transition and one after it.
//!
//! It never formats or chains lines; the journal does.

use super::io::{ArmOrder, Ending, Failure, Preflight, Status};
use crate::arm::{ArmState, Place};
use crate::plan::{Plan, Word};
use serde::{Deserialize, Serialize};

/// A record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "record")]
pub enum Record {
    /// First of all: the plan.
    Plan {
        /// It.
        plan: Box<Plan>,
    },
    /// A cut run goes on.
    Resumed {
        /// How often it was resumed, this time included.
        times: u32,
    },
    /// Checks before the start are going to be made.
    Preflight,
    /// What they found, and why it does not start (empty: it does).
    Checked {
        /// What was found.
        preflight: Box<Preflight>,
        /// Why not.
        refused: Vec<String>,
    },
    /// The device's status, at the start and at every block.
    Status {
        /// It.
        status: Box<Status>,
    },
    /// What a factor stood at before it was touched.
    ToggleOriginal {
        /// Factor.
        factor: String,
        /// Level.
        level: Option<String>,
        /// Value as read.
        value: Word,
    },
    /// A factor is going to be set.
    ToggleSet {
        /// Factor.
        factor: String,
        /// Level.
        level: String,
    },
    /// It was set and verified.
    ToggleVerified {
        /// Factor.
        factor: String,
        /// Level.
        level: String,
    },
    /// It could not be set.
    ToggleFailed {
        /// Factor.
        factor: String,
        /// Level.
        level: String,
        /// Why.
        why: String,
    },
    /// Warm-up is going to begin.
    WarmupStarted {
        /// Length, ns.
        length_ns: u64,
    },
    /// It ended.
    WarmupEnded {
        /// True when rate or frame time still moved.
        trending: bool,
    },
    /// An arm is going to begin, before anything is set for it.
    ArmStarted {
        /// What it will be.
        order: Box<ArmOrder>,
    },
    /// Its window is going to open.
    WindowOpening {
        /// Which arm.
        place: Place,
    },
    /// Its window was closed.
    WindowClosed {
        /// Which arm.
        place: Place,
    },
    /// The ring is going to be downloaded.
    Collecting {
        /// Which arm.
        place: Place,
        /// 1, or 2 for the retry.
        attempt: u32,
    },
    /// An arm is over and its files are on disk.
    ArmEnded {
        /// Which.
        place: Place,
        /// What became of it.
        #[serde(flatten)]
        state: ArmState,
        /// Findings that do not spoil it.
        notes: Vec<String>,
    },
    /// A block is repeated whole; its finished arms are not used.
    BlockRepeated {
        /// Stratum.
        stratum: u32,
        /// Block.
        block: u32,
        /// Why.
        why: String,
    },
    /// Something that is told and does not stop the run.
    Note {
        /// It.
        text: String,
    },
    /// Something stops the run.
    Stopping {
        /// Why.
        why: String,
    },
    /// A factor is going to be put back.
    RestoreStarted {
        /// Factor.
        factor: String,
        /// Level.
        level: String,
    },
    /// It was put back and verified.
    Restored {
        /// Factor.
        factor: String,
        /// Level.
        level: String,
    },
    /// It could not be put back.
    RestoreFailed {
        /// Factor.
        factor: String,
        /// Level.
        level: String,
        /// Why.
        why: Failure,
    },
    /// The bundle is going to be sealed.
    Sealing {
        /// How the run ended.
        ending: Ending,
    },
}
