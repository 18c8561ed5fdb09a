//! The formats and how a summary is written in one of them.

use crate::Summary;
use std::fmt;
use std::io::{self, Write};

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Plain text for people.
    Table,
    /// One JSON document, two spaces of indentation.
    Json,
    /// One JSON object a line.
    Jsonl,
    /// RFC 4180, one row a stream.
    Csv,
    /// Markdown tables.
    Markdown,
    /// JUnit XML, one test case a gate, or a stream and code.
    Junit,
    /// A self-contained page.
    Html,
}

impl Format {
    /// The formats of a summary, in the order of the help text.
    pub const ALL: [Format; 7] = [
        Format::Table,
        Format::Json,
        Format::Jsonl,
        Format::Csv,
        Format::Markdown,
        Format::Junit,
        Format::Html,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Table => "table",
            Format::Json => "json",
            Format::Jsonl => "jsonl",
            Format::Csv => "csv",
            Format::Markdown => "markdown",
            Format::Junit => "junit",
            Format::Html => "html",
        }
    }

    /// The error of a record that is not written in this format.
    pub(crate) fn missing(self, record: &str) -> RenderError {
        RenderError::Encode(format!("{record} has no {}", self.name()))
    }

    /// The format of a summary with this name.
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|f| f.name() == name)
    }
}

/// How the table looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// ANSI colour on severities and the verdict; the words stand there with and without it.
    pub color: bool,
    /// Columns to stay within; the last line and long words go beyond.
    pub width: usize,
}

impl Default for Style {
    fn default() -> Self {
        Style { color: false, width: 100 }
    }
}

/// Why a summary could not be written.
#[derive(Debug)]
pub enum RenderError {
    /// The writer failed.
    Write(io::Error),
    /// A serializer refused the data.
    Encode(String),
}

impl fmt::Display for RenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RenderError::Write(error) => write!(f, "{error}"),
            RenderError::Encode(text) => write!(f, "cannot encode the record: {text}"),
        }
    }
}

impl std::error::Error for RenderError {}

impl From<io::Error> for RenderError {
    fn from(error: io::Error) -> Self {
        RenderError::Write(error)
    }
}

impl From<serde_json::Error> for RenderError {
    fn from(error: serde_json::Error) -> Self {
        match error.io_error_kind() {
            Some(kind) => RenderError::Write(kind.into()),
            None => RenderError::Encode(error.to_string()),
        }
    }
}

impl From<::csv::Error> for RenderError {
    fn from(error: ::csv::Error) -> Self {
        match error.into_kind() {
            ::csv::ErrorKind::Io(error) => RenderError::Write(error),
            other => RenderError::Encode(format!("{other:?}")),
        }
    }
}

/// Writes the summary in a format; the octets depend on the arguments alone.
///
/// # Errors
/// [`RenderError::Write`] when the writer fails, [`RenderError::Encode`] for a format that a summary has not.
pub fn render(
    summary: &Summary,
    format: Format,
    style: Style,
    out: &mut dyn Write,
) -> Result<(), RenderError> {
    match format {
        Format::Table => crate::table::write(summary, style, out).map_err(RenderError::from),
        Format::Json => crate::json::write(summary, out),
        Format::Jsonl => crate::jsonl::write(summary, out),
        Format::Csv => crate::csv::write(summary, out),
        Format::Markdown => crate::markdown::write(summary, out).map_err(RenderError::from),
        Format::Junit => crate::junit::write(summary, out).map_err(RenderError::from),
        Format::Html => crate::page::render(summary, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Observer, Source};
    use wireproof_protocols::verify::Account;

    /// It is PASS by the contract, so that the words have to say what it is worth.
    #[test]
    fn a_run_that_saw_nothing_says_so_in_every_format_that_has_a_verdict() {
        let summary = Summary::new(&Account::default(), Source::default(), Observer::default());
        for format in
            [Format::Table, Format::Json, Format::Jsonl, Format::Markdown, Format::Junit, Format::Html]
        {
            let mut out = Vec::new();
            render(&summary, format, Style::default(), &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            for part in ["no lighting datagrams, nothing was judged", "--rig"] {
                assert!(words.contains(part), "{format:?} lacks {part}");
            }
            if format == Format::Junit {
                assert!(words.contains("tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"1\""), "{words}");
            }
        }
    }
}
