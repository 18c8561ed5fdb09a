//! A device profile: how another controller's status, clock, recorder and switches are read in the words of a plan.
//!
//! It is read once, with the plan, and becomes a part of it: the plan's hash covers every path and pointer. Nothing here
//! asks a device.

mod boot;
mod builtin;
mod gives;
mod read;
mod shape;

pub use boot::{same_boot, up_since};
pub use builtin::{BUILTIN, Builtin, OWN};
pub use gives::{Given, given, lacking, unshown};
pub(super) use read::resolve;
pub(super) use shape::check_resolved as check;

use super::{Plan, Toggle, Word};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Octets of an answer that are kept unless the profile says otherwise.
pub const ANSWER_BYTES: u64 = 64 * 1024;

/// A device profile with every default filled in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Version of the profile format: 1.
    pub schema: u32,
    /// Name, `[a-z0-9-]{1,40}`.
    pub name: String,
    /// How the token is sent.
    pub auth: Auth,
    /// Most octets of an answer; a longer one is refused.
    pub answer_bytes: u64,
    /// Where the status is, and what it calls things.
    pub status: StatusMap,
    /// How its clock is read.
    pub clock: ClockMap,
    /// Its recorder.
    pub ring: RingMap,
    /// Switches that a plan may use by the name of their factor; of a plan that was read none is left here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub toggle: Vec<Toggle>,
}

/// How the token of `target.auth` is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Auth {
    /// `Authorization: Bearer TOKEN` (RFC 6750).
    Bearer,
    /// The token alone in a header of this name.
    Header {
        /// Name of the header, in small letters.
        name: String,
    },
    /// Nothing is sent.
    None,
}

/// A unit of a number in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
    /// Frames a second.
    Fps,
    /// Frames in a thousand seconds.
    Mfps,
}

impl Unit {
    /// One of it in ns; of a rate in frames in a thousand seconds.
    pub fn scale(self) -> u64 {
        match self {
            Unit::Ns | Unit::Mfps => 1,
            Unit::Us | Unit::Fps => 1_000,
            Unit::Ms => 1_000_000,
            Unit::S => 1_000_000_000,
        }
    }
}

/// A place in an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Path of the document.
    pub path: String,
    /// JSON pointer (RFC 6901) into it.
    pub pointer: String,
    /// What a number there counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// Their word to ours; words that are not in it stay as they are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub map: BTreeMap<String, Word>,
}

/// Where the status is, and what it calls things.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatusMap {
    /// Path of the document that is meant where no other is named.
    pub path: String,
    /// Build of its software.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Source>,
    /// A word that is another one after each start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<Source>,
    /// Time since it was started: tells a restart where there is no such word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uptime: Option<Source>,
    /// Generation of its ring.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<Source>,
    /// Flags of throttling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<Source>,
    /// Processor time used so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Source>,
    /// Frames a second by its own account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fps: Option<Source>,
    /// Values that `require` may name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Source>,
    /// Counters that the effect of a switch may name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, Source>,
}

/// How its clock is read: the one that its ring is stamped by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ClockMap {
    /// It is not told.
    None,
    /// Headers of every answer: when the question was there, and when the answer went out.
    Headers {
        /// Name of the first.
        received: String,
        /// Name of the second.
        sent: String,
        /// What they count.
        unit: Unit,
    },
    /// A number in a document, read between question and answer.
    Value {
        /// Where.
        source: Source,
    },
}

/// Its recorder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "layout", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RingMap {
    /// There is none.
    None,
    /// Layout 2: stamped copies, counts and checksums.
    V2 {
        /// Path of the raw copy.
        path: String,
        /// Octets of it.
        bytes: u64,
    },
    /// Layout 1: no stamps, and an order of fields that has to be declared.
    V1 {
        /// Path of the raw copy.
        path: String,
        /// Octets of it.
        bytes: u64,
        /// Name of a built-in map; empty when `fields` is given.
        map: String,
        /// A map of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fields: Option<Box<RingFields>>,
        /// Names of stages: `frame.range(A,B)` needs them.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        stages: BTreeMap<String, u16>,
    },
}

impl RingMap {
    /// Path and octets of the raw copy.
    pub fn copy(&self) -> Option<(&str, u64)> {
        match self {
            RingMap::None => None,
            RingMap::V2 { path, bytes } | RingMap::V1 { path, bytes, .. } => Some((path, *bytes)),
        }
    }
}

/// Where the fields of a ring of layout 1 lie: octets of header and record, and a first octet and length for each field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RingFields {
    /// First octets of the file, if they are known.
    pub magic: Option<String>,
    /// Octets of the header.
    pub header: u64,
    /// Octets of a record.
    pub record: u64,
    /// Octet of the published position in the header.
    pub visible: u64,
    /// Octet of the generation.
    pub generation: Option<u64>,
    /// Octet of the header's sequence, odd while it is written.
    pub seq: Option<u64>,
    /// Octet of the capacity.
    pub capacity: Option<u64>,
    /// `start`, `end`, `frame`, `stage`, `device`, `proto`, `flags`, `aux`: first octet and length.
    pub fields: BTreeMap<String, (u64, u64)>,
    /// Octet of a record's commit word.
    pub commit: u64,
    /// A commit word is its ordinal plus this.
    pub commit_bias: u64,
    /// Stage of the record that ends a frame.
    pub complete_stage: u64,
    /// Frame id of records that belong to no frame.
    pub no_frame: u64,
}

/// Fields of a record of layout 1 with the most octets each may have.
pub const RECORD_FIELDS: [(&str, u64); 8] = [
    ("start", 8),
    ("end", 8),
    ("frame", 8),
    ("stage", 2),
    ("device", 2),
    ("proto", 8),
    ("flags", 2),
    ("aux", 8),
];

impl Plan {
    /// The profile, unless the device is one of our own kind.
    pub fn profile(&self) -> Option<&Profile> {
        self.target.profile.as_deref()
    }

    /// True when a ring is collected after each window.
    pub fn has_ring(&self) -> bool {
        self.drain.is_some() && self.profile().is_none_or(|profile| profile.ring != RingMap::None)
    }

    /// True when the device tells its clock.
    pub fn has_clock(&self) -> bool {
        self.profile().is_none_or(|profile| profile.clock != ClockMap::None)
    }

    /// True when the ring says what was sent and when it was copied: without it nobody tells a sender's loss from the
    /// wire's.
    pub fn has_stamps(&self) -> bool {
        self.profile().is_none_or(|profile| !matches!(profile.ring, RingMap::V1 { .. }))
    }

    /// Octets of the ring that an arm keeps.
    pub fn ring_bytes(&self) -> u64 {
        let kept = self.drain.as_ref().filter(|_| self.has_ring());
        kept.map_or(0, |drain| drain.expect_bytes)
    }
}
