//! The typed plan with every default filled in: what is hashed, kept in the bundle, run and judged.
//!
//! Durations are ns, ratios are parts per million. Field names carry the unit, and are those of the canonical form.

use super::profile::Profile;
use crate::units::{duration_text, ratio_text};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of the plan format: 1.
    pub schema: u32,
    /// Name, `[a-z0-9-]{1,40}`.
    pub name: String,
    /// Why it is run.
    pub purpose: String,
    /// The device under test.
    pub target: Target,
    /// Layouts of the declared protocols of streams.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub layout: Vec<PlanLayout>,
    /// Streams it sends.
    pub stream: Vec<PlanStream>,
    /// What is varied, and what is held.
    pub factor: Vec<Factor>,
    /// Blocks, seed and order.
    pub design: Design,
    /// Lengths of the parts of an arm.
    pub timing: Timing,
    /// Where the ring is, and downloads inside the window; `None` without a `drain` factor and without a gate on the ring.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub drain: Option<DrainPlan>,
    /// How factors are set.
    pub toggle: Vec<Toggle>,
    /// What is judged.
    pub gate: Vec<Gate>,
    /// When an arm says nothing.
    pub validity: Validity,
    /// What is kept.
    pub evidence: Evidence,
    /// A capacity ladder instead of treatments.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ladder: Option<Ladder>,
}

/// The device under test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Where its web service is.
    pub base_url: String,
    /// Where its status is read: a path.
    pub status: String,
    /// How the device is read, unless it is one of our own kind.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub profile: Option<Box<Profile>>,
    /// Name of the environment variable that holds the token, if it needs one; never the token.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub auth: Option<String>,
    /// Frames a second.
    pub expected_fps: u32,
    /// Values of its status that must hold before, and at every block: key to word or integer.
    pub require: BTreeMap<String, Word>,
}

/// A value of the device's status: a truth value, an integer or a word.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Word {
    /// True or false.
    Truth(bool),
    /// An integer.
    Integer(i64),
    /// A word.
    Text(String),
}

/// A layout: the whole text, so that a bundle can be judged where the file is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanLayout {
    /// Its name.
    pub name: String,
    /// The text of its file.
    pub text: String,
}

/// A stream the device sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanStream {
    /// Name in the plan and the report.
    pub id: String,
    /// `bigpacket`, `sacn`, `ddp`, `artnet`, or `layout:NAME` of a layout of the plan.
    pub protocol: String,
    /// Address and port listened to.
    pub listen: String,
    /// Address of the sender.
    pub source: String,
    /// Universes, such as `1-12`; empty without.
    pub universes: String,
    /// Datagrams of a frame.
    pub datagrams_per_frame: u32,
    /// Values of the sequence number.
    pub seq_modulus: u64,
    /// Of a ladder: the level from which on the device sends it; `None`: at every level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_level: Option<u64>,
}

/// What a factor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Randomized in blocks.
    Treatment,
    /// Hard to change: one level after another, never compared causally.
    Stratum,
    /// One level, set and verified.
    Fixed,
}

/// Something that is varied or held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    /// Name; `drain` is driven by the runner itself.
    pub name: String,
    /// Levels in declared order.
    pub levels: Vec<String>,
    /// The level others are compared with.
    pub baseline: String,
    /// What it is.
    pub role: Role,
}

/// Blocks, seed and order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// Blocks of each stratum.
    pub blocks: u32,
    /// Seed of the order, 0..2^63-1.
    pub seed: u64,
    /// Name of the order: `balanced-blocks-1`.
    pub order: String,
    /// Most invalid arms that are repeated.
    pub max_invalid_repeats: u32,
    /// Numbers of pairs at which the data may be looked at; empty: only at the end.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub looks: Vec<u32>,
}

/// Lengths of the parts of an arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Before the first arm.
    pub warmup_ns: u64,
    /// At least this long between the last verified toggle and the window.
    pub settle_ns: u64,
    /// The window.
    pub measure_ns: u64,
    /// Cut off both ends of the window for frames.
    pub guard_ns: u64,
    /// Longest that an arm may take until its window begins.
    pub arm_deadline_ns: u64,
}

/// What is kept of a download inside a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// Its header and hash.
    Hash,
    /// All of it.
    All,
}

/// Downloads inside the window of arms whose `drain` level is not the baseline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrainPlan {
    /// Path of the raw ring; empty of a device without a recorder.
    pub url: String,
    /// Levels that download something else: level to path (such as the on-device conversion).
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub paths: BTreeMap<String, String>,
    /// Planned starts from the beginning of the window; empty where rings are only collected after it.
    pub offsets_ns: Vec<u64>,
    /// Most that a start is moved by, in whole us.
    pub jitter_ns: u64,
    /// Added to the end of a drain when losses are laid against it.
    pub tail_ns: u64,
    /// Longest that a download may take.
    pub timeout_ns: u64,
    /// Octets of a raw ring.
    pub expect_bytes: u64,
    /// What is kept.
    pub keep: Keep,
}

