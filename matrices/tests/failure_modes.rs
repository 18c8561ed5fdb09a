//! The table of what can go wrong (experiments section 10), row by row: what is planted, and exactly what the run does.
//!
//! It never waits; every run is in simulated time. Rows that only a shell can see are given to the runner as the input
//! that the shell makes of them.
#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod simulation;

use simulation::*;
use std::ops::RangeInclusive;
use wireproof_matrices::arm::ArmState;
use wireproof_matrices::digest::Digest;
use wireproof_matrices::journal::{ArmEnd, Chain, JOURNAL_VERSION, Journal, Record};
use wireproof_matrices::order::order;
use wireproof_matrices::plan::{Margin, Plan};
use wireproof_matrices::runner::io::{Command, Input, Outcome};
use wireproof_matrices::simulated::Fault;
use wireproof_protocols::Timestamp;

/// Every attempt, and the time before the first.
const ALWAYS: RangeInclusive<u32> = 0..=u32::MAX;

fn profiler(level: &str) -> (String, String) {
    ("profiler".to_owned(), level.to_owned())
}

/// The nth attempt of a run without repeats that has this treatment.
fn nth(plan: &Plan, treatment: &str, n: usize) -> u32 {
    let order = order(plan);
    let arms = order.strata[0].blocks.iter().flatten().map(|index| order.name(*index));
    let mut found = (1..).zip(arms).filter(|(_, name)| *name == treatment);
    found.nth(n - 1).expect("so many arms").0
}

fn is_set(command: &Command, level: &str) -> bool {
    matches!(command, Command::SetToggle { factor, level: l } if factor == "profiler" && l == level)
}

/// The run completes, and its first attempt at these arms is valid although something happened.
fn completes_with_note(fault: Fault, code: &str) -> Run {
    let run = run(&short(2), &[(1..=1, fault)]);
    assert_eq!(run.outcome(), Outcome::Complete, "{}", run.why());
    assert_eq!((run.reasons(1), run.noted(1, code)), (vec![], true), "{:?}", run.attempt(1).notes);
    assert_eq!(run.repeats(), []);
    run
}

/// The arm is invalid for exactly this reason, repeated right after its block, and the run completes.
fn spoils(plan: &Plan, attempt: u32, fault: Fault, reason: &str) -> Run {
    let run = run(plan, &[(attempt..=attempt, fault)]);
    assert_eq!(run.reasons(attempt as usize), [reason], "{:?}", run.attempt(attempt as usize).notes);
    assert_eq!((run.outcome(), run.exit.code), (Outcome::Complete, None), "{}", run.why());
    let spoiled = run.attempt(attempt as usize).place.clone();
    assert_eq!(run.repeats(), [(spoiled.block, spoiled.position, 2)]);
    let again = run.bench.arms.iter().position(|arm| arm.place.attempt == 2).expect("repeated");
    let last_of_block = spoiled.block as usize * 2;
    assert_eq!(again, last_of_block, "right after its block");
    assert!(run.is_restored());
    run
}

/// The run does not start: nothing was set, and the line says what to do.
fn refuses(faults: &[(RangeInclusive<u32>, Fault)], said: &str) {
    let run = run(&short(1), faults);
    assert_eq!((run.outcome(), run.exit.code), (Outcome::Refused, Some(6)));
    assert!(run.why().contains(said), "{}", run.why());
    assert_eq!(run.commands(|command| matches!(command, Command::SetToggle { .. })), Vec::<usize>::new());
    assert!(run.bench.arms.is_empty() && run.is_restored());
}

