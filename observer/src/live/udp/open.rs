//! Opening the sockets of a UDP source: options before the bind, so that no datagram arrives without them; then the
//! joins, spread over further sockets of the same port. Nothing here makes the host send, but joins do (IGMP, MLD).

use super::UdpError;
use super::options::{UdpOptions, default_addresses_and};
use super::platform;
use crate::live::multicast::{JoinBudget, Joins, Membership, per_socket_limit};
use crate::live::sys_socket::{meminfo, set_int};
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;

/// A bound socket with everything the source needs to know of it.
pub(crate) struct Bound {
    pub(crate) socket: Socket,
    /// Address and port, as bound.
    pub(crate) local: SocketAddr,
    /// Receive buffer as the kernel charges it, octets.
    pub(crate) granted: u64,
    /// The kernel stamps.
    pub(crate) kernel_stamps: bool,
    /// Nothing but what every Unix has: no counter of drops.
    pub(crate) portable: bool,
    /// True for a further socket of a port: every broadcast reaches it as a copy.
    pub(crate) is_shard: bool,
    /// Groups this socket has joined.
    pub(crate) groups: Vec<Membership>,
}

impl Bound {
    /// True when datagrams to `group` arrive here once it has joined.
    fn can_take(&self, group: SocketAddr) -> bool {
        self.local.ip().is_unspecified() && self.shares_port(group)
    }

    fn shares_port(&self, other: SocketAddr) -> bool {
        self.local.port() == other.port() && self.local.is_ipv4() == other.is_ipv4()
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        // The kernel leaves for a closed socket anyway; a refusal means that the interface is gone.
        let _ = self.leave();
    }
}

impl Bound {
    /// Leaves every group.
    ///
    /// # Errors
    /// The first refusal, after all have been tried.
    pub(crate) fn leave(&mut self) -> io::Result<()> {
        let mut first = Ok(());
        for group in self.groups.drain(..) {
            first = first.and(group.leave(&self.socket));
        }
        first
    }
}

/// What opening gave.
pub(crate) struct Opened {
    pub(crate) sockets: Vec<Bound>,
    pub(crate) budget: Option<JoinBudget>,
    pub(crate) notes: Vec<String>,
}

/// What every socket is asked for.
#[derive(Clone, Copy)]
struct Asked {
    /// Octets of receive buffer as the kernel charges them.
    bytes: u32,
    portable: bool,
    /// The time to live of each datagram.
    hops: bool,
}

/// Opens what `options` ask for.
pub(crate) fn open(options: &UdpOptions) -> Result<Opened, UdpError> {
    let mut opened = Opened { sockets: Vec::new(), budget: None, notes: Vec::new() };
    let asked = Asked { bytes: options.asked_bytes(), portable: options.is_portable(), hops: options.hops };
    if options.addresses.is_empty() {
        open_default(&mut opened, asked, default_addresses_and(&options.ports))?;
    }
    for (at, address) in options.addresses.iter().enumerate() {
        // Port 0 stands for another free port each time.
        if address.port() == 0 || !options.addresses[..at].contains(address) {
            add(&mut opened.sockets, *address, asked)?;
        }
    }
    if !options.joins.is_empty() {
        opened.budget = Some(join_all(&mut opened.sockets, &options.joins, asked)?);
    }
    // From here on no other program can bind the ports beside us and take our unicast datagrams.
    for bound in &opened.sockets {
        let refused = |source| UdpError::Option { address: bound.local, option: "SO_REUSEADDR", source };
        bound.socket.set_reuse_address(false).map_err(refused)?;
    }
    Ok(opened)
}

/// Opens the list nobody asked for, without IPv6 when the host has none.
fn open_default(opened: &mut Opened, asked: Asked, addresses: Vec<SocketAddr>) -> Result<(), UdpError> {
    for address in addresses {
        match add(&mut opened.sockets, address, asked) {
            Err(e) if e.says_no_ipv6() => {
                opened.notes.push("IPv6 is switched off on this host: only IPv4 is received.".to_owned());
                return Ok(());
            }
            other => other?,
        };
    }
    Ok(())
}

/// Opens one more socket. The first of a port is bound exclusively, which fails when another program has the port;
/// only then are our own further sockets let in beside it.
fn add(sockets: &mut Vec<Bound>, address: SocketAddr, asked: Asked) -> Result<usize, UdpError> {
    let mut beside = sockets.iter().filter(|s| address.port() != 0 && s.shares_port(address)).peekable();
    let is_first = beside.peek().is_none();
    let is_shard = address.ip().is_unspecified() && sockets.iter().any(|s| s.can_take(address));
    for bound in beside {
        bound.socket.set_reuse_address(true).map_err(|e| UdpError::opening(address, e))?;
    }
    let mut bound = bind(address, asked, is_first)?;
    bound.is_shard = is_shard;
    sockets.push(bound);
    Ok(sockets.len() - 1)
}

