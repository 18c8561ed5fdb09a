//! The page from top to bottom: which copy, the figures at a glance, frames span by span, then everything else.

use super::SCRIPT;
use super::parts;
use super::record::RingPage;
use super::{chooser, gantt};
use crate::json::write_line;
use crate::page::cell::{count, fraction, instant, length, ms, number, words};
use crate::page::shell;
use crate::render::RenderError;
use std::io::{self, Write};

/// Writes the page.
pub(super) fn write(page: &RingPage, out: &mut dyn Write) -> Result<(), RenderError> {
    shell::open_with(&format!("Ring {}", page.name), SCRIPT, out)?;
    head(page, out)?;
    tiles(page, out)?;
    writeln!(out, "<main>")?;
    chooser::write(page, out)?;
    still(page, out)?;
    parts::time_line(page, out)?;
    parts::gaps(page, out)?;
    parts::whole(page, out)?;
    parts::stages(page, out)?;
    parts::devices(page, out)?;
    parts::causes(page, out)?;
    parts::findings(page, out)?;
    parts::limits(page, out)?;
    writeln!(out, "</main>")?;
    let mut record = Vec::new();
    write_line(page, &mut record)?;
    shell::record(&record, out)?;
    shell::script(SCRIPT, out)?;
    Ok(shell::close(out)?)
}

fn head(page: &RingPage, out: &mut dyn Write) -> io::Result<()> {
    let (s, copy) = (&page.summary, &page.copy);
    let snapshot = s.snapshot.map_or_else(
        || "not stamped".to_owned(),
        |id| format!("stamped, snapshot {}", number(id).span("/summary/snapshot")),
    );
    let begun = copy.begun_ns.map(|ns| format!(", begun {}", instant(ns, 6).span("/copy/begun_ns")));
    let ids = match (s.first_frame, s.last_frame) {
        (Some(first), Some(last)) => format!(
            "{} whole frames, ids {} to {}, over {}",
            count(s.frames).span("/summary/frames"),
            number(first).span("/summary/first_frame"),
            number(last).span("/summary/last_frame"),
            length(s.span_ns).span("/summary/span_ns")
        ),
        _ => "No whole frame.".to_owned(),
    };
    writeln!(
        out,
        "<header>\n<h1>Ring {}</h1>\n<p class=\"lead\">{ids}</p>",
        words(&page.name).span("/name")
    )?;
    writeln!(
        out,
        "<p class=\"sub\">One copy and no other: generation {}{}; {snapshot}; ordinals from {} to in front of {} in a ring \
         of {} records; digest {}.</p>\n</header>",
        number(s.generation).span("/summary/generation"),
        begun.unwrap_or_default(),
        count(copy.first_ordinal).span("/copy/first_ordinal"),
        count(copy.end_ordinal).span("/copy/end_ordinal"),
        count(copy.capacity).span("/copy/capacity"),
        words(&s.digest).span("/summary/digest")
    )
}

fn tile(heading: &str, class: &str, figure: &str, below: &str) -> String {
    format!("<section class=\"tile {class}\"><h3>{heading}</h3><b>{figure}</b><p>{below}</p></section>")
}

fn tiles(page: &RingPage, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<div class=\"tiles\">\n{}\n{}", time(page), whole(page))?;
    writeln!(out, "{}\n{}\n</div>", explained(page), deadlines(page))
}

fn time(page: &RingPage) -> String {
    let q = &page.summary.frame_ns;
    let at = |ns: u64, key: &str| ms(ns).span(&format!("/summary/frame_ns/{key}"));
    let below =
        format!("p50 {}, p99 {}, longest {} ms", at(q.p50, "p50"), at(q.p99, "p99"), at(q.max, "max"));
    tile("Frame time, p95", "", &format!("{} ms", at(q.p95, "p95")), &below)
}

fn whole(page: &RingPage) -> String {
    let w = &page.whole;
    let n = |n: u64, key: &str| count(n).span(&format!("/whole/{key}"));
    let share = w
        .due_percent
        .map_or_else(|| "-".to_owned(), |share| format!("{} %", fraction(share).span("/whole/due_percent")));
    let below = format!(
        "of the frames that were due; {} lost, {} left out on purpose",
        n(w.lost, "lost"),
        n(w.skipped, "skipped")
    );
    let class = match page.summary.frames {
        0 => "",
        _ if w.lost > 0 => "bad",
        _ => "good",
    };
    tile("Frames whole", class, &share, &below)
}

fn explained(page: &RingPage) -> String {
    let c = &page.summary.coverage;
    let at = |share: Option<f64>, key: &str| {
        let path = format!("/summary/coverage/{key}");
        share.map_or_else(|| "-".to_owned(), |share| format!("{} %", fraction(share).span(&path)))
    };
    let target = page.whole.explained_target_percent;
    let below = format!(
        "target {} %; devices {}, worst frame {}",
        number(target).span("/whole/explained_target_percent"),
        at(c.devices, "devices"),
        at(c.worst_frame, "worst_frame")
    );
    let shares = [c.frames, c.devices];
    let below_target = shares.into_iter().flatten().any(|share| share < target as f64);
    let class = match c.frames {
        _ if below_target => "bad",
        Some(_) => "good",
        None => "",
    };
    tile("Frame time explained", class, &at(c.frames, "frames"), &below)
}

fn deadlines(page: &RingPage) -> String {
    let d = &page.summary.deadlines;
    let n = |n: u64, key: &str| count(n).span(&format!("/summary/deadlines/{key}"));
    let below = format!(
        "worst by {} ms; {} since the writer's start",
        ms(d.found.worst_overrun_ns).span("/summary/deadlines/worst_overrun_ns"),
        n(d.missed_since_start, "missed_since_start")
    );
    let class = if d.found.missed > 0 { "bad" } else { "good" };
    tile("Deadlines missed", class, &n(d.found.missed, "missed"), &below)
}

/// The slowest and the median frame, for readers without a script; the script takes their place.
fn still(page: &RingPage, out: &mut dyn Write) -> io::Result<()> {
    let Some(picks) = page.picks else { return Ok(()) };
    writeln!(out, "<section id=\"still\">\n<h2>The slowest and the median frame</h2>")?;
    for (at, what) in [(picks.worst, "Slowest"), (picks.p50, "Median")] {
        writeln!(out, "{}", gantt::title(page, at, what))?;
        gantt::write(page, at, out)?;
    }
    writeln!(out, "</section>")
}
