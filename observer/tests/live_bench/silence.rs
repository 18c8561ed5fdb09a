//! Passive unless asked: nothing is transmitted, groups are joined on request only and left behind clean; downloads
//! run beside the observation.

use super::{Bench, FAR, WIREPROOF};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

fn transmits_nothing(test: &str, source: &[&str]) {
    let Some(bench) = Bench::new(test) else { return };
    let before = (bench.transmitted(), bench.snmp("Icmp", "OutMsgs"));
    let run = bench.observe(source);
    bench.send(&["--ddp", "0", "--seconds", "1", "--bigpacket", "1"]);
    let live = run.interrupt();
    live.exits(0);
    assert!(live.sum("/datagrams") > 1_000, "{live}");
    assert_eq!((bench.transmitted(), bench.snmp("Icmp", "OutMsgs")), before, "{live}");
    assert_eq!(bench.snmp("Udp", "NoPorts"), 0, "{live}");
}

#[test]
fn sockets_transmit_nothing() {
    transmits_nothing("sockets_transmit_nothing", &[]);
}

#[test]
fn a_ring_transmits_nothing() {
    transmits_nothing("a_ring_transmits_nothing", &["-i", "near"]);
}

/// sACN groups (239.255.hi.lo, here in the order of this machine's memory) that the namespace has joined.
fn groups(bench: &Bench) -> usize {
    let big = |hex: &str| u32::from_str_radix(hex, 16).ok().map(|n| n.to_ne_bytes());
    let text = bench.read("/proc/net/igmp");
    let words =
        text.lines().filter(|line| line.starts_with('\t')).filter_map(|l| l.split_whitespace().next());
    words.filter_map(big).filter(|octets| octets[..2] == [239, 255]).count()
}

#[test]
fn as_many_groups_as_asked_for_are_joined_and_none_is_left() {
    let Some(bench) = Bench::new("as_many_groups_as_asked_for_are_joined_and_none_is_left") else { return };
    let run = bench.observe(&["--join", "1-64", "--join-on", "near"]);
    assert_eq!(groups(&bench), 64, "{}", run.talk());
    let live = run.interrupt();
    live.exits(0);
    assert_eq!(groups(&bench), 0, "{live}");
    assert!(live.stderr.contains("64 multicast groups joined on near"), "the budget is printed\n{live}");
}

/// A web server in the sender's namespace, as long as it lives.
struct Server(Child);

impl Server {
    fn start(bench: &Bench, folder: &str) -> Server {
        let mut command = bench.far("python3");
        command.args(["-u", "-m", "http.server", "8000", "--bind", FAR, "--directory", folder]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("Serving HTTP"), "{line}");
        Server(child)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn downloads_in_the_background_cost_no_datagram() {
    const OCTETS: usize = 6_300_000;
    let Some(bench) = Bench::new("downloads_in_the_background_cost_no_datagram") else { return };
    std::fs::create_dir(bench.path("served")).unwrap();
    std::fs::write(bench.path("served/tape.bin"), vec![0x5a; OCTETS]).unwrap();
    let _server = Server::start(&bench, "served");
    let url = format!("http://{FAR}:8000/tape.bin");
    let run = bench.observe(&["--drain", &url, "--drain-every", "400ms"]);
    let truth = bench.send(&["--ddp", "0", "--seconds", "2"]);
    let live = run.interrupt();
    live.exits(0);
    live.agrees_with(&truth);
    let drains = live.summary["drains"].as_array().unwrap();
    // Ctrl-C may have broken the last one off.
    let whole: Vec<_> = drains.iter().filter(|d| d["error"].is_null()).collect();
    assert!(whole.len() >= 3 && whole.len() + 1 >= drains.len(), "{}\n{live}", live.summary["drains"]);
    for drain in whole {
        let file = bench.path("drains").join(drain["file"].as_str().unwrap());
        let size = std::fs::metadata(file).unwrap().len();
        assert_eq!((drain["bytes"].as_u64(), size), (Some(OCTETS as u64), OCTETS as u64), "{live}");
    }
    assert!(live.stderr.contains("download 1: 6300000 octets"), "{live}");
}

#[test]
fn a_server_that_is_not_there_spoils_no_run() {
    let Some(bench) = Bench::new("a_server_that_is_not_there_spoils_no_run") else { return };
    let url = format!("http://{FAR}:8000/tape.bin");
    let run = bench.observe(&["--drain", &url, "--drain-every", "300ms"]);
    let truth = bench.send(&["--ddp", "0", "--seconds", "1"]);
    let live = run.interrupt();
    live.exits(0);
    live.agrees_with(&truth);
    let drains = live.summary["drains"].as_array().unwrap();
    assert!(drains.len() >= 2 && drains.iter().all(|d| d["error"].is_string()), "{live}");
}

/// A command as a user without any rights; `None` where that cannot be.
fn as_nobody(bench: &Bench, test: &str) -> Option<std::process::Command> {
    let command = || {
        let mut command = bench.near("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", WIREPROOF]);
        command
    };
    let able = command().arg("--version").output().is_ok_and(|output| output.status.success());
    if !able {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("SKIPPED {test}: nobody cannot run {WIREPROOF}\n"),
        );
    }
    able.then(command)
}

#[test]
fn without_the_right_to_capture_one_line_says_what_to_do() {
    let test = "without_the_right_to_capture_one_line_says_what_to_do";
    let Some(bench) = Bench::new(test) else { return };
    let Some(mut command) = as_nobody(&bench, test) else { return };
    command.args(["observe", "-i", "near", "--duration", "1s"]);
    let refused = super::Finished::of(command);
    refused.exits(6);
    assert_eq!(refused.stderr.lines().count(), 1, "{refused}");
    assert!(refused.stderr.contains("CAP_NET_RAW"), "{refused}");
}

#[test]
fn sockets_need_no_rights() {
    let test = "sockets_need_no_rights";
    let Some(bench) = Bench::new(test) else { return };
    let Some(mut command) = as_nobody(&bench, test) else { return };
    command.args(["observe", "--format", "json"]);
    let run = super::Observe::start(command);
    let truth = bench.send(&["--ddp", "0", "--seconds", "0.8"]);
    let live = run.interrupt();
    live.exits(0);
    live.agrees_with(&truth);
}
