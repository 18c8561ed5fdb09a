//! Findings alike: many of one code, severity and taint are told as one entry.

use crate::summary::{Finding, Owners, Summary};

/// From so many findings of one code and severity on they are folded.
pub(crate) const FOLD: usize = 4;
/// Occurrences named in a folded entry.
pub(crate) const NAMED: usize = 3;
/// Runs of neighbouring streams that are named.
const RUNS: usize = 6;

/// Findings of one code, severity, taint and waiver together, each group where its worst stands, in order of id inside.
pub(crate) fn grouped(s: &Summary) -> Vec<Vec<&Finding>> {
    let mut groups: Vec<Vec<&Finding>> = Vec::new();
    for f in s.worst_first() {
        let alike = |g: &&mut Vec<&Finding>| {
            g.first().is_some_and(|h| {
                (&h.code, &h.severity, h.tainted, h.waiver) == (&f.code, &f.severity, f.tainted, f.waiver)
            })
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(f),
            None => groups.push(vec![f]),
        }
    }
    groups.iter_mut().filter(|g| g.len() >= FOLD).for_each(|g| g.sort_by(|a, b| a.id.cmp(&b.id)));
    groups
}

/// Occurrences in all of them.
pub(crate) fn count(group: &[&Finding]) -> u64 {
    group.iter().map(|f| f.count).fold(0, u64::saturating_add)
}

/// True when all say the same.
pub(crate) fn alike(group: &[&Finding]) -> bool {
    let said = |f: &&Finding| (f.text.clone(), f.expected.clone(), f.got.clone(), f.offset);
    group.windows(2).all(|pair| matches!(pair, [a, b] if said(a) == said(b)))
}

/// How many streams and which: `0-3, 7`, nothing when they are scattered.
pub(crate) fn streams(group: &[&Finding]) -> (usize, String) {
    let mut list: Vec<usize> = group.iter().filter_map(|f| f.stream).collect();
    list.sort_unstable();
    list.dedup();
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for n in &list {
        match runs.last_mut() {
            Some((_, end)) if end.checked_add(1) == Some(*n) => *end = *n,
            _ => runs.push((*n, *n)),
        }
    }
    let run = |(a, b): &(usize, usize)| if a == b { a.to_string() } else { format!("{a}-{b}") };
    let scattered = runs.len() > RUNS;
    let named = if scattered { Vec::new() } else { runs.iter().map(run).collect() };
    (list.len(), named.join(", "))
}

/// The owners of all their losses.
pub(crate) fn sum(group: &[&Finding]) -> Option<Owners> {
    group.iter().filter_map(|f| f.owners).reduce(|a, b| Owners {
        sender: a.sender.saturating_add(b.sender),
        wire: a.wire.saturating_add(b.wire),
        observer: a.observer.saturating_add(b.observer),
        unknown: a.unknown.saturating_add(b.unknown),
    })
}

/// The owners of a loss that have a share in it, the largest first.
pub(crate) fn shares(owners: Option<Owners>) -> Option<String> {
    let o = owners?;
    let mut shares =
        vec![(o.sender, "sender"), (o.wire, "wire"), (o.observer, "observer"), (o.unknown, "unknown")];
    shares.retain(|(n, _)| *n > 0);
    shares.sort_by_key(|(n, _)| std::cmp::Reverse(*n));
    let words: Vec<String> = shares.iter().map(|(n, name)| format!("{name} {n}")).collect();
    (!words.is_empty()).then(|| words.join(", "))
}
