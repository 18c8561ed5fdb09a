//! How a run ends, by plan, by hand or by mishap: exit codes, one clear line, and records that stay readable.

use super::{Bench, Observe, WIREPROOF};
use std::path::PathBuf;
use std::time::{Duration, Instant};

const RING: [&str; 2] = ["-i", "near"];

#[test]
fn an_interface_that_goes_down_and_up_is_told_and_the_run_goes_on() {
    let test = "an_interface_that_goes_down_and_up_is_told_and_the_run_goes_on";
    let Some(bench) = Bench::new(test) else { return };
    let mut run = bench.observe(&[&RING[..], &["-w", "show.pcapng"]].concat());
    let sender = bench.sender(&["--ddp", "0", "--seconds", "2"]);
    bench.until_received(400);
    bench.ip_near("link set near down");
    run.until("OBS-LINK: near was down");
    bench.until_refused(200);
    bench.ip_near("link set near up");
    sender.done();
    assert!(run.is_running(), "{}", run.talk());
    let live = run.interrupt();
    assert_eq!(live.found("OBS-LINK").len(), 1, "{live}");
    let frames = live.number("sacn/1", "/datagrams");
    assert!(frames > 60 && frames < 120, "the run goes on\n{live}");
    assert!(live.stderr.contains("OBS-LINK: near was down"), "{live}");
    // A veth counts what it refuses while it is down, a network card need not: the observer's loss or nobody's, but
    // no verdict about the device.
    let code = live.code.unwrap();
    assert!([3, 4].contains(&code), "{live}");
    let file = bench.analyze(&[bench.path("show.pcapng")]);
    file.exits(code);
    assert_eq!(file.owners(), live.owners(), "{file}");
    live.equals(&file);
}

#[test]
fn an_interface_that_is_removed_ends_the_run_and_keeps_what_was_seen() {
    let test = "an_interface_that_is_removed_ends_the_run_and_keeps_what_was_seen";
    let Some(bench) = Bench::new(test) else { return };
    let run = bench.observe(&[&RING[..], &["-w", "show.pcapng"]].concat());
    let truth = bench.send(&["--ddp", "0", "--seconds", "0.8"]);
    bench.until_written("show.pcapng", truth.streams().iter().map(|s| truth.octets(s)).sum());
    bench.ip_near("link del near");
    let live = run.end();
    live.exits(6);
    assert!(live.last_line().contains("was removed"), "{live}");
    assert!(live.number("sacn/1", "/datagrams") >= 47, "{live}");
    let file = bench.analyze(&[bench.path("show.pcapng")]);
    file.exits(0);
    live.equals(&file);
}

#[test]
fn an_interface_that_is_down_at_first_is_heard_once_it_is_up() {
    let Some(bench) = Bench::new("an_interface_that_is_down_at_first_is_heard_once_it_is_up") else { return };
    bench.ip_near("link set near down");
    let mut run = bench.observe(&RING);
    run.until("OBS-LINK: near was down");
    bench.ip_near("link set near up");
    let truth = bench.send(&["--ddp", "0", "--seconds", "0.6"]);
    let live = run.interrupt();
    live.exits(0);
    assert!(live.sum("/datagrams") > truth.all_sent() / 2, "{live}");
    assert_eq!((live.found("OBS-LINK").len(), live.observer_lost()), (1, 0), "{live}");
}

#[test]
fn an_unknown_interface_is_one_line() {
    let Some(bench) = Bench::new("an_unknown_interface_is_one_line") else { return };
    let refused = bench.observed(&["-i", "eth99", "-w", "show.pcapng"]);
    refused.exits(6);
    assert_eq!(refused.stderr.lines().count(), 1, "{refused}");
    assert!(refused.stderr.contains("eth99") && refused.stderr.contains("near"), "{refused}");
    assert!(!bench.path("show.pcapng").exists(), "no file for a run that never was");
}

