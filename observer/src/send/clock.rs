//! The clock of the senders: the one place where they learn the time and sleep.

use super::sys_send;

/// Longest sleep in one piece, ns: a signal that comes just before a sleep is noticed after this at the latest.
const SLICE_NS: u64 = 100_000_000;

/// A monotonic clock one can sleep by.
pub trait Clock {
    /// Nanoseconds since a fixed instant.
    fn now_ns(&mut self) -> u64;

    /// Sleeps until an instant; may end before it.
    fn sleep_until_ns(&mut self, deadline_ns: u64);

    /// Waits for an instant, unless `stop` says so before; returns the time then.
    fn wait(&mut self, deadline_ns: u64, stop: &dyn Fn() -> bool) -> u64 {
        loop {
            let now = self.now_ns();
            if now >= deadline_ns || stop() {
                return now;
            }
            self.sleep_until_ns(deadline_ns.min(now.saturating_add(SLICE_NS)));
        }
    }
}

/// The clock of this host.
#[derive(Debug)]
pub struct Monotonic(());

impl Monotonic {
    /// The clock for the calling thread, which is woken as near to its deadlines as the kernel can.
    pub fn for_this_thread() -> Self {
        sys_send::wake_punctually();
        Monotonic(())
    }

    /// CPU time of this process, ns.
    pub fn process_cpu_ns(&self) -> u64 {
        sys_send::process_cpu_ns()
    }
}

impl Clock for Monotonic {
    fn now_ns(&mut self) -> u64 {
        sys_send::monotonic_ns()
    }

    fn sleep_until_ns(&mut self, deadline_ns: u64) {
        sys_send::sleep_until_ns(deadline_ns);
    }
}

/// A clock for tests: time passes only while somebody sleeps, and then so much more as was planned.
#[cfg(test)]
pub(crate) mod simulated {
    use super::Clock;

    /// Time, and by how much the next sleeps end late, in order; later ones are punctual.
    #[derive(Debug, Default)]
    pub(crate) struct Simulated {
        pub(crate) now_ns: u64,
        pub(crate) hold_ups_ns: Vec<u64>,
    }

    impl Clock for Simulated {
        fn now_ns(&mut self) -> u64 {
            self.now_ns
        }

        fn sleep_until_ns(&mut self, deadline_ns: u64) {
            let late = if self.hold_ups_ns.is_empty() { 0 } else { self.hold_ups_ns.remove(0) };
            self.now_ns = self.now_ns.max(deadline_ns) + late;
        }
    }
}
