//! Alerts of `observe`, with real commands and a real server: what they are told, that they never change a verdict, that
//! they end with their time, and that no secret is printed.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use wireproof::alert::{Alerter, Choice, Plan};
use wireproof::live::receive::Told;
use wireproof_protocols::verify::Account;
use wireproof_protocols::{Severity, Timestamp};
use wireproof_reports::{Alerts, Observer, Source, Summary};

const LONG: Duration = Duration::from_secs(30);

fn plan() -> Plan {
    Plan {
        exec: None,
        webhook: None,
        on: Choice::of(["violation", "verdict"]).unwrap(),
        every: LONG,
        most: 100,
        timeout: LONG,
        anonymize: false,
        filter: None,
    }
}

fn told(code: &'static str) -> Told {
    Told {
        code,
        severity: Severity::Violation,
        at: Timestamp(1_700_000_000_123_456_000),
        stream: "universe 7 of 10.0.0.5".to_owned(),
        text: "2 datagrams lost \u{1b}[31m\0".to_owned(),
        subject: None,
        place: None,
        waived: None,
    }
}

fn summary() -> Summary {
    Summary::new(&Account::default(), Source::default(), Observer::default())
}

/// An alert as it was handed over keeps to the shipped schema, which knows no other key.
fn conforms(json: &str) -> Value {
    let mut schema: Value = serde_json::from_str(wireproof_reports::ALERT_SCHEMA).unwrap();
    schema["additionalProperties"] = Value::Bool(false);
    let alert = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"));
    let validator = jsonschema::validator_for(&schema).unwrap();
    let problems: Vec<String> =
        validator.iter_errors(&alert).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(problems.is_empty(), "{problems:?}: {json}");
    alert
}

/// All of a command's runs append to `said`, input and variables.
fn script(folder: &Path) -> String {
    let said = folder.join("said");
    let body = format!(
        "cat >> '{0}'; printf '%s|%s|%s|%s\\n' \"$WIREPROOF_ALERT\" \"$WIREPROOF_CODE\" \"$WIREPROOF_TEXT\" \"$WIREPROOF_SUPPRESSED\" >> '{0}'",
        said.display()
    );
    fs::write(folder.join("tell.sh"), body).unwrap();
    format!("sh '{}'", folder.join("tell.sh").display())
}

fn with_command(command: &str) -> Plan {
    Plan { exec: Some(command.parse().unwrap()), ..plan() }
}

#[test]
fn a_command_is_told_on_its_input_and_in_its_environment() {
    let dir = tempfile::tempdir().unwrap();
    let mut alerter = Alerter::start(with_command(&script(dir.path()))).unwrap();
    alerter.found(&told("SEQ-LOST"));
    alerter.found(&told("SEQ-LOST"));
    alerter.found(&Told { severity: Severity::Warning, ..told("SEQ-LATE") });
    alerter.found(&Told { waived: Some("w1".to_owned()), ..told("FRAME-TORN") });
    let counts = alerter.finish(&summary());
    assert_eq!(counts, Alerts { delivered: 2, suppressed: 1, ..Alerts::default() });
    let said = fs::read_to_string(dir.path().join("said")).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    let finding = conforms(lines[0]);
    assert_eq!(
        (finding["schema"].as_str(), finding["code"].as_str()),
        (Some("wireproof.alert/1"), Some("SEQ-LOST"))
    );
    assert_eq!(
        (finding["severity"].as_str(), finding["at_ns"].as_i64()),
        (Some("violation"), Some(1_700_000_000_123_456_000))
    );
    assert_eq!(lines[1], "finding|SEQ-LOST|2 datagrams lost \\u{1b}[31m\\u{0}|0");
    let verdict = conforms(lines[2]);
    assert_eq!((verdict["verdict"].as_str(), verdict["suppressed"].as_u64()), (Some("pass"), Some(1)));
    assert!(lines[3].starts_with("verdict||no lighting datagrams"), "{said}");
}

