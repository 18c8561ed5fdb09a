//! Background downloads against servers made by the test: what becomes a file, what becomes an error, and that
//! stopping never waits for a server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

use crossbeam_channel::{Receiver, bounded};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use wireproof::live::drain::{DrainError, DrainPlan, DrainSpan, DrainStatus, DrainUrl, Drainer};

/// Longer than anything here takes on a host that does other work too.
const GENEROUS: Duration = Duration::from_secs(60);
/// Interval of the tests with many downloads.
const SOON: Duration = Duration::from_millis(20);
/// Octets of a recorder ring.
const RING: usize = 6_295_552;

/// A server that answers every connection through `answer`, each on a thread of its own, until the process ends.
fn serve(answer: impl Fn(&str, TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            thread::spawn(move || answer(&head(&stream), stream));
        }
    });
    address
}

/// The head of a request, without its empty line.
fn head(stream: &TcpStream) -> String {
    let lines = BufReader::new(stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

/// A server with one fixed answer; clients that go away early are no error.
fn serve_octets(octets: Vec<u8>) -> SocketAddr {
    serve(move |_, mut stream| {
        let _ = stream.write_all(&octets);
    })
}

/// Waits until the client closes the connection.
fn hold(mut stream: &TcpStream) {
    let _ = stream.read(&mut [0; 64]);
}

fn with_length(status: &str, body: &[u8]) -> Vec<u8> {
    let mut octets = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
    octets.extend_from_slice(body);
    octets
}

/// A body that is not the same anywhere.
fn ring() -> Vec<u8> {
    (0..RING as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

fn sha256(octets: &[u8]) -> String {
    Sha256::digest(octets).iter().map(|octet| format!("{octet:02x}")).collect()
}

/// One running plan in a folder of its own.
struct Bench {
    folder: TempDir,
    spans: Receiver<DrainSpan>,
    drainer: Drainer,
}

impl Bench {
    /// The first download is due at once, and no other within the time of the test unless the plan is changed.
    fn start(address: SocketAddr, change: impl FnOnce(&mut DrainPlan)) -> Self {
        Bench::started_at(due_now, address, change)
    }

    fn started_at(
        run_start: fn(&DrainPlan) -> Instant,
        address: SocketAddr,
        change: impl FnOnce(&mut DrainPlan),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url: DrainUrl = format!("http://{address}/v1/ring/raw").parse().unwrap();
        let mut plan = DrainPlan::new(url, GENEROUS, folder.path().join("new/drains"));
        plan.deadline = GENEROUS;
        plan.run = Some(GENEROUS + GENEROUS / 2);
        change(&mut plan);
        let (sender, spans) = bounded(64);
        let start = run_start(&plan);
        let drainer = Drainer::start(plan, start, sender).unwrap();
        Bench { folder, spans, drainer }
    }

    fn span(&self) -> DrainSpan {
        self.spans.recv_timeout(GENEROUS).expect("a span")
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("new/drains")
    }
}

/// The start of a run whose first download is due now.
fn due_now(plan: &DrainPlan) -> Instant {
    Instant::now().checked_sub(plan.every).expect("a host that is up for a minute")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The one download of the server at `address` fails; returns its span. Nothing is left on the disk.
fn failed(address: SocketAddr, change: impl FnOnce(&mut DrainPlan)) -> (DrainSpan, String) {
    let bench = Bench::start(address, change);
    let span = bench.span();
    let DrainStatus::Error(text) = span.status.clone() else { panic!("{span:?}") };
    assert_eq!((span.sha256.as_str(), span.file_name.as_str()), ("", ""), "{span:?}");
    assert!(span.ended_ns >= span.started_ns, "{span:?}");
    assert_eq!(names(&bench.path()), Vec::<String>::new(), "{span:?}");
    assert!(!text.contains("http://") && !text.contains('\n'), "{text}");
    bench.drainer.stop(GENEROUS);
    (span, text)
}

#[test]
fn a_ring_of_6_295_552_octets_is_on_the_disk_with_its_checksum() {
    let body = ring();
    let bench = Bench::start(serve_octets(with_length("200 OK", &body)), |_| {});
    let span = bench.span();
    assert_eq!(span.status, DrainStatus::Ok);
    assert_eq!((span.number, span.bytes), (1, RING as u64));
    assert_eq!(span.sha256, sha256(&body));
    assert_eq!(names(&bench.path()), std::slice::from_ref(&span.file_name));
    assert!(fs::read(bench.path().join(&span.file_name)).unwrap() == body);
    assert!(span.ended_ns > span.started_ns && span.started_ns > 1_600_000_000_000_000_000, "{span:?}");
    assert!(bench.spans.recv_timeout(GENEROUS).is_err_and(|error| error.is_disconnected()));
    assert_eq!(bench.drainer.stop(GENEROUS).started, 1);
}

#[test]
fn a_chunked_body_is_put_together() {
    let octets = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nT: u\r\n\r\n";
    let bench = Bench::start(serve_octets(octets.to_vec()), |_| {});
    let span = bench.span();
    assert_eq!((span.status, span.bytes, span.sha256), (DrainStatus::Ok, 7, sha256(b"abcdefg")));
}

#[test]
fn a_body_without_length_ends_with_the_connection() {
    let bench = Bench::start(serve_octets(b"HTTP/1.0 200 OK\r\n\r\nabc".to_vec()), |_| {});
    let span = bench.span();
    assert_eq!((span.status, span.sha256), (DrainStatus::Ok, sha256(b"abc")));
}

#[test]
fn the_request_asks_for_the_target_and_keeps_the_password_to_the_header() {
    let seen = Arc::new(Mutex::new(String::new()));
    let heads = Arc::clone(&seen);
    let address = serve(move |head, mut stream| {
        *heads.lock().unwrap() = head.to_owned();
        let _ = stream.write_all(&with_length("401 Unauthorized", b""));
    });
    let (span, text) = failed(address, |plan| {
        plan.url = format!("http://me:secret@{address}/a?b=c").parse().unwrap();
        assert!(!format!("{plan:?}").contains("secret"));
    });
    assert_eq!(text, "status 401 Unauthorized");
    assert!(!format!("{span:?}").contains("secret"));
    let head = seen.lock().unwrap().to_ascii_lowercase();
    assert!(head.starts_with("get /a?b=c http/1.1\n"), "{head}");
    assert!(head.contains(&format!("\nhost: {address}")), "{head}");
    // "me:secret" in base64.
    assert!(head.contains("\nauthorization: basic bwu6c2vjcmv0"), "{head}");
}

#[test]
fn a_slow_server_meets_the_deadline() {
    let address = serve(|_, mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc");
        hold(&stream);
    });
    let (_, text) = failed(address, |plan| plan.deadline = Duration::from_millis(300));
    assert_eq!(text, "not finished within 300 ms");
}

#[test]
fn a_refused_connection_is_an_error_of_its_own() {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let (span, text) = failed(address, |_| {});
    assert!(text.starts_with("not connected: "), "{text}");
    assert_eq!(span.bytes, 0);
}

#[test]
fn a_truncated_body_is_an_error_and_leaves_no_file() {
    let address = serve_octets(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc".to_vec());
    let (span, text) = failed(address, |_| {});
    assert!(text.starts_with("the body broke off: "), "{text}");
    assert_eq!(span.bytes, 3);
    let address = serve_octets(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n".to_vec());
    let (_, text) = failed(address, |_| {});
    assert!(text.starts_with("the body broke off: "), "{text}");
}

#[test]
fn an_endless_body_is_cut_at_the_limit() {
    let address = serve(|_, mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while stream.write_all(&[0; 16_384]).is_ok() {}
    });
    let (span, text) = failed(address, |plan| plan.limit_bytes = 1_000_000);
    assert_eq!(text, "the body is longer than the 1000000 octets allowed");
    assert!(span.bytes <= 1_000_000, "{span:?}");
}

#[test]
fn a_length_over_the_limit_is_refused_and_one_at_the_limit_is_not() {
    let address = serve_octets(with_length("200 OK", b"abcd"));
    let (span, _) = failed(address, |plan| plan.limit_bytes = 3);
    assert_eq!(span.bytes, 0);
    let bench = Bench::start(address, |plan| plan.limit_bytes = 4);
    assert_eq!(bench.span().status, DrainStatus::Ok);
}

#[test]
fn a_status_that_is_no_success_is_an_error_with_the_status() {
    for status in ["404 Not Found", "503 Service Unavailable"] {
        let (_, text) = failed(serve_octets(with_length(status, b"a page")), |_| {});
        assert_eq!(text, format!("status {status}"));
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let elsewhere = serve(move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
    });
    let answer = format!("HTTP/1.1 302 Found\r\nLocation: http://{elsewhere}/\r\nContent-Length: 0\r\n\r\n");
    let (_, text) = failed(serve_octets(answer.into_bytes()), |_| {});
    assert_eq!(text, "status 302, a redirect, is not followed: give the final URL");
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[test]
fn an_answer_that_is_not_http_is_an_error() {
    let endless_head = format!("HTTP/1.1 200 OK\r\nA: {}\r\n", "a".repeat(200_000));
    for octets in ["", "SSH-2.0-x\r\n\r\n", "HTTP/1.1 2", endless_head.as_str()] {
        let (_, text) = failed(serve_octets(octets.as_bytes().to_vec()), |_| {});
        assert!(text.starts_with("no answer that is HTTP: "), "{text}");
    }
}

#[test]
fn stopping_does_not_wait_for_a_server_that_never_answers() {
    let (reached, connected) = bounded(1);
    let address = serve(move |_, stream| {
        let _ = reached.send(());
        hold(&stream);
    });
    let bench = Bench::start(address, |plan| plan.run = None);
    connected.recv_timeout(GENEROUS).unwrap();
    let before = Instant::now();
    let totals = bench.drainer.stop(GENEROUS);
    assert!(before.elapsed() < GENEROUS / 2);
    assert_eq!((totals.started, totals.unreported), (1, 0));
    let span = bench.spans.try_recv().unwrap();
    assert_eq!(span.status, DrainStatus::Error("broken off: the run ended".to_owned()));
    assert!(bench.spans.try_recv().is_err_and(|error| error.is_disconnected()));
}

#[test]
fn stopping_before_the_first_start_makes_no_span() {
    let bench = Bench::started_at(|_| Instant::now(), serve_octets(Vec::new()), |plan| plan.run = None);
    assert_eq!(bench.drainer.stop(GENEROUS).started, 0);
    assert!(bench.spans.recv_timeout(GENEROUS).is_err_and(|error| error.is_disconnected()));
}

#[test]
fn a_dropped_drainer_ends_its_thread() {
    let bench = Bench::started_at(|_| Instant::now(), serve_octets(Vec::new()), |plan| plan.run = None);
    let Bench { drainer, spans, .. } = bench;
    drop(drainer);
    assert!(spans.recv_timeout(GENEROUS).is_err_and(|error| error.is_disconnected()));
}

/// The founding case's schedule in 1/100 of its time: one minute, a download every five seconds.
#[test]
fn a_minute_of_downloads_every_five_seconds_is_eleven_spans() {
    let address = serve_octets(with_length("200 OK", b"abc"));
    let bench = Bench::start(address, |plan| {
        plan.every = Duration::from_millis(50);
        plan.run = Some(Duration::from_millis(600));
    });
    let mut spans = Vec::new();
    let ended = loop {
        match bench.spans.recv_timeout(GENEROUS) {
            Ok(span) => spans.push(span),
            Err(error) => break error,
        }
    };
    assert!(ended.is_disconnected());
    let files = names(&bench.path()).len();
    let totals = bench.drainer.stop(GENEROUS);
    // A host that is too busy to run the thread for 50 ms skips a start, and says so.
    assert_eq!(spans.len() as u64 + totals.skipped, 11, "{totals:?}");
    assert_eq!((totals.started, totals.unreported), (spans.len() as u64, 0));
    assert!(spans.iter().all(|span| span.status == DrainStatus::Ok), "{spans:?}");
    assert!(
        spans.windows(2).all(|two| two[0].number < two[1].number && two[0].ended_ns <= two[1].started_ns)
    );
    assert_eq!(files, spans.len());
}

#[test]
fn a_late_start_is_skipped_and_no_two_downloads_overlap() {
    let running = Arc::new(AtomicUsize::new(0));
    let (served, most) = (Arc::clone(&running), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    let address = serve(move |_, stream| {
        seen.fetch_max(served.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        hold(&stream);
        served.fetch_sub(1, Ordering::SeqCst);
    });
    let bench = Bench::start(address, |plan| {
        plan.every = SOON;
        plan.deadline = SOON * 5;
        plan.run = Some(SOON * 12);
    });
    let spans: Vec<_> = std::iter::from_fn(|| bench.spans.recv_timeout(GENEROUS).ok()).collect();
    let totals = bench.drainer.stop(GENEROUS);
    assert_eq!(totals.started + totals.skipped, 11, "{totals:?}");
    assert!(totals.skipped >= 6 && spans.len() as u64 == totals.started, "{totals:?}");
    assert!(spans.windows(2).all(|two| two[0].ended_ns <= two[1].started_ns), "{spans:?}");
}

#[test]
fn a_full_channel_loses_the_span_and_counts_it() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("http://{}/", serve_octets(with_length("200 OK", b"abc"))).parse().unwrap();
    let mut plan = DrainPlan::new(url, GENEROUS, folder.path());
    plan.run = Some(GENEROUS * 3 / 2);
    let (sender, spans) = bounded(0);
    let start = due_now(&plan);
    let drainer = Drainer::start(plan, start, sender).unwrap();
    while drainer.totals().unreported == 0 {
        thread::yield_now();
    }
    assert!(spans.recv_timeout(GENEROUS).is_err_and(|error| error.is_disconnected()));
    assert_eq!(names(folder.path()).len(), 1);
}

#[test]
fn a_plan_that_cannot_work_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let url: DrainUrl = "http://127.0.0.1/".parse().unwrap();
    let start = |plan| Drainer::start(plan, Instant::now(), bounded(1).0).unwrap_err();
    let never = start(DrainPlan::new(url.clone(), Duration::ZERO, folder.path()));
    assert!(matches!(never, DrainError::NoInterval), "{never}");
    let nowhere = start(DrainPlan::new(url, SOON, folder.path().join("file/below")));
    assert!(matches!(nowhere, DrainError::Directory { .. }), "{nowhere}");
    let secure = "https://127.0.0.1/".parse::<DrainUrl>().unwrap_err().to_string();
    assert!(secure.starts_with("https:// is not supported"), "{secure}");
}
