//! `ring fetch` as a process against the web service of `wireproof device --http`: what is whole, what breaks, what is
//! refused, and that nothing is left half.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod cli_support;

use cli_support::{conforms, outcome, wireproof};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use tempfile::TempDir;
use wireproof_reports::FETCH_SCHEMA;

/// A process that says where a ring can be had.
struct Serving {
    child: Child,
    url: String,
    _sink: UdpSocket,
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn binary() -> PathBuf {
    assert_cmd::cargo::cargo_bin("wireproof")
}

/// A device that sends to a socket of the test and hands out its ring, with these options more.
fn device(folder: &Path, more: &[&str]) -> Serving {
    let sink = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = sink.local_addr().unwrap();
    let rig = format!("[[output]]\nname = \"pole\"\nto = \"{to}\"\nprotocol = \"bigpacket\"\npixels = 100\n");
    fs::write(folder.join("device.toml"), rig).unwrap();
    let mut command = Command::new(binary());
    command.current_dir(folder).env_clear().args(["device", "--rig", "device.toml", "--http", "127.0.0.1:0"]);
    command.args(["--records", "4096", "--ring-on-disk", "--ring", "device.ring"]).args(more);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut urls =
        lines.filter_map(|line| line.unwrap().split_once("the ring is at ").map(|(_, u)| u.to_owned()));
    let url = urls.next().expect("a URL");
    Serving { child, url, _sink: sink }
}

/// The web service alone, for the ring of a device that runs.
fn service(folder: &Path, more: &[&str]) -> Serving {
    let mut command = Command::new(binary());
    command.current_dir(folder).env_clear().args(["device-service", "device.ring"]).args(more);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let url = format!("{}/v1/ring/raw", url.trim_end());
    Serving { child, url, _sink: UdpSocket::bind("127.0.0.1:0").unwrap() }
}

fn fetch(folder: &Path, url: &str, more: &[&str]) -> (i32, String, String) {
    outcome(wireproof(folder).args(["ring", "fetch", url, "-o", "ring.bin"]).args(more))
}

/// Files of a folder that are no part of the device.
fn files(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with("device.")).collect();
    names.sort();
    names
}

fn manifest(folder: &Path) -> Value {
    let value: Value =
        serde_json::from_slice(&fs::read(folder.join("ring.bin.manifest.json")).unwrap()).unwrap();
    conforms(FETCH_SCHEMA, &value);
    value
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn a_ring_is_whole_and_its_manifest_names_it() {
    let folder = folder();
    let device = device(folder.path(), &[]);
    let (code, out, err) = fetch(folder.path(), &device.url, &["--checksum"]);
    assert_eq!((code, out.as_str()), (0, ""), "{err}");
    assert!(err.contains("ring.bin: ") && err.contains("whole frames"), "{err}");
    assert!(!err.contains(['\r', '\u{1b}']), "progress is for terminals: {err:?}");
    assert_eq!(files(folder.path()), ["ring.bin", "ring.bin.manifest.json", "ring.bin.sha256"]);
    let manifest = manifest(folder.path());
    let length = fs::metadata(folder.path().join("ring.bin")).unwrap().len();
    assert_eq!(manifest["files"][0]["size"], length);
    assert_eq!(length, 4096 + 4096 * 48);
    let sum = fs::read_to_string(folder.path().join("ring.bin.sha256")).unwrap();
    assert_eq!(sum, format!("{}  ring.bin\n", manifest["files"][0]["sha256"].as_str().unwrap()));
    let checked =
        Command::new("sha256sum").args(["-c", "ring.bin.sha256"]).current_dir(folder.path()).output();
    assert!(checked.unwrap().status.success());
    let (code, out, _) =
        outcome(wireproof(folder.path()).args(["ring", "verify", "ring.bin", "--format", "json"]));
    let verified: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &verified["stamped"]), (0, &Value::Bool(true)));
    for key in ["frames", "generation", "first_frame", "last_frame", "window"] {
        assert_eq!(manifest["ring"][key], verified[key], "{key}");
    }
    assert!(manifest["clock"]["received_ns"].as_i64() <= manifest["clock"]["sent_ns"].as_i64());
}

