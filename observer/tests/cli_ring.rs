//! `wireproof ring` on every sample ring, as the contract has it; refusals, field maps, summaries and frames.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "helpers of tests"
)]

mod cli_support;

use cli_support::{outcome, wireproof};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn samples(test: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/golden/rings");
    if !folder.join("expected.json").exists() {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("SKIPPED {test}: ../shared is absent\n"),
        );
        return None;
    }
    Some(folder)
}

fn ring(arguments: &[&str]) -> (i32, String, String) {
    let folder = tempfile::tempdir().unwrap();
    outcome(wireproof(folder.path()).arg("ring").args(arguments))
}

fn sample(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

#[test]
fn every_sample_is_verified_as_the_contract_has_it() {
    let Some(folder) = samples("every_sample_is_verified_as_the_contract_has_it") else { return };
    let expected: serde_json::Map<String, Value> =
        serde_json::from_slice(&fs::read(folder.join("expected.json")).unwrap()).unwrap();
    assert_eq!(expected.len(), 35);
    for (name, case) in expected {
        let file = sample(&folder, case["file"].as_str().unwrap());
        let mut arguments = vec!["verify", file.as_str(), "--format", "json"];
        if let Some(map) = case["map"].as_str() {
            arguments.extend(["--map", map]);
        }
        if case["exact"] == true {
            arguments.push("--exact");
        }
        let (code, out, err) = ring(&arguments);
        let mut said: serde_json::Map<String, Value> = serde_json::from_str(&out).unwrap();
        assert_eq!(said.remove("schema").unwrap(), "wireproof.ring/1", "{name}");
        let account = said.remove("account");
        assert_eq!(Value::Object(said), case["expect"], "{name}");
        let error = case["expect"].get("error").and_then(Value::as_str);
        match error {
            Some(error) => {
                assert_eq!((code, err.lines().count()), (7, 1), "{name}: {err}");
                assert!(err.contains(&format!("{file}: {error}: ")), "{name}: {err}");
            }
            None => assert_eq!((code, err.as_str()), (0, ""), "{name}"),
        }
        assert_eq!(account.is_some(), case.get("account").is_some(), "{name}");
        if let Some(theirs) = case.get("account") {
            same_numbers(&name, account.as_ref().unwrap(), theirs);
        }
    }
}

/// Equal, `0` being `0.0`.
fn same_numbers(name: &str, ours: &Value, theirs: &Value) {
    let (ours, theirs) = (ours.as_object().unwrap(), theirs.as_object().unwrap());
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>(), "{name}");
    for (key, value) in ours {
        let same = *value == theirs[key] || value.as_f64() == theirs[key].as_f64();
        assert!(same, "{name}: {key} is {value}, not {}", theirs[key]);
    }
}

#[test]
fn several_rings_give_a_line_each_and_the_worst_code() {
    let Some(folder) = samples("several_rings_give_a_line_each_and_the_worst_code") else { return };
    let [good, magic, empty] =
        ["v2_good.bin", "v2_magic.bin", "v2_empty.bin"].map(|name| sample(&folder, name));
    let (code, out, err) = ring(&["verify", &good, &magic, &empty, "--format", "json"]);
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((code, lines.len(), err.lines().count()), (7, 3, 1), "{err}");
    assert_eq!((&lines[0]["file"], &lines[1]["error"]), (&Value::from(good), &Value::from("Magic")));
    assert!(lines[2].get("account").is_none(), "nothing to account for in an empty ring");
}

#[test]
fn the_table_says_what_was_dropped_and_which_frames_are_whole() {
    let Some(folder) = samples("the_table_says_what_was_dropped_and_which_frames_are_whole") else { return };
    let (code, out, err) = ring(&["verify", &sample(&folder, "v2_torn_commit.bin")]);
    assert_eq!((code, err.as_str()), (0, ""));
    for part in [
        "layout 2, 1024 records, generation 1722417154, a stamped copy\n",
        "  dropped      1 pending, 1 stale, 1 foreign, 1 empty, 0 of an unknown kind\n",
        "  frames       26 whole, ids 1 to 30, 702 records; 3 records beside them\n",
        "  not whole    4 by count, 0 by checksum, 0 unfinished; oldest given up after a wrap: none\n",
        "  gaps         4 ids: 1 between 11 and 13, 1 between 15 and 17, ",
        "  coverage     frames 99.00 %, worst 99.00 %; devices 98.50 %, worst 98.50 %\n",
    ] {
        assert!(out.contains(part), "{part:?} in {out}");
    }
    let (code, out, err) = ring(&["verify", &sample(&folder, "v2_lapped.bin")]);
    assert_eq!((code, err.lines().count()), (7, 1));
    assert!(out.ends_with("v2_lapped.bin: refused, Lapped\n"), "{out}");
    assert!(err.contains("Lapped: the writer overtook the copy: copy faster"), "{err}");
}

