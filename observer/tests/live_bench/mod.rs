//! A bench of two network namespaces joined by a cable: the command under test listens at `near` (10.9.0.1), a sender
//! written in Python sends from `far` (10.9.0.2). IPv6 is off unless asked for, and neighbours are known, so that the
//! host itself has nothing to say.

mod attribution;
mod endings;
mod layouts;
pub(crate) mod process;
mod sending;
mod silence;
pub(crate) mod summary;
mod tap;
mod tape;

use process::Finished;
pub(crate) use process::Observe;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The command under test.
pub(crate) const WIREPROOF: &str = env!("CARGO_BIN_EXE_wireproof");
/// Longest wait for anything that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// Address of the observer.
pub(crate) const NEAR: &str = "10.9.0.1";
/// The same over IPv6.
pub(crate) const NEAR_6: &str = "fd00:9::1";
/// Address of the sender.
pub(crate) const FAR: &str = "10.9.0.2";
/// The same over IPv6.
pub(crate) const FAR_6: &str = "fd00:9::2";

/// Runs a test on a fresh bench, and again, four times in all, while the host held the sender up: `body` says `false`
/// then. What such a sender sends may be judged in more than one way.
pub(crate) fn undisturbed(test: &str, ipv6: bool, body: impl Fn(&Bench) -> bool) {
    for _ in 0..4 {
        let Some(bench) = Bench::made(test, ipv6) else { return };
        if body(&bench) {
            return;
        }
    }
    let _ = std::io::Write::write_fmt(
        &mut std::io::stderr(),
        format_args!("SKIPPED {test}: the host held the sender up each time\n"),
    );
}

static BENCHES: AtomicU32 = AtomicU32::new(0);

/// Two namespaces and a folder, all gone when this is dropped.
pub(crate) struct Bench {
    near: String,
    far: String,
    dir: TempDir,
}

impl Bench {
    /// A bench without IPv6; `None`, and a line that says why, where there can be none.
    pub(crate) fn new(test: &str) -> Option<Bench> {
        Bench::made(test, false)
    }

    fn made(test: &str, ipv6: bool) -> Option<Bench> {
        let prefix = format!("wp{}-{}", std::process::id(), BENCHES.fetch_add(1, Ordering::Relaxed));
        let dir = tempfile::tempdir().unwrap();
        let bench = Bench { near: format!("{prefix}n"), far: format!("{prefix}f"), dir };
        match bench.cable(ipv6) {
            Ok(()) => Some(bench),
            Err(why) => {
                let _ = std::io::Write::write_fmt(
                    &mut std::io::stderr(),
                    format_args!("SKIPPED {test}: {why}\n"),
                );
                None
            }
        }
    }

    fn cable(&self, ipv6: bool) -> Result<(), String> {
        tried("python3 --version")?;
        for name in [&self.near, &self.far] {
            tried(&format!("ip netns add {name}"))?;
            let off = if ipv6 { 0 } else { 1 };
            for scope in ["all", "default"] {
                let file = format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6");
                let set = format!("test ! -e {file} || echo {off} > {file}");
                let command = ["ip", "netns", "exec", name, "sh", "-c", &set];
                run(&command)?;
            }
            tried(&format!("ip -n {name} link set lo up"))?;
        }
        let (near, far) = (&self.near, &self.far);
        tried(&format!(
            "ip -n {near} link add near address 02:00:00:00:00:01 type veth peer name far address 02:00:00:00:00:02 netns {far}"
        ))?;
        let ends =
            [(near, "near", NEAR, FAR, "02:00:00:00:00:02"), (far, "far", FAR, NEAR, "02:00:00:00:00:01")];
        for (name, device, own, other, link_address) in ends {
            tried(&format!("ip -n {name} address add {own}/24 dev {device}"))?;
            tried(&format!("ip -n {name} link set {device} up"))?;
            tried(&format!(
                "ip -n {name} neigh add {other} lladdr {link_address} dev {device} nud permanent"
            ))?;
            if ipv6 {
                let (own, other) = if device == "near" { (NEAR_6, FAR_6) } else { (FAR_6, NEAR_6) };
                tried(&format!("ip -n {name} address add {own}/64 dev {device} nodad"))?;
                tried(&format!(
                    "ip -n {name} neigh add {other} lladdr {link_address} dev {device} nud permanent"
                ))?;
            }
        }
        Ok(())
    }

