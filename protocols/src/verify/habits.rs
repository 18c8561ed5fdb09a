//! What a sender does its own way: a cycle through the value that means "not used", and content that is left out while it
//! does not change. Learned once its numbering is known; no loss is counted here.

use super::findings::{Findings, Place as At};
use super::flow::Flow;
use super::model::Model;
use super::observation::Observation;
use super::rules;
use super::settle::{Shared, at};
use crate::time::MS;
use crate::{Protocol, Severity};

/// Longest silence over content that does not change which a sACN sender may keep (E1.31 6.6.2: 1 s), with room for jitter.
pub(super) const SACN_KEEP_ALIVE: i64 = 1_500 * MS;
/// The same for Art-Net (about 4 s), with room for jitter.
pub(super) const ART_KEEP_ALIVE: i64 = 4_100 * MS;
/// A sender that went on with unchanged content at its pace for so long does not leave it out: longer than the keep-alives of
/// E1.31 6.6.2 are apart.
pub(super) const INSISTS_FOR: i64 = 1_500 * MS;

pub(super) fn tell_dialect(model: &Model, place: At, findings: &mut Findings) {
    let cycle = model.range();
    findings.add(rules::SEQ_DIALECT, Severity::Warning, place, 0, || {
        format!("the cycle is {cycle}: it includes the value that means \"not used\"")
    });
}

/// The stream's first datagrams did not reach the end of the cycle, and at its end the sender counts through the value that
/// means "not used": from here on that is one of its numbers.
#[inline]
pub(super) fn dialect(flow: &mut Flow, o: &Observation, lane: usize, shared: &mut Shared) {
    if o.raw != 0 && flow.protocol().layout().is_none() {
        return;
    }
    let unused = unused(flow.protocol());
    let Some(model) = flow.lanes[lane].counts_through(o, unused) else { return };
    for lane in flow.lanes.iter_mut() {
        lane.renumber(model, lane.newest_raw());
    }
    flow.model = Some(model);
    // What seemed to have no number was one of the cycle.
    flow.cold.unnumbered = 0;
    if flow.arrived_at == o.at {
        flow.group_raw = Some(o.raw);
    }
    tell_dialect(&model, at(flow, o), &mut shared.findings);
}

/// The number that means "not used".
pub(super) fn unused(protocol: Protocol) -> Option<u32> {
    match protocol {
        Protocol::Ddp | Protocol::ArtNet => Some(0),
        other => other.layout()?.sequence()?.unused,
    }
}

/// A silence beside content that comes again may be one in which the sender left out what does not change: one that is known
/// to do so, or that sent nothing for no longer than its protocol allows and did not go on with the same content before.
pub(super) fn is_excuse(flow: &Flow, silence: i64, output: Option<usize>, shared: &Shared) -> bool {
    let most = match flow.protocol() {
        Protocol::Sacn => SACN_KEEP_ALIVE,
        Protocol::ArtNet => ART_KEEP_ALIVE,
        _ => i64::MAX,
    };
    let insists = output
        .and_then(|i| shared.outputs[i].insists_since())
        .is_some_and(|since| flow.last_at.saturating_sub(since.max(flow.cold.paused_at)) >= INSISTS_FOR);
    flow.cold.keeps_alive || silence <= most && !insists
}
