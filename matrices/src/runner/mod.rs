//! The runner of a matrix as a state machine without input or output: it says what to do next and is told what came of it.
//!
//! It never opens a file or a socket and never reads a clock; see [`io`] for the contract with whoever executes it.
//! A run is a queue of steps. A step asks for one command, waits, or ends; an arm, a warm-up and a way out are lists of
//! steps, so that leaving early is nothing but another list.

mod engine;
pub mod io;
mod leave;
mod left;
mod limits;
mod measure;
mod progress;
mod queue;
mod renew;
mod settle;
mod soaking;
mod start;
mod steps;
mod toggle;
mod validity;
mod window;

pub use left::Left;
pub use progress::{NEXT, Progress, SoakProgress, State};
pub(crate) use start::word;

use crate::arm::Place;
use crate::journal::Record;
use crate::ladder::Climb;
use crate::order::Order;
use crate::plan::Plan;
use engine::{Again, Open};
use io::{Ending, Exit, Input, Output, Status};
use queue::Queue;
use serde::{Deserialize, Serialize};
use soaking::Soaking;
use std::collections::{BTreeMap, VecDeque};
use steps::{ArmRun, Step};
use wireproof_protocols::Timestamp;

/// The order of a run: strata one after another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Strata in order; one without stratum factors.
    pub strata: Vec<Stratum>,
    /// Treatments by index.
    pub treatments: Vec<Treatment>,
    /// Level of each fixed factor.
    pub fixed: BTreeMap<String, String>,
}

/// One combination of the levels of the treatment factors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Treatment {
    /// Its name: the level of a single factor, else `drain=raw,preview=on`.
    pub name: String,
    /// Level of each treatment factor.
    pub levels: BTreeMap<String, String>,
}

/// The order of a stratum.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stratum {
    /// Levels of its factors; empty without.
    pub levels: BTreeMap<String, String>,
    /// Its blocks.
    pub blocks: Vec<Block>,
}

/// The order of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Treatments in order.
    pub treatments: Vec<u32>,
    /// Planned drains (and sham windows) of each of its arms, ns from the beginning of the window.
    pub drains_ns: Vec<u64>,
}

impl From<&Order> for Schedule {
    fn from(order: &Order) -> Self {
        let treatment =
            |t: &crate::order::Treatment| Treatment { name: t.name.clone(), levels: t.levels.clone() };
        let strata = order.strata.iter().map(|stratum| {
            let starts = stratum.drain_starts_ns.iter().cloned().chain(std::iter::repeat(Vec::new()));
            let block =
                |(treatments, drains_ns): (&Vec<u32>, _)| Block { treatments: treatments.clone(), drains_ns };
            let blocks = stratum.blocks.iter().zip(starts).map(block).collect();
            Stratum { levels: stratum.levels.clone(), blocks }
        });
        Self {
            strata: strata.collect(),
            treatments: order.treatments.iter().map(treatment).collect(),
            fixed: order.fixed.clone(),
        }
    }
}

impl Schedule {
    /// Level of every factor in an arm.
    pub fn levels(&self, place: &Place) -> BTreeMap<String, String> {
        let mut levels = self.fixed.clone();
        levels.extend(self.strata.get(place.stratum as usize).map(|s| s.levels.clone()).unwrap_or_default());
        levels.extend(
            self.treatments.get(place.treatment as usize).map(|t| t.levels.clone()).unwrap_or_default(),
        );
        levels
    }

    /// Name of a treatment; empty for an index there is not.
    pub fn name(&self, treatment: u32) -> &str {
        self.treatments.get(treatment as usize).map_or("", |t| t.name.as_str())
    }

    /// Every arm in order, first attempts.
    pub fn places(&self) -> Vec<Place> {
        queue::places(self).collect()
    }

    fn block(&self, place: &Place) -> Option<&Block> {
        let stratum = self.strata.get(place.stratum as usize)?;
        stratum.blocks.get((place.block as usize).checked_sub(1)?)
    }
}

/// What a run starts from.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// The plan, frozen.
    pub plan: Plan,
    /// Its order.
    pub schedule: Schedule,
    /// The first record, [`Record::Plan`]; of a resumed run [`Record::Resumed`].
    pub first: Record,
    /// Path of the bundle, for the restore command.
    pub bundle: String,
}

/// The state machine.
#[derive(Clone, Debug)]
pub struct Runner {
    plan: Plan,
    schedule: Schedule,
    bundle: String,
    now: Timestamp,
    state: State,
    /// When the state is expected to end.
    ends: Option<Timestamp>,
    tickets: u64,
    out: VecDeque<Output>,
    open: Option<Open>,
    again: Option<Again>,
    current: Option<Step>,
    steps: VecDeque<Step>,
    queue: Queue,
    arms: u32,
    ended: u32,
    arm: Option<ArmRun>,
    stratum: Option<u32>,
    /// True until fixed factors were set and warm-up was done, and after a restart of the device.
    cold: bool,
    /// Factors that drifted and have to be set again.
    drifted: Vec<String>,
    /// Level of every factor that was set.
    held: BTreeMap<String, String>,
    originals: BTreeMap<String, String>,
    /// Factors that were touched, in order, with the level to put back.
    touched: Vec<(String, String)>,
    unrestored: Vec<(String, String, String)>,
    device: Option<Status>,
    expected: crate::journal::DeviceId,
    restarts: u32,
    invalid: BTreeMap<String, u32>,
    block_throttled: Option<u64>,
    block_repeats: u32,
    block_rate_off: Vec<u32>,
    hold_ns: Option<u64>,
    retention_ns: Option<u64>,
    rejoin: bool,
    signals: u32,
    leaving: Option<Ending>,
    /// End of the time that the last attempt to restore has, after a second signal.
    hurry: Option<Timestamp>,
    disk_broken: bool,
    keep_off: bool,
    later: Vec<Record>,
    climb: Climb,
    /// The soak, if the run is one.
    soaking: Option<Soaking>,
    exit: Option<Exit>,
}

impl Runner {
    /// A run from the start.
    pub fn new(start: Start, now: Timestamp) -> Self {
        let queue = Queue::new(&start.schedule);
        let mut runner = Self::with(start, queue, now);
        runner.turn();
        runner
    }

    /// A run that goes on after a cut.
    pub fn resume(start: Start, left: Left, now: Timestamp) -> Self {
        let mut runner = Self::with(start, Queue::of(left.arms.clone()), now);
        runner.take_over(left);
        runner.turn();
        runner
    }

    /// Tells it what happened at `now`.
    pub fn handle_input(&mut self, now: Timestamp, input: Input) {
        self.now = self.now.max(now);
        if self.exit.is_none() {
            self.take(input);
            self.turn();
        }
    }

    /// The next thing to do.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.out.pop_front()
    }

    /// When it wants to be told the time ([`Input::Tick`]).
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        if self.exit.is_some() { None } else { self.timeout() }
    }

    /// The order it follows, which has the names of treatments.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The last word, once it was said.
    pub fn exit(&self) -> Option<&Exit> {
        self.exit.as_ref()
    }
}
