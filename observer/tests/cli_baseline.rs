//! `baseline set` and `compare` with a baseline, on whole bundles: what is taken, refused, kept, marked, and the exit codes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod bundle_made;
mod cli_support;

use bundle_made::{Made, make};
use cli_support::{conforms, outcome, wireproof};
use serde_json::Value;
use std::fs;
use std::path::Path;
use wireproof_matrices::digest::Digest;
use wireproof_matrices::runner::io::Outcome;
use wireproof_reports::{BASELINE_SCHEMA, COMPARE_SCHEMA};

fn cli(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    outcome(wireproof(folder).args(arguments))
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// A folder with a baseline `a6-raw-drain` and the path of the bundle behind it.
fn with_baseline() -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let bundle = make(&dir.path().join("evidence"), &Made::default()).display().to_string();
    let (code, out, err) = cli(dir.path(), &["baseline", "set", &bundle, "--reason", "lowest of five"]);
    assert_eq!((code, out.as_str(), err.as_str()), (0, "baselines/a6-raw-drain.json\n", ""));
    (dir, bundle)
}

fn later(dir: &Path, made: Made) -> String {
    make(&dir.join("evidence"), &Made { at: 60, ..made }).display().to_string()
}

const BASELINE: &str = "baselines/a6-raw-drain.json";

#[test]
fn a_baseline_records_the_run_its_seal_and_why_it_was_chosen() {
    let (dir, bundle) = with_baseline();
    let record = json(&dir.path().join(BASELINE));
    conforms(BASELINE_SCHEMA, &record);
    assert_eq!((&record["name"], &record["reason"]), (&"a6-raw-drain".into(), &"lowest of five".into()));
    let run = &record["run"];
    let manifest = fs::read(Path::new(&bundle).join("manifest.sha256")).unwrap();
    assert_eq!(run["manifest_sha256"], Digest::of(&manifest).to_string());
    assert_eq!(run["bundle"], Path::new(&bundle).file_name().unwrap().to_str().unwrap());
    assert_eq!(run["conditions"], serde_json::json!({"load": 0.31, "throttled": 0}));
    assert_eq!(run["identity"]["device_build"], "ad2d91a");
    assert_eq!(run["identity"]["metrics"], serde_json::json!({"frame.p95": 1, "wire.lost": 1}));
    let figures = run["figures"].as_array().unwrap();
    let found: Vec<_> =
        figures.iter().map(|f| (f["metric"].as_str().unwrap(), f["value"].as_i64().unwrap())).collect();
    let expected = [
        ("frame.p95 baseline", 5_402_000),
        ("frame.p95 raw", 5_470_500),
        ("frame.p95 raw minus baseline", 68_500),
        ("wire.lost", 0),
    ];
    assert_eq!(found, expected);
}

#[test]
fn the_baseline_before_is_kept_under_its_own_time() {
    let (dir, bundle) = with_baseline();
    let before = fs::read(dir.path().join(BASELINE)).unwrap();
    let (code, _, err) = cli(dir.path(), &["baseline", "set", &bundle]);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("the baseline before is kept as baselines/a6-raw-drain.20"), "{err}");
    assert!(err.contains("no reason was given"), "{err}");
    let again = later(dir.path(), Made::default());
    assert_eq!(cli(dir.path(), &["baseline", "set", &again]).0, 0);
    let mut all: Vec<Vec<u8>> = fs::read_dir(dir.path().join("baselines"))
        .unwrap()
        .map(|e| fs::read(e.unwrap().path()).unwrap())
        .collect();
    assert_eq!(all.len(), 3);
    all.retain(|octets| *octets == before);
    assert_eq!(all.len(), 1, "the first one is there, octet by octet");
    let last = json(&dir.path().join(BASELINE));
    assert_eq!(last["run"]["bundle"], Path::new(&again).file_name().unwrap().to_str().unwrap());
}

#[test]
fn what_is_no_baseline_is_never_overwritten() {
    let (dir, bundle) = with_baseline();
    for (text, why) in [("{}", "no schema"), ("notes", "no record"), ("{\"schema\": \"x/1\"}", "not known")] {
        fs::write(dir.path().join(BASELINE), text).unwrap();
        let (code, out, err) = cli(dir.path(), &["baseline", "set", &bundle]);
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{err}");
        assert!(err.contains(why) && err.contains("move it away"), "{err}");
        assert_eq!(fs::read_to_string(dir.path().join(BASELINE)).unwrap(), text);
    }
}

