//! Tails of the binomial distribution, from their largest term outwards, to about 1e-12 of themselves for rare events.
//!
//! It never takes differences of large logarithms of the gamma function: those would cost nine digits at 10^7 trials.

/// Stirling's correction: ln gamma(x) = (x - 1/2) ln x - x + ln(2 pi)/2 + correction(x), for x >= 10.
fn correction(x: f64) -> f64 {
    const TERMS: [f64; 6] =
        [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0];
    let square = 1.0 / (x * x);
    TERMS.iter().rev().fold(0.0, |sum, term| sum * square + term) / x
}

/// ln gamma(x) for x > 0.
fn ln_gamma(x: f64) -> f64 {
    const HALF_LN_TAU: f64 = 0.918_938_533_204_672_8;
    let (mut shifted, mut product) = (x, 1.0);
    while shifted < 10.0 {
        product *= shifted;
        shifted += 1.0;
    }
    (shifted - 0.5) * shifted.ln() - shifted + HALF_LN_TAU + correction(shifted) - f64::ln(product)
}

/// ln of 1 / B(a, b), without cancellation for a large b.
fn ln_inverse_beta(a: f64, b: f64) -> f64 {
    let (a, b) = if a <= b { (a, b) } else { (b, a) };
    if b < 10.0 {
        return ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b);
    }
    let grown = (b - 0.5) * (a / b).ln_1p() + a * ((a + b).ln() - 1.0);
    grown + correction(a + b) - correction(b) - ln_gamma(a)
}

/// Terms that are added at most: all that count up to 3e7 events, so that no count of events takes long.
const TERMS: u64 = 50_000;

/// P(X = k) of n trials with chance p, 0 < p < 1.
fn term(k: f64, n: f64, p: f64) -> f64 {
    let ln_choose = ln_inverse_beta(k + 1.0, n - k + 1.0) - (n + 1.0).ln();
    (ln_choose + k * p.ln() + (n - k) * (-p).ln_1p()).exp()
}

/// P(X >= events) of n trials with chance p, for 1 <= events <= n.
pub(super) fn tail(events: u64, n: u64, p: f64) -> f64 {
    let n_less = n - events;
    let (k, n) = (events as f64, n as f64);
    if p <= 0.0 || p >= 1.0 {
        return if p <= 0.0 { 0.0 } else { 1.0 };
    }
    let odds = p / (1.0 - p);
    if k > n * p {
        outwards(term(k, n, p), n_less, |i| (n - k - i) / (k + i + 1.0) * odds)
    } else {
        1.0 - outwards(term(k - 1.0, n, p), events - 1, |i| (k - 1.0 - i) / (n - k + 2.0 + i) / odds)
    }
}

/// A term and those behind it, each by its ratio to the one before, until they no longer count.
fn outwards(first: f64, steps: u64, ratio: impl Fn(f64) -> f64) -> f64 {
    let (mut sum, mut term) = (first, first);
    for i in 0..steps.min(TERMS) {
        term *= ratio(i as f64);
        sum += term;
        if term < sum * 1e-18 {
            break;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P(X >= x) of n trials by adding the terms, for small n.
    fn added(x: u32, n: u32, p: f64) -> f64 {
        let choose = |k: u32| (0..k).fold(1.0, |c, i| c * f64::from(n - i) / f64::from(i + 1));
        (x..=n).map(|k| choose(k) * p.powi(k as i32) * (1.0 - p).powi((n - k) as i32)).sum()
    }

    #[test]
    fn it_is_the_tail_of_the_binomial_by_adding_terms() {
        for n in [1_u32, 2, 7, 30, 60] {
            for x in 1..=n {
                for p in [1e-6, 0.01, 0.3, 0.5, 0.9] {
                    let (found, sum) = (tail(u64::from(x), u64::from(n), p), added(x, n, p));
                    assert!((found - sum).abs() <= 1e-11 * sum + 1e-15, "n {n}, x {x}, p {p}: {found} {sum}");
                }
            }
        }
    }

    #[test]
    fn one_event_of_many_trials_has_its_closed_form() {
        for n in [1e3_f64, 1e5, 1e7, 1e9] {
            let p = 3.0 / n;
            let closed = -f64::exp_m1(n * (-p).ln_1p());
            assert!((tail(1, n as u64, p) / closed - 1.0).abs() < 1e-12, "n {n}");
        }
    }

    #[test]
    fn the_logarithm_of_the_gamma_function_is_that_of_factorials() {
        let mut factorial = 1.0_f64;
        for n in 1..=20_u32 {
            assert!((ln_gamma(f64::from(n)) - factorial.ln()).abs() < 1e-13 * factorial.ln().max(1.0), "{n}");
            factorial *= f64::from(n);
        }
        assert!((ln_gamma(0.5) - std::f64::consts::PI.sqrt().ln()).abs() < 1e-14);
    }
}