#[test]
fn quiet_says_nothing_and_no_manifest_writes_none() {
    let folder = folder();
    let device = device(folder.path(), &[]);
    let said = fetch(folder.path(), &device.url, &["-q", "--no-manifest"]);
    assert_eq!(said, (0, String::new(), String::new()));
    assert_eq!(files(folder.path()), ["ring.bin"]);
}

#[test]
fn a_download_that_always_breaks_off_leaves_what_was_there() {
    let folder = folder();
    let device = device(folder.path(), &["--fault", "truncated-download"]);
    fs::write(folder.path().join("ring.bin"), "old").unwrap();
    let (code, out, err) = fetch(folder.path(), &device.url, &[]);
    assert_eq!((code, out.as_str(), err.lines().count()), (6, "", 1), "{err}");
    assert!(err.contains("broke off") && err.contains("check the address"), "{err}");
    assert_eq!(files(folder.path()), ["ring.bin"]);
    assert_eq!(fs::read_to_string(folder.path().join("ring.bin")).unwrap(), "old");
}

#[test]
fn a_download_that_breaks_off_now_and_then_is_gone_on_with() {
    let folder = folder();
    let _device = device(folder.path(), &[]);
    // Of these seeds the first breaks some transfers and not others; which ones is the service's to know.
    let resumed: u64 = (1..=4)
        .map(|seed| {
            let service = service(folder.path(), &["--misbehave", "cut:40", "--seed", &seed.to_string()]);
            let (code, _, err) = fetch(folder.path(), &service.url, &[]);
            assert_eq!(code, 0, "seed {seed}: {err}");
            let resumed = manifest(folder.path())["resumed"].as_u64().unwrap();
            assert_eq!(err.contains("gone on with"), resumed > 0, "{err}");
            resumed
        })
        .sum();
    assert!(resumed > 0, "no seed broke a transfer");
}

#[test]
fn what_cannot_be_believed_is_refused_and_kept_under_another_name() {
    for (fault, words) in [("corrupt-download", "BodyCrc"), ("generation-in-download", "GenerationChanged")] {
        let folder = folder();
        let device = device(folder.path(), &["--fault", fault]);
        fs::write(folder.path().join("ring.bin"), "old").unwrap();
        let (code, out, err) = fetch(folder.path(), &device.url, &[]);
        assert_eq!((code, out.as_str(), err.lines().count()), (7, "", 1), "{fault}: {err}");
        assert!(err.contains(words) && err.contains("ring.bin.refused"), "{fault}: {err}");
        assert_eq!(files(folder.path()), ["ring.bin", "ring.bin.refused"], "{fault}");
        assert_eq!(fs::read_to_string(folder.path().join("ring.bin")).unwrap(), "old");
        let (code, _, _) = outcome(wireproof(folder.path()).args(["ring", "verify", "ring.bin.refused"]));
        assert_eq!(code, 7, "{fault}");
    }
}

#[test]
fn a_body_of_another_length_than_its_header_says_is_refused() {
    let folder = folder();
    let _device = device(folder.path(), &[]);
    let service = service(folder.path(), &["--misbehave", "length"]);
    let (code, _, err) = fetch(folder.path(), &service.url, &[]);
    assert_eq!(code, 7, "{err}");
    assert!(err.contains("Size"), "{err}");
}

#[test]
fn a_copy_that_is_good_the_second_time_is_taken_and_the_first_is_told() {
    let folder = folder();
    let _device = device(folder.path(), &[]);
    // The first of these seeds whose service spoils the first answer and not the second.
    let told = (1..=20).find_map(|seed| {
        let service = service(folder.path(), &["--misbehave", "corrupt:50", "--seed", &seed.to_string()]);
        let (code, _, err) = fetch(folder.path(), &service.url, &[]);
        (code == 0 && err.contains("a first copy was refused")).then_some(err)
    });
    let told = told.expect("a seed of that kind");
    assert!(told.contains("kept as ring.bin.refused"), "{told}");
    assert_eq!(manifest(folder.path())["attempts"], 2);
}

