//! The verdict of a soak: the machine's word in the place of the gates', with what lies beside it from the arms that are
//! still there whole.
//!
//! It never judges by fewer chunks than the journal tells of, and an interrupted soak never passes.

use super::{Circumstances, Decision, GateResult, Outcome, OwnerRow, Verdict, ZeroRow};
use super::{judge, say};
use crate::arm::Arm;
use crate::number::Number;
use crate::plan::Plan;
use crate::plan::profile::unshown;
use crate::soak::{Ended, GATE, SoakVerdict, Told, rate_text};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a soak was to show and how far it got: totals over all of its chunks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SoakRow {
    /// What is counted, such as `wire.lost`.
    pub metric: String,
    /// The asked rate, parts per billion.
    pub rate_ppb: u64,
    /// One-sided error, ppm.
    pub alpha_ppm: u64,
    /// Clean trials that are needed.
    pub trials_needed: u64,
    /// Trials that count: frames.
    pub trials: u64,
    /// Bursts of what is counted, of the device or the wire.
    pub events: u64,
    /// What cannot be told.
    pub ambiguous: u64,
    /// One-sided upper bound of the rate, parts per billion, rounded up.
    pub upper_ppb: u64,
    /// The bound as one in so many, rounded down.
    pub one_in: u64,
    /// Two-sided interval of the rate, parts per billion, rounded outwards.
    pub interval_ppb: [u64; 2],
    /// Chunks.
    pub chunks: u64,
    /// Of them, those that say nothing.
    pub chunks_invalid: u64,
    /// Of them, those of which only the totals are kept.
    pub chunks_dropped: u64,
    /// Restarts of the device.
    pub restarts: u64,
    /// Time that counts, ns.
    pub length_ns: u64,
    /// How it ended; `None`: it is not over.
    pub ended: Option<Ended>,
}

/// Judges a soak. `course` is the plan its chunks were run by, `arms` those whose evidence is there.
pub fn judge_soak(course: &Plan, arms: &[Arm], told: &Told, circumstances: &Circumstances) -> Verdict {
    let mut verdict = judge(course, arms, circumstances);
    let soak = told.soak.verdict();
    verdict.verdict = outcome(&verdict, soak.outcome, circumstances);
    verdict.blocks_planned = count(told.soak.state().chunks);
    verdict.blocks_complete = count(told.soak.state().chunks - told.soak.state().invalid);
    validity(&mut verdict, told);
    if let Some(gate) = verdict.gates.iter_mut().find(|gate| gate.id == GATE) {
        decide(gate, told, &soak, verdict.exploratory);
    }
    verdict.reasons = reasons(&verdict, told, circumstances);
    verdict.findings = say::findings(&verdict);
    verdict.findings.extend(unshown(course).into_iter().map(|(code, text)| format!("{code}: {text}")));
    if !told.dropped.is_empty() {
        verdict.findings.push(dropped(told));
    }
    verdict.limits = say::limits(&verdict, 1);
    verdict.soak = Some(row(told, &soak));
    verdict
}

/// INVALID > PARTIAL > what the machine says.
fn outcome(verdict: &Verdict, machine: Outcome, circumstances: &Circumstances) -> Outcome {
    match machine {
        _ if !circumstances.run_invalid.is_empty() => Outcome::Invalid,
        Outcome::Invalid => Outcome::Invalid,
        _ if circumstances.aborted.is_some() => Outcome::Partial,
        Outcome::Pass if verdict.exploratory => Outcome::Inconclusive,
        other => other,
    }
}

