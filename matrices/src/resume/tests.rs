//! Tests of resuming: the worked case, pairs across interruptions, and what is not put back.

use super::*;
use crate::runner::Stratum;
use serde_json::Value;

const MIN: i64 = 60_000_000_000;

fn schedule(treatments: &[&[u32]]) -> Schedule {
    let block = |t: &&[u32]| Block { treatments: t.to_vec(), drains_ns: Vec::new() };
    let blocks = treatments.iter().map(block).collect();
    Schedule { strata: vec![Stratum { levels: BTreeMap::new(), blocks }], ..Schedule::default() }
}

fn device() -> DeviceId {
    DeviceId { build: "7.1".to_owned(), boot_id: "b".to_owned() }
}

fn entries(records: Vec<Record>) -> Vec<Entry> {
    (1..).zip(records).map(|(n, record)| Entry { n, at_ns: n as i64, record }).collect()
}

fn place(block: u32, position: u32, treatment: u32, attempt: u32) -> Place {
    Place { stratum: 0, block, position, treatment, attempt }
}

fn start(arm: Place) -> Record {
    Record::ArmStart { arm, treatment: "raw".to_owned() }
}

fn end(arm: Place, state: ArmEnd) -> Record {
    Record::ArmEnd { arm, state, reasons: Vec::new(), files: BTreeMap::new() }
}

fn both(arm: Place, state: ArmEnd) -> [Record; 2] {
    [start(arm.clone()), end(arm, state)]
}

fn resumed() -> Record {
    Record::Resumed { dropped_octets: 0, device: device() }
}

/// The worked case numbers places through the run.
fn golden_journal(rows: &Value, planned: &[u32]) -> Vec<Entry> {
    let mut records = Vec::new();
    for row in rows.as_array().unwrap() {
        let number = row[0].as_u64().unwrap() as u32 - 1;
        let arm =
            place(number / 2 + 1, number % 2 + 1, planned[number as usize], row[1].as_u64().unwrap() as u32);
        match row[2].as_str().unwrap() {
            "ok" => records.extend(both(arm, ArmEnd::Ok)),
            "invalid" => records.extend(both(arm, ArmEnd::Invalid)),
            "started" => records.push(start(arm)),
            other => panic!("{other}"),
        }
    }
    entries(records)
}

#[test]
fn the_worked_case_is_taken_up_exactly() {
    let case = crate::golden::case("resume");
    let names = ["raw", "idle"];
    let planned = case["input"]["planned"].as_array().unwrap();
    let planned: Vec<u32> =
        planned.iter().map(|p| names.iter().position(|n| p == n).unwrap() as u32).collect();
    let schedule = schedule(&planned.chunks(2).collect::<Vec<_>>());
    for run in ["a", "b", "c"] {
        let journal = golden_journal(&case["input"][format!("journal_{run}")], &planned);
        let progress = Progress::of(&schedule, &journal).unwrap();
        let number = |p: &Place| (p.block - 1) * 2 + p.position;
        let todo: Value = progress
            .todo
            .iter()
            .map(|p| serde_json::json!([number(p), names[p.treatment as usize], p.attempt]))
            .collect();
        let unused: Value =
            progress.unused.iter().map(|p| serde_json::json!([number(p), p.attempt])).collect();
        let expected = &case["expected"][run];
        assert_eq!(todo, expected["todo_position_treatment_attempt"], "{run}");
        assert_eq!(unused, expected["kept_as_evidence_not_used"], "{run}");
    }
}

#[test]
fn a_complete_run_leaves_nothing_and_uses_the_last_valid_attempts() {
    let journal = entries(
        [
            both(place(1, 1, 0, 1), ArmEnd::Ok),
            both(place(1, 2, 1, 1), ArmEnd::Invalid),
            both(place(1, 2, 1, 2), ArmEnd::Ok),
        ]
        .concat(),
    );
    let progress = Progress::of(&schedule(&[&[0, 1]]), &journal).unwrap();
    assert_eq!(progress.used, [place(1, 1, 0, 1), place(1, 2, 1, 2)]);
    assert_eq!((progress.todo.len(), progress.unused.len()), (0, 0));
    assert_eq!(progress.invalid, [place(1, 2, 1, 1)]);
    assert_eq!((progress.blocks_planned, progress.blocks_complete), (1, 1));
}

#[test]
fn a_pair_is_never_made_across_an_interruption() {
    let mut records = both(place(1, 1, 0, 1), ArmEnd::Ok).to_vec();
    records.push(start(place(1, 2, 1, 1)));
    records.push(resumed());
    records.extend(both(place(1, 2, 1, 2), ArmEnd::Ok));
    let progress = Progress::of(&schedule(&[&[0, 1]]), &entries(records.clone())).unwrap();
    assert_eq!(progress.todo, [place(1, 1, 0, 2), place(1, 2, 1, 3)]);
    assert_eq!(progress.unused, [place(1, 1, 0, 1), place(1, 2, 1, 2)]);
    assert_eq!(progress.unfinished, [place(1, 2, 1, 1)]);
    records.extend(both(place(1, 1, 0, 2), ArmEnd::Ok));
    let progress = Progress::of(&schedule(&[&[0, 1]]), &entries(records)).unwrap();
    assert_eq!(progress.used, [place(1, 1, 0, 2), place(1, 2, 1, 2)]);
    assert_eq!(progress.unused, [place(1, 1, 0, 1)]);
}

