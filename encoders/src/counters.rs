//! Sequence numbers of consecutive streams, universes or Port-Addresses, each of which counts for itself.
//!
//! Streams of one frame nearly always stand at the same number. As long as they do, one number is kept for all of
//! them, so that a frame costs one store for each header and no more.

use crate::arena::Heads;

/// The numbers a counter runs through, `first` again after `last`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cycle {
    pub(crate) first: u8,
    pub(crate) last: u8,
}

impl Cycle {
    #[inline(always)]
    pub(crate) fn after(self, number: u8) -> u8 {
        if number >= self.last { self.first } else { number + 1 }
    }

    /// Numbers consecutive datagrams from `number` on and returns the number after the last one.
    #[inline(always)]
    pub(crate) fn number_each(self, mut number: u8, at: usize, heads: &mut Heads<'_>) -> u8 {
        heads.each(at, |_, field| {
            *field = [number];
            number = self.after(number);
        });
        number
    }
}

/// Numbers of a short cycle.
const SHORT: usize = 17;

/// The counter of a short cycle, written out twice so that the numbers of a frame can be read in one piece.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    cycle: Cycle,
    twice: [u8; 2 * SHORT],
    length: usize,
    /// Place of the next number, less than `length`.
    place: usize,
}

impl Round {
    /// A counter that starts with `start`; the cycle holds it and at most 17 numbers.
    pub(crate) fn new(cycle: Cycle, start: u8) -> Self {
        let mut twice = [cycle.first; 2 * SHORT];
        for place in 1..twice.len() {
            twice[place] = cycle.after(twice[place - 1]);
        }
        let length = usize::from(cycle.last - cycle.first) + 1;
        Round { cycle, twice, length, place: usize::from(start - cycle.first) }
    }

    /// The next number, and moves on.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> u8 {
        let number = self.twice[self.place];
        self.move_on(1);
        number
    }

    /// Numbers the datagrams of a frame one by one.
    #[inline(always)]
    pub(crate) fn number_each(&mut self, at: usize, heads: &mut Heads<'_>) {
        let datagrams = heads.data();
        if let Some(run) = self.twice[self.place..].get(..datagrams)
            && datagrams <= self.length
        {
            heads.each(at, |index, field| *field = [run[index]]);
            self.move_on(datagrams);
        } else {
            self.number_many(at, heads);
        }
    }

    #[cold]
    fn number_many(&mut self, at: usize, heads: &mut Heads<'_>) {
        let next = self.cycle.number_each(self.twice[self.place], at, heads);
        self.place = usize::from(next - self.cycle.first);
    }

    /// Moves on by at most one time around.
    #[inline(always)]
    fn move_on(&mut self, steps: usize) {
        let place = self.place + steps;
        self.place = if place >= self.length { place - self.length } else { place };
    }
}

/// One counter for each stream.
#[derive(Clone, Debug)]
pub(crate) struct Counters {
    cycle: Cycle,
    /// First number of every stream.
    start: u8,
    /// Next number by stream; out of date for the planned ones while they are `together`.
    next: Vec<u8>,
    /// Streams of the planned frame.
    planned: usize,
    /// Next number of all planned streams, when it is the same.
    together: Option<u8>,
}

impl Counters {
    pub(crate) fn new(cycle: Cycle, start: u8) -> Self {
        Counters { cycle, start, next: Vec::new(), planned: 0, together: None }
    }

    /// Makes room for a frame of this many streams.
    pub(crate) fn prepare(&mut self, streams: usize) {
        self.settle();
        if streams > self.next.len() {
            self.next.resize(streams, self.start);
        }
        self.planned = streams;
        self.join();
    }

    /// Numbers the headers of one frame.
    #[inline(always)]
    pub(crate) fn number(&mut self, at: usize, heads: &mut Heads<'_>) {
        if let Some(number) = &mut self.together {
            heads.fill(at, [*number]);
            *number = self.cycle.after(*number);
        } else {
            self.number_apart(at, heads);
        }
    }

    #[cold]
    fn number_apart(&mut self, at: usize, heads: &mut Heads<'_>) {
        heads.each(at, |index, field| {
            let next = &mut self.next[index];
            *field = [*next];
            *next = self.cycle.after(*next);
        });
        self.join();
    }

    /// The next number of one stream, which moves on.
    pub(crate) fn take(&mut self, stream: usize) -> u8 {
        self.settle();
        let number = self.next[stream];
        self.next[stream] = self.cycle.after(number);
        number
    }

    /// Sets the next number of one stream.
    pub(crate) fn set(&mut self, stream: usize, number: u8) {
        self.settle();
        self.next[stream] = number;
    }

    fn settle(&mut self) {
        if let Some(number) = self.together.take() {
            self.next[..self.planned].fill(number);
        }
    }

    fn join(&mut self) {
        let planned = &self.next[..self.planned];
        self.together = planned.first().copied().filter(|first| planned.iter().all(|next| next == first));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_runs_through_its_cycle() {
        for (first, last) in [(1, 15), (0, 15), (1, 16), (0, 0)] {
            let cycle = Cycle { first, last };
            for start in first..=last {
                let mut round = Round::new(cycle, start);
                let mut number = start;
                for _ in 0..40 {
                    assert_eq!(round.take(), number, "{first}..={last} from {start}");
                    number = cycle.after(number);
                }
            }
        }
    }

    #[test]
    fn a_stream_that_ran_ahead_stays_ahead() {
        let mut counters = Counters::new(Cycle { first: 0, last: 255 }, 254);
        counters.prepare(2);
        assert_eq!((counters.take(1), counters.take(1), counters.take(0)), (254, 255, 254));
        counters.prepare(3);
        assert_eq!((counters.take(0), counters.take(1), counters.take(2)), (255, 0, 254));
    }
}
