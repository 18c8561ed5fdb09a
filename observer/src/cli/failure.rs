//! Why a verb ended without a verdict: one line, one exit code.

use crate::capture::CaptureError;
use crate::rig_file::RigError;
use crate::slice::SliceError;
use std::io;
use wireproof_reports::RenderError;

/// A FAIL verdict.
pub(super) const FAIL: u8 = 1;
/// Usage or plan error.
pub(super) const USAGE: u8 = 2;
/// Environment or I/O.
pub(super) const IO: u8 = 6;
/// A ring, hash, manifest or schema that cannot be believed.
pub(super) const INTEGRITY: u8 = 7;

/// A run that ended early.
#[derive(Debug)]
pub(super) enum Failure {
    /// Standard output, or the file that stands for it, took no more.
    Write(io::Error),
    /// Something to say and the exit code that goes with it.
    Said {
        /// Exit code.
        code: u8,
        /// What went wrong and what to do, one line.
        text: String,
    },
    /// The same about a place in what was typed, which stands below it.
    Shown {
        /// Exit code.
        code: u8,
        /// What went wrong and what is allowed, one line.
        text: String,
        /// What was typed, and carets under the place.
        below: [String; 2],
    },
}

impl Failure {
    /// A mistake on the command line or in a file the user wrote.
    pub(super) fn usage(what: &str, todo: &str) -> Failure {
        Failure::Said { code: USAGE, text: format!("{what}: {todo}") }
    }

    /// An error whose own line says what to do.
    pub(super) fn io_line(error: &dyn std::error::Error) -> Failure {
        Failure::Said { code: IO, text: error.to_string() }
    }

    /// Something the system refused.
    pub(super) fn io(what: &str, todo: &str) -> Failure {
        Failure::Said { code: IO, text: format!("{what}: {todo}") }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Write(error) => write!(f, "{error}"),
            Failure::Said { text, .. } | Failure::Shown { text, .. } => f.write_str(text),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Write(error)
    }
}

impl From<RenderError> for Failure {
    fn from(error: RenderError) -> Self {
        match error {
            RenderError::Write(error) => Failure::Write(error),
            other => Failure::io(&other.to_string(), "please report it with the capture"),
        }
    }
}

impl From<CaptureError> for Failure {
    fn from(error: CaptureError) -> Self {
        let code = if matches!(error, CaptureError::Layout { .. }) { USAGE } else { IO };
        Failure::Said { code, text: error.to_string() }
    }
}

impl From<RigError> for Failure {
    fn from(error: RigError) -> Self {
        let code = if matches!(error, RigError::Read { .. }) { IO } else { USAGE };
        Failure::Said { code, text: error.to_string() }
    }
}

impl From<SliceError> for Failure {
    fn from(error: SliceError) -> Self {
        let code = match error {
            SliceError::NoFinding { .. } | SliceError::NoStream { .. } => USAGE,
            _ => IO,
        };
        Failure::Said { code, text: error.to_string() }
    }
}
