//! A capacity ladder against the simulated device as a process of its own over loopback: the planted limit is found, and the
//! envelope says no more than was shown.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod device_process;
mod matrix_bench;

use device_process::{Running, Web, memory, port, token};
use matrix_bench::{Matrix, verdict};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Outputs of the device, those it can drive, and the steps that are climbed.
const OUTPUTS: u16 = 4;
const LIMIT: u64 = 2;
const STEPS: [u64; 2] = [2, 3];

/// A port for each output that nobody else has.
fn ports() -> Vec<u16> {
    (0..OUTPUTS).map(|_| port("127.0.0.1")).collect()
}

fn device(folder: &Path, ports: &[u16]) -> Running {
    let mut text = String::new();
    for (id, port) in (1..).zip(ports) {
        let to = format!("127.0.0.1:{port}");
        write!(text, "[[output]]\nname = \"out-{id}\"\nto = \"{to}\"\nprotocol = \"bigpacket\"\n").unwrap();
        write!(text, "id = {id}\npixels = 900\n").unwrap();
    }
    fs::write(folder.join("device.toml"), text).unwrap();
    token(folder);
    let capacity = format!("capacity:outputs={LIMIT},us=11000");
    let fault = ["--fault", &capacity, "--token-file", "token", "--http-normal-priority"];
    let common = ["device", "--rig", "device.toml", "--ring", "ring", "--http", "127.0.0.1:0"];
    Running::until(
        folder,
        &[&common[..], &["--control", "control"], &fault].concat(),
        "the ring is at http://",
    )
}

fn plan(folder: &Path, ports: &[u16], web: &Web) {
    let mut streams = String::new();
    for (id, port) in (1_u64..).zip(ports).filter(|(id, _)| *id <= STEPS[1]) {
        let from = if id > STEPS[0] { format!("from_level = {id}\n") } else { String::new() };
        let text = format!(
            "[[stream]]\nid = \"out-{id}\"\nprotocol = \"bigpacket\"\nlisten = \"127.0.0.1:{port}\"\n\
             source = \"127.0.0.1\"\ndatagrams_per_frame = 2\n{from}\n"
        );
        streams.push_str(&text);
    }
    let text = format!(
        r#"
schema = 1
name = "ladder"

[target]
base_url = "http://{}"
auth = "env:DEVICE_TOKEN"
require = {{ devices = {OUTPUTS} }}

{streams}
[[factor]]
name = "outputs"
levels = ["2", "3"]
role = "stratum"

[ladder]
factor = "outputs"
arms_per_step = 6

[design]
seed = 42

[timing]
warmup = "2s"
measure = "2s"

[drain]
url = "/v1/ring/raw"
expect_bytes = 6295552

[[toggle]]
factor = "outputs"
set = {{ http = "POST", path = "/v1/outputs?count={{level}}" }}
verify = {{ http = "GET", path = "/v1/status", pointer = "/outputs", equals = {{ 2 = 2, 3 = 3 }} }}
restore = "3"

[[gate]]
id = "p50"
class = "gate"
metric = "frame.p50"
kind = "ceiling"
margin = "9ms"
min_frames = 40
on_fail = "the step before is the capacity"

[[gate]]
id = "lost"
metric = "wire.lost"
kind = "zero"
min_trials = 1000

[validity]
fps_tolerance = "60%"
min_hold = "100ms"

[evidence]
dir = "evidence"
min_free = "1MiB"
"#,
        web.0
    );
    fs::write(folder.join("plan.toml"), text).unwrap();
}

#[test]
fn the_planted_limit_of_a_device_is_found_and_the_envelope_stays_below_it() {
    let (folder, ports) = (memory(), ports());
    let device = device(folder.path(), &ports);
    let web = Web::of(&device);
    web.until(|status| status["engine"]["frames"].as_u64() > Some(30));
    plan(folder.path(), &ports, &web);
    let (code, out, said) = Matrix::start(folder.path(), &["run", "plan.toml"]).ended();
    let bundle = fs::read_dir(folder.path().join("evidence")).unwrap().next().unwrap().unwrap().path();
    let verdict = verdict(&bundle);
    let envelope = &verdict["envelope"];
    assert_eq!((code, verdict["verdict"].as_str()), (0, Some("pass")), "{said}{out}");
    assert_eq!((&envelope["largest"], &envelope["stop"]), (&LIMIT.into(), &"failed".into()), "{envelope}");
    assert!(out.contains("outputs up to 2 holds (error 5 % over all steps)"), "{out}");
    let steps = envelope["steps"].as_array().unwrap();
    let of = |step: &Value| (step["level"].as_u64().unwrap(), step["verdict"].as_str().unwrap().to_owned());
    assert_eq!(steps.iter().map(of).collect::<Vec<_>>(), [(2, "pass".to_owned()), (3, "fail".to_owned())]);
    // How long the ring keeps its records is measured at each load: more outputs write more of them.
    let kept: Vec<u64> = steps.iter().map(|step| step["kept_ns"].as_u64().unwrap()).collect();
    assert!(kept[0] > 1_000_000_000, "{kept:?}");
    assert_eq!(web.status()["outputs"], 3, "put where the plan says");
}
