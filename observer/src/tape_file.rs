//! Tape files: sealed blocks to disk, so that what was written stays readable whatever ends the writing.

use crate::outfile;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use wireproof_reports::tape::{Sealer, Totals};

/// Octets gathered before they are written.
const GATHERED: usize = 256 << 10;

/// A tape that is being written.
pub(crate) struct TapeFile {
    file: File,
    sealer: Sealer,
    begun: bool,
    buffer: Vec<u8>,
    written: u64,
}

impl TapeFile {
    /// Makes the file, empty as yet.
    ///
    /// # Errors
    /// What the file system says.
    pub(crate) fn create(path: &Path) -> io::Result<TapeFile> {
        let (file, buffer) = (outfile::create(path)?, Vec::with_capacity(2 * GATHERED));
        Ok(TapeFile { file, sealer: Sealer::default(), begun: false, buffer, written: 0 })
    }

    /// Writes the header once; `start_ns` is the start of the run or the first stamp.
    pub(crate) fn begin(&mut self, start_ns: i64) {
        if !self.begun {
            self.begun = true;
            self.buffer.extend_from_slice(&Sealer::header(start_ns));
        }
    }

    /// Takes whole records.
    ///
    /// # Errors
    /// When the disk takes no more; the file then ends with the last block that was written whole.
    pub(crate) fn write(&mut self, slots: &[u8]) -> io::Result<()> {
        self.sealer.seal(slots, &mut self.buffer);
        if self.buffer.len() >= GATHERED { self.flush() } else { Ok(()) }
    }

    /// Writes what was gathered.
    ///
    /// # Errors
    /// As [`TapeFile::write`].
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let outcome = self.file.write_all(&self.buffer);
        if outcome.is_ok() {
            self.written += self.buffer.len() as u64;
        } else {
            // Half a block at the end would be damage: back to the last whole write.
            let _ = self.file.set_len(self.written).and_then(|()| self.file.seek(SeekFrom::End(0)));
        }
        self.buffer.clear();
        outcome
    }

    /// Writes the end and waits until the disk has it.
    ///
    /// # Errors
    /// As [`TapeFile::write`].
    pub(crate) fn finish(mut self, totals: &Totals) -> io::Result<()> {
        self.begin(0);
        self.sealer.end(totals, &mut self.buffer);
        self.flush()?;
        match self.file.sync_all() {
            // Pipes and devices have no disk behind them.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            outcome => outcome,
        }
    }
}