#[test]
fn a_complete_block_stays_complete_when_the_run_is_taken_up_again() {
    let mut records = [both(place(1, 1, 1, 1), ArmEnd::Ok), both(place(1, 2, 0, 1), ArmEnd::Ok)].concat();
    records.push(resumed());
    records.extend([both(place(2, 1, 0, 1), ArmEnd::Ok), both(place(2, 2, 1, 1), ArmEnd::Ok)].concat());
    let progress = Progress::of(&schedule(&[&[1, 0], &[0, 1]]), &entries(records)).unwrap();
    assert_eq!((progress.used.len(), progress.blocks_complete, progress.todo.len()), (4, 2, 0));
}

#[test]
fn a_repeated_block_does_not_fall_back_on_what_it_had() {
    let mut records = [both(place(1, 1, 0, 1), ArmEnd::Ok), both(place(1, 2, 1, 1), ArmEnd::Ok)].concat();
    records.push(Record::BlockRepeated { stratum: 0, block: 1, why: "throttled".to_owned() });
    records.extend(both(place(1, 1, 0, 2), ArmEnd::Ok));
    let progress = Progress::of(&schedule(&[&[0, 1]]), &entries(records)).unwrap();
    assert_eq!(progress.todo, [place(1, 1, 0, 3), place(1, 2, 1, 2)]);
    assert_eq!((progress.used.len(), progress.unused.len()), (0, 3));
}

#[test]
fn more_than_one_resumption_and_a_pause_over_half_an_hour_are_told() {
    let mut journal = entries(vec![resumed(), resumed(), resumed()]);
    journal[1].at_ns = 1 + 30 * MIN;
    journal[2].at_ns = 0;
    let progress = Progress::of(&schedule(&[]), &journal).unwrap();
    assert_eq!(progress.remarks(), ["resumed 3 times"]);
    journal[1].at_ns = 2 + 30 * MIN;
    let progress = Progress::of(&schedule(&[]), &journal).unwrap();
    assert_eq!(progress.remarks(), ["resumed 3 times", "paused for 30 min"]);
    let once = Progress::of(&schedule(&[]), &entries(vec![resumed()])).unwrap();
    assert_eq!(once.remarks(), Vec::<String>::new());
}

#[test]
fn arms_that_the_order_does_not_have_are_refused_with_their_record() {
    let good = place(1, 1, 0, 1);
    let cases = [
        vec![start(place(2, 1, 0, 1))],
        vec![start(place(1, 1, 1, 1))],
        vec![start(place(0, 1, 0, 1))],
        vec![end(good.clone(), ArmEnd::Ok)],
    ];
    for records in cases {
        let error = Progress::of(&schedule(&[&[0, 1]]), &entries(records)).unwrap_err();
        assert!(matches!(error, ResumeError::Journal { n: 1, .. }), "{error}");
    }
    let [begin, over] = both(good, ArmEnd::Ok);
    for records in [vec![begin.clone(), begin.clone()], vec![begin, over.clone(), over]] {
        let n = records.len() as u64;
        let error = Progress::of(&schedule(&[&[0, 1]]), &entries(records)).unwrap_err();
        assert!(matches!(error, ResumeError::Journal { n: m, .. } if m == n), "{error}");
    }
}

#[test]
fn a_journal_with_endless_attempts_is_refused() {
    let records = (1..=1_001).map(|attempt| start(place(1, 1, 0, attempt))).collect();
    let error = Progress::of(&schedule(&[&[0, 1]]), &entries(records)).unwrap_err();
    assert!(matches!(error, ResumeError::Journal { n: 1_001, .. }), "{error}");
}

#[test]
fn a_run_goes_on_only_with_the_same_build_and_boot_and_without_a_seal() {
    let journal = entries(vec![Record::Env { device: device() }]);
    assert_eq!(may_resume(&journal, &device()), Ok(()));
    assert_eq!(may_resume(&[], &device()), Ok(()));
    let text = |changed: DeviceId| may_resume(&journal, &changed).unwrap_err().to_string();
    let build = text(DeviceId { build: "7.2".to_owned(), ..device() });
    assert!(build.starts_with("the build of the device was '7.1' and is '7.2'"), "{build}");
    let boot = text(DeviceId { boot_id: "c".to_owned(), ..device() });
    assert!(boot.starts_with("the boot id of the device was 'b' and is 'c'"), "{boot}");
    let sealed = entries(vec![Record::Sealed { verdict: "pass".to_owned() }]);
    assert_eq!(may_resume(&sealed, &device()), Err(ResumeError::Sealed));
}

#[test]
fn the_first_value_read_is_what_is_put_back() {
    let read = |factor: &str, value: &str| Record::ToggleOriginal {
        factor: factor.to_owned(),
        value: value.to_owned(),
    };
    let set = || Record::Intent { step: Step::Set, arm: None, what: "profiler=on".to_owned() };
    let restored = |f: &str| Record::Restored { factors: vec![f.to_owned()] };
    let left = |records: Vec<Record>| -> Vec<(String, String)> {
        unrestored(&entries(records)).into_iter().map(|u| (u.factor, u.value)).collect()
    };
    let was = |f: &str, v: &str| (f.to_owned(), v.to_owned());
    assert_eq!(left(vec![read("p", "off"), set(), resumed(), read("p", "on")]), [was("p", "off")]);
    assert_eq!(left(vec![read("p", "off"), set(), restored("p")]), []);
    assert_eq!(left(vec![read("p", "off"), restored("p"), read("p", "low")]), [was("p", "low")]);
    assert_eq!(left(vec![read("p", "off"), restored("p"), resumed(), set()]), [was("p", "off")]);
    assert_eq!(left(vec![read("b", "1"), read("a", "2"), restored("b")]), [was("a", "2")]);
}
