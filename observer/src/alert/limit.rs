//! How often alerts are told: one of a code in a time, and so many of all in a minute. Pure: the time is an argument.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// The window of the limit of all.
const MINUTE: Duration = Duration::from_secs(60);

/// The limits and what was held back by them.
#[derive(Debug)]
pub(super) struct Limits {
    every: Duration,
    most: usize,
    /// By code: when the last one was told, and how many were held back since. As many as there are codes.
    codes: BTreeMap<&'static str, (Option<Duration>, u64)>,
    /// When the last ones of all were told.
    recent: VecDeque<Duration>,
}

impl Limits {
    pub(super) fn new(every: Duration, most: u32) -> Limits {
        Limits { every, most: most as usize, codes: BTreeMap::new(), recent: VecDeque::new() }
    }

    /// May one of this code be told? With it how many of the code were held back since the last; `None` holds it back.
    pub(super) fn ask(&mut self, code: &'static str, now: Duration) -> Option<u64> {
        while self.recent.front().is_some_and(|at| now.saturating_sub(*at) >= MINUTE) {
            self.recent.pop_front();
        }
        let (last, held_back) = self.codes.entry(code).or_default();
        let too_soon = last.is_some_and(|last| now.saturating_sub(last) < self.every);
        if too_soon || self.recent.len() >= self.most {
            *held_back += 1;
            return None;
        }
        *last = Some(now);
        self.recent.push_back(now);
        Some(std::mem::take(held_back))
    }

    /// How many were held back and not told of yet.
    pub(super) fn held_back(&self) -> u64 {
        self.codes.values().map(|(_, n)| n).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn one_of_a_code_in_its_time_and_the_next_says_how_many_were_held_back() {
        let mut limits = Limits::new(at(60), 100);
        assert_eq!(limits.ask("A", at(0)), Some(0));
        assert_eq!((limits.ask("A", at(1)), limits.ask("A", at(59))), (None, None));
        assert_eq!(limits.ask("B", at(59)), Some(0));
        assert_eq!(limits.held_back(), 2);
        assert_eq!(limits.ask("A", at(60)), Some(2));
        assert_eq!((limits.held_back(), limits.ask("A", at(61))), (0, None));
    }

    #[test]
    fn all_codes_together_have_a_limit_a_minute() {
        let mut limits = Limits::new(at(1), 2);
        assert_eq!((limits.ask("A", at(0)), limits.ask("B", at(30))), (Some(0), Some(0)));
        assert_eq!((limits.ask("C", at(31)), limits.ask("A", at(59))), (None, None));
        assert_eq!(limits.ask("C", at(60)), Some(1));
        assert_eq!(limits.ask("A", at(89)), None);
        assert_eq!(limits.ask("A", at(90)), Some(2));
    }
}
