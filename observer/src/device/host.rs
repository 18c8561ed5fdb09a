//! This host as a device's world: monotonic clock, one socket for each output, signals.

use super::control::ControlSocket;
use crate::send::clock::{Clock, Monotonic};
use crate::send::socket::{Outlet, Sent, Way, single};
use crate::send::thread_cpu_ns;
use std::io::{self, IoSlice, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;
use wireproof_fixture::device::{Owned, World};
use wireproof_protocols::Batch;

/// Longest sleep in one piece, ns: a signal that comes just before a sleep is noticed after this at the latest.
const SLICE_NS: u64 = 100_000_000;

/// A host.
pub struct Host {
    clock: Monotonic,
    ways: Vec<Way>,
    /// Sockets of the outputs, then those of their second sources, opened when they are needed.
    lines: Vec<Option<Outlet>>,
    /// What came of sockets that are closed.
    closed: Sent,
    control: Option<ControlSocket>,
    stop: Arc<AtomicBool>,
}

impl Host {
    /// Opens a socket for each way; the calling thread will be the device's. Nothing is sent.
    ///
    /// # Errors
    /// What the operating system says, and of which way.
    pub fn open(
        ways: Vec<Way>,
        control: Option<ControlSocket>,
        stop: Arc<AtomicBool>,
    ) -> Result<Host, (usize, io::Error)> {
        let lines = open_all(&ways)?;
        Ok(Host { clock: Monotonic::for_this_thread(), ways, lines, closed: Sent::default(), control, stop })
    }

    /// What came of sending.
    pub fn sent(&self) -> Sent {
        let mut sent = self.closed.clone();
        self.lines.iter().flatten().for_each(|line| sent.add(line.sent()));
        sent
    }

    /// Sends through a line; how many datagrams the kernel took.
    fn through(&mut self, line: usize, send: impl FnOnce(&mut Outlet)) -> u64 {
        let Some(place) = self.lines.get_mut(line) else { return 0 };
        if place.is_none() {
            let way = self.ways.get(line % self.ways.len().max(1));
            *place = way.and_then(|way| Outlet::open(way).ok());
        }
        let Some(outlet) = place else { return 0 };
        let before = outlet.sent().datagrams;
        send(outlet);
        outlet.sent().datagrams - before
    }
}

fn open_all(ways: &[Way]) -> Result<Vec<Option<Outlet>>, (usize, io::Error)> {
    let opened =
        ways.iter().enumerate().map(|(at, way)| Outlet::open(way).map(Some).map_err(|error| (at, error)));
    let mut lines: Vec<Option<Outlet>> = opened.collect::<Result<_, _>>()?;
    lines.resize_with(2 * ways.len(), || None);
    Ok(lines)
}

impl World for Host {
    fn now_ns(&mut self) -> u64 {
        self.clock.now_ns()
    }

    fn wall_ns(&mut self) -> u64 {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }

    fn cpu_ns(&mut self) -> u64 {
        self.clock.process_cpu_ns()
    }

    fn sleep_until_ns(&mut self, ns: u64) {
        let slice = self.clock.now_ns().saturating_add(SLICE_NS);
        self.clock.sleep_until_ns(ns.min(slice));
    }

    fn work_until_ns(&mut self, ns: u64) {
        // Counted in processor time: what takes the processor away has to show in the frame, and would vanish in a
        // stage that ends at a time of day whatever happens.
        let work_ns = ns.saturating_sub(self.clock.now_ns());
        let began_ns = thread_cpu_ns();
        while thread_cpu_ns().saturating_sub(began_ns) < work_ns {
            std::hint::spin_loop();
        }
    }

    fn send(&mut self, line: usize, batch: &Batch<'_>, to: Option<SocketAddr>) -> u64 {
        let batch = *batch;
        self.through(line, |outlet| {
            let datagrams = (0..batch.len()).filter_map(move |i| batch.get(i));
            outlet.send(datagrams.map(move |d| (Some(to.unwrap_or(d.destination)), d.parts)));
        })
    }

    fn send_owned(&mut self, line: usize, datagrams: &[Owned], to: Option<SocketAddr>) -> u64 {
        self.through(line, |outlet| {
            datagrams.iter().for_each(|(own, payload)| {
                outlet.send(single(Some(to.unwrap_or(*own)), &[IoSlice::new(payload)]));
            });
        })
    }

    fn reopen(&mut self) -> io::Result<()> {
        // The former sockets are still open, so that the ports are others.
        let lines = open_all(&self.ways).map_err(|(_, error)| error)?;
        self.closed = self.sent();
        self.lines = lines;
        Ok(())
    }

    fn message(&mut self) -> Option<String> {
        self.control.as_mut()?.message()
    }

    fn reply(&mut self, text: &str) {
        if let Some(control) = &mut self.control {
            control.reply(text);
        }
    }

    fn say(&mut self, line: &str) {
        let _ = writeln!(io::stderr(), "wireproof: {line}");
    }

    fn stopped(&mut self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
