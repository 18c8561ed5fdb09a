//! What a person sees of a run: a picture that is redrawn on a terminal, a line for each arm elsewhere. Nothing of it goes
//! to standard output.

use super::super::say;
use crate::matrix::conductor::Seen;
use rustix::termios::tcgetwinsize;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};
use wireproof_matrices::arm::Place;
use wireproof_matrices::journal::{ArmEnd, Record};
use wireproof_matrices::runner::{Progress, Schedule, State};
use wireproof_matrices::soak::rate_text;
use wireproof_reports::text::clean;

/// Time between two pictures.
const PICTURE: Duration = Duration::from_millis(250);
/// Columns of a terminal that does not say.
const COLUMNS: usize = 80;
/// Cells of the bar.
const BAR: usize = 24;

/// Draws on standard error.
pub(super) struct View {
    is_terminal: bool,
    quiet: bool,
    drawn: Option<Instant>,
    /// Lines of the picture that stands there.
    lines: usize,
    told: Option<(State, u32)>,
}

impl View {
    pub(super) fn new(quiet: bool) -> View {
        let is_dumb = std::env::var("TERM").is_ok_and(|kind| kind == "dumb");
        let is_terminal = io::stderr().is_terminal() && !is_dumb;
        View { is_terminal, quiet, drawn: None, lines: 0, told: None }
    }

    pub(super) fn show(&mut self, seen: &Seen<'_>) {
        if self.quiet {
            return;
        }
        let news: Vec<String> = seen.news.iter().filter_map(|record| news(record, seen.schedule)).collect();
        if !self.is_terminal {
            news.iter().for_each(|line| say(line));
            return self.tell(&seen.progress);
        }
        if !news.is_empty() {
            self.clear();
            news.iter().for_each(|line| say(line));
        }
        if self.drawn.is_some_and(|drawn| drawn.elapsed() < PICTURE) && news.is_empty() {
            return;
        }
        self.drawn = Some(Instant::now());
        let lines = picture(seen, columns());
        self.draw(&lines);
    }

    /// Ends the picture.
    pub(super) fn clear(&mut self) {
        if self.lines > 0 {
            let _ = write!(io::stderr(), "\x1b[{}A\r\x1b[J", self.lines);
            self.lines = 0;
        }
    }

    /// Draws over the last picture at once, so that nothing flickers.
    fn draw(&mut self, lines: &[String]) {
        let up = if self.lines > 0 { format!("\x1b[{}A\r", self.lines) } else { String::new() };
        let rows: String = lines.iter().map(|line| format!("{line}\x1b[K\n")).collect();
        let _ = io::stderr().write_all(format!("{up}{rows}\x1b[J").as_bytes());
        self.lines = lines.len();
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

/// Columns of the terminal; a picture that is wider would be broken into more lines than are taken away.
fn columns() -> usize {
    let size = tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_col));
    if size == 0 { COLUMNS } else { size }
}

fn picture(seen: &Seen<'_>, columns: usize) -> Vec<String> {
    let p = &seen.progress;
    let look = seen.look;
    let rate = look.rate_uhz.map_or_else(|| "-".to_owned(), |rate| format!("{:.2}", rate as f64 / 1e6));
    let gap = look.loop_gap_ns as f64 / 1e6;
    let hint = if p.leaving {
        "leaving: Ctrl-C again skips all waiting, once more leaves the device as it is"
    } else {
        "Ctrl-C ends the arm, puts the device back and seals what is there"
    };
    let lines = [
        line(p),
        bar(p),
        format!("next   {}", next(p, columns.saturating_sub(9))),
        format!(
            "wire   {rate} fps, {} missing, {} lost here, loop gap {gap:.1} ms",
            look.lost, look.observer_lost
        ),
        format!(
            "so far {} late frames, {} datagrams missing, {} arms invalid",
            seen.late_frames, seen.missing, p.invalid
        ),
        hint.to_owned(),
    ];
    // The last column stays free: some terminals break a line there already.
    lines.iter().map(|line| clean(line).chars().take(columns.saturating_sub(1)).collect()).collect()
}

fn bar(p: &Progress) -> String {
    if let Some(soak) = &p.soak {
        let full = (BAR as u64 * soak.trials.min(soak.needed) / soak.needed.max(1)) as usize;
        return format!(
            "[{}{}] {} windows are over",
            "#".repeat(full),
            "-".repeat(BAR - full),
            p.arm.saturating_sub(1)
        );
    }
    let going = u32::from(p.place.is_some());
    let over = p.arm.saturating_sub(going).min(p.arms);
    let full = if p.arms == 0 { 0 } else { BAR * over as usize / p.arms as usize };
    format!("[{}{}] {over} of {} arms are over", "#".repeat(full), "-".repeat(BAR - full), p.arms)
}

