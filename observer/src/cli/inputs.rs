//! What `compare` and `report` are given: a bundle, a record, or a capture, told apart by what is there.

use super::failure::{Failure, INTEGRITY};
use crate::infile;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use wireproof_reports::RenderError;
use wireproof_reports::record::Record;

/// Longest record that is read, octets.
const LONGEST: u64 = 64 << 20;
/// White space in front of a record that is looked through for its brace, octets.
const LOOKED: u64 = 64;

/// Something to compare or to show.
pub(super) enum Input {
    /// A folder.
    Bundle(PathBuf),
    /// JSON with a schema.
    Record(Box<Record>),
    /// Anything else: the capture reader says what it is.
    Capture(PathBuf),
}

/// Looks at what is there; `-` is a record on standard input.
pub(super) fn read(path: &Path) -> Result<Input, Failure> {
    if path.as_os_str() == "-" {
        return Ok(Input::Record(Box::new(record(path, io::stdin().lock(), Vec::new())?)));
    }
    if path.is_dir() {
        return Ok(Input::Bundle(path.to_owned()));
    }
    let mut file = infile::open(path).map_err(|error| unreadable(path, &error))?;
    let mut head = Vec::new();
    file.by_ref().take(LOOKED).read_to_end(&mut head).map_err(|error| unreadable(path, &error))?;
    match head.iter().find(|octet| !octet.is_ascii_whitespace()) {
        Some(b'{') => Ok(Input::Record(Box::new(record(path, file, head)?))),
        _ => Ok(Input::Capture(path.to_owned())),
    }
}

fn record(path: &Path, from: impl Read, head: Vec<u8>) -> Result<Record, Failure> {
    let mut octets = head;
    from.take(LONGEST + 1).read_to_end(&mut octets).map_err(|error| unreadable(path, &error))?;
    if octets.len() as u64 > LONGEST {
        return Err(untrusted(path, "it is over 64 MiB, which no record is"));
    }
    Record::read(&octets).map_err(|error| untrusted(path, &error.to_string()))
}

/// What cannot be believed.
pub(super) fn untrusted(path: &Path, why: &str) -> Failure {
    let text = format!("{}: {why}: give a record of this version, or make it again", path.display());
    Failure::Said { code: INTEGRITY, text }
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::io(&format!("{} cannot be read ({error})", path.display()), "check its name and rights")
}

/// A format that a record has not is a mistake of the call.
pub(super) fn rendered(result: Result<(), RenderError>) -> Result<(), Failure> {
    result.map_err(|error| match error {
        RenderError::Encode(what) => Failure::usage(&what, "choose another --format, such as table"),
        RenderError::Write(error) => Failure::Write(error),
    })
}
