//! `[[gate]]`: what is judged and by which rule; the margin is typed by what the metric counts.

use super::super::metric::{self, Quantity};
use super::super::{Class, Direction, Gate, Kind, Margin, PlanError, shape};
use super::Table;

const KEYS: [&str; 13] = [
    "id",
    "class",
    "metric",
    "kind",
    "margin",
    "alpha",
    "min_pairs",
    "min_frames",
    "min_trials",
    "direction",
    "expected_sign",
    "where",
    "on_fail",
];
const KINDS: [(&str, Kind); 5] = [
    ("non-inferiority", Kind::NonInferiority),
    ("equivalence", Kind::Equivalence),
    ("zero", Kind::Zero),
    ("ceiling", Kind::Ceiling),
    ("overhead", Kind::Overhead),
];

pub(super) fn read(root: &Table<'_>) -> Result<Vec<Gate>, PlanError> {
    root.tables("gate")?.into_iter().map(gate).collect()
}

fn gate(table: Table<'_>) -> Result<Gate, PlanError> {
    let id = table.need("id", table.text("id")?)?;
    let table = table.named(&id);
    table.only(&KEYS)?;
    let name = table.need("metric", table.text("metric")?)?;
    let measured = metric::metric(&name)
        .ok_or_else(|| table.refuse("metric", format!("is none of {}", metric::NAMES)))?;
    let classes = [("gate", Class::Gate), ("diagnostic", Class::Diagnostic)];
    let kind = table.choice("kind", &KINDS)?.unwrap_or(measured.kind);
    if let Some(kinds) = shape::misfit(kind, measured.quantity) {
        return Err(table.refuse("kind", format!("does not fit this metric: use {kinds}")));
    }
    let directions = [("less", Direction::Less), ("more", Direction::More)];
    Ok(Gate {
        id,
        class: table.choice("class", &classes)?.unwrap_or(measured.class),
        metric: name,
        kind,
        margin: margin(&table, kind, measured.quantity)?,
        alpha_ppm: table.ratio("alpha")?.unwrap_or(50_000),
        min_pairs: table.small("min_pairs", 1, 10_000)?.unwrap_or(6),
        min_frames: table.small("min_frames", 0, 1_000_000)?.unwrap_or(290),
        min_trials: only_for(&table, "min_trials", kind == Kind::Zero, "zero", |key| {
            table.number(key, 1, 1 << 48)
        })?,
        direction: table.choice("direction", &directions)?.unwrap_or(Direction::Less),
        expected_sign: sign(&table, kind)?,
        selector: table.text_map("where")?,
        on_fail: table.text("on_fail")?,
    })
}

fn margin(table: &Table<'_>, kind: Kind, quantity: Quantity) -> Result<Option<Margin>, PlanError> {
    if matches!(kind, Kind::Zero | Kind::Overhead) {
        return if table.has("margin") {
            Err(table.refuse("margin", "has no meaning for this kind"))
        } else {
            Ok(None)
        };
    }
    let margin = match quantity {
        Quantity::Time => table.duration("margin")?.map(Margin::Ns),
        Quantity::Rate => table.ratio("margin")?.map(Margin::Ppm),
        Quantity::Count | Quantity::Points => table.number("margin", 0, 1 << 48)?.map(Margin::Count),
    };
    table.need("margin", margin).map(Some)
}

fn sign(table: &Table<'_>, kind: Kind) -> Result<Option<String>, PlanError> {
    let overhead = kind == Kind::Overhead;
    let said = only_for(table, "expected_sign", overhead, "overhead", |key| {
        table.choice(key, &[("+", "+"), ("-", "-")])
    })?;
    Ok(overhead.then(|| said.unwrap_or("+").to_owned()))
}

/// A field that only one kind has.
fn only_for<T>(
    table: &Table<'_>,
    key: &str,
    applies: bool,
    kind: &str,
    read: impl Fn(&str) -> Result<Option<T>, PlanError>,
) -> Result<Option<T>, PlanError> {
    match table.has(key) && !applies {
        true => Err(table.refuse(key, format!("is for kind = \"{kind}\" only"))),
        false => read(key),
    }
}
