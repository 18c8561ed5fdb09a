//! What a plan can decide before it is run: the chance that a perfect device passes, and the effect that is caught
//! (experiments, sections 6.2, 6.3 and 6.4).
//!
//! Simulated with a fixed keystream of its own, so that the same plan has the same figures everywhere. It is a
//! prediction: no verdict ever rests on it.

use crate::gate::alpha_ppm;
use crate::levels::Layout;
use crate::metrics::{Metric, Quantile};
use crate::plan::{Gate, Kind, Margin, Plan};
use crate::stats::{critical_t, median};
use std::collections::BTreeMap;

/// Spread from arm to arm that is assumed without a measurement, ns.
pub const ARM_SD_NS: f64 = 300_000.0;
/// Chance below which a plan is warned about.
pub const WANTED: f64 = 0.8;
/// Pairs beyond which no plan is proposed.
const MOST_PAIRS: u32 = 100;
/// Simulated runs for a figure, up to 20 pairs; fewer runs of more pairs.
const RUNS: usize = 4_000;
/// Seed of the simulation.
const SEED: u64 = 0x7769_7265_7072_6f6f;

/// A comparison as far as its power depends on it; all in the unit of the margin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Design {
    /// Non-inferiority or equivalence.
    pub kind: Kind,
    /// The margin.
    pub margin: f64,
    /// One-sided error, ppm.
    pub alpha_ppm: u64,
    /// Pairs needed before it decides.
    pub min_pairs: u32,
    /// Standard deviation of one arm.
    pub arm_sd: f64,
}

/// What a number of pairs can decide.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// Pairs.
    pub pairs: u32,
    /// Standard deviation of one arm that was assumed.
    pub arm_sd: f64,
    /// Chance that a device without any effect passes.
    pub pass_at_zero: f64,
    /// Largest effect that still passes in 80 of 100 runs; `None` when even none does not.
    pub passes_up_to: Option<f64>,
    /// Effect that fails in 80 of 100 runs; `None` when no number of pairs this small can fail.
    pub detects: Option<f64>,
    /// Pairs with which a perfect device passes in 80 of 100 runs; `None` above 100.
    pub pairs_wanted: Option<u32>,
}

/// The power of a number of pairs.
pub fn power(design: &Design, pairs: u32) -> Power {
    let reach = Reach::of(design, pairs);
    let pass_at_zero = reach.below(design.margin / design.arm_sd);
    let slack = reach.at(WANTED).map(|reach| reach * design.arm_sd);
    let pairs_wanted = if pass_at_zero >= WANTED { Some(pairs) } else { wanted(design, pairs) };
    Power {
        pairs,
        arm_sd: design.arm_sd,
        pass_at_zero,
        passes_up_to: slack.map(|slack| design.margin - slack).filter(|effect| *effect >= 0.0),
        detects: slack.map(|slack| design.margin + slack),
        pairs_wanted,
    }
}

