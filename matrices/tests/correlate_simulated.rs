//! How often clean runs are called correlated, and how often runs whose downloads cause losses are.
//!
//! The models are those of experiments section 7.1. Seeds are 0..RUNS; what comes out is printed with `--nocapture`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "figures are shown")]

use wireproof_matrices::arm::Span;
use wireproof_matrices::correlate::{ArmTimes, DropsVsDrains, Loss, drops_vs_drains};
use wireproof_matrices::order::{Keystream, key};

const RUNS: u64 = 1_500;
const SECOND_MS: i64 = 1_000;
const LENGTH_MS: i64 = 60 * SECOND_MS;
const DRAINS: i64 = 11;
const TAIL_NS: u64 = 100_000_000;

struct Dice(Keystream);

impl Dice {
    fn new(seed: u64, model: u64) -> Dice {
        Dice(Keystream::new(&key(seed), model))
    }

    fn below(&mut self, n: i64) -> i64 {
        i64::from(self.0.below(u32::try_from(n).unwrap()))
    }
}

fn span(start_ms: i64, length_ms: i64) -> Span {
    Span { start_ns: start_ms * 1_000_000, end_ns: (start_ms + length_ms) * 1_000_000 }
}

/// Eleven downloads of about 0.2 s, each moved by up to half of the spacing.
fn jittered(dice: &mut Dice) -> Vec<Span> {
    let spacing = LENGTH_MS / DRAINS;
    (0..DRAINS).map(|i| span(i * spacing + dice.below(spacing / 2), 160 + dice.below(80))).collect()
}

fn at(at_ms: i64, missing: u64) -> Loss {
    Loss { span: span(at_ms.rem_euclid(LENGTH_MS), 0), missing }
}

fn independent(dice: &mut Dice) -> Vec<Loss> {
    (0..4 + dice.below(8)).map(|_| at(dice.below(LENGTH_MS), 1 + dice.below(5) as u64)).collect()
}

/// Three to five bad moments, each with several episodes within a second.
fn clustered(dice: &mut Dice) -> Vec<Loss> {
    let mut losses = Vec::new();
    for _ in 0..3 + dice.below(3) {
        let moment = dice.below(LENGTH_MS);
        losses.extend((0..1 + dice.below(4)).map(|i| at(moment + i * (80 + dice.below(170)), 1)));
    }
    losses
}

/// Every five seconds or so, from a random phase.
fn periodic(dice: &mut Dice) -> Vec<Loss> {
    let (phase, period) = (dice.below(LENGTH_MS), 4_800 + dice.below(400));
    (0..LENGTH_MS / period).map(|i| at(phase + i * period, 1)).collect()
}

/// Half of the downloads lose something while they run.
fn caused(dice: &mut Dice, drains: &[Span]) -> Vec<Loss> {
    let mut losses = Vec::new();
    for drain in drains {
        let moment = drain.start_ns / 1_000_000 + dice.below(200);
        if dice.below(2) == 0 {
            losses.push(at(moment, 1 + dice.below(5) as u64));
        }
    }
    losses
}

struct Rates {
    circular: f64,
    binomial: f64,
    paired: f64,
    correlated: f64,
}

fn rates(model: u64, run: impl Fn(&mut Dice, &[Span]) -> Vec<Loss>) -> Rates {
    let found: Vec<DropsVsDrains> = (0..RUNS)
        .map(|seed| {
            let mut dice = Dice::new(seed, model);
            let drains = jittered(&mut dice);
            let losses = run(&mut dice, &drains);
            drops_vs_drains(&[ArmTimes { length_ns: LENGTH_MS * 1_000_000, drains, losses }], TAIL_NS)
        })
        .collect();
    let share =
        |of: &dyn Fn(&DropsVsDrains) -> bool| found.iter().filter(|f| of(f)).count() as f64 / RUNS as f64;
    Rates {
        circular: share(&|f| f.circular_shift_p.0 <= 0.05),
        binomial: share(&|f| f.binomial_p.0 <= 0.05),
        paired: share(&|f| f.paired.p.0 <= 0.05),
        correlated: share(&|f| f.correlated),
    }
}

fn show(name: &str, rates: &Rates) {
    let Rates { circular, binomial, paired, correlated } = rates;
    println!(
        "{name}: circular {circular:.3}, binomial {binomial:.3}, paired {paired:.3} at 5 %; correlated {correlated:.3}"
    );
}

#[test]
fn clean_runs_are_seldom_called_correlated() {
    type Model = fn(&mut Dice) -> Vec<Loss>;
    let models: [(&str, Model); 3] =
        [("independent", independent), ("clustered", clustered), ("periodic", periodic)];
    println!("{RUNS} runs, seeds 0..{RUNS}");
    for ((name, losses), model) in models.into_iter().zip(1..) {
        let rates = rates(model, |dice, _| losses(dice));
        show(name, &rates);
        assert!(rates.circular <= 0.06, "{name}: {}", rates.circular);
        assert!(rates.correlated <= 0.02, "{name}: {}", rates.correlated);
    }
}

#[test]
fn runs_whose_downloads_lose_something_half_of_the_time_are_called_correlated() {
    println!("{RUNS} runs, seeds 0..{RUNS}");
    let rates = rates(10, caused);
    show("caused by half of the downloads", &rates);
    assert!(rates.circular >= 0.9 && rates.binomial >= 0.9, "{} {}", rates.circular, rates.binomial);
    assert!(rates.correlated >= 0.75, "{}", rates.correlated);
}
