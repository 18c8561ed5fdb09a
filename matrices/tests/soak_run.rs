//! Soaks in simulated time: the runner, its journal and the machine together.
#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod simulation;

use simulation::{SECOND, SEED, example, start};
use wireproof_matrices::arm::{Arm, Place};
use wireproof_matrices::journal::{ArmEnd, DeviceId, Entry, Record};
use wireproof_matrices::order::order;
use wireproof_matrices::plan::Plan;
use wireproof_matrices::resume::may_resume;
use wireproof_matrices::runner::io::{Command, Exit, Input, Outcome as Left0};
use wireproof_matrices::runner::{Left, Runner, Schedule, Start};
use wireproof_matrices::simulated::{Bench, Driven, Fault, drive};
use wireproof_matrices::soak::{
    DiskPolicy, Ended, MOST_CHUNKS, NoSoak, Rule, RuleError, Told, chunks_expected, course,
};
use wireproof_matrices::verdict::{Circumstances, Outcome, Verdict, judge_soak};
use wireproof_protocols::Timestamp;

/// Frames of a window of the example plan: 15 s at 60 frames a second.
const EACH: u64 = 900;

fn rule(rate: &str) -> Rule {
    let (rate_ppb, metric) = (Rule::rate(rate).expect("a rate"), "wire.lost".to_owned());
    Rule { metric, rate_ppb, alpha_ppm: 50_000, disk: DiskPolicy::default() }
}

/// A soak of the example plan, and the plan of its windows.
fn begin(rule: &Rule) -> (Start, Plan) {
    let course = course(&example(), rule).expect("it can be soaked");
    let mut start = start(&example());
    if let Record::Plan { soak, .. } = &mut start.first {
        *soak = Some(rule.clone());
    }
    (Start { plan: course.clone(), schedule: Schedule::from(&order(&course)), ..start }, course)
}

struct Run {
    exit: Exit,
    bench: Bench,
    course: Plan,
}

impl Run {
    fn journal(&self) -> Vec<Entry> {
        let entry = |(n, record): (u64, &Record)| Entry { n, at_ns: n as i64, record: record.clone() };
        (1..).zip(&self.bench.journal).map(entry).collect()
    }

    fn told(&self) -> Told {
        Told::of(&self.journal()).expect("a rule").expect("it is a soak")
    }

    fn verdict(&self) -> Verdict {
        let aborted =
            (self.exit.ending.outcome == Left0::Partial).then(|| self.exit.ending.reasons.join("; "));
        let circumstances = Circumstances { aborted, attempt: 1, attempts: 1, ..Circumstances::default() };
        judge_soak(&self.course, &self.bench.arms, &self.told(), &circumstances)
    }

    fn starts(&self) -> Vec<Place> {
        let start = |record: &Record| match record {
            Record::ArmStart { arm, .. } => Some(arm.clone()),
            _ => None,
        };
        self.bench.journal.iter().filter_map(start).collect()
    }
}

fn bench(course: &Plan, faults: &[(std::ops::RangeInclusive<u32>, Fault)]) -> Bench {
    let mut bench = Bench::new(course.clone(), SEED);
    for (arms, fault) in faults {
        bench.plant(arms.clone(), fault.clone());
    }
    bench
}

fn run(rate: &str, faults: &[(std::ops::RangeInclusive<u32>, Fault)]) -> Run {
    let (start, course) = begin(&rule(rate));
    let bench = bench(&course, faults);
    finish(Runner::new(start, Timestamp(0)), bench, course)
}

fn finish(mut runner: Runner, mut bench: Bench, course: Plan) -> Run {
    match drive(&mut runner, &mut bench, None) {
        Driven::Left(exit, _) => Run { exit: *exit, bench, course },
        other => panic!("it did not leave: {other:?} (seed {SEED})"),
    }
}

#[test]
fn a_clean_soak_ends_at_the_number_of_trials_that_its_rule_fixed_before_anything_was_sent() {
    let run = run("1e-3", &[]);
    assert!(
        matches!(&run.bench.journal[0], Record::Plan { soak: Some(first), .. } if *first == rule("1e-3"))
    );
    let needed = rule("1e-3").trials_needed();
    let verdict = run.verdict();
    let row = verdict.soak.as_ref().expect("it is a soak");
    assert_eq!((verdict.verdict, run.exit.code), (Outcome::Pass, None));
    assert_eq!((needed, row.chunks, row.trials), (2_995, 4, 4 * EACH), "a trial is a frame, not a datagram");
    assert!(row.upper_ppb <= 1_000_000 && row.one_in >= 1_000, "{row:?}");
    assert_eq!(row.ended, Some(Ended::Shown));
    assert_eq!(verdict.reasons[0], "wire.lost: 0 of 3600: at most 1 in 1202 with 95 % (asked: below 1e-3)");
    let downloads = run.bench.trace.iter().filter(|(_, c)| matches!(c, Command::StartDrain { .. })).count();
    assert_eq!(downloads, 0, "windows of the baseline: nothing is downloaded inside them");
    assert!(run.bench.arms.iter().all(|arm| arm.levels["drain"] == "idle"));
}

