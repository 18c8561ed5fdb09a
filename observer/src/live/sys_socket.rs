//! System calls of the UDP source that neither std nor socket2 offers, each in a thin wrapper: `recvmmsg`, `ppoll`,
//! `SO_MEMINFO`, plain integer options and interface numbers. The unsafe code of the UDP source is here and nowhere
//! else, because every one of these calls takes pointers the kernel writes through.
//!
//! The portable way takes what every Unix has, `recvmsg` and `poll`; it is the only one where there is no Linux.
#![allow(unsafe_code, reason = "system calls that take pointers")]

use std::ffi::CString;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};
#[cfg(target_os = "linux")]
use std::ptr;
use std::time::Duration;

/// Octets of one datagram that are kept.
///
/// No decoder's frame is cut: a jumbo Ethernet frame carries at most 9,188 octets of UDP payload (MTU 9,216), and an
/// 8,640-octet frame sent as one fragmented datagram fits too. 9,280 is 145 cache lines of 64: an odd number, so that
/// the heads of neighbouring slots fall into different sets of the first-level cache.
pub(crate) const SLOT: usize = 9_280;
/// Most datagrams taken by one call; more than 64 gain nothing and leave the cache.
pub(crate) const MOST_SLOTS: usize = 64;
/// Room for the control messages of one datagram: time stamp 32, drop counter 24, IPv6 packet info 40, hop limit 24,
/// and a reserve.
const CONTROL: usize = 192;
/// Octets of a `sockaddr_in6`, the longest address of a UDP socket.
const NAME: usize = 28;

/// What the kernel writes beside the payload of one datagram.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Beside {
    control: [u8; CONTROL],
    name: [u8; NAME],
}

/// A message header and the octets of its datagram.
#[cfg(target_os = "linux")]
type Header = libc::mmsghdr;

/// A message header and the octets of its datagram.
#[cfg(not(target_os = "linux"))]
#[derive(Clone, Copy)]
struct Header {
    msg_hdr: libc::msghdr,
    msg_len: libc::c_uint,
}

/// Buffers of one `recvmmsg` call, or of one `recvmsg` call each, reused by the next.
pub(crate) struct Batch {
    headers: Box<[Header]>,
    iovecs: Box<[libc::iovec]>,
    beside: Box<[Beside]>,
    data: Box<[u8]>,
    received: usize,
    portable: bool,
    /// What went wrong behind datagrams that were taken; told by the next call.
    failure: Option<io::Error>,
}

// SAFETY: the raw pointers inside `headers` and `iovecs` point into the other boxes of the same `Batch`, or are null;
// `aim` overwrites all of them before the one place that reads them (`recvmmsg`), and nobody else sees them.
unsafe impl Send for Batch {}

/// One datagram of a batch.
pub(crate) struct Received<'a> {
    /// Octets kept.
    pub(crate) payload: &'a [u8],
    /// Octets the datagram had.
    pub(crate) length: u32,
    /// A `sockaddr_in` or `sockaddr_in6`.
    pub(crate) name: &'a [u8],
    /// The control messages.
    pub(crate) control: &'a [u8],
}

impl Batch {
    /// Buffers for `slots` datagrams (1..=[`MOST_SLOTS`]); pages that are never written to are never backed.
    pub(crate) fn new(slots: usize, portable: bool) -> Self {
        let slots = slots.clamp(1, MOST_SLOTS);
        // SAFETY: both are C structures of integers and pointers, for which all zeroes is a value.
        let (header, iovec) = unsafe { (mem::zeroed::<Header>(), mem::zeroed::<libc::iovec>()) };
        Batch {
            headers: vec![header; slots].into_boxed_slice(),
            iovecs: vec![iovec; slots].into_boxed_slice(),
            beside: vec![Beside { control: [0; CONTROL], name: [0; NAME] }; slots].into_boxed_slice(),
            data: vec![0; slots * SLOT].into_boxed_slice(),
            received: 0,
            portable,
            failure: None,
        }
    }

