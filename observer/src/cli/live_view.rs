//! What a person sees while a run goes on: a picture that is redrawn on a terminal, plain lines elsewhere.

use super::say;
use crate::live::conduct::Event;
use crate::live::drain::{DrainSpan, DrainStatus, RingCheck};
use crate::live::health::Vitals;
use crate::live::source::SourceInfo;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::Duration;
use wireproof_protocols::verify::{Progress, StreamProgress};
use wireproof_reports::text::clean;

/// Most streams of a picture.
const SHOWN: usize = 24;
/// Lines of a picture that are no streams, and the one that the cursor stands in.
const OTHERS: usize = 5;

/// Draws on standard error.
pub(super) struct View {
    is_terminal: bool,
    quiet: bool,
    width: usize,
    lines: usize,
}

impl View {
    /// A view that has drawn nothing.
    pub(super) fn new(is_terminal: bool, quiet: bool, width: usize) -> Self {
        View { is_terminal, quiet, width, lines: 0 }
    }

    /// Shows what happens.
    pub(super) fn show(&mut self, event: &Event<'_>) {
        if self.quiet {
            return;
        }
        match event {
            Event::Listening(info) => announce(info),
            Event::Progress(gone, progress, vitals) if self.is_terminal => {
                let size = terminal();
                let shown = SHOWN.min(size.lines.saturating_sub(OTHERS));
                let width = self.width.min(size.columns);
                let picture = picture(*gone, progress, vitals, (width, shown));
                self.draw(&picture);
            }
            Event::Progress(gone, progress, vitals) => self.line(&line(*gone, progress, vitals.lost)),
            Event::Found(f) if f.stream.is_empty() => {
                self.line(&format!("{} {}: {}", f.severity.name(), f.code, f.text));
            }
            Event::Found(f) => {
                self.line(&format!("{} {} {}: {}", f.severity.name(), f.code, f.stream, f.text));
            }
            Event::Drained(span) => self.line(&format!("download {}", download(span))),
        }
    }

    /// Takes the picture away.
    pub(super) fn clear(&mut self) {
        if self.lines > 0 {
            let _ = write!(io::stderr(), "\x1b[{}A\x1b[J", self.lines);
            self.lines = 0;
        }
    }

    fn draw(&mut self, picture: &str) {
        self.clear();
        self.lines = picture.lines().count();
        let _ = io::stderr().write_all(picture.as_bytes());
    }

    fn line(&mut self, text: &str) {
        self.clear();
        // Text of a finding may quote what a stranger sent.
        let _ = writeln!(io::stderr(), "{}", clean(text));
    }
}

/// A download in words, its number first.
pub(super) fn download(span: &DrainSpan) -> String {
    let ms = span.ended_ns.saturating_sub(span.started_ns) / 1_000_000;
    let how = match &span.status {
        DrainStatus::Ok => format!("{} octets in {ms} ms", span.bytes),
        DrainStatus::Error(text) => format!("failed after {ms} ms: {text}"),
    };
    let worth = match &span.ring {
        None => String::new(),
        Some(RingCheck::Ok(facts)) => format!(", a ring with {} whole frames", facts.frames),
        Some(RingCheck::Refused(why)) => format!(", a ring that is refused ({why}): {}", why.advice()),
    };
    format!("{}: {how}{worth}", span.number)
}

fn announce(info: &SourceInfo) {
    let (_, granted) = info.buffer_bytes;
    say(&format!(
        "listening on {} ({}, stamps by {}, {granted} octets of buffer)",
        info.name, info.kind, info.timestamps
    ));
    info.notes.iter().for_each(|note| say(note));
}

fn line(gone: Duration, p: &Progress, lost: u64) -> String {
    let [_, warnings, violations] = p.findings;
    format!(
        "{} s: {} datagrams, {} streams, {} missing; {violations} violations, {warnings} warnings; observer lost {lost}",
        gone.as_secs(),
        p.lighting,
        p.streams_seen,
        p.lost,
    )
}

/// Columns and lines of a terminal.
struct Size {
    columns: usize,
    lines: usize,
}

