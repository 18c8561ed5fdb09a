//! The way out: one UDP socket that sends batches of datagrams with as few system calls as it can, and keeps a book of
//! what the kernel took, refused or threw back. It never reads a clock and never decides when to send.

use super::sys_send::{self, Headers, MOST_OCTETS, MOST_SEGMENTS, Message};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, IoSlice};
use std::iter;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

/// Buffers gathered into one message that the kernel cuts: two for each datagram at most.
const BUFFERS: usize = 2 * MOST_SEGMENTS;
/// How often a datagram is offered again while the kernel has no room.
const TRIES: u32 = 20;
/// Time between two offers.
const BREATH: Duration = Duration::from_millis(1);
/// Refusals of earlier datagrams that are read away before one datagram.
const REFUSALS: u32 = 64;
/// Octets of the IP and UDP headers.
const HEADERS_V4: u32 = 28;
const HEADERS_V6: u32 = 48;

/// Where a socket sends and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// The one destination; `None` when every datagram names its own.
    pub to: Option<SocketAddr>,
    /// Own address; `None` leaves the choice to the routing table.
    pub from: Option<IpAddr>,
    /// Own port; `None` takes a free one, and so does one that is in use.
    pub port: Option<u16>,
    /// Number of the interface for multicast; `None` leaves the choice to the routing table.
    pub interface: Option<u32>,
    /// Time to live of what is sent; `None` keeps the system's (64 for unicast, 1 for multicast).
    pub ttl: Option<u8>,
    /// Never let the kernel cut datagrams out of larger messages.
    pub no_segmentation: bool,
}

/// Whether the kernel cuts datagrams out of larger messages (UDP generic segmentation offload).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segmentation {
    /// Not wanted, or datagrams go to several destinations.
    Off,
    /// Wanted; not tried so far.
    Untried,
    /// Works.
    Used,
    /// The kernel refuses it; what it says.
    Refused(String),
}

/// What came of sending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Datagrams that the kernel took.
    pub datagrams: u64,
    /// Octets of payload in them.
    pub octets: u64,
    /// Datagrams of them that the kernel cut out of larger messages.
    pub segmented: u64,
    /// Times a host said that nobody listens on the port.
    pub refused: u64,
    /// Times the kernel had no room and was asked again.
    pub waits: u64,
    /// Datagrams given up.
    pub failed: u64,
    /// What the operating system said of the first of them.
    pub error: Option<String>,
}

impl Sent {
    /// Adds what another socket sent.
    pub fn add(&mut self, other: &Sent) {
        self.datagrams += other.datagrams;
        self.octets += other.octets;
        self.segmented += other.segmented;
        self.refused += other.refused;
        self.waits += other.waits;
        self.failed += other.failed;
        if self.error.is_none() {
            self.error.clone_from(&other.error);
        }
    }

    fn took<'a>(&mut self, messages: impl Iterator<Item = Message<'a>>) {
        for (_, parts) in messages {
            self.datagrams += 1;
            self.octets += octets(parts) as u64;
        }
    }
}

/// A socket that sends.
pub struct Outlet {
    socket: Socket,
    to: Option<SocketAddr>,
    headers: Headers,
    segmentation: Segmentation,
    sent: Sent,
}

impl Outlet {
    /// Opens the socket; nothing is sent.
    ///
    /// # Errors
    /// What the operating system says, such as that no route leads to the destination.
    pub fn open(way: &Way) -> io::Result<Outlet> {
        let is_v4 = way.to.map(|to| to.is_ipv4()).or(way.from.map(|from| from.is_ipv4())).unwrap_or(true);
        let domain = if is_v4 { Domain::IPV4 } else { Domain::IPV6 };
        let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
        bind(&socket, way, is_v4)?;
        set_options(&socket, way, is_v4)?;
        if let Some(to) = way.to {
            socket.connect(&to.into())?;
        }
        let wanted = way.to.is_some() && !way.no_segmentation;
        Ok(Outlet {
            socket,
            to: way.to,
            headers: Headers::new(),
            segmentation: if wanted { Segmentation::Untried } else { Segmentation::Off },
            sent: Sent::default(),
        })
    }

