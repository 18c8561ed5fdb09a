//! Every kind of page in a real browser with the network off: it asks for nothing, the browser has nothing to say of it,
//! and it fits a telephone, a screen and a sheet of paper, in light and in dark.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod bundle_made;
mod cli_support;
mod page_support;
mod web_support;

use page_support::{Maker, faults};
use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use web_support::browser::{Browser, found};

/// Opens all pages of a maker and expects nothing but their titles.
fn show(test: &str, pages: impl FnOnce(&mut Maker)) {
    let Some(chromium) = found(test) else { return };
    let mut maker = Maker::new();
    pages(&mut maker);
    let mut browser = Browser::start_offline(&chromium);
    let mut all = Vec::new();
    for page in &maker.pages {
        let name = page.file.file_stem().unwrap().to_str().unwrap();
        all.extend(faults(&mut browser, &page.file).into_iter().map(|fault| format!("{name}: {fault}")));
        let title = browser.value("document.title");
        assert!(title.as_str().unwrap().starts_with(page.title), "{name}: {title}");
        let shown = browser.value("document.body.innerText.length");
        assert!(shown.as_u64().unwrap() > 300, "{name}: {shown}");
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
    let _ = writeln!(std::io::stderr(), "{test}: {} pages, seven looks each", maker.pages.len());
}

#[test]
fn pages_of_runs_and_of_comparisons_fetch_nothing_and_fit() {
    show("pages_of_runs_and_of_comparisons_fetch_nothing_and_fit", Maker::runs);
}

#[test]
fn pages_of_matrices_that_pass_fail_and_are_invalid_fetch_nothing_and_fit() {
    let test = "pages_of_matrices_that_pass_fail_and_are_invalid_fetch_nothing_and_fit";
    show(test, |maker| {
        maker.matrices();
        maker.kept();
    });
}

#[test]
fn pages_of_benches_fetch_nothing_and_fit() {
    show("pages_of_benches_fetch_nothing_and_fit", Maker::benches);
}

#[test]
fn the_pages_of_a_demo_and_of_its_ring_fetch_nothing_and_fit() {
    show("the_pages_of_a_demo_and_of_its_ring_fetch_nothing_and_fit", Maker::demo);
}

/// A page with that policy and body.
fn page(policy: &str, body: &str) -> String {
    format!(
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\"><title>t</title><body>{body}"
    )
}

#[test]
fn a_page_that_is_not_as_it_should_be_is_caught_and_its_request_reaches_nobody() {
    let Some(chromium) = found("a_page_that_is_not_as_it_should_be_is_caught_and_its_request_reaches_nobody")
    else {
        return;
    };
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let image = format!("<img alt=\"\" src=\"http://{}/x.png\">", server.local_addr().unwrap());
    let labels = "<div class=\"x\"><span style=\"position:absolute\">10 s</span><span \
                  style=\"position:absolute\">20 s</span></div>";
    let times = "<div class=\"timed\"><p class=\"plot\"><svg width=\"90\"></svg></p><p class=\"strip\"><svg \
                 width=\"80\"></svg></p></div>";
    let (open, shut) = ("img-src *; script-src 'unsafe-inline'", "default-src 'none'");
    let cases = [
        (open, image.as_str(), "request: http://127.0.0.1"),
        (open, image.as_str(), "ERR_PROXY_CONNECTION_FAILED"),
        (
            open,
            "<img alt=\"\" src=\"http://example.invalid/x.png\">",
            "request: http://example.invalid/x.png",
        ),
        (open, "<script>console.error('planted')</script>", "planted"),
        (open, "<script>console.info('planted')</script>", "planted"),
        (open, "<script>throw new Error('planted')</script>", "planted"),
        (shut, "<script>1</script>", "Content Security Policy"),
        (shut, image.as_str(), "Content Security Policy"),
        (open, "<div style=\"width:3000px\">x</div>", "light-1280: wide: 3"),
        (open, "<div style=\"width:500px\">x</div>", "dark-400: wide: 5"),
        (open, "<div style=\"width:900px\">x</div>", "print: wide: 9"),
        (open, "<p class=\"sum\" style=\"width:9px;overflow:hidden\">639 of 640</p>", "cut: 639 of 640"),
        (open, labels, "upon one another: 10 s, 20 s"),
        (open, times, "dark-400: times at different places: "),
        (open, "<p>see `wireproof`</p>", "backtick: see `wireproof`"),
    ];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("planted.html");
    let mut browser = Browser::start_offline(&chromium);
    for (policy, body, expected) in cases {
        fs::write(&file, page(policy, body)).unwrap();
        let all = faults(&mut browser, &file);
        assert!(all.iter().any(|fault| fault.contains(expected)), "{body}: {expected}: {all:?}");
    }
    fs::write(&file, page(open, "<p>nothing</p>")).unwrap();
    assert_eq!(faults(&mut browser, &file), Vec::<String>::new());
    assert_eq!(server.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "somebody called");
}
