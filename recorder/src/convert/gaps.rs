//! Time of a frame that no span explains, and which task had the CPU then. Needs switches of the scheduler; says so
//! where they do not reach.

use super::tasks::{Stopped, Stretch, Tasks};
use super::timeline::{Event, Label, Shape, Timeline};
use crate::frames::Frame;
use crate::layout::{Kind, NO_PARENT, Record};
use std::cell::Cell;
use std::collections::BTreeMap;

/// A hole between the spans of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Frame.
    pub frame: u32,
    /// CLOCK_MONOTONIC, ns.
    pub start_ns: u64,
    /// CLOCK_MONOTONIC, ns.
    pub end_ns: u64,
    /// Stage that ended in front of it; `None` at the frame's start.
    pub after: Option<u16>,
    /// Stage that began behind it; `None` at the frame's end.
    pub before: Option<u16>,
}

impl Gap {
    /// Its length, ns.
    pub fn length_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// The holes of a frame that last at least `least_ns`, in order: what none of its innermost spans covers. A span that
/// is another one's parent explains nothing by itself; in a ring without parents one that contains another does not.
pub fn of_frame(frame: &Frame, least_ns: u64) -> Vec<Gap> {
    let spans: Vec<&Record> = frame.records.iter().filter(|r| r.kind() == Some(Kind::Span)).collect();
    let mut leaves = leaves(&spans);
    leaves.sort_by_key(|r| (r.start_ns(), r.end_ns()));
    let mut gaps = Vec::new();
    let (mut at, mut after) = (frame.start_ns, None);
    let mut hole = |start_ns: u64, end_ns: u64, after, before| {
        if end_ns > start_ns && end_ns - start_ns >= least_ns.max(1) {
            gaps.push(Gap { frame: frame.id, start_ns, end_ns, after, before });
        }
    };
    for span in leaves {
        hole(at, span.start_ns().min(frame.end_ns), after, Some(span.stage()));
        if span.end_ns() > at {
            (at, after) = (span.end_ns(), Some(span.stage()));
        }
    }
    hole(at, frame.end_ns, after, None);
    gaps
}

fn leaves<'a>(spans: &[&'a Record]) -> Vec<&'a Record> {
    if spans.iter().any(|span| span.parent() != NO_PARENT) {
        let parents: Vec<u16> = spans.iter().map(|span| span.parent()).collect();
        return spans.iter().copied().filter(|span| !parents.contains(&span.seq())).collect();
    }
    let inside = |a: &Record, b: &Record| {
        let longer = b.end_ns().saturating_sub(b.start_ns()) > a.end_ns().saturating_sub(a.start_ns());
        longer && b.start_ns() <= a.start_ns() && a.end_ns() <= b.end_ns()
    };
    spans.iter().copied().filter(|outer| !spans.iter().any(|inner| inside(inner, outer))).collect()
}

/// Who had the CPU in a gap.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// The engine itself: work without a span.
    Engine,
    /// Another task, on the engine's CPU while the engine wanted to run.
    Preempted(String),
    /// The engine waited; the word says for what kind of thing, the task is what ran on its CPU meanwhile.
    Waiting(&'static str, Option<String>),
    /// The engine is not known: a task on any CPU.
    Ran(String),
    /// The switches do not say.
    Unknown,
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Owner::Engine => write!(f, "the engine itself, without a span"),
            Owner::Preempted(task) => write!(f, "preempted by {task}"),
            Owner::Waiting(word, Some(task)) => write!(f, "engine {word}, {task} ran"),
            Owner::Waiting(word, None) => write!(f, "engine {word}"),
            Owner::Ran(task) => write!(f, "{task} ran"),
            Owner::Unknown => write!(f, "not in the scheduler trace"),
        }
    }
}

/// Who had how much of a gap, most first.
pub type Shares = Vec<(Owner, u64)>;

/// A gap and its owners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned {
    /// The gap.
    pub gap: Gap,
    /// Its owners, most first; the times add up to its length while the engine is known.
    pub shares: Shares,
}

/// Stretches that are looked at for all gaps together: frames of a damaged ring may all cover the same seconds. Gaps
/// past it are not explained.
const MAX_LOOKS: u64 = 2_000_000;

/// Stretches of the engine over all CPUs in order of time, each with its CPU.
pub struct Ownership<'a> {
    tasks: &'a Tasks,
    engine: Vec<(u16, Stretch)>,
    looks: Cell<u64>,
}

impl<'a> Ownership<'a> {
    /// Prepares for the engine's task id.
    pub fn new(tasks: &'a Tasks, engine_tid: u32) -> Self {
        let mut engine: Vec<(u16, Stretch)> = Vec::new();
        for (cpu, stretches) in &tasks.cpus {
            engine.extend(stretches.iter().filter(|s| s.tid == engine_tid && s.tid != 0).map(|s| (*cpu, *s)));
        }
        engine.sort_by_key(|(_, s)| s.start_ns);
        Ownership { tasks, engine, looks: Cell::new(0) }
    }

    /// True when the engine has run in the trace.
    pub fn knows_engine(&self) -> bool {
        !self.engine.is_empty()
    }

