//! Connections: how many, how long, and how large a request may be. Knows nothing about what is answered.

use super::answer::answer;
use super::board::Board;
use super::door::{Door, Place};
use super::token::Token;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

/// Octets of a request's head (the least that hyper takes), and its fields.
const HEAD: (usize, usize) = (8_192, 64);
/// Rest after an accept that failed, for example for want of file descriptors.
const REST: Duration = Duration::from_millis(10);

/// What clients may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once, of each address listened on.
    pub connections: usize,
    /// Time for the head of a request.
    pub head_time: Duration,
    /// Time for request and answer.
    pub whole_time: Duration,
    /// Time that a wrong token costs.
    pub token_delay: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 64,
            head_time: Duration::from_secs(5),
            whole_time: Duration::from_secs(20),
            token_delay: Duration::from_millis(200),
        }
    }
}

/// What a listener serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Serves {
    /// Page, record and metrics.
    All,
    /// Metrics alone.
    Metrics,
}

/// What all connections share.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) board: Mutex<Board>,
    pub(super) token: Option<Token>,
    pub(super) limits: Limits,
}

/// How a listener is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) serves: Serves,
    /// The listener can be reached from this host only.
    pub(super) is_loopback: bool,
}

/// Serves for as long as the runtime lives.
pub(super) async fn run(site: Arc<Site>, listener: std::net::TcpListener, serves: Serves) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let local: Option<IpAddr> = listener.local_addr().ok().map(|address| address.ip());
    let asked = Asked { serves, is_loopback: local.is_some_and(|ip| ip.is_loopback()) };
    let door = Door::new(site.limits.connections);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // No place: closing is all the answer there is time for.
                if let Some(place) = door.enter() {
                    let _ = stream.set_nodelay(true);
                    tokio::spawn(connection(Arc::clone(&site), stream, place, asked));
                }
            }
            Err(_) => sleep(REST).await,
        }
    }
}

/// One request and its answer.
pub(super) async fn connection<S>(site: Arc<Site>, stream: S, place: Place, asked: Asked)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let limits = site.limits;
    let service = service_fn(|request| {
        place.headed();
        let site = Arc::clone(&site);
        async move { Ok::<_, Infallible>(answer(&site, asked, &request).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.head_time).keep_alive(false);
    http.max_buf_size(HEAD.0).max_headers(HEAD.1);
    let served = http.serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        // Whatever went wrong there is the client's loss alone.
        _ = timeout(limits.whole_time, served) => {}
        () = place.evicted() => {}
    }
}
