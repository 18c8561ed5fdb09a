//! Missing datagrams: whose they are, and whether they lie in downloads.

use super::{Kind, Part, Table, yes};
use crate::matrix::figure::{DASH, count, figure, probability, seconds, signed};
use crate::text::rfc3339;
use serde_json::Value;
use std::collections::BTreeMap;
use wireproof_matrices::number::Number;
use wireproof_matrices::verdict::{LossRow, OwnerRow, Unit, Verdict};

/// Most losses that are listed; the record has more.
const LOSSES: usize = 40;
/// Most rows of the correlation.
const FACTS: usize = 40;
/// The histogram of lags in the record of the correlation.
const LAGS: &str = "lag_histogram_50ms";

/// Figures of the correlation that are known, in the order they are shown, with their names; others follow by their own.
const KNOWN: [(&str, &str); 21] = [
    ("correlated", "coincide: both p below 0.01"),
    ("drains", "downloads"),
    ("exposure_ns", "time observed"),
    ("window_exposure_ns", "of it in windows of downloads"),
    ("episodes", "loss episodes"),
    ("episodes_inside", "of them in windows, by their middle"),
    ("straddles", "episodes over an edge of a window"),
    ("inside_range", "in windows, if those count outside \u{2026} inside"),
    ("depends_on_straddles", "the answer depends on those"),
    ("datagrams", "datagrams missing"),
    ("datagrams_inside", "of them in the episodes inside"),
    ("binomial_p", "p, exact conditional test"),
    ("binomial_p_range", "for both counts of the edges"),
    ("circular_shift_p", "p, circular shift"),
    ("circular_shift_p_range", "for both counts of the edges"),
    ("circular_shifts", "shifts tried"),
    ("circular_shift_hits", "of them with as many inside"),
    ("rate_ratio", "rate inside over rate outside"),
    ("rate_ratio_95", "its bounds at 95 %"),
    ("paired, drain_only", "pairs of windows: loss only with the download"),
    ("paired, control_only", "pairs of windows: loss only without it"),
];

/// Losses against downloads.
pub(super) fn drops(v: &Verdict) -> Part {
    let part = Part::new(Kind::Drops, "Losses against downloads");
    let Some(found) = &v.drops_vs_drains else {
        return part.text("Not laid against one another: the plan has no downloads, or nothing was lost.");
    };
    let said = found.get("text").and_then(Value::as_str).map(|text| format!("{text}."));
    let text = "Counted in loss episodes, not datagrams. A relation in time says nothing about blame; attribution does.";
    let mut part = part.text(text);
    part.texts.extend(said);
    let mut figures = BTreeMap::new();
    flatten("", found, &mut figures);
    part.table(Table::new(&["what", "value"], rows(figures)))
}

/// The figures by their path, as text; lists that are too long for a table are left out.
fn flatten(path: &str, value: &Value, figures: &mut BTreeMap<String, String>) {
    if figures.len() >= FACTS || path.starts_with(LAGS) || path == "text" {
        return;
    }
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let path = if path.is_empty() { key.clone() } else { format!("{path}, {key}") };
                flatten(&path, value, figures);
            }
        }
        Value::Array(list) if list.len() != 2 => {}
        Value::Null => {}
        value => {
            figures.insert(path.to_owned(), shown(path, value));
        }
    }
}

/// One row a figure: the known ones in their order, then the others.
fn rows(mut figures: BTreeMap<String, String>) -> Vec<Vec<String>> {
    let known = |(key, name): &(&str, &str)| Some(vec![(*name).to_owned(), figures.remove(*key)?]);
    let mut rows: Vec<Vec<String>> = KNOWN.iter().filter_map(known).collect();
    rows.extend(figures.into_iter().map(|(key, value)| vec![key.replace('_', " "), value]));
    rows
}

fn shown(path: &str, value: &Value) -> String {
    match value {
        Value::Bool(is) => yes(*is),
        Value::String(text) => text.clone(),
        Value::Array(ends) => ends.iter().map(|end| shown(path, end)).collect::<Vec<_>>().join(" \u{2026} "),
        value => value.as_f64().map_or_else(|| DASH.to_owned(), |number| number_of(path, number)),
    }
}

