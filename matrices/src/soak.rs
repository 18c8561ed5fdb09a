//! A soak: trials until "it happens less often than this" has been shown, or until it happens.
//!
//! The number of trials is fixed beforehand by the asked rate (no event in n trials bounds the rate by 1 - alpha^(1/n)),
//! so looking at every chunk costs nothing: it ends at that number, or at the first event. It never counts a chunk in
//! which the bench lost something, and never passes over a loss that cannot be told. Its state is data and can be taken up
//! again; so is what of the evidence is kept on the disk.

mod course;
mod told;

pub use course::{GATE, METRICS, MOST_CHUNKS, NoSoak, chunk, chunks_expected, course, trials_expected};
pub use told::{Told, rule};

use crate::journal::DeviceId;
use crate::plan::profile::same_boot;
use crate::stats::{clopper_pearson, upper_bound};
use crate::verdict::Outcome;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// One part in a billion.
const PPB: f64 = 1e9;
/// Invalid chunks in a row after which the bench is not fit to go on.
pub(crate) const INVALID_IN_A_ROW: u32 = 5;
/// Invalid chunks of a hundred that a soak may have and still pass.
pub(crate) const INVALID_PERCENT: u64 = 10;

/// What is to be shown, frozen when it begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What is counted, such as `wire.lost`.
    pub metric: String,
    /// The rate to stay below, parts per billion: 10,000 for `1e-5`.
    pub rate_ppb: u64,
    /// One-sided error, ppm.
    pub alpha_ppm: u64,
    /// What is kept on the disk.
    pub disk: DiskPolicy,
}

/// What of the evidence stays on the disk. Totals of every chunk always do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskPolicy {
    /// Octets that whole chunks may take together.
    pub max_bytes: u64,
    /// Clean chunks kept whole: the last so many, which lie before an event when it comes.
    pub clean: u32,
    /// Invalid chunks kept whole: the last so many.
    pub invalid: u32,
}

impl Default for DiskPolicy {
    fn default() -> Self {
        Self { max_bytes: 2 << 30, clean: 2, invalid: 4 }
    }
}

/// A rule that cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// Not a rate.
    #[error("'{0}' is no rate: write it like 1e-5 or 0.00001, from 1e-9 up to below 1")]
    Rate(String),
    /// Not an error probability.
    #[error("alpha is {0} ppm: it must be above 0 and below 500000")]
    Alpha(u64),
    /// The state belongs to another rate.
    #[error("it was begun with the rate {0}, this is {1}")]
    OtherRate(String, String),
    /// The state belongs to another rule.
    #[error("the soak was begun with another rule or against another build: begin a new one")]
    Other,
}

impl Rule {
    /// Reads a rate such as `1e-5` or `0.00001`, exactly.
    ///
    /// # Errors
    /// [`RuleError::Rate`] for anything else, for more than nine decimals and outside of 1e-9 to below 1.
    pub fn rate(text: &str) -> Result<u64, RuleError> {
        let refused = || RuleError::Rate(text.chars().take(40).collect());
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, decimals) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{decimals}");
        let is_number =
            !digits.is_empty() && digits.len() <= 18 && digits.bytes().all(|b| b.is_ascii_digit());
        let exponent: i32 = exponent.parse().ok().filter(|e| (-18..=0).contains(e)).ok_or_else(refused)?;
        let shift = 9 + exponent - i32::try_from(decimals.len()).unwrap_or(i32::MAX);
        let number: u64 = digits.parse().ok().filter(|_| is_number).ok_or_else(refused)?;
        let ppb = match u32::try_from(shift) {
            Ok(up) => 10_u64.checked_pow(up).and_then(|factor| number.checked_mul(factor)),
            Err(_) => {
                let factor = 10_u64.checked_pow(shift.unsigned_abs());
                factor.filter(|factor| number.is_multiple_of(*factor)).map(|factor| number / factor)
            }
        };
        ppb.filter(|ppb| (1..1_000_000_000).contains(ppb)).ok_or_else(refused)
    }

    fn check(&self) -> Result<(), RuleError> {
        if !(1..1_000_000_000).contains(&self.rate_ppb) {
            return Err(RuleError::Rate(format!("{}e-9", self.rate_ppb)));
        }
        if self.alpha_ppm == 0 || self.alpha_ppm >= 500_000 {
            return Err(RuleError::Alpha(self.alpha_ppm));
        }
        Ok(())
    }

    /// How sure the bound is, such as `95 %`.
    pub fn confidence(&self) -> String {
        format!("{} %", 100.0 - self.alpha_ppm as f64 / 10_000.0)
    }

    fn alpha(&self) -> f64 {
        self.alpha_ppm as f64 / 1e6
    }

    /// Trials without an event that show the rate: the least n with 1 - alpha^(1/n) <= rate.
    pub fn trials_needed(&self) -> u64 {
        let rate = self.rate_ppb as f64 / PPB;
        let n = (self.alpha().ln() / (-rate).ln_1p()).ceil().max(1.0) as u64;
        let shows = |n: u64| upper_bound(0, n, self.alpha()) <= rate;
        match (shows(n), shows(n - 1)) {
            (true, true) if n > 1 => n - 1,
            (true, _) => n,
            _ => n + 1,
        }
    }
}

