//! Findings alike as one event of a page: the worst first, bounded. Chooses; draws nothing.

use super::choice::{cost, severity};
use crate::groups::FOLD;
use crate::summary::{Finding, Summary};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Events of a page.
const ROWS: usize = 100;
/// Single findings listed below an event, and below all of them.
const LISTED_EACH: usize = 100;
const LISTED: usize = 300;
/// More streams than this that have a group of their own are one group.
const STREAMS: usize = 6;

/// A finding, or several alike.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// Index of the worst.
    pub(super) worst: usize,
    /// All of them, in order of first occurrence.
    pub(super) all: Vec<usize>,
    /// Those that are listed one by one: the worst, in order of first occurrence; none of a finding that stands alone.
    pub(super) listed: Vec<usize>,
}

/// The events of a run, the worst first.
pub(super) fn events(s: &Summary) -> Vec<Event> {
    let mut kinds: BTreeMap<(&str, &str, bool), Vec<usize>> = BTreeMap::new();
    for (at, f) in s.findings.iter().enumerate() {
        kinds.entry((&f.code, &f.severity, f.tainted)).or_default().push(at);
    }
    let mut events: Vec<Event> = kinds.into_values().flat_map(|kind| split(s, kind)).map(event(s)).collect();
    events.sort_by_key(|event| weight(s, event));
    events.truncate(ROWS);
    let mut left = LISTED;
    for event in events.iter_mut().filter(|event| event.all.len() > 1) {
        event.listed = listed(s, &event.all, left.min(LISTED_EACH));
        left -= event.listed.len();
    }
    events
}

/// Findings of one kind: few stand alone, many of one stream are a group, and so are many over the streams.
fn split(s: &Summary, kind: Vec<usize>) -> Vec<Vec<usize>> {
    let alone = |all: Vec<usize>| all.into_iter().map(|at| vec![at]).collect();
    if kind.len() < FOLD {
        return alone(kind);
    }
    let mut by_stream: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for at in &kind {
        by_stream.entry(s.findings[*at].stream).or_default().push(*at);
    }
    let (mut groups, rest): (Vec<_>, Vec<_>) = by_stream.into_values().partition(|of| of.len() >= FOLD);
    if !(1..=STREAMS).contains(&groups.len()) {
        return vec![kind];
    }
    let mut rest: Vec<usize> = rest.into_iter().flatten().collect();
    rest.sort_unstable();
    groups.extend(if rest.len() < FOLD { alone(rest) } else { vec![rest] });
    groups
}

fn event(s: &Summary) -> impl Fn(Vec<usize>) -> Event {
    |all| {
        let worst = all.iter().copied().min_by_key(|at| badness(&s.findings[*at])).unwrap_or_default();
        Event { worst, all, listed: Vec::new() }
    }
}

/// Worse findings come first: by the frames they cost, then by how often they were.
fn badness(f: &Finding) -> (Reverse<u64>, Reverse<u64>, i64) {
    (Reverse(cost(f)), Reverse(f.count), f.first_ns)
}

/// The worst of them, in order of first occurrence.
fn listed(s: &Summary, all: &[usize], most: usize) -> Vec<usize> {
    let mut listed = all.to_vec();
    listed.sort_by_key(|at| badness(&s.findings[*at]));
    listed.truncate(most);
    listed.sort_unstable();
    listed
}

/// What an event is sorted by.
fn weight(s: &Summary, event: &Event) -> (Reverse<u64>, u8, bool, Reverse<u64>, i64) {
    let f = &s.findings[event.worst];
    (Reverse(event.cost(s)), severity(f), f.tainted, Reverse(event.count(s)), f.first_ns)
}

impl Event {
    /// Its findings.
    pub(super) fn findings<'a>(&'a self, s: &'a Summary) -> Vec<&'a Finding> {
        self.all.iter().map(|at| &s.findings[*at]).collect()
    }

    /// Index of the one that was first.
    pub(super) fn first(&self) -> usize {
        self.all.first().copied().unwrap_or(self.worst)
    }

    /// Frames that all of them cost.
    pub(super) fn cost(&self, s: &Summary) -> u64 {
        self.all.iter().map(|at| cost(&s.findings[*at])).fold(0, u64::saturating_add)
    }

    /// How often all of them were.
    pub(super) fn count(&self, s: &Summary) -> u64 {
        crate::groups::count(&self.findings(s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::sample::summary;

    /// A run with so many losses of each of so many streams, one of them worse than the others.
    fn run(streams: usize, each: usize) -> Summary {
        let mut s = summary();
        let loss = s.findings.iter().find(|f| f.code == "SEQ-LOST").unwrap().clone();
        s.findings.clear();
        for n in 0..streams * each {
            let count = if n == 2 { 9 } else { 1 };
            let id = format!("f{:04}", n + 1);
            s.findings.push(Finding { id, count, stream: Some(n % streams), ..loss.clone() });
        }
        s
    }

    #[test]
    fn many_of_a_stream_are_an_event_and_many_streams_are_one() {
        for (streams, each, sizes) in [
            (1, 3, vec![1; 3]),
            (1, 40, vec![40]),
            (3, 1, vec![1; 3]),
            (5, 1, vec![5]),
            (2, 10, vec![10, 10]),
            (7, 4, vec![28]),
        ] {
            let s = run(streams, each);
            let events = events(&s);
            let of: Vec<usize> = events.iter().map(|event| event.all.len()).collect();
            assert_eq!(of, sizes, "{streams} x {each}");
            assert_eq!(events[0].worst, 2, "{streams} x {each}");
            let all: usize = events.iter().map(|event| event.listed.len().max(1)).sum();
            assert_eq!(all, streams * each, "every finding is there");
        }
    }

    #[test]
    fn what_is_listed_has_a_bound_and_the_worst_is_in_it() {
        let mut s = run(1, 3_000);
        s.findings.swap(2, 2_500);
        let events = events(&s);
        assert_eq!((events.len(), events[0].listed.len(), events[0].worst), (1, LISTED_EACH, 2_500));
        assert!(events[0].listed.contains(&2_500) && events[0].listed.is_sorted());
        assert_eq!((events[0].all.len(), events[0].count(&s)), (3_000, 3_008));
    }

    #[test]
    fn what_the_capture_spoiled_stands_apart() {
        let mut s = run(1, 12);
        s.findings.iter_mut().take(5).for_each(|f| f.tainted = true);
        let events = events(&s);
        assert_eq!(events.iter().map(|event| event.all.len()).collect::<Vec<_>>(), [7, 5]);
    }
}
