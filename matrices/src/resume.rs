//! What of a planned order a journal has done, and what is left. The unit is the block, because pairs need nearness in
//! time: a block with an unfinished arm is repeated whole, and its finished arms are kept as evidence and not used.
//!
//! It decides nothing about the device and opens nothing.

use crate::arm::Place;
use crate::journal::{ArmEnd, DeviceId, Entry, Record, Step};
use crate::plan::profile::same_boot;
use crate::runner::{Block, Schedule};
use crate::soak;
use std::collections::BTreeMap;

/// A pause over this is told with the verdict, ns (experiments section 9).
pub const LONG_PAUSE_NS: u64 = 30 * 60 * 1_000_000_000;

/// Most attempts at the arms of a block; a journal with more was not written by a run.
const MOST_TRIES: usize = 1_000;

/// How far a run got.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// What is left, in planned order, with the attempts to come.
    pub todo: Vec<Place>,
    /// Attempts that count: those of complete blocks, in planned order.
    pub used: Vec<Place>,
    /// Valid attempts that do not count, because their block was not finished around them.
    pub unused: Vec<Place>,
    /// Attempts that say nothing about the device.
    pub invalid: Vec<Place>,
    /// Attempts that did not end.
    pub unfinished: Vec<Place>,
    /// Blocks of all strata.
    pub blocks_planned: u32,
    /// Of them, finished.
    pub blocks_complete: u32,
    /// How often the run was taken up again.
    pub resumes: u32,
    /// Longest pause before it was, ns.
    pub longest_pause_ns: u64,
}

/// A journal that does not fit, or a run that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    /// An arm that is not in the order, or ends twice, or ends without a start.
    #[error("record {n}: {what}")]
    Journal {
        /// Record.
        n: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// It is closed.
    #[error("the bundle is sealed, there is nothing left to do: start a new run")]
    Sealed,
    /// Another device, or the same after a change.
    #[error("{what} of the device was '{was}' and is '{is}': the run cannot go on, start a new one")]
    Device {
        /// Build or boot id.
        what: &'static str,
        /// In the journal.
        was: String,
        /// As it answers.
        is: String,
    },
}

impl Progress {
    /// Lays a journal beside the order.
    ///
    /// # Errors
    /// [`ResumeError::Journal`] for arms that the order does not have.
    pub fn of(schedule: &Schedule, journal: &[Entry]) -> Result<Progress, ResumeError> {
        let told = Told::of(schedule, journal)?;
        let mut progress =
            Progress { resumes: told.resumes, longest_pause_ns: pause(journal), ..Progress::default() };
        for (stratum, blocks) in (0..).zip(schedule.strata.iter().map(|s| &s.blocks)) {
            for (number, block) in (1..).zip(blocks) {
                progress.block(block, stratum, number, &told);
            }
        }
        Ok(progress)
    }

    fn block(&mut self, block: &Block, stratum: u32, number: u32, told: &Told) {
        let tries = told.blocks.get(&(stratum, number)).map_or(&[][..], |b| &b.tries);
        let repeats = told.blocks.get(&(stratum, number)).map_or(0, |b| b.repeats);
        let chosen = complete(block, tries, repeats);
        self.blocks_planned += 1;
        self.blocks_complete += u32::from(chosen.is_some());
        for attempt in tries {
            let list = match attempt.end {
                Some(ArmEnd::Ok) if chosen.iter().flatten().any(|c| c.place == attempt.place) => continue,
                Some(ArmEnd::Ok) => &mut self.unused,
                Some(ArmEnd::Invalid) => &mut self.invalid,
                Some(ArmEnd::Interrupted) | None => &mut self.unfinished,
            };
            list.push(attempt.place.clone());
        }
        match chosen {
            Some(chosen) => self.used.extend(chosen.into_iter().map(|c| c.place.clone())),
            None => self.todo.extend(again(block, stratum, number, tries)),
        }
    }

    /// What has to be told beside the verdict.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.resumes > 1 {
            remarks.push(format!("resumed {} times", self.resumes));
        }
        if self.longest_pause_ns > LONG_PAUSE_NS {
            remarks.push(format!("paused for {} min", self.longest_pause_ns / 60_000_000_000));
        }
        remarks
    }
}

/// An attempt as the journal tells it.
#[derive(Clone, Debug)]
struct Try {
    place: Place,
    /// Resumptions and repetitions of its block before it: attempts of a pair have the same.
    round: (u32, u32),
    end: Option<ArmEnd>,
}

#[derive(Default)]
struct BlockTold {
    tries: Vec<Try>,
    repeats: u32,
}

#[derive(Default)]
struct Told {
    blocks: BTreeMap<(u32, u32), BlockTold>,
    resumes: u32,
}

impl Told {
    fn of(schedule: &Schedule, journal: &[Entry]) -> Result<Told, ResumeError> {
        let mut told = Told::default();
        for entry in journal {
            let done = match &entry.record {
                Record::Resumed { .. } => {
                    told.resumes += 1;
                    Ok(())
                }
                Record::BlockRepeated { stratum, block, .. } => {
                    told.blocks.entry((*stratum, *block)).or_default().repeats += 1;
                    Ok(())
                }
                Record::ArmStart { arm, .. } => told.start(schedule, arm),
                Record::ArmEnd { arm, state, .. } => told.end(arm, *state),
                _ => Ok(()),
            };
            done.map_err(|what| ResumeError::Journal { n: entry.n, what })?;
        }
        Ok(told)
    }

