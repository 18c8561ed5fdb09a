//! System calls of the UDP source that neither std nor socket2 offers, each in a thin wrapper: `recvmmsg`, `ppoll`,
//! `SO_MEMINFO`, plain integer options and interface numbers. The unsafe code of the UDP source is here and nowhere
//! else, because every one of these calls takes pointers the kernel writes through.
#![allow(unsafe_code, reason = "system calls that take pointers")]

use std::ffi::CString;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};
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

/// Buffers of one `recvmmsg` call, reused by the next.
pub(crate) struct Batch {
    headers: Box<[libc::mmsghdr]>,
    iovecs: Box<[libc::iovec]>,
    beside: Box<[Beside]>,
    data: Box<[u8]>,
    received: usize,
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
    pub(crate) fn new(slots: usize) -> Self {
        let slots = slots.clamp(1, MOST_SLOTS);
        // SAFETY: `mmsghdr` and `iovec` are C structures of integers and pointers, for which all zeroes is a value.
        let (header, iovec) = unsafe { (mem::zeroed::<libc::mmsghdr>(), mem::zeroed::<libc::iovec>()) };
        Batch {
            headers: vec![header; slots].into_boxed_slice(),
            iovecs: vec![iovec; slots].into_boxed_slice(),
            beside: vec![Beside { control: [0; CONTROL], name: [0; NAME] }; slots].into_boxed_slice(),
            data: vec![0; slots * SLOT].into_boxed_slice(),
            received: 0,
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

/// Sockets waited for together.
pub(crate) struct PollSet {
    entries: Box<[libc::pollfd]>,
}

impl PollSet {
    /// Waits for readability of these sockets, which the caller keeps open; a closed one is never ready.
    pub(crate) fn new<'a>(sockets: impl Iterator<Item = BorrowedFd<'a>>) -> Self {
        let entry = |s: BorrowedFd<'_>| libc::pollfd { fd: s.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        PollSet { entries: sockets.map(entry).collect() }
    }

    /// Waits until a socket is readable or has failed, at most `wait`; returns how many are. A signal ends the wait
    /// with 0.
    ///
    /// # Errors
    /// What the operating system says.
    pub(crate) fn wait(&mut self, wait: Duration) -> io::Result<usize> {
        let seconds = libc::time_t::try_from(wait.as_secs()).unwrap_or(libc::time_t::MAX);
        let timeout = libc::timespec { tv_sec: seconds, tv_nsec: wait.subsec_nanos() as _ };
        let count = self.entries.len() as libc::nfds_t;
        // SAFETY: `entries` holds `count` entries that live through the call, `timeout` is a local, and a null signal
        // mask leaves the mask as it is.
        let n = unsafe { libc::ppoll(self.entries.as_mut_ptr(), count, &raw const timeout, ptr::null()) };
        if let Ok(n) = usize::try_from(n) {
            return Ok(n);
        }
        self.entries.iter_mut().for_each(|e| e.revents = 0);
        let error = io::Error::last_os_error();
        if error.kind() == io::ErrorKind::Interrupted { Ok(0) } else { Err(error) }
    }

    /// True when the last [`PollSet::wait`] found this socket readable or failed.
    #[inline]
    pub(crate) fn is_ready(&self, at: usize) -> bool {
        let failed = libc::POLLIN | libc::POLLERR | libc::POLLHUP;
        self.entries.get(at).is_some_and(|e| e.revents & failed != 0)
    }
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