#[test]
fn only_the_last_clean_windows_are_kept_whole_and_nothing_of_the_others_is_counted_twice() {
    let run = run("1e-4", &[]);
    let (told, verdict) = (run.told(), run.verdict());
    let chunks = told.chunks.len();
    assert_eq!(chunks as u64, chunks_expected(&example(), &rule("1e-4")), "{chunks} windows");
    assert_eq!((run.bench.arms.len(), run.bench.dropped.len()), (2, chunks - 2));
    assert_eq!(told.to_drop, run.bench.dropped.iter().cloned().collect());
    assert_eq!((verdict.verdict, verdict.blocks_complete), (Outcome::Pass, 34));
    assert_eq!(verdict.gates[0].zero.as_ref().map(|zero| zero.trials), Some(34 * EACH));
}

#[test]
fn the_first_loss_of_the_device_ends_it_fail_with_its_owner_and_what_lay_before_it() {
    let run = run("1e-4", &[(6..=6, Fault::LostBySender(3))]);
    let verdict = run.verdict();
    assert_eq!(verdict.verdict, Outcome::Fail);
    assert_eq!(verdict.reasons[1], "3 datagrams lost, owner: sender 3");
    let row = verdict.soak.as_ref().expect("it is a soak");
    assert_eq!((row.events, row.chunks, row.ended), (1, 6, Some(Ended::Event)), "a burst is one event");
    let kept: Vec<u32> = run.bench.arms.iter().map(|arm| arm.place.block).collect();
    assert_eq!(kept, [4, 5, 6], "the window of the event, and the two before it");
    assert_eq!(verdict.attribution.losses.len(), 1);
}

#[test]
fn a_window_in_which_the_bench_lost_something_does_not_count_and_is_not_repeated() {
    let lost = Fault::LoopStalls { for_ns: 300_000_000, lost: 9 };
    let one = run("1e-4", &[(3..=3, lost.clone())]);
    let row = one.verdict().soak.expect("it is a soak");
    assert_eq!(one.verdict().verdict, Outcome::Pass);
    assert_eq!((row.chunks, row.chunks_invalid, row.trials), (35, 1, 34 * EACH));
    let starts = one.starts();
    assert!(starts.iter().all(|place| place.attempt == 1) && starts.len() == 35);
    assert_eq!(one.verdict().validity.reasons.get("observer_lost"), Some(&1));

    let many = run("1e-4", &[(2..=40, lost)]);
    let verdict = many.verdict();
    assert_eq!(verdict.verdict, Outcome::Invalid, "five in a row: the bench is not fit");
    assert_eq!(verdict.soak.map(|soak| (soak.chunks, soak.events)), Some((6, 0)));
}

#[test]
fn a_loss_that_nobody_can_tell_ends_it_inconclusive() {
    let run = run("1e-3", &[(2..=2, Fault::LostAmbiguous(1))]);
    assert_eq!(run.verdict().verdict, Outcome::Inconclusive);
    assert_eq!(run.verdict().soak.and_then(|soak| soak.ended), Some(Ended::Ambiguous));
}

#[test]
fn a_restart_of_the_device_costs_its_window_and_is_told() {
    let run = run("1e-4", &[(4..=4, Fault::Restarts)]);
    let verdict = run.verdict();
    let row = verdict.soak.expect("it is a soak");
    assert_eq!((verdict.verdict, row.restarts, row.trials >= 29_956), (Outcome::Pass, 1, true));
    assert!(row.chunks_invalid >= 1 && row.chunks_invalid <= 2, "{row:?}");
    assert!(verdict.reasons[0].contains("the device restarted 1 times"), "{:?}", verdict.reasons);
}

#[test]
fn a_signal_ends_it_partial_and_it_goes_on_to_the_same_verdict() {
    let (start, course) = begin(&rule("1e-3"));
    let mut bench = bench(&course, &[]);
    bench.send_at(Timestamp(100 * SECOND), Input::Signal);
    let run = finish(Runner::new(start.clone(), Timestamp(0)), bench, course.clone());
    assert_eq!((run.exit.code, run.verdict().verdict), (Some(5), Outcome::Partial));
    let before = run.told();
    assert!(!before.chunks.is_empty() && before.soak.state().ended.is_none(), "{before:?}");
    let again = resume(&start, &run);
    assert_eq!(again.verdict().verdict, Outcome::Pass);
    assert_eq!(again.told().chunks[..before.chunks.len()], before.chunks[..], "what was counted stays");
    assert_eq!(again.told().chunks.len(), 4);
}