    /// Datagrams held since the last [`Batch::receive`].
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.received
    }

    /// True when the last call filled every slot, so that more may be waiting.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.received == self.headers.len()
    }

    /// Points every header at its buffers and restores every length: the kernel overwrites `msg_namelen` and
    /// `msg_controllen` with what it used, and a header not reset would truncate the control messages of a later
    /// datagram, the drop counter first of all.
    #[inline]
    fn aim(&mut self) {
        let slots = self.data.chunks_exact_mut(SLOT);
        let buffers = self.iovecs.iter_mut().zip(self.beside.iter_mut()).zip(slots);
        for (header, ((iovec, beside), slot)) in self.headers.iter_mut().zip(buffers) {
            iovec.iov_base = slot.as_mut_ptr().cast();
            iovec.iov_len = SLOT;
            let header = &mut header.msg_hdr;
            header.msg_name = beside.name.as_mut_ptr().cast();
            header.msg_namelen = NAME as libc::socklen_t;
            header.msg_iov = iovec;
            header.msg_iovlen = 1;
            header.msg_control = beside.control.as_mut_ptr().cast();
            header.msg_controllen = CONTROL as _;
        }
    }

    /// Takes what the socket holds, at most one batch of it, without waiting; an empty socket gives 0.
    ///
    /// # Errors
    /// What the operating system says, except "nothing there" and "interrupted".
    pub(crate) fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        self.aim();
        if self.portable { self.receive_each(socket) } else { self.receive_all(socket) }
    }

    #[cfg(not(target_os = "linux"))]
    fn receive_all(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        self.receive_each(socket)
    }

    /// Takes what the socket holds with one call.
    #[cfg(target_os = "linux")]
    fn receive_all(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        let count = self.headers.len() as libc::c_uint;
        // SAFETY: `headers` holds `count` headers, whose pointers and lengths `aim` has just set to buffers that this
        // `Batch` owns, that do not move, and that nobody reads or writes during the call; a null timeout is allowed.
        let n = unsafe {
            libc::recvmmsg(socket.as_raw_fd(), self.headers.as_mut_ptr(), count, flags as _, ptr::null_mut())
        };
        self.received = usize::try_from(n).unwrap_or(0).min(self.headers.len());
        if n >= 0 {
            return Ok(self.received);
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(0),
            _ => Err(error),
        }
    }

    /// Takes what the socket holds with one call for each datagram.
    fn receive_each(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        self.received = 0;
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        for header in &mut self.headers {
            // SAFETY: `aim` has just set the pointers and lengths of this header to buffers that this `Batch` owns, that
            // do not move, and that nobody reads or writes during the call.
            let n = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header.msg_hdr, WHOLE_LENGTH) };
            let Ok(octets) = libc::c_uint::try_from(n) else {
                self.failure = failure(io::Error::last_os_error());
                break;
            };
            let is_cut = header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
            // Where the kernel keeps the whole length to itself, all that is known of a cut datagram is that it was longer.
            header.msg_len = if is_cut { octets.max(SLOT as libc::c_uint + 1) } else { octets };
            self.received += 1;
        }
        match self.failure.take_if(|_| self.received == 0) {
            Some(error) => Err(error),
            None => Ok(self.received),
        }
    }

    /// The datagram at `at` of the last call.
    #[inline]
    #[allow(clippy::unnecessary_cast, reason = "the type of `msg_controllen` differs between C libraries")]
    pub(crate) fn get(&self, at: usize) -> Option<Received<'_>> {
        if at >= self.received {
            return None;
        }
        let (header, beside) = (self.headers.get(at)?, self.beside.get(at)?);
        let slot = self.data.get(at * SLOT..)?;
        let kept = (header.msg_len as usize).min(SLOT);
        let name = (header.msg_hdr.msg_namelen as usize).min(NAME);
        let control = (header.msg_hdr.msg_controllen as usize).min(CONTROL);
        Some(Received {
            payload: slot.get(..kept)?,
            length: header.msg_len,
            name: beside.name.get(..name)?,
            control: beside.control.get(..control)?,
        })
    }
}

/// Flags of `recvmsg`: without waiting, and the length of the whole datagram where the system tells it.
const WHOLE_LENGTH: libc::c_int =
    libc::MSG_DONTWAIT | if cfg!(target_os = "linux") { libc::MSG_TRUNC } else { 0 };

/// What is an error: neither "nothing there" nor "interrupted".
fn failure(error: io::Error) -> Option<io::Error> {
    (!matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)).then_some(error)
}

/// Sockets waited for together.
pub(crate) struct PollSet {
    entries: Box<[libc::pollfd]>,
    portable: bool,
}

