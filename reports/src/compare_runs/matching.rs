//! Which stream of one run is which of the other: by protocol, kind, id and Physical, then by what the sender says it is.
//!
//! An address decides only between several streams that are alike otherwise: a device that got another one is still the
//! same, and another device at the same address is not.

use super::{By, address};
use crate::summary::Stream;
use std::collections::BTreeMap;

/// Indices of a stream in both runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) before: Option<usize>,
    pub(super) after: Option<usize>,
    pub(super) by: Option<By>,
    /// True where the other run has streams of this protocol and id, none of which is known to be this one.
    pub(super) others: bool,
}

type Key<'a> = (&'a str, &'a str, u32, u8);

/// Streams of one id that are not matched yet.
#[derive(Default)]
struct Group {
    before: Vec<usize>,
    after: Vec<usize>,
}

/// Matches streams; in the order of the first run, then what only the second has.
pub(super) fn pairs(before: &[Stream], after: &[Stream]) -> Vec<Found> {
    let mut groups: BTreeMap<Key<'_>, Group> = BTreeMap::new();
    before.iter().enumerate().for_each(|(at, s)| groups.entry(key(s)).or_default().before.push(at));
    after.iter().enumerate().for_each(|(at, s)| groups.entry(key(s)).or_default().after.push(at));
    let mut found = Vec::new();
    for group in groups.into_values() {
        matched(group, before, after, &mut found);
    }
    found.sort_by_key(|one| (one.before.unwrap_or(usize::MAX), one.after));
    found
}

fn key(s: &Stream) -> Key<'_> {
    (&s.protocol, &s.kind, s.stream_id, s.part)
}

fn matched(mut group: Group, before: &[Stream], after: &[Stream], found: &mut Vec<Found>) {
    for by in [By::Sender, By::Name, By::Address] {
        let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for at in group.after.iter().rev() {
            places.entry(said(&after[*at], by)).or_default().push(*at);
        }
        group.before.retain(|old| {
            let word = said(&before[*old], by);
            let Some(list) = places.get_mut(word).filter(|_| !word.is_empty()) else { return true };
            let Some(new) = list.last().copied() else { return true };
            if by == By::Address && contradict(&before[*old], &after[new]) {
                return true;
            }
            list.pop();
            group.after.retain(|at| *at != new);
            found.push(Found { before: Some(*old), after: Some(new), by: Some(by), others: false });
            false
        });
    }
    if let ([old], [new]) = (&group.before[..], &group.after[..])
        && !contradict(&before[*old], &after[*new])
    {
        found.push(Found { before: Some(*old), after: Some(*new), by: Some(By::Id), others: false });
        return;
    }
    let (gone, new) = (!group.after.is_empty(), !group.before.is_empty());
    let left = |before, after, others| Found { before, after, by: None, others };
    found.extend(group.before.iter().map(|old| left(Some(*old), None, gone)));
    found.extend(group.after.iter().map(|at| left(None, Some(*at), new)));
}

/// What a stream says of itself; empty when it says nothing.
fn said(s: &Stream, by: By) -> &str {
    match by {
        By::Sender => s.sender.as_deref().unwrap_or_default(),
        By::Name => s.name.as_deref().unwrap_or_default(),
        By::Address => address(s),
        By::Id => "",
    }
}

/// Both say who they are, and are not the same.
fn contradict(a: &Stream, b: &Stream) -> bool {
    let differ = |by| !said(a, by).is_empty() && !said(b, by).is_empty() && said(a, by) != said(b, by);
    differ(By::Sender) || differ(By::Name)
}
