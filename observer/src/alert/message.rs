//! What an alert says, as JSON and as variables of an environment. Everything that may come from the wire is cleaned of
//! control characters and bounded in length.

use crate::live::receive::Told;
use serde::Serialize;
use wireproof_protocols::Severity;
use wireproof_reports::Summary;
use wireproof_reports::text::{clean, fit, rfc3339};

/// Name and version of the JSON.
const SCHEMA: &str = "wireproof.alert/1";
/// Longest text, characters.
const TEXT: usize = 1_000;

/// An alert.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    schema: &'static str,
    /// `finding` or `verdict`.
    alert: &'static str,
    /// Time of the finding or of the last packet, ns since 1970.
    at_ns: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'static str>,
    /// What was found, or why the verdict is what it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    violations: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<u64>,
    /// Alerts of the code, or of all for a verdict, that the rate limits held back since the last that was told.
    suppressed: u64,
}

impl Message {
    /// An alert about a finding; `anonymous` says neither where nor what.
    pub fn of_finding(told: &Told, suppressed: u64, anonymous: bool) -> Message {
        Message {
            schema: SCHEMA,
            alert: "finding",
            at_ns: told.at.0,
            code: Some(told.code),
            severity: Some(Severity::name(told.severity)),
            stream: (!anonymous && !told.stream.is_empty()).then(|| fit(&told.stream, TEXT)),
            verdict: None,
            text: (!anonymous).then(|| fit(&told.text, TEXT)),
            violations: None,
            lost: None,
            suppressed,
        }
    }

    /// The alert about the end of a run.
    pub fn of_verdict(s: &Summary, suppressed: u64, anonymous: bool) -> Message {
        Message {
            schema: SCHEMA,
            alert: "verdict",
            at_ns: s.last_ns.unwrap_or_default(),
            code: None,
            severity: None,
            stream: None,
            verdict: Some(s.verdict.name()),
            text: (!anonymous).then(|| fit(&s.reason, TEXT)),
            violations: Some(s.totals.findings.violation),
            lost: Some(s.totals.lost),
            suppressed,
        }
    }

    /// About the end of the run.
    pub(super) fn is_verdict(&self) -> bool {
        self.verdict.is_some()
    }

    /// One line of JSON.
    pub(super) fn json(&self) -> String {
        // Texts and numbers, which can always be written.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    /// The same as variables; what is not there is empty.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        let text = |value: Option<&str>| clean(value.unwrap_or_default()).into_owned();
        let number = |value: Option<u64>| value.map(|n| n.to_string()).unwrap_or_default();
        vec![
            ("WIREPROOF_ALERT", self.alert.to_owned()),
            ("WIREPROOF_AT", rfc3339(self.at_ns, 6)),
            ("WIREPROOF_CODE", text(self.code)),
            ("WIREPROOF_SEVERITY", text(self.severity)),
            ("WIREPROOF_STREAM", text(self.stream.as_deref())),
            ("WIREPROOF_VERDICT", text(self.verdict)),
            ("WIREPROOF_TEXT", text(self.text.as_deref())),
            ("WIREPROOF_VIOLATIONS", number(self.violations)),
            ("WIREPROOF_LOST", number(self.lost)),
            ("WIREPROOF_SUPPRESSED", self.suppressed.to_string()),
        ]
    }
}
