//! Processes that this one starts of its own file. Whatever happens to it, they end: they watch a pipe that closes with
//! it, and are killed when it ends in order.

use super::failure::Failure;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two looks.
pub(in crate::cli) const LOOK: Duration = Duration::from_millis(20);
/// Longest that a child may take to end.
const PATIENCE: Duration = Duration::from_secs(10);
/// A child that does not outlive this value.
#[derive(Debug)]
pub(in crate::cli) struct Kept {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Kept {
    pub(in crate::cli) fn start(command: &mut Command) -> Result<Kept, Failure> {
        let mut child = command.stdin(Stdio::piped()).spawn().map_err(|error| {
            Failure::io(&format!("this program cannot start itself ({error})"), "check its file and rights")
        })?;
        let stdin = child.stdin.take();
        Ok(Kept { child, stdin })
    }

    /// Lets the device begin.
    ///
    /// # Errors
    /// It is gone.
    pub(in crate::cli) fn go(&mut self) -> io::Result<()> {
        match &mut self.stdin {
            Some(stdin) => stdin.write_all(b"go\n").and_then(|()| stdin.flush()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Its end, if it has ended.
    pub(in crate::cli) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits for its end; asks for it once `hurry` is set.
    pub(in crate::cli) fn wait(&mut self, hurry: &AtomicBool) -> io::Result<ExitStatus> {
        let mut asked: Option<Instant> = None;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            match asked {
                None if hurry.load(Ordering::Relaxed) => {
                    drop(self.stdin.take());
                    asked = Some(Instant::now());
                }
                Some(since) if since.elapsed() > PATIENCE => self.child.kill()?,
                _ => {}
            }
            thread::sleep(LOOK);
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // It may have ended already; there is nobody to tell.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts the web service of a ring; its URL.
pub(in crate::cli) fn service(ring: &Path, options: &[OsString]) -> Result<(Kept, String), Failure> {
    let mut command = Command::new(own_file()?);
    command.arg("device-service").arg(ring).arg("--with-parent").args(options);
    let mut service = Kept::start(command.stdout(Stdio::piped()))?;
    let mut url = String::new();
    let said = service.child.stdout.take().map(|out| BufReader::new(out).read_line(&mut url));
    match said {
        Some(Ok(1..)) => Ok((service, url.trim_end().to_owned())),
        _ => Err(Failure::io("the web service of the device did not start", "see the line before")),
    }
}

pub(in crate::cli) fn own_file() -> Result<OsString, Failure> {
    let own = std::env::current_exe().map(PathBuf::into_os_string);
    own.map_err(|error| Failure::io(&format!("this program's own file is not known ({error})"), "try again"))
}
