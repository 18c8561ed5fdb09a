//! The part of the page that the script fills: which frame, its picture, and what a span says. Hidden until it runs.

use super::record::RingPage;
use crate::page::cell::{count, ms};
use std::io::{self, Write};

/// Writes it.
pub(super) fn write(page: &RingPage, out: &mut dyn Write) -> io::Result<()> {
    let Some(picks) = page.picks else { return Ok(()) };
    writeln!(out, "<section id=\"chart\" hidden=\"hidden\">\n<h2>Frame by frame</h2>")?;
    writeln!(out, "<div class=\"pick\" role=\"group\" aria-label=\"Choose a frame\">")?;
    for (name, at) in [("p50", picks.p50), ("p95", picks.p95), ("p99", picks.p99), ("slowest", picks.worst)] {
        let time = page.frames.get(at).map(|frame| ms(frame.duration_ns));
        let time = time.map(|time| time.span(&format!("/frames/{at}/duration_ns"))).unwrap_or_default();
        writeln!(
            out,
            "<button type=\"button\" data-frame=\"{at}\" aria-pressed=\"false\"><span class=\"what\">{name}</span> \
             {time} ms</button>"
        )?;
    }
    writeln!(
        out,
        "<span class=\"steps\"><button type=\"button\" id=\"back\">\u{2190} earlier</button> <button type=\"button\" \
         id=\"on\">later \u{2192}</button></span>\n</div>"
    )?;
    writeln!(out, "<div id=\"which\" aria-live=\"polite\"></div>")?;
    writeln!(
        out,
        "<div class=\"gantt\" id=\"gantt\" role=\"group\" aria-label=\"Spans of the frame\"></div>"
    )?;
    writeln!(out, "<p id=\"live\" role=\"status\" aria-live=\"polite\"></p>")?;
    writeln!(
        out,
        "<p class=\"sub keys-help\">Left and right arrow: the frame before and after on this page. In the picture: up and \
         down arrow, or the pointer, for the exact times of a span.</p>"
    )?;
    if page.left_out.frames > 0 {
        writeln!(
            out,
            "<p class=\"sub\">Spans of {} frames are on this page: those at the percentiles and their neighbours, the \
             slowest, the least explained, those beside gaps; those of {} others are not.</p>",
            count(page.frames.len() as u64).span("/frames"),
            count(page.left_out.frames).span("/left_out/frames")
        )?;
    }
    writeln!(out, "</section>")
}
