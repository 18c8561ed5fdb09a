//! No secret in any record, log, bundle or error: every verb that is given one is run, well and badly, and everything
//! that it wrote and said is searched for it, as it is and as it travels.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod device_process;
mod matrix_bench;

use device_process::{TOKEN, Web, binary};
use matrix_bench::Bench;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// Token of the live page.
const PAGE: &str = "page-5ecret-0f-the-live-page-71c3";
/// Password in a URL, and a key in its query.
const PASSWORD: &str = "open-5esame-9d2e";
const KEY: &str = "query-5ecret-44aa";
/// A token that is wrong, which may be another device's right one.
const WRONG: &str = "wr0ng-t0ken-of-another-device-8be1";

/// Every secret, and `user:password` as it travels.
fn secrets() -> Vec<String> {
    use base64::Engine as _;
    let basic = base64::engine::general_purpose::STANDARD.encode(format!("user:{PASSWORD}"));
    let mut all: Vec<String> = [TOKEN, PAGE, PASSWORD, KEY, WRONG].map(str::to_owned).to_vec();
    all.push(basic);
    all
}

/// Nothing of it stands in these octets.
fn is_free(what: &str, octets: &[u8]) {
    for secret in secrets() {
        let found = octets.windows(secret.len()).position(|at| at == secret.as_bytes());
        assert!(found.is_none(), "{what} holds the secret {secret:?} at octet {}", found.unwrap_or_default());
    }
}

/// Every file below a folder, but those that were given as secrets.
fn walk(folder: &Path, seen: &mut usize) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        is_free("a file name", name.as_bytes());
        match kind.is_dir() {
            true => walk(&path, seen),
            false if kind.is_file() && !["token", "page-token"].contains(&name.as_str()) => {
                is_free(&path.display().to_string(), &fs::read(&path).unwrap());
                *seen += 1;
            }
            false => {}
        }
    }
}

fn ran(folder: &Path, token: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(binary());
    command.current_dir(folder).env_clear().env("HOME", folder).env("DEVICE_TOKEN", token);
    command.args(arguments).output().unwrap()
}

/// Runs a verb; what it said is free of secrets. Its exit code.
fn free(folder: &Path, token: &str, arguments: &[&str]) -> i32 {
    let ran = ran(folder, token, arguments);
    let what = format!("{} {}", arguments[0], arguments.get(1).copied().unwrap_or_default());
    is_free(&format!("standard output of {what}"), &ran.stdout);
    is_free(&format!("standard error of {what}"), &ran.stderr);
    ran.status.code().unwrap_or(-1)
}

/// A server that says what it was asked, as badly written ones do, and how it then was asked.
fn echo() -> (String, std::thread::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = vec![0; 4_096];
        let length = stream.read(&mut head).unwrap();
        head.truncate(length);
        let body = String::from_utf8_lossy(&head).into_owned();
        let answer = format!("HTTP/1.1 418 {}\r\nContent-Length: {}\r\n\r\n{body}", "no", body.len());
        let _ = stream.write_all(answer.as_bytes());
        head
    });
    (address, answering)
}

/// Asks a page on this port with right and wrong secrets; `true` when it let the right one in.
fn asked(port: u16) -> bool {
    let ask = |path: &str, fields: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n").unwrap();
        let mut octets = Vec::new();
        let _ = stream.read_to_end(&mut octets);
        is_free(&format!("the answer to {}", path.split('?').next().unwrap()), &octets);
        String::from_utf8_lossy(&octets).into_owned()
    };
    ask("/", &format!("Authorization: Bearer {WRONG}\r\n"));
    ask(&format!("/?token={WRONG}"), "");
    ask("/", &format!("Cookie: wireproof={PAGE}\r\n"));
    ask(&format!("/?token={PAGE}"), "");
    ask("/api/summary", &format!("Authorization: Bearer {PAGE}\r\n")).starts_with("HTTP/1.1 200")
}

#[test]
fn no_record_no_log_no_bundle_and_no_error_holds_a_secret() {
    let more = ["--truth", "truth.jsonl", "--fault", "drop:rate=0.01"];
    let bench = Bench::new(&more);
    let folder = bench.folder.path();
    fs::write(folder.join("page-token"), format!("{PAGE}\n")).unwrap();
    fs::set_permissions(folder.join("page-token"), fs::Permissions::from_mode(0o600)).unwrap();

    service(&bench.web);
    fetches(folder, &bench.web);
    observed(folder, &bench);
    matrices(folder, &bench);
    let status = bench.web.ask("GET", "/v1/status", "").body;
    is_free("the status of the device", &status);

    let mut seen = 0;
    walk(folder, &mut seen);
    assert!(seen > 20, "only {seen} files were written");
}

#[test]
#[should_panic(expected = "holds the secret")]
fn a_secret_that_stands_somewhere_is_found() {
    is_free("a text", format!("downloaded http://user:{PASSWORD}@10.0.0.5/").as_bytes());
}

/// Switches with the right token and with wrong ones.
fn service(web: &Web) {
    assert_eq!(web.post("/v1/profiler?enabled=1"), 200);
    let wrong = web.ask("POST", "/v1/profiler?enabled=0", &format!("Authorization: Bearer {WRONG}\r\n"));
    assert_eq!(wrong.status, 401);
    is_free("the answer to a wrong token", &wrong.body);
    let odd =
        web.ask("POST", &format!("/v1/preview?fps={KEY}"), &format!("Authorization: Bearer {TOKEN}\r\n"));
    assert_eq!(odd.status, 400);
    is_free("the answer to a wrong switch", &odd.body);
}

