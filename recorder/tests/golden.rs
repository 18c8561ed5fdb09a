//! Every sample ring against what an independent reader says about it, refusals and digests included.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "helpers of tests")]

use flate2::read::GzDecoder;
use serde_json::{Value, json};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use wireproof_recorder::account::{Account, Row, Share};
use wireproof_recorder::v1::{self, FieldMap};
use wireproof_recorder::{Policy, Refusal, Ring, account, parse};

/// The folder of the samples, or `None` with a line that says so.
fn samples(test: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/golden/rings");
    let present = folder.join("expected.json").exists();
    if !present {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("SKIPPED {test}: ../shared is absent\n"),
        );
    }
    present.then_some(folder)
}

fn expected(folder: &Path) -> serde_json::Map<String, Value> {
    serde_json::from_slice(&fs::read(folder.join("expected.json")).unwrap()).unwrap()
}

fn octets(path: &Path) -> Vec<u8> {
    let octets = fs::read(path).unwrap();
    if path.extension().is_none_or(|ending| ending != "gz") {
        return octets;
    }
    let mut image = Vec::new();
    GzDecoder::new(octets.as_slice()).read_to_end(&mut image).unwrap();
    image
}

fn read(image: &[u8], case: &Value) -> Result<Ring, Refusal> {
    match case["map"].as_str() {
        Some(name) => v1::parse(image, &FieldMap::named(name).unwrap()),
        None => parse(image, if case["exact"] == true { Policy::Exact } else { Policy::Conservative }),
    }
}

fn shown(result: &Result<Ring, Refusal>) -> Value {
    let ring = match result {
        Ok(ring) => ring,
        Err(refusal) => return json!({ "error": refusal.to_string() }),
    };
    let gaps: Vec<_> = ring.gaps.iter().map(|gap| [gap.after, gap.before, gap.missing]).collect();
    json!({
        "version": ring.version,
        "capacity": ring.capacity,
        "generation": ring.generation,
        "stamped": ring.stamped,
        "window": [ring.window.lo, ring.window.hi],
        "drops": ring.drops,
        "frames": ring.frames.len(),
        "first_frame": ring.frames.first().map(|frame| frame.id),
        "last_frame": ring.frames.last().map(|frame| frame.id),
        "framed_records": ring.framed_records(),
        "loose": ring.loose.len(),
        "partial": ring.partial,
        "oldest_discarded": ring.oldest_discarded,
        "gaps": gaps,
        "unpublished_tail": ring.unpublished_tail,
        "digest": format!("{:08x}", ring.digest),
    })
}

fn percent(share: Option<Share>) -> Option<f64> {
    share.and_then(Share::percent)
}

fn frame_row(row: &Row) -> Value {
    let devices: Vec<_> = row.devices.iter().map(|device| [device.covered_ns, device.root_ns]).collect();
    json!({
        "id": row.id, "span": row.span_ns as i64, "sum": row.sum_ns as i64, "prologue": row.prologue_ns,
        "total": row.total_ns as i64, "covered": row.covered_ns, "root": row.root_ns, "devices": devices,
        "floor": row.floor_ns,
    })
}

fn same_number(ours: Option<f64>, theirs: &Value) -> bool {
    ours == theirs.as_f64() || (ours.is_none() && theirs.as_f64() == Some(0.0))
}

fn check_account(name: &str, account: &Account, theirs: &Value) {
    let ours = [
        ("frame_coverage", percent(Some(account.frame_coverage()))),
        ("device_coverage", percent(Some(account.device_coverage()))),
        ("worst_frame", percent(account.worst_frame())),
        ("worst_device", percent(account.worst_device())),
    ];
    for (key, ours) in ours {
        assert!(same_number(ours, &theirs[key]), "{name}: {key} is {ours:?}, not {}", theirs[key]);
    }
    if let Some(frames) = theirs.get("frames") {
        let rows: Vec<_> = account.rows.iter().map(frame_row).collect();
        assert_eq!(&json!(rows), frames, "{name}");
    }
}

#[test]
fn every_sample_reads_as_the_independent_reader_read_it() {
    let Some(folder) = samples("every_sample_reads_as_the_independent_reader_read_it") else { return };
    let (mut rings, mut refusals) = (0, 0);
    for (name, case) in expected(&folder) {
        let result = read(&octets(&folder.join(case["file"].as_str().unwrap())), &case);
        assert_eq!(shown(&result), case["expect"], "{name}");
        match &result {
            Ok(ring) if case.get("account").is_some() => {
                check_account(&name, &account(&ring.frames), &case["account"]);
            }
            _ => {}
        }
        *if result.is_ok() { &mut rings } else { &mut refusals } += 1;
    }
    assert_eq!((rings, refusals), (20, 15), "35 samples");
}

#[test]
fn the_right_map_scores_1000_and_the_wrong_one_half_or_nothing() {
    let Some(folder) = samples("the_right_map_scores_1000_and_the_wrong_one_half_or_nothing") else { return };
    let score = |file: &str, map: &str| {
        v1::score(&octets(&folder.join(file)), &FieldMap::named(map).unwrap()).unwrap()
    };
    let rows = [
        ("v1_good_a.bin", [1000, 500]),
        ("v1_good_b.bin", [0, 1000]),
        ("v1_wrapped.bin", [1000, 500]),
        ("v1_full_size.bin.gz", [1000, 500]),
    ];
    for (file, expected) in rows {
        assert_eq!(v1::NAMES.map(|map| score(file, map)), expected, "{file}");
    }
}

#[test]
fn a_map_from_a_file_reads_like_the_built_in_one() {
    let Some(folder) = samples("a_map_from_a_file_reads_like_the_built_in_one") else { return };
    let map: FieldMap = serde_json::from_str(
        r#"{"header":4096,"record":48,"visible":40,"generation":24,"seq":32,"capacity":16,
            "fields":{"start":[0,8],"end":[8,8],"frame":[16,8],"stage":[24,2],"device":[26,2],"proto":[28,2],
            "flags":[30,2],"aux":[32,4]},"commit":36,"commit_bias":1,"complete_stage":16,"no_frame":0}"#,
    )
    .unwrap();
    map.check().unwrap();
    let image = octets(&folder.join("v1_torn.bin"));
    let built_in = FieldMap::named("v1-assumed-a").unwrap();
    assert_eq!(v1::parse(&image, &map), v1::parse(&image, &built_in));
}
