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
        self.events += other.events;
        self.episodes += other.episodes;
        self.ambiguous += other.ambiguous;
        self.trials += other.trials;
    }
}

impl Owners {
    /// Missing that are the device's or the wire's, known or not which.
    pub fn of_the_device(&self) -> u64 {
        self.sender + self.wire + self.upstream
    }

    /// All of them.
    pub fn all(&self) -> u64 {
        self.of_the_device() + self.observer + self.ambiguous
    }
}

/// Events of one arm. Payload has none by itself: it is judged against the baseline's arms.
pub fn count(event: Event, plan: &Plan, arm: &Arm) -> Count {
    match event {
        Event::Misses => misses(plan, arm),
        Event::Lost => lost(arm),
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
        sum.episodes += measured.misses - sum.events;
        sum.events = measured.misses;
    }
    sum
}

/// Datagrams missing, by their owners; what no owner was found for is ambiguous.
fn lost(arm: &Arm) -> Count {
    let mut sum = Count::default();
    for stream in &arm.measured.streams {
        sum.events += stream.owners.of_the_device();
        sum.ambiguous += stream.owners.ambiguous + stream.lost.saturating_sub(stream.owners.all());
        sum.trials += stream.datagrams + stream.lost;
    }
    let bursts =
        arm.measured.episodes.iter().filter(|episode| episode.owners.of_the_device() > 0).count() as u64;
    sum.episodes = bursts.clamp(u64::from(sum.events > 0), sum.events);
    sum
}
