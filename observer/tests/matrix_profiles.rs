//! `wireproof matrix` against devices that are not of our own kind: the simulated device speaks WLED's words, or the field's
//! with a ring of layout 1, as a process of its own over loopback; a plan reads it by a profile.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod device_process;
mod matrix_bench;

use device_process::{Running, Web, memory, port, token};
use matrix_bench::{Matrix, RECORDS, RING_OCTETS, of_gate, verdict};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

const RIG: &str =
    "[[output]]\nname = \"strip\"\nto = \"127.0.0.1:PORT\"\nprotocol = \"sacn\"\noctets = 512\nchunk = 512\n";

/// A device behind another one's web service.
struct Other {
    folder: tempfile::TempDir,
    _device: Running,
    /// A service of its own beside the device's, that plants faults.
    _service: Option<Running>,
    web: Web,
    port: u16,
}

impl Other {
    fn start(dialect: &str, fault: Option<&str>, misbehave: Option<&str>) -> Other {
        let folder = memory();
        token(folder.path());
        let port = port("127.0.0.1");
        fs::write(folder.path().join("device.toml"), RIG.replace("PORT", &port.to_string())).unwrap();
        let records = RECORDS.to_string();
        let mut arguments = vec!["device", "--rig", "device.toml", "--ring", "ring", "--control", "control"];
        arguments.extend(["--token-file", "token", "--records", &records, "--build", "b-7"]);
        arguments.extend(["--http", "127.0.0.1:0", "--http-dialect", dialect, "--http-normal-priority"]);
        arguments.extend(fault.map(|fault| ["--fault", fault]).into_iter().flatten());
        let device = Running::until(folder.path(), &arguments, "http://");
        let mut web = Web::of(&device);
        let service = misbehave.map(|kind| {
            let with = [
                "--misbehave",
                kind,
                "--control",
                "control",
                "--http-dialect",
                dialect,
                "--listen",
                "127.0.0.1:0",
            ];
            let script = format!(
                "exec {} device-service ring {} >&2",
                device_process::binary().display(),
                with.join(" ")
            );
            Running::shell(folder.path(), &script, "http://")
        });
        if let Some(service) = &service {
            web = Web::of(service);
        }
        Other { folder, _device: device, _service: service, web, port }
    }

    /// Writes a plan of two short arms: the device is asked for something in one of them, and not in the other.
    fn plan(&self, target: &str, rest: &str) -> PathBuf {
        let text = format!(
            r#"
schema = 1
name = "other"

[target]
base_url = "http://{web}"
expected_fps = 60
{target}

[[stream]]
id = "strip"
protocol = "sacn"
listen = "127.0.0.1:{port}"
source = "127.0.0.1"
universes = "1"

[design]
blocks = 1
seed = 42

[timing]
warmup = "2s"
settle = "1s"
measure = "2s"

[[gate]]
id = "lost"
metric = "wire.lost"
kind = "zero"
min_trials = 60

{rest}
[validity]
fps_tolerance = "60%"
min_hold = "100ms"

[evidence]
dir = "evidence"
min_free = "1MiB"
"#,
            web = self.web.0,
            port = self.port,
        );
        let path = self.folder.path().join("plan.toml");
        fs::write(&path, text).unwrap();
        path
    }

    fn matrix(&self, arguments: &[&str]) -> (i32, String, String) {
        Matrix::start(self.folder.path(), arguments).ended()
    }

    /// The only bundle.
    fn bundle(&self) -> PathBuf {
        let list = fs::read_dir(self.folder.path().join("evidence")).unwrap();
        list.map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap()
    }

    fn document(&self, path: &str) -> Value {
        serde_json::from_slice(&self.web.ask("GET", path, "").body).unwrap()
    }

    /// What the arms that were kept measured.
    fn measured(&self) -> Vec<Value> {
        let arms = fs::read_dir(self.bundle().join("arms")).unwrap().map(|entry| entry.unwrap().path());
        let read = |folder: PathBuf| fs::read(folder.join("arm.json")).unwrap();
        arms.map(|folder| serde_json::from_slice::<Value>(&read(folder)).unwrap()["measured"].clone())
            .collect()
    }

    /// A bundle that says the same when everything is worked out again.
    fn is_verified(&self) {
        let bundle = self.bundle().display().to_string();
        let (code, out, said) = self.matrix(&["verify", &bundle]);
        assert_eq!(code, 0, "{out}{said}");
    }
}

const WLED: &str = "profile = \"wled\"\nrequire = { build = \"b-7\", leds = 2880 }";
const POLL: &str = r#"
[[factor]]
name = "drain"
levels = ["idle", "poll"]
role = "treatment"

[[factor]]
name = "lor"
levels = ["until-end"]
role = "fixed"

[drain]
paths = { poll = "/json" }
offsets = ["500ms", "1200ms"]
timeout = "500ms"
"#;

fn has_finding(verdict: &Value, code: &str) -> bool {
    let findings = verdict["findings"].as_array().unwrap();
    findings.iter().any(|finding| finding.as_str().is_some_and(|text| text.starts_with(&format!("{code}: "))))
}

