//! Tests of the correlation: worked cases, edges, extremes, and counting one by one.

use super::*;
use crate::arm::{ArmDrain, Measured, Place};
use serde_json::Value;

const MS: i64 = 1_000_000;

fn pair(value: &Value) -> (i64, i64) {
    (value[0].as_i64().unwrap(), value[1].as_i64().unwrap())
}

fn ms(start: i64, end: i64) -> Span {
    Span { start_ns: start * MS, end_ns: end * MS }
}

fn loss(at: i64, missing: u64) -> Loss {
    Loss { span: ms(at, at), missing }
}

fn golden() -> (Value, ArmTimes) {
    let case = crate::golden::case("drops-vs-drains");
    let input = &case["input"];
    let drains = input["drains_ms"].as_array().unwrap().iter().map(pair).map(|(a, b)| ms(a, b)).collect();
    let losses = input["episodes_ms_and_missing"].as_array().unwrap().iter().map(pair);
    let losses = losses.map(|(at, missing)| loss(at, missing as u64)).collect();
    let arm = ArmTimes { length_ns: input["length_ms"].as_i64().unwrap() * MS, drains, losses };
    assert_eq!((input["circular_shifts"].as_u64(), input["tail_ms"].as_u64()), (Some(999), Some(100)));
    (case["expected"].clone(), arm)
}

fn close(found: Number, expected: &Value) {
    let expected = expected.as_f64().unwrap();
    assert!((found.0 - expected).abs() <= 1e-9 * expected.abs(), "{} is not {expected}", found.0);
}

#[test]
fn the_worked_case_comes_out_exactly() {
    let (expected, arm) = golden();
    let laid = Laid::of(&arm, 100_000_000);
    let found = drops_vs_drains(std::slice::from_ref(&arm), 100_000_000);
    let count = |key: &str| expected[key].as_u64().unwrap();
    assert_eq!(found.window_exposure_ns, expected["window_exposure_ms"].as_i64().unwrap() * MS);
    assert_eq!((found.episodes_inside, found.episodes), (count("episodes_inside"), count("episodes")));
    assert_eq!((found.datagrams_inside, found.datagrams), (count("packets_inside"), count("packets")));
    close(found.binomial_p, &expected["binomial_p_one_sided"]);
    close(found.rate_ratio.unwrap(), &expected["rate_ratio"]);
    close(found.rate_ratio_95[0].unwrap(), &expected["rate_ratio_95"][0]);
    close(found.rate_ratio_95[1].unwrap(), &expected["rate_ratio_95"][1]);
    assert_eq!(u64::from(found.circular_shift_hits), count("circular_shift_hits"));
    close(found.circular_shift_p, &expected["circular_shift_p"]);
    let controls: Vec<Span> = laid.controls().into_iter().map(Option::unwrap).collect();
    let wanted = expected["control_windows_ms"].as_array().unwrap().iter().map(pair);
    assert_eq!(controls, wanted.map(|(a, b)| ms(a, b)).collect::<Vec<_>>());
    let paired = &expected["paired"];
    assert_eq!(Some(found.paired.drain_only), paired["drain_only"].as_u64());
    assert_eq!(Some(found.paired.control_only), paired["control_only"].as_u64());
    close(found.paired.p, &paired["p_one_sided"]);
    let lags: Vec<i64> = arm.losses.iter().map(|l| laid.lag(l).unwrap() / MS).collect();
    assert_eq!(serde_json::json!(lags), expected["lags_ms"]);
    assert_eq!(serde_json::to_value(&found.lag_histogram_50ms).unwrap(), expected["lag_histogram_50ms"]);
    assert!(found.correlated && !found.depends_on_straddles);
}

#[test]
fn the_first_failed_artifact_of_the_field_is_correlated_and_blames_nobody() {
    let case = crate::golden::case("drops-vs-drains-seed");
    let jitter = [0, 310, -170, 90, 420, -260, 150, -380, 240, -60, 330];
    let start = |i: usize| 2_000 + 5_360 * i as i64 + jitter[i];
    let drains: Vec<Span> = (0..11).map(|i| ms(start(i), start(i) + 200)).collect();
    let losses = [1, 3, 4, 7, 9].map(|i| loss(start(i) + 100, 1)).to_vec();
    let found = drops_vs_drains(&[ArmTimes { length_ns: 60_000 * MS, drains, losses }], 0);
    assert_eq!((found.episodes_inside, found.episodes, found.window_exposure_ns), (5, 5, 2_200 * MS));
    close(found.binomial_p, &case["expected"]["binomial_p_one_sided"]);
    assert_eq!(Some(found.correlated), case["expected"]["correlated"].as_bool());
    assert!(found.text.ends_with("which does not say who lost anything"), "{}", found.text);
    assert_eq!((found.rate_ratio, found.rate_ratio_95[1]), (None, None));
}

