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
mod tests {
    use super::*;
    use std::net::UdpSocket;

    fn receiver() -> UdpSocket {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        socket
    }

    fn to(receiver: &UdpSocket) -> Way {
        Way { to: Some(receiver.local_addr().unwrap()), ..Way::default() }
    }

    fn received(socket: &UdpSocket, count: usize) -> Vec<Vec<u8>> {
        let mut buffer = vec![0; 70_000];
        (0..count).map(|_| socket.recv(&mut buffer).map(|n| buffer[..n].to_vec()).unwrap()).collect()
    }

    /// Datagrams of a head of 4 octets and a body: `count` of `body` octets and one of a single octet.
    fn datagrams(count: usize, body: usize) -> Vec<Vec<u8>> {
        let one = |i: usize, n: usize| [&(i as u32).to_be_bytes()[..], &vec![i as u8; n]].concat();
        (0..count).map(|i| one(i, body)).chain([one(count, 1)]).collect()
    }

    fn send(outlet: &mut Outlet, datagrams: &[Vec<u8>]) {
        let parts: Vec<[IoSlice<'_>; 2]> =
            datagrams.iter().map(|d| [IoSlice::new(&d[..4]), IoSlice::new(&d[4..])]).collect();
        outlet.send(parts.iter().map(|p| (None, &p[..])));
    }

    #[test]
    fn what_is_cut_by_the_kernel_equals_what_is_sent_one_by_one() {
        // 150 are more than one message holds, by count and by octets.
        for body in [20, 1_000] {
            let datagrams = datagrams(150, body);
            for no_segmentation in [false, true] {
                let receiver = receiver();
                let mut outlet = Outlet::open(&Way { no_segmentation, ..to(&receiver) }).unwrap();
                for part in datagrams.chunks(40) {
                    send(&mut outlet, part);
                    assert_eq!(received(&receiver, part.len()), part);
                }
                let total = datagrams.iter().map(|d| d.len() as u64).sum();
                let sent = outlet.sent();
                assert_eq!((sent.datagrams, sent.octets, sent.failed), (151, total, 0));
                match outlet.segmentation() {
                    Segmentation::Used => assert_eq!(sent.segmented, 151),
                    other => {
                        assert!(no_segmentation || matches!(other, Segmentation::Refused(_)), "{other:?}")
                    }
                }
            }
        }
    }

    #[test]
    fn more_than_one_message_takes_is_sent_in_several() {
        let receiver = receiver();
        let mut outlet = Outlet::open(&to(&receiver)).unwrap();
        let datagrams = datagrams(100, 20);
        send(&mut outlet, &datagrams);
        assert_eq!(received(&receiver, 101), datagrams);
        let mut outlet = Outlet::open(&Way { no_segmentation: true, ..to(&receiver) }).unwrap();
        send(&mut outlet, &datagrams);
        assert_eq!(received(&receiver, 101), datagrams);
        assert_eq!(outlet.sent().segmented, 0);
    }

    #[test]
    fn a_kernel_that_cannot_cut_to_this_size_gets_datagrams_one_by_one() {
        let receiver = receiver();
        let mut outlet = Outlet::open(&to(&receiver)).unwrap();
        // Together within one message, but segments that the loopback interface (MTU 65,536 at most) has to fragment.
        let datagrams = [vec![1; 65_500], vec![2; 7]];
        send(&mut outlet, &datagrams);
        assert_eq!(received(&receiver, 2), datagrams);
        assert_eq!((outlet.sent().datagrams, outlet.sent().failed), (2, 0));
    }

    #[test]
    fn a_datagram_that_cannot_be_sent_is_given_up_and_those_behind_it_are_sent() {
        let receiver = receiver();
        let mut outlet = Outlet::open(&to(&receiver)).unwrap();
        let datagrams = [vec![1; 10], vec![2; 65_508], vec![3; 10]];
        send(&mut outlet, &datagrams);
        assert_eq!(received(&receiver, 2), [&datagrams[0][..], &datagrams[2][..]]);
        let sent = outlet.sent();
        assert_eq!((sent.datagrams, sent.octets, sent.failed), (2, 20, 1));
        assert!(sent.error.as_ref().is_some_and(|e| e.contains("too long")), "{sent:?}");
    }

    #[test]
    fn a_port_where_nobody_listens_costs_no_datagram() {
        let gone = receiver().local_addr().unwrap();
        let mut outlet = Outlet::open(&Way { to: Some(gone), ..Way::default() }).unwrap();
        for _ in 0..10 {
            send(&mut outlet, &datagrams(3, 20));
        }
        assert_eq!((outlet.sent().datagrams, outlet.sent().failed), (40, 0));
        assert!(outlet.sent().refused > 0);
    }

    #[test]
    fn a_port_of_its_own_is_taken_where_it_is_free() {
        let receiver = receiver();
        let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let way = Way { port: Some(free), ..to(&receiver) };
        let first = Outlet::open(&way).unwrap();
        let second = Outlet::open(&way).unwrap();
        assert_eq!(first.own_port().unwrap(), free);
        assert!(![0, free].contains(&second.own_port().unwrap()));
    }

    #[test]
    fn datagrams_name_their_destination_where_there_are_several() {
        let (one, other) = (receiver(), receiver());
        let mut outlet = Outlet::open(&Way::default()).unwrap();
        for (receiver, text) in [(&one, b"one"), (&other, b"two"), (&one, b"end")] {
            outlet.send(single(receiver.local_addr().ok(), &[IoSlice::new(text)]));
        }
        assert_eq!(received(&one, 2), [b"one", b"end"]);
        assert_eq!(received(&other, 1), [b"two"]);
        assert_eq!((outlet.segmentation(), outlet.largest_payload().unwrap()), (&Segmentation::Off, None));
    }

    #[test]
    fn only_runs_of_equal_datagrams_to_the_one_place_are_cut() {
        let octets = [0; 70_000];
        let run = |lengths: &[usize]| {
            let parts: Vec<[IoSlice<'_>; 2]> =
                lengths.iter().map(|n| [IoSlice::new(&octets[..1]), IoSlice::new(&octets[1..*n])]).collect();
            let mut flat = [IoSlice::new(&[]); BUFFERS];
            let run = gather(parts.iter().map(|p| (None, &p[..])), &mut flat);
            (run.count, run.used, run.segment)
        };
        assert_eq!(run(&[]), (0, 0, 0));
        assert_eq!(run(&[8]), (1, 2, 8));
        assert_eq!(run(&[8, 8, 3, 3]), (3, 6, 8));
        assert_eq!(run(&[8, 8, 9]), (2, 4, 8));
        assert_eq!(run(&[8; 100]), (MOST_SEGMENTS, 2 * MOST_SEGMENTS, 8));
        assert_eq!(run(&[9_000; 100]), (7, 14, 9_000));
        assert_eq!(run(&[65_508, 3]), (0, 0, 0));
        let (part, other) = ([IoSlice::new(b"abc")], SocketAddr::from(([10, 0, 0, 1], 9)));
        let mut flat = [IoSlice::new(&[]); BUFFERS];
        let messages = [(None, &part[..]), (None, &part[..]), (Some(other), &part[..])];
        assert_eq!(gather(messages.into_iter(), &mut flat).count, 2);
        assert_eq!(gather(messages.into_iter().skip(2), &mut flat).count, 0);
    }

    #[test]
    fn a_mixture_leaves_in_order_whatever_is_cut() {
        let (one, other) = (receiver(), receiver());
        let elsewhere = other.local_addr().unwrap();
        let mut outlet = Outlet::open(&to(&one)).unwrap();
        let datagrams: Vec<Vec<u8>> =
            [5, 5, 3, 9, 4, 4, 4, 7].iter().zip(0..).map(|(n, i)| vec![i; *n]).collect();
        let parts: Vec<[IoSlice<'_>; 1]> = datagrams.iter().map(|d| [IoSlice::new(d)]).collect();
        let messages = parts.iter().zip(0..).map(|(p, i)| ((i == 5).then_some(elsewhere), &p[..]));
        outlet.send(messages);
        let here: Vec<Vec<u8>> =
            datagrams.iter().enumerate().filter(|(i, _)| *i != 5).map(|(_, d)| d.clone()).collect();
        assert_eq!(received(&one, 7), here);
        assert_eq!(received(&other, 1), [vec![5; 4]]);
        assert_eq!((outlet.sent().datagrams, outlet.sent().octets), (8, 41));
    }

    #[test]
    fn the_largest_payload_is_that_of_the_route() {
        let receiver = receiver();
        let largest = Outlet::open(&to(&receiver)).unwrap().largest_payload().unwrap().unwrap();
        assert!((1_252..=65_507).contains(&largest), "{largest}");
    }
}
