//! A live capture on standard output, for the program behind the pipe; the summary is on standard error.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod cli_support;

use cli_support::{outcome, wireproof};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, UdpSocket};
use std::process::Stdio;
use wireproof::capture::read_stream;

/// Datagrams sent.
const SENT: usize = 40;

#[test]
fn a_capture_on_standard_output_is_whole_and_the_summary_is_on_standard_error() {
    let folder = tempfile::tempdir().unwrap();
    let port = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let mut observe = std::process::Command::new(env!("CARGO_BIN_EXE_wireproof"));
    observe.args(["observe", "-w", "-", "--duration", "1s", "--udp", &port.to_string()]);
    observe.env_clear().env("HOME", folder.path()).current_dir(folder.path());
    let mut observe = observe.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(observe.stderr.take().unwrap()).lines().map(Result::unwrap);
    lines.find(|line| line.contains("listening on")).expect("a line");
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    for _ in 0..SENT {
        sender.send_to(b"nobody's protocol", port).unwrap();
    }
    let said: Vec<String> = lines.collect();
    let output = observe.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{said:?}");
    assert!(said.iter().any(|line| line.starts_with("VERDICT ")), "{said:?}");
    let report = read_stream("-", &output.stdout[..], &mut |_| {}).unwrap();
    assert_eq!((report.packets, report.damaged), (SENT as u64, None));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no file is called -");
}

#[test]
fn what_cannot_be_beside_a_capture_on_standard_output_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let cases: [(&[&str], &str); 4] = [
        (&["-o", "-"], "both standard output"),
        (&["--rotate", "1MiB"], "--rotate begins files"),
        (&["--tui"], "--tui"),
        (&["--tape", "-"], "--tape"),
    ];
    for (more, words) in cases {
        let (code, out, err) = outcome(wireproof(folder.path()).args(["observe", "-w", "-"]).args(more));
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{more:?}: {err}");
        assert!(err.contains(words), "{more:?}: {err}");
    }
    let (code, _, err) = outcome(wireproof(folder.path()).args(["observe", "--tape", "-"]));
    assert_eq!((code, err.contains("--tape needs a file")), (2, true), "{err}");
}
