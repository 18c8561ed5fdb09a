//! Waiting for the device: warm-up before the first arm, settling before each window.
//!
//! It never looks at a frame; it is told rates and medians.

use super::io::{Answer, Command, Failure, Outcome, Settling, Warming};
use super::limits::limit_ns;
use super::steps::{Move, Step, outcome};
use super::{Runner, State};
use crate::journal::Step as Named;
use crate::stats::{kendall_p, kendall_s};
use std::collections::VecDeque;
use wireproof_protocols::Timestamp;

/// Seconds of warm-up that are looked at (row 27).
const SECONDS: usize = 20;

/// Age from which a report says nothing any more, ns.
const STALE_NS: i64 = 1_000_000_000;
/// A chance below one in a hundred is a trend (row 27).
const TREND: f64 = 0.01;

/// A warm-up.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Warmup {
    extended: bool,
    until: Option<Timestamp>,
    seen: VecDeque<Warming>,
}

impl Warmup {
    fn take(&mut self, warming: Warming) {
        if self.seen.len() == SECONDS {
            self.seen.pop_front();
        }
        self.seen.push_back(warming);
    }

    /// What still moves over the last twenty seconds.
    fn trending(&self) -> Option<&'static str> {
        let rates: Vec<u64> = self.seen.iter().map(|w| w.rate_uhz).collect();
        let medians: Vec<u64> = self.seen.iter().filter_map(|w| w.p50_ns).collect();
        match (is_trending(&rates), is_trending(&medians)) {
            (true, _) => Some("the frame rate still moves"),
            (_, true) => Some("the median frame time still moves"),
            _ => None,
        }
    }

    /// A warm-up of which nothing was seen proves nothing.
    fn problem(&self, length_ns: u64) -> Option<&'static str> {
        let expected = usize::try_from(length_ns / 1_000_000_000).unwrap_or(SECONDS).min(SECONDS);
        match self.seen.len() * 2 < expected {
            true => Some("the streams were not seen for half of it"),
            false => self.trending(),
        }
    }
}

/// Settling before a window.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Settle {
    last: Option<(Timestamp, Settling)>,
}

impl Runner {
    pub(super) fn warming(&mut self, warming: Warming) {
        if let Some(Step::Warmup(warmup)) = &mut self.current {
            warmup.take(warming);
        }
    }

    pub(super) fn settling(&mut self, settling: Settling) {
        let now = self.now;
        if let Some(Step::Settle(settle)) = &mut self.current {
            settle.last = Some((now, settling));
        }
    }

    pub(super) fn warmup_start(&mut self, warmup: Warmup, answer: Option<Result<Answer, Failure>>) -> Move {
        match answer {
            None => {
                self.state = State::Warmup;
                let limit = limit_ns(&Command::StartWarmup);
                Move::Ask(Command::StartWarmup, limit, Step::WarmupStart(warmup))
            }
            Some(Ok(_)) => {
                self.steps.push_front(Step::Warmup(warmup));
                Move::Next
            }
            Some(Err(failure)) => {
                self.stop(self.bad_start(), format!("warm-up could not begin: {failure}"));
                Move::Next
            }
        }
    }

    pub(super) fn warmup(&mut self, mut warmup: Warmup) -> Move {
        let length = self.plan.timing.warmup_ns;
        let until = *warmup.until.get_or_insert(self.now.plus(i64::try_from(length).unwrap_or(i64::MAX)));
        if self.now < until {
            return Move::Wait(until, Step::Warmup(warmup));
        }
        match warmup.problem(length) {
            None => self.steps.push_front(outcome(Named::Warmup, None, true, "")),
            Some(why) if !warmup.extended => {
                let seen = std::mem::take(&mut warmup.seen);
                let longer = Warmup { extended: true, until: None, seen };
                self.steps.push_front(Step::Warmup(longer));
                let text = format!("{why}: extended once by the same time");
                self.steps.push_front(outcome(Named::Warmup, None, false, text));
            }
            Some(why) => {
                let reason = format!("warm-up not reached after twice its time: {why}");
                self.stop(self.bad_start(), reason);
            }
        }
        Move::Next
    }

