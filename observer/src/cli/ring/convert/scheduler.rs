//! The scheduler beside the ring: rows of CPUs, and who ran in each gap between spans.

use super::args::{ConvertArgs, SchedClock};
use super::manifest::{Gaps, LongGap, OwnerTime};
use crate::cli::failure::Failure;
use crate::cli::say;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use wireproof_recorder::Frame;
use wireproof_recorder::convert::gaps::{self, Owned, Ownership, Shares};
use wireproof_recorder::convert::sched::{self, Lines};
use wireproof_recorder::convert::tasks::Tasks;
use wireproof_recorder::convert::timeline::ClockPair;
use wireproof_recorder::convert::{Timeline, WallClock};

/// Gaps that are told one by one.
const LONGEST: usize = 10;
/// Owners that are told.
const OWNERS: usize = 20;

/// What the gaps are asked of.
pub(super) struct Beside<'a> {
    /// The frames drawn.
    pub(super) frames: &'a [Frame],
    /// From the first to the last event of the ring, ns.
    pub(super) range: (u64, u64),
    /// The header's clock reading.
    pub(super) clock: ClockPair,
    /// Wall time, where the ring has it.
    pub(super) wall: Option<&'a WallClock>,
    /// Process id of the writer; 0 when unknown.
    pub(super) pid: u32,
    /// Name of a stage.
    pub(super) stage: &'a dyn Fn(u16) -> String,
}

/// Adds CPUs and gaps to the timeline, and tells the gaps.
pub(super) fn add(
    path: &Path,
    args: &ConvertArgs,
    beside: &Beside<'_>,
    timeline: &mut Timeline,
) -> Result<Gaps, Failure> {
    let (tasks, lines) = read(path, args.sched_clock, beside)?;
    overlap(path, &tasks, beside)?;
    let tid = args.engine_tid.unwrap_or(beside.pid);
    let ownership = Ownership::new(&tasks, tid);
    if !ownership.knows_engine() {
        say(&format!(
            "{}: task {tid} never ran in it: name the engine's thread with --engine-tid",
            path.display()
        ));
    }
    let least = u64::try_from(args.gap_min.as_nanos()).unwrap_or(u64::MAX);
    let owned = gaps::own(beside.frames, least, &ownership);
    gaps::track(&owned, beside.stage, timeline);
    tasks.tracks(timeline, beside.range);
    let told = told(&owned, &lines, &tasks, (tid, ownership.knows_engine()), beside.stage);
    tell(path, &told, &lines);
    Ok(told)
}

fn read(path: &Path, clock: SchedClock, beside: &Beside<'_>) -> Result<(Tasks, Lines), Failure> {
    let failed = |error: io::Error| {
        Failure::io(&format!("{} cannot be read ({error})", path.display()), "check the name and its rights")
    };
    let mut input: Box<dyn BufRead> = if path.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::with_capacity(1 << 16, File::open(path).map_err(failed)?))
    };
    if clock == SchedClock::Real && beside.wall.is_none() {
        let what = "this ring has no reading of the wall clock";
        return Err(Failure::usage(what, "record the scheduler with trace_clock mono"));
    }
    let at = |ns: u64| match clock {
        SchedClock::Mono => Some(ns),
        SchedClock::Boot => ns.checked_sub(beside.clock.boot_offset_ns),
        SchedClock::Real => beside.wall?.monotonic(i64::try_from(ns).ok()?),
    };
    let mut tasks = Tasks::default();
    let lines = sched::read(&mut *input, &mut |switch| {
        if let Some(ns) = at(switch.at_ns) {
            tasks.add(ns, switch);
        }
    })
    .map_err(failed)?;
    Ok((tasks, lines))
}

/// A trace of another time or clock explains nothing, and must not look as if it did.
fn overlap(path: &Path, tasks: &Tasks, beside: &Beside<'_>) -> Result<(), Failure> {
    let seconds = |(from, to): (u64, u64)| format!("{:.3} to {:.3} s", from as f64 / 1e9, to as f64 / 1e9);
    let Some(range) = tasks.range() else {
        let what = format!("{} holds no sched_switch line", path.display());
        return Err(Failure::usage(&what, "give the text of ftrace's trace file, or of perf script"));
    };
    if range.0 < beside.range.1 && beside.range.0 < range.1 {
        return Ok(());
    }
    let what = format!(
        "{} covers {} and the ring {}: they do not meet",
        path.display(),
        seconds(range),
        seconds(beside.range)
    );
    Err(Failure::usage(
        &what,
        "record on the ring's clock (trace_clock mono, perf record -k CLOCK_MONOTONIC), or name the clock with --sched-clock",
    ))
}

fn told(
    owned: &[Owned],
    lines: &Lines,
    tasks: &Tasks,
    (engine_tid, engine_seen): (u32, bool),
    stage: &dyn Fn(u16) -> String,
) -> Gaps {
    let owner = |(owner, ns): (gaps::Owner, u64)| OwnerTime { owner: owner.to_string(), ns };
    let owners = |shares: Shares| shares.into_iter().take(OWNERS).map(owner).collect();
    let mut longest: Vec<&Owned> = owned.iter().collect();
    longest.sort_by_key(|o| (!o.gap.length_ns(), o.gap.start_ns));
    let long = |o: &&Owned| LongGap {
        frame: o.gap.frame,
        start_ns: o.gap.start_ns,
        ns: o.gap.length_ns(),
        text: gaps::note(&o.gap, &o.shares, stage),
    };
    Gaps {
        engine_tid,
        engine_seen,
        gaps: owned.len() as u64,
        total_ns: owned.iter().map(|o| o.gap.length_ns()).sum(),
        owners: owners(gaps::totals(owned)),
        longest: longest.iter().take(LONGEST).map(long).collect(),
        switches: lines.switches,
        bad_lines: lines.bad,
        lost_events: lines.lost,
        disordered: tasks.disordered,
        mismatched: tasks.mismatched,
        beyond_limit: tasks.crowded,
        resolution_ns: lines.resolution_ns,
    }
}

fn tell(path: &Path, told: &Gaps, lines: &Lines) {
    say(&format!(
        "{}: {} switches, {} lines not read, {} events lost by the tracer, stamps to {} ns; {} gaps, {} in all",
        path.display(),
        lines.switches,
        lines.bad,
        lines.lost,
        lines.resolution_ns,
        told.gaps,
        us(told.total_ns)
    ));
    for owner in told.owners.iter().take(LONGEST) {
        say(&format!("  {:>14}  {}", us(owner.ns), owner.owner));
    }
    for gap in &told.longest {
        say(&format!("  frame {}, {}: {}", gap.frame, us(gap.ns), gap.text));
    }
}

fn us(ns: u64) -> String {
    format!("{}.{:03} us", ns / 1000, ns % 1000)
}
