//! A bench for matrices: a device as a process, plans of short arms, and `wireproof matrix` as another process. Judges
//! nothing.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests count as tests, and each test file uses its own part"
)]

use super::device_process::{Running, TOKEN, Web, binary, memory, port, token};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

/// Longer than anything here takes on a host that does other work too.
pub(crate) const GENEROUS: Duration = Duration::from_secs(120);
/// The device's service takes its turn like everything else.
const PROMPT: &str = "--http-normal-priority";
/// Records of the device's ring, and its octets.
pub(crate) const RECORDS: u64 = 65_536;
pub(crate) const RING_OCTETS: u64 = 4_096 + 48 * RECORDS;

/// A device and a folder for its bench.
pub(crate) struct Bench {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) device: Running,
    pub(crate) web: Web,
    pub(crate) ports: [u16; 2],
    ip: &'static str,
}

impl Bench {
    /// Starts a device that sends to two ports nobody else has.
    pub(crate) fn new(more: &[&str]) -> Bench {
        Bench::with(RECORDS, Running::until, more)
    }

    /// The same on another address of this host.
    pub(crate) fn at(ip: &'static str, more: &[&str]) -> Bench {
        Bench::of(ip, RECORDS, Running::until, more)
    }

    /// The same with a ring of so many records, started in this way.
    pub(crate) fn with(
        records: u64,
        start: impl Fn(&Path, &[&str], &str) -> Running,
        more: &[&str],
    ) -> Bench {
        Bench::of("127.0.0.1", records, start, more)
    }

    fn of(
        ip: &'static str,
        records: u64,
        start: impl Fn(&Path, &[&str], &str) -> Running,
        more: &[&str],
    ) -> Bench {
        let folder = memory();
        token(folder.path());
        let ports = [(); 2].map(|()| port(ip));
        let output = |name: &str, port: u16, rest: &str| {
            format!("[[output]]\nname = \"{name}\"\nto = \"{ip}:{port}\"\n{rest}\n")
        };
        let text = [
            output("pole-a", ports[0], "protocol = \"bigpacket\"\npixels = 2880"),
            output("pole-b", ports[1], "protocol = \"sacn\"\noctets = 2048\nchunk = 512"),
        ];
        fs::write(folder.path().join("device.toml"), text.concat()).unwrap();
        let records = records.to_string();
        let http = format!("{ip}:0");
        let arguments = ["device", "--rig", "device.toml", "--ring", "ring", "--http", &http];
        let rest =
            ["--control", "control", "--token-file", "token", "--records", &records, "--format", "json"];
        // Beside other work on this host an idle service would not answer within an arm.
        let prompt: &[&str] = if more.contains(&PROMPT) { &[] } else { &[PROMPT] };
        let all = [&arguments[..], &rest, prompt, more].concat();
        let device = start(folder.path(), &all, "the ring is at http://");
        let web = Web::of(&device);
        web.until(|status| status["engine"]["frames"].as_u64() > Some(30));
        Bench { folder, device, web, ports, ip }
    }

    /// Asks the device's engine over its control socket.
    pub(crate) fn order(&self, request: &str) -> String {
        let here = self.folder.path().join(format!("asker-{request}"));
        let socket = UnixDatagram::bind(&here).unwrap();
        socket.set_read_timeout(Some(GENEROUS)).unwrap();
        socket.send_to(request.as_bytes(), self.folder.path().join("control")).unwrap();
        let mut answer = [0; 65_536];
        let taken = socket.recv(&mut answer).unwrap();
        String::from_utf8_lossy(&answer[..taken]).into_owned()
    }

