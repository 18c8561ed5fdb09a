//! The worked cases that were made for the analysis elsewhere: causes, spans, percentiles, windows and drains.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "helpers of tests")]

use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use wireproof_recorder::Frame;
use wireproof_recorder::analysis::causes::Tally;
use wireproof_recorder::analysis::quantiles::rank;
use wireproof_recorder::analysis::{Quantiles, select, span};

fn golden(id: &str) -> Option<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/golden/experiments.json");
    let Ok(text) = fs::read_to_string(path) else {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("SKIPPED the worked case {id}: ../shared is absent\n"),
        );
        return None;
    };
    let all: Value = serde_json::from_str(&text).unwrap();
    Some(all["cases"].as_array().unwrap().iter().find(|case| case["id"] == id).unwrap().clone())
}

fn counted(tally: &Tally) -> Value {
    let counts = tally.counts();
    let places: Vec<_> = counts.places.iter().map(|row| json!([row.place, row.requests])).collect();
    json!({
        "frames": counts.frames, "by_events": counts.by_events, "by_refresh": counts.by_refresh,
        "by_other": counts.by_other, "places": places, "places_rest": counts.places_rest,
    })
}

#[test]
fn the_worked_case_of_frame_causes_is_met() {
    let Some(case) = golden("frame-causes") else { return };
    let input = &case["input"];
    let number = |key: &str| usize::try_from(input[key].as_u64().unwrap()).unwrap();
    let mut tally = Tally::new(number("keep"), number("max_place_chars"));
    for frame in input["frames"].as_array().unwrap() {
        let texts = |key: &str| frame[key].as_array().unwrap().iter().map(|text| text.as_str().unwrap());
        tally.frame(texts("events"), texts("refreshes"));
    }
    assert_eq!(counted(&tally), case["expected"]);
}

#[test]
fn the_worked_case_of_more_places_than_are_kept_is_met() {
    let Some(case) = golden("frame-causes-cap") else { return };
    let mut tally = Tally::new(32, 48);
    for n in (0..35).chain([0]) {
        tally.frame([], [format!("p{n:02}.rs:1").as_str()]);
    }
    let (counts, expected) = (tally.counts(), &case["expected"]);
    assert_eq!((counts.frames, counts.by_refresh), (36, 36));
    assert_eq!(expected["places_kept"], counts.places.len());
    assert_eq!(json!([counts.places[0].place, counts.places[0].requests]), expected["first_place"]);
    assert_eq!(expected["places_rest"], counts.places_rest);
    tally.reset();
    assert_eq!(counted(&tally), expected["after_reset"]);
}

#[test]
fn the_worked_case_of_spans_is_met() {
    let Some(case) = golden("span") else { return };
    let pair = |value: &Value| (value[0].as_u64().unwrap(), value[1].as_u64().unwrap());
    let (input, expected) = (&case["input"], &case["expected"]);
    let passes = |list: &Value| list.as_array().unwrap().iter().map(pair).collect::<Vec<_>>();
    let submissions: Vec<_> = input["submissions"].as_array().unwrap().iter().map(passes).collect();
    let build = [pair(&input["build"])];
    let floor = input["previous_frame_end"].as_u64().unwrap();
    let spans: Vec<u64> = submissions.iter().map(|passes| span::span(passes)).collect();
    assert_eq!(json!(spans), expected["spans"]);
    assert_eq!(expected["build_counted"], span::past_floor(build, floor));
    assert_eq!(expected["build_counted_if_previous_frame_missing"], span::past_floor(build, 0));
    assert_eq!(expected["frame_total"], span::frame_total(&build, &submissions, floor));
}

#[test]
fn the_worked_cases_of_percentiles_are_met() {
    let (Some(ranks), Some(values)) = (golden("percentile-ranks"), golden("percentile-values")) else {
        return;
    };
    for (n, expected) in ranks["expected"]["ranks"].as_object().unwrap() {
        let n = n.parse().unwrap();
        let of = [(50, 100), (95, 100), (99, 100), (999, 1000)].map(|(num, den)| rank(n, num, den));
        assert_eq!(json!(of), *expected, "{n}");
    }
    let list = values["input"]["values_us"].as_array().unwrap();
    let found = Quantiles::of(list.iter().map(|value| value.as_u64().unwrap()));
    assert_eq!(json!(found), values["expected"]);
}

fn paced(count: u32, first_ns: u64, period_ns: u64, took: impl Fn(u32) -> u64) -> Vec<Frame> {
    let frame = |id: u32| {
        let start_ns = first_ns + u64::from(id) * period_ns;
        Frame { id, start_ns, end_ns: start_ns + took(id), truncated: false, records: Vec::new() }
    };
    (0..count).map(frame).collect()
}

#[test]
fn the_worked_cases_of_windows_and_drains_are_met() {
    let (Some(windows), Some(drains)) = (golden("window-frames"), golden("in-drain-frames")) else { return };
    let (input, expected) = (&windows["input"], &windows["expected"]);
    let ns = |value: &Value| value.as_u64().unwrap();
    for (at, first) in input["first_frame_start_ns"].as_array().unwrap().iter().enumerate() {
        let frames = paced(310, ns(first), ns(&input["period_ns"]), |_| ns(&input["frame_ns"]));
        let window = (ns(&input["window_ns"][0]), ns(&input["window_ns"][1]));
        let ids: Vec<u32> =
            select::within(&frames, window, ns(&input["guard_ns"])).map(|frame| frame.id).collect();
        assert_eq!(expected["frames"][at], ids.len());
        assert_eq!(expected["first_last_index"][at], json!([ids[0], ids[ids.len() - 1]]));
    }
    let (input, expected) = (&drains["input"], &drains["expected"]);
    let us = |key: &str| ns(&input[key]) * 1_000;
    let slow = |id: u32| us(if (60..=72).contains(&id) { "frames_60_to_72_us" } else { "normal_us" });
    let frames = paced(180, 0, us("period_us"), slow);
    let drain = [(ns(&input["drain_us"][0]) * 1_000, ns(&input["drain_us"][1]) * 1_000)];
    let ids: Vec<u32> = select::overlapping(&frames, &drain).map(|frame| frame.id).collect();
    assert_eq!(json!([ids[0], ids[ids.len() - 1]]), expected["indices"]);
    assert_eq!(expected["count"], ids.len());
    assert_eq!(ns(&expected["p50_us"]) * 1_000, select::durations(select::overlapping(&frames, &drain)).p50);
    assert_eq!(ns(&expected["window_p95_us"]) * 1_000, select::durations(&frames).p95);
}

#[test]
fn a_drain_that_touches_a_frame_does_not_overlap_it() {
    let frames = paced(3, 100, 100, |_| 50);
    let ids = |drain| select::overlapping(&frames, &[drain]).map(|frame| frame.id).collect::<Vec<_>>();
    assert_eq!((ids((150, 200)), ids((149, 201)), ids((0, 1_000))), (vec![], vec![0, 1], vec![0, 1, 2]));
}