fn bind(address: SocketAddr, asked: Asked, is_first: bool) -> Result<Bound, UdpError> {
    if address.ip().is_multicast() {
        return Err(UdpError::GroupAddress { address });
    }
    let failed = |e| UdpError::opening(address, e);
    let socket =
        Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP)).map_err(failed)?;
    socket.set_reuse_address(!is_first).map_err(failed)?;
    let Asked { bytes, portable, .. } = asked;
    let kernel_stamps = prepare(&socket, address, asked)?;
    platform::size_buffer(&socket, bytes).map_err(failed)?;
    socket.bind(&address.into()).map_err(failed)?;
    let granted = granted(&socket, portable).map_err(|source| UdpError::Counters { source })?;
    let local = socket.local_addr().map_err(failed)?.as_socket().unwrap_or(address);
    Ok(Bound { socket, local, granted, kernel_stamps, portable, is_shard: false, groups: Vec::new() })
}

/// Octets of receive buffer as the kernel charges them.
fn granted(socket: &Socket, portable: bool) -> io::Result<u64> {
    if portable {
        return socket.recv_buffer_size().map(|octets| octets as u64);
    }
    Ok(meminfo(socket.as_fd())?.granted.into())
}

/// Sets every option that must stand before the first datagram; true when the kernel stamps.
fn prepare(socket: &Socket, address: SocketAddr, asked: Asked) -> Result<bool, UdpError> {
    let must = |option: &'static str, result: io::Result<()>| {
        result.map_err(|source| UdpError::Option { address, option, source })
    };
    let set = |level, option| set_int(socket.as_fd(), level, option, 1);
    if !asked.portable {
        must("SO_RXQ_OVFL", platform::count_drops(socket))?;
    }
    if address.is_ipv4() {
        must("IP_PKTINFO", set(libc::IPPROTO_IP, libc::IP_PKTINFO))?;
        must("IP_MULTICAST_ALL", platform::own_groups_only(socket, true))?;
    } else {
        must("IPV6_V6ONLY", socket.set_only_v6(true))?;
        must("IPV6_RECVPKTINFO", set(libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO))?;
        must("IPV6_MULTICAST_ALL", platform::own_groups_only(socket, false))?;
    }
    let hops = match address.is_ipv4() {
        true => (libc::IPPROTO_IP, libc::IP_RECVTTL),
        false => (libc::IPPROTO_IPV6, libc::IPV6_RECVHOPLIMIT),
    };
    if asked.hops {
        // Worth knowing, and not worth failing for.
        let _ = set(hops.0, hops.1);
    }
    Ok(platform::stamp(socket, asked.portable))
}

fn join_all(sockets: &mut Vec<Bound>, joins: &Joins, asked: Asked) -> Result<JoinBudget, UdpError> {
    let wanted = joins.wanted()?;
    let interface = joins.interface_index()?;
    let limits = (per_socket_limit(true), per_socket_limit(false));
    for group in &wanted {
        let limit = if group.is_ipv4() { limits.0 } else { limits.1 };
        join_one(sockets, *group, (interface, limit, asked)).map_err(|e| match e {
            Failed::Join(source) => {
                UdpError::Join { group: group.ip(), interface: joins.interface_name(), source }
            }
            Failed::Socket(e) => e,
        })?;
    }
    Ok(JoinBudget {
        groups: wanted.len(),
        sockets: sockets.iter().filter(|s| !s.groups.is_empty()).count(),
        per_socket: wanted.iter().any(SocketAddr::is_ipv4).then_some(limits.0),
        interface: joins.interface_name(),
    })
}

/// Which step of a join failed.
enum Failed {
    Join(io::Error),
    Socket(UdpError),
}

/// Joins one group on the last socket of its port that has room, or on one more.
fn join_one(
    sockets: &mut Vec<Bound>,
    group: SocketAddr,
    (interface, limit, asked): (u32, usize, Asked),
) -> Result<(), Failed> {
    let last = sockets.iter_mut().rfind(|s| s.can_take(group));
    if let Some(bound) = last.filter(|s| s.groups.len() < limit) {
        match Membership::join(&bound.socket, group.ip(), interface) {
            // The limit may have been lowered since it was read, or memory of the socket is used up.
            Err(e) if is_full(&e) && !bound.groups.is_empty() => {}
            other => return other.map(|m| bound.groups.push(m)).map_err(Failed::Join),
        }
    }
    let any: IpAddr =
        if group.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let at = add(sockets, SocketAddr::new(any, group.port()), asked).map_err(Failed::Socket)?;
    let Some(bound) = sockets.get_mut(at) else { return Ok(()) };
    let joined = Membership::join(&bound.socket, group.ip(), interface);
    joined.map(|m| bound.groups.push(m)).map_err(Failed::Join)
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOBUFS | libc::ENOMEM))
}
