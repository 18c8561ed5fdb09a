//! `observe --until-bound` as a process beside a sender, each test in a network of its own: it ends with the bound or with
//! the first failure, and goes on where it was cut, however it was cut.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]
#![allow(dead_code, unused_imports, reason = "each test file uses its own part of the support")]

mod live_support;

use live_support::isolated;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use wireproof_reports::SOAK_SCHEMA;

const EXE: &str = env!("CARGO_BIN_EXE_wireproof");
/// 598 clean frames show it: ten seconds.
const SOON: [&str; 4] = ["--until-bound", "5e-3", "--window", "1s"];
/// Nobody waits for its 29,956 frames.
const NEVER: [&str; 4] = ["--until-bound", "1e-4", "--window", "1s"];

fn started(folder: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(EXE);
    command.env_clear().env("HOME", folder).current_dir(folder).args(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// A sender of 60 frames a second, ended with the test.
struct Sender(Child);

impl Sender {
    fn new(folder: &Path, more: &[&str]) -> Sender {
        let all = ["send", "--protocol", "ddp", "--pixels", "480", "--duration", "10min", "--quiet"];
        Sender(started(folder, &[&all[..], more].concat()))
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Exit code, the record and what was said.
fn soaked(folder: &Path, arguments: &[&str]) -> (i32, Value, String) {
    let child = started(folder, &[&["observe", "--format", "json"], arguments].concat());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let record = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code().unwrap(), record, said)
}

/// Starts a soak, sends it a signal when a window is said to be over, and waits for its end.
fn cut(folder: &Path, window: u32, signal: &str) -> (Option<i32>, Value) {
    let mut child = started(folder, &[&["observe", "--format", "json"], &NEVER[..]].concat());
    let mut talk = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains(&format!("window {window}:")) {
        line.clear();
        assert!(talk.read_line(&mut line).unwrap() > 0, "it ended before window {window}");
    }
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    let mut rest = String::new();
    talk.read_to_string(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or(Value::Null))
}

fn conforms(record: &Value) {
    let schema = serde_json::from_str(SOAK_SCHEMA).unwrap();
    assert!(jsonschema::validator_for(&schema).unwrap().is_valid(record), "{record}");
}

#[test]
fn the_bound_is_shown_and_then_the_soak_is_over() {
    isolated("the_bound_is_shown_and_then_the_soak_is_over", || {
        let dir = tempfile::tempdir().unwrap();
        let _sender = Sender::new(dir.path(), &[]);
        let (code, record, said) = soaked(dir.path(), &SOON);
        assert_eq!((code, record["verdict"].as_str()), (0, Some("pass")), "{said}{record}");
        conforms(&record);
        assert!(record["trials"].as_u64() >= Some(598) && record["one_in"].as_u64() >= Some(200), "{record}");
        let windows = fs::read_dir(dir.path().join("wireproof-soak/windows")).unwrap().count();
        assert_eq!(record["kept"].as_array().unwrap().len(), windows, "no other tape is left");
        let (code, _, said) = soaked(dir.path(), &SOON);
        assert!(code == 2 && said.contains("it is over"), "{said}");
    });
}

#[test]
fn the_first_loss_ends_it_with_the_tape_of_its_window() {
    isolated("the_first_loss_ends_it_with_the_tape_of_its_window", || {
        let dir = tempfile::tempdir().unwrap();
        let _sender = Sender::new(dir.path(), &["--fault", "drop=0.005", "--seed", "7"]);
        let (code, record, said) = soaked(dir.path(), &NEVER);
        assert_eq!((code, record["verdict"].as_str()), (1, Some("fail")), "{said}{record}");
        conforms(&record);
        let window = record["odd"].as_array().unwrap().last().unwrap()["window"].as_u64().unwrap();
        let tape = format!("wireproof-soak/windows/{window:06}.tape");
        let output = Command::new(EXE).current_dir(dir.path()).args(["analyze", &tape]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "the tape fails, too: {output:?}");
    });
}

#[test]
fn ctrl_c_and_a_kill_lose_nothing_that_was_counted() {
    isolated("ctrl_c_and_a_kill_lose_nothing_that_was_counted", || {
        let dir = tempfile::tempdir().unwrap();
        let _sender = Sender::new(dir.path(), &[]);
        let (code, record) = cut(dir.path(), 2, "-INT");
        assert_eq!((code, record["verdict"].as_str()), (Some(5), Some("partial")), "{record}");
        conforms(&record);
        let counted = record["trials"].as_u64().unwrap();
        assert!(counted > 100, "{record}");
        let (code, _) = cut(dir.path(), record["windows"].as_u64().unwrap() as u32 + 2, "-KILL");
        assert_eq!(code, None, "killed");
        let (code, third) = cut(dir.path(), record["windows"].as_u64().unwrap() as u32 + 4, "-INT");
        assert_eq!((code, third["runs"].as_u64()), (Some(5), Some(3)), "{third}");
        assert!(third["trials"].as_u64() > Some(counted + 200), "{counted} {third}");
    });
}

#[test]
fn a_folder_of_another_soak_a_damaged_one_and_a_busy_one_are_refused() {
    isolated("a_folder_of_another_soak_a_damaged_one_and_a_busy_one_are_refused", || {
        let dir = tempfile::tempdir().unwrap();
        let _sender = Sender::new(dir.path(), &[]);
        cut(dir.path(), 1, "-INT");
        let state = dir.path().join("wireproof-soak/state.json");
        let whole = fs::read_to_string(&state).unwrap();
        for (more, why) in [
            (&["--until-bound", "1e-5", "--window", "1s"][..], "begun with the rate 1e-4, this is 1e-5"),
            (&["--until-bound", "1e-4", "--window", "1s", "--duration", "500ms"], "nothing would ever count"),
            (&["--until-bound", "1e-4", "--window", "2s"], "windows of 1 s"),
            (&["--until-bound", "1e-4", "--window", "1s", "--strict"], "strict false"),
            (&["--until-bound", "1e-4", "--window", "1s", "--udp", "127.0.0.1:4048"], "sockets"),
        ] {
            let (code, _, said) = soaked(dir.path(), more);
            assert!(code == 2 && said.contains(why), "{why}: {said}");
            assert_eq!(fs::read_to_string(&state).unwrap(), whole, "{why}");
        }
        let held = fs::File::options().write(true).open(dir.path().join("wireproof-soak/lock")).unwrap();
        held.lock().unwrap();
        let (code, _, said) = soaked(dir.path(), &NEVER);
        assert!(code == 6 && said.contains("another process"), "{said}");
        held.unlock().unwrap();
        for damaged in
            ["", "{", "{\"schema\":\"wireproof.soak-state/1\"}", &whole.replacen("state/1", "state/9", 1)]
        {
            fs::write(&state, damaged).unwrap();
            let (code, _, said) = soaked(dir.path(), &NEVER);
            assert!(code == 7 && said.lines().last().unwrap().contains("give --soak"), "{damaged}: {said}");
        }
    });
}
