//! A record shown as it is: values under their names, lists of objects as tables. Units stand in the names.

use super::node::Node;
use crate::baseline::pretty;
use crate::csv::cell;
use crate::sheet::{Align, Grid, Part, Sheet};
use crate::{Format, RenderError, Style};
use std::io::Write;

/// The formats of such a record.
const HAS: &str = "this record";

/// Writes the record. CSV takes a record with one list of objects: its rows.
pub(super) fn render(
    schema: &str,
    node: &Node,
    format: Format,
    style: Style,
    out: &mut dyn Write,
) -> Result<(), RenderError> {
    if let Some(written) = sheet(schema, node).render(format, style, out) {
        return written;
    }
    match format {
        Format::Json => pretty(node, out),
        Format::Csv => csv(node, out),
        _ => Err(format.missing(HAS)),
    }
}

fn sheet(schema: &str, node: &Node) -> Sheet {
    let (mut facts, mut parts) = (Vec::new(), Vec::new());
    laid("", node, &mut facts, &mut parts);
    let columns = vec![(String::new(), Align::Left), (String::new(), Align::Left)];
    let rows = facts.into_iter().filter(|row| row.first().is_some_and(|name| name != "schema")).collect();
    parts.insert(0, Part::default().grid(Grid { columns, rows, spare: Vec::new() }));
    Sheet { word: String::new(), title: schema.to_owned(), parts }
}

/// Words become facts under their path, lists of objects tables, other lists points.
fn laid(path: &str, node: &Node, facts: &mut Vec<Vec<String>>, parts: &mut Vec<Part>) {
    match node {
        Node::Keys(keys) if !keys.is_empty() => {
            for (key, value) in keys {
                let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                laid(&below, value, facts, parts);
            }
        }
        Node::List(list) if !list.is_empty() => match grid(list) {
            Some(grid) => parts.push(Part::new(path).grid(grid)),
            None => parts.push(Part::new(path).list(list.iter().map(Node::text))),
        },
        word => facts.push(vec![path.to_owned(), word.text()]),
    }
}

/// A list of objects as a table, its columns in the order of their first appearance.
fn grid(list: &[Node]) -> Option<Grid> {
    let mut names: Vec<&str> = Vec::new();
    for node in list {
        let Node::Keys(keys) = node else { return None };
        for (key, _) in keys {
            if !names.contains(&key.as_str()) {
                names.push(key);
            }
        }
        // Of rows that have nothing in common a table would be mostly empty, and take long.
        if names.len() > MOST_COLUMNS {
            return None;
        }
    }
    let value = |node: &Node, name: &str| match node {
        Node::Keys(keys) => keys.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone()),
        _ => None,
    };
    let text = |node: &Node, name: &&str| value(node, name).map(|value| value.text()).unwrap_or_default();
    let rows = list.iter().map(|node| names.iter().map(|name| text(node, name)).collect()).collect();
    let numeric = |name: &str| {
        list.iter().all(|node| matches!(value(node, name), None | Some(Node::Null | Node::Number(_))))
    };
    let columns = names.iter().map(|name| {
        let align = if numeric(name) { Align::Right } else { Align::Left };
        ((*name).to_owned(), align)
    });
    Some(Grid { columns: columns.collect(), rows, spare: Vec::new() })
}

/// Most columns of a table.
const MOST_COLUMNS: usize = 64;

fn csv(node: &Node, out: &mut dyn Write) -> Result<(), RenderError> {
    let keys = if let Node::Keys(keys) = node { keys.as_slice() } else { &[] };
    let lists =
        keys.iter().filter_map(|(_, value)| if let Node::List(list) = value { grid(list) } else { None });
    let mut grids: Vec<Grid> = lists.filter(|grid| !grid.columns.is_empty()).collect();
    let (Some(grid), true) = (grids.pop(), grids.is_empty()) else {
        return Err(Format::Csv.missing(HAS));
    };
    let mut writer = ::csv::WriterBuilder::new().terminator(::csv::Terminator::CRLF).from_writer(out);
    writer.write_record(grid.columns.iter().map(|(name, _)| cell(name)))?;
    let number = |text: &str| text.parse::<f64>().is_ok();
    for row in &grid.rows {
        let shown = |text: &String| match text.as_str() {
            "\u{2014}" => String::new(),
            text if number(text) => text.to_owned(),
            text => cell(text),
        };
        writer.write_record(row.iter().map(shown))?;
    }
    Ok(writer.flush()?)
}
