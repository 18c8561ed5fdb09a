//! What the fuzzers start from, and what they once found, through the same functions: seeds and findings lie in
//! `fuzz/seeds` and `fuzz/found`, a folder for each target.
//!
//! `cargo test -p wireproof --test fuzz_inputs -- --ignored` writes the seeds again.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests count as tests")]

#[allow(dead_code, reason = "the builders of captures are shared")]
mod capture_support;
mod fuzz_seeds;
#[allow(unreachable_pub, reason = "it is a crate of its own for the fuzzers")]
#[path = "../../fuzz/src/lib.rs"]
mod harness;

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

fn folder(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz").join(kind)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn every_seed_and_every_finding_passes_its_target() {
    let mut read = 0;
    for (name, target) in harness::TARGETS {
        for kind in ["seeds", "found"] {
            for path in files(&folder(kind).join(name)) {
                let octets = fs::read(&path).unwrap();
                let outcome = catch_unwind(AssertUnwindSafe(|| target(&octets)));
                assert!(outcome.is_ok(), "{name}: {}", path.display());
                read += 1;
            }
        }
    }
    assert!(read >= 60, "only {read} inputs are there");
}

#[test]
fn every_target_has_a_program_and_seeds_and_nothing_else_lies_there() {
    let names: BTreeSet<String> = harness::TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let stem = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    let programs: BTreeSet<String> = files(&folder("fuzz_targets")).iter().map(stem).collect();
    assert_eq!(programs, names);
    let manifest = fs::read_to_string(folder("Cargo.toml")).unwrap();
    let seeded: BTreeSet<String> = files(&folder("seeds")).iter().map(stem).collect();
    assert_eq!(seeded, names);
    for name in &names {
        assert!(
            manifest.contains(&format!("name = \"{name}\"\n")),
            "{name} is no program of fuzz/Cargo.toml"
        );
        assert!(!files(&folder("seeds").join(name)).is_empty(), "{name} has no seeds");
    }
    for found in files(&folder("found")).iter().filter(|path| path.is_dir()).map(stem) {
        assert!(names.contains(&found), "{found} is no target");
    }
}

#[test]
fn seeds_reach_what_their_target_is_for() {
    let read = |name: &str| {
        let paths = files(&folder("seeds").join(name));
        paths.iter().map(|path| fs::read(path).unwrap()).collect::<Vec<_>>()
    };
    let texts = |name: &str| read(name).into_iter().filter_map(|octets| String::from_utf8(octets).ok());
    assert!(texts("plan").any(|text| wireproof_matrices::plan::Plan::read(&text).is_ok()));
    assert!(texts("plan").any(|text| wireproof_matrices::plan::Lock::read(&text).is_ok()));
    assert!(texts("rig").any(|text| wireproof::rig_file::parse("rig", &text).is_ok()));
    assert!(read("record").iter().any(|octets| wireproof_reports::record::Record::read(octets).is_ok()));
    let whole = |octets: &Vec<u8>| wireproof_recorder::parse(&octets[1..], wireproof_recorder::Policy::Exact);
    assert!(read("ring").iter().any(|octets| whole(octets).is_ok_and(|ring| !ring.frames.is_empty())));
    let packets = |octets: &Vec<u8>| {
        let report = wireproof::capture::read_stream("seed", octets.as_slice(), &mut |_| {});
        report.is_ok_and(|report| report.packets > 0 && report.damaged.is_none())
    };
    for name in ["capture", "packed", "tape"] {
        assert!(read(name).iter().all(packets), "{name}");
    }
}

#[test]
#[ignore = "writes fuzz/seeds"]
fn write_the_seeds() {
    for (target, name, octets) in fuzz_seeds::all() {
        let folder = folder("seeds").join(target);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(name), octets).unwrap();
    }
}
