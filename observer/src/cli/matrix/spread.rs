//! Where the spread of pairs comes from that power is told by: an earlier bundle, or the command line.

use super::judge::margin;
use crate::cli::failure::Failure;
use crate::cli::say;
use crate::matrix::bundle::Bundle;
use crate::matrix::judging::arms;
use std::collections::BTreeMap;
use std::path::Path;
use wireproof_matrices::gate::{PairSd, pair_sd};
use wireproof_matrices::plan::{Gate, Kind, Margin, Plan};
use wireproof_matrices::units::duration_text;

/// Standard deviation of the pairs of each gate, in the unit of its margin.
pub(super) fn measured(
    plan: &Plan,
    from: Option<&Path>,
    given: &[String],
) -> Result<BTreeMap<String, f64>, Failure> {
    let mut all = from.map(|bundle| of_bundle(plan, bundle)).transpose()?.unwrap_or_default();
    for text in given {
        all.extend(of_text(plan, text)?);
    }
    Ok(all)
}

/// Of the gates that a bundle has, too, under the same name and metric.
fn of_bundle(plan: &Plan, path: &Path) -> Result<BTreeMap<String, f64>, Failure> {
    let bundle = Bundle::open(path)?;
    let earlier = bundle.plan()?;
    let found = pair_sd(&earlier, &arms(&bundle)?);
    let same = |id: &str, spread: &PairSd| {
        let gate = plan.gate.iter().find(|gate| gate.id == id && gate.metric == spread.metric);
        gate.filter(|gate| {
            kind(gate.margin) == earlier.gate.iter().find(|g| g.id == id).and_then(|g| kind(g.margin))
        })
    };
    let kept: BTreeMap<String, f64> = found
        .iter()
        .filter(|(id, spread)| same(id, spread).is_some())
        .map(|(id, spread)| (id.clone(), spread.sd))
        .collect();
    if kept.is_empty() {
        let what = format!("--from {}", path.display());
        return Err(Failure::usage(&what, "it has no gate of this plan with three pairs: give --pair-sd"));
    }
    let list: Vec<String> = kept.keys().map(|id| format!("{id} ({} pairs)", found[id].pairs)).collect();
    say(&format!("spread of pairs from {}: {}", path.display(), list.join(", ")));
    if earlier.timing.measure_ns != plan.timing.measure_ns {
        let (then, here) = (duration_text(earlier.timing.measure_ns), duration_text(plan.timing.measure_ns));
        say(&format!("its windows were {then} long, those of this plan are {here}: longer ones spread less"));
    }
    Ok(kept)
}

/// Which unit a margin has.
fn kind(margin: Option<Margin>) -> Option<std::mem::Discriminant<Margin>> {
    margin.as_ref().map(std::mem::discriminant)
}

/// `SD` of every gate that compares times, or `GATE=SD` in the unit of its margin.
fn of_text(plan: &Plan, text: &str) -> Result<BTreeMap<String, f64>, Failure> {
    let comparing = |gate: &&Gate| matches!(gate.kind, Kind::NonInferiority | Kind::Equivalence);
    let ids: Vec<&str> = match text.split_once('=') {
        Some((id, _)) => vec![id],
        None => {
            let timed =
                plan.gate.iter().filter(comparing).filter(|gate| matches!(gate.margin, Some(Margin::Ns(_))));
            timed.map(|gate| gate.id.as_str()).collect()
        }
    };
    let value = text.split_once('=').map_or(text, |(_, value)| value);
    let mut all = BTreeMap::new();
    for id in ids {
        let (id, sd) = margin("--pair-sd", &format!("{id}={value}"), plan)?;
        if let Margin::Ns(0) | Margin::Ppm(0) | Margin::Count(0) = sd {
            let what = format!("--pair-sd {text}");
            return Err(Failure::usage(
                &what,
                "pairs that never differ have no power to tell: give more than 0",
            ));
        }
        let (Margin::Ns(sd) | Margin::Ppm(sd) | Margin::Count(sd)) = sd;
        all.insert(id, sd as f64);
    }
    if all.is_empty() {
        let what = format!("--pair-sd {text}");
        return Err(Failure::usage(
            &what,
            "no gate of this plan compares times: write GATE=SD, such as rate=150ppm",
        ));
    }
    Ok(all)
}