/// An action on the device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Action {
    /// HTTP method; `None` for a program.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub http: Option<String>,
    /// Path; `{level}` stands for the level.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<String>,
    /// Body; `{level}` stands for the level.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub body: Option<String>,
    /// Program and arguments, without a shell; `{level}` stands for the level.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub argv: Option<Vec<String>>,
    /// True: `argv` is one line for `sh -c`.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub shell: bool,
    /// What stands for a level in `{level}`, where it is not the level's own name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub words: BTreeMap<String, String>,
}

/// A read that shows whether a level holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// How it is read.
    pub read: Action,
    /// JSON pointer into the answer; empty: the whole answer, trimmed.
    pub pointer: String,
    /// Level to the value that shows it.
    pub equals: BTreeMap<String, Word>,
}

/// What a level must visibly do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// JSON pointer of the status to a counter; `/ring_ordinal` for the key `ring_ordinal`.
    pub counter: String,
    /// Level to `advances` or `still`.
    pub expect: BTreeMap<String, Motion>,
    /// How long it is watched.
    pub within_ns: u64,
    /// Steps a second that count as advancing.
    pub at_least_per_s: u32,
}

/// Motion of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Motion {
    /// It moves.
    Advances,
    /// It does not.
    Still,
}

/// How a factor is set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Toggle {
    /// Factor.
    pub factor: String,
    /// Sets a level.
    pub set: Action,
    /// Reads it back, by another way than the answer of the set.
    pub verify: Check,
    /// What it must do.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub effect: Option<Effect>,
    /// `original`, or the level that is left behind.
    pub restore: String,
    /// Longest that the level may take to hold.
    pub timeout_ns: u64,
    /// How often it is set again.
    pub retries: u32,
    /// How long the device holds a level unless it is set again; `{lease_ms}` in the set stands for it. `None`: for good.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lease_ns: Option<u64>,
}

/// Whether a gate decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// It decides.
    Gate,
    /// It is shown.
    Diagnostic,
}

/// The rule of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The treatment is no worse by more than the margin.
    NonInferiority,
    /// It differs by no more than the margin, either way.
    Equivalence,
    /// It never happens.
    Zero,
    /// Arm values stay below a constant.
    Ceiling,
    /// An overhead in points, shown when usable.
    Overhead,
}

/// The most a gate allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Margin {
    /// Of a time.
    #[serde(rename = "margin_ns")]
    Ns(u64),
    /// Of a ratio.
    #[serde(rename = "margin_ppm")]
    Ppm(u64),
    /// Of a number.
    #[serde(rename = "margin_count")]
    Count(u64),
}

/// As a plan writes it.
impl fmt::Display for Margin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Margin::Ns(ns) => f.write_str(&duration_text(*ns)),
            Margin::Ppm(ppm) => f.write_str(&ratio_text(*ppm)),
            Margin::Count(count) => write!(f, "{count}"),
        }
    }
}

/// Something that is judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// Name.
    pub id: String,
    /// Whether it decides.
    pub class: Class,
    /// What is measured, such as `frame.p95`.
    pub metric: String,
    /// The rule.
    pub kind: Kind,
    /// The most it allows; `None` for `zero` and `overhead`.
    #[serde(flatten, skip_serializing_if = "Option::is_none", default)]
    pub margin: Option<Margin>,
    /// One-sided error.
    pub alpha_ppm: u64,
    /// Pairs needed before it can decide.
    pub min_pairs: u32,
    /// Frames an arm needs.
    pub min_frames: u32,
    /// Trials needed before no event is a pass.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub min_trials: Option<u64>,
    /// `less` (more is worse) or `more`.
    pub direction: Direction,
    /// The only physically possible sign of an overhead, `+` or `-`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expected_sign: Option<String>,
    /// Arms it looks at: factor to level; empty: all.
    #[serde(rename = "where")]
    pub selector: BTreeMap<String, String>,
    /// What is done when it fails, decided beforehand.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub on_fail: Option<String>,
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Less is better.
    Less,
    /// More is better.
    More,
}

/// When an arm says nothing about the device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Validity {
    /// Longest loop gap; `None`: half of the hold time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_loop_gap_ns: Option<u64>,
    /// How far the frame rate may be off.
    pub fps_tolerance_ppm: u64,
    /// Shortest hold time of a socket.
    pub min_hold_ns: u64,
    /// A change of a clock beyond this is a step.
    pub clock_step_ns: u64,
}

/// How much of the wire is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pcap {
    /// The tape only.
    None,
    /// Headers.
    Headers,
    /// Everything.
    Full,
}

/// What is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Folder of the bundles.
    pub dir: String,
    /// Captures.
    pub pcap: Pcap,
    /// Free space that must be left, octets.
    pub min_free_bytes: u64,
}

/// A capacity ladder: a number is raised step by step until a gate fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ladder {
    /// Factor whose levels are the steps (decimal numbers, rising).
    pub factor: String,
    /// Confirming arms at each step.
    pub arms_per_step: u32,
    /// One-sided error of the whole ladder.
    pub alpha_ppm: u64,
}
