//! Rules: what can be wrong, how bad it is, and where that is written.

/// How bad a finding is. Ordered: `Info < Warning < Violation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing, nothing wrong.
    Info,
    /// Against a recommendation, or harmful to some receivers.
    Warning,
    /// Against a "shall" of the protocol, or a proven loss.
    Violation,
}

impl Severity {
    /// The word used in every output format.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Violation => "violation",
        }
    }
}

/// Which part of the engine a rule belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Octets of one datagram against the layout. A violation or warning here makes a datagram not well-formed.
    Shape,
    /// A habit that receivers tolerate (ignored bits, odd data types); never decides well-formedness.
    Habit,
    /// Rules that need more than one datagram: sequence, frames, time, sources, the observer, the capture.
    Stream,
}

/// One entry of a rule catalogue; `wireproof explain CODE` prints it.
#[derive(Debug)]
pub struct Rule {
    /// `SACN-S17`, `DDP-D04`, `SEQ-LOST` …
    pub code: &'static str,
    /// The usual severity; a single finding may carry a lower or higher one where the reference says so.
    pub severity: Severity,
    /// Which part of the engine checks it.
    pub layer: Layer,
    /// The rule as one sentence.
    pub title: &'static str,
    /// Edition of the text, e.g. `ANSI E1.31-2018`.
    pub edition: &'static str,
    /// Clause, section or page.
    pub clause: &'static str,
    /// What it means for the lights when broken.
    pub meaning: &'static str,
    /// What to do about it.
    pub advice: &'static str,
    /// Example octets or an example situation.
    pub example: &'static str,
    /// Products known for it, each with its public source.
    pub known: &'static [&'static str],
}

impl PartialEq for Rule {
    fn eq(&self, other: &Rule) -> bool {
        self.code == other.code
    }
}

impl Eq for Rule {}
