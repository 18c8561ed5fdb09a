//! JSON: the record as one document; fractions in the fewest digits that read back as the same number.

use super::Bench;
use crate::json::Safe;
use crate::render::RenderError;
use serde::Serialize;
use serde_json::ser::Serializer;
use std::io::Write;

/// Writes the record with two spaces of indentation and a line feed at the end.
pub(super) fn write(bench: &Bench, out: &mut dyn Write) -> Result<(), RenderError> {
    let mut out = out;
    bench.serialize(&mut Serializer::with_formatter(&mut out, Safe::shortest()))?;
    Ok(out.write_all(b"\n")?)
}
