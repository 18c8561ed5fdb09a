//! The runner as a whole, in simulated time: a healthy run, cuts at every record, and whatever else may come in.
//!
//! It never waits.
#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod simulation;

use proptest::prelude::*;
use simulation::*;
use std::collections::BTreeMap;
use wireproof_matrices::arm::{ArmDrain, ArmState, Span};
use wireproof_matrices::journal::{Record, Step};
use wireproof_matrices::plan::Plan;
use wireproof_matrices::resume::Progress;
use wireproof_matrices::runner::io::{
    Answer, Command, DrainKind, Exit, Failure, Fault as Broken, Input, Outcome, Ticket,
};
use wireproof_matrices::runner::{Left, Runner, Schedule, State};
use wireproof_matrices::simulated::{Bench, Fault};
use wireproof_protocols::Timestamp;

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

#[test]
fn the_same_seed_gives_the_same_journal_and_the_same_numbers() {
    let (first, second) = (run(&varied(1), &[]), run(&varied(1), &[]));
    assert_eq!(first.bench.journal, second.bench.journal);
    assert_eq!(first.bench.arms, second.bench.arms);
}

#[test]
fn arms_follow_the_planned_order_with_the_planned_drains_and_sham_windows() {
    let plan = example();
    let run = run(&plan, &[]);
    let places: Vec<_> = run.bench.arms.iter().map(|arm| arm.place.clone()).collect();
    let schedule = start(&plan).schedule;
    assert_eq!(places, schedule.places());
    for arm in &run.bench.arms {
        let planned: Vec<u64> = arm.measured.drains.iter().map(|drain| drain.planned_ns).collect();
        assert_eq!(planned, schedule.strata[0].blocks[arm.place.block as usize - 1].drains_ns);
        let raw = arm.levels["drain"] == "raw";
        assert!(arm.measured.drains.iter().all(|drain| drain.real == raw && drain.failed.is_none()));
        for drain in &arm.measured.drains {
            let late = drain.bench.start_ns - arm.measured.window.start_ns - drain.planned_ns as i64;
            assert!((0..5 * MS).contains(&late), "begun {late} ns after its time");
        }
    }
}

#[test]
fn every_action_on_the_device_follows_a_record_of_the_intent() {
    for run in [run(&varied(1), &[]), run_with(&short(2), &[], &[(Timestamp(48 * SECOND), Input::Signal)])] {
        let mut last: Option<String> = None;
        let mut sets = 0;
        for (_, command) in &run.bench.trace {
            match command {
                Command::Journal(record) => {
                    if let Record::Intent { step: Step::Set | Step::Restore, what, .. } = &**record {
                        last = Some(what.clone());
                    }
                }
                Command::SetToggle { factor, level } => {
                    sets += 1;
                    assert_eq!(last.as_ref(), Some(&format!("{factor}={level}")));
                }
                _ => {}
            }
        }
        assert!(sets >= 4, "{sets}");
    }
}

#[test]
fn settling_lasts_at_least_its_time_after_the_last_verified_factor() {
    let plan = varied(1);
    let run = run(&plan, &[]);
    let opened = run.commands(|command| matches!(command, Command::OpenWindow));
    for at in opened {
        let (open, _) = run.bench.trace[at];
        let set = run.bench.trace[..at].iter().rev().find(|(_, c)| matches!(c, Command::VerifyToggle { .. }));
        let settled = open.since(set.expect("a factor was verified").0);
        assert!(settled >= plan.timing.settle_ns as i64, "{settled} ns");
    }
}

