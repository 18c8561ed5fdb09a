//! Keeps the host silent about datagrams that only the tap wants: without a socket on the port, the host answers
//! each with ICMP port unreachable, which costs time and shows on the wire.

use socket2::{Domain, Socket, Type};
use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

/// Sockets that take the ports and throw everything away, for as long as this lives. The kernel counts what they
/// throw away as UDP `InErrors`, never as `RcvbufErrors`.
#[derive(Debug)]
pub struct Quiet {
    sockets: Vec<Socket>,
    notes: Vec<String>,
}

impl Quiet {
    /// Takes `ports` for IPv4 and IPv6, as far as they are free. A port that another program has is fine: that
    /// program takes the datagrams.
    pub fn hold(ports: &[u16]) -> Self {
        let mut quiet = Quiet { sockets: Vec::new(), notes: Vec::new() };
        for port in ports.iter().copied().filter(|port| *port != 0).collect::<BTreeSet<_>>() {
            for address in
                [SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)), (Ipv6Addr::UNSPECIFIED, port).into()]
            {
                match sink(address) {
                    Ok(socket) => quiet.sockets.push(socket),
                    Err(error) => quiet.notes.extend(note(address, &error)),
                }
            }
        }
        quiet
    }

    /// How many sockets are held: two for each port where both IP versions are there and the port was free.
    pub fn held(&self) -> usize {
        self.sockets.len()
    }

    /// One sentence for each port that could not be taken.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// A bound socket that keeps nothing.
fn sink(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    keep_nothing(&socket)?;
    socket.bind(&address.into())?;
    // Only once bound, so that no program loses its port to the observer: one that comes later and shares the
    // port gets it, and every datagram sent to it.
    socket.set_reuse_address(true)?;
    Ok(socket)
}

/// Lets the kernel throw away whatever comes.
#[cfg(target_os = "linux")]
fn keep_nothing(socket: &Socket) -> io::Result<()> {
    /// `BPF_RET | BPF_K`: the kernel keeps that many octets, so none.
    const RETURN: u16 = 0x06;
    socket.attach_filter(&[socket2::SockFilter::new(RETURN, 0, 0, 0)])
}

/// Elsewhere there is no such filter: the buffer has no room to speak of, and nobody counts what it drops.
#[cfg(not(target_os = "linux"))]
fn keep_nothing(socket: &Socket) -> io::Result<()> {
    socket.set_recv_buffer_size(1)
}

/// What to say of a port that could not be taken; nothing on hosts without that IP version, which stay silent.
fn note(address: SocketAddr, error: &io::Error) -> Option<String> {
    let port = address.port();
    match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::AddrInUse, _) => {
            Some(format!("another program has UDP port {port} ({address}) and takes its datagrams"))
        }
        (io::ErrorKind::AddrNotAvailable, _) | (_, Some(libc::EAFNOSUPPORT)) => None,
        _ => Some(format!(
            "UDP port {port} ({address}) was not taken ({error}): the host may answer unreachable"
        )),
    }
}
