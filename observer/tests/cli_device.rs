//! `device` as a process: observed on loopback, killed in the middle of a frame, told what to do, and told nonsense.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]
#![allow(clippy::print_stdout, reason = "what is skipped is said")]

mod cli_support;
mod device_process;
#[allow(dead_code, reason = "its isolation alone is used here")]
mod live_support;

use cli_support::{outcome, wireproof};
use device_process::{Running, binary, memory, rig};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixDatagram;
use std::process::Command;
use wireproof_recorder::{Policy, parse};

#[test]
fn an_observed_device_passes_and_both_count_the_same() {
    live_support::isolated("an_observed_device_passes_and_both_count_the_same", || {
        let folder = tempfile::tempdir().unwrap();
        let observe = Running::until(folder.path(), &["observe", "--format", "json"], "listening on");
        let (code, out, err) =
            outcome(wireproof(folder.path()).args(["device", "--duration", "2s", "--format", "json"]));
        assert_eq!(code, 0, "{err}");
        let device: Value = serde_json::from_str(&out).unwrap();
        observe.signal("-INT");
        let (code, summary) = observe.ended();
        assert_eq!((code, summary["verdict"].as_str()), (Some(0), Some("pass")), "{summary}");
        for (at, kind) in [(0, "bigpacket/chunk"), (1, "sacn/data"), (2, "ddp/display")] {
            let own = &device["outputs"][at];
            let sent = own["datagrams"].as_u64().unwrap() + own["goodbyes"].as_u64().unwrap();
            assert_eq!(summary["datagrams"]["by_kind"][kind].as_u64(), Some(sent), "{kind}: {device}");
            let frames = device["frames"].as_u64().unwrap();
            assert_eq!(own["datagrams"].as_u64(), Some(frames * [6, 12, 6][at]), "{device}");
        }
        let streams = summary["streams"].as_array().unwrap();
        assert_eq!(streams.len(), 14);
        assert!(streams.iter().all(|stream| stream["sequence"]["lost"] == 0), "{summary}");
    });
}

#[test]
fn killed_in_the_middle_of_a_frame_it_leaves_whole_frames_and_the_evidence() {
    let folder = memory();
    let _socket = rig(folder.path());
    let truth = folder.path().join("truth");
    assert!(Command::new("mkfifo").arg(&truth).status().unwrap().success());
    let arguments = [
        "device",
        "--rig",
        "device.toml",
        "--ring",
        "ring",
        "--truth",
        "truth",
        "--quiet",
        "--fault",
        "stall:frame=30,output=pole-b,ms=600000",
    ];
    let mut command = Command::new(binary());
    let mut child = command.current_dir(folder.path()).args(arguments).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(File::open(&truth).unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let deed: Value = serde_json::from_str(&line).unwrap();
    let stalled = deed["frame"].as_u64().unwrap();
    assert_eq!((deed["kind"].as_str(), deed["output"].as_str()), (Some("stall"), Some("pole-b")));
    let ring = parse(&fs::read(folder.path().join("ring")).unwrap(), Policy::Exact).unwrap();
    assert_eq!((ring.partial, ring.drops), Default::default());
    assert!(!ring.frames.is_empty() && ring.frames.iter().all(|frame| u64::from(frame.id) < stalled));
    // A missed deadline on a busy host is a record more.
    assert!(ring.frames.iter().all(|frame| [27, 28].contains(&frame.records.len())));
    // Cause, source, effects, audio; seven of pole-a; five of pole-b before its wire_send.
    assert!((16..=18).contains(&ring.unpublished_tail), "{}", ring.unpublished_tail);
    let again = ["device", "--rig", "device.toml", "--ring", "ring", "--frames", "1", "--quiet"];
    let (code, _, err) = outcome(wireproof(folder.path()).args(again));
    assert_eq!(code, 0, "the dead writer's lock is free: {err}");
    let kept = parse(&fs::read(folder.path().join("ring.prev")).unwrap(), Policy::Exact).unwrap();
    assert_eq!(kept.digest, ring.digest);
}

#[test]
fn it_obeys_its_control_socket_and_ends_when_told() {
    let folder = memory();
    let _socket = rig(folder.path());
    let arguments =
        ["device", "--rig", "device.toml", "--ring", "ring", "--control", "ctl", "--format", "json"];
    let device = Running::until(folder.path(), &arguments, "control at");
    let asker = UnixDatagram::bind(folder.path().join("asker")).unwrap();
    let ask = |request: &str| {
        asker.send_to(request.as_bytes(), folder.path().join("ctl")).unwrap();
        let mut octets = [0; 4096];
        let count = asker.recv(&mut octets).unwrap();
        String::from_utf8(octets[..count].to_vec()).unwrap()
    };
    assert_eq!(ask("profiler 0 lease_ms=60000"), "ok profiler=0");
    assert_eq!(ask("preview 30"), "ok preview=30");
    assert!(ask("dance").starts_with("error write status"));
    let status: Value = serde_json::from_str(ask("status").strip_prefix("ok ").unwrap()).unwrap();
    assert_eq!((status["profiler"].as_bool(), status["preview"].as_u64()), (Some(false), Some(30)));
    assert!(status["profiler_lease_ms"].as_u64().unwrap() <= 60_000);
    assert_eq!(status["ring"], "ring");
    let frames = || -> u64 {
        let status: Value = serde_json::from_str(ask("status").strip_prefix("ok ").unwrap()).unwrap();
        status["frames"].as_u64().unwrap()
    };
    // Several requests may be answered in front of one frame.
    assert!((0..10_000).any(|_| frames() >= 3), "it shows no frames");
    assert_eq!(ask("shutdown"), "ok shutdown");
    let (code, account) = device.ended();
    assert_eq!((code, account["complete"].as_bool()), (Some(0), Some(true)), "{account}");
    assert!(account["recorder"]["disabled"].as_u64().unwrap() > 0, "{account}");
    assert_eq!(account["outputs"][1]["goodbyes"], 36);
    assert!(!folder.path().join("ctl").exists() && folder.path().join("ring").exists());
}

#[test]
fn its_ring_is_handed_out_over_http_by_a_process_that_ends_with_it() {
    let folder = memory();
    let _socket = rig(folder.path());
    let arguments =
        ["device", "--rig", "device.toml", "--ring", "ring", "--records", "4096", "--ring-on-disk"];
    let rest = ["--http", "127.0.0.1:0", "--format", "json"];
    let device = Running::until(folder.path(), &[&arguments[..], &rest].concat(), "the ring is at http://");
    let url = device.line.trim_end().rsplit_once("http://").unwrap().1.to_owned();
    let (address, path) = url.split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let head = answer.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer[..head]));
    parse(&answer[head + 4..], Policy::Conservative).unwrap();
    device.signal("-TERM");
    assert_eq!(device.ended().0, Some(0));
    assert!(TcpStream::connect(address).is_err(), "the service outlived its device");
}