    /// A file in the bench's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A command in the observer's namespace and the bench's folder, with no settings but its own.
    pub(crate) fn near(&self, program: &str) -> Command {
        self.within(&self.near, program)
    }

    /// A command in the sender's namespace.
    pub(crate) fn far(&self, program: &str) -> Command {
        self.within(&self.far, program)
    }

    fn within(&self, namespace: &str, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace, program]).current_dir(self.dir.path());
        for name in ["FORMAT", "COLOR", "STRICT", "RIG"] {
            command.env_remove(format!("WIREPROOF_{name}"));
        }
        command.env("HOME", self.dir.path()).env("XDG_CONFIG_HOME", self.dir.path());
        command
    }

    /// `wireproof observe` with a summary in JSON, once it listens.
    pub(crate) fn observe(&self, arguments: &[&str]) -> Observe {
        Observe::start(self.observing(arguments))
    }

    /// The same to its end, for runs that need nobody's help.
    pub(crate) fn observed(&self, arguments: &[&str]) -> Finished {
        Finished::of(self.observing(arguments))
    }

    /// A short run that is told to be quiet.
    pub(crate) fn observe_quietly(&self) -> Finished {
        self.observed(&["--quiet", "--duration", "200ms"])
    }

    fn observing(&self, arguments: &[&str]) -> Command {
        let mut command = self.near(WIREPROOF);
        command.args(["observe", "--format", "json"]).args(arguments);
        command
    }

    /// `wireproof analyze` of files with a summary in JSON.
    pub(crate) fn analyze<P: AsRef<Path>>(&self, files: &[P]) -> Finished {
        let mut command = self.near(WIREPROOF);
        command.args(["analyze", "--format", "json"]).args(files.iter().map(AsRef::as_ref));
        Finished::of(command)
    }

    /// Starts the sender.
    pub(crate) fn sender(&self, arguments: &[&str]) -> Sender {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live_bench/sender.py");
        let mut command = self.far("python3");
        command.arg(script).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        Sender(Some(command.spawn().unwrap()))
    }

    /// Sends to the end and returns what was sent.
    pub(crate) fn send(&self, arguments: &[&str]) -> Truth {
        self.sender(arguments).done()
    }

    /// Runs `ip` in the observer's namespace.
    pub(crate) fn ip_near(&self, arguments: &str) {
        tried(&format!("ip -n {} {arguments}", self.near)).unwrap();
    }

    /// The same where the kernel may refuse it.
    fn try_ip_near(&self, arguments: &str) -> Result<(), String> {
        tried(&format!("ip -n {} {arguments}", self.near))
    }

    /// Runs `ip` in the sender's namespace.
    pub(crate) fn ip_far(&self, arguments: &str) {
        tried(&format!("ip -n {} {arguments}", self.far)).unwrap();
    }

    /// A file of the observer's namespace, below `/proc` or `/sys`.
    pub(crate) fn read(&self, path: &str) -> String {
        let output = self.near("cat").arg(path).output().unwrap();
        assert!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// A counter of `/proc/net/snmp`.
    pub(crate) fn snmp(&self, protocol: &str, counter: &str) -> u64 {
        let text = self.read("/proc/net/snmp");
        let head = format!("{protocol}:");
        let mut lines = text.lines().filter(|line| line.starts_with(&head));
        let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
        let place = names.split_whitespace().position(|name| name == counter).unwrap();
        values.split_whitespace().nth(place).unwrap().parse().unwrap()
    }

    /// Packets the observer's interface has transmitted.
    pub(crate) fn transmitted(&self) -> u64 {
        self.counted("tx_packets")
    }

    fn counted(&self, counter: &str) -> u64 {
        self.read(&format!("/sys/class/net/near/statistics/{counter}")).trim().parse().unwrap()
    }

    /// Waits until this many more packets have come in at the observer's interface.
    pub(crate) fn until_received(&self, more: u64) {
        let before = self.counted("rx_packets");
        until("packets received", || self.counted("rx_packets") >= before + more);
    }

    /// Waits until the sender's interface has refused this many more packets, the other end being down.
    pub(crate) fn until_refused(&self, more: u64) {
        let refused = || {
            let output = self.far("cat").arg("/sys/class/net/far/statistics/tx_dropped").output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().parse::<u64>().unwrap()
        };
        let before = refused();
        until("packets refused", || refused() >= before + more);
    }

    /// Waits until a file in the bench's folder holds this many octets.
    pub(crate) fn until_written(&self, name: &str, octets: u64) {
        let length = || std::fs::metadata(self.path(name)).map_or(0, |m| m.len());
        until("octets written", || length() >= octets);
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        for name in [&self.near, &self.far] {
            // One that was never made cannot be taken away; that is no news.
            let _ = tried(&format!("ip netns delete {name}"));
        }
    }
}

