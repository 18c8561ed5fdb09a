//! The terminal itself: taken over at the start, given back on every way out, panics included.

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};
use ratatui::layout::{Position, Size};
use std::io::{self, Stderr};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// The terminal is taken over.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// The hook for panics is set once a process.
static HOOK: Once = Once::new();

/// Takes the terminal over: no echo, no lines, another screen. Standard output stays free for data.
///
/// # Errors
/// What the terminal says; it is given back then.
pub(super) fn take() -> io::Result<()> {
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            give_back();
            before(info);
        }));
    });
    enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    execute!(io::stderr(), EnterAlternateScreen, cursor::Hide).inspect_err(|_| give_back())
}

/// Gives the terminal back as it was; does nothing when it has been given back already.
pub(super) fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // The settings first: they need nobody to read what is written.
        let _ = disable_raw_mode();
        let _ = execute!(io::stderr(), LeaveAlternateScreen, Show);
    }
}

/// Gives back the terminal's settings only, when it takes no output.
pub(super) fn settings_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let _ = disable_raw_mode();
    }
}

/// Draws on standard error. It never asks the terminal where its cursor is: the question would go to standard output,
/// which may be a file.
pub(super) struct Screen(CrosstermBackend<Stderr>);

impl Screen {
    pub(super) fn new() -> Screen {
        Screen(CrosstermBackend::new(io::stderr()))
    }
}

impl Backend for Screen {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        self.0.draw(content)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.0.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.0.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.0.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.0.clear()
    }

    fn clear_region(&mut self, kind: ClearType) -> io::Result<()> {
        self.0.clear_region(kind)
    }

    fn size(&self) -> io::Result<Size> {
        self.0.size()
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        self.0.window_size()
    }

    fn flush(&mut self) -> io::Result<()> {
        Backend::flush(&mut self.0)
    }
}
