//! A device as a process, and the questions a bench asks it over HTTP. Judges nothing.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests count as tests, and each test file uses its own part"
)]

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Longer than anything here takes on a host that does other work too.
const GENEROUS: Duration = Duration::from_secs(60);
/// The token that `token` writes.
pub(crate) const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A device that runs.
pub(crate) struct Running {
    pub(crate) child: Child,
    talk: BufReader<ChildStderr>,
    /// The line that was waited for.
    pub(crate) line: String,
}

/// The last processor that this process may use.
fn core() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    list.trim().rsplit([',', '-']).next().unwrap().to_owned()
}

/// The program.
pub(crate) fn binary() -> PathBuf {
    assert_cmd::cargo::cargo_bin("wireproof")
}

impl Running {
    /// Starts a verb and waits for a line of its talk.
    pub(crate) fn until(folder: &Path, arguments: &[&str], text: &str) -> Running {
        Running::of(Command::new(binary()), folder, arguments, text)
    }

    /// The same with all of it on one processor.
    pub(crate) fn on_one_core(folder: &Path, arguments: &[&str], text: &str) -> Running {
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", &core()]).arg(binary());
        Running::of(command, folder, arguments, text)
    }

    /// The same of a line for a shell, which has to become the program.
    pub(crate) fn shell(folder: &Path, line: &str, text: &str) -> Running {
        Running::of(Command::new("/bin/sh"), folder, &["-c", line], text)
    }

    fn of(mut command: Command, folder: &Path, arguments: &[&str], text: &str) -> Running {
        command.current_dir(folder).env_clear().env("HOME", folder).args(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut talk = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert!(talk.read_line(&mut line).unwrap() > 0, "it ended before {text:?}");
        }
        Running { child, talk, line }
    }

    /// Sends it a signal, such as `-INT`.
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Exit code and the JSON account.
    pub(crate) fn ended(mut self) -> (Option<i32>, Value) {
        let mut out = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        let mut rest = String::new();
        self.talk.read_to_string(&mut rest).unwrap();
        let code = self.child.wait().unwrap().code();
        (code, serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{rest}")))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A device file whose outputs send to a socket of the test, so that nobody else on this host is disturbed.
pub(crate) fn rig(folder: &Path) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = socket.local_addr().unwrap();
    let output = |name: &str, rest: &str| format!("[[output]]\nname = \"{name}\"\nto = \"{to}\"\n{rest}\n");
    let text = [
        output("pole-a", "protocol = \"bigpacket\"\npixels = 2880"),
        output("pole-b", "protocol = \"sacn\"\noctets = 6144\nchunk = 512"),
        output("pole-c", "protocol = \"ddp\"\npixels = 2880"),
    ];
    fs::write(folder.join("device.toml"), text.concat()).unwrap();
    socket
}

/// A port of this address that is free and that nobody is given by chance before it is used: it lies below those that the
/// kernel gives to whoever asks for any. Each test program has 64 of its own.
pub(crate) fn port(ip: &str) -> u16 {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    std::iter::repeat_with(|| {
        let at = GIVEN.fetch_add(1, Ordering::Relaxed);
        assert!(at < 64, "no free port is left");
        u16::try_from(10_000 + std::process::id() % 340 * 64 + at).unwrap()
    })
    .find(|port| UdpSocket::bind((ip, *port)).is_ok())
    .unwrap()
}

/// A folder in memory, where a ring may lie.
pub(crate) fn memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap()
}

/// Writes a token file named `token`.
pub(crate) fn token(folder: &Path) {
    let path = folder.join("token");
    fs::write(&path, TOKEN).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// An answer: status and body.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

/// The web service of a device.
#[derive(Clone)]
pub(crate) struct Web(pub(crate) String);

impl Web {
    /// The one that a device with `--http` names in its talk.
    pub(crate) fn of(device: &Running) -> Web {
        let rest = device.line.split_once("http://").unwrap().1;
        Web(rest.split(['/', '\n']).next().unwrap().to_owned())
    }

    /// Asks, and reads the whole answer.
    pub(crate) fn ask(&self, method: &str, target: &str, fields: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.0).unwrap();
        stream.set_read_timeout(Some(GENEROUS)).unwrap();
        write!(stream, "{method} {target} HTTP/1.1\r\nHost: device\r\n{fields}\r\n").unwrap();
        let mut octets = Vec::new();
        stream.read_to_end(&mut octets).unwrap();
        let end = octets.windows(4).position(|at| at == b"\r\n\r\n").unwrap();
        let body = octets.split_off(end + 4);
        let head = String::from_utf8(octets).unwrap();
        Answer { status: head.split(' ').nth(1).unwrap().parse().unwrap(), head, body }
    }

    /// Throws a switch with the token.
    pub(crate) fn post(&self, target: &str) -> u16 {
        self.ask("POST", target, &format!("Authorization: Bearer {TOKEN}\r\n")).status
    }

    pub(crate) fn status(&self) -> Value {
        serde_json::from_slice(&self.ask("GET", "/v1/status", "").body).unwrap()
    }

    /// Asks for the status until it is so.
    pub(crate) fn until(&self, so: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let status = self.status();
            if so(&status) {
                return status;
            }
            assert!(begun.elapsed() < GENEROUS, "{status}");
        }
    }
}
