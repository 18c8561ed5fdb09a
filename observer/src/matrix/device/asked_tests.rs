//! A device of somebody else's over real HTTP: a few documents on a thread of the test, and what was asked of it.

use super::Device;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;
use wireproof_matrices::plan::{Plan, Template, Word};
use wireproof_matrices::runner::io::Failure;

const PROFILE: &str = r#"
schema = 1
name = "booth"
answer_limit = "1KiB"

[auth]
kind = "header"
header = "X-Api-Key"

[status]
path = "/about"
build = { pointer = "/version" }
boot = { path = "/run", pointer = "/id" }
values.mode = { pointer = "/mode", map = { 2 = "show" } }
counters.frames = { path = "/run", pointer = "/frames" }

[clock]
kind = "value"
path = "/clock"
pointer = "/ms"
unit = "ms"

[[toggle]]
factor = "on"
set = { http = "PUT", path = "/on", body = '{"on":{level}}', words = { on = "true" } }
verify = { http = "GET", path = "/about", pointer = "/on", equals = { on = true } }
"#;

/// Answers these documents until dropped; each question is told, head and body.
fn serve(documents: Vec<(&'static str, String)>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (tell, asked) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap() > 0 {}
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
            reader.read_exact(&mut body).unwrap();
            let path = head.split(' ').nth(1).unwrap().to_owned();
            let found = documents.iter().find(|(known, _)| *known == path);
            let (status, text) = found.map_or(("404 Not Found", "{}"), |(_, text)| ("200 OK", text));
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{text}", text.len());
            let _ = reader.get_mut().write_all(answer.as_bytes());
            if tell.send(head + &String::from_utf8_lossy(&body)).is_err() {
                return;
            }
        }
    });
    (address, asked)
}

fn device(address: &str) -> Device {
    let template = Template::find("wled").unwrap().text;
    let text = template.replace(
        "192.168.0.40\"\nprofile      = \"wled\"",
        &format!("{address}\"\nprofile = \"p\"\nauth = \"env:PATH\""),
    );
    let text = text.replace("build = \"0.15.0\", lor = 0", "mode = \"show\"");
    Device::of(Arc::new(Plan::read_with(&text, &|_, _| Ok(PROFILE.to_owned())).unwrap())).unwrap()
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

#[test]
fn a_status_is_put_together_from_its_documents_with_the_token_in_the_header_of_the_profile() {
    let (address, asked) = serve(vec![
        ("/about", r#"{"version":"2.4","mode":2,"on":true}"#.to_owned()),
        ("/run", r#"{"id":"r-9","frames":"1200"}"#.to_owned()),
        ("/clock", r#"{"ms":86400000}"#.to_owned()),
        ("/on", "{}".to_owned()),
    ]);
    let device = device(&address);
    let told = wait(device.status(&|| 0)).unwrap();
    assert_eq!((told.status.build.as_str(), told.status.boot.as_str()), ("2.4", "r-9"));
    assert_eq!(told.status.values.get("mode"), Some(&Word::Text("show".to_owned())));
    let token = std::env::var("PATH").unwrap();
    for path in ["/about", "/run"] {
        let head = asked.recv().unwrap();
        assert!(head.starts_with(&format!("GET {path} HTTP/1.1\r\n")), "{head}");
        let sent = head.lines().find_map(|line| line.strip_prefix("x-api-key: "));
        assert_eq!(sent, Some(token.trim()));
        assert!(!head.to_lowercase().contains("authorization:"), "{head}");
    }
    assert_eq!(wait(device.counter_at("/frames")), Ok(1200), "a counter of the profile, as a text");
    let limit = Duration::from_secs(20);
    assert_eq!(wait(device.level("on", limit)), Ok((Some("on".to_owned()), Word::Truth(true))));
    wait(device.set("on", "on", limit)).unwrap();
    let put = asked.iter().find(|head| head.starts_with("PUT ")).unwrap();
    assert!(put.contains("content-type: application/json") && put.ends_with("{\"on\":true}"), "{put}");
    // The device stands at a day, the bench at zero: the clock is read in whole ms.
    let clock = wait(device.clock(&|| 0)).unwrap();
    assert!(clock.offset_ns.abs_diff(86_400_000_000_000) <= clock.error_ns, "{clock:?}");
    assert!(clock.error_ns <= 1_000_000, "{clock:?}");
}

#[test]
fn an_answer_beyond_the_limit_is_refused_and_never_cut_and_believed() {
    let long = format!("{{\"version\":\"2.4\",\"on\":true,\"rest\":\"{}\"}}", "x".repeat(4_000));
    let (address, _asked) = serve(vec![("/about", long), ("/clock", "[]".to_owned())]);
    let device = device(&address);
    let too_long =
        |failure: Failure| failure.to_string().contains("/about answers with more than 1024 octets");
    assert!(wait(device.status(&|| 0)).is_err_and(too_long));
    assert!(wait(device.level("on", Duration::from_secs(20))).is_err_and(too_long));
    let none = wait(device.clock(&|| 0)).unwrap_err().to_string();
    assert!(none.contains("carry no times of its clock"), "{none}");
}
