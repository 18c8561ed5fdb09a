//! The evidence bundle of a run: a folder that is made once, grows file by file, and is sealed.
//!
//! The journal is the only truth. A file is written as `*.part`, synced, renamed and its folder synced before the journal
//! names it; a file that the journal does not name is an orphan. [`Writer`] makes and continues bundles, [`Bundle`] reads
//! them back and trusts nothing. Neither judges the device.

mod anonymize;
mod disk;
mod error;
mod journal_file;
mod layout;
mod lock;
mod read;
mod scan;
mod space;
mod tables;
mod writer;

pub use anonymize::{MASKED, Masked, Reports, anonymized};
pub use error::{BundleError, Damage};
pub use layout::{CANONICAL, JOURNAL, ORDER, PLAN, PROFILE, arm_folder, bundle_name};
pub use lock::{BundleLock, ChangedNote, TargetLock, lock_folder};
pub use read::{ArmFiles, Bundle, Seal};
pub use scan::{Run, Runs, left_changed, scan};
pub use space::{check_space, estimate, free_bytes, hold};
pub use tables::{Finding, Row, SummaryRow, TableError, read_rows, summary_rows, write_rows};
pub use tables::{read_drains, read_episodes, read_findings, read_frames, read_wire};
pub use tables::{write_drains, write_episodes, write_findings, write_frames, write_wire};
pub use writer::{NewBundle, Writer};
