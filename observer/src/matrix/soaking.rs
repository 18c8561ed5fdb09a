//! Soaks in bundles: which plan the arms of a bundle were run by, and what its journal tells of a soak.
//!
//! It judges nothing and changes nothing.

use super::bundle::{Bundle, BundleError, JOURNAL};
use super::verifying::Verified;
use std::fmt::Display;
use wireproof_matrices::arm::Arm;
use wireproof_matrices::plan::Plan;
use wireproof_matrices::soak::{Chunk, Told, chunk, course, rule};
use wireproof_matrices::validity::reasons;

/// What of a chunk stays when its evidence is dropped: the totals of its streams.
pub const TOTALS: &str = "wire.csv";

/// The plan that the arms of a bundle were run by: its own, or the course of a soak.
///
/// # Errors
/// A plan or a rule that this version does not know.
pub fn run_by(bundle: &Bundle) -> Result<Plan, BundleError> {
    let plan = bundle.plan()?;
    match rule(bundle.journal()) {
        Some(rule) => course(&plan, rule).map_err(|error| refused(bundle, &error)),
        None => Ok(plan),
    }
}

/// The soak of a bundle; `None` of a matrix.
///
/// # Errors
/// A rule that this version does not know.
pub fn told(bundle: &Bundle) -> Result<Option<Told>, BundleError> {
    Told::of(bundle.journal()).map_err(|error| refused(bundle, &error))
}

fn refused(bundle: &Bundle, why: &dyn Display) -> BundleError {
    BundleError::Refused { path: bundle.dir().join(JOURNAL).display().to_string(), why: why.to_string() }
}

impl Verified {
    /// The totals of every chunk whose evidence is there are those that its arm gives, and nothing was dropped that the
    /// policy keeps.
    pub(super) fn soak(&mut self, bundle: &Bundle, course: &Plan, arms: &[Arm]) -> Result<(), BundleError> {
        let Some(told) = told(bundle)? else { return Ok(()) };
        let metric = &told.soak.state().rule.metric;
        let before = self.differences.len();
        let mut same = 0;
        for (place, kept) in &told.chunks {
            let Some(arm) = arms.iter().find(|arm| arm.place == *place) else {
                if !told.dropped.contains(place) {
                    self.differences
                        .push(format!("{}: no arm.json of chunk {place:?}", bundle.dir().display()));
                }
                continue;
            };
            let again = chunk(course, metric, arm, &reasons(course, arm));
            if totals(&again) == totals(kept) {
                same += 1;
            } else {
                self.differences
                    .push(format!("{JOURNAL}: the totals of chunk {place:?} are not those of its arm"));
            }
        }
        for place in told.dropped.difference(&told.to_drop) {
            self.differences.push(format!("{JOURNAL}: the evidence of chunk {place:?} was to be kept"));
        }
        if self.differences.len() == before {
            self.checked.push(format!("{same} chunks: their totals are those of their arms"));
        }
        if !told.dropped.is_empty() {
            let (dropped, all) = (told.dropped.len(), told.chunks.len());
            self.notes.push(format!(
                "{dropped} of {all} chunks: only totals are kept, as the soak's disk policy says; they cannot be measured again"
            ));
        }
        Ok(())
    }
}

/// What of a chunk comes from its arm.
fn totals(chunk: &Chunk) -> (u64, u64, u64, u64, bool) {
    (chunk.trials, chunk.events, chunk.ambiguous, chunk.length_ns, chunk.invalid.is_empty())
}
