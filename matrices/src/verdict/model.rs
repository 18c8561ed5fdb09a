//! The verdict as data: `wireproof.verdict/1`. Field order is the order of the JSON.
//!
//! It never decides anything; what decides is `judge` and the gates.

use super::SoakRow;
use crate::ladder::Envelope;
use crate::number::Number;
use crate::plan::{Class, Kind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name and version of the format.
pub const SCHEMA: &str = "wireproof.verdict/1";

/// What a run amounts to. Precedence: INVALID > PARTIAL > FAIL > INCONCLUSIVE > PASS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Every gate passes.
    Pass,
    /// A gate cannot decide.
    Inconclusive,
    /// A gate fails.
    Fail,
    /// Fewer than the planned blocks.
    Partial,
    /// The bench, not the device, spoiled the run.
    Invalid,
}

impl Outcome {
    /// The word in text formats.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Pass => "PASS",
            Outcome::Inconclusive => "INCONCLUSIVE",
            Outcome::Fail => "FAIL",
            Outcome::Partial => "PARTIAL",
            Outcome::Invalid => "INVALID",
        }
    }

    /// The process exit code.
    pub fn exit_code(self) -> u8 {
        match self {
            Outcome::Pass => 0,
            Outcome::Fail => 1,
            Outcome::Inconclusive => 3,
            Outcome::Invalid => 4,
            Outcome::Partial => 5,
        }
    }
}

/// What a gate, or one comparison of it, says. Ordered from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It is shown and decides nothing (`overhead`).
    Shown,
    /// It holds.
    Pass,
    /// The data cannot tell.
    Inconclusive,
    /// It is broken.
    Fail,
}

/// The point rule of the field: the difference of medians against the margin, nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SeedRule {
    /// The point difference is no more than the margin.
    Pass,
    /// It is more.
    Fail,
}

/// The unit of the figures of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Parts per million of the baseline.
    Ppm,
    /// A count.
    Count,
    /// Datagrams a second.
    PerSecond,
    /// Hundredths of a percentage point of a core.
    CpuHundredths,
}

impl Unit {
    /// A figure with its unit as a sentence says it: times in ms, CPU in points.
    pub(crate) fn said(self, value: f64) -> String {
        match self {
            Unit::Ns => format!("{:+.3} ms", value / 1e6),
            Unit::Ppm => format!("{value:+.0} ppm"),
            Unit::Count => format!("{value:+}"),
            Unit::PerSecond => format!("{value:+.3} /s"),
            Unit::CpuHundredths => format!("{:+.2} points", value / 100.0),
        }
    }
}

/// The verdict of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Name and version of the format.
    pub schema: String,
    /// What the run amounts to.
    pub verdict: Outcome,
    /// Why, most important first.
    pub reasons: Vec<String>,
    /// Name of the plan.
    pub name: String,
    /// Hash of the plan it was judged by.
    pub plan_sha256: String,
    /// Hash of its gates alone.
    pub gates_sha256: String,
    /// True when the hash was given before the run.
    pub pre_registered: bool,
    /// True when margins other than the frozen ones were tried; then nothing passes.
    pub exploratory: bool,
    /// What was changed for it.
    pub what_if: Vec<String>,
    /// This is run `attempt` ...
    pub attempt: u32,
    /// ... of `attempts` with this plan hash.
    pub attempts: u32,
    /// How often the run was taken up again.
    pub resumes: u32,
    /// Longest pause between two parts of it, ns.
    pub longest_pause_ns: u64,
    /// Blocks planned, over all strata.
    pub blocks_planned: u32,
    /// Complete blocks that were judged.
    pub blocks_complete: u32,
    /// Version of the program that judged.
    pub judged_by: String,
    /// How far a capacity ladder got; `None` of a plan without one.
    #[serde(default)]
    pub envelope: Option<Envelope>,
    /// Gates and diagnostics in the order of the plan.
    pub gates: Vec<GateResult>,
    /// Adjusted values of the gates that fail, when more than one does.
    pub holm: Vec<Adjusted>,
    /// Every attempt in run order.
    pub arms: Vec<ArmRow>,
    /// Who lost what.
    pub attribution: Attribution,
    /// Losses against downloads, from the correlation.
    pub drops_vs_drains: Option<serde_json::Value>,
    /// Invalid attempts.
    pub validity: ValidityRow,
    /// Things to know that decide nothing.
    pub findings: Vec<String>,
    /// One sentence on CPU for every `overhead` gate.
    pub cpu: Vec<String>,
    /// What the run does not show.
    pub limits: Vec<String>,
    /// What a soak showed; only of one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub soak: Option<SoakRow>,
}

