//! The record of the page (`wireproof.ring-page/1`): the summary of the ring and what the page shows beside it, from one
//! copy and no other. Lists that a hostile ring could make long are cut, and what is left out is counted.

use super::choice::{Choice, Picks};
use super::frame::{self, FrameRow};
use super::time::{self, GapRow, TimeLine};
use crate::ring_summary::RingSummary;
use crate::text::{base_name, clean};
use serde::Serialize;
use std::collections::BTreeMap;
use wireproof_recorder::account::Share;
use wireproof_recorder::analysis::coverage::TARGET_PERCENT;
use wireproof_recorder::analysis::recording::Recording;
use wireproof_recorder::analysis::requests::{Requests, late_after, requests};
use wireproof_recorder::analysis::skips::Skips;
use wireproof_recorder::analysis::stages::records;
use wireproof_recorder::analysis::{CauseReport, causes, findings};
use wireproof_recorder::frames::Counts as Drops;
use wireproof_recorder::header::Facts;
use wireproof_recorder::layout::Counter;
use wireproof_recorder::places::Places;
use wireproof_recorder::{Account, Kind, Ring};

/// Version of the record.
const SCHEMA: &str = "wireproof.ring-page/1";
/// Rows of each list of the summary.
const ROWS: usize = 300;
/// Rows of places, events and findings.
const FEW: usize = 40;

/// The record; keys in fixed order.
#[derive(Clone, Debug, Serialize)]
pub struct RingPage {
    schema: &'static str,
    /// Name of the file.
    pub(super) name: String,
    pub(super) copy: Copied,
    pub(super) summary: RingSummary,
    pub(super) whole: Whole,
    pub(super) gaps: Vec<GapRow>,
    pub(super) gaps_left_out: u64,
    pub(super) causes: CauseReport,
    pub(super) requests: Answered,
    pub(super) timeline: TimeLine,
    pub(super) names: Names,
    pub(super) left_out: LeftOut,
    pub(super) picks: Option<Picks>,
    pub(super) frames: Vec<FrameRow>,
}

/// Which copy it is.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Copied {
    /// Sealed with a stamp.
    pub(super) stamped: bool,
    /// First ordinal that counts.
    pub(super) first_ordinal: u64,
    /// Ordinal behind the last one.
    pub(super) end_ordinal: u64,
    /// Records the ring holds.
    pub(super) capacity: u64,
    /// Records in whole frames.
    pub(super) framed_records: u64,
    /// Records of no frame.
    pub(super) loose_records: u64,
    /// When the generation began by the wall clock of the device, ns since 1970; none when the ring does not say.
    pub(super) begun_ns: Option<i64>,
}

/// What share of the frames is whole, and why the others are not.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Whole {
    /// Ids from the first whole frame to the last.
    pub(super) ids: u64,
    /// Whole frames in per cent of those that were due: ids that were not left out on purpose.
    pub(super) due_percent: Option<f64>,
    /// Ids left out on purpose.
    pub(super) skipped: u64,
    /// Ids missing for any other reason.
    pub(super) lost: u64,
    /// Frames begun whose number of records is wrong.
    pub(super) wrong_count: u64,
    /// Frames whose checksum is wrong.
    pub(super) wrong_checksum: u64,
    /// Frames begun and never completed.
    pub(super) unfinished: u64,
    /// The frame given up because the ring had wrapped over its beginning.
    pub(super) oldest_given_up: Option<u32>,
    /// Slots that were dropped.
    pub(super) slots: Drops,
    /// Records past the published position.
    pub(super) unpublished_tail: u64,
    /// Frames the writer has abandoned since its start.
    pub(super) abandoned_since_start: u64,
    /// Events it has dropped over the batch limit since its start.
    pub(super) events_dropped_since_start: u64,
    /// Share of the time that children should explain, per cent.
    pub(super) explained_target_percent: u64,
}

/// What became of requests for a frame.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Answered {
    pub(super) requests: u64,
    pub(super) served: u64,
    pub(super) late: u64,
    pub(super) beside: u64,
    pub(super) never: u64,
    pub(super) unrelated: u64,
    pub(super) unknown: u64,
}

/// Names by id, as they may be shown.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Names {
    pub(super) stages: BTreeMap<u16, String>,
    pub(super) devices: BTreeMap<u16, String>,
}

/// What the page does not carry.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct LeftOut {
    /// Whole frames that are not drawn.
    pub(super) frames: u64,
    /// Rows of stages.
    pub(super) stages: u64,
    /// Rows of devices.
    pub(super) devices: u64,
    /// Slow frames that are told.
    pub(super) slow: u64,
    /// Findings.
    pub(super) findings: u64,
}

/// One copy, and what is worked out of it once.
pub(super) struct Source<'a> {
    pub(super) ring: &'a Ring,
    pub(super) facts: &'a Facts,
    pub(super) account: &'a Account,
    pub(super) places: &'a Places,
    /// Frames left out on purpose.
    pub(super) skips: Skips,
    /// Earliest start of a frame, ns.
    pub(super) start_ns: u64,
    /// Ordinal at which the last recording begins.
    pub(super) recording_from: u64,
}

