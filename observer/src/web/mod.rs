//! The live page and the metrics of a run: one thread with one small runtime, which looks at the run twice a second.
//!
//! The receive loop hands its figures over by queues that it only tries; nothing here can hold it up. Whatever clients do
//! is bounded: connections, octets of a request, time. Nothing is fetched from elsewhere and nothing can be changed.

mod answer;
mod board;
mod desk;
mod door;
mod server;
mod token;

#[doc(hidden)]
pub use desk::Desk;
pub use server::Limits;
pub use token::Token;

use crate::live::glances::Watcher;
use crate::live::source::SourceInfo;
use crate::outfile;
use board::Board;
use server::{Serves, Site};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::interval;
use wireproof_reports::Terms;

/// Time between two looks at the run.
pub const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Time between two tries of the queue that a look comes by.
const TRY_EVERY: Duration = Duration::from_millis(50);
/// Looks from one textfile to the next.
const LOOKS_A_FILE: u32 = 10;

/// What is served, and where.
#[derive(Debug, Default)]
pub struct Options {
    /// Address of the page.
    pub web: Option<SocketAddr>,
    /// Address of the metrics alone.
    pub prom: Option<SocketAddr>,
    /// File that the metrics are written to every five seconds and at the end.
    pub textfile: Option<PathBuf>,
    /// What clients have to know.
    pub token: Option<Token>,
    /// Addresses and names are masked.
    pub anonymize: bool,
    /// What is left out and waived.
    pub terms: Terms,
    /// What clients may take.
    pub limits: Limits,
}

/// Why it cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// An address cannot be listened on.
    #[error("{0} cannot be listened on ({1}): is another program on that port?")]
    Listen(SocketAddr, io::Error),
    /// The textfile cannot be written.
    #[error("{0} cannot be written ({1}): check the folder, its rights and the space on the disk")]
    Textfile(PathBuf, io::Error),
    /// No thread.
    #[error("the thread of the web page cannot be started ({0})")]
    Thread(io::Error),
}

/// What is being served. Ends when stopped or dropped.
#[derive(Debug)]
pub struct Web {
    /// Address of the page.
    pub web: Option<SocketAddr>,
    /// Address of the metrics alone.
    pub prom: Option<SocketAddr>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Option<WebError>>>,
}

impl Web {
    /// Listens, writes the textfile once, and starts to serve.
    ///
    /// # Errors
    /// [`WebError`]; nothing is listened on then.
    pub fn start(options: Options, watcher: Watcher, sources: &[SourceInfo]) -> Result<Web, WebError> {
        Listening::open(options)?.serve(watcher, sources)
    }

    /// Stops serving; what went wrong with the textfile on the way, if anything did.
    pub fn stop(mut self) -> Option<WebError> {
        self.end()
    }

    fn end(&mut self) -> Option<WebError> {
        drop(self.stop.take());
        self.thread.take()?.join().ok()?
    }
}

/// Ports that are listened on and not served yet: opening them may take rights that serving does not.
#[derive(Debug)]
pub struct Listening {
    options: Options,
    web: Option<TcpListener>,
    prom: Option<TcpListener>,
}

impl Listening {
    /// Listens.
    ///
    /// # Errors
    /// [`WebError::Listen`].
    pub fn open(options: Options) -> Result<Listening, WebError> {
        let [web, prom] = [options.web, options.prom].map(|address| address.map(listen).transpose());
        Ok(Listening { web: web?, prom: prom?, options })
    }

    /// Writes the textfile once, and starts to serve.
    ///
    /// # Errors
    /// [`WebError`]; nothing is listened on any more then.
    pub fn serve(self, watcher: Watcher, sources: &[SourceInfo]) -> Result<Web, WebError> {
        let Listening { options, web, prom } = self;
        let mut board = Board::new(sources, options.anonymize, options.terms);
        let file = options.textfile;
        if let Some(path) = &file {
            write(path, &board.metrics())?;
        }
        let mut started = Web {
            web: web.as_ref().and_then(|l| l.local_addr().ok()),
            prom: prom.as_ref().and_then(|l| l.local_addr().ok()),
            stop: None,
            thread: None,
        };
        let (stop, stopped) = oneshot::channel();
        let site = Arc::new(Site { board: Mutex::new(board), token: options.token, limits: options.limits });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
        let runtime = runtime.map_err(WebError::Thread)?;
        let body = move || {
            let failed = runtime.block_on(async {
                for (listener, serves) in [(web, Serves::All), (prom, Serves::Metrics)] {
                    if let Some(listener) = listener {
                        tokio::spawn(server::run(Arc::clone(&site), listener, serves));
                    }
                }
                look(&site, watcher, file, stopped).await
            });
            runtime.shutdown_background();
            failed
        };
        let thread = thread::Builder::new().name("web".to_owned()).spawn(body).map_err(WebError::Thread)?;
        (started.stop, started.thread) = (Some(stop), Some(thread));
        Ok(started)
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.end();
    }
}

fn listen(address: SocketAddr) -> Result<TcpListener, WebError> {
    let open = || {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    };
    open().map_err(|error| WebError::Listen(address, error))
}

fn write(path: &Path, text: &str) -> Result<(), WebError> {
    let body = |out: &mut dyn io::Write| out.write_all(text.as_bytes());
    outfile::write(path, body).map_err(|error: io::Error| WebError::Textfile(path.to_owned(), error))
}

/// Looks at the run until it is over, and keeps the textfile up to date.
async fn look(
    site: &Site,
    mut watcher: Watcher,
    file: Option<PathBuf>,
    mut stopped: oneshot::Receiver<()>,
) -> Option<WebError> {
    let (mut tries, mut looks) = (interval(TRY_EVERY), interval(LOOK_EVERY));
    let (mut failed, mut until_file) = (None, LOOKS_A_FILE);
    loop {
        tokio::select! {
            _ = &mut stopped => break,
            _ = looks.tick() => { watcher.ask(); }
            _ = tries.tick() => {
                let board = || site.board.lock().unwrap_or_else(PoisonError::into_inner);
                if !watcher.take(|look| board().take(look)) {
                    continue;
                }
                until_file -= 1;
                if until_file == 0 {
                    until_file = LOOKS_A_FILE;
                    failed = file.as_ref().and_then(|path| write(path, &board().metrics()).err());
                }
            }
        }
    }
    let text = site.board.lock().unwrap_or_else(PoisonError::into_inner).metrics();
    file.and_then(|path| write(&path, &text).err()).or(failed)
}
