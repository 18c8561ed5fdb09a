//! How many lines each part of the picture gets. Pure.

/// Columns and lines of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: u16,
    pub(super) lines: u16,
}

/// Least columns and lines that anything is shown in.
pub(super) const LEAST: Size = Size { columns: 60, lines: 12 };
/// Columns from which the table has everything of a stream.
const WIDE: u16 = 112;
/// Header, three lines of the observer's health, head of the table, and the keys.
const FIXED: u16 = 6;

/// Lines by part, from top to bottom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    /// Streams, the table's head not counted.
    pub(super) stream_rows: usize,
    /// The selected stream in words.
    pub(super) detail: u16,
    /// Bars, their title and axis not counted; 0 for no chart.
    pub(super) bars: u16,
    /// Events, their title not counted; 0 for none.
    pub(super) event_rows: usize,
    /// Late, duplicates, owners and ports have columns.
    pub(super) wide: bool,
}

impl Layout {
    /// The observer's health is always there; what has no room goes in this order: chart, words, events.
    pub(super) fn of(size: Size) -> Layout {
        let bars = match size.lines {
            0..=20 => 0,
            21..=29 => 3,
            _ => 6,
        };
        let detail = if size.lines >= 17 { 2 } else { 0 };
        let events: u16 = match size.lines {
            0..=15 => 2,
            16..=21 => 3,
            22..=29 => 4,
            lines => lines / 4,
        };
        let chart = if bars > 0 { bars + 1 } else { 0 };
        let rest = size.lines.saturating_sub(FIXED + detail + chart + events + 1);
        Layout {
            stream_rows: usize::from(rest),
            detail,
            bars,
            event_rows: usize::from(events),
            wide: size.columns >= WIDE,
        }
    }

    /// The terminal is too small for a picture.
    pub(super) fn is_too_small(size: Size) -> bool {
        size.columns < LEAST.columns || size.lines < LEAST.lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_fill_every_terminal_and_leave_room_for_streams() {
        for lines in LEAST.lines..120 {
            let l = Layout::of(Size { columns: 80, lines });
            let chart = if l.bars > 0 { l.bars + 1 } else { 0 };
            let events = u16::try_from(l.event_rows).unwrap() + 1;
            let streams = u16::try_from(l.stream_rows).unwrap();
            assert_eq!(FIXED + l.detail + chart + events + streams, lines, "{l:?}");
            assert!(streams >= 3, "{lines} {l:?}");
        }
    }
}
