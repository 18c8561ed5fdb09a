//! What the journal of a run can say: one kind of record for each thing that happened.

use crate::arm::Place;
use crate::digest::Digest;
use crate::soak::{Chunk, Rule};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the records; a journal of another version is refused.
pub const JOURNAL_VERSION: u32 = 1;

/// A state of the runner (experiments section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The plan is checked.
    Check,
    /// Its hash is fixed.
    Frozen,
    /// Device, streams, buffers and the positive control are tried.
    Preflight,
    /// The device runs until it is steady.
    Warmup,
    /// A level is set.
    Set,
    /// It is read back.
    Verify,
    /// The device settles.
    Settle,
    /// The window.
    Measure,
    /// The time behind the window.
    Guard,
    /// The ring is collected.
    Collect,
    /// The levels are read back again.
    Reverify,
    /// The arm is found valid or not.
    Judge,
    /// The levels of before the run are put back.
    Restore,
    /// The numbers are computed.
    Analyze,
    /// The bundle is closed.
    Sealed,
}

/// What became of an attempt at an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArmEnd {
    /// It counts.
    Ok,
    /// It says nothing about the device.
    Invalid,
    /// Stopped by a signal or an error.
    Interrupted,
}

/// A file that was written whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stored {
    /// Hash of its octets.
    pub sha256: Digest,
    /// Its octets.
    pub octets: u64,
}

/// Which device answered: a run goes on only against the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceId {
    /// Build of its software.
    pub build: String,
    /// Its boot.
    pub boot_id: String,
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "t", rename_all = "snake_case", deny_unknown_fields)]
pub enum Record {
    /// The first record, on the disk before the first datagram or request goes to the device.
    Plan {
        /// Hash of the plan; the chain starts from it, too.
        plan: Digest,
        /// Version of the journal.
        version: u32,
        /// Name of the plan.
        name: String,
        /// Where the device's web service is: one run for each target at a time.
        base_url: String,
        /// True when the hash was given beforehand.
        pre_registered: bool,
        /// Name and version of the program.
        tool: String,
        /// What a soak is to show; `None` of a matrix.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        soak: Option<Rule>,
    },
    /// What answered; written before anything is changed on it.
    Env {
        /// The device.
        device: DeviceId,
    },
    /// The value that a factor had before the run.
    ToggleOriginal {
        /// Factor.
        factor: String,
        /// Value, as the device wrote it.
        value: String,
    },
    /// A step of the runner is about to be taken.
    Intent {
        /// Step.
        step: Step,
        /// Arm, inside one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        arm: Option<Place>,
        /// What exactly, such as `profiler=on`.
        #[serde(skip_serializing_if = "String::is_empty", default)]
        what: String,
    },
    /// A step was taken.
    Result {
        /// Step.
        step: Step,
        /// Arm, inside one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        arm: Option<Place>,
        /// True when it went well.
        ok: bool,
        /// What came out, such as the reason of a failure.
        #[serde(skip_serializing_if = "String::is_empty", default)]
        what: String,
    },
    /// An attempt at an arm begins.
    ArmStart {
        /// Its place.
        arm: Place,
        /// Its treatment, such as `raw`.
        treatment: String,
    },
    /// An attempt at an arm ended, and its files lie on the disk.
    ArmEnd {
        /// Its place.
        arm: Place,
        /// What became of it.
        state: ArmEnd,
        /// Why it does not count.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        reasons: Vec<String>,
        /// Its files: path in the bundle to what lies there.
        files: BTreeMap<String, Stored>,
    },
    /// What an arm of a soak amounts to; it counts with the `arm_end` behind it.
    Chunk {
        /// Its place.
        arm: Place,
        /// Its totals.
        chunk: Chunk,
    },
    /// Files of a chunk are about to be deleted, to bound the disk; its totals stay.
    Dropped {
        /// Its place.
        arm: Place,
        /// Paths in the bundle.
        files: Vec<String>,
    },
    /// A file outside the arms lies on the disk.
    File {
        /// Path in the bundle.
        path: String,
        /// Hash of its octets.
        sha256: Digest,
        /// Its octets.
        octets: u64,
    },
    /// A block is repeated whole; what it has so far is kept as evidence and not used.
    BlockRepeated {
        /// Stratum, from 0.
        stratum: u32,
        /// Block within the stratum, from 1.
        block: u32,
        /// Why.
        why: String,
    },
    /// Something worth telling.
    Finding {
        /// `violation`, `warning` or `info`.
        severity: String,
        /// Arm, inside one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        arm: Option<Place>,
        /// Code, such as `toggle_drifted`.
        code: String,
        /// One sentence.
        text: String,
    },
    /// A signal or an error stopped the run.
    Interrupted {
        /// What did.
        why: String,
    },
    /// The run goes on after an interruption.
    Resumed {
        /// Octets of a torn last line that were cut off.
        dropped_octets: u64,
        /// The device that answers.
        device: DeviceId,
    },
    /// Factors have their values of before the run again, and were read back.
    Restored {
        /// The factors.
        factors: Vec<String>,
    },
    /// The last record: nothing is added, only the manifest.
    Sealed {
        /// `pass`, `fail`, `inconclusive`, `invalid` or `partial`.
        verdict: String,
    },
}

/// Names of the kinds, as they stand under `t`.
pub(super) const KINDS: [&str; 16] = [
    "plan",
    "env",
    "toggle_original",
    "intent",
    "result",
    "arm_start",
    "arm_end",
    "chunk",
    "dropped",
    "file",
    "block_repeated",
    "finding",
    "interrupted",
    "resumed",
    "restored",
    "sealed",
];
