//! The clocks of the bench: one that only goes on, which the runner lives by, and the one of the capture timestamps.

use std::time::{Instant, SystemTime, UNIX_EPOCH};
use wireproof_protocols::Timestamp;

/// The runner's clock: it began as the wall clock of its start and is never set.
#[derive(Clone, Copy, Debug)]
pub struct BenchClock {
    began: Instant,
    wall_ns: i64,
}

impl BenchClock {
    /// Starts it.
    pub fn start() -> BenchClock {
        BenchClock { began: Instant::now(), wall_ns: wall_ns() }
    }

    /// Time by it, ns.
    pub fn now_ns(&self) -> i64 {
        let passed = i64::try_from(self.began.elapsed().as_nanos()).unwrap_or(i64::MAX);
        self.wall_ns.saturating_add(passed)
    }

    /// The same for the runner.
    pub fn now(&self) -> Timestamp {
        Timestamp(self.now_ns())
    }

    /// Clock of the capture timestamps minus this one, ns; of several readings the tightest.
    pub fn ahead_ns(&self) -> i64 {
        let reading = |_| {
            let before = self.now_ns();
            let wall = wall_ns();
            let after = self.now_ns();
            (after - before, wall - (before + (after - before) / 2))
        };
        (0..5).map(reading).min_by_key(|(spread, _)| *spread).map_or(0, |(_, ahead)| ahead)
    }
}

/// The wall clock, which kernel stamps come from, ns since 1970.
pub fn wall_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
