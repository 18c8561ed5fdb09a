//! `observe` without the rights that only opening takes: gives them up, says so, and looks at once whether everything
//! that is to be written later can be written without them.

use super::args::ObserveArgs;
use super::failure::Failure;
use super::{output, say};
use crate::privileges::{self, Lowered, PrivilegeError, writable};
use std::io;
use std::path::Path;

/// Gives up what is not needed from here on. Before any thread is started.
pub(super) fn lower(args: &ObserveArgs) -> Result<(), Failure> {
    let lowered = privileges::lower(args.user.as_deref(), args.realtime).map_err(|error| match error {
        PrivilegeError::Refused(_) => Failure::io_line(&error),
        _ => Failure::Said { code: super::failure::USAGE, text: error.to_string() },
    })?;
    let Some(lowered) = lowered else { return Ok(()) };
    later(args).try_for_each(|(path, folder)| check(path, folder, &lowered))?;
    if !args.quiet {
        say(&lowered.note);
    }
    Ok(())
}

/// What is made or written while the run goes on or when it ends, and whether it is a folder.
fn later(args: &ObserveArgs) -> impl Iterator<Item = (&Path, bool)> {
    let files = [
        args.write.as_deref(),
        args.tape.as_deref(),
        output::file(args.report.output.as_deref()),
        args.serve.prom_textfile.as_deref(),
    ];
    let folder = args.drain.as_ref().map(|_| (args.drain_dir.as_path(), true));
    files.into_iter().flatten().map(|path| (path, false)).chain(folder)
}

/// A run of hours must not end with a record that nobody may write.
fn check(path: &Path, folder: bool, lowered: &Lowered) -> Result<(), Failure> {
    writable(path, folder).map_err(|error| {
        if error.kind() == io::ErrorKind::NotFound {
            let what = format!("{} cannot be written ({error})", path.display());
            return Failure::io(&what, "make its folder, or name one that is there");
        }
        let what = format!("{} cannot be written as {} ({error})", path.display(), lowered.who);
        Failure::io(&what, "name a folder that it may write, or keep all rights with --user root")
    })
}
