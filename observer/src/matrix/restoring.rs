//! Putting a device back after a run that could not: the journal knows what its factors stood at.

use super::bundle::{Bundle, BundleError, BundleLock, ChangedNote, Seal, TargetLock, Writer, lock_folder};
use super::clock::wall_ns;
use super::device::{Device, NoDevice};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wireproof_matrices::journal::{Record, Step};
use wireproof_matrices::plan::{Plan, Toggle, Word};
use wireproof_matrices::resume::Unrestored;
use wireproof_matrices::runner::io::Failure;

/// Time between two reads.
const POLL: Duration = Duration::from_millis(100);

/// What was put back: factor and level.
pub type Restored = Vec<(String, String)>;

/// Why a device is not as it was.
#[derive(Debug, thiserror::Error)]
pub enum NotRestored {
    /// The bundle.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The device cannot be spoken to.
    #[error(transparent)]
    Device(#[from] NoDevice),
    /// It does not do it.
    #[error("NOT RESTORED: {factor} has to stand at {level}: {why}")]
    Factor {
        /// Factor.
        factor: String,
        /// Level.
        level: String,
        /// Why it does not.
        why: String,
    },
    /// The system.
    #[error("{0}")]
    System(#[from] io::Error),
}

/// Puts back what the journal of a bundle says was changed and not put back; nothing when everything was.
///
/// # Errors
/// [`NotRestored`]; asked again, it tries again.
pub fn restore(dir: &Path) -> Result<Restored, NotRestored> {
    let held = BundleLock::take(dir)?;
    let bundle = Bundle::open(dir)?;
    let left = if marker(dir).exists() { Vec::new() } else { bundle.unrestored() };
    if left.is_empty() {
        return Ok(Vec::new());
    }
    let plan = Arc::new(bundle.plan()?);
    let _lock = TargetLock::take(&lock_folder(), &plan.target.base_url, &dir.display().to_string())?;
    let device = Device::of(Arc::clone(&plan))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    let mut restored = Vec::new();
    // The last one changed goes first, as on every other way out.
    for Unrestored { factor, value } in left.into_iter().rev() {
        let toggle = toggle(&plan, &factor)?;
        let level = level(toggle, &value);
        let back = runtime.block_on(put_back(&device, toggle, &level));
        back.map_err(|why| NotRestored::Factor { factor: factor.clone(), level: level.clone(), why })?;
        restored.push((factor, level));
    }
    runtime.shutdown_background();
    record(held, bundle.seal(), &restored)?;
    ChangedNote::of(&lock_folder(), &plan.target.base_url).remove(dir);
    Ok(restored)
}

/// True when a bundle whose journal is closed was restored later.
pub fn restored_later(dir: &Path) -> bool {
    marker(dir).exists()
}

/// A closed bundle takes no record: that it was put back stands beside it.
fn marker(dir: &Path) -> PathBuf {
    let mut name = dir.as_os_str().to_owned();
    name.push(".restored");
    PathBuf::from(name)
}

fn record(bundle: BundleLock, seal: Seal, restored: &Restored) -> Result<(), NotRestored> {
    let factors: Vec<String> = restored.iter().map(|(factor, _)| factor.clone()).collect();
    if seal != Seal::Open {
        return Ok(fs::write(marker(bundle.dir()), factors.join("\n") + "\n")?);
    }
    let (mut writer, _) = Writer::reopen(bundle)?;
    for (factor, level) in restored {
        let what = format!("{factor}={level}");
        writer.record(wall_ns(), &Record::Result { step: Step::Restore, arm: None, ok: true, what })?;
    }
    Ok(writer.record(wall_ns(), &Record::Restored { factors })?)
}

fn toggle<'a>(plan: &'a Plan, factor: &str) -> Result<&'a Toggle, NotRestored> {
    let found = plan.toggle.iter().find(|toggle| toggle.factor == factor);
    found.ok_or_else(|| NotRestored::Factor {
        factor: factor.to_owned(),
        level: "its original".to_owned(),
        why: "the plan has no toggle for it".to_owned(),
    })
}

/// The level to put back: the one that the value read before shows, or the one that the plan leaves behind.
fn level(toggle: &Toggle, value: &str) -> String {
    if toggle.restore != "original" {
        return toggle.restore.clone();
    }
    let text = |word: &Word| match word {
        Word::Truth(truth) => truth.to_string(),
        Word::Integer(number) => number.to_string(),
        Word::Text(text) => text.clone(),
    };
    let shown = toggle.verify.equals.iter().find(|(_, shows)| text(shows) == value);
    shown.map_or_else(|| value.to_owned(), |(level, _)| level.clone())
}

async fn put_back(device: &Device, toggle: &Toggle, level: &str) -> Result<(), String> {
    let limit = Duration::from_nanos(toggle.timeout_ns);
    let mut why = String::new();
    for _ in 0..=toggle.retries {
        match device.set(&toggle.factor, level, limit).await {
            Ok(()) => match held(device, toggle, level, limit).await {
                Ok(()) => return Ok(()),
                Err(failure) => why = failure,
            },
            Err(failure) => why = failure.to_string(),
        }
    }
    Err(why)
}

/// Reads until the level holds.
async fn held(device: &Device, toggle: &Toggle, level: &str, limit: Duration) -> Result<(), String> {
    let began = Instant::now();
    loop {
        let read = device.level(&toggle.factor, limit).await;
        match &read {
            Ok((Some(found), _)) if found == level => return Ok(()),
            _ if began.elapsed() < limit => tokio::time::sleep(POLL).await,
            Ok((found, value)) => {
                return Err(format!("it reads {value:?} ({})", found.as_deref().unwrap_or("no level")));
            }
            Err(failure) => return Err(Failure::to_string(failure)),
        }
    }
}
