//! A matrix as one self-contained HTML page: no script that runs, no font, nothing from elsewhere. It carries its own
//! record, and every text passes the escape.

use super::figure::{signed_or_dash, word};
use super::parts::{self, Kind, NO_BOUND, Part, Series, Table, interval, limit, series};
use super::{EXPLORATORY, Report, json, plot, plural};
use crate::page::{escape, prose, shell};
use crate::render::RenderError;
use std::io::{self, Write};
use wireproof_matrices::plan::{Class, Kind as Rule};
use wireproof_matrices::verdict::{Comparison, GateResult, Outcome, Verdict};

/// Most pictures of a gate; a plan with more comparisons has the rest in its tables.
const PICTURES: usize = 12;

/// A text of more characters has a width that it can be read in, however narrow its table.
const LONG: usize = 40;

/// Writes the page.
pub(super) fn write(report: &Report<'_>, out: &mut dyn Write) -> Result<(), RenderError> {
    let v = report.verdict;
    let name = escape(&v.name);
    shell::open(&format!("{} {}", v.verdict.word(), v.name), out)?;
    let class = outcome(v.verdict);
    writeln!(out, "<h1><span class=\"{class} badge\">{}</span> {name}</h1>", v.verdict.word())?;
    writeln!(out, "<p class=\"line\">{}</p>", prose(&v.line()))?;
    parts::all(report).iter().try_for_each(|p| part(report, p, out))?;
    record(report, out)?;
    Ok(shell::close(out)?)
}

/// The class of colour of an outcome.
fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "good",
        Outcome::Fail | Outcome::Invalid => "bad",
        Outcome::Inconclusive | Outcome::Partial => "open",
    }
}

fn part(report: &Report<'_>, part: &Part, out: &mut dyn Write) -> io::Result<()> {
    let v = report.verdict;
    writeln!(out, "<section>\n<h2>{}</h2>", escape(part.heading))?;
    part.texts.iter().try_for_each(|text| writeln!(out, "<p>{}</p>", prose(text)))?;
    let fold = matches!(part.kind, Kind::Gates | Kind::Diagnostics);
    part.tables.iter().try_for_each(|t| table(t, fold, v.exploratory, out))?;
    match part.kind {
        Kind::Gates => pictures(v, Class::Gate, out)?,
        Kind::Diagnostics => pictures(v, Class::Diagnostic, out)?,
        Kind::Drops => lags(v, out)?,
        Kind::Ladder => climbs(report, out)?,
        Kind::Plain => {}
    }
    if !part.list.is_empty() {
        writeln!(out, "<ul>")?;
        part.list.iter().try_for_each(|text| writeln!(out, "<li>{}", prose(text)))?;
        writeln!(out, "</ul>")?;
    }
    writeln!(out, "</section>")
}

/// A table; one that folds shows a row as a card on a narrow screen.
fn table(table: &Table, fold: bool, exploratory: bool, out: &mut dyn Write) -> io::Result<()> {
    let headless = table.columns.iter().all(String::is_empty);
    let class = match table.columns.len() {
        _ if fold => " class=\"fold\"",
        _ if headless => " class=\"facts\"",
        ..=2 => " class=\"pairs\"",
        _ => "",
    };
    writeln!(out, "<div class=\"scroll\"><table{class}>")?;
    if exploratory {
        writeln!(out, "<caption>{EXPLORATORY}</caption>")?;
    }
    if !headless {
        let head = |(at, name): (usize, &String)| format!("<th{}>{}", right(table, at), escape(name));
        let heads: String = table.columns.iter().enumerate().map(head).collect();
        writeln!(out, "<thead><tr>{heads}</thead>")?;
    }
    writeln!(out, "<tbody>")?;
    for row in &table.rows {
        let cells: String = row.iter().enumerate().map(|(at, cell)| data(table, at, cell)).collect();
        writeln!(out, "<tr>{cells}")?;
    }
    writeln!(out, "</tbody></table></div>")
}

fn right(table: &Table, column: usize) -> &'static str {
    if table.is_right(column) { " class=\"n\"" } else { "" }
}

/// A cell with the name of its column; words of a verdict have their colour.
fn data(table: &Table, at: usize, cell: &str) -> String {
    let name = table.columns.get(at).map_or("", String::as_str);
    let class = match cell.strip_prefix("partial: ").unwrap_or(cell) {
        "PASS" => " class=\"good\"",
        "FAIL" => " class=\"bad\"",
        "INCONCLUSIVE" => " class=\"open\"",
        text if text.chars().count() > LONG => " class=\"long\"",
        _ => right(table, at),
    };
    format!("<td{class} data-name=\"{}\">{}", escape(name), escape(cell))
}

/// Pictures of the gates of a class.
fn pictures(v: &Verdict, class: Class, out: &mut dyn Write) -> io::Result<()> {
    let treatments = treatments(v);
    for gate in v.gates.iter().filter(|gate| gate.class == class) {
        let pictures = of_gate(v, gate, &treatments);
        if pictures.is_empty() {
            continue;
        }
        writeln!(out, "<h3>{} <small>{}</small></h3>", escape(&gate.id), escape(&gate.metric))?;
        writeln!(out, "<div class=\"figures\">")?;
        pictures.iter().take(PICTURES).try_for_each(|picture| out.write_all(picture.as_bytes()))?;
        writeln!(out, "</div>")?;
        if let Some(left) = pictures.len().checked_sub(PICTURES + 1) {
            writeln!(
                out,
                "<p>{} are not drawn; their figures are below.</p>",
                plural(left as u64 + 1, "picture")
            )?;
        }
    }
    Ok(())
}