/// Fewest pairs with which a perfect device passes often enough, by halving: more pairs never pass less.
fn wanted(design: &Design, above: u32) -> Option<u32> {
    let enough = |pairs: u32| Reach::of(design, pairs).below(design.margin / design.arm_sd) >= WANTED;
    let (mut low, mut high) = (above, MOST_PAIRS);
    if above >= MOST_PAIRS || !enough(high) {
        return None;
    }
    while high - low > 1 {
        let middle = low.midpoint(high);
        if enough(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// How far bounds and point reach above the true effect, in arm standard deviations, ascending; one of each simulated
/// run. A run passes when they do not reach the margin, and fails, mirrored, when they do not reach back to it.
struct Reach(Vec<f64>);

impl Reach {
    fn of(design: &Design, pairs: u32) -> Self {
        let n = usize::try_from(pairs).unwrap_or(0);
        let Some(t) = critical_t(n, design.alpha_ppm).filter(|_| pairs >= design.min_pairs) else {
            return Reach(Vec::new());
        };
        let mut noise = Noise::new(SEED ^ u64::from(pairs));
        let t = usize::try_from(t).unwrap_or(0);
        let runs = if n > 20 { RUNS * 400 / (n * n) } else { RUNS }.max(400);
        let mut reach: Vec<f64> = (0..runs).map(|_| reach(design.kind, n, t, &mut noise)).collect();
        reach.sort_by(f64::total_cmp);
        Reach(reach)
    }

    /// Share of runs that reach no further.
    fn below(&self, limit: f64) -> f64 {
        if self.0.is_empty() {
            return 0.0;
        }
        self.0.partition_point(|reach| *reach <= limit) as f64 / self.0.len() as f64
    }

    /// What a share of runs does not exceed.
    fn at(&self, share: f64) -> Option<f64> {
        let ppm = (share * 1e6) as u64;
        crate::stats::at(&self.0, ppm, 1_000_000)
    }
}

fn reach(kind: Kind, n: usize, t: usize, noise: &mut Noise) -> f64 {
    let base: Vec<f64> = (0..n).map(|_| noise.normal()).collect();
    let treat: Vec<f64> = (0..n).map(|_| noise.normal()).collect();
    let differences: Vec<f64> = treat.iter().zip(&base).map(|(treat, base)| treat - base).collect();
    let mut walsh: Vec<f64> = (0..n)
        .flat_map(|i| {
            (i..n).map({
                let d = &differences;
                move |j| f64::midpoint(d[i], d[j])
            })
        })
        .collect();
    let index = walsh.len() - 1 - t;
    let upper = *walsh.select_nth_unstable_by(index, f64::total_cmp).1;
    if kind == Kind::Equivalence {
        let lower = *walsh.select_nth_unstable_by(t, f64::total_cmp).1;
        return upper.max(-lower);
    }
    let point = median(&treat).zip(median(&base)).map_or(0.0, |(treat, base)| treat - base);
    upper.max(point)
}

/// A small generator of its own (SplitMix64), and normal numbers by Marsaglia's polar method.
struct Noise {
    state: u64,
    spare: Option<f64>,
}

impl Noise {
    fn new(seed: u64) -> Self {
        Noise { state: seed, spare: None }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From -1 to 1.
    fn signed(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (self.signed(), self.signed());
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let scale = (-2.0 * square.ln() / square).sqrt();
                self.spare = Some(y * scale);
                return x * scale;
            }
        }
    }
}

/// The power of a gate of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct GatePower {
    /// The gate.
    pub id: String,
    /// What it can decide.
    pub power: Power,
    /// A warning, when a perfect device passes too rarely.
    pub warning: Option<String>,
}

/// The power of every gate that compares and whose spread is known: measured in an earlier bundle (gate to the standard
/// deviation of its pairs' differences), or assumed for times.
pub fn of_plan(plan: &Plan, pair_sd: &BTreeMap<String, f64>) -> Vec<GatePower> {
    let strata = Layout::of(plan).strata.len();
    let pairs = plan.design.blocks.saturating_mul(u32::try_from(strata).unwrap_or(1));
    let gates = plan.gate.iter().filter_map(|gate| Some((gate, design(plan, gate, pair_sd)?)));
    gates.map(|(gate, design)| gate_power(gate, power(&design, pairs), strata)).collect()
}

fn gate_power(gate: &Gate, power: Power, strata: usize) -> GatePower {
    let percent = (power.pass_at_zero * 100.0).round();
    let blocks = power.pairs_wanted.map(|pairs| usize::try_from(pairs).unwrap_or(0).div_ceil(strata.max(1)));
    let wanted = blocks.map_or_else(
        || format!("more than {MOST_PAIRS} pairs would be needed: measure longer, or widen the margin"),
        |blocks| format!("{blocks} blocks would reach 80 %"),
    );
    let warning = (power.pass_at_zero < WANTED)
        .then(|| format!("gate {}: a perfect device passes in {percent} % of runs only; {wanted}", gate.id));
    GatePower { id: gate.id.clone(), power, warning }
}

fn design(plan: &Plan, gate: &Gate, pair_sd: &BTreeMap<String, f64>) -> Option<Design> {
    let metric = Metric::parse(&gate.metric)?;
    let margin = match (gate.kind, gate.margin?) {
        (Kind::NonInferiority | Kind::Equivalence, Margin::Ns(v) | Margin::Ppm(v) | Margin::Count(v)) => {
            v as f64
        }
        _ => return None,
    };
    let measured = pair_sd.get(&gate.id).map(|sd| sd / std::f64::consts::SQRT_2);
    let assumed = || matches!(gate.margin, Some(Margin::Ns(_))).then(|| arm_sd_ns(&metric, frames(plan)));
    let arm_sd = measured.or_else(assumed)?;
    let sane = arm_sd.is_finite() && arm_sd > 0.0;
    sane.then(|| Design {
        kind: gate.kind,
        margin,
        alpha_ppm: alpha_ppm(gate, &plan.design),
        min_pairs: gate.min_pairs,
        arm_sd,
    })
}

/// Frames of a window.
fn frames(plan: &Plan) -> u64 {
    let inside = plan.timing.measure_ns.saturating_sub(plan.timing.guard_ns.saturating_mul(2));
    u64::try_from(u128::from(inside) * u128::from(plan.target.expected_fps) / 1_000_000_000)
        .unwrap_or(u64::MAX)
}

/// Spread of an arm's value without a measurement, ns: what arms differ by, and what its own frames leave open, as
/// simulated with 900 frames and shrinking with their root (experiments, section 6.3).
pub fn arm_sd_ns(metric: &Metric, frames: u64) -> f64 {
    let own = match metric {
        Metric::Frame(Quantile::P95) => 80_000.0,
        Metric::Frame(Quantile::P99) => 380_000.0,
        // The spread of the largest does not shrink with more frames.
        Metric::Frame(Quantile::Max) => return 2_400_000.0,
        _ => 0.0,
    };
    let own = own * (900.0 / frames.max(1) as f64).sqrt();
    ARM_SD_NS.hypot(own)
}

/// Standard deviation of paired differences, for the next plan; `None` of fewer than two.
pub fn deviation(differences: &[f64]) -> Option<f64> {
    let n = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let squares: f64 = differences.iter().map(|d| (d - mean) * (d - mean)).sum();
    (differences.len() >= 2).then(|| (squares / (n - 1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn design(arm_sd: f64) -> Design {
        Design { kind: Kind::NonInferiority, margin: 0.5, alpha_ppm: 50_000, min_pairs: 5, arm_sd }
    }

    #[test]
    fn the_simulated_table_of_the_reference_is_met() {
        // Section 6.2: pairs, arm sd, P(pass) at 0, 0.25 and 0.50 ms.
        let table = [
            (5, 0.3, [0.52, 0.20, 0.032]),
            (6, 0.2, [0.97, 0.56, 0.046]),
            (6, 0.3, [0.76, 0.33, 0.049]),
            (8, 0.3, [0.87, 0.38, 0.038]),
            (10, 0.3, [0.95, 0.48, 0.044]),
            (10, 0.4, [0.78, 0.32, 0.041]),
            (20, 0.4, [0.98, 0.58, 0.047]),
        ];
        for (pairs, sd, expected) in table {
            let reach = Reach::of(&design(sd), pairs);
            for (effect, expected) in [0.0, 0.25, 0.5].into_iter().zip(expected) {
                let found = reach.below((0.5 - effect) / sd);
                // Three standard errors of 4,000 runs, and of the reference's own.
                assert!((found - expected).abs() < 0.025, "{pairs} pairs, sd {sd}, effect {effect}: {found}");
            }
        }
        assert_eq!(power(&design(0.3), 3).pass_at_zero, 0.0);
    }

    #[test]
    fn a_weak_plan_is_told_how_many_blocks_it_needs() {
        let weak = power(&design(0.3), 6);
        let wanted = weak.pairs_wanted.unwrap();
        assert!(weak.pass_at_zero < WANTED && (7..=8).contains(&wanted), "{weak:?}");
        assert!(power(&design(0.3), wanted).pass_at_zero >= WANTED);
        assert_eq!(weak.passes_up_to, None);
        let none = power(&design(30.0), 10);
        assert_eq!((none.pairs_wanted, none.passes_up_to), (None, None));
        assert_eq!(power(&design(0.3), 4).detects, None);
    }

    #[test]
    fn what_is_detected_lies_as_far_beyond_the_margin_as_what_passes_lies_before_it() {
        let power = power(&design(0.2), 10);
        let (passes, detects) = (power.passes_up_to.unwrap(), power.detects.unwrap());
        assert!((passes + detects - 1.0).abs() < 1e-12 && passes > 0.2 && detects < 0.8, "{power:?}");
    }

    #[test]
    fn an_equivalence_is_harder_to_pass_than_one_side_of_it() {
        let both = Design { kind: Kind::Equivalence, ..design(0.4) };
        assert!(power(&both, 10).pass_at_zero < power(&design(0.4), 10).pass_at_zero);
    }

    #[test]
    fn short_arms_leave_more_of_the_tail_open() {
        let p99 = |frames| arm_sd_ns(&Metric::Frame(Quantile::P99), frames);
        assert!(p99(299) > 700_000.0 && p99(900) < 500_000.0);
        assert_eq!(deviation(&[1.0, 2.0, 3.0]), Some(1.0));
        assert_eq!(deviation(&[1.0]), None);
    }
}
