//! From arms to a verdict. The same plan, arms and circumstances give the same bytes.
//!
//! Only complete blocks of valid last attempts count. The bench's own losses never make a FAIL, and a run that was cut
//! short or tried with other margins never makes a PASS.

use super::attribution::attribution;
use super::say;
use super::{Adjusted, ArmRow, Decision, Outcome, SCHEMA, ValidityRow, Verdict};
use crate::arm::{Arm, ArmState};
use crate::gate::{self, Block, Counted, Judged, decides, run_order, series_name};
use crate::levels::Layout;
use crate::metrics::{Metric, read};
use crate::number::Number;
use crate::plan::profile::unshown;
use crate::plan::{Margin, Plan};
use crate::stats::holm;
use crate::validity::{Repeats, reasons, repeats};
use std::collections::{BTreeMap, BTreeSet};

/// What a verdict needs to know besides plan and arms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Circumstances {
    /// Hash of the plan.
    pub plan_sha256: String,
    /// Hash of its gates alone.
    pub gates_sha256: String,
    /// True when the hash was given before the run.
    pub pre_registered: bool,
    /// This is run `attempt`, from 1 ...
    pub attempt: u32,
    /// ... of `attempts` with this plan hash.
    pub attempts: u32,
    /// How often the run was taken up again.
    pub resumes: u32,
    /// Longest pause between two parts of it, ns.
    pub longest_pause_ns: u64,
    /// Why the run was cut short, if it was.
    pub aborted: Option<String>,
    /// What spoils the run as a whole, such as `build_changed`.
    pub run_invalid: Vec<String>,
    /// Margins that were changed to see what they would do; see [`what_if`].
    pub what_if: Vec<String>,
    /// Losses against downloads.
    pub drops_vs_drains: Option<serde_json::Value>,
    /// Version of the program that judges.
    pub judged_by: String,
}

/// The plan with another margin for some gates, and what was changed; `None` names the first unknown gate. A verdict by
/// such a plan is exploratory: pass the list on in [`Circumstances::what_if`].
pub fn what_if(plan: &Plan, margins: &[(String, Margin)]) -> Result<(Plan, Vec<String>), String> {
    let (mut changed, mut list) = (plan.clone(), Vec::new());
    for (id, margin) in margins {
        let found = changed.gate.iter_mut().find(|gate| gate.id == *id);
        let gate = found.ok_or_else(|| format!("no gate is called {id}: name one of the plan"))?;
        let frozen = gate.margin.map_or_else(|| "none".to_owned(), |frozen| frozen.to_string());
        list.push(format!("{id}: {margin} instead of {frozen}"));
        gate.margin = Some(*margin);
    }
    Ok((changed, list))
}

/// The word of a set of deciding gates: exit code included in [`Outcome`].
pub fn overall(gates: &[Decision], invalid: bool, partial: bool) -> Outcome {
    let worst = gates.iter().copied().max().unwrap_or(Decision::Inconclusive);
    match worst {
        _ if invalid => Outcome::Invalid,
        _ if partial => Outcome::Partial,
        Decision::Fail => Outcome::Fail,
        Decision::Pass => Outcome::Pass,
        Decision::Inconclusive | Decision::Shown => Outcome::Inconclusive,
    }
}

