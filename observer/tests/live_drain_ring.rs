//! Downloads from the simulated device's ring service: what is verified, refused and gone on with, and what the
//! device's clock turns out to be.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

use crossbeam_channel::bounded;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use wireproof::live::drain::{DrainPlan, DrainSpan, DrainStatus, Drainer, RingCheck};
use wireproof_fixture::service::{Misbehave, Options, Service};
use wireproof_recorder::file::{self, RingFile};
use wireproof_recorder::header::Identity;
use wireproof_recorder::offset::{DRIFT_PPM, estimate};
use wireproof_recorder::{Event, Policy, Refusal, parse};

const GENEROUS: Duration = Duration::from_secs(60);
const CAPACITY: u64 = 1024;

/// A ring with 30 frames; the writer stays alive.
fn ring(path: &Path) -> RingFile {
    let options =
        file::Options { capacity: CAPACITY, generation: 2, any_file_system: true, lock_memory: false };
    let mut ring = file::create(path, &file::this_process(Identity::default()), &options).unwrap();
    for id in 0..30 {
        let start = 1_000_000 + u64::from(id) * 16_666_667;
        let mut batch = ring.writer.frame(id);
        batch.event(&Event::span(1, start, start + 1000));
        batch.complete(start, start + 1000);
    }
    ring
}

/// Makes one download; the folder with the file, and the span.
fn download(url: &str) -> (TempDir, DrainSpan) {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = DrainPlan::new(url.parse().unwrap(), GENEROUS, folder.path());
    (plan.deadline, plan.run) = (GENEROUS, Some(GENEROUS + GENEROUS / 2));
    let (sender, spans) = bounded(4);
    let drainer = Drainer::start(plan, Instant::now().checked_sub(GENEROUS).unwrap(), sender).unwrap();
    let span = spans.recv_timeout(GENEROUS).unwrap();
    drainer.stop(GENEROUS);
    (folder, span)
}

/// A download from a service with these faults.
fn from_service(misbehave: &[&str], seed: u64) -> (TempDir, DrainSpan) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ring");
    let _writer = ring(&path);
    let mut options = Options::new(&path, (Ipv4Addr::LOCALHOST, 0).into());
    options.misbehave = misbehave.iter().map(|text| text.parse::<Misbehave>().unwrap()).collect();
    (options.seed, options.idle) = (seed, false);
    let service = Service::start(options).unwrap();
    let outcome = download(&format!("http://{}/v1/ring/raw", service.address()));
    service.stop();
    outcome
}

#[test]
fn a_good_ring_is_verified_and_the_clocks_of_one_host_agree_within_the_uncertainty() {
    let (folder, span) = from_service(&[], 1);
    assert_eq!((&span.status, span.resumed), (&DrainStatus::Ok, 0));
    let Some(RingCheck::Ok(facts)) = span.ring else { panic!("{span:?}") };
    assert_eq!((facts.generation, facts.snapshot, facts.frames), (2, Some(1), 30));
    assert_eq!((facts.first_frame, facts.last_frame), (Some(0), Some(29)));
    assert_eq!((facts.missing, facts.dropped, facts.partial), (0, 0, 0));
    assert!(folder.path().join(&span.file_name).exists());
    let exchange = span.exchange.unwrap();
    assert!(span.started_ns <= exchange.asked_ns && exchange.answered_ns <= span.ended_ns);
    let offset = estimate(&[exchange], DRIFT_PPM).unwrap();
    // Half the way there and back, and what the clocks may have drifted apart meanwhile.
    let half = (exchange.delay_ns().unwrap() as u64).div_ceil(2);
    let drifted = (exchange.answered_ns - exchange.asked_ns) as u64 * u64::from(DRIFT_PPM) / 1_000_000 + 1;
    assert!((half..=half + drifted).contains(&offset.uncertainty_ns), "{offset:?}, {exchange:?}");
}

#[test]
fn a_bad_ring_is_refused_with_its_code_and_kept() {
    for (fault, code) in [
        ("corrupt", Refusal::BodyCrc),
        ("length", Refusal::Size),
        ("crc", Refusal::BodyCrc),
        ("generation", Refusal::GenerationChanged),
    ] {
        let (folder, span) = from_service(&[fault], 1);
        assert_eq!(
            (&span.status, &span.ring),
            (&DrainStatus::Ok, &Some(RingCheck::Refused(code))),
            "{fault}"
        );
        assert!(folder.path().join(&span.file_name).exists(), "{fault}");
    }
}