/// Names of the treatments: those that are compared last, so that the baseline comes first.
fn treatments(v: &Verdict) -> Vec<&str> {
    let mut names: Vec<&str> = v.arms.iter().map(|arm| arm.treatment.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let compared = |name: &str| v.gates.iter().flat_map(|g| &g.comparisons).any(|c| c.treatment == name);
    names.sort_by_key(|name| compared(name));
    names
}

/// Arms in run order, then paired differences: for each stream, or treatment, of a gate.
fn of_gate(v: &Verdict, gate: &GateResult, treatments: &[&str]) -> Vec<String> {
    let all = series(v, gate);
    let mut pictures = Vec::new();
    for series in &all {
        let stream = series.key.split_once(':').map(|(_, stream)| stream);
        let of_stream = gate.comparisons.iter().filter(|c| stream.is_none() || c.stream.as_deref() == stream);
        // Strata stand at levels of their own: one line for all of them would be wrong for each.
        let level = of_stream.clone().find_map(|c| c.median_baseline).map(|number| number.0);
        let median = level.filter(|_| !series.several_strata());
        let limit = match (gate.kind, gate.margin) {
            (Rule::NonInferiority, Some(margin)) => median.map(|median| median + margin.0),
            (Rule::Ceiling, Some(margin)) => Some(margin.0),
            _ => None,
        };
        let picture = plot::run_order(series, treatments, median, limit);
        let hollow = series.arms.iter().any(|(arm, _)| !arm.counted);
        let lines = run_order_lines(median, limit, hollow);
        let caption =
            format!("<span><b>{}</b></span> {}{lines}", escape(series.key), legend(treatments, series));
        pictures.push(figure(&picture, &caption));
        pictures.extend(
            of_stream
                .filter(|c| !c.differences.is_empty() && gate.kind != Rule::Ceiling)
                .map(|c| paired(gate, c, treatments)),
        );
    }
    pictures
}

fn paired(gate: &GateResult, c: &Comparison, treatments: &[&str]) -> String {
    let treatment = treatments.iter().position(|name| *name == c.treatment).unwrap_or(0);
    let unit = word(gate.unit);
    let of_one = GateResult { bound_low: c.bound_low, bound_high: c.bound_high, ..gate.clone() };
    let stream = c.stream.as_ref().map(|stream| format!(" ({stream})")).unwrap_or_default();
    let bounds = match interval(&of_one) {
        none if none == NO_BOUND => format!("<span>{none}</span>"),
        bounds => format!("<span><i class=\"band\"></i> bounds {bounds} {unit}</span>"),
    };
    let text = format!(
        "<span>{} {}{} minus baseline</span> <span><i class=\"hl\"></i> HL {} {unit}</span> {bounds} <span><i \
         class=\"limit\"></i> limit {} {unit}</span>",
        plot::key(treatment),
        escape(&c.treatment),
        escape(&stream),
        signed_or_dash(c.hl, gate.unit),
        limit(gate)
    );
    figure(&plot::differences(gate, c, treatment), &text)
}

/// The marks of the treatments that a series has.
fn legend(treatments: &[&str], series: &Series<'_>) -> String {
    let has = |(_, name): &(usize, &&str)| series.arms.iter().any(|(arm, _)| arm.treatment == **name);
    let key = |(n, name): (usize, &&str)| format!("<span>{} {}</span> ", plot::key(n), escape(name));
    treatments.iter().enumerate().filter(has).map(key).collect()
}

fn run_order_lines(median: Option<f64>, limit: Option<f64>, hollow: bool) -> String {
    let median = median.map(|_| "<span><i class=\"median\"></i> median of the baseline</span> ");
    let limit = limit.map(|_| "<span><i class=\"limit\"></i> limit</span> ");
    let hollow = if hollow { "<span>hollow: does not count</span>" } else { "" };
    format!("{}{}{hollow}", median.unwrap_or_default(), limit.unwrap_or_default())
}

/// A picture over its caption, which is HTML already.
fn figure(picture: &str, caption: &str) -> String {
    format!("<figure>\n{picture}<figcaption>{caption}</figcaption>\n</figure>\n")
}

fn lags(v: &Verdict, out: &mut dyn Write) -> io::Result<()> {
    let Some(lags) = parts::lags(v) else { return Ok(()) };
    let caption = format!(
        "Lag of loss episodes behind the start of the nearest download, bins of 50 ms; {} earlier and {} later than \
         1 s are not drawn.",
        lags.under, lags.over
    );
    writeln!(out, "<div class=\"figures\">\n{}</div>", figure(&plot::lags(&lags), &caption))
}

/// Estimates and bounds over the steps of a ladder.
fn climbs(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let climbs = report.envelope.map(parts::climbs).unwrap_or_default();
    let Some(envelope) = report.envelope.filter(|_| !climbs.is_empty()) else { return Ok(()) };
    writeln!(out, "<div class=\"figures\">")?;
    for climb in climbs.iter().take(PICTURES) {
        let caption = format!(
            "<span><b>{}</b> {}</span> <span>{} measured, with its upper bound</span> <span><i class=\"limit\"></i> \
             limit</span>",
            escape(climb.id),
            escape(climb.metric),
            plot::key(0)
        );
        write!(out, "{}", figure(&plot::climb(climb, &envelope.factor), &caption))?;
    }
    writeln!(out, "</div>")
}

/// The record itself, for programs.
fn record(report: &Report<'_>, out: &mut dyn Write) -> Result<(), RenderError> {
    let mut octets = Vec::new();
    json::compact(report, &mut octets)?;
    Ok(shell::record(&octets, out)?)
}
