//! Requests to the device's service and to the live page, and what a server says to a download.

use std::cell::OnceCell;
use std::path::PathBuf;
use wireproof::live::drain::{DrainUrl, hear};
use wireproof::web;
use wireproof_fixture::service;

/// Octets of a body that a download takes here.
const LIMIT: u64 = 4_096;

thread_local! {
    static SERVICE: OnceCell<Option<service::Desk>> = const { OnceCell::new() };
    static PAGES: OnceCell<Vec<web::Desk>> = const { OnceCell::new() };
}

fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("wireproof-fuzz-{}", std::process::id()));
    let _ = std::fs::create_dir_all(&folder);
    folder
}

/// A request to the service of a device without a ring.
pub fn service(data: &[u8]) {
    SERVICE.with(|desk| {
        let limits = service::Limits { token_delay: std::time::Duration::ZERO, ..Default::default() };
        let absent = folder().join("no-ring");
        let options =
            service::Options { limits, ..service::Options::new(absent, ([127, 0, 0, 1], 0).into()) };
        if let Some(desk) = desk.get_or_init(|| service::Desk::new(options).ok()) {
            said(&desk.hear(data));
        }
    });
}

/// A request to the live page, without and with a token.
pub fn page(data: &[u8]) {
    PAGES.with(|desks| {
        let made =
            || [None, Some(&b"0123456789abcdef"[..])].into_iter().filter_map(|t| web::Desk::new(t).ok());
        desks.get_or_init(|| made().collect()).iter().for_each(|desk| said(&desk.hear(data)));
    });
}

/// An answer is HTTP, or there is none.
fn said(answer: &[u8]) {
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1."), "{:?}", &answer[..answer.len().min(80)]);
}

/// An answer to a download, and a URL.
pub fn fetch(data: &[u8]) {
    if let Ok(bytes) = hear(data, &folder(), LIMIT) {
        assert!(bytes <= LIMIT && bytes <= data.len() as u64, "{bytes} octets of body");
    }
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = text.parse::<DrainUrl>();
    }
}
