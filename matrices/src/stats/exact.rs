//! Exact binomial figures: tails, Clopper-Pearson bounds, and the trials a claim of "never" needs.
//!
//! Counts of events are bursts and counts of trials are frames or datagrams; this file does not care which.

use super::binomial::tail;

/// P(X >= events) of so many trials with this chance each.
pub fn binomial_tail(events: u64, trials: u64, chance: f64) -> f64 {
    match events {
        0 => 1.0,
        _ if events > trials => 0.0,
        _ => tail(events, trials, chance),
    }
}

/// The chance in 0..1 at which a rising function of it reaches a level, by bisection down to neighbouring values.
fn solve(level: f64, rising: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return high;
        }
        if rising(middle) < level { low = middle } else { high = middle }
    }
}

/// One-sided upper bound of a rate with error alpha (Clopper-Pearson); in closed form without events.
pub fn upper_bound(events: u64, trials: u64, alpha: f64) -> f64 {
    if events >= trials {
        return 1.0;
    }
    if events == 0 {
        return -f64::exp_m1(alpha.ln() / trials as f64);
    }
    solve(1.0 - alpha, |chance| binomial_tail(events + 1, trials, chance))
}

/// Two-sided Clopper-Pearson interval of a rate with error alpha in all.
pub fn clopper_pearson(events: u64, trials: u64, alpha: f64) -> (f64, f64) {
    let low = match events {
        0 => 0.0,
        _ => solve(alpha / 2.0, |chance| binomial_tail(events.min(trials), trials, chance)),
    };
    (if trials == 0 { 0.0 } else { low }, upper_bound(events, trials, alpha / 2.0))
}

/// Trials without an event before "below this rate" may be written, error 5 %; `None` for a rate outside 0..1.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; casts saturate")]
pub fn trials_needed(rate: f64) -> Option<u64> {
    (rate > 0.0 && rate < 1.0).then(|| (0.05_f64.ln() / (-rate).ln_1p()).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_and_bounds_at_their_ends_are_certain() {
        assert_eq!((binomial_tail(0, 5, 0.1), binomial_tail(6, 5, 0.1)), (1.0, 0.0));
        assert!((binomial_tail(5, 5, 0.1) - 1e-5).abs() < 1e-18);
        assert_eq!(clopper_pearson(0, 0, 0.05), (0.0, 1.0));
        assert_eq!(clopper_pearson(7, 7, 0.05).1, 1.0);
        assert_eq!((trials_needed(0.0), trials_needed(1.0)), (None, None));
    }

    #[test]
    fn a_bound_is_where_the_tail_has_its_error() {
        for (events, trials) in [(1, 10), (3, 1_800), (40, 2_995_731), (900, 1_000)] {
            let (low, high) = clopper_pearson(events, trials, 0.05);
            assert!((binomial_tail(events, trials, low) / 0.025 - 1.0).abs() < 1e-9, "{events} of {trials}");
            let below = 1.0 - binomial_tail(events + 1, trials, high);
            assert!((below / 0.025 - 1.0).abs() < 1e-9, "{events} of {trials}: {below}");
        }
    }

    #[test]
    fn a_claim_with_the_trials_it_needs_holds_and_with_one_less_does_not() {
        for rate in [1e-2, 1e-3, 1e-5] {
            let trials = trials_needed(rate).unwrap();
            assert!(upper_bound(0, trials, 0.05) <= rate && upper_bound(0, trials - 1, 0.05) > rate);
        }
    }
}
