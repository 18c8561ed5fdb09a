//! The receivers that are compared, each in a process of its own that is kept on one CPU: ours with and without the
//! verifier, and what others would write.

use super::child::wait_for_parent;
use super::host::{backlog_drops, memory, udp_counter};
use super::sys::{stay_on, thread_cpu_ns};
use std::error::Error;
use std::fmt::Arguments;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use wireproof::live::conduct::{Run, conduct};
use wireproof::live::quiet::Quiet;
use wireproof::live::receive::Manner;
use wireproof::live::ring::RingSource;
use wireproof::live::source::{Layer, Seen, Source, SourceCounters, SourceInfo};
use wireproof::live::tap::{TapFilter, TapOptions};
use wireproof::live::udp::{UdpOptions, UdpSource};
use wireproof_protocols::verify::{Account, Options};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Port everything is sent to.
pub(crate) const PORT: u16 = 5_568;
/// Addresses of the sender's and of the receiver's end.
pub(crate) const FAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// See [`FAR`].
pub(crate) const NEAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// Frames of at most so many octets are none of the sender's.
#[cfg(feature = "libpcap")]
const SMALL: usize = 200;
/// Interface of the receivers.
pub(crate) const INTERFACE: &str = "wp-rx";
/// Longest wait of our sources, as in the receive loop.
const WAIT: Duration = Duration::from_millis(50);
/// Time between two datagrams to oneself that end a blocking receive.
const NUDGE: Duration = Duration::from_millis(50);

/// What a receiver is set to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Octets of receive buffer as the kernel charges them, or of ring; 0 leaves it untouched.
    pub(crate) buffer: u64,
    /// Datagrams a second to expect.
    pub(crate) rate: u32,
    /// CPU to stay on; none where everything competes.
    pub(crate) cpu: Option<usize>,
    /// Scheduling priority of our receive thread under SCHED_FIFO.
    pub(crate) realtime: Option<u8>,
}

/// What came of it.
#[derive(Debug, Default)]
struct Figures {
    cpu_ns: u64,
    received: u64,
    dropped: u64,
    account: Option<Box<Account>>,
    note: String,
}

/// Runs one receiver until the parent closes the input, and prints its figures.
pub(crate) fn run(name: &str, settings: Settings) -> Outcome<()> {
    settings.cpu.map_or(Ok(()), stay_on)?;
    let (snmp, softnet) = (udp_counter("RcvbufErrors"), backlog_drops());
    let result = match name {
        "ring" => full(ring(settings)?, true, settings.realtime)?,
        "socket" => full(socket(settings)?, false, settings.realtime)?,
        "ring-count" => counting(ring(settings)?, true)?,
        "socket-count" => counting(socket(settings)?, false)?,
        "std" => std_receiver(settings)?,
        "tokio" => tokio_receiver(settings)?,
        "libpcap" => libpcap(settings)?,
        other => return Err(format!("no receiver is called {other}").into()),
    };
    say(format_args!("cpu_ns {}", result.cpu_ns))?;
    say(format_args!("received {}", result.received))?;
    say(format_args!("dropped {}", result.dropped))?;
    say(format_args!("hwm {}", memory("VmHWM")))?;
    say(format_args!("rcvbuf_errors {}", udp_counter("RcvbufErrors") - snmp))?;
    say(format_args!("backlog_drops {}", backlog_drops() - softnet))?;
    say(format_args!("note {}", result.note))?;
    if let Some(account) = result.account {
        let lost: u64 = account.streams.iter().map(|s| s.sequence.lost).sum();
        let own: u64 = account.streams.iter().map(|s| s.owners.observer).sum();
        say(format_args!("streams {}", account.streams.len()))?;
        say(format_args!("lost {lost}"))?;
        say(format_args!("own {own}"))?;
        say(format_args!("unfollowed {}", account.datagrams.unfollowed))?;
    }
    Ok(())
}

fn say(text: Arguments<'_>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

fn ring(settings: Settings) -> Outcome<Box<dyn Source>> {
    let options = TapOptions { buffer_bytes: settings.buffer, ..TapOptions::new(INTERFACE, ports()) };
    Ok(Box::new(RingSource::open(&options)?))
}

fn ports() -> TapFilter {
    TapFilter::Ports(vec![PORT])
}

fn socket(settings: Settings) -> Outcome<Box<dyn Source>> {
    let options = UdpOptions {
        addresses: vec![SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT))],
        buffer_bytes: u32::try_from(settings.buffer).ok().filter(|bytes| *bytes > 0),
        rate: Some(settings.rate),
        ..UdpOptions::default()
    };
    Ok(Box::new(UdpSource::open(&options)?))
}

