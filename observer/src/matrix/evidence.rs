//! The evidence of a run that goes on: its bundle, the lock of its device, and what other runs left behind.

use super::bundle::{
    BundleError, ChangedNote, TargetLock, Writer, arm_folder, hold, left_changed, lock_folder, scan,
};
use super::bundle::{write_drains, write_episodes, write_frames, write_wire};
use super::clock::wall_ns;
use super::env::env_json;
use super::going::{Going, RING};
use super::judging::{self, Closing};
use super::restoring::restored_later;
use super::soaking::TOTALS;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use wireproof_matrices::arm::{Arm, Place};
use wireproof_matrices::journal::{Record, Step, Stored};
use wireproof_matrices::runner::Schedule;
use wireproof_matrices::runner::io::{Ending, Outcome};

/// Octets of the files that a seal writes, and what each arm adds to them, generously.
const SEAL: u64 = 1 << 20;
const SEAL_AN_ARM: u64 = 16 << 10;

/// The evidence as it grows.
#[derive(Debug)]
pub struct Evidence {
    /// `None` once it is sealed.
    writer: Option<Writer>,
    dir: PathBuf,
    base_url: String,
    schedule: Schedule,
    lock: Result<TargetLock, String>,
    /// What other evidence folders are told of the device.
    note: ChangedNote,
    noted: bool,
    has_env: bool,
    /// Room for what is written last, so that a disk that fills up does not take the seal.
    held: Option<File>,
}

impl Evidence {
    /// Takes a bundle and the lock of its device. A lock that somebody else holds is told by the checks before the start.
    ///
    /// # Errors
    /// The lock cannot even be asked for.
    pub fn of(writer: Writer, base_url: &str, schedule: Schedule) -> Result<Evidence, BundleError> {
        let dir = writer.dir().to_owned();
        let lock = match TargetLock::take(&lock_folder(), base_url, &dir.display().to_string()) {
            Ok(lock) => Ok(lock),
            Err(error @ BundleError::Locked { .. }) => Err(error.to_string()),
            Err(error) => return Err(error),
        };
        Ok(Evidence::with(lock, writer, base_url, schedule))
    }

    /// Takes a bundle whose device is locked by this run.
    pub fn under(lock: TargetLock, writer: Writer, base_url: &str, schedule: Schedule) -> Evidence {
        Evidence::with(Ok(lock), writer, base_url, schedule)
    }

    fn with(
        lock: Result<TargetLock, String>,
        writer: Writer,
        base_url: &str,
        schedule: Schedule,
    ) -> Evidence {
        let dir = writer.dir().to_owned();
        let has_env = dir.join("env.json").exists();
        let arms = schedule.places().len() as u64;
        let held = hold(&dir, SEAL.saturating_add(SEAL_AN_ARM.saturating_mul(arms)));
        let (writer, base_url) = (Some(writer), base_url.to_owned());
        let (note, noted) = (ChangedNote::of(&lock_folder(), &base_url), false);
        Evidence { writer, dir, base_url, schedule, lock, note, noted, has_env, held }
    }

    /// The bundle's folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Who holds the device, if somebody else does.
    pub fn held_by(&self) -> Option<String> {
        self.lock.as_ref().err().cloned()
    }

    /// Another bundle whose factors were not put back, for the same device: one beside this, or that of the note.
    pub fn unrestored(&self) -> Option<String> {
        self.unrestored_elsewhere().or_else(|| self.unrestored_beside())
    }

    /// The bundle of the note. A journal that cannot be trusted does not say that the device was put back.
    fn unrestored_elsewhere(&self) -> Option<String> {
        let own = fs::canonicalize(&self.dir).ok();
        let other =
            self.note.bundle().filter(|other| Some(other) != own.as_ref() && !restored_later(other))?;
        left_changed(&other, &self.base_url).unwrap_or(true).then(|| other.display().to_string())
    }

    fn unrestored_beside(&self) -> Option<String> {
        let runs = scan(self.dir.parent()?).ok()?;
        let mut left =
            runs.left_changed(&self.base_url).filter(|run| run.dir != self.dir && !restored_later(&run.dir));
        left.next().map(|run| run.dir.display().to_string())
    }

    /// Appends a record and waits until the disk has it.
    ///
    /// # Errors
    /// The disk took no more, or the record is out of place.
    pub fn journal(&mut self, record: &Record) -> Result<(), BundleError> {
        if matches!(record, Record::Intent { step: Step::Set, .. }) && !self.noted {
            // Best effort: a note of another user cannot be written, and the journal beside says the same.
            self.noted = self.note.write(&self.dir).is_ok();
        }
        let has_env = self.has_env;
        let writer = self.writer()?;
        writer.record(wall_ns(), record)?;
        if let Record::Env { device } = record
            && !has_env
        {
            writer.put(wall_ns(), "env.json", &env_json(device))?;
            self.has_env = true;
        }
        Ok(())
    }

