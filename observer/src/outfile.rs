//! Output files that are whole or absent: written beside their final place, then renamed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Writes a file through `body`. A regular file appears only after everything went well; devices and pipes are
/// written in place.
///
/// # Errors
/// What `body` returns, or the file system's error made into `E`.
pub(crate) fn write<T, E: From<io::Error>>(
    path: &Path,
    body: impl FnOnce(&mut dyn Write) -> Result<T, E>,
) -> Result<T, E> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&target).is_ok_and(|about| !about.is_file() && !about.is_dir()) {
        return through(existing(&target)?, body);
    }
    let temporary = beside(&target)?;
    let file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
    let written = through(file, body).and_then(|value| Ok(fs::rename(&temporary, &target).map(|()| value)?));
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Makes a file, or opens what is there under its name, without waiting for a reader of a named pipe; `-` is standard
/// output.
///
/// # Errors
/// What the file system says; a named pipe that nobody reads is `NotConnected`, a file that another process writes is
/// `WouldBlock`, and stays as it is.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    if path.as_os_str() == "-" {
        return Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?));
    }
    match fs::metadata(path) {
        Ok(about) if !about.is_file() && !about.is_dir() => existing(path),
        _ => alone(path),
    }
}

/// True for a file that another process is writing; one that is not there is nobody's.
pub(crate) fn is_busy(path: &Path) -> bool {
    let about = fs::metadata(path);
    if !about.is_ok_and(|about| about.is_file()) {
        return false;
    }
    let open = OpenOptions::new().write(true).open(path);
    open.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

/// Makes a file, or empties the one that is there, unless somebody else is writing it. The kernel forgets the lock with
/// the file, however the process ends.
fn alone(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::new(io::ErrorKind::WouldBlock, "another process is writing it, give another name"))
        }
        // A file system without locks keeps nobody from measuring.
        Ok(()) | Err(TryLockError::Error(_)) => file.set_len(0).map(|()| file),
    }
}

/// Opens a device or a pipe. Opening a named pipe waits for its reader, deaf to signals that are caught.
fn existing(path: &Path) -> io::Result<File> {
    let open = OpenOptions::new().write(true).clone();
    #[cfg(unix)]
    let _reader_is_there = {
        use std::os::unix::fs::OpenOptionsExt;
        let probe = open.clone().custom_flags(libc::O_NONBLOCK).open(path);
        probe.map_err(|error| match error.raw_os_error() {
            Some(libc::ENXIO) => io::Error::new(
                io::ErrorKind::NotConnected,
                "a pipe that nobody reads, start its reader first",
            ),
            _ => error,
        })?
    };
    open.open(path)
}

fn through<T, E: From<io::Error>>(
    file: File,
    body: impl FnOnce(&mut dyn Write) -> Result<T, E>,
) -> Result<T, E> {
    let mut out = BufWriter::new(file);
    let value = body(&mut out)?;
    out.flush()?;
    Ok(value)
}

fn beside(target: &Path) -> io::Result<PathBuf> {
    let name = target.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))?;
    if target.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let temporary = format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id());
    Ok(target.with_file_name(temporary))
}

/// True when both paths name the same existing file.
pub(crate) fn same_file(a: &Path, b: &Path) -> bool {
    match (fs::canonicalize(a), fs::canonicalize(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_failed_body_leaves_the_old_file_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        fs::write(&path, "old").unwrap();
        let failed: io::Result<()> = write(&path, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("stop"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(names(dir.path()), ["out"]);
    }

    #[test]
    fn a_finished_body_replaces_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        fs::write(&path, "old").unwrap();
        write(&path, |out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(dir.path()), ["out"]);
    }

    #[test]
    fn a_file_that_is_being_written_is_refused_and_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        fs::write(&path, "old").unwrap();
        assert!(!is_busy(&path) && !is_busy(&dir.path().join("none")));
        let mut first = create(&path).unwrap();
        first.write_all(b"first").unwrap();
        assert!(is_busy(&path));
        assert_eq!(create(&path).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        drop(first);
        drop(create(&path).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "");
    }

    #[test]
    fn a_directory_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(write(dir.path(), |out| out.write_all(b"x")).is_err());
    }
}