#[test]
fn the_schema_refuses_what_is_no_alert() {
    let schema = serde_json::from_str(wireproof_reports::ALERT_SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let finding = r#"{"schema":"wireproof.alert/1","alert":"finding","at_ns":1,"code":"SEQ-LOST","severity":"violation","suppressed":0}"#;
    conforms(finding);
    for (from, to) in [
        ("alert/1", "alert/2"),
        ("\"alert\":\"finding\"", "\"alert\":\"verdict\""),
        ("\"severity\":\"violation\",", ""),
        ("violation", "fatal"),
        ("\"suppressed\":0", "\"suppressed\":-1"),
        ("\"suppressed\":0", "\"suppressed\":0,\"verdict\":\"pass\""),
    ] {
        let wrong = finding.replace(from, to);
        assert!(wrong != finding && !validator.is_valid(&serde_json::from_str(&wrong).unwrap()), "{wrong}");
    }
}

#[test]
fn a_command_that_fails_or_is_not_there_is_noted() {
    for (command, said) in [("sh -c 'exit 3' s3cret", "exit status: 3"), ("/none/such s3cret", "not started")]
    {
        let counts = Alerter::start(with_command(command)).unwrap().finish(&summary());
        assert_eq!((counts.delivered, counts.failed), (0, 1), "{counts:?}");
        assert!(counts.failures[0].contains(said) && !counts.failures[0].contains("s3cret"), "{counts:?}");
    }
}

#[test]
fn a_command_that_does_not_end_is_killed_with_all_that_it_started() {
    let dir = tempfile::tempdir().unwrap();
    // The grandchild holds the write end of a pipe that this test reads to its end: it comes when both are gone.
    let pipe = dir.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    let command = format!("sh -c 'exec 3> {0}; sleep 1000 & echo held >&3; wait'", pipe.display());
    let plan = Plan { timeout: Duration::from_secs(2), ..with_command(&command) };
    let counts = Alerter::start(plan).unwrap().finish(&summary());
    assert!(counts.failures[0].contains("not finished within 2s, killed"), "{counts:?}");
    assert_eq!(reader.join().unwrap(), "held\n");
}

#[test]
fn what_the_queue_cannot_hold_is_dropped_and_nobody_waits() {
    let dir = tempfile::tempdir().unwrap();
    let gate = dir.path().join("gate");
    assert!(Command::new("mkfifo").arg(&gate).status().unwrap().success());
    let plan = Plan {
        every: Duration::from_nanos(1),
        most: 10_000,
        on: Choice::of(["violation"]).unwrap(),
        ..with_command(&format!("sh -c 'cat {}'", gate.display()))
    };
    let mut alerter = Alerter::start(plan).unwrap();
    for _ in 0..200 {
        alerter.found(&told("SEQ-LOST"));
    }
    // Every command waits for the gate; an end of it that stays open for writing lets all of them see its close.
    let opener = thread::spawn(move || while fs::OpenOptions::new().write(true).open(&gate).is_ok() {});
    let counts = alerter.finish(&summary());
    assert_eq!(counts.delivered + counts.dropped + counts.suppressed + counts.failed, 200, "{counts:?}");
    assert!(counts.dropped >= 200 - 64 - 2 - counts.suppressed, "{counts:?}");
    drop(dir);
    drop(opener);
}

/// A server that answers each request with a status; it hands back heads and bodies.
fn server(statuses: Vec<u16>) -> (String, thread::JoinHandle<Vec<(String, String)>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serving = thread::spawn(move || {
        let mut seen = Vec::new();
        for status in statuses {
            let (mut peer, _) = listener.accept().unwrap();
            seen.push(request(&mut peer));
            write!(peer, "HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
        }
        seen
    });
    (address, serving)
}

fn request(peer: &mut TcpStream) -> (String, String) {
    let mut octets = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&octets).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|l| l.to_ascii_lowercase().strip_prefix("content-length: ").map(str::to_owned));
            if body.len() >= length.unwrap().parse::<usize>().unwrap() {
                return (head.to_owned(), body.to_owned());
            }
        }
        let n = peer.read(&mut piece).unwrap();
        assert!(n > 0, "the request broke off: {octets:?}");
        octets.extend(&piece[..n]);
    }
}

#[test]
fn a_hook_is_posted_json_with_basic_authentication() {
    let (address, serving) = server(vec![204, 500]);
    let url = format!("http://user:pass@{address}/hook/s3cret?token=t0ken");
    let mut alerter = Alerter::start(Plan { webhook: Some(url.parse().unwrap()), ..plan() }).unwrap();
    alerter.found(&told("SEQ-LOST"));
    let counts = alerter.finish(&summary());
    assert_eq!((counts.delivered, counts.failed), (1, 1), "{counts:?}");
    assert!(counts.failures[0].contains("status 500") && counts.failures[0].contains(&address), "{counts:?}");
    for secret in ["user", "pass", "s3cret", "t0ken"] {
        assert!(!counts.failures[0].contains(secret), "{counts:?}");
    }
    let seen = serving.join().unwrap();
    assert!(seen[0].0.starts_with("POST /hook/s3cret?token=t0ken HTTP/1.1\r\n"), "{seen:?}");
    let head = seen[0].0.to_ascii_lowercase();
    assert!(
        head.contains("authorization: basic dxnlcjpwyxnz") && head.contains("content-type: application/json"),
        "{head}"
    );
    let body = conforms(&seen[0].1);
    assert_eq!((body["alert"].as_str(), body["code"].as_str()), (Some("finding"), Some("SEQ-LOST")));
}

#[test]
fn a_hook_that_never_answers_ends_with_its_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let plan = Plan { webhook: Some(url.parse().unwrap()), timeout: Duration::from_millis(200), ..plan() };
    let counts = Alerter::start(plan).unwrap().finish(&summary());
    assert!(counts.failures[0].contains("not finished within 200ms"), "{counts:?}");
    drop(listener);
}

