//! What a plan can be expected to find, said of its gates; the figures come from `crate::power`.

use super::super::{Class, Margin, Plan};
use super::{Remarks, compares};
use crate::plan::Role;
use crate::power::{self, GatePower};
use crate::units::{duration_text, ratio_text};
use std::collections::BTreeMap;

/// Pairs beyond which power is told as if there were only so many: simulating more takes longer and says no more.
const MOST_PAIRS: u32 = 100;
/// A chance below this is a warning, parts per million.
const WANTED_PPM: u32 = 800_000;

/// What a comparing gate can be expected to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Predicted {
    /// The gate.
    pub gate: String,
    /// Spread of an arm's value that was assumed, in words.
    pub assumed: String,
    /// Probability that a device without any effect passes, parts per million.
    pub pass_ppm: u32,
    /// True effect that fails in 80 of 100 runs, in words.
    pub detectable: Option<String>,
    /// Blocks that let a device without effect pass in 80 of 100 runs, if any number below 100 pairs does.
    pub blocks_needed: Option<u32>,
}

/// Predicts for the comparing gates of a plan, in its order.
pub type Predict<'a> = &'a dyn Fn(&Plan) -> Vec<Predicted>;

/// The usual prediction: from the standard deviation of the pairs of an earlier bundle, by gate, else from 0.3 ms
/// between arms.
pub fn predicted(plan: &Plan, pair_sd: &BTreeMap<String, f64>) -> Vec<Predicted> {
    let strata = strata(plan);
    let mut bounded = plan.clone();
    bounded.design.blocks = plan.design.blocks.min((MOST_PAIRS / strata).max(1));
    let measured = |gate: &GatePower| pair_sd.contains_key(&gate.id);
    power::of_plan(&bounded, pair_sd).iter().map(|gate| of(plan, gate, measured(gate), strata)).collect()
}

fn strata(plan: &Plan) -> u32 {
    let levels = plan.factor.iter().filter(|factor| factor.role == Role::Stratum);
    let strata = levels.fold(1usize, |product, factor| product.saturating_mul(factor.levels.len()));
    u32::try_from(strata).unwrap_or(u32::MAX).max(1)
}

fn of(plan: &Plan, gate: &GatePower, measured: bool, strata: u32) -> Predicted {
    let times =
        plan.gate.iter().any(|other| other.id == gate.id && matches!(other.margin, Some(Margin::Ns(_))));
    let shown = |value: f64| if times { time(value) } else { ratio_text(value.max(0.0).round() as u64) };
    let power = &gate.power;
    let source = if measured { "measured" } else { "assumed" };
    Predicted {
        gate: gate.id.clone(),
        assumed: format!("arm sd {} {source}", shown(power.arm_sd)),
        pass_ppm: (power.pass_at_zero.clamp(0.0, 1.0) * 1e6).round() as u32,
        detectable: power.detects.map(shown),
        blocks_needed: power.pairs_wanted.map(|pairs| pairs.div_ceil(strata)),
    }
}

/// A time to two digits behind the point of its millisecond.
fn time(ns: f64) -> String {
    duration_text((ns.max(0.0) / 10_000.0).round() as u64 * 10_000)
}

/// Warns of gates that a device without any effect would rarely pass.
pub(super) fn check(plan: &Plan, predicted: &[Predicted], remarks: &mut Remarks) {
    for one in predicted {
        let gate = plan.gate.iter().find(|gate| gate.id == one.gate);
        let decides = gate.is_some_and(|gate| gate.class == Class::Gate && compares(gate.kind));
        if !decides || one.pass_ppm >= WANTED_PPM {
            continue;
        }
        let todo = match one.blocks_needed {
            Some(blocks) => format!("{blocks} blocks would reach 80%"),
            None => "no number of blocks below 100 pairs reaches 80%: widen the margin or lengthen the arms"
                .to_owned(),
        };
        let (pass, assumed) = (percent(one.pass_ppm), &one.assumed);
        let text = format!("a device without any effect passes in only {pass} of runs ({assumed}): {todo}");
        remarks.warning("power-low", format!("gate {}", one.gate), text);
    }
}

/// Parts per million to a tenth of a percent.
pub fn percent(ppm: u32) -> String {
    ratio_text(u64::from((ppm + 500) / 1000) * 1000)
}