#[test]
fn only_a_sealed_pass_that_nobody_changed_becomes_a_baseline() {
    let cases = [
        (Made { sealed: false, ..Made::default() }, 2, "not sealed"),
        (
            Made { frame_ns: [5_402_000, 7_474_000], ..Made::default() },
            2,
            "not PASS: a baseline must be a run that passed (it is FAIL",
        ),
        (Made { ending: Outcome::Partial, ..Made::default() }, 2, "(it is PARTIAL"),
        (Made { ending: Outcome::Invalid, ..Made::default() }, 2, "(it is INVALID"),
        (Made { min_frames: 290, ..Made::default() }, 2, "not PASS"),
        (
            Made { lost: 3, lie: Some("pass"), ..Made::default() },
            7,
            "verdict.json: it says \"pass\", and the arms give fail",
        ),
    ];
    for (made, code, words) in cases {
        let dir = tempfile::tempdir().unwrap();
        let bundle = make(&dir.path().join("evidence"), &made).display().to_string();
        let (found, out, err) = cli(dir.path(), &["baseline", "set", &bundle]);
        assert_eq!((found, out.as_str(), err.lines().count()), (code, "", 1), "{words}: {err}");
        assert!(err.contains(words), "{words}: {err}");
        assert!(!dir.path().join("baselines").exists());
    }
}

#[test]
fn a_bundle_with_a_changed_octet_or_without_its_manifest_is_no_baseline() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = make(&dir.path().join("evidence"), &Made::default());
    let path = bundle.display().to_string();
    let gates = fs::read(bundle.join("gates.csv")).unwrap();
    fs::write(bundle.join("gates.csv"), [&gates[..], b"x"].concat()).unwrap();
    let (code, _, err) = cli(dir.path(), &["baseline", "set", &path]);
    assert!(code == 7 && err.contains("gates.csv: changed"), "{code} {err}");
    fs::write(bundle.join("gates.csv"), gates).unwrap();
    fs::remove_file(bundle.join("manifest.sha256")).unwrap();
    let (code, _, err) = cli(dir.path(), &["baseline", "set", &path]);
    assert!(code == 2 && err.contains("not sealed"), "{code} {err}");
    let (code, _, err) = cli(dir.path(), &["baseline", "set", "absent"]);
    assert!(code == 6 && err.lines().count() == 1, "{code} {err}");
}

#[test]
fn growth_is_judged_and_ends_in_the_exit_code() {
    let (dir, _) = with_baseline();
    let rows = [
        (0, [5_402_000, 5_470_500], 0, "| frame.p95 raw minus baseline | 68.5 | 68.5 | +0.0 | 1.000 |"),
        // Past 5 % and not past 10 %: a warning fails nothing.
        (60, [5_402_000, 5_762_000], 1, "| frame.p95 raw minus baseline | 68.5 | 360.0 | +291.5 | 5.255 |"),
        (
            120,
            [5_800_000, 5_868_500],
            0,
            "| frame.p95 baseline | 5,402.0 | 5,800.0 | +398.0 | 1.074 | \u{2014} | warn |",
        ),
        (
            180,
            [6_402_000, 6_470_500],
            1,
            "| frame.p95 raw | 5,470.5 | 6,470.5 | +1,000.0 | 1.183 | \u{2014} | fail |",
        ),
    ];
    for (at, frame_ns, code, row) in rows {
        let run = make(&dir.path().join("later"), &Made { at, frame_ns, ..Made::default() });
        let run = run.display().to_string();
        let (found, out, err) = cli(dir.path(), &["compare", BASELINE, &run, "--format", "markdown"]);
        assert_eq!((found, err.as_str()), (code, ""), "{out}");
        assert!(out.contains(row), "{row}\n{out}");
    }
}

#[test]
fn every_format_of_a_comparison_is_written_and_its_record_conforms() {
    let (dir, _) = with_baseline();
    let run = later(dir.path(), Made { lost: 2, ..Made::default() });
    for format in ["table", "json", "csv", "markdown", "junit", "html"] {
        let (code, out, err) = cli(dir.path(), &["compare", BASELINE, &run, "--format", format]);
        assert_eq!((code, err.as_str()), (1, ""), "{format}");
        assert!(out.contains("wire.lost"), "{format}: {out}");
        if format == "json" {
            let record: Value = serde_json::from_str(&out).unwrap();
            conforms(COMPARE_SCHEMA, &record);
            assert_eq!((&record["verdict"], &record["rows"][3]["now"]), (&"fail".into(), &12.into()));
            fs::write(dir.path().join("compare.json"), &out).unwrap();
        }
    }
    // The record alone gives the same texts again.
    for format in ["table", "json", "csv", "markdown", "junit", "html"] {
        let first = cli(dir.path(), &["compare", BASELINE, &run, "--format", format]).1;
        let (code, again, err) = cli(dir.path(), &["report", "compare.json", "--format", format]);
        assert_eq!((code, err.as_str()), (0, ""));
        assert_eq!(again, first, "{format}");
    }
    let (code, _, err) = cli(dir.path(), &["compare", BASELINE, &run, "--format", "jsonl"]);
    assert!(code == 2 && err.contains("a comparison has no jsonl: choose another --format"), "{err}");
}

