//! Which task ran on which CPU, on the ring's clock: switches become stretches of one task. Knows nothing of frames.

use super::sched::Switch;
use super::timeline::{Event, Label, Name, Shape, Timeline};
use std::collections::{BTreeMap, HashMap};

/// Stretches that are kept; further ones are counted.
const MAX_STRETCHES: usize = 4_000_000;
/// Different names that are kept; further tasks share one.
const MAX_NAMES: usize = 65_536;
/// What they share.
const OTHER_TASKS: &str = "(one of many tasks)";
/// CPUs that are kept.
const MAX_CPUS: usize = 1024;

/// Why a task stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// It wanted to go on.
    Preempted,
    /// It waits for something that can be interrupted: a timer, a socket, a lock.
    Sleeping,
    /// It waits for the disk or the like.
    Uninterruptible,
    /// It ended, or was stopped.
    Other,
}

impl Stopped {
    fn of(state: &str) -> Stopped {
        match state.bytes().next() {
            Some(b'R') => Stopped::Preempted,
            Some(b'S') => Stopped::Sleeping,
            Some(b'D') => Stopped::Uninterruptible,
            _ => Stopped::Other,
        }
    }

    /// In a word.
    pub const fn word(self) -> &'static str {
        match self {
            Stopped::Preempted => "preempted",
            Stopped::Sleeping => "sleeping",
            Stopped::Uninterruptible => "waiting uninterruptibly",
            Stopped::Other => "stopped",
        }
    }
}

/// A task on a CPU without a break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// CLOCK_MONOTONIC, ns.
    pub start_ns: u64,
    /// CLOCK_MONOTONIC, ns.
    pub end_ns: u64,
    /// Index into [`Tasks::names`].
    pub name: u32,
    /// Task id; 0 is the idle task.
    pub tid: u32,
    /// Why it stopped.
    pub stopped: Stopped,
}

/// A task that is still running.
#[derive(Clone, Copy, Debug)]
struct Running {
    since: u64,
    name: u32,
    tid: u32,
}

/// Stretches by CPU.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    /// Names of tasks.
    pub names: Vec<String>,
    by_name: HashMap<String, u32>,
    /// Stretches of each CPU, in order of time.
    pub cpus: BTreeMap<u16, Vec<Stretch>>,
    running: HashMap<u16, Running>,
    /// Switches in front of one that was already read on their CPU; left out.
    pub disordered: u64,
    /// Switches whose task is not the one that ran: something is missing between; the time is left out.
    pub mismatched: u64,
    /// Stretches past the limit.
    pub crowded: u64,
    stretches: usize,
    range: Option<(u64, u64)>,
}

impl Tasks {
    /// Takes a switch at its time on the ring's clock.
    pub fn add(&mut self, at_ns: u64, switch: &Switch<'_>) {
        if let Some(running) = self.running.get(&switch.cpu).copied() {
            if at_ns < running.since {
                self.disordered += 1;
                return;
            }
            self.close(at_ns, running, switch);
        }
        let (first, last) = self.range.unwrap_or((at_ns, at_ns));
        self.range = Some((first.min(at_ns), last.max(at_ns)));
        let name = self.name(switch.next.0);
        if self.running.len() < MAX_CPUS || self.running.contains_key(&switch.cpu) {
            self.running.insert(switch.cpu, Running { since: at_ns, name, tid: switch.next.1 });
        }
    }

    fn close(&mut self, at_ns: u64, running: Running, switch: &Switch<'_>) {
        if running.tid != switch.prev.1 {
            self.mismatched += 1;
            return;
        }
        if self.stretches >= MAX_STRETCHES {
            self.crowded += 1;
            return;
        }
        self.stretches += 1;
        let Running { since, name, tid } = running;
        let stopped = Stopped::of(switch.prev.2);
        let stretch = Stretch { start_ns: since, end_ns: at_ns, name, tid, stopped };
        self.cpus.entry(switch.cpu).or_default().push(stretch);
    }

    fn name(&mut self, text: &str) -> u32 {
        if let Some(name) = self.by_name.get(text) {
            return *name;
        }
        let text = if self.names.len() < MAX_NAMES { text } else { OTHER_TASKS };
        if let Some(name) = self.by_name.get(text) {
            return *name;
        }
        let name = self.names.len() as u32;
        self.names.push(text.to_owned());
        self.by_name.insert(text.to_owned(), name);
        name
    }

    /// From the first to the last switch, ns.
    pub fn range(&self) -> Option<(u64, u64)> {
        self.range
    }

    /// A stretch's task, as `name:tid`.
    pub fn label(&self, stretch: &Stretch) -> String {
        let name = self.names.get(stretch.name as usize).map_or("", String::as_str);
        format!("{name}:{}", stretch.tid)
    }

    /// Adds a track for each CPU. Idle time stays empty; what lies outside of `window` is left out.
    pub fn tracks(&self, timeline: &mut Timeline, window: (u64, u64)) {
        if self.cpus.is_empty() {
            return;
        }
        let group = timeline.group("scheduler", 0);
        let names: Vec<Name> = self.names.iter().map(|name| timeline.name(name)).collect();
        for (cpu, stretches) in &self.cpus {
            let track = timeline.track(group, &format!("CPU {cpu}"), Shape::Spans, "sched");
            let shown = |s: &&Stretch| s.tid != 0 && s.end_ns > window.0 && s.start_ns < window.1;
            for s in stretches.iter().filter(shown) {
                let name = names.get(s.name as usize).copied().unwrap_or_default();
                let event = Event {
                    end_ns: s.end_ns,
                    label: Label::Tid,
                    value: s.tid.into(),
                    ..Event::at(s.start_ns, name)
                };
                timeline.push(track, event);
            }
        }
    }
}
