//! A bundle that grows: made once, continued after an interruption, sealed at the end.

use super::disk;
use super::error::{BundleError, Damage};
use super::journal_file::JournalFile;
use super::layout::{CANONICAL, JOURNAL, ORDER, PLAN, PROFILE, arm_folder, bundle_name};
use super::lock::BundleLock;
use super::read::{Bundle, Seal};
use super::space::check_space;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use wireproof_matrices::arm::Place;
use wireproof_matrices::digest::Digest;
use wireproof_matrices::journal::{DeviceId, Entry, JOURNAL_VERSION, Record, Stored};
use wireproof_matrices::manifest::{MANIFEST, Manifest, path_ok};
use wireproof_matrices::plan::Plan;
use wireproof_matrices::resume::may_resume;
use wireproof_matrices::soak::Rule;

/// What a bundle is made from.
#[derive(Clone, Copy, Debug)]
pub struct NewBundle<'a> {
    /// UTC, ns since 1970.
    pub at_ns: i64,
    /// The plan.
    pub plan: &'a Plan,
    /// The plan as it was given.
    pub plan_toml: &'a [u8],
    /// The profile as it was given, of a plan that names a file.
    pub profile_toml: Option<&'a [u8]>,
    /// `order.json`.
    pub order: &'a [u8],
    /// True when the hash was given beforehand.
    pub pre_registered: bool,
    /// Name and version of the program.
    pub tool: &'a str,
    /// What the run will take, octets ([`super::estimate`]).
    pub estimate: u64,
    /// What a soak is to show; `None` of a matrix.
    pub soak: Option<&'a Rule>,
}

/// An open bundle. Dropping it leaves the bundle as a cut run does: it can be resumed, and read as PARTIAL.
#[derive(Debug)]
pub struct Writer {
    /// Nobody else writes it as long as this lives.
    _lock: BundleLock,
    dir: PathBuf,
    plan: Digest,
    journal: JournalFile,
    /// The record that has to come before any other.
    first: Option<Record>,
    /// Files that the journal names.
    recorded: BTreeMap<String, Stored>,
    /// Files that lie on the disk and wait for their record.
    waiting: BTreeMap<String, Stored>,
    /// Files of an earlier part of the run that this part may write anew: what was computed from the evidence.
    computed: BTreeSet<String>,
}

/// Runs of one plan that may begin within a second.
const SAME_SECOND: u32 = 9;
/// Files outside the arms that are evidence and never written anew.
const EVIDENCE: [&str; 5] = [PLAN, PROFILE, CANONICAL, ORDER, "env.json"];

impl Writer {
    /// Makes the folder of a run below `evidence`, with plan and order in it. Nothing counts before the record
    /// [`Writer::first`] is written.
    ///
    /// # Errors
    /// [`BundleError::Exists`], [`BundleError::NoSpace`], or what the file system says.
    pub fn create(evidence: &Path, new: &NewBundle<'_>) -> Result<Writer, BundleError> {
        let refused = |e: &dyn std::error::Error| refused(PLAN, e);
        let canonical = new.plan.canonical().map_err(|e| refused(&e))?;
        let plan: Digest = new.plan.sha256().map_err(|e| refused(&e))?.parse().map_err(|e| refused(&e))?;
        fs::create_dir_all(evidence).map_err(BundleError::io(evidence))?;
        check_space(evidence, new.plan.evidence.min_free_bytes, new.estimate)?;
        let dir = make_first(evidence, &bundle_name(new.at_ns, &new.plan.name, &plan))?;
        disk::sync_folder(evidence)?;
        let mut waiting = BTreeMap::new();
        let given = [(PLAN, new.plan_toml), (CANONICAL, canonical.as_bytes()), (ORDER, new.order)];
        let profile = new.profile_toml.map(|octets| (PROFILE, octets));
        for (path, octets) in given.into_iter().chain(profile) {
            let stored = disk::write_whole(&dir, path, |out| out.write_all(octets))?;
            waiting.insert(path.to_owned(), stored);
        }
        let journal = JournalFile::create(&dir, plan)?;
        let lock = BundleLock::take(&dir)?;
        let first = Some(plan_record(new, plan));
        let (recorded, computed) = (BTreeMap::new(), BTreeSet::new());
        Ok(Writer { _lock: lock, dir, plan, journal, first, recorded, waiting, computed })
    }

