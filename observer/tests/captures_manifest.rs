//! Every capture of `../shared/captures/MANIFEST.json` against what its independent checker counted and what
//! the manifest says a verifier should say.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "helpers of tests count as tests"
)]

mod manifest_support;

use assert_cmd::Command;
use manifest_support::sayings::CLAIMS;
use manifest_support::{Ledger, claims, counts, runs, streams};
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn every_capture_counts_as_the_independent_checker_counted() {
    let Some(runs) = runs("every_capture_counts_as_the_independent_checker_counted") else { return };
    let mut ledger = Ledger::default();
    runs.iter().for_each(|run| counts::check(run, &mut ledger));
    ledger.settle();
}

#[test]
fn every_stream_is_accounted_as_the_independent_checker_accounted() {
    let Some(runs) = runs("every_stream_is_accounted_as_the_independent_checker_accounted") else { return };
    let mut ledger = Ledger::default();
    runs.iter().for_each(|run| streams::check(run, &mut ledger));
    ledger.settle();
}

#[test]
fn what_a_verifier_should_say_can_be_read_from_every_account() {
    let Some(runs) = runs("what_a_verifier_should_say_can_be_read_from_every_account") else { return };
    let listed: BTreeSet<&str> = CLAIMS.iter().map(|(file, _)| *file).collect();
    let present: BTreeSet<&str> = runs.iter().map(|run| run.file.as_str()).collect();
    assert_eq!(listed, present, "one row for each capture of the manifest");
    let mut ledger = Ledger::default();
    for run in runs {
        let rows = CLAIMS.iter().filter(|(file, _)| *file == run.file);
        rows.for_each(|(_, claims)| claims::check(run, claims, &mut ledger));
    }
    ledger.settle();
}

#[test]
fn the_binary_gives_the_same_octets_twice_and_the_verdict_as_exit_code() {
    let Some(runs) = runs("the_binary_gives_the_same_octets_twice_and_the_verdict_as_exit_code") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for (name, code) in [
        ("third_party_senders/ddp_rs_8640_60fps_drop_rx.pcap", 1),
        ("captures/no_lighting_swisson_solo.pcapng", 0),
    ] {
        let run = runs.iter().find(|run| run.file == name).unwrap();
        let first = analyze_json(folder.path(), &run.path, code);
        assert_eq!(first, analyze_json(folder.path(), &run.path, code), "{name}");
        let printed: wireproof_reports::Summary = serde_json::from_slice(&first).unwrap();
        assert_eq!(printed, run.summary, "{name}: the record printed is that of the library");
    }
}

fn analyze_json(folder: &Path, capture: &Path, code: i32) -> Vec<u8> {
    let mut command = Command::cargo_bin("wireproof").unwrap();
    command.env_clear().env("HOME", folder).current_dir(folder);
    let output = command.arg("analyze").arg(capture).args(["--format", "json"]).output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{}: {talk}", capture.display());
    output.stdout
}
