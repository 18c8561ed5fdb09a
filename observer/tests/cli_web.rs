//! What `observe` says to options of the live page and the metrics that cannot be, and the textfile it writes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]
#![cfg(target_os = "linux")]

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Runs to the end; exit code and standard error.
fn observe(args: &[&str]) -> (i32, String) {
    let run = Command::new(env!("CARGO_BIN_EXE_wireproof"))
        .args(["observe", "--udp", "127.0.0.1:0", "--duration", "300ms"])
        .args(args)
        .output()
        .unwrap();
    (run.status.code().unwrap(), String::from_utf8(run.stderr).unwrap())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_page_that_other_hosts_can_reach_needs_a_token() {
    let (code, said) = observe(&["--web", "0.0.0.0:0"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("can be reached from other hosts") && said.contains("--web-token FILE"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn a_token_file_for_everybody_and_a_token_for_nothing_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    fs::write(&token, "0123456789abcdef0123456789abcdef\n").unwrap();
    fs::set_permissions(&token, fs::Permissions::from_mode(0o644)).unwrap();
    let (code, said) = observe(&["--web", "127.0.0.1:0", "--web-token", text(&token)]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("chmod 600"), "{said}");
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    let (code, said) = observe(&["--web", "127.0.0.1:0", "--web-token", text(&folder.path().join("none"))]);
    assert_eq!((code, said.lines().count()), (6, 1), "{said}");
    let (code, said) = observe(&["--web-token", text(&token)]);
    assert_eq!(code, 2, "{said}");
    let (code, said) = observe(&["--web", "0.0.0.0:0", "--web-token", text(&token)]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("watched at http://0.0.0.0:"), "{said}");
}

#[test]
fn a_port_that_is_taken_and_an_address_that_is_none_are_told() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for option in ["--web", "--prom"] {
        let (code, said) = observe(&[option, &address]);
        assert_eq!(code, 6, "{said}");
        assert!(said.contains(&format!("{address} cannot be listened on")), "{said}");
    }
    let (code, said) = observe(&["--web", "nowhere"]);
    assert_eq!(code, 2, "{said}");
}

#[test]
fn the_textfile_is_whole_and_alone_in_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wireproof.prom");
    let (code, said) = observe(&["--prom-textfile", text(&file)]);
    assert_eq!(code, 0, "{said}");
    let written = fs::read_to_string(&file).unwrap();
    assert!(
        written.contains("\nwireproof_observer_lost_datagrams_total 0\n") && written.ends_with('\n'),
        "{written}"
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let (code, said) = observe(&["--prom-textfile", text(&folder.path().join("none/wireproof.prom"))]);
    assert_eq!(code, 6, "{said}");
    assert!(said.contains("cannot be written"), "{said}");
    let (code, said) = observe(&["--prom-textfile", text(&file), "--tape", text(&file)]);
    assert_eq!(code, 2, "{said}");
}