/// Judges a run.
pub fn judge(plan: &Plan, arms: &[Arm], circumstances: &Circumstances) -> Verdict {
    let layout = Layout::of(plan);
    let run = Run::of(plan, &layout, arms);
    let exploratory = !circumstances.what_if.is_empty();
    let counted = Counted { plan, layout: &layout, blocks: run.blocks.clone(), attempts: arms };
    let mut judged: Vec<Judged> = plan.gate.iter().map(|gate| gate::judge(&counted, gate)).collect();
    if exploratory {
        judged.iter_mut().for_each(no_pass);
    }
    let deciding: Vec<Decision> =
        judged.iter().filter(|one| decides(&one.result)).map(|one| one.result.verdict).collect();
    let planned = plan.design.blocks.saturating_mul(u32::try_from(layout.strata.len()).unwrap_or(u32::MAX));
    let complete = u32::try_from(run.blocks.len()).unwrap_or(u32::MAX);
    let stopped = circumstances.aborted.is_some() || !run.enough(plan, planned, &deciding);
    let spoiled = matches!(run.rule, Repeats::Cluster(_) | Repeats::TooMany);
    let invalid = spoiled || !circumstances.run_invalid.is_empty();
    let outcome = overall(&deciding, invalid, stopped);
    let mut verdict = Verdict {
        schema: SCHEMA.to_owned(),
        verdict: outcome,
        reasons: Vec::new(),
        name: plan.name.clone(),
        plan_sha256: circumstances.plan_sha256.clone(),
        gates_sha256: circumstances.gates_sha256.clone(),
        pre_registered: circumstances.pre_registered,
        exploratory,
        what_if: circumstances.what_if.clone(),
        attempt: circumstances.attempt,
        attempts: circumstances.attempts,
        resumes: circumstances.resumes,
        longest_pause_ns: circumstances.longest_pause_ns,
        blocks_planned: planned,
        blocks_complete: complete,
        judged_by: circumstances.judged_by.clone(),
        envelope: None,
        holm: adjusted(&judged),
        arms: run.rows(plan, &layout, &judged),
        attribution: attribution(&layout, &run.arms, &run.counted),
        drops_vs_drains: circumstances.drops_vs_drains.clone(),
        validity: run.validity(plan),
        findings: Vec::new(),
        cpu: Vec::new(),
        limits: Vec::new(),
        soak: None,
        gates: judged.into_iter().map(|one| one.result).collect(),
    };
    verdict.reasons = say::reasons(&verdict, circumstances, invalid, stopped);
    verdict.findings = say::findings(&verdict);
    verdict.findings.extend(unshown(plan).into_iter().map(|(code, text)| format!("{code}: {text}")));
    verdict.cpu = say::cpu(&verdict);
    verdict.limits = say::limits(&verdict, layout.strata.len());
    verdict
}

/// What is tried with other margins passes nothing.
fn no_pass(judged: &mut Judged) {
    let result = &mut judged.result;
    let words = result.comparisons.iter_mut().map(|row| (&mut row.verdict, &mut row.reason));
    for (verdict, reason) in words.chain([(&mut result.verdict, &mut result.reason)]) {
        if *verdict == Decision::Pass {
            *verdict = Decision::Inconclusive;
            *reason = format!("exploratory:{reason}");
        }
    }
}

/// Adjusted probabilities when more than one gate fails by a comparison.
fn adjusted(judged: &[Judged]) -> Vec<Adjusted> {
    let failing = judged.iter().filter(|one| decides(&one.result) && one.result.verdict == Decision::Fail);
    let p = |one: &Judged| {
        let rows = one.result.comparisons.iter().filter(|row| row.verdict == Decision::Fail);
        rows.filter_map(|row| row.p_fail).map(|Number(p)| p).min_by(f64::total_cmp)
    };
    let gates: Vec<(String, f64)> =
        failing.filter_map(|one| Some((one.result.id.clone(), p(one)?))).collect();
    if gates.len() < 2 {
        return Vec::new();
    }
    let values: Vec<f64> = gates.iter().map(|(_, p)| *p).collect();
    let rows = gates.into_iter().zip(holm(&values));
    rows.map(|((id, p), adjusted)| Adjusted { id, p: Number(p), adjusted: Number(adjusted) }).collect()
}

/// The attempts of a run in their order, and which of them count.
struct Run<'a> {
    arms: Vec<&'a Arm>,
    reasons: Vec<Vec<String>>,
    counted: BTreeSet<usize>,
    blocks: Vec<Block<'a>>,
    invalid: BTreeMap<String, u32>,
    rule: Repeats,
}

impl<'a> Run<'a> {
    fn of(plan: &Plan, layout: &Layout, arms: &'a [Arm]) -> Self {
        let mut arms: Vec<&Arm> = arms.iter().collect();
        arms.sort_by_key(|arm| run_order(arm));
        let reasons: Vec<Vec<String>> = arms.iter().map(|arm| reasons(plan, arm)).collect();
        let mut invalid: BTreeMap<String, u32> = layout.names.iter().map(|name| (name.clone(), 0)).collect();
        for (arm, why) in arms.iter().zip(&reasons) {
            if !why.is_empty() && arm.state != ArmState::Interrupted {
                *invalid.entry(layout.treatment(arm.place.treatment).to_owned()).or_default() += 1;
            }
        }
        let rule = repeats(&invalid, plan.design.max_invalid_repeats);
        let (blocks, counted) = complete_blocks(plan, layout, &arms, &reasons);
        Run { arms, reasons, counted, blocks, invalid, rule }
    }

