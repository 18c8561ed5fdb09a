//! The rule of a gate on numbers: an interval decides, a point estimate alone never does (experiments, section 6.1).
//!
//! It knows no arms. Comparisons are inclusive: "no more than".

use crate::plan::{Design, Direction, Gate, Kind};
use crate::stats::{Estimate, estimate};
use crate::verdict::{Decision, SeedRule};

/// What decides a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The rule: non-inferiority, equivalence or ceiling.
    pub kind: Kind,
    /// The most it allows, in the unit of the differences.
    pub margin: f64,
    /// One-sided error, ppm.
    pub alpha_ppm: u64,
    /// Pairs needed before it can decide.
    pub min_pairs: usize,
    /// Which way is better.
    pub direction: Direction,
}

/// What a rule says of some differences.
#[derive(Clone, Debug, PartialEq)]
pub struct Ruling {
    /// Estimate and bounds of the differences as they are.
    pub estimate: Estimate,
    /// The decision.
    pub decision: Decision,
    /// Why: one word with underscores.
    pub reason: &'static str,
    /// What the point rule alone would have said.
    pub seed_rule: Option<SeedRule>,
    /// Exact one-sided probability of the data with the effect at the margin.
    pub p_fail: f64,
}

impl Rule {
    /// The rule of a gate under a plan's looks.
    pub fn of(gate: &Gate, design: &Design, margin: f64) -> Self {
        Rule {
            kind: gate.kind,
            margin,
            alpha_ppm: alpha_ppm(gate, design),
            min_pairs: usize::try_from(gate.min_pairs).unwrap_or(usize::MAX),
            direction: gate.direction,
        }
    }

    /// +1 where more is worse, -1 where less is. An equivalence has no better way.
    pub fn sign(&self) -> f64 {
        if self.direction == Direction::More && self.kind != Kind::Equivalence { -1.0 } else { 1.0 }
    }

    /// The worst value that may stand for a comparison when several decide alike: how far it reaches towards the
    /// margin.
    pub fn reach(&self, estimate: &Estimate) -> f64 {
        let (low, high) = (estimate.lower.unwrap_or(f64::MIN), estimate.upper.unwrap_or(f64::MAX));
        match self.kind {
            Kind::Equivalence => high.max(-low),
            _ if self.sign() < 0.0 => -low,
            _ => high,
        }
    }

    /// True when a value is beyond the margin.
    pub fn beyond(&self, value: f64) -> bool {
        if self.kind == Kind::Equivalence {
            value.abs() > self.margin
        } else {
            value * self.sign() > self.limit()
        }
    }

    /// Decides by the differences and the difference of medians.
    pub fn decide(&self, differences: &[f64], point: Option<f64>) -> Ruling {
        let estimate = estimate(differences, self.alpha_ppm);
        let seed_rule = point.map(|point| if self.beyond(point) { SeedRule::Fail } else { SeedRule::Pass });
        let (decision, reason) = self.word(&estimate, seed_rule);
        Ruling { decision, reason, seed_rule, p_fail: self.p_fail(&estimate), estimate }
    }

    /// The margin on the scale where more is worse: a ceiling for `more` is a floor.
    fn limit(&self) -> f64 {
        if self.kind == Kind::Ceiling { self.margin * self.sign() } else { self.margin }
    }

    fn word(&self, estimate: &Estimate, seed_rule: Option<SeedRule>) -> (Decision, &'static str) {
        let (Some(low), Some(high)) = (estimate.lower, estimate.upper) else {
            return (Decision::Inconclusive, "too_few_pairs");
        };
        if estimate.n < self.min_pairs {
            return (Decision::Inconclusive, "too_few_pairs");
        }
        if self.kind == Kind::Equivalence {
            return self.both_ways(low, high);
        }
        let (low, high) = if self.sign() < 0.0 { (-high, -low) } else { (low, high) };
        match seed_rule {
            Some(SeedRule::Pass) if high <= self.limit() => (Decision::Pass, "upper_bound_within_margin"),
            Some(SeedRule::Fail) if low > self.limit() => (Decision::Fail, "lower_bound_beyond_margin"),
            _ if high <= self.limit() || low > self.limit() => {
                (Decision::Inconclusive, "estimators_disagree")
            }
            _ => (Decision::Inconclusive, "interval_straddles_margin"),
        }
    }