    /// What a failure before an arm means: the run did not start, or, after its first arm, is invalid.
    pub(super) fn bad_start(&self) -> Outcome {
        if self.ended == 0 { Outcome::Refused } else { Outcome::Invalid }
    }

    pub(super) fn settle_start(&mut self, answer: Option<Result<Answer, Failure>>) -> Move {
        match answer {
            None => {
                self.state = State::Settle;
                Move::Ask(Command::StartSettle, limit_ns(&Command::StartSettle), Step::SettleStart)
            }
            Some(Ok(_)) => {
                let settle = Settle::default();
                self.steps.push_front(Step::Settle(settle));
                Move::Next
            }
            Some(Err(failure)) => self.end_arm("not_settled", &failure.to_string()),
        }
    }

    /// Waits for time and condition: at least `settle` since the last verified factor, the rate within its tolerance, no
    /// gap, the ring's generation that of before.
    pub(super) fn settle(&mut self, settle: Settle) -> Move {
        let Some(arm) = &self.arm else { return Move::Next };
        let deadline = arm.began.plus(signed(self.plan.timing.arm_deadline_ns));
        let earliest = arm.set.plus(signed(self.plan.timing.settle_ns));
        let generation = arm.status[0].as_ref().map_or(0, |status| status.generation);
        let fresh = settle.last.filter(|(at, _)| self.now.since(*at) < STALE_NS);
        let state = fresh.map(|(_, seen)| self.unsettled(&seen, generation));
        match state {
            Some(Some(Unsettled::Restarted)) => return self.restarted_in_arm("while settling"),
            Some(None) if self.now >= earliest => return Move::Next,
            _ => {}
        }
        if self.now >= deadline {
            // What a step of a ladder cannot keep up is its limit: the gates judge it.
            if let (Some(_), Some(Some(off @ Unsettled::Rate(Some(_))))) = (&self.plan.ladder, state) {
                self.noted("rate_off", &off.text());
                return Move::Next;
            }
            let text = state.flatten().map_or_else(|| "no reports".to_owned(), Unsettled::text);
            return self.end_arm("not_settled", &text);
        }
        let wake = if self.now < earliest { earliest.min(deadline) } else { deadline };
        Move::Wait(wake, Step::Settle(settle))
    }

    fn unsettled(&self, seen: &Settling, generation: u64) -> Option<Unsettled> {
        let tolerance = self.plan.validity.fps_tolerance_ppm;
        match seen.rate_off_ppm {
            _ if generation != 0 && seen.generation != 0 && seen.generation != generation => {
                Some(Unsettled::Restarted)
            }
            Some(off) if off <= tolerance && seen.gaps == 0 => None,
            Some(off) if off <= tolerance => Some(Unsettled::Gaps),
            off => Some(Unsettled::Rate(off)),
        }
    }
}

/// Why it is not settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unsettled {
    Restarted,
    Gaps,
    /// Off by so much, ppm; `None`: a stream of the plan is not there.
    Rate(Option<u64>),
}

impl Unsettled {
    fn text(self) -> String {
        match self {
            Self::Restarted => "the ring began again".to_owned(),
            Self::Gaps => "sequence gaps in the last two seconds".to_owned(),
            Self::Rate(Some(ppm)) => format!(
                "the frame rate of a stream is {:.2} % off, more than its tolerance; twice as much as expected is a \
                 second sender",
                ppm as f64 / 10_000.0
            ),
            Self::Rate(None) => "not every stream of the plan was there for two seconds".to_owned(),
        }
    }
}

pub(super) fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// True when the series rises or falls: Kendall's test, two-sided. By how much does not matter.
fn is_trending(values: &[u64]) -> bool {
    let values: Vec<f64> = values.iter().map(|value| *value as f64).collect();
    kendall_p(values.len(), kendall_s(&values)) < TREND
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rising_series_of_five_is_not_yet_a_trend_and_one_of_six_is() {
        assert!(!is_trending(&[1, 2, 3, 4, 5]), "2/120 = 0.017");
        assert!(is_trending(&[1, 2, 3, 4, 5, 6]), "2/720 = 0.003");
        assert!(is_trending(&[6, 5, 4, 3, 2, 1]));
        assert!(!is_trending(&[7; 20]));
        assert!(!is_trending(&[]));
    }
}
