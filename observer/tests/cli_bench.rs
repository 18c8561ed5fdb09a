//! `wireproof bench` from outside: every format, the schema, files, and that a seed decides what is not time.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod cli_support;

use cli_support::{outcome, wireproof};
use serde_json::Value;
use std::fs;
use wireproof_reports::{BENCH_RECORDER_SCHEMA, BENCH_SCHEMA};

/// A bench that ends at once.
const SHORT: [&str; 7] = ["bench", "--frame-bytes", "1000", "--blocks", "6", "--packing", "sacn=512"];

fn short(more: &[&str]) -> (i32, String, String) {
    let dir = tempfile::tempdir().unwrap();
    outcome(wireproof(dir.path()).args(SHORT).args(more))
}

#[test]
fn json_is_valid_and_has_a_row_for_each_encoder_and_backend() {
    let (code, out, err) = short(&["--format", "json", "--seed", "42"]);
    assert_eq!(code, 0, "{err}");
    let document: Value = serde_json::from_str(&out).unwrap();
    let validator = jsonschema::validator_for(&serde_json::from_str(BENCH_SCHEMA).unwrap()).unwrap();
    let errors: Vec<String> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
    assert_eq!((&document["seed"], &document["frame_bytes"]), (&Value::from(42), &Value::from(1000)));
    let rows = document["encoders"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    let of = |name: &'static str, moved| [name, name, moved];
    let expected = [
        of("sacn", "sacn/moved"),
        of("ddp", "ddp/moved"),
        of("artnet", "artnet/moved"),
        of("bigpacket", "bigpacket/moved"),
    ];
    assert_eq!(names, expected.concat());
    assert_eq!((&rows[0]["datagrams"], &rows[0]["bytes"]), (&Value::from(2), &Value::from(1000 + 2 * 126)));
    assert!(
        rows.iter().all(|row| row["identical"] == true && row["ratio_to_memcpy"].as_f64().unwrap() > 0.0)
    );
}

#[test]
fn table_csv_and_markdown_have_the_copy_and_the_rows_asked_for() {
    let asked = |format: &str| {
        let (code, out, err) = short(&["--encoders", "sacn", "--backend", "gather", "--format", format]);
        assert_eq!(code, 0, "{err}");
        out
    };
    let table = asked("table");
    assert!(
        ["memcpy ", "sacn ", "sacn/moved "].iter().all(|row| table.contains(&format!("\n{row}"))),
        "{table}"
    );
    assert!(table.ends_with("\n2/2 byte-identical to the golden datagrams\n"), "{table}");
    assert!(!table.contains("contiguous") && !table.contains('\u{1b}'), "{table}");
    assert_eq!(asked("csv").lines().count(), 1 + 1 + 2);
    assert_eq!(asked("markdown").lines().filter(|line| line.starts_with('|')).count(), 2 + 1 + 2);
}

#[test]
fn a_file_gets_the_record_and_standard_output_stays_empty() {
    let dir = tempfile::tempdir().unwrap();
    let (code, out, err) =
        outcome(wireproof(dir.path()).args(SHORT).args(["--format", "json", "-o", "b.json"]));
    assert_eq!((code, out.as_str()), (0, ""), "{err}");
    let document: Value =
        serde_json::from_str(&fs::read_to_string(dir.path().join("b.json")).unwrap()).unwrap();
    assert_eq!(document["schema"], "wireproof.bench/1");
    let (code, _, err) = outcome(wireproof(dir.path()).args(SHORT).args(["-o", "absent/b.json"]));
    assert_eq!(code, 6);
    assert!(err.lines().last().unwrap().contains("absent/b.json cannot be written"), "{err}");
}

#[test]
fn a_cpu_that_is_not_there_is_an_environment_error() {
    let (code, out, err) = short(&["--cpu", "1000000"]);
    assert_eq!((code, out.as_str()), (6, ""));
    assert!(err.lines().last().unwrap().contains("leave --cpu out"), "{err}");
}

#[test]
fn the_recorder_is_timed_on_and_off_and_its_ring_holds_what_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let asked = |format: &str| {
        let arguments = [
            "bench",
            "--recorder",
            "--blocks",
            "6",
            "--frame-bytes",
            "500",
            "--seed",
            "3",
            "--format",
            format,
        ];
        let (code, out, err) = outcome(wireproof(dir.path()).args(arguments));
        assert_eq!(code, 0, "{err}");
        out
    };
    let document: Value = serde_json::from_str(&asked("json")).unwrap();
    let validator = jsonschema::validator_for(&serde_json::from_str(BENCH_RECORDER_SCHEMA).unwrap()).unwrap();
    let errors: Vec<String> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
    let keys =
        ["events_per_frame", "blocks", "seed", "frame_bytes"].map(|key| document[key].as_u64().unwrap());
    assert_eq!(keys, [27, 6, 3, 500]);
    let check = &document["check"];
    assert_eq!((&check["frames_written"], &check["wrong"]), (&check["frames_published"], &Value::from(0)));
    assert!(check["frames_read"].as_u64().unwrap() >= 100);
    let rates =
        ["frames_per_s", "unframed_per_s"].map(|key| document["extrapolation"][key].as_u64().unwrap());
    assert_eq!(rates, [60, 1938]);
    let table = asked("table");
    for start in ["clock_gettime ", "frame/off ", "frame/on ", "frame/given-times ", "unframed/on "] {
        assert!(table.contains(&format!("\n{start}")), "{table}");
    }
    assert!(table.contains("extrapolation: ") && table.ends_with(" read back: all right\n"), "{table}");
    assert_eq!(asked("csv").lines().count(), 1 + 6 + 5 + 1);
    assert_eq!(asked("markdown").lines().filter(|line| line.starts_with('|')).count(), 2 + 6 + 2 + 5);
}