    /// Writes a plan of short arms. The device's pace depends on what else this host does: nothing here is judged by it.
    pub(crate) fn plan(&self, measure: &str, blocks: u32, preview: &str) -> PathBuf {
        self.plan_of(measure, blocks, preview, r#""idle", "raw""#)
    }

    /// The same with these levels of the drain.
    pub(crate) fn plan_of(&self, measure: &str, blocks: u32, preview: &str, levels: &str) -> PathBuf {
        let text = format!(
            r#"
schema = 1
name = "loopback"
purpose = "a raw drain must not lose datagrams"

[target]
base_url = "http://{web}"
status = "/v1/status"
auth = "env:DEVICE_TOKEN"
expected_fps = 60
require = {{ devices = 2 }}

[[stream]]
id = "big"
protocol = "bigpacket"
listen = "{ip}:{big}"
source = "{ip}"
datagrams_per_frame = 6

[[stream]]
id = "sacn"
protocol = "sacn"
listen = "{ip}:{sacn}"
source = "{ip}"
universes = "1-4"
datagrams_per_frame = 4

[[factor]]
name = "drain"
levels = [{levels}]
baseline = "idle"
role = "treatment"

[[factor]]
name = "preview"
levels = ["{preview}"]
baseline = "{preview}"
role = "fixed"

[design]
blocks = {blocks}
seed = 42

[timing]
warmup = "2s"
settle = "1s"
measure = "{measure}"
guard = "50ms"
arm_deadline = "60s"

[drain]
url = "/v1/ring/raw"
offsets = ["1300ms"]
jitter = "200ms"
tail = "100ms"
timeout = "1500ms"
expect_bytes = {RING_OCTETS}

[[toggle]]
factor = "preview"
set = {{ http = "POST", path = "/v1/preview?fps={{level}}", words = {{ on = "30", off = "0" }} }}
verify = {{ http = "GET", path = "/v1/status", pointer = "/preview_streaming", equals = {{ on = true, off = false }} }}
effect = {{ preview_payloads = {{ on = "advances", off = "still" }}, within = "2s", at_least_per_s = 5 }}
restore = "original"
timeout = "3s"
retries = 1

[[gate]]
id = "lost"
class = "gate"
metric = "wire.lost"
kind = "zero"
min_trials = 100
on_fail = "look at the losses"

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
min_free = "1MiB"
"#,
            ip = self.ip,
            web = self.web.0,
            big = self.ports[0],
            sacn = self.ports[1],
        );
        let path = self.folder.path().join("plan.toml");
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn matrix(&self, arguments: &[&str]) -> Matrix {
        Matrix::start(self.folder.path(), arguments)
    }

    /// Runs a verb to its end.
    pub(crate) fn outcome(&self, arguments: &[&str]) -> (i32, String, String) {
        self.matrix(arguments).ended()
    }

    /// The only bundle.
    pub(crate) fn bundle(&self) -> PathBuf {
        let list = fs::read_dir(self.folder.path().join("evidence")).unwrap();
        let mut found: Vec<PathBuf> =
            list.map(|entry| entry.unwrap().path()).filter(|p| p.is_dir()).collect();
        found.sort();
        found.first().unwrap().clone()
    }

    pub(crate) fn preview(&self) -> Value {
        self.web.status()["preview_streaming"].clone()
    }
}

/// A bench as a process.
pub(crate) struct Matrix {
    pub(crate) child: Child,
    talk: BufReader<ChildStderr>,
    pub(crate) said: String,
}

impl Matrix {
    pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Matrix {
        let mut command = Command::new(binary());
        command.arg("matrix").args(arguments);
        Matrix::of(folder, command)
    }

    /// Starts a program that ends up as `wireproof`, in a process group of its own as a shell does it.
    pub(crate) fn of(folder: &Path, mut command: Command) -> Matrix {
        command.current_dir(folder).env_clear().env("HOME", folder).env("TMPDIR", folder);
        command.env("DEVICE_TOKEN", TOKEN).process_group(0);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let talk = BufReader::new(child.stderr.take().unwrap());
        Matrix { child, talk, said: String::new() }
    }

    /// Waits for a line of its talk; `false` when it ended before.
    pub(crate) fn until(&mut self, so: impl Fn(&str) -> bool) -> bool {
        loop {
            let mut line = String::new();
            if self.talk.read_line(&mut line).unwrap() == 0 {
                return false;
            }
            self.said.push_str(&line);
            if so(&line) {
                return true;
            }
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// What Ctrl-C at a terminal does: a signal to the whole foreground process group.
    pub(crate) fn signal_group(&self, name: &str) {
        let status =
            Command::new("kill").args([name, "--", &format!("-{}", self.child.id())]).status().unwrap();
        assert!(status.success());
    }

    /// Exit code (of a signal: negative), standard output and everything said.
    pub(crate) fn ended(mut self) -> (i32, String, String) {
        let mut out = String::new();
        let talk = &mut self.talk;
        let mut stdout = self.child.stdout.take().unwrap();
        let said = std::thread::scope(|scope| {
            let rest = scope.spawn(move || {
                let mut rest = String::new();
                talk.read_to_string(&mut rest).unwrap();
                rest
            });
            stdout.read_to_string(&mut out).unwrap();
            rest.join().unwrap()
        });
        self.said.push_str(&said);
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        (code, out, std::mem::take(&mut self.said))
    }
}

impl Drop for Matrix {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn verdict(bundle: &Path) -> Value {
    serde_json::from_slice(&fs::read(bundle.join("verdict.json")).unwrap()).unwrap()
}

/// Drops of the sockets on a port, by the kernel's own table.
pub(crate) fn drops(port: u16) -> u64 {
    let table = fs::read_to_string("/proc/net/udp").unwrap();
    let local = format!(":{port:04X}");
    let own = table.lines().filter(|l| l.split_whitespace().nth(1).is_some_and(|a| a.ends_with(&local)));
    own.filter_map(|line| line.split_whitespace().next_back()?.parse::<u64>().ok()).sum()
}

pub(crate) fn counted_name(verdict: &Value) -> String {
    let arms = verdict["arms"].as_array().unwrap();
    arms.iter().find(|arm| arm["counted"] == true).unwrap()["name"].as_str().unwrap().to_owned()
}

pub(crate) fn of_gate<'a>(verdict: &'a Value, id: &str) -> &'a str {
    let gates = verdict["gates"].as_array().unwrap();
    gates.iter().find(|gate| gate["id"] == id).unwrap()["verdict"].as_str().unwrap()
}
