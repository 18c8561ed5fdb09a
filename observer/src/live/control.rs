//! The positive control: a socket pair of its own, the receive loop stopped on purpose, and the question whether the
//! tool reports exactly that loss as its own.

use super::conduct::{Run, conduct};
use super::source::{Layer, Seen, Source, SourceCounters, SourceInfo};
use super::udp::{FULL_SIZE_CHARGE, UdpOptions, UdpSource, hold_time};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wireproof_protocols::verify::Options;

/// Receive buffer of an untouched Linux, octets.
const BUFFER: u32 = 212_992;
/// Datagrams a second while the loop is stopped.
const RATE: u32 = 1_000;
/// Datagrams before and after.
const AROUND: u64 = 120;
/// Streams they belong to: few numbers of each are missing then.
const UNIVERSES: u64 = 6;
/// A component identifier of its own (a random UUID of version 4).
const CID: [u8; 16] =
    [0x9d, 0x4e, 0x1f, 0x0b, 0x6a, 0x52, 0x4c, 0x83, 0xb1, 0x37, 0x28, 0xe5, 0x90, 0x7c, 0xd4, 0x61];
/// Octets of an E1.31 data packet with 512 slots.
const PACKET: usize = 638;

/// What the control found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// How long the loop was stopped.
    pub stopped: Duration,
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams received.
    pub received: u64,
    /// Drops the kernel counted on the socket.
    pub counted: u64,
    /// Datagrams missing by their numbers.
    pub missing: u64,
    /// Those held against the observer.
    pub observers: u64,
    /// The verdict of such a run would be INVALID.
    pub invalid: bool,
    /// A counter of the kernel tells what the socket drops. Where there is none, the stall alone has to convict.
    pub has_counter: bool,
}

impl Control {
    /// There was a loss, and all counts agree that it is the observer's.
    pub fn holds(&self) -> bool {
        self.missing > 0
            && self.sent == self.received + self.missing
            && self.counted == if self.has_counter { self.missing } else { 0 }
            && self.observers == self.missing
            && self.invalid
    }
}

