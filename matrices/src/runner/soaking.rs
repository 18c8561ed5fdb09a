//! A soak inside the runner: each arm is a chunk, the machine of [`crate::soak`] says when it is over and whose evidence is
//! dropped.
//!
//! An invalid chunk is followed by the next one, never repeated; the machine counts it.

use super::io::{Answer, Command, Failure, Status};
use super::limits::limit_ns;
use super::steps::{Counted, Move, Step};
use super::{Left, Runner, SoakProgress};
use crate::arm::{Arm, ArmState, Place};
use crate::journal::{DeviceId, Record, Stored};
use crate::soak::{Chunk, Soak, Told, chunk, trials_expected};
use std::collections::BTreeMap;

/// A soak that goes on.
#[derive(Clone, Debug)]
pub(super) struct Soaking {
    soak: Soak,
    /// Chunks whose evidence lies there whole, by number.
    places: BTreeMap<u64, Place>,
}

impl Soaking {
    /// The soak that the first record of a run begins; `None` of a matrix.
    pub(super) fn begin(first: &Record) -> Option<Soaking> {
        let Record::Plan { soak: Some(rule), .. } = first else { return None };
        Some(Soaking { soak: Soak::new(rule.clone()).ok()?, places: BTreeMap::new() })
    }

    /// The soak that a journal tells of.
    pub(super) fn again(told: &Told) -> Soaking {
        let kept = told.soak.state().kept.iter();
        let places = kept.filter_map(|kept| Some((kept.chunk, told.place(kept.chunk)?.clone()))).collect();
        Soaking { soak: told.soak.clone(), places }
    }

    /// True when no further chunk would change anything.
    pub(super) fn is_over(&self) -> bool {
        self.soak.state().ended.is_some()
    }

    /// Takes a chunk; the places whose evidence is dropped.
    fn take(&mut self, place: &Place, chunk: &Chunk) -> Vec<Place> {
        let after = self.soak.take(chunk);
        self.places.insert(self.soak.state().chunks, place.clone());
        after.drop.iter().filter_map(|number| self.places.remove(number)).collect()
    }
}

impl Runner {
    /// Goes on with the soak of a cut run; evidence that was to be dropped is.
    pub(super) fn take_over_soak(&mut self, left: &Left) {
        let Some(told) = &left.soak else { return };
        self.soaking = Some(Soaking::again(told));
        let overdue = told.overdue();
        if !overdue.is_empty() {
            let at = self.steps.len().saturating_sub(1);
            self.steps.insert(at, Step::DropEvidence(overdue));
        }
    }

    /// What an arm that was judged amounts to; `None` in a matrix.
    pub(super) fn chunk_of(&self, arm: &Arm, status: &[Option<Status>; 2]) -> Option<Chunk> {
        let rule = &self.soaking.as_ref()?.soak.state().rule;
        let reasons = match &arm.state {
            ArmState::Invalid { reasons } => reasons.as_slice(),
            _ => &[],
        };
        let device = self.soaked_device(status);
        Some(Chunk { device, ..chunk(&self.plan, &rule.metric, arm, reasons) })
    }

    /// Who answered last.
    fn soaked_device(&self, status: &[Option<Status>; 2]) -> DeviceId {
        let id = |status: &Status| DeviceId { build: status.build.clone(), boot_id: status.boot.clone() };
        let seen = status.iter().rev().flatten().next().or(self.device.as_ref()).map(id);
        let known = || self.soaking.as_ref().and_then(|soaking| soaking.soak.state().device.clone());
        seen.or_else(known).unwrap_or_default()
    }

    /// The record of a chunk, with the octets of its files.
    pub(super) fn chunk_record(&mut self, files: &BTreeMap<String, Stored>) -> Option<Record> {
        let run = self.arm.as_mut()?;
        let place = run.order.place.clone();
        let chunk = run.chunk.as_mut()?;
        chunk.bytes = files.values().fold(0, |sum, stored| sum.saturating_add(stored.octets));
        Some(Record::Chunk { arm: place, chunk: chunk.clone() })
    }

    /// What a chunk means for the run; false in a matrix.
    pub(super) fn count_chunk(&mut self, counted: &Counted) -> bool {
        let (Some(soaking), Some(chunk)) = (&mut self.soaking, &counted.chunk) else { return false };
        let drop = soaking.take(&counted.place, chunk);
        if !counted.reasons.is_empty() {
            *self.invalid.entry(self.schedule.name(counted.place.treatment).to_owned()).or_default() += 1;
        }
        if counted.restarted {
            self.cold = true;
            self.device = None;
        }
        if !drop.is_empty() {
            self.steps.push_front(Step::DropEvidence(drop));
        }
        true
    }

    pub(super) fn drop_evidence(
        &mut self,
        places: Vec<Place>,
        answer: Option<Result<Answer, Failure>>,
    ) -> Move {
        match answer {
            None => {
                let command = Command::DropEvidence { places };
                let limit = limit_ns(&command);
                Move::Ask(command, limit, Step::DropEvidence(Vec::new()))
            }
            Some(Ok(_)) => Move::Next,
            Some(Err(failure)) => {
                self.disk(&failure.to_string());
                Move::Next
            }
        }
    }

    /// Where the soak stands; `None` in a matrix.
    pub(super) fn soak_progress(&self) -> Option<SoakProgress> {
        let soak = &self.soaking.as_ref()?.soak;
        let (state, verdict) = (soak.state(), soak.verdict());
        Some(SoakProgress {
            chunks: state.chunks,
            invalid: state.invalid,
            trials: verdict.trials,
            needed: verdict.needed,
            upper_ppb: verdict.upper_ppb,
        })
    }

    /// Chunks that are still needed at the pace so far, that of the plan before the first.
    pub(super) fn chunks_left(&self) -> Option<u64> {
        let soak = &self.soaking.as_ref()?.soak;
        let state = soak.state();
        let each = match state.chunks.saturating_sub(state.invalid) {
            0 => trials_expected(&self.plan),
            valid => (state.trials / valid).max(1),
        };
        let going = u64::from(self.arm.is_some());
        Some(soak.trials_left().div_ceil(each).saturating_sub(going))
    }
}
