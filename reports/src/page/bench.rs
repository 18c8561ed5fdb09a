//! A bench as one self-contained HTML page: ratios with their intervals as pictures and as words, the limits, the times,
//! and what such a bench does not show. Nothing runs; every figure says where in the record it stands.

mod encoders;
mod plot;
mod recorder;

pub(crate) use encoders::write as encoders;
pub(crate) use recorder::write as recorder;

use super::cell::{Cell, fraction, made};
use super::prose;
use std::io::{self, Write};

/// A fraction that may be missing.
fn maybe(value: Option<f64>) -> Cell {
    value.map_or_else(|| made(String::new()), fraction)
}

/// Writes sentences as a list below a heading.
fn list(id: &str, heading: &str, lines: &[String], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<section id=\"{id}\">\n<h2>{heading}</h2>\n<ul>")?;
    lines.iter().try_for_each(|line| writeln!(out, "<li>{}", prose(line)))?;
    writeln!(out, "</ul>\n</section>")
}