/// Stops the loop for 1.5 times the hold time of a default buffer; `portable` as in [`UdpOptions`].
///
/// # Errors
/// When no socket can be opened on the loopback interface.
pub fn stall(portable: bool) -> io::Result<Control> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let options = UdpOptions {
        addresses: vec![address],
        buffer_bytes: Some(BUFFER),
        rate: Some(RATE),
        portable,
        ..UdpOptions::default()
    };
    let inner = UdpSource::open(&options).map_err(|e| io::Error::other(e.to_string()))?;
    let target = inner.local_addresses().next().ok_or_else(|| io::Error::other("no socket"))?;
    let granted = inner.info().buffer_bytes.1;
    let has_counter = inner.counts_drops();
    // The charge of a smaller packet is smaller, and its hold time longer: it is asked for by what fits in fact.
    let held = hold_time(granted, FULL_SIZE_CHARGE / 2, RATE);
    let stopped = held.mul_f64(1.5);
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    sender.connect(target)?;
    let sent = Arc::new(AtomicU64::new(0));
    let interrupted = Arc::new(AtomicBool::new(false));
    let source = Stopping {
        inner,
        sender,
        sent: Arc::clone(&sent),
        stopped,
        phase: Phase::Before,
        end: Arc::clone(&interrupted),
    };
    let run = Run { interrupted, ..Run::default() };
    let options = Options { no_drop_counter: !has_counter, ..Options::default() };
    let observed = conduct(vec![Box::new(source)], options, &run, &mut |_| {})
        .map_err(|e| io::Error::other(e.to_string()))?;
    let of = |f: fn(&wireproof_protocols::verify::StreamAccount) -> u64| {
        observed.account.streams.iter().map(f).sum()
    };
    Ok(Control {
        stopped,
        sent: sent.load(Ordering::Relaxed),
        received: observed.packets,
        counted: observed.account.observer.socket,
        missing: of(|s| s.sequence.lost),
        observers: of(|s| s.owners.observer),
        invalid: observed.observer.lost > 0,
        has_counter,
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Before,
    Stop,
    After,
    Done,
}

/// A source that sends to itself, and is away while it should read.
struct Stopping {
    inner: UdpSource,
    sender: UdpSocket,
    sent: Arc<AtomicU64>,
    stopped: Duration,
    phase: Phase,
    end: Arc<AtomicBool>,
}

impl Stopping {
    fn send(&self) -> io::Result<()> {
        let n = self.sent.fetch_add(1, Ordering::Relaxed);
        self.sender.send(&packet((n % UNIVERSES) as u16 + 1, (n / UNIVERSES) as u8)).map(drop)
    }

    /// Sends in step with the clock while nobody reads.
    fn stop(&self) -> io::Result<()> {
        let began = Instant::now();
        let most = (self.stopped.as_secs_f64() * f64::from(RATE)) as u32;
        for n in 0..most {
            self.send()?;
            let due = Duration::from_secs(1) / RATE * (n + 1);
            std::thread::sleep(due.saturating_sub(began.elapsed()));
        }
        Ok(())
    }
}

impl Source for Stopping {
    fn poll(&mut self, wait: Duration, each: &mut dyn FnMut(Seen<'_>)) -> io::Result<usize> {
        match self.phase {
            Phase::Before => (0..AROUND).try_for_each(|_| self.send())?,
            Phase::Stop => self.stop()?,
            Phase::After => (0..AROUND).try_for_each(|_| self.send())?,
            Phase::Done => self.end.store(true, Ordering::Relaxed),
        }
        // Everything is taken before the next phase begins.
        let mut all = 0;
        loop {
            let n = self.inner.poll(wait, each)?;
            all += n;
            if n == 0 {
                break;
            }
        }
        self.phase = match self.phase {
            Phase::Before => Phase::Stop,
            Phase::Stop => Phase::After,
            Phase::After | Phase::Done => Phase::Done,
        };
        Ok(all)
    }

    fn counters(&mut self) -> io::Result<SourceCounters> {
        self.inner.counters()
    }

    fn take_unannounced(&mut self) -> io::Result<u64> {
        Source::take_unannounced(&mut self.inner)
    }

    fn layer(&self) -> Layer {
        self.inner.layer()
    }

    fn counts_drops(&self) -> bool {
        self.inner.counts_drops()
    }

    fn info(&self) -> &SourceInfo {
        self.inner.info()
    }
}

/// A whole E1.31 data packet.
fn packet(universe: u16, number: u8) -> [u8; PACKET] {
    let mut p = [0; PACKET];
    let mut put = |at: usize, octets: &[u8]| p[at..at + octets.len()].copy_from_slice(octets);
    put(0, &[0, 0x10, 0, 0]);
    put(4, b"ASC-E1.17\0\0\0");
    put(16, &[0x72, 0x6e, 0, 0, 0, 4]);
    put(22, &CID);
    put(38, &[0x72, 0x58, 0, 0, 0, 2]);
    put(44, b"wireproof self-check");
    put(108, &[100, 0, 0, number, 0]);
    put(113, &universe.to_be_bytes());
    put(115, &[0x72, 0x0b, 2, 0xa1, 0, 0, 0, 1, 2, 1, 0]);
    put(126, &[number, number ^ 0x55, universe as u8]);
    p
}

#[cfg(test)]
mod tests {
    use super::*;
    use wireproof_protocols::{Datagram, Faults, registry};

    #[test]
    fn the_packet_breaks_no_rule() {
        let p = packet(7, 3);
        let to: SocketAddr = "10.0.0.2:5568".parse().unwrap();
        let d = Datagram::new("10.0.0.1:4000".parse().unwrap(), to, &p);
        let mut faults = Faults::new();
        let pdu = registry::claim(&d).unwrap().decode(&d, &mut faults).unwrap();
        assert!(faults.is_empty(), "{:?}", faults.as_slice());
        assert_eq!((pdu.stream, pdu.sequence, pdu.data.len()), (Some(7), Some(3), 512));
    }

    #[test]
    fn only_a_loss_that_all_counts_agree_on_holds() {
        let good = Control {
            sent: 10,
            received: 8,
            counted: 2,
            missing: 2,
            observers: 2,
            invalid: true,
            has_counter: true,
            ..Control::default()
        };
        assert!(good.holds());
        assert!(!Control { counted: 3, ..good }.holds());
        assert!(!Control { observers: 1, ..good }.holds());
        assert!(!Control { received: 9, ..good }.holds());
        assert!(!Control { invalid: false, ..good }.holds());
        assert!(Control { counted: 0, has_counter: false, ..good }.holds());
        assert!(!Control { counted: 2, has_counter: false, ..good }.holds());
        assert!(!Control { sent: 10, received: 10, ..Control::default() }.holds());
    }
}
