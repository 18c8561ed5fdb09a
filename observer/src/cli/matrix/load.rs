//! Plans and locks as files: read with a limit, told apart, and refused with the exit code of what is wrong.

use crate::cli::failure::{Failure, INTEGRITY};
use crate::infile;
use std::io::{self, Read};
use std::path::Path;
use wireproof_matrices::plan::{Lock, LockError, MOST_LOCK};

/// A plan that was read, with its hashes.
pub(super) struct Loaded {
    /// The plan and its hashes.
    pub(super) lock: Lock,
    /// True when it came from a lock.
    pub(super) frozen: bool,
}

/// Reads a plan or a lock.
pub(super) fn load(path: &Path) -> Result<Loaded, Failure> {
    of(path, &text(path)?)
}

/// The plan or lock of a text that was read from a file.
pub(super) fn of(path: &Path, text: &str) -> Result<Loaded, Failure> {
    let name = path.display();
    if Lock::meant(text) {
        let refused = |error: LockError| Failure::Said { code: INTEGRITY, text: format!("{name}: {error}") };
        return Ok(Loaded { lock: Lock::read(text).map_err(refused)?, frozen: true });
    }
    let refused = |error: LockError| Failure::usage(&name.to_string(), &error.to_string());
    Ok(Loaded { lock: Lock::freeze(text).map_err(refused)?, frozen: false })
}

/// The text of a file, or of standard input for `-`.
pub(super) fn text(path: &Path) -> Result<String, Failure> {
    let name = path.display();
    let mut octets = Vec::new();
    let most = MOST_LOCK as u64 + 1;
    let read = match path.as_os_str() == "-" {
        true => io::stdin().lock().take(most).read_to_end(&mut octets),
        false => infile::open(path).and_then(|file| file.take(most).read_to_end(&mut octets)),
    };
    if let Err(error) = read {
        let what = format!("{name} cannot be read ({})", error.to_string().to_lowercase());
        return Err(Failure::io(&what, "give the path of a plan, `wireproof matrix init` writes one"));
    }
    String::from_utf8(octets)
        .map_err(|_| Failure::usage(&format!("{name} is no text"), "give a plan or a lock"))
}
