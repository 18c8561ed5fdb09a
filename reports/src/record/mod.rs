//! Any record of this tool read back from its JSON, and written in every format that it has. What is read may be anybody's:
//! its size is bounded by the caller, its depth by the reader, and nothing in it is believed but what it says.

mod node;
mod plain;

use crate::bench::Bench;
use crate::bench_recorder::RecorderBench;
use crate::compare_runs::Runs;
use crate::matrix::{InconclusiveIs, Report};
use crate::soak::SoakReport;
use crate::text::{clean, is_unsafe};
use crate::{Baseline, Comparison, Format, RenderError, Style, Summary, render};
use node::Node;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt;
use std::io::Write;
use wireproof_matrices::verdict::Verdict;

/// Schemas of records that are shown as they are: names, values, lists.
const PLAIN: [&str; 17] = [
    "wireproof.calibration/1",
    "wireproof.conversion/1",
    "wireproof.device-status/1",
    "wireproof.device/1",
    "wireproof.doctor/1",
    "wireproof.env/1",
    "wireproof.fetch/1",
    "wireproof.order/1",
    "wireproof.plan-check/1",
    "wireproof.plan-lock/1",
    "wireproof.replay/1",
    "wireproof.ring-causes/1",
    "wireproof.ring-frames/1",
    "wireproof.ring-summary/1",
    "wireproof.ring/1",
    "wireproof.send/1",
    "wireproof.truth/1",
];

/// A record.
#[derive(Debug)]
pub enum Record {
    /// Of `analyze` or `observe`.
    Summary(Box<Summary>),
    /// Of a matrix.
    Verdict(Box<Verdict>),
    /// Of `bench`.
    Bench(Box<Bench>),
    /// Of `bench --recorder`.
    RecorderBench(Box<RecorderBench>),
    /// Of `baseline set`.
    Baseline(Box<Baseline>),
    /// Of `compare` with a baseline.
    Comparison(Box<Comparison>),
    /// Of `compare` of two runs.
    Runs(Box<Runs>),
    /// Of `observe --until-bound`.
    Soak(Box<SoakReport>),
    /// Every other.
    Plain(Plain),
}

/// A record that is shown as it is.
#[derive(Debug)]
pub struct Plain {
    schema: String,
    node: Node,
}

/// Why octets are no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordError {
    /// No JSON, or no `schema` in it.
    NoRecord(String),
    /// A schema that is not known here.
    Unknown(String),
    /// It is not what its schema says.
    Broken {
        /// The schema.
        schema: String,
        /// What is wrong, and where.
        what: String,
    },
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::NoRecord(why) => write!(f, "no record of this tool ({why})"),
            RecordError::Unknown(schema) => write!(f, "the schema {schema:?} is not known here"),
            RecordError::Broken { schema, what } => write!(f, "it says {schema} and is none ({what})"),
        }
    }
}

impl std::error::Error for RecordError {}

#[derive(Deserialize)]
struct Head {
    schema: Option<String>,
}

/// Longest schema that an error repeats, characters.
const SHOWN: usize = 60;

impl Record {
    /// Reads a record.
    ///
    /// # Errors
    /// [`RecordError`]; numbers of lines and columns are those of the text.
    pub fn read(octets: &[u8]) -> Result<Record, RecordError> {
        let head: Head = serde_json::from_slice(octets).map_err(|e| RecordError::NoRecord(e.to_string()))?;
        let Some(schema) = head.schema else {
            return Err(RecordError::NoRecord("it has no schema".to_owned()));
        };
        match schema.as_str() {
            crate::summary::SCHEMA => of(octets, schema).map(Record::Summary),
            wireproof_matrices::verdict::SCHEMA => of(octets, schema).map(Record::Verdict),
            crate::bench::SCHEMA => of(octets, schema).map(Record::Bench),
            crate::bench_recorder::SCHEMA => of(octets, schema).map(Record::RecorderBench),
            crate::baseline::SCHEMA => of(octets, schema).map(Record::Baseline),
            crate::compare::SCHEMA => of(octets, schema).map(Record::Comparison),
            crate::compare_runs::SCHEMA => of(octets, schema).map(Record::Runs),
            crate::soak::SCHEMA => of(octets, schema).map(Record::Soak),
            known if PLAIN.contains(&known) => {
                let node = of(octets, schema.clone())?;
                Ok(Record::Plain(Plain { schema, node: *node }))
            }
            _ => Err(RecordError::Unknown(schema.chars().take(SHOWN).collect())),
        }
    }