    /// Octets of payload that reach the one destination in one piece, as far as this host knows; `None` without such a
    /// destination.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn largest_payload(&self) -> io::Result<Option<u32>> {
        let Some(to) = self.to else { return Ok(None) };
        let headers = if to.is_ipv4() { HEADERS_V4 } else { HEADERS_V6 };
        let mtu = sys_send::path_mtu(self.socket.as_fd(), to.is_ipv4())?;
        Ok(Some(mtu.saturating_sub(headers).min(MOST_OCTETS as u32)))
    }

    /// The port it sends from; 0 until it has sent or is connected.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn own_port(&self) -> io::Result<u16> {
        Ok(self.socket.local_addr()?.as_socket().map_or(0, |address| address.port()))
    }

    /// What came of sending so far.
    pub fn sent(&self) -> &Sent {
        &self.sent
    }

    /// Whether the kernel cuts datagrams out of larger messages.
    pub fn segmentation(&self) -> &Segmentation {
        &self.segmentation
    }

    /// Sends every datagram, in order. A datagram that the kernel does not take is given up and counted; those behind
    /// it are sent.
    pub fn send<'a>(&mut self, messages: impl Iterator<Item = Message<'a>> + Clone) {
        let to = self.to;
        let messages = messages.map(move |(address, parts)| (address.filter(|a| Some(*a) != to), parts));
        let mut done = 0;
        while matches!(self.segmentation, Segmentation::Untried | Segmentation::Used) {
            let rest = messages.clone().skip(done);
            let mut flat = [IoSlice::new(&[]); BUFFERS];
            let run = gather(rest.clone(), &mut flat);
            match run.count {
                0 if rest.clone().next().is_none() => return,
                // Nothing to cut: this one goes elsewhere, or stands alone between others.
                0 | 1 => {
                    self.send_each(rest.take(1));
                    done += 1;
                }
                count => {
                    let parts = flat.get(..run.used).unwrap_or_default();
                    if self.send_cut(rest.take(count), parts, run.segment) {
                        done += count;
                    }
                }
            }
        }
        self.send_each(messages.skip(done));
    }

    /// Sends one message that the kernel cuts; false when it refuses to cut, and nothing was sent.
    fn send_cut<'a>(
        &mut self,
        messages: impl Iterator<Item = Message<'a>> + Clone,
        parts: &[IoSlice<'_>],
        segment: u16,
    ) -> bool {
        match self.offer(|socket, _| sys_send::send_segmented(socket.as_fd(), parts, segment)) {
            Ok(_) => {
                self.segmentation = Segmentation::Used;
                self.sent.segmented += messages.clone().count() as u64;
                self.sent.took(messages);
            }
            Err(error) if is_no_segmentation(&error) => {
                self.segmentation = Segmentation::Refused(error.to_string());
                return false;
            }
            Err(error) => self.give_up(messages.count() as u64, &error),
        }
        true
    }

    fn send_each<'a>(&mut self, messages: impl Iterator<Item = Message<'a>> + Clone) {
        let mut done = 0;
        while messages.clone().nth(done).is_some() {
            let rest = messages.clone().skip(done);
            match self.offer(|socket, headers| headers.send(socket.as_fd(), rest.clone())) {
                Ok(count) => {
                    self.sent.took(rest.take(count));
                    done += count.max(1);
                }
                Err(error) => {
                    self.give_up(1, &error);
                    done += 1;
                }
            }
        }
    }

    /// Calls the kernel until it takes something, or says something that waiting does not change.
    fn offer(
        &mut self,
        mut call: impl FnMut(&Socket, &mut Headers) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let (mut refusals, mut tries) = (0, 0);
        loop {
            let error = match call(&self.socket, &mut self.headers) {
                Ok(count) => return Ok(count),
                Err(error) => error,
            };
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // The answer to a datagram sent before; this one has not been looked at.
                Some(libc::ECONNREFUSED) if refusals < REFUSALS => {
                    refusals += 1;
                    self.sent.refused += 1;
                }
                Some(libc::EAGAIN | libc::ENOBUFS) if tries < TRIES => {
                    tries += 1;
                    self.sent.waits += 1;
                    thread::sleep(BREATH);
                }
                _ => return Err(error),
            }
        }
    }

    fn give_up(&mut self, datagrams: u64, error: &io::Error) {
        self.sent.failed += datagrams;
        if self.sent.error.is_none() {
            self.sent.error = Some(error.to_string());
        }
    }
}

