//! The blocks that count, and the pairs a gate takes from them.
//!
//! It reads values and never judges them.

use crate::arm::Arm;
use crate::levels::{Layout, Levels, selects};
use crate::metrics::{Metric, Reading, read};
use crate::plan::{Plan, PlanStream};
use std::collections::BTreeMap;

/// A block with every treatment's arm.
#[derive(Clone, Debug)]
pub struct Block<'a> {
    /// Stratum, from 0.
    pub stratum: u32,
    /// Block, from 1.
    pub block: u32,
    /// Its arms by treatment.
    pub arms: BTreeMap<u32, &'a Arm>,
}

/// What gates judge: a plan, its layout and the blocks that count.
#[derive(Clone, Debug)]
pub struct Counted<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Its treatments and strata.
    pub layout: &'a Layout,
    /// Complete blocks in run order.
    pub blocks: Vec<Block<'a>>,
    /// Every attempt, for what no bench can spoil.
    pub attempts: &'a [Arm],
}

/// An arm and its value, if it has one.
pub(crate) type Side<'a> = (&'a Arm, Option<Reading>);

/// A block's baseline and treatment.
#[derive(Clone, Debug)]
pub(crate) struct Pair<'a> {
    pub(crate) baseline: Side<'a>,
    pub(crate) treatment: Side<'a>,
}

impl<'a> Counted<'a> {
    /// Arms that count and that a selector lets through, in run order.
    pub fn arms(&self, selector: &Levels) -> Vec<&'a Arm> {
        let mut arms: Vec<&Arm> = self
            .blocks
            .iter()
            .flat_map(|block| block.arms.values().copied())
            .filter(|arm| selects(selector, arm))
            .collect();
        arms.sort_by_key(|arm| run_order(arm));
        arms
    }

    /// Streams of a metric: those of the plan that any of the arms is to show, or the one series of a metric without
    /// streams.
    pub(crate) fn series(&self, metric: &Metric) -> Vec<Option<String>> {
        if metric.by_stream() {
            let arms: Vec<&Arm> = self.blocks.iter().flat_map(|block| block.arms.values().copied()).collect();
            let shown = |stream: &&PlanStream| arms.iter().any(|arm| self.plan.sends(stream, &arm.levels));
            self.plan.stream.iter().filter(shown).map(|stream| Some(stream.id.clone())).collect()
        } else {
            vec![None]
        }
    }

    /// Pairs of a treatment against the baseline, by series.
    pub(crate) fn pairs(
        &self,
        metric: &Metric,
        selector: &Levels,
        baseline: u32,
        treatment: u32,
    ) -> Vec<(Option<String>, Vec<Pair<'a>>)> {
        let mut series: Vec<_> = self.series(metric).into_iter().map(|id| (id, Vec::new())).collect();
        for block in &self.blocks {
            let (Some(base), Some(treat)) = (block.arms.get(&baseline), block.arms.get(&treatment)) else {
                continue;
            };
            if !selects(selector, base) || !selects(selector, treat) {
                continue;
            }
            let sides = [(*base, *treat), (*treat, *base)]
                .map(|(arm, partner)| (arm, read(metric, self.plan, arm, Some(partner))));
            for (id, pairs) in &mut series {
                let [baseline, treatment] =
                    sides.each_ref().map(|(arm, values)| (*arm, of(values, id.as_ref())));
                pairs.push(Pair { baseline, treatment });
            }
        }
        series
    }

    /// Arms of one treatment with their values, by series.
    pub(crate) fn sides(
        &self,
        metric: &Metric,
        selector: &Levels,
        treatment: u32,
    ) -> Vec<(Option<String>, Vec<Side<'a>>)> {
        let arms = self.arms(selector).into_iter().filter(|arm| arm.place.treatment == treatment);
        let read: Vec<_> = arms.map(|arm| (arm, read(metric, self.plan, arm, None))).collect();
        let values = |id: Option<&String>| read.iter().map(|(arm, values)| (*arm, of(values, id))).collect();
        self.series(metric).into_iter().map(|id| (id.clone(), values(id.as_ref()))).collect()
    }
}

/// Where an attempt comes in the run: repeats follow their block.
pub fn run_order(arm: &Arm) -> (u32, u32, u32, u32) {
    (arm.place.stratum, arm.place.block, arm.place.attempt, arm.place.position)
}

fn of(values: &[(Option<String>, Reading)], id: Option<&String>) -> Option<Reading> {
    values.iter().find(|(stream, _)| stream.as_ref() == id).map(|(_, reading)| *reading)
}
