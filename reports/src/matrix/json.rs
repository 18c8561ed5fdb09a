//! JSON: the verdict as one document in the order of its fields, or as one object a line.

use crate::json::Safe;
use crate::render::RenderError;
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::Serializer;
use std::io::Write;
use wireproof_matrices::verdict::Verdict;

/// Writes the verdict with two spaces of indentation and a line feed at the end.
pub(super) fn write(verdict: &Verdict, out: &mut dyn Write) -> Result<(), RenderError> {
    let mut out = out;
    verdict.serialize(&mut Serializer::with_formatter(&mut out, Safe::shortest()))?;
    Ok(out.write_all(b"\n")?)
}

/// Writes any value without spaces; figures in the fewest digits that read back as the same.
pub(super) fn compact<T: Serialize>(value: &T, out: &mut dyn Write) -> Result<(), RenderError> {
    let mut out = out;
    Ok(value.serialize(&mut Serializer::with_formatter(&mut out, Safe::shortest_line()))?)
}

#[derive(Serialize)]
struct Line<'a, T> {
    r#type: &'static str,
    #[serde(flatten)]
    value: &'a T,
}

/// One typed object a line: the verdict without its lists of gates, arms and losses, then these.
pub(super) fn write_lines(verdict: &Verdict, out: &mut dyn Write) -> Result<(), RenderError> {
    let mut head = serde_json::to_value(verdict)?;
    if let Some(keys) = head.as_object_mut() {
        keys.remove("gates");
        keys.remove("arms");
    }
    if let Some(keys) = head.get_mut("attribution").and_then(Value::as_object_mut) {
        keys.remove("losses");
    }
    line("verdict", &head, out)?;
    verdict.gates.iter().try_for_each(|gate| line("gate", gate, out))?;
    verdict.arms.iter().try_for_each(|arm| line("arm", arm, out))?;
    verdict.attribution.losses.iter().try_for_each(|loss| line("loss", loss, out))
}

fn line<T: Serialize>(name: &'static str, value: &T, out: &mut dyn Write) -> Result<(), RenderError> {
    compact(&Line { r#type: name, value }, out)?;
    Ok(out.write_all(b"\n")?)
}
