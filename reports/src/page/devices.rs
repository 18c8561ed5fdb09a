//! Each output over time: frame intervals, their distribution, and a strip of completeness for every stream.

use super::cell::{NAME, count, duration, hertz, length, words};
use super::chart::{self, Share, State};
use super::choice::Choice;
use super::escape;
use crate::summary::{Axis, Output, Stream, Summary, Timeline};
use crate::text::fit;
use std::io::{self, Write};

/// Writes the section.
pub(super) fn write(s: &Summary, choice: &Choice, out: &mut dyn Write) -> io::Result<()> {
    let Some(axis) = s.timeline else { return Ok(()) };
    writeln!(out, "<section id=\"frames\">\n<h2>Frames over time</h2>")?;
    let bin = length(axis.bin_ns).span("/timeline/bin_ns");
    writeln!(out, "<p class=\"sub\">One bin is {bin} long. Times count from the first packet.</p>")?;
    if choice.drawn.is_empty() {
        writeln!(out, "<p>No stream of frames was seen.</p>")?;
    } else {
        writeln!(out, "<div class=\"keys\">{KEYS}</div>")?;
    }
    for (at, streams) in &choice.drawn {
        device(s, axis, *at, streams, out)?;
    }
    let with_frames = s.outputs.iter().filter(|o| o.frames.seen > 0).count();
    super::more(with_frames, choice.drawn.len(), ("output", "outputs"), "the worst are drawn", out)?;
    writeln!(out, "</section>")
}

const KEYS: &str = "<span><i class=\"whole\"></i>thin: every frame complete</span> <span><i class=\"torn\"></i>high: \
                    frames torn or without their end</span> <span><i class=\"gone\"></i>broken: of frames nothing was \
                    seen</span> <span>the higher, the larger their share</span> <span>empty: no frame was seen, and \
                    none is known to be missing</span>";

fn device(s: &Summary, axis: Axis, at: usize, streams: &[usize], out: &mut dyn Write) -> io::Result<()> {
    let o = &s.outputs[at];
    let path = |key: &str| format!("/outputs/{at}{key}");
    writeln!(out, "<section class=\"device\">\n<h3>{}</h3>", words(&o.name).span(&path("/name")))?;
    writeln!(
        out,
        "<p class=\"sub\">{} of {} frames complete, {} torn, {} without end; {} frames/s</p>",
        count(o.frames.complete).span(&path("/frames/complete")),
        count(o.frames.seen).span(&path("/frames/seen")),
        count(o.frames.torn).span(&path("/frames/torn")),
        count(o.frames.unterminated).span(&path("/frames/unterminated")),
        hertz(o.frames.seen, o.rate_mhz).span(&path("/rate_hz"))
    )?;
    // What is timed stands between the same two edges, whatever is written beside it.
    writeln!(out, "<div class=\"timed\">")?;
    if !o.timeline.longest_ns.is_empty() {
        intervals(axis, at, o, out)?;
    }
    strips(s, axis, bins_between(o, axis), streams, out)?;
    writeln!(out, "</div>")?;
    super::more(o.streams.len(), streams.len(), ("stream", "streams"), "the worst are drawn", out)?;
    histogram(at, o, out)?;
    writeln!(out, "</section>")
}

fn intervals(axis: Axis, at: usize, o: &Output, out: &mut dyn Write) -> io::Result<()> {
    let longest = &o.timeline.longest_ns;
    let worst = longest.iter().enumerate().max_by_key(|(bin, n)| (**n, std::cmp::Reverse(*bin)));
    let (bin, most) = worst.map_or((0, 0), |(bin, n)| (bin, *n));
    let mut shown = longest.clone();
    held(&mut shown, 0, bins_between(o, axis), |before, _| before);
    let i = &o.frame_interval_ns;
    let label = format!("longest frame interval of every bin of {}", escape(&fit(&o.name, NAME)));
    let since = duration(axis.bin_ns.saturating_mul(bin as u64));
    writeln!(out, "<figure class=\"chart wide\">")?;
    writeln!(
        out,
        "<figcaption><span><b>Frame interval</b>, longest of each bin</span> <span>worst {} in the bin from {since} \
         on</span> <span><i class=\"usual\"></i> median {}</span></figcaption>",
        length(most).span(&format!("/outputs/{at}/timeline/longest_ns/{bin}")),
        length(i.p50).span(&format!("/outputs/{at}/frame_interval_ns/p50"))
    )?;
    writeln!(out, "{}</figure>", chart::intervals(axis, &shown, i.p50, &label))
}

