//! `observe --tui` in a pseudo terminal made by `script`: what it shows, how it ends, and that the terminal comes back;
//! and that `observe` without it writes plain lines where there is no terminal.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]
#![allow(dead_code, unused_imports, reason = "each test file uses its own part of the support")]

mod live_support;

use live_support::{PATIENCE, isolated, skipped};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Instant;

const EXE: &str = env!("CARGO_BIN_EXE_wireproof");
/// The other screen is entered, and left.
const ENTERS: &str = "\u{1b}[?1049h";
const LEAVES: &str = "\u{1b}[?1049l";

/// A program in a terminal of 80 columns and 24 lines.
struct InTerminal {
    child: Child,
    keys: ChildStdin,
    comes: Receiver<Vec<u8>>,
    seen: String,
}

impl InTerminal {
    /// Starts a line of shell; after it the exit code and the terminal's settings are said.
    fn start(folder: &Path, line: &str, variables: &[(&str, &str)]) -> InTerminal {
        let line = format!("stty rows 24 columns 80; {line}; echo CODE $?.; stty -a; echo OVER");
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).current_dir(folder).stdin(Stdio::piped());
        command.env_remove("NO_COLOR").env("TERM", "xterm").env("LANG", "C.UTF-8").env("HOME", folder);
        command.envs(variables.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (keys, mut out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (give, comes) = channel();
        thread::spawn(move || {
            let mut room = [0; 4096];
            while let Ok(n @ 1..) = out.read(&mut room) {
                let _ = give.send(room[..n].to_vec());
            }
        });
        InTerminal { child, keys, comes, seen: String::new() }
    }

    /// Waits until a text was written since the last time.
    fn until(&mut self, text: &str) -> &mut Self {
        let start = Instant::now();
        while !self.seen.contains(text) {
            let left = PATIENCE.saturating_sub(start.elapsed());
            let octets = self.comes.recv_timeout(left);
            let octets = octets.unwrap_or_else(|_| panic!("no {text:?} in {}", self.seen.escape_debug()));
            let _ = self.seen.write_str(&String::from_utf8_lossy(&octets));
        }
        self
    }

    fn press(&mut self, keys: &str) -> &mut Self {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
        self
    }

    /// Everything that was written until the program had ended and said its exit code.
    fn ended(mut self, code: &str) -> String {
        self.until("OVER\r\n");
        self.child.wait().unwrap();
        assert!(self.seen.contains(&format!("CODE {code}.")), "{}", self.seen);
        self.seen
    }
}

/// What follows the view: the terminal is itself again.
fn given_back(seen: &str) -> &str {
    let (_, in_view) = seen.split_once(ENTERS).expect("the view began");
    let (_, after) = in_view.split_once(LEAVES).expect("the view ended");
    for setting in ["icanon", "isig", "echo", "opost"] {
        assert!(after.split_whitespace().any(|word| word == setting), "{setting} in {after}");
    }
    assert!(after.contains("\u{1b}[?25h"), "the cursor is back: {after}");
    after
}

/// True when there is `script`; else what is missing is said.
fn has_script(test: &str) -> bool {
    let works = Command::new("script").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !works {
        skipped(test, "needs script (util-linux)");
    }
    works
}

/// Sends 200 frames of three universes, of which some datagrams are lost on purpose.
fn send() {
    let sent = Command::new(EXE)
        .args("send -q --protocol sacn --universes 1-3 --rate 100 --frames 200 --seed 7".split(' '))
        .args(["--fault", "drop=0.05", "-o", "sent.txt"])
        .current_dir(std::env::temp_dir())
        .status();
    assert!(sent.unwrap().success());
}

fn in_a_terminal(test: &str, body: impl FnOnce(&Path)) {
    if has_script(test) {
        isolated(test, || body(tempfile::tempdir().unwrap().path()));
    }
}

#[test]
fn a_planted_loss_is_seen_and_cut_out_and_q_ends_and_judges() {
    in_a_terminal("a_planted_loss_is_seen_and_cut_out_and_q_ends_and_judges", |folder| {
        let line = format!("{EXE} observe --udp 127.0.0.1:5568 --tui -w show.pcapng");
        let mut run = InTerminal::start(folder, &line, &[]);
        run.until("nothing");
        send();
        run.until("SEQ-LOST").press("\tgs").until("marked").press("q");
        let seen = run.ended("1");
        let after = given_back(&seen);
        assert!(after.contains("FAIL") && after.contains("STREAMS 3"), "{after}");
        // On a disturbed host the first finding may be about the observer, and no packet is evidence of that.
        assert!(after.contains("records written to") || after.contains("OBS-"), "{after}");
    });
}

#[test]
fn a_signal_ends_the_view_and_the_run_is_judged() {
    in_a_terminal("a_signal_ends_the_view_and_the_run_is_judged", |folder| {
        for signal in ["TERM", "INT", "QUIT"] {
            let inner = format!("echo $$ > pid; exec {EXE} observe --udp 127.0.0.1:5568 --tui");
            let mut run = InTerminal::start(folder, &format!("sh -c '{inner}'"), &[]);
            run.until("nothing");
            let pid = std::fs::read_to_string(folder.join("pid")).unwrap();
            assert!(
                Command::new("kill").args([&format!("-{signal}"), pid.trim()]).status().unwrap().success()
            );
            let seen = run.ended("0");
            assert!(given_back(&seen).contains("PASS"), "{signal}: {seen}");
        }
    });
}

#[test]
fn standard_output_is_free_for_data_and_ctrl_c_is_a_key() {
    in_a_terminal("standard_output_is_free_for_data_and_ctrl_c_is_a_key", |folder| {
        let line = format!("{EXE} observe --udp 127.0.0.1:5568 --tui --format json > run.json");
        let mut run = InTerminal::start(folder, &line, &[("NO_COLOR", "1")]);
        run.until("nothing").press("?").until("help").press("\u{3}");
        let seen = run.ended("0");
        given_back(&seen);
        // Colours are SGR 30 to 49 and 90 to 107; bold and reverse are none.
        let colors = ["\u{1b}[38;", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[36m"];
        assert!(colors.iter().all(|color| !seen.contains(color)), "{}", seen.escape_debug());
        let record = std::fs::read(folder.join("run.json")).unwrap();
        let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
        assert_eq!(record["verdict"], "pass");
    });
}

#[test]
fn a_terminal_that_cannot_be_drawn_on_is_refused_with_one_line() {
    in_a_terminal("a_terminal_that_cannot_be_drawn_on_is_refused_with_one_line", |folder| {
        let line = format!("{EXE} observe --udp 127.0.0.1:5568 --tui");
        let seen = InTerminal::start(folder, &line, &[("TERM", "dumb")]).ended("2");
        let lines: Vec<_> = seen.lines().filter(|line| line.contains("wireproof")).collect();
        assert_eq!(lines.len(), 1, "{seen}");
        assert!(lines[0].contains("TERM is \"dumb\"") && !seen.contains(ENTERS), "{seen}");
    });
}

#[test]
fn without_a_terminal_the_view_is_refused_with_one_line() {
    let output = Command::new(EXE)
        .args(["observe", "--tui", "--udp", "127.0.0.1:0"])
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len(), said.lines().count()), (Some(2), 0, 1), "{said}");
    assert!(said.starts_with("wireproof: --tui needs a terminal"), "{said}");
}

#[test]
fn without_a_terminal_observe_writes_lines_without_escape_codes() {
    isolated("without_a_terminal_observe_writes_lines_without_escape_codes", || {
        let folder = tempfile::tempdir().unwrap();
        let mut run = Command::new(EXE)
            .args(["observe", "--udp", "127.0.0.1:5568"])
            .env("TERM", "xterm")
            .env("HOME", folder.path())
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut said, mut octet) = (Vec::new(), [0]);
        let mut talk = run.stderr.take().unwrap();
        while !String::from_utf8_lossy(&said).contains("listening") {
            assert_eq!(talk.read(&mut octet).unwrap(), 1, "{}", String::from_utf8_lossy(&said));
            said.push(octet[0]);
        }
        send();
        assert!(Command::new("kill").args(["-INT", &run.id().to_string()]).status().unwrap().success());
        talk.read_to_end(&mut said).unwrap();
        let output = run.wait_with_output().unwrap();
        let all = [said, output.stdout].concat();
        let text = String::from_utf8_lossy(&all);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains("violation SEQ-LOST universe") && text.contains("FAIL"), "{text}");
        assert!(!text.contains('\u{1b}') && !text.contains('\r'), "{text}");
    });
}

#[test]
fn on_a_terminal_without_colours_the_plain_picture_has_none() {
    in_a_terminal("on_a_terminal_without_colours_the_plain_picture_has_none", |folder| {
        let line = format!("{EXE} observe --udp 127.0.0.1:5568 --duration 2s");
        let mut run = InTerminal::start(folder, &line, &[("NO_COLOR", "1")]);
        run.until("listening");
        send();
        let seen = run.ended("1");
        assert!(seen.contains("observer complete") && seen.contains("SEQ-LOST"), "{seen}");
        let colors = seen.split("\u{1b}[").skip(1).filter(|rest| {
            rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m')
        });
        assert_eq!(colors.count(), 0, "{}", seen.escape_debug());
    });
}
