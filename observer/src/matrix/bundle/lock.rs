//! One run for each device, and one writer for each bundle, at a time: locks that the kernel releases with the process,
//! however it ends.
//!
//! Two names of one device are two locks; the device's own lease is what tells them apart.

use super::error::BundleError;
use super::layout::JOURNAL;
use crate::infile;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use wireproof_matrices::digest::Digest;

/// Most that is read of who holds a lock, octets.
const HOLDER: u64 = 300;
/// Longest path that is read from a note, octets.
const LONGEST_PATH: u64 = 4_096;

/// A held lock; dropping it releases it. Its file stays, because removing it would race with the next holder.
#[derive(Debug)]
pub struct TargetLock {
    _file: File,
}

/// The right to write a bundle: a lock on its journal, which nobody has to hold who only reads. Dropping it releases it.
#[derive(Debug)]
pub struct BundleLock {
    _file: File,
    dir: PathBuf,
}

impl BundleLock {
    /// Takes the lock of a bundle; nothing in it is changed.
    ///
    /// # Errors
    /// [`BundleError::Busy`] when another process writes it, [`BundleError::NotABundle`], or what the file system says.
    pub fn take(dir: &Path) -> Result<BundleLock, BundleError> {
        let path = dir.join(JOURNAL);
        let file = journal(&path).map_err(|error| BundleError::no_journal(dir, &path, error))?;
        match file.try_lock() {
            Ok(()) => Ok(BundleLock { _file: file, dir: dir.to_owned() }),
            Err(TryLockError::WouldBlock) => Err(BundleError::Busy(dir.to_owned())),
            Err(TryLockError::Error(error)) => Err(BundleError::io(&path)(error)),
        }
    }

    /// The bundle.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

/// Opens a journal: for writing where that may be, because some file systems give no other file such a lock.
fn journal(path: &Path) -> io::Result<File> {
    let whole = infile::open_regular(path)?;
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    Ok(options.open(path).unwrap_or(whole))
}

/// The folder of locks of this bench, the same for all its users and evidence folders.
pub fn lock_folder() -> PathBuf {
    std::env::temp_dir()
}

impl TargetLock {
    /// Takes the lock of a device, by its `base_url`; `holder` is told to whoever comes second.
    ///
    /// # Errors
    /// [`BundleError::Locked`] when another process holds it, or what the file system says.
    pub fn take(folder: &Path, base_url: &str, holder: &str) -> Result<TargetLock, BundleError> {
        let path = folder.join(format!("{}.lock", name(base_url)));
        let mut file = open(&path).map_err(BundleError::io(&path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(BundleError::Locked { target: base_url.to_owned(), by: held_by(&mut file) });
            }
            Err(TryLockError::Error(error)) => return Err(BundleError::io(&path)(error)),
        }
        // Who holds it is a courtesy: a file of another user can be locked and not written.
        let _ = file.set_len(0).and_then(|()| writeln!(file, "process {}, {holder}", std::process::id()));
        Ok(TargetLock { _file: file })
    }
}

/// The files of a device begin with this.
fn name(base_url: &str) -> String {
    format!("wireproof-{}", Digest::of(same(base_url).as_bytes()).short())
}

/// A note beside the lock of a device: which bundle knows what its factors stood at. It stands there while a run has
/// its hands on the device, and stays when the device was not put back. The journal of that bundle decides, not the note.
#[derive(Clone, Debug)]
pub struct ChangedNote(PathBuf);

impl ChangedNote {
    /// The note of a device, by its `base_url`, whether it is there or not.
    pub fn of(folder: &Path, base_url: &str) -> ChangedNote {
        ChangedNote(folder.join(format!("{}.changed", name(base_url))))
    }

    /// Names a bundle.
    ///
    /// # Errors
    /// What the file system says.
    pub fn write(&self, bundle: &Path) -> io::Result<()> {
        let whole = std::fs::canonicalize(bundle)?;
        let mut file = open_as(&self.0, OpenOptions::new().write(true).create(true))?;
        file.set_len(0)?;
        file.write_all(whole.as_os_str().as_encoded_bytes())?;
        file.sync_all()
    }