fn number_of(path: &str, number: f64) -> String {
    let key = path.rsplit(", ").next().unwrap_or(path);
    let is_probability = key == "p" || key.ends_with("_p") || key.contains("_p_") || key.starts_with("p_");
    match number {
        n if key.ends_with("_ns") => seconds(n),
        n if is_probability => probability(Number(n)),
        n if n.fract() == 0.0 => figure(Number(n), Unit::Count),
        n => figure(Number(n), Unit::PerSecond),
    }
}

/// Lags of losses behind the start of the nearest download, in bins of 50 ms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::matrix) struct Lags {
    /// Before the first bin.
    pub(in crate::matrix) under: u64,
    /// After the last.
    pub(in crate::matrix) over: u64,
    /// Lower edge in ms to episodes.
    pub(in crate::matrix) bins: BTreeMap<i64, u64>,
}

/// The histogram of lags, if the record has one with something in it.
pub(in crate::matrix) fn lags(v: &Verdict) -> Option<Lags> {
    let found = v.drops_vs_drains.as_ref()?.get(LAGS)?;
    let number = |key: &str| found.get(key).and_then(Value::as_u64).unwrap_or(0);
    let bin = |(edge, n): (&String, &Value)| Some((edge.parse().ok()?, n.as_u64()?));
    let inside = |(edge, n): &(i64, u64)| (-1000..1000).contains(edge) && *n > 0;
    let bins = found.get("bins")?.as_object()?.iter().filter_map(bin).filter(inside).collect();
    let lags = Lags { under: number("under"), over: number("over"), bins };
    (lags.under > 0 || lags.over > 0 || !lags.bins.is_empty()).then_some(lags)
}

/// Whose the missing datagrams are, and every loss.
pub(super) fn attribution(v: &Verdict) -> Part {
    let a = &v.attribution;
    let mut rows = vec![owners("arms that count", a.counted), owners("all other attempts", a.not_counted)];
    rows.extend(a.streams.iter().map(|(name, row)| owners(&format!("stream {name}"), *row)));
    let columns =
        ["where", "lost", "sender", "wire", "observer", "unknown", "of it upstream", "of it ambiguous"];
    let text = "sender: the device's own record says not sent. wire: lost or damaged behind it. observer: lost by this \
                bench, proven by a counter. unknown: upstream without a record, or not to be told.";
    let mut part =
        Part::new(Kind::Plain, "Attribution").text(text).table(Table::new(&columns, rows)).table(losses(v));
    let left = a.losses_rest.saturating_add(a.losses.len().saturating_sub(LOSSES) as u64);
    if left > 0 {
        part = part.list([format!("{} more losses are not listed here.", count(left))]);
    }
    part
}

fn owners(name: &str, row: OwnerRow) -> Vec<String> {
    let figures =
        [row.lost, row.sender, row.wire, row.observer, row.unknown, row.upstream, row.ambiguous].map(count);
    std::iter::once(name.to_owned()).chain(figures).collect()
}

fn losses(v: &Verdict) -> Table {
    let rows = v.attribution.losses.iter().take(LOSSES).map(loss).collect();
    let columns =
        ["arm", "counts", "stream", "lost", "whose", "after", "near frame", "lag of the download, \u{b5}s"];
    Table::new(&columns, rows)
}

fn loss(row: &LossRow) -> Vec<String> {
    let lag = row.nearest_drain_lag_ns.map(|ns| signed(Number(ns as f64), Unit::Ns));
    vec![
        row.arm.clone(),
        yes(row.counted),
        row.stream.clone(),
        count(row.owners.lost),
        whose(row.owners),
        rfc3339(row.start_ns, 9),
        row.near_frame.map_or_else(|| DASH.to_owned(), |frame| frame.to_string()),
        lag.unwrap_or_else(|| DASH.to_owned()),
    ]
}

/// The owners that have a share.
pub(in crate::matrix) fn whose(o: OwnerRow) -> String {
    let named = [
        (o.sender, "sender"),
        (o.wire, "wire"),
        (o.observer, "observer"),
        (o.upstream, "upstream"),
        (o.ambiguous, "ambiguous"),
    ];
    let shares = named.iter().filter(|(n, _)| *n > 0).map(|(n, name)| format!("{name} {}", count(*n)));
    shares.collect::<Vec<_>>().join(", ")
}
