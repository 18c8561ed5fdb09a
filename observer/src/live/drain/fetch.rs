//! One download over HTTP/1.1: no redirect, no encryption, no more octets than allowed, and a length that must hold.
//! A body that states no length and is not chunked ends where the connection ends. A body that breaks off is gone on
//! with, if the server names it by a strong entity tag, so that no two bodies are ever mixed.

use super::part::PartFile;
use super::url::DrainUrl;
use super::worker::now_ns;
use http_body_util::{BodyExt, Empty};
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HOST, HeaderValue, IF_RANGE, RANGE,
    USER_AGENT,
};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::io;
use std::path::Path;
use std::time::Duration;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::sleep;
use wireproof_recorder::offset::Exchange;

/// Most octets read at once, and of a response's head.
const PIECE: usize = 64 << 10;

/// How often a body that broke off is gone on with.
const MOST_RESUMES: u32 = 4;
/// Rest before the first time; each further one is so much longer.
const REST: Duration = Duration::from_millis(250);

/// A body on the disk.
#[derive(Debug)]
pub(super) struct Fetched {
    /// In lower-case hexadecimal.
    pub(super) sha256: String,
}

/// What is known of a download, whether it succeeds or not.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Told {
    /// Octets of body received.
    pub(super) bytes: u64,
    /// How often it was gone on with or begun again after it broke off.
    pub(super) resumed: u32,
    /// The server says that it is a recorder's ring.
    pub(super) ring: bool,
    /// The exchange of clocks with the least delay.
    pub(super) exchange: Option<Exchange>,
}

/// Why there is no file.
#[derive(Debug, Error)]
pub enum FetchError {
    /// Nobody listens, or the way is broken.
    #[error("not connected: {0}")]
    Connect(io::Error),
    /// What answers does not speak HTTP.
    #[error("no answer that is HTTP: {0}")]
    Answer(hyper::Error),
    /// It points elsewhere.
    #[error("status {0}, a redirect, is not followed: give the final URL")]
    Redirect(u16),
    /// It refuses.
    #[error("status {0}")]
    Status(StatusCode),
    /// More than may come.
    #[error("the body is longer than the {0} octets allowed")]
    TooLong(u64),
    /// The connection ended in the body.
    #[error("the body broke off: {0}")]
    Body(hyper::Error),
    /// The disk refuses.
    #[error("the file cannot be written: {0}")]
    File(io::Error),
    /// Not the part that was asked for.
    #[error("the server goes on with another part, or another body, than was asked for")]
    Range,
}

impl FetchError {
    /// It may be over a moment later.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            FetchError::Body(_) | FetchError::Connect(_) | FetchError::Answer(_) => true,
            FetchError::Status(status) => *status == StatusCode::SERVICE_UNAVAILABLE,
            _ => false,
        }
    }
}

/// What is told on the way: octets so far, and the length that the server states.
pub(super) type Progress<'a> = &'a mut dyn FnMut(u64, Option<u64>);

/// Downloads into `NAME` in the directory; `told` counts along, for a download that is broken off.
pub(super) async fn fetch(
    url: &DrainUrl,
    directory: &Path,
    name: &str,
    limit: u64,
    told: &mut Told,
    progress: Progress<'_>,
) -> Result<Fetched, FetchError> {
    let mut transfer = Transfer { url, limit, part: None, body: None, progress };
    while let Err(error) = transfer.attempt(directory, name, told).await {
        if !transfer.can_resume(&error) || told.resumed == MOST_RESUMES {
            return Err(error);
        }
        told.resumed += 1;
        sleep(REST * told.resumed).await;
    }
    match transfer.part {
        Some(part) => part.finish().map(|sha256| Fetched { sha256 }).map_err(FetchError::File),
        None => Err(FetchError::Range),
    }
}

/// Asks for a path that costs the device next to nothing; the clocks that the answer carries.
pub(super) async fn exchange(url: &DrainUrl, path: &'static str) -> Option<Exchange> {
    // The driver is dropped with this call, which ends the connection too.
    let (mut sender, _driver) = connect(url).await.ok()?;
    let mut request = request(url, Empty::<Bytes>::new());
    *request.uri_mut() = path.parse().ok()?;
    let mut told = Told::default();
    let asked_ns = now_ns();
    let response = sender.send_request(request).await.ok()?;
    told.note(&response, asked_ns, now_ns());
    told.exchange
}

