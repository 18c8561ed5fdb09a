//! From a request to its answer: the page, the record of the moment, the metrics, and who may see them.

use super::server::{Asked, Serves, Site};
use super::token::{Token, decoded};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, HOST, HeaderName,
    HeaderValue, LOCATION, REFERRER_POLICY, SET_COOKIE, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use hyper::http::response::Builder;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use std::net::IpAddr;
use std::sync::PoisonError;
use std::time::Duration;
use tokio::time::sleep;
use wireproof_reports::metrics;

type Answer = Response<Full<Bytes>>;

/// Nothing but what this address serves; no styles or scripts in the page, no forms, no frames.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// Answers.
pub(super) async fn answer(site: &Site, asked: Asked, request: &Request<Incoming>) -> Answer {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let builder = Response::builder().status(StatusCode::METHOD_NOT_ALLOWED).header(ALLOW, "GET, HEAD");
        return finished(builder, TEXT, "only GET and HEAD are answered here\n");
    }
    let path = request.uri().path();
    if let Some(token) = &site.token {
        if path == "/"
            && let Some(given) = parameter(request.uri().query(), "token")
        {
            return login(token, given, site.limits.token_delay).await;
        }
        if !may(token, request.headers()) {
            sleep(site.limits.token_delay).await;
            return unauthorised(asked);
        }
    } else if asked.is_loopback && !is_meant(request.headers()) {
        // A page of elsewhere whose name was made to point here (DNS rebinding).
        return plain(StatusCode::MISDIRECTED_REQUEST, "ask for this host by its address or as localhost\n");
    }
    let mut board = site.board.lock().unwrap_or_else(PoisonError::into_inner);
    let fine = Response::builder;
    match (path, asked.serves) {
        ("/metrics", _) => finished(fine(), metrics::CONTENT_TYPE, board.metrics()),
        ("/", Serves::All) => finished(fine(), HTML, include_str!("page.html")),
        ("/page.css", Serves::All) => finished(fine(), "text/css; charset=utf-8", include_str!("page.css")),
        ("/page.js", Serves::All) => {
            finished(fine(), "text/javascript; charset=utf-8", include_str!("page.js"))
        }
        ("/api/live", Serves::All) => finished(fine(), JSON, board.live()),
        ("/api/summary", Serves::All) => finished(fine(), JSON, board.summary()),
        _ => plain(
            StatusCode::NOT_FOUND,
            "there is /, /api/summary, /api/live and /metrics; with --prom /metrics alone\n",
        ),
    }
}

async fn login(token: &Token, given: &str, delay: Duration) -> Answer {
    if !token.is(&decoded(given)) {
        sleep(delay).await;
        return plain(StatusCode::UNAUTHORIZED, "this is not the token\n");
    }
    let builder = Response::builder().status(StatusCode::SEE_OTHER).header(LOCATION, "/");
    finished(builder.header(SET_COOKIE, token.set_cookie()), TEXT, "")
}

fn unauthorised(asked: Asked) -> Answer {
    let builder = Response::builder().status(StatusCode::UNAUTHORIZED).header(WWW_AUTHENTICATE, "Bearer");
    let how = match asked.serves {
        Serves::All => "a token is needed: open /?token=TOKEN, or send Authorization: Bearer TOKEN\n",
        Serves::Metrics => "a token is needed: send Authorization: Bearer TOKEN\n",
    };
    finished(builder, TEXT, how)
}

fn may(token: &Token, headers: &HeaderMap) -> bool {
    headers.get(AUTHORIZATION).is_some_and(|field| token.bears(field.as_bytes()))
        || headers.get_all(COOKIE).iter().any(|field| token.in_cookie(field.as_bytes()))
}

/// The request names this host by an address or as localhost, or not at all.
fn is_meant(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST) else { return true };
    let Ok(host) = host.to_str() else { return false };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

/// The value of a parameter of a query.
fn parameter<'a>(query: Option<&'a str>, name: &str) -> Option<&'a str> {
    let mut pairs = query?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

fn plain(status: StatusCode, text: &'static str) -> Answer {
    finished(Response::builder().status(status), TEXT, text)
}

fn finished(builder: Builder, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = builder.body(Full::new(body.into())).unwrap_or_default();
    let fields: [(HeaderName, &'static str); 7] = [
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in fields {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_points_here_is_not_meant() {
        let meant =
            |host: &str| is_meant(&HeaderMap::from_iter([(HOST, HeaderValue::from_str(host).unwrap())]));
        for host in
            ["127.0.0.1:9090", "127.0.0.1", "localhost:9090", "LocalHost", "[::1]:9090", "10.0.0.1:80"]
        {
            assert!(meant(host), "{host}");
        }
        for host in
            ["evil.example", "evil.example:9090", "localhost.evil.example", "127.0.0.1.evil.example", ""]
        {
            assert!(!meant(host), "{host}");
        }
        assert!(is_meant(&HeaderMap::new()));
    }
}
