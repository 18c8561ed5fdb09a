//! The runner as a whole, in simulated time.
//!
//! It never waits.

mod simulation;

use simulation::*;
use wireproof_matrices::arm::ArmState;
use wireproof_matrices::runner::io::Outcome;

#[test]
fn the_example_matrix_runs_twenty_arms_in_seven_simulated_minutes_and_puts_everything_back() {
    let run = run(&example(), &[]);
    assert_eq!((run.outcome(), run.exit.code), (Outcome::Complete, None), "{}", run.why());
    assert_eq!(run.bench.arms.len(), 20);
    assert!(run.bench.arms.iter().all(|arm| arm.state == ArmState::Ok), "{:?}", run.bench.arms[0].state);
    assert!(run.is_restored() && run.bench.is_sealed());
    let minutes = run.ended.0 / (60 * SECOND);
    assert!((6..=8).contains(&minutes), "{minutes} min");
}
