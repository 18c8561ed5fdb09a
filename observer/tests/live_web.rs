//! The live page of a real run in a real browser: it loads, follows the run, shows a planted loss, fetches nothing from
//! elsewhere, fits a telephone, and takes names out of datagrams for text.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod web_support;

use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use web_support::Show;
use web_support::browser::{Browser, found};

/// A name that a page must not take for anything but text.
const NAME: &str = "<img src=x onerror=alert(1)>\"&";
/// What the page asks for each second, and what looks at the run, are together below this.
const SHOWN_AFTER: Duration = Duration::from_secs(2);
/// A disturbed host may be later than that.
const PATIENCE: Duration = Duration::from_secs(20);

/// A run that is watched; it is ended as Ctrl-C does.
struct Observe {
    child: Child,
    url: String,
    udp: SocketAddr,
}

impl Observe {
    fn start() -> Observe {
        // A port that was free a moment ago.
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_wireproof"))
            .args(["observe", "--udp", &udp.to_string(), "--web", "0", "--format", "json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let url = lines.find_map(|line| line.split_once("watched at ").map(|(_, url)| url.to_owned()));
        lines.find(|line| line.contains("listening on")).unwrap();
        // Somebody has to read the rest.
        std::thread::spawn(move || lines.count());
        Observe { child, url: url.unwrap(), udp }
    }

    fn interrupt(self) -> serde_json::Value {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        serde_json::from_slice(&self.child.wait_with_output().unwrap().stdout).unwrap()
    }
}

fn keep(browser: &mut Browser, name: &str) -> usize {
    let picture = browser.picture();
    if let Some(folder) = std::env::var_os("WIREPROOF_PICTURES") {
        std::fs::write(std::path::Path::new(&folder).join(name), &picture).unwrap();
    }
    picture.len()
}

#[test]
fn a_planted_loss_is_shown_and_nothing_comes_from_elsewhere() {
    let test = "a_planted_loss_is_shown_and_nothing_comes_from_elsewhere";
    let Some(chromium) = found(test) else { return };
    let run = Observe::start();
    let show = Show::start(run.udp, NAME);
    let mut browser = Browser::start(&chromium);
    browser.screen(1400, 900, "light");
    browser.open(&run.url);
    browser.until("document.querySelectorAll('#streams tbody tr').length === 2");
    browser.until("document.querySelector('.output .strip rect.whole')");
    assert_eq!(
        browser.value("document.getElementById('observer').textContent"),
        "Observer: complete, lost nothing"
    );
    assert_eq!(browser.value("document.querySelector('#streams tbody tr').cells[5].textContent"), "0");
    let planted = show.leave_one_out();
    browser.until("[...document.querySelectorAll('#streams td.hot')].some(c => c.dataset.name === 'Missing' && c.textContent === '1')");
    let took = planted.elapsed();
    browser.until("document.querySelector('#events').textContent.includes('wireproof explain SEQ-LOST')");
    browser.until("document.querySelector('.output .strip rect.torn')");
    let _ = writeln!(std::io::stderr(), "a planted loss was on the page after {} ms", took.as_millis());
    assert!(took < PATIENCE, "{took:?}");
    assert!(wireproof::web::LOOK_EVERY + Duration::from_secs(1) < SHOWN_AFTER);

    // What came in a datagram is text.
    assert_eq!(browser.value("document.querySelectorAll('img').length"), 0);
    assert_eq!(browser.value("document.querySelector('#streams tbody tr').cells[2].textContent"), NAME);
    let looks = [1400, 1000, 800, 400].into_iter().flat_map(|width| [(width, "light"), (width, "dark")]);
    for (width, scheme) in looks {
        browser.screen(width, 900, scheme);
        let fits = browser.value("document.documentElement.scrollWidth <= innerWidth && innerWidth");
        assert_eq!(fits, width, "the page is wider than the screen");
        let table = "(e => e.scrollWidth <= e.clientWidth)(document.querySelector('#streams').parentElement)";
        assert_eq!(browser.value(table), true, "at {width} the last columns are out of sight");
        browser.value("scrollTo(0, 0)");
        assert!(keep(&mut browser, &format!("live-{width}-{scheme}.png")) > 10_000);
        let back = browser.value("getComputedStyle(document.body).backgroundColor");
        assert_eq!(back, if scheme == "dark" { "rgb(22, 22, 22)" } else { "rgb(255, 255, 255)" });
        let top = browser
            .value("scrollTo(0, 500), document.querySelector('#health').getBoundingClientRect().top >= 0");
        assert_eq!(top, true, "the observer's health is always in sight");
    }
    // The heading is true of a young run, too, and only what has losses is left when asked for, on a telephone as well.
    let times = "[document.querySelector('.output .axis:last-child span'), document.getElementById('h-frames')].map(e => e.textContent)";
    let times = browser.value(times);
    let ago = ["30", "60", "120"].into_iter().find(|s| times[0] == json!(format!("{s} s ago")));
    assert_eq!(times[1], json!(format!("Frames, last {} seconds", ago.unwrap())), "{times}");
    browser.value("document.getElementById('trouble').click()");
    let shown = "[...document.querySelectorAll('#streams tbody tr')].filter(r => r.getClientRects().length > 0).length";
    assert_eq!(browser.value(shown), 1);
    browser.value("document.getElementById('trouble').click()");
    let requests = browser.requests();
    assert!(requests.len() > 4, "{requests:?}");
    let here = |url: &String| url.starts_with(&run.url) || url.starts_with("data:");
    assert!(requests.iter().all(here), "{requests:?}");
    assert!(browser.complaints().is_empty(), "{:?}", browser.complaints());

    drop(show);
    let record = run.interrupt();
    assert_eq!(record["streams"][1]["sequence"]["lost"], 1, "{record}");
    browser.until("document.getElementById('observer').textContent.startsWith('The run has ended')");
}

#[test]
fn the_page_can_be_used_by_keyboard_and_is_told_to_screen_readers() {
    let test = "the_page_can_be_used_by_keyboard_and_is_told_to_screen_readers";
    let Some(chromium) = found(test) else { return };
    let run = Observe::start();
    let _show = Show::start(run.udp, NAME);
    let mut browser = Browser::start(&chromium);
    browser.screen(1400, 900, "light");
    browser.open(&run.url);
    browser.until("document.querySelector('.output .strip rect.whole')");
    let mut reached = Vec::new();
    for _ in 0..5 {
        for kind in ["keyDown", "keyUp"] {
            let key = json!({ "type": kind, "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9 });
            browser.ask("Input.dispatchKeyEvent", key);
        }
        reached.push(browser.value(
            "document.activeElement.id || document.activeElement.className || document.activeElement.href",
        ));
    }
    assert_eq!(reached[..3], [json!("skip"), json!("trouble"), json!("scroll")], "{reached:?}");
    for (what, expression) in [
        (
            "pictures have names",
            "[...document.querySelectorAll('svg[role=img]')].every(s => s.getAttribute('aria-label').length > 10)",
        ),
        ("inputs have labels", "[...document.querySelectorAll('input')].every(i => i.labels.length === 1)"),
        ("columns have heads", "[...document.querySelectorAll('th')].every(h => h.scope === 'col')"),
        ("the table has a caption", "document.querySelector('#streams').caption.textContent.length > 10"),
        (
            "sections have names",
            "[...document.querySelectorAll('section')].every(s => s.getAttribute('aria-label') || document.getElementById(s.getAttribute('aria-labelledby')))",
        ),
        ("news are told", "document.querySelector('[aria-live=polite]').textContent.includes('missing')"),
        ("the language is said", "document.documentElement.lang === 'en'"),
    ] {
        assert_eq!(browser.value(expression), true, "{what}");
    }
    assert!(browser.complaints().is_empty(), "{:?}", browser.complaints());
    run.interrupt();
}

#[test]
fn a_page_left_open_is_told_that_the_run_has_ended() {
    let test = "a_page_left_open_is_told_that_the_run_has_ended";
    let Some(chromium) = found(test) else { return };
    let (run, began) = (Observe::start(), Instant::now());
    let mut browser = Browser::start(&chromium);
    browser.open(&run.url);
    browser.until("document.getElementById('verdict').textContent === 'NOTHING SEEN'");
    run.interrupt();
    browser.until("document.body.classList.contains('stale')");
    assert!(began.elapsed() < PATIENCE * 3);
}