/// The terminal at standard error; what every terminal has where it does not say.
fn terminal() -> Size {
    let told = rustix::termios::tcgetwinsize(io::stderr()).ok();
    let told = told.filter(|size| size.ws_col > 0 && size.ws_row > 0);
    told.map_or(Size { columns: 80, lines: 24 }, |size| Size {
        columns: usize::from(size.ws_col),
        lines: usize::from(size.ws_row),
    })
}

fn picture(gone: Duration, p: &Progress, vitals: &Vitals, (width, shown): (usize, usize)) -> String {
    let (lost, gap) = (vitals.lost, vitals.loop_gap_max_ns);
    let mut text = format!("{}\n", fit(&line(gone, p, lost), width));
    let state = if lost > 0 { "LOSES DATAGRAMS" } else { "complete" };
    let health =
        format!("observer {state}, longest loop gap {:.1} ms; Ctrl-C ends and judges", gap as f64 / 1e6);
    let _ = writeln!(text, "{}", fit(&health, width));
    let head = format!(
        "{:<9} {:<8} {:<22} {:>7} {:>10} {:>8} {:>7} {:>6}",
        "protocol", "kind", "source", "stream", "datagrams", "per s", "missing", "late"
    );
    let _ = writeln!(text, "{}", fit(&head, width));
    // The streams that need a look come first.
    let mut order: Vec<&StreamProgress> = p.streams.iter().collect();
    order.sort_by_key(|s| std::cmp::Reverse(s.lost + s.late));
    for s in order.iter().take(shown) {
        let rate = if s.period_ns > 0 { 1e9 / s.period_ns as f64 } else { 0.0 };
        let row = format!(
            "{:<9} {:<8} {:<22} {:>7} {:>10} {:>8.1} {:>7} {:>6}",
            s.protocol.name(),
            s.kind,
            s.source,
            s.stream_id,
            s.datagrams,
            rate,
            s.lost,
            s.late
        );
        let _ = writeln!(text, "{}", fit(&row, width));
    }
    if p.streams_seen > shown {
        let _ = writeln!(text, "and {} more", p.streams_seen - shown);
    }
    text
}

fn fit(text: &str, width: usize) -> String {
    text.chars().take(width).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wireproof_protocols::Protocol;
    use wireproof_protocols::verify::{Owners, Quantiles};

    #[test]
    fn a_picture_is_as_wide_as_the_terminal_and_puts_trouble_first() {
        let stream = |stream_id, lost| StreamProgress {
            protocol: Protocol::Sacn,
            kind: "data",
            source: "10.0.0.1:5568".parse().unwrap(),
            destination: "239.255.0.1:5568".parse().unwrap(),
            stream_id,
            datagrams: 60,
            lost,
            late: 0,
            duplicates: 0,
            restarts: 0,
            last_ns: 0,
            period_ns: 16_666_667,
            frames: 60,
            torn: 0,
            ended: false,
            owners: Owners::default(),
            intervals: Quantiles::default(),
        };
        let streams: Vec<_> = (1..=40).map(|u| stream(u, u64::from(u == 33))).collect();
        let p = Progress { streams, streams_seen: 40, lighting: 2_400, lost: 1, ..Progress::default() };
        let vitals = Vitals { loop_gap_max_ns: 1_500_000, ..Vitals::default() };
        let text = picture(Duration::from_secs(3), &p, &vitals, (72, 24));
        let rows: Vec<&str> = text.lines().collect();
        assert!(rows.iter().all(|row| row.chars().count() <= 72), "{text}");
        assert!(rows[0].starts_with("3 s: 2400 datagrams, 40 streams, 1 missing"), "{text}");
        assert!(rows[3].contains(" 33 "), "{text}");
        assert_eq!(rows.last(), Some(&"and 16 more"));
        let short = picture(Duration::from_secs(3), &p, &vitals, (72, 12 - OTHERS));
        assert!(short.lines().count() < 12 && short.ends_with("and 33 more\n"), "{short}");
    }
}
