//! What is shown: payload digests of a deterministic pattern, which no treatment may change.
//!
//! Judged within a stratum and a stream against all baseline arms; baselines that disagree among themselves show no
//! deterministic pattern, and then nothing can be said.

use super::Count;
use crate::arm::Arm;
use std::collections::{BTreeMap, BTreeSet};

type Shown<'a> = BTreeSet<&'a str>;

/// What payload comparison found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payloads {
    /// Frames with a digest that no baseline arm shows, and digests of the baseline that an arm without a loss lacks.
    pub count: Count,
    /// Events by index of the treatment arm.
    pub by_arm: BTreeMap<usize, u64>,
    /// Streams whose baseline arms disagree.
    pub unsettled: BTreeSet<String>,
}

/// Compares treatment arms with baseline arms of the same stratum.
pub fn payload(baseline: &[&Arm], treatment: &[&Arm]) -> Payloads {
    let mut found = Payloads::default();
    let strata: BTreeSet<u32> = treatment.iter().map(|arm| arm.place.stratum).collect();
    for stratum in strata {
        let base: Vec<&Arm> = baseline.iter().copied().filter(|arm| arm.place.stratum == stratum).collect();
        for id in streams(&base, treatment) {
            let shown: Vec<Shown<'_>> = base.iter().filter_map(|arm| digests(arm, id)).collect();
            if shown.is_empty() || shown.iter().any(|one| *one != shown[0]) {
                found.unsettled.insert(id.to_owned());
                continue;
            }
            for (index, arm) in treatment.iter().enumerate().filter(|(_, arm)| arm.place.stratum == stratum) {
                let count = against(&shown[0], arm, id);
                *found.by_arm.entry(index).or_default() += count.events;
                found.count += count;
            }
        }
    }
    found.by_arm.retain(|_, events| *events > 0);
    found
}

fn streams<'a>(base: &[&'a Arm], treatment: &[&'a Arm]) -> BTreeSet<&'a str> {
    let all = base.iter().chain(treatment).flat_map(|arm| &arm.measured.streams);
    all.filter(|stream| !stream.payload.is_empty()).map(|stream| stream.id.as_str()).collect()
}

fn digests<'a>(arm: &'a Arm, id: &str) -> Option<Shown<'a>> {
    let stream = arm.measured.streams.iter().find(|stream| stream.id == id)?;
    (!stream.payload.is_empty()).then(|| stream.payload.keys().map(String::as_str).collect())
}

/// Events of one arm and stream. A digest that is absent counts once, unless datagrams were lost: then its frame may be
/// the one that is not whole.
fn against(shown: &Shown<'_>, arm: &Arm, id: &str) -> Count {
    let Some(stream) = arm.measured.streams.iter().find(|stream| stream.id == id) else {
        return Count::default();
    };
    let foreign = stream.payload.iter().filter(|(digest, _)| !shown.contains(digest.as_str()));
    let (strange, kinds) = foreign.fold((0, 0), |(sum, kinds), (_, frames)| (sum + frames, kinds + 1));
    let absent = shown.iter().filter(|digest| !stream.payload.contains_key(**digest)).count() as u64;
    let absent = if stream.lost == 0 { absent } else { 0 };
    let trials = stream.payload.values().sum::<u64>() + absent;
    Count { events: strange + absent, episodes: kinds + absent, ambiguous: 0, trials }
}
