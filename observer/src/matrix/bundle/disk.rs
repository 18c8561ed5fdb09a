//! Files that are whole or absent, and what lies in a folder. Everything is synced before it is named.

use super::error::BundleError;
use crate::infile;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use wireproof_matrices::digest::Digest;
use wireproof_matrices::journal::Stored;
use wireproof_matrices::manifest::MAX_FILES;

/// Behind the name of a file that is being written.
const PART: &str = ".part";
/// Deepest folder in a bundle.
const DEPTH: usize = 8;

/// Writes `path` below `root` through `body`.
pub(super) fn write_whole(
    root: &Path,
    path: &str,
    body: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<Stored, BundleError> {
    let stored = write_beside(root, path, body)?;
    name_part(root, path)?;
    Ok(stored)
}

/// Writes what is going to be `path` under the name that it has until then, synced.
pub(super) fn write_beside(
    root: &Path,
    path: &str,
    body: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<Stored, BundleError> {
    let (target, part) = places(root, path)?;
    let written = write_part(&part, body).map_err(BundleError::io(&part));
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&part);
    }
    let stored = written?;
    sync_folder(target.parent().unwrap_or(&target))?;
    Ok(stored)
}

/// Gives what [`write_beside`] wrote its name.
pub(super) fn name_part(root: &Path, path: &str) -> Result<(), BundleError> {
    let (target, part) = places(root, path)?;
    name(&part, &target)
}

/// The name of a file until it is whole.
pub(super) fn part_of(path: &str) -> String {
    format!("{path}{PART}")
}

/// Takes over a file that another thread wrote on the same file system.
pub(super) fn adopt(root: &Path, path: &str, from: &Path) -> Result<Stored, BundleError> {
    let (target, _) = places(root, path)?;
    let file = File::open(from).map_err(BundleError::io(from))?;
    file.sync_all().map_err(BundleError::io(from))?;
    let stored = hash(file).map_err(BundleError::io(from))?;
    name(from, &target)?;
    Ok(stored)
}

fn places(root: &Path, path: &str) -> Result<(PathBuf, PathBuf), BundleError> {
    let target = root.join(path);
    if let Some(folder) = target.parent() {
        make_folders(root, folder)?;
    }
    Ok((target, root.join(part_of(path))))
}

fn name(part: &Path, target: &Path) -> Result<(), BundleError> {
    fs::rename(part, target).map_err(BundleError::io(target))?;
    sync_folder(target.parent().unwrap_or(target))
}

fn write_part(part: &Path, body: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<Stored> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).open(part)?;
    let mut out = BufWriter::new(Hashing { out: file, hash: Sha256::new(), octets: 0 });
    body(&mut out)?;
    out.flush()?;
    let Hashing { out: file, hash, octets } = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    Ok(Stored { sha256: Digest::from_octets(hash.finalize().into()), octets })
}

/// Makes the folders between `root` and `folder`, each synced into the one above.
fn make_folders(root: &Path, folder: &Path) -> Result<(), BundleError> {
    if folder == root || folder.is_dir() {
        return Ok(());
    }
    let above = folder.parent().unwrap_or(root);
    make_folders(root, above)?;
    fs::create_dir(folder).map_err(BundleError::io(folder))?;
    sync_folder(above)
}

/// Makes a folder that was not there.
pub(super) fn make_new_folder(root: &Path, path: &str) -> Result<PathBuf, BundleError> {
    let folder = root.join(path);
    let above = folder.parent().unwrap_or(root);
    make_folders(root, above)?;
    fs::create_dir(&folder).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => BundleError::Exists(folder.clone()),
        _ => BundleError::io(&folder)(error),
    })?;
    sync_folder(above)?;
    Ok(folder)
}

/// Syncs every file of a folder, then gives it its name: path below `root` to what lies there.
pub(super) fn keep_folder(
    root: &Path,
    part: &str,
    path: &str,
) -> Result<BTreeMap<String, Stored>, BundleError> {
    let from = root.join(part);
    let mut kept = BTreeMap::new();
    for (file, at) in list(&from).map_err(BundleError::io(&from))? {
        let opened = File::open(&at).map_err(BundleError::io(&at))?;
        opened.sync_all().map_err(BundleError::io(&at))?;
        kept.insert(format!("{path}/{file}"), hash(opened).map_err(BundleError::io(&at))?);
        sync_folder(at.parent().unwrap_or(&from))?;
    }
    name(&from, &root.join(path))?;
    Ok(kept)
}

/// Makes the names in a folder as lasting as the files.
pub(super) fn sync_folder(folder: &Path) -> Result<(), BundleError> {
    let opened = File::open(folder).map_err(BundleError::io(folder))?;
    opened.sync_all().map_err(BundleError::io(folder))
}