/// What one chunk of a soak measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// How often it could have happened.
    pub trials: u64,
    /// How often it did: bursts, of the device or the wire.
    pub events: u64,
    /// What cannot be told.
    pub ambiguous: u64,
    /// Why the chunk says nothing, such as `observer_lost`; empty: it counts.
    pub invalid: Vec<String>,
    /// Octets of its evidence.
    pub bytes: u64,
    /// The device that was measured.
    pub device: DeviceId,
    /// Time it took, ns.
    pub length_ns: u64,
}

/// A chunk whose evidence is on the disk whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// Its number, from 1.
    pub chunk: u64,
    /// Its octets.
    pub bytes: u64,
    /// Why it is kept.
    pub why: KeptFor,
}

/// Why a chunk is kept whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptFor {
    /// It is among the last clean ones.
    Clean,
    /// It is among the last invalid ones.
    Invalid,
    /// Something happened in it; never dropped.
    Event,
}

/// Where a soak stands: everything that is needed to take it up again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// The rule.
    pub rule: Rule,
    /// The device; `None` before the first chunk.
    pub device: Option<DeviceId>,
    /// Chunks so far.
    pub chunks: u64,
    /// Of them, invalid.
    pub invalid: u64,
    /// Invalid ones in a row.
    pub in_a_row: u32,
    /// Trials that count.
    pub trials: u64,
    /// Events.
    pub events: u64,
    /// What cannot be told.
    pub ambiguous: u64,
    /// Restarts of the device.
    pub restarts: u64,
    /// Time that counts, ns.
    pub length_ns: u64,
    /// Chunks whose evidence is on the disk whole, oldest first.
    pub kept: VecDeque<Kept>,
    /// How it ended.
    pub ended: Option<Ended>,
}

/// How a soak ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The rate was shown.
    Shown,
    /// It happened.
    Event,
    /// Something that cannot be told: no further trial could make it a pass.
    Ambiguous,
    /// Too many chunks say nothing.
    Invalid,
    /// Another build answered.
    OtherBuild,
    /// What has to be kept does not fit.
    DiskFull,
}

/// What to do after a chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct After {
    /// Chunks whose evidence is dropped down to its totals, by number.
    pub drop: Vec<u64>,
    /// True when it ended.
    pub over: bool,
}

/// A soak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Soak {
    state: State,
}

impl Soak {
    /// Begins one.
    ///
    /// # Errors
    /// [`RuleError`] for a rule that cannot be followed.
    pub fn new(rule: Rule) -> Result<Soak, RuleError> {
        rule.check()?;
        let state = State {
            rule,
            device: None,
            chunks: 0,
            invalid: 0,
            in_a_row: 0,
            trials: 0,
            events: 0,
            ambiguous: 0,
            restarts: 0,
            length_ns: 0,
            kept: VecDeque::new(),
            ended: None,
        };
        Ok(Soak { state })
    }