    /// Goes on with a cut run after every check of [`Bundle::open`]; a torn last line is cut off. The record
    /// [`Writer::first`] says so.
    ///
    /// # Errors
    /// [`BundleError::Busy`] when it is written by another process, [`BundleError::Damaged`], [`BundleError::Resume`] for a
    /// sealed bundle or another device, or the file system's.
    pub fn resume(dir: &Path, device: DeviceId) -> Result<(Writer, Vec<Entry>), BundleError> {
        Writer::resume_locked(BundleLock::take(dir)?, device)
    }

    /// The same for a bundle whose lock was taken before.
    ///
    /// # Errors
    /// As [`Writer::resume`].
    pub fn resume_locked(lock: BundleLock, device: DeviceId) -> Result<(Writer, Vec<Entry>), BundleError> {
        let bundle = Bundle::open(lock.dir())?;
        may_resume(bundle.journal(), &device)?;
        let dropped_octets = bundle.torn_octets();
        let (mut writer, entries) = Writer::reopened(bundle, lock)?;
        writer.first = Some(Record::Resumed { dropped_octets, device });
        Ok((writer, entries))
    }

    /// Opens a cut run to add records that are no measurement, such as `restored`.
    ///
    /// # Errors
    /// As [`Writer::resume`], without a look at the device.
    pub fn reopen(lock: BundleLock) -> Result<(Writer, Vec<Entry>), BundleError> {
        let bundle = Bundle::open(lock.dir())?;
        if bundle.seal() != Seal::Open {
            return Err(wireproof_matrices::resume::ResumeError::Sealed.into());
        }
        Writer::reopened(bundle, lock)
    }