/// A download from a server that says these octets and goes away: how many octets of body came. Nothing is left in the
/// folder. For tests and fuzzing; it connects to nobody.
///
/// # Errors
/// As a download that is not gone on with.
pub fn hear(octets: &[u8], directory: &Path, limit: u64) -> Result<u64, FetchError> {
    let url = "http://localhost/v1/ring/raw".parse::<DrainUrl>();
    let url = url.map_err(|_| FetchError::Connect(io::ErrorKind::InvalidInput.into()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let said = octets.to_vec();
    runtime.map_err(FetchError::Connect)?.block_on(async {
        let (near, mut far) = tokio::io::duplex(PIECE);
        let (mut told, mut progress) = (Told::default(), |_, _| {});
        let mut transfer = Transfer { url: &url, limit, part: None, body: None, progress: &mut progress };
        let server = async move {
            let mut asked = Vec::new();
            let _ = far.read_buf(&mut asked).await;
            let _ = far.write_all(&said).await;
        };
        let client = async {
            let (sender, _driver) = connect_over(near).await?;
            transfer.attempt_over(sender, directory, ".heard.tmp", &mut told).await
        };
        tokio::join!(client, server).0.map(|()| told.bytes)
    })
}

/// One body, in as many attempts as it takes.
struct Transfer<'a> {
    url: &'a DrainUrl,
    limit: u64,
    part: Option<PartFile>,
    /// Entity tag and length of the body that the part is of.
    body: Option<(HeaderValue, u64)>,
    progress: Progress<'a>,
}

impl Transfer<'_> {
    /// Only what broke, and what the server is too busy for at the moment, is tried again.
    fn can_resume(&self, error: &FetchError) -> bool {
        error.is_passing() && self.body.is_some() && self.part.is_some()
    }

    async fn attempt(&mut self, directory: &Path, name: &str, told: &mut Told) -> Result<(), FetchError> {
        // Dropped with this attempt, which ends the connection too.
        let (sender, _driver) = connect(self.url).await?;
        self.attempt_over(sender, directory, name, told).await
    }

    async fn attempt_over(
        &mut self,
        mut sender: http1::SendRequest<Empty<Bytes>>,
        directory: &Path,
        name: &str,
        told: &mut Told,
    ) -> Result<(), FetchError> {
        let request = self.request();
        let asked_ns = now_ns();
        let response = sender.send_request(request).await.map_err(FetchError::Answer)?;
        told.note(&response, asked_ns, now_ns());
        let limit = self.limit;
        let whole = match self.accept(&response)? {
            Place::Start => self.start(&response, directory, name)?,
            Place::Further => self.body.as_ref().map(|(_, length)| *length),
        };
        let part = self.part.as_mut().ok_or(FetchError::Range)?;
        let mut progress = |bytes| {
            told.bytes = bytes;
            (self.progress)(bytes, whole);
        };
        copy(response.into_body(), part, limit, &mut progress).await
    }

    fn request(&self) -> Request<Empty<Bytes>> {
        let mut request = request(self.url, Empty::new());
        if let Some(((etag, _), part)) = self.body.as_ref().zip(self.part.as_ref()) {
            let headers = request.headers_mut();
            headers.insert(IF_RANGE, etag.clone());
            headers
                .extend(HeaderValue::try_from(format!("bytes={}-", part.bytes())).ok().map(|v| (RANGE, v)));
        }
        request
    }

    /// Where this body has its place; a 206 has to go on exactly where the part ends, in the very same body.
    fn accept(&self, response: &Response<Incoming>) -> Result<Place, FetchError> {
        accept(response, self.limit)?;
        if response.status() != StatusCode::PARTIAL_CONTENT {
            return Ok(Place::Start);
        }
        let (part, (etag, length)) = self.part.as_ref().zip(self.body.as_ref()).ok_or(FetchError::Range)?;
        let text = response.headers().get(CONTENT_RANGE).and_then(|range| range.to_str().ok());
        let expected = format!("bytes {}-{}/{length}", part.bytes(), length.saturating_sub(1));
        let same = response.headers().get(ETAG) == Some(etag) && text == Some(expected.as_str());
        if same { Ok(Place::Further) } else { Err(FetchError::Range) }
    }

    /// Begins the file, or begins it again; the length that is stated.
    fn start(
        &mut self,
        response: &Response<Incoming>,
        directory: &Path,
        name: &str,
    ) -> Result<Option<u64>, FetchError> {
        let etag = response.headers().get(ETAG).filter(|etag| etag.as_bytes().starts_with(b"\""));
        self.body = etag.cloned().zip(stated(response));
        match &mut self.part {
            Some(part) => part.start_over().map_err(FetchError::File)?,
            None => self.part = Some(PartFile::create(directory, name).map_err(FetchError::File)?),
        }
        Ok(stated(response))
    }
}