    /// Its schema.
    pub fn schema(&self) -> &str {
        match self {
            Record::Summary(_) => crate::summary::SCHEMA,
            Record::Verdict(_) => wireproof_matrices::verdict::SCHEMA,
            Record::Bench(_) => crate::bench::SCHEMA,
            Record::RecorderBench(_) => crate::bench_recorder::SCHEMA,
            Record::Baseline(_) => crate::baseline::SCHEMA,
            Record::Comparison(_) => crate::compare::SCHEMA,
            Record::Runs(_) => crate::compare_runs::SCHEMA,
            Record::Soak(_) => crate::soak::SCHEMA,
            Record::Plain(plain) => &plain.schema,
        }
    }

    /// Writes the record; the octets depend on the arguments alone.
    ///
    /// # Errors
    /// [`RenderError::Write`] when the writer fails, [`RenderError::Encode`] for a format that the record has not.
    pub fn render(&self, format: Format, style: Style, out: &mut dyn Write) -> Result<(), RenderError> {
        match format {
            Format::Json | Format::Jsonl => self.write(format, style, out),
            _ => self.cleaned()?.as_ref().unwrap_or(self).write(format, style, out),
        }
    }

    /// The same without control characters in any text: what a renderer takes for a word of ours may be anybody's here.
    /// `None` when there are none.
    fn cleaned(&self) -> Result<Option<Record>, RenderError> {
        let value = match self {
            Record::Summary(record) => serde_json::to_value(record),
            Record::Verdict(record) => serde_json::to_value(record),
            Record::Bench(record) => serde_json::to_value(record),
            Record::RecorderBench(record) => serde_json::to_value(record),
            Record::Baseline(record) => serde_json::to_value(record),
            Record::Comparison(record) => serde_json::to_value(record),
            Record::Runs(record) => serde_json::to_value(record),
            Record::Soak(record) => serde_json::to_value(record),
            // Every text of it goes through the escapes of a sheet.
            Record::Plain(_) => return Ok(None),
        };
        let mut value = value?;
        if !disarm(&mut value) {
            return Ok(None);
        }
        let record = Record::read(value.to_string().as_bytes());
        record.map(Some).map_err(|error| RenderError::Encode(error.to_string()))
    }

    fn write(&self, format: Format, style: Style, out: &mut dyn Write) -> Result<(), RenderError> {
        match self {
            Record::Summary(summary) => render(summary, format, style, out),
            Record::Verdict(verdict) => {
                Report::new(verdict).render(format, style, InconclusiveIs::default(), out)
            }
            Record::Bench(bench) => bench.render(format, style, out),
            Record::RecorderBench(bench) => bench.render(format, style, out),
            Record::Baseline(baseline) => baseline.render(format, style, out),
            Record::Comparison(comparison) => comparison.render(format, style, out),
            Record::Runs(runs) => runs.render(format, style, out),
            Record::Soak(soak) => soak.render(format, style, out),
            Record::Plain(record) => plain::render(&record.schema, &record.node, format, style, out),
        }
    }
}

/// Makes control characters visible; true when there were some.
fn disarm(value: &mut Value) -> bool {
    match value {
        Value::String(text) => {
            let is_odd = text.chars().any(is_unsafe);
            if is_odd {
                *text = clean(text).into_owned();
            }
            is_odd
        }
        Value::Array(list) => list.iter_mut().fold(false, |odd, one| disarm(one) | odd),
        Value::Object(keys) => {
            let odd = keys.keys().any(|key| key.chars().any(is_unsafe));
            if odd {
                let all = std::mem::take(keys).into_iter();
                *keys = all.map(|(key, value)| (clean(&key).into_owned(), value)).collect();
            }
            keys.values_mut().fold(odd, |odd, one| disarm(one) | odd)
        }
        _ => false,
    }
}

fn of<T: DeserializeOwned>(octets: &[u8], schema: String) -> Result<Box<T>, RecordError> {
    let read = serde_json::from_slice(octets);
    read.map(Box::new).map_err(|error| RecordError::Broken { schema, what: error.to_string() })
}
