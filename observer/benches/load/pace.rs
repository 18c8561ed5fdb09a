//! Frames at absolute deadlines: a frame that was late does not move the ones behind it.

use std::thread;
use std::time::{Duration, Instant};

/// What came of the deadlines.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Paced {
    /// Latest start of a frame behind its deadline.
    pub(crate) latest: Duration,
    /// From the first deadline to the end of the last frame.
    pub(crate) took: Duration,
}

/// Runs `frame` at every deadline, `rate` a second from now on.
pub(crate) fn paced<E>(
    frames: u32,
    rate: u32,
    mut frame: impl FnMut(u32) -> Result<(), E>,
) -> Result<Paced, E> {
    let start = Instant::now();
    let mut latest = Duration::ZERO;
    for number in 0..frames {
        let due = start + Duration::from_nanos(u64::from(number) * 1_000_000_000 / u64::from(rate));
        thread::sleep(due.saturating_duration_since(Instant::now()));
        latest = latest.max(due.elapsed());
        frame(number)?;
    }
    Ok(Paced { latest, took: start.elapsed() })
}
