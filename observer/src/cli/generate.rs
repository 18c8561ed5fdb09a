//! `wireproof completions` and `wireproof man`: generated from the definition of the command line.

use super::args::{CompletionsArgs, ManArgs};
use super::failure::Failure;
use super::{command, man, output};
use std::fs;
use std::io;
use std::path::Path;

/// Prints the completions of a shell.
pub(super) fn completions(args: &CompletionsArgs) -> Result<u8, Failure> {
    // The generator panics on a failed write; memory does not fail.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "wireproof", &mut script);
    output::write(None, |out| Ok(out.write_all(&script)?))?;
    Ok(0)
}

/// Prints every page, or writes one file a page.
pub(super) fn man(args: &ManArgs) -> Result<u8, Failure> {
    let pages = man::pages(command())?;
    match &args.out {
        None => output::write(None, |out| pages.iter().try_for_each(|(_, page)| Ok(out.write_all(page)?)))?,
        Some(folder) => {
            let written = write_all(folder, &pages);
            written.map_err(|error| {
                let what = format!("{} cannot be written ({error})", folder.display());
                Failure::io(&what, "give --out a folder you may write to")
            })?;
        }
    }
    Ok(0)
}

fn write_all(folder: &Path, pages: &[(String, Vec<u8>)]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    pages.iter().try_for_each(|(name, page)| fs::write(folder.join(format!("{name}.1")), page))
}