/// Binds the socket where an address or a port of its own is wanted.
fn bind(socket: &Socket, way: &Way, is_v4: bool) -> io::Result<()> {
    let any: IpAddr = if is_v4 { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let own = way.from.unwrap_or(any);
    if let Some(port) = way.port {
        match socket.bind(&SocketAddr::new(own, port).into()) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            outcome => return outcome,
        }
    }
    if way.from.is_some() { socket.bind(&SocketAddr::new(own, 0).into()) } else { Ok(()) }
}

fn set_options(socket: &Socket, way: &Way, is_v4: bool) -> io::Result<()> {
    if is_v4 {
        // Whoever names a broadcast address means it.
        socket.set_broadcast(true)?;
        if let Some(IpAddr::V4(from)) = way.from.filter(|_| way.interface.is_some()) {
            socket.set_multicast_if_v4(&from)?;
        }
        if let Some(ttl) = way.ttl {
            socket.set_ttl_v4(ttl.into())?;
            socket.set_multicast_ttl_v4(ttl.into())?;
        }
        return Ok(());
    }
    if let Some(index) = way.interface {
        socket.set_multicast_if_v6(index)?;
    }
    if let Some(ttl) = way.ttl {
        socket.set_unicast_hops_v6(ttl.into())?;
        socket.set_multicast_hops_v6(ttl.into())?;
    }
    Ok(())
}

/// Datagrams to the one destination that the kernel can cut out of one message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Run {
    count: usize,
    /// Buffers of all of them.
    used: usize,
    /// Octets of each but the last, which may be shorter.
    segment: u16,
}

/// Puts the buffers of as many datagrams as one message takes into `flat`.
fn gather<'a>(messages: impl Iterator<Item = Message<'a>>, flat: &mut [IoSlice<'a>]) -> Run {
    let (mut run, mut total) = (Run::default(), 0);
    for (to, parts) in messages.take(MOST_SEGMENTS) {
        let length = octets(parts);
        let longest = if run.count == 0 { MOST_OCTETS } else { run.segment.into() };
        total += length;
        let fits = to.is_none() && length > 0 && length <= longest && total <= MOST_OCTETS;
        let room = flat.get_mut(run.used..run.used + parts.len()).filter(|_| fits);
        let Some(room) = room else { break };
        room.copy_from_slice(parts);
        (run.count, run.used) = (run.count + 1, run.used + parts.len());
        if run.count == 1 {
            run.segment = u16::try_from(length).unwrap_or(u16::MAX);
        } else if length < usize::from(run.segment) {
            break;
        }
    }
    run
}

/// Errors that say the kernel, the route or the interface cannot cut messages, or not into segments of this size.
fn is_no_segmentation(error: &io::Error) -> bool {
    let refusals = [libc::EINVAL, libc::EIO, libc::EOPNOTSUPP, libc::ENOPROTOOPT, libc::EMSGSIZE];
    error.raw_os_error().is_some_and(|code| refusals.contains(&code))
}

fn octets(parts: &[IoSlice<'_>]) -> usize {
    parts.iter().map(|part| part.len()).sum()
}

/// One datagram of one buffer as a batch.
pub fn single<'a>(
    to: Option<SocketAddr>,
    part: &'a [IoSlice<'a>],
) -> impl Iterator<Item = Message<'a>> + Clone {
    iter::once((to, part))
}

#[cfg(test)]
mod tests;
