//! What packages ship beside the program: examples that the program reads, a unit whose options exist.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod cli_support;

use cli_support::{outcome, planted, wireproof};
use std::fs;
use std::path::{Path, PathBuf};

fn packaging(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging").join(file)
}

#[test]
fn the_example_rig_is_read_and_what_it_expects_is_missed() {
    let folder = tempfile::tempdir().unwrap();
    let capture = planted(folder.path(), "sacn-clean-1");
    let mut analyze = wireproof(folder.path());
    analyze.arg("analyze").arg(&capture).arg("--rig").arg(packaging("examples/rig.toml"));
    let (code, out, err) = outcome(&mut analyze);
    assert_eq!(code, 1, "{err}");
    assert!(out.contains("RIG-MISSING"), "{out}");
}

#[test]
fn the_example_settings_are_read_and_are_the_defaults() {
    let folder = tempfile::tempdir().unwrap();
    let capture = planted(folder.path(), "sacn-clean-1");
    let run = || outcome(wireproof(folder.path()).arg("analyze").arg(&capture));
    let without = run();
    fs::copy(packaging("examples/wireproof.toml"), folder.path().join("wireproof.toml")).unwrap();
    assert_eq!(run(), without);
    let text = fs::read_to_string(packaging("examples/wireproof.toml")).unwrap();
    let strange = text.replace("strict", "stirct");
    fs::write(folder.path().join("wireproof.toml"), strange).unwrap();
    assert_eq!(run().0, 2, "the file is really read");
}

#[test]
fn the_example_device_runs() {
    let folder = tempfile::tempdir().unwrap();
    let mut device = wireproof(folder.path());
    device.args(["device", "--frames", "3", "--ring-on-disk", "--ring", "ring", "--format", "json", "--rig"]);
    let (code, out, err) = outcome(device.arg(packaging("examples/device.toml")));
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("\"wall\""), "{out}");
}

#[test]
fn the_options_of_the_unit_exist() {
    let unit = fs::read_to_string(packaging("systemd/wireproof@.service")).unwrap();
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/bin/wireproof ")).unwrap();
    let arguments = start.replace("%i", "no-such-interface0").replace(" $WIREPROOF_OPTIONS", "");
    let folder = tempfile::tempdir().unwrap();
    let (code, _, err) = outcome(wireproof(folder.path()).args(arguments.split(' ')));
    assert_eq!(code, 6, "{err}");
    assert!(err.contains("no network interface \"no-such-interface0\""), "{err}");
}

#[test]
fn the_unit_lets_the_program_give_its_rights_up() {
    let unit = fs::read_to_string(packaging("systemd/wireproof@.service")).unwrap();
    let filters: Vec<&str> = unit.lines().filter_map(|line| line.strip_prefix("SystemCallFilter=")).collect();
    let last = |name: &str| filters.iter().rposition(|filter| filter.trim_start_matches('~') == name);
    // What is named later wins, and @privileged has capset in it.
    assert!(last("capset") > last("@privileged") && last("@privileged").is_some(), "{filters:?}");
    assert!(!filters.contains(&"~capset"), "{filters:?}");
}
