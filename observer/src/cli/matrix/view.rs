//! What a person sees of a run: one line that is redrawn on a terminal, a line for each arm elsewhere. Nothing of it goes
//! to standard output.

use super::super::say;
use crate::matrix::conductor::Seen;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};
use wireproof_matrices::runner::{Progress, State};
use wireproof_matrices::soak::rate_text;
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
        Some(_) if p.soak.is_some() => format!("window {}  {}", p.arm, p.state.word()),
        Some(place) => {
            format!("arm {} of {}  block {} {}  {}", p.arm, p.arms, place.block, p.treatment, p.state.word())
        }
        None => p.state.word().to_owned(),
    };
    if let Some(left) = p.state_left_ns {
        line.push_str(&format!(" {} s", left.div_ceil(1_000_000_000)));
    }
    if let Some(soak) = &p.soak {
        line.push_str(&format!(
            "  {} of {} frames, bound {} so far",
            soak.trials,
            soak.needed,
            bound(soak.upper_ppb)
        ));
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

/// A bound with two digits, rounded up.
fn bound(ppb: u64) -> String {
    let tens = 10_u64.pow(ppb.max(1).ilog10().saturating_sub(1));
    rate_text(ppb.div_ceil(tens).saturating_mul(tens))
}

fn wire(seen: &Seen<'_>) -> String {
    let look = seen.look;
    let rate = look.rate_uhz.map_or_else(|| "-".to_owned(), |rate| format!("{:.2}", rate as f64 / 1e6));
    format!("{rate} fps, {} missing, {} lost here", look.lost, look.observer_lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_shown_with_two_digits_and_never_too_small() {
        let shown = [1, 12, 123, 9_951, 1_000_000_000].map(bound);
        assert_eq!(shown, ["1e-9", "1.2e-8", "1.3e-7", "1e-5", "1e0"]);
    }
}
