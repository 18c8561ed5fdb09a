//! A comparison laid out: who is compared with whom, times in the field's own table, other figures beside them.

use super::{Comparison, Row, Side};
use crate::sheet::{Align, Grid, Part, Sheet};
use crate::text::{base_name, rfc3339};
use wireproof_matrices::compare::{DASH, Measure};
use wireproof_matrices::plan::Class;

/// The sheet of a comparison.
pub(super) fn of(c: &Comparison) -> Sheet {
    let mut parts = vec![Part::default().grid(facts(c))];
    if !c.allowed_differences.is_empty() {
        let text =
            "These runs are not alike; --allow-different let them pass. Figures may differ for this alone.";
        parts.push(Part::new("different runs").text(text).list(c.allowed_differences.iter().cloned()));
    }
    parts.push(Part::new("why").list(c.reasons.iter().cloned()));
    for (class, heading) in [(Class::Gate, "gates"), (Class::Diagnostic, "diagnostics")] {
        let rows = || c.rows.iter().filter(|row| row.class == class);
        parts.push(Part::new(heading).grid(times(rows().filter(|row| row.unit == Measure::Ns))));
        let others = format!("{heading}, other than times");
        parts.push(Part::new(&others).grid(figures(rows().filter(|row| row.unit != Measure::Ns))));
    }
    let left = c.not_compared.iter().map(|one| format!("{}: {}", one.metric, one.says()));
    parts.push(Part::new("not compared").list(left));
    let title = format!("{} against baseline {}", base_name(&c.run.name), base_name(&c.baseline.name));
    Sheet { word: c.verdict.word().to_owned(), title, parts }
}

fn facts(c: &Comparison) -> Grid {
    let because = c.set_because.as_ref().map(|why| format!(", because: {why}")).unwrap_or_default();
    Grid::facts([
        ("baseline", side(&c.baseline)),
        ("set", format!("{}{because}", rfc3339(c.set_ns, 6))),
        ("run", side(&c.run)),
        ("bench", format!("{} then; {} here", c.baseline.conditions.words(), c.run.conditions.words())),
        ("metrics", format!("definitions: {}", c.definitions)),
    ])
}

fn side(side: &Side) -> String {
    let manifest = side.manifest_sha256.as_deref().unwrap_or("none: not sealed");
    format!(
        "{} ({}), device build {}, manifest {manifest}",
        side.bundle,
        side.verdict.word(),
        side.device_build
    )
}

/// The table of the field, to the letter.
fn times<'a>(rows: impl Iterator<Item = &'a Row>) -> Grid {
    let names =
        ["metric", "baseline \u{b5}s", "now \u{b5}s", "change \u{b5}s", "ratio", "budget \u{b5}s", "verdict"];
    let align = |at| if matches!(at, 0 | 6) { Align::Left } else { Align::Right };
    let columns = names.iter().enumerate().map(|(at, name)| ((*name).to_owned(), align(at))).collect();
    Grid { columns, rows: rows.map(|row| row.cells().to_vec()).collect(), spare: vec![3, 5] }
}

fn figures<'a>(rows: impl Iterator<Item = &'a Row>) -> Grid {
    let names = ["metric", "baseline", "now", "change", "ratio", "budget", "unit", "verdict"];
    let align = |at| if matches!(at, 0 | 6 | 7) { Align::Left } else { Align::Right };
    let columns = names.iter().enumerate().map(|(at, name)| ((*name).to_owned(), align(at))).collect();
    let row = |row: &Row| {
        let mut cells = row.cells().to_vec();
        let word = row.unit.word();
        cells.insert(6, if word.is_empty() { DASH.to_owned() } else { word.to_owned() });
        cells
    };
    Grid { columns, rows: rows.map(row).collect(), spare: vec![3, 5] }
}
