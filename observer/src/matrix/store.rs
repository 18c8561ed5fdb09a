//! What the conductor needs of a bundle: a journal, folders for arms, and a seal.

use super::measured::{Noted, Row};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use wireproof_matrices::arm::{Arm, Place};
use wireproof_matrices::journal::{Record, Stored};
use wireproof_matrices::runner::io::Ending;

/// The evidence of a run as it grows.
pub trait Store {
    /// Appends a record and waits until the disk has it.
    ///
    /// # Errors
    /// The disk took no more.
    fn journal(&mut self, record: &Record) -> io::Result<()>;

    /// Makes the folder of an arm, new and empty.
    ///
    /// # Errors
    /// It cannot be made.
    fn arm_folder(&mut self, place: &Place) -> io::Result<PathBuf>;

    /// Completes the folder of an arm and waits until the disk has all of it: path in the bundle to what lies there.
    ///
    /// # Errors
    /// The disk took no more.
    fn keep_arm(&mut self, folder: &Path, arm: &Arm, noted: &Noted, rows: &[Row]) -> io::Result<BTreeMap<String, Stored>>;

    /// Analyses what is there, writes verdict and reports, and seals the bundle.
    ///
    /// # Errors
    /// The disk took no more, or what is there cannot be read.
    fn seal(&mut self, ending: &Ending) -> io::Result<()>;

    /// The bundle's folder.
    fn folder(&self) -> &Path;

    /// Another bundle whose factors were not put back, for the same device.
    fn unrestored(&self) -> Option<String>;

    /// Who holds the device, if somebody else does.
    fn held_by(&self) -> Option<String>;
}