#[test]
fn a_signal_ends_it_cleanly_and_a_fixed_length_is_then_cut_short() {
    let folder = memory();
    let _socket = rig(folder.path());
    for (length, expected) in [(&["--duration", "10min"][..], 5), (&[], 0)] {
        let arguments =
            [&["device", "--rig", "device.toml", "--ring", "ring", "--format", "json"], length].concat();
        let device = Running::until(folder.path(), &arguments, "recording into");
        device.signal("-TERM");
        let (code, account) = device.ended();
        assert_eq!((code, account["complete"].as_bool()), (Some(expected), Some(expected == 0)), "{account}");
    }
}

#[test]
fn bad_input_is_one_line_that_says_what_to_do_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bad.toml"), "[[output]]\nname = \"a\"\nprotocol = \"dmx\"\npixels = 1")
        .unwrap();
    fs::write(
        folder.path().join("big.toml"),
        "[[output]]\nname = \"a\"\nprotocol = \"ddp\"\npixels = 9999999",
    )
    .unwrap();
    for (arguments, expected, words) in [
        (&["--fault", "lose"][..], 2, "is no fault; there are drop"),
        (&["--fault", "drop:output=pole-x"], 2, "one of the outputs pole-a, pole-b, pole-c"),
        (&["--rig", "bad.toml"], 2, "bad.toml, output \"a\": \"dmx\" is no protocol"),
        (&["--rig", "big.toml"], 2, "frame octets 29999997 is not 1..1048576"),
        (&["--rig", "absent.toml"], 6, "absent.toml cannot be read"),
        (&["--records", "1000"], 2, "power of two"),
        (&["--load=-1"], 2, "load -1 is not 0..1000"),
        (&["--truth", "same", "-o", "same"], 2, "--truth and -o are both same"),
        (&["--ring", "ring", "--no-recorder"], 2, "cannot be used with"),
        (&["--control", "bad.toml"], 6, "exists and is no socket"),
        (&["--truth", "no/where"], 6, "no/where cannot be written"),
    ] {
        let (code, out, err) =
            outcome(wireproof(folder.path()).args(["device", "--frames", "1"]).args(arguments));
        assert_eq!((code, out.as_str(), err.lines().count()), (expected, "", 1), "{arguments:?}: {err}");
        assert!(err.contains(words), "{arguments:?}: {err}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}