    /// Takes one up again. How much evidence is kept changes nothing of what was shown: it may be another bound, and a soak
    /// that ended for want of room goes on under a larger one.
    ///
    /// # Errors
    /// [`RuleError::OtherRate`] or [`RuleError::Other`] when the state was begun with another rule.
    pub fn resume(rule: &Rule, mut state: State) -> Result<Soak, RuleError> {
        rule.check()?;
        if state.rule.rate_ppb != rule.rate_ppb {
            return Err(RuleError::OtherRate(rate_text(state.rule.rate_ppb), rate_text(rule.rate_ppb)));
        }
        if state.rule != (Rule { disk: state.rule.disk, ..rule.clone() }) {
            return Err(RuleError::Other);
        }
        if state.ended == Some(Ended::DiskFull) && rule.disk.max_bytes > state.rule.disk.max_bytes {
            state.ended = None;
        }
        state.rule.disk = rule.disk;
        Ok(Soak { state })
    }

    /// Where it stands.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Trials that are still needed.
    pub fn trials_left(&self) -> u64 {
        self.state.rule.trials_needed().saturating_sub(self.state.trials)
    }

    /// Takes a chunk. Once it ended, further chunks change nothing and are dropped.
    pub fn take(&mut self, chunk: &Chunk) -> After {
        if self.state.ended.is_some() {
            return After { drop: Vec::new(), over: true };
        }
        self.state.chunks += 1;
        let same = self.recognise(&chunk.device);
        self.count(chunk, same);
        let why = match () {
            () if chunk.events + chunk.ambiguous > 0 => KeptFor::Event,
            () if self.state.in_a_row > 0 => KeptFor::Invalid,
            () => KeptFor::Clean,
        };
        self.state.kept.push_back(Kept { chunk: self.state.chunks, bytes: chunk.bytes, why });
        let drop = self.tidy();
        self.state.ended = self.end(chunk, same);
        After { drop, over: self.state.ended.is_some() }
    }

    /// Whether the same device answers; another boot of it is counted.
    fn recognise(&mut self, device: &DeviceId) -> Same {
        let same = match &self.state.device {
            None => Same::Yes,
            Some(known) if known.build != device.build => Same::OtherBuild,
            Some(known) if !same_boot(&known.boot_id, &device.boot_id) => Same::OtherBoot,
            Some(_) => Same::Yes,
        };
        if same == Same::OtherBoot {
            self.state.restarts += 1;
        }
        if same != Same::OtherBuild {
            self.state.device = Some(device.clone());
        }
        same
    }

    /// Events count in every chunk, with the trials they came from; clean trials only in valid ones.
    fn count(&mut self, chunk: &Chunk, same: Same) {
        let state = &mut self.state;
        if same == Same::OtherBuild {
            return;
        }
        state.events = state.events.saturating_add(chunk.events);
        state.ambiguous = state.ambiguous.saturating_add(chunk.ambiguous);
        let counts = chunk.invalid.is_empty() && same == Same::Yes;
        if counts || chunk.events > 0 {
            state.trials = state.trials.saturating_add(chunk.trials);
            state.length_ns = state.length_ns.saturating_add(chunk.length_ns);
        }
        if counts {
            state.in_a_row = 0;
        } else {
            state.invalid += 1;
            state.in_a_row += 1;
        }
    }

    fn end(&self, chunk: &Chunk, same: Same) -> Option<Ended> {
        let state = &self.state;
        let shown = state.trials >= state.rule.trials_needed();
        match () {
            () if same == Same::OtherBuild => Some(Ended::OtherBuild),
            () if chunk.events > 0 => Some(Ended::Event),
            () if chunk.ambiguous > 0 => Some(Ended::Ambiguous),
            () if state.in_a_row >= INVALID_IN_A_ROW => Some(Ended::Invalid),
            () if shown && state.invalid * 100 > state.chunks * INVALID_PERCENT => Some(Ended::Invalid),
            () if shown => Some(Ended::Shown),
            () if self.kept_bytes() > state.rule.disk.max_bytes => Some(Ended::DiskFull),
            () => None,
        }
    }

    fn kept_bytes(&self) -> u64 {
        self.state.kept.iter().fold(0, |sum, kept| sum.saturating_add(kept.bytes))
    }

    /// Drops evidence by the policy: first what is more than it wants, the oldest first, then what does not fit, clean
    /// chunks before invalid ones. The last chunk and those with events stay.
    fn tidy(&mut self) -> Vec<u64> {
        let policy = self.state.rule.disk;
        let mut dropped = Vec::new();
        for (why, most) in [(KeptFor::Clean, policy.clean), (KeptFor::Invalid, policy.invalid)] {
            while self.kept_for(why) > most as usize && self.drop_oldest(why, &mut dropped) {}
        }
        for why in [KeptFor::Clean, KeptFor::Invalid] {
            while self.kept_bytes() > policy.max_bytes && self.drop_oldest(why, &mut dropped) {}
        }
        dropped
    }