fn count(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Invalid chunks by reason: all of them, whether their evidence is there or not.
fn validity(verdict: &mut Verdict, told: &Told) {
    let row = &mut verdict.validity;
    let mut reasons: BTreeMap<String, u32> = BTreeMap::new();
    for (_, chunk) in &told.chunks {
        chunk.invalid.iter().for_each(|reason| *reasons.entry(reason.clone()).or_default() += 1);
    }
    let state = told.soak.state();
    row.reasons = reasons;
    row.invalid_by_treatment.values_mut().for_each(|invalid| *invalid = count(state.invalid));
    row.max_invalid_repeats = 0;
    row.rule = match state.invalid {
        0 => "none".to_owned(),
        n => format!("{n} of {} chunks say nothing and do not count", state.chunks),
    };
}

/// The only gate, from the totals of every chunk.
fn decide(gate: &mut GateResult, told: &Told, soak: &SoakVerdict, exploratory: bool) {
    let state = told.soak.state();
    let (decision, reason) = match state.ended {
        Some(Ended::Shown) if exploratory => (Decision::Inconclusive, "exploratory:no_events"),
        Some(Ended::Shown) => (Decision::Pass, "no_events"),
        Some(Ended::Event) => (Decision::Fail, "events"),
        Some(Ended::Ambiguous) => (Decision::Inconclusive, "ambiguous_events"),
        Some(Ended::Invalid) => (Decision::Inconclusive, "too_many_invalid_chunks"),
        Some(Ended::OtherBuild) => (Decision::Inconclusive, "another_build"),
        Some(Ended::DiskFull) | None => (Decision::Inconclusive, "too_few_trials"),
    };
    gate.verdict = decision;
    gate.reason = reason.to_owned();
    gate.point = Some(Number(state.events as f64));
    let by_arm = gate.zero.take().map(|zero| zero.by_arm).unwrap_or_default();
    gate.zero = Some(ZeroRow {
        events: state.events,
        episodes: state.events,
        ambiguous: state.ambiguous,
        trials: soak.trials,
        min_trials: Some(soak.needed),
        upper_ppb: soak.upper_ppb,
        interval_ppb: soak.interval_ppb,
        one_in: soak.one_in,
        by_arm,
    });
}

fn reasons(verdict: &Verdict, told: &Told, circumstances: &Circumstances) -> Vec<String> {
    let mut all = circumstances.run_invalid.clone();
    let asked = rate_text(told.soak.state().rule.rate_ppb);
    all.push(format!("{} (asked: below {asked})", told.soak.sentence()));
    if told.soak.state().events > 0 {
        all.extend(owners(verdict));
    }
    all.extend(circumstances.aborted.clone());
    all
}

/// Whose the losses are, where datagrams were lost.
fn owners(verdict: &Verdict) -> Option<String> {
    let (counted, other) = (verdict.attribution.counted, verdict.attribution.not_counted);
    let of = |field: fn(&OwnerRow) -> u64| field(&counted).saturating_add(field(&other));
    let (lost, all) = (
        of(|row| row.lost),
        [
            ("sender", of(|row| row.sender)),
            ("wire", of(|row| row.wire)),
            ("unknown", of(|row| row.unknown)),
            ("observer", of(|row| row.observer)),
        ],
    );
    let list: Vec<String> =
        all.iter().filter(|(_, n)| *n > 0).map(|(owner, n)| format!("{owner} {n}")).collect();
    (lost > 0).then(|| format!("{lost} datagrams lost, owner: {}", list.join(", ")))
}

fn dropped(told: &Told) -> String {
    let (n, all) = (told.dropped.len(), told.chunks.len());
    format!("of {n} of {all} chunks only the totals are kept: what they measured cannot be made again")
}

fn row(told: &Told, soak: &SoakVerdict) -> SoakRow {
    let state = told.soak.state();
    SoakRow {
        metric: state.rule.metric.clone(),
        rate_ppb: state.rule.rate_ppb,
        alpha_ppm: state.rule.alpha_ppm,
        trials_needed: soak.needed,
        trials: soak.trials,
        events: state.events,
        ambiguous: state.ambiguous,
        upper_ppb: soak.upper_ppb,
        one_in: soak.one_in,
        interval_ppb: soak.interval_ppb,
        chunks: state.chunks,
        chunks_invalid: state.invalid,
        chunks_dropped: told.dropped.len() as u64,
        restarts: state.restarts,
        length_ns: state.length_ns,
        ended: state.ended,
    }
}