/// A flag that the parent sets by closing the input.
fn until_told() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    thread::spawn(move || {
        wait_for_parent();
        told.store(true, Ordering::Relaxed);
    });
    stop
}

/// The whole observe path.
fn full(source: Box<dyn Source>, is_tap: bool, realtime: Option<u8>) -> Outcome<Figures> {
    let quiet = is_tap.then(|| Quiet::hold(&[PORT]));
    let note = source.info().notes.join(" ");
    let meter = Arc::new(Meter::default());
    let metered = Metered { inner: source, meter: Arc::clone(&meter), begun: false };
    let manner = Manner { realtime, ..Manner::default() };
    let interface = Some(INTERFACE.to_owned());
    let run = Run { interface, interrupted: until_told(), manner, ..Run::default() };
    let growth = watch_memory(&run.interrupted);
    say(format_args!("ready"))?;
    let observed = conduct(vec![Box::new(metered)], Options::default(), &run, &mut |_| {})?;
    drop(quiet);
    let (early, late) = growth.join().map_err(|_| "a thread panicked")?;
    let delay = observed.observer.queue_delay_ns;
    let note = format!(
        "{note} loop gap max {:.1} ms, queue delay p50 {:.2} p99 {:.2} max {:.1} ms, RSS after 10 s {:.1} MB, at the end \
         {:.1} MB",
        observed.observer.loop_gap_max_ns as f64 / 1e6,
        delay.p50 as f64 / 1e6,
        delay.p99 as f64 / 1e6,
        delay.max as f64 / 1e6,
        early as f64 / 1e6,
        late as f64 / 1e6
    );
    Ok(Figures {
        cpu_ns: meter.cpu_ns.load(Ordering::Relaxed),
        received: observed.packets,
        dropped: meter.dropped.load(Ordering::Relaxed),
        account: Some(Box::new(observed.account)),
        note,
    })
}

/// Resident memory ten seconds after the start, and at the end.
fn watch_memory(stop: &Arc<AtomicBool>) -> thread::JoinHandle<(u64, u64)> {
    let stop = Arc::clone(stop);
    thread::spawn(move || {
        let (mut early, mut looks) = (0, 0);
        while !stop.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(100));
            looks += 1;
            if looks == 100 {
                early = memory("VmRSS");
            }
        }
        (early, memory("VmRSS"))
    })
}

/// Figures of a receive thread.
#[derive(Debug, Default)]
struct Meter {
    begin_ns: AtomicU64,
    cpu_ns: AtomicU64,
    dropped: AtomicU64,
}

/// A source that notes the CPU time of the thread that owns it whenever its counters are read.
struct Metered {
    inner: Box<dyn Source>,
    meter: Arc<Meter>,
    begun: bool,
}

impl Metered {
    fn note(&self) {
        let spent = thread_cpu_ns() - self.meter.begin_ns.load(Ordering::Relaxed);
        self.meter.cpu_ns.store(spent, Ordering::Relaxed);
    }
}

