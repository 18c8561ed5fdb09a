//! Plans and locks as files, and the profiles and layouts that plans name: read with a limit, told apart, and refused with the exit code
//! of what is wrong.

use crate::cli::failure::{Failure, INTEGRITY};
use crate::infile;
use std::cell::RefCell;
use std::io::{self, Read};
use std::path::Path;
use wireproof_matrices::plan::profile::{BUILTIN, OWN};
use wireproof_matrices::plan::{Beside, Lock, LockError, MOST_LOCK, MOST_TEXT, shipped_layout};
use wireproof_protocols::layout::SHIPPED;

/// A plan that was read, with its hashes.
pub(super) struct Loaded {
    /// The plan and its hashes.
    pub(super) lock: Lock,
    /// True when it came from a lock.
    pub(super) frozen: bool,
    /// The text of its profile, of a plan that names a file.
    pub(super) profile: Option<String>,
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
        return Ok(Loaded { lock: Lock::read(text).map_err(refused)?, frozen: true, profile: None });
    }
    let refused = |error: LockError| Failure::usage(&name.to_string(), &error.to_string());
    let read = RefCell::new(None);
    let files = |what: Beside, file: &str| {
        let text = beside(path, what, file)?;
        if what == Beside::Profile {
            *read.borrow_mut() = Some(text.clone());
        }
        Ok(text)
    };
    let lock = Lock::freeze_with(text, &files).map_err(refused)?;
    Ok(Loaded { lock, frozen: false, profile: read.into_inner() })
}

/// The text of a profile or layout beside a plan: a path that is not absolute begins in the plan's folder. A layout may be one
/// that comes with the program.
pub(super) fn beside(plan: &Path, what: Beside, file: &str) -> Result<String, String> {
    if let Some(text) = shipped_layout(file).filter(|_| what == Beside::Layout) {
        return Ok(text.to_owned());
    }
    let folder = plan.parent().filter(|_| plan.as_os_str() != "-").unwrap_or(Path::new(""));
    let path = folder.join(file);
    let shown: String = path.display().to_string().chars().take(200).collect();
    let mut octets = Vec::new();
    let read = infile::open(&path).and_then(|file| file.take(MOST_TEXT as u64 + 1).read_to_end(&mut octets));
    read.map_err(|error| {
        let known: Vec<&str> = match what {
            Beside::Profile => BUILTIN.iter().map(|builtin| builtin.name).chain([OWN]).collect(),
            Beside::Layout => SHIPPED.iter().map(|shipped| shipped.name).collect(),
        };
        let why = error.to_string().to_lowercase();
        format!("is none of {} and {shown} cannot be read ({why})", known.join(", "))
    })?;
    String::from_utf8(octets).map_err(|_| format!("{shown} is no text"))
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