    fn reopened(bundle: Bundle, lock: BundleLock) -> Result<(Writer, Vec<Entry>), BundleError> {
        let dir = bundle.dir().to_owned();
        bundle.unnamed().try_for_each(|path| disk::name_part(&dir, path))?;
        let journal = JournalFile::open(&dir, bundle.read_journal())?;
        let (plan, recorded, entries) = bundle.into_parts();
        finish_dropping(&dir, &entries)?;
        let computed = |path: &&String| !path.starts_with("arms/") && !EVIDENCE.contains(&path.as_str());
        let computed = recorded.keys().filter(computed).cloned().collect();
        let (first, waiting) = (None, BTreeMap::new());
        Ok((Writer { _lock: lock, dir, plan, journal, first, recorded, waiting, computed }, entries))
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Hash of the plan.
    pub fn plan(&self) -> Digest {
        self.plan
    }

    /// The record that has to come first: `plan` of a new bundle, `resumed` of one that goes on.
    pub fn first(&self) -> Option<&Record> {
        self.first.as_ref()
    }

    /// Appends a record; it is on the disk when this returns. The first one brings the records of plan and order along.
    ///
    /// # Errors
    /// [`BundleError::Refused`] for a record out of place; what the file system says, and then the record is not there.
    pub fn record(&mut self, at_ns: i64, record: &Record) -> Result<(), BundleError> {
        self.in_place(record)?;
        self.journal.append(at_ns, record)?;
        if self.first.take().is_some() && matches!(record, Record::Plan { .. }) {
            for (path, stored) in std::mem::take(&mut self.waiting) {
                self.record_file(at_ns, path, stored)?;
            }
        }
        if let Record::ArmEnd { files, .. } = record {
            self.waiting.retain(|path, _| !files.contains_key(path));
            self.recorded.extend(files.clone());
        }
        Ok(())
    }

    fn in_place(&self, record: &Record) -> Result<(), BundleError> {
        let named = |record: &Record| match record {
            Record::Plan { .. } => "plan",
            Record::Resumed { .. } => "resumed",
            _ => "another record",
        };
        let why = match (&self.first, record) {
            (Some(first), record) if record != first => format!("'{}' comes first", named(first)),
            (None, Record::Plan { .. } | Record::Resumed { .. }) => "it stands there".to_owned(),
            (_, Record::Sealed { .. } | Record::File { .. } | Record::Dropped { .. }) => {
                "it comes with its file".to_owned()
            }
            (_, Record::ArmEnd { files, .. }) => {
                match files.iter().find(|f| self.waiting.get(f.0) != Some(f.1)) {
                    Some((path, _)) => format!("{path} is not on the disk like that"),
                    None => return Ok(()),
                }
            }
            _ => return Ok(()),
        };
        Err(BundleError::Refused {
            path: JOURNAL.to_owned(),
            why: format!("{} refused: {why}", named(record)),
        })
    }

    /// Writes a file outside the arms and records it. What an earlier part of a run computed from its evidence, such as
    /// a report of a run that was cut while it was sealed, is written anew; the journal keeps both hashes.
    ///
    /// # Errors
    /// [`BundleError::Refused`] for a path that leaves the bundle or is recorded; what the file system says.
    pub fn put(&mut self, at_ns: i64, path: &str, octets: &[u8]) -> Result<Stored, BundleError> {
        if self.computed.contains(path) {
            // The record comes before the name: until then the file lies beside the old one.
            let stored = disk::write_beside(&self.dir, path, |out| out.write_all(octets))?;
            self.record_file(at_ns, path.to_owned(), stored)?;
            disk::name_part(&self.dir, path)?;
            self.computed.remove(path);
            return Ok(stored);
        }
        self.free_place(path)?;
        let stored = disk::write_whole(&self.dir, path, |out| out.write_all(octets))?;
        self.record_file(at_ns, path.to_owned(), stored)?;
        Ok(stored)
    }

    fn record_file(&mut self, at_ns: i64, path: String, stored: Stored) -> Result<(), BundleError> {
        let Stored { sha256, octets } = stored;
        self.journal.append(at_ns, &Record::File { path: path.clone(), sha256, octets })?;
        self.recorded.insert(path, stored);
        Ok(())
    }

    /// Writes a file of an arm through `body`; its record is the `arm_end` with [`Writer::arm_files`].
    ///
    /// # Errors
    /// As [`Writer::put`].
    pub fn put_arm(
        &mut self,
        place: &Place,
        treatment: &str,
        name: &str,
        body: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Stored, BundleError> {
        let path = self.arm_path(place, treatment, name)?;
        let stored = disk::write_whole(&self.dir, &path, body)?;
        self.waiting.insert(path, stored);
        Ok(stored)
    }

    /// Takes over a file of an arm that another thread wrote into [`Writer::scratch`].
    ///
    /// # Errors
    /// As [`Writer::put`].
    pub fn adopt_arm(
        &mut self,
        place: &Place,
        treatment: &str,
        name: &str,
        from: &Path,
    ) -> Result<Stored, BundleError> {
        let path = self.arm_path(place, treatment, name)?;
        let stored = disk::adopt(&self.dir, &path, from)?;
        self.waiting.insert(path, stored);
        Ok(stored)
    }

    /// Makes the folder of an arm that is going on, new and empty, under a name that ends in `.part`: files are written
    /// into it freely. [`Writer::keep_arm`] gives it its name; one that is not kept is an orphan.
    ///
    /// # Errors
    /// [`BundleError::Exists`], or what the file system says.
    pub fn arm_scratch(&self, place: &Place, treatment: &str) -> Result<PathBuf, BundleError> {
        disk::make_new_folder(&self.dir, &format!("{}.part", arm_folder(place, treatment)))
    }

    /// Syncs and names the folder of [`Writer::arm_scratch`] with everything in it; the files wait for the `arm_end`.
    ///
    /// # Errors
    /// What the file system says.
    pub fn keep_arm(
        &mut self,
        place: &Place,
        treatment: &str,
    ) -> Result<BTreeMap<String, Stored>, BundleError> {
        let folder = arm_folder(place, treatment);
        let kept = disk::keep_folder(&self.dir, &format!("{folder}.part"), &folder)?;
        self.waiting.extend(kept.clone());
        Ok(kept)
    }

    /// Drops the evidence of an arm: the record says which files go, then they go. Those named in `keep` stay.
    ///
    /// # Errors
    /// What the file system says; what is recorded and still there goes when the bundle is opened to be continued.
    pub fn drop_arm(
        &mut self,
        at_ns: i64,
        place: &Place,
        treatment: &str,
        keep: &[&str],
    ) -> Result<(), BundleError> {
        let folder = arm_folder(place, treatment);
        let prefix = format!("{folder}/");
        let goes = |path: &&String| path.strip_prefix(&prefix).is_some_and(|name| !keep.contains(&name));
        let files: Vec<String> = self.recorded.keys().filter(goes).cloned().collect();
        if files.is_empty() {
            return Ok(());
        }
        self.journal.append(at_ns, &Record::Dropped { arm: place.clone(), files: files.clone() })?;
        for path in &files {
            self.recorded.remove(path);
            remove(&self.dir.join(path))?;
        }
        disk::sync_folder(&self.dir.join(folder))
    }

    /// A place on the same file system for a file that another thread writes, such as a download; what is left there is
    /// an orphan. One name, one file.
    pub fn scratch(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.part"))
    }

    fn arm_path(&self, place: &Place, treatment: &str, name: &str) -> Result<String, BundleError> {
        let path = format!("{}/{name}", arm_folder(place, treatment));
        self.free_place(&path)?;
        Ok(path)
    }

    fn free_place(&self, path: &str) -> Result<(), BundleError> {
        let why = match path_ok(path) {
            Err(why) => why,
            Ok(()) if path == JOURNAL => "it is the journal",
            Ok(()) if self.recorded.contains_key(path) => "it is recorded, and nothing recorded is replaced",
            Ok(()) => return Ok(()),
        };
        Err(BundleError::Refused { path: path.to_owned(), why: why.to_owned() })
    }

    /// Files of an arm that lie on the disk and wait for their record.
    pub fn arm_files(&self, place: &Place, treatment: &str) -> BTreeMap<String, Stored> {
        let prefix = format!("{}/", arm_folder(place, treatment));
        let own = self.waiting.iter().filter(|(path, _)| path.starts_with(&prefix));
        own.map(|(path, stored)| (path.clone(), *stored)).collect()
    }

    /// Closes the bundle: the record `sealed`, then the manifest, written last. Every recorded file is read again first.
    ///
    /// # Errors
    /// [`BundleError::Damaged`] when a file is not as it was recorded; what the file system says. Then the bundle is as a
    /// cut run leaves it.
    pub fn seal(mut self, at_ns: i64, verdict: &str) -> Result<Digest, BundleError> {
        if let Some(first) = &self.first {
            let why = format!("nothing was recorded, not even {first:?}");
            return Err(BundleError::Refused { path: MANIFEST.to_owned(), why });
        }
        let files = hashes(&self.dir)?;
        let damages = differing(&self.recorded, &files);
        if !damages.is_empty() {
            return Err(BundleError::Damaged { bundle: self.dir, damages });
        }
        self.journal.append(at_ns, &Record::Sealed { verdict: verdict.to_owned() })?;
        write_manifest(&self.dir, files)
    }

    /// Writes the manifest of a bundle whose journal is sealed and whose manifest was lost to an interruption.
    ///
    /// # Errors
    /// [`BundleError::Refused`] where that is not the case; as [`Bundle::open`].
    pub fn finish_seal(lock: BundleLock) -> Result<Digest, BundleError> {
        let dir = lock.dir();
        if Bundle::open(dir)?.seal() != Seal::Cut {
            let why = "the seal was not cut".to_owned();
            return Err(BundleError::Refused { path: MANIFEST.to_owned(), why });
        }
        write_manifest(dir, hashes(dir)?)
    }
}

/// Deletes what the journal says is dropped and a cut left there.
fn finish_dropping(dir: &Path, entries: &[Entry]) -> Result<(), BundleError> {
    let files = entries.iter().filter_map(|entry| match &entry.record {
        Record::Dropped { files, .. } => Some(files),
        _ => None,
    });
    let inside = |path: &&String| path.starts_with("arms/") && path_ok(path).is_ok();
    files.flatten().filter(inside).try_for_each(|path| remove(&dir.join(path)))
}

/// Deletes a file; one that is not there is gone already.
fn remove(path: &Path) -> Result<(), BundleError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(BundleError::io(path)(error)),
        _ => Ok(()),
    }
}