impl Verdict {
    /// One line: the word, the reason, and what a reader has to know with it.
    pub fn line(&self) -> String {
        let mut line =
            if self.exploratory { "EXPLORATORY, not the frozen plan: ".to_owned() } else { String::new() };
        line.push_str(self.verdict.word());
        if let Some(reason) = self.reasons.first() {
            line.push_str(": ");
            line.push_str(reason);
        }
        let registered = if self.pre_registered { "yes" } else { "no" };
        line.push_str(&format!(" (attempt {}, pre-registered: {registered}", self.attempt_text()));
        if self.resumes > 1 || self.longest_pause_ns > LONG_PAUSE_NS {
            let minutes = self.longest_pause_ns / 60_000_000_000;
            line.push_str(&format!(", resumed {} times, longest pause {minutes} min", self.resumes));
        }
        line.push(')');
        line
    }

    /// `2 of 3`, of the runs of the plan that began; a run that was refused before is none of them.
    pub fn attempt_text(&self) -> String {
        match self.attempt {
            0 => format!("none of {}: it was refused before its first arm", self.attempts),
            attempt => format!("{attempt} of {}", self.attempts),
        }
    }
}

/// A pause longer than this stands in the verdict line.
const LONG_PAUSE_NS: u64 = 30 * 60 * 1_000_000_000;

/// What became of a gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateResult {
    /// Its name.
    pub id: String,
    /// Whether it decides.
    pub class: Class,
    /// What is measured.
    pub metric: String,
    /// The rule.
    pub kind: Kind,
    /// Unit of the figures.
    pub unit: Unit,
    /// The most it allows.
    pub margin: Option<Number>,
    /// One-sided error that was used, ppm.
    pub alpha_ppm: u64,
    /// Treatment minus baseline as the difference of medians of arms; of the deciding comparison.
    pub point: Option<Number>,
    /// Hodges-Lehmann estimate.
    pub hl: Option<Number>,
    /// Lower one-sided bound.
    pub bound_low: Option<Number>,
    /// Upper one-sided bound.
    pub bound_high: Option<Number>,
    /// What it says.
    pub verdict: Decision,
    /// Why: one word with underscores.
    pub reason: String,
    /// What the point rule alone would have said.
    pub seed_rule: Option<SeedRule>,
    /// What was decided beforehand for a breach; only with a breach.
    pub on_fail: Option<String>,
    /// One for each treatment against the baseline (and each stream).
    pub comparisons: Vec<Comparison>,
    /// Events and their bounds, of a `zero` gate.
    pub zero: Option<ZeroRow>,
    /// Strata and the sentence, of an `overhead` gate.
    pub overhead: Option<OverheadRow>,
    /// Drift of the arms over each stratum; the first comparison's series.
    pub drift: Vec<DriftRow>,
    /// Outliers among the arms, tagged and used.
    pub outliers: Vec<OutlierRow>,
}

/// One treatment against the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The treatment.
    pub treatment: String,
    /// The stream, for a metric of streams.
    pub stream: Option<String>,
    /// Pairs, or arms of a `ceiling`.
    pub pairs: u32,
    /// Treatment minus baseline, block by block.
    pub differences: Vec<Number>,
    /// Median of the baseline's arms.
    pub median_baseline: Option<Number>,
    /// Median of the treatment's arms.
    pub median_treatment: Option<Number>,
    /// Difference of the medians; over several strata, of the arms as they differ from their stratum's baseline.
    pub point: Option<Number>,
    /// Hodges-Lehmann estimate.
    pub hl: Option<Number>,
    /// Critical value; -1 without a finite bound.
    pub critical_t: i64,
    /// Lower one-sided bound.
    pub bound_low: Option<Number>,
    /// Upper one-sided bound.
    pub bound_high: Option<Number>,
    /// Exact one-sided probability of the data at the margin; only of gates that decide.
    pub p_fail: Option<Number>,
    /// Treatment arms beyond the baseline's median and the margin.
    pub arms_over: u32,
    /// True when so many are over that the treatment looks like two populations: 40 of 100 or more.
    pub arms_over_flagged: bool,
    /// What the point rule alone would have said.
    pub seed_rule: Option<SeedRule>,
    /// What it says.
    pub verdict: Decision,
    /// Why.
    pub reason: String,
    /// Each stratum's own estimate, never compared with one another.
    pub strata: Vec<StratumRow>,
    /// What it would say without severe outliers: not a verdict.
    pub without_severe_outliers: Option<String>,
}

/// A stratum's own estimate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StratumRow {
    /// The stratum, such as `preview-off`; `all` without one.
    pub stratum: String,
    /// Pairs.
    pub pairs: u32,
    /// Hodges-Lehmann estimate.
    pub hl: Option<Number>,
    /// Lower bound: one-sided for a gate, two-sided for `overhead`.
    pub bound_low: Option<Number>,
    /// Upper bound.
    pub bound_high: Option<Number>,
}

