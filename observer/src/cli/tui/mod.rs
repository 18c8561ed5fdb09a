//! `observe --tui`: a full-screen view of a run that goes on, on a thread of its own.
//!
//! The thread owns the terminal. What happens comes through a queue that is only tried, so that a terminal nobody reads
//! holds up neither the receive loop nor the thread that leads the run. The picture and the keys are pure; this file
//! only feeds them.

mod chart;
mod draw;
mod keys;
mod layout;
mod model;
mod overlay;
mod screen;
mod slices;
mod table;
#[cfg(test)]
mod tests;
mod words;

pub(super) use slices::cut;

use super::failure::Failure;
use super::live_view;
use crate::live::conduct::{Event, Wanted};
use crate::live::drain::DrainStatus;
use crate::live::receive::{Told, now};
use crate::live::source::SourceInfo;
use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded};
use keys::{Action, Key, press};
use layout::Size;
use model::{Look, Mark, Model, Snapshot};
use ratatui::Terminal;
use ratatui::crossterm::event::{self, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use screen::Screen;
use std::env;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use wireproof_protocols::Severity;
use wireproof_reports::Standing;

/// Longest wait for a key between two looks at the news.
const LOOK: Duration = Duration::from_millis(50);
/// News that wait to be shown.
const NEWS: usize = 1_024;
/// How long the thread may take to give the terminal back; one that nobody reads may never take it.
const PATIENCE: Duration = Duration::from_secs(2);

enum News {
    Shot(Box<Snapshot>),
    Found(Told),
    Standing(Box<Standing>),
    Listening(SourceInfo),
    Remark(&'static str, Severity, String),
}

/// What the thread shares with the run; the receive loop has no part in it.
struct Shared {
    interrupted: Arc<AtomicBool>,
    wanted: Arc<Mutex<Wanted>>,
    marks: Mutex<Vec<Mark>>,
}

/// The view of a run.
pub(super) struct Tui {
    news: Option<Sender<News>>,
    ended: Receiver<()>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

/// How a view is started.
pub(super) struct Plan {
    /// Colours beside words.
    pub(super) color: bool,
    /// Why evidence cannot be cut out of a capture; `None` when it can.
    pub(super) no_slice: Option<&'static str>,
    /// Set when the user ends the run.
    pub(super) interrupted: Arc<AtomicBool>,
    /// Set to what is in view.
    pub(super) wanted: Arc<Mutex<Wanted>>,
}

/// Refuses what is no terminal, or one that cannot be drawn on, before anything is opened.
pub(super) fn check() -> Result<(), Failure> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        let what = "--tui needs a terminal to read keys from and to draw on";
        return Err(Failure::usage(what, "leave it out where there is none; lines are written then"));
    }
    let term = env::var("TERM").unwrap_or_default();
    if term.is_empty() || term == "dumb" {
        let what = format!("--tui cannot draw on this terminal (TERM is {term:?})");
        return Err(Failure::usage(&what, "set TERM, such as TERM=xterm, or leave --tui out"));
    }
    Ok(())
}

impl Tui {
    /// Takes the terminal over and starts the thread.
    pub(super) fn start(plan: Plan) -> Result<Tui, Failure> {
        let refused =
            |e: &io::Error| Failure::io(&format!("the terminal cannot be used ({e})"), "leave --tui out");
        // Where Ctrl-\ is no signal any more, one that somebody sends would leave the terminal as it is.
        signal_hook::flag::register(signal_hook::consts::SIGQUIT, Arc::clone(&plan.interrupted))
            .map_err(|e| refused(&e))?;
        let Plan { color, no_slice, interrupted, wanted } = plan;
        let shared = Arc::new(Shared { interrupted, wanted, marks: Mutex::default() });
        let look = Look { color, ascii: !is_utf8() };
        let (news, comes) = bounded(NEWS);
        let (end, ended) = bounded(1);
        screen::take().map_err(|e| refused(&e))?;
        let of_thread = Arc::clone(&shared);
        let body = move || {
            let outcome = watch(&comes, &of_thread, look, no_slice);
            screen::give_back();
            let _ = end.try_send(());
            outcome
        };
        let thread = thread::Builder::new().name("tui".to_owned()).spawn(body).map_err(|e| {
            screen::give_back();
            refused(&e)
        })?;
        Ok(Tui { news: Some(news), ended, shared, thread: Some(thread) })
    }

    /// Shows what happens; never waits. What does not fit is left out of the view, not of the run.
    pub(super) fn show(&mut self, event: &Event<'_>) {
        let news = match event {
            Event::Listening(info) => News::Listening((*info).clone()),
            Event::Found(told) => News::Found((*told).clone()),
            Event::Looked(_) => return,
            Event::Progress(gone, progress, vitals) => News::Shot(Box::new(Snapshot {
                gone: *gone,
                now_ns: now().0,
                progress: (*progress).clone(),
                vitals: **vitals,
            })),
            Event::Drained(span) => {
                let failed = matches!(span.status, DrainStatus::Error(_));
                let severity = if failed { Severity::Warning } else { Severity::Info };
                News::Remark("download", severity, live_view::download(span))
            }
        };
        self.tell(news);
    }

    /// What is shown from here on counts so.
    pub(super) fn stand(&mut self, standing: &Standing) {
        self.tell(News::Standing(Box::new(standing.clone())));
    }

    fn tell(&self, news: News) {
        if let Some(queue) = &self.news {
            let _ = queue.try_send(news);
        }
    }

    /// Gives the terminal back. Returns the findings that were marked, and why the view ended early if it did.
    pub(in crate::cli) fn close(mut self) -> (Vec<Mark>, Option<String>) {
        let failed = self.end();
        (std::mem::take(&mut *self.shared.marks.lock().unwrap_or_else(PoisonError::into_inner)), failed)
    }

    fn end(&mut self) -> Option<String> {
        self.news = None;
        let thread = self.thread.take()?;
        if self.ended.recv_timeout(PATIENCE).is_err() && !thread.is_finished() {
            screen::settings_back();
            return Some("the terminal takes no more output".to_owned());
        }
        match thread.join() {
            Ok(outcome) => outcome.err().map(|error| error.to_string()),
            Err(_) => Some("its thread failed".to_owned()),
        }
    }
}

impl Drop for Tui {
    fn drop(&mut self) {
        // The run could not be started.
        self.end();
    }
}

/// Shows news and takes keys until there are no more news to come.
fn watch(
    news: &Receiver<News>,
    shared: &Shared,
    look: Look,
    no_slice: Option<&'static str>,
) -> io::Result<()> {
    let mut terminal = Terminal::new(Screen::new())?;
    let size = terminal.size()?;
    let mut model = Model::new(Size { columns: size.width, lines: size.height }, look, no_slice);
    let mut is_stale = true;
    loop {
        if is_stale {
            terminal.draw(|frame| draw::draw(frame, &model))?;
            share(&model, shared);
        }
        is_stale = event::poll(LOOK)?;
        while event::poll(Duration::ZERO)? {
            react(event::read()?, &mut model, &mut terminal, shared)?;
        }
        loop {
            match news.try_recv() {
                Ok(news) => take(news, &mut model),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Ok(()),
            }
            is_stale = true;
        }
        if shared.interrupted.load(Ordering::Relaxed) && !model.ending {
            (model.ending, is_stale) = (true, true);
        }
    }
}

fn take(news: News, model: &mut Model) {
    match news {
        News::Shot(shot) => model.update(*shot),
        News::Found(told) => model.found(&told),
        News::Standing(standing) => model.stand(*standing),
        News::Remark(what, severity, text) => model.remark(what, severity, &text),
        News::Listening(info) => {
            model.listening(&info);
            info.notes.iter().for_each(|note| model.remark("notice", Severity::Info, note));
        }
    }
}

fn react(
    event: event::Event,
    model: &mut Model,
    terminal: &mut Terminal<Screen>,
    shared: &Shared,
) -> io::Result<()> {
    match event {
        event::Event::Resize(columns, lines) => {
            model.size = Size { columns, lines };
            terminal.autoresize()?;
        }
        event::Event::Key(event) if event.kind != KeyEventKind::Release => {
            match key(event).map_or(Action::Nothing, |key| press(model, key)) {
                Action::Nothing => {}
                Action::Repaint => terminal.clear()?,
                Action::End => shared.interrupted.store(true, Ordering::Relaxed),
            }
        }
        _ => {}
    }
    Ok(())
}

/// Says what is in view, so that the next picture has it, and keeps the marks where they outlive this thread.
fn share(model: &Model, shared: &Shared) {
    let mut wanted = shared.wanted.lock().unwrap_or_else(PoisonError::into_inner);
    wanted.quantiles.clear();
    wanted.quantiles.extend(model.rows().iter().copied());
    wanted.chart = (!model.order.is_empty()).then_some(model.selected);
    drop(wanted);
    shared.marks.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&model.marks);
}

/// The key without what terminals make of it; keys that nothing knows are none.
fn key(event: KeyEvent) -> Option<Key> {
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    Some(match event.code {
        KeyCode::Char('c') if control => Key::Interrupt,
        KeyCode::Char('l') if control => Key::Repaint,
        KeyCode::Char(_) if control => return None,
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Tab | KeyCode::BackTab => Key::Tab,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        _ => return None,
    })
}

/// The locale says that the terminal shows more than ASCII.
fn is_utf8() -> bool {
    let set = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default().to_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}
