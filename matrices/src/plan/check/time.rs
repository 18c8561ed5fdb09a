//! How long a plan takes, how many frames an arm can have, and whether the ring still holds an arm when it is collected.

use super::super::metric::metric;
use super::super::{Keep, Plan, Role, Toggle};
use super::{DOWNLOAD_NS, Remarks};
use crate::units::duration_text;

/// Records a second of the field's device, with 3 outputs at 60 frames a second.
const RECORDS_PER_S: u64 = 3558;
/// Header of a ring, octets.
const HEADER: u64 = 4096;
/// Length of a record, octets.
const RECORD: u64 = 48;
/// Records of a ring when the plan names no length.
const RECORDS: u64 = 131_072;
const SECOND: u64 = 1_000_000_000;
/// An arm settles when its rate held for so long, whatever the plan says.
const STEADY_NS: u64 = 2 * SECOND;

/// How long a ring holds what it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// From a record to its overwriting, ns.
    pub retention_ns: u64,
    /// Left when the collecting download of an arm is done, ns; negative: its beginning is overwritten.
    pub margin_ns: i64,
    /// Longest arm within 80 % of the retention, whole seconds.
    pub longest_arm_s: u64,
}

/// Arms and time of a plan without repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Combinations of treatment levels.
    pub treatments: u64,
    /// Combinations of stratum levels.
    pub strata: u64,
    /// Arms.
    pub arms: u64,
    /// Least time, ns: warm-up, settling, window, guard and collecting download of each arm, and the time for which set levels
    /// are watched. What the device takes to answer comes on top.
    pub total_ns: u64,
    /// Collected rings and kept drains, octets.
    pub evidence_bytes: u64,
}

impl Retention {
    /// The retention of a ring of so many records, written at this rate, for one arm.
    pub fn of(records: u64, records_per_s: u64, measure_ns: u64, guard_ns: u64, download_ns: u64) -> Self {
        let rate = records_per_s.max(1);
        let retention = u128::from(records) * u128::from(SECOND) / u128::from(rate);
        let retention_ns = u64::try_from(retention).unwrap_or(u64::MAX);
        let needed = measure_ns.saturating_add(guard_ns).saturating_add(download_ns);
        let margin = i128::from(retention_ns) - i128::from(needed);
        Retention {
            retention_ns,
            margin_ns: i64::try_from(margin).unwrap_or(if margin < 0 { i64::MIN } else { i64::MAX }),
            longest_arm_s: retention_ns / 10 * 8 / SECOND,
        }
    }
}

/// The retention for a plan's arms, at the field's rate of records.
pub fn retention(plan: &Plan) -> Retention {
    let records =
        plan.drain.as_ref().map_or(RECORDS, |drain| drain.expect_bytes.saturating_sub(HEADER) / RECORD);
    let (measure, guard) = (plan.timing.measure_ns, plan.timing.guard_ns);
    Retention::of(records, RECORDS_PER_S, measure, guard, DOWNLOAD_NS)
}

/// Whole frames that fit into a window shrunk by its guards, less the one that its edges may cut.
pub fn expected_frames(plan: &Plan) -> u64 {
    let within = plan.timing.measure_ns.saturating_sub(plan.timing.guard_ns.saturating_mul(2));
    let frames = u128::from(within) * u128::from(plan.target.expected_fps) / u128::from(SECOND);
    u64::try_from(frames).unwrap_or(u64::MAX).saturating_sub(1)
}