/// Where the body of an answer goes.
enum Place {
    /// The file begins with it.
    Start,
    /// It goes on where the file ends.
    Further,
}

impl Told {
    /// Reads what a ring service says about itself.
    fn note(&mut self, response: &Response<Incoming>, asked_ns: i64, answered_ns: i64) {
        let number = |name: &str| response.headers().get(name)?.to_str().ok()?.parse::<i64>().ok();
        self.ring |= response.headers().contains_key("x-ring-snapshot");
        let clocks = number("x-ring-received-ns").zip(number("x-ring-sent-ns"));
        let exchange =
            clocks.map(|(received_ns, sent_ns)| Exchange { asked_ns, received_ns, sent_ns, answered_ns });
        let delay = |exchange: &Exchange| exchange.delay_ns();
        let better =
            |e: &Exchange| self.exchange.as_ref().and_then(delay).is_none_or(|least| delay(e) < Some(least));
        self.exchange = exchange.filter(|e| delay(e).is_some()).filter(better).or(self.exchange);
    }
}

/// A connection and the task that drives it; it ends with the latter.
pub(crate) async fn connect<B>(
    url: &DrainUrl,
) -> Result<(http1::SendRequest<B>, JoinSet<hyper::Result<()>>), FetchError>
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let stream = TcpStream::connect(url.endpoint()).await.map_err(FetchError::Connect)?;
    connect_over(stream).await
}

async fn connect_over<S, B>(
    stream: S,
) -> Result<(http1::SendRequest<B>, JoinSet<hyper::Result<()>>), FetchError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let handshake = http1::Builder::new().max_buf_size(PIECE).handshake(TokioIo::new(stream)).await;
    let (sender, connection) = handshake.map_err(FetchError::Answer)?;
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    Ok((sender, driver))
}

/// A request of the endpoint with this body.
pub(crate) fn request<B>(url: &DrainUrl, body: B) -> Request<B> {
    let mut request = Request::new(body);
    // Both come out of a URL that was parsed, so that neither is ever refused.
    *request.uri_mut() = url.target().parse().unwrap_or_default();
    let headers = request.headers_mut();
    if let Ok(host) = url.authority().parse() {
        headers.insert(HOST, host);
    }
    headers.extend(url.authorization().map(|(name, value)| (name.clone(), value.clone())));
    for (name, value) in [
        (USER_AGENT, concat!("wireproof/", env!("CARGO_PKG_VERSION"))),
        (ACCEPT_ENCODING, "identity"),
        (CONNECTION, "close"),
    ] {
        headers.insert(name, hyper::header::HeaderValue::from_static(value));
    }
    request
}

fn accept(response: &Response<Incoming>, limit: u64) -> Result<(), FetchError> {
    let status = response.status();
    if status.is_redirection() {
        return Err(FetchError::Redirect(status.as_u16()));
    }
    if !status.is_success() {
        return Err(FetchError::Status(status));
    }
    match stated(response) {
        Some(length) if limit < length => Err(FetchError::TooLong(limit)),
        _ => Ok(()),
    }
}

/// The length that the answer states.
fn stated(response: &Response<Incoming>) -> Option<u64> {
    response.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

async fn copy(
    mut body: Incoming,
    part: &mut PartFile,
    limit: u64,
    progress: &mut dyn FnMut(u64),
) -> Result<(), FetchError> {
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame.map_err(FetchError::Body)?.into_data() else { continue };
        if part.bytes().saturating_add(piece.len() as u64) > limit {
            return Err(FetchError::TooLong(limit));
        }
        part.write(&piece).map_err(FetchError::File)?;
        progress(part.bytes());
    }
    Ok(())
}
