//! One picture of the run: the model in, cells out. Pure.

use super::chart;
use super::layout::Layout;
use super::model::{Model, Noted, Overlay, Pane};
use super::overlay;
use super::table;
use super::words::{clock, count, fit, joined, ms};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};
use wireproof_protocols::Severity;
use wireproof_protocols::verify::DropLayer;
use wireproof_reports::text::rfc3339;

/// Draws everything. Never fails: what has no room is left out, the observer's health last.
pub(super) fn draw(frame: &mut Frame<'_>, model: &Model) {
    let mut paper =
        Paper { columns: usize::from(frame.area().width), buffer: frame.buffer_mut(), y: 0, model };
    if Layout::is_too_small(model.size) {
        paper.too_small();
        return;
    }
    let layout = model.layout();
    paper.header();
    paper.health();
    table::draw(&mut paper, layout);
    chart::draw(&mut paper, layout);
    paper.events();
    paper.keys();
    match model.overlay {
        Overlay::Nothing => {}
        Overlay::Help => overlay::help(&mut paper),
        Overlay::Event => overlay::event(&mut paper),
    }
}

/// What is drawn on, a line at a time.
pub(super) struct Paper<'a> {
    pub(super) buffer: &'a mut Buffer,
    pub(super) columns: usize,
    pub(super) y: u16,
    pub(super) model: &'a Model,
}

