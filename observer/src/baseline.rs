//! Baselines as files: what is taken from a checked bundle, and how one file takes the place of another without losing it.
//!
//! Figures and rules are those of the pure crates; nothing is compared here.

use crate::infile;
use crate::matrix::bundle::{Bundle, BundleError, Seal};
use crate::matrix::judging::{How, Judged, VERDICT, arms, judge_opened};
use crate::outfile;
use serde_json::Value;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use wireproof_matrices::digest::Digest;
use wireproof_matrices::journal::Record;
use wireproof_matrices::manifest::MANIFEST;
use wireproof_matrices::number::Number;
use wireproof_reports::baseline::{Baseline, Conditions, Snapshot};
use wireproof_reports::record::{self, RecordError};
use wireproof_reports::text::rfc3339;
use wireproof_reports::{Format, RenderError, Style};

/// Longest baseline that is read, octets.
const LONGEST: u64 = 16 << 20;

/// A bundle that was checked and judged again.
#[derive(Debug)]
pub struct Checked {
    /// What came out.
    pub judged: Judged,
    /// What is compared of it.
    pub snapshot: Snapshot,
    /// Whether it is closed.
    pub seal: Seal,
}

/// Why a file of a baseline could not take its place.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// What is there is no baseline.
    #[error("{}: is there and is no baseline ({why}): move it away, or choose another --name", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is.
        why: String,
    },
    /// The file system said no.
    #[error("{}: {source}: check the folder, its rights and the disk", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

/// Checks a bundle (hashes, chain, manifest), judges it again, and takes what is compared.
///
/// # Errors
/// [`BundleError`]; a recorded verdict that is not what the arms give is [`BundleError::Damaged`].
pub fn checked(dir: &Path) -> Result<Checked, BundleError> {
    let bundle = Bundle::open(dir)?;
    let judged = judge_opened(&bundle, &How::default())?;
    let recorded = match bundle.files().contains_key(VERDICT) {
        true => serde_json::from_slice::<Value>(&bundle.read(VERDICT)?).ok(),
        false => None,
    };
    let word = |value: &Value| value.get("verdict").and_then(Value::as_str).map(str::to_owned);
    let again = judged.verdict.verdict.word().to_lowercase();
    if let Some(said) = recorded.map(|value| word(&value).unwrap_or_default())
        && said != again
    {
        let what = format!("it says {said:?}, and the arms give {again}");
        return Err(BundleError::damaged(dir, VERDICT, what));
    }
    let conditions = conditions(&bundle, &judged)?;
    let mut snapshot = Snapshot::of(&judged.plan, &judged.verdict, &build(&bundle), conditions);
    let whole = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    snapshot.bundle = whole.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let seal = bundle.seal();
    if seal == Seal::Sealed {
        let at = dir.join(MANIFEST);
        let octets = fs::read(&at).map_err(|source| BundleError::Io { path: at, source })?;
        snapshot.manifest_sha256 = Some(Digest::of(&octets).to_string());
    }
    Ok(Checked { judged, snapshot, seal })
}

/// The build that the device said it was.
fn build(bundle: &Bundle) -> String {
    let said = bundle.journal().iter().find_map(|entry| match &entry.record {
        Record::Env { device } => Some(device.build.clone()),
        _ => None,
    });
    said.unwrap_or_default()
}

/// Load from `env.json`, flags from the device's status in the arms.
fn conditions(bundle: &Bundle, judged: &Judged) -> Result<Conditions, BundleError> {
    let load = judged.environment.as_ref().and_then(|env| env.pointer("/host/load"));
    let load = load.and_then(|load| match load {
        Value::String(text) => text.split_whitespace().next()?.parse().ok(),
        other => other.as_f64(),
    });
    let flags: Vec<u64> = arms(bundle)?.iter().flat_map(|arm| arm.measured.throttled).flatten().collect();
    let throttled = (!flags.is_empty()).then(|| flags.iter().fold(0, |all, flags| all | flags));
    Ok(Conditions { load: load.and_then(Number::finite), throttled })
}

/// Writes a baseline as `<dir>/<name>.json`; one that is there is kept beside it under the time it was set. Returns where
/// both are.
///
/// # Errors
/// [`StoreError`]; what was there is untouched then.
pub fn store(dir: &Path, baseline: &Baseline) -> Result<(PathBuf, Option<PathBuf>), StoreError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| StoreError::Io { path, source }
    };
    fs::create_dir_all(dir).map_err(at(dir))?;
    let path = dir.join(format!("{}.json", baseline.name));
    let kept = match read_file(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(source) => return Err(StoreError::Io { path, source }),
        Ok(octets) => Some(keep(&path, &octets)?),
    };
    let written: Result<(), RenderError> =
        outfile::write(&path, |out| baseline.render(Format::Json, Style::default(), out));
    match written {
        Ok(()) => Ok((path, kept)),
        Err(RenderError::Write(source)) => Err(StoreError::Io { path, source }),
        Err(other) => Err(StoreError::Io { path, source: io::Error::other(other) }),
    }
}

/// Copies the baseline that is there to a name of its own, which nobody has.
fn keep(path: &Path, octets: &[u8]) -> Result<PathBuf, StoreError> {
    let foreign = |why: String| StoreError::Foreign { path: path.to_owned(), why };
    let old = match record::Record::read(octets) {
        Ok(record::Record::Baseline(old)) => old,
        Ok(other) => return Err(foreign(other.schema().to_owned())),
        Err(error @ (RecordError::NoRecord(_) | RecordError::Unknown(_) | RecordError::Broken { .. })) => {
            return Err(foreign(error.to_string()));
        }
    };
    let time: String =
        rfc3339(old.set_ns, 6).chars().take(19).filter(|c| c.is_ascii_alphanumeric()).collect();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    for n in 1_u32.. {
        let again = if n == 1 { String::new() } else { format!("-{n}") };
        let kept = path.with_file_name(format!("{stem}.{time}Z{again}.json"));
        let made = OpenOptions::new().write(true).create_new(true).open(&kept);
        match made.and_then(|mut file| file.write_all(octets).and_then(|()| file.sync_all())) {
            Ok(()) => return Ok(kept),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(StoreError::Io { path: kept, source }),
        }
    }
    Err(foreign("every name to keep it under is taken".to_owned()))
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    let file = infile::open(path)?;
    io::Read::read_to_end(&mut io::Read::take(file, LONGEST + 1), &mut octets)?;
    if octets.len() as u64 > LONGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("over {LONGEST} octets")));
    }
    Ok(octets)
}
