//! Lanes for spans that overlap without nesting: a viewer draws a row as a stack, and shows nonsense for anything else.
//! Knows no format.

use super::timeline::Event;

/// Rows a track gets at most; what fits in none of them is counted, so that a damaged ring costs bounded time.
pub(crate) const MAX_LANES: usize = 64;

/// What happens on the lanes, in the order in which it has to be written: within a lane an END at the same instant
/// stands in front of a BEGIN.
pub(crate) trait Visit {
    /// A span begins.
    fn begin(&mut self, lane: usize, event: &Event);
    /// The innermost open span of a lane ends.
    fn end(&mut self, lane: usize, ns: u64);
    /// No lane could take the span.
    fn beyond(&mut self, event: &Event);
}

/// The ends of the spans that are open on each lane, innermost last.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    open: Vec<Vec<u64>>,
}

impl Lanes {
    /// Gives every event a lane, the first one where it nests; events are sorted by start, the longest first.
    pub(crate) fn run(&mut self, events: &[Event], visit: &mut impl Visit) {
        for event in events {
            match self.lane(event, visit) {
                Some(lane) => {
                    visit.begin(lane, event);
                    self.open[lane].push(event.end_ns);
                }
                None => visit.beyond(event),
            }
        }
        for (lane, open) in self.open.iter_mut().enumerate() {
            while let Some(end) = open.pop() {
                visit.end(lane, end);
            }
        }
    }

    /// The first lane that has nothing open, or whose innermost open span contains the event.
    fn lane(&mut self, event: &Event, visit: &mut impl Visit) -> Option<usize> {
        for (lane, open) in self.open.iter_mut().enumerate() {
            while let Some(end) = open.pop_if(|end| *end <= event.start_ns) {
                visit.end(lane, end);
            }
            if open.last().is_none_or(|end| *end >= event.end_ns) {
                return Some(lane);
            }
        }
        let next = self.open.len();
        (next < MAX_LANES).then(|| self.open.push(Vec::new())).map(|()| next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Log {
        said: Vec<String>,
        beyond: usize,
    }

    impl Visit for Log {
        fn begin(&mut self, lane: usize, event: &Event) {
            self.said.push(format!("{lane} B {}", event.start_ns));
        }

        fn end(&mut self, lane: usize, ns: u64) {
            self.said.push(format!("{lane} E {ns}"));
        }

        fn beyond(&mut self, _: &Event) {
            self.beyond += 1;
        }
    }

    fn run(spans: &[(u64, u64)]) -> Log {
        let event = |(start_ns, end_ns): &(u64, u64)| Event {
            start_ns: *start_ns,
            end_ns: *end_ns,
            ..Event::default()
        };
        let mut events: Vec<Event> = spans.iter().map(event).collect();
        events.sort_by_key(|e| (e.start_ns, !e.end_ns));
        let mut log = Log::default();
        Lanes::default().run(&events, &mut log);
        log
    }

    #[test]
    fn nested_spans_share_a_lane() {
        let log = run(&[(0, 10), (2, 4), (4, 10)]);
        assert_eq!(log.said, ["0 B 0", "0 B 2", "0 E 4", "0 B 4", "0 E 10", "0 E 10"]);
    }

    #[test]
    fn a_span_ends_before_the_next_begins_at_the_same_instant() {
        assert_eq!(run(&[(5, 9), (0, 5)]).said, ["0 B 0", "0 E 5", "0 B 5", "0 E 9"]);
    }

    #[test]
    fn spans_that_cross_go_to_another_lane() {
        let log = run(&[(0, 10), (5, 15), (12, 20), (16, 18)]);
        let expected = ["0 B 0", "1 B 5", "0 E 10", "0 B 12", "1 E 15", "0 B 16", "0 E 18", "0 E 20"];
        let mut said = log.said;
        said.sort();
        let mut expected = expected.map(str::to_owned);
        expected.sort();
        assert_eq!(said, expected);
    }

    #[test]
    fn a_span_without_length_nests_and_stands_alone() {
        assert_eq!(run(&[(3, 3), (3, 9)]).said, ["0 B 3", "0 B 3", "0 E 3", "0 E 9"]);
        assert_eq!(run(&[(0, 3), (3, 3), (3, 3)]).said.len(), 6);
    }

    #[test]
    fn crossing_without_end_costs_a_fixed_number_of_lanes() {
        let spans: Vec<(u64, u64)> = (0..1000).map(|i| (i, 10_000 + i)).collect();
        let log = run(&spans);
        assert_eq!(log.beyond, 1000 - MAX_LANES);
        assert_eq!(log.said.len(), 2 * MAX_LANES);
    }

    #[test]
    fn every_lane_is_a_stack_whatever_the_spans() {
        use rand_core::{Rng as _, SeedableRng as _};
        for seed in 0..200 {
            let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
            let span = |rng: &mut rand_chacha::ChaCha8Rng| {
                let start = u64::from(rng.next_u32() % 50);
                (start, start + u64::from(rng.next_u32() % 20))
            };
            let spans: Vec<_> = (0..60).map(|_| span(&mut rng)).collect();
            check_stacks(&run(&spans), spans.len(), seed);
        }
    }

    fn check_stacks(log: &Log, spans: usize, seed: u64) {
        let mut open = vec![(0usize, 0u64); MAX_LANES];
        for line in &log.said {
            let parts: Vec<&str> = line.split(' ').collect();
            let (lane, at): (usize, u64) = (parts[0].parse().unwrap(), parts[2].parse().unwrap());
            let (depth, last) = &mut open[lane];
            assert!(*last <= at, "seed {seed}: lane {lane} runs backwards at {at}");
            *last = at;
            *depth = if parts[1] == "B" { *depth + 1 } else { depth.checked_sub(1).unwrap() };
        }
        assert!(open.iter().all(|(depth, _)| *depth == 0), "seed {seed}");
        assert_eq!(log.said.len(), 2 * spans, "seed {seed}");
    }
}
