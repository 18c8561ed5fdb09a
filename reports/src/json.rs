//! JSON: the summary as one document, and the formatter that keeps every JSON output safe and reproducible.

use crate::Summary;
use crate::render::RenderError;
use crate::text::is_unsafe;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};
use std::io::{self, Write};

/// Writes the summary with two spaces of indentation and a line feed at the end.
pub(crate) fn write(summary: &Summary, out: &mut dyn Write) -> Result<(), RenderError> {
    let mut out = out;
    summary
        .serialize(&mut Serializer::with_formatter(&mut out, Safe::thousandths(PrettyFormatter::new())))?;
    Ok(out.write_all(b"\n")?)
}

/// Writes any value on one line.
pub(crate) fn write_line<T: Serialize>(value: &T, out: &mut dyn Write) -> Result<(), RenderError> {
    let mut out = out;
    value.serialize(&mut Serializer::with_formatter(&mut out, Safe::thousandths(CompactFormatter)))?;
    Ok(out.write_all(b"\n")?)
}

/// Adds two things to a formatter: `\u` escapes for characters that JSON allows but a terminal obeys (DEL, C1
/// controls, direction marks), and its own way of writing fractions.
pub(crate) struct Safe<F> {
    inner: F,
    decimals: Option<usize>,
}

impl<F> Safe<F> {
    /// Three decimals for every fraction.
    fn thousandths(inner: F) -> Safe<F> {
        Safe { inner, decimals: Some(3) }
    }
}

impl Safe<PrettyFormatter<'_>> {
    /// Indented; fractions in the fewest digits that read back as the same number.
    pub(crate) fn shortest() -> Self {
        Safe { inner: PrettyFormatter::new(), decimals: None }
    }
}

impl Safe<CompactFormatter> {
    /// On one line; fractions as in [`Safe::shortest`].
    pub(crate) fn shortest_line() -> Self {
        Safe { inner: CompactFormatter, decimals: None }
    }
}

impl<F: Formatter> Formatter for Safe<F> {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        match self.decimals {
            Some(decimals) => write!(writer, "{value:.decimals$}"),
            None => write!(writer, "{value}"),
        }
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, text: &str) -> io::Result<()> {
        let mut rest = text;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| is_unsafe(*c)) {
            writer.write_all(&rest.as_bytes()[..at])?;
            // Every unsafe character lies in the basic plane: four digits are enough.
            write!(writer, "\\u{:04x}", c as u32)?;
            rest = &rest[at + c.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inner.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inner.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.inner.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inner.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inner.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inner.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.inner.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inner.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inner.end_object_value(writer)
    }
}
