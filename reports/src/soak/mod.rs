//! A soak of an observed network (`wireproof.soak/1`): windows of observation, one after another, until a failure was shown
//! to be rarer than a rate, or happened. The counting is the soak machine's; here its result is a record and a sheet.

use crate::json::Safe;
use crate::sheet::{Align, Grid, Part, Sheet};
use crate::summary::Summary;
use crate::text::{rfc3339, seconds};
use crate::{Format, RenderError, Style, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::ser::Serializer;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use wireproof_matrices::compare::{DASH, thousands};
use wireproof_matrices::soak::{Chunk, Soak, rate_text};
use wireproof_matrices::verdict::Outcome;

/// Name and version of the record.
pub const SCHEMA: &str = "wireproof.soak/1";
/// What is counted, in the soak machine's words.
pub const METRIC: &str = "violations";
/// Windows that were not clean and are listed; the counts have all of them.
pub const ODD_MAX: usize = 100;
/// Streams that are expected again in the next window.
const EXPECTED_MAX: usize = 65_536;
/// Kinds of findings that are counted.
const CODES_MAX: usize = 1_024;

/// A soak.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SoakReport {
    /// [`SCHEMA`].
    pub schema: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, one sentence.
    pub reason: String,
    /// Rate to stay below, parts per billion of frames.
    pub rate_ppb: u64,
    /// One-sided error of the bound, ppm.
    pub alpha_ppm: u64,
    /// Clean frames that are needed.
    pub needed: u64,
    /// Frames that count.
    pub trials: u64,
    /// Bursts of losses and other violations.
    pub events: u64,
    /// Windows in which it cannot be told whether something failed.
    pub ambiguous: u64,
    /// Upper bound of the rate, parts per billion, rounded up.
    pub upper_ppb: u64,
    /// The same as one in so many frames, rounded down.
    pub one_in: u64,
    /// Two-sided interval of the rate (Clopper-Pearson), parts per billion, rounded outwards.
    pub interval_ppb: [u64; 2],
    /// Windows that ended.
    pub windows: u64,
    /// Of them, those that do not count.
    pub invalid: u64,
    /// Length of a window, ns.
    pub window_ns: u64,
    /// Time that was observed, ns.
    pub observed_ns: u64,
    /// How often the soak was taken up.
    pub runs: u64,
    /// First capture time, ns since 1970.
    pub first_ns: Option<i64>,
    /// Last capture time, ns since 1970.
    pub last_ns: Option<i64>,
    /// Windows that were not clean, the last [`ODD_MAX`] of them.
    pub odd: Vec<OddWindow>,
    /// Findings of all windows by code, `FRAME-FROZEN` and so on, with how often each occurred.
    pub findings: BTreeMap<String, u64>,
    /// Windows whose evidence lies in the folder whole.
    pub kept: Vec<u64>,
    /// What it does not show, one sentence each.
    pub limits: Vec<String>,
}

/// A window that was not clean.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OddWindow {
    /// Its number, from 1.
    pub window: u64,
    /// Its first capture time, ns since 1970; null when nothing was seen.
    pub first_ns: Option<i64>,
    /// What it amounts to by itself.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
}

/// What is remembered beside the machine's own state from one window to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Streams that the next window should have, too.
    pub expected: BTreeSet<String>,
    /// As in the record.
    pub odd: Vec<OddWindow>,
    /// As in the record.
    pub findings: BTreeMap<String, u64>,
    /// As in the record.
    pub first_ns: Option<i64>,
    /// As in the record.
    pub last_ns: Option<i64>,
    /// As in the record.
    pub observed_ns: u64,
}

/// A window, read for the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// What it counts.
    pub chunk: Chunk,
    /// What it amounts to.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
}

impl Memory {
    /// Reads a window and remembers what the next one is held to. `number` is the window's, from 1.
    ///
    /// A window that fails has an event for each burst of losses, at least one; one in which the observer lost something
    /// does not count, and a loss of somebody else's in it cannot be told; a stream that an earlier window had, and that
    /// took no leave, cannot be told either. Trials are the frames of all outputs.
    pub fn read(&mut self, number: u64, summary: &Summary) -> Window {
        let mut window = Window {
            chunk: Chunk { trials: trials(summary), length_ns: summary.span_ns, ..Chunk::default() },
            verdict: summary.verdict(),
            reason: summary.reason.clone(),
        };
        match window.verdict {
            Verdict::Fail => window.chunk.events = bursts(summary).max(1),
            Verdict::Inconclusive => window.chunk.ambiguous = 1,
            Verdict::Invalid => {
                window.chunk.invalid = vec!["observer_lost".to_owned()];
                let own = summary.totals.owners.observer;
                window.chunk.ambiguous = u64::from(summary.totals.lost > own);
            }
            Verdict::Partial | Verdict::Pass => {}
        }
        self.recognise(summary, &mut window);
        if window.chunk.trials == 0 && window.chunk.ambiguous == 0 {
            window.verdict = Verdict::Invalid;
            "nothing was seen".clone_into(&mut window.reason);
            window.chunk.invalid.push("nothing_seen".to_owned());
        }
        self.note(number, summary, &window);
        window
    }