/// The arms that come next, block by block, as many as fit.
fn next(p: &Progress, room: usize) -> String {
    let mut text = String::new();
    let mut block =
        p.place.as_ref().map_or_else(|| p.next.first().map(|(of, _)| *of), |place| Some(place.block));
    for (of, treatment) in &p.next {
        let sign = if block == Some(*of) { " " } else { " | " };
        if text.chars().count() + sign.len() + treatment.chars().count() > room {
            text.push_str(" …");
            break;
        }
        text.push_str(sign);
        text.push_str(treatment);
        block = Some(*of);
    }
    if text.is_empty() { "-".to_owned() } else { text.trim_start().to_owned() }
}

/// A record as a line that stays.
fn news(record: &Record, schedule: &Schedule) -> Option<String> {
    let named = |place: &Place| {
        let again = if place.attempt > 1 { format!(", attempt {}", place.attempt) } else { String::new() };
        format!("block {} {}{again}", place.block, schedule.name(place.treatment))
    };
    match record {
        Record::ArmEnd { arm, state, reasons, .. } => {
            let word = match state {
                ArmEnd::Ok => return None,
                ArmEnd::Invalid => "INVALID",
                ArmEnd::Interrupted => "interrupted",
            };
            let why = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join(", ")) };
            Some(format!("{} {word}{why}", named(arm)))
        }
        Record::Finding { severity, arm, code, text } => {
            let place = arm.as_ref().map_or(String::new(), |arm| format!(" ({})", named(arm)));
            Some(format!("{severity} {code}{place}: {text}"))
        }
        _ => None,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::wire::Look;
    use wireproof_matrices::order::order;
    use wireproof_matrices::plan::{Plan, Template};

    fn place(block: u32, attempt: u32) -> Place {
        Place { stratum: 0, block, position: 1, treatment: 1, attempt }
    }

    fn progress(columns: &str) -> Progress {
        Progress {
            state: State::Measure,
            arm: 5,
            arms: 20,
            place: Some(place(3, 1)),
            treatment: columns.to_owned(),
            state_left_ns: Some(10_200_000_000),
            run_left_ns: 252_000_000_000,
            invalid: 1,
            next: [(3, "idle"), (4, "raw"), (4, "idle"), (5, "idle")].map(|(b, t)| (b, t.to_owned())).into(),
            leaving: false,
            soak: None,
        }
    }

    fn schedule() -> Schedule {
        Schedule::from(&order(&Plan::read(Template::find("drain").unwrap().text).unwrap()))
    }

    #[test]
    fn a_picture_fits_eighty_columns_and_says_order_countdown_and_losses() {
        let look = Look { rate_uhz: Some(59_998_000), lost: 7, observer_lost: 7, ..Look::default() };
        let of = |progress: Progress, columns| {
            let schedule = schedule();
            let seen =
                Seen { progress, look: &look, news: &[], late_frames: 3, missing: 0, schedule: &schedule };
            picture(&seen, columns)
        };
        let rows = of(progress("raw"), 80);
        assert_eq!(rows[0], "arm 5 of 20  block 3 raw  measure 11 s  1 invalid  at least 4:12 left");
        assert_eq!(rows[1], "[####--------------------] 4 of 20 arms are over");
        assert_eq!(rows[2], "next   idle | raw idle | idle");
        assert_eq!(rows[3], "wire   60.00 fps, 7 missing, 7 lost here, loop gap 0.0 ms");
        assert_eq!(rows[4], "so far 3 late frames, 0 datagrams missing, 1 arms invalid");
        let wide = of(Progress { leaving: true, ..progress(&"wide=yes,".repeat(40)) }, 60);
        assert!(wide.iter().all(|row| row.chars().count() < 60 && !row.contains('\u{1b}')), "{wide:?}");
        assert!(wide[5].starts_with("leaving: "), "{wide:?}");
        let narrow = of(progress("raw"), 24);
        assert_eq!(narrow[2], "next   idle | raw …", "a name is shown whole or not at all");
    }

    #[test]
    fn an_arm_that_ended_badly_and_what_was_found_stay_as_lines() {
        let end = |state, reasons: &[&str]| Record::ArmEnd {
            arm: place(2, 2),
            state,
            reasons: reasons.iter().map(|&reason| reason.to_owned()).collect(),
            files: std::collections::BTreeMap::new(),
        };
        let schedule = schedule();
        let said = |record: &Record| news(record, &schedule);
        assert_eq!(said(&end(ArmEnd::Ok, &[])), None);
        let invalid = said(&end(ArmEnd::Invalid, &["observer_lost", "too_few_frames"])).unwrap();
        assert_eq!(invalid, "block 2 raw, attempt 2 INVALID: observer_lost, too_few_frames");
        let found = Record::Finding {
            severity: "warning".to_owned(),
            arm: Some(place(2, 1)),
            code: "tap_dropped".to_owned(),
            text: "the tap lost 3".to_owned(),
        };
        assert_eq!(said(&found).unwrap(), "warning tap_dropped (block 2 raw): the tap lost 3");
    }
    #[test]
    fn a_bound_is_shown_with_two_digits_and_never_too_small() {
        let shown = [1, 12, 123, 9_951, 1_000_000_000].map(bound);
        assert_eq!(shown, ["1e-9", "1.2e-8", "1.3e-7", "1e-5", "1e0"]);
    }
}
