//! Gaps between spans and who ran in them: hand-made frames beside hand-made switches.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use wireproof_recorder::Frame;
use wireproof_recorder::convert::gaps::{self, Gap, Owner, Ownership};
use wireproof_recorder::convert::sched;
use wireproof_recorder::convert::tasks::Tasks;
use wireproof_recorder::convert::timeline::Timeline;
use wireproof_recorder::layout::{Kind, NO_DEVICE, NO_PARENT, Record};

const ENGINE: u32 = 4242;

fn span(seq: u16, parent: u16, stage: u16, (start, end): (u64, u64)) -> Record {
    let place = 7 | u64::from(stage) << 32 | u64::from(NO_DEVICE) << 48;
    let head = (Kind::Span as u64) << 8 | u64::from(seq) << 32 | u64::from(parent) << 48;
    Record { ordinal: 0, words: [start, end, place, head, 0] }
}

/// A frame from 1,000 to 2,000 us: a root, two stages, a device with one stage in it.
fn frame() -> Frame {
    let us = |a: u64, b: u64| (a * 1000, b * 1000);
    let records = vec![
        span(0, NO_PARENT, 1, us(1000, 2000)),
        span(1, 0, 2, us(1000, 1200)),
        span(2, 0, 3, us(1500, 1600)),
        span(3, 0, 5, us(1600, 1990)),
        span(4, 3, 6, us(1650, 1990)),
    ];
    Frame { id: 7, start_ns: 1_000_000, end_ns: 2_000_000, truncated: false, records }
}

fn places(gaps: &[Gap]) -> Vec<(u64, u64, Option<u16>, Option<u16>)> {
    gaps.iter().map(|gap| (gap.start_ns / 1000, gap.end_ns / 1000, gap.after, gap.before)).collect()
}

#[test]
fn gaps_lie_between_the_innermost_spans() {
    let expected =
        [(1200, 1500, Some(2), Some(3)), (1600, 1650, Some(3), Some(6)), (1990, 2000, Some(6), None)];
    assert_eq!(places(&gaps::of_frame(&frame(), 0)), expected);
    assert_eq!(places(&gaps::of_frame(&frame(), 20_000)), expected[..2]);
}

#[test]
fn a_ring_without_parents_is_read_by_containment() {
    let mut flat = frame();
    for record in &mut flat.records {
        record.words[3] |= u64::from(NO_PARENT) << 48;
    }
    assert_eq!(gaps::of_frame(&flat, 0), gaps::of_frame(&frame(), 0));
}

#[test]
fn a_frame_without_spans_is_one_gap() {
    let empty = Frame { records: Vec::new(), ..frame() };
    assert_eq!(places(&gaps::of_frame(&empty, 0)), [(1000, 2000, None, None)]);
}

fn line(us: u64, cpu: u16, prev: (&str, u32, &str), next: (&str, u32)) -> String {
    format!(
        "  x-1 [{cpu:03}] d..2. {}.{:06}: sched_switch: prev_comm={} prev_pid={} prev_prio=120 prev_state={} ==> \
         next_comm={} next_pid={} next_prio=120\n",
        us / 1_000_000,
        us % 1_000_000,
        prev.0,
        prev.1,
        prev.2,
        next.0,
        next.1
    )
}

fn tasks(text: &str) -> Tasks {
    let mut tasks = Tasks::default();
    let lines = sched::read(&mut text.as_bytes(), &mut |switch| tasks.add(switch.at_ns, switch)).unwrap();
    assert_eq!(lines.bad, 0);
    tasks
}

/// The engine is preempted from 1,210 to 1,400 us, sleeps from 1,610 to 1,640 us, and runs on at 1,990 us.
fn busy() -> String {
    let engine = |state| ("engine", ENGINE, state);
    [
        line(900, 1, ("swapper/1", 0, "R"), ("engine", ENGINE)),
        line(950, 0, ("swapper/0", 0, "R"), ("web", 9)),
        line(1210, 1, engine("R+"), ("kworker/1:2", 57)),
        line(1350, 1, ("kworker/1:2", 57, "S"), ("logger", 60)),
        line(1400, 1, ("logger", 60, "S"), ("engine", ENGINE)),
        line(1610, 1, engine("S"), ("swapper/1", 0)),
        line(1640, 1, ("swapper/1", 0, "R"), ("engine", ENGINE)),
        line(2500, 1, engine("S"), ("swapper/1", 0)),
        line(2600, 0, ("web", 9, "S"), ("swapper/0", 0)),
    ]
    .concat()
}

