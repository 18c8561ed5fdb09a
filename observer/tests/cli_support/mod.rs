//! What the command line tests share: the binary in a clean environment, and captures made by the fixture.

#![allow(dead_code, reason = "each test file uses its own part")]

use assert_cmd::Command;
use std::fs::File;
use std::path::{Path, PathBuf};
use wireproof_fixture::{cases, write_pcap};

/// The binary with nothing of the user's environment, in an empty folder.
pub(crate) fn wireproof(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("wireproof").unwrap();
    command.env_clear().env("HOME", folder).current_dir(folder);
    command
}

/// A capture of the planted case with this name, seed 1.
pub(crate) fn planted(folder: &Path, name: &str) -> PathBuf {
    let case = cases().into_iter().find(|c| c.name == name).expect("a case of that name");
    let path = folder.join(format!("{name}.pcap"));
    write_pcap(&(case.build)(1).unwrap(), &mut File::create(&path).unwrap()).unwrap();
    path
}

/// What a run left behind: exit code, standard output, standard error.
pub(crate) fn outcome(command: &mut Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |octets: Vec<u8>| String::from_utf8(octets).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}
