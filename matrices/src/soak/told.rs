//! A soak as its journal tells it: the machine led through every chunk again, and what became of their evidence.
//!
//! A chunk counts with the `arm_end` of its arm: one that was cut before is no chunk.

use super::{Chunk, Rule, RuleError, Soak};
use crate::arm::Place;
use crate::journal::{ArmEnd, Entry, Record};
use std::collections::BTreeSet;

/// A soak that was read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Where it stands.
    pub soak: Soak,
    /// Its chunks in order, the first of them number 1.
    pub chunks: Vec<(Place, Chunk)>,
    /// Chunks whose evidence was dropped down to its totals.
    pub dropped: BTreeSet<Place>,
    /// Chunks whose evidence the policy wants dropped.
    pub to_drop: BTreeSet<Place>,
}

/// The rule of a journal's soak; `None` of a run that is none.
pub fn rule(journal: &[Entry]) -> Option<&Rule> {
    match &journal.first()?.record {
        Record::Plan { soak, .. } => soak.as_ref(),
        _ => None,
    }
}

impl Told {
    /// The soak of a journal; `None` for a run that is none.
    ///
    /// # Errors
    /// A rule that cannot be followed.
    pub fn of(journal: &[Entry]) -> Result<Option<Told>, RuleError> {
        let Some(rule) = rule(journal) else { return Ok(None) };
        let soak = Soak::new(rule.clone())?;
        let mut told = Told { soak, chunks: Vec::new(), dropped: BTreeSet::new(), to_drop: BTreeSet::new() };
        let mut open: Option<(&Place, &Chunk)> = None;
        for entry in journal {
            match &entry.record {
                Record::Chunk { arm, chunk } => open = Some((arm, chunk)),
                Record::ArmEnd { arm, state, .. } if *state != ArmEnd::Interrupted => {
                    if let Some((place, chunk)) = open.take().filter(|(place, _)| *place == arm) {
                        told.take(place, chunk);
                    }
                }
                Record::Dropped { arm, .. } => {
                    told.dropped.insert(arm.clone());
                }
                _ => {}
            }
        }
        Ok(Some(told))
    }

    fn take(&mut self, place: &Place, chunk: &Chunk) {
        let after = self.soak.take(chunk);
        self.chunks.push((place.clone(), chunk.clone()));
        let drop: Vec<Place> = after.drop.iter().filter_map(|number| self.place(*number).cloned()).collect();
        self.to_drop.extend(drop);
    }

    /// Where a chunk was measured, by its number.
    pub fn place(&self, number: u64) -> Option<&Place> {
        let at = usize::try_from(number.checked_sub(1)?).ok()?;
        self.chunks.get(at).map(|(place, _)| place)
    }

    /// Chunks whose evidence should be dropped and lies there whole: a cut came between.
    pub fn overdue(&self) -> Vec<Place> {
        self.to_drop.difference(&self.dropped).cloned().collect()
    }
}
