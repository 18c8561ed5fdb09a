//! When an arm says nothing about the device, by what it measured itself, and when a run says nothing (experiments,
//! sections 7.2 and 10).
//!
//! It never calls a loss of the device invalid, and never hides one: the shares of others in an invalid arm stay listed.

use crate::arm::{Arm, ArmState, Measured};
use crate::gate::decides_on_frames;
use crate::levels::selects;
use crate::metrics::window_frames;
use crate::plan::Plan;
use crate::plan::profile::same_boot;
use std::collections::BTreeMap;
use std::fmt;

/// One torn frame of so many spoils an arm.
pub(crate) const TORN_OF: u64 = 1000;
/// Planned downloads of which so many in ten must be done.
pub(crate) const DRAINS_OF_TEN: usize = 8;

/// Why an arm does not count: what the run said of it, then what its own measurements say, each once.
pub fn reasons(plan: &Plan, arm: &Arm) -> Vec<String> {
    let mut all = match &arm.state {
        ArmState::Ok => Vec::new(),
        ArmState::Invalid { reasons } => reasons.clone(),
        ArmState::Interrupted => return vec!["interrupted".to_owned()],
    };
    for reason in measured(plan, arm) {
        if !all.iter().any(|known| known.split(':').next() == Some(reason)) {
            all.push(reason.to_owned());
        }
    }
    all
}

/// What an arm's own measurements say against it, as words of the run.
pub fn measured(plan: &Plan, arm: &Arm) -> Vec<&'static str> {
    let m = &arm.measured;
    let bench = bench(plan, m);
    let device = [
        (restarted(m), "device_restarted"),
        (clock_stepped(plan, m), "clock_unstable"),
        (m.wrapped, "ring_wrapped"),
        (frames_needed(plan, arm) && m.stale, "ring_stale"),
        (m.torn_frames > 0 && m.torn_frames.saturating_mul(TORN_OF) >= m.frames.len() as u64, "torn_frames"),
        (drains_failed(m), "drain_failed"),
        (drains_missing(plan, m), "too_few_drains"),
        (m.streams.iter().any(|stream| stream.foreign > 0), "foreign_source"),
        // A step of a ladder may be more than the device can keep up: the gates judge that.
        (plan.ladder.is_none() && fps_changed(plan, m), "fps_changed"),
        (frames_needed(plan, arm) && !m.ring, "ring_missing"),
        (m.ring && too_few_frames(plan, arm), "too_few_frames"),
    ];
    bench.into_iter().chain(device).filter(|(is, _)| *is).map(|(_, word)| word).collect()
}

fn bench(plan: &Plan, m: &Measured) -> [(bool, &'static str); 5] {
    let lost = m.health.lost.max(m.streams.iter().map(|stream| stream.owners.observer).max().unwrap_or(0));
    let step = |ns: &i64| ns.unsigned_abs() > plan.validity.clock_step_ns;
    [
        (lost > 0, "observer_lost"),
        (m.health.host_drops > 0, "host_drops"),
        (m.health.suspended, "bench_suspended"),
        (m.health.link_down, "link_down"),
        (m.device_window.is_none() && m.ring && m.health.clock_steps_ns.iter().any(step), "clock_unmapped"),
    ]
}

/// Another life of the device at the end of the arm than at its beginning. A status that was not read tells of none.
fn restarted(m: &Measured) -> bool {
    let is_told = |side: usize| !m.boot[side].is_empty() || m.generation[side] != 0;
    let differ = m.generation[0] != m.generation[1] || !same_boot(&m.boot[0], &m.boot[1]);
    is_told(0) && is_told(1) && differ
}

/// The device's clock against the bench's changed by more than a step. Of a device that is read by a profile, whose answers
/// may take their time, a change within the errors of both readings proves nothing.
fn clock_stepped(plan: &Plan, m: &Measured) -> bool {
    let errors = plan.profile().map_or(0, |_| m.clock_error_ns.saturating_mul(2));
    m.clock_drift_ns.unsigned_abs() > plan.validity.clock_step_ns.saturating_add(errors)
}

fn drains_failed(m: &Measured) -> bool {
    m.drains.iter().any(|drain| drain.real && drain.failed.as_deref().is_some_and(|why| why != SKIPPED))
}

/// A download that was left out because the one before it was still running.
pub const SKIPPED: &str = "skipped";

fn drains_missing(plan: &Plan, m: &Measured) -> bool {
    let real = || m.drains.iter().filter(|drain| drain.real);
    let planned = plan.drain.as_ref().map_or(0, |drain| drain.offsets_ns.len());
    let done = real().filter(|drain| drain.failed.is_none()).count();
    real().next().is_some() && done * 10 < planned * DRAINS_OF_TEN
}

/// The rate of a stream without a loss is off; with one, its rate says nothing about the device's pace.
fn fps_changed(plan: &Plan, m: &Measured) -> bool {
    let wanted = u128::from(plan.target.expected_fps);
    m.streams.iter().any(|stream| {
        let span_ns = u128::try_from(stream.last_ns.saturating_sub(stream.first_ns)).unwrap_or(0);
        let steps = u128::from(stream.frames.saturating_sub(1)) * 1_000_000_000;
        let off = steps.abs_diff(wanted * span_ns).saturating_mul(1_000_000);
        let judged = stream.lost == 0 && steps > 0 && span_ns > 0;
        judged && off > (wanted * span_ns).saturating_mul(plan.validity.fps_tolerance_ppm.into())
    })
}

/// True when a gate that decides reads this arm's ring.
fn frames_needed(plan: &Plan, arm: &Arm) -> bool {
    plan.gate.iter().any(|gate| decides_on_frames(gate) && selects(&gate.selector, arm))
}

fn too_few_frames(plan: &Plan, arm: &Arm) -> bool {
    let gates = plan.gate.iter().filter(|gate| decides_on_frames(gate) && selects(&gate.selector, arm));
    let needed = gates.map(|gate| u64::from(gate.min_frames)).max().unwrap_or(0);
    (window_frames(&arm.measured, plan.timing.guard_ns).count() as u64) < needed
}

/// What becomes of a run with invalid arms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// There are none.
    None,
    /// They are repeated.
    Repeat,
    /// They cluster in a treatment: repeating would select.
    Cluster(String),
    /// There are more than may be repeated.
    TooMany,
}

impl fmt::Display for Repeats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Repeats::None => f.write_str("none"),
            Repeats::Repeat => f.write_str("repeat"),
            Repeats::Cluster(level) => write!(f, "run invalid: losses cluster in {level}"),
            Repeats::TooMany => f.write_str("run invalid: too many invalid arms"),
        }
    }
}

/// What becomes of a run by the invalid arms of every treatment, those without any included: two or more in one
/// treatment and none in the others, or more in all than may be repeated.
pub fn repeats(invalid: &BTreeMap<String, u32>, limit: u32) -> Repeats {
    let mut hit = invalid.iter().filter(|(_, arms)| **arms > 0);
    match (hit.next(), hit.next()) {
        (None, _) => Repeats::None,
        (Some((level, arms)), None) if *arms >= 2 && invalid.len() > 1 => Repeats::Cluster(level.clone()),
        _ if invalid.values().sum::<u32>() > limit => Repeats::TooMany,
        _ => Repeats::Repeat,
    }
}
