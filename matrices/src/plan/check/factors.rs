//! Checks of factors and of how they are set: every level can be set, read back, told from the others and undone.

use super::super::{Action, Factor, Plan, Role, Toggle};
use super::Remarks;
use crate::units::duration_text;

/// Stands for the level in an action.
const LEVEL: &str = "{level}";
/// Stand for the length of a lease in ms and in s.
const LEASES: [&str; 2] = ["{lease_ms}", "{lease_s}"];
/// One second, ns.
const SECOND: u64 = 1_000_000_000;

pub(super) fn check(plan: &Plan, remarks: &mut Remarks) {
    if plan.stream.is_empty() {
        remarks.warning(
            "no-stream",
            "plan",
            "no [[stream]]: nobody looks at the wire, name what the device sends",
        );
    }
    for factor in &plan.factor {
        one(plan, factor, remarks);
    }
    for toggle in &plan.toggle {
        let table = format!("toggle {}", toggle.factor);
        lease(plan, toggle, &table, remarks);
        match plan.factor.iter().find(|factor| factor.name == toggle.factor) {
            None => remarks.error(
                "toggle-without-factor",
                table,
                "no factor has this name: add it, or leave the toggle out",
            ),
            Some(factor) if factor.name == "drain" => {
                let text = format!(
                    "drain is driven by [drain], levels {}: leave the toggle out",
                    factor.levels.join(", ")
                );
                remarks.error("toggle-of-drain", table, text);
            }
            Some(factor) => sets(toggle, factor, &table, remarks),
        }
    }
    ladder(plan, remarks);
}

fn one(plan: &Plan, factor: &Factor, remarks: &mut Remarks) {
    let table = format!("factor {}", factor.name);
    let toggled = plan.toggle.iter().any(|toggle| toggle.factor == factor.name);
    if !toggled && factor.name != "drain" {
        match factor.levels.len() {
            1 => {
                let text = format!(
                    "nothing sets or reads back {}: add a [[toggle]], or it is only assumed",
                    factor.baseline
                );
                remarks.warning("factor-not-verified", table.clone(), text);
            }
            _ => remarks.error(
                "toggle-missing",
                table.clone(),
                "has several levels and no [[toggle]] that sets them",
            ),
        }
    }
    match factor.role {
        Role::Treatment if factor.levels.len() == 1 => {
            remarks.warning(
                "treatment-alone",
                table,
                "is a treatment with one level: nothing is compared, call it fixed",
            );
        }
        Role::Stratum if factor.levels.len() > 1 && plan.ladder.is_none() => {
            remarks.note(
                "stratum",
                table,
                "its levels are run one after another and never compared causally",
            );
        }
        _ => {}
    }
}

fn sets(toggle: &Toggle, factor: &Factor, table: &str, remarks: &mut Remarks) {
    if factor.levels.len() > 1 && !names_level(&toggle.set) {
        let text = format!("sets the same whatever the level is: write {LEVEL} into its path, body or argv");
        remarks.error("set-without-level", table, text);
    }
    if !names_level(&toggle.set) && !toggle.set.words.is_empty() {
        remarks.error(
            "words-unused",
            table,
            format!("has words for the levels but no {LEVEL} to put them into"),
        );
    }
    let words = &toggle.set.words;
    let strange = words.keys().find(|word| !factor.levels.contains(word));
    let wordless = factor.levels.iter().find(|level| !words.contains_key(*level));
    if let (Some(word), Some(level)) = (strange, wordless) {
        let text = format!("has a word for '{word}', which is no level, and none for '{level}'");
        remarks.error("word-unknown", table, text);
    }
    let equals = &toggle.verify.equals;
    for level in factor.levels.iter().filter(|level| !equals.contains_key(*level)) {
        let text = format!("verify has no value that shows {level}: add it to equals");
        remarks.error("verify-incomplete", table, text);
    }
    let values: Vec<_> = factor.levels.iter().filter_map(|level| equals.get(level)).collect();
    if (1..values.len()).any(|at| values[..at].contains(&values[at])) {
        let text = "verify shows the same value for two levels and cannot tell them apart: give each its own";
        remarks.error("verify-ambiguous", table, text);
    }
    if toggle.effect.is_none() {
        remarks.note(
            "effect-missing",
            table,
            "no effect: a switch that says on and does nothing would go unnoticed",
        );
    }
    let known = equals.contains_key(&toggle.restore) || factor.levels.contains(&toggle.restore);
    if toggle.restore != "original" && !known {
        let text = format!("restore is neither \"original\" nor a level of {}", factor.name);
        remarks.error("restore-unknown", table, text);
    }
}

