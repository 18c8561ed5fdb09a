//! Events of an arm, how often they could have happened, and how many bursts they came in.
//!
//! Losses of the bench are no events: they spoil the arm. A loss that cannot be told is ambiguous, never zero.

use super::{Event, window_frames};
use crate::arm::{Arm, Owners, WireStream};
use crate::plan::Plan;
use std::ops::AddAssign;

/// Events against trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Events of the device or the wire.
    pub events: u64,
    /// Bursts of them.
    pub episodes: u64,
    /// What cannot be told.
    pub ambiguous: u64,
    /// How often it could have happened.
    pub trials: u64,
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Count) {
        self.events = self.events.saturating_add(other.events);
        self.episodes = self.episodes.saturating_add(other.episodes);
        self.ambiguous = self.ambiguous.saturating_add(other.ambiguous);
        self.trials = self.trials.saturating_add(other.trials);
    }
}

impl Owners {
    /// Missing that are the device's or the wire's, known or not which.
    pub fn of_the_device(&self) -> u64 {
        self.sender.saturating_add(self.wire).saturating_add(self.upstream)
    }

    /// All of them.
    pub fn all(&self) -> u64 {
        self.of_the_device().saturating_add(self.observer).saturating_add(self.ambiguous)
    }
}

/// Events of one arm. Payload has none by itself: it is judged against the baseline's arms.
pub fn count(event: Event, plan: &Plan, arm: &Arm) -> Count {
    match event {
        Event::Misses => misses(plan, arm),
        Event::Lost => lost(plan, arm),
        Event::Payload => Count::default(),
        Event::Dup | Event::Reordered | Event::Shape | Event::Foreign => {
            let mut sum = Count::default();
            for stream in &arm.measured.streams {
                let events = of_stream(event, stream);
                sum += Count { events, episodes: events, ambiguous: 0, trials: stream.datagrams };
            }
            sum
        }
    }
}

fn of_stream(event: Event, stream: &WireStream) -> u64 {
    match event {
        Event::Dup => stream.duplicates,
        Event::Reordered => stream.reordered,
        Event::Shape => stream.shape,
        Event::Foreign => stream.foreign,
        _ => 0,
    }
}

/// Frames over 1/fps, at least as many as the recorder counted; holes in its record are ambiguous.
fn misses(plan: &Plan, arm: &Arm) -> Count {
    let measured = &arm.measured;
    if !measured.ring {
        return Count::default();
    }
    let over = |ns: i64| i128::from(ns) * i128::from(plan.target.expected_fps) > 1_000_000_000;
    let (mut sum, mut before) = (Count { ambiguous: measured.missing_frames, ..Count::default() }, false);
    for frame in window_frames(measured, plan.timing.guard_ns) {
        let miss = over(frame.span.end_ns.saturating_sub(frame.span.start_ns));
        sum.trials += 1;
        sum.events += u64::from(miss);
        sum.episodes += u64::from(miss && !before);
        before = miss;
    }
    if measured.misses > sum.events {
        sum.episodes = sum.episodes.saturating_add(measured.misses - sum.events);
        sum.events = measured.misses;
    }
    sum
}

/// Datagrams missing, by their owners; what no owner was found for is ambiguous, and so is a stream of the plan that
/// showed nothing: where nothing came, nothing is known to be missing.
fn lost(plan: &Plan, arm: &Arm) -> Count {
    let shown =
        |id: &str| arm.measured.streams.iter().any(|one| one.id == id && (one.datagrams > 0 || one.lost > 0));
    let expected = plan.stream.iter().filter(|stream| plan.sends(stream, &arm.levels));
    let silent = expected.filter(|stream| !shown(&stream.id)).count() as u64;
    let mut sum = Count { ambiguous: silent, ..Count::default() };
    for stream in &arm.measured.streams {
        let open = stream.lost.saturating_sub(stream.owners.all());
        sum += Count {
            events: stream.owners.of_the_device(),
            episodes: 0,
            ambiguous: stream.owners.ambiguous.saturating_add(open),
            trials: stream.datagrams.saturating_add(stream.lost),
        };
    }
    let bursts =
        arm.measured.episodes.iter().filter(|episode| episode.owners.of_the_device() > 0).count() as u64;
    sum.episodes = bursts.clamp(u64::from(sum.events > 0), sum.events);
    sum
}
