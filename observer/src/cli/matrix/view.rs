//! What a person sees of a run: one line that is redrawn on a terminal, a line for each arm elsewhere. Nothing of it goes
//! to standard output.

use super::super::say;
use crate::matrix::conductor::Seen;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};
use wireproof_matrices::runner::{Progress, State};
use wireproof_reports::text::clean;

/// Time between two pictures.
const PICTURE: Duration = Duration::from_millis(250);

/// Draws on standard error.
pub(super) struct View {
    is_terminal: bool,
    quiet: bool,
    drawn: Option<Instant>,
    told: Option<(State, u32)>,
}

impl View {
    pub(super) fn new(quiet: bool) -> View {
        View { is_terminal: io::stderr().is_terminal(), quiet, drawn: None, told: None }
    }

    pub(super) fn show(&mut self, seen: &Seen<'_>) {
        if self.quiet {
            return;
        }
        if !self.is_terminal {
            return self.tell(&seen.progress);
        }
        if self.drawn.is_some_and(|drawn| drawn.elapsed() < PICTURE) {
            return;
        }
        self.drawn = Some(Instant::now());
        let line = format!("{}  {}", line(&seen.progress), wire(seen));
        let _ = write!(io::stderr(), "\r\x1b[K{}", clean(&line));
    }

    /// Ends the picture.
    pub(super) fn clear(&mut self) {
        if self.is_terminal && self.drawn.take().is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }

    /// A line when something else begins.
    fn tell(&mut self, progress: &Progress) {
        let large = matches!(
            progress.state,
            State::Preflight | State::Warmup | State::Measure | State::Restore | State::Seal
        );
        let now = (progress.state, progress.arm);
        if large && self.told != Some(now) {
            self.told = Some(now);
            say(&line(progress));
        }
    }
}

fn line(p: &Progress) -> String {
    let mut line = match &p.place {
        Some(place) => {
            format!("arm {} of {}  block {} {}  {}", p.arm, p.arms, place.block, p.treatment, p.state.word())
        }
        None => p.state.word().to_owned(),
    };
    if let Some(left) = p.state_left_ns {
        line.push_str(&format!(" {} s", left.div_ceil(1_000_000_000)));
    }
    if p.invalid > 0 {
        line.push_str(&format!("  {} invalid", p.invalid));
    }
    if p.run_left_ns > 0 {
        let seconds = p.run_left_ns.div_ceil(1_000_000_000);
        line.push_str(&format!("  at least {}:{:02} left", seconds / 60, seconds % 60));
    }
    line
}

fn wire(seen: &Seen<'_>) -> String {
    let look = seen.look;
    let rate = look.rate_uhz.map_or_else(|| "-".to_owned(), |rate| format!("{:.2}", rate as f64 / 1e6));
    format!("{rate} fps, {} missing, {} lost here", look.lost, look.observer_lost)
}
