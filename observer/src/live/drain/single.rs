//! One download outside of any measurement: tried again where that helps, verified before it has its name, and whole or
//! absent under it. Waits; never runs beside a receive thread.

use super::fetch::{FetchError, Progress, Told, fetch};
use super::url::DrainUrl;
use super::worker::now_ns;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use thiserror::Error;
use tokio::time::{sleep, timeout};
use wireproof_recorder::layout::MAGIC;
use wireproof_recorder::offset::Exchange;
use wireproof_recorder::{Policy, Refusal, Ring, parse, v1};

/// Time between two looks at the flag that ends it.
const LOOK: Duration = Duration::from_millis(50);
/// Rests between attempts.
const RESTS: [Duration; 3] = [Duration::from_millis(200), Duration::from_millis(500), Duration::from_secs(1)];

/// What came of a download.
#[derive(Debug)]
pub struct Single {
    /// Octets.
    pub bytes: u64,
    /// SHA-256 of the file in lower-case hexadecimal.
    pub sha256: String,
    /// The image and what it says; `None` for a legacy ring, which says nothing about its own fields.
    pub ring: Option<(Vec<u8>, Ring)>,
    /// Start of the first attempt, ns since 1970.
    pub started_ns: i64,
    /// End of the last, ns since 1970.
    pub ended_ns: i64,
    /// Attempts that it took.
    pub attempts: u32,
    /// How often a body that broke off was gone on with, in the last attempt.
    pub resumed: u32,
    /// The image before, which was refused: why, and where it is kept.
    pub refused: Option<(Refusal, Option<PathBuf>)>,
    /// Clock readings of both sides, from a ring service.
    pub exchange: Option<Exchange>,
}

/// Why there is no file under the name.
#[derive(Debug, Error)]
pub enum SingleError {
    /// It did not come, or not whole.
    #[error("{0}")]
    Failed(String),
    /// It came and cannot be believed; it is kept under another name.
    #[error("{refusal}")]
    Refused {
        /// Why not.
        refusal: Refusal,
        /// Where it is kept; `None` when that failed.
        kept: Option<PathBuf>,
    },
    /// The file cannot be written.
    #[error("{0}")]
    File(io::Error),
    /// It was told to stop.
    #[error("interrupted")]
    Interrupted,
}

/// Downloads a ring to a path. A connection that fails and a server that is too busy are tried four times in all, a body
/// that breaks off is gone on with four times, an image that is refused is asked for twice.
///
/// # Errors
/// [`SingleError`], also when `stop` is set; nothing stands under the path then that was not there before.
pub fn single(
    url: &DrainUrl,
    path: &Path,
    limit: u64,
    deadline: Duration,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> Result<Single, SingleError> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_io().enable_time().build().map_err(SingleError::File)?;
    let attempts = Attempts { url, path, limit, deadline };
    // What is dropped here removes what it had begun to write.
    let outcome = runtime.block_on(async {
        tokio::select! {
            biased;
            outcome = attempts.run(progress) => outcome,
            () = set(stop) => Err(SingleError::Interrupted),
        }
    });
    // A name that is still being looked up must not keep anybody.
    runtime.shutdown_background();
    outcome
}

/// Waits until somebody sets the flag.
async fn set(stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        sleep(LOOK).await;
    }
}

/// Where from, where to, how much and how long.
struct Attempts<'a> {
    url: &'a DrainUrl,
    path: &'a Path,
    limit: u64,
    deadline: Duration,
}