    /// The bundle that it names; `None` without a note.
    pub fn bundle(&self) -> Option<PathBuf> {
        let mut octets = Vec::new();
        let file = open_as(&self.0, OpenOptions::new().read(true)).ok()?;
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        file.take(LONGEST_PATH).read_to_end(&mut octets).ok()?;
        let path = PathBuf::from(String::from_utf8(octets).ok()?);
        path.is_absolute().then_some(path)
    }

    /// Takes the note away if it names this bundle.
    pub fn remove(&self, bundle: &Path) {
        if std::fs::canonicalize(bundle).ok().is_some_and(|whole| self.bundle() == Some(whole)) {
            // One that stays names a bundle whose journal says that all is well.
            let _ = std::fs::remove_file(&self.0);
        }
    }
}

/// Opens a lock file that nobody can have turned into a way to another file.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    match open_as(path, options.clone().append(true).create(true)) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => open_as(path, &mut options),
        other => other,
    }
}

/// Opens a file of a folder that others write in: no link is followed, and no pipe waited for.
fn open_as(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    }
    options.open(path)
}

fn held_by(file: &mut File) -> String {
    let mut octets = Vec::new();
    let read = io::Seek::rewind(file).and_then(|()| file.take(HOLDER).read_to_end(&mut octets));
    let text: String = String::from_utf8_lossy(&octets).chars().filter(|c| !c.is_control()).collect();
    if read.is_err() || text.is_empty() { String::new() } else { format!(" ({text})") }
}

/// The same address written in other ways: case of the host, a slash at the end, the port of the scheme.
pub(super) fn same(base_url: &str) -> String {
    let trimmed = base_url.trim().trim_end_matches('/');
    let (scheme, rest) = trimmed.split_once("://").unwrap_or(("http", trimmed));
    let (host, path) = rest.split_once('/').map_or((rest, ""), |(host, path)| (host, path));
    let scheme = scheme.to_ascii_lowercase();
    let host = host.to_ascii_lowercase();
    let port = if scheme == "https" { ":443" } else { ":80" };
    format!("{scheme}://{}/{path}", host.strip_suffix(port).unwrap_or(&host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_run_against_a_device_is_refused_and_told_who_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let first = TargetLock::take(folder.path(), "http://10.0.0.5", "bundle x").unwrap();
        let error = TargetLock::take(folder.path(), "HTTP://10.0.0.5:80/", "bundle y").unwrap_err();
        let expected = format!("(process {}, bundle x): wait for its end", std::process::id());
        assert!(error.to_string().ends_with(&expected), "{error}");
        assert_eq!(error.exit_code(), 6);
        TargetLock::take(folder.path(), "http://10.0.0.6", "another device").unwrap();
        drop(first);
        TargetLock::take(folder.path(), "http://10.0.0.5", "bundle y").unwrap();
    }

    #[test]
    fn addresses_written_in_other_ways_are_one_device() {
        let one = ["http://pi.local", "http://PI.local/", "HTTP://pi.local:80", "pi.local"];
        assert!(one.iter().all(|url| same(url) == "http://pi.local/"));
        let others = ["https://pi.local", "http://pi.local:8080", "http://pi.local/a"];
        assert!(others.iter().all(|url| same(url) != "http://pi.local/"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_a_lock_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let victim = folder.path().join("victim");
        std::fs::write(&victim, "keep").unwrap();
        let name = format!("wireproof-{}.lock", Digest::of(b"http://x/").short());
        std::os::unix::fs::symlink(&victim, folder.path().join(name)).unwrap();
        TargetLock::take(folder.path(), "http://x", "me").unwrap_err();
        assert_eq!(std::fs::read_to_string(victim).unwrap(), "keep");
    }
}