#[test]
fn row_01_a_toggle_that_does_not_take_is_set_once_more_else_the_arm_is_aborted_and_the_run_stops() {
    let (factor, level) = profiler("on");
    let once = run(&short(1), &[(ALWAYS, Fault::ToggleStuck { factor: factor.clone(), sets: 1 })]);
    assert_eq!(once.outcome(), Outcome::Complete, "{}", once.why());
    assert_eq!(once.commands(|command| is_set(command, "on")).len(), 2, "set and set again");
    let sets = once.commands(|command| is_set(command, "on"));
    let reads = once.commands(|command| matches!(command, Command::VerifyToggle { .. }));
    let between = reads.iter().filter(|at| (sets[0]..sets[1]).contains(at));
    let times: Vec<Timestamp> = between.map(|at| once.bench.trace[*at].0).collect();
    let least = times.windows(2).map(|pair| pair[1].since(pair[0])).min();
    assert!(times.len() > 3 && least >= Some(100_000_000), "read back ten times a second at most: {times:?}");

    let run = run(&varied(1), &[(ALWAYS, Fault::LevelRefused { factor, level })]);
    assert_eq!((run.outcome(), run.exit.code), (Outcome::Invalid, Some(4)), "{}", run.why());
    assert!(run.why().contains("profiler could not be set to on: setting it failed: 403"), "{}", run.why());
    assert_eq!(run.commands(|command| is_set(command, "on")).len(), 2);
    let ended = run.bench.journal.iter().rev().find_map(|record| match record {
        Record::ArmEnd { state, .. } => Some(*state),
        _ => None,
    });
    assert_eq!(ended, Some(ArmEnd::Interrupted));
    assert!(run.is_restored() && run.bench.is_sealed());
}

#[test]
fn row_02_a_toggle_that_says_on_and_does_nothing_is_treated_like_one_that_does_not_take() {
    let factor = "profiler".to_owned();
    let once = run(&short(1), &[(ALWAYS, Fault::ToggleIdle { factor: factor.clone(), sets: 1 })]);
    assert_eq!(once.outcome(), Outcome::Complete, "{}", once.why());
    assert_eq!(once.commands(|command| is_set(command, "on")).len(), 2);

    let run = run(&short(1), &[(ALWAYS, Fault::ToggleIdle { factor, sets: 2 })]);
    assert_eq!((run.outcome(), run.exit.code), (Outcome::Invalid, Some(4)));
    assert!(run.why().contains("it reads on and does nothing: its counter moved by 0"), "{}", run.why());
    assert!(run.is_restored());
}

#[test]
fn row_03_a_toggle_changed_by_someone_during_the_arm_makes_it_invalid_and_it_is_set_again() {
    let (factor, level) = profiler("off");
    let run = spoils(&short(2), 1, Fault::ToggleDrifts { factor, level }, "toggle_drifted");
    assert!(run.noted(1, "toggle_drifted"), "says which factor and what it reads");
    assert_eq!(run.commands(|command| is_set(command, "on")).len(), 2, "a fixed factor is set again");
    assert_eq!(run.reasons(2), Vec::<String>::new());
}

#[test]
fn row_04_a_restore_that_failed_is_loud_exits_4_and_the_next_run_refuses() {
    let (factor, level) = profiler("off");
    let run = run(&short(1), &[(ALWAYS, Fault::LevelRefused { factor, level })]);
    assert_eq!((run.exit.code, run.exit.ending.restored), (Some(4), false));
    assert!(
        run.exit.lines[0].starts_with("NOT RESTORED: profiler has to stand at off"),
        "{:?}",
        run.exit.lines
    );
    assert_eq!(run.exit.lines.last().unwrap(), "put it back with: wireproof matrix restore evidence/x");
    assert_eq!(run.bench.levels["preview"], run.before["preview"], "the others are put back all the same");
    refuses(&[(0..=0, Fault::Unrestored)], "wireproof matrix restore evidence/earlier");
}

#[test]
fn row_05_a_restarted_device_makes_the_arm_invalid_warms_up_again_and_the_second_time_ends_the_run() {
    let once = spoils(&short(2), 2, Fault::Restarts, "device_restarted");
    assert_eq!(once.commands(|command| matches!(command, Command::StartWarmup)).len(), 2);
    assert_eq!(once.commands(|command| is_set(command, "on")).len(), 2, "fixed factors are set again");
    let preview =
        |command: &Command| matches!(command, Command::SetToggle { factor, .. } if factor == "preview");
    assert_eq!(once.commands(preview).len(), 3, "and those of the stratum; the third puts it back");

    let twice = run(&short(2), &[(2..=2, Fault::Restarts), (4..=4, Fault::Restarts)]);
    assert_eq!((twice.outcome(), twice.exit.code), (Outcome::Invalid, Some(4)));
    assert!(twice.why().contains("the device restarted a second time"), "{}", twice.why());
    assert_eq!(twice.bench.arms.len(), 4);
    assert!(twice.is_restored());
}