#[test]
fn a_legacy_ring_without_a_map_is_a_usage_error_with_the_scores() {
    let Some(folder) = samples("a_legacy_ring_without_a_map_is_a_usage_error_with_the_scores") else {
        return;
    };
    let (code, out, err) = ring(&["verify", &sample(&folder, "v1_good_a.bin")]);
    assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1));
    assert!(err.contains("--map (v1-assumed-a scores 1.000, v1-assumed-b scores 0.500)"), "{err}");
}

#[test]
fn a_map_from_a_file_is_read_and_a_wrong_one_refused() {
    let Some(folder) = samples("a_map_from_a_file_is_read_and_a_wrong_one_refused") else { return };
    let toml = "header = 4096\nrecord = 48\nvisible = 40\ngeneration = 24\nseq = 32\ncapacity = 16\n\
                commit = 36\ncommit_bias = 1\ncomplete_stage = 16\nno_frame = 0\n[fields]\nstart = [0, 8]\n\
                end = [8, 8]\nframe = [16, 4]\nstage = [20, 2]\ndevice = [22, 2]\nproto = [24, 2]\n\
                flags = [26, 2]\naux = [28, 8]\n";
    let work = tempfile::tempdir().unwrap();
    let file = sample(&folder, "v1_good_b.bin");
    let verify = |name: &str, text: &str| {
        fs::write(work.path().join(name), text).unwrap();
        let arguments = ["ring", "verify", &file, "--format", "json", "--map", name];
        outcome(wireproof(work.path()).args(arguments))
    };
    let (code, out, err) = verify("b.toml", toml);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("\"digest\":\"c8dd72a5\""), "{out}");
    for (text, said) in [
        (toml.replace("aux = [28, 8]", "aux = [44, 8]"), "field aux does not fit"),
        (toml.replace("visible = 40", "visible = 4092"), "visible lies outside the header"),
        (toml.replace("no_frame = 0", "no_frames = 0"), "unknown field"),
        ("{".to_owned(), "EOF"),
    ] {
        let (code, out, err) = verify("wrong.toml", &text);
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{err}");
        assert!(err.contains(said), "{err}");
    }
    let (code, _, err) = ring(&["verify", &file, "--map", "v1-assumed-c"]);
    assert_eq!((code, err.lines().count()), (2, 1));
    assert!(err.contains("v1-assumed-a, v1-assumed-b or a JSON or TOML file"), "{err}");
}

#[test]
fn what_cannot_be_read_is_one_line_and_code_6() {
    for file in ["no-such-ring.bin", "."] {
        for verb in ["verify", "summary", "frames", "causes"] {
            let (code, out, err) = ring(&[verb, file]);
            assert_eq!((code, out.as_str(), err.lines().count()), (6, "", 1), "{verb} {file}: {err}");
        }
    }
}

#[test]
fn what_is_no_ring_is_one_line_and_code_7() {
    let work = tempfile::tempdir().unwrap();
    fs::write(work.path().join("x"), "not a ring").unwrap();
    fs::write(work.path().join("empty"), "").unwrap();
    for file in ["x", "empty"] {
        for verb in ["verify", "summary", "frames", "causes"] {
            let (code, _, err) = outcome(wireproof(work.path()).args(["ring", verb, file]));
            assert_eq!((code, err.lines().count()), (7, 1), "{verb}: {err}");
            assert!(err.contains(&format!("{file}: Short: ")), "{err}");
        }
    }
}

