//! The order of a plan: its treatments and strata by name, and their blocks and drain starts.

use super::{blocks, drain_starts};
use crate::levels::treatment_name;
use crate::plan::{Plan, Role};
use std::collections::BTreeMap;

/// One combination of the levels of the treatment factors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Treatment {
    /// Its name: the level of a single factor, else `drain=raw,preview=on` in declared order.
    pub name: String,
    /// Level of each treatment factor.
    pub levels: BTreeMap<String, String>,
}

/// The blocks of one combination of stratum levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stratum {
    /// Level of each stratum factor; empty for a plan without.
    pub levels: BTreeMap<String, String>,
    /// Treatment indices of each block, in the order of the run.
    pub blocks: Vec<Vec<u32>>,
    /// Starts of the drains of each block, ns; empty without drains.
    pub drain_starts_ns: Vec<Vec<u64>>,
    /// Words drawn for the blocks.
    pub drawn: u64,
}

/// The order of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Seed.
    pub seed: u64,
    /// Treatments, by index.
    pub treatments: Vec<Treatment>,
    /// Level of each fixed factor.
    pub fixed: BTreeMap<String, String>,
    /// Strata, in the order of the run.
    pub strata: Vec<Stratum>,
}

impl Order {
    /// The name of a treatment; empty for an index there is not.
    pub fn name(&self, treatment: u32) -> &str {
        self.treatments.get(treatment as usize).map_or("", |treatment| treatment.name.as_str())
    }

    /// Level of every factor in an arm of this stratum and treatment.
    pub fn levels(&self, stratum: usize, treatment: u32) -> BTreeMap<String, String> {
        let mut levels = self.fixed.clone();
        levels.extend(self.strata.get(stratum).map(|stratum| stratum.levels.clone()).unwrap_or_default());
        let treatment = self.treatments.get(treatment as usize);
        levels.extend(treatment.map(|treatment| treatment.levels.clone()).unwrap_or_default());
        levels
    }

    /// Arms of a run without repetitions.
    pub fn arms(&self) -> usize {
        self.strata.iter().flat_map(|stratum| &stratum.blocks).map(Vec::len).sum()
    }
}

/// The order of a plan whose size was checked.
pub fn order(plan: &Plan) -> Order {
    let treatments: Vec<Treatment> = combinations(plan, Role::Treatment)
        .into_iter()
        .map(|pairs| Treatment { name: treatment_name(&pairs), levels: pairs.into_iter().collect() })
        .collect();
    let (seed, count) = (plan.design.seed, plan.design.blocks);
    let kinds = u32::try_from(treatments.len()).unwrap_or(u32::MAX);
    let strata = (0..).zip(combinations(plan, Role::Stratum)).map(|(number, pairs)| {
        let made = blocks(seed, number, kinds, count);
        let drains = plan.drain.as_ref();
        let starts =
            drains.map(|drain| drain_starts(seed, number, count, &drain.offsets_ns, drain.jitter_ns));
        Stratum {
            levels: pairs.into_iter().collect(),
            blocks: made.rows,
            drain_starts_ns: starts.unwrap_or_default(),
            drawn: made.drawn,
        }
    });
    let strata = strata.collect();
    let fixed = combinations(plan, Role::Fixed).into_iter().next().unwrap_or_default().into_iter().collect();
    Order { seed, treatments, fixed, strata }
}

/// The product of the levels of all factors of a role, row-major in declared order; one empty combination without any.
pub fn combinations(plan: &Plan, role: Role) -> Vec<Vec<(String, String)>> {
    let mut all = vec![Vec::new()];
    for factor in plan.factor.iter().filter(|factor| factor.role == role) {
        let with = |pairs: &Vec<(String, String)>, level: &String| {
            let mut pairs = pairs.clone();
            pairs.push((factor.name.clone(), level.clone()));
            pairs
        };
        all =
            all.iter().flat_map(|pairs| factor.levels.iter().map(move |level| with(pairs, level))).collect();
    }
    all
}
