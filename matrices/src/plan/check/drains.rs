//! Checks of the downloads inside a window: are there paths for all levels, do they fit, can their effect be seen at all.

use super::super::metric::metric;
use super::super::{Class, DrainPlan, Factor, Plan};
use super::{DOWNLOAD_NS, Remarks};
use crate::units::{duration_text, ratio_text};

/// Usual time of a raw download, ns; the share of a window that drains take is told from it.
const DRAIN_NS: u64 = 200_000_000;
/// The level that downloads as much from somewhere else.
const SHAM: &str = "sham";
/// The level that does what the baseline does: nothing.
pub(in crate::plan) const AGAIN: &str = "again";
/// The level that downloads `[drain] url`.
const RAW: &str = "raw";

/// Share of a window in which a drain is under way, parts per million, cut.
pub fn drain_share_ppm(drains: u64, drain_ns: u64, measure_ns: u64) -> u64 {
    let share = u128::from(drains) * u128::from(drain_ns) * 1_000_000 / u128::from(measure_ns.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// Whether a window percentile, in hundredths, cannot follow what happens only in so small a share of the window.
pub fn blind(share_ppm: u64, percentile: u32) -> bool {
    share_ppm < u64::from(10_000u32.saturating_sub(percentile)) * 100
}

pub(super) fn check(plan: &Plan, remarks: &mut Remarks) {
    let factor = plan.factor.iter().find(|factor| factor.name == "drain");
    match (factor, &plan.drain) {
        (None, None) => {}
        (None, Some(drain)) if drain.offsets_ns.is_empty() => {}
        (None, Some(_)) => {
            let text = "no factor is named drain, so nothing is downloaded within windows: add one, or leave offsets out";
            remarks.error("drain-unused", "drain", text);
        }
        (Some(factor), Some(drain)) if factor.levels.len() > 1 && drain.offsets_ns.is_empty() => {
            remarks.error(
                "drain-missing",
                "drain",
                "the factor drain needs offsets: when downloads start in a window",
            );
        }
        (Some(factor), None) if factor.levels.len() > 1 => {
            remarks.error(
                "drain-missing",
                "factor drain",
                "its levels need a table [drain] with url and offsets",
            );
        }
        (Some(_), None) => {}
        (Some(factor), Some(drain)) => {
            paths(factor, drain, remarks);
            spacing(plan, drain, remarks);
            dilution(plan, factor, drain, remarks);
        }
    }
}

fn paths(factor: &Factor, drain: &DrainPlan, remarks: &mut Remarks) {
    if drain.url.is_empty()
        && factor.levels.iter().any(|level| level == RAW)
        && !drain.paths.contains_key(RAW)
    {
        let text = "raw downloads the ring, and the device has no recorder: name what is downloaded in [drain] paths";
        remarks.error("drain-no-ring", "drain", text);
    }
    if [RAW, SHAM, AGAIN].contains(&factor.baseline.as_str()) || drain.paths.contains_key(&factor.baseline) {
        let text = format!(
            "the baseline {} would download: the baseline of drain is the level that does not, such as idle",
            factor.baseline
        );
        remarks.error("drain-baseline", "factor drain", text);
    }
    if factor.levels.len() == 1 {
        remarks.warning(
            "drain-one-level",
            "factor drain",
            "has only its baseline, so nothing is ever downloaded",
        );
    }
    let known = |level: &String| *level == factor.baseline || [RAW, SHAM, AGAIN].contains(&level.as_str());
    for level in factor.levels.iter().filter(|level| !known(level) && !drain.paths.contains_key(*level)) {
        let text =
            format!("nobody knows what {level} downloads: add it to [drain] paths = {{ {level} = \"/…\" }}");
        remarks.error("drain-path-missing", "drain", text);
    }
    for level in drain
        .paths
        .keys()
        .filter(|level| !factor.levels.contains(level) || [SHAM, AGAIN].contains(&level.as_str()))
    {
        let text = format!("paths names {level}, which is no level of drain that downloads from the device");
        remarks.error("drain-path-unused", "drain", text);
    }
}

fn spacing(plan: &Plan, drain: &DrainPlan, remarks: &mut Remarks) {
    let (measure, jitter) = (plan.timing.measure_ns, drain.jitter_ns);
    let last = drain.offsets_ns.last().map_or(0, |last| last.saturating_add(jitter));
    if last >= measure {
        let text = format!(
            "the last drain may start at {}, after the window of {}: drains belong inside it",
            duration_text(last),
            duration_text(measure)
        );
        remarks.error("drain-outside", "drain", text);
    } else if last.saturating_add(DOWNLOAD_NS) > measure {
        let text = format!(
            "the last drain may start at {} and run over the end of the window of {}: start it earlier",
            duration_text(last),
            duration_text(measure)
        );
        remarks.warning("drain-cut", "drain", text);
    }
    let gaps: Vec<u64> = drain.offsets_ns.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    if gaps.iter().any(|gap| *gap <= jitter) {
        let text = "jitter may move a drain behind the next one: keep it below the smallest spacing";
        remarks.error("drain-overlap", "drain", text);
    } else if gaps.iter().any(|gap| *gap < jitter.saturating_add(DOWNLOAD_NS)) {
        let text = "a drain may still be under way when the next is due, which is then left out: space them further apart";
        remarks.warning("drain-close", "drain", text);
    }
    let equal = gaps.iter().map(|gap| gaps.iter().filter(|other| *other == gap).count()).max().unwrap_or(0);
    if jitter == 0 && equal >= 3 {
        let text = "drains at equal spacings without jitter blind the shift test, which cannot get below their share of \
             the time: give jitter = \"800ms\" or uneven offsets";
        remarks.warning("drain-periodic", "drain", text);
    }
}

/// A window percentile cannot follow drains that take less of the window than what lies above it.
fn dilution(plan: &Plan, factor: &Factor, drain: &DrainPlan, remarks: &mut Remarks) {
    if !factor.levels.iter().any(|level| *level != factor.baseline && level != AGAIN) {
        return;
    }
    let share = drain_share_ppm(drain.offsets_ns.len() as u64, DRAIN_NS, plan.timing.measure_ns);
    let gates = || plan.gate.iter().filter(|gate| gate.class == Class::Gate);
    let covered = gates().any(|gate| metric(&gate.metric).is_some_and(|metric| metric.in_drain));
    for gate in gates() {
        let Some(measured) = metric(&gate.metric).filter(|metric| !metric.in_drain) else { continue };
        let Some(percentile) = measured.percentile.filter(|percentile| blind(share, *percentile)) else {
            continue;
        };
        let above = ratio_text(u64::from(10_000 - percentile.min(10_000)) * 100);
        let text = format!(
            "is blind to what happens only while draining: drains take {} of the window, this percentile needs {above}",
            ratio_text(share),
        );
        let table = format!("gate {}", gate.id);
        match covered {
            true => remarks.note("blind", table, format!("{text}; the in-drain gate sees it")),
            false => remarks.warning(
                "blind",
                table,
                format!("{text}: add drains, or a gate on frame.in_drain.p50"),
            ),
        }
    }
}
