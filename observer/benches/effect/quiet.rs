//! Whether the host left the bench alone: stolen time, work of others, and pauses of the bench's own processor. None of
//! it looks at frame times, and a treatment runs on the other processor, so that repeating cannot choose results.

use crate::load::host::{Disturbance, FOREIGN_LIMIT, STEAL_LIMIT, Usage};
use crate::load::sys;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use wireproof::send::clock::{Clock, Monotonic};

/// A sleeper that is woken so late has met a pause of the machine: longer than a period of the device.
const GAP_LIMIT_NS: u64 = 20_000_000;
/// How often it looks.
const LOOK_NS: u64 = 1_000_000;

/// The sleeper.
pub(crate) struct Sentinel {
    longest_ns: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// It runs before everything without real-time priority.
    pub(crate) realtime: bool,
}

impl Sentinel {
    /// Starts it on a processor.
    pub(crate) fn start(cpu: usize) -> std::io::Result<Sentinel> {
        let (longest, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (shared, ended) = (Arc::clone(&longest), Arc::clone(&stop));
        let (ready, started) = std::sync::mpsc::channel();
        let watch = move || {
            let pinned = sys::stay_on(cpu);
            // Nobody waits for this once it has been told.
            let _ = ready.send(pinned.map(|()| sys::realtime(1).is_ok()));
            let mut clock = Monotonic::for_this_thread();
            let mut before = clock.now_ns();
            while !ended.load(Ordering::Relaxed) {
                clock.sleep_until_ns(before + LOOK_NS);
                let now = clock.now_ns();
                shared.fetch_max(now - before, Ordering::Relaxed);
                before = now;
            }
        };
        let thread = thread::Builder::new().name("sentinel".to_owned()).spawn(watch)?;
        let realtime = started.recv().map_err(std::io::Error::other)??;
        Ok(Sentinel { longest_ns: longest, stop, thread: Some(thread), realtime })
    }

    /// Begins to watch.
    pub(crate) fn watch(&self) -> Watch<'_> {
        self.longest_ns.store(0, Ordering::Relaxed);
        Watch { sentinel: self, before: Usage::now() }
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of the sleeper has been printed.
            let _ = thread.join();
        }
    }
}

/// An interval under way.
pub(crate) struct Watch<'a> {
    sentinel: &'a Sentinel,
    before: Usage,
}

/// What was seen in it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Quiet {
    had: Disturbance,
    gap_ns: u64,
}

impl Watch<'_> {
    /// Ends the interval.
    pub(crate) fn end(self) -> Quiet {
        let gap_ns = self.sentinel.longest_ns.load(Ordering::Relaxed);
        Quiet { had: Usage::now().since(&self.before), gap_ns }
    }
}

impl Quiet {
    /// Beyond what was fixed beforehand.
    pub(crate) fn is_disturbed(&self) -> bool {
        self.had.is_over() || self.gap_ns > GAP_LIMIT_NS
    }

    /// In words.
    pub(crate) fn words(&self) -> String {
        let gap = self.gap_ns as f64 / 1e6;
        format!(
            "steal {:.1} %, others {:.1} % of a core, pause {gap:.1} ms",
            self.had.steal, self.had.foreign
        )
    }
}

/// The rule, as it is printed before the first arm.
pub(crate) fn rule(repeats: usize) -> String {
    format!(
        "disturbed: steal over {STEAL_LIMIT} %, other processes over {FOREIGN_LIMIT} % of a core, or a sleeper on the \
         bench's processor woken over {} ms late; such a block is done again, at most {repeats} of a treatment",
        GAP_LIMIT_NS / 1_000_000
    )
}