/// Events against trials.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ZeroRow {
    /// What happened and is the device's or the wire's: datagrams, frames.
    pub events: u64,
    /// The same as bursts: what the bounds count.
    pub episodes: u64,
    /// What cannot be told.
    pub ambiguous: u64,
    /// How often it could have happened.
    pub trials: u64,
    /// How often it must have been able to.
    pub min_trials: Option<u64>,
    /// One-sided 95 % upper bound of the rate, parts per billion, rounded up.
    pub upper_ppb: u64,
    /// Two-sided 95 % interval of the rate, parts per billion.
    pub interval_ppb: [u64; 2],
    /// The upper bound as one in so many, rounded down.
    pub one_in: u64,
    /// By arm, where anything happened.
    pub by_arm: BTreeMap<String, u64>,
}

/// Whether a difference of CPU may be called an overhead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverheadRow {
    /// Each stratum (and treatment).
    pub strata: Vec<StratumRow>,
    /// Whether it may be called so.
    pub usable: bool,
    /// Why not.
    pub reasons: Vec<String>,
    /// `overhead number` or `not usable as an overhead number`.
    pub text: String,
}

/// A trend of the arms in run order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriftRow {
    /// The stratum.
    pub stratum: String,
    /// Arms.
    pub arms: u32,
    /// Kendall's S.
    pub kendall_s: i64,
    /// Its exact two-sided probability.
    pub p: Number,
    /// Theil-Sen slope by arm.
    pub slope_per_arm: Number,
    /// Slope over all arms.
    pub total: Number,
    /// True when it is worth saying.
    pub reported: bool,
}

/// An arm outside the fences.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutlierRow {
    /// The arm.
    pub arm: String,
    /// Its value.
    pub value: Number,
    /// Beyond three quartile ranges, not only one and a half.
    pub severe: bool,
}

/// A gate's probability, adjusted for how many fail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Adjusted {
    /// The gate.
    pub id: String,
    /// Its own.
    pub p: Number,
    /// Adjusted.
    pub adjusted: Number,
}

/// One attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArmRow {
    /// Such as `b01-p1-raw-a1`.
    pub name: String,
    /// The stratum.
    pub stratum: String,
    /// Block, from 1.
    pub block: u32,
    /// Position, from 1.
    pub position: u32,
    /// The treatment.
    pub treatment: String,
    /// Attempt, from 1.
    pub attempt: u32,
    /// `ok`, `invalid` or `interrupted`.
    pub state: String,
    /// Why it is invalid.
    pub reasons: Vec<String>,
    /// Findings that do not spoil it.
    pub notes: Vec<String>,
    /// True when its values were judged.
    pub counted: bool,
    /// Metrics of the plan, a stream's as `wire.rate:sacn`.
    pub values: BTreeMap<String, Number>,
}

/// Missing datagrams by owner; `unknown` is the last two together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerRow {
    /// All.
    pub lost: u64,
    /// The device's own record says not sent.
    pub sender: u64,
    /// Lost or damaged behind the device.
    pub wire: u64,
    /// Lost by the bench.
    pub observer: u64,
    /// Upstream without a record, or ambiguous.
    pub unknown: u64,
    /// Certainly lost before the bench.
    pub upstream: u64,
    /// Not known whether lost.
    pub ambiguous: u64,
}

/// Who lost what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribution {
    /// In the arms that count.
    pub counted: OwnerRow,
    /// In all others; listed, judged by no gate.
    pub not_counted: OwnerRow,
    /// By stream, all arms.
    pub streams: BTreeMap<String, OwnerRow>,
    /// Every loss.
    pub losses: Vec<LossRow>,
    /// Losses that the list leaves out because it is long.
    pub losses_rest: u64,
}

/// A loss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossRow {
    /// The arm.
    pub arm: String,
    /// True when the arm counts.
    pub counted: bool,
    /// The stream.
    pub stream: String,
    /// Last datagram before, bench ns.
    pub start_ns: i64,
    /// First datagram after, bench ns.
    pub end_ns: i64,
    /// Missing and whose.
    pub owners: OwnerRow,
    /// The frame that began last before its middle, by the device's ring.
    pub near_frame: Option<u32>,
    /// From the start of the nearest download to its middle, ns.
    pub nearest_drain_lag_ns: Option<i64>,
}

/// Invalid attempts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValidityRow {
    /// By treatment.
    pub invalid_by_treatment: BTreeMap<String, u32>,
    /// Most that are repeated.
    pub max_invalid_repeats: u32,
    /// `none`, `repeat`, or `run invalid: ...`.
    pub rule: String,
    /// By reason.
    pub reasons: BTreeMap<String, u32>,
}