pub(super) fn totals(plan: &Plan) -> Totals {
    let product = |role: Role| {
        let levels = plan.factor.iter().filter(|factor| factor.role == role);
        levels.fold(1u64, |product, factor| product.saturating_mul(factor.levels.len() as u64))
    };
    let (treatments, strata) = (product(Role::Treatment), product(Role::Stratum));
    let arms = treatments.saturating_mul(strata).saturating_mul(plan.design.blocks.into());
    let timing = &plan.timing;
    let collects = plan.has_ring() || plan.profile().is_none();
    let download = if collects { DOWNLOAD_NS } else { 0 };
    let arm = [timing.settle_ns.max(STEADY_NS), timing.measure_ns, timing.guard_ns, download];
    let arm = arm.into_iter().fold(0, u64::saturating_add);
    let drain = plan.drain.as_ref();
    let usual = if plan.profile().is_none() { HEADER + RECORDS * RECORD } else { 0 };
    let ring = drain.map_or(usual, |_| plan.ring_bytes());
    let kept = drain.filter(|drain| drain.keep == Keep::All).map_or(0, |drain| drain.offsets_ns.len() as u64);
    let drain_bytes = drain.map_or(0, |drain| drain.expect_bytes);
    Totals {
        treatments,
        strata,
        arms,
        total_ns: timing
            .warmup_ns
            .saturating_add(arm.saturating_mul(arms))
            .saturating_add(watched(plan, arms, strata)),
        evidence_bytes: ring.saturating_add(drain_bytes.saturating_mul(kept)).saturating_mul(arms),
    }
}

/// Time for which the effect of set levels is watched: fixed ones once, others as often as they are set.
fn watched(plan: &Plan, arms: u64, strata: u64) -> u64 {
    let each = |toggle: &Toggle| {
        let factor = plan.factor.iter().find(|factor| factor.name == toggle.factor)?;
        let effect = toggle.effect.as_ref()?;
        let seen = factor.levels.iter().filter(|level| effect.expect.contains_key(*level)).count() as u64;
        let sets = match factor.role {
            Role::Treatment => arms,
            Role::Stratum => strata,
            Role::Fixed => 1,
        };
        // Every level is set equally often.
        Some(effect.within_ns.saturating_mul(seen.saturating_mul(sets) / (factor.levels.len() as u64).max(1)))
    };
    plan.toggle.iter().filter_map(each).fold(0, u64::saturating_add)
}

pub(super) fn check(plan: &Plan, remarks: &mut Remarks) {
    let timing = &plan.timing;
    if timing.guard_ns.saturating_mul(2) >= timing.measure_ns {
        remarks.error(
            "window-empty",
            "timing",
            "the guards at both ends leave nothing of the window: lengthen measure",
        );
    }
    let levels: u64 = plan
        .toggle
        .iter()
        .map(|toggle| toggle.timeout_ns.saturating_mul(u64::from(toggle.retries) + 1))
        .fold(0, u64::saturating_add);
    if timing.settle_ns.saturating_add(levels) >= timing.arm_deadline_ns {
        let needed = duration_text(timing.settle_ns.saturating_add(levels));
        let text = format!(
            "settle and the timeouts of all toggles take up to {needed}: raise arm_deadline above that"
        );
        remarks.warning("deadline-tight", "timing", text);
    }
    if timing.settle_ns < STEADY_NS {
        let text = "an arm settles when its rate held for 2 s, so the settle time is 2 s in any case";
        remarks.note("settle-short", "timing", text);
    }
    held(plan, remarks);
    if plan.target.require.is_empty() {
        let text =
            "no require: nothing notices when the device runs another build in the middle, name its build";
        remarks.warning("build-not-pinned", "target", text);
    }
}

/// Whether the ring still holds the beginning of an arm when its download ends.
fn held(plan: &Plan, remarks: &mut Remarks) {
    let Retention { retention_ns, longest_arm_s, .. } = retention(plan);
    let timing = &plan.timing;
    let needed = [timing.measure_ns, timing.guard_ns, DOWNLOAD_NS].into_iter().fold(0, u64::saturating_add);
    let needs_ring = plan.gate.iter().any(|gate| metric(&gate.metric).is_some_and(|metric| metric.ring));
    if needs_ring
        && plan.has_clock()
        && (plan.has_ring() || plan.profile().is_none())
        && needed > retention_ns / 10 * 8
    {
        let text = format!(
            "measure, guard and download take {}, more than 80 % of the {} that the ring holds at {RECORDS_PER_S} \
             records/s: measure {longest_arm_s}s at most",
            duration_text(needed),
            duration_text(retention_ns / 1_000_000 * 1_000_000),
        );
        remarks.error("ring-overwritten", "timing", text);
    }
}