/// A lease is renewed before each arm, and nowhere else: it has to outlast an arm, and a warm-up that is extended.
fn lease(plan: &Plan, toggle: &Toggle, table: &str, remarks: &mut Remarks) {
    let Some(lease_ns) = toggle.lease_ns else {
        if let Some(lease) = LEASES.into_iter().find(|lease| names(&toggle.set, lease)) {
            let text = format!("writes {lease} and has no lease: add lease = \"10min\"");
            remarks.error("lease-missing", table, text);
        }
        return;
    };
    if !LEASES.iter().any(|lease| names(&toggle.set, lease)) {
        let text = "has a lease that the device is not told: write {lease_ms} or {lease_s} into its path, body or argv";
        remarks.error("lease-unused", table, text);
    }
    let needed = lease_needed_ns(plan);
    if lease_ns < needed {
        let text = format!(
            "lease {} can run out within an arm or a warm-up: make it {} or longer",
            duration_text(lease_ns),
            duration_text(needed)
        );
        remarks.error("lease-short", table, text);
    }
}

/// Longest time between two renewals, whole seconds up, ns.
fn lease_needed_ns(plan: &Plan) -> u64 {
    let timing = &plan.timing;
    let collects = plan.drain.as_ref().map_or(0, |drain| drain.timeout_ns.saturating_mul(2));
    let verifies = plan.toggle.iter().map(|toggle| toggle.timeout_ns).fold(0, u64::saturating_add);
    let arm = [timing.measure_ns, timing.guard_ns, collects, verifies];
    let arm = arm.into_iter().fold(timing.arm_deadline_ns, u64::saturating_add);
    let longest = arm.max(timing.warmup_ns.saturating_mul(2));
    longest.div_ceil(SECOND).saturating_mul(SECOND)
}

/// Whether an action depends on the level.
fn names_level(action: &Action) -> bool {
    names(action, LEVEL)
}

fn names(action: &Action, what: &str) -> bool {
    let argv = action.argv.iter().flatten();
    action.path.iter().chain(&action.body).chain(argv).any(|text| text.contains(what))
}

fn ladder(plan: &Plan, remarks: &mut Remarks) {
    let Some(ladder) = &plan.ladder else { return };
    let Some(factor) = plan.factor.iter().find(|factor| factor.name == ladder.factor) else {
        return remarks.error("ladder-factor", "ladder", format!("no factor is named {}", ladder.factor));
    };
    if factor.role != Role::Stratum {
        remarks.error(
            "ladder-role",
            "ladder",
            format!("{} must be a stratum: steps are taken one after another", factor.name),
        );
    }
    let steps: Option<Vec<u64>> = factor.levels.iter().map(|level| level.parse().ok()).collect();
    if steps.is_none_or(|steps| steps.windows(2).any(|pair| pair[0] >= pair[1])) {
        let text = format!(
            "the levels of {} must be whole numbers that rise, such as [\"1\", \"2\", \"4\"]",
            factor.name
        );
        remarks.error("ladder-steps", "ladder", text);
    }
    if plan.factor.iter().any(|factor| factor.role == Role::Treatment && factor.levels.len() > 1) {
        remarks.error(
            "ladder-treatment",
            "ladder",
            "a ladder compares no treatments: fix every other factor",
        );
    }
    if plan
        .factor
        .iter()
        .any(|other| other.role == Role::Stratum && other.name != factor.name && other.levels.len() > 1)
    {
        remarks.error(
            "ladder-stratum",
            "ladder",
            "a ladder has one factor with several levels, the one it climbs",
        );
    }
    if plan.design.blocks != ladder.arms_per_step {
        let text = format!(
            "blocks is {} and arms_per_step {}: leave blocks out",
            plan.design.blocks, ladder.arms_per_step
        );
        remarks.error("ladder-blocks", "ladder", text);
    }
    if ladder.alpha_ppm == 0 || ladder.alpha_ppm >= 500_000 {
        remarks.error("ladder-alpha", "ladder", "alpha is not above 0 and below 0.5");
    }
}