    fn both_ways(&self, low: f64, high: f64) -> (Decision, &'static str) {
        if low >= -self.margin && high <= self.margin {
            (Decision::Pass, "interval_within_margin")
        } else if low > self.margin || high < -self.margin {
            (Decision::Fail, "interval_beyond_margin")
        } else {
            (Decision::Inconclusive, "interval_straddles_margin")
        }
    }

    fn p_fail(&self, estimate: &Estimate) -> f64 {
        match self.kind {
            Kind::Equivalence => estimate.p_above(self.margin).min(estimate.p_below(-self.margin)),
            _ if self.sign() < 0.0 => estimate.p_below(-self.limit()),
            _ => estimate.p_above(self.limit()),
        }
    }
}

/// One-sided error of one look. Two looks at 3 % each are 4.4 % together (experiments, section 6.5), so two take six
/// tenths each; more than two share it out.
pub fn alpha_ppm(gate: &Gate, design: &Design) -> u64 {
    match design.looks.len() as u64 {
        0 | 1 => gate.alpha_ppm,
        2 => gate.alpha_ppm * 6 / 10,
        looks => gate.alpha_ppm / looks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(kind: Kind, direction: Direction) -> Rule {
        Rule { kind, margin: 10.0, alpha_ppm: 50_000, min_pairs: 6, direction }
    }

    fn word(rule: &Rule, shift: f64, point: f64) -> (Decision, &'static str) {
        let differences: Vec<f64> = [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0].map(|d| d + shift).to_vec();
        let ruling = rule.decide(&differences, Some(point));
        (ruling.decision, ruling.reason)
    }

    #[test]
    fn interval_and_point_have_to_agree() {
        let rule = rule(Kind::NonInferiority, Direction::Less);
        let straddles = (Decision::Inconclusive, "interval_straddles_margin");
        let disagree = (Decision::Inconclusive, "estimators_disagree");
        assert_eq!(word(&rule, 0.0, 0.0), (Decision::Pass, "upper_bound_within_margin"));
        assert_eq!(word(&rule, 20.0, 20.0), (Decision::Fail, "lower_bound_beyond_margin"));
        assert_eq!([word(&rule, 10.0, 9.0), word(&rule, 10.0, 11.0)], [straddles, straddles]);
        assert_eq!([word(&rule, 0.0, 11.0), word(&rule, 20.0, 9.0)], [disagree, disagree]);
        let few = rule.decide(&[0.0; 5], Some(0.0));
        assert_eq!((few.decision, few.reason), (Decision::Inconclusive, "too_few_pairs"));
    }

    #[test]
    fn where_more_is_better_a_loss_counts_and_a_gain_does_not() {
        let rule = rule(Kind::NonInferiority, Direction::More);
        assert_eq!(word(&rule, 50.0, 50.0).0, Decision::Pass);
        assert_eq!(word(&rule, -50.0, -50.0).0, Decision::Fail);
        assert!(rule.beyond(-10.5) && !rule.beyond(-10.0) && !rule.beyond(99.0));
        let ruling = rule.decide(&[-50.0; 7], Some(-50.0));
        assert!(ruling.p_fail <= 0.05 && rule.decide(&[50.0; 7], Some(50.0)).p_fail == 1.0);
    }

    #[test]
    fn an_equivalence_is_broken_either_way() {
        let rule = rule(Kind::Equivalence, Direction::Less);
        let words = [0.0, 20.0, -20.0, 10.0, -10.0].map(|shift| word(&rule, shift, shift).0);
        use Decision::{Fail, Inconclusive, Pass};
        assert_eq!(words, [Pass, Fail, Fail, Inconclusive, Inconclusive]);
    }

    #[test]
    fn a_ceiling_for_which_more_is_better_is_a_floor() {
        let (ceiling, floor) = (rule(Kind::Ceiling, Direction::Less), rule(Kind::Ceiling, Direction::More));
        assert_eq!(
            [word(&ceiling, 0.0, 0.0).0, word(&ceiling, 20.0, 20.0).0],
            [Decision::Pass, Decision::Fail]
        );
        assert_eq!([word(&floor, 0.0, 0.0).0, word(&floor, 20.0, 20.0).0], [Decision::Fail, Decision::Pass]);
        assert!(floor.beyond(9.0) && !floor.beyond(10.0));
    }
}
