//! A capacity ladder: a factor is raised level by level until a gate fails, and the largest level that was shown to hold
//! is the envelope.
//!
//! It never states more than was shown: a step holds only when every deciding gate passes with its share of the error,
//! and nothing above the first step that does not hold is looked at. The error is shared out over all steps, so that the
//! envelope is too large at most as often as the plan's alpha says, whatever the steps have in common.

use crate::arm::Arm;
use crate::gate::{Block, Counted, judge};
use crate::levels::{Layout, Levels};
use crate::number::Number;
use crate::plan::{Class, Gate, Kind, Ladder, Plan, PlanStream};
use crate::stats::{critical_t, upper_bound};
use crate::verdict::{Decision, GateResult, Outcome, Unit, Verdict, counted_blocks};
use serde::{Deserialize, Serialize};

/// What a ladder showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// The factor that was raised.
    pub factor: String,
    /// The largest level that was shown to hold; `None` when not even the first was.
    pub largest: Option<u64>,
    /// Why it ended there.
    pub stop: Stop,
    /// One-sided error of the whole ladder, ppm.
    pub alpha_ppm: u64,
    /// That of each step, ppm.
    pub step_alpha_ppm: u64,
    /// The steps that were taken, the last of them the one that did not hold, if any.
    pub steps: Vec<StepRow>,
}

/// Why a ladder ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The last step holds: the device may carry more.
    Top,
    /// A gate failed at the next step.
    Failed,
    /// The next step was measured, and that it holds was not shown.
    NotShown,
    /// The next step was not measured whole.
    Unfinished,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepRow {
    /// Its level.
    pub level: u64,
    /// Arms that count.
    pub arms: u32,
    /// Its deciding gates, in the order of the plan.
    pub gates: Vec<StepGate>,
    /// What they say together.
    pub verdict: Decision,
    /// How long the device's ring kept its records at this load, ns: the least of the arms; `None` without a ring. A ring
    /// that was not full yet kept them at least that long.
    pub kept_ns: Option<u64>,
}

/// A gate at a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepGate {
    /// Its name.
    pub id: String,
    /// What is measured.
    pub metric: String,
    /// Unit of limit and point; of a `zero` gate its bound is parts per billion.
    pub unit: Unit,
    /// The most it allows; `None` of a `zero` gate.
    pub limit: Option<Number>,
    /// What was measured: the estimate over the arms, or the number of events.
    pub point: Option<Number>,
    /// Its upper bound with the step's error; of a `zero` gate that of the rate, parts per billion.
    pub bound: Option<Number>,
    /// What it says.
    pub verdict: Decision,
    /// Why: one word.
    pub reason: String,
}

impl Envelope {
    /// What the arms of a run show; `None` for a plan without a ladder.
    pub fn of(plan: &Plan, arms: &[Arm]) -> Option<Envelope> {
        let ladder = plan.ladder.as_ref()?;
        let layout = Layout::of(plan);
        let blocks = counted_blocks(plan, &layout, arms);
        let (mut steps, mut stop) = (Vec::new(), Stop::Top);
        for (number, level) in (0_u32..).zip(plan.rungs()) {
            let taken = blocks.iter().filter(|block| block.stratum == number).cloned().collect();
            let step = step(plan, &layout, level, taken);
            let ended = ended(&step, ladder);
            if step.arms > 0 {
                steps.push(step);
            }
            if let Some(why) = ended {
                stop = why;
                break;
            }
        }
        let holds = steps.iter().filter(|step| step.verdict == Decision::Pass);
        let largest = holds.map(|step| step.level).next_back();
        let (factor, alpha_ppm) = (ladder.factor.clone(), ladder.alpha_ppm);
        Some(Envelope {
            factor,
            largest,
            stop,
            alpha_ppm,
            step_alpha_ppm: step_alpha_ppm(plan, ladder),
            steps,
        })
    }

