//! The bench's counters every 100 ms, on a thread of its own, for `counters.csv`.

use super::clock::wall_ns;
use super::measured::Row;
use crate::live::counters::{CounterReader, PERIOD};
use crossbeam_channel::{RecvTimeoutError, Sender, bounded};
use rustix::time::{ClockId, clock_gettime};
use std::convert::Infallible;
use std::io;
use std::thread::{self, JoinHandle};

/// A thread that reads counters until it is stopped.
#[derive(Debug)]
pub struct Counting {
    stop: Sender<Infallible>,
    thread: JoinHandle<Vec<Row>>,
}

impl Counting {
    /// Begins; `interface` is the one whose counters matter, `None` for all.
    ///
    /// # Errors
    /// No thread.
    pub fn start(interface: Option<String>) -> io::Result<Counting> {
        let (stop, stopped) = bounded::<Infallible>(0);
        let count = move || {
            let mut reader = CounterReader::new(interface.as_deref());
            let mut rows = vec![row(&mut reader)];
            while matches!(stopped.recv_timeout(PERIOD), Err(RecvTimeoutError::Timeout)) {
                rows.push(row(&mut reader));
            }
            rows.push(row(&mut reader));
            rows
        };
        let thread = thread::Builder::new().name("matrix-counters".to_owned()).spawn(count)?;
        Ok(Counting { stop, thread })
    }

    /// Ends it and returns what it read.
    pub fn stop(self) -> Vec<Row> {
        drop(self.stop);
        // A panic there leaves no readings, which the measurement shows.
        self.thread.join().unwrap_or_default()
    }
}

fn row(reader: &mut CounterReader) -> Row {
    let counters = reader.read();
    let steady_ns = clock_ns(ClockId::Monotonic);
    Row {
        at_ns: wall_ns(),
        steady_ns,
        asleep_ns: asleep_ns(steady_ns),
        rcvbuf_errors: counters.rcvbuf_errors,
        checksum_errors: counters.checksum_errors,
        nic_dropped: counters.nic_dropped,
        softnet_dropped: counters.softnet_dropped,
        carrier_changes: counters.carrier_changes,
    }
}

fn clock_ns(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

/// Time slept since the start of the host, ns: 0 where no clock tells.
#[cfg(target_os = "linux")]
fn asleep_ns(steady_ns: i64) -> i64 {
    clock_ns(ClockId::Boottime).saturating_sub(steady_ns)
}

#[cfg(not(target_os = "linux"))]
fn asleep_ns(_: i64) -> i64 {
    0
}
