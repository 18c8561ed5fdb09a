//! Sums over a whole run: what a reader wants to know first.

use super::stream::{Frames, Owners};
use serde::{Deserialize, Serialize};
use wireproof_protocols::Severity;
use wireproof_protocols::verify::Account;

/// Sums over all streams, outputs and findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Streams.
    pub streams: u64,
    /// Outputs.
    pub outputs: u64,
    /// Frames of all outputs.
    pub frames: Frames,
    /// Datagrams lost.
    pub lost: u64,
    /// Datagrams that are proven lost.
    pub lost_min: u64,
    /// Who lost them.
    pub owners: Owners,
    /// Findings by severity.
    pub findings: Severities,
}

/// Findings by severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Severities {
    /// Violations.
    pub violation: u64,
    /// Warnings.
    pub warning: u64,
    /// The rest.
    pub info: u64,
    /// Waived ones, which are none of the others.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waived: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Totals {
    /// The sums of an account.
    pub(super) fn of(account: &Account) -> Totals {
        let mut totals = Totals {
            streams: account.streams.len() as u64,
            outputs: account.outputs.len() as u64,
            ..Totals::default()
        };
        for s in &account.streams {
            totals.lost = totals.lost.saturating_add(s.sequence.lost);
            totals.lost_min = totals.lost_min.saturating_add(s.sequence.lost_min);
            totals.owners = totals.owners.plus(Owners::from(s.owners));
        }
        for o in &account.outputs {
            totals.frames = totals.frames.plus(Frames::from(o.frames));
        }
        for f in &account.findings {
            *match f.severity {
                _ if f.waiver.is_some() => &mut totals.findings.waived,
                Severity::Violation => &mut totals.findings.violation,
                Severity::Warning => &mut totals.findings.warning,
                Severity::Info => &mut totals.findings.info,
            } += 1;
        }
        totals
    }
}

impl Owners {
    /// Both together.
    #[must_use]
    pub(crate) fn plus(self, other: Owners) -> Owners {
        Owners {
            sender: self.sender.saturating_add(other.sender),
            wire: self.wire.saturating_add(other.wire),
            observer: self.observer.saturating_add(other.observer),
            unknown: self.unknown.saturating_add(other.unknown),
        }
    }
}

impl Frames {
    fn plus(self, other: Frames) -> Frames {
        Frames {
            seen: self.seen.saturating_add(other.seen),
            complete: self.complete.saturating_add(other.complete),
            torn: self.torn.saturating_add(other.torn),
            unterminated: self.unterminated.saturating_add(other.unterminated),
        }
    }
}