fn resume(start: &Start, run: &Run) -> Run {
    let mut bench = run.bench.clone();
    bench.cut();
    let left = Left::of(&start.schedule, &run.journal()).expect("a journal of this order");
    let first = Record::Resumed { dropped_octets: 0, device: bench.device() };
    let runner = Runner::resume(Start { first, ..start.clone() }, left, bench.now());
    finish(runner, bench, run.course.clone())
}

#[test]
fn wherever_it_is_cut_it_goes_on_and_counts_every_window_once() {
    let (start, course) = begin(&rule("1e-3"));
    let whole = run("1e-3", &[]);
    let records = whole.bench.journal.len();
    let mut cuts = 0;
    for cut in 1..records - 1 {
        let mut runner = Runner::new(start.clone(), Timestamp(0));
        let mut bench = bench(&course, &[]);
        let Driven::Cut(_) = drive(&mut runner, &mut bench, Some(cut)) else { continue };
        cuts += 1;
        let exit = whole.exit.clone();
        let again = resume(&start, &Run { exit, bench, course: course.clone() });
        let (told, verdict) = (again.told(), again.verdict());
        assert_eq!(verdict.verdict, Outcome::Pass, "cut behind record {cut} (seed {SEED})");
        assert_eq!(told.soak.state().trials, 4 * EACH, "cut behind record {cut}");
        assert_eq!(
            told.overdue().iter().filter(|p| !again.bench.dropped.contains(p)).count(),
            0,
            "cut {cut}"
        );
    }
    assert!(cuts > 40, "{cuts} cuts of {records} records");
}

#[test]
fn a_window_counts_with_the_end_of_its_arm_and_not_before() {
    let run = run("1e-3", &[]);
    let mut journal = run.journal();
    let last = journal.iter().rposition(|e| matches!(e.record, Record::ArmEnd { .. })).expect("an arm");
    journal.truncate(last);
    let told = Told::of(&journal).expect("a rule").expect("a soak");
    assert!(matches!(journal[last - 1].record, Record::Chunk { .. }));
    assert_eq!(told.chunks.len(), 3);
    let arm = run.starts()[3].clone();
    let (state, reasons, files) = (ArmEnd::Interrupted, Vec::new(), Default::default());
    let record = Record::ArmEnd { arm, state, reasons, files };
    journal.push(Entry { n: 0, at_ns: 0, record });
    assert_eq!(Told::of(&journal).expect("a rule").expect("a soak").chunks.len(), 3);
}

#[test]
fn a_soak_goes_on_against_another_boot_and_not_against_another_build() {
    let journal = run("1e-3", &[]).journal();
    let journal = &journal[..journal.len() - 1];
    let known = journal.iter().find_map(|entry| match &entry.record {
        Record::Env { device } => Some(device.clone()),
        _ => None,
    });
    let known = known.expect("it wrote who answered");
    assert!(may_resume(journal, &DeviceId { boot_id: "another".to_owned(), ..known.clone() }).is_ok());
    assert!(may_resume(journal, &DeviceId { build: "another".to_owned(), ..known }).is_err());
}

#[test]
fn what_cannot_be_soaked_is_refused_with_what_would_do() {
    let refused = |rule: &Rule| course(&example(), rule).expect_err("it is refused").to_string();
    let other = Rule { metric: "frame.p95".to_owned(), ..rule("1e-3") };
    assert!(refused(&other).starts_with("'frame.p95' is nothing that a soak counts: name one of wire.lost"));
    let long = rule("1e-8");
    let said = refused(&long);
    assert!(said.contains("make timing.measure 999s or longer"), "{said}");
    let mut plan = example();
    plan.timing.measure_ns = 999_000_000_000;
    assert!(chunks_expected(&plan, &long) <= MOST_CHUNKS.into() && course(&plan, &long).is_ok());
    plan.timing.measure_ns = 998_000_000_000;
    assert!(course(&plan, &long).is_err(), "no second less would do");
    plan.drain = None;
    let misses = Rule { metric: "frame.misses".to_owned(), ..rule("1e-3") };
    assert_eq!(course(&plan, &misses), Err(NoSoak::Ring));
    let alpha = Rule { alpha_ppm: 0, ..rule("1e-3") };
    assert_eq!(course(&plan, &alpha), Err(NoSoak::Rule(RuleError::Alpha(0))));
}

#[test]
fn misses_are_counted_in_the_frames_of_the_ring() {
    let rule = Rule { metric: "frame.misses".to_owned(), ..rule("1e-3") };
    let (start, course) = begin(&rule);
    let bench = bench(&course, &[]);
    let run = finish(Runner::new(start, Timestamp(0)), bench, course);
    let kept: &Arm = run.bench.arms.last().expect("the last window is kept");
    let (_, chunk) = run.told().chunks.last().cloned().expect("a window");
    let inside =
        wireproof_matrices::metrics::window_frames(&kept.measured, run.course.timing.guard_ns).count();
    assert_eq!(chunk.trials, inside as u64);
}
