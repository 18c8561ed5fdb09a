//! The manifest of a conversion: which files went in and came out, which ring it was, what was drawn and what not.

use super::pack::Listed;
use serde::Serialize;
use wireproof_recorder::Ring;
use wireproof_recorder::convert::Written;
use wireproof_recorder::convert::ring::Odd;
use wireproof_recorder::frames::{Counts, Partial};
use wireproof_reports::reconcile::OutputDelays;

const SCHEMA: &str = "wireproof.conversion/1";

/// Keys in this order; the same inputs give the same octets.
#[derive(Debug, Serialize)]
pub(super) struct Manifest {
    schema: &'static str,
    tool: &'static str,
    tool_version: &'static str,
    /// Format of the output.
    pub(super) to: &'static str,
    /// Inputs in the order given, the output last.
    pub(super) files: Vec<Listed>,
    pub(super) ring: RingFacts,
    pub(super) drawn: Drawn,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) clock: Option<ClockFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gaps: Option<Gaps>,
    /// From `wire_send` to the arrivals of `--wire`, by output.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) arrivals: Vec<OutputDelays>,
}

/// Which ring it was.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli::ring) struct RingFacts {
    layout: u8,
    generation: u64,
    snapshot_id: Option<u64>,
    boot_id: Option<String>,
    pid: Option<u32>,
    stamped: bool,
    window: [u64; 2],
    frames: u64,
    first_frame: Option<u32>,
    last_frame: Option<u32>,
    dropped: Counts,
    not_whole: Partial,
    oldest_discarded: Option<u32>,
}

/// Who wrote the ring, as far as its header says.
#[derive(Clone, Debug, Default)]
pub(in crate::cli::ring) struct Writer {
    pub(super) snapshot_id: Option<u64>,
    pub(super) boot_id: Option<String>,
    pub(super) pid: Option<u32>,
}

/// What was drawn, and what was not.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Drawn {
    pub(super) spans: u64,
    pub(super) instants: u64,
    pub(super) samples: u64,
    pub(super) rows: u64,
    pub(super) table_rows: u64,
    pub(super) beyond_lanes: u64,
    pub(super) inverted: u64,
    pub(super) out_of_range: u64,
    pub(super) unknown_kind: u64,
    pub(super) crowded: u64,
}

/// How wall times came to the ring's clock.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct ClockFacts {
    pub(super) monotonic_ns: u64,
    pub(super) wall_ns: u64,
    /// Error of the two readings; the difference between hosts is not in it.
    pub(super) uncertainty_ns: u64,
    pub(super) steps: u64,
    pub(super) wire_offset_ns: i64,
}

/// Who ran in the gaps between spans.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Gaps {
    pub(super) engine_tid: u32,
    pub(super) engine_seen: bool,
    pub(super) gaps: u64,
    pub(super) total_ns: u64,
    pub(super) owners: Vec<OwnerTime>,
    pub(super) longest: Vec<LongGap>,
    pub(super) switches: u64,
    pub(super) bad_lines: u64,
    pub(super) lost_events: u64,
    pub(super) disordered: u64,
    pub(super) mismatched: u64,
    pub(super) beyond_limit: u64,
    pub(super) resolution_ns: u64,
}

/// A share of all gaps.
#[derive(Clone, Debug, Serialize)]
pub(super) struct OwnerTime {
    pub(super) owner: String,
    pub(super) ns: u64,
}

/// One of the longest gaps.
#[derive(Clone, Debug, Serialize)]
pub(super) struct LongGap {
    pub(super) frame: u32,
    pub(super) start_ns: u64,
    pub(super) ns: u64,
    pub(super) text: String,
}

impl RingFacts {
    pub(in crate::cli::ring) fn new(ring: &Ring, writer: &Writer) -> RingFacts {
        RingFacts {
            layout: ring.version,
            generation: ring.generation,
            snapshot_id: writer.snapshot_id,
            boot_id: writer.boot_id.clone(),
            pid: writer.pid,
            stamped: ring.stamped,
            window: [ring.window.lo, ring.window.hi],
            frames: ring.frames.len() as u64,
            first_frame: ring.frames.first().map(|frame| frame.id),
            last_frame: ring.frames.last().map(|frame| frame.id),
            dropped: ring.drops,
            not_whole: ring.partial,
            oldest_discarded: ring.oldest_discarded,
        }
    }
}

impl Drawn {
    pub(super) fn new(written: Written, odd: Odd) -> Drawn {
        Drawn {
            spans: written.spans,
            instants: written.instants,
            samples: written.samples,
            rows: written.lanes,
            table_rows: 0,
            beyond_lanes: written.beyond_lanes,
            inverted: odd.inverted,
            out_of_range: odd.out_of_range,
            unknown_kind: odd.unknown_kind,
            crowded: odd.crowded,
        }
    }
}

impl Manifest {
    pub(super) fn new(to: &'static str, files: Vec<Listed>, ring: RingFacts, drawn: Drawn) -> Manifest {
        Manifest {
            schema: SCHEMA,
            tool: "wireproof",
            tool_version: env!("CARGO_PKG_VERSION"),
            to,
            files,
            ring,
            drawn,
            clock: None,
            gaps: None,
            arrivals: Vec::new(),
        }
    }
}
