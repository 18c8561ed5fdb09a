//! The file of one download: written beside its final name, checksummed on the way, whole or absent.

use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

/// A file that is being written; dropped before [`PartFile::finish`] it is removed.
pub(super) struct PartFile {
    file: File,
    part: PathBuf,
    sha256: Sha256,
    bytes: u64,
    finished: bool,
}

impl PartFile {
    /// Begins `NAME.part` in the directory.
    pub(super) fn create(directory: &Path, name: &str) -> io::Result<Self> {
        let part = directory.join(format!("{name}.part"));
        let file = OpenOptions::new().write(true).create_new(true).open(&part)?;
        Ok(PartFile { file, part, sha256: Sha256::new(), bytes: 0, finished: false })
    }

    /// Adds octets.
    pub(super) fn write(&mut self, octets: &[u8]) -> io::Result<()> {
        self.file.write_all(octets)?;
        self.sha256.update(octets);
        self.bytes = self.bytes.saturating_add(octets.len() as u64);
        Ok(())
    }

    /// Throws away what is there: the body is coming from its start again.
    pub(super) fn start_over(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.sha256 = Sha256::new();
        self.bytes = 0;
        Ok(())
    }

    /// Octets so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Puts the file on the disk under its final name and returns its SHA-256 in hexadecimal.
    pub(super) fn finish(mut self) -> io::Result<String> {
        self.file.sync_all()?;
        fs::rename(&self.part, self.part.with_extension(""))?;
        self.finished = true;
        if let Some(Ok(folder)) = self.part.parent().map(File::open) {
            // Not every file system can do this for a folder; the file itself is safe.
            let _ = folder.sync_all();
        }
        let digest = std::mem::take(&mut self.sha256).finalize();
        Ok(digest.iter().map(|octet| format!("{octet:02x}")).collect())
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.finished {
            // The download has failed for another reason already.
            let _ = fs::remove_file(&self.part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_finished_file_has_its_name_and_checksum() {
        let dir = tempfile::tempdir().unwrap();
        let mut part = PartFile::create(dir.path(), "a.b.bin").unwrap();
        part.write(b"a").unwrap();
        part.write(b"bc").unwrap();
        assert_eq!((part.bytes(), names(dir.path())), (3, vec!["a.b.bin.part".to_owned()]));
        // FIPS 180-2, B.1.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(part.finish().unwrap(), expected);
        assert_eq!(names(dir.path()), ["a.b.bin"]);
        assert_eq!(fs::read(dir.path().join("a.b.bin")).unwrap(), b"abc");
    }

    #[test]
    fn a_file_that_starts_over_holds_nothing_of_before() {
        let dir = tempfile::tempdir().unwrap();
        let mut part = PartFile::create(dir.path(), "a.bin").unwrap();
        part.write(b"something else").unwrap();
        part.start_over().unwrap();
        part.write(b"abc").unwrap();
        assert_eq!(part.bytes(), 3);
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(part.finish().unwrap(), expected);
        assert_eq!(fs::read(dir.path().join("a.bin")).unwrap(), b"abc");
    }

    #[test]
    fn an_unfinished_file_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let mut part = PartFile::create(dir.path(), "a.bin").unwrap();
        part.write(b"half").unwrap();
        drop(part);
        assert_eq!(names(dir.path()), Vec::<String>::new());
    }

    #[test]
    fn a_file_that_is_being_written_is_not_written_twice() {
        let dir = tempfile::tempdir().unwrap();
        let _first = PartFile::create(dir.path(), "a.bin").unwrap();
        assert!(PartFile::create(dir.path(), "a.bin").is_err());
    }
}
