//! What the command line tests share: the binary in a clean environment, and captures made by the fixture.

#![allow(dead_code, reason = "each test file uses its own part")]

use assert_cmd::Command;
use serde_json::Value;
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

/// Forbids keys that the schema does not name.
fn close(schema: &mut Value) {
    if let Some(object) = schema.as_object_mut() {
        if object.contains_key("properties") {
            object.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
        object.values_mut().for_each(close);
    } else if let Some(items) = schema.as_array_mut() {
        items.iter_mut().for_each(close);
    }
}

/// The record has every key of the shipped schema that has to be there, and no other.
pub(crate) fn conforms(schema: &str, record: &Value) {
    let mut schema: Value = serde_json::from_str(schema).unwrap();
    close(&mut schema);
    let validator = jsonschema::validator_for(&schema).unwrap();
    let problems: Vec<_> =
        validator.iter_errors(record).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(problems.is_empty(), "{problems:?}: {record}");
}