    fn start(&mut self, schedule: &Schedule, arm: &Place) -> Result<(), &'static str> {
        if planned(schedule, arm) != Some(arm.treatment) {
            return Err("an arm that the order does not have at this place");
        }
        let block = self.blocks.entry((arm.stratum, arm.block)).or_default();
        if block.tries.len() >= MOST_TRIES {
            return Err("more attempts at a block than a run makes");
        }
        if block.tries.iter().any(|t| t.place == *arm) {
            return Err("an attempt that began before");
        }
        block.tries.push(Try { place: arm.clone(), round: (self.resumes, block.repeats), end: None });
        Ok(())
    }

    fn end(&mut self, arm: &Place, state: ArmEnd) -> Result<(), &'static str> {
        let block = self.blocks.entry((arm.stratum, arm.block)).or_default();
        let open = block.tries.iter_mut().find(|t| t.place == *arm && t.end.is_none());
        open.ok_or("an arm ends that did not begin, or ends twice")?.end = Some(state);
        Ok(())
    }
}

fn planned(schedule: &Schedule, arm: &Place) -> Option<u32> {
    let at = |number: u32| usize::try_from(number.checked_sub(1)?).ok();
    let blocks = &schedule.strata.get(usize::try_from(arm.stratum).ok()?)?.blocks;
    blocks.get(at(arm.block)?)?.treatments.get(at(arm.position)?).copied()
}

/// The attempts of the last round in which every position has a valid one; the last of each position counts.
fn complete<'a>(block: &Block, tries: &'a [Try], repeats: u32) -> Option<Vec<&'a Try>> {
    let mut rounds: Vec<(u32, u32)> = tries.iter().map(|t| t.round).filter(|r| r.1 == repeats).collect();
    rounds.dedup();
    let last_of = |round: (u32, u32), position: u32| {
        let valid = |t: &&Try| t.round == round && t.place.position == position && t.end == Some(ArmEnd::Ok);
        tries.iter().rev().find(valid)
    };
    let positions = || (1..).zip(&block.treatments).map(|(position, _)| position);
    rounds.into_iter().rev().find_map(|round| positions().map(|p| last_of(round, p)).collect())
}

/// The whole block, each position with the attempt after its last.
fn again<'a>(
    block: &'a Block,
    stratum: u32,
    number: u32,
    tries: &'a [Try],
) -> impl Iterator<Item = Place> + 'a {
    (1..).zip(&block.treatments).map(move |(position, treatment)| {
        let last = tries.iter().filter(|t| t.place.position == position).map(|t| t.place.attempt).max();
        let attempt = last.unwrap_or(0).saturating_add(1);
        Place { stratum, block: number, position, treatment: *treatment, attempt }
    })
}

/// Longest time between a `resumed` record and the one before it, ns; 0 for a clock that went back.
fn pause(journal: &[Entry]) -> u64 {
    let pauses = journal.windows(2).filter_map(|pair| match pair {
        [before, Entry { record: Record::Resumed { .. }, at_ns, .. }] => {
            u64::try_from(at_ns.saturating_sub(before.at_ns)).ok()
        }
        _ => None,
    });
    pauses.max().unwrap_or(0)
}

/// Whether a run may go on with the device that answers.
///
/// # Errors
/// [`ResumeError::Sealed`] and [`ResumeError::Device`].
pub fn may_resume(journal: &[Entry], device: &DeviceId) -> Result<(), ResumeError> {
    if journal.iter().any(|e| matches!(e.record, Record::Sealed { .. })) {
        return Err(ResumeError::Sealed);
    }
    let Some(before) = journal.iter().rev().find_map(|e| match &e.record {
        Record::Env { device } | Record::Resumed { device, .. } => Some(device),
        Record::Chunk { chunk, .. } => Some(&chunk.device),
        _ => None,
    }) else {
        return Ok(());
    };
    let pairs =
        [("the build", &before.build, &device.build), ("the boot id", &before.boot_id, &device.boot_id)];
    // A soak counts restarts of its device itself.
    let asked = if soak::rule(journal).is_some() { 1 } else { 2 };
    match pairs.into_iter().take(asked).find(|(_, was, is)| !same_boot(was, is)) {
        Some((what, was, is)) => Err(ResumeError::Device { what, was: was.clone(), is: is.clone() }),
        None => Ok(()),
    }
}

/// A factor that may stand at another level than before the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unrestored {
    /// Factor.
    pub factor: String,
    /// The value it had, as read.
    pub value: String,
}

/// Factors that were read with the intent to change them and are not known to be back, in order of their names. The
/// first value read is the original: one read again before it was put back may be the run's own.
pub fn unrestored(journal: &[Entry]) -> Vec<Unrestored> {
    let mut known: BTreeMap<&str, (Unrestored, bool)> = BTreeMap::new();
    for entry in journal {
        match &entry.record {
            Record::ToggleOriginal { factor, value } => {
                let original = Unrestored { factor: factor.clone(), value: value.clone() };
                let slot = known.entry(factor).or_insert_with(|| (original.clone(), false));
                if !slot.1 {
                    *slot = (original, true);
                }
            }
            Record::Intent { step: Step::Set, .. } => known.values_mut().for_each(|slot| slot.1 = true),
            Record::Restored { factors } => {
                for factor in factors {
                    if let Some(slot) = known.get_mut(factor.as_str()) {
                        slot.1 = false;
                    }
                }
            }
            _ => {}
        }
    }
    known.into_values().filter(|(_, open)| *open).map(|(original, _)| original).collect()
}

#[cfg(test)]
mod tests;
