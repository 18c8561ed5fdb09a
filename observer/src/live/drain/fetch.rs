//! One download over HTTP/1.1: no redirect, no encryption, no more octets than allowed, and a length that must hold.
//! A body that states no length and is not chunked ends where the connection ends.

use super::part::PartFile;
use super::url::DrainUrl;
use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, USER_AGENT};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::io;
use std::path::Path;
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// Most octets read at once, and of a response's head.
const PIECE: usize = 64 << 10;

/// Why there is no file.
#[derive(Debug, Error)]
pub(super) enum FetchError {
    #[error("not connected: {0}")]
    Connect(io::Error),
    #[error("no answer that is HTTP: {0}")]
    Answer(hyper::Error),
    #[error("status {0}, a redirect, is not followed: give the final URL")]
    Redirect(u16),
    #[error("status {0}")]
    Status(StatusCode),
    #[error("the body is longer than the {0} octets allowed")]
    TooLong(u64),
    #[error("the body broke off: {0}")]
    Body(hyper::Error),
    #[error("the file cannot be written: {0}")]
    File(io::Error),
}

/// Downloads into `NAME` in the directory and returns the SHA-256; `bytes` counts along, for a download that is
/// broken off.
pub(super) async fn fetch(
    url: &DrainUrl,
    directory: &Path,
    name: &str,
    limit: u64,
    bytes: &mut u64,
) -> Result<String, FetchError> {
    let stream = TcpStream::connect(url.endpoint()).await.map_err(FetchError::Connect)?;
    let handshake = http1::Builder::new().max_buf_size(PIECE).handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(FetchError::Answer)?;
    // Dropped with this download, which ends the connection too.
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    let response = sender.send_request(request(url)).await.map_err(FetchError::Answer)?;
    accept(&response, limit)?;
    let mut part = PartFile::create(directory, name).map_err(FetchError::File)?;
    copy(response.into_body(), &mut part, limit, bytes).await?;
    part.finish().map_err(FetchError::File)
}

fn request(url: &DrainUrl) -> Request<Empty<Bytes>> {
    let mut request = Request::new(Empty::new());
    // Both come out of a URL that was parsed, so that neither is ever refused.
    *request.uri_mut() = url.target().parse().unwrap_or_default();
    let headers = request.headers_mut();
    if let Ok(host) = url.authority().parse() {
        headers.insert(HOST, host);
    }
    headers.extend(url.authorization().map(|value| (AUTHORIZATION, value.clone())));
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
    let stated = response.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    match stated {
        Some(length) if limit < length => Err(FetchError::TooLong(limit)),
        _ => Ok(()),
    }
}

async fn copy(
    mut body: Incoming,
    part: &mut PartFile,
    limit: u64,
    bytes: &mut u64,
) -> Result<(), FetchError> {
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame.map_err(FetchError::Body)?.into_data() else { continue };
        if part.bytes().saturating_add(piece.len() as u64) > limit {
            return Err(FetchError::TooLong(limit));
        }
        part.write(&piece).map_err(FetchError::File)?;
        *bytes = part.bytes();
    }
    Ok(())
}
