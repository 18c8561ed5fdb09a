//! A ring in figures (`wireproof.ring-summary/1`): percentiles of whole frames and of their stages, coverage, deadlines.
//! Percentiles are never added; a span is never a sum.

use serde::Serialize;
use wireproof_recorder::analysis::coverage::{Coverage, coverage};
use wireproof_recorder::analysis::skips::lost;
use wireproof_recorder::analysis::slow::{self, Slow};
use wireproof_recorder::analysis::span::RangeRow;
use wireproof_recorder::analysis::stages::{self, DeviceRow, StageRow, records};
use wireproof_recorder::analysis::{Finding, Quantiles, findings};
use wireproof_recorder::header::Facts;
use wireproof_recorder::layout::Counter;
use wireproof_recorder::{Account, Kind, Ring};

/// Version of the record.
pub const SCHEMA: &str = "wireproof.ring-summary/1";

/// A ring in figures; keys in fixed order.
#[derive(Clone, Debug, Serialize)]
pub struct RingSummary {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Layout, 1 or 2.
    pub version: u8,
    /// Generation of the writer.
    pub generation: u64,
    /// Number of the copy: figures of different copies are never shown as one.
    pub snapshot: Option<u64>,
    /// CRC-32C of the records of whole frames.
    pub digest: String,
    /// Whole frames.
    pub frames: u64,
    /// Id of the first of them.
    pub first_frame: Option<u32>,
    /// Id of the last.
    pub last_frame: Option<u32>,
    /// From the earliest start to the latest end, ns.
    pub span_ns: u64,
    /// Frame period, ns; 0 when the ring names none.
    pub period_ns: u64,
    /// Ids missing between whole frames.
    pub missing: u64,
    /// Frames that the engine left out on purpose.
    pub skipped: u64,
    /// Frames begun that are not whole.
    pub partial: u64,
    /// Whole frames that lost events to the batch limit.
    pub truncated: u64,
    /// Times of frames, ns.
    pub frame_ns: Quantiles,
    /// Times of their work, with what began beside the frame before, ns.
    pub work_ns: Quantiles,
    /// How much of the time children explain.
    pub coverage: Coverage,
    /// Deadlines.
    pub deadlines: RingDeadlines,
    /// Slow frames.
    pub slow: Slow,
    /// A row for each device.
    pub devices: Vec<DeviceRow>,
    /// A row for each stage and device.
    pub stages: Vec<StageRow>,
    /// The ranges of stages that were asked for.
    pub ranges: Vec<RangeRow>,
    /// What of it is a finding.
    pub findings: Vec<Finding>,
}

/// Records of the ring, and what the writer has counted since it started.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RingDeadlines {
    /// Records of the ring.
    #[serde(flatten)]
    pub found: slow::Deadlines,
    /// Deadlines missed since the writer's start.
    pub missed_since_start: u64,
    /// Slow frames since then.
    pub slow_since_start: u64,
    /// Lines of the slow-frame log held back since then.
    pub suppressed_since_start: u64,
}

impl RingSummary {
    /// The figures of one copy; `facts` are those of its header, all zeros for a legacy ring.
    pub fn of(ring: &Ring, facts: &Facts, account: &Account, ranges: Vec<RangeRow>) -> RingSummary {
        let frames = &ring.frames;
        let starts = frames.iter().map(|frame| frame.start_ns).min().unwrap_or_default();
        let ends = frames.iter().map(|frame| frame.end_ns).max().unwrap_or_default();
        let partial = &ring.partial;
        let missing: u64 = ring.gaps.iter().map(|gap| u64::from(gap.missing)).sum();
        let skipped: u64 = records(ring, Kind::Skipped).map(|record| record.aux() & 0xFFFF_FFFF).sum();
        let coverage = coverage(account);
        let slow = slow::slow(frames);
        let found = slow::deadlines(records(ring, Kind::DeadlineMiss), frames, facts.period_ns);
        RingSummary {
            schema: SCHEMA,
            version: ring.version,
            generation: ring.generation,
            snapshot: facts.snapshot,
            digest: format!("{:08x}", ring.digest),
            frames: frames.len() as u64,
            first_frame: frames.first().map(|frame| frame.id),
            last_frame: frames.last().map(|frame| frame.id),
            span_ns: ends.saturating_sub(starts),
            period_ns: facts.period_ns,
            missing,
            skipped,
            partial: partial.count + partial.crc + partial.unfinished,
            truncated: frames.iter().filter(|frame| frame.truncated).count() as u64,
            frame_ns: Quantiles::of(account.rows.iter().map(|row| row.root_ns)),
            work_ns: Quantiles::of(
                account.rows.iter().map(|row| u64::try_from(row.total_ns).unwrap_or_default()),
            ),
            findings: findings::of_frames(account, &coverage, &slow, &found, lost(ring)),
            coverage,
            deadlines: RingDeadlines {
                found,
                missed_since_start: facts.counter(Counter::DeadlineMisses),
                slow_since_start: facts.counter(Counter::SlowFrames),
                suppressed_since_start: facts.counter(Counter::SlowLogsSuppressed),
            },
            slow,
            devices: stages::devices(account, &ring.tables),
            stages: stages::stages(frames, &ring.tables),
            ranges,
        }
    }
}
