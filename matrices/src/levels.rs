//! Treatments and strata of a plan: which there are, what they are called, which arms a gate looks at.
//!
//! It never orders them; the order of a run is another's.

use crate::arm::Arm;
use crate::order::combinations;
use crate::plan::{Plan, Role};
use std::collections::BTreeMap;

/// Levels by factor.
pub type Levels = BTreeMap<String, String>;

/// The treatments and strata of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Treatments by index, row-major over the treatment factors in declared order.
    pub treatments: Vec<Levels>,
    /// Their names: the level alone with one factor, else `drain=raw,preview=on`.
    pub names: Vec<String>,
    /// Strata by index, row-major likewise.
    pub strata: Vec<Levels>,
    /// Their names, such as `preview-off`; `all` without a stratum factor.
    pub stratum_names: Vec<String>,
    /// Baseline level of every treatment factor.
    baseline: Levels,
}

impl Layout {
    /// That of a plan.
    pub fn of(plan: &Plan) -> Self {
        let (treating, laying) = (combinations(plan, Role::Treatment), combinations(plan, Role::Stratum));
        let treated = plan.factor.iter().filter(|factor| factor.role == Role::Treatment);
        Layout {
            names: treating.iter().map(|pairs| treatment_name(pairs)).collect(),
            stratum_names: laying.iter().map(|pairs| stratum_name(pairs)).collect(),
            baseline: treated.map(|factor| (factor.name.clone(), factor.baseline.clone())).collect(),
            treatments: by_factor(treating),
            strata: by_factor(laying),
        }
    }

    /// Name of a treatment.
    pub fn treatment(&self, index: u32) -> &str {
        named(&self.names, index)
    }

    /// Name of a stratum.
    pub fn stratum(&self, index: u32) -> &str {
        named(&self.stratum_names, index)
    }

    /// Treatments a selector lets through, and the one of them that others are compared with: the selector's levels
    /// where it names a factor, the baseline's elsewhere.
    pub fn compared(&self, selector: &Levels) -> (Option<u32>, Vec<u32>) {
        let wanted = |factor: &String, level: &String| selector.get(factor).unwrap_or(level) == level;
        let base: Levels = self
            .baseline
            .iter()
            .map(|(factor, level)| (factor.clone(), selector.get(factor).unwrap_or(level).clone()))
            .collect();
        let through = |levels: &Levels| levels.iter().all(|(factor, level)| wanted(factor, level));
        let indices = (0_u32..).zip(&self.treatments).filter(|(_, levels)| through(levels));
        let (mut baseline, mut others) = (None, Vec::new());
        for (index, levels) in indices {
            if *levels == base { baseline = Some(index) } else { others.push(index) }
        }
        (baseline, others)
    }

    /// Name of an attempt, such as `b01-p1-raw-a1`; `s2-b01-p1-raw-a1` from the second stratum on.
    pub fn arm_name(&self, arm: &Arm) -> String {
        let place = &arm.place;
        let stratum =
            if place.stratum == 0 { String::new() } else { format!("s{}-", place.stratum.saturating_add(1)) };
        let treatment = self.treatment(place.treatment);
        format!("{stratum}b{:02}-p{}-{treatment}-a{}", place.block, place.position, place.attempt)
    }
}

/// True when an arm has every level that a selector names.
pub fn selects(selector: &Levels, arm: &Arm) -> bool {
    selector.iter().all(|(factor, level)| arm.levels.get(factor) == Some(level))
}

fn by_factor(combinations: Vec<Vec<(String, String)>>) -> Vec<Levels> {
    combinations.into_iter().map(|pairs| pairs.into_iter().collect()).collect()
}

/// Name of a treatment by the levels of its factors in declared order: `all` without a factor.
pub fn treatment_name(pairs: &[(String, String)]) -> String {
    match pairs {
        [] => "all".to_owned(),
        [(_, level)] => level.clone(),
        several => joined(several, '='),
    }
}

fn stratum_name(pairs: &[(String, String)]) -> String {
    if pairs.is_empty() { "all".to_owned() } else { joined(pairs, '-') }
}

fn joined(pairs: &[(String, String)], sign: char) -> String {
    pairs.iter().map(|(factor, level)| format!("{factor}{sign}{level}")).collect::<Vec<_>>().join(",")
}

fn named(names: &[String], index: u32) -> &str {
    usize::try_from(index).ok().and_then(|index| names.get(index)).map_or("?", String::as_str)
}
