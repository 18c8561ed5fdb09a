//! A soak: what was to be shown, how far it got, and what of its evidence is there.

use super::{Kind, Part, Table};
use crate::matrix::figure::{count, duration};
use wireproof_matrices::soak::{Ended, rate_text};
use wireproof_matrices::verdict::{SoakRow, Verdict};

/// The totals of a soak, if the run is one.
pub(super) fn soak(v: &Verdict) -> Option<Part> {
    let row = v.soak.as_ref()?;
    let rows = facts(row).into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    let text = "Windows of the baseline, one after another; the number of clean trials was fixed by the rate before the first \
                one, so that looking at every window costs nothing. A trial is a frame, an event a burst.";
    Some(Part::new(Kind::Plain, "Soak").text(text).table(Table::new(&["", ""], rows)))
}

/// Names and values, the asked rate first.
pub(in crate::matrix) fn facts(row: &SoakRow) -> Vec<(&'static str, String)> {
    let sure = format!("{} %", 100.0 - row.alpha_ppm as f64 / 10_000.0);
    let [low, high] = row.interval_ppb.map(rate_text);
    let bound = match row.events {
        0 => format!("at most 1 in {} with {sure} ({})", count(row.one_in), rate_text(row.upper_ppb)),
        _ => format!("{low} to {high} with {sure}"),
    };
    let mut facts = vec![
        ("asked", format!("{} below {} with {sure}", row.metric, rate_text(row.rate_ppb))),
        ("trials", format!("{} of {} needed", count(row.trials), count(row.trials_needed))),
        ("events", count(row.events)),
        ("rate", bound),
        ("windows", windows(row)),
        ("measured", duration(row.length_ns)),
        ("ended", ended(row.ended).to_owned()),
    ];
    if row.ambiguous > 0 {
        facts.insert(3, ("cannot be told", count(row.ambiguous)));
    }
    if row.restarts > 0 {
        facts.push(("restarts", count(row.restarts)));
    }
    facts
}

fn windows(row: &SoakRow) -> String {
    let (all, invalid, dropped) = (row.chunks, row.chunks_invalid, row.chunks_dropped);
    format!("{}, {} invalid; only totals kept of {}", count(all), count(invalid), count(dropped))
}

fn ended(ended: Option<Ended>) -> &'static str {
    match ended {
        Some(Ended::Shown) => "the rate was shown",
        Some(Ended::Event) => "it happened",
        Some(Ended::Ambiguous) => "something cannot be told",
        Some(Ended::Invalid) => "too many windows say nothing",
        Some(Ended::OtherBuild) => "another build answered",
        Some(Ended::DiskFull) => "what has to be kept does not fit",
        None => "it is not over",
    }
}