    /// What it means for the exit code: a ladder passes when its first step holds.
    pub fn decision(&self) -> Decision {
        match (self.largest, self.stop) {
            (Some(_), _) => Decision::Pass,
            (None, Stop::Failed) => Decision::Fail,
            _ => Decision::Inconclusive,
        }
    }

    /// Puts itself into the verdict of a run and gives that the ladder's word: steps above the one that ends it are not missing, and what fails there
    /// is the limit that was looked for. A spoiled or unfinished run keeps its own word, and what was tried with other
    /// margins never passes.
    pub fn decide(&self, verdict: &mut Verdict) {
        verdict.envelope = Some(self.clone());
        if verdict.verdict == Outcome::Invalid || self.stop == Stop::Unfinished {
            return;
        }
        verdict.verdict = match self.decision() {
            Decision::Pass if verdict.exploratory => Outcome::Inconclusive,
            Decision::Pass => Outcome::Pass,
            Decision::Fail => Outcome::Fail,
            Decision::Inconclusive | Decision::Shown => Outcome::Inconclusive,
        };
        verdict.reasons = vec![self.sentence()];
    }

    /// The envelope in one sentence, bounded as it is meant.
    pub fn sentence(&self) -> String {
        let percent = self.alpha_ppm as f64 / 10_000.0;
        let held = match self.largest {
            Some(level) => format!("{} up to {level} holds (error {percent} % over all steps)", self.factor),
            None => format!("no level of {} was shown to hold", self.factor),
        };
        format!("{held}; {}", self.why())
    }

    fn why(&self) -> String {
        let last = self.steps.iter().rev().find(|step| step.verdict != Decision::Pass);
        let named = |verdict: Decision| {
            let gates = last.iter().flat_map(|step| &step.gates).filter(|gate| gate.verdict == verdict);
            gates.map(|gate| gate.id.as_str()).collect::<Vec<_>>().join(", ")
        };
        let level = last.map_or(String::new(), |step| step.level.to_string());
        match self.stop {
            Stop::Top => "no higher step was planned".to_owned(),
            Stop::Failed => format!("at {level} {} failed", named(Decision::Fail)),
            Stop::NotShown => format!("at {level} {} was not shown to hold", named(Decision::Inconclusive)),
            Stop::Unfinished => "the next step was not measured whole".to_owned(),
        }
    }
}

/// The levels of the factor that is raised.
impl Plan {
    /// The levels of a ladder's factor, in the order of the plan; none without a ladder.
    pub fn rungs(&self) -> Vec<u64> {
        let named = |ladder: &Ladder| self.factor.iter().find(|factor| factor.name == ladder.factor);
        let factor = self.ladder.as_ref().and_then(named);
        factor
            .map(|factor| factor.levels.iter().filter_map(|level| level.parse().ok()).collect())
            .unwrap_or_default()
    }

    /// Whether the device is to send a stream at these levels. Without the ladder's level it is the lowest that counts:
    /// nobody knows yet where the device stands.
    pub fn sends(&self, stream: &PlanStream, levels: &Levels) -> bool {
        let Some(from) = stream.from_level else { return true };
        let level = self.ladder.as_ref().and_then(|ladder| levels.get(&ladder.factor)?.parse().ok());
        level.or(self.rungs().into_iter().min()).is_none_or(|level| level >= from)
    }
}

/// One-sided error of a step, ppm: an equal share, rounded down.
pub fn step_alpha_ppm(plan: &Plan, ladder: &Ladder) -> u64 {
    ladder.alpha_ppm / (plan.rungs().len() as u64).max(1)
}

/// Why the steps of a plan can never be shown to hold, with what would do; `None` when they can.
pub fn problem(plan: &Plan) -> Option<String> {
    let ladder = plan.ladder.as_ref()?;
    let alpha_ppm = step_alpha_ppm(plan, ladder);
    let bounded = plan.gate.iter().any(|gate| gate.class == Class::Gate && gate.kind == Kind::Ceiling);
    let decides = |arms: u32| critical_t(arms as usize, alpha_ppm).is_some();
    if !bounded || decides(ladder.arms_per_step) {
        return None;
    }
    let (arms, percent) = (ladder.arms_per_step, alpha_ppm as f64 / 10_000.0);
    let enough =
        (1..=64).find(|arms| decides(*arms)).map_or(String::new(), |enough| format!(": {enough} can"));
    Some(format!("{arms} arms a step cannot decide with {percent} % of error a step{enough}"))
}

