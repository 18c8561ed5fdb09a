//! Records given to `report` and `compare`.

use wireproof_reports::compare_runs::Runs;
use wireproof_reports::record::Record;
use wireproof_reports::{Format, Style};

const FORMATS: [Format; 7] =
    [Format::Table, Format::Json, Format::Jsonl, Format::Csv, Format::Markdown, Format::Junit, Format::Html];
/// Most octets that are written for each octet of a record.
const BLOW_UP: usize = 256;
/// Octets that are written of any record.
const BASE: usize = 1 << 20;

/// Reads a record and writes it in every format that it has; a summary is laid beside itself.
pub fn record(data: &[u8]) {
    let Ok(record) = Record::read(data) else { return };
    for format in FORMATS {
        let mut out = Vec::new();
        let _ = record.render(format, Style { color: false, width: 80 }, &mut out);
        assert!(out.len() <= BASE + BLOW_UP * data.len(), "{} octets of {}", out.len(), data.len());
    }
    if let Record::Summary(summary) = &record {
        let _ = Runs::of(summary, summary);
    }
}
