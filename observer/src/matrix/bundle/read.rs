//! A bundle read back. Nothing in it is believed: the hash of the plan, the chain of the journal, the hash of every recorded
//! file, and the manifest of a sealed one have to agree.
//!
//! Recomputing order, summary and verdict is done by others, from [`Bundle::arms`].

use super::disk::{self, read_bounded};
use super::error::{BundleError, Damage};
use super::journal_file;
use super::layout::{CANONICAL, JOURNAL};
use super::writer::differing;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use wireproof_matrices::arm::{Arm, Place};
use wireproof_matrices::digest::Digest;
use wireproof_matrices::journal::{ArmEnd, Entry, Journal, Record, Stored};
use wireproof_matrices::manifest::{Difference, MANIFEST, Manifest};
use wireproof_matrices::plan::Plan;
use wireproof_matrices::plan::canonical::plan_sha256;
use wireproof_matrices::resume::{Unrestored, unrestored};

/// Longest plan and manifest that are read, octets.
const MAX_TEXT: u64 = 64 << 20;
/// Longest file of an arm that is read into memory, octets.
const MAX_FILE: u64 = 1 << 30;

/// Whether a bundle is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seal {
    /// The run was cut, or goes on: PARTIAL.
    Open,
    /// The journal is closed and the manifest is missing: the writing of the seal was cut.
    Cut,
    /// Closed; the manifest was checked.
    Sealed,
}

/// A bundle whose integrity was checked.
#[derive(Debug)]
pub struct Bundle {
    dir: PathBuf,
    plan: Digest,
    canonical: String,
    journal: Journal,
    seal: Seal,
    recorded: BTreeMap<String, Stored>,
    /// Recorded files that still lie beside the one they replace.
    unnamed: BTreeSet<String>,
    orphans: Vec<String>,
}

/// An attempt at an arm and where its files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArmFiles {
    /// Its place.
    pub place: Place,
    /// Its treatment.
    pub treatment: String,
    /// What became of it; `None` for one that did not end, which has no recorded files.
    pub end: Option<ArmEnd>,
    /// Why it does not count.
    pub reasons: Vec<String>,
    /// Name such as `ring.raw`, `frames.csv` or `arm.json` to the path in the bundle.
    pub files: BTreeMap<String, String>,
}

