//! The control thread: everything that asks the device for something, on one tokio runtime that shares nothing with the
//! receive loop. What it is told comes in order; what came of it goes to the conductor's queue.

use super::clock::BenchClock;
use super::device::Device;
use super::ring_reader::RingReader;
use crate::live::drain::{DrainPlan, DrainSpan, DrainStatus, DrainUrl, RingCheck, download};
use crossbeam_channel::Sender;
use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, LocalSet, spawn_local};
use tokio::time::timeout;
use wireproof_matrices::arm::{ArmDrain, Span};
use wireproof_matrices::runner::io::{Answer, Failure, Ticket};

/// A question to the device.
#[derive(Clone, Debug)]
pub enum Job {
    /// Its status.
    Status,
    /// What a factor stands at.
    Level(String),
    /// Set a factor to a level.
    Set(String, String),
    /// The counter of a factor's effect.
    Counter(String),
    /// The clocks.
    Clock,
    /// Download the ring into a file.
    Collect(Box<Fetch>),
}

/// A download.
#[derive(Clone, Debug)]
pub struct Fetch {
    /// Where from.
    pub url: DrainUrl,
    /// Folder.
    pub folder: PathBuf,
    /// Name in it.
    pub name: String,
    /// Octets it has to have; `None` if nobody knows.
    pub expect: Option<u64>,
    /// It has to be a ring, read in this way.
    pub ring: Option<RingReader>,
    /// Longest it may take.
    pub limit: Duration,
}

/// What came of something.
#[derive(Debug)]
pub enum Told {
    /// A job is over.
    Done(Ticket, Result<Answer, Failure>),
    /// A status came with what the runner does not ask for: processor time, ns.
    Cpu(u64),
    /// A collecting download is over.
    Collected(Ticket, Box<DrainSpan>),
    /// A download inside a window is over.
    Drained(u32, Box<ArmDrain>),
}

enum Message {
    Do(Ticket, Duration, Job),
    Drain(u32, u64, Box<Fetch>),
    CutDrains,
    Abort(Ticket),
}

/// The running thread.
#[derive(Debug)]
pub struct Control {
    tell: mpsc::UnboundedSender<Message>,
    thread: Option<JoinHandle<()>>,
}

impl Control {
    /// Starts it.
    ///
    /// # Errors
    /// No thread, or nothing to wait for the network with.
    pub fn start(device: Device, clock: BenchClock, told: Sender<Told>) -> io::Result<Control> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let (tell, mut asked) = mpsc::unbounded_channel();
        let work = move || {
            let set = LocalSet::new();
            let mut desk = Desk::new(device, clock, told);
            set.block_on(&runtime, async move {
                while let Some(message) = asked.recv().await {
                    desk.take(message);
                }
            });
            // A program or a name look-up that hangs must not keep the thread.
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name("matrix-control".to_owned()).spawn(work)?;
        Ok(Control { tell, thread: Some(thread) })
    }

    /// Gives it a job; what came of it is told with the ticket.
    pub fn ask(&self, ticket: Ticket, limit: Duration, job: Job) {
        self.send(Message::Do(ticket, limit, job));
    }

    /// Begins a download inside a window.
    pub fn drain(&self, index: u32, planned_ns: u64, fetch: Fetch) {
        self.send(Message::Drain(index, planned_ns, Box::new(fetch)));
    }

    /// Cuts off the downloads that are still going; they are told as failed.
    pub fn cut_drains(&self) {
        self.send(Message::CutDrains);
    }

    /// Gives a job up; it is told as [`Failure::Aborted`] unless it was over already.
    pub fn abort(&self, ticket: Ticket) {
        self.send(Message::Abort(ticket));
    }

