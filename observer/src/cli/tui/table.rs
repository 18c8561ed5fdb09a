//! The table of streams, and the selected one in words. Pure.

use super::draw::{Paper, five};
use super::layout::Layout;
use super::model::{Pane, state};
use super::words::{fit, joined, ms, number, rate};
use ratatui::style::{Color, Modifier, Style};
use wireproof_protocols::verify::StreamProgress;

/// Draws the head, the streams in view, and the selected one in words.
pub(super) fn draw(paper: &mut Paper<'_>, layout: Layout) {
    let m = paper.model;
    let head = head(layout.wide);
    let style = if m.pane == Pane::Streams { paper.loud(Color::Cyan) } else { paper.loud(Color::Reset) };
    paper.line(&head, style);
    let end = paper.y + u16::try_from(layout.stream_rows).unwrap_or(0);
    for index in m.rows() {
        let Some(s) = m.stream(*index) else { continue };
        let is_selected = *index == m.selected;
        let state = state(s, m.excused(*index), m.shot.now_ns);
        let style = style_of(paper, state, is_selected && m.pane == Pane::Streams);
        paper.line(&row(s, state, is_selected, layout.wide), style);
    }
    if m.order.is_empty() {
        paper.line("  nothing has arrived so far", Style::new());
    }
    paper.y = end;
    if layout.detail > 0 {
        detail(paper);
    }
    more(paper, end);
    paper.y = end + layout.detail;
}

/// Says at the right of the head which part of the streams is in view.
fn more(paper: &mut Paper<'_>, end: u16) {
    let m = paper.model;
    let rows = m.rows().len();
    if rows == m.order.len() && m.order.len() == m.streams_seen() {
        return;
    }
    let first = m.rows().first().and_then(|first| m.order.iter().position(|index| index == first));
    let from = first.unwrap_or(0) + 1;
    let text = format!(" {from}-{} of {}", from + rows.saturating_sub(1), m.streams_seen());
    let x = paper.columns.saturating_sub(text.len());
    // On the rule below the table, where there is one; else over the end of the last row.
    let y = if m.layout().detail > 0 { end } else { end.saturating_sub(1) };
    paper.at(u16::try_from(x).unwrap_or(0), y, &text, Style::new().add_modifier(Modifier::BOLD));
}

fn style_of(paper: &Paper<'_>, state: &str, is_chosen: bool) -> Style {
    let style = match state {
        "LOST" | "TORN" => paper.loud(Color::Red),
        "ok" | "ENDED" | "WAIVED" => Style::new(),
        _ => paper.loud(Color::Yellow),
    };
    if is_chosen { style.add_modifier(Modifier::REVERSED) } else { style }
}

fn head(wide: bool) -> String {
    let text = format!(
        " {:<6} {:<9} {:>6} {:<ADDRESS$} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5}",
        "STATE", "PROTOCOL", "ID", "SOURCE", "FPS", "P50ms", "P95", "P99", "LOST", "TORN"
    );
    if wide {
        format!(
            "{text} {:>5} {:>5} {:>5} {:>5} {:>6} {:>6}",
            "WIRE", "UNKN", "LATE", "TWICE", "FRAMES", "DGRAMS"
        )
    } else {
        text
    }
}

/// Columns of an address.
const ADDRESS: usize = 15;

fn row(s: &StreamProgress, state: &str, is_selected: bool, wide: bool) -> String {
    let i = s.intervals;
    let per_second = if i.p50 > 0 { 1e9 / i.p50 as f64 } else { 0.0 };
    let [p50, p95, p99] = [i.p50, i.p95, i.p99].map(ms);
    let pointer = if is_selected { '>' } else { ' ' };
    let text = format!(
        "{pointer}{:<6} {:<9} {:>6} {:<ADDRESS$} {:>5} {p50:>5} {p95:>5} {p99:>5} {:>5} {:>5}",
        state,
        fit(&protocol(s), 9),
        fit(&s.stream_id.to_string(), 6),
        fit(&s.source.ip().to_string(), ADDRESS),
        rate(per_second),
        five(s.lost),
        five(s.torn),
    );
    if !wide {
        return text;
    }
    let [wire, unknown, late, twice] = [s.owners.wire, s.owners.unknown, s.late, s.duplicates].map(five);
    let [frames, datagrams] = [s.frames, s.datagrams].map(|n| super::words::count(n, 6));
    format!("{text} {wire:>5} {unknown:>5} {late:>5} {twice:>5} {frames:>6} {datagrams:>6}")
}

/// The protocol, and the kind where it is not the usual one.
fn protocol(s: &StreamProgress) -> String {
    match s.kind {
        "sync" => format!("{} sync", s.protocol.name()),
        _ => s.protocol.name().to_owned(),
    }
}

/// The selected stream: who sends it where, and all its counters.
fn detail(paper: &mut Paper<'_>) {
    let m = paper.model;
    let Some(s) = m.stream(m.selected).filter(|_| m.order.contains(&m.selected)) else { return };
    let rule = if m.look.ascii { "--" } else { "──" };
    let text = format!(
        "{rule} {} {} {} from {} to {}, {} {}",
        s.protocol.name(),
        s.kind,
        s.stream_id,
        s.source,
        s.destination,
        number(s.datagrams, "datagram", "datagrams"),
        rule.repeat(paper.columns),
    );
    paper.line(&text.chars().take(paper.columns).collect::<String>(), Style::new());
    let o = s.owners;
    let parts = [
        format!("lost {}: wire {} unknown {}", s.lost, o.wire, o.unknown),
        format!("frames {} torn {}", s.frames, s.torn),
        format!("late {}", s.late),
        format!("twice {}", s.duplicates),
        format!("restarts {}", s.restarts),
    ];
    paper.line(&format!(" {}", joined(&parts, paper.columns - 1)), Style::new());
}
