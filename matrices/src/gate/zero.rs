//! Gates on what must never happen. A zero is worth what it was tried: its bound is always beside it.

use super::{Counted, Judged, undecided};
use crate::arm::Arm;
use crate::levels::selects;
use crate::metrics::{Count, Event, count, payload};
use crate::number::Number;
use crate::plan::Gate;
use crate::stats::{clopper_pearson, upper_bound};
use crate::verdict::{Decision, Unit, ZeroRow};
use std::collections::BTreeMap;

/// Judges a `zero` gate.
pub(super) fn judge(counted: &Counted<'_>, gate: &Gate, event: Event) -> Judged {
    let mut judged = undecided(gate, Unit::Count, "");
    let (sum, by_arm, unsettled) = match event {
        Event::Payload => payloads(counted, gate),
        _ => events(counted, gate, event, &mut judged),
    };
    let row = row(&sum, gate.min_trials, by_arm);
    let result = &mut judged.result;
    (result.verdict, result.reason) = decide(&row, &unsettled);
    result.point = Some(Number(row.events as f64));
    result.zero = Some(row);
    judged
}

fn decide(row: &ZeroRow, unsettled: &[String]) -> (Decision, String) {
    let enough = row.trials >= row.min_trials.unwrap_or(1).max(1);
    let (decision, reason) = match () {
        () if !unsettled.is_empty() => {
            return (Decision::Inconclusive, format!("baseline_payloads_differ:{}", unsettled.join(",")));
        }
        () if row.events > 0 => (Decision::Fail, "events"),
        () if row.ambiguous > 0 => (Decision::Inconclusive, "ambiguous_events"),
        () if !enough => (Decision::Inconclusive, "too_few_trials"),
        () => (Decision::Pass, "no_events"),
    };
    (decision, reason.to_owned())
}

type Found = (Count, BTreeMap<String, u64>, Vec<String>);

/// Events over all arms that count. Datagrams of other sources are counted in every attempt: what spoils an arm is the
/// very thing this gate is about.
fn events(counted: &Counted<'_>, gate: &Gate, event: Event, judged: &mut Judged) -> Found {
    let arms: Vec<&Arm> = match event {
        Event::Foreign => counted.attempts.iter().filter(|arm| selects(&gate.selector, arm)).collect(),
        _ => counted.arms(&gate.selector),
    };
    let (mut sum, mut by_arm) = (Count::default(), BTreeMap::new());
    for arm in arms {
        let one = count(event, counted.plan, arm);
        sum += one;
        judged.values.push((arm.place.clone(), gate.metric.clone(), Number(one.events as f64)));
        if one.events + one.ambiguous > 0 {
            by_arm.insert(counted.layout.arm_name(arm), one.events + one.ambiguous);
        }
    }
    (sum, by_arm, Vec::new())
}

fn payloads(counted: &Counted<'_>, gate: &Gate) -> Found {
    let (baseline, others) = counted.layout.compared(&gate.selector);
    let arms = counted.arms(&gate.selector);
    let base: Vec<&Arm> = arms.iter().copied().filter(|arm| Some(arm.place.treatment) == baseline).collect();
    let treated: Vec<&Arm> = arms.into_iter().filter(|arm| others.contains(&arm.place.treatment)).collect();
    let found = payload(&base, &treated);
    let by_arm = found.by_arm.iter().map(|(i, n)| (counted.layout.arm_name(treated[*i]), *n)).collect();
    (found.count, by_arm, found.unsettled.into_iter().collect())
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate from 0 to 1 times 1e9")]
fn row(sum: &Count, min_trials: Option<u64>, by_arm: BTreeMap<String, u64>) -> ZeroRow {
    let upper = upper_bound(sum.episodes, sum.trials, 0.05);
    let (low, high) = clopper_pearson(sum.episodes, sum.trials, 0.05);
    ZeroRow {
        events: sum.events,
        episodes: sum.episodes,
        ambiguous: sum.ambiguous,
        trials: sum.trials,
        min_trials,
        upper_ppb: (upper * 1e9).ceil() as u64,
        interval_ppb: [(low * 1e9).floor() as u64, (high * 1e9).ceil() as u64],
        one_in: (1.0 / upper).floor() as u64,
        by_arm,
    }
}
