//! The capture that is measured: made for the run and removed after it, or given.

use super::options::Options;
use super::{Outcome, traffic};
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::NamedTempFile;

/// A second capture, for memory that must not depend on the size, has one datagram of so many.
const SMALLER: usize = 4;
/// Octets of a datagram in the file, on average, rounded up.
const OCTETS_EACH: u64 = 870;
/// Octets of memory that stay free beside the captures.
const SPARE: u64 = 1 << 30;

/// A capture, and what is in it.
pub(crate) struct Captured {
    given: Option<PathBuf>,
    made: Option<(NamedTempFile, NamedTempFile)>,
    /// Datagrams that were left out; `None` when the file was given.
    pub(crate) planted: Option<u64>,
    /// Octets.
    pub(crate) octets: u64,
}

impl Captured {
    /// Makes the capture and a smaller one, or takes the one given.
    pub(crate) fn make(options: &Options) -> Outcome<Captured> {
        if let Some(file) = &options.file {
            let octets = fs::metadata(file)?.len();
            return Ok(Captured { given: Some(file.clone()), made: None, planted: None, octets });
        }
        let need = options.datagrams as u64 * OCTETS_EACH * 5 / 4 + SPARE;
        let free = available().unwrap_or(u64::MAX);
        if free < need {
            return Err(format!("{} MB of memory are free, {} are needed", free >> 20, need >> 20).into());
        }
        let (small, _) = written(options, options.datagrams / SMALLER)?;
        let (large, planted) = written(options, options.datagrams)?;
        let octets = large.as_file().metadata()?.len();
        Ok(Captured { given: None, made: Some((small, large)), planted: Some(planted), octets })
    }

    /// The capture.
    pub(crate) fn path(&self) -> &Path {
        let made = self.made.as_ref().map(|(_, large)| large.path());
        made.or(self.given.as_deref()).unwrap_or(Path::new("-"))
    }

    /// Peak memory of a process that analyses the capture, octets.
    pub(crate) fn peak(&self) -> Outcome<Option<(u64, u64)>> {
        peak_over(self.path()).map(Some)
    }

    /// The same for the smaller one, where there is one.
    pub(crate) fn peak_of_small(&self) -> Outcome<Option<(u64, u64)>> {
        self.made.as_ref().map(|(small, _)| peak_over(small.path())).transpose()
    }
}

/// Octets of the file, and peak memory of a process that analyses it.
fn peak_over(path: &Path) -> Outcome<(u64, u64)> {
    let ran = Command::new(std::env::current_exe()?)
        .args(["--alone", "full analysis"])
        .arg(path)
        .arg("1")
        .output()?;
    let said = String::from_utf8(ran.stdout)?;
    Ok((fs::metadata(path)?.len(), said.trim().parse()?))
}

fn written(options: &Options, datagrams: usize) -> Outcome<(NamedTempFile, u64)> {
    let mut named = tempfile::Builder::new();
    let file = named.prefix("wireproof-bench-").suffix(".pcap").tempfile_in(&options.folder)?;
    let mut out = BufWriter::with_capacity(1 << 20, File::create(file.path())?);
    let (_, lost) = traffic::write(datagrams, options.universes, &mut out)?;
    Ok((file, lost))
}

/// Octets of memory that are free, as the kernel reckons.
fn available() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1_024)
}