impl Source for Metered {
    fn poll(&mut self, wait: Duration, each: &mut dyn FnMut(Seen<'_>)) -> io::Result<usize> {
        if !self.begun {
            self.begun = true;
            self.meter.begin_ns.store(thread_cpu_ns(), Ordering::Relaxed);
        }
        self.inner.poll(wait, each)
    }

    fn counters(&mut self) -> io::Result<SourceCounters> {
        let counters = self.inner.counters()?;
        self.meter.dropped.store(counters.dropped, Ordering::Relaxed);
        self.note();
        Ok(counters)
    }

    fn take_unannounced(&mut self) -> io::Result<u64> {
        let rest = self.inner.take_unannounced()?;
        self.counters()?;
        Ok(rest)
    }

    fn layer(&self) -> Layer {
        self.inner.layer()
    }

    fn info(&self) -> &SourceInfo {
        self.inner.info()
    }
}

/// Our source alone, its datagrams counted.
fn counting(mut source: Box<dyn Source>, is_tap: bool) -> Outcome<Figures> {
    let _quiet = is_tap.then(|| Quiet::hold(&[PORT]));
    let stop = until_told();
    say(format_args!("ready"))?;
    let (begin, mut received, mut octets) = (thread_cpu_ns(), 0, 0);
    while !stop.load(Ordering::Relaxed) {
        source.poll(WAIT, &mut |seen| {
            if let Seen::Datagram(_, datagram) = seen {
                received += 1;
                octets += datagram.payload.len();
            }
        })?;
    }
    let cpu_ns = thread_cpu_ns() - begin;
    let dropped = source.counters()?.dropped;
    let note = format!("{octets} octets {}", source.info().notes.join(" "));
    Ok(Figures { cpu_ns, received, dropped, account: None, note })
}

/// A bound socket with its buffer set as far as the system allows, and a flag; datagrams to itself wake a receive that
/// waits once the flag is set.
fn plain(settings: Settings) -> Outcome<(UdpSocket, Arc<AtomicBool>)> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
    if settings.buffer > 0 {
        let half = usize::try_from(settings.buffer / 2)?;
        socket2::SockRef::from(&socket).set_recv_buffer_size(half)?;
    }
    let stop = until_told();
    nudge(&stop, Ipv4Addr::LOCALHOST)?;
    Ok((socket, stop))
}

/// Sends an empty datagram now and then once the flag is set, so that a receiver that waits looks at it.
fn nudge(stop: &Arc<AtomicBool>, to: Ipv4Addr) -> io::Result<()> {
    let (stop, socket) = (Arc::clone(stop), UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?);
    thread::spawn(move || {
        loop {
            thread::sleep(NUDGE);
            if stop.load(Ordering::Relaxed) {
                // The receiver may have ended already.
                let _ = socket.send_to(&[], (to, PORT));
            }
        }
    });
    Ok(())
}

/// One blocking `recv_from` for each datagram.
fn std_receiver(settings: Settings) -> Outcome<Figures> {
    let (socket, stop) = plain(settings)?;
    say(format_args!("ready"))?;
    let (begin, mut received, mut buffer) = (thread_cpu_ns(), 0, [0; 2_048]);
    loop {
        let (length, _) = socket.recv_from(&mut buffer)?;
        received += u64::from(length > 0);
        if length == 0 && stop.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(Figures { cpu_ns: thread_cpu_ns() - begin, received, ..Figures::default() })
}

/// The same on tokio's current-thread runtime.
fn tokio_receiver(settings: Settings) -> Outcome<Figures> {
    let (socket, stop) = plain(settings)?;
    socket.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let socket = tokio::net::UdpSocket::from_std(socket)?;
        say(format_args!("ready"))?;
        let (begin, mut received, mut buffer) = (thread_cpu_ns(), 0, [0; 2_048]);
        loop {
            let (length, _) = socket.recv_from(&mut buffer).await?;
            received += u64::from(length > 0);
            if length == 0 && stop.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok(Figures { cpu_ns: thread_cpu_ns() - begin, received, ..Figures::default() })
    })
}

/// libpcap with a filter, a 10 ms time-out and a buffer, one `pcap_next_ex` a frame.
#[cfg(feature = "libpcap")]
fn libpcap(settings: Settings) -> Outcome<Figures> {
    let _quiet = Quiet::hold(&[PORT]);
    let capture = pcap::Capture::from_device(INTERFACE)?.timeout(10).snaplen(2_048);
    let mut capture = capture.buffer_size(i32::try_from(settings.buffer)?).open()?;
    capture.filter(&format!("udp port {PORT}"), true)?;
    let stop = until_told();
    nudge(&stop, FAR)?;
    say(format_args!("ready"))?;
    let (begin, mut received, mut octets) = (thread_cpu_ns(), 0, 0);
    while !stop.load(Ordering::Relaxed) {
        match capture.next_packet() {
            Ok(packet) => {
                received += u64::from(packet.data.len() > SMALL);
                octets += packet.data.len();
            }
            Err(pcap::Error::TimeoutExpired) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let cpu_ns = thread_cpu_ns() - begin;
    let dropped = capture.stats()?.dropped.into();
    Ok(Figures { cpu_ns, received, dropped, account: None, note: format!("{octets} octets") })
}

#[cfg(not(feature = "libpcap"))]
fn libpcap(_: Settings) -> Outcome<Figures> {
    Err("this build has no libpcap: add `--features libpcap`".into())
}