#[test]
fn a_transfer_that_breaks_now_and_then_is_gone_on_with_until_it_is_whole() {
    let mut resumed = 0;
    for seed in 1..=6 {
        let (folder, span) = from_service(&["cut:50"], seed);
        if span.status != DrainStatus::Ok {
            // Five cuts in a row are more than it puts up with.
            assert_eq!(span.resumed, 4, "seed {seed}: {span:?}");
            continue;
        }
        assert!(matches!(span.ring, Some(RingCheck::Ok(_))), "seed {seed}: {span:?}");
        let image = fs::read(folder.path().join(&span.file_name)).unwrap();
        assert_eq!(parse(&image, Policy::Exact).unwrap().frames.len(), 30, "seed {seed}");
        assert_eq!(span.bytes, image.len() as u64);
        resumed += span.resumed;
    }
    assert!(resumed > 0, "no seed cut anything");
}

#[test]
fn a_transfer_that_always_breaks_is_given_up() {
    // Each answer breaks off at once, so that nothing is ever gained.
    let (url, heads) = serve(vec![broken("\"a\""); 9]);
    let (folder, span) = download(&url);
    let DrainStatus::Error(text) = &span.status else { panic!("{span:?}") };
    assert!(text.starts_with("the body broke off: "), "{text}");
    assert_eq!((span.resumed, heads.try_iter().count()), (4, 5));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// A server with one answer a connection, in order; the heads it got.
fn serve(answers: Vec<String>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}/v1/ring/raw", listener.local_addr().unwrap());
    let (sender, heads) = channel();
    thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut octet = [0];
                stream.read_exact(&mut octet).unwrap();
                head.push(octet[0]);
            }
            let _ = sender.send(String::from_utf8(head).unwrap().to_ascii_lowercase());
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (url, heads)
}

fn broken(etag: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nETag: {etag}\r\nContent-Length: 6\r\n\r\nabc")
}

#[test]
fn the_rest_is_asked_for_under_the_entity_tag_and_put_behind_what_is_there() {
    let rest =
        "HTTP/1.1 206 Partial\r\nETag: \"a\"\r\nContent-Range: bytes 3-5/6\r\nContent-Length: 3\r\n\r\ndef";
    let (url, heads) = serve(vec![broken("\"a\""), rest.to_owned()]);
    let (folder, span) = download(&url);
    assert_eq!((&span.status, span.resumed, span.bytes), (&DrainStatus::Ok, 1, 6));
    assert_eq!(fs::read(folder.path().join(&span.file_name)).unwrap(), b"abcdef");
    assert_eq!((span.ring, span.exchange), (None, None));
    let heads: Vec<_> = heads.iter().collect();
    assert!(!heads[0].contains("range"), "{}", heads[0]);
    assert!(
        heads[1].contains("\r\nrange: bytes=3-\r\n") && heads[1].contains("\r\nif-range: \"a\"\r\n"),
        "{}",
        heads[1]
    );
}

#[test]
fn another_body_starts_over_and_the_server_may_be_busy_meanwhile() {
    let busy = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
    let other = "HTTP/1.1 200 OK\r\nETag: \"b\"\r\nContent-Length: 5\r\n\r\nother";
    let (url, _) = serve(vec![broken("\"a\""), busy.to_owned(), other.to_owned()]);
    let (folder, span) = download(&url);
    assert_eq!((&span.status, span.resumed, span.bytes), (&DrainStatus::Ok, 2, 5));
    assert_eq!(fs::read(folder.path().join(&span.file_name)).unwrap(), b"other");
}

#[test]
fn bodies_are_never_mixed() {
    let part = |etag: &str, range: &str| {
        format!(
            "HTTP/1.1 206 Partial\r\nETag: {etag}\r\nContent-Range: bytes {range}\r\nContent-Length: 3\r\n\r\ndef"
        )
    };
    for rest in
        [part("\"b\"", "3-5/6"), part("\"a\"", "2-4/6"), part("\"a\"", "3-5/7"), part("\"a\"", "3-4/6")]
    {
        let (url, _) = serve(vec![broken("\"a\""), rest.clone()]);
        let (_, span) = download(&url);
        let DrainStatus::Error(text) = &span.status else { panic!("{rest}: {span:?}") };
        assert!(text.starts_with("the server goes on with another part"), "{text}");
    }
    // A weak tag does not say that octets are the same (RFC 9110, 8.8.1).
    let (url, heads) = serve(vec![broken("W/\"a\""), broken("\"a\"")]);
    assert!(matches!(download(&url).1.status, DrainStatus::Error(_)));
    assert_eq!(heads.try_iter().count(), 1);
}
