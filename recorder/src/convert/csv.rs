//! The records as a table: one row a record, every field, names resolved (RFC 4180, newline as `\n`).

use super::sink::Sink;
use crate::header::Tables;
use crate::layout::{Kind, NO_DEVICE, NO_FRAME, NO_PARENT, Record};
use std::io::{self, Write};

const HEAD: &str = "ordinal,kind,frame,seq,parent,stage,stage_name,device,device_name,protocol,protocol_name,\
                    start_ns,end_ns,duration_ns,flags,aux\n";

/// Writes the records in the given order and returns their number.
///
/// # Errors
/// What the writer says.
pub fn write<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    tables: &Tables,
    out: &mut dyn Write,
) -> io::Result<u64> {
    let mut sink = Sink::new(out);
    sink.octets().extend_from_slice(HEAD.as_bytes());
    let mut rows = 0;
    for record in records {
        row(sink.octets(), record, tables);
        rows += 1;
    }
    sink.finish()?;
    Ok(rows)
}

fn row(out: &mut Vec<u8>, r: &Record, tables: &Tables) {
    let protocol = tables.protocols.iter().find(|p| p.id == r.protocol()).map(|p| p.name.as_str());
    cell(out, Some(r.ordinal));
    text(out, Some(kind(r)));
    cell(out, some(r.frame().into(), NO_FRAME.into()));
    cell(out, some(r.seq().into(), u64::MAX));
    cell(out, some(r.parent().into(), NO_PARENT.into()));
    cell(out, Some(r.stage().into()));
    text(out, tables.stage(r.stage()));
    cell(out, some(r.device().into(), NO_DEVICE.into()));
    text(out, tables.device(r.device()));
    cell(out, some(r.protocol().into(), 0));
    text(out, protocol);
    cell(out, Some(r.start_ns()));
    cell(out, Some(r.end_ns()));
    cell(out, Some(r.end_ns().saturating_sub(r.start_ns())));
    cell(out, Some(r.flags().into()));
    cell(out, Some(r.aux()));
    if let Some(last) = out.last_mut() {
        *last = b'\n';
    }
}

fn some(value: u64, none: u64) -> Option<u64> {
    (value != none).then_some(value)
}

fn cell(out: &mut Vec<u8>, value: Option<u64>) {
    if let Some(value) = value {
        out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    }
    out.push(b',');
}

/// A text; quoted where it would break the row.
fn text(out: &mut Vec<u8>, value: Option<&str>) {
    let value = value.unwrap_or_default();
    if value.contains([',', '"', '\n', '\r']) {
        out.push(b'"');
        out.extend_from_slice(value.replace('"', "\"\"").as_bytes());
        out.push(b'"');
    } else {
        out.extend_from_slice(value.as_bytes());
    }
    out.push(b',');
}

fn kind(record: &Record) -> &'static str {
    match record.kind() {
        Some(Kind::Span) => "span",
        Some(Kind::FrameComplete) => "frame_complete",
        Some(Kind::Cause) => "cause",
        Some(Kind::DeadlineMiss) => "deadline_miss",
        Some(Kind::Drops) => "drops",
        Some(Kind::Anchor) => "anchor",
        Some(Kind::Counter) => "counter",
        Some(Kind::Mark) => "mark",
        Some(Kind::Skipped) => "skipped",
        Some(Kind::State) => "state",
        None => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::Stage;

    #[test]
    fn a_row_holds_every_field_and_quotes_what_needs_it() {
        let tables = Tables {
            stages: vec![Stage { id: 7, category: 0, name: "a,\"b\"".into() }],
            ..Tables::default()
        };
        let words =
            [10, 15, 3 | 7 << 32 | 0xFFFF << 48, (Kind::Span as u64) << 8 | 2 << 32 | 0xFFFF << 48, 6];
        let mut out = Vec::new();
        assert_eq!(write(&[Record { ordinal: 9, words }], &tables, &mut out).unwrap(), 1);
        let text = String::from_utf8(out).unwrap();
        let row = "9,span,3,2,,7,\"a,\"\"b\"\"\",,,,,10,15,5,0,6";
        assert_eq!(text.lines().collect::<Vec<_>>(), [HEAD.trim_end(), row]);
    }
}
