//! The evidence bundle of a run: a folder that is made once, grows file by file, and is sealed.
//!
//! The journal is the only truth. A file is written as `*.part`, synced, renamed and its folder synced before the journal
//! names it; a file that the journal does not name is an orphan. [`Writer`] makes and continues bundles, [`Bundle`] reads
//! them back and trusts nothing. Neither judges the device.

mod disk;
mod error;
mod journal_file;
mod layout;
mod lock;
mod read;
mod scan;
mod space;
mod writer;

pub use error::{BundleError, Damage};
pub use layout::{CANONICAL, JOURNAL, ORDER, PLAN, arm_folder, bundle_name};
pub use lock::{TargetLock, lock_folder};
pub use read::{ArmFiles, Bundle, Seal};
pub use scan::{Run, Runs, scan};
pub use space::{check_space, estimate, free_bytes};
pub use writer::{NewBundle, Writer};
