//! The renderers of a bench of the recorder, one a format.

use super::{Difference, RecorderBench, Timed};
use crate::Style;
use crate::columns::{Align, Columns};
use crate::csv::cell;
use crate::json::Safe;
use crate::markdown::{escape, head, row};
use crate::render::RenderError;
use crate::text::{clean, wrap};
use serde::Serialize;
use serde_json::ser::Serializer;
use std::io::{self, Write};

const CSV_HEADER: [&str; 10] = [
    "kind",
    "name",
    "unit",
    "min_ns",
    "p50_ns",
    "p95_ns",
    "low_95",
    "high_95",
    "ratio_to_clock",
    "disturbed_blocks",
];
/// Columns that give way when the width is small, least needed first: least, interval.
const SPARE: [usize; 2] = [2, 6];

/// Writes the tables: arms, costs, then what it would be of a core.
pub(super) fn table(bench: &RecorderBench, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let mut lines: Vec<String> = bench.method().iter().flat_map(|text| wrap(text, style.width)).collect();
    lines.push(String::new());
    lines.extend(arms(bench).lines_within(style.width, &SPARE));
    lines.push(String::new());
    lines.extend(costs(bench).lines_within(style.width, &[2]));
    lines.push(String::new());
    lines.extend(bench.remarks().iter().flat_map(|text| wrap(text, style.width)));
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

fn arms(bench: &RecorderBench) -> Columns {
    use Align::{Left, Right};
    let mut columns = Columns::new(&[
        ("ARM", Left),
        ("FOR A", Left),
        ("MIN ns", Right),
        ("p50 ns", Right),
        ("p95 ns", Right),
        ("x CLOCK", Right),
        ("95 %", Right),
    ]);
    bench.arms.iter().for_each(|arm| columns.row(arm_cells(arm)));
    columns
}

fn arm_cells(arm: &Timed) -> Vec<String> {
    let mut cells = vec![clean(&arm.name).into_owned(), clean(&arm.unit).into_owned()];
    cells.extend([arm.ns.min, arm.ns.p50, arm.ns.p95].map(ns));
    let interval = arm.ratio_interval;
    cells.extend([ns(arm.ratio_to_clock), format!("{:.2}..{:.2}", interval.low, interval.high)]);
    cells
}

fn costs(bench: &RecorderBench) -> Columns {
    use Align::{Left, Right};
    let mut columns = Columns::new(&[("ON - OFF", Left), ("ns", Right), ("95 %", Right)]);
    bench.costs().into_iter().for_each(|(name, cost)| columns.row(cost_cells(name, cost)));
    columns
}

fn cost_cells(name: String, cost: Difference) -> Vec<String> {
    vec![name, ns(cost.median), format!("{:.2}..{:.2}", cost.low, cost.high)]
}

fn ns(value: f64) -> String {
    format!("{value:.2}")
}

/// Writes the record with two spaces of indentation and a line feed at the end.
pub(super) fn json(bench: &RecorderBench, out: &mut dyn Write) -> Result<(), RenderError> {
    let mut out = out;
    bench.serialize(&mut Serializer::with_formatter(&mut out, Safe::shortest()))?;
    Ok(out.write_all(b"\n")?)
}

/// Writes a row for each arm, whose interval is that of its ratio, and one for each difference, whose interval is that
/// of its median in ns; then the shares of a core. Line ends are CR LF.
pub(super) fn csv(bench: &RecorderBench, out: &mut dyn Write) -> Result<(), RenderError> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
    writer.write_record(CSV_HEADER)?;
    for arm in &bench.arms {
        let mut cells = vec!["arm".to_owned(), cell(&arm.name), cell(&arm.unit)];
        let (ns, interval) = (arm.ns, arm.ratio_interval);
        let numbers = [ns.min, ns.p50, ns.p95, interval.low, interval.high, arm.ratio_to_clock];
        cells.extend(numbers.map(|number| number.to_string()));
        cells.push(arm.disturbed_blocks.to_string());
        writer.write_record(cells)?;
    }
    for (name, cost) in bench.costs() {
        writer.write_record(short(
            "difference",
            &name,
            "ns",
            [Some(cost.median), Some(cost.low), Some(cost.high)],
        ))?;
    }
    let share = Some(bench.extrapolation.core_percent);
    writer.write_record(short("extrapolation", "core", "percent", [share, None, None]))?;
    Ok(writer.flush()?)
}

/// A row with a median and the ends of its interval.
fn short(kind: &str, name: &str, unit: &str, [median, low, high]: [Option<f64>; 3]) -> [String; 10] {
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let none = String::new;
    let (kind, name, unit) = (kind.to_owned(), cell(name), unit.to_owned());
    [kind, name, unit, none(), number(median), none(), number(low), number(high), none(), none()]
}

/// Writes the record as Markdown.
pub(super) fn markdown(bench: &RecorderBench, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "# Recorder, on and off, frames of {} records\n", bench.events_per_frame)?;
    head(out, &["arm", "for a", "min ns", "p50 ns", "p95 ns", "x clock", "95 % interval"])?;
    bench.arms.iter().try_for_each(|arm| row(out, &arm_cells(arm)))?;
    writeln!(out)?;
    head(out, &["on - off", "ns", "95 % interval"])?;
    let costs = bench.costs().into_iter();
    costs.map(|(name, cost)| cost_cells(name, cost)).try_for_each(|cells| row(out, &cells))?;
    writeln!(out)?;
    let lines = bench.remarks().into_iter().chain(bench.method());
    lines.into_iter().try_for_each(|line| writeln!(out, "* {}", escape(&line)))
}