    /// True when all planned blocks are there, or a planned look decides.
    fn enough(&self, plan: &Plan, planned: u32, deciding: &[Decision]) -> bool {
        let blocks = self.blocks.len();
        let look = plan.design.looks.iter().any(|look| usize::try_from(*look) == Ok(blocks));
        let decided = !deciding.is_empty()
            && (deciding.contains(&Decision::Fail) || deciding.iter().all(|one| *one == Decision::Pass));
        usize::try_from(planned) == Ok(blocks) || (look && decided)
    }

    fn validity(&self, plan: &Plan) -> ValidityRow {
        let mut by_reason = BTreeMap::new();
        let invalid =
            self.arms.iter().zip(&self.reasons).filter(|(arm, _)| arm.state != ArmState::Interrupted);
        for reason in invalid.flat_map(|(_, why)| why) {
            *by_reason.entry(reason.clone()).or_default() += 1;
        }
        ValidityRow {
            invalid_by_treatment: self.invalid.clone(),
            max_invalid_repeats: plan.design.max_invalid_repeats,
            rule: self.rule.to_string(),
            reasons: by_reason,
        }
    }

    fn rows(&self, plan: &Plan, layout: &Layout, judged: &[Judged]) -> Vec<ArmRow> {
        let mut values: BTreeMap<_, BTreeMap<String, Number>> = BTreeMap::new();
        for (place, series, value) in judged.iter().flat_map(|one| &one.values) {
            values.entry(place.clone()).or_default().insert(series.clone(), *value);
        }
        let row = |(index, arm): (usize, &&Arm)| {
            let counted = self.counted.contains(&index);
            let own = values.remove(&arm.place);
            ArmRow {
                name: layout.arm_name(arm),
                stratum: layout.stratum(arm.place.stratum).to_owned(),
                block: arm.place.block,
                position: arm.place.position,
                treatment: layout.treatment(arm.place.treatment).to_owned(),
                attempt: arm.place.attempt,
                state: state(arm, &self.reasons[index]).to_owned(),
                reasons: self.reasons[index].clone(),
                notes: arm.notes.clone(),
                counted,
                values: if counted { own.unwrap_or_default() } else { unjudged(plan, arm) },
            }
        };
        self.arms.iter().enumerate().map(row).collect()
    }
}

fn state(arm: &Arm, reasons: &[String]) -> &'static str {
    match arm.state {
        ArmState::Interrupted => "interrupted",
        _ if reasons.is_empty() => "ok",
        _ => "invalid",
    }
}

/// Values of an arm that no gate looked at: kept as evidence.
fn unjudged(plan: &Plan, arm: &Arm) -> BTreeMap<String, Number> {
    let mut values = BTreeMap::new();
    for gate in &plan.gate {
        let Some(metric) = Metric::parse(&gate.metric) else { continue };
        for (stream, reading) in read(&metric, plan, arm, None) {
            values.insert(series_name(&gate.metric, stream.as_deref()), Number(reading.value()));
        }
    }
    values
}

/// The blocks of a run that count: complete, and of valid last attempts.
pub fn counted_blocks<'a>(plan: &Plan, layout: &Layout, arms: &'a [Arm]) -> Vec<Block<'a>> {
    Run::of(plan, layout, arms).blocks
}

/// Blocks in which the last attempt of every treatment is valid, and the indices of their arms.
fn complete_blocks<'a>(
    plan: &Plan,
    layout: &Layout,
    arms: &[&'a Arm],
    reasons: &[Vec<String>],
) -> (Vec<Block<'a>>, BTreeSet<usize>) {
    let mut last: BTreeMap<(u32, u32), BTreeMap<u32, usize>> = BTreeMap::new();
    for (index, arm) in arms.iter().enumerate() {
        // In run order, so that a later attempt replaces an earlier one.
        last.entry((arm.place.stratum, arm.place.block)).or_default().insert(arm.place.treatment, index);
    }
    let (mut blocks, mut counted) = (Vec::new(), BTreeSet::new());
    for ((stratum, block), treatments) in last {
        let planned = (1..=plan.design.blocks).contains(&block)
            && usize::try_from(stratum).is_ok_and(|stratum| stratum < layout.strata.len());
        let all = treatments.len() == layout.treatments.len();
        if planned && all && treatments.values().all(|index| reasons[*index].is_empty()) {
            counted.extend(treatments.values().copied());
            let arms = treatments.into_iter().map(|(treatment, index)| (treatment, arms[index])).collect();
            blocks.push(Block { stratum, block, arms });
        }
    }
    (blocks, counted)
}
