//! What invalid arms mean for the run: repeated, or the end of it. The one place of this rule, for runner and verdict.

use std::collections::BTreeMap;
use std::fmt;

/// What becomes of the run after an invalid arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AfterInvalid {
    /// The arm is repeated right after its block.
    Repeat,
    /// Only arms of this treatment are invalid: repeating them would select.
    Cluster(String),
    /// More than the plan allows.
    TooMany,
}

impl fmt::Display for AfterInvalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Repeat => write!(f, "repeat"),
            Self::Cluster(level) => write!(f, "run invalid: losses cluster in {level}"),
            Self::TooMany => write!(f, "run invalid: too many invalid arms"),
        }
    }
}

/// Judges the invalid arms so far: treatment to number, with every treatment of the plan present.
///
/// A treatment with two or more, and all others without any, is a cluster; otherwise `limit` is the most that may be
/// repeated in all.
pub fn after_invalid(counts: &BTreeMap<String, u32>, limit: u32) -> AfterInvalid {
    let mut affected = counts.iter().filter(|(_, n)| **n > 0);
    if let (Some((level, 2..)), None) = (affected.next(), affected.next())
        && counts.len() > 1
    {
        return AfterInvalid::Cluster(level.clone());
    }
    match counts.values().map(|n| u64::from(*n)).sum::<u64>() > u64::from(limit) {
        true => AfterInvalid::TooMany,
        false => AfterInvalid::Repeat,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of the case `invalid-arms` of the worked answers: idle, raw, what becomes of the run (limit 2).
    const ROWS: [(u32, u32, &str); 4] = [
        (0, 1, "repeat"),
        (0, 2, "run invalid: losses cluster in raw"),
        (1, 1, "repeat"),
        (2, 2, "run invalid: too many invalid arms"),
    ];

    #[test]
    fn invalid_arms_are_repeated_unless_they_cluster_or_are_too_many() {
        for (idle, raw, expected) in ROWS {
            let counts = BTreeMap::from([("idle".to_owned(), idle), ("raw".to_owned(), raw)]);
            assert_eq!(after_invalid(&counts, 2).to_string(), expected, "idle {idle}, raw {raw}");
        }
    }

    #[test]
    fn a_single_treatment_has_no_other_to_cluster_against() {
        let counts = BTreeMap::from([("only".to_owned(), 2)]);
        assert_eq!(after_invalid(&counts, 2), AfterInvalid::Repeat);
        assert_eq!(after_invalid(&counts, 1), AfterInvalid::TooMany);
    }
}
