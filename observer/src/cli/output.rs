//! Where data goes: standard output through a buffer, or a file that is whole or absent.

use super::failure::Failure;
use crate::outfile;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes data to the file, or to standard output without one (`-` is standard output too).
pub(super) fn write(
    target: Option<&Path>,
    body: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    match file(target) {
        Some(path) => outfile::write(path, body).map_err(|failure| to_file(path, failure)),
        None => {
            let mut out = BufWriter::new(io::stdout().lock());
            let written = body(&mut out).and_then(|()| Ok(out.flush()?));
            match written {
                // A reader that has seen enough does not change what was found.
                Err(Failure::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                written => written,
            }
        }
    }
}

/// Writes data to standard error, where standard output is something else's.
pub(super) fn aside(body: impl FnOnce(&mut dyn Write) -> Result<(), Failure>) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stderr().lock());
    body(&mut out).and_then(|()| Ok(out.flush()?))
}

/// Refuses standard output where only a file will do.
pub(super) fn named(option: &str, path: Option<&Path>) -> Result<(), Failure> {
    if path.is_some() && file(path).is_none() {
        return Err(Failure::usage(
            &format!("{option} needs a file, and - is standard output"),
            "give it a name",
        ));
    }
    Ok(())
}

/// The file behind an `-o`, if it is one.
pub(super) fn file(target: Option<&Path>) -> Option<&Path> {
    target.filter(|path| path.as_os_str() != "-")
}

/// Within a file's body every write goes to the file.
fn to_file(path: &Path, failure: Failure) -> Failure {
    match failure {
        Failure::Write(error) => {
            let what = format!("{} cannot be written ({error})", path.display());
            Failure::io(&what, "check the folder, its rights and the space on the disk")
        }
        said => said,
    }
}

/// Refuses inputs that cannot be one run, and an output that is one of them.
pub(super) fn check(inputs: &[PathBuf], target: Option<&Path>) -> Result<(), Failure> {
    if inputs.iter().filter(|input| input.as_os_str() == "-").count() > 1 {
        return Err(Failure::usage("standard input is given twice", "name - once"));
    }
    let Some(path) = file(target) else { return Ok(()) };
    if inputs.iter().any(|input| outfile::same_file(input, path)) {
        let what = format!("{} is input and output at once", path.display());
        return Err(Failure::usage(&what, "give -o another name"));
    }
    Ok(())
}

/// Both paths are one file, or would be.
pub(super) fn same(a: &Path, b: &Path) -> bool {
    let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    whole(a) == whole(b) || outfile::same_file(a, b)
}
