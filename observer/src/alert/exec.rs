//! A command started for an alert: the alert as JSON on its standard input and as variables in its environment. It has a
//! process group of its own, which is killed when its time is over.

use super::Message;
use super::words::split;
use crossbeam_channel::{RecvTimeoutError, bounded};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::fmt;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{self, Child, Stdio};
use std::str::FromStr;
use std::thread;
use std::time::Duration;

/// Program and arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    program: String,
    arguments: Vec<String>,
}

impl FromStr for Command {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Command, &'static str> {
        let mut words = split(text)?.into_iter();
        let program = words.next().ok_or("there is no program in it")?;
        Ok(Command { program, arguments: words.collect() })
    }
}

/// The program alone: what is given to it may be a secret.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.program)?;
        f.write_str(if self.arguments.is_empty() { "" } else { " …" })
    }
}

impl Command {
    /// Runs it for one alert.
    ///
    /// # Errors
    /// A sentence that names the program and no argument, which may be a secret.
    pub(super) fn run(&self, message: &Message, timeout: Duration) -> Result<(), String> {
        let failed = |what: String| format!("exec {}: {what}", self.program);
        let mut command = process::Command::new(&self.program);
        command.args(&self.arguments).envs(message.variables()).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| failed(format!("not started ({error})")))?;
        if let Some(mut stdin) = child.stdin.take() {
            let json = message.json();
            // A pipe may hold less than an alert, and who does not read it, need not: the write ends with the reader.
            let body = move || drop(stdin.write_all(json.as_bytes()));
            drop(thread::Builder::new().name("alert-write".to_owned()).spawn(body));
        }
        if !ends_within(&child, timeout) {
            kill(&child);
            let _ = child.wait();
            return Err(failed(format!("not finished within {timeout:?}, killed")));
        }
        match child.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(failed(status.to_string())),
            Err(error) => Err(failed(error.to_string())),
        }
    }
}

/// Waits for the end of a process without taking its status, so that its number stays its own until it is killed.
fn ends_within(child: &Child, timeout: Duration) -> bool {
    let Some(pid) = pid(child) else { return true };
    let (tell, told) = bounded(1);
    let body = move || {
        let ended = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        let _ = tell.send(ended.is_ok());
    };
    match thread::Builder::new().name("alert-wait".to_owned()).spawn(body) {
        Ok(_) => told.recv_timeout(timeout) != Err(RecvTimeoutError::Timeout),
        Err(_) => false,
    }
}

fn kill(child: &Child) {
    if let Some(pid) = pid(child) {
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

fn pid(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}
