//! The declared protocols of a plan, compiled for its wire and tapes, and what tells universes from chunks.
//!
//! Compiled layouts stay for the life of the program, and a matrix reads thousands of tapes: each set is compiled once.

use std::sync::{Mutex, PoisonError};
use wireproof_matrices::plan::{Plan, PlanLayout, PlanStream};
use wireproof_protocols::Protocol;
use wireproof_protocols::layout::{Layout, Layouts};

static COMPILED: Mutex<Vec<(Vec<PlanLayout>, Layouts)>> = Mutex::new(Vec::new());

/// The layouts of a plan; texts that are none, which no plan that was read holds, are left out.
pub(super) fn layouts(plan: &Plan) -> Layouts {
    if plan.layout.is_empty() {
        return Layouts::default();
    }
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, layouts)) = compiled.iter().find(|(texts, _)| *texts == plan.layout) {
        return *layouts;
    }
    let read = plan.layout.iter().filter_map(|given| Layout::read(&given.text).ok());
    let layouts = Layouts::new(read.collect()).unwrap_or_default();
    compiled.push((plan.layout.clone(), layouts));
    layouts
}

/// The protocol of a stream of the plan, as decoders name it.
pub(super) fn protocol(plan: &Plan, stream: &PlanStream) -> Option<Protocol> {
    let built_in = [Protocol::Sacn, Protocol::Ddp, Protocol::ArtNet, Protocol::BigPacket];
    let built_in = built_in.into_iter().find(|protocol| protocol.name() == stream.protocol);
    built_in.or_else(|| layouts(plan).protocol(&stream.protocol))
}

/// Each datagram of a frame is a stream of its own.
pub(super) fn is_by_universe(protocol: Protocol) -> bool {
    match protocol.layout() {
        Some(table) => !table.layout.has_chunks(),
        None => matches!(protocol, Protocol::Sacn | Protocol::ArtNet),
    }
}

/// Octets of the longest header that a layout of the plan declares; 0 without any.
pub(super) fn longest_header(plan: &Plan) -> u32 {
    let headers = layouts(plan).decoders().iter().map(|decoder| u32::from(decoder.table().layout.header_len));
    headers.max().unwrap_or(0)
}
