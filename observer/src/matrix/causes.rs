//! `causes.json` of an arm: why the frames of its window were made, from its ring; and the same by treatment, for reports.

use super::bundle::{Bundle, BundleError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wireproof_matrices::arm::Place;
use wireproof_recorder::analysis::CauseReport;
use wireproof_recorder::analysis::causes::{Counts, PlaceRow};
use wireproof_reports::matrix::CauseRow;

/// Name in an arm's folder.
pub const CAUSES: &str = "causes.json";
const SCHEMA: &str = "wireproof.arm-causes/1";

/// Why the frames of an arm's window were made. Places and events are bounded by the recorder's 32.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArmCauses {
    schema: String,
    /// Number of the recording, if its beginning is in the ring.
    pub recording: Option<u64>,
    /// Frames by cause, and the places that asked.
    pub counts: Counts,
    /// Of the frames by other: those without any record of a cause.
    pub unrecorded: u64,
    /// Events by source, most first.
    pub events: Vec<PlaceRow>,
    /// Events of sources past those that are kept.
    pub events_rest: u64,
}

impl ArmCauses {
    /// Of what a ring shows.
    pub fn of(report: CauseReport) -> ArmCauses {
        ArmCauses {
            schema: SCHEMA.to_owned(),
            recording: report.recording,
            counts: report.counts,
            unrecorded: report.other.unrecorded,
            events: report.events,
            events_rest: report.events_rest,
        }
    }

    /// The file.
    pub fn octets(&self) -> Vec<u8> {
        // Plain words and numbers: they always have a JSON form.
        let mut text = serde_json::to_vec(self).unwrap_or_default();
        text.push(b'\n');
        text
    }
}

/// Causes by treatment, over the arms for which `counts` says so, in the order of `treatments`. Arms without the file,
/// such as those of older bundles, add nothing.
///
/// # Errors
/// A file that cannot be read.
pub fn by_treatment(
    bundle: &Bundle,
    treatments: &[String],
    counts: impl Fn(&Place) -> bool,
) -> Result<Vec<CauseRow>, BundleError> {
    let mut rows: BTreeMap<usize, CauseRow> = BTreeMap::new();
    for files in bundle.arms().iter().filter(|files| counts(&files.place)) {
        let Some(path) = files.files.get(CAUSES) else { continue };
        let refused = |e: serde_json::Error| BundleError::Refused { path: path.clone(), why: e.to_string() };
        let arm: ArmCauses = serde_json::from_slice(&bundle.read(path)?).map_err(refused)?;
        let index = files.place.treatment as usize;
        let Some(treatment) = treatments.get(index) else { continue };
        let row = rows.entry(index).or_insert_with(|| CauseRow {
            treatment: treatment.clone(),
            counts: Counts::default(),
            unrecorded: 0,
        });
        row.counts.add(&arm.counts);
        row.unrecorded += arm.unrecorded;
    }
    Ok(rows.into_values().collect())
}
