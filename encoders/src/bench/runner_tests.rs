//! The runner under a scripted clock: order, pairing, calibration, disturbance and every refusal.

use super::*;
use std::cell::{Cell, RefCell};

/// A clock that moves by what arms cost and by `read_ns` at each reading.
struct Stage {
    now: Cell<u64>,
    read_ns: u64,
    /// Index of the arm and its iterations, call by call.
    calls: RefCell<Vec<(usize, u64)>>,
}

impl Stage {
    fn new(read_ns: u64) -> Stage {
        Stage { now: Cell::new(1_000), read_ns, calls: RefCell::new(Vec::new()) }
    }

    fn read(&self) -> u64 {
        self.now.set(self.now.get() + self.read_ns);
        self.now.get()
    }

    /// An arm whose n-th call costs this many ns an iteration.
    fn arm(&self, index: usize, cost: impl Fn(usize) -> u64 + 'static) -> Arm<'_> {
        let mut call = 0;
        Arm::new(&format!("arm {index}"), move |iterations| {
            self.calls.borrow_mut().push((index, iterations));
            self.now.set(self.now.get() + cost(call) * iterations);
            call += 1;
        })
    }
}

fn plan(blocks: u32, warm_up: u32, seed: u64) -> Plan {
    Plan { blocks, warm_up, seed, timing_ns: 100_000 }
}

fn timed(stage: &Stage, plan: &Plan, arms: &mut [Arm<'_>]) -> Result<Timings, RunError> {
    run(plan, arms, &mut || stage.read())
}

/// The calls after calibration, `arms` at a time.
fn blocks(stage: &Stage, arms: usize, count: usize) -> Vec<Vec<usize>> {
    let calls = stage.calls.borrow();
    let order: Vec<usize> = calls.iter().map(|(index, _)| *index).collect();
    order[order.len() - arms * count..].chunks(arms).map(<[usize]>::to_vec).collect()
}

#[test]
fn every_block_times_every_arm_once() {
    let stage = Stage::new(1);
    let mut arms: Vec<Arm<'_>> = (0..5).map(|index| stage.arm(index, |_| 100)).collect();
    timed(&stage, &plan(20, 3, 9), &mut arms).unwrap();
    drop(arms);
    let seen = blocks(&stage, 5, 23);
    for block in &seen {
        let mut block = block.clone();
        block.sort_unstable();
        assert_eq!(block, [0, 1, 2, 3, 4]);
    }
    assert!(seen.iter().any(|block| *block != seen[0]), "{seen:?}");
}

#[test]
fn a_seed_decides_the_order_and_nothing_else_does() {
    let order = |seed, cost: u64| {
        let stage = Stage::new(1);
        let mut arms: Vec<Arm<'_>> = (0..4).map(|index| stage.arm(index, move |_| cost)).collect();
        timed(&stage, &plan(30, 2, seed), &mut arms).unwrap();
        drop(arms);
        blocks(&stage, 4, 32)
    };
    assert_eq!(order(5, 100), order(5, 77));
    assert_ne!(order(5, 100), order(6, 100));
}

#[test]
fn the_same_script_gives_the_same_timings() {
    let once = || {
        let stage = Stage::new(3);
        let mut arms =
            vec![stage.arm(0, |call| 50 + call as u64 % 7), stage.arm(1, |call| 90 + call as u64 % 5)];
        timed(&stage, &plan(25, 4, 1), &mut arms).unwrap()
    };
    assert_eq!(once(), once());
}

#[test]
fn a_timing_lasts_as_long_as_planned() {
    for cost in [1, 7, 100, 3_000, 49_999, 50_000, 250_000] {
        let stage = Stage::new(1);
        let mut arms = vec![stage.arm(0, move |_| cost)];
        let timings = timed(&stage, &plan(6, 0, 1), &mut arms).unwrap();
        let lasts = timings.iterations(0) * cost;
        assert!((100_000 - 100..=100_000 + cost).contains(&lasts), "{cost}: {lasts}");
    }
}

#[test]
fn a_coarse_clock_makes_timings_longer() {
    let stage = Stage::new(10_000);
    let mut arms = vec![stage.arm(0, |_| 100)];
    let timings = timed(&stage, &plan(6, 0, 1), &mut arms).unwrap();
    assert_eq!(timings.step_ns(), 10_000);
    let lasts = timings.iterations(0) * 100;
    assert!((200 * 10_000 - 20_000..=200 * 10_000).contains(&lasts), "{lasts}");
}

#[test]
fn the_time_of_an_iteration_is_the_time_of_the_timing_shared_out() {
    let stage = Stage::new(1);
    let mut arms = vec![stage.arm(0, |_| 100), stage.arm(1, |_| 250)];
    let timings = timed(&stage, &plan(10, 1, 1), &mut arms).unwrap();
    for (arm, cost) in [(0, 100.0), (1, 250.0)] {
        assert_eq!(timings.samples(arm).len(), 10);
        // One reading of 1 ns lies within each timing.
        let expected = cost + 1.0 / timings.iterations(arm) as f64;
        assert!(timings.samples(arm).iter().all(|sample| (sample - expected).abs() < 1e-9), "{arm}");
        assert!((timings.median(arm).unwrap() - expected).abs() < 1e-9);
        assert_eq!(timings.quantile(arm, 0), timings.quantile(arm, 100));
    }
    let ratio = timings.ratio(1, 0).unwrap();
    assert!((ratio.median - 2.5).abs() < 0.01, "{ratio:?}");
}

/// Calls of an arm before the first block: with 100 ns and 100,000 ns a timing it doubles from 1 to 512.
const CALIBRATING: usize = 10;

#[test]
fn warm_up_blocks_are_thrown_away() {
    let slow_at_first = |call: usize| if call < CALIBRATING + 5 { 100 } else { 40 };
    let stage = Stage::new(1);
    let mut arms = vec![stage.arm(0, slow_at_first)];
    let timings = timed(&stage, &plan(8, 5, 1), &mut arms).unwrap();
    assert!(timings.samples(0).iter().all(|sample| (40.0..40.01).contains(sample)), "{timings:?}");
    drop(arms);
    assert_eq!(stage.calls.borrow().len(), CALIBRATING + 5 + 8);
}

#[test]
fn a_ratio_holds_while_the_machine_slows_down() {
    // Both arms become slower block by block; unpaired medians of halves would differ, the pairs do not.
    let drift = |base: u64| move |call: usize| base * (10 + call.saturating_sub(CALIBRATING) as u64);
    let stage = Stage::new(1);
    let mut arms = vec![stage.arm(0, drift(10)), stage.arm(1, drift(20))];
    let timings = timed(&stage, &plan(40, 0, 4), &mut arms).unwrap();
    let spread = timings.quantile(0, 100).unwrap() / timings.quantile(0, 0).unwrap();
    assert!(spread > 2.0, "{spread}");
    // The second arm reaches half of the target one doubling earlier, hence the one step of drift.
    let ratio = timings.ratio(1, 0).unwrap();
    assert!(
        (1.9..2.25).contains(&ratio.interval.low) && (1.9..2.25).contains(&ratio.interval.high),
        "{ratio:?}"
    );
}

#[test]
fn a_disturbed_block_counts_and_is_reported() {
    let stage = Stage::new(1);
    let once = |call: usize| if call == CALIBRATING + 3 { 900 } else { 100 };
    let mut arms = vec![stage.arm(0, once), stage.arm(1, |_| 100)];
    let timings = timed(&stage, &plan(20, 0, 2), &mut arms).unwrap();
    assert_eq!((timings.disturbed(0), timings.disturbed(1)), (1, 0));
    assert_eq!(timings.samples(0).len(), 20);
    assert!((900.0..900.1).contains(&timings.quantile(0, 100).unwrap()));
    assert!((timings.ratio(0, 1).unwrap().median - 1.0).abs() < 0.001);
}

#[test]
fn too_few_blocks_are_refused_before_anything_is_done() {
    let stage = Stage::new(1);
    let mut arms = vec![stage.arm(0, |_| 100)];
    assert_eq!(timed(&stage, &plan(5, 0, 1), &mut arms), Err(RunError::Blocks(5)));
    drop(arms);
    assert!(stage.calls.borrow().is_empty());
}

#[test]
fn an_arm_that_takes_no_time_is_refused() {
    let stage = Stage::new(0);
    // The clock moves while it is looked at, and never for the arm.
    let mut readings = 0u64;
    let mut arms = vec![stage.arm(0, |_| 0)];
    let mut clock = || {
        readings += 1;
        readings.min(100)
    };
    let error = run(&plan(6, 0, 1), &mut arms, &mut clock).unwrap_err();
    assert_eq!(error, RunError::NoTime("arm 0".to_owned()));
    assert!(error.to_string().contains("arm 0"));
}

#[test]
fn a_clock_that_stands_or_hardly_moves_is_refused() {
    let stage = Stage::new(0);
    let mut arms = vec![stage.arm(0, |_| 100)];
    assert_eq!(timed(&stage, &plan(6, 0, 1), &mut arms), Err(RunError::ClockStands));
    let mut now = 0u64;
    let mut coarse = || {
        now += 1;
        now / 3 * 10_000_000
    };
    assert_eq!(run(&plan(6, 0, 1), &mut arms, &mut coarse), Err(RunError::ClockCoarse(10_000_000)));
}

#[test]
fn no_arms_are_no_timings() {
    let stage = Stage::new(1);
    let timings = timed(&stage, &plan(6, 0, 1), &mut []).unwrap();
    assert_eq!((timings.median(0), timings.ratio(0, 0), timings.iterations(0)), (None, None, 0));
}

#[test]
fn preparation_comes_before_each_timing_and_costs_nothing() {
    let stage = Stage::new(1);
    let prepared = RefCell::new(Vec::new());
    let arm = stage.arm(0, |_| 100).prepared(|block| {
        prepared.borrow_mut().push((block, stage.calls.borrow().len()));
        stage.now.set(stage.now.get() + 1_000_000);
    });
    let mut arms = vec![arm];
    let timings = timed(&stage, &plan(6, 2, 1), &mut arms).unwrap();
    assert!(timings.samples(0).iter().all(|sample| *sample < 101.0), "{timings:?}");
    drop(arms);
    // Once for the calibration, then before each block's timing, which is the next call.
    let expected: Vec<(u32, usize)> = (0..8).map(|block| (block, CALIBRATING + block as usize)).collect();
    assert_eq!(prepared.into_inner(), [vec![(0, 0)], expected].concat());
}
