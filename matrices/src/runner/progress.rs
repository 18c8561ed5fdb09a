//! What a terminal shows of a run: which arm, what it is doing, how long that still takes.
//!
//! It never formats anything.

use super::Runner;
use crate::arm::Place;
use wireproof_protocols::Timestamp;

/// A state of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum State {
    /// Checks before the start.
    #[default]
    Preflight,
    /// The device runs until it is steady.
    Warmup,
    /// Factors are set and verified.
    Set,
    /// The device settles.
    Settle,
    /// The window.
    Measure,
    /// Just behind the window.
    Guard,
    /// The ring is downloaded.
    Collect,
    /// Factors are read back.
    Reverify,
    /// The arm is judged and written.
    Judge,
    /// Factors are put back.
    Restore,
    /// The bundle is analysed and sealed.
    Seal,
    /// It is over.
    Over,
}

impl State {
    /// One word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Preflight => "preflight",
            Self::Warmup => "warm-up",
            Self::Set => "set",
            Self::Settle => "settle",
            Self::Measure => "measure",
            Self::Guard => "guard",
            Self::Collect => "collect",
            Self::Reverify => "reverify",
            Self::Judge => "judge",
            Self::Restore => "restore",
            Self::Seal => "seal",
            Self::Over => "over",
        }
    }
}

/// Where a soak stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoakProgress {
    /// Chunks so far.
    pub chunks: u64,
    /// Of them, invalid.
    pub invalid: u64,
    /// Trials that count.
    pub trials: u64,
    /// Trials that are needed.
    pub needed: u64,
    /// Upper bound of the rate so far, parts per billion.
    pub upper_ppb: u64,
}

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What it is doing.
    pub state: State,
    /// The arm that is going, from 1; 0 before the first.
    pub arm: u32,
    /// Arms there will be, repeats known so far included.
    pub arms: u32,
    /// The place of the arm that is going.
    pub place: Option<Place>,
    /// Its treatment.
    pub treatment: String,
    /// Time until the state ends, ns; `None` when it depends on the device.
    pub state_left_ns: Option<u64>,
    /// Least time until the last window closes, ns.
    pub run_left_ns: u64,
    /// Invalid arms so far.
    pub invalid: u32,
    /// The arms that come next: block and treatment, at most [`NEXT`] of them.
    pub next: Vec<(u32, String)>,
    /// True once it is on its way out.
    pub leaving: bool,
    /// Where the soak stands, if the run is one.
    pub soak: Option<SoakProgress>,
}

/// Arms that are told ahead.
pub const NEXT: usize = 12;

impl Runner {
    /// Where it stands at `now`.
    pub fn progress(&self, now: Timestamp) -> Progress {
        let place = self.arm.as_ref().map(|arm| arm.order.place.clone());
        let left = u32::try_from(self.queue.left()).unwrap_or(u32::MAX);
        Progress {
            state: self.state,
            arm: self.queue.started,
            arms: self.queue.started.saturating_add(left),
            treatment: place
                .as_ref()
                .map(|place| self.schedule.name(place.treatment).to_owned())
                .unwrap_or_default(),
            place,
            state_left_ns: self.state_left(now),
            run_left_ns: self.run_left(now, self.chunks_left().unwrap_or(u64::from(left))),
            invalid: self.invalid.values().sum(),
            next: self.next_arms(),
            leaving: self.leaving.is_some(),
            soak: self.soak_progress(),
        }
    }

    fn next_arms(&self) -> Vec<(u32, String)> {
        let shown = |place: &Place| (place.block, self.schedule.name(place.treatment).to_owned());
        let next = self.queue.ahead().take(NEXT).map(shown);
        if self.leaving.is_some() { Vec::new() } else { next.collect() }
    }

    fn state_left(&self, now: Timestamp) -> Option<u64> {
        let ends = match self.state {
            State::Measure => self.window_ends()?,
            State::Warmup => self.ends?,
            _ => return None,
        };
        Some(until(now, ends))
    }

    fn window_ends(&self) -> Option<Timestamp> {
        let arm = self.arm.as_ref()?;
        Some(arm.opened?.plus(super::settle::signed(arm.order.measure_ns)))
    }

    fn run_left(&self, now: Timestamp, arms: u64) -> u64 {
        if self.leaving.is_some() {
            return 0;
        }
        let timing = &self.plan.timing;
        let each = timing.settle_ns.saturating_add(timing.measure_ns).saturating_add(timing.guard_ns);
        let this = match (&self.arm, self.window_ends()) {
            (_, Some(ends)) => until(now, ends),
            (Some(_), None) => each,
            (None, None) if self.cold => timing.warmup_ns,
            _ => 0,
        };
        this.saturating_add(each.saturating_mul(arms))
    }
}

fn until(now: Timestamp, ends: Timestamp) -> u64 {
    u64::try_from(ends.since(now)).unwrap_or(0)
}
