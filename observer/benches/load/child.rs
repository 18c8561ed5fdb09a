//! Processes made of this program itself: a role and its arguments, lines of `word value…` back, a line to go on.

use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A running process; it is ended when dropped.
pub(crate) struct Role {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

/// What a process said: the first word of a line, and the rest of it.
pub(crate) type Said = HashMap<String, String>;

impl Role {
    /// Starts this program in the role `role`, in a network namespace unless that is empty.
    pub(crate) fn start(namespace: &str, role: &str, arguments: &[String]) -> Result<Self, Box<dyn Error>> {
        let exe = std::env::current_exe()?;
        let mut command = Command::new(if namespace.is_empty() { exe.as_os_str() } else { "ip".as_ref() });
        if !namespace.is_empty() {
            command.args(["netns", "exec", namespace]).arg(exe);
        }
        command.arg(role).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let stdout = child.stdout.take().ok_or("no output")?;
        Ok(Role { stdin: child.stdin.take(), stdout: BufReader::new(stdout), child })
    }

    /// Waits for one line.
    pub(crate) fn line(&mut self) -> Result<String, Box<dyn Error>> {
        let mut line = String::new();
        match self.stdout.read_line(&mut line)? {
            0 => Err("a process of the bench ended too early".into()),
            _ => Ok(line.trim().to_owned()),
        }
    }

    /// Says that it may go on.
    pub(crate) fn go(&mut self) -> std::io::Result<()> {
        self.stdin.as_mut().map_or(Ok(()), |stdin| stdin.write_all(b"go\n"))
    }

    /// Closes its input and takes everything it still says.
    pub(crate) fn end(mut self) -> Result<Said, Box<dyn Error>> {
        drop(self.stdin.take());
        let mut said = Said::new();
        for line in self.stdout.by_ref().lines() {
            let line = line?;
            let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
            said.insert(word.to_owned(), rest.to_owned());
        }
        let status = self.child.wait()?;
        if status.success() {
            Ok(said)
        } else {
            Err(format!("a process of the bench failed: {status}").into())
        }
    }
}

use std::io::Read as _;

impl Drop for Role {
    fn drop(&mut self) {
        // One that has ended is not there any more, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A number out of what was said; 0 when it was not.
pub(crate) fn number(said: &Said, word: &str) -> u64 {
    said.get(word).and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Waits in a child until its parent says go on, or closes its input.
pub(crate) fn wait_for_parent() {
    // Whatever ends the wait, the parent wants it to end.
    let _ = std::io::stdin().lock().read_line(&mut String::new());
}
