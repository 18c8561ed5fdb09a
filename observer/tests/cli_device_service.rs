//! `device-service` as a process: what clients may not do to it, and what killed devices leave to the next one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod cli_support;
mod device_process;

use cli_support::{outcome, wireproof};
use device_process::{Running, Web, binary, memory, rig, token};
use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use wireproof_recorder::{Policy, parse};

const GENEROUS: Duration = Duration::from_secs(60);

/// A service for a ring of 8,192 records that nobody writes any more.
struct Service {
    child: Child,
    web: Web,
}

impl Service {
    fn start(folder: &Path, more: &[&str]) -> Service {
        let _socket = rig(folder);
        let made = [
            "device",
            "--rig",
            "device.toml",
            "--ring",
            "ring",
            "--records",
            "8192",
            "--frames",
            "20",
            "--quiet",
        ];
        assert_eq!(outcome(wireproof(folder).args(made)).0, 0);
        let mut command = Command::new(binary());
        command.current_dir(folder).args(["device-service", "ring", "--with-parent"]).args(more);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Service { child, web: Web(url.trim_end().strip_prefix("http://").unwrap().to_owned()) }
    }

    /// A connection from 127.0.0.N.
    fn connect(&self, from: u8) -> TcpStream {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::from(([127, 0, 0, from], 0)).into()).unwrap();
        socket.connect(&self.web.0.parse::<SocketAddr>().unwrap().into()).unwrap();
        let stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(GENEROUS)).unwrap();
        stream
    }

    fn counter(&self, name: &str) -> u64 {
        self.web.status()["service"]["counters"][name].as_u64().unwrap()
    }

    /// The most memory it ever had, kB.
    fn most_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The status line of an answer.
fn answer(stream: &mut TcpStream) -> String {
    let mut octets = Vec::new();
    let _ = stream.read_to_end(&mut octets);
    String::from_utf8_lossy(&octets).lines().next().unwrap_or_default().to_owned()
}

#[test]
fn connections_heads_and_downloads_are_limited_and_one_place_stays_open() {
    let folder = memory();
    let service = Service::start(folder.path(), &[]);
    let mute: Vec<_> = (0..4).map(|_| service.connect(2)).collect();
    assert!(answer(&mut service.connect(2)).contains("503"), "the fifth of an address");
    let more: Vec<_> = (3..7).map(|from| service.connect(from)).collect();
    // The ninth waits until one of another address has been mute for long enough to make room, and is mute itself.
    let mut ninth = service.connect(3);
    assert!(answer(&mut ninth).contains("408"), "after two seconds without a head");
    let answers: Vec<String> = mute.into_iter().chain(more).map(|mut stream| answer(&mut stream)).collect();
    let late = answers.iter().filter(|said| said.contains("408")).count();
    assert!(late == 7 && answers.iter().any(String::is_empty), "{answers:?}");
    let counts = ["refused_address", "evicted", "late_heads"].map(|name| service.counter(name));
    assert_eq!(counts, [1, 1, 8]);
    let mut long = service.connect(2);
    let _ = write!(long, "GET / HTTP/1.1\r\nA: {}\r\n\r\n", "a".repeat(5_000));
    assert!(answer(&mut long).contains("431"));
    assert!(service.most_memory() < 64 * 1024, "{} kB", service.most_memory());
}

#[test]
fn an_address_has_one_download_and_an_honest_client_passes_those_who_read_nothing() {
    let folder = memory();
    let service = Service::start(folder.path(), &["--raw-time", "3s"]);
    let before = fs::read(folder.path().join("ring")).unwrap();
    let ask = |from: u8| {
        let mut stream = service.connect(from);
        write!(stream, "GET /v1/ring/raw HTTP/1.1\r\nHost: device\r\n\r\n").unwrap();
        stream
    };
    let mut first = ask(2);
    service.web.until(|status| status["raw_downloads"] == 1);
    assert!(answer(&mut ask(2)).contains("503"), "the second to an address");
    let _others: Vec<_> = (3..8).map(ask).collect();
    service.web.until(|status| status["raw_downloads"].as_u64() > Some(4));
    assert_eq!(service.web.ask("GET", "/v1/health", "").status, 200, "the place for health");
    assert!(answer(&mut first).contains("200"));
    let begun = Instant::now();
    while service.web.ask("GET", "/v1/ring/raw", "").status != 200 {
        assert!(begun.elapsed() < GENEROUS);
    }
    assert!(fs::read(folder.path().join("ring")).unwrap() == before, "the ring was written");
}