    fn recognise(&mut self, summary: &Summary, window: &mut Window) {
        let here: BTreeSet<String> = outputs(summary).map(|(name, _)| name).collect();
        let gone: Vec<&String> = self.expected.difference(&here).collect();
        if let [first, more @ ..] = gone.as_slice() {
            let rest = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
            let text = format!("{first}{rest} of an earlier window is not there and took no leave");
            if window.verdict == Verdict::Pass {
                (window.verdict, window.reason) = (Verdict::Inconclusive, text);
            }
            window.chunk.ambiguous = window.chunk.ambiguous.max(1);
        }
        let staying = outputs(summary).filter(|(_, ended)| *ended != "terminated");
        self.expected = staying.map(|(name, _)| name).take(EXPECTED_MAX).collect();
    }

    fn note(&mut self, number: u64, summary: &Summary, window: &Window) {
        self.observed_ns = self.observed_ns.saturating_add(summary.span_ns);
        self.first_ns = self.first_ns.or(summary.first_ns);
        self.last_ns = summary.last_ns.or(self.last_ns);
        for finding in &summary.findings {
            if self.findings.len() < CODES_MAX || self.findings.contains_key(&finding.code) {
                let count = self.findings.entry(finding.code.clone()).or_default();
                *count = count.saturating_add(finding.count);
            }
        }
        if window.verdict != Verdict::Pass {
            let (verdict, reason) = (window.verdict, window.reason.clone());
            self.odd.push(OddWindow { window: number, first_ns: summary.first_ns, verdict, reason });
            let surplus = self.odd.len().saturating_sub(ODD_MAX);
            self.odd.drain(..surplus);
        }
    }
}

/// Streams of outputs with how they ended: what comes back every frame.
fn outputs(summary: &Summary) -> impl Iterator<Item = (String, &str)> {
    let of_outputs = summary.streams.iter().filter(|stream| stream.output.is_some());
    of_outputs
        .map(|s| (format!("{}/{} {} of {}", s.protocol, s.kind, s.stream_id, s.source), s.ended.as_str()))
}

fn trials(summary: &Summary) -> u64 {
    summary.outputs.iter().map(|output| output.frames.seen).fold(0, u64::saturating_add)
}

/// Places where something is missing, and violations that are no loss.
fn bursts(summary: &Summary) -> u64 {
    let gaps = summary.streams.iter().filter(|s| s.sequence.lost > 0).map(|s| s.sequence.gaps.max(1));
    let other = |code: &str| !code.starts_with("SEQ-") && !code.starts_with("FRAME-");
    let rest = summary.findings.iter().filter(|f| f.severity == "violation" && other(&f.code));
    gaps.chain(rest.map(|_| 1)).fold(0, u64::saturating_add)
}

impl SoakReport {
    /// The formats of a soak, in the order of the help text.
    pub const FORMATS: [Format; 4] = [Format::Table, Format::Json, Format::Markdown, Format::Html];

    /// The record of a soak as it stands.
    pub fn of(soak: &Soak, memory: &Memory, window_ns: u64, runs: u64) -> SoakReport {
        let (state, says) = (soak.state(), soak.verdict());
        let last = memory.odd.last().filter(|_| says.outcome != Outcome::Pass && state.ended.is_some());
        let why = last.map(|odd| format!("; window {}: {}", odd.window, odd.reason)).unwrap_or_default();
        SoakReport {
            schema: SCHEMA.to_owned(),
            verdict: verdict(says.outcome),
            reason: format!("{}{why}", soak.sentence()),
            rate_ppb: state.rule.rate_ppb,
            alpha_ppm: state.rule.alpha_ppm,
            needed: says.needed,
            trials: says.trials,
            events: says.events,
            ambiguous: state.ambiguous,
            upper_ppb: says.upper_ppb,
            one_in: says.one_in,
            interval_ppb: says.interval_ppb,
            windows: state.chunks,
            invalid: state.invalid,
            window_ns,
            observed_ns: memory.observed_ns,
            runs,
            first_ns: memory.first_ns,
            last_ns: memory.last_ns,
            odd: memory.odd.clone(),
            findings: memory.findings.clone(),
            kept: state.kept.iter().map(|kept| kept.chunk).collect(),
            limits: LIMITS.map(str::to_owned).to_vec(),
        }
    }

