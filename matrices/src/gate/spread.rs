//! How far the paired differences of a run spread, gate by gate: what the power of the next plan is told from.
//!
//! It says nothing about the device: a treatment that shifts every pair alike does not widen it.

use super::{Counted, Scale, scaled};
use crate::arm::Arm;
use crate::levels::Layout;
use crate::metrics::Metric;
use crate::plan::{Gate, Kind, Plan};
use crate::verdict::counted_blocks;
use std::collections::BTreeMap;

/// Fewest pairs whose spread is worth more than an assumption.
const FEW: usize = 3;

/// The spread of a gate's pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct PairSd {
    /// The metric it was measured by.
    pub metric: String,
    /// Standard deviation of the paired differences within strata, in the unit of the gate's margin (ns, ppm or a count).
    pub sd: f64,
    /// Pairs it comes from.
    pub pairs: u32,
}

/// Of every comparing gate of a run that has three pairs or more; of several treatments or streams the widest.
pub fn pair_sd(plan: &Plan, arms: &[Arm]) -> BTreeMap<String, PairSd> {
    let layout = Layout::of(plan);
    let blocks = counted_blocks(plan, &layout, arms);
    let counted = Counted { plan, layout: &layout, blocks, attempts: arms };
    plan.gate.iter().filter_map(|gate| Some((gate.id.clone(), widest(&counted, gate)?))).collect()
}

fn widest(counted: &Counted<'_>, gate: &Gate) -> Option<PairSd> {
    let comparing = matches!(gate.kind, Kind::NonInferiority | Kind::Equivalence);
    let metric = Metric::parse(&gate.metric).filter(|_| comparing)?;
    let (scale, _) = scaled(gate, &metric).ok()?;
    let (baseline, others) = counted.layout.compared(&gate.selector);
    let baseline = baseline?;
    let series = others.iter().flat_map(|other| counted.pairs(&metric, &gate.selector, baseline, *other));
    let spreads = series.filter_map(|(_, pairs)| {
        let mut strata: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for pair in pairs {
            let difference = |(base, treat)| Scale::difference(scale, treat, base);
            let found = pair.baseline.1.zip(pair.treatment.1).and_then(difference);
            strata.entry(pair.baseline.0.place.stratum).or_default().extend(found);
        }
        pooled(&strata)
    });
    let (sd, pairs) = spreads.max_by(|a, b| a.0.total_cmp(&b.0))?;
    // Without any spread at all there is still the resolution of the figures.
    Some(PairSd { metric: gate.metric.clone(), sd: sd.max(1.0), pairs })
}

/// Standard deviation about the mean of each stratum, and the pairs it comes from.
fn pooled(strata: &BTreeMap<u32, Vec<f64>>) -> Option<(f64, u32)> {
    let (mut squares, mut pairs, mut free) = (0.0, 0, 0);
    for differences in strata.values().filter(|differences| differences.len() > 1) {
        let mean = differences.iter().sum::<f64>() / differences.len() as f64;
        squares += differences.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>();
        pairs += differences.len();
        free += differences.len() - 1;
    }
    (pairs >= FEW).then(|| ((squares / free as f64).sqrt(), u32::try_from(pairs).unwrap_or(u32::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_that_within_strata_and_needs_three_pairs() {
        let of = |strata: &[&[f64]]| pooled(&(0..).zip(strata.iter().map(|d| d.to_vec())).collect());
        assert_eq!(of(&[&[1.0, 2.0, 3.0]]), Some((1.0, 3)));
        assert_eq!(of(&[&[1.0, 2.0, 3.0], &[101.0, 102.0, 103.0]]), Some((1.0, 6)));
        assert_eq!(of(&[&[1.0, 2.0]]), None);
        assert_eq!(of(&[&[1.0, 3.0], &[7.0], &[5.0, 5.0]]), Some((1.0, 4)));
    }
}