#[test]
fn losses_closer_than_50_ms_are_one_episode_over_all_streams() {
    let losses = [
        Loss { span: ms(150, 160), missing: 4 },
        Loss { span: ms(100, 101), missing: 1 },
        Loss { span: ms(101, 102), missing: 2 },
        Loss { span: ms(210, 220), missing: 8 },
    ];
    let merged = [Loss { span: ms(100, 160), missing: 7 }, Loss { span: ms(210, 220), missing: 8 }];
    assert_eq!(episodes(&losses), merged);
    assert_eq!(episodes(&[]), []);
}

#[test]
fn a_loss_over_an_edge_is_counted_both_ways() {
    let drains = vec![ms(1_000, 1_200)];
    let losses = vec![
        Loss { span: ms(980, 1_030), missing: 3 },
        Loss { span: ms(1_190, 1_400), missing: 2 },
        loss(1_100, 1),
    ];
    let found = drops_vs_drains(&[ArmTimes { length_ns: 10_000 * MS, drains, losses }], 0);
    assert_eq!((found.episodes, found.straddles, found.inside_range), (3, 2, [1, 3]));
    let [out, within] = found.binomial_p_range;
    assert!((out.0 - (1.0 - 0.98_f64.powi(3))).abs() < 1e-12 && (within.0 - 8e-6).abs() < 1e-15);
}

#[test]
fn arms_are_counted_together_and_shifted_by_the_same_share() {
    let (_, arm) = golden();
    let one = drops_vs_drains(std::slice::from_ref(&arm), 100_000_000);
    let two = drops_vs_drains(&[arm.clone(), arm], 100_000_000);
    assert_eq!((two.episodes, two.episodes_inside), (2 * one.episodes, 2 * one.episodes_inside));
    assert_eq!(two.circular_shift_hits, one.circular_shift_hits, "both arms move alike");
    assert!(two.binomial_p.0 < one.binomial_p.0);
}

fn measured(state: ArmState, real: bool, losses: &[(i64, i64)]) -> Arm {
    let drain = |start: i64, failed: Option<&str>| ArmDrain {
        planned_ns: 0,
        bench: if failed.is_some() { Span::default() } else { ms(start, start + 200) },
        device: Span::default(),
        real,
        failed: failed.map(str::to_owned),
        bytes: 0,
        sha256: None,
    };
    let episode = |(start, end): &(i64, i64)| Episode {
        stream: "sacn".to_owned(),
        span: ms(*start, *end),
        missing: 2,
        owners: crate::arm::Owners::default(),
    };
    let measured = Measured {
        window: ms(100_000, 115_000),
        drains: vec![drain(102_000, None), drain(108_000, None), drain(0, Some("skipped"))],
        episodes: losses.iter().map(episode).collect(),
        ..Measured::default()
    };
    let place = Place { stratum: 0, block: 1, position: 1, treatment: 0, attempt: 1 };
    Arm { place, levels: BTreeMap::new(), state, notes: Vec::new(), measured }
}

#[test]
fn attempts_with_downloads_are_laid_on_their_own_windows_and_the_tail_of_the_plan_counts() {
    let text = include_str!("../../tests/golden/plan_example.toml");
    let mut plan = Plan::read(text).unwrap();
    plan.drain.as_mut().unwrap().tail_ns = 100_000_000;
    let invalid = ArmState::Invalid { reasons: vec!["observer_lost".to_owned()] };
    let arms = [
        measured(ArmState::Ok, true, &[(102_250, 102_260), (114_000, 114_010)]),
        measured(invalid, true, &[(108_100, 108_110)]),
        measured(ArmState::Ok, false, &[(102_100, 102_110)]),
        measured(ArmState::Interrupted, true, &[(102_100, 102_110)]),
    ];
    let found = of_arms(&plan, &arms).unwrap();
    assert_eq!((found.exposure_ns, found.window_exposure_ns, found.drains), (30_000 * MS, 4 * 300 * MS, 4));
    assert_eq!((found.episodes, found.episodes_inside, found.datagrams), (3, 2, 6));
    assert_eq!(of_arms(&plan, &arms[2..]), None);
    plan.drain = None;
    assert_eq!(of_arms(&plan, &arms), None);
}

