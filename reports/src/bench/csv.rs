//! CSV after RFC 4180: a header with units, then the copy and one row an encoder.

use super::{Bench, Encoder, Times};
use crate::csv::cell;
use crate::render::RenderError;
use std::io::Write;

const HEADER: [&str; 16] = [
    "name",
    "backend",
    "datagrams",
    "bytes",
    "min_ns",
    "p50_ns",
    "p95_ns",
    "ratio_to_memcpy",
    "ratio_low",
    "ratio_high",
    "ratio_to_own",
    "ratio_to_own_low",
    "ratio_to_own_high",
    "disturbed_blocks",
    "identical",
    "difference",
];

/// Writes the rows; line ends are CR LF.
pub(super) fn write(bench: &Bench, out: &mut dyn Write) -> Result<(), RenderError> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
    writer.write_record(HEADER)?;
    writer.write_record(copying(bench))?;
    for encoder in &bench.encoders {
        writer.write_record(row(encoder))?;
    }
    Ok(writer.flush()?)
}

fn copying(bench: &Bench) -> Vec<String> {
    let mut cells = vec!["memcpy".to_owned(), String::new(), String::new(), bench.frame_bytes.to_string()];
    cells.extend(times(Some(bench.memcpy.ns_per_frame)));
    cells.push("1".to_owned());
    cells.extend([const { String::new() }; 5]);
    cells.extend([bench.memcpy.disturbed_blocks.to_string(), String::new(), String::new()]);
    cells
}

fn row(encoder: &Encoder) -> Vec<String> {
    let (interval, own) = (encoder.ratio_interval, encoder.ratio_to_own);
    let mut cells = vec![
        cell(&encoder.name),
        cell(&encoder.backend),
        encoder.datagrams.to_string(),
        encoder.bytes.to_string(),
    ];
    cells.extend(times(encoder.ns_per_frame));
    cells.extend([encoder.ratio_to_memcpy, interval.map(|i| i.low), interval.map(|i| i.high)].map(number));
    cells.extend([own.map(|o| o.median), own.map(|o| o.low), own.map(|o| o.high)].map(number));
    cells.extend([encoder.disturbed_blocks.to_string(), encoder.identical.to_string()]);
    cells.push(encoder.difference.as_deref().map(cell).unwrap_or_default());
    cells
}

fn times(times: Option<Times>) -> [String; 3] {
    [times.map(|t| t.min), times.map(|t| t.p50), times.map(|t| t.p95)].map(number)
}

fn number(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
