//! Soaks: when they end, what they say, that they can be taken up again, and that their disk stays bounded.
#![allow(clippy::expect_used, reason = "helpers of tests")]

use proptest::prelude::*;
use wireproof_matrices::journal::DeviceId;
use wireproof_matrices::soak::{Chunk, DiskPolicy, Ended, KeptFor, Rule, RuleError, Soak};
use wireproof_matrices::verdict::Outcome;

fn rule(rate: &str) -> Rule {
    let rate_ppb = Rule::rate(rate).expect("a rate");
    Rule { metric: "wire.lost".to_owned(), rate_ppb, alpha_ppm: 50_000, disk: DiskPolicy::default() }
}

fn device(boot: u32) -> DeviceId {
    DeviceId { build: "b1".to_owned(), boot_id: boot.to_string() }
}

/// A minute of 60 frames a second and 24 datagrams a frame.
fn minute() -> Chunk {
    let (trials, bytes, length_ns) = (86_400, 6_300_000, 60_000_000_000);
    Chunk { trials, bytes, length_ns, device: device(1), ..Chunk::default() }
}

/// Takes clean minutes until it ends; how many.
fn clean(soak: &mut Soak) -> u32 {
    (1..).find(|_| soak.take(&minute()).over).expect("it ends")
}

#[test]
fn rates_are_read_exactly_and_anything_else_is_refused() {
    for (text, ppb) in
        [("1e-5", 10_000), ("0.00001", 10_000), ("1.5E-6", 1_500), ("1e-9", 1), ("0.5", 500_000_000)]
    {
        assert_eq!(Rule::rate(text), Ok(ppb), "{text}");
    }
    for text in
        ["", "e-5", "1e-10", "1", "0", "0.0", "1e5", "-1e-5", "1,5e-3", "nan", "1e-5 ", "1.00000000001e-5"]
    {
        assert_eq!(Rule::rate(text), Err(RuleError::Rate(text.to_owned())), "{text}");
    }
}

#[test]
fn the_trials_needed_are_those_of_the_closed_form() {
    let worked = [("1e-4", 29_956), ("1e-5", 299_572), ("1e-6", 2_995_731), ("0.5", 5)];
    for (rate, expected) in worked {
        assert_eq!(rule(rate).trials_needed(), expected, "{rate}");
    }
    for ppb in [1, 7, 999, 31_337, 400_000_000, 999_999_999] {
        let rule = Rule { rate_ppb: ppb, ..rule("1e-5") };
        let (n, rate) = (rule.trials_needed(), ppb as f64 / 1e9);
        let bound = |n: u64| 1.0 - 0.05_f64.powf(1.0 / n as f64);
        assert!(bound(n) <= rate * (1.0 + 1e-6), "{ppb}: {n}");
        assert!(n == 1 || bound(n - 1) > rate * (1.0 - 1e-6), "{ppb}: {n} is the least");
    }
}

#[test]
fn a_clean_soak_ends_pass_at_the_number_of_trials_and_says_its_bound() {
    let mut soak = Soak::new(rule("1e-5")).expect("a rule");
    assert_eq!(clean(&mut soak), 4, "299,572 of 86,400 each");
    let verdict = soak.verdict();
    assert_eq!((verdict.outcome, verdict.trials, soak.trials_left()), (Outcome::Pass, 345_600, 0));
    assert!(verdict.upper_ppb <= 10_000);
    assert_eq!(soak.sentence(), "wire.lost: 0 of 345600: at most 1 in 115364 with 95 %");
}

#[test]
fn one_event_ends_it_fail_with_the_exact_interval_of_what_was_seen() {
    let mut soak = Soak::new(rule("1e-6")).expect("a rule");
    let chunk = Chunk { trials: 1_800, events: 1, ..minute() };
    assert!(soak.take(&chunk).over);
    let verdict = soak.verdict();
    assert_eq!((verdict.outcome, verdict.events), (Outcome::Fail, 1));
    assert_eq!(verdict.interval_ppb.map(|ppb| ppb / 1000), [14, 3_091], "1.4e-5 to 3.1e-3");
    assert_eq!(soak.state().kept.back().map(|kept| kept.why), Some(KeptFor::Event));
    assert!(soak.take(&minute()).over && soak.verdict() == verdict, "nothing comes after the end");
}

#[test]
fn what_cannot_be_told_ends_it_inconclusive_and_an_unfinished_one_is_partial() {
    let mut soak = Soak::new(rule("1e-6")).expect("a rule");
    assert!(!soak.take(&minute()).over);
    assert_eq!(soak.verdict().outcome, Outcome::Partial);
    assert!(soak.sentence().contains("0 of 86400 so far, 2995731 are needed"));
    assert!(soak.take(&Chunk { ambiguous: 1, ..minute() }).over);
    assert_eq!(soak.verdict().outcome, Outcome::Inconclusive);
}

#[test]
fn chunks_that_the_bench_spoiled_do_not_count_and_too_many_of_them_make_it_invalid() {
    let spoiled = || Chunk { invalid: vec!["observer_lost".to_owned()], ..minute() };
    let mut soak = Soak::new(rule("1e-5")).expect("a rule");
    assert!(!soak.take(&spoiled()).over);
    assert_eq!(soak.state().trials, 0);
    clean(&mut soak);
    assert_eq!(soak.verdict().outcome, Outcome::Invalid, "one of five is more than one in ten");

    let mut row = Soak::new(rule("1e-6")).expect("a rule");
    let over = (1..).find(|_| row.take(&spoiled()).over);
    assert_eq!((over, row.state().ended), (Some(5), Some(Ended::Invalid)));

    let mut event = Soak::new(rule("1e-6")).expect("a rule");
    event.take(&Chunk { events: 2, ..spoiled() });
    assert_eq!(
        event.verdict().outcome,
        Outcome::Fail,
        "a loss of the device is not hidden by one of the bench"
    );
}

