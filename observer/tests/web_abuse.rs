//! What clients of the live page may not do: come in thousands, send nothing, send too much, look without the token,
//! or be sent here by a page of elsewhere. An honest client is served beside all of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]
#![cfg(target_os = "linux")]

use std::collections::VecDeque;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use wireproof::live::glances::{Glances, pair};
use wireproof::web::{Limits, Options, Token, Web};

/// Time in which an honest client has to be through; by hand it is some milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);

struct Bench {
    web: Web,
    _run: Glances,
}

impl Bench {
    fn start(change: impl FnOnce(&mut Options)) -> Bench {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut options = Options { web: Some(any), prom: Some(any), ..Options::default() };
        change(&mut options);
        let (run, watcher) = pair();
        Bench { web: Web::start(options, watcher, &[]).unwrap(), _run: run }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.web.web.unwrap()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    fn ask(&self, head: &str) -> String {
        answer(self.connect(), head)
    }

    fn get(&self, path: &str, fields: &str) -> String {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n"))
    }
}

/// Everything the other side says to this head, which may be a reset.
fn answer(mut stream: TcpStream, head: &str) -> String {
    let mut octets = Vec::new();
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.read_to_end(&mut octets);
    String::from_utf8_lossy(&octets).into_owned()
}

fn status(answer: &str) -> &str {
    answer.get(9..12).unwrap_or_default()
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn ten_thousand_connections_hold_64_places_and_an_honest_client_is_served_meanwhile() {
    let bench = Bench::start(|options| options.limits.head_time = PATIENCE);
    assert_eq!(Limits::default().connections, 64);
    let (before, mut held) = (descriptors(), VecDeque::new());
    for n in 0..10_000 {
        let mut stream = bench.connect();
        // Half of them say nothing, half never come to an end.
        if n % 2 == 0 {
            let _ = stream.write_all(b"GET / HTTP/1.1\r\nX: ");
        }
        held.push_back(stream);
        if held.len() > 300 {
            held.pop_front();
        }
        if n % 1_000 == 999 {
            assert_eq!(status(&bench.get("/api/live", "")), "200", "after {n}");
        }
    }
    // Its own end of each held connection, and at most so many of the server's.
    let servers = descriptors().saturating_sub(before + held.len());
    assert!(servers <= 64 + 8, "{servers} connections are open at the server");
    assert_eq!(status(&bench.get("/metrics", "")), "200");
}

#[test]
fn a_client_that_sends_no_request_is_cut_off_in_time() {
    let bench = Bench::start(|options| options.limits.head_time = Duration::from_millis(50));
    let cut = bench.ask("GET / HTTP/1.1\r\nX: ");
    assert!(cut.is_empty() || status(&cut) == "408", "{cut}");
    let mut mute = bench.connect();
    assert!(matches!(mute.read(&mut [0; 1]), Ok(0) | Err(_)));
}

#[test]
fn a_client_that_takes_its_time_between_octets_is_cut_off_all_the_same() {
    let bench = Bench::start(|options| options.limits.whole_time = Duration::from_millis(200));
    let mut slow = bench.connect();
    let mut sent = 0;
    slow.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    loop {
        let _ = slow.write_all(b"X");
        sent += 1;
        match slow.read(&mut [0; 1]) {
            Err(e) if matches!(e.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {}
            _ => break,
        }
        assert!(sent < 5_000, "it is still let be");
    }
}

/// Twelve that never end their heads, and twelve that ask and read nothing: the page is not delayed by any of them. What
/// it took is printed; that nobody had been sent away before shows that nothing waited for the end of their time.
#[test]
fn an_honest_client_does_not_wait_for_twelve_slow_ones() {
    let bench = Bench::start(|options| {
        (options.limits.head_time, options.limits.whole_time) = (10 * PATIENCE, 10 * PATIENCE);
    });
    let slow = |request: &str| {
        let mut stream = bench.connect();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    };
    let held: Vec<TcpStream> = (0..12)
        .flat_map(|_| {
            [slow("GET / HTTP/1.1\r\nX: "), slow("GET /page.js HTTP/1.1\r\nHost: localhost\r\n\r\n")]
        })
        .collect();
    let mut longest = Duration::ZERO;
    for _ in 0..50 {
        let begun = std::time::Instant::now();
        assert_eq!(status(&bench.get("/api/summary", "")), "200");
        longest = longest.max(begun.elapsed());
    }
    for mut stream in held.into_iter().step_by(2) {
        stream.set_nonblocking(true).unwrap();
        let waits = stream.read(&mut [0; 1]).unwrap_err();
        assert_eq!(waits.kind(), std::io::ErrorKind::WouldBlock, "a slow client was sent away");
    }
    let _ = writeln!(std::io::stderr(), "beside 24 slow clients an honest one waited {longest:?} at most");
}

#[test]
fn heads_that_are_too_large_are_refused() {
    let bench = Bench::start(|_| {});
    let many: String = (0..200).map(|n| format!("X-{n}: 1\r\n")).collect();
    for fields in [format!("X: {}\r\n", "a".repeat(9_000)), format!("X: {}\r\n", "a".repeat(1_000_000)), many]
    {
        let refused = bench.get("/", &fields);
        // Refused unread octets may take the answer with them.
        assert!(["431", ""].contains(&status(&refused)), "{refused}");
    }
    let long = bench.get(&format!("/{}", "a".repeat(100_000)), "");
    assert!(["414", "431", ""].contains(&status(&long)), "{long}");
    assert_eq!(status(&bench.get("/", "")), "200");
}

#[test]
fn only_what_is_there_is_answered_and_nothing_can_be_changed() {
    let bench = Bench::start(|_| {});
    for (path, kind) in [
        ("/", "text/html"),
        ("/page.js", "text/javascript"),
        ("/page.css", "text/css"),
        ("/api/live", "application/json"),
        ("/api/summary", "application/json"),
        ("/metrics", "text/plain; version=0.0.4"),
    ] {
        let answer = bench.get(path, "");
        assert_eq!(status(&answer), "200", "{path}");
        assert!(answer.contains(&format!("content-type: {kind}")), "{answer}");
        assert!(
            answer.contains("content-security-policy: default-src 'none'; script-src 'self'"),
            "{answer}"
        );
    }
    for path in ["/../Cargo.toml", "/etc/passwd", "/api", "/page.js/", "//", "/%2e%2e/"] {
        assert_eq!(status(&bench.get(path, "")), "404", "{path}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT"] {
        let answer =
            bench.ask(&format!("{method} /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"));
        assert!(["405", "400"].contains(&status(&answer)), "{method}: {answer}");
    }
    let prom = |path: &str| {
        let stream = TcpStream::connect(bench.web.prom.unwrap()).unwrap();
        answer(stream, &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"))
    };
    assert!(prom("/metrics").contains("\nwireproof_streams 0\n"));
    assert_eq!(status(&prom("/api/summary")), "404");
    let elsewhere = bench.ask("GET /api/summary HTTP/1.1\r\nHost: evil.example:80\r\n\r\n");
    assert_eq!(status(&elsewhere), "421", "{elsewhere}");
}

#[test]
fn garbage_is_refused_and_the_service_goes_on() {
    let bench = Bench::start(|_| {});
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..300 {
        let octets: Vec<u8> = (0..200)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 56) as u8
            })
            .collect();
        let mut stream = bench.connect();
        let _ = stream.write_all(&octets);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(!String::from_utf8_lossy(&answer).starts_with("HTTP/1.1 2"));
    }
    assert_eq!(status(&bench.get("/", "")), "200");
}

#[test]
fn with_a_token_nothing_is_told_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    fs::write(&path, "0123456789abcdef+/\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let bench = Bench::start(|options| options.token = Some(Token::read(&path).unwrap()));
    for path in ["/", "/page.js", "/api/live", "/api/summary", "/metrics", "/nothing"] {
        assert_eq!(status(&bench.get(path, "")), "401", "{path}");
        assert_eq!(status(&bench.get(path, "Authorization: Bearer 0123456789abcdef\r\n")), "401", "{path}");
    }
    assert_eq!(status(&bench.get("/metrics", "Authorization: Bearer 0123456789abcdef+/\r\n")), "200");
    assert_eq!(status(&bench.get("/?token=wrong", "")), "401");
    let login = bench.get("/?token=0123456789abcdef%2B/", "");
    assert_eq!(status(&login), "303", "{login}");
    let cookie = login.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict") && !cookie.contains("abcdef+/"));
    let pair = cookie.split(';').next().unwrap();
    assert_eq!(status(&bench.get("/api/summary", &format!("Cookie: {pair}\r\n"))), "200");
}
