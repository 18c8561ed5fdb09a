//! Every figure of a page against the record that the page carries, by other code than the page's.

use super::html::{Element, Node};
use serde_json::Value;

/// A figure: its place in the record, its value, and what is shown.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) path: String,
    pub(super) value: String,
    pub(super) shown: String,
}

/// The record that a page carries.
pub(super) fn record(page: &Element) -> Value {
    // A page that runs a script has one without a type, too.
    let scripts: Vec<_> = page.find("script").into_iter().filter(|e| e.get("type").is_some()).collect();
    assert_eq!(scripts.len(), 1);
    assert_eq!((scripts[0].get("type"), scripts[0].get("id")), (Some("application/json"), Some("record")));
    serde_json::from_str(&scripts[0].text()).unwrap()
}

/// All figures: those that say where they stand, and cells whose row and column say it.
pub(super) fn figures(page: &Element) -> Vec<Figure> {
    let mut list = Vec::new();
    for e in page.all().into_iter().filter(|e| e.name != "tr") {
        if let Some(path) = e.get("data-path") {
            list.push(figure(path.to_owned(), e));
        }
    }
    for table in page.find("table") {
        let keys: Vec<&str> =
            table.find("th").iter().map(|th| th.get("data-key").unwrap_or_default()).collect();
        for row in table.find("tr").into_iter().filter(|row| row.get("data-path").is_some()) {
            let cells: Vec<&Element> = row.elements().collect();
            assert_eq!(cells.len(), keys.len(), "{row:?}");
            let of_column =
                cells.iter().zip(&keys).filter(|(td, key)| !key.is_empty() && td.get("data-path").is_none());
            list.extend(
                of_column.map(|(td, key)| figure(format!("{}{key}", row.get("data-path").unwrap()), td)),
            );
        }
    }
    list
}

/// What stands in an element directly, code between backticks as a sentence of the record has it.
fn written(e: &Element) -> String {
    let of = |node: &Node| match node {
        Node::Text(text) => text.clone(),
        Node::Element(code) if code.name == "code" => format!("`{}`", code.own_text()),
        Node::Element(_) => String::new(),
    };
    e.children.iter().map(of).collect()
}

fn figure(path: String, e: &Element) -> Figure {
    let shown = written(e);
    Figure {
        path,
        value: e.get("data-value").map_or_else(|| shown.trim().to_owned(), str::to_owned),
        shown: shown.trim().to_owned(),
    }
}

/// What is wrong with a figure, if anything.
pub(super) fn problem(record: &Value, f: &Figure) -> Option<String> {
    let Some(value) = record.pointer(&f.path) else { return Some(format!("{f:?} stands nowhere")) };
    let good = match value {
        Value::Number(n) if n.is_f64() && f.shown == "\u{2013}" => {
            f.value == format!("{:.3}", n.as_f64().unwrap()) && is_short(record, &f.path)
        }
        Value::Number(n) if n.is_f64() => {
            f.value == format!("{:.3}", n.as_f64().unwrap())
                && f.shown == f.value
                && !is_short(record, &f.path)
        }
        // A fraction that is whole may stand in the record without its digits.
        Value::Number(n) if f.value == format!("{n}.000") => f.shown == f.value,
        Value::Number(n) => {
            f.value == n.to_string()
                && writes(
                    &f.shown,
                    n.as_i64().map(i128::from).unwrap_or_else(|| i128::from(n.as_u64().unwrap())),
                )
        }
        Value::String(text) => {
            let whole = wireproof_reports::text::clean(text);
            is_of(&f.value, whole.trim()) && is_of(&f.shown, whole.trim())
        }
        Value::Array(list) => f.value == list.len().to_string() && writes(&f.shown, list.len() as i128),
        Value::Object(map) => shares(&f.shown, map),
        Value::Null => f.shown.is_empty(),
        Value::Bool(_) => false,
    };
    (!good).then(|| format!("{f:?} is {value}"))
}

/// The text, or as much of a long one as a page has room for.
fn is_of(shown: &str, whole: &str) -> bool {
    shown == whole
        || shown.strip_suffix('\u{2026}').is_some_and(|begin| {
            whole.starts_with(begin) && [120, 600].contains(&(begin.chars().count() + 1))
        })
}

/// A rate of fewer than four events, or of less than a tenth of a second.
fn is_short(record: &Value, path: &str) -> bool {
    let Some(of) = path.strip_suffix("/rate_hz").and_then(|of| record.pointer(of)) else { return false };
    let events = of.pointer("/datagrams").or_else(|| of.pointer("/frames/seen")).unwrap().as_u64().unwrap();
    let seconds = (events.max(1) - 1) as f64 / of["rate_hz"].as_f64().unwrap().max(1e-9);
    events < 4 || seconds < 0.0999
}

/// `sender 2, wire 1`: each with the number of the record.
fn shares(shown: &str, map: &serde_json::Map<String, Value>) -> bool {
    let pair = |part: &str| {
        let (name, n) = part.split_once(' ')?;
        (map.get(name)?.as_u64()? == n.parse::<u64>().ok()?).then_some(())
    };
    shown.is_empty() || shown.split(", ").all(|part| pair(part).is_some())
}

/// The text is a writing of the number: plain, in a unit of time, or as an instant.
fn writes(shown: &str, n: i128) -> bool {
    let plain = shown.replace('\u{202f}', "");
    if plain == n.to_string() {
        return true;
    }
    if shown.ends_with('Z') {
        let stamp: jiff::Timestamp = shown.parse().unwrap();
        return (stamp.as_nanosecond() - n).abs() < 1_000;
    }
    let words: Vec<&str> = shown.split(' ').collect();
    let parts = |unit: &str| match unit {
        "\u{b5}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => 0,
    };
    let (mut sum, mut least) = (0f64, f64::MAX);
    let pairs: Vec<(&str, &str)> = match words.as_slice() {
        [n] => vec![(n, "ms")],
        words => words.chunks(2).map(|pair| (pair[0], pair.get(1).copied().unwrap_or("?"))).collect(),
    };
    for (number, unit) in pairs {
        let Ok(number) = number.parse::<f64>() else { return false };
        sum += number
            * f64::from(parts(unit) as u32)
            * if parts(unit) > i64::from(u32::MAX) {
                parts(unit) as f64 / f64::from(parts(unit) as u32)
            } else {
                1.0
            };
        least = parts(unit) as f64;
    }
    let finest = if shown.contains('.') { least / 1_000.0 } else { least };
    n as f64 - sum < finest * 1.001 && n as f64 - sum > -finest * 0.001
}