    fn kept_for(&self, why: KeptFor) -> usize {
        self.state.kept.iter().filter(|kept| kept.why == why).count()
    }

    fn drop_oldest(&mut self, why: KeptFor, dropped: &mut Vec<u64>) -> bool {
        let last = self.state.chunks;
        let oldest = self.state.kept.iter().position(|kept| kept.why == why && kept.chunk != last);
        let Some(kept) = oldest.and_then(|at| self.state.kept.remove(at)) else { return false };
        dropped.push(kept.chunk);
        true
    }

    /// What it shows so far.
    pub fn verdict(&self) -> SoakVerdict {
        let state = &self.state;
        let outcome = match state.ended {
            Some(Ended::Shown) => Outcome::Pass,
            Some(Ended::Event) => Outcome::Fail,
            Some(Ended::Ambiguous) => Outcome::Inconclusive,
            Some(Ended::Invalid | Ended::OtherBuild) => Outcome::Invalid,
            Some(Ended::DiskFull) | None => Outcome::Partial,
        };
        let (trials, events) = (state.trials.max(state.events), state.events);
        let upper = upper_bound(events, trials, state.rule.alpha());
        let interval = clopper_pearson(events, trials, state.rule.alpha());
        let up = |rate: f64| (rate * PPB).ceil() as u64;
        let interval_ppb = [(interval.0 * PPB).floor() as u64, up(interval.1)];
        let needed = state.rule.trials_needed();
        let one_in = (1.0 / upper).floor() as u64;
        SoakVerdict {
            outcome,
            trials: state.trials,
            needed,
            events,
            upper_ppb: up(upper),
            one_in,
            interval_ppb,
        }
    }

    /// The verdict in one sentence.
    pub fn sentence(&self) -> String {
        let (state, verdict) = (&self.state, self.verdict());
        let SoakVerdict { trials, needed, events, one_in, interval_ppb: [low, high], .. } = verdict;
        let sure = state.rule.confidence();
        let metric = &state.rule.metric;
        let said = match state.ended {
            Some(Ended::Event) => {
                let (low, high) = (rate_text(low), rate_text(high));
                format!("{metric}: {events} of {trials}: a rate of {low} to {high} with {sure}")
            }
            Some(Ended::Shown) => {
                format!("{metric}: 0 of {trials}: at most 1 in {one_in} with {sure}")
            }
            Some(Ended::Ambiguous) => {
                format!("{} of {metric} cannot be told: nothing is shown", state.ambiguous)
            }
            Some(Ended::Invalid) => {
                format!("{} of {} chunks say nothing: the bench is not fit", state.invalid, state.chunks)
            }
            Some(Ended::OtherBuild) => "another build answered: begin a new soak".to_owned(),
            Some(Ended::DiskFull) => {
                format!("what has to be kept does not fit after {trials} of {needed} trials")
            }
            None => format!(
                "{metric}: 0 of {trials} so far, {needed} are needed: at most 1 in {one_in} with {sure}"
            ),
        };
        match state.restarts {
            0 => said,
            n => format!("{said}; the device restarted {n} times"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Same {
    Yes,
    OtherBoot,
    OtherBuild,
}

/// A rate as a person writes it, from parts per billion: `1.4e-5`.
pub fn rate_text(ppb: u64) -> String {
    if ppb == 0 { "0".to_owned() } else { format!("{:e}", ppb as f64 / PPB) }
}

/// What a soak shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SoakVerdict {
    /// PASS: the rate was shown; FAIL: it happened; PARTIAL: it is not over.
    pub outcome: Outcome,
    /// Trials that count.
    pub trials: u64,
    /// Trials that are needed without an event.
    pub needed: u64,
    /// Events.
    pub events: u64,
    /// One-sided upper bound of the rate, parts per billion, rounded up.
    pub upper_ppb: u64,
    /// The same as one in so many, rounded down.
    pub one_in: u64,
    /// Two-sided interval of the rate (Clopper-Pearson), parts per billion, rounded outwards.
    pub interval_ppb: [u64; 2],
}
