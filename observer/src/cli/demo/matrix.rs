//! The demo's short matrix: the same outputs without and with raw downloads, run by this program as a process of its own.
//! It has no latency gate: four arms of 2.5 s decide nothing about latency.

use super::children::{self, RingFile};
use super::plan::{self, Output, RATE};
use crate::cli::children::{Kept, own_file};
use crate::cli::failure::Failure;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

/// Frames that the device has for it: two minutes, more than it takes.
const FRAMES: u64 = 120 * RATE;
/// Time between two looks.
const LOOK: Duration = Duration::from_millis(20);
/// Longest that the device's web service may take to be ready.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs it in `dir`; one line that tells what came of it.
///
/// # Errors
/// The folder, the device or the program itself cannot be used.
pub(super) fn run(dir: &Path, outputs: &[Output], seed: u64, ended: &AtomicBool) -> Result<String, Failure> {
    fs::create_dir_all(dir).map_err(|error| unusable(dir, &error))?;
    super::write(&dir.join("device.toml"), &plan::device_file(outputs, &[]))?;
    let ring = RingFile::named(dir, "matrix.ring");
    let mut device =
        children::device(dir, &ring, FRAMES, seed, &["--http", "127.0.0.1:0", "--http-normal-priority"])?;
    let gone =
        |error: io::Error| Failure::io(&format!("the device was lost ({error})"), "see matrix/device.log");
    device.go().map_err(gone)?;
    let web = web(dir, &mut device)?;
    super::write(&dir.join("plan.toml"), &text(outputs, &web, seed))?;
    let log = |name: &str| File::create(dir.join(name)).map_err(|error| unusable(dir, &error));
    let mut command = Command::new(own_file()?);
    command.args(["matrix", "run", "--quiet", "--format", "markdown"]).arg(dir.join("plan.toml"));
    command.arg("--evidence").arg(dir.join("evidence"));
    let mut run = Kept::start(command.stdout(log("verdict.md")?).stderr(log("run.log")?))?;
    let status = run.wait(ended).map_err(gone)?;
    Ok(told(dir, status.code()))
}

fn unusable(dir: &Path, error: &io::Error) -> Failure {
    Failure::io(&format!("{} cannot be used ({error})", dir.display()), "give another folder with --out")
}

/// Where the device's web service is: it says so.
fn web(dir: &Path, device: &mut Kept) -> Result<String, Failure> {
    let since = Instant::now();
    loop {
        let said = fs::read_to_string(dir.join("device.log")).unwrap_or_default();
        let at = said.split("http://").nth(1).and_then(|rest| rest.split(['/', ' ', '\n', ',']).next());
        if let Some(at) = at.filter(|at| at.contains(':')) {
            return Ok(at.to_owned());
        }
        if device.ended().is_some() || since.elapsed() > PATIENCE {
            return Err(Failure::io("the device's web service did not start", "see matrix/device.log"));
        }
        thread::sleep(LOOK);
    }
}

fn told(dir: &Path, code: Option<i32>) -> String {
    let verdict = fs::read_to_string(dir.join("verdict.md")).unwrap_or_default();
    let line =
        verdict.lines().find_map(|line| line.strip_prefix("**")).map(|line| line.trim_end_matches('*'));
    if let Some(line) = line {
        // The report is Markdown; a person at a terminal is told the words.
        let line = line.replace('\\', "");
        return format!(
            "short matrix, which decides nothing here: {line}; {}",
            dir.join("verdict.md").display()
        );
    }
    let log = fs::read_to_string(dir.join("run.log")).unwrap_or_default();
    let last = log.lines().last().unwrap_or("it said nothing");
    format!("the short matrix was not run (exit code {}): {last}", code.unwrap_or(-1))
}

/// The plan: two blocks of an arm without and an arm with a download.
fn text(outputs: &[Output], web: &str, seed: u64) -> String {
    let streams: String = outputs.iter().filter_map(stream).collect();
    format!(
        r#"# The short matrix of `wireproof demo`. It shows the way; for a judgement see `wireproof matrix init`.
schema = 1
name = "demo"
purpose = "a raw download of the recorder loses no datagram"

[target]
base_url = "http://{web}"
status = "/v1/status"
expected_fps = {RATE}
require = {{ devices = 3 }}
{streams}
[[factor]]
name = "drain"
levels = ["idle", "raw"]
baseline = "idle"
role = "treatment"

[design]
blocks = 2
seed = {seed}

[timing]
warmup = "2s"
settle = "500ms"
measure = "2500ms"
guard = "50ms"
arm_deadline = "20s"

[drain]
url = "/v1/ring/raw"
offsets = ["700ms"]
jitter = "300ms"
tail = "100ms"
timeout = "1500ms"
expect_bytes = 6295552

[[gate]]
id = "lost"
class = "gate"
metric = "wire.lost"
kind = "zero"
min_trials = 1000

[[gate]]
id = "shape"
class = "gate"
metric = "wire.shape"
kind = "zero"
min_trials = 1000

[[gate]]
id = "p95"
class = "diagnostic"
metric = "frame.p95"
kind = "non-inferiority"
margin = "0.50ms"
min_frames = 10

[validity]
fps_tolerance = "60%"
min_hold = "100ms"

[evidence]
dir = "evidence"
pcap = "none"
min_free = "64MiB"
"#
    )
}

/// A stream of the plan; Art-Net only stands in for DDP and is left out.
fn stream(output: &Output) -> Option<String> {
    let (rest, datagrams) = match output.protocol {
        "bigpacket" | "ddp" => ("", 3),
        "sacn" => ("universes = \"1-6\"\n", 6),
        _ => return None,
    };
    Some(format!(
        "\n[[stream]]\nid = \"{}\"\nprotocol = \"{}\"\nlisten = \"{}\"\nsource = \"127.0.0.1\"\n{rest}\
         datagrams_per_frame = {datagrams}\n",
        output.name, output.protocol, output.to
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wireproof_matrices::plan::Plan;
    use wireproof_matrices::plan::check::{Severity, check};

    #[test]
    fn the_plan_can_be_run_and_has_no_latency_gate() {
        let output = |name, protocol, to: &str| Output { name, protocol, to: to.parse().unwrap() };
        let outputs = [
            output("pole-a", "bigpacket", "127.0.0.1:9001"),
            output("pole-b", "sacn", "127.0.0.1:9002"),
            output("pole-c", "ddp", "127.1.2.3:4048"),
        ];
        for seed in [1, 7, 1 << 40] {
            let plan = Plan::read(&text(&outputs, "127.0.0.1:80", seed)).unwrap();
            let checked = check(&plan, &|_| Vec::new());
            let errors: Vec<_> = checked.remarks.iter().filter(|r| r.severity == Severity::Error).collect();
            assert!(errors.is_empty(), "{errors:?}");
            let deciding: Vec<_> =
                plan.gate.iter().filter(|gate| gate.metric.starts_with("frame.")).collect();
            assert!(deciding.iter().all(|gate| format!("{:?}", gate.class) == "Diagnostic"));
        }
    }
}
