//! Tells of frames that their chunks do not tile: as a torn frame, a wrong shape, or the DDP rule that owns it. Finds
//! nothing itself.

use super::findings::Place as At;
use super::flow::Flow;
use super::rules;
use super::settle::Shared;
use super::tiles::Flaw;
use crate::{Protocol, Severity};

/// Tells what is wrong with a frame of the stream, and what waited for its habit to be known.
pub(super) fn untiled(flow: &mut Flow, dest: usize, flaw: Option<Flaw>, shared: &mut Shared) {
    let waited = flow.chunks[dest].tiles.ready();
    for flaw in waited.into_iter().chain(flaw) {
        tell(flow, dest, &flaw, shared);
    }
}

/// The run ends: the last frames of the stream, and those that still wait.
pub(super) fn untiled_at_end(flow: &mut Flow, shared: &mut Shared) {
    for dest in 0..flow.chunks.len() {
        let chunks = &mut flow.chunks[dest];
        let ended = chunks.ended;
        for flaw in chunks.tiles.finish(ended) {
            tell(flow, dest, &flaw, shared);
        }
    }
}

fn tell(flow: &mut Flow, dest: usize, flaw: &Flaw, shared: &mut Shared) {
    let place = At { stream: Some(flow.index), packet: flaw.place.0, stamp: flaw.place.1 };
    if flow.protocol() == Protocol::Ddp {
        partial(flaw, place, shared);
        return;
    }
    if flaw.has_hole() {
        shared.outputs[flow.chunks[dest].output].hole(flaw, flow.index);
        flow.tear(flaw.frame);
    }
    wrong(flaw, place, shared);
}

/// DDP keeps the buffer between frames, so that a frame with a hole is legal, and rarely meant.
fn partial(flaw: &Flaw, place: At, shared: &mut Shared) {
    let Some(rule) = crate::registry::rule("DDP-D12") else { return };
    let (at, octets) = flaw.hole;
    if octets > 0 {
        shared.findings.add(rule, rule.severity, place, 2, || {
            format!("a frame with a hole of {octets} octets at offset {at}, although no number is missing")
        });
    } else if flaw.twice > 0 {
        shared.findings.add(rule, rule.severity, place, 3, || overlap(flaw.twice));
    } else if flaw.ends.0 != flaw.ends.1 && flaw.apart {
        shared.findings.add(rule, rule.severity, place, 4, || past(flaw.ends));
    }
}

fn wrong(flaw: &Flaw, place: At, shared: &mut Shared) {
    let mut add = |variant, text: &dyn Fn() -> String| {
        shared.findings.add(rules::FRAME_SHAPE, Severity::Violation, place, variant, text);
    };
    let ((first, other), (usual, end)) = (flaw.counts, flaw.ends);
    if first != other {
        add(0, &|| format!("datagrams of one frame announce {first} and {other} datagrams"));
    }
    // An overlap beside a hole is the chunk that is missing there.
    if flaw.twice > 0 && !flaw.has_hole() {
        add(1, &|| overlap(flaw.twice));
    }
    if usual != end {
        add(2, &|| past((usual, end)));
    }
}

fn past((usual, end): (u32, u32)) -> String {
    format!("a frame has data up to octet {end}, where {usual} is the usual end")
}

fn overlap(octets: u32) -> String {
    format!("chunks of one frame overlap: {octets} octets are in two of them")
}
