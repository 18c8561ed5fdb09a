//! A matrix over a declared protocol: checked, frozen, run against the simulated device as a process of its own, and its
//! bundle verified where the layout's file is not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod device_process;
mod matrix_bench;

use matrix_bench::{Bench, verdict};
use serde_json::Value;
use std::fs;
use wireproof_protocols::layout::SHIPPED;

/// The layout of the device's first output under another name.
fn house() -> String {
    let shipped = SHIPPED.iter().find(|shipped| shipped.name == "bigpacket").unwrap();
    shipped.text.replacen("name = \"bigpacket\"", "name = \"house\"", 1)
}

/// A bench whose plan measures the device's first output by the layout.
fn bench() -> Bench {
    let bench = Bench::new(&[]);
    let path = bench.plan_of("2s", 1, "on", r#""idle", "raw""#);
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replacen("[target]", "layout = [\"house.toml\"]\n\n[target]", 1);
    fs::write(&path, text.replacen("\"bigpacket\"", "\"layout:house\"", 1)).unwrap();
    fs::write(bench.folder.path().join("house.toml"), house()).unwrap();
    bench
}

fn checked(bench: &Bench) -> Value {
    let (_, out, said) = bench.outcome(&["check", "plan.toml", "--format", "json"]);
    serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{said}"))
}

#[test]
fn a_declared_protocol_is_measured_and_its_bundle_needs_no_file() {
    let bench = bench();
    let (code, out, said) = bench.outcome(&["run", "plan.toml", "--anonymize", "--format", "json"]);
    let bundle = bench.bundle();
    let verdict = verdict(&bundle);
    assert!(matches!(code, 0 | 3), "{code}: {said}{out}");
    assert_eq!(verdict["attribution"]["counted"]["lost"], 0);
    for arm in verdict["arms"].as_array().unwrap().iter().filter(|arm| arm["counted"] == true) {
        let folder = bundle.join("arms").join(arm["name"].as_str().unwrap());
        let kept: Value = serde_json::from_slice(&fs::read(folder.join("arm.json")).unwrap()).unwrap();
        for (at, per_frame) in [(0, 6), (1, 4)] {
            let stream = &kept["measured"]["streams"][at];
            let [datagrams, frames, lost, shape] =
                ["datagrams", "frames", "lost", "shape"].map(|key| stream[key].as_u64().unwrap());
            assert!(frames > 30 && datagrams.abs_diff(frames * per_frame) <= per_frame, "{stream}");
            assert_eq!((lost, shape), (0, 0), "{stream}");
        }
    }
    assert_eq!(checked(&bench)["plan_sha256"], verdict["plan_sha256"]);
    fs::remove_file(bench.folder.path().join("house.toml")).unwrap();
    fs::remove_file(bench.folder.path().join("plan.toml")).unwrap();
    let elsewhere = bench.folder.path().join("elsewhere");
    fs::rename(&bundle, &elsewhere).unwrap();
    let (code, out, said) = bench.outcome(&["verify", "elsewhere"]);
    assert!(code == 0 && out.contains("arms measure the same again"), "{out}{said}");
    assert!(out.contains("plan.toml: is the plan of the hash") && !out.contains("DIFFERS"), "{out}");
    let (_, out, said) = bench.outcome(&["judge", "elsewhere", "--format", "json"]);
    let again: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {said}"));
    assert_eq!((&again["verdict"], &again["arms"]), (&verdict["verdict"], &verdict["arms"]));
    let masked = bench.bundle();
    let (code, out, said) = bench.outcome(&["verify", masked.to_str().unwrap()]);
    assert!(code == 0 && out.contains("a masked copy"), "{}: {out}{said}", masked.display());
}

#[test]
fn a_plan_is_another_one_with_another_layout_and_none_without() {
    let bench = bench();
    let path = bench.folder.path().join("house.toml");
    let first = checked(&bench);
    assert_eq!(
        (&first["runnable"], &first["layouts"][0]["name"]),
        (&true.into(), &"house".into()),
        "{first}"
    );
    let (code, _, said) = bench.outcome(&["freeze", "plan.toml", "-o", "plan.lock"]);
    assert_eq!(code, 0, "{said}");
    fs::write(&path, house().replacen("window = 100", "window = 101", 1)).unwrap();
    let second = checked(&bench);
    assert_ne!(first["plan_sha256"], second["plan_sha256"]);
    assert_ne!(first["layouts"][0]["sha256"], second["layouts"][0]["sha256"]);
    let hash = first["plan_sha256"].as_str().unwrap();
    let (code, _, said) = bench.outcome(&["run", "plan.toml", "--expect", hash]);
    assert!(code == 7 && said.contains("nothing was sent"), "{code} {said}");
    let (code, out, _) = bench.outcome(&["check", "plan.toml"]);
    assert!(code == 0 && out.contains("layout        house, SHA-256 "), "{out}");
    fs::remove_file(&path).unwrap();
    let (code, out, said) = bench.outcome(&["check", "plan.toml"]);
    assert!(code == 2 && out.is_empty() && said.lines().count() == 1, "{code} {said}");
    assert!(said.contains("[plan] layout: is none of artdmx, bigpacket, tpm2net, wled-dnrgb and"), "{said}");
    fs::write(&path, "name = \"house\"\n").unwrap();
    let (code, _, said) = bench.outcome(&["run", "plan.toml"]);
    assert!(code == 2 && said.contains("house.toml, line 1: layout, header_len: is missing"), "{said}");
    let (code, out, said) = bench.outcome(&["check", "plan.lock", "--format", "json"]);
    let frozen: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {said}"));
    assert_eq!((code, &frozen["plan_sha256"]), (0, &first["plan_sha256"]), "a lock needs no file");
    let schema: Value = serde_json::from_str(wireproof_reports::PLAN_CHECK_SCHEMA).unwrap();
    assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&frozen), "{frozen}");
}
