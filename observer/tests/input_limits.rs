//! Files that never end, or never begin, wherever a file is named: refused in one line, in bounded time and memory.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod cli_support;

use cli_support::planted;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// KiB of address space of a run: a 64th of what a file without end would take.
const ROOM: u64 = 1 << 20;

/// A folder with a capture, a pipe that nobody writes to, and nothing else.
fn bench() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    planted(folder.path(), "sacn-clean-1");
    assert!(Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap().success());
    fs::set_permissions(folder.path().join("pipe"), fs::Permissions::from_mode(0o600)).unwrap();
    folder
}

fn ran(folder: &Path, line: &str) -> Output {
    let limited = format!("ulimit -v {ROOM}; exec timeout -s KILL 60 \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &limited, env!("CARGO_BIN_EXE_wireproof")]).args(line.split(' '));
    command.current_dir(folder).env_clear().env("HOME", folder).env("PATH", "/usr/bin:/bin").output().unwrap()
}

/// Refused with one of these codes, in one line.
fn is_refused(folder: &Path, line: &str, codes: &[i32]) {
    let ran = ran(folder, line);
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.code().is_some_and(|code| codes.contains(&code)), "{line}: {}: {said}", ran.status);
    assert!(said.lines().count() == 1 && !said.contains("panicked"), "{line}: {said}");
}

/// Everywhere that a file is read whole.
const READERS: [(&str, &[i32]); 13] = [
    ("analyze sacn-clean-1.pcap --rig FILE", &[2, 6]),
    ("observe --rig FILE --duration 1s", &[2, 6]),
    ("observe --web 0 --web-token FILE --duration 1s", &[2, 6]),
    ("ring verify FILE", &[6, 7]),
    ("ring summary FILE", &[6, 7]),
    ("ring verify sacn-clean-1.pcap --map FILE", &[2, 6]),
    ("device --rig FILE --duration 1s", &[2, 6]),
    ("matrix check FILE", &[2, 6]),
    ("matrix freeze FILE", &[2, 6]),
    ("matrix run FILE --dry", &[2, 6]),
    ("report FILE", &[2, 6, 7]),
    ("compare FILE sacn-clean-1.pcap", &[2, 6, 7]),
    ("compare sacn-clean-1.pcap sacn-clean-1.pcap --budgets FILE", &[2, 6]),
];

#[test]
fn a_pipe_that_nobody_writes_to_holds_nobody_up() {
    let folder = bench();
    for (line, codes) in READERS {
        is_refused(folder.path(), &line.replace("FILE", "pipe"), codes);
    }
}

#[test]
fn a_file_without_end_is_refused_in_bounded_memory() {
    let folder = bench();
    for (line, codes) in READERS {
        is_refused(folder.path(), &line.replace("FILE", "/dev/zero"), codes);
    }
}

#[test]
fn settings_of_the_folder_are_bounded_too() {
    let folder = bench();
    let settings = folder.path().join("wireproof.toml");
    fs::write(&settings, "#".repeat(65_537)).unwrap();
    is_refused(folder.path(), "analyze sacn-clean-1.pcap", &[6]);
    fs::remove_file(&settings).unwrap();
    fs::rename(folder.path().join("pipe"), &settings).unwrap();
    is_refused(folder.path(), "analyze sacn-clean-1.pcap", &[6]);
}

#[test]
fn a_record_over_the_limit_and_one_nested_without_end_are_refused() {
    let folder = bench();
    let file = fs::File::create(folder.path().join("long.json")).unwrap();
    file.set_len((64 << 20) + 1).unwrap();
    std::io::Write::write_all(&mut &file, b"{\"schema\":\"").unwrap();
    is_refused(folder.path(), "report long.json", &[7]);
    let nested = format!("{{\"schema\":\"wireproof.order/1\",\"a\":{}", "[".repeat(1_000_000));
    fs::write(folder.path().join("nested.json"), nested).unwrap();
    is_refused(folder.path(), "report nested.json", &[7]);
    is_refused(folder.path(), "compare nested.json nested.json", &[7]);
}

#[test]
fn numbers_without_end_on_the_command_line_are_refused_before_anything_is_opened() {
    let folder = bench();
    for line in [
        "observe --join 1-4294967295",
        "observe --join 1-63999 --join-on lo --duration 1s",
        "observe -i lo --ports 1,2,65536 --duration 1s",
        "observe --duration 99999999999999999999h",
        "observe -w x.pcapng --rotate 99999999999999999999GiB",
        "send --protocol sacn --universes 1-4294967295 --duration 1s",
        "send --protocol ddp --pixels 4294967295 --duration 1s",
        "device --records 18446744073709551615 --duration 1s",
    ] {
        is_refused(folder.path(), line, &[2, 6]);
    }
}