/// Makes the folder of this name, or of the first one that is free behind it: two runs may begin within a second.
fn make_first(evidence: &Path, name: &str) -> Result<PathBuf, BundleError> {
    let dir = evidence.join(name);
    let behind = (2..=SAME_SECOND).map(|n| evidence.join(format!("{name}-{n}")));
    for dir in std::iter::once(dir.clone()).chain(behind) {
        match make(&dir) {
            Err(BundleError::Exists(_)) => {}
            made => return made.map(|()| dir),
        }
    }
    Err(BundleError::Exists(dir))
}

/// Makes the folder; the names of bundles are never reused.
fn make(dir: &Path) -> Result<(), BundleError> {
    fs::create_dir(dir).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => BundleError::Exists(dir.to_owned()),
        _ => BundleError::io(dir)(error),
    })
}

fn plan_record(new: &NewBundle<'_>, plan: Digest) -> Record {
    Record::Plan {
        plan,
        version: JOURNAL_VERSION,
        name: new.plan.name.clone(),
        base_url: new.plan.target.base_url.clone(),
        pre_registered: new.pre_registered,
        tool: new.tool.to_owned(),
        soak: new.soak.cloned(),
    }
}

fn refused(path: &str, why: &dyn std::error::Error) -> BundleError {
    BundleError::Refused { path: path.to_owned(), why: why.to_string() }
}