#[cfg(not(feature = "peers"))]
#[test]
fn peers_need_a_build_with_them() {
    let (code, out, err) = short(&["--peers"]);
    assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1));
    assert!(err.contains("--features peers"), "{err}");
}

#[cfg(feature = "peers")]
#[test]
fn peers_have_rows_with_their_ratio_to_ours() {
    let (code, out, err) = short(&["--peers", "--encoders", "sacn", "--format", "json"]);
    assert_eq!(code, 0, "{err}");
    let document: Value = serde_json::from_str(&out).unwrap();
    let rows = document["encoders"].as_array().unwrap();
    let peers: Vec<&Value> = rows.iter().filter(|row| row["ratio_to_own"].is_object()).collect();
    assert_eq!(peers.len(), 2);
    assert!(peers.iter().all(|row| row["name"].as_str().unwrap().starts_with("peer:sacn/")));
}

#[test]
fn a_page_carries_its_record_for_encoders_and_for_the_recorder() {
    let asked = |more: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let call =
            ["bench", "--frame-bytes", "1000", "--blocks", "6", "--format", "html", "-o", "bench.html"];
        let (code, out, err) = outcome(wireproof(folder.path()).args(call).args(more));
        assert_eq!((code, out.as_str()), (0, ""), "{err}");
        let page = fs::read_to_string(folder.path().join("bench.html")).unwrap();
        let record = page.split_once("id=\"record\">").unwrap().1.split_once("</script>").unwrap().0;
        serde_json::from_str::<Value>(record).unwrap()
    };
    for (more, schema) in
        [(&["--encoders", "sacn"][..], BENCH_SCHEMA), (&["--recorder"], BENCH_RECORDER_SCHEMA)]
    {
        let validator = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
        let record = asked(more);
        let errors: Vec<String> = validator.iter_errors(&record).map(|e| e.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new());
        assert_eq!(record["frame_bytes"], 1_000);
    }
}
