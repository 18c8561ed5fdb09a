//! What a person sees while a run goes on: a picture that is redrawn on a terminal, plain lines elsewhere.

use super::say;
use crate::live::conduct::Event;
use crate::live::drain::{DrainSpan, DrainStatus, RingCheck};
use crate::live::health::Vitals;
use crate::live::receive::Told;
use crate::live::source::SourceInfo;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::Duration;
use wireproof_protocols::verify::{Progress, StreamProgress};
use wireproof_protocols::words::counted;
use wireproof_reports::Standing;
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
    /// What of the figures counts; none while everything does.
    standing: Option<Standing>,
}

impl View {
    /// A view that has drawn nothing.
    pub(super) fn new(is_terminal: bool, quiet: bool, width: usize) -> Self {
        View { is_terminal, quiet, width, lines: 0, standing: None }
    }

    /// What is shown from here on counts so.
    pub(super) fn stand(&mut self, standing: &Standing) {
        self.standing = Some(standing.clone());
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
                let picture = picture(*gone, progress, vitals, self.standing.as_ref(), (width, shown));
                self.draw(&picture);
            }
            Event::Progress(gone, progress, vitals) => {
                self.line(&line(*gone, progress, vitals.lost, self.standing.as_ref()));
            }
            Event::Looked(_) => {}
            Event::Found(told) => self.line(&found(told)),
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

/// A finding in words; a waived one says so in front.
fn found(f: &Told) -> String {
    let how = match &f.waived {
        Some(waiver) => format!("waived by {waiver}"),
        None => f.severity.name().to_owned(),
    };
    let stream = if f.stream.is_empty() { String::new() } else { format!(" {}", f.stream) };
    format!("{how} {}{stream}: {}", f.code, f.text)
}

fn announce(info: &SourceInfo) {
    let (_, granted) = info.buffer_bytes;
    say(&format!(
        "listening on {} ({}, stamps by {}, {granted} octets of buffer)",
        info.name, info.kind, info.timestamps
    ));
    info.notes.iter().for_each(|note| say(note));
}

fn line(gone: Duration, p: &Progress, lost: u64, standing: Option<&Standing>) -> String {
    let ([_, warnings, violations], missing, streams, words) = match standing {
        None => (p.findings, p.lost, p.streams_seen, String::new()),
        Some(s) => (s.findings, s.lost, s.streams(p.streams_seen), s.words(p.streams_seen)),
    };
    let words = if words.is_empty() { words } else { format!("; {}", clean(&words)) };
    format!(
        "{} s: {}, {}, {missing} missing; {}, {}{words}; observer lost {lost}",
        gone.as_secs(),
        counted(p.lighting, "datagram"),
        counted(streams as u64, "stream"),
        counted(violations, "violation"),
        counted(warnings, "warning"),
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

fn picture(
    gone: Duration,
    p: &Progress,
    vitals: &Vitals,
    standing: Option<&Standing>,
    (width, shown): (usize, usize),
) -> String {
    let (lost, gap) = (vitals.lost, vitals.loop_gap_max_ns);
    let mut text = format!("{}\n", fit(&line(gone, p, lost, standing), width));
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
    let shows = |at: usize| standing.is_none_or(|s| s.shows(at));
    let mut order: Vec<&StreamProgress> =
        p.streams.iter().enumerate().filter(|(at, _)| shows(*at)).map(|(_, s)| s).collect();
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
    let streams = standing.map_or(p.streams_seen, |s| s.streams(p.streams_seen));
    if streams > shown {
        let _ = writeln!(text, "and {} more", streams - shown);
    }
    text
}

fn fit(text: &str, width: usize) -> String {
    text.chars().take(width).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::lens::example::{self, terms};
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
        let text = picture(Duration::from_secs(3), &p, &vitals, None, (72, 24));
        let rows: Vec<&str> = text.lines().collect();
        assert!(rows.iter().all(|row| row.chars().count() <= 72), "{text}");
        assert!(rows[0].starts_with("3 s: 2400 datagrams, 40 streams, 1 missing"), "{text}");
        assert!(rows[3].contains(" 33 "), "{text}");
        assert_eq!(rows.last(), Some(&"and 16 more"));
        let short = picture(Duration::from_secs(3), &p, &vitals, None, (72, 12 - OTHERS));
        assert!(short.lines().count() < 12 && short.ends_with("and 33 more\n"), "{short}");
    }

    #[test]
    fn the_progress_line_counts_what_the_verdict_will_count() {
        let mut run = example::run();
        let (p, look) = (example::progress(&mut run), example::look(&mut run));
        let line = |filter, max| {
            let standing = terms(filter, max).stand(&look.glance.account);
            line(Duration::from_secs(1), &p, 0, Some(&standing))
        };
        let plain = super::line(Duration::from_secs(1), &p, 0, None);
        let [_, _, violations] = p.findings;
        assert!(violations > 0 && plain.contains(&counted(violations, "violation")), "{plain}");
        assert!(!plain.contains("waived") && !plain.contains("left out"), "{plain}");
        let waived = line(None, Some(9));
        assert!(waived.contains(&format!("; {},", counted(violations - 1, "violation"))), "{waived}");
        assert!(waived.contains("; 1 waived; observer lost 0"), "{waived}");
        let filtered = line(Some("protocol == ddp"), None);
        let out = counted(p.streams_seen as u64, "stream");
        assert!(filtered.contains(", 0 streams, 0 missing; 0 violations"), "{filtered}");
        assert!(filtered.contains(&format!("; {out} left out: where protocol == ddp;")), "{filtered}");
    }

    #[test]
    fn a_picture_leaves_streams_out_and_a_line_says_who_waived_a_finding() {
        let mut run = example::run();
        let (p, look) = (example::progress(&mut run), example::look(&mut run));
        let standing = terms(Some("protocol == ddp"), None).stand(&look.glance.account);
        let picture = |standing| picture(Duration::ZERO, &p, &Vitals::default(), standing, (200, 24));
        assert_eq!(picture(None).lines().count(), 3 + p.streams_seen);
        assert_eq!(picture(Some(&standing)).lines().count(), 3);
        let told = Told { waived: Some("w1".to_owned()), ..run.told[0].clone() };
        assert!(
            found(&told).starts_with(&format!("waived by w1 {} universe", told.code)),
            "{}",
            found(&told)
        );
    }
}
