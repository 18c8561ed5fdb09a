//! A source whose receive loop does something else now and then, as the first observer in the field did.

use std::io;
use std::thread;
use std::time::{Duration, Instant};
use wireproof::live::source::{Layer, Seen, Source, SourceCounters, SourceInfo};

/// Sleeps inside [`Source::poll`] at set times.
pub(crate) struct Disturbed<S> {
    inner: S,
    /// Start and length of each stall still to come, from the first poll on; the next one is last.
    stalls: Vec<(Duration, Duration)>,
    started: Option<Instant>,
}

impl<S: Source> Disturbed<S> {
    /// `stalls` are start and length, in order, counted from the first poll.
    pub(crate) fn new(inner: S, mut stalls: Vec<(Duration, Duration)>) -> Self {
        stalls.reverse();
        Disturbed { inner, stalls, started: None }
    }
}

impl<S: Source> Source for Disturbed<S> {
    fn poll(&mut self, wait: Duration, each: &mut dyn FnMut(Seen<'_>)) -> io::Result<usize> {
        let gone = self.started.get_or_insert_with(Instant::now).elapsed();
        if let Some((_, length)) = self.stalls.pop_if(|(at, _)| *at <= gone) {
            thread::sleep(length);
        }
        self.inner.poll(wait, each)
    }

    fn counters(&mut self) -> io::Result<SourceCounters> {
        self.inner.counters()
    }

    fn take_unannounced(&mut self) -> io::Result<u64> {
        self.inner.take_unannounced()
    }

    fn layer(&self) -> Layer {
        self.inner.layer()
    }

    fn info(&self) -> &SourceInfo {
        self.inner.info()
    }
}