impl PollSet {
    /// Waits for readability of these sockets, which the caller keeps open; a closed one is never ready.
    pub(crate) fn new<'a>(sockets: impl Iterator<Item = BorrowedFd<'a>>, portable: bool) -> Self {
        let entry = |s: BorrowedFd<'_>| libc::pollfd { fd: s.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        PollSet { entries: sockets.map(entry).collect(), portable }
    }

    /// Waits until a socket is readable or has failed, at most `wait`; returns how many are. A signal ends the wait
    /// with 0.
    ///
    /// # Errors
    /// What the operating system says.
    pub(crate) fn wait(&mut self, wait: Duration) -> io::Result<usize> {
        let n = if self.portable { self.poll(wait) } else { self.ppoll(wait) };
        if let Ok(n) = usize::try_from(n) {
            return Ok(n);
        }
        self.entries.iter_mut().for_each(|e| e.revents = 0);
        let error = io::Error::last_os_error();
        if error.kind() == io::ErrorKind::Interrupted { Ok(0) } else { Err(error) }
    }

    #[cfg(target_os = "linux")]
    fn ppoll(&mut self, wait: Duration) -> libc::c_int {
        let seconds = i32::try_from(wait.as_secs()).unwrap_or(i32::MAX);
        let timeout = libc::timespec { tv_sec: seconds.into(), tv_nsec: wait.subsec_nanos() as _ };
        let count = self.entries.len() as libc::nfds_t;
        // SAFETY: `entries` holds `count` entries that live through the call, `timeout` is a local, and a null signal
        // mask leaves the mask as it is.
        unsafe { libc::ppoll(self.entries.as_mut_ptr(), count, &raw const timeout, ptr::null()) }
    }

    #[cfg(not(target_os = "linux"))]
    fn ppoll(&mut self, wait: Duration) -> libc::c_int {
        self.poll(wait)
    }

    /// Waits whole milliseconds, at least as long as asked for.
    fn poll(&mut self, wait: Duration) -> libc::c_int {
        let milliseconds = wait.as_nanos().div_ceil(1_000_000);
        let timeout = libc::c_int::try_from(milliseconds).unwrap_or(libc::c_int::MAX);
        let count = self.entries.len() as libc::nfds_t;
        // SAFETY: `entries` holds `count` entries that live through the call.
        unsafe { libc::poll(self.entries.as_mut_ptr(), count, timeout) }
    }

    /// True when the last [`PollSet::wait`] found this socket readable or failed.
    #[inline]
    pub(crate) fn is_ready(&self, at: usize) -> bool {
        let failed = libc::POLLIN | libc::POLLERR | libc::POLLHUP;
        self.entries.get(at).is_some_and(|e| e.revents & failed != 0)
    }
}

/// Waits until a descriptor is readable or has failed, at most `wait`; a signal ends the wait with `false`.
///
/// # Errors
/// What the operating system says.
#[cfg(all(feature = "libpcap", not(target_os = "linux")))]
pub(crate) fn wait_readable(of: &impl AsRawFd, wait: Duration) -> io::Result<bool> {
    // SAFETY: `of` owns the descriptor and lives longer than the borrow.
    let descriptor = unsafe { BorrowedFd::borrow_raw(of.as_raw_fd()) };
    Ok(PollSet::new(std::iter::once(descriptor), true).wait(wait)? > 0)
}

/// What the kernel says of a socket's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemInfo {
    /// Octets charged for datagrams that wait, and for a quarter of the buffer at most of some already taken.
    pub(crate) queued: u32,
    /// Octets that may be charged.
    pub(crate) granted: u32,
    /// Datagrams thrown away since the socket was made; wraps around.
    pub(crate) drops: u32,
}

/// Reads `SO_MEMINFO`.
///
/// # Errors
/// What the operating system says (`ENOPROTOOPT` before Linux 4.12).
#[cfg(target_os = "linux")]
pub(crate) fn meminfo(socket: BorrowedFd<'_>) -> io::Result<MemInfo> {
    let mut values = [0_u32; 9];
    let mut length = size_of_val(&values) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` octets to `values`, which is that long, and the count to `length`;
    // both are locals.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            values.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    let [queued, granted, .., drops] = values;
    Ok(MemInfo { queued, granted, drops })
}

/// Elsewhere a socket does not tell its memory.
///
/// # Errors
/// `Unsupported`.
#[cfg(not(target_os = "linux"))]
pub(crate) fn meminfo(_: BorrowedFd<'_>) -> io::Result<MemInfo> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Sets an option that takes an `int`.
///
/// # Errors
/// What the operating system says.
pub(crate) fn set_int(socket: BorrowedFd<'_>, level: i32, option: i32, value: i32) -> io::Result<()> {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the kernel reads `length` octets from `value`, a local of that size.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast::<libc::c_void>(), length)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The number of the interface of this name; `None` when there is none.
pub(crate) fn interface_index(name: &str) -> Option<u32> {
    let name = CString::new(name).ok()?;
    // SAFETY: `name` is a string that ends with a zero octet and lives through the call.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    (index != 0).then_some(index)
}

/// True when an interface has this number.
pub(crate) fn is_interface_index(index: u32) -> bool {
    let mut name = [0; libc::IF_NAMESIZE];
    // SAFETY: the kernel's answer takes at most `IF_NAMESIZE` octets, which `name` has.
    let found = unsafe { libc::if_indextoname(index, name.as_mut_ptr()) };
    !found.is_null()
}
