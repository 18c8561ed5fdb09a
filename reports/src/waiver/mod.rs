//! Waivers: findings that a rig's owner knows of and does not want to fail for, each with its reason, its limit and its
//! last day. A waived finding stays in the record; what the observer lost is never waived. Pure: the day is an argument.

mod apply;
mod day;
mod scope;
#[cfg(test)]
mod tests;

pub use apply::{Waived, WaiverState, reported, waive};
pub(crate) use apply::{counting, mark, open, waive_so_far, waived};
pub use day::Day;
pub use scope::{Scope, ScopeKeys};

use wireproof_protocols::registry;

/// Codes of losses, which are waived by a plain number only.
const LOSSES: [&str; 4] = ["SEQ-LOST", "SEQ-AMBIGUOUS", "FRAME-TORN", "FRAME-UNTERMINATED"];
/// Longest reason, octets.
pub const REASON_MAX: usize = 1_000;
/// Most waivers of a rig.
pub const WAIVERS_MAX: usize = 1_000;

/// A waiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiver {
    /// The one code it is for.
    pub code: &'static str,
    /// Which findings of this code.
    pub scope: Scope,
    /// How many of them at most.
    pub most: Most,
    /// Why.
    pub reason: String,
    /// The last day it applies, in UTC.
    pub expires: Day,
}

/// How many occurrences a waiver covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Most {
    /// So many in the whole run.
    InAll(u64),
    /// So many an hour of the run, rounded up.
    PerHour(u64),
}

impl Most {
    /// Occurrences in a run of this length, ns.
    fn allowed(self, span_ns: u64) -> u64 {
        const HOUR_NS: u128 = 3_600_000_000_000;
        match self {
            Most::InAll(most) => most,
            Most::PerHour(most) => {
                let allowed = (u128::from(most) * u128::from(span_ns)).div_ceil(HOUR_NS);
                u64::try_from(allowed).unwrap_or(u64::MAX)
            }
        }
    }
}

/// The rule whose findings a waiver may be for.
///
/// # Errors
/// A sentence for a code that is none, or that can never be waived.
pub fn code(text: &str) -> Result<&'static str, String> {
    let never = "a loss of the observer and INVALID are never waived, they say nothing about the device";
    // Codes are found whatever their case.
    let upper = text.to_ascii_uppercase();
    if upper.starts_with("OBS-") || upper == "INVALID" {
        return Err(never.to_owned());
    }
    if upper.starts_with("RING-") || upper == "INTEGRITY" {
        return Err("what cannot be believed (RING-, integrity) is never waived: fetch it again".to_owned());
    }
    if upper.starts_with("RIG-WAIVER-") {
        return Err("what is said about a waiver is never waived: change the waiver".to_owned());
    }
    let rule = registry::rule(text);
    rule.map(|rule| rule.code).ok_or_else(|| {
        format!("{text:?} is no code; a waiver is for one whole code, `wireproof explain` lists them")
    })
}

/// The limit of a waiver for a code.
///
/// # Errors
/// A sentence when there is none, two, or one that such a code cannot have.
pub fn most(code: &str, max: Option<u64>, max_per_hour: Option<u64>) -> Result<Most, String> {
    match (max, max_per_hour) {
        (Some(0), _) | (_, Some(0)) => Err("0 waives nothing; leave the waiver out".to_owned()),
        (Some(most), None) => Ok(Most::InAll(most)),
        (None, Some(_)) if LOSSES.contains(&code) => {
            Err("a loss is waived by a number for the whole run; give max instead of max_per_hour".to_owned())
        }
        (None, Some(most)) => Ok(Most::PerHour(most)),
        (Some(_), Some(_)) => Err("give either max or max_per_hour".to_owned()),
        (None, None) => Err("give the most it covers: max = 3, or max_per_hour = 3".to_owned()),
    }
}