#[test]
fn a_wrong_token_waits_and_without_a_parent_the_service_ends() {
    let folder = memory();
    token(folder.path());
    let mut service = Service::start(folder.path(), &["--token-file", "token", "--control", "nobody"]);
    let begun = Instant::now();
    assert_eq!(service.web.ask("POST", "/v1/outputs?count=1", "Authorization: Bearer no\r\n").status, 401);
    assert!(begun.elapsed() >= Duration::from_millis(200));
    assert_eq!(service.web.post("/v1/outputs?count=1"), 503, "no engine listens");
    assert_eq!(service.web.post("/v1/outputs?count=x"), 400);
    drop(service.child.stdin.take());
    assert_eq!(service.child.wait().unwrap().code(), Some(0));
}

/// Files in memory that this process owns by its name.
fn left(owner: u32) -> Vec<String> {
    let names =
        fs::read_dir("/dev/shm").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let own = format!("wireproof-device-{owner}.");
    names.filter(|name| name.starts_with(&own)).collect()
}

#[test]
fn what_a_killed_device_left_in_memory_goes_when_the_next_one_starts() {
    let folder = memory();
    let _socket = rig(folder.path());
    let arguments = ["device", "--rig", "device.toml", "--records", "1024", "--http", "127.0.0.1:0"];
    let mut device = Running::until(folder.path(), &arguments, "the ring is at http://");
    let owner = device.child.id();
    let living = left(owner);
    assert!(living.len() >= 4, "ring, lock, places, socket: {living:?}");
    let once = ["device", "--rig", "device.toml", "--records", "1024", "--frames", "1", "--quiet"];
    assert_eq!(outcome(wireproof(folder.path()).args(once)).0, 0);
    assert_eq!(left(owner).len(), living.len(), "its owner lives");
    device.child.kill().unwrap();
    device.child.wait().unwrap();
    assert_eq!(left(owner).len(), living.len());
    assert_eq!(outcome(wireproof(folder.path()).args(once)).0, 0);
    assert_eq!(left(owner), Vec::<String>::new());
}

#[test]
fn a_ring_begun_and_never_put_in_place_goes_when_the_ring_is_made_again() {
    let folder = memory();
    let _socket = rig(folder.path());
    fs::write(folder.path().join("ring.new"), "half a ring").unwrap();
    let once =
        ["device", "--rig", "device.toml", "--ring", "ring", "--records", "1024", "--frames", "3", "--quiet"];
    assert_eq!(outcome(wireproof(folder.path()).args(once)).0, 0);
    assert!(!folder.path().join("ring.new").exists());
    parse(&fs::read(folder.path().join("ring")).unwrap(), Policy::Exact).unwrap();
}

#[test]
fn requests_that_get_no_frame_are_found_in_the_ring_of_a_device_as_planted() {
    let folder = memory();
    let _socket = rig(folder.path());
    let arguments = [
        "device",
        "--rig",
        "device.toml",
        "--ring",
        "ring",
        "--frames",
        "180",
        "--quiet",
        "--truth",
        "truth",
    ];
    let faults = ["--fault", "unrelated:frame=40,count=12", "--fault", "unserved:frame=120"];
    let (code, _, err) = outcome(wireproof(folder.path()).args(arguments).args(faults));
    assert_eq!(code, 0, "{err}");
    let truth = fs::read_to_string(folder.path().join("truth")).unwrap();
    let kinds = truth.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["kind"].clone());
    assert_eq!(kinds.collect::<Vec<_>>(), ["unrelated", "unserved"]);
    let (code, out, err) =
        outcome(wireproof(folder.path()).args(["ring", "causes", "ring", "--format", "json"]));
    assert_eq!(code, 0, "{err}");
    let report: Value = serde_json::from_str(&out).unwrap();
    let codes = |wanted: &str| {
        let findings = report["findings"].as_array().unwrap().iter();
        findings
            .filter(|finding| finding["code"] == wanted)
            .map(|finding| finding["count"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (codes("RING-FRAME-NEVER"), codes("RING-FRAME-UNRELATED")),
        (vec![json!(1)], vec![json!(1)]),
        "{out}"
    );
    let told = report["requests"]["told"].as_array().unwrap();
    let places = |outcome: &str| {
        told.iter()
            .filter(|row| row["outcome"] == outcome)
            .map(|row| row["place"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (places("never"), places("unrelated")),
        (vec![json!("cue/list.rs:212")], vec![json!("output/patch.rs:57")]),
        "{out}"
    );
    for other in ["RING-LOST", "RING-CAUSE-MISSING", "RING-PLACE-UNKNOWN", "RING-FRAME-ALWAYS"] {
        assert_eq!(codes(other), Vec::<Value>::new(), "{out}");
    }
}
