//! A calibration (A/A): how often gates would have failed a device against itself, in every format that suits a table.
//!
//! It shows what was counted; it judges nothing.

use super::figure::{confidence, count};
use super::parts::Table;
use super::{markdown, plural};
use crate::columns::{Align, Columns};
use crate::csv::cell;
use crate::json::Safe;
use crate::markdown::escape;
use crate::text::wrap;
use crate::{Format, RenderError, Style};
use serde::Serialize;
use serde_json::ser::Serializer;
use std::collections::BTreeMap;
use std::io::{self, Write};
use wireproof_matrices::calibrate::{Alarms, Calibration};

/// Version of the record.
pub const SCHEMA: &str = "wireproof.calibration/1";
/// Runs without an alarm that show a rate of at most 5 %, one-sided at 95 %.
const SHOWN_BY: u64 = 59;

/// What is known of false alarms of a plan.
#[derive(Clone, Copy, Debug)]
pub struct CalibrationReport<'a> {
    /// Name of the plan.
    pub name: &'a str,
    /// Its hash.
    pub plan_sha256: &'a str,
    /// From one run: every swap of names within its blocks.
    pub gates: &'a [Calibration],
    /// From several runs, by gate; may be empty.
    pub runs: &'a BTreeMap<String, Alarms>,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    name: &'a str,
    plan_sha256: &'a str,
    gates: Vec<GateRow<'a>>,
    runs: Vec<RunRow<'a>>,
}

#[derive(Serialize)]
struct GateRow<'a> {
    id: &'a str,
    patterns: u64,
    alarms: u64,
    not_passed: u64,
    nominal_ppm: u64,
    warning: Option<&'a str>,
}

#[derive(Serialize)]
struct RunRow<'a> {
    id: &'a str,
    runs: u64,
    alarms: u64,
    upper: f64,
    within: bool,
}

fn gate_row(c: &Calibration) -> GateRow<'_> {
    GateRow {
        id: &c.id,
        patterns: c.patterns,
        alarms: c.alarms,
        not_passed: c.not_passed,
        nominal_ppm: c.nominal_ppm,
        warning: c.warning.as_deref(),
    }
}

fn run_row<'a>(id: &'a str, a: &Alarms) -> RunRow<'a> {
    RunRow { id, runs: a.runs, alarms: a.alarms, upper: a.upper, within: a.within }
}

