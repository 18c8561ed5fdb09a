//! Ring files: created whole and in memory, locked by their one writer, mapped. The former ring is kept as `.prev`.
//! Never follows a link, never maps a file that somebody else may cut short.

use crate::header::Identity;
use crate::layout::{MAGIC, STATE, file_bytes, state};
use crate::words::{ReadWords, WriteWords};
use crate::writer::{self, Writer, WriterError};
use memmap2::MmapOptions;
use rustix::fs::{FallocateFlags, OFlags, fallocate, statfs};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// `f_type` of tmpfs and of ramfs.
const MEMORY_FILE_SYSTEMS: [u64; 2] = [0x0102_1994, 0x8584_58F6];
/// Owner reads and writes, the group reads.
const MODE: u32 = 0o640;

/// How a ring file is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Records it holds, a power of two.
    pub capacity: u64,
    /// First generation, even; wall seconds << 1.
    pub generation: u64,
    /// Also on a file system that is not memory, where writeback holds the writer up.
    pub any_file_system: bool,
    /// Pin its pages; without the right to, it goes on without.
    pub lock_memory: bool,
}

/// Why there is no ring file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system says no.
    #[error("{path}: {error}")]
    Io {
        /// What it was about.
        path: PathBuf,
        /// What it says.
        error: io::Error,
    },
    /// Another writer holds the ring.
    #[error("{0}: another writer holds this ring")]
    Held(PathBuf),
    /// The folder lies on a disk.
    #[error(
        "{0}: not on a file system in memory, where a writer is never held up: use one below the run folder"
    )]
    Disk(PathBuf),
    /// The name is taken by something else.
    #[error("{0}: exists and is not a ring")]
    NotARing(PathBuf),
    /// Capacity or generation cannot be used.
    #[error("{0}")]
    Writer(#[from] WriterError),
}

/// A ring file and the right to write it, given back when dropped or when the process dies.
#[derive(Debug)]
pub struct RingFile {
    /// The writer.
    pub writer: Writer<WriteWords>,
    /// Its pages are pinned.
    pub memory_locked: bool,
    _lock: File,
}

/// Creates a ring under a temporary name and puts it in place; a former ring stays as `<path>.prev`.
///
/// # Errors
/// Another writer is at work, the place is no place for a ring, or the system refuses.
pub fn create(path: &Path, identity: &Identity, options: &Options) -> Result<RingFile, FileError> {
    writer::check(options.capacity)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !options.any_file_system && !in_memory(folder)? {
        return Err(FileError::Disk(folder.to_owned()));
    }
    let lock = hold(path)?;
    let temporary = beside(path, ".new");
    let words = map_new(&temporary, file_bytes(options.capacity))?;
    let memory_locked = options.lock_memory && words.lock().is_ok();
    let writer = Writer::start(words, identity, options.capacity, options.generation)?;
    supersede(path)?;
    fs::rename(&temporary, path).map_err(|error| io_error(path, error))?;
    Ok(RingFile { writer, memory_locked, _lock: lock })
}

/// Maps a ring for reading. Only for rings whose writer is trusted not to cut them short: cut short, a mapping ends
/// in SIGBUS. [`crate::snapshot::Pread`] reads any.
///
/// # Errors
/// Whatever the system says.
pub fn map(path: &Path) -> Result<ReadWords, FileError> {
    let file = open(path)?;
    let map = MmapOptions::new().map_raw_read_only(&file).map_err(|error| io_error(path, error))?;
    Ok(ReadWords::new(map))
}

/// Opens a ring for [`crate::snapshot::Pread`]; a link is not followed.
///
/// # Errors
/// Whatever the system says.
pub fn open(path: &Path) -> Result<File, FileError> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(OFlags::NOFOLLOW.bits() as i32);
    options.open(path).map_err(|error| io_error(path, error))
}

/// This process as the writer of a ring: boot id, process id and start.
pub fn this_process(identity: Identity) -> Identity {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: String = boot.chars().filter(char::is_ascii_hexdigit).collect();
    let octet = |index: usize| {
        let pair = digits.get(2 * index..2 * index + 2).unwrap_or("0");
        u8::from_str_radix(pair, 16).unwrap_or_default()
    };
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in field 2 may hold blanks; field 22 is the 20th behind its bracket.
    let start = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(19));
    Identity {
        boot_id: std::array::from_fn(octet),
        pid: std::process::id(),
        uid: rustix::process::getuid().as_raw(),
        process_start: start.and_then(|ticks| ticks.parse().ok()).unwrap_or_default(),
        ..identity
    }
}

fn io_error(path: &Path, error: impl Into<io::Error>) -> FileError {
    FileError::Io { path: path.to_owned(), error: error.into() }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

fn in_memory(folder: &Path) -> Result<bool, FileError> {
    let stat = statfs(folder).map_err(|error| io_error(folder, error))?;
    Ok(MEMORY_FILE_SYSTEMS.contains(&(stat.f_type as u64)))
}

/// Takes the lock of the ring's one writer; the system frees it when the process dies.
fn hold(path: &Path) -> Result<File, FileError> {
    let path = beside(path, ".lock");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(MODE).custom_flags(OFlags::NOFOLLOW.bits() as i32);
    let file = options.open(&path).map_err(|error| io_error(&path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(FileError::Held(path)),
        Err(TryLockError::Error(error)) => Err(io_error(&path, error)),
    }
}

/// A file of this size whose memory is there: a full tmpfs says so here, not by SIGBUS at the first touch.
fn map_new(path: &Path, octets: u64) -> Result<WriteWords, FileError> {
    let failed = |error: io::Error| io_error(path, error);
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(MODE);
    let file = options.open(path).map_err(failed)?;
    fallocate(&file, FallocateFlags::empty(), 0, octets).map_err(|error| failed(error.into()))?;
    Ok(WriteWords::new(MmapOptions::new().populate().map_raw(&file).map_err(failed)?))
}

/// Keeps the ring that has the name as `.prev` and tells its readers.
fn supersede(path: &Path) -> Result<(), FileError> {
    let failed = |error: io::Error| io_error(path, error);
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(OFlags::NOFOLLOW.bits() as i32);
    let former = match options.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    let mut magic = [0; 8];
    let read = former.read_exact_at(&mut magic, 0);
    if read.is_err() || magic != MAGIC {
        return Err(FileError::NotARing(path.to_owned()));
    }
    former.write_all_at(&state::SUPERSEDED.to_le_bytes(), STATE as u64).map_err(failed)?;
    let kept = beside(path, ".prev");
    match fs::remove_file(&kept) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    fs::hard_link(path, &kept).map_err(failed)
}

impl Drop for RingFile {
    fn drop(&mut self) {
        self.writer.close();
    }
}