fn histogram(at: usize, o: &Output, out: &mut dyn Write) -> io::Result<()> {
    let bars = &o.frame_interval_bars;
    if bars.is_empty() {
        return Ok(());
    }
    let path = |key: &str| format!("/outputs/{at}/frame_interval_bars/{key}");
    let label = format!("frame intervals of {} by length", escape(&fit(&o.name, NAME)));
    writeln!(out, "<figure class=\"chart\">")?;
    writeln!(
        out,
        "<figcaption><span><b>Distribution</b>, bars of {}</span> <span>{} shorter, {} longer</span></figcaption>",
        length(bars.width_ns).span(&path("width_ns")),
        count(bars.under).span(&path("under")),
        count(bars.over).span(&path("over"))
    )?;
    writeln!(out, "{}</figure>", chart::histogram(bars, &label))
}

fn strips(s: &Summary, axis: Axis, between: usize, streams: &[usize], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<div class=\"strips\">")?;
    for at in streams {
        let stream = &s.streams[*at];
        let path = |key: &str| format!("/streams/{at}/frames/{key}");
        let f = &stream.frames;
        // Two desks on one universe may have one name.
        let alike =
            |b: &Stream| (b.stream_id, &b.name, &b.kind) == (stream.stream_id, &stream.name, &stream.kind);
        let from = (streams.iter().filter(|b| alike(&s.streams[**b])).count() > 1)
            .then(|| format!(" from {}", words(&stream.source).span(&format!("/streams/{at}/source"))));
        let label =
            format!("completeness of stream {at}: {} of {} frames, {} torn", f.complete, f.seen, f.torn);
        writeln!(
            out,
            "<div class=\"strip\"><span>{}{}</span>{}<span class=\"sum\">{} of {} complete</span></div>",
            super::stream_name(*at, stream),
            from.unwrap_or_default(),
            chart::strip(axis, &states(&stream.timeline, axis, between), &label),
            count(f.complete).span(&path("complete")),
            count(f.seen).span(&path("seen"))
        )?;
    }
    writeln!(out, "{}</div>", chart::time_labels(axis))
}

/// Bins without a frame that lie between two frames of an output although nothing is amiss.
fn bins_between(o: &Output, axis: Axis) -> usize {
    usize::try_from(o.frame_interval_ns.p50.saturating_mul(3) / 2 / axis.bin_ns.max(1))
        .unwrap_or(0)
        .min(axis.bins)
}

/// Lets what lies around so many bins without anything last over them.
fn held<T: Copy + PartialEq>(values: &mut [T], none: T, between: usize, of: impl Fn(T, T) -> T) {
    let mut at = 1;
    while at < values.len() {
        let run = values[at..].iter().take_while(|v| **v == none).count();
        let before = values[at - 1];
        let after = values.get(at + run).copied().filter(|_| before != none);
        if let Some(after) = after.filter(|_| (1..=between).contains(&run)) {
            values[at..at + run].fill(of(before, after));
        }
        at += run.max(1);
    }
}

/// What each bin shows.
fn states(t: &Timeline, axis: Axis, between: usize) -> Vec<State> {
    let at = |column: &[u64], bin: usize| column.get(bin).copied().unwrap_or(0);
    let state = |bin| {
        let (frames, missing) = (at(&t.frames, bin), at(&t.missing, bin));
        let torn = at(&t.torn, bin).saturating_add(at(&t.unterminated, bin));
        match (frames, missing, torn) {
            (_, 1.., _) => State::Gone(Share::of(missing, frames)),
            (_, 0, 1..) => State::Torn(Share::of(torn, frames)),
            (1.., 0, 0) => State::Whole,
            (0, 0, 0) => State::Nothing,
        }
    };
    let mut states: Vec<State> = (0..axis.bins).map(state).collect();
    let same = |before, after| if before == after { before } else { State::Whole };
    held(&mut states, State::Nothing, between, same);
    states
}

/// The universe, port-address or device of a stream, with its sender.
pub(super) fn named(at: usize, s: &Stream) -> String {
    let what = match s.protocol.as_str() {
        "sacn" => "universe",
        "artnet" => "port-address",
        "ddp" => "DDP ID",
        "bigpacket" => "device",
        _ => "stream",
    };
    let id = count(u64::from(s.stream_id)).span(&format!("/streams/{at}/stream_id"));
    let name = s.name.as_deref().map(|name| words(name).span(&format!("/streams/{at}/name")));
    let kind = if s.kind == "sync" { " sync" } else { "" };
    format!(
        "<span>{what} {id}{kind}{}</span>",
        name.map(|name| format!(" \u{b7} {name}")).unwrap_or_default()
    )
}
