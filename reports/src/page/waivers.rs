//! The rig's waivers and what became of the alerts.

use super::cell::{Cell, count, words};
use super::grid::{Column, Grid};
use crate::summary::Summary;
use crate::waiver::{Waived, WaiverState};
use std::io::{self, Write};

const COLUMNS: [Column; 8] = [
    ("/id", "waiver", ""),
    ("/code", "code", ""),
    ("/streams", "streams", "what"),
    ("/state", "state", ""),
    ("/used", "used", "n"),
    ("/allowed", "covers", "n"),
    ("/expires", "until", "t"),
    ("/reason", "reason", "what"),
];

/// Writes both; nothing where there are none.
pub(super) fn write(s: &Summary, out: &mut dyn Write) -> io::Result<()> {
    if !s.waivers.is_empty() {
        writeln!(out, "<section id=\"waivers\">\n<h2>Waivers</h2>")?;
        writeln!(out, "<p class=\"sub\">What a used waiver covers does not count to the verdict.</p>")?;
        let rows =
            s.waivers.iter().enumerate().map(|(at, w)| (format!("/waivers/{at}"), row(at, w).to_vec()));
        Grid { label: "Waivers", columns: &COLUMNS, rows: rows.collect(), fold: true }.write(out)?;
        writeln!(out, "</section>")?;
    }
    let Some(a) = &s.alerts else { return Ok(()) };
    let n = |n: u64, key: &str| count(n).span(&format!("/alerts/{key}"));
    writeln!(out, "<section id=\"alerts\">\n<h2>Alerts</h2>")?;
    writeln!(
        out,
        "<p>{} delivered, {} failed, {} held back by the rate limits, {} dropped.</p>",
        n(a.delivered, "delivered"),
        n(a.failed, "failed"),
        n(a.suppressed, "suppressed"),
        n(a.dropped, "dropped")
    )?;
    for (at, why) in a.failures.iter().enumerate() {
        writeln!(out, "<p class=\"sub\">{}</p>", words(why).span(&format!("/alerts/failures/{at}")))?;
    }
    writeln!(out, "</section>")
}

fn row(at: usize, w: &Waived) -> [Cell; 8] {
    let ids = w.findings.iter().take(20).enumerate();
    let ids: Vec<String> =
        ids.map(|(n, id)| words(id).span(&format!("/waivers/{at}/findings/{n}"))).collect();
    let below = if ids.is_empty() { String::new() } else { format!("<small>{}</small>", ids.join(", ")) };
    let state = words(w.state.name());
    let state = match w.state {
        WaiverState::Exceeded | WaiverState::Expired => state.class("open"),
        _ => state,
    };
    [
        words(&w.id),
        words(&w.code).class("t"),
        words(&w.streams).class("what"),
        state.and(w.state.name(), &below),
        count(w.used),
        count(w.allowed),
        words(&w.expires).class("t"),
        words(&w.reason).class("what"),
    ]
}
