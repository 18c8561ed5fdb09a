//! The demo's device as a process, and the file of its ring.

use crate::cli::children::{Kept, LOOK, own_file};
use crate::cli::failure::Failure;
use crate::cli::memory::{self, MEMORY};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Longest that the device may take to be ready.
const PATIENCE: Duration = Duration::from_secs(10);

/// The ring's file, gone with this value.
#[derive(Debug)]
pub(super) struct RingFile {
    pub(super) path: PathBuf,
    pub(super) on_disk: bool,
}

impl RingFile {
    /// A name of this process, in memory where there is such a place.
    pub(super) fn new(out: &Path) -> RingFile {
        RingFile::named(out, "ring")
    }

    /// The same with another ending.
    pub(super) fn named(out: &Path, ending: &str) -> RingFile {
        let name = memory::own_name("demo", ending);
        memory::sweep(Path::new(MEMORY));
        let on_disk = !Path::new(MEMORY).is_dir();
        RingFile { path: if on_disk { out } else { Path::new(MEMORY) }.join(name), on_disk }
    }
}

impl Drop for RingFile {
    fn drop(&mut self) {
        memory::remove_ring(&self.path);
    }
}

/// Starts the device, with these options besides; it waits for [`Kept::go`].
pub(super) fn device(
    out: &Path,
    ring: &RingFile,
    frames: u64,
    seed: u64,
    more: &[&str],
) -> Result<Kept, Failure> {
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
    command.arg("--ring").arg(&ring.path).arg("-o").arg(out.join("device.json")).args(more);
    if ring.on_disk {
        command.arg("--ring-on-disk");
    }
    let mut device = Kept::start(command.stdout(Stdio::null()).stderr(log))?;
    let since = Instant::now();
    while !ring.path.exists() {
        let ended = device.ended();
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
