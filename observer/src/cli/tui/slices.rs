//! Cutting the evidence of marked findings out of the capture of the run, when it is whole: a capture that is being
//! written ends anywhere, and reading it would take time from the receive loop.

use super::model::Mark;
use crate::cli::failure::Failure;
use crate::cli::say;
use crate::slice::{self, Around, Request};
use std::path::{Path, PathBuf};
use wireproof_protocols::verify::Options;
use wireproof_protocols::words::counted;

/// How much stands around the evidence, at least: what `slice` takes when nobody says.
const AROUND: Around = Around::Frames(30);

/// Writes a capture for each mark beside the capture it is cut from.
///
/// # Errors
/// When one cannot be cut; the ones before it are there.
pub(in crate::cli) fn cut(capture: &Path, marks: &[Mark], options: &Options) -> Result<(), Failure> {
    for mark in marks {
        let Some(id) = slice::id_of(capture, options, (mark.code, mark.at_ns, &mark.stream))? else {
            say(&format!(
                "{} shows no {} of {}: nothing is cut out",
                capture.display(),
                mark.code,
                mark.stream
            ));
            continue;
        };
        let out = piece(capture, &id, mark.code);
        let request = Request { finding: &id, around: AROUND, all: false, options: options.clone() };
        let report = slice::slice(capture, &request, &out)?;
        say(&format!(
            "{} {id}: {} written to {}",
            mark.code,
            counted(report.records, "record"),
            out.display()
        ));
    }
    Ok(())
}

/// `show.pcapng` and `f0003` give `show-f0003-SEQ-LOST.pcapng`.
fn piece(capture: &Path, id: &str, code: &str) -> PathBuf {
    let stem = capture.file_stem().unwrap_or_default().to_string_lossy();
    capture.with_file_name(format!("{stem}-{id}-{code}.pcapng"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_lies_beside_its_capture_and_says_what_it_shows() {
        assert_eq!(
            piece(Path::new("a/show.pcapng"), "f0003", "SEQ-LOST"),
            Path::new("a/show-f0003-SEQ-LOST.pcapng")
        );
    }
}