impl Bundle {
    /// Reads and checks a bundle.
    ///
    /// # Errors
    /// [`BundleError::Damaged`] names every file that is not as it was written; [`BundleError::NotABundle`] and the file
    /// system's.
    pub fn open(dir: &Path) -> Result<Bundle, BundleError> {
        let (plan, canonical, journal) = plan_and_journal(dir)?;
        let there = match disk::list(dir) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(BundleError::damaged(dir, ".", error.to_string()));
            }
            listed => listed.map_err(BundleError::io(dir))?,
        };
        let mut hashed = hash_all(&there)?;
        let recorded = recorded(&journal.entries);
        let unnamed = if journal.sealed() { BTreeSet::new() } else { take_unnamed(&recorded, &mut hashed) };
        let mut damages = differing(&recorded, &hashed);
        let (seal, more) = sealed(dir, &journal, &hashed)?;
        damages.extend(more);
        if !damages.is_empty() {
            damages.sort_by(|a, b| a.path.cmp(&b.path));
            damages.dedup_by(|a, b| a.path == b.path);
            return Err(BundleError::Damaged { bundle: dir.to_owned(), damages });
        }
        let own = |path: &String| path.as_str() == JOURNAL || path.as_str() == MANIFEST;
        let orphans = hashed.into_keys().filter(|path| !recorded.contains_key(path) && !own(path)).collect();
        Ok(Bundle { dir: dir.to_owned(), plan, canonical, journal, seal, recorded, unnamed, orphans })
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Hash of the plan.
    pub fn plan_sha256(&self) -> Digest {
        self.plan
    }

    /// The plan, from the bundle and never from anywhere else.
    ///
    /// # Errors
    /// [`BundleError::Damaged`] for a plan that this version does not know; its hash was right.
    pub fn plan(&self) -> Result<Plan, BundleError> {
        serde_json::from_str(&self.canonical)
            .map_err(|e| BundleError::damaged(&self.dir, CANONICAL, e.to_string()))
    }

    /// The records.
    pub fn journal(&self) -> &[Entry] {
        &self.journal.entries
    }

    pub(super) fn read_journal(&self) -> &Journal {
        &self.journal
    }

    pub(super) fn into_parts(self) -> (Digest, BTreeMap<String, Stored>, Vec<Entry>) {
        (self.plan, self.recorded, self.journal.entries)
    }

    pub(super) fn unnamed(&self) -> impl Iterator<Item = &String> {
        self.unnamed.iter()
    }

    /// Whether it is closed.
    pub fn seal(&self) -> Seal {
        self.seal
    }

    /// Octets of a torn last line of the journal, which do not count.
    pub fn torn_octets(&self) -> u64 {
        self.journal.torn_octets
    }

    /// Files that no record names, by path: what an interruption left behind, or what somebody put there.
    pub fn orphans(&self) -> &[String] {
        &self.orphans
    }

    /// Recorded files by path.
    pub fn files(&self) -> &BTreeMap<String, Stored> {
        &self.recorded
    }

    /// Factors that may not be as they were before the run.
    pub fn unrestored(&self) -> Vec<Unrestored> {
        unrestored(&self.journal.entries)
    }

    /// Every attempt at an arm, in the order of the run.
    pub fn arms(&self) -> Vec<ArmFiles> {
        let mut arms: Vec<ArmFiles> = Vec::new();
        let mut index: BTreeMap<&Place, usize> = BTreeMap::new();
        for entry in &self.journal.entries {
            match &entry.record {
                Record::ArmStart { arm, treatment } => {
                    index.insert(arm, arms.len());
                    arms.push(started(arm, treatment));
                }
                Record::ArmEnd { arm, state, reasons, files } => {
                    if let Some(told) = index.get(arm).and_then(|at| arms.get_mut(*at)) {
                        told.end = Some(*state);
                        told.reasons.clone_from(reasons);
                        told.files = files.keys().map(|path| (file_name(path), path.clone())).collect();
                    }
                }
                Record::Dropped { arm, files } => {
                    if let Some(told) = index.get(arm).and_then(|at| arms.get_mut(*at)) {
                        told.files.retain(|_, path| !files.contains(path));
                    }
                }
                _ => {}
            }
        }
        arms
    }

    /// The octets of a recorded file; they are hashed again, because time has passed.
    ///
    /// # Errors
    /// [`BundleError::Refused`] for a file without a record, [`BundleError::Damaged`], or the file system's.
    pub fn read(&self, path: &str) -> Result<Vec<u8>, BundleError> {
        let Some(stored) = self.recorded.get(path) else {
            return Err(BundleError::Refused { path: path.to_owned(), why: "no record names it".to_owned() });
        };
        let part = self.unnamed.contains(path).then(|| disk::part_of(path));
        let at = self.dir.join(part.as_deref().unwrap_or(path));
        let octets = read_bounded(&at, stored.octets.min(MAX_FILE)).map_err(BundleError::io(&at))?;
        if Digest::of(&octets) != stored.sha256 {
            return Err(BundleError::damaged(&self.dir, path, "changed"));
        }
        Ok(octets)
    }

    /// `arm.json` of an attempt; `None` without one.
    ///
    /// # Errors
    /// As [`Bundle::read`]; [`BundleError::Damaged`] for one that this version does not know.
    pub fn arm(&self, files: &ArmFiles) -> Result<Option<Arm>, BundleError> {
        let Some(path) = files.files.get("arm.json") else { return Ok(None) };
        let arm = serde_json::from_slice(&self.read(path)?);
        arm.map(Some).map_err(|e| BundleError::damaged(&self.dir, path, e.to_string()))
    }
}

fn started(arm: &Place, treatment: &str) -> ArmFiles {
    ArmFiles {
        place: arm.clone(),
        treatment: treatment.to_owned(),
        end: None,
        reasons: Vec::new(),
        files: BTreeMap::new(),
    }
}

fn file_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

/// Plan and journal, each checked by the other: where they disagree, the one that does not hold alone is named.
fn plan_and_journal(dir: &Path) -> Result<(Digest, String, Journal), BundleError> {
    let octets = journal_file::octets(dir)?;
    let at = dir.join(CANONICAL);
    let text = read_bounded(&at, MAX_TEXT).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => BundleError::damaged(dir, CANONICAL, "missing"),
        _ => BundleError::io(&at)(error),
    })?;
    let canonical = String::from_utf8(text).map_err(|_| BundleError::damaged(dir, CANONICAL, "changed"))?;
    let digest = |e: &dyn std::error::Error| BundleError::damaged(dir, CANONICAL, e.to_string());
    let plan: Digest = plan_sha256(&canonical).parse().map_err(|e| digest(&e))?;
    match Journal::read(&octets, plan) {
        Ok(journal) if journal.entries.is_empty() => {
            Err(BundleError::NotABundle { path: dir.to_owned(), what: "record of a plan" })
        }
        Ok(journal) => Ok((plan, canonical, journal)),
        Err(error) => Err(match claimed(&octets).map(|claimed| Journal::read(&octets, claimed)) {
            Some(Ok(_)) => {
                BundleError::damaged(dir, CANONICAL, "it is not the plan that the journal begins with")
            }
            _ => BundleError::damaged(dir, JOURNAL, error.to_string()),
        }),
    }
}

