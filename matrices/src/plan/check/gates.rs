//! Checks of what is judged: is there anything to compare, are there enough pairs, frames and trials, is there a ring.

use super::super::metric::{Metric, metric};
use super::super::profile::lacking;
use super::super::{Class, Gate, Kind, Motion, Plan, Word};
use super::drains::AGAIN;
use super::{Remarks, arms, compared, compares, expected_frames, seen};
use crate::gate::decides_on_frames;
use crate::units::ratio_text;

/// Fewest pairs that are advised.
const ADVISED_PAIRS: u32 = 6;
/// Frames below which a percentile of 99 has no finite upper bound of 97.5 % within one arm.
const FEW_FRAMES: u64 = 368;
/// Most looks whose error was simulated.
const MOST_LOOKS: usize = 2;

pub(super) fn check(plan: &Plan, remarks: &mut Remarks) {
    if !plan.gate.iter().any(|gate| gate.class == Class::Gate) {
        remarks.warning(
            "no-gate",
            "plan",
            "no [[gate]] of class gate: nothing decides, so nothing can pass or fail",
        );
    }
    for gate in &plan.gate {
        let Some(measured) = metric(&gate.metric) else { continue };
        let one = One { plan, gate, measured, table: format!("gate {}", gate.id) };
        one.selector(remarks);
        one.rule(remarks);
        one.lacking(remarks);
        one.ring(remarks);
        one.pairs(remarks);
        one.frames(remarks);
        one.trials(remarks);
    }
    looks(plan, remarks);
}

fn looks(plan: &Plan, remarks: &mut Remarks) {
    let looks = &plan.design.looks;
    if looks.len() > MOST_LOOKS {
        let text = "more than two looks: the error of so many was never worked out, take [half, all] or none";
        remarks.error("looks-many", "design", text);
    }
    let needed = plan.gate.iter().filter(|gate| gate.class == Class::Gate && compares(gate.kind));
    let needed = needed.map(|gate| gate.min_pairs).max().unwrap_or(0);
    if looks.first().is_some_and(|first| *first < needed) {
        let text = format!("the first look comes before the {needed} pairs that a gate needs: look later");
        remarks.error("looks-early", "design", text);
    }
}

/// Levels that leave the device without a ring: factor and level.
pub(super) fn ring_off(plan: &Plan) -> Vec<(&str, &str)> {
    let mut off = Vec::new();
    for factor in &plan.factor {
        let toggle = plan.toggle.iter().find(|toggle| toggle.factor == factor.name);
        for level in &factor.levels {
            let named =
                factor.name == "profiler" && ["off", "0", "false", "disabled"].contains(&level.as_str());
            let shown = factor.name == "profiler"
                && toggle.is_some_and(|toggle| toggle.verify.equals.get(level) == Some(&Word::Truth(false)));
            let still = toggle.and_then(|toggle| toggle.effect.as_ref()).is_some_and(|effect| {
                (effect.counter.contains("ring") || effect.counter.contains("ordinal"))
                    && effect.expect.get(level) == Some(&Motion::Still)
            });
            if named || shown || still {
                off.push((factor.name.as_str(), level.as_str()));
            }
        }
    }
    off
}

/// One gate and what it measures.
struct One<'p> {
    plan: &'p Plan,
    gate: &'p Gate,
    measured: Metric,
    table: String,
}

