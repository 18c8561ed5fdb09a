//! Setting one factor: set, read back until it holds, watch that it does something, set again if not.
//!
//! It never decides what a failure means for the run.

use super::io::{Answer, Command, Failure};
use crate::plan::{Effect, Motion, Toggle};
use wireproof_protocols::Timestamp;

/// Time between two reads, ns.
const POLL_NS: i64 = 100_000_000;

/// A factor that is being set.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Toggling {
    /// Factor.
    pub factor: String,
    /// Level.
    pub level: String,
    /// How often it may still be set again.
    left: u32,
    /// Whether the effect is watched.
    effect: bool,
    /// When everything has to be over.
    cap: Option<Timestamp>,
    phase: Phase,
    why: String,
}

#[derive(Clone, Debug, PartialEq)]
enum Phase {
    Set,
    /// Read back at `next` and no earlier, whoever wakes the runner before: a switch that takes its time is not flooded.
    Verify {
        until: Timestamp,
        next: Timestamp,
    },
    Watch,
    Watching {
        first: u64,
        until: Timestamp,
    },
}

/// What is next.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Turn {
    /// A command and its limit, ns.
    Ask(Command, u64),
    /// Nothing until then.
    Wait(Timestamp),
    /// It holds.
    Held,
    /// It does not.
    Failed(String),
}

impl Toggling {
    /// Sets a level and proves it.
    pub(super) fn apply(toggle: &Toggle, level: &str) -> Self {
        Self {
            factor: toggle.factor.clone(),
            level: level.to_owned(),
            left: toggle.retries,
            effect: true,
            cap: None,
            phase: Phase::Set,
            why: String::new(),
        }
    }

    /// Puts a level back; the effect is not watched.
    pub(super) fn restore(toggle: &Toggle, level: &str) -> Self {
        Self { effect: false, ..Self::apply(toggle, level) }
    }

    /// Makes it one attempt that is over at `cap`.
    pub(super) fn hurry(self, cap: Timestamp) -> Self {
        Self { left: 0, cap: Some(cap), ..self }
    }

    /// Goes on with the answer to what was asked last, if there is one.
    pub(super) fn advance(
        &mut self,
        now: Timestamp,
        toggle: &Toggle,
        answer: Option<Result<Answer, Failure>>,
    ) -> Turn {
        if self.cap.is_some_and(|cap| now >= cap) && !self.is_held_by(answer.as_ref()) {
            return Turn::Failed(format!("not within the time that was left{}", self.because()));
        }
        match self.phase.clone() {
            Phase::Set => self.set(now, toggle, answer),
            Phase::Verify { until, next } => self.verify(now, (until, next), toggle, answer),
            Phase::Watch => self.watch(now, toggle, answer),
            Phase::Watching { first, until } => self.watching(now, first, until, toggle, answer),
        }
    }

    fn is_held_by(&self, answer: Option<&Result<Answer, Failure>>) -> bool {
        matches!(answer, Some(Ok(Answer::Level { level: Some(level), .. })) if *level == self.level)
    }

    fn because(&self) -> String {
        if self.why.is_empty() { String::new() } else { format!(": {}", self.why) }
    }

    fn ask(&self, now: Timestamp, toggle: &Toggle, command: Command) -> Turn {
        let left = self.cap.map_or(i64::MAX, |cap| cap.since(now)).max(1);
        Turn::Ask(command, toggle.timeout_ns.min(left.unsigned_abs()))
    }

    fn set(&mut self, now: Timestamp, toggle: &Toggle, answer: Option<Result<Answer, Failure>>) -> Turn {
        match answer {
            None => {
                let (factor, level) = (self.factor.clone(), self.level.clone());
                self.ask(now, toggle, Command::SetToggle { factor, level })
            }
            Some(Ok(_)) => {
                let until = now.plus(i64::try_from(toggle.timeout_ns).unwrap_or(i64::MAX));
                self.phase = Phase::Verify { until, next: now };
                self.read(now, toggle)
            }
            Some(Err(failure)) => self.again(now, toggle, format!("setting it failed: {failure}")),
        }
    }

    fn read(&self, now: Timestamp, toggle: &Toggle) -> Turn {
        let (factor, level) = (self.factor.clone(), self.level.clone());
        self.ask(now, toggle, Command::VerifyToggle { factor, level })
    }