/// Judges one step by the arms that count.
fn step(plan: &Plan, layout: &Layout, level: u64, blocks: Vec<Block<'_>>) -> StepRow {
    let alpha_ppm = plan.ladder.as_ref().map_or(0, |ladder| step_alpha_ppm(plan, ladder));
    let arms = blocks.len() as u32;
    let kept_ns = blocks.iter().flat_map(|block| block.arms.values()).filter_map(|arm| kept(arm)).min();
    let counted = Counted { plan, layout, blocks, attempts: &[] };
    let gates: Vec<StepGate> = plan
        .gate
        .iter()
        .filter(|gate| gate.class == Class::Gate)
        .map(|gate| at(&counted, gate, alpha_ppm))
        .collect();
    let says = |decision: Decision| gates.iter().any(|gate| gate.verdict == decision);
    let verdict = match () {
        () if says(Decision::Fail) => Decision::Fail,
        () if gates.is_empty() || gates.iter().any(|gate| gate.verdict != Decision::Pass) => {
            Decision::Inconclusive
        }
        () => Decision::Pass,
    };
    StepRow { level, arms, gates, verdict, kept_ns }
}

fn at(counted: &Counted<'_>, gate: &Gate, alpha_ppm: u64) -> StepGate {
    let shared = Gate { alpha_ppm: gate.alpha_ppm.min(alpha_ppm), ..gate.clone() };
    let GateResult { id, metric, unit, margin, point, hl, bound_high, verdict, reason, zero, .. } =
        judge(counted, &shared).result;
    let rate = zero.map(|row| {
        let rate = upper_bound(row.episodes, row.trials, shared.alpha_ppm as f64 / 1e6);
        Number((rate * 1e9).ceil())
    });
    StepGate {
        id,
        metric,
        unit,
        limit: margin,
        point: hl.or(point),
        bound: rate.or(bound_high),
        verdict,
        reason,
    }
}

/// How far back the collected ring of an arm reaches, ns.
fn kept(arm: &Arm) -> Option<u64> {
    let frames = &arm.measured.frames;
    let (first, last) = (frames.first()?, frames.last()?);
    u64::try_from(last.span.end_ns.saturating_sub(first.span.start_ns)).ok()
}

/// Why the ladder ends at a step, if it does.
fn ended(step: &StepRow, ladder: &Ladder) -> Option<Stop> {
    match step.verdict {
        Decision::Fail => Some(Stop::Failed),
        _ if step.arms < ladder.arms_per_step => Some(Stop::Unfinished),
        Decision::Pass => None,
        _ => Some(Stop::NotShown),
    }
}

/// Climbing while a run goes on: it takes the arms of a step as they come and says whether the next one is worth it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Climb {
    arms: Vec<Arm>,
}

impl Climb {
    /// Takes a valid arm; those of another step are forgotten.
    pub fn take(&mut self, arm: Arm) {
        self.arms.retain(|other| other.place.stratum == arm.place.stratum);
        self.arms.push(arm);
    }

    /// True when the step that was taken whole does not hold, so that the run ends there. A step of which arms were
    /// measured before an interruption is left to the analysis.
    pub fn is_over(&self, plan: &Plan) -> bool {
        let (Some(ladder), Some(first)) = (&plan.ladder, self.arms.first()) else { return false };
        let layout = Layout::of(plan);
        let blocks: Vec<Block<'_>> = counted_blocks(plan, &layout, &self.arms);
        let whole = blocks.len() as u64 == u64::from(ladder.arms_per_step);
        let level = plan.rungs().get(first.place.stratum as usize).copied().unwrap_or_default();
        whole && step(plan, &layout, level, blocks).verdict != Decision::Pass
    }
}
