//! What differs between systems in the socket options of the UDP source: their names, how a buffer is sized, how
//! control messages are laid out. Only Linux counts the drops of a socket.

use crate::live::sys_socket::set_int;
use socket2::Socket;
use std::io;
use std::os::fd::AsFd;

// Elsewhere the layout of control messages and addresses is not known, and would be read wrongly.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
compile_error!("wireproof receives on Linux and macOS only");

/// True where the kernel counts the drops of a socket.
pub(crate) const COUNTS_DROPS: bool = cfg!(target_os = "linux");

/// Octets of a machine word.
const WORD: usize = size_of::<usize>();
/// Octets of the length that begins a control message, before level and type of four octets each.
pub(crate) const CONTROL_LENGTH: usize = if cfg!(target_vendor = "apple") { 4 } else { WORD };
/// Octets to which control messages and their data are aligned.
pub(crate) const CONTROL_ALIGN: usize = if cfg!(target_vendor = "apple") { 4 } else { WORD };

/// Smallest buffer that is asked for where the system refuses larger ones, octets.
#[cfg(not(target_os = "linux"))]
const LEAST_BUFFER: u32 = 64 << 10;

/// Asks for the count of drops beside each datagram.
///
/// # Errors
/// What the operating system says.
#[cfg(target_os = "linux")]
pub(crate) fn count_drops(socket: &Socket) -> io::Result<()> {
    set_int(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1)
}

/// Elsewhere there is no such count.
///
/// # Errors
/// `Unsupported`.
#[cfg(not(target_os = "linux"))]
pub(crate) fn count_drops(_: &Socket) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Asks for kernel stamps, of nanoseconds where there are any and `coarse` is false, else of microseconds; true when
/// the kernel stamps.
pub(crate) fn stamp(socket: &Socket, coarse: bool) -> bool {
    let option = if coarse { libc::SO_TIMESTAMP } else { FINE_STAMPS };
    set_int(socket.as_fd(), libc::SOL_SOCKET, option, 1).is_ok()
}

#[cfg(target_os = "linux")]
const FINE_STAMPS: libc::c_int = libc::SO_TIMESTAMPNS;
#[cfg(not(target_os = "linux"))]
const FINE_STAMPS: libc::c_int = libc::SO_TIMESTAMP;

/// Keeps datagrams out of groups that other sockets of this host have joined; elsewhere that is how it is anyway.
///
/// # Errors
/// What the operating system says.
#[cfg(target_os = "linux")]
pub(crate) fn own_groups_only(socket: &Socket, is_v4: bool) -> io::Result<()> {
    if is_v4 { socket.set_multicast_all_v4(false) } else { socket.set_multicast_all_v6(false) }
}

#[cfg(not(target_os = "linux"))]
#[allow(clippy::unnecessary_wraps, reason = "as above")]
pub(crate) fn own_groups_only(_: &Socket, _: bool) -> io::Result<()> {
    Ok(())
}

/// Asks for a buffer of `asked` octets as the kernel charges them, beyond the limit if the user may.
///
/// # Errors
/// What the operating system says.
#[cfg(target_os = "linux")]
pub(crate) fn size_buffer(socket: &Socket, asked: u32) -> io::Result<()> {
    // The kernel doubles what it is given, for its own book-keeping.
    let value = i32::try_from(asked.div_ceil(2)).unwrap_or(i32::MAX);
    set_int(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, value)
        .or_else(|_| set_int(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, value))
}

/// Asks for a buffer of `asked` octets, and for half of it as long as the system refuses (`kern.ipc.maxsockbuf`).
///
/// # Errors
/// What the operating system says to a small one.
#[cfg(not(target_os = "linux"))]
pub(crate) fn size_buffer(socket: &Socket, asked: u32) -> io::Result<()> {
    let mut octets = asked;
    loop {
        let value = i32::try_from(octets).unwrap_or(i32::MAX);
        match set_int(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, value) {
            Err(_) if octets > LEAST_BUFFER => octets /= 2,
            outcome => return outcome,
        }
    }
}

/// How a larger receive buffer is allowed.
pub(crate) fn buffer_advice(asked: u32) -> String {
    if cfg!(target_os = "linux") {
        let limit = asked.div_ceil(2);
        format!("`sysctl -w net.core.rmem_max={limit}` or give the program CAP_NET_ADMIN")
    } else {
        format!("`sysctl -w kern.ipc.maxsockbuf={asked}`")
    }
}
