//! What a cut run left, as the runner needs it to go on.
//!
//! It never decides which attempts count; that is [`crate::resume`].

use super::Schedule;
use super::validity::RESTARTED;
use crate::arm::Place;
use crate::journal::{ArmEnd, DeviceId, Entry, Record};
use crate::resume::{Progress, ResumeError, unrestored};
use crate::soak::{Chunk, Told};
use std::collections::BTreeMap;

/// What is wrong with a soak whose rule says nothing.
const NO_RULE: &str = "the rule of its soak cannot be followed";

/// What a cut run left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Arms still to run, blocks with an unfinished arm whole.
    pub arms: Vec<Place>,
    /// Factors that are not known to be back, with the value before the run, as the journal has it.
    pub originals: BTreeMap<String, String>,
    /// Build and boot of the device then; empty: not known.
    pub device: DeviceId,
    /// Invalid arms so far by treatment.
    pub invalid: BTreeMap<String, u32>,
    /// Restarts of the device so far.
    pub restarts: u32,
    /// The soak, if the run is one.
    pub soak: Option<Told>,
}

impl Left {
    /// What the journal of a cut run left of its order.
    ///
    /// # Errors
    /// A journal that does not fit the order.
    pub fn of(schedule: &Schedule, journal: &[Entry]) -> Result<Left, ResumeError> {
        let progress = Progress::of(schedule, journal)?;
        let originals = unrestored(journal).into_iter().map(|left| (left.factor, left.value)).collect();
        let mut left = Left { arms: progress.todo, originals, ..Left::default() };
        journal.iter().for_each(|entry| left.learn(schedule, &entry.record));
        left.soak = Told::of(journal).map_err(|_| ResumeError::Journal { n: 1, what: NO_RULE })?;
        if let Some(told) = &left.soak {
            // Its invalid chunks are counted and not repeated.
            let done = |place: &Place| told.chunks.iter().any(|(done, _)| done.block == place.block);
            left.arms.retain(|place| !done(place));
        }
        Ok(left)
    }

    fn learn(&mut self, schedule: &Schedule, record: &Record) {
        match record {
            Record::Env { device, .. }
            | Record::Resumed { device, .. }
            | Record::Chunk { chunk: Chunk { device, .. }, .. } => self.device = device.clone(),
            Record::ArmEnd { arm, state: ArmEnd::Invalid, reasons, .. } => {
                *self.invalid.entry(schedule.name(arm.treatment).to_owned()).or_default() += 1;
                self.restarts += u32::from(reasons.iter().any(|reason| reason == RESTARTED));
            }
            _ => {}
        }
    }
}
