//! One frame as rows of bars, as text beside them says it too: what the script draws, for readers without it.

use super::frame::{FrameRow, Lane};
use super::record::RingPage;
use crate::page::cell::{count, ms, number};
use crate::page::{escape, step};
use std::fmt::Write as _;
use std::io::{self, Write};

/// Writes the picture of the frame at a place of the record.
pub(super) fn write(page: &RingPage, at: usize, out: &mut dyn Write) -> io::Result<()> {
    let Some(frame) = page.frames.get(at) else { return Ok(()) };
    writeln!(out, "<div class=\"gantt\">\n{}", axis(frame))?;
    for (row, lane) in frame.rows.iter().enumerate() {
        writeln!(out, "{}", line(page, (at, frame), row, *lane))?;
    }
    writeln!(out, "</div>")?;
    if frame.spans_left_out > 0 {
        let path = format!("/frames/{at}/spans_left_out");
        let n = count(frame.spans_left_out).span(&path);
        writeln!(
            out,
            "<p class=\"sub\">Spans that are not drawn (too many, or times that cannot be): {n}.</p>"
        )?;
    }
    Ok(())
}

fn line(page: &RingPage, (at, frame): (usize, &FrameRow), row: usize, lane: Lane) -> String {
    let spans = &frame.spans;
    let of_row: Vec<usize> = (0..spans.row.len()).filter(|span| spans.row[*span] == row).collect();
    let mut bars = String::new();
    for span in &of_row {
        let left = share(frame, spans.offset_ns[*span]);
        let right = share(frame, spans.offset_ns[*span].saturating_add(spans.duration_ns[*span]));
        let _ = write!(
            bars,
            "<i class=\"{}\" style=\"left:{left:.3}%;width:{:.3}%\"></i>",
            class(lane),
            right - left
        );
    }
    let longest = of_row.iter().max_by_key(|span| (spans.duration_ns[**span], std::cmp::Reverse(**span)));
    let sum = longest.map_or_else(String::new, |span| {
        let length = u64::try_from(spans.duration_ns[*span]).unwrap_or_default();
        let text = ms(length).span(&format!("/frames/{at}/spans/duration_ns/{span}"));
        if of_row.len() > 1 {
            format!("{}\u{d7}, longest {text} ms", of_row.len())
        } else {
            format!("{text} ms")
        }
    });
    format!(
        "<div class=\"g\"><span class=\"who\">{}</span><span class=\"track\">{bars}</span><span \
         class=\"sum\">{sum}</span></div>",
        who(page, lane)
    )
}

/// Colours go by device, so that neighbours differ.
fn class(lane: Lane) -> String {
    lane.device.map_or_else(|| "d0".to_owned(), |device| format!("d{}", device % 3 + 1))
}

/// Stage and device by name, or by number.
pub(super) fn who(page: &RingPage, lane: Lane) -> String {
    let stage = page.names.stages.get(&lane.stage).map(|name| escape(name));
    let stage = stage.unwrap_or_else(|| format!("stage {}", lane.stage));
    let device = lane.device.map(|id| {
        let name = page.names.devices.get(&id).map(|name| escape(name));
        format!(" <small>{}</small>", name.unwrap_or_else(|| format!("device {id}")))
    });
    format!("{stage}{}", device.unwrap_or_default())
}

fn share(frame: &FrameRow, offset: i64) -> f64 {
    let width = (i128::from(frame.to_ns) - i128::from(frame.from_ns)).max(1);
    let part = i128::from(offset) - i128::from(frame.from_ns);
    (part as f64 * 100.0 / width as f64).clamp(0.0, 100.0)
}

fn axis(frame: &FrameRow) -> String {
    let step = step((i128::from(frame.to_ns) - i128::from(frame.from_ns)) as f64);
    let first = (frame.from_ns as f64 / step).ceil();
    let mut labels = String::new();
    for n in 0..8 {
        let at = (first + f64::from(n)) * step;
        if at > frame.to_ns as f64 {
            break;
        }
        let left = share(frame, at as i64);
        let class = if left > 92.0 { " class=\"end\"" } else { "" };
        let _ = write!(labels, "<span{class} style=\"left:{left:.2}%\">{}</span>", round(at));
    }
    format!("<div class=\"x\" aria-hidden=\"true\">{labels}</div>")
}

/// A round time: `2 ms`, `500 µs`.
fn round(ns: f64) -> String {
    match ns.abs() {
        n if n >= 1e6 => format!("{} ms", ns / 1e6),
        n if n >= 1e3 => format!("{} \u{b5}s", ns / 1e3),
        0.0 => "0".to_owned(),
        _ => format!("{ns} ns"),
    }
}

/// What stands over the picture: which frame it is.
pub(super) fn title(page: &RingPage, at: usize, what: &str) -> String {
    let Some(frame) = page.frames.get(at) else { return String::new() };
    let path = |key: &str| format!("/frames/{at}/{key}");
    let explained = frame.covered_percent.map(|share| {
        format!(", {} % explained", crate::page::cell::fraction(share).span(&path("covered_percent")))
    });
    format!(
        "<h3>{what} <small>frame {}, {} ms{}, {} ms after the first</small></h3>",
        number(frame.id).span(&path("id")),
        ms(frame.duration_ns).span(&path("duration_ns")),
        explained.unwrap_or_default(),
        ms(frame.at_ns).span(&path("at_ns"))
    )
}