#[test]
fn row_06_a_changed_build_ends_the_run_at_the_next_block() {
    let run = run(&short(3), &[(3..=9, Fault::OtherBuild)]);
    assert_eq!((run.outcome(), run.exit.code), (Outcome::Invalid, Some(4)));
    assert!(run.why().contains("requires build = ad2d91a of the device, and it is other"), "{}", run.why());
    assert_eq!((run.bench.arms.len(), run.is_restored()), (2, true), "one block of two arms was run");
}

#[test]
fn row_07_a_device_clock_that_steps_or_falls_makes_the_arm_invalid() {
    spoils(&short(2), 1, Fault::DeviceClockSteps(1_000_001), "clock_unstable");
    spoils(&short(2), 1, Fault::DeviceClockSteps(-5 * MS), "clock_unstable");
    spoils(&short(2), 1, Fault::DeviceTimesFall, "clock_unstable");
    let at_the_limit = run(&short(1), &[(1..=1, Fault::DeviceClockSteps(MS))]);
    assert_eq!(at_the_limit.reasons(1), Vec::<String>::new(), "exactly 1 ms is not past it");
}

#[test]
fn row_08_a_stepped_clock_of_the_bench_is_a_finding_and_the_arms_jitter_is_not_used() {
    let run = completes_with_note(Fault::BenchClockSteps(3 * MS), "bench_clock_stepped");
    assert!(run.attempt(1).notes.iter().any(|note| note.contains("jitter is not used")));
    assert_eq!(run.attempt(1).measured.health.clock_steps_ns, [3 * MS]);
}

#[test]
fn row_09_a_stalled_receive_loop_whose_buffer_held_is_a_finding_only() {
    completes_with_note(Fault::LoopStalls { for_ns: 5_000_000_000, lost: 0 }, "loop_stalled");
}

#[test]
fn row_10_a_stalled_receive_loop_that_overflowed_makes_the_arm_invalid() {
    let run = spoils(&short(2), 1, Fault::LoopStalls { for_ns: 250_000_000, lost: 14 }, "observer_lost");
    assert_eq!(run.attempt(1).measured.streams[2].owners.observer, 14, "kept as evidence");
}

#[test]
fn row_11_a_receive_buffer_smaller_than_asked_refuses_to_start_and_says_which_sysctl() {
    refuses(&[(0..=0, Fault::SmallBuffer)], "sysctl -w net.core.rmem_max=4194304");
    refuses(&[(0..=0, Fault::ShortHold)], "holds 230 ms, less than 2000 ms");
    refuses(&[(0..=0, Fault::StallUnreported)], "the stall control lost 214 datagrams and reported 0");
}

#[test]
fn row_12_a_dropping_tap_is_no_evidence_and_the_sockets_still_judge() {
    completes_with_note(Fault::TapDrops, "tap_dropped");
}

#[test]
fn row_13_drops_of_the_card_or_the_kernel_make_the_arm_invalid() {
    spoils(&short(2), 1, Fault::HostDrops(1), "host_drops");
}

#[test]
fn row_14_bad_checksums_count_as_loss_on_the_wire_and_the_arm_stands() {
    let run = run(&short(1), &[(1..=1, Fault::BadChecksums(3))]);
    assert_eq!((run.outcome(), &run.attempt(1).state), (Outcome::Complete, &ArmState::Ok));
    let stream = &run.attempt(1).measured.streams[2];
    assert_eq!((stream.lost, stream.owners.wire), (3, 3));
}

#[test]
fn row_15_a_wrapped_ring_is_collected_once_more_if_the_arms_records_are_still_there() {
    let again = |command: &Command| matches!(command, Command::Collect { attempt: 2 });
    let held = run(&short(1), &[(1..=1, Fault::RingWraps { still_there: true })]);
    assert_eq!((held.reasons(1), held.commands(again).len()), (vec![], 1));
    let gone = spoils(&short(2), 1, Fault::RingWraps { still_there: false }, "ring_wrapped");
    assert_eq!(gone.commands(again).len(), 0);
}

#[test]
fn a_copy_from_before_the_end_of_the_window_is_asked_for_again_until_it_is_fresh() {
    let more = |run: &Run| run.commands(|command| matches!(command, Command::Collect { .. })).len();
    let clean = more(&run(&short(1), &[]));
    let once = run(&short(1), &[(1..=1, Fault::RingStale { times: 3 })]);
    assert_eq!((once.reasons(1), once.outcome(), more(&once)), (vec![], Outcome::Complete, clean + 3));
    let never = spoils(&short(2), 1, Fault::RingStale { times: 4 }, "ring_stale");
    assert_eq!(never.outcome(), Outcome::Complete);
}

