//! `wireproof learn`: the rig of a clean run finds nothing wrong with that run.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod cli_support;

use cli_support::{outcome, planted, wireproof};
use serde_json::Value;
use std::path::Path;
use wireproof_fixture::cases;

/// A stream of nothing but goodbyes belongs to no output, and no rig can name it.
const UNLEARNABLE: &[&str] = &["\"sacn 999 from 10.77.9.1 is not in the rig\""];

/// What `analyze --rig` says beyond what `analyze` says, after `learn`.
fn complaints(folder: &Path, capture: &Path) -> Result<(), String> {
    let (code, rig, err) = outcome(wireproof(folder).arg("learn").arg(capture).args(["-o", "rig.toml"]));
    if code != 0 {
        return Err(format!("learn gave {code}: {rig}{err}"));
    }
    let mut verify = wireproof(folder);
    verify.arg("analyze").arg(capture).args(["--rig", "rig.toml", "--format", "json"]);
    let (_, out, err) = outcome(&mut verify);
    let document: Value = serde_json::from_str(&out).map_err(|e| format!("{e}: {err}"))?;
    let rig = |f: &&Value| f["code"].as_str().is_some_and(|code| code.starts_with("RIG-"));
    let found = document["findings"].as_array().unwrap().iter().filter(rig).map(|f| f["text"].to_string());
    let found: Vec<String> = found.filter(|text| !UNLEARNABLE.contains(&text.as_str())).collect();
    if found.is_empty() { Ok(()) } else { Err(found.join("; ")) }
}

#[test]
fn the_rig_of_every_clean_case_fits_that_case() {
    let dir = tempfile::tempdir().unwrap();
    let mut problems = Vec::new();
    let clean = cases().into_iter().filter(|c| c.name.contains("clean"));
    for case in clean {
        let capture = planted(dir.path(), case.name);
        if let Err(problem) = complaints(dir.path(), &capture) {
            problems.push(format!("{}: {problem}", case.name));
        }
    }
    assert!(problems.is_empty(), "seed 1:\n{}", problems.join("\n"));
}

#[test]
fn the_rig_of_every_shared_show_fits_that_capture() {
    let captures = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/captures"));
    if !captures.is_dir() {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("SKIPPED the_rig_of_every_shared_show_fits_that_capture: ../shared is absent\n"),
        );
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut problems = Vec::new();
    for folder in ["captures", "fixtures", "third_party_senders"] {
        for entry in std::fs::read_dir(captures.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            match complaints(dir.path(), &path) {
                Err(problem) if !problem.starts_with("learn gave 3: wireproof: ") => {
                    problems.push(format!("{}: {problem}", path.display()));
                }
                _ => {}
            }
        }
    }
    problems.sort();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
