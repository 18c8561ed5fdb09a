//! An alert as a web hook: one POST of JSON over HTTP/1.1, no redirect, no encryption. Of the URL nothing is ever shown but
//! host and port: name, password, path and query may be secrets.

use super::Message;
use crate::live::drain::{DrainUrl, connect, request};
use http_body_util::Full;
use hyper::Method;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use std::time::Duration;
use tokio::time::timeout;

/// Posts one alert.
///
/// # Errors
/// A sentence without secrets.
pub(super) fn post(url: &DrainUrl, message: &Message, limit: Duration) -> Result<(), String> {
    let failed = |what: String| format!("webhook {}: {what}", shown(url));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed(error.to_string()))?;
    let outcome = runtime.block_on(async { timeout(limit, send(url, message.json())).await });
    // A name that is still being looked up is not waited for.
    runtime.shutdown_background();
    match outcome {
        Ok(outcome) => outcome.map_err(failed),
        Err(_) => Err(failed(format!("not finished within {limit:?}"))),
    }
}

async fn send(url: &DrainUrl, body: String) -> Result<(), String> {
    // The driver is dropped with this call, which ends the connection too.
    let (mut sender, _driver) = connect(url).await.map_err(|error| error.to_string())?;
    let mut request = request(url, Full::new(Bytes::from(body)));
    *request.method_mut() = Method::POST;
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
    let status = response.status();
    if status.is_success() { Ok(()) } else { Err(format!("status {status}")) }
}

/// Where it goes, without what may be secret.
pub fn shown(url: &DrainUrl) -> String {
    format!("http://{}/…", url.authority())
}