#[test]
fn row_16_a_cut_download_fails_the_arm_inside_the_window_and_is_collected_once_more_behind_it() {
    let plan = short(2);
    let raw = nth(&plan, "raw", 1);
    let run_ = spoils(&plan, raw, Fault::DrainTruncated { index: 1 }, "drain_failed");
    assert!(run_.noted(raw as usize, "drain_failed"));
    let once = run(&plan, &[(1..=1, Fault::CollectTruncated { times: 1 })]);
    assert_eq!((once.outcome(), once.repeats()), (Outcome::Complete, vec![]));
    spoils(&plan, 1, Fault::CollectTruncated { times: 2 }, "collect_failed");
}

#[test]
fn row_17_torn_frames_are_counted_and_spoil_the_arm_from_one_in_a_thousand() {
    let mut plan = short(2);
    plan.timing.measure_ns = 20_000_000_000;
    let few = run(&plan, &[(1..=1, Fault::TornFrames(1))]);
    assert_eq!((few.reasons(1), few.noted(1, "torn_frames")), (vec![], true));
    spoils(&plan, 1, Fault::TornFrames(2), "torn_frames");
}

#[test]
fn row_18_collecting_after_the_ring_has_gone_round_counts_as_wrapped() {
    let mut plan = short(2);
    plan.drain.as_mut().expect("a drain").timeout_ns = 30_000_000_000;
    let run = spoils(&plan, 1, Fault::CollectsLate(25 * SECOND), "ring_wrapped");
    assert_eq!(run.commands(|command| matches!(command, Command::Collect { attempt: 2 })).len(), 0);
}

#[test]
fn row_19_a_download_slower_than_planned_skips_the_next_and_below_four_in_five_the_arm_is_invalid() {
    let plan = short(2);
    let raw = nth(&plan, "raw", 1);
    let block = order(&plan).strata[0].drain_starts_ns[(raw as usize - 1) / 2].clone();
    let into_the_next = |index: usize| Fault::SlowDrain {
        index: index as u32,
        takes_ns: (block[index + 1] - block[index]) as i64 + 100 * MS,
    };
    let one = run(&plan, &[(raw..=raw, into_the_next(0))]);
    let arm = one.attempt(raw as usize);
    assert_eq!((one.reasons(raw as usize), one.noted(raw as usize, "drain_skipped")), (vec![], true));
    assert_eq!(arm.measured.drains[1].failed.as_deref(), Some("skipped"));
    assert_eq!(arm.measured.drains.len(), 5);

    let two = run(&plan, &[(raw..=raw, into_the_next(0)), (raw..=raw, into_the_next(2))]);
    assert_eq!(two.reasons(raw as usize), ["too_few_drains"]);
    let over_the_end = Fault::SlowDrain { index: 4, takes_ns: 4 * SECOND };
    spoils(&plan, raw, over_the_end, "drain_failed");
}

#[test]
fn row_20_a_silent_device_is_asked_three_times_more_outside_the_window_and_never_inside() {
    let plan = short(2);
    let run_ = run(&plan, &[(1..=1, Fault::Unreachable { times: 3 })]);
    assert_eq!((run_.outcome(), run_.reasons(1)), (Outcome::Complete, vec![]));
    let asked = run_.commands(|command| matches!(command, Command::ReadStatus));
    let at: Vec<i64> = asked.iter().skip(1).take(4).map(|i| run_.bench.trace[*i].0.0).collect();
    let waits: Vec<i64> = at.windows(2).map(|pair| (pair[1] - pair[0]) / MS - 5).collect();
    assert_eq!(waits, [200, 500, 1000]);
    spoils(&plan, 1, Fault::Unreachable { times: 4 }, "device_unreachable");

    let raw = nth(&plan, "raw", 1);
    let inside = spoils(&plan, raw, Fault::DrainRefused { index: 2 }, "drain_failed");
    let third = |command: &Command| matches!(command, Command::StartDrain { index: 2, .. });
    assert_eq!(inside.commands(third).len(), 3, "once in each of three raw attempts, never tried again");
}