#[test]
fn a_restarted_device_is_told_and_another_build_ends_it() {
    let mut soak = Soak::new(rule("1e-6")).expect("a rule");
    soak.take(&minute());
    soak.take(&Chunk { device: device(2), ..minute() });
    assert_eq!((soak.state().trials, soak.state().restarts), (86_400, 1));
    while !soak.take(&Chunk { device: device(2), ..minute() }).over {}
    assert_eq!(soak.verdict().outcome, Outcome::Pass);
    assert!(soak.sentence().ends_with("; the device restarted 1 times"), "{}", soak.sentence());

    let mut other = Soak::new(rule("1e-6")).expect("a rule");
    other.take(&minute());
    let build = DeviceId { build: "b2".to_owned(), ..device(1) };
    assert!(other.take(&Chunk { device: build, events: 1, ..minute() }).over);
    assert_eq!((other.verdict().outcome, other.verdict().events), (Outcome::Invalid, 0));
}

#[test]
fn a_soak_is_taken_up_again_from_its_state_with_the_same_rule_only() {
    let mut whole = Soak::new(rule("1e-6")).expect("a rule");
    let mut cut = whole.clone();
    for _ in 0..20 {
        let expected = whole.take(&minute());
        let text = serde_json::to_string(cut.state()).expect("it is data");
        cut = Soak::resume(&rule("1e-6"), serde_json::from_str(&text).expect("and back")).expect("same rule");
        assert_eq!(cut.take(&minute()), expected);
        assert_eq!(cut, whole);
    }
    let other = Err(RuleError::OtherRate("1e-6".to_owned(), "1e-5".to_owned()));
    assert_eq!(Soak::resume(&rule("1e-5"), whole.state().clone()), other);
    let surer = Rule { alpha_ppm: 10_000, ..rule("1e-6") };
    assert_eq!(Soak::resume(&surer, whole.state().clone()), Err(RuleError::Other));
}

#[test]
fn the_disk_keeps_the_last_clean_chunks_and_those_that_tell_something() {
    let mut soak = Soak::new(rule("1e-6")).expect("a rule");
    let mut dropped = Vec::new();
    for n in 1..=9 {
        let invalid = if n == 4 { vec!["host_drops".to_owned()] } else { Vec::new() };
        dropped.extend(soak.take(&Chunk { invalid, ..minute() }).drop);
    }
    assert_eq!(dropped, [1, 2, 3, 5, 6, 7]);
    soak.take(&Chunk { events: 1, ..minute() });
    let kept: Vec<u64> = soak.state().kept.iter().map(|kept| kept.chunk).collect();
    assert_eq!(kept, [4, 8, 9, 10], "what lay before the event is there");

    let tight = DiskPolicy { max_bytes: 5_000_000, ..DiskPolicy::default() };
    let mut full = Soak::new(Rule { disk: tight, ..rule("1e-6") }).expect("a rule");
    assert!(full.take(&minute()).over);
    assert_eq!((full.state().ended, full.verdict().outcome), (Some(Ended::DiskFull), Outcome::Partial));
    let (held, state) = (full.state().rule.clone(), full.state().clone());
    let with = |max_bytes| Rule { disk: DiskPolicy { max_bytes, ..held.disk }, ..held.clone() };
    let still = Soak::resume(&with(held.disk.max_bytes), state.clone()).expect("the same rule");
    assert_eq!(still.state().ended, Some(Ended::DiskFull), "no more room than before");
    let wider = Soak::resume(&with(held.disk.max_bytes * 100), state.clone()).expect("more room");
    assert_eq!(
        (wider.state().ended, wider.state().trials),
        (None, state.trials),
        "goes on with what was counted"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_chunks_are_it_stays_bounded_and_never_passes_over_an_event(
        chunks in prop::collection::vec((0u64..200_000, 0u64..40, 0u64..60, 0u8..12, 0u64..900_000_000, 0u32..3), 1..200),
    ) {
        let mut soak = Soak::new(rule("1e-6")).expect("a rule");
        let policy = soak.state().rule.disk;
        let mut on_disk: std::collections::BTreeMap<u64, u64> = Default::default();
        for (trials, events, ambiguous, invalid, bytes, boot) in chunks {
            let chunk = Chunk {
                trials,
                events: u64::from(events == 0),
                ambiguous: u64::from(ambiguous == 0),
                invalid: if invalid == 0 { vec!["observer_lost".to_owned()] } else { Vec::new() },
                bytes,
                device: device(boot / 2),
                length_ns: 1,
            };
            let after = soak.take(&chunk);
            on_disk.insert(soak.state().chunks, bytes);
            for number in after.drop {
                prop_assert!(on_disk.remove(&number).is_some(), "{} is dropped once", number);
            }
            let kept: std::collections::BTreeMap<u64, u64> =
                soak.state().kept.iter().map(|kept| (kept.chunk, kept.bytes)).collect();
            prop_assert_eq!(&kept, &on_disk);
            prop_assert!(kept.len() <= (policy.clean + policy.invalid + 2) as usize);
            let full = soak.state().ended == Some(Ended::DiskFull);
            let fits = kept.values().sum::<u64>() <= policy.max_bytes;
            prop_assert!(fits || after.over);
            prop_assert!(!(full && fits));
            if soak.verdict().outcome == Outcome::Pass {
                prop_assert_eq!((soak.state().events, soak.state().ambiguous), (0, 0));
                prop_assert!(soak.verdict().upper_ppb <= 1_000);
            }
            if after.over {
                break;
            }
        }
    }
}