#[test]
fn nothing_lost_or_nothing_downloaded_shows_nothing() {
    let clean = ArmTimes { length_ns: 60_000 * MS, drains: vec![ms(0, 200)], losses: Vec::new() };
    let idle = ArmTimes { length_ns: 60_000 * MS, drains: Vec::new(), losses: vec![loss(5, 1)] };
    for arms in
        [vec![], vec![clean.clone()], vec![idle.clone()], vec![ArmTimes::default()], vec![clean, idle]]
    {
        let found = drops_vs_drains(&arms, 0);
        assert!(!found.correlated && !found.depends_on_straddles, "{found:?}");
        assert_eq!((found.binomial_p, found.circular_shift_p), (Number(1.0), Number(1.0)));
        serde_json::to_string(&found).unwrap();
    }
}

#[test]
fn extreme_times_do_not_overflow_and_many_losses_are_swept() {
    let far = Span { start_ns: i64::MIN, end_ns: i64::MAX };
    let arm = ArmTimes {
        length_ns: i64::MAX,
        drains: vec![
            far,
            Span { start_ns: i64::MAX, end_ns: i64::MIN },
            Span { start_ns: 5, end_ns: i64::MAX },
        ],
        losses: vec![Loss { span: far, missing: u64::MAX }, loss(7, u64::MAX)],
    };
    let found = drops_vs_drains(&[arm.clone(), arm], u64::MAX);
    assert_eq!(found.datagrams, u64::MAX);
    let many = ArmTimes {
        length_ns: 4_000_000 * MS,
        drains: (0..20_000).map(|i| ms(i * 200, i * 200 + 50)).collect(),
        losses: (0..20_000).map(|i| loss(i * 60, 1)).collect(),
    };
    assert_eq!(drops_vs_drains(&[many], 0).episodes, 20_000);
}

#[test]
fn the_result_is_written_the_same_every_time_and_can_be_read() {
    let (_, arm) = golden();
    let text = || serde_json::to_string(&drops_vs_drains(std::slice::from_ref(&arm), 100_000_000)).unwrap();
    assert_eq!(text(), text());
    let read: DropsVsDrains = serde_json::from_str(&text()).unwrap();
    assert_eq!((read.episodes_inside, read.circular_shift_hits, read.correlated), (5, 2, true));
}

proptest::proptest! {
    #[test]
    fn the_sweep_agrees_with_counting_one_by_one(
        drains in proptest::collection::vec((0_i64..1_000, 0_i64..200), 0..6),
        losses in proptest::collection::vec(0_i64..1_000, 0..12),
        j in 1_u32..=SHIFTS,
    ) {
        let arm = ArmTimes {
            length_ns: 1_000 * MS,
            drains: drains.iter().map(|(at, long)| ms(*at, at + long)).collect(),
            losses: losses.iter().map(|at| loss(*at, 1)).collect(),
        };
        let laid = Laid::of(&arm, 0);
        let by = i64::from(j) * arm.length_ns / 1_000;
        let moved = laid.losses.iter().map(|l| (l.middle() + by) % arm.length_ns);
        let inside = |at: &i64| arm.drains.iter().any(|d| (d.start_ns..d.end_ns).contains(at));
        let one_by_one = moved.filter(inside).count() as u64;
        proptest::prop_assert_eq!(shift::counts(std::slice::from_ref(&laid), SHIFTS)[j as usize - 1], one_by_one);
    }
}

#[test]
fn losses_at_one_place_of_long_windows_are_beyond_chance_and_yet_no_coincidence() {
    let arm = |start: i64| ArmTimes {
        length_ns: 4_000 * MS,
        drains: vec![ms(start, start + 150)],
        losses: vec![loss(start + 50, 1)],
    };
    let laid = drops_vs_drains(&[300, 900, 1_500, 2_100, 2_700, 3_100].map(arm), 100_000_000);
    assert!(laid.binomial_p.0 < 0.01 && laid.circular_shift_p.0 > 0.01 && !laid.correlated, "{laid:?}");
    assert!(laid.text.ends_with("longer arms or shorter downloads would tell"), "{}", laid.text);
}