fn hashes(dir: &Path) -> Result<BTreeMap<String, Stored>, BundleError> {
    let listed = disk::list(dir).map_err(BundleError::io(dir))?;
    let hashed =
        listed.into_iter().map(|(path, at)| Ok((path, disk::hash_file(&at).map_err(BundleError::io(&at))?)));
    hashed.collect()
}

/// Recorded files that are not as they were recorded.
pub(super) fn differing(
    recorded: &BTreeMap<String, Stored>,
    there: &BTreeMap<String, Stored>,
) -> Vec<Damage> {
    let damage = |path: &String, what: &str| Some(Damage { path: path.clone(), what: what.to_owned() });
    let each = recorded.iter().filter_map(|(path, stored)| match there.get(path) {
        None => damage(path, "missing"),
        Some(found) if found != stored => damage(path, "changed"),
        Some(_) => None,
    });
    each.collect()
}

pub(super) fn write_manifest(dir: &Path, mut files: BTreeMap<String, Stored>) -> Result<Digest, BundleError> {
    let journal = dir.join(JOURNAL);
    files.insert(JOURNAL.to_owned(), disk::hash_file(&journal).map_err(BundleError::io(&journal))?);
    files.remove(MANIFEST);
    let files = files.into_iter().map(|(path, stored)| (path, stored.sha256)).collect();
    let text = Manifest { files }.render();
    Ok(disk::write_whole(dir, MANIFEST, |out| out.write_all(text.as_bytes()))?.sha256)
}