#[test]
fn a_wled_is_judged_by_the_wire_alone_and_its_switch_is_put_back() {
    let other = Other::start("wled", None, None);
    let p50 = "[[gate]]\nid = \"p50\"\nmetric = \"frame.p50\"\nmargin = \"1ms\"\n";
    other.plan(WLED, &format!("{POLL}{p50}"));
    let (code, out, _) = other.matrix(&["check", "plan.toml"]);
    assert_eq!(code, 0, "{out}");
    assert!(
        out.contains("profile       wled\n") && out.contains("- frames      it has no recorder"),
        "{out}"
    );
    assert_eq!(other.document("/json/state")["lor"], 0);
    let (code, out, said) = other.matrix(&["run", "plan.toml"]);
    assert_eq!(code, 0, "{out}{said}");
    let verdict = verdict(&other.bundle());
    assert_eq!((&verdict["verdict"], of_gate(&verdict, "lost")), (&"pass".into(), "pass"), "{verdict}");
    assert_ne!(of_gate(&verdict, "p50"), "pass", "nothing was measured of it");
    assert!(has_finding(&verdict, "not_shown"), "{verdict}");
    for arm in other.measured() {
        assert_eq!((&arm["ring"], &arm["device_window"]), (&false.into(), &Value::Null), "{arm}");
        assert!(arm["boot"][0].as_str().unwrap().starts_with("up-since:"), "{arm}");
    }
    let state = other.document("/json/state");
    assert_eq!(state["lor"], 0, "it was put back");
    other.is_verified();
}

#[test]
fn a_loss_behind_a_wled_fails_and_nobody_says_whose_it_is() {
    let other = Other::start("wled", Some("drop:while=drain"), None);
    other.plan(WLED, POLL);
    let (code, out, said) = other.matrix(&["run", "plan.toml"]);
    assert_eq!(code, 1, "{out}{said}");
    assert_eq!(of_gate(&verdict(&other.bundle()), "lost"), "fail");
    let owners: Vec<Value> = other.measured().iter().map(|arm| arm["streams"][0]["owners"].clone()).collect();
    assert!(owners.iter().all(|o| o["sender"] == 0 && o["wire"] == 0), "{owners:?}");
    assert!(owners.iter().any(|o| o["upstream"].as_u64() > Some(0)), "{owners:?}");
}

#[test]
fn a_wled_whose_switch_lies_makes_the_run_invalid() {
    let other = Other::start("wled", None, Some("liar"));
    other.plan(WLED, POLL);
    let (code, out, said) = other.matrix(&["run", "plan.toml"]);
    assert_eq!(code, 4, "{out}{said}");
    assert!(format!("{out}{said}").contains("lor could not be set to until-end"), "{out}{said}");
}

#[test]
fn a_ring_of_layout_1_gives_frame_times_and_no_owners() {
    let other = Other::start("field", Some("drop:while=drain"), None);
    let field = include_str!("../../matrices/profiles/field.toml");
    let mine =
        field.replace("bytes = 6295552", &format!("bytes = {RING_OCTETS}")).replace("\"field\"", "\"booth\"");
    fs::write(other.folder.path().join("booth.toml"), mine).unwrap();
    let target = "profile = \"booth.toml\"\nauth = \"env:DEVICE_TOKEN\"\nrequire = { build = \"b-7\", devices = 1, profiler = \"on\" }";
    let rest = r#"
[[factor]]
name = "drain"
levels = ["idle", "raw"]
role = "treatment"

[[factor]]
name = "preview"
levels = ["on"]
role = "fixed"

[drain]
offsets = ["500ms"]
timeout = "1500ms"

[[gate]]
id = "slow"
metric = "frame.p50"
class = "diagnostic"
kind = "ceiling"
margin = "1s"
min_frames = 10
"#;
    other.plan(target, rest);
    let (code, out, said) = other.matrix(&["run", "plan.toml"]);
    assert_eq!(code, 1, "{out}{said}");
    let verdict = verdict(&other.bundle());
    assert_eq!(of_gate(&verdict, "lost"), "fail", "{verdict}");
    assert!(has_finding(&verdict, "ring_v1_no_stamps"), "{verdict}");
    assert_eq!(verdict["attribution"]["counted"]["wire"], 0, "{verdict}");
    let mut upstream = 0;
    for arm in other.measured() {
        assert_eq!(arm["ring"], true, "{arm}");
        assert!(arm["frames"].as_array().unwrap().len() > 60, "{arm}");
        let owners = &arm["streams"][0]["owners"];
        assert_eq!((&owners["sender"], &owners["wire"]), (&0.into(), &0.into()), "{owners}");
        upstream += owners["upstream"].as_u64().unwrap();
    }
    assert!(upstream > 0, "{verdict}");
    assert_eq!(other.document("/v1/status")["preview"]["fps"], 0, "it was put back");
    assert!(other.bundle().join("profile.toml").is_file());
    other.is_verified();
}

#[test]
fn a_field_device_whose_preview_says_on_and_does_nothing_makes_the_run_invalid() {
    let other = Other::start("field", Some("lying-toggle"), None);
    let target = "profile = \"field\"\nauth = \"env:DEVICE_TOKEN\"";
    let rest = "[[factor]]\nname = \"preview\"\nlevels = [\"on\"]\nrole = \"fixed\"\n";
    other.plan(target, rest);
    let (code, out, said) = other.matrix(&["run", "plan.toml"]);
    assert_eq!(code, 4, "{out}{said}");
    assert!(format!("{out}{said}").contains("preview could not be set to on"), "{out}{said}");
}