fn shares(tasks: &Tasks, engine: u32) -> Vec<Vec<(String, u64)>> {
    let ownership = Ownership::new(tasks, engine);
    let owned = gaps::own(&[frame()], 0, &ownership);
    owned
        .iter()
        .map(|o| o.shares.iter().map(|(owner, ns)| (owner.to_string(), ns / 1000)).collect())
        .collect()
}

#[test]
fn every_gap_names_the_task_that_ran_and_the_times_add_up() {
    let tasks = tasks(&busy());
    let expected: [&[(&str, u64)]; 3] = [
        &[
            ("preempted by kworker/1:2:57", 140),
            ("the engine itself, without a span", 110),
            ("preempted by logger:60", 50),
        ],
        &[("engine sleeping", 30), ("the engine itself, without a span", 20)],
        &[("the engine itself, without a span", 10)],
    ];
    let expected: Vec<Vec<(String, u64)>> =
        expected.iter().map(|row| row.iter().map(|(name, us)| ((*name).to_owned(), *us)).collect()).collect();
    assert_eq!(shares(&tasks, ENGINE), expected);
}

#[test]
fn without_the_engine_s_task_a_gap_names_what_ran_anywhere() {
    let found = shares(&tasks(&busy()), 1);
    assert_eq!(found[0][0], ("web:9 ran".to_owned(), 300));
    assert!(found[0].iter().any(|(owner, us)| owner == "kworker/1:2:57 ran" && *us == 140));
}

#[test]
fn a_time_that_the_trace_does_not_cover_is_not_explained() {
    let early = [
        line(100, 1, ("swapper/1", 0, "R"), ("engine", ENGINE)),
        line(110, 1, ("engine", ENGINE, "X"), ("swapper/1", 0)),
    ];
    let found = shares(&tasks(&early.concat()), ENGINE);
    assert!(found.iter().all(|row| row.len() == 1 && row[0].0 == Owner::Unknown.to_string()));
}

#[test]
fn switches_that_contradict_each_other_are_counted_and_left_out() {
    let text = [
        line(100, 0, ("swapper/0", 0, "R"), ("a", 1)),
        line(200, 0, ("b", 2, "S"), ("c", 3)),
        line(150, 0, ("c", 3, "S"), ("d", 4)),
        line(300, 0, ("c", 3, "S"), ("d", 4)),
    ];
    let tasks = tasks(&text.concat());
    assert_eq!((tasks.mismatched, tasks.disordered), (1, 1));
    let kept: Vec<_> = tasks.cpus[&0].iter().map(|s| (s.tid, s.start_ns / 1000, s.end_ns / 1000)).collect();
    assert_eq!(kept, [(3, 200, 300)]);
}

#[test]
fn cpus_and_gaps_become_rows_and_idle_time_stays_empty() {
    let tasks = tasks(&busy());
    let mut timeline = Timeline::default();
    let owned = gaps::own(&[frame()], 0, &Ownership::new(&tasks, ENGINE));
    gaps::track(&owned, &|stage| format!("stage {stage}"), &mut timeline);
    tasks.tracks(&mut timeline, (0, u64::MAX));
    let rows: Vec<_> = timeline.tracks.iter().map(|t| (t.name.as_str(), t.events.len())).collect();
    assert_eq!(rows, [("gaps", 3), ("CPU 0", 1), ("CPU 1", 5)]);
    let first = timeline.tracks[0].events[0];
    assert_eq!(timeline.text(first.name), "preempted by kworker/1:2:57");
    let note = "stage 2 -> stage 3: preempted by kworker/1:2:57 140.000 us, the engine itself, without a span \
                110.000 us, preempted by logger:60 50.000 us";
    assert_eq!(timeline.text(first.note), note);
}

#[test]
fn names_and_looks_are_bounded_whatever_the_input() {
    let mut many = Tasks::default();
    for i in 0..70_000u32 {
        let (prev, next) = (format!("t{i}"), format!("t{}", i + 1));
        let switch = sched::Switch { at_ns: i.into(), cpu: 0, prev: (&prev, i, "R"), next: (&next, i + 1) };
        many.add(i.into(), &switch);
    }
    assert_eq!(many.names.len(), 65_537);
    assert_eq!(many.cpus[&0].len(), 69_999);
    // Forty frames that all cover all of these stretches.
    let wide = Frame { id: 1, start_ns: 0, end_ns: 70_000, truncated: false, records: Vec::new() };
    let owned = gaps::own(&vec![wide; 40], 0, &Ownership::new(&many, 0));
    assert_eq!(owned.len(), 40);
    assert_eq!(owned.last().unwrap().shares[0].0, Owner::Unknown);
    assert_ne!(owned.first().unwrap().shares[0].0, Owner::Unknown);
}