    fn verify(
        &mut self,
        now: Timestamp,
        (until, next): (Timestamp, Timestamp),
        toggle: &Toggle,
        answer: Option<Result<Answer, Failure>>,
    ) -> Turn {
        if self.is_held_by(answer.as_ref()) {
            return self.held(now, toggle);
        }
        match answer {
            None if now < next => return Turn::Wait(next),
            None => return self.read(now, toggle),
            Some(Ok(answer)) => self.why = format!("it reads {}", shown(&answer)),
            Some(Err(failure)) => self.why = format!("reading it back failed: {failure}"),
        }
        if now >= until {
            let why = self.why.clone();
            return self.again(now, toggle, why);
        }
        let next = now.plus(POLL_NS);
        self.phase = Phase::Verify { until, next };
        Turn::Wait(next)
    }

    fn held(&mut self, now: Timestamp, toggle: &Toggle) -> Turn {
        if self.effect && toggle.effect.as_ref().is_some_and(|e| e.expect.contains_key(&self.level)) {
            self.phase = Phase::Watch;
            return self.count(now, toggle);
        }
        Turn::Held
    }

    fn count(&self, now: Timestamp, toggle: &Toggle) -> Turn {
        self.ask(now, toggle, Command::ReadCounter { factor: self.factor.clone() })
    }

    fn watch(&mut self, now: Timestamp, toggle: &Toggle, answer: Option<Result<Answer, Failure>>) -> Turn {
        match answer {
            None => self.count(now, toggle),
            Some(Ok(Answer::Counter(first))) => {
                let within = toggle.effect.as_ref().map_or(0, |e| e.within_ns);
                let until = now.plus(i64::try_from(within).unwrap_or(i64::MAX));
                self.phase = Phase::Watching { first, until };
                Turn::Wait(until)
            }
            Some(other) => {
                self.again(now, toggle, format!("its counter could not be read{}", failed(&other)))
            }
        }
    }

    fn watching(
        &mut self,
        now: Timestamp,
        first: u64,
        until: Timestamp,
        toggle: &Toggle,
        answer: Option<Result<Answer, Failure>>,
    ) -> Turn {
        match answer {
            None if now < until => Turn::Wait(until),
            None => self.count(now, toggle),
            Some(Ok(Answer::Counter(last))) => {
                let verdict = toggle.effect.as_ref().map(|effect| moved(effect, &self.level, first, last));
                match verdict {
                    Some(Err(why)) => self.again(now, toggle, why),
                    _ => Turn::Held,
                }
            }
            Some(other) => {
                self.again(now, toggle, format!("its counter could not be read{}", failed(&other)))
            }
        }
    }

    fn again(&mut self, now: Timestamp, toggle: &Toggle, why: String) -> Turn {
        self.why = why;
        if self.left == 0 {
            return Turn::Failed(self.why.clone());
        }
        self.left -= 1;
        self.phase = Phase::Set;
        self.set(now, toggle, None)
    }
}

/// Whether a counter did what the level must do.
fn moved(effect: &Effect, level: &str, first: u64, last: u64) -> Result<(), String> {
    let Some(steps) = last.checked_sub(first) else {
        return Err(format!("its counter went back from {first} to {last}"));
    };
    let needed = u128::from(effect.at_least_per_s) * u128::from(effect.within_ns) / 1_000_000_000;
    match effect.expect.get(level) {
        Some(Motion::Advances) if u128::from(steps) < needed.max(1) => Err(format!(
            "it reads {level} and does nothing: its counter moved by {steps}, not {}",
            needed.max(1)
        )),
        Some(Motion::Still) if steps > 0 => {
            Err(format!("it reads {level} and its counter still moved by {steps}"))
        }
        _ => Ok(()),
    }
}

fn shown(answer: &Answer) -> String {
    match answer {
        Answer::Level { level: Some(level), .. } => level.clone(),
        Answer::Level { value, .. } => format!("{value:?}"),
        _ => "something else".to_owned(),
    }
}

fn failed(answer: &Result<Answer, Failure>) -> String {
    answer.as_ref().err().map_or(String::new(), |failure| format!(": {failure}"))
}