/// The hash of the plan that the first record claims; only good for asking whether the rest agrees with it.
pub(super) fn claimed(octets: &[u8]) -> Option<Digest> {
    let line = octets.split(|octet| *octet == b'\n').next()?;
    let json = line.get(65..)?;
    let value: serde_json::Value = serde_json::from_slice(json).ok()?;
    value.get("plan")?.as_str()?.parse().ok()
}

fn hash_all(there: &BTreeMap<String, PathBuf>) -> Result<BTreeMap<String, Stored>, BundleError> {
    let each = there.iter().map(|(path, at)| {
        let stored = disk::hash_file(at).map_err(BundleError::io(at))?;
        Ok((path.clone(), stored))
    });
    each.collect()
}

/// Recorded files that a cut left under their other name, beside the file they replace; they take its place here.
fn take_unnamed(
    recorded: &BTreeMap<String, Stored>,
    hashed: &mut BTreeMap<String, Stored>,
) -> BTreeSet<String> {
    let beside = |path: &str, stored: &Stored| hashed.get(&disk::part_of(path)) == Some(stored);
    let there = |path: &str, stored: &Stored| hashed.get(path) == Some(stored);
    let unnamed = recorded.iter().filter(|(path, stored)| !there(path, stored) && beside(path, stored));
    let unnamed: BTreeSet<String> = unnamed.map(|(path, _)| path.clone()).collect();
    for path in &unnamed {
        if let Some(stored) = hashed.remove(&disk::part_of(path)) {
            hashed.insert(path.clone(), stored);
        }
    }
    unnamed
}

fn recorded(entries: &[Entry]) -> BTreeMap<String, Stored> {
    let mut all = BTreeMap::new();
    for entry in entries {
        match &entry.record {
            Record::File { path, sha256, octets } => {
                all.insert(path.clone(), Stored { sha256: *sha256, octets: *octets });
            }
            Record::ArmEnd { files, .. } => all.extend(files.clone()),
            Record::Dropped { files, .. } => {
                for path in files {
                    all.remove(path);
                }
            }
            _ => {}
        }
    }
    all
}

/// Whether it is closed, and what the manifest says about the files.
fn sealed(
    dir: &Path,
    journal: &Journal,
    there: &BTreeMap<String, Stored>,
) -> Result<(Seal, Vec<Damage>), BundleError> {
    let at = dir.join(MANIFEST);
    if !there.contains_key(MANIFEST) {
        return Ok((if journal.sealed() { Seal::Cut } else { Seal::Open }, Vec::new()));
    }
    let octets = read_bounded(&at, MAX_TEXT).map_err(BundleError::io(&at))?;
    let manifest =
        Manifest::parse(&octets).map_err(|e| BundleError::damaged(dir, MANIFEST, e.to_string()))?;
    if !journal.sealed() || journal.torn_octets > 0 {
        return Err(BundleError::damaged(dir, JOURNAL, "there is a manifest, and the journal is not sealed"));
    }
    let found = there.iter().map(|(path, stored)| (path.clone(), stored.sha256)).collect();
    let named = recorded(&journal.entries);
    let right = |path: &str| path == JOURNAL || there.get(path).is_some_and(|s| named.get(path) == Some(s));
    let damages = manifest.check(&found).into_iter().map(|difference| blame(&difference, right));
    Ok((Seal::Sealed, damages.collect()))
}

/// Where a file is as the journal says, the manifest was changed and not the file. The journal itself was found right.
fn blame(difference: &Difference, right: impl Fn(&str) -> bool) -> Damage {
    let (path, what) = match difference {
        Difference::Missing(path) => (path.as_str(), "missing".to_owned()),
        Difference::Changed(path) if right(path) => (MANIFEST, format!("its hash of {path} was changed")),
        Difference::Extra(path) if right(path) => (MANIFEST, format!("it does not list {path}")),
        Difference::Changed(path) => (path.as_str(), "changed".to_owned()),
        Difference::Extra(path) => (path.as_str(), "not in the manifest".to_owned()),
    };
    Damage { path: path.to_owned(), what }
}