impl CalibrationReport<'_> {
    /// The formats of a calibration, in the order of the help text.
    pub const FORMATS: [Format; 4] = [Format::Table, Format::Json, Format::Csv, Format::Markdown];

    /// Writes the report; the octets depend on the arguments alone.
    ///
    /// # Errors
    /// [`RenderError::Write`] when the writer fails, [`RenderError::Encode`] for a format that a calibration has not.
    pub fn render(&self, format: Format, style: Style, out: &mut dyn Write) -> Result<(), RenderError> {
        match format {
            Format::Table => Ok(self.table(style, out)?),
            Format::Json => self.json(out),
            Format::Csv => self.csv(out),
            Format::Markdown => Ok(self.markdown(out)?),
            Format::Jsonl | Format::Junit | Format::Html => Err(format.missing("a calibration")),
        }
    }

    fn json(&self, out: &mut dyn Write) -> Result<(), RenderError> {
        let document = Document {
            schema: SCHEMA,
            name: self.name,
            plan_sha256: self.plan_sha256,
            gates: self.gates.iter().map(gate_row).collect(),
            runs: self.runs.iter().map(|(id, alarms)| run_row(id, alarms)).collect(),
        };
        let mut out = out;
        document.serialize(&mut Serializer::with_formatter(&mut out, Safe::shortest()))?;
        Ok(out.write_all(b"\n")?)
    }

    /// Both tables with their headings; the second only with several runs.
    fn tables(&self) -> Vec<(&'static str, Table)> {
        let gate = |c: &Calibration| {
            vec![
                c.id.clone(),
                count(c.alarms),
                count(c.patterns),
                confidence(1_000_000_u64.saturating_sub(c.nominal_ppm)),
                count(c.not_passed),
            ]
        };
        let run = |(id, a): (&String, &Alarms)| {
            let within = if a.within { "yes" } else { "NO" };
            vec![id.clone(), count(a.alarms), count(a.runs), percent(a.upper), within.to_owned()]
        };
        let gates = Table::new(
            &["gate", "alarms", "of swaps", "nominal", "not passed"],
            self.gates.iter().map(gate).collect(),
        );
        let runs = Table::new(
            &["gate", "alarms", "of runs", "upper bound", "within"],
            self.runs.iter().map(run).collect(),
        );
        let all = [("Every swap of names within the blocks of a run", gates), ("Several runs", runs)];
        all.into_iter().filter(|(_, table)| !table.rows.is_empty()).collect()
    }

    /// What there is to say besides.
    fn remarks(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.gates.iter().filter_map(|gate| gate.warning.clone()).collect();
        let too_many = self.runs.iter().filter(|(_, alarms)| !alarms.within);
        lines.extend(too_many.map(|(id, a)| {
            let runs = plural(a.runs, "run");
            format!("gate {id}: {} false alarms in {runs} are more than chance explains", count(a.alarms))
        }));
        if self.gates.is_empty() && self.runs.is_empty() {
            lines.push(
                "No gate of this plan compares treatments, or no pair counts: nothing was calibrated."
                    .to_owned(),
            );
        } else if lines.is_empty() {
            lines.push("No gate fails a device against itself more often than its error allows.".to_owned());
        }
        let widest = self.runs.values().max_by(|a, b| a.upper.total_cmp(&b.upper));
        if let Some(a) = widest.filter(|a| a.runs < SHOWN_BY) {
            lines.push(format!(
                "{} bound the rate of false alarms at {} only: {SHOWN_BY} without an alarm show at most 5 %.",
                plural(a.runs, "run"),
                percent(a.upper)
            ));
        }
        lines
    }

    fn markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "# Calibration of {}\n\nPlan hash {}.", escape(self.name), escape(self.plan_sha256))?;
        for (heading, table) in self.tables() {
            writeln!(out, "\n## {heading}")?;
            markdown::table(&table, false, out)?;
        }
        writeln!(out)?;
        self.remarks().iter().try_for_each(|line| writeln!(out, "* {}", escape(line)))
    }

    fn table(&self, style: Style, out: &mut dyn Write) -> io::Result<()> {
        for line in wrap(&format!("CALIBRATION {}, hash {}", self.name, self.plan_sha256), style.width) {
            writeln!(out, "{line}")?;
        }
        for (heading, table) in self.tables() {
            writeln!(out, "\n{heading}")?;
            columns(&table).lines().iter().try_for_each(|line| writeln!(out, "{line}"))?;
        }
        writeln!(out)?;
        let remarks = self.remarks();
        remarks.iter().flat_map(|line| wrap(line, style.width)).try_for_each(|line| writeln!(out, "{line}"))
    }

    /// One row a gate: `swaps` are of one run, `runs` of several.
    fn csv(&self, out: &mut dyn Write) -> Result<(), RenderError> {
        let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
        writer.write_record([
            "gate",
            "from",
            "alarms",
            "of",
            "not_passed",
            "nominal_ppm",
            "upper",
            "within",
        ])?;
        for c in self.gates {
            let [alarms, of, not_passed, nominal] =
                [c.alarms, c.patterns, c.not_passed, c.nominal_ppm].map(|n| n.to_string());
            let (upper, within) = (String::new(), c.warning.is_none().to_string());
            let id = cell(&c.id);
            writer.write_record([id, "swaps".to_owned(), alarms, of, not_passed, nominal, upper, within])?;
        }
        for (id, a) in self.runs {
            let (alarms, of, upper) = (a.alarms.to_string(), a.runs.to_string(), a.upper.to_string());
            let (none, within) = (String::new(), a.within.to_string());
            let id = cell(id);
            writer.write_record([id, "runs".to_owned(), alarms, of, none.clone(), none, upper, within])?;
        }
        Ok(writer.flush()?)
    }
}

/// A rate as percent with two decimals, rounded up: a bound.
fn percent(rate: f64) -> String {
    format!("{:.2} %", (rate * 10_000.0).ceil() / 100.0)
}

/// The table as columns of text.
fn columns(table: &Table) -> Columns {
    let names: Vec<String> = table.columns.iter().map(|name| name.to_uppercase()).collect();
    let align = |at| if table.is_right(at) { Align::Right } else { Align::Left };
    let header: Vec<(&str, Align)> =
        names.iter().enumerate().map(|(at, name)| (name.as_str(), align(at))).collect();
    let mut columns = Columns::new(&header);
    for row in &table.rows {
        columns.row(row.iter().map(|cell| crate::text::clean(cell).into_owned()).collect());
    }
    columns
}