#[test]
fn anonymous_alerts_say_neither_where_nor_what() {
    let dir = tempfile::tempdir().unwrap();
    let mut alerter = Alerter::start(Plan { anonymize: true, ..with_command(&script(dir.path())) }).unwrap();
    alerter.found(&told("SEQ-LOST"));
    alerter.finish(&summary());
    let said = fs::read_to_string(dir.path().join("said")).unwrap();
    assert!(
        said.contains("SEQ-LOST") && !said.contains("10.0.0.5") && !said.contains("datagrams lost"),
        "{said}"
    );
}

fn observe(folder: &Path, arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_wireproof"))
        .args(["observe", "--format", "json"])
        .args(arguments)
        .env_clear()
        .env("HOME", folder)
        .env("PATH", std::env::var_os("PATH").unwrap())
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Sends ArtDmx of a version that is none until the run is over.
fn disturb(to: &str, run: &mut Child) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let began = Instant::now();
    let mut datagram = *b"Art-Net\0\0\x50\0\x0d\x01\0\0\0\0\x02\0\0";
    while run.try_wait().unwrap().is_none() && began.elapsed() < LONG {
        datagram[12] = datagram[12] % 255 + 1;
        let _ = socket.send_to(&datagram, to);
        thread::yield_now();
    }
}

#[test]
fn a_run_tells_its_findings_and_verdict_and_keeps_its_verdict_when_nobody_listens() {
    let dir = tempfile::tempdir().unwrap();
    let free = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = free.local_addr().unwrap().to_string();
    drop(free);
    let command = script(dir.path());
    let arguments = ["--udp", &to, "--duration", "1500ms", "--alert-on", "info,verdict", "--exec", &command];
    let hook = ["--webhook", "http://u:s3cret@127.0.0.1:9/t0ken", "--alert-timeout", "20s"];
    let mut run = observe(dir.path(), &[&arguments[..], &hook].concat());
    disturb(&to, &mut run);
    let output = run.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    let record: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {err}"));
    let said = fs::read_to_string(dir.path().join("said")).unwrap();
    let alerts: Vec<Value> = said.lines().filter(|line| line.starts_with('{')).map(conforms).collect();
    assert!(alerts.len() >= 2, "{said}");
    assert!(said.contains("\"alert\":\"verdict\""), "{said}");
    assert!(said.contains("\"alert\":\"finding\""), "{said}\n{record}");
    let told = &record["alerts"];
    assert_eq!(told["delivered"], told["failed"], "{told}");
    assert!(told["delivered"].as_u64().unwrap() >= 2, "{told}");
    let verdict = record["verdict"].as_str().unwrap();
    let code = ["pass", "fail", "", "inconclusive", "invalid"].iter().position(|word| *word == verdict);
    assert_eq!(output.status.code().map(|code| code as usize), code, "{verdict}");
    assert!(err.contains("alerts: ") && err.contains("webhook http://127.0.0.1:9/"), "{err}");
    for text in [err, record.to_string()] {
        assert!(!text.contains("s3cret") && !text.contains("t0ken"), "{text}");
    }
}

/// A run that sees ArtDmx of a version that is none, and is told of everything: what it said on standard error, what it
/// was told, and its record.
fn told_of(folder: &Path, more: &[&str]) -> (String, String, Value) {
    let free = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = free.local_addr().unwrap().to_string();
    drop(free);
    let command = script(folder);
    let arguments = ["--udp", &to, "--duration", "1500ms", "--alert-on", "info", "--exec", &command];
    let mut run = observe(folder, &[&arguments[..], more].concat());
    disturb(&to, &mut run);
    let output = run.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    let record = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {err}"));
    (err, fs::read_to_string(folder.join("said")).unwrap_or_default(), record)
}

#[test]
fn what_is_waived_or_left_out_is_no_alert_and_is_shown_as_the_record_has_it() {
    let dir = tempfile::tempdir().unwrap();
    let (err, said, plain) = told_of(dir.path(), &[]);
    let found = plain["findings"].as_array().unwrap().iter().find(|f| f["code"] == "ARTNET-A04").unwrap();
    let (code, severity) = ("ARTNET-A04", found["severity"].as_str().unwrap());
    assert!(err.contains(&format!("{severity} {code} ")) && said.contains(code), "{err}\n{said}");

    let dir = tempfile::tempdir().unwrap();
    let rig = format!(
        "[[waiver]]\ncode = \"{code}\"\nreason = \"ticket 17\"\nexpires = 2199-12-31\nwhere = \"protocol == artnet\"\nmax = 1000000000\n"
    );
    fs::write(dir.path().join("rig.toml"), rig).unwrap();
    let (err, said, waived) = told_of(dir.path(), &["--rig", "rig.toml"]);
    assert_eq!(waived["waivers"][0]["state"], "used", "{waived}");
    assert!(err.contains(&format!("waived by w1 {code} ")), "{err}");
    assert!(!err.contains(&format!("{severity} {code}")) && !said.contains(code), "{err}\n{said}");

    let dir = tempfile::tempdir().unwrap();
    let (err, said, left) = told_of(dir.path(), &["--where", "protocol == sacn"]);
    assert_eq!(left["filter"]["streams_left_out"], 1, "{left}");
    assert!(!err.contains("ARTNET-") && !said.contains("ARTNET-"), "{err}\n{said}");
}
