//! Other runs in the evidence folder: how often a plan was run, and whether a device was left changed.
//!
//! It reads journals only, and changes nothing.

use super::error::BundleError;
use super::journal_file;
use super::layout::JOURNAL;
use super::lock::same;
use super::read::claimed;
use std::fs;
use std::path::{Path, PathBuf};
use wireproof_matrices::digest::Digest;
use wireproof_matrices::journal::{Entry, Journal, Record, Step};
use wireproof_matrices::resume::{Unrestored, unrestored};
use wireproof_matrices::soak::Rule;

/// A run in the evidence folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its bundle.
    pub dir: PathBuf,
    /// Hash of its plan.
    pub plan: Digest,
    /// The device.
    pub base_url: String,
    /// When it began, UTC ns.
    pub at_ns: i64,
    /// What a soak is to show; `None` of a matrix.
    pub soak: Option<Rule>,
    /// The checks before it refused it, and no arm was begun: nobody saw anything of the device by it.
    pub refused: bool,
    /// True when its journal is sealed.
    pub sealed: bool,
    /// Factors that may not be as they were before it.
    pub unrestored: Vec<Unrestored>,
}

impl Run {
    fn left_changed(&self, base_url: &str) -> bool {
        !self.unrestored.is_empty() && same(&self.base_url) == same(base_url)
    }
}

/// All runs in an evidence folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// By time of their begin.
    pub runs: Vec<Run>,
    /// Bundles whose journal cannot be trusted, and why.
    pub unreadable: Vec<(PathBuf, String)>,
}

impl Runs {
    /// `n of m`: which of the runs of its plan, and of a soak's rule, a bundle is. Runs that were refused before they began
    /// are none. `(0, m)` for a bundle that is not among them.
    pub fn attempt(&self, plan: &Digest, bundle: &Path) -> (u32, u32) {
        let own = self.runs.iter().find(|run| run.dir.file_name() == bundle.file_name());
        let soak = own.and_then(|run| run.soak.as_ref());
        let same =
            self.runs.iter().filter(|run| run.plan == *plan && run.soak.as_ref() == soak && !run.refused);
        let (mut n, mut m) = (0, 0);
        for run in same {
            m += 1;
            if run.dir.file_name() == bundle.file_name() {
                n = m;
            }
        }
        (n, m)
    }

    /// Runs that left a device changed, by its `base_url`.
    pub fn left_changed<'a>(&'a self, base_url: &'a str) -> impl Iterator<Item = &'a Run> + 'a {
        self.runs.iter().filter(move |run| run.left_changed(base_url))
    }
}

/// Looks at every bundle in a folder; a folder that is not there holds none.
///
/// # Errors
/// What the file system says about the folder itself.
pub fn scan(evidence: &Path) -> Result<Runs, BundleError> {
    let mut runs = Runs::default();
    let entries = match fs::read_dir(evidence) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(runs),
        entries => entries.map_err(BundleError::io(evidence))?,
    };
    for entry in entries {
        let dir = entry.map_err(BundleError::io(evidence))?.path();
        if !fs::symlink_metadata(dir.join(JOURNAL)).is_ok_and(|about| about.is_file()) {
            continue;
        }
        match run(&dir) {
            Ok(Some(run)) => runs.runs.push(run),
            Ok(None) => {}
            Err(why) => runs.unreadable.push((dir, why)),
        }
    }
    runs.runs.sort_by(|a, b| (a.at_ns, &a.dir).cmp(&(b.at_ns, &b.dir)));
    runs.unreadable.sort();
    Ok(runs)
}

/// Whether a run left a device changed, by the journal of its bundle; a bundle that is not there says nothing of it.
///
/// # Errors
/// Why its journal cannot be trusted.
pub fn left_changed(bundle: &Path, base_url: &str) -> Result<bool, String> {
    match fs::symlink_metadata(bundle.join(JOURNAL)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        _ => {}
    }
    Ok(run(bundle)?.is_some_and(|run| run.left_changed(base_url)))
}

fn is_refused(journal: &[Entry]) -> bool {
    let refuses = |record: &Record| matches!(record, Record::Result { step: Step::Preflight, ok: false, .. });
    let begins = |record: &Record| matches!(record, Record::ArmStart { .. });
    let any = |which: &dyn Fn(&Record) -> bool| journal.iter().any(|entry| which(&entry.record));
    any(&refuses) && !any(&begins)
}

/// `None` for a bundle that ended before its first record.
fn run(dir: &Path) -> Result<Option<Run>, String> {
    let octets = journal_file::octets(dir).map_err(|e| e.to_string())?;
    if !octets.contains(&b'\n') {
        return Ok(None);
    }
    let plan = claimed(&octets).ok_or("line 1: not a line of a journal")?;
    let journal = Journal::read(&octets, plan).map_err(|e| e.to_string())?;
    let first = journal.entries.first();
    Ok(first.and_then(|entry| match &entry.record {
        Record::Plan { base_url, soak, .. } => Some(Run {
            dir: dir.to_owned(),
            plan,
            base_url: base_url.clone(),
            at_ns: entry.at_ns,
            soak: soak.clone(),
            refused: is_refused(&journal.entries),
            sealed: journal.sealed(),
            unrestored: unrestored(&journal.entries),
        }),
        _ => None,
    }))
}