#[test]
fn a_summary_has_quantiles_of_frames_and_stages() {
    let Some(folder) = samples("a_summary_has_quantiles_of_frames_and_stages") else { return };
    let file = sample(&folder, "v2_good.bin");
    let (code, out, err) = ring(&["summary", &file, "--format", "json"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let summary: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(summary["schema"], "wireproof.ring-summary/1");
    assert_eq!((&summary["frames"], &summary["snapshot"]), (&Value::from(30), &Value::from(7)));
    assert_eq!(
        (&summary["frame_ns"]["min"], &summary["frame_ns"]["max"]),
        (&5_000_000.into(), &5_000_000.into())
    );
    assert_eq!(summary["coverage"]["frames"], 99.0);
    let stages = summary["stages"].as_array().unwrap();
    let send: Vec<_> = stages.iter().filter(|row| row["name"] == "wire_send").collect();
    assert_eq!(send.len(), 3, "one a device");
    assert_eq!((&send[1]["device_name"], &send[1]["spans"]), (&Value::from("pole-b"), &Value::from(30)));
    assert_eq!(send[1]["ns"]["max"], 197_000);
    let (_, table, _) = ring(&["summary", &file]);
    assert!(
        table.starts_with("30 frames, ids 1 to 30, 488.333 ms; snapshot 7, digest c9ee79bd\n"),
        "{table}"
    );
    let row = table.lines().find(|line| line.starts_with("wire_send pole-b")).unwrap();
    let cells: Vec<_> = row.split_whitespace().skip(2).collect();
    assert_eq!(cells, ["30", "0.197", "0.197", "0.197", "0.197"]);
}

#[test]
fn frames_are_listed_with_what_is_missing_before_them() {
    let Some(folder) = samples("frames_are_listed_with_what_is_missing_before_them") else { return };
    let file = sample(&folder, "v2_overlap_parallel.bin");
    let (code, csv, err) = ring(&["frames", &file, "--format", "csv"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let lines: Vec<_> = csv.lines().collect();
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[2], "2,116000000,12000000,12000000,3000000,83.3333,,6,0,false,false");
    assert_eq!(lines[4], "5,164000000,12000000,12000000,8000000,83.3333,,6,1,false,false");
    let (_, table, _) = ring(&["frames", &file, "--last", "1"]);
    assert_eq!(table.lines().count(), 2);
    assert!(table.ends_with("1 missing before\n"), "{table}");
    let (_, jsonl, _) = ring(&["frames", &file, "--format", "jsonl", "--last", "2"]);
    let ids: Vec<_> =
        jsonl.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].clone()).collect();
    assert_eq!(ids, [3, 5]);
}

#[test]
fn every_ring_verb_has_two_examples() {
    for verb in ["verify", "summary", "frames", "causes"] {
        let (code, out, _) = ring(&[verb, "--help"]);
        let call = format!("  wireproof ring {verb} ");
        assert_eq!((code, out.lines().filter(|line| line.starts_with(&call)).count()), (0, 2), "{out}");
    }
}

#[test]
fn the_page_of_a_ring_carries_the_summary_that_json_writes_and_names_its_places() {
    let test = "the_page_of_a_ring_carries_the_summary_that_json_writes_and_names_its_places";
    let Some(samples) = samples(test) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gap.bin");
    fs::copy(samples.join("v2_gap.bin"), &file).unwrap();
    fs::write(folder.path().join("gap.bin.places"), "1\tcue.py:7 <b>\n").unwrap();
    let run = |format: &str, more: &[&str]| {
        let call = ["ring", "summary", "gap.bin", "--range", "source..wire_send", "--format", format];
        outcome(wireproof(folder.path()).args(call).args(more))
    };
    let (code, json, err) = run("json", &[]);
    assert_eq!((code, err.as_str()), (0, ""));
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(run("html", &["-o", "ring.html"]), (0, String::new(), String::new()));
    let page = fs::read_to_string(folder.path().join("ring.html")).unwrap();
    let (_, record) = page.split_once("id=\"record\">").unwrap();
    let record: Value = serde_json::from_str(record.split_once("</script>").unwrap().0).unwrap();
    for key in
        ["generation", "snapshot", "digest", "frames", "missing", "frame_ns", "stages", "ranges", "deadlines"]
    {
        assert_eq!(record["summary"][key], json[key], "{key}");
    }
    assert_eq!(record["name"], "gap.bin");
    assert_eq!(record["gaps"][0]["missing"], 4);
    assert!(!page.contains("<b>\"") && page.contains("id=\"ranges\""));
    let same = run("html", &[]).1;
    assert!(same == page, "a page depends on its ring alone");
}
