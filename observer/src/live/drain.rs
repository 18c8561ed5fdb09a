//! Background downloads: an HTTP endpoint fetched at fixed times beside a measurement, each download a span on the
//! time line. One control thread does it all; it shares nothing with a receive thread but the processor.
//!
//! The file system is written from that thread too: a slow disk delays the next download, never a datagram.

mod ask;
mod fetch;
mod part;
mod schedule;
mod single;
mod url;
mod verify;
mod worker;

pub use ask::{Answer, Ask, ask};
pub use fetch::FetchError;
#[doc(hidden)]
pub use fetch::hear;
pub(crate) use fetch::{connect, request};
pub use single::{Single, SingleError, single};
pub use url::{BadUrl, DrainUrl};
pub use verify::{RingCheck, RingFacts};
pub use worker::download;

use crossbeam_channel::{Receiver, Sender, bounded};
use schedule::Schedule;
use std::cell::Cell;
use std::convert::Infallible;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use thiserror::Error;
use tokio::sync::oneshot;
use wireproof_recorder::offset::Exchange;

/// Longest body unless a plan says otherwise, octets.
pub const LIMIT_BYTES: u64 = 256 << 20;
/// Longest a download may take unless a plan says otherwise.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// What to download, when and where to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrainPlan {
    /// The endpoint.
    pub url: DrainUrl,
    /// Time from one start to the next; the first is one of these after the run's start.
    pub every: Duration,
    /// Longest a download may take, from looking up the name to the end of the body.
    pub deadline: Duration,
    /// Folder for the files; it is made when absent.
    pub directory: PathBuf,
    /// Longest body accepted, octets.
    pub limit_bytes: u64,
    /// Length of the run: nothing starts at its end or later. `None` goes on until stopped.
    pub run: Option<Duration>,
}

impl DrainPlan {
    /// A plan without end, with [`DEADLINE`] and [`LIMIT_BYTES`].
    pub fn new(url: DrainUrl, every: Duration, directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        DrainPlan { url, every, deadline: DEADLINE, directory, limit_bytes: LIMIT_BYTES, run: None }
    }
}

/// What is said of a download that the end of the run broke off.
pub const BROKEN_OFF: &str = "broken off: the run ended";

/// How a download ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DrainStatus {
    /// The whole body is on the disk.
    Ok,
    /// There is no file; why, in one line without URL and credentials.
    Error(String),
}

/// One download on the time line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrainSpan {
    /// Which multiple of the interval it is, from 1; a number that is missing was skipped.
    pub number: u64,
    /// Start in nanoseconds since 1970, of the clock that kernel stamps come from.
    pub started_ns: i64,
    /// End, as `started_ns`.
    pub ended_ns: i64,
    /// Octets of body received.
    pub bytes: u64,
    /// SHA-256 of the body in lower-case hexadecimal; empty when it did not come whole.
    pub sha256: String,
    /// How it ended.
    pub status: DrainStatus,
    /// Name of the file in the plan's directory; empty when there is none.
    pub file_name: String,
    /// How often it was gone on with after it broke off.
    pub resumed: u32,
    /// What the body is worth, if it is a recorder's ring.
    pub ring: Option<RingCheck>,
    /// Clock readings of bench and device, from a ring service.
    pub exchange: Option<Exchange>,
    /// Further readings beside the download, from answers that cost the device next to nothing.
    pub probes: Vec<Exchange>,
}

impl DrainSpan {
    /// All readings of the clocks.
    pub fn exchanges(&self) -> impl Iterator<Item = Exchange> {
        self.exchange.into_iter().chain(self.probes.iter().copied())
    }
}

/// What became of the starts so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DrainTotals {
    /// Downloads begun.
    pub started: u64,
    /// Starts that were due while the one before still ran, or while this process did not run.
    pub skipped: u64,
    /// Spans that found the channel full or closed.
    pub unreported: u64,
}

