//! The way out: one UDP socket that sends batches of datagrams with as few system calls as it can, and keeps a book of
//! what the kernel took, refused or threw back. It never reads a clock and never decides when to send.

use super::sys_send::{self, Headers, MOST_OCTETS, MOST_SEGMENTS, Message};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, IoSlice};
use std::iter;
use std::net::{IpAddr, SocketAddr};
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
        if let Some(from) = way.from {
            socket.bind(&SocketAddr::new(from, 0).into())?;
        }
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

    /// What came of sending so far.
    pub fn sent(&self) -> &Sent {
        &self.sent
    }

    /// Whether the kernel cuts datagrams out of larger messages.
    pub fn segmentation(&self) -> &Segmentation {
        &self.segmentation
    }

    /// Sends every datagram, in order. A datagram that the kernel does not take is given up and counted; those behind
    /// it are sent. With `segment`, all are so many octets long but the last, which may be shorter.
    pub fn send<'a>(&mut self, messages: impl Iterator<Item = Message<'a>> + Clone, segment: Option<u16>) {
        let cut = matches!(self.segmentation, Segmentation::Untried | Segmentation::Used);
        let done = match segment.filter(|_| cut) {
            Some(segment) => self.send_cut(messages.clone(), segment),
            None => 0,
        };
        self.send_each(messages.skip(done));
    }

    /// Sends in messages that the kernel cuts; returns how many datagrams were dealt with: all, unless it refuses.
    fn send_cut<'a>(&mut self, messages: impl Iterator<Item = Message<'a>> + Clone, segment: u16) -> usize {
        let most = (MOST_OCTETS / usize::from(segment).max(1)).clamp(1, MOST_SEGMENTS);
        let mut done = 0;
        loop {
            let mut flat = [IoSlice::new(&[]); BUFFERS];
            let (count, used) = gather(messages.clone().skip(done).take(most), &mut flat);
            let Some(parts) = flat.get(..used).filter(|_| count > 0) else { return done };
            let outcome = self.offer(|socket, _| sys_send::send_segmented(socket.as_fd(), parts, segment));
            let dealt = messages.clone().skip(done).take(count);
            match outcome {
                Ok(_) => {
                    self.segmentation = Segmentation::Used;
                    self.sent.segmented += count as u64;
                    self.sent.took(dealt);
                }
                Err(error) if is_no_segmentation(&error) => {
                    self.segmentation = Segmentation::Refused(error.to_string());
                    return done;
                }
                Err(error) => self.give_up(count as u64, &error),
            }
            done += count;
        }
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

/// Puts the buffers of as many datagrams as fit into `flat`: how many datagrams, how many buffers.
fn gather<'a>(messages: impl Iterator<Item = Message<'a>>, flat: &mut [IoSlice<'a>]) -> (usize, usize) {
    let (mut count, mut used) = (0, 0);
    for (_, parts) in messages {
        let Some(room) = flat.get_mut(used..used + parts.len()) else { break };
        room.copy_from_slice(parts);
        (count, used) = (count + 1, used + parts.len());
    }
    (count, used)
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

    fn send(outlet: &mut Outlet, datagrams: &[Vec<u8>], segment: Option<u16>) {
        let parts: Vec<[IoSlice<'_>; 2]> =
            datagrams.iter().map(|d| [IoSlice::new(&d[..4]), IoSlice::new(&d[4..])]).collect();
        outlet.send(parts.iter().map(|p| (None, &p[..])), segment);
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
                    send(&mut outlet, part, Some(body as u16 + 4));
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
        send(&mut outlet, &datagrams, Some(24));
        assert_eq!(received(&receiver, 101), datagrams);
        let mut outlet = Outlet::open(&to(&receiver)).unwrap();
        send(&mut outlet, &datagrams, None);
        assert_eq!(received(&receiver, 101), datagrams);
        assert_eq!(outlet.sent().segmented, 0);
    }

    #[test]
    fn a_kernel_that_cannot_cut_to_this_size_gets_datagrams_one_by_one() {
        let receiver = receiver();
        let mut outlet = Outlet::open(&to(&receiver)).unwrap();
        // Longer than the loopback interface carries with its headers, yet legal as fragments.
        let datagrams = [vec![1; 65_507], vec![2; 5]];
        send(&mut outlet, &datagrams, Some(65_507));
        assert_eq!(received(&receiver, 2), datagrams);
        assert_eq!((outlet.sent().datagrams, outlet.sent().failed), (2, 0));
    }

    #[test]
    fn a_datagram_that_cannot_be_sent_is_given_up_and_those_behind_it_are_sent() {
        let receiver = receiver();
        let mut outlet = Outlet::open(&to(&receiver)).unwrap();
        let datagrams = [vec![1; 10], vec![2; 65_508], vec![3; 10]];
        send(&mut outlet, &datagrams, None);
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
            send(&mut outlet, &datagrams(3, 20), None);
        }
        assert_eq!((outlet.sent().datagrams, outlet.sent().failed), (40, 0));
        assert!(outlet.sent().refused > 0);
    }

    #[test]
    fn datagrams_name_their_destination_where_there_are_several() {
        let (one, other) = (receiver(), receiver());
        let mut outlet = Outlet::open(&Way::default()).unwrap();
        for (receiver, text) in [(&one, b"one"), (&other, b"two"), (&one, b"end")] {
            outlet.send(single(receiver.local_addr().ok(), &[IoSlice::new(text)]), None);
        }
        assert_eq!(received(&one, 2), [b"one", b"end"]);
        assert_eq!(received(&other, 1), [b"two"]);
        assert_eq!((outlet.segmentation(), outlet.largest_payload().unwrap()), (&Segmentation::Off, None));
    }

    #[test]
    fn the_largest_payload_is_that_of_the_route() {
        let receiver = receiver();
        let largest = Outlet::open(&to(&receiver)).unwrap().largest_payload().unwrap().unwrap();
        assert!((1_252..=65_507).contains(&largest), "{largest}");
    }
}
