//! Windows of time in order, without overlaps: what lies in them, by search and by sweep.

use crate::arm::Span;

/// Windows `[start, end)` within an arm, in order, not touching one another.
pub(super) struct Windows {
    spans: Vec<Span>,
}

impl Windows {
    /// The union of spans, cut to `0..length`.
    pub(super) fn of(spans: impl Iterator<Item = Span>, length_ns: i64) -> Windows {
        let cut = |s: Span| Span { start_ns: s.start_ns.max(0), end_ns: s.end_ns.min(length_ns) };
        let mut sorted: Vec<Span> = spans.map(cut).filter(|s| s.start_ns < s.end_ns).collect();
        sorted.sort_unstable();
        let mut spans: Vec<Span> = Vec::with_capacity(sorted.len());
        for span in sorted {
            match spans.last_mut() {
                Some(last) if span.start_ns <= last.end_ns => last.end_ns = last.end_ns.max(span.end_ns),
                _ => spans.push(span),
            }
        }
        Windows { spans }
    }

    /// Their length together.
    pub(super) fn exposure(&self) -> i64 {
        self.spans.iter().map(|s| s.end_ns - s.start_ns).sum()
    }

    /// True for a time inside one.
    pub(super) fn holds(&self, at: i64) -> bool {
        let next = self.spans.partition_point(|s| s.start_ns <= at);
        next.checked_sub(1).and_then(|i| self.spans.get(i)).is_some_and(|s| at < s.end_ns)
    }

    /// True when an edge lies within `(start, end]`: the ends are on two sides of it.
    pub(super) fn crosses(&self, span: Span) -> bool {
        let within = |edge: i64| span.start_ns < edge && edge <= span.end_ns;
        let next = self.spans.partition_point(|s| s.end_ns <= span.start_ns);
        self.spans.get(next).is_some_and(|s| within(s.start_ns) || within(s.end_ns))
    }

    /// True when a window and `[start, end)` share a time.
    pub(super) fn touches(&self, span: Span) -> bool {
        let next = self.spans.partition_point(|s| s.end_ns <= span.start_ns);
        self.spans.get(next).is_some_and(|s| s.start_ns < span.end_ns)
    }

    /// How many of some times, in order, lie inside: one pass over both.
    pub(super) fn count(&self, times: impl Iterator<Item = i64>) -> u64 {
        let (mut next, mut count) = (0, 0);
        for at in times {
            while self.spans.get(next).is_some_and(|s| s.end_ns <= at) {
                next += 1;
            }
            count += u64::from(self.spans.get(next).is_some_and(|s| s.start_ns <= at));
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start_ns: i64, end_ns: i64) -> Span {
        Span { start_ns, end_ns }
    }

    fn windows() -> Windows {
        Windows::of(
            [span(50, 60), span(10, 20), span(15, 25), span(25, 26), span(-5, 3), span(95, 200)].into_iter(),
            100,
        )
    }

    #[test]
    fn overlapping_windows_are_one_and_are_cut_to_the_arm() {
        assert_eq!(windows().spans, [span(0, 3), span(10, 26), span(50, 60), span(95, 100)]);
        assert_eq!(windows().exposure(), 34);
    }

    #[test]
    fn searching_and_sweeping_agree_at_every_time() {
        let w = windows();
        let inside: Vec<i64> = (-10..120).filter(|at| w.holds(*at)).collect();
        assert_eq!(inside.len(), 34);
        assert_eq!((w.holds(10), w.holds(26), w.holds(25)), (true, false, true));
        assert_eq!(w.count(-10..120), 34);
        assert_eq!(w.count([5, 10, 10, 26, 99].into_iter()), 3);
    }

    #[test]
    fn an_edge_is_crossed_by_what_begins_and_ends_on_two_sides_of_it() {
        let w = windows();
        let crossing = [span(9, 10), span(25, 26), span(5, 30), span(49, 61), span(0, 3)];
        assert!(crossing.iter().all(|s| w.crosses(*s)));
        let whole = [span(10, 25), span(26, 49), span(30, 30), span(55, 55), span(10, 10), span(100, 200)];
        assert!(whole.iter().all(|s| !w.crosses(*s)));
        assert!(w.touches(span(26, 51)) && !w.touches(span(26, 50)) && !w.touches(span(60, 95)));
    }
}