fn fetches(folder: &Path, web: &Web) {
    let fetch = |token: &str, url: &str, more: &[&str]| {
        free(folder, token, &[&["ring", "fetch", url, "-o", "ring.bin"], more].concat())
    };
    let right = format!("http://user:{PASSWORD}@{}/v1/ring/raw?key={KEY}", web.0);
    let code = fetch(TOKEN, &right, &[]);
    assert!([0, 6].contains(&code), "{code}");
    assert_eq!(fetch(TOKEN, &format!("http://{}/v1/ring/raw", web.0), &["--token-env", "DEVICE_TOKEN"]), 0);
    for bad in [
        format!("https://user:{PASSWORD}@{}/", web.0),
        format!("user:{PASSWORD}@{}/", web.0),
        format!("http://user:{PASSWORD}@{}:x/", web.0),
        format!("http://user:{PASSWORD}@127.0.0.1:1/?key={KEY}"),
        format!("http://user:{PASSWORD}@{}/v1/none?key={KEY}", web.0),
    ] {
        assert_ne!(fetch(TOKEN, &bad, &[]), 0);
    }
    assert_eq!(
        fetch(&format!("{WRONG}\n\u{7f}"), "http://127.0.0.1:1/", &["--token-env", "DEVICE_TOKEN"]),
        2
    );
    assert_eq!(fetch(TOKEN, &format!("http://user:{PASSWORD}@h/"), &["--token-env", "DEVICE_TOKEN"]), 2);
    let (address, answering) = echo();
    assert_eq!(fetch(TOKEN, &format!("http://{address}/"), &["--token-env", "DEVICE_TOKEN"]), 6);
    let head = String::from_utf8_lossy(&answering.join().unwrap()).into_owned();
    assert!(head.contains(&format!("Bearer {TOKEN}")), "the token does go where it is meant to: {head}");
}

fn observed(folder: &Path, bench: &Bench) {
    let drain = format!("http://user:{PASSWORD}@{}/v1/ring/raw?key={KEY}", bench.web.0);
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    drop(socket);
    let (page, udp) = (port.to_string(), format!("127.0.0.1:{}", bench.ports[0]));
    let served = ["--web", &page, "--web-token", "page-token", "--prom-textfile", "metrics.prom"];
    for (format, seconds) in [("json", "3s"), ("html", "1s"), ("junit", "1s"), ("table", "1s")] {
        let out = format!("run.{format}");
        let written = ["-w", "show.pcapng", "--tape", "show.tape", "-o", &out, "--format", format];
        let how =
            ["observe", "--udp", &udp, "--duration", seconds, "--drain", &drain, "--drain-every", "300ms"];
        let arguments = [&how[..], &served, &written].concat();
        let mut command = Command::new(binary());
        command.current_dir(folder).env_clear().env("HOME", folder).args(arguments);
        let talk = fs::File::create(folder.join(format!("talk.{format}"))).unwrap();
        let mut child = command.stderr(talk).spawn().unwrap();
        let begun = std::time::Instant::now();
        while format == "json" && TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < matrix_bench::GENEROUS && child.try_wait().unwrap().is_none());
        }
        assert!(format != "json" || asked(port), "the right token opens the page");
        child.wait().unwrap();
        assert!(
            folder.join(&out).is_file(),
            "{out}: {}",
            fs::read_to_string(folder.join(format!("talk.{format}"))).unwrap()
        );
    }
    for format in ["csv", "jsonl", "markdown"] {
        free(folder, TOKEN, &["report", "run.json", "--format", format]);
    }
    fs::set_permissions(folder.join("page-token"), fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(free(folder, TOKEN, &["observe", "--web", &page, "--web-token", "page-token"]), 2);
    fs::write(folder.join("page-token"), format!("{PAGE} {WRONG}\n")).unwrap();
    fs::set_permissions(folder.join("page-token"), fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(free(folder, TOKEN, &["observe", "--web", &page, "--web-token", "page-token"]), 2);
}

fn matrices(folder: &Path, bench: &Bench) {
    bench.plan("2s", 1, "on");
    let run = |token: &str, arguments: &[&str]| free(folder, token, &[&["matrix"], arguments].concat());
    assert_eq!(run(TOKEN, &["freeze", "plan.toml", "-o", "plan.lock"]), 0);
    run(TOKEN, &["check", "plan.toml", "--format", "json"]);
    // A wrong token, a token that no header holds, and no token at all.
    for token in [WRONG, "tab\u{7f}5ecret-of-nobody"] {
        assert_ne!(run(token, &["run", "plan.toml", "--format", "json"]), 0);
    }
    let _ = fs::remove_dir_all(folder.join("evidence"));
    run(TOKEN, &["run", "plan.lock", "--format", "json"]);
    let bundle = bench.bundle();
    let name = bundle.to_str().unwrap();
    for verb in [&["verify", name][..], &["judge", name, "--what-if", "p95=1ns"]] {
        run(TOKEN, verb);
    }
    let in_url = fs::read_to_string(folder.join("plan.toml")).unwrap();
    let in_url = in_url.replace("base_url = \"http://", &format!("base_url = \"http://user:{PASSWORD}@"));
    fs::write(folder.join("bad.toml"), &in_url).unwrap();
    assert_eq!(run(TOKEN, &["check", "bad.toml"]), 2, "a plan holds no secret");
    fs::remove_file(folder.join("bad.toml")).unwrap();
}
