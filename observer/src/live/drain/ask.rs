//! A short question to a device over HTTP: switches, status, clocks. The answer is kept in memory, up to a limit; no
//! redirect is followed, no encryption, one connection a question.

use super::fetch::{FetchError, connect, request};
use super::url::DrainUrl;
use http_body_util::{BodyExt, Full};
use hyper::Method;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use wireproof_recorder::offset::Exchange;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Ask<'a> {
    /// Where.
    pub url: &'a DrainUrl,
    /// `GET`, `PUT`, `POST` and so on.
    pub method: &'a str,
    /// Sent with it.
    pub body: Option<&'a str>,
    /// Most octets of the answer that are kept.
    pub limit: usize,
}

/// What came back, whatever the status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// The body, cut at the limit.
    pub body: Vec<u8>,
    /// Octets beyond the limit were thrown away.
    pub cut: bool,
    /// Clocks of bench and device, if the device tells its own in the headers that our devices use.
    pub exchange: Option<Exchange>,
    /// The bench's clock when it was asked, and when the head of the answer was there, ns.
    pub span_ns: (i64, i64),
    /// Headers.
    pub headers: HeaderMap,
}

impl Answer {
    /// A status of 200 to 299.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The whole number in a header.
    pub fn number(&self, name: &str) -> Option<i64> {
        number(&self.headers, name)
    }
}

/// Asks, and waits for the whole answer. `clock` is the bench's for [`Answer::exchange`], ns.
///
/// # Errors
/// No connection, no HTTP, or a body that breaks off.
pub async fn ask(what: &Ask<'_>, clock: &dyn Fn() -> i64) -> Result<Answer, FetchError> {
    let (mut sender, _driver) = connect(what.url).await?;
    let body = Full::new(Bytes::copy_from_slice(what.body.unwrap_or_default().as_bytes()));
    let mut question = request(what.url, body);
    *question.method_mut() = what.method.parse().unwrap_or(Method::GET);
    if let Some(body) = what.body {
        let kind = if body.starts_with(['{', '[', '"']) { "application/json" } else { "text/plain" };
        question.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    let asked_ns = clock();
    let response = sender.send_request(question).await.map_err(FetchError::Answer)?;
    let answered_ns = clock();
    let headers = response.headers().clone();
    let times = number(&headers, "x-ring-received-ns").zip(number(&headers, "x-ring-sent-ns"));
    let exchange =
        times.map(|(received_ns, sent_ns)| Exchange { asked_ns, received_ns, sent_ns, answered_ns });
    let status = response.status().as_u16();
    let (body, cut) = bounded(response.into_body(), what.limit).await?;
    Ok(Answer { status, body, cut, exchange, span_ns: (asked_ns, answered_ns), headers })
}

fn number(headers: &HeaderMap, name: &str) -> Option<i64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// The body up to a limit, and whether there was more; the rest is read and thrown away, at most as much again.
async fn bounded(mut body: Incoming, limit: usize) -> Result<(Vec<u8>, bool), FetchError> {
    let (mut kept, mut seen) = (Vec::new(), 0_usize);
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame.map_err(FetchError::Body)?.into_data() else { continue };
        seen = seen.saturating_add(piece.len());
        let room = limit.saturating_sub(kept.len());
        kept.extend_from_slice(piece.get(..room.min(piece.len())).unwrap_or_default());
        if seen > limit.saturating_mul(2) {
            break;
        }
    }
    Ok((kept, seen > limit))
}
