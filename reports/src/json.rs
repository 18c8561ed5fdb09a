//! JSON: the summary as one document, and the formatter that keeps every JSON output safe and reproducible.

use crate::Summary;
use crate::render::RenderError;
use crate::text::is_unsafe;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};
use std::io::{self, Write};

/// Writes the summary with two spaces of indentation, numbers of a list on one line, and a line feed at the end.
pub(crate) fn write(summary: &Summary, out: &mut dyn Write) -> Result<(), RenderError> {
    let mut out = out;
    summary.serialize(&mut Serializer::with_formatter(&mut out, Safe::thousandths(Rows::default())))?;
    Ok(out.write_all(b"\n")?)
}

/// Writes any value on one line.
pub(crate) fn write_line<T: Serialize>(value: &T, out: &mut dyn Write) -> Result<(), RenderError> {
    let mut out = out;
    value.serialize(&mut Serializer::with_formatter(&mut out, Safe::thousandths(CompactFormatter)))?;
    Ok(out.write_all(b"\n")?)
}

/// JSON fit to stand in a script element. These characters stand in its strings only, and mean the same escaped.
pub(crate) fn embedded(json: &[u8]) -> String {
    let text = String::from_utf8_lossy(json);
    text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// Indents by two spaces, one value a line; numbers of a list stand side by side.
#[derive(Debug, Default)]
struct Rows {
    /// Of each list or object that is open: something of it stands on a line of its own.
    broken: Vec<bool>,
    /// A value of a list is about to be written, and whether it is the first.
    waiting: Option<bool>,
}

impl Rows {
    fn line<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if let Some(broken) = self.broken.last_mut() {
            *broken = true;
        }
        writer.write_all(b"\n")?;
        (0..self.broken.len()).try_for_each(|_| writer.write_all(b"  "))
    }

    fn close<W: ?Sized + Write>(&mut self, writer: &mut W, end: &[u8]) -> io::Result<()> {
        if self.broken.pop() == Some(true) {
            writer.write_all(b"\n")?;
            (0..self.broken.len()).try_for_each(|_| writer.write_all(b"  "))?;
        }
        writer.write_all(end)
    }

    /// What comes in front of a number.
    fn beside<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        match self.waiting.take() {
            Some(false) => writer.write_all(b" "),
            _ => Ok(()),
        }
    }

    /// What comes in front of anything else.
    fn below<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.waiting.take().is_some() { self.line(writer) } else { Ok(()) }
    }
}

/// Numbers through a layout that wants to know of them.
macro_rules! numbers {
    ($before:ident: $($name:ident $kind:ty),*) => {$(
        fn $name<W: ?Sized + Write>(&mut self, writer: &mut W, value: $kind) -> io::Result<()> {
            self.$before(writer)?;
            CompactFormatter.$name(writer, value)
        }
    )*};
}

impl Formatter for Rows {
    numbers!(beside: write_u8 u8, write_u16 u16, write_u32 u32, write_u64 u64, write_i64 i64, write_f64 f64);

    fn begin_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.below(writer)?;
        writer.write_all(b"\"")
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.below(writer)?;
        self.broken.push(false);
        writer.write_all(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.waiting = Some(first);
        if first { Ok(()) } else { writer.write_all(b",") }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.below(writer)?;
        self.broken.push(false);
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        self.line(writer)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

/// Numbers through to the layout inside.
macro_rules! through {
    ($($name:ident $kind:ty),*) => {$(
        fn $name<W: ?Sized + Write>(&mut self, writer: &mut W, value: $kind) -> io::Result<()> {
            self.inner.$name(writer, value)
        }
    )*};
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
    through!(write_u8 u8, write_u16 u16, write_u32 u32, write_u64 u64, write_i64 i64);

    fn begin_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inner.begin_string(writer)
    }

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
