//! Short questions to an account.

use wireproof_protocols::verify::{Account, Finding, StreamAccount};

pub(crate) fn found<'a>(a: &'a Account, code: &str) -> Vec<&'a Finding> {
    a.findings.iter().filter(|f| f.code == code).collect()
}

pub(crate) fn has(a: &Account, code: &str) -> bool {
    !found(a, code).is_empty()
}

pub(crate) fn only(a: &Account) -> &StreamAccount {
    assert_eq!(a.streams.len(), 1, "{:?}", a.streams);
    &a.streams[0]
}

/// (lost, lost_min, late, old, duplicates) of the only stream.
pub(crate) fn sequence(a: &Account) -> (u64, u64, u64, u64, u64) {
    let s = &only(a).sequence;
    (s.lost, s.lost_min, s.late, s.old, s.duplicates)
}

/// True when a limit of the account holds these words.
pub(crate) fn says(a: &Account, words: &str) -> bool {
    a.limits.iter().any(|l| l.contains(words))
}
