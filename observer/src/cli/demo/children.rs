//! The demo's processes: the device and the web service that hands out its ring. Whatever happens to this process,
//! they end: they watch a pipe that closes with it, and are killed when it ends in order.

use crate::cli::failure::Failure;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two looks.
const LOOK: Duration = Duration::from_millis(20);
/// Longest that a child may take to be ready, or to end.
const PATIENCE: Duration = Duration::from_secs(10);
/// Where a ring lies in memory.
const MEMORY: &str = "/dev/shm";

/// A child that does not outlive this value.
#[derive(Debug)]
pub(super) struct Kept {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Kept {
    fn start(command: &mut Command) -> Result<Kept, Failure> {
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
    pub(super) fn go(&mut self) -> io::Result<()> {
        match &mut self.stdin {
            Some(stdin) => stdin.write_all(b"go\n").and_then(|()| stdin.flush()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Waits for its end; asks for it once `hurry` is set.
    pub(super) fn wait(&mut self, hurry: &AtomicBool) -> io::Result<ExitStatus> {
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

/// The ring's file, gone with this value.
#[derive(Debug)]
pub(super) struct RingFile {
    path: PathBuf,
    pub(super) on_disk: bool,
}

impl RingFile {
    /// A name of this process, in memory where there is such a place.
    pub(super) fn new(out: &Path) -> RingFile {
        let name = format!("wireproof-demo-{}.ring", std::process::id());
        let on_disk = !Path::new(MEMORY).is_dir();
        RingFile { path: if on_disk { out } else { Path::new(MEMORY) }.join(name), on_disk }
    }
}

impl Drop for RingFile {
    fn drop(&mut self) {
        for ending in ["", ".prev", ".places", ".lock", ".new"] {
            let mut name = self.path.as_os_str().to_owned();
            name.push(ending);
            let _ = fs::remove_file(name);
        }
    }
}

/// Starts the device; it waits for [`Kept::go`].
pub(super) fn device(out: &Path, ring: &RingFile, frames: u64, seed: u64) -> Result<Kept, Failure> {
    let own = own_file()?;
    let log_path = out.join("device.log");
    let log = File::create(&log_path).map_err(|error| {
        Failure::io(&format!("{} cannot be written ({error})", log_path.display()), "give another --out")
    })?;
    let mut command = Command::new(own);
    command
        .args(["device", "--with-parent", "--format", "json", "--rate"])
        .arg(super::plan::RATE.to_string());
    command.arg("--frames").arg(frames.to_string()).arg("--seed").arg(seed.to_string());
    command.arg("--rig").arg(out.join("device.toml")).arg("--truth").arg(out.join("truth.jsonl"));
    command.arg("--ring").arg(&ring.path).arg("-o").arg(out.join("device.json"));
    if ring.on_disk {
        command.arg("--ring-on-disk");
    }
    let mut device = Kept::start(command.stdout(Stdio::null()).stderr(log))?;
    let since = Instant::now();
    while !ring.path.exists() {
        let ended = device.child.try_wait().ok().flatten();
        if ended.is_some() || since.elapsed() > PATIENCE {
            let mut said = String::new();
            let _ = File::open(&log_path).and_then(|log| log.take(4096).read_to_string(&mut said));
            let last = said.lines().last().unwrap_or("it said nothing").to_owned();
            return Err(Failure::io(&format!("the device did not start ({last})"), "see device.log"));
        }
        thread::sleep(LOOK);
    }
    Ok(device)
}

/// Starts the web service; its URL.
pub(super) fn service(ring: &RingFile) -> Result<(Kept, String), Failure> {
    let mut command = Command::new(own_file()?);
    command.arg("device-service").arg(&ring.path).arg("--with-parent");
    let mut service = Kept::start(command.stdout(Stdio::piped()).stderr(Stdio::null()))?;
    let mut url = String::new();
    let said = service.child.stdout.take().map(|out| BufReader::new(out).read_line(&mut url));
    match said {
        Some(Ok(1..)) => Ok((service, url.trim_end().to_owned())),
        _ => Err(Failure::io("the web service of the device did not start", "try again")),
    }
}

fn own_file() -> Result<OsString, Failure> {
    let own = std::env::current_exe().map(PathBuf::into_os_string);
    own.map_err(|error| Failure::io(&format!("this program's own file is not known ({error})"), "try again"))
}