#[test]
fn a_token_of_the_environment_is_sent_and_never_said() {
    let folder = folder();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/ring/raw", listener.local_addr().unwrap());
    let asked = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        let mut octet = [0];
        while !head.ends_with(b"\r\n\r\n") && stream.read(&mut octet).unwrap() == 1 {
            head.push(octet[0]);
        }
        stream.write_all(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n").unwrap();
        String::from_utf8(head).unwrap()
    });
    let mut command = wireproof(folder.path());
    command.env("TOKEN", "s3cret").args(["ring", "fetch", &url, "-o", "ring.bin", "--token-env", "TOKEN"]);
    let (code, out, err) = outcome(&mut command);
    assert!(asked.join().unwrap().to_ascii_lowercase().contains("authorization: bearer s3cret\r\n"));
    assert_eq!((code, out.as_str()), (6, ""));
    assert!(err.contains("status 401") && !err.contains("s3cret"), "{err}");
    assert_eq!(files(folder.path()), Vec::<String>::new());
}

#[test]
fn what_cannot_be_meant_is_said_before_anything_is_asked() {
    let folder = folder();
    for (url, more, words) in [
        ("https://10.0.0.5/v1/ring/raw", &[][..], "https:// is not supported"),
        ("10.0.0.5", &[], "not an http:// URL"),
        ("http://127.0.0.1:9/x", &["--token-env", "ABSENT"], "ABSENT"),
        ("http://me:pass@127.0.0.1:9/x", &["--token-env", "HOME"], "give one of them"),
    ] {
        let (code, out, err) = fetch(folder.path(), url, more);
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{url}: {err}");
        assert!(err.contains(words) && !err.contains("pass@"), "{url}: {err}");
    }
    let (code, _, err) =
        outcome(wireproof(folder.path()).args(["ring", "fetch", "http://127.0.0.1:9/x", "-o", "-"]));
    assert_eq!(code, 2, "{err}");
}

#[test]
fn where_nobody_listens_and_where_nothing_can_be_written_the_exit_code_is_6() {
    let folder = folder();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (code, _, err) = fetch(folder.path(), &format!("http://{free}/v1/ring/raw"), &[]);
    assert_eq!((code, err.lines().count()), (6, 1), "{err}");
    assert!(err.contains("not connected"), "{err}");
    let device = device(folder.path(), &[]);
    for target in ["absent/ring.bin", ".", "/dev/null"] {
        let mut command = wireproof(folder.path());
        let (code, _, err) = outcome(command.args(["ring", "fetch", &device.url, "-o", target]));
        assert_eq!((code, err.lines().count()), (6, 1), "{target}: {err}");
        assert!(err.contains("cannot be written"), "{target}: {err}");
    }
}

#[test]
fn an_interrupted_download_leaves_nothing() {
    let folder = folder();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/ring/raw", listener.local_addr().unwrap());
    let mut command = Command::new(binary());
    command.current_dir(folder.path()).env_clear().args(["ring", "fetch", &url, "-o", "ring.bin"]);
    let child = command.args(["--timeout", "10min"]).stderr(Stdio::piped()).spawn().unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    // An answer before its question would be refused.
    let mut asked = Vec::new();
    while !asked.ends_with(b"\r\n\r\n") {
        let mut octet = [0];
        stream.read_exact(&mut octet).unwrap();
        asked.extend(octet);
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf of it").unwrap();
    // It has begun to write when its file is there.
    while files(folder.path()).is_empty() {
        thread::yield_now();
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!((ended.status.code(), said.lines().count()), (Some(6), 1), "{said}");
    assert!(said.contains("interrupted"), "{said}");
    assert_eq!(files(folder.path()), Vec::<String>::new());
}
