//! `env.json`: on what a run was made. Facts that a host does not tell are left out; names of people and hosts are not asked.

use serde_json::{Map, Value, json};
use std::fs;
use wireproof_matrices::journal::DeviceId;

/// What the host says about itself: key and file.
const FACTS: [(&str, &str); 7] = [
    ("kernel", "/proc/sys/kernel/osrelease"),
    ("rmem_max", "/proc/sys/net/core/rmem_max"),
    ("rmem_default", "/proc/sys/net/core/rmem_default"),
    ("netdev_max_backlog", "/proc/sys/net/core/netdev_max_backlog"),
    ("clock_source", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    ("cpu_governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    ("load", "/proc/loadavg"),
];

/// The text of the file.
pub fn env_json(device: &DeviceId) -> Vec<u8> {
    let mut host = Map::new();
    for (key, path) in FACTS {
        if let Ok(text) = fs::read_to_string(path) {
            host.insert(key.to_owned(), Value::String(text.trim().chars().take(200).collect()));
        }
    }
    let cpus = std::thread::available_parallelism().map(|n| n.get() as u64).ok();
    host.insert("cpus".to_owned(), json!(cpus));
    let value = json!({
        "schema": "wireproof.env/1",
        "tool": tool(),
        "os": std::env::consts::OS,
        "arch": std::env::consts::ARCH,
        "host": host,
        "interfaces": interfaces(),
        "device": {"build": device.build, "boot_id": device.boot_id},
    });
    let mut text = value.to_string().into_bytes();
    text.push(b'\n');
    text
}

/// Name and version of this program.
pub fn tool() -> String {
    format!("wireproof {}", env!("CARGO_PKG_VERSION"))
}

/// Interfaces and their drivers.
fn interfaces() -> Value {
    let mut found = Map::new();
    let Ok(list) = fs::read_dir("/sys/class/net") else { return Value::Object(found) };
    for entry in list.flatten() {
        let driver = fs::read_link(entry.path().join("device/driver")).ok();
        let driver = driver.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        found.insert(entry.file_name().to_string_lossy().into_owned(), json!(driver));
    }
    Value::Object(found)
}
