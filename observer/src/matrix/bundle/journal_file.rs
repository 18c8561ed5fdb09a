//! The journal on the disk: every record is written whole and synced before it counts.

use super::disk::{read_bounded, sync_folder};
use super::error::BundleError;
use super::layout::JOURNAL;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use wireproof_matrices::digest::Digest;
use wireproof_matrices::journal::{Chain, Journal, MAX_OCTETS, Record};

/// Room for the last records of a run, kept for the journal from its beginning so that a full disk does not take them.
#[cfg(target_os = "linux")]
const RESERVE: u64 = 256 << 10;

/// An open journal.
#[derive(Debug)]
pub(super) struct JournalFile {
    file: File,
    path: PathBuf,
    chain: Chain,
    whole_octets: u64,
    /// What a sync said: behind it nobody knows what is on the disk, and nothing more is written.
    broken: Option<String>,
}

impl JournalFile {
    /// Makes the journal of a bundle; file and folder are synced.
    pub(super) fn create(bundle: &Path, plan: Digest) -> Result<JournalFile, BundleError> {
        let path = bundle.join(JOURNAL);
        let file =
            OpenOptions::new().append(true).create_new(true).open(&path).map_err(BundleError::io(&path))?;
        reserve(&file);
        file.sync_all().map_err(BundleError::io(&path))?;
        sync_folder(bundle)?;
        Ok(JournalFile { file, path, chain: Chain::new(plan), whole_octets: 0, broken: None })
    }

    /// Opens the journal of a bundle to go on; a torn last line is cut off.
    pub(super) fn open(bundle: &Path, journal: &Journal) -> Result<JournalFile, BundleError> {
        let path = bundle.join(JOURNAL);
        let io = BundleError::io(&path);
        let opened = || {
            let file = OpenOptions::new().append(true).open(&path)?;
            file.set_len(journal.whole_octets)?;
            reserve(&file);
            file.sync_all()?;
            Ok(file)
        };
        let file = opened().map_err(io)?;
        let (chain, whole_octets) = (journal.chain, journal.whole_octets);
        Ok(JournalFile { file, path, chain, whole_octets, broken: None })
    }

    /// Appends a record and syncs. A record that could not be written leaves no trace, and the next may be tried.
    pub(super) fn append(&mut self, at_ns: i64, record: &Record) -> Result<(), BundleError> {
        if let Some(why) = &self.broken {
            return Err(BundleError::io(&self.path)(io::Error::other(why.clone())));
        }
        let line = self.chain.line(at_ns, record);
        let (line, next) = line.map_err(|e| BundleError::io(&self.path)(io::Error::other(e)))?;
        if let Err(error) = self.file.write_all(line.as_bytes()) {
            if self.file.set_len(self.whole_octets).is_err() {
                self.broken = Some(format!("a record was written half: {error}"));
            }
            return Err(BundleError::io(&self.path)(error));
        }
        self.file.sync_data().map_err(|error| {
            self.broken = Some(format!("a record may not be on the disk: {error}"));
            BundleError::io(&self.path)(error)
        })?;
        self.whole_octets += line.len() as u64;
        self.chain = next;
        Ok(())
    }
}

/// Reads the octets of the journal of a bundle.
pub(super) fn octets(bundle: &Path) -> Result<Vec<u8>, BundleError> {
    let path = bundle.join(JOURNAL);
    read_bounded(&path, MAX_OCTETS as u64).map_err(|error| BundleError::no_journal(bundle, &path, error))
}

/// Best effort: a file system that cannot do it has no reserve.
#[cfg(target_os = "linux")]
fn reserve(file: &File) {
    let len = file.metadata().map_or(0, |about| about.len());
    let _ = rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, len, RESERVE);
}

#[cfg(not(target_os = "linux"))]
fn reserve(_: &File) {}