#[test]
fn row_21_a_link_that_is_down_is_the_benchs_and_silence_with_a_link_is_loss_upstream() {
    spoils(&short(2), 1, Fault::LinkDown, "link_down");
    let silent = run(&short(1), &[(1..=1, Fault::AllSilent)]);
    assert_eq!((silent.outcome(), silent.reasons(1)), (Outcome::Complete, vec![]));
    assert!(silent.attempt(1).measured.streams.iter().all(|stream| stream.owners.upstream == stream.lost));
    assert!(silent.attempt(1).measured.streams[0].lost > 0);
}

#[test]
fn row_22_a_stream_absent_from_the_start_refuses_to_start() {
    refuses(&[(0..=0, Fault::StreamSilent("ddp".to_owned()))], "no datagram of stream ddp came");
}

#[test]
fn row_23_a_changed_frame_rate_is_not_settled_or_spoils_the_arm_and_in_every_treatment_is_a_finding() {
    let plan = short(2);
    let off = spoils(&plan, 1, Fault::RateOff(6_000), "not_settled");
    let began = off.commands(|command| matches!(command, Command::StartSettle))[0];
    let dropped = off.commands(|command| matches!(command, Command::DropArm { .. }))[0];
    let waited = off.bench.trace[dropped].0.since(off.bench.trace[began].0);
    assert!((58 * SECOND..=60 * SECOND).contains(&waited), "until the deadline of the arm: {waited} ns");
    let gaps = spoils(&plan, 1, Fault::SettlesWithGaps, "not_settled");
    assert!(gaps.attempt(1).notes.iter().any(|note| note.contains("sequence gaps")));
    spoils(&plan, 1, Fault::RateChanges(6_000), "fps_changed");
    assert_eq!(run(&plan, &[(1..=1, Fault::RateChanges(4_000))]).reasons(1), Vec::<String>::new());

    let both = run(&plan, &[(1..=2, Fault::RateChanges(6_000))]);
    assert_eq!(both.outcome(), Outcome::Complete, "{}", both.why());
    let told = both.bench.journal.iter().any(|record| {
        matches!(record, Record::Finding { code, text, .. } if code == "fps_changed" && text.contains("every treatment"))
    });
    assert!(told);
}

#[test]
fn row_24_another_source_on_the_same_universe_makes_the_arm_invalid() {
    let run = spoils(&short(2), 1, Fault::ForeignSource(4), "foreign_source");
    assert_eq!(run.attempt(1).measured.streams[0].foreign, 4);
}

#[test]
fn row_25_a_port_that_is_taken_refuses_to_start() {
    refuses(&[(0..=0, Fault::PortTaken)], "the port is taken: 0.0.0.0:5568");
}

#[test]
fn row_26_a_multicast_stream_that_stops_alone_is_a_doubt_and_groups_are_joined_again_between_arms_only() {
    let run = completes_with_note(Fault::StreamSilent("sacn".to_owned()), "membership?");
    let joined = run.commands(|command| matches!(command, Command::Rejoin));
    let opened = run.commands(|command| matches!(command, Command::OpenWindow));
    let closed = run.commands(|command| matches!(command, Command::CloseWindow));
    assert_eq!(joined.len(), 1);
    assert!(closed[0] < joined[0] && joined[0] < opened[1], "between the first and the second window");
}

#[test]
fn row_27_a_warm_up_that_still_moves_is_extended_once_and_then_the_run_refuses() {
    let once = run(&short(1), &[(0..=0, Fault::StillWarming { times: 1 })]);
    assert_eq!(once.outcome(), Outcome::Complete, "{}", once.why());
    let healthy = run(&short(1), &[]);
    assert_eq!((once.ended.0 - healthy.ended.0) / SECOND, 20, "the same time again");

    let twice = run(&short(1), &[(0..=0, Fault::StillWarming { times: 2 })]);
    assert_eq!((twice.outcome(), twice.exit.code), (Outcome::Refused, Some(6)));
    assert!(twice.why().contains("warm-up not reached after twice its time: the frame rate still moves"));
    assert!(twice.is_restored() && twice.bench.arms.is_empty());
}