    /// Writes the record; the octets depend on the arguments alone.
    ///
    /// # Errors
    /// [`RenderError::Write`] when the writer fails, [`RenderError::Encode`] for a format that a soak has not.
    pub fn render(&self, format: Format, style: Style, out: &mut dyn Write) -> Result<(), RenderError> {
        if let Some(written) = self.sheet().render(format, style, out) {
            return written;
        }
        if format != Format::Json {
            return Err(format.missing("a soak"));
        }
        self.serialize(&mut Serializer::with_formatter(&mut *out, Safe::shortest()))?;
        Ok(out.write_all(b"\n")?)
    }

    fn sheet(&self) -> Sheet {
        let when = |ns: Option<i64>| ns.map_or_else(|| DASH.to_owned(), |ns| rfc3339(ns, 3));
        let sure = format!("{} %", 100.0 - self.alpha_ppm as f64 / 10_000.0);
        let runs = if self.runs == 1 { "one run".to_owned() } else { format!("{} runs", self.runs) };
        let each = self.window_ns as f64 / 1e9;
        let kept = self.kept.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let facts = Grid::facts([
            ("asked", format!("below {} of frames with {sure}", rate_text(self.rate_ppb))),
            (
                "frames",
                format!("{} of {} needed", thousands(self.trials.into()), thousands(self.needed.into())),
            ),
            ("failed", thousands(self.events.into())),
            self.shown(&sure),
            ("windows", format!("{} of {each} s, {} do not count", self.windows, self.invalid)),
            ("observed", format!("{} s in {}", seconds(self.observed_ns), runs)),
            ("from", when(self.first_ns)),
            ("to", when(self.last_ns)),
            ("evidence", if kept.is_empty() { "none kept".to_owned() } else { format!("windows {kept}") }),
        ]);
        let parts = vec![
            Part::default().text(self.reason.clone()).grid(facts),
            Part::new("windows that were not clean").grid(self.odd_grid()),
            Part::new("findings of all windows").grid(self.findings_grid()),
            Part::new("what this does not show").list(self.limits.iter().cloned()),
        ];
        Sheet { word: self.verdict.word().to_owned(), title: "soak".to_owned(), parts }
    }

    /// What is shown of the rate: one bound as long as nothing failed, else the interval that the reason tells.
    fn shown(&self, sure: &str) -> (&'static str, String) {
        match (self.events, self.interval_ppb.map(rate_text)) {
            (0, _) => ("bound", format!("at most 1 in {} ({sure})", thousands(self.one_in.into()))),
            (_, [low, high]) => ("rate", format!("{low} to {high} ({sure}, both bounds)")),
        }
    }

    fn odd_grid(&self) -> Grid {
        let row = |odd: &OddWindow| {
            let at = odd.first_ns.map_or_else(|| DASH.to_owned(), |ns| rfc3339(ns, 3));
            vec![odd.window.to_string(), at, odd.verdict.word().to_owned(), odd.reason.clone()]
        };
        let columns =
            [("window", Align::Right), ("from", Align::Left), ("verdict", Align::Left), ("why", Align::Left)];
        Grid { columns: named(&columns), rows: self.odd.iter().map(row).collect(), spare: vec![1] }
    }

    fn findings_grid(&self) -> Grid {
        let row = |(code, count): (&String, &u64)| vec![code.clone(), thousands((*count).into())];
        let columns = named(&[("code", Align::Left), ("times", Align::Right)]);
        Grid { columns, rows: self.findings.iter().map(row).collect(), spare: Vec::new() }
    }
}

const LIMITS: [&str; 3] = [
    "Nothing is observed between two windows: the sources are opened anew.",
    "A burst is one event, and frames of one moment are not independent: the bound is that of frames, not of datagrams.",
    "A loss at the very edge of a window cannot be told from where the window was cut (counted as edge, never as an event).",
];

fn named(columns: &[(&str, Align)]) -> Vec<(String, Align)> {
    columns.iter().map(|(name, align)| ((*name).to_owned(), *align)).collect()
}

fn verdict(outcome: Outcome) -> Verdict {
    match outcome {
        Outcome::Pass => Verdict::Pass,
        Outcome::Fail => Verdict::Fail,
        Outcome::Inconclusive => Verdict::Inconclusive,
        Outcome::Partial => Verdict::Partial,
        Outcome::Invalid => Verdict::Invalid,
    }
}

#[cfg(test)]
mod tests;