/// Why no downloads can be made.
#[derive(Debug, Error)]
pub enum DrainError {
    /// The interval is no time at all.
    #[error("downloads cannot be made every 0 s: give a longer interval")]
    NoInterval,
    /// The folder cannot be made.
    #[error("downloads cannot be kept in {path}: {source}", path = .path.display())]
    Directory {
        /// The folder.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// No thread, or nothing to wait for the network with.
    #[error("downloads cannot be started: {0}")]
    Thread(io::Error),
}

/// The running control thread. Dropping it ends the thread too, without waiting.
#[derive(Debug)]
pub struct Drainer {
    stop: Option<oneshot::Sender<Infallible>>,
    ended: Receiver<Infallible>,
    thread: JoinHandle<()>,
    counts: Arc<Counts>,
}

/// Totals as the control thread writes them.
#[derive(Debug, Default)]
struct Counts {
    started: AtomicU64,
    skipped: AtomicU64,
    unreported: AtomicU64,
}

impl Drainer {
    /// Starts the control thread. `run_start` is where the multiples of the interval count from. Spans go to `spans`
    /// as they end; the channel closes when no more will come.
    ///
    /// # Errors
    /// [`DrainError`]; nothing runs then.
    pub fn start(plan: DrainPlan, run_start: Instant, spans: Sender<DrainSpan>) -> Result<Self, DrainError> {
        let schedule = Schedule::new(plan.every, plan.run).ok_or(DrainError::NoInterval)?;
        let refused = |source| DrainError::Directory { path: plan.directory.clone(), source };
        std::fs::create_dir_all(&plan.directory).map_err(refused)?;
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_io().enable_time().build().map_err(DrainError::Thread)?;
        let (stop, stopped) = oneshot::channel();
        let (alive, ended) = bounded(0);
        let counts = Arc::new(Counts::default());
        let counted = Arc::clone(&counts);
        let is_ring = Cell::new(false);
        let worker = worker::Worker { plan, schedule, run_start, spans, counts: counted, is_ring };
        let work = move || {
            runtime.block_on(worker.run(stopped));
            // A name that is still being looked up must not keep the thread.
            runtime.shutdown_background();
            drop(alive);
        };
        let thread =
            thread::Builder::new().name("drain".to_owned()).spawn(work).map_err(DrainError::Thread)?;
        Ok(Drainer { stop: Some(stop), ended, thread, counts })
    }

    /// What became of the starts so far.
    pub fn totals(&self) -> DrainTotals {
        self.counts.totals()
    }

    /// Breaks off a running download, whose span says so, and waits for the thread's end, at most for `patience`: a
    /// disk that hangs can keep it longer.
    pub fn stop(mut self, patience: Duration) -> DrainTotals {
        drop(self.stop.take());
        // Nothing is ever sent: an error that is no time-out means that the thread has ended.
        if !matches!(self.ended.recv_timeout(patience), Err(e) if e.is_timeout()) {
            // A panic of the control thread is nothing this one could act on.
            let _ = self.thread.join();
        }
        self.counts.totals()
    }
}

/// Makes one download and waits for it: the last one of a run, once nothing is received any more.
///
/// # Errors
/// [`DrainError`]; how the download ended is said by its span.
pub fn once(plan: &DrainPlan, number: u64) -> Result<Option<DrainSpan>, DrainError> {
    let schedule = Schedule::new(plan.every, plan.run).ok_or(DrainError::NoInterval)?;
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_io().enable_time().build().map_err(DrainError::Thread)?;
    let (spans, ended) = bounded(1);
    let counts = Arc::new(Counts::default());
    let (plan, run_start, is_ring) = (plan.clone(), Instant::now(), Cell::new(false));
    let worker = worker::Worker { plan, schedule, run_start, spans, counts, is_ring };
    runtime.block_on(worker.once(number));
    runtime.shutdown_background();
    Ok(ended.try_recv().ok())
}

impl Counts {
    fn add(counter: &AtomicU64, more: u64) {
        counter.fetch_add(more, Ordering::Relaxed);
    }

    fn totals(&self) -> DrainTotals {
        DrainTotals {
            started: self.started.load(Ordering::Relaxed),
            skipped: self.skipped.load(Ordering::Relaxed),
            unreported: self.unreported.load(Ordering::Relaxed),
        }
    }
}