#[test]
fn a_port_in_use_is_one_line() {
    let Some(bench) = Bench::new("a_port_in_use_is_one_line") else { return };
    let first = bench.observe(&[]);
    let refused = bench.observed(&["--udp", "0.0.0.0:5568"]);
    refused.exits(6);
    assert_eq!(refused.stderr.lines().count(), 1, "{refused}");
    assert!(refused.stderr.contains("5568") && refused.stderr.contains("in use"), "{refused}");
    // A ring takes no port; it listens beside the program that has them.
    let ring = bench.observe(&RING);
    let truth = bench.send(&["--ddp", "0", "--seconds", "0.6"]);
    for live in [first.interrupt(), ring.interrupt()] {
        live.exits(0);
        live.agrees_with(&truth);
    }
}

#[test]
fn a_capture_file_that_cannot_be_made_is_one_line_before_the_run() {
    let Some(bench) = Bench::new("a_capture_file_that_cannot_be_made_is_one_line_before_the_run") else {
        return;
    };
    let refused = bench.observed(&["-w", "no/such/folder/show.pcapng", "--duration", "5s"]);
    refused.exits(6);
    assert_eq!(refused.stderr.lines().count(), 1, "{refused}");
    assert!(refused.last_line().contains("no/such/folder/show.pcapng"), "{refused}");
}

/// A run whose capture file is in a file system of one mebibyte; the file is brought out when the run is over.
#[test]
fn a_full_disk_ends_the_file_and_not_the_run() {
    let Some(bench) = Bench::new("a_full_disk_ends_the_file_and_not_the_run") else { return };
    std::fs::create_dir(bench.path("disk")).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=1m none disk || exit 77
        {WIREPROOF} observe --format json --duration 4s -w disk/show.pcapng; code=$?
        cp disk/show.pcapng show.pcapng; exit $code"
    );
    let mut command = bench.near("sh");
    command.args(["-c", &script]);
    let run = Observe::start(command);
    let truth = bench.send(&["--ddp", "0", "--bigpacket", "1", "--seconds", "1.6"]);
    let live = run.end();
    live.exits(6);
    live.agrees_with(&truth);
    assert!(live.last_line().contains("disk/show.pcapng: writing ended early"), "{live}");
    assert_eq!(live.found("OBS-RECORD").len(), 1, "{live}");
    let file = bench.analyze(&[bench.path("show.pcapng")]);
    assert_eq!(file.summary["source"]["damaged"], serde_json::Value::Null, "{file}");
    let kept = file.sum("/datagrams");
    assert!(kept > 400 && kept < live.sum("/datagrams"), "{kept}\n{file}");
    file.exits(0);
}

#[test]
fn a_device_that_is_full_is_told_like_a_disk() {
    let Some(bench) = Bench::new("a_device_that_is_full_is_told_like_a_disk") else { return };
    let run = bench.observe(&["-w", "/dev/full"]);
    let truth = bench.send(&["--ddp", "0", "--seconds", "0.6"]);
    let live = run.interrupt();
    live.exits(6);
    live.agrees_with(&truth);
    assert!(live.last_line().contains("/dev/full"), "{live}");
}

#[test]
fn a_file_that_keeps_nothing_is_no_failure() {
    let Some(bench) = Bench::new("a_file_that_keeps_nothing_is_no_failure") else { return };
    bench.observed(&["-w", "/dev/null", "--duration", "200ms"]).exits(0);
}

#[test]
fn a_planned_run_cut_short_is_partial() {
    let Some(bench) = Bench::new("a_planned_run_cut_short_is_partial") else { return };
    let run = bench.observe(&["--duration", "60s"]);
    let truth = bench.send(&["--ddp", "0", "--seconds", "0.5"]);
    let live = run.interrupt();
    live.exits(5);
    assert_eq!(live.summary["verdict"], "partial", "{live}");
    live.agrees_with(&truth);
}

#[test]
fn a_run_that_fails_fast_ends_at_the_first_violation_with_a_verdict() {
    let test = "a_run_that_fails_fast_ends_at_the_first_violation_with_a_verdict";
    let Some(bench) = Bench::new(test) else { return };
    let start = Instant::now();
    let run = bench.observe(&["--fail-fast", "--duration", "60s"]);
    let sender = bench.sender(&["--ddp", "0", "--seconds", "3", "--skip", "1", "--skip-until", "32"]);
    let live = run.end();
    live.exits(1);
    assert!(start.elapsed() < Duration::from_secs(15), "{live}");
    assert!(live.stderr.contains("violation SEQ-LOST"), "{live}");
    let truth = sender.done();
    assert!(live.sum("/datagrams") < truth.all_sent(), "{live}");
}