    /// Makes the folder that an arm is received into.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn arm_folder(&mut self, place: &Place) -> Result<PathBuf, BundleError> {
        let name = arm_folder(place, self.schedule.name(place.treatment)).replace("arms/", "going-");
        let folder = self.writer()?.scratch(&name);
        fs::create_dir(&folder).map_err(|source| BundleError::Io { path: folder.clone(), source })?;
        Ok(folder)
    }

    /// Takes the files of an arm over, if it came to a window, and adds its tables: path in the bundle to what lies there.
    ///
    /// # Errors
    /// The disk took no more.
    pub fn keep_arm(
        &mut self,
        arm: &Arm,
        going: Option<&Going>,
    ) -> Result<BTreeMap<String, Stored>, BundleError> {
        let treatment = self.schedule.name(arm.place.treatment).to_owned();
        let writer = self.writer()?;
        if let Some(Going { folder: path, .. }) = going {
            let listed = list(path).map_err(|source| BundleError::Io { path: path.clone(), source })?;
            for (name, from) in &listed {
                writer.adopt_arm(&arm.place, &treatment, name, from)?;
            }
            // Empty by now; a folder that stays is an orphan and nothing worse.
            let _ = fs::remove_dir(path);
        }
        let (place, measured) = (&arm.place, &arm.measured);
        writer.put_arm(place, &treatment, "frames.csv", |out| write_frames(out, &measured.frames))?;
        writer.put_arm(place, &treatment, "episodes.csv", |out| write_episodes(out, &measured.episodes))?;
        writer.put_arm(place, &treatment, "drains.csv", |out| write_drains(out, &measured.drains))?;
        writer.put_arm(place, &treatment, "wire.csv", |out| write_wire(out, &measured.streams))?;
        if let Some(ring) = writer.arm_files(place, &treatment).iter().find(|(path, _)| path.ends_with(RING))
        {
            let line = format!("{}  {RING}\n", ring.1.sha256);
            writer.put_arm(place, &treatment, "ring.sha256", |out| out.write_all(line.as_bytes()))?;
        }
        writer.put_arm(&arm.place, &treatment, "arm.json", |mut out| {
            serde_json::to_writer(&mut out, arm)?;
            out.write_all(b"\n")
        })?;
        Ok(writer.arm_files(&arm.place, &treatment))
    }

    /// Deletes the evidence of arms down to the totals of their streams; the journal says first which files go.
    ///
    /// # Errors
    /// The disk.
    pub fn drop_arms(&mut self, places: &[Place]) -> Result<(), BundleError> {
        for place in places {
            let treatment = self.schedule.name(place.treatment).to_owned();
            self.writer()?.drop_arm(wall_ns(), place, &treatment, &[TOTALS])?;
        }
        Ok(())
    }

    /// Analyses what is there, writes verdict and reports, and closes the bundle. That of a soak which is not over stays
    /// open, so that it can go on.
    ///
    /// # Errors
    /// The disk took no more, or what is there cannot be read back.
    pub fn seal(&mut self, ending: &Ending) -> Result<(), BundleError> {
        self.held = None;
        let closing = Closing::of(&self.dir, ending)?;
        let mut writer = self.writer.take().ok_or_else(|| sealed(&self.dir))?;
        writer.put(wall_ns(), judging::CLOSING, &closing.octets())?;
        let judged = judging::judge_bundle(&self.dir, &judging::How::default())?;
        for (name, octets) in judging::files(&judged)? {
            writer.put(wall_ns(), name, &octets)?;
        }
        let unfinished = judged.verdict.soak.as_ref().is_some_and(|soak| soak.ended.is_none());
        if unfinished && ending.outcome == Outcome::Partial {
            return Ok(());
        }
        writer.seal(wall_ns(), &judged.verdict.verdict.word().to_lowercase())?;
        Ok(())
    }

    fn writer(&mut self) -> Result<&mut Writer, BundleError> {
        let dir = &self.dir;
        self.writer.as_mut().ok_or_else(|| sealed(dir))
    }
}

impl Drop for Evidence {
    /// The note goes with a run that put everything back, while the device is still locked.
    fn drop(&mut self) {
        if self.lock.is_ok() && left_changed(&self.dir, &self.base_url) == Ok(false) {
            self.note.remove(&self.dir);
        }
    }
}

fn sealed(dir: &Path) -> BundleError {
    BundleError::Refused { path: dir.display().to_string(), why: "it is sealed".to_owned() }
}

/// Files of a folder by name.
fn list(folder: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            files.insert(entry.file_name().to_string_lossy().into_owned(), entry.path());
        }
    }
    Ok(files)
}