#[test]
fn strata_come_one_after_another_and_their_factor_is_set_once_each() {
    let mut plan = short(2);
    let preview = plan.factor.iter_mut().find(|factor| factor.name == "preview").expect("a stratum");
    preview.levels = vec!["off".to_owned(), "on".to_owned()];
    let run = run(&plan, &[]);
    assert_eq!((run.outcome(), run.bench.arms.len()), (Outcome::Complete, 8), "{}", run.why());
    let set: Vec<String> = run
        .bench
        .trace
        .iter()
        .filter_map(|(_, command)| match command {
            Command::SetToggle { factor, level } if factor == "preview" => Some(level.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(set, ["off", "on", "off"], "each stratum, and back");
    let strata: Vec<u32> = run.bench.arms.iter().map(|arm| arm.place.stratum).collect();
    assert_eq!(strata, [0, 0, 0, 0, 1, 1, 1, 1]);
}

#[test]
fn factors_are_put_back_in_reverse_order_and_read_back() {
    let run = run(&short(1), &[]);
    let last_arm = *run.commands(|command| matches!(command, Command::KeepArm(_))).last().expect("an arm");
    let after: Vec<String> = run.bench.trace[last_arm..]
        .iter()
        .filter_map(|(_, command)| match command {
            Command::SetToggle { factor, level } => Some(format!("set {factor}={level}")),
            Command::VerifyToggle { factor, level } => Some(format!("read {factor}={level}")),
            _ => None,
        })
        .collect();
    assert_eq!(after, ["set preview=off", "read preview=off", "set profiler=off", "read profiler=off"]);
}

#[test]
fn progress_counts_arms_and_counts_down() {
    let plan = short(2);
    let mut bench = Bench::new(plan.clone(), SEED);
    let mut runner = Runner::new(start(&plan), Timestamp(0));
    let mut seen = Vec::new();
    for at in [10, 30, 50, 70, 90, 110, 130].map(|s| Timestamp(s * SECOND)) {
        bench.send_at(at, Input::Tick);
    }
    let mut left = u64::MAX;
    while let Some(now) = step(&mut runner, &mut bench, &mut |_| None) {
        let progress = runner.progress(now);
        assert!(progress.run_left_ns <= left.saturating_add(2_000_000_000), "only settling may take longer");
        left = progress.run_left_ns;
        assert!(progress.arm <= progress.arms && progress.arms == 4, "{progress:?}");
        if seen.last() != Some(&progress.state) {
            seen.push(progress.state);
        }
    }
    let arm = [
        State::Set,
        State::Settle,
        State::Measure,
        State::Guard,
        State::Collect,
        State::Reverify,
        State::Judge,
    ];
    let mut expected = vec![State::Preflight, State::Warmup];
    (0..4).for_each(|_| expected.extend(arm));
    expected.extend([State::Restore, State::Seal, State::Over]);
    assert_eq!(seen, expected);
}

#[test]
fn a_run_that_is_cut_behind_any_record_and_resumed_completes_and_loses_nothing() {
    for plan in [short(2), varied(1)] {
        let whole = run(&plan, &[]);
        let schedule = start(&plan).schedule;
        for records in 1..=whole.bench.journal.len() {
            let resumed = cut_and_resume(&plan, records).expect("it was cut");
            let journal = &resumed.bench.journal;
            assert_eq!(resumed.outcome(), Outcome::Complete, "behind {records}: {}", resumed.why());
            assert!(resumed.is_restored(), "behind {records}");
            assert_eq!(journal[..records], whole.bench.journal[..records]);
            let progress = Progress::of(&schedule, &entries(journal)).expect("the journal fits");
            assert!(progress.todo.is_empty(), "behind {records}: {:?}", progress.todo);
            assert_eq!(progress.used.len(), schedule.places().len());
            let written = |place| resumed.bench.arms.iter().any(|arm| arm.place == place);
            assert!(progress.used.iter().all(|place| written(place.clone())), "behind {records}");
            assert_eq!(wireproof_matrices::resume::unrestored(&entries(journal)), [], "behind {records}");
        }
    }
}

#[test]
fn a_run_is_not_resumed_after_the_device_restarted_but_what_was_touched_is_put_back() {
    let plan = short(2);
    let whole = run(&plan, &[]);
    let first_arm = |record: &Record| matches!(record, Record::ArmStart { .. });
    let records = whole.bench.journal.iter().position(first_arm).expect("an arm") + 1;
    let resumed = cut_and_resume_with(&plan, records, Bench::restart).expect("it was cut");
    assert_eq!((resumed.outcome(), resumed.exit.code), (Outcome::Refused, Some(6)), "{}", resumed.why());
    assert!(resumed.why().contains("boot boot-1 and is"), "{}", resumed.why());
    assert!(resumed.is_restored());
}

#[test]
fn a_signal_at_any_moment_ends_restored_and_begins_nothing_more() {
    let plan = varied(1);
    let whole = run(&plan, &[]);
    for ms in (0..whole.ended.0 / MS).step_by(491) {
        let at = Timestamp(ms * MS);
        for signals in 1..=3 {
            let inputs: Vec<_> = (0..signals).map(|n| (at.plus(n * 7 * MS), Input::Signal)).collect();
            let run = run_with(&plan, &[], &inputs);
            let told = run.exit.code == Some(4) && run.why().contains("wireproof matrix restore evidence/x");
            assert!(
                if signals < 3 { run.is_restored() } else { run.is_restored() || told },
                "{signals} at {ms} ms"
            );
            let fits = Progress::of(&start(&plan).schedule, &entries(&run.bench.journal));
            assert!(fits.is_ok(), "{signals} at {ms} ms: {fits:?}");
            let complete = run.outcome() == Outcome::Complete;
            assert_eq!(complete, run.exit.code.is_none(), "{signals} at {ms} ms: {:?}", run.exit);
            let after = run.bench.trace.iter().filter(|(when, _)| *when >= at.plus(5 * MS)).map(|(_, c)| c);
            let forbidden = |c: &&Command| match c {
                Command::SetToggle { factor, level } => *level != run.before[factor],
                Command::Journal(_) | Command::VerifyToggle { .. } | Command::DropArm { .. } => false,
                Command::Seal(_) | Command::Abort { .. } => false,
                _ => true,
            };
            assert_eq!(after.clone().find(forbidden), None, "{signals} at {ms} ms");
        }
    }
}

#[test]
fn a_run_can_be_resumed_after_the_device_restarted_inside_it_and_was_met_again() {
    let plan = short(2);
    let faults = [(1..=1, Fault::Restarts)];
    let whole = run(&plan, &faults);
    let met = |record: &&Record| matches!(record, Record::Env { .. });
    assert_eq!(whole.bench.journal.iter().filter(met).count(), 2);
    let schedule = start(&plan).schedule;
    let left = Left::of(&schedule, &entries(&whole.bench.journal)).expect("it fits");
    assert_eq!((left.device.boot_id.as_str(), left.restarts), ("boot-2", 1));
    assert_eq!((left.arms, left.originals), (vec![], BTreeMap::new()));
}

#[test]
fn every_level_of_the_drain_factor_downloads_what_it_names() {
    let mut plan = short(1);
    let levels = ["idle", "raw", "sham", "converted"].map(str::to_owned);
    plan.factor.iter_mut().find(|factor| factor.name == "drain").expect("a drain").levels = levels.to_vec();
    let path = "/api/profiler/trace.json".to_owned();
    let drain = plan.drain.as_mut().expect("a drain");
    drain.paths.insert("converted".to_owned(), path.clone());
    let run = run(&plan, &[(1..=4, Fault::DrainTruncated { index: 0 })]);
    let mut kinds = BTreeMap::new();
    for (_, command) in &run.bench.trace {
        match command {
            Command::StartDrain { kind, .. } => *kinds.entry(format!("{kind:?}")).or_insert(0) += 1,
            _ => continue,
        }
    }
    let names: Vec<&String> = kinds.keys().collect();
    let converted = format!("{:?}", DrainKind::Path(path));
    assert_eq!(names, [&converted, "Raw", "Sham"]);
    let failed = run.bench.arms.iter().filter(|arm| matches!(arm.state, ArmState::Invalid { .. }));
    let failed: Vec<&str> = failed.map(|arm| arm.levels["drain"].as_str()).collect();
    assert!(
        failed.contains(&"raw") && failed.contains(&"sham") && !failed.contains(&"converted"),
        "{failed:?}"
    );
}

#[test]
fn settling_needs_reports_that_are_fresh() {
    let mut plan = short(1);
    plan.timing.settle_ns = 6_000_000_000;
    let run = run(&plan, &[(1..=1, Fault::ReportsEnd)]);
    assert_eq!(run.reasons(1), ["not_settled"]);
    assert!(run.noted(1, "not_settled"), "{:?}", run.attempt(1).notes);
}

/// Hands one output over or lets time pass to the next event; `spoil` may replace an answer by its number. `None` at the
/// end.
fn step(
    runner: &mut Runner,
    bench: &mut Bench,
    spoil: &mut dyn FnMut(&Input) -> Option<Option<Input>>,
) -> Option<Timestamp> {
    while let Some(output) = runner.poll_output() {
        if matches!(output.command, Command::Exit(_)) {
            return None;
        }
        let now = bench.now();
        bench.execute(now, output);
    }
    let (now, input) = bench.next_input(runner.poll_timeout()).expect("it waits for something");
    let input = match spoil(&input) {
        None => Some(input),
        Some(other) => other,
    };
    if let Some(input) = input {
        runner.handle_input(now, input);
    }
    Some(now)
}

/// Something that comes in where it does not belong.
#[derive(Clone, Debug)]
enum Chaos {
    /// The nth answer is another one, or never comes.
    Answer(u16, Option<Result<Answer, Failure>>),
    /// An input at a time, ms.
    At(u32, Input),
    /// A fault in one attempt.
    Fault(u32, Fault),
}

fn failure() -> impl Strategy<Value = Failure> {
    prop_oneof![
        Just(Failure::TimedOut),
        Just(Failure::Aborted),
        Just(Failure::Unreachable("503".to_owned())),
        Just(Failure::Refused("no".to_owned())),
        Just(Failure::Disk("full".to_owned())),
    ]
}

fn input() -> impl Strategy<Value = Input> {
    let drain = ArmDrain {
        planned_ns: 0,
        bench: Span::default(),
        device: Span::default(),
        real: true,
        failed: None,
        bytes: 1,
        sha256: None,
    };
    prop_oneof![
        3 => Just(Input::Signal),
        1 => Just(Input::Tick),
        1 => Just(Input::Fault(Broken::Disk("full".to_owned()))),
        1 => Just(Input::Fault(Broken::Internal("a thread ended".to_owned()))),
        1 => (0u32..9).prop_map(move |index| Input::Drained { index, drain: Box::new(drain.clone()) }),
        1 => (0u64..400).prop_map(|n| Input::Done { ticket: Ticket(n), result: Err(Failure::Refused("late".to_owned())) }),
        1 => Just(Input::Settling(Default::default())),
        1 => Just(Input::Warming(Default::default())),
        1 => Just(Input::Noted { code: "x".to_owned(), text: "y".to_owned() }),
    ]
}

fn planted() -> impl Strategy<Value = Fault> {
    let (factor, off) = ("profiler".to_owned(), "off".to_owned());
    prop_oneof![
        Just(Fault::Restarts),
        Just(Fault::LevelRefused { factor: factor.clone(), level: off.clone() }),
        Just(Fault::ToggleDrifts { factor: factor.clone(), level: off }),
        Just(Fault::ToggleStuck { factor, sets: 3 }),
        Just(Fault::JournalFails),
        Just(Fault::LeaseLost),
        Just(Fault::OtherBuild),
        Just(Fault::RateOff(9_000)),
        Just(Fault::Unreachable { times: 9 }),
        Just(Fault::SlowDrain { index: 0, takes_ns: 9 * SECOND }),
        Just(Fault::Throttled(1)),
        Just(Fault::SealFails),
    ]
}

fn chaos() -> impl Strategy<Value = Chaos> {
    let answer = prop_oneof![
        1 => Just(None),
        2 => failure().prop_map(|failure| Some(Err(failure))),
        1 => Just(Some(Ok(Answer::Space(0)))),
    ];
    prop_oneof![
        (0u16..330, answer).prop_map(|(n, answer)| Chaos::Answer(n, answer)),
        (0u32..160_000, input()).prop_map(|(ms, input)| Chaos::At(ms, input)),
        (0u32..5, planted()).prop_map(|(arm, fault)| Chaos::Fault(arm, fault)),
    ]
}

/// Runs a plan through chaos to its end; the longest text that the state machine took in between.
fn through(plan: &Plan, chaos: &[Chaos]) -> (Exit, Bench, BTreeMap<String, String>, usize) {
    let mut bench = Bench::new(plan.clone(), SEED);
    let before = bench.levels.clone();
    let mut answers = BTreeMap::new();
    for one in chaos {
        match one {
            Chaos::Answer(n, answer) => drop(answers.insert(*n, answer.clone())),
            Chaos::At(ms, input) => bench.send_at(Timestamp(i64::from(*ms) * MS), input.clone()),
            Chaos::Fault(arm, fault) => drop(bench.plant(*arm..=*arm, fault.clone())),
        }
    }
    let mut runner = Runner::new(start(plan), Timestamp(0));
    let (mut count, mut longest, mut steps) = (0, 0, 0);
    let mut spoil = |input: &Input| {
        let Input::Done { ticket, .. } = input else { return None };
        count += 1;
        let answer = answers.remove(&(count - 1))?;
        Some(answer.map(|result| Input::Done { ticket: *ticket, result }))
    };
    while step(&mut runner, &mut bench, &mut spoil).is_some() {
        steps += 1;
        assert!(steps < 20_000, "it does not end");
        longest = longest.max(format!("{runner:?}").len());
    }
    (runner.exit().expect("it left").clone(), bench, before, longest)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_comes_in_it_ends_restored_or_says_loudly_what_is_not(chaos in prop::collection::vec(chaos(), 0..8)) {
        let (exit, bench, before, _) = through(&short(1), &chaos);
        let loud = exit.code == Some(4) && exit.lines.iter().any(|line| line.contains("wireproof matrix restore evidence/x"));
        prop_assert!(exit.ending.restored || loud, "{exit:?}");
        prop_assert!(bench.levels == before || loud, "{exit:?} {:?}", bench.levels);
        let fits = Progress::of(&start(&short(1)).schedule, &entries(&bench.journal));
        prop_assert!(fits.is_ok(), "{fits:?}");
        if exit.code.is_none() {
            let intact = exit.ending.restored && bench.is_sealed() && exit.ending.outcome == Outcome::Complete;
            prop_assert!(intact, "{exit:?}");
            let written = bench.journal.iter().any(|record| matches!(record, Record::Restored { .. }));
            prop_assert!(written, "a complete run has all of its records");
        }
    }
}

#[test]
fn memory_stays_bounded_however_much_comes_in() {
    let plan = short(1);
    let healthy = through(&plan, &[]).3;
    let mut flood = Vec::new();
    for ms in (1_000..120_000).step_by(40) {
        flood.push(Chaos::At(ms, Input::Noted { code: "flood".to_owned(), text: "again".to_owned() }));
        flood.push(Chaos::At(ms, Input::Warming(Default::default())));
        flood.push(Chaos::At(ms, Input::Done { ticket: Ticket(u64::from(ms)), result: Ok(Answer::Done) }));
    }
    let flooded = through(&plan, &flood).3;
    assert!(flooded < healthy * 2 + 64 * 40, "{flooded} against {healthy} characters");
}

#[test]
fn a_schedule_made_from_an_order_has_its_names_and_levels() {
    let plan = varied(1);
    let order = wireproof_matrices::order::order(&plan);
    let schedule = Schedule::from(&order);
    for place in schedule.places() {
        assert_eq!(schedule.name(place.treatment), order.name(place.treatment));
        assert_eq!(schedule.levels(&place), order.levels(0, place.treatment));
    }
}