impl One<'_> {
    fn decides(&self) -> bool {
        self.gate.class == Class::Gate
    }

    fn selector(&self, remarks: &mut Remarks) {
        for (name, level) in &self.gate.selector {
            let factor = self.plan.factor.iter().find(|factor| factor.name == *name);
            if factor.is_none_or(|factor| !factor.levels.contains(level)) {
                remarks.error(
                    "where-unknown",
                    &self.table,
                    format!("where: {name} = {level} is no factor and level"),
                );
            }
        }
    }

    fn rule(&self, remarks: &mut Remarks) {
        if self.gate.kind == Kind::Overhead && self.decides() {
            let text = "an overhead never passes or fails: class = \"diagnostic\"";
            remarks.error("overhead-gate", &self.table, text);
        }
        if (compares(self.gate.kind) || self.gate.kind == Kind::Overhead) && !compared(self.plan, self.gate) {
            let text = "compares, and no treatment factor has two levels in the arms it looks at: vary one, or use \
                 kind = \"ceiling\" or \"zero\"";
            self.heavy("nothing-compared", text.to_owned(), remarks);
        }
        let drained = |level: &&str| {
            self.plan
                .factor
                .iter()
                .any(|factor| factor.name == "drain" && factor.baseline != **level && *level != AGAIN)
        };
        if self.measured.in_drain && !seen(self.plan, self.gate, "drain").iter().any(drained) {
            let text = "looks at frames during drains, and no arm it looks at drains: add the factor drain";
            self.heavy("no-drain", text.to_owned(), remarks);
        }
        if self.gate.metric.starts_with("wire.") && self.plan.stream.is_empty() {
            remarks.error("no-stream", &self.table, "judges the wire, and the plan names no [[stream]]");
        }
    }

    /// An error of a gate that decides, a warning of one that is only shown.
    fn heavy(&self, code: &'static str, text: String, remarks: &mut Remarks) {
        match self.decides() {
            true => remarks.error(code, &self.table, text),
            false => remarks.warning(code, &self.table, text),
        }
    }

    /// The device does not give what the metric is made of.
    fn lacking(&self, remarks: &mut Remarks) {
        let (Some(why), Some(profile)) = (lacking(self.plan, &self.gate.metric), self.plan.profile()) else {
            return;
        };
        let (metric, name) = (&self.gate.metric, &profile.name);
        let text = match self.decides() {
            true => format!("{metric} cannot be had of {name}: {why}; judge the wire, or leave it out"),
            false => format!("{metric} is not shown of {name}: {why}"),
        };
        self.heavy("profile-lacks", text, remarks);
    }

    /// A device whose profiler is off has no ring.
    fn ring(&self, remarks: &mut Remarks) {
        if !self.measured.ring || lacking(self.plan, &self.gate.metric).is_some() {
            return;
        }
        if self.plan.drain.is_none() {
            let text = "is read from the ring that is collected after each window, and nothing says where that is: add \
                 [drain] url = \"/v1/ring/raw\"";
            self.heavy("ring-path-missing", text.to_owned(), remarks);
        }
        for (factor, level) in ring_off(self.plan) {
            if seen(self.plan, self.gate, factor).contains(&level) {
                let text = format!(
                    "{} comes from the ring, and with {factor} = {level} there is none: exclude those arms with \
                     where = {{ {factor} = \"…\" }}, or judge the wire",
                    self.gate.metric
                );
                self.heavy("ring-off", text, remarks);
            }
        }
    }

    fn pairs(&self, remarks: &mut Remarks) {
        let (gate, blocks) = (self.gate, self.plan.design.blocks);
        let bounded = compares(gate.kind) || gate.kind == Kind::Ceiling;
        if !bounded {
            return;
        }
        // The smallest possible error of n signed ranks is 2^-n.
        let alpha = self.alpha_ppm();
        let bound = (1..=63u32).find(|n| u128::from(alpha) << n >= 1_000_000).unwrap_or(63);
        if self.decides() && blocks < gate.min_pairs {
            let text = format!(
                "needs {} pairs, {blocks} blocks give {blocks}: add blocks, or class = \"diagnostic\"",
                gate.min_pairs
            );
            remarks.error("blocks-few", &self.table, text);
        } else if self.decides() && blocks < bound {
            let alpha = ratio_text(alpha);
            let text = format!("no {blocks} pairs can decide at {alpha}, {bound} can: add blocks");
            remarks.error("pairs-no-bound", &self.table, text);
        } else if self.decides() && gate.min_pairs < ADVISED_PAIRS {
            let text = format!("min_pairs below {ADVISED_PAIRS} lets a single arm decide");
            remarks.warning("pairs-few", &self.table, text);
        } else if !self.decides() && blocks < bound {
            let text = format!("{blocks} pairs give no bound, it is shown without one");
            remarks.note("pairs-no-bound", &self.table, text);
        }
    }

    fn frames(&self, remarks: &mut Remarks) {
        let (frames, gate) = (expected_frames(self.plan), self.gate);
        // An arm is asked for frames only by gates that decide on them.
        if !decides_on_frames(gate) {
            return;
        }
        if u64::from(gate.min_frames) > frames {
            let text = format!(
                "needs {} frames and an arm has about {frames}: every arm would be invalid, lengthen measure or lower \
                 min_frames",
                gate.min_frames
            );
            remarks.error("frames-few", &self.table, text);
        }
        let tail = self.measured.percentile == Some(9900) && compares(gate.kind);
        if tail && frames < FEW_FRAMES {
            let text = format!(
                "{frames} frames are few for a p99: with 299 its gate passes a device without effect only 74-88 % of \
                 the time, with 900 98 %: measure 15s"
            );
            remarks.warning("p99-few-frames", &self.table, text);
        }
    }

    /// The error it may make at one look: in a ladder no more than an equal share of each step.
    fn alpha_ppm(&self) -> u64 {
        let share = self.plan.ladder.as_ref().map(|ladder| ladder.alpha_ppm / self.steps());
        share.unwrap_or(u64::MAX).min(crate::gate::alpha_ppm(self.gate, &self.plan.design))
    }

    /// Steps of a ladder, each of which is judged by itself; 1 without.
    fn steps(&self) -> u64 {
        let climbed =
            self.plan.ladder.as_ref().map(|ladder| seen(self.plan, self.gate, &ladder.factor).len() as u64);
        climbed.unwrap_or(1).max(1)
    }

    /// Whether the exposure that a zero needs can be reached at all.
    fn trials(&self, remarks: &mut Remarks) {
        if self.gate.kind != Kind::Zero || !self.decides() {
            return;
        }
        let Some(needed) = self.gate.min_trials else {
            let text = "no min_trials: any exposure would pass, name how many clean trials a zero needs";
            return remarks.warning("trials-missing", &self.table, text);
        };
        let per_frame = match self.gate.metric.as_str() {
            "frame.misses" => 1,
            // Each stream's picture is compared by itself.
            "wire.payload" => self.plan.stream.len() as u64,
            _ => self.plan.stream.iter().map(|stream| u64::from(stream.datagrams_per_frame)).sum(),
        };
        let frames =
            self.plan.timing.measure_ns as u128 * u128::from(self.plan.target.expected_fps) / 1_000_000_000;
        let trials = frames * u128::from(per_frame) * u128::from(arms(self.plan, self.gate) / self.steps());
        if u128::from(needed) > trials {
            let text = format!(
                "needs {needed} trials, all its arms give {trials}: it can never pass, lengthen or lower it"
            );
            remarks.error("trials-unreachable", &self.table, text);
        }
    }
}
