//! Records of `send`, `replay`, `doctor` and `device` against the shipped schemas.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod cli_support;

use cli_support::{conforms, outcome, planted, wireproof};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use wireproof_fixture::device::{
    Book, Engine, HeapRing, Length, Places, Planned, Setting, Simulated, default_rig, heap_maker,
    run as run_device,
};
use wireproof_fixture::pace::Rate;
use wireproof_reports::{
    DEED_SCHEMA, DEVICE_STATUS_SCHEMA, DOCTOR_SCHEMA, REPLAY_SCHEMA, SEND_SCHEMA, TRUTH_SCHEMA,
};

/// A socket that stands for the receiver, and its address.
fn receiver() -> (UdpSocket, String) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    (socket, address)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn records_of_send_and_its_truth_conform_for_every_protocol() {
    let (_socket, to) = receiver();
    let dir = tempfile::tempdir().unwrap();
    for (protocol, frames) in [("sacn", 10), ("ddp", 10), ("artnet", 10), ("bigpacket", 60)] {
        let faults = "drop=0.2,duplicate=0.2,reorder=0.2,truncate=0.2,stall=0.05";
        let frames = frames.to_string();
        let arguments = ["send", "--protocol", protocol, "--to", &to, "--frames", &frames, "--rate", "500"];
        let more = ["--fault", faults, "--truth", "truth.json", "--format", "json"];
        let (code, out, err) = outcome(wireproof(dir.path()).args(arguments).args(more));
        assert_eq!(code, 0, "{protocol}: {err}");
        let record = json(&out);
        conforms(SEND_SCHEMA, &record);
        assert_eq!(record["protocol"], protocol);
        let truth = json(&fs::read_to_string(dir.path().join("truth.json")).unwrap());
        conforms(TRUTH_SCHEMA, &truth);
        assert!(!truth["deeds"].as_array().unwrap().is_empty(), "{truth}");
    }
}

#[test]
fn the_record_of_a_replay_conforms() {
    let (_socket, to) = receiver();
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), "sacn-drop-one");
    let mut command = wireproof(dir.path());
    command.arg("replay").arg(capture).args(["--to", &to, "--speed", "50", "--format", "json"]);
    let (code, out, err) = outcome(&mut command);
    assert_eq!(code, 0, "{err}");
    let record = json(&out);
    conforms(REPLAY_SCHEMA, &record);
    assert!(record["datagrams"].as_u64() > Some(0));
}

#[test]
fn the_record_of_the_doctor_conforms() {
    let dir = tempfile::tempdir().unwrap();
    let (_, out, _) = outcome(wireproof(dir.path()).args(["doctor", "--format", "json"]));
    conforms(DOCTOR_SCHEMA, &json(&out));
}

/// A device file with one output of each protocol, all to one address.
fn rig(folder: &Path, to: &str) {
    let output = |name: &str, rest: &str| format!("[[output]]\nname = \"{name}\"\nto = \"{to}\"\n{rest}\n");
    let text = [
        output("a", "protocol = \"bigpacket\"\npixels = 2880"),
        output("b", "protocol = \"sacn\"\noctets = 1536\nchunk = 512"),
        output("c", "protocol = \"ddp\"\npixels = 2880"),
        output("d", "protocol = \"artnet\"\npixels = 340\nchunk = 510"),
    ];
    fs::write(folder.join("device.toml"), text.concat()).unwrap();
}

/// What a book is written on.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn every_kind_of_deed_conforms() {
    // In simulated time: a busy host would skip frames, and with them deeds.
    let faults = [
        "drop:frame=2,output=pole-a",
        "burst:frame=4,output=pole-a",
        "unsent:frame=6,output=pole-a",
        "duplicate:frame=8,output=pole-a",
        "reorder:frame=10,output=pole-b",
        "late:frame=12,output=pole-a",
        "truncate:frame=14,output=pole-c",
        "torn:frame=16,output=pole-a",
        "missing-push:frame=18,output=pole-c",
        "second-source:frame=20,output=pole-b,count=2",
        "stall:frame=24,output=pole-a,ms=1",
        "clock-step:frame=30,ms=5",
        "generation:frame=32",
        "disturb:frame=34,us=10",
        "lying-toggle:frame=36",
        "reboot:frame=44,count=2",
    ];
    let mut world = Simulated::new(5_000_000_000, 1_790_000_000_000_000_000);
    world.messages.push_back((5_000_000_000 + 35 * 16_666_667 + 8_000_000, "profiler 1".to_owned()));
    let setting = Setting {
        rig: default_rig(Ipv4Addr::LOCALHOST.into(), [7; 16]),
        rate: Rate::from_mhz(60_000).unwrap(),
        seed: 7,
        load_milli: 1_000,
        preview: 0,
        profiler: true,
        faults: faults.map(|text| text.parse::<Planned>().unwrap()).to_vec(),
        ring: None,
        build: String::new(),
    };
    let (rate, paper) = (setting.rate, Paper::default());
    let book = Book::new(Some(Box::new(paper.clone())));
    let mut engine: Engine<HeapRing> =
        Engine::new(setting, Some(heap_maker(1 << 14)), Places::none(), book).unwrap();
    run_device(&mut engine, rate, Length::Frames(50), &mut world).unwrap();
    let text = String::from_utf8(paper.0.lock().unwrap().clone()).unwrap();
    let deeds: Vec<Value> = text.lines().map(json).collect();
    deeds.iter().for_each(|deed| conforms(DEED_SCHEMA, deed));
    let done: BTreeSet<&str> = deeds.iter().filter_map(|deed| deed["kind"].as_str()).collect();
    let asked: BTreeSet<&str> = faults.iter().map(|fault| fault.split(':').next().unwrap()).collect();
    assert_eq!(done, asked, "{text}");
}

/// A process that ends with the test.
struct Kept(Child);

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn both_answers_to_status_conform() {
    let (_socket, to) = receiver();
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    rig(dir.path(), &to);
    for recorder in
        [&["--ring", "ring", "--records", "4096", "--http", "127.0.0.1:0"][..], &["--no-recorder"]]
    {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("wireproof"));
        command.current_dir(dir.path()).env_clear().args([
            "device",
            "--rig",
            "device.toml",
            "--control",
            "ctl",
        ]);
        let mut child = command.args(recorder).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let device = Kept(child);
        let word = if recorder.len() > 1 { "the ring is at http://" } else { "control at " };
        let said = { lines }.find(|line| line.contains(word)).expect("its line");
        let name = dir.path().join(format!("asker-{}", recorder.len()));
        let asker = UnixDatagram::bind(name).unwrap();
        asker.connect(dir.path().join("ctl")).unwrap();
        for request in ["profiler 1 lease_ms=60000", "status"] {
            asker.send(request.as_bytes()).unwrap();
            let mut octets = [0; 4096];
            let count = asker.recv(&mut octets).unwrap();
            let answer = String::from_utf8(octets[..count].to_vec()).unwrap();
            if request == "status" {
                conforms(DEVICE_STATUS_SCHEMA, &json(answer.strip_prefix("ok ").unwrap()));
            }
        }
        if let Some((_, url)) = said.split_once("http://") {
            let mut stream = TcpStream::connect(url.split('/').next().unwrap()).unwrap();
            stream
                .write_all(b"GET /v1/status HTTP/1.1\r\nHost: device\r\nConnection: close\r\n\r\n")
                .unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            let status = json(answer.split_once("\r\n\r\n").unwrap().1);
            conforms(DEVICE_STATUS_SCHEMA, &status);
            assert_eq!(status["engine"]["recorder"], true, "{status}");
        }
        drop(device);
    }
}