    /// Who had the CPU in the gap.
    pub fn shares(&self, gap: &Gap) -> Shares {
        let mut times = BTreeMap::new();
        if self.looks.get() >= MAX_LOOKS {
            return vec![(Owner::Unknown, gap.length_ns())];
        }
        if self.knows_engine() {
            self.by_engine(gap, &mut times);
        } else {
            for cpu in self.tasks.cpus.values() {
                self.ran(cpu, gap.start_ns, gap.end_ns, &mut |task, ns| {
                    add(&mut times, Owner::Ran(task), ns)
                });
            }
        }
        if times.is_empty() {
            times.insert(Owner::Unknown, gap.length_ns());
        }
        let mut shares: Shares = times.into_iter().collect();
        shares.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        shares
    }

    /// Walks from stretch to stretch of the engine through the gap, as far as the trace reaches.
    fn by_engine(&self, gap: &Gap, times: &mut BTreeMap<Owner, u64>) {
        let end = self.tasks.range().map_or(0, |(_, end)| end).min(gap.end_ns);
        let first = self.engine.partition_point(|(_, s)| s.start_ns <= gap.start_ns).saturating_sub(1);
        let mut at = gap.start_ns;
        let mut last = None;
        for here in self.engine.iter().skip(first).take_while(|(_, s)| s.start_ns < end) {
            self.looks.set(self.looks.get() + 1);
            if here.1.start_ns > at {
                self.away(last, (at, here.1.start_ns), times);
                at = here.1.start_ns;
            }
            let until = here.1.end_ns.min(end);
            if until > at {
                add(times, Owner::Engine, until - at);
                at = until;
            }
            last = Some(here);
        }
        if end > at {
            self.away(last, (at, end), times);
        }
        if gap.end_ns > end.max(at) {
            add(times, Owner::Unknown, gap.end_ns - end.max(at));
        }
    }

    /// The engine was away from `from` to `to`, since its `last` stretch.
    fn away(&self, last: Option<&(u16, Stretch)>, (from, to): (u64, u64), times: &mut BTreeMap<Owner, u64>) {
        let Some((cpu, last)) = last else {
            return add(times, Owner::Unknown, to - from);
        };
        let owner = |task: Option<String>| match (last.stopped, task) {
            (Stopped::Preempted, Some(task)) => Owner::Preempted(task),
            (Stopped::Preempted, None) => Owner::Unknown,
            (stopped, task) => Owner::Waiting(stopped.word(), task),
        };
        let mut rest = to - from;
        if let Some(stretches) = self.tasks.cpus.get(cpu) {
            self.ran(stretches, from, to, &mut |task, ns| {
                rest = rest.saturating_sub(ns);
                add(times, owner(Some(task)), ns);
            });
        }
        if rest > 0 {
            add(times, owner(None), rest);
        }
    }

    /// The tasks of a CPU between two times, the idle task left out.
    fn ran(&self, stretches: &[Stretch], from: u64, to: u64, each: &mut dyn FnMut(String, u64)) {
        let first = stretches.partition_point(|s| s.end_ns <= from);
        for s in stretches.iter().skip(first).take_while(|s| s.start_ns < to).filter(|s| s.tid != 0) {
            self.looks.set(self.looks.get() + 1);
            let ns = s.end_ns.min(to) - s.start_ns.max(from);
            if ns > 0 {
                each(self.tasks.label(s), ns);
            }
        }
    }
}

fn add(times: &mut BTreeMap<Owner, u64>, owner: Owner, ns: u64) {
    *times.entry(owner).or_default() += ns;
}

/// Every gap with its owners, in order of time.
pub fn own(frames: &[Frame], least_ns: u64, ownership: &Ownership<'_>) -> Vec<Owned> {
    let gaps = frames.iter().flat_map(|frame| of_frame(frame, least_ns));
    gaps.map(|gap| Owned { shares: ownership.shares(&gap), gap }).collect()
}

/// Total time by owner, most first.
pub fn totals(owned: &[Owned]) -> Shares {
    let mut times = BTreeMap::new();
    for (owner, ns) in owned.iter().flat_map(|o| &o.shares) {
        add(&mut times, owner.clone(), *ns);
    }
    let mut shares: Shares = times.into_iter().collect();
    shares.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    shares
}

/// Adds a track with the gaps, each named by who had most of it.
pub fn track(owned: &[Owned], stage: &dyn Fn(u16) -> String, timeline: &mut Timeline) {
    if owned.is_empty() {
        return;
    }
    let group = timeline.group("gaps between spans", 0);
    let track = timeline.track(group, "gaps", Shape::Spans, "gap");
    for Owned { gap, shares } in owned {
        let name = shares.first().map_or_else(String::new, |(owner, _)| owner.to_string());
        let name = timeline.name(&name);
        let note = timeline.name(&note(gap, shares, stage));
        let event = Event {
            end_ns: gap.end_ns,
            frame: gap.frame,
            note,
            label: Label::None,
            ..Event::at(gap.start_ns, name)
        };
        timeline.push(track, event);
    }
}

/// A gap in words: where it lies and who had it.
pub fn note(gap: &Gap, shares: &Shares, stage: &dyn Fn(u16) -> String) -> String {
    let named = |side: Option<u16>, edge: &str| side.map_or_else(|| edge.to_owned(), stage);
    let place = format!("{} -> {}", named(gap.after, "frame start"), named(gap.before, "frame end"));
    let share = |(owner, ns): &(Owner, u64)| format!("{owner} {}.{:03} us", ns / 1000, ns % 1000);
    format!("{place}: {}", shares.iter().map(share).collect::<Vec<_>>().join(", "))
}
