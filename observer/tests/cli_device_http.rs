//! `device --http` as a bench meets it: what the status tells, switches with their effect, and drains that are seen.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod device_process;

use device_process::{Running, Web, memory, rig, token};
use serde_json::{Value, json};
use std::path::Path;
use wireproof_recorder::layout::BOOT_ID;
use wireproof_recorder::{Policy, parse};

/// A device with a web service and no socket of its own name.
fn device(folder: &Path, more: &[&str]) -> (Running, Web) {
    let arguments = ["device", "--rig", "device.toml", "--ring", "ring", "--http", "127.0.0.1:0"];
    let rest = ["--token-file", "token", "--records", "4096", "--format", "json"];
    token(folder);
    let running = Running::until(folder, &[&arguments[..], &rest, more].concat(), "the ring is at http://");
    let web = Web::of(&running);
    (running, web)
}

#[test]
fn a_bench_reads_the_device_throws_its_switches_and_sees_the_effect() {
    let folder = memory();
    let _socket = rig(folder.path());
    let (device, web) = device(folder.path(), &["--build", "ad2d91a"]);
    let first = web.until(|status| status["engine"]["frames"].as_u64() > Some(2));
    for (name, value) in [
        ("build", json!("ad2d91a")),
        ("devices", json!(3)),
        ("enabled", json!(true)),
        ("fps", json!(60)),
        ("outputs", json!(3)),
        ("preview_fps", json!(0)),
        ("preview_streaming", json!(false)),
        ("throttled", json!(0)),
    ] {
        assert_eq!(first[name], value, "{name}: {first}");
    }
    assert_eq!(first["boot_id"].as_str().map(str::len), Some(32));
    let moved = |name: &'static str| {
        let before = web.status()[name].as_u64().unwrap();
        web.until(|status| status[name].as_u64().unwrap() > before)
    };
    for name in ["ordinal", "cpu_ns", "monotonic_ns", "wall_ns"] {
        moved(name);
    }
    assert_eq!(web.ask("POST", "/v1/preview?fps=30", "").status, 401);
    assert_eq!(
        [web.post("/v1/preview?fps=30&lease_ms=3600000"), web.post("/v1/outputs?count=4")],
        [200, 409]
    );
    let previewing = moved("preview_payloads");
    assert_eq!((&previewing["preview_fps"], &previewing["preview_streaming"]), (&json!(30), &json!(true)));
    assert!(previewing["leases"]["preview_ms"].as_u64().unwrap() <= 3_600_000);
    assert_eq!(web.post("/v1/outputs?count=1"), 200);
    let one = web.until(|status| status["outputs"] == 1);
    let handed = |status: &Value, at: usize| status["engine"]["outputs"][at]["handed"].as_u64().unwrap();
    let later = web.until(|status| handed(status, 0) > handed(&one, 0));
    // The status may have been asked for in front of the frame that the switch takes effect with.
    let rested = [1, 2].map(|at| handed(&later, at));
    let last = web.until(|status| handed(status, 0) > handed(&later, 0));
    assert_eq!([1, 2].map(|at| handed(&last, at)), rested);
    assert_eq!(web.post("/v1/profiler?enabled=0"), 200);
    let off = web.until(|status| status["enabled"] == false && status["ring"]["enabled"] == false);
    let frames = off["engine"]["frames"].as_u64();
    let still = web.until(|status| status["engine"]["frames"].as_u64() > frames);
    assert_eq!(still["ordinal"], off["ordinal"]);
    let own = format!("wireproof-device-{}", device.child.id());
    device.signal("-TERM");
    let (code, account) = device.ended();
    assert_eq!(code, Some(0), "{account}");
    let left =
        std::fs::read_dir("/dev/shm").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    assert_eq!(left.filter(|name| name.starts_with(&own)).count(), 0, "its socket is gone");
}

#[test]
fn a_download_moves_the_counters_of_service_and_engine() {
    let folder = memory();
    let _socket = rig(folder.path());
    let (_device, web) = device(folder.path(), &[]);
    let before = web.status();
    assert_eq!((&before["raw_downloads"], &before["engine"]["drains"]), (&json!(0), &json!(0)));
    let raw = web.ask("GET", "/v1/ring/raw", "");
    assert_eq!(raw.status, 200, "{}", raw.head);
    parse(&raw.body, Policy::Conservative).unwrap();
    let after = web.until(|status| status["engine"]["drains"] == 1 && status["draining"] == false);
    assert_eq!(after["raw_downloads"], 1);
}

#[test]
fn a_reboot_is_another_boot_and_another_ring() {
    let folder = memory();
    let _socket = rig(folder.path());
    let (_device, web) = device(folder.path(), &["--fault", "reboot:every=90,count=5"]);
    let before = web.status();
    let boot = |status: &Value| status["engine"]["boot"].as_u64().unwrap();
    let after = web.until(|status| boot(status) > boot(&before));
    assert_ne!(before["boot_id"], after["boot_id"]);
    assert!(after["generation"].as_u64() > before["generation"].as_u64());
    // The ring has the id, too; a copy is shared for a second, and the next reboot is not far.
    web.until(|status| {
        let image = web.ask("GET", "/v1/ring/raw", "").body;
        let id: String = image[BOOT_ID..BOOT_ID + 16].iter().map(|octet| format!("{octet:02x}")).collect();
        status["boot_id"] == id.as_str()
    });
}
