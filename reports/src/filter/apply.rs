//! A filter over a whole account: streams that do not fit go, and what belongs to them; what belongs to the capture or
//! the observer stays. The whole capture was verified before, so that nothing is judged otherwise for being alone.

use super::subject::Seen;
use super::{DeclaredStream, Filter};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use wireproof_protocols::verify::rig::RigOutput;
use wireproof_protocols::verify::{Account, Finding, missing_text};

/// What a filter left, for the run record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filtered {
    /// The expression.
    pub expression: String,
    /// Streams that fit.
    pub streams: u64,
    /// Streams that do not.
    pub streams_left_out: u64,
    /// Findings that went with them.
    pub findings_left_out: u64,
}

/// Takes out of the account what does not fit; `declared` are the outputs of the rig that it was verified against.
/// Findings keep their ids, so that a finding is called the same with and without a filter.
pub fn filter(account: &mut Account, filter: &Filter, declared: &[RigOutput]) -> Filtered {
    let fits = fitting(account, filter);
    let place = places(&fits);
    let findings = account.findings.len();
    account.findings.retain_mut(|f| keep(f, &place, filter, declared));
    let outputs = outputs(account, &place);
    let mut kept = fits.iter();
    account.streams.retain(|_| kept.next().copied().unwrap_or(false));
    for stream in &mut account.streams {
        stream.output = stream.output.and_then(|o| outputs.get(o).copied().flatten());
    }
    Filtered {
        expression: filter.text().to_owned(),
        streams: account.streams.len() as u64,
        streams_left_out: (fits.len() - account.streams.len()) as u64,
        findings_left_out: (findings - account.findings.len()) as u64,
    }
}

/// For each stream of the account whether it fits.
pub(crate) fn fitting(account: &Account, filter: &Filter) -> Vec<bool> {
    let fits = |stream| filter.fits(&Seen { stream, outputs: &account.outputs }) == Some(true);
    account.streams.iter().map(fits).collect()
}

/// Where each one goes that stays.
fn places(stays: &[bool]) -> Vec<Option<usize>> {
    let mut next = 0..;
    stays.iter().map(|stays| if *stays { next.next() } else { None }).collect()
}

fn keep(f: &mut Finding, place: &[Option<usize>], filter: &Filter, declared: &[RigOutput]) -> bool {
    match f.stream {
        Some(stream) => {
            f.stream = place.get(stream).copied().flatten();
            f.stream.is_some()
        }
        None => keep_missing(f, filter, declared),
    }
}

/// Of declared streams that were not seen, those that fit for certain not are not missed.
fn keep_missing(f: &mut Finding, filter: &Filter, declared: &[RigOutput]) -> bool {
    let Some(missing) = &mut f.missing else { return true };
    let Some(output) = declared.get(missing.output) else { return true };
    let before = missing.streams.len();
    missing.streams.retain(|id| filter.fits(&DeclaredStream { output, id: *id }) != Some(false));
    if missing.streams.len() < before {
        f.count = missing.streams.len() as u64;
        f.text = missing_text(output, &missing.streams);
    }
    !missing.streams.is_empty()
}

/// Cuts the outputs down to the streams that stay; where each output goes.
fn outputs(account: &mut Account, place: &[Option<usize>]) -> Vec<Option<usize>> {
    let mut in_part = BTreeSet::new();
    for output in &mut account.outputs {
        let whole = output.streams.len();
        output.streams = output.streams.iter().filter_map(|s| place.get(*s).copied().flatten()).collect();
        let out = whole - output.streams.len();
        if out > 0 && !output.streams.is_empty() {
            in_part.insert(format!(
                "The filter leaves out {out} of {whole} streams of output {}; its frames are those of all of them.",
                output.name
            ));
        }
    }
    account.limits.extend(in_part);
    let stays: Vec<bool> = account.outputs.iter().map(|o| !o.streams.is_empty()).collect();
    account.outputs.retain(|o| !o.streams.is_empty());
    places(&stays)
}