/// Hash and length of a file.
pub(super) fn hash_file(path: &Path) -> io::Result<Stored> {
    hash(File::open(path)?)
}

fn hash(mut file: File) -> io::Result<Stored> {
    let mut sink = Hashing { out: io::sink(), hash: Sha256::new(), octets: 0 };
    io::copy(&mut file, &mut sink)?;
    Ok(Stored { sha256: Digest::from_octets(sink.hash.finalize().into()), octets: sink.octets })
}

/// Reads a regular file of at most `longest` octets.
pub(super) fn read_bounded(path: &Path, longest: u64) -> io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    infile::open_regular(path)?.take(longest.saturating_add(1)).read_to_end(&mut octets)?;
    if octets.len() as u64 > longest {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("over {longest} octets")));
    }
    Ok(octets)
}

/// Every file below a folder by its path with forward slashes. What is neither file nor folder is an error: opening it
/// could wait for ever or lead elsewhere.
pub(super) fn list(root: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
    let mut files = BTreeMap::new();
    walk(root, "", 0, &mut files)?;
    Ok(files)
}

fn walk(folder: &Path, prefix: &str, depth: usize, files: &mut BTreeMap<String, PathBuf>) -> io::Result<()> {
    let refuse = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    if depth > DEPTH || files.len() > MAX_FILES {
        return Err(refuse(format!("{prefix}: deeper or more files than a bundle has")));
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().ok_or_else(|| refuse(format!("{prefix}: a name that is not UTF-8")))?;
        let path = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() {
            walk(&entry.path(), &format!("{path}/"), depth + 1, files)?;
        } else if kind.is_file() {
            files.insert(path, entry.path());
        } else {
            return Err(refuse(format!("{path}: neither a file nor a folder")));
        }
    }
    Ok(())
}

/// Hashes what goes through it.
struct Hashing<W> {
    out: W,
    hash: Sha256,
    octets: u64,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let written = self.out.write(octets)?;
        self.hash.update(&octets[..written]);
        self.octets += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_under_its_name_or_absent() {
        let root = tempfile::tempdir().unwrap();
        let stored = write_whole(root.path(), "arms/x/a.csv", |out| out.write_all(b"abc")).unwrap();
        assert_eq!(stored, Stored { sha256: Digest::of(b"abc"), octets: 3 });
        assert_eq!(hash_file(&root.path().join("arms/x/a.csv")).unwrap(), stored);
        let full = |out: &mut dyn Write| {
            out.write_all(&[0; 100_000])?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        };
        let error = write_whole(root.path(), "arms/x/b.csv", full).unwrap_err();
        assert!(error.is_full() && error.exit_code() == 6, "{error}");
        let files: Vec<String> = list(root.path()).unwrap().into_keys().collect();
        assert_eq!(files, ["arms/x/a.csv"]);
    }

    #[test]
    fn a_file_of_another_thread_is_taken_over() {
        let root = tempfile::tempdir().unwrap();
        let from = root.path().join("ring.part");
        fs::write(&from, b"ring").unwrap();
        let stored = adopt(root.path(), "arms/a/ring.raw", &from).unwrap();
        assert_eq!(stored.sha256, Digest::of(b"ring"));
        assert!(!from.exists() && root.path().join("arms/a/ring.raw").exists());
    }

    #[test]
    fn a_folder_is_kept_with_all_of_its_files() {
        let root = tempfile::tempdir().unwrap();
        let folder = make_new_folder(root.path(), "arms/a.part").unwrap();
        assert!(matches!(make_new_folder(root.path(), "arms/a.part"), Err(BundleError::Exists(_))));
        fs::write(folder.join("x.csv"), b"x").unwrap();
        fs::write(folder.join("y.csv"), b"").unwrap();
        let kept = keep_folder(root.path(), "arms/a.part", "arms/a").unwrap();
        assert_eq!(kept.keys().collect::<Vec<_>>(), ["arms/a/x.csv", "arms/a/y.csv"]);
        assert_eq!(kept["arms/a/x.csv"], Stored { sha256: Digest::of(b"x"), octets: 1 });
        assert!(!folder.exists() && root.path().join("arms/a/x.csv").exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_or_a_pipe_is_not_followed() {
        let root = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/zero", root.path().join("zero")).unwrap();
        assert!(list(root.path()).unwrap_err().to_string().starts_with("zero: neither"));
    }

    #[test]
    fn a_file_over_the_bound_is_not_read_whole() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x");
        fs::write(&path, b"12345").unwrap();
        assert_eq!(read_bounded(&path, 5).unwrap(), b"12345");
        assert_eq!(read_bounded(&path, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
