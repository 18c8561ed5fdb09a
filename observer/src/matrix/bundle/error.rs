//! What can go wrong with a bundle, and the exit code it ends in.

use super::layout::JOURNAL;
use std::io;
use std::path::{Path, PathBuf};
use wireproof_matrices::resume::ResumeError;

/// A file that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {what}")]
pub struct Damage {
    /// Path in the bundle.
    pub path: String,
    /// What is wrong with it.
    pub what: String,
}

/// Why a bundle cannot be made, continued or trusted.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The file system said no.
    #[error("{}: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// A bundle of this second and plan is there.
    #[error("{}: exists, and a bundle is never reused: start again", .0.display())]
    Exists(PathBuf),
    /// Not enough room for what is to come.
    #[error(
        "{}: {free} octets free, {needed} needed ({min_free} of them must stay free): make room, or name another evidence.dir",
        folder.display()
    )]
    NoSpace {
        /// The folder of bundles.
        folder: PathBuf,
        /// Free, octets.
        free: u64,
        /// To be written and to stay free, octets.
        needed: u64,
        /// To stay free, octets.
        min_free: u64,
    },
    /// Another run works on the same device.
    #[error("another run works on {target}{by}: wait for its end")]
    Locked {
        /// The device.
        target: String,
        /// Who, if the lock says so: ` (process 12, /x)`.
        by: String,
    },
    /// Another process writes the bundle.
    #[error("{}: its run is still going on in another process: wait for its end; nothing was changed", .0.display())]
    Busy(PathBuf),
    /// A file was given in the place of a bundle.
    #[error("{} is a file, not a bundle: give the folder of a run", .0.display())]
    IsAFile(PathBuf),
    /// The folder holds no bundle.
    #[error("{}: not an evidence bundle, it holds no {what}", path.display())]
    NotABundle {
        /// The folder.
        path: PathBuf,
        /// What is missing.
        what: &'static str,
    },
    /// Files are not as they were written: every one of them.
    #[error("{}: {}", bundle.display(), .damages.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Damaged {
        /// The bundle.
        bundle: PathBuf,
        /// What is wrong, by path.
        damages: Vec<Damage>,
    },
    /// The run cannot go on.
    #[error(transparent)]
    Resume(#[from] ResumeError),
    /// A request that a bundle does not take, such as a path that leaves it.
    #[error("{path}: {why}")]
    Refused {
        /// What was asked for.
        path: String,
        /// Why not.
        why: String,
    },
}

impl BundleError {
    /// The process exit code: 6 for the environment, 7 for integrity, 2 for a run that cannot go on.
    pub fn exit_code(&self) -> u8 {
        match self {
            BundleError::Damaged { .. } | BundleError::Resume(ResumeError::Journal { .. }) => 7,
            BundleError::Resume(_) => 2,
            _ => 6,
        }
    }

    /// True when there is no room: the run stops, the device is restored, and what is there is sealed as PARTIAL.
    pub fn is_full(&self) -> bool {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        match self {
            BundleError::NoSpace { .. } => true,
            BundleError::Io { source, .. } => {
                matches!(source.kind(), StorageFull | QuotaExceeded | FileTooLarge)
            }
            _ => false,
        }
    }

    /// For `map_err`: the error of the file system at a path.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> BundleError {
        let path = path.to_owned();
        move |source| BundleError::Io { path, source }
    }

    /// The journal of a bundle cannot be opened.
    pub(super) fn no_journal(bundle: &Path, journal: &Path, error: io::Error) -> BundleError {
        match error.kind() {
            io::ErrorKind::NotFound => BundleError::NotABundle { path: bundle.to_owned(), what: JOURNAL },
            io::ErrorKind::NotADirectory => BundleError::IsAFile(bundle.to_owned()),
            _ => BundleError::io(journal)(error),
        }
    }

    pub(crate) fn damaged(bundle: &Path, path: &str, what: impl Into<String>) -> BundleError {
        let damage = Damage { path: path.to_owned(), what: what.into() };
        BundleError::Damaged { bundle: bundle.to_owned(), damages: vec![damage] }
    }
}
