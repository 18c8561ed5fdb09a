//! What is worth an alert: codes, a severity and everything worse, the verdict.

use std::str::FromStr;
use thiserror::Error;
use wireproof_protocols::{Severity, registry};

/// What is worth an alert.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    codes: Vec<&'static str>,
    severity: Option<Severity>,
    verdict: bool,
}

/// Why a word chooses nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is no code, no severity and not verdict: write such as violation, warning, SEQ-LOST, verdict")]
pub struct BadChoice(String);

impl Choice {
    /// The choice of several words.
    ///
    /// # Errors
    /// The first word that chooses nothing.
    pub fn of<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Choice, BadChoice> {
        let mut all = Choice::default();
        for word in words {
            let one: Choice = word.parse()?;
            all.codes.extend(one.codes);
            all.severity = [all.severity, one.severity].into_iter().flatten().min();
            all.verdict |= one.verdict;
        }
        Ok(all)
    }

    /// Whether a finding is worth one.
    pub fn wants(&self, code: &str, severity: Severity) -> bool {
        self.codes.contains(&code) || self.severity.is_some_and(|least| severity >= least)
    }

    /// Whether the verdict is.
    pub fn verdict(&self) -> bool {
        self.verdict
    }
}

impl FromStr for Choice {
    type Err = BadChoice;

    fn from_str(word: &str) -> Result<Choice, BadChoice> {
        let severities = [Severity::Info, Severity::Warning, Severity::Violation];
        let severity = severities.into_iter().find(|s| s.name() == word);
        let code = registry::rule(word).map(|rule| rule.code);
        let verdict = word == "verdict";
        if severity.is_none() && code.is_none() && !verdict {
            return Err(BadChoice(word.chars().take(40).collect()));
        }
        Ok(Choice { codes: code.into_iter().collect(), severity, verdict })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_severity_means_it_and_worse_and_a_code_itself() {
        let choice = Choice::of(["warning", "SEQ-OLD", "verdict"]).unwrap();
        assert!(choice.wants("X", Severity::Violation) && choice.wants("X", Severity::Warning));
        assert!(choice.wants("SEQ-OLD", Severity::Info) && !choice.wants("SEQ-LATE", Severity::Info));
        assert!(choice.verdict() && !Choice::of(["violation"]).unwrap().verdict());
        assert!(!Choice::of(["verdict"]).unwrap().wants("SEQ-LOST", Severity::Violation));
        assert!(Choice::of(["violation", "never"]).unwrap_err().to_string().contains("\"never\" is no code"));
    }
}