#[test]
fn rotated_files_are_together_the_whole_run() {
    let Some(bench) = Bench::new("rotated_files_are_together_the_whole_run") else { return };
    let run = bench.observe(&["-w", "show.pcapng", "--rotate", "500KiB"]);
    let truth = bench.send(&["--skip", "1", "--seed", "41"]);
    let live = run.interrupt();
    live.exits(1);
    live.agrees_with(&truth);
    let files: Vec<PathBuf> =
        (1..).map(|n| bench.path(&format!("show.{n:04}.pcapng"))).take_while(|file| file.exists()).collect();
    assert!(files.len() >= 3, "{files:?}\n{live}");
    let whole = bench.analyze(&files);
    whole.exits(1);
    live.equals(&whole);
    // Each is a capture of its own.
    let single = bench.analyze(&files[1..2]);
    assert_eq!(single.summary["source"]["damaged"], serde_json::Value::Null, "{single}");
}

#[test]
fn the_oldest_files_go_when_only_some_are_kept() {
    let Some(bench) = Bench::new("the_oldest_files_go_when_only_some_are_kept") else { return };
    let run = bench.observe(&["-w", "show.pcapng", "--rotate", "300KiB", "--keep", "2"]);
    bench.send(&["--ddp", "0", "--seconds", "1"]);
    run.interrupt().exits(0);
    let there = |n: u32| bench.path(&format!("show.{n:04}.pcapng")).exists();
    let last = (1..99).rev().find(|n| there(*n)).unwrap();
    assert!(last > 2 && there(last - 1) && !(1..last - 1).any(there), "{last}");
}

#[test]
fn talk_in_a_pipe_is_plain_lines_and_data_is_one_document() {
    let Some(bench) = Bench::new("talk_in_a_pipe_is_plain_lines_and_data_is_one_document") else { return };
    let run = bench.observe(&[]);
    bench.send(&["--ddp", "0", "--seconds", "2", "--skip", "1", "--skip-until", "32"]);
    let live = run.interrupt();
    live.exits(1);
    assert_eq!(live.summary["schema"], "wireproof.summary/1", "{live}");
    assert!(!live.stderr.contains(['\x1b', '\r']), "{live}");
    assert!(live.stderr.lines().any(|l| l.starts_with("violation SEQ-LOST universe ")), "{live}");
    let quiet = bench.observe_quietly();
    assert_eq!((quiet.code, quiet.stderr.as_str()), (Some(0), ""), "{quiet}");
}

#[test]
fn a_summary_goes_to_a_file_on_request_and_the_verdict_to_the_talk() {
    let Some(bench) = Bench::new("a_summary_goes_to_a_file_on_request_and_the_verdict_to_the_talk") else {
        return;
    };
    let run = bench.observed(&["-o", "summary.json", "--duration", "300ms"]);
    run.exits(0);
    assert_eq!(run.stdout, "", "{run}");
    let text = std::fs::read_to_string(bench.path("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(summary["verdict"], "pass");
    assert!(run.last_line().starts_with("PASS: "), "{run}");
}

#[test]
fn options_that_contradict_each_other_are_usage_errors() {
    let Some(bench) = Bench::new("options_that_contradict_each_other_are_usage_errors") else { return };
    let wrong: [&[&str]; 15] = [
        &["-w", "same", "-o", "same"],
        &["-w", "same", "-o", "./same"],
        &["--tape", "same", "-o", "same"],
        &["-w", "same", "--tape", "./same"],
        &["--udp", "0.0.0.0:5568", "-i", "near"],
        &["--join", "1-4", "-i", "near"],
        &["--join-on", "near"],
        &["--ports", "5568"],
        &["--no-promiscuous"],
        &["--rotate", "1MiB"],
        &["--keep", "3"],
        &["--drain-every", "1s"],
        &["--drain", "ftp://10.9.0.2/x"],
        &["--duration", "0s"],
        &["--realtime", "100"],
    ];
    for arguments in wrong {
        let refused = bench.observed(arguments);
        assert_eq!(refused.code, Some(2), "{arguments:?}\n{refused}");
        assert_eq!(refused.stderr.lines().count(), 1, "{arguments:?}\n{refused}");
    }
}