#[test]
fn budgets_hold_alone_and_only_under_their_conditions() {
    let (dir, _) = with_baseline();
    let run = later(dir.path(), Made::default());
    let compare = |budgets: &str| {
        fs::write(dir.path().join("budgets.toml"), format!("schema = 1\n{budgets}")).unwrap();
        cli(dir.path(), &["compare", BASELINE, &run, "--budgets", "budgets.toml", "--format", "csv"])
    };
    let budget = |ceiling: &str, condition: &str| {
        format!("[[budget]]\nmetric = \"frame.p95 raw\"\nceiling = {ceiling}\n{condition}")
    };
    assert_eq!(compare(&budget("\"5470500ns\"", "")).0, 0, "equal passes");
    assert_eq!(compare(&budget("\"5470499ns\"", "")).0, 1);
    assert_eq!(compare(&budget("\"5ms\"", "condition = \"load <= 0.31\"\n")).0, 1);
    let (code, out, _) = compare(&budget("\"5ms\"", "condition = \"load < 0.31\"\n"));
    assert_eq!(code, 3, "{out}");
    assert!(out.contains(",5000000,load < 0.31,pass,inconclusive,false\r\n"), "{out}");
    for (text, words) in [
        (
            "[[budget]]\nmetric = \"frame.p59\"\nceiling = \"1ms\"\n",
            "budgets.toml, line 3: the run has no figure frame.p59",
        ),
        ("[[budget]]\nmetric = \"wire.lost\"\nceiling = \"1ms\"\n", "in another unit"),
        ("[[budget]]\nmetrik = 1\n", "budgets.toml, line 3: unknown field `metrik`"),
    ] {
        let (code, out, err) = compare(text);
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{err}");
        assert!(err.contains(words), "{err}");
    }
    let (code, _, err) = cli(dir.path(), &["compare", BASELINE, &run, "--budgets", "absent.toml"]);
    assert!(code == 6 && err.contains("absent.toml cannot be read"), "{err}");
}

#[test]
fn unlike_runs_are_refused_and_marked_when_they_are_allowed() {
    let (dir, _) = with_baseline();
    let run = later(dir.path(), Made { build: "ad2d91b", min_frames: 2, ..Made::default() });
    let (code, out, err) = cli(dir.path(), &["compare", BASELINE, &run]);
    assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{err}");
    for words in ["device build: ad2d91a then, ad2d91b here", "gates_sha256: ", "--allow-different"] {
        assert!(err.contains(words), "{words}: {err}");
    }
    let run =
        make(&dir.path().join("later"), &Made { build: "ad2d91b", ..Made::default() }).display().to_string();
    let (code, out, _) = cli(dir.path(), &["compare", BASELINE, &run, "--allow-different"]);
    assert!(
        code == 0 && out.contains("DIFFERENT RUNS") && out.contains("ad2d91a then, ad2d91b here"),
        "{out}"
    );
    // Another definition of a metric is never allowed.
    let mut record = json(&dir.path().join(BASELINE));
    record["run"]["identity"]["metrics"]["frame.p95"] = 0.into();
    fs::write(dir.path().join("old.json"), record.to_string()).unwrap();
    let (code, _, err) = cli(dir.path(), &["compare", "old.json", &run, "--allow-different"]);
    assert!(code == 2 && err.contains("frame.p95: definition 0 then, 1 here"), "{err}");
}

#[test]
fn a_run_that_says_nothing_says_nothing_against_a_baseline_either() {
    let (dir, _) = with_baseline();
    for (at, made, code, word) in [
        (60, Made { ending: Outcome::Invalid, ..Made::default() }, 4, "INVALID"),
        (120, Made { ending: Outcome::Partial, ..Made::default() }, 5, "PARTIAL"),
        (180, Made { sealed: false, ..Made::default() }, 0, "manifest none: not"),
    ] {
        let run = make(&dir.path().join("evidence"), &Made { at, ..made }).display().to_string();
        let (found, out, err) = cli(dir.path(), &["compare", BASELINE, &run]);
        assert_eq!(found, code, "{out}{err}");
        assert!(out.contains(word), "{out}");
    }
}

#[test]
fn what_cannot_be_compared_with_a_baseline_is_one_line() {
    let (dir, bundle) = with_baseline();
    fs::write(dir.path().join("x.json"), "{\"schema\":\"wireproof.baseline/1\"}").unwrap();
    fs::write(dir.path().join("y.json"), "{\"schema\":\"wireproof.baseline/2\"}").unwrap();
    let rows: [(&[&str], i32, &str); 7] = [
        (&[BASELINE, BASELINE], 2, "is no evidence bundle"),
        (&[&bundle, &bundle], 2, "is a folder: a bundle is compared with a baseline"),
        (&[BASELINE, &bundle, "--fail-on-worse"], 2, "--fail-on-worse is for two runs"),
        (&["x.json", &bundle], 7, "it says wireproof.baseline/1 and is none (missing field `name`"),
        (&["y.json", &bundle], 7, "the schema \"wireproof.baseline/2\" is not known here"),
        (&[BASELINE, &bundle, "-o", BASELINE], 2, "input and output at once"),
        (&["absent.json", &bundle], 6, "absent.json cannot be read"),
    ];
    for (arguments, code, words) in rows {
        let (found, out, err) = outcome(wireproof(dir.path()).arg("compare").args(arguments));
        assert_eq!((found, out.as_str(), err.lines().count()), (code, "", 1), "{arguments:?}: {err}");
        assert!(err.contains(words), "{arguments:?}: {err}");
    }
}