impl<'a> Source<'a> {
    /// Of a copy.
    pub(super) fn new(ring: &'a Ring, facts: &'a Facts, account: &'a Account, places: &'a Places) -> Self {
        let first = Recording::last(ring).frames().first().and_then(|frame| frame.records.first());
        Source {
            ring,
            facts,
            account,
            places,
            skips: Skips::of(records(ring, Kind::Skipped)),
            start_ns: ring.frames.iter().map(|frame| frame.start_ns).min().unwrap_or_default(),
            recording_from: first.map_or(u64::MAX, |record| record.ordinal),
        }
    }
}

/// Puts the record together.
pub(super) fn page(name: &str, source: &Source<'_>, mut summary: RingSummary) -> RingPage {
    let (ring, facts) = (source.ring, source.facts);
    let choice = Choice::of(ring, source.account);
    let mut causes = causes(ring, source.places);
    let requests = requests(ring, source.places, late_after(facts.period_ns));
    summary.findings.extend(findings::of_causes(&causes, &requests, source.places));
    let (gaps, gaps_left_out) = time::gaps(source);
    cut(&mut causes.counts.places, FEW);
    cut(&mut causes.events, FEW);
    cut(&mut causes.always, FEW);
    let left_out = LeftOut {
        frames: (ring.frames.len() - choice.frames.len()) as u64,
        stages: cut(&mut summary.stages, ROWS),
        devices: cut(&mut summary.devices, FEW),
        slow: cut(&mut summary.slow.told, FEW),
        findings: cut(&mut summary.findings, FEW),
    };
    RingPage {
        schema: SCHEMA,
        name: clean(base_name(name)).into_owned(),
        copy: copied(source),
        whole: whole(source, &summary),
        gaps,
        gaps_left_out,
        causes,
        requests: answered(&requests),
        timeline: TimeLine::of(source, summary.span_ns),
        summary,
        names: names(ring),
        left_out,
        picks: choice.picks,
        frames: frames(source, &choice),
    }
}

/// Shortens a list; how many rows went.
fn cut<T>(list: &mut Vec<T>, most: usize) -> u64 {
    let all = list.len();
    list.truncate(most);
    (all - list.len()) as u64
}

fn copied(source: &Source<'_>) -> Copied {
    let ring = source.ring;
    let [_, wall, _, _] = source.facts.anchor;
    Copied {
        stamped: ring.stamped,
        first_ordinal: ring.window.lo,
        end_ordinal: ring.window.hi,
        capacity: ring.capacity,
        framed_records: ring.framed_records(),
        loose_records: ring.loose.len() as u64,
        begun_ns: i64::try_from(wall).ok().filter(|wall| *wall > 0),
    }
}

fn whole(source: &Source<'_>, summary: &RingSummary) -> Whole {
    let (ring, facts) = (source.ring, source.facts);
    let lost: u64 = ring.gaps.iter().map(|gap| u64::from(source.skips.lost(gap.after, gap.missing))).sum();
    Whole {
        ids: summary.frames + summary.missing,
        due_percent: Share { part: summary.frames, whole: summary.frames + lost }.percent(),
        skipped: summary.missing - lost,
        lost,
        wrong_count: ring.partial.count,
        wrong_checksum: ring.partial.crc,
        unfinished: ring.partial.unfinished,
        oldest_given_up: ring.oldest_discarded,
        slots: ring.drops,
        unpublished_tail: ring.unpublished_tail,
        abandoned_since_start: facts.counter(Counter::FramesAbandoned),
        events_dropped_since_start: facts.counter(Counter::EventsDropped),
        explained_target_percent: TARGET_PERCENT,
    }
}

fn answered(requests: &Requests) -> Answered {
    let r = requests;
    Answered {
        requests: r.requests,
        served: r.served,
        late: r.late,
        beside: r.beside,
        never: r.never,
        unrelated: r.unrelated,
        unknown: r.unknown,
    }
}

fn names(ring: &Ring) -> Names {
    // The first row of an id counts, as everywhere else.
    let shown = |id: u16, name: &str| (id, clean(name).into_owned());
    let tables = &ring.tables;
    Names {
        stages: tables.stages.iter().rev().map(|stage| shown(stage.id, &stage.name)).collect(),
        devices: tables.devices.iter().rev().map(|device| shown(device.id, &device.name)).collect(),
    }
}

fn frames(source: &Source<'_>, choice: &Choice) -> Vec<FrameRow> {
    let time = |at: usize| source.account.rows[at].root_ns;
    let slower =
        |at: usize| choice.by_time.len() - choice.by_time.partition_point(|other| time(*other) <= time(at));
    let row = |(at, why): (&usize, &Vec<&'static str>)| {
        frame::row(source, *at, slower(*at) as u64 + 1, why.clone())
    };
    choice.frames.iter().map(row).collect()
}
