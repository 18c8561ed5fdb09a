//! `wireproof matrix` against the simulated device as a process of its own over loopback: runs that end well, that are
//! interrupted, lied to, killed and starved.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod device_process;
mod matrix_bench;

use matrix_bench::{Bench, GENEROUS, RING_OCTETS, counted_name, drops, of_gate, verdict};
use serde_json::Value;
use std::fs;
use std::time::Instant;

#[test]
fn a_clean_drain_matrix_ends_as_its_power_allows_and_its_bundle_verifies() {
    let bench = Bench::new(&[]);
    bench.plan_of("2s", 2, "on", r#""idle", "raw", "sham""#);
    let (code, out, said) = bench.outcome(&["run", "plan.toml", "--format", "json"]);
    let bundle = bench.bundle();
    let verdict = verdict(&bundle);
    let word = verdict["verdict"].as_str().unwrap();
    assert!(matches!((code, word), (0, "pass") | (3, "inconclusive")), "{code} {word}: {said}{out}");
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap(), verdict, "the report is that of the bundle");
    assert_eq!(
        (&verdict["pre_registered"], &verdict["attribution"]["counted"]["lost"]),
        (&false.into(), &0.into())
    );
    assert_eq!(bench.preview(), false, "put back");
    let counted: Vec<&Value> =
        verdict["arms"].as_array().unwrap().iter().filter(|arm| arm["counted"] == true).collect();
    assert_eq!(counted.len(), 6);
    for arm in counted {
        let folder = bundle.join("arms").join(arm["name"].as_str().unwrap());
        assert_eq!(fs::metadata(folder.join("ring.raw")).unwrap().len(), RING_OCTETS);
        let kept: Value = serde_json::from_slice(&fs::read(folder.join("arm.json")).unwrap()).unwrap();
        let m = &kept["measured"];
        let inside = |at: &Value| {
            let (from, to) = (&m["window"]["start_ns"], &m["window"]["end_ns"]);
            (from.as_i64().unwrap()..to.as_i64().unwrap()).contains(&at.as_i64().unwrap())
        };
        for (at, per_frame) in [(0, 6), (1, 4)] {
            let stream = &m["streams"][at];
            let (datagrams, frames) =
                (stream["datagrams"].as_u64().unwrap(), stream["frames"].as_u64().unwrap());
            assert!(frames > 30 && datagrams.abs_diff(frames * per_frame) <= per_frame, "{stream}");
            assert!(inside(&stream["first_ns"]) && inside(&stream["last_ns"]), "{stream}");
            let shown: u64 =
                stream["payload"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
            assert!(shown + 2 >= frames, "every whole frame has a digest: {shown} of {frames}");
        }
        assert!(m["frames"].as_array().unwrap().len() > 30 && m["ring"] == true, "{kept}");
        // The device answers with the copy it made for the download within the window for a second.
        let last = m["frames"].as_array().unwrap().last().unwrap()["end_ns"].as_i64().unwrap();
        let end = m["device_window"]["end_ns"].as_i64().unwrap();
        assert!(m["stale"] == false && last > end - 500_000_000, "{last} {end}");
        let real = arm["treatment"] != "idle";
        assert_eq!(m["drains"][0]["real"], real);
        if real {
            assert_eq!(m["drains"][0]["bytes"], RING_OCTETS);
        }
    }
    let name = bundle.to_str().unwrap();
    let (code, out, said) = bench.outcome(&["verify", name]);
    assert_eq!(code, 0, "{out}{said}");
    assert!(out.contains("arms measure the same again") && !out.contains("DIFFERS"), "{out}");
    let (code, out, _) = bench.outcome(&["judge", name, "--what-if", "p95=1ns"]);
    assert!(code != 0 && out.contains("EXPLORATORY, not the frozen plan"), "{out}");
    let tape = bundle.join("arms").join(counted_name(&verdict)).join("wire.tape");
    let mut octets = fs::read(&tape).unwrap();
    let middle = octets.len() / 2;
    octets[middle] ^= 1;
    fs::write(&tape, octets).unwrap();
    let (code, _, said) = bench.outcome(&["verify", name]);
    assert!(code == 7 && said.contains("wire.tape: changed"), "{code} {said}");
}

#[test]
fn a_hash_that_was_not_expected_sends_nothing() {
    let bench = Bench::new(&[]);
    bench.plan("2s", 2, "on");
    let before = bench.web.status()["service"]["counters"]["requests"].as_u64().unwrap();
    let (code, _, said) = bench.outcome(&["run", "plan.toml", "--expect", &"0".repeat(64)]);
    assert!(code == 7 && said.contains("nothing was sent"), "{code} {said}");
    let after = bench.web.status()["service"]["counters"]["requests"].as_u64().unwrap();
    assert_eq!(after, before + 1, "only this test's own question");
    assert!(!bench.folder.path().join("evidence").exists());
}

#[test]
fn ctrl_c_in_a_window_puts_the_device_back_and_seals_what_is_there_as_partial() {
    let bench = Bench::new(&[]);
    bench.plan("10s", 2, "on");
    let mut matrix = bench.matrix(&["run", "plan.toml"]);
    assert!(matrix.until(|line| line.contains("arm 1 of ") && line.contains(" measure ")), "{}", matrix.said);
    assert_eq!(bench.preview(), true, "the factor was set");
    matrix.signal("-INT");
    let (code, out, said) = matrix.ended();
    assert_eq!(code, 5, "{said}{out}");
    assert_eq!(bench.preview(), false);
    let bundle = bench.bundle();
    assert_eq!(verdict(&bundle)["verdict"], "partial");
    let (code, out, said) = bench.outcome(&["verify", bundle.to_str().unwrap()]);
    assert!(code == 0 && out.contains("manifest: sealed"), "{out}{said}");
}

#[test]
fn a_toggle_that_lies_ends_the_run_as_invalid_with_the_device_as_it_was() {
    let bench = Bench::new(&["--fault", "lying-toggle"]);
    bench.plan("2s", 2, "on");
    let (code, out, said) = bench.outcome(&["run", "plan.toml"]);
    assert_eq!(code, 4, "{said}{out}");
    assert!(out.contains("INVALID") || said.contains("INVALID"), "{said}{out}");
    assert_eq!(bench.web.status()["engine"]["preview"], 0);
    let (code, out, said) = bench.outcome(&["verify", bench.bundle().to_str().unwrap()]);
    assert_eq!(code, 0, "{out}{said}");
}

#[test]
fn what_a_killed_run_left_is_restored_by_hand_and_the_run_goes_on() {
    let bench = Bench::new(&[]);
    bench.plan("2s", 2, "on");
    let mut matrix = bench.matrix(&["run", "plan.toml"]);
    assert!(
        matrix.until(|line| line.contains("arm 2 of 4") && line.contains(" measure ")),
        "{}",
        matrix.said
    );
    matrix.signal("-KILL");
    assert_eq!(matrix.ended().0, -1);
    assert_eq!(bench.preview(), true, "nobody put it back");
    let bundle = bench.bundle();
    let name = bundle.to_str().unwrap().to_owned();
    let (code, out, said) = bench.outcome(&["run", "plan.toml", "-o", "evidence"]);
    assert!(code != 0 && said.contains("matrix restore"), "{code} {said}{out}");
    let (code, _, said) = bench.outcome(&["restore", &name]);
    assert!(code == 0 && said.contains("preview stands at off again"), "{code} {said}");
    assert_eq!(bench.preview(), false);
    let (code, _, said) = bench.outcome(&["restore", &name]);
    assert!(code == 0 && said.contains("nothing to put back"), "{code} {said}");
    let (code, out, said) = bench.outcome(&["resume", &name]);
    assert!(matches!(code, 0 | 3), "{code} {said}{out}");
    assert_eq!(bench.preview(), false);
    let verdict = verdict(&bundle);
    assert_eq!((&verdict["resumes"], &verdict["blocks_complete"]), (&1.into(), &2.into()));
    let (code, out, said) = bench.outcome(&["verify", &name]);
    assert_eq!(code, 0, "{out}{said}");
}

/// The founding case of the field: the bench loses datagrams while it downloads, and the device looks guilty.
#[test]
fn an_observer_that_stands_still_during_raw_drains_is_invalid_and_never_a_fail() {
    let bench = Bench::new(&[]);
    bench.plan("8s", 2, "off");
    let mut matrix = bench.matrix(&["run", "plan.toml"]);
    let mut stopped = 0;
    while matrix.until(|line| line.contains(" raw  measure ")) {
        let before = drops(bench.ports[0]);
        matrix.signal("-STOP");
        let begun = Instant::now();
        while drops(bench.ports[0]) <= before {
            assert!(begun.elapsed() < GENEROUS, "the socket holds everything");
        }
        matrix.signal("-CONT");
        stopped += 1;
    }
    let (code, out, said) = matrix.ended();
    assert_eq!(code, 4, "stopped {stopped} times: {said}{out}");
    let verdict = verdict(&bench.bundle());
    assert_eq!(verdict["verdict"], "invalid");
    assert_eq!(verdict["gates"][0]["verdict"].as_str().filter(|word| *word == "fail"), None, "{verdict}");
    let arms = verdict["arms"].as_array().unwrap();
    let raw: Vec<&Value> = arms.iter().filter(|arm| arm["treatment"] == "raw").collect();
    assert!(raw.len() >= 2 && raw.iter().all(|arm| arm["state"] == "invalid"), "{arms:?}");
    for arm in raw {
        let reasons = arm["reasons"].to_string();
        assert!(reasons.contains("observer_lost"), "{reasons}");
    }
    let (lost, own) =
        (&verdict["attribution"]["not_counted"]["lost"], &verdict["attribution"]["not_counted"]["observer"]);
    assert!(lost.as_u64() > Some(0) && lost == own, "every missing datagram is the bench's: {lost} {own}");
    drop(bench.device);
}

#[test]
fn a_treatment_that_changes_the_picture_fails_by_equality_of_payloads() {
    let bench = Bench::new(&["--fault", "payload:while=drain"]);
    let plan = bench.plan("4s", 2, "on");
    let gate = "\n[[gate]]\nid = \"payload\"\nclass = \"gate\"\nmetric = \"wire.payload\"\nkind = \"zero\"\nmin_trials = 100\n";
    let text = fs::read_to_string(&plan).unwrap() + gate;
    fs::write(&plan, text).unwrap();
    let (code, out, said) = bench.outcome(&["run", "plan.toml"]);
    let verdict = verdict(&bench.bundle());
    assert_eq!((code, verdict["verdict"].as_str()), (1, Some("fail")), "{said}{out}");
    assert_eq!((of_gate(&verdict, "payload"), of_gate(&verdict, "lost")), ("fail", "pass"), "{out}");
}

#[test]
fn datagrams_that_the_device_keeps_back_beside_downloads_fail_the_run_and_are_the_senders() {
    let bench = Bench::new(&["--raw-time", "100ms", "--fault", "unsent:while=drain"]);
    bench.plan("2s", 2, "on");
    let (code, out, said) = bench.outcome(&["run", "plan.toml"]);
    let verdict = verdict(&bench.bundle());
    assert_eq!((code, verdict["verdict"].as_str()), (1, Some("fail")), "{said}{out}");
    assert_eq!(of_gate(&verdict, "lost"), "fail", "{out}");
    let counted = &verdict["attribution"]["counted"];
    assert!(counted["sender"].as_u64() > Some(0), "{counted}");
    assert_eq!([&counted["wire"], &counted["observer"]], [0, 0], "{counted}");
    let laid = &verdict["drops_vs_drains"];
    assert!(laid["episodes"].as_u64() > Some(0) && laid["episodes"] == laid["episodes_inside"], "{laid}");
}