impl Attempts<'_> {
    async fn run(&self, progress: Progress<'_>) -> Result<Single, SingleError> {
        let started_ns = now_ns();
        let (mut attempts, mut refused) = (0, None);
        loop {
            attempts += 1;
            let (error, helps) = match self.one(progress).await {
                Ok(got) => return Ok(Single { started_ns, attempts, refused, ..got }),
                Err(Attempt::Broken(text, helps)) => (SingleError::Failed(text), helps),
                Err(Attempt::Error(error)) => (error, false),
                Err(Attempt::Refused(refusal, kept)) => {
                    let first = refused.is_none();
                    refused = Some((refusal, kept.clone()));
                    (SingleError::Refused { refusal, kept }, first)
                }
            };
            match RESTS.get(attempts as usize - 1).filter(|_| helps) {
                Some(rest) => sleep(*rest).await,
                None => return Err(error),
            }
        }
    }

    async fn one(&self, progress: Progress<'_>) -> Result<Single, Attempt> {
        let (directory, name) = place(self.path).map_err(SingleError::File)?;
        let temporary = format!(".{name}.{}.tmp", std::process::id());
        let mut told = Told::default();
        let download = fetch(self.url, &directory, &temporary, self.limit, &mut told, progress);
        let fetched = match timeout(self.deadline, download).await {
            Ok(fetched) => fetched.map_err(|error| broken(error, told.resumed))?,
            Err(_) => {
                let text = format!("not finished within {} ms", self.deadline.as_millis());
                return Err(Attempt::Broken(text, false));
            }
        };
        let file = directory.join(temporary);
        let settled = verified(&file).and_then(|ring| match ring {
            Ok(ring) => settle(&file, self.path, &directory).map(|()| Ok(ring)),
            Err(refusal) => Ok(Err(refusal)),
        });
        let ring = match settled {
            Ok(Ok(ring)) => ring,
            Ok(Err(refusal)) => return Err(Attempt::Refused(refusal, keep(&file, self.path, &name))),
            Err(error) => {
                // The first error is the one to report.
                let _ = fs::remove_file(&file);
                return Err(Attempt::Error(SingleError::File(error)));
            }
        };
        Ok(Single {
            bytes: told.bytes,
            sha256: fetched.sha256,
            ring,
            started_ns: 0,
            ended_ns: now_ns(),
            attempts: 0,
            resumed: told.resumed,
            refused: None,
            exchange: told.exchange,
        })
    }
}

/// Why an attempt failed.
enum Attempt {
    /// On the way; whether another one may help.
    Broken(String, bool),
    /// The image is refused; where it is kept.
    Refused(Refusal, Option<PathBuf>),
    /// Nothing helps.
    Error(SingleError),
}

impl From<SingleError> for Attempt {
    fn from(error: SingleError) -> Self {
        Attempt::Error(error)
    }
}

fn broken(error: FetchError, resumed: u32) -> Attempt {
    match error {
        FetchError::File(error) => Attempt::Error(SingleError::File(error)),
        // What was gone on with in vain has had its attempts.
        error => Attempt::Broken(error.to_string(), error.is_passing() && resumed == 0),
    }
}

/// The folder of a path and the name in it. What is there and no file is left alone: a rename would replace a device.
fn place(path: &Path) -> io::Result<(PathBuf, String)> {
    if fs::metadata(path).is_ok_and(|about| !about.is_file()) {
        return Err(io::Error::other("what is there is no regular file"));
    }
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    Ok((directory.unwrap_or(Path::new(".")).to_owned(), name.to_string_lossy().into_owned()))
}

/// An image and its ring; `None` for a legacy one.
type Legible = Option<(Vec<u8>, Ring)>;

/// What a file is worth: length, stamp, checksums and generations; the outer error is the file system's.
fn verified(file: &Path) -> io::Result<Result<Legible, Refusal>> {
    let image = fs::read(file)?;
    if image.starts_with(v1::MAGIC.as_bytes()) && !image.starts_with(&MAGIC) {
        return Ok(Ok(None));
    }
    Ok(parse(&image, Policy::Conservative).map(|ring| Some((image, ring))))
}

/// Keeps an image that is refused as evidence; where.
fn keep(file: &Path, path: &Path, name: &str) -> Option<PathBuf> {
    let kept = path.with_file_name(format!("{name}.refused"));
    fs::rename(file, &kept).ok().map(|()| kept)
}

/// Gives a file that is on the disk its name, for good.
fn settle(file: &Path, path: &Path, directory: &Path) -> io::Result<()> {
    fs::rename(file, path)?;
    // Not every file system can do this for a folder; the file itself is safe.
    let _ = File::open(directory).and_then(|folder| folder.sync_all());
    Ok(())
}