impl Paper<'_> {
    /// Writes a line.
    pub(super) fn line(&mut self, text: &str, style: Style) {
        self.at(0, self.y, text, style);
        self.y += 1;
    }

    /// Writes where there is room; what lies outside is left out.
    pub(super) fn at(&mut self, x: u16, y: u16, text: &str, style: Style) {
        if y < self.buffer.area.height && x < self.buffer.area.width {
            let room = self.columns.saturating_sub(usize::from(x));
            self.buffer.set_stringn(x, y, text, room, style);
        }
    }

    /// A colour, where colours are wanted; bold in any case.
    pub(super) fn loud(&self, color: Color) -> Style {
        let style = Style::new().add_modifier(Modifier::BOLD);
        if self.model.look.color { style.fg(color) } else { style }
    }

    /// The head of a part.
    fn title(&mut self, text: &str, has_keys: bool) {
        let rule = if self.model.look.ascii { "-" } else { "─" };
        let text = format!("{rule}{rule} {text} {}", rule.repeat(self.columns));
        let style = if has_keys { self.loud(Color::Cyan) } else { Style::new() };
        self.line(&text, style);
    }

    fn too_small(&mut self) {
        let v = &self.model.shot.vitals;
        let (state, style) = self.state(v.lost);
        self.line(&format!("observer {state}, lost {}", v.lost), style);
        self.line("too small for a picture", Style::new());
        self.line("make it 60 by 12 or more; q ends", Style::new());
    }

    fn state(&self, lost: u64) -> (&'static str, Style) {
        match lost {
            0 => ("complete", self.loud(Color::Green)),
            _ => ("LOSES DATAGRAMS", self.loud(Color::Red)),
        }
    }

    fn header(&mut self) {
        let (shot, p) = (&self.model.shot, &self.model.shot.progress);
        let standing = self.model.standing.as_ref();
        let ([infos, warnings, violations], lost) =
            standing.map_or((p.findings, p.lost), |s| (s.findings, s.lost));
        let waived =
            standing.filter(|s| s.has_waivers).map_or(String::new(), |s| format!("  waived {}", s.waived));
        let begin = format!("{}  ", clock(shot.gone.as_secs()));
        let found = if violations > 0 {
            format!("VIOLATIONS {violations}  warnings {warnings}{waived}")
        } else {
            format!("no violation  warnings {warnings}{waived}")
        };
        let parts = [
            format!("missing {lost}"),
            format!("streams {}", self.model.streams_seen()),
            format!("datagrams {}", count(p.lighting, 9)),
            format!("{:.0}/s", self.model.rate),
            format!("info {infos}"),
        ];
        let rest = joined(&parts, self.columns.saturating_sub(begin.len() + found.len()));
        let style = match (violations, warnings) {
            (1.., _) => self.loud(Color::Red),
            (_, 1..) => self.loud(Color::Yellow),
            _ => self.loud(Color::Green),
        };
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let mut x = 0;
        for (text, style) in [(begin, bold), (found, style), (rest, bold)] {
            self.at(x, self.y, &text, style);
            x += u16::try_from(text.len()).unwrap_or(0);
        }
        self.y += 1;
    }

    /// Three lines that nothing ever covers but the help and an event in full.
    fn health(&mut self) {
        let v = self.model.shot.vitals;
        let (state, style) = self.state(v.lost);
        self.at(9, self.y, state, style);
        let x = 9 + u16::try_from(state.len()).unwrap_or(0);
        let seen = format!("  received {}  longest loop gap {} ms", v.received, ms(v.loop_gap_max_ns));
        let sources = format!("  {}", self.model.sources.join(", "));
        self.at(x, self.y, &format!("{seen}{sources}"), Style::new());
        self.line("observer", Style::new());
        let layer = |layer: DropLayer| {
            let place = DropLayer::ALL.iter().position(|l| *l == layer);
            place.and_then(|place| v.layers.get(place)).copied().unwrap_or(0)
        };
        let [socket, ring, nic, softnet, checksum] =
            [DropLayer::Socket, DropLayer::Ring, DropLayer::Nic, DropLayer::Softnet, DropLayer::Checksum]
                .map(layer);
        // Counters may have told of drops that no datagram has announced yet.
        let open = v.lost.saturating_sub(socket + ring);
        let lost = v.lost + v.queue;
        let parts = [
            format!("lost {lost}: socket {socket} ring {ring} unplaced {open} queue {}", v.queue),
            format!("host: nic {nic} softnet {softnet}"),
            format!("checksum {checksum}"),
        ];
        let style = if lost > 0 { self.loud(Color::Red) } else { Style::new() };
        self.line(&joined(&parts, self.columns), style);
        self.waits();
    }

    fn waits(&mut self) {
        let v = &self.model.shot.vitals;
        let d = v.queue_delay;
        let (used, granted) = v.buffer;
        let full = used.saturating_mul(100).checked_div(granted).unwrap_or(0);
        let hold = match self.model.hold() {
            None => "-".to_owned(),
            Some(hold) if hold.as_secs() >= 60 => "over a minute".to_owned(),
            Some(hold) if hold.as_secs() >= 10 => format!("{} s", hold.as_secs()),
            Some(hold) => format!("{} ms", hold.as_millis()),
        };
        let [p50, p99, max] = [d.p50, d.p99, d.max].map(ms);
        let text =
            format!("  queue delay ms p50 {p50} p99 {p99} max {max}  buffer {full}% full, holds {hold}");
        self.line(&text, Style::new());
    }

    fn events(&mut self) {
        let m = self.model;
        let following = if m.chosen.is_none() { "in order of report" } else { "End follows the newest" };
        let marked = if m.marks.is_empty() { String::new() } else { format!("  {} marked *", m.marks.len()) };
        let terms = match m.terms() {
            words if words.is_empty() => words,
            words => format!("  {words}"),
        };
        self.title(&format!("events {}  {following}{marked}{terms}", m.events_seen), m.pane == Pane::Events);
        let end = self.y + u16::try_from(m.layout().event_rows).unwrap_or(0);
        let chosen = m.event_row();
        for row in m.event_rows() {
            let Some(event) = m.events.get(row) else { continue };
            self.event(event, row == chosen);
        }
        if m.events.is_empty() {
            self.line("  nothing found so far", Style::new());
        }
        self.y = end;
    }

    fn event(&mut self, event: &Noted, is_chosen: bool) {
        let has_keys = self.model.pane == Pane::Events;
        let pointer = if is_chosen && has_keys { '>' } else { ' ' };
        let mark = if self.model.is_marked(event) { '*' } else { ' ' };
        let about = if event.stream.is_empty() { String::new() } else { format!("{}: ", event.stream) };
        let waived = self.model.waived(event);
        let text = format!(
            "{pointer}{mark}{} {:<9} {} {about}{}",
            time_of_day(event.at_ns),
            if waived.is_some() { "waived" } else { event.severity.name() },
            event.code,
            event.text
        );
        let style = match event.severity {
            _ if waived.is_some() => Style::new(),
            Severity::Violation => self.loud(Color::Red),
            Severity::Warning => self.loud(Color::Yellow).remove_modifier(Modifier::BOLD),
            Severity::Info => Style::new(),
        };
        let style = if is_chosen && has_keys { style.add_modifier(Modifier::REVERSED) } else { style };
        self.line(&fit(&text, self.columns), style);
    }

    fn keys(&mut self) {
        self.y = self.buffer.area.height.saturating_sub(1);
        let m = self.model;
        if m.ending {
            return self.line("ending: what is on its way is judged; the summary follows", Style::new());
        }
        if !m.note.is_empty() {
            return self.line(&fit(&m.note, self.columns), self.loud(Color::Yellow));
        }
        let arrows = if m.look.ascii { "Up/Down" } else { "↑↓" };
        let slice = if m.no_slice.is_some() { "s slice (needs -w)" } else { "s slice" };
        let text = format!("q quit  ? help  Tab streams/events  {arrows} select  Enter event  {slice}");
        self.line(&text, Style::new().add_modifier(Modifier::DIM));
    }
}

/// Hours to milliseconds of UTC; dashes where there is no time.
pub(super) fn time_of_day(at_ns: i64) -> String {
    let text = rfc3339(at_ns, 3);
    let time = text.split_once('T').and_then(|(_, time)| time.get(..12)).filter(|_| at_ns != 0);
    time.unwrap_or("--:--:--.---").to_owned()
}

/// A count in five columns.
pub(super) fn five(n: u64) -> String {
    count(n, 5)
}
