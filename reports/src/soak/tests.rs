//! Windows of every kind, what they leave in the memory, and the record in every format.

use super::*;
use crate::SOAK_SCHEMA;
use crate::summary::sample;
use wireproof_matrices::soak::{DiskPolicy, Ended, Rule};

fn rule() -> Rule {
    Rule { metric: METRIC.to_owned(), rate_ppb: 10_000_000, alpha_ppm: 50_000, disk: DiskPolicy::default() }
}

/// A window whose outputs show so many frames, and nothing else.
fn clean(frames: u64) -> Summary {
    let mut summary = sample::summary();
    summary.findings.clear();
    for stream in &mut summary.streams {
        (stream.sequence.lost, stream.sequence.lost_min, stream.sequence.gaps) = (0, 0, 0);
        stream.output = Some(0);
        "running".clone_into(&mut stream.ended);
    }
    summary.outputs.truncate(1);
    summary.outputs[0].frames.seen = frames;
    summary.totals = crate::summary::Totals::default();
    summary.verdict = Verdict::Pass;
    summary
}

fn failed(gaps: u64) -> Summary {
    let mut summary = clean(100);
    summary.verdict = Verdict::Fail;
    "two datagrams are missing".clone_into(&mut summary.reason);
    (summary.streams[0].sequence.lost, summary.streams[0].sequence.gaps) = (2 * gaps, gaps);
    summary
}

#[test]
fn frames_of_outputs_are_trials_and_bursts_are_events() {
    let mut memory = Memory::default();
    assert_eq!(memory.read(1, &clean(100)).chunk.trials, 100);
    let window = memory.read(2, &failed(3));
    assert_eq!((window.chunk.events, window.chunk.ambiguous), (3, 0));
    assert_eq!(memory.odd.len(), 1);
    let other = Summary { verdict: Verdict::Fail, ..clean(100) };
    assert_eq!(
        memory.read(3, &other).chunk.events,
        1,
        "a window that fails has an event, whatever its counts say"
    );
}

#[test]
fn what_the_observer_lost_itself_does_not_count_and_what_somebody_else_lost_then_cannot_be_told() {
    let mut memory = Memory::default();
    let mut own = Summary { verdict: Verdict::Invalid, ..clean(100) };
    (own.totals.lost, own.totals.owners.observer) = (7, 7);
    let window = memory.read(1, &own);
    assert_eq!(
        (window.chunk.invalid.as_slice(), window.chunk.ambiguous),
        (&["observer_lost".to_owned()][..], 0)
    );
    own.totals.lost = 8;
    assert_eq!(memory.read(2, &own).chunk.ambiguous, 1);
}

#[test]
fn a_stream_that_is_gone_cannot_be_told_unless_it_took_its_leave() {
    let mut memory = Memory::default();
    memory.read(1, &clean(100));
    let mut less = clean(100);
    less.streams.clear();
    let window = memory.read(2, &less);
    assert_eq!((window.verdict, window.chunk.ambiguous), (Verdict::Inconclusive, 1));
    assert!(window.reason.contains("took no leave"), "{}", window.reason);

    let mut memory = Memory::default();
    let mut leaving = clean(100);
    leaving.streams.iter_mut().for_each(|stream| "terminated".clone_into(&mut stream.ended));
    memory.read(1, &leaving);
    assert_eq!(memory.read(2, &less).chunk.ambiguous, 0);
}

#[test]
fn a_window_that_saw_nothing_does_not_count() {
    let window = Memory::default().read(1, &Summary { streams: Vec::new(), outputs: Vec::new(), ..clean(0) });
    assert_eq!(
        (window.verdict, window.chunk.invalid.as_slice()),
        (Verdict::Invalid, &["nothing_seen".to_owned()][..])
    );
}

#[test]
fn a_million_bad_windows_leave_a_bounded_memory() {
    let mut memory = Memory::default();
    for number in 1..=1_000 {
        memory.read(number, &failed(1));
    }
    assert_eq!((memory.odd.len(), memory.odd[0].window), (ODD_MAX, 1_000 - ODD_MAX as u64 + 1));
}

fn soaked(windows: &[Summary]) -> SoakReport {
    let (mut memory, mut soak) = (Memory::default(), Soak::new(rule()).unwrap());
    for (at, summary) in windows.iter().enumerate() {
        let window = memory.read(at as u64 + 1, summary);
        soak.take(&window.chunk);
    }
    SoakReport::of(&soak, &memory, 60_000_000_000, 1)
}

#[test]
fn the_record_follows_its_schema_and_says_in_every_format_what_it_says() {
    let schema: serde_json::Value = serde_json::from_str(SOAK_SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for (windows, verdict, word) in [
        (vec![clean(299)], Verdict::Pass, "PASS"),
        (vec![clean(298)], Verdict::Partial, "PARTIAL"),
        (vec![clean(10), failed(1)], Verdict::Fail, "FAIL"),
    ] {
        let report = soaked(&windows);
        assert_eq!(report.verdict, verdict, "{}", report.reason);
        let mut json = Vec::new();
        report.render(Format::Json, Style::default(), &mut json).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert!(validator.is_valid(&value), "{value}");
        assert_eq!(serde_json::from_slice::<SoakReport>(&json).unwrap(), report);
        for format in [Format::Table, Format::Markdown, Format::Html] {
            let mut text = Vec::new();
            report.render(format, Style::default(), &mut text).unwrap();
            let text = String::from_utf8(text).unwrap();
            assert!(text.contains(word) && text.contains(&report.trials.to_string()), "{text}");
        }
        assert!(report.render(Format::Junit, Style::default(), &mut Vec::new()).is_err());
    }
    assert_eq!(soaked(&[clean(10), failed(1)]).reason.matches("two datagrams").count(), 1);
}

/// The least rate that is excluded belongs to a run without a failure; beside an interval it reads as another bound.
#[test]
fn a_failure_shows_one_interval_and_no_bound_beside_it() {
    let table = |report: &SoakReport| {
        let mut text = Vec::new();
        report.render(Format::Table, Style::default(), &mut text).unwrap();
        String::from_utf8(text).unwrap()
    };
    let report = soaked(&[clean(10), failed(1)]);
    let [low, high] = report.interval_ppb.map(rate_text);
    assert!(report.reason.contains(&format!("a rate of {low} to {high} with 95 %")), "{}", report.reason);
    let text = table(&report);
    assert!(text.contains(&format!("{low} to {high} (95 %, both bounds)")), "{text}");
    assert!(!text.contains("at most 1 in"), "{text}");
    assert!(table(&soaked(&[clean(10)])).contains("at most 1 in"));
}

#[test]
fn it_ends_with_the_first_failure() {
    let (mut memory, mut soak) = (Memory::default(), Soak::new(rule()).unwrap());
    let first = memory.read(1, &failed(1));
    assert!(soak.take(&first.chunk).over);
    assert_eq!(soak.state().ended, Some(Ended::Event));
}