    fn send(&self, message: Message) {
        // Without the thread nothing is told any more, and the runner's limits end the wait.
        let _ = self.tell.send(message);
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let (closed, _) = mpsc::unbounded_channel();
        self.tell = closed;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the thread owns.
struct Desk {
    device: Rc<Device>,
    clock: BenchClock,
    told: Sender<Told>,
    going: HashMap<Ticket, AbortHandle>,
    drains: Vec<oneshot::Sender<Infallible>>,
}

impl Desk {
    fn new(device: Device, clock: BenchClock, told: Sender<Told>) -> Desk {
        Desk { device: Rc::new(device), clock, told, going: HashMap::new(), drains: Vec::new() }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Do(ticket, limit, job) => {
                self.going.retain(|_, handle| !handle.is_finished());
                let (device, clock, told) = (Rc::clone(&self.device), self.clock, self.told.clone());
                let handle = spawn_local(async move {
                    let result = timeout(limit, done(&device, clock, &told, ticket, job, limit)).await;
                    if let Some(result) = result.unwrap_or(Some(Err(Failure::TimedOut))) {
                        let _ = told.send(Told::Done(ticket, result));
                    }
                });
                self.going.insert(ticket, handle.abort_handle());
            }
            Message::Drain(index, planned_ns, fetch) => {
                let (stop, stopped) = oneshot::channel();
                self.drains.retain(|stop| !stop.is_closed());
                self.drains.push(stop);
                let (clock, told) = (self.clock, self.told.clone());
                spawn_local(async move {
                    let drain = drained(&fetch, planned_ns, clock, stopped).await;
                    let _ = told.send(Told::Drained(index, Box::new(drain)));
                });
            }
            Message::CutDrains => self.drains.clear(),
            Message::Abort(ticket) => {
                if let Some(handle) = self.going.remove(&ticket).filter(|handle| !handle.is_finished()) {
                    handle.abort();
                    let _ = self.told.send(Told::Done(ticket, Err(Failure::Aborted)));
                }
            }
        }
    }
}

/// Does a job; `None` when it was told in another way.
async fn done(
    device: &Device,
    clock: BenchClock,
    told: &Sender<Told>,
    ticket: Ticket,
    job: Job,
    limit: Duration,
) -> Option<Result<Answer, Failure>> {
    Some(match job {
        Job::Status => device.status(&|| clock.now_ns()).await.map(|said| {
            said.cpu_ns.map(|ns| told.send(Told::Cpu(ns)));
            Answer::Status(Box::new(said.status))
        }),
        Job::Level(factor) => {
            device.level(&factor, limit).await.map(|(level, value)| Answer::Level { level, value })
        }
        Job::Set(factor, level) => device.set(&factor, &level, limit).await.map(|()| Answer::Done),
        Job::Counter(factor) => device.counter(&factor).await.map(Answer::Counter),
        Job::Clock => device.clock(&|| clock.now_ns()).await.map(Answer::Clock),
        Job::Collect(fetch) => {
            let (_open, mut never) = oneshot::channel();
            let (span, ..) = download(&plan(&fetch, limit), 1, &fetch.name, &mut never).await;
            let _ = told.send(Told::Collected(ticket, Box::new(span)));
            return None;
        }
    })
}

fn plan(fetch: &Fetch, limit: Duration) -> DrainPlan {
    let plan = DrainPlan::new(fetch.url.clone(), Duration::from_secs(1), &fetch.folder);
    DrainPlan { deadline: fetch.limit.min(limit), ..plan }
}

/// One download inside a window, on the runner's clock. Inside a window nothing is tried again.
async fn drained(
    fetch: &Fetch,
    planned_ns: u64,
    clock: BenchClock,
    mut stopped: oneshot::Receiver<Infallible>,
) -> ArmDrain {
    let start_ns = clock.now_ns();
    let (span, ..) = download(&plan(fetch, fetch.limit), 1, &fetch.name, &mut stopped).await;
    let bench = Span { start_ns, end_ns: clock.now_ns() };
    let failed = failure(fetch, &span);
    let sha256 = Some(span.sha256).filter(|sha256| !sha256.is_empty());
    ArmDrain { planned_ns, bench, device: Span::default(), real: true, failed, bytes: span.bytes, sha256 }
}

/// Why a download is no good, if it is none.
pub fn failure(fetch: &Fetch, span: &DrainSpan) -> Option<String> {
    if let DrainStatus::Error(text) = &span.status {
        return Some(text.clone());
    }
    if span.resumed > 0 {
        return Some("the body broke off and was gone on with".to_owned());
    }
    if let Some(expected) = fetch.expect.filter(|expected| *expected != span.bytes) {
        return Some(format!("{} octets came, {expected} were expected", span.bytes));
    }
    let reader = fetch.ring.as_ref()?;
    if let RingReader::Legacy(..) = reader {
        // A file of megabytes in memory: what the disk says is said by the reading of it.
        let image = std::fs::read(fetch.folder.join(&fetch.name)).unwrap_or_default();
        return reader.read(&image).err().map(|why| format!("what came is no whole ring: {why}"));
    }
    match &span.ring {
        Some(RingCheck::Ok(_)) => None,
        Some(RingCheck::Refused(why)) => Some(format!("what came is no whole ring: {why}")),
        None => Some("what came is no ring".to_owned()),
    }
}

/// Removes a file that may not be there.
pub fn discard(path: &Path) {
    let _ = std::fs::remove_file(path);
}