#[test]
fn row_28_a_throttle_flag_that_changes_inside_a_block_keeps_the_arm_and_repeats_the_block() {
    let run_ = run(&short(2), &[(2..=9, Fault::Throttled(4))]);
    assert_eq!(run_.outcome(), Outcome::Complete, "{}", run_.why());
    assert_eq!(run_.repeats(), [(1, 1, 2), (1, 2, 2)]);
    assert_eq!(run_.attempt(2).state, ArmState::Ok, "kept");
    let repeated = |record: &&Record| matches!(record, Record::BlockRepeated { block: 1, .. });
    assert_eq!(run_.bench.journal.iter().filter(repeated).count(), 1);
    let between = run(&short(2), &[(3..=9, Fault::Throttled(4))]);
    assert_eq!(between.repeats(), [], "between blocks it is no reason");
}

#[test]
fn row_29_a_suspended_bench_makes_the_arm_invalid() {
    spoils(&short(2), 1, Fault::Suspended, "bench_suspended");
}

#[test]
fn row_30_a_full_disk_stops_measuring_puts_the_device_back_first_and_seals_what_is_written() {
    let second_start = |run: &Run| {
        let begins = |command: &Command| matches!(command, Command::Journal(record) if matches!(**record, Record::ArmStart { .. }));
        let begun = run.commands(begins)[1];
        run.commands(|command| matches!(command, Command::Journal(_))).into_iter().find(|at| *at > begun)
    };
    let second = |run: &Run, is: fn(&Command) -> bool| run.commands(is).get(1).copied();
    let kept = |run: &Run| second(run, |command| matches!(command, Command::KeepArm(_)));
    let space = |run: &Run| second(run, |command| matches!(command, Command::ReadSpace));
    type FailedAt<'a> = &'a dyn Fn(&Run) -> Option<usize>;
    let cases: [(u32, Fault, FailedAt<'_>); 3] = [
        (2, Fault::JournalFails, &second_start),
        (2, Fault::KeepFails, &kept),
        (1, Fault::LittleSpace(1 << 30), &space),
    ];
    for (from, fault, failed_at) in cases {
        let run = run(&short(2), &[(from..=9, fault.clone())]);
        assert_eq!((run.outcome(), run.exit.code), (Outcome::Partial, Some(5)), "{fault:?}: {}", run.why());
        assert!(run.is_restored() && run.bench.is_sealed(), "{fault:?}");
        assert_eq!(run.bench.arms.len(), 1, "{fault:?}");
        let failed = failed_at(&run).expect("it failed");
        let restored = *run.commands(|command| is_set(command, "off")).last().expect("put back");
        let tried = run.commands(|command| matches!(command, Command::Journal(_)));
        let tried = tried.into_iter().filter(|at| *at > failed).count();
        assert!(fault != Fault::JournalFails || tried == 1, "a broken journal is tried once more: {tried}");
        let between: Vec<&Command> = run.bench.trace[failed + 1..restored].iter().map(|(_, c)| c).collect();
        let device_first = |command: &&Command| {
            matches!(
                command,
                Command::DropArm { .. } | Command::SetToggle { .. } | Command::VerifyToggle { .. }
            )
        };
        assert!(between.iter().all(device_first), "{fault:?}: {between:?}");
    }
    let unsealed = run(&short(1), &[(ALWAYS, Fault::SealFails)]);
    assert_eq!((unsealed.exit.code, unsealed.is_restored()), (Some(6), true));
}

#[test]
fn row_31_a_signal_in_an_arm_stops_it_and_puts_everything_back_and_later_signals_hurry() {
    let inside = Timestamp(48 * SECOND);
    let one = run_with(&short(2), &[], &[(inside, Input::Signal)]);
    assert_eq!((one.outcome(), one.exit.code), (Outcome::Partial, Some(5)), "{}", one.why());
    assert!(one.is_restored() && one.bench.is_sealed() && one.bench.arms.is_empty());
    let interrupted = |record: &&Record| matches!(record, Record::ArmEnd { state: ArmEnd::Interrupted, .. });
    assert_eq!(one.bench.journal.iter().filter(interrupted).count(), 1);
    assert!(one.ended.since(inside) < 3 * SECOND);

    let (factor, level) = profiler("off");
    let refused = [(ALWAYS, Fault::LevelRefused { factor, level })];
    let soon = |ms: i64| inside.plus(ms * MS);
    let two = run_with(&short(2), &refused, &[(inside, Input::Signal), (soon(20), Input::Signal)]);
    assert_eq!(two.exit.code, Some(4));
    assert!(two.ended.since(inside) < 3 * SECOND, "two seconds, and the seal");

    let three = [(inside, Input::Signal), (soon(1), Input::Signal), (soon(2), Input::Signal)];
    let three = run_with(&short(2), &[], &three);
    assert_eq!((three.exit.code, three.ended), (Some(4), soon(2)));
    assert!(three.exit.lines.last().unwrap().ends_with("wireproof matrix restore evidence/x"));
}

#[test]
fn row_32_a_killed_run_is_resumed_from_its_journal_and_keeps_its_data() {
    let plan = short(2);
    let whole = run(&plan, &[]);
    let records = whole.bench.journal.len() / 2;
    let resumed = cut_and_resume(&plan, records).expect("it was cut");
    assert_eq!((resumed.outcome(), resumed.is_restored()), (Outcome::Complete, true), "{}", resumed.why());
    assert!(resumed.bench.journal[..records] == whole.bench.journal[..records], "nothing is rewritten");
}

#[test]
fn row_33_a_second_run_against_the_same_device_refuses_and_touches_nothing() {
    refuses(&[(0..=0, Fault::Held)], "another run uses this device: run 7 on bench-2");
    let taken = run(&short(2), &[(2..=9, Fault::LeaseLost)]);
    assert_eq!((taken.outcome(), taken.exit.code), (Outcome::Invalid, Some(4)));
    let lost = *taken.commands(|command| matches!(command, Command::RenewLease)).last().expect("asked");
    let after = &taken.bench.trace[lost..];
    assert!(after.iter().all(|(_, command)| !matches!(command, Command::SetToggle { .. })), "left alone");
}

#[test]
fn row_34_a_threshold_edited_after_the_start_breaks_the_chain() {
    let plan = short(1);
    let run = run(&plan, &[]);
    let sha = |plan: &Plan| plan.sha256().expect("a hash").parse::<Digest>().expect("hex");
    let mut chain = Chain::new(sha(&plan));
    let mut octets = Vec::new();
    for record in &run.bench.journal {
        let (line, next) = chain.line(0, record).expect("a record fits a line");
        octets.extend_from_slice(line.as_bytes());
        chain = next;
    }
    assert!(Journal::read(&octets, sha(&plan)).is_ok());
    let mut edited = plan;
    edited.gate[0].margin = Some(Margin::Ns(600_000));
    let error = Journal::read(&octets, sha(&edited)).expect_err("another threshold, another plan");
    assert_eq!(error.line, 1);
}

#[test]
fn row_35_a_sequence_that_wrapped_inside_a_long_gap_is_told_as_an_estimate() {
    completes_with_note(Fault::LongGap, "estimated");
}

#[test]
fn row_36_too_few_frames_make_the_arm_invalid_and_are_never_padded() {
    let run = spoils(&short(2), 1, Fault::FewFrames(290), "too_few_frames");
    assert_eq!(run.attempt(1).measured.frames.len(), 290, "some of them outside the window");
}

#[test]
fn row_37_arms_of_one_treatment_that_are_invalid_more_often_end_the_run() {
    let plan = short(4);
    let (first, second) = (nth(&plan, "raw", 1), nth(&plan, "raw", 2) + 1);
    let stall = || Fault::LoopStalls { for_ns: 250_000_000, lost: 5 };
    let run = run(&plan, &[(first..=first, stall()), (second..=second, stall())]);
    assert_eq!((run.outcome(), run.exit.code), (Outcome::Invalid, Some(4)), "{}", run.why());
    assert!(run.why().contains("losses cluster in raw"), "{}", run.why());
    assert!(run.is_restored() && run.bench.is_sealed());
}

#[test]
fn row_38_the_versions_of_program_and_journal_are_the_first_thing_recorded() {
    let run = run(&short(1), &[]);
    let Record::Plan { version, tool, .. } = &run.bench.journal[0] else { panic!("the plan is first") };
    assert_eq!((*version, tool.as_str()), (JOURNAL_VERSION, "wireproof 0.1.0"));
    let env = run.bench.journal.iter().position(|record| matches!(record, Record::Env { .. })).expect("env");
    let set = run.bench.journal.iter().position(|record| matches!(record, Record::ToggleOriginal { .. }));
    assert!(set.is_some_and(|set| env < set), "before anything is read to be changed");
}
