//! What keys do, as a state machine: a key and the model in, the model changed. Pure.

use super::model::{Model, Overlay, Pane};

/// A key, whatever the terminal calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Tab,
    Enter,
    Escape,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-L.
    Repaint,
}

/// What the shell has to do about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Nothing,
    /// End the run and judge it.
    End,
    /// Draw everything anew.
    Repaint,
}

/// The keys, as the help lists them.
pub(super) const HELP: &[(&str, &str)] = &[
    ("q, Ctrl-C", "end the run and judge it; the summary follows"),
    ("Tab", "go from the streams to the events and back"),
    ("Up Down j k", "select a stream, or choose an event"),
    ("PgUp PgDn g G", "a page up or down; first, last (events: follow)"),
    ("Enter", "the chosen event in full"),
    ("s", "mark the chosen finding: its evidence is cut out of"),
    ("", "the capture (-w FILE) when the run ends; s again: not"),
    ("Ctrl-L", "draw everything anew"),
    ("?, Esc", "this help, and away with it"),
];

/// Does what a key is for.
pub(super) fn press(model: &mut Model, key: Key) -> Action {
    model.note.clear();
    match key {
        Key::Interrupt | Key::Char('q') => {
            model.ending = true;
            return Action::End;
        }
        Key::Repaint => return Action::Repaint,
        Key::Escape if model.overlay != Overlay::Nothing => model.overlay = Overlay::Nothing,
        Key::Char('?' | 'h') => model.overlay = toggled(model.overlay, Overlay::Help),
        Key::Enter if model.event().is_some() => model.overlay = toggled(model.overlay, Overlay::Event),
        Key::Char('s') => model.mark(),
        Key::Tab => {
            model.pane = if model.pane == Pane::Streams { Pane::Events } else { Pane::Streams };
        }
        _ => moved(model, key),
    }
    Action::Nothing
}

fn toggled(is: Overlay, wanted: Overlay) -> Overlay {
    if is == wanted { Overlay::Nothing } else { wanted }
}

fn moved(model: &mut Model, key: Key) {
    let layout = model.layout();
    let (row, len, page) = match model.pane {
        Pane::Streams => (model.row(), model.order.len(), layout.stream_rows),
        Pane::Events => (model.event_row(), model.events.len(), layout.event_rows),
    };
    let last = len.saturating_sub(1);
    let to = match key {
        Key::Up | Key::Char('k') => row.saturating_sub(1),
        Key::Down | Key::Char('j') => row + 1,
        Key::PageUp => row.saturating_sub(page.max(1)),
        Key::PageDown => row + page.max(1),
        Key::Home | Key::Char('g') => 0,
        Key::End | Key::Char('G') => last,
        _ => return,
    };
    let to = to.min(last);
    match model.pane {
        Pane::Streams => model.selected = model.order.get(to).copied().unwrap_or(0),
        // At the end of the list the newest event is followed.
        Pane::Events => model.chosen = model.events.get(to).filter(|_| to < last).map(|event| event.serial),
    }
}
