//! The command under test as a process: its talk line by line, signals to it, and what it leaves behind.

use super::PATIENCE;
use serde_json::Value;
use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A command that runs.
pub(crate) struct Observe {
    child: Child,
    talk: Arc<Mutex<String>>,
    readers: Option<(JoinHandle<()>, JoinHandle<String>)>,
}

impl Observe {
    /// Starts it and waits until it listens, or has ended.
    pub(crate) fn start(command: Command) -> Observe {
        let mut run = Observe::spawn(command);
        run.until("listening on");
        run
    }

    /// Starts it.
    pub(crate) fn spawn(mut command: Command) -> Observe {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let talk = Arc::new(Mutex::new(String::new()));
        let (errors, kept) = (child.stderr.take().unwrap(), Arc::clone(&talk));
        let listener = thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                let mut kept = kept.lock().unwrap();
                kept.push_str(&line);
                kept.push('\n');
            }
        });
        let mut out = child.stdout.take().unwrap();
        let data = thread::spawn(move || {
            let mut text = String::new();
            out.read_to_string(&mut text).unwrap();
            text
        });
        Observe { child, talk, readers: Some((listener, data)) }
    }

    /// What it said so far.
    pub(crate) fn talk(&self) -> String {
        self.talk.lock().unwrap().clone()
    }

    /// Waits until it has said this, or has ended.
    pub(crate) fn until(&mut self, text: &str) {
        let start = Instant::now();
        while !self.talk().contains(text) && self.child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < PATIENCE, "no {text:?} in\n{}", self.talk());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// True while it runs.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Sends a signal, such as `STOP`.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.id();
        let status = Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap();
        assert!(status.success(), "kill -{name} {id}\n{}", self.talk());
    }

    /// Its process id.
    pub(crate) fn id(&self) -> String {
        self.child.id().to_string()
    }

    /// Ctrl-C, and what it leaves behind.
    pub(crate) fn interrupt(self) -> Finished {
        self.signal("INT");
        self.end()
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Finished {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(start.elapsed() < PATIENCE, "no end of it:\n{}", self.talk());
            thread::sleep(Duration::from_millis(5));
        };
        let (listener, data) = self.readers.take().unwrap();
        listener.join().unwrap();
        let stdout = data.join().unwrap();
        let summary = serde_json::from_str(&stdout).unwrap_or(Value::Null);
        Finished { code: status.code(), summary, stdout, stderr: self.talk() }
    }
}

impl Drop for Observe {
    fn drop(&mut self) {
        if self.readers.is_some() {
            // SIGKILL ends a stopped process, too.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// What a command leaves behind.
pub(crate) struct Finished {
    /// Exit code; `None` after a signal.
    pub(crate) code: Option<i32>,
    /// Standard output as JSON; null when it is none.
    pub(crate) summary: Value,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

impl Finished {
    /// Runs a command to its end.
    pub(crate) fn of(command: Command) -> Finished {
        Observe::spawn(command).end()
    }

    /// The exit code is this one.
    #[track_caller]
    pub(crate) fn exits(&self, code: i32) {
        assert_eq!(self.code, Some(code), "{self}");
    }

    /// The last line of the talk, without the name of the program.
    pub(crate) fn last_line(&self) -> &str {
        let line = self.stderr.lines().last().unwrap_or_default();
        line.strip_prefix("wireproof: ").unwrap_or(line)
    }
}

impl fmt::Display for Finished {
    /// Everything a failed assertion needs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "exit code {:?}, {}: {}", self.code, self.summary["verdict"], self.summary["reason"])?;
        writeln!(f, "observer {}", self.summary["observer"])?;
        for s in self.summary["streams"].as_array().into_iter().flatten() {
            let of = |key: &str| s[key].to_string();
            writeln!(
                f,
                "{}/{} {} {} {} {}",
                of("protocol"),
                of("stream_id"),
                of("datagrams"),
                of("sequence"),
                of("frames"),
                of("owners")
            )?;
        }
        for found in self.summary["findings"].as_array().into_iter().flatten() {
            if found["severity"] != "info" {
                let of = |key: &str| found[key].to_string();
                writeln!(f, "{} {} {} {}", of("severity"), of("code"), of("tainted"), of("text"))?;
            }
        }
        writeln!(f, "--- standard error\n{}", self.stderr)
    }
}