/// Runs a command line without quotes; an error is what it said.
/// Waits for something that another process brings about.
fn until(what: &str, mut is_there: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_there() {
        assert!(start.elapsed() < PATIENCE, "{what}: waited in vain");
        thread::sleep(Duration::from_millis(5));
    }
}

fn tried(line: &str) -> Result<(), String> {
    run(&line.split_whitespace().collect::<Vec<_>>())
}

fn run(words: &[&str]) -> Result<(), String> {
    let line = words.join(" ");
    let output = Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("`{line}` cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("`{line}` failed: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

/// The sender while it sends.
pub(crate) struct Sender(Option<Child>);

impl Sender {
    /// Waits for its end.
    pub(crate) fn done(mut self) -> Truth {
        let output = self.0.take().unwrap().wait_with_output().unwrap();
        let talk = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the sender failed: {talk}");
        Truth(serde_json::from_slice(&output.stdout).unwrap())
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What the sender says it did.
pub(crate) struct Truth(Value);

impl Truth {
    /// Names of the streams, such as `sacn/1`.
    pub(crate) fn streams(&self) -> Vec<String> {
        self.0["streams"].as_object().unwrap().keys().cloned().collect()
    }

    /// Frames sent.
    pub(crate) fn frames(&self) -> u64 {
        self.0["frames"].as_u64().unwrap()
    }

    /// The sender kept time so well that frames stand apart.
    pub(crate) fn was_in_time(&self) -> bool {
        self.0["late_ms"].as_f64().unwrap() < 7.0
    }

    /// Datagrams of a stream that were sent.
    pub(crate) fn sent(&self, stream: &str) -> u64 {
        self.0["streams"][stream]["sent"].as_u64().unwrap()
    }

    /// Datagrams of all streams that were sent.
    pub(crate) fn all_sent(&self) -> u64 {
        self.streams().iter().map(|s| self.sent(s)).sum()
    }

    /// Payload octets of a stream.
    pub(crate) fn octets(&self, stream: &str) -> u64 {
        self.0["streams"][stream]["octets"].as_u64().unwrap()
    }

    /// Numbers of a stream that were left out, or got lost on the way.
    pub(crate) fn missing(&self, stream: &str) -> Vec<u64> {
        let of = |key: &str| self.0["streams"][stream][key].as_array().unwrap().clone();
        let both = of("skipped").into_iter().chain(of("strayed"));
        let mut numbers: Vec<u64> = both.map(|n| n.as_u64().unwrap()).collect();
        numbers.sort_unstable();
        numbers
    }

    /// How many that are over all streams.
    pub(crate) fn all_missing(&self) -> u64 {
        self.streams().iter().map(|s| self.missing(s).len() as u64).sum()
    }

    /// Datagrams in a frame of a stream.
    pub(crate) fn per_frame(&self, stream: &str) -> u64 {
        self.0["streams"][stream]["per_frame"].as_u64().unwrap()
    }
}
