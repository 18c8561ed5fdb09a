//! What lies over the picture: the help, and an event in full. Both leave the lines of the observer's health free. Pure.

use super::draw::{Paper, time_of_day};
use super::keys::HELP;
use ratatui::style::{Modifier, Style};

/// Lines from the top that nothing covers: the header and the observer's health.
const FREE: u16 = 4;
/// Columns of the box.
const COLUMNS: usize = 76;

/// The keys, and how to read the picture.
pub(super) fn help(paper: &mut Paper<'_>) {
    let mut lines: Vec<String> = HELP.iter().map(|(key, does)| format!("{key:<16}{does}")).collect();
    lines.push(String::new());
    let reading = [
        "Streams with the most trouble come first. FPS, P50, P95 and P99: frame",
        "to frame. Frames cut by the start count. Owners: what this host lost",
        "itself is told from the device's at the end; above stands what it lost.",
    ];
    lines.extend(reading.map(str::to_owned));
    boxed(paper, "help", &lines);
}

/// The chosen event with all its words.
pub(super) fn event(paper: &mut Paper<'_>) {
    let Some(event) = paper.model.event() else { return };
    let columns = COLUMNS.min(paper.columns).saturating_sub(4);
    let mut lines = vec![format!("{} {} {}", time_of_day(event.at_ns), event.severity.name(), event.code)];
    if !event.stream.is_empty() {
        lines.push(event.stream.clone());
    }
    lines.extend(wrapped(&event.text, columns));
    if let Some(waiver) = paper.model.waived(event) {
        lines.push(format!("waived by {waiver} of the rig: it does not count to the verdict"));
    }
    if event.at_ns != 0 {
        lines.push(format!("what it means: wireproof explain {}", event.code));
    }
    boxed(paper, "Enter or Esc closes", &lines);
}

fn boxed(paper: &mut Paper<'_>, title: &str, lines: &[String]) {
    let (line, corners) =
        if paper.model.look.ascii { ("-", ["+"; 4]) } else { ("─", ["┌", "┐", "└", "┘"]) };
    let side = if paper.model.look.ascii { "|" } else { "│" };
    let columns = COLUMNS.min(paper.columns);
    let inner = columns.saturating_sub(2);
    let x = u16::try_from((paper.columns - columns) / 2).unwrap_or(0);
    let rule = |left: &str, right: &str, text: &str| {
        let rest = inner.saturating_sub(text.chars().count());
        format!("{left}{text}{}{right}", line.repeat(rest))
    };
    let room = usize::from(paper.buffer.area.height.saturating_sub(FREE + 2));
    let mut y = FREE;
    let style = Style::new();
    paper.at(x, y, &rule(corners[0], corners[1], &format!(" {title} ")), style.add_modifier(Modifier::BOLD));
    for text in lines.iter().take(room) {
        y += 1;
        let text: String = text.chars().take(inner.saturating_sub(2)).collect();
        let width = inner.saturating_sub(2);
        paper.at(x, y, &format!("{side} {text:<width$} {side}"), style);
    }
    paper.at(x, y + 1, &rule(corners[2], corners[3], ""), style);
}

/// Words in lines of at most so many columns; longer words are cut into pieces.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let pieces: Vec<char> = word.chars().collect();
        for piece in pieces.chunks(columns.max(1)) {
            let piece: String = piece.iter().collect();
            match lines.last_mut() {
                Some(last) if last.is_empty() => last.push_str(&piece),
                Some(last) if last.chars().count() + 1 + piece.chars().count() <= columns => {
                    last.push(' ');
                    last.push_str(&piece);
                }
                _ => lines.push(piece),
            }
        }
    }
    lines
}
