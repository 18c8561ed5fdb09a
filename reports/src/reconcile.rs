//! Three-way reconcile: the device's record says sent or not, the wire was seen, the observer's counters are known.
//! Each missing datagram without an owner goes to `sender` (the record says not sent), to `wire` (it says sent), or
//! stays `unknown`. What the observer's counters proved is never moved, and no verdict rule changes.
//!
//! Pure: rings come in as octets, the clocks as what is known about them.

mod clock;
mod delays;
mod mapping;
mod record;
mod settle;

pub use clock::Clock;
pub use delays::{Delay, Delays, OutputDelays};
pub use record::DeviceRecord;

pub(crate) use clock::{DRIFT_PPM, STEP_NS};

use clock::TimeLine;
use mapping::Slot;
use record::{Life, Unsent};
use serde::{Deserialize, Serialize};
pub(crate) use settle::TRAVEL_NS;
use settle::{Absent, Open, Testimony, give, shares};
use std::collections::{BTreeMap, BTreeSet};
use wireproof_protocols::verify::{Account, Finding};

/// What the device's record decided; kept in the run record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reconciled {
    /// Rings that were taken in.
    pub rings: u64,
    /// Whole frames in them, each counted once.
    pub frames: u64,
    /// Missing datagrams that the device's record says were never sent.
    pub sender: u64,
    /// Missing datagrams that it says were sent.
    pub wire: u64,
    /// Missing datagrams that it does not decide.
    pub unknown: u64,
    /// Why not, one sentence a reason.
    pub reasons: Vec<String>,
    /// From `wire_send` to the arrival, by output; empty where arrivals were not kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delays: Vec<OutputDelays>,
}

/// Finds the owners of what is missing with the device's record. Asked twice, it changes nothing more.
pub fn reconcile(account: &mut Account, record: &DeviceRecord, clock: &Clock) -> Reconciled {
    let mut reasons = BTreeSet::new();
    let testimonies = testimonies(account, record, clock, &mut reasons);
    let mut told = Reconciled { rings: record.rings(), frames: record.frames(), ..Reconciled::default() };
    for (stream, testimony) in testimonies {
        settle_stream(account, stream, &testimony, &mut told, &mut reasons);
    }
    told.unknown = account.streams.iter().map(|s| s.owners.unknown).sum();
    let unmapped = told.unknown > 0 && reasons.is_empty();
    let none = "no output of the device's record could be matched to the streams that lost datagrams";
    told.reasons = reasons.into_iter().map(str::to_owned).collect();
    told.reasons.extend(unmapped.then(|| none.to_owned()));
    told
}

impl Open {
    fn sentence(self) -> &'static str {
        match self {
            Open::Uncovered => "the device's record has a hole there, or does not reach so far",
            Open::Clock => "the device's clock is not known well enough to tell neighbouring losses apart",
            Open::Which => "the device's record does not say which datagrams of the frame were not sent",
            Open::Contradiction => {
                "the device's record says not sent where nothing is missing: its clock or its outputs are not those of the streams"
            }
        }
    }
}

/// What all lives of the device say about each stream.
fn testimonies(
    account: &Account,
    record: &DeviceRecord,
    clock: &Clock,
    reasons: &mut BTreeSet<&'static str>,
) -> BTreeMap<usize, Testimony> {
    let mut all: BTreeMap<usize, Testimony> = BTreeMap::new();
    for life in record.lives() {
        let Some(line) = clock.of(life) else {
            reasons.insert("the device's wall clock was set during the run, and nothing else tells its time");
            continue;
        };
        if life.full {
            reasons.insert("the device's record has more holes than are followed");
        }
        let covered: Vec<(i64, i64)> = life.runs.iter().map(|run| inside(&line, run.ns)).collect();
        let (Some(first), Some(last)) = (life.runs.first(), life.runs.last()) else { continue };
        let stamps = outside(&line, (first.ns.0, last.ns.1));
        for slot in mapping::slots(account, life, stamps) {
            let testimony = all.entry(slot.stream).or_default();
            testimony.covered.extend(covered.iter().filter(|c| c.0 <= c.1));
            testimony.absent.extend(absent(life, &line, &slot));
        }
    }
    all
}

/// Stamps that lie between two instants of the device for certain.
fn inside(line: &TimeLine<'_>, (from, to): (u64, u64)) -> (i64, i64) {
    (line.stamps(from).1, line.stamps(to).0)
}

/// Stamps that may lie between two instants of the device, the way included.
fn outside(line: &TimeLine<'_>, (from, to): (u64, u64)) -> (i64, i64) {
    (line.stamps(from).0, line.stamps(to).1.saturating_add(TRAVEL_NS))
}

/// Datagrams of a stream that the device did not hand over.
fn absent(life: &Life, line: &TimeLine<'_>, slot: &Slot) -> Vec<Absent> {
    let own = life.unsent.iter().filter(|unsent| unsent.device == slot.device);
    own.filter_map(|unsent| {
        let (count, vague) = share_of(unsent, slot.place)?;
        Some(Absent { stamps: outside(line, unsent.ns), count, vague })
    })
    .collect()
}

/// How many of a run of datagrams are those of a place; `None` when it is not among them.
fn share_of(unsent: &Unsent, place: Option<u16>) -> Option<(u64, bool)> {
    let Some(place) = place else { return Some((unsent.count, false)) };
    let Some(first) = unsent.first else { return Some((unsent.count, true)) };
    let behind = u64::from(place).checked_sub(u64::from(first))?;
    (behind < unsent.count).then_some((1, false))
}

fn settle_stream(
    account: &mut Account,
    stream: usize,
    testimony: &Testimony,
    told: &mut Reconciled,
    reasons: &mut BTreeSet<&'static str>,
) {
    let Some(of) = account.streams.get_mut(stream) else { return };
    let is_loss = |f: &Finding| f.stream == Some(stream) && f.owners.is_some();
    let findings: Vec<&Finding> = account.findings.iter().filter(|f| is_loss(f)).collect();
    let listed: u64 = findings.iter().filter_map(|f| f.owners).map(|o| o.unknown).sum();
    let all_listed = listed == of.owners.unknown;
    let shares = shares(&findings, testimony, (of.first_ns, of.last_ns), all_listed);
    for (f, (sender, wire, open)) in account.findings.iter_mut().filter(|f| is_loss(f)).zip(shares) {
        let Some(owners) = &mut f.owners else { continue };
        let unknown = owners.unknown;
        give(owners, sender, wire);
        let moved = (sender.min(unknown), unknown - owners.unknown - sender.min(unknown));
        give(&mut of.owners, moved.0, moved.1);
        (told.sender, told.wire) = (told.sender + moved.0, told.wire + moved.1);
        if let Some(words) = words(moved.0, moved.1) {
            f.text.push_str(&words);
        }
        if owners.unknown > 0 {
            reasons.extend(open.map(Open::sentence));
        }
    }
}

/// What the record says, for the text of a finding.
fn words(sender: u64, wire: u64) -> Option<String> {
    match (sender, wire) {
        (0, 0) => None,
        (_, 0) => Some("; the device's record says never sent".to_owned()),
        (0, _) => Some("; the device's record says sent".to_owned()),
        _ => Some(format!("; the device's record says {sender} never sent, {wire} sent")),
    }
}
